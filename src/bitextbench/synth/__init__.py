"""The embedded corpus: parallel documents in six languages, made from typed lexica by a small synchronous grammar.

`meaning` draws what a document says, as trees that know no language; `grammar` says a tree in each language; the
`.tsv` tables are the lexicon. Drawing first and saying after keeps a language's text free of which others are asked for.
"""

import itertools
import random
from collections.abc import Iterator, Sequence

from bitextbench.errors import InputError
from bitextbench.synth.grammar import LANGUAGES
from bitextbench.synth.meaning import draw_document

__all__ = ["LANGUAGES", "sentences"]


def sentences(stretch: str, languages: Sequence[str], seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Endless stream of (document id, the sentence in each of `languages`).

    Streams with different stretch names are independent draws: they share the lexicon, and by chance a few short sentences.
    The text is the same for the same (stretch, seed), and a language's text does not depend on which others are asked for.
    Raises InputError, at the call, for a language that the grammar does not know.
    """
    if unknown := [language for language in languages if language not in LANGUAGES]:
        known = ", ".join(LANGUAGES)
        raise InputError(f"the generated corpus has no language {', '.join(unknown)}", remedy=f"known: {known}")
    return _stream(stretch, [LANGUAGES[language]() for language in languages], seed)


def _stream(stretch: str, speakers: list, seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    for number in itertools.count():
        document = f"{stretch}-{number}"
        for meaning in draw_document(random.Random(f"{seed} {document}")):
            yield document, tuple(speaker.sentence(meaning) for speaker in speakers)
