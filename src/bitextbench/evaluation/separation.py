"""The separation of translations from the nearest other sentences, by the additive margin: yang2019 section 5.4.

Where the paper is silent:

- Figure 4 has the "F1 scores" of a margin, and section 5 defines none. They are taken to be those of BUCC, by the forward
  search of table 5. The cosines are of pairs of the UN corpus.
- Both means are over the sources whose nearest target is their own. The paper says so of the negatives alone.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bitextbench import neighbours
from bitextbench.base.bootstrap import ratio
from bitextbench.base.errors import InputError
from bitextbench.evaluation.reconstruction import text_codes
from bitextbench.formats.vectors import Embeddings


def separation(src: Embeddings, tgt: Embeddings, targets: Sequence[str], k: int, **search: Any) -> dict[str, Any]:
    """The mean cosine, in percent, of a source with its target, `positive`, and with the nearest other one, `negative`.

    Row i of both sides is a pair. The means are over the sources whose nearest target is their own, as in the paper for
    the negatives ("retrieved in second place when the correct target was retrieved in first place"). Equal `targets`
    count as one; a source without another one among its k neighbours is left out. Items are all sources, so that encoders
    compare by the same ones. Raises InputError when no source has its own target as the nearest.
    """
    nearest = neighbours.search(src, tgt, k, metric="cosine", **search).forward
    codes = text_codes(targets)
    other = codes[nearest.ids] != codes[:, None]
    rows = np.flatnonzero(~other[:, 0] & other.any(axis=1))
    if not len(rows):
        raise InputError("no target is the nearest of its source", src.name, remedy="train the encoder for longer")
    columns = {"positive": np.zeros(len(rows), np.int64), "negative": other[rows].argmax(axis=1)}
    counts = {name: np.zeros((len(codes), 2), np.float32) for name in columns}  # sum and number of cosines
    for name, column in columns.items():
        counts[name][rows] = np.stack([nearest.similarities[rows, column], np.ones(len(rows))], axis=1)
    return {name: ratio("mean cosine", of, signature=name) for name, of in counts.items()}
