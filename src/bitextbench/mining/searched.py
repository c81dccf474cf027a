"""Which sentences of a text are searched. Apart from `texts`, so that few modules decide what a comparable corpus gives."""

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.progress import count_of
from bitextbench.formats.repair import is_empty
from bitextbench.formats.sentences import Sentences, first_copies
from bitextbench.formats.vectors import Embeddings


def searched(text: Sentences, keep_duplicates: bool) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Places of the sentences to search, and counts: in, empty, too_long and bad (if any are), duplicate, searched.

    Raises InputError when no sentence is left.
    """
    full = np.array([place for place, line in enumerate(text.text) if not is_empty(line)], np.int64)
    rows = full if keep_duplicates else full[first_copies(text.text[place] for place in full)]
    if not len(rows):
        raise InputError("has empty lines only", text.name, remedy="give a text with at least one sentence")
    left_out = {name: len(places) for name, places in (("too_long", text.too_long), ("bad", text.bad)) if places}
    empty, duplicate = len(text) - len(full) - sum(left_out.values()), len(full) - len(rows)
    return rows, {"in": len(text), "empty": empty, **left_out, "duplicate": duplicate, "searched": len(rows)}


def check_lengths(text: Sentences, vectors: Embeddings) -> None:
    """Raises InputError when a text and its vectors differ in number."""
    if len(text) != len(vectors):
        raise InputError(
            f"{count_of(len(vectors), 'vector')} for the {count_of(len(text), 'sentence')} of {text.name}",
            vectors.name,
            remedy="encode this text again, with a vector for each line, empty and repeated ones, too; LF alone ends a line",
        )
