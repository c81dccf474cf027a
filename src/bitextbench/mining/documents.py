"""Document matching: guo2018 sections 2.4.1 and 4.2 (table 4), yang2019 section 5.3 (table 4).

Each source document is matched with one target document, in one of three ways:

- by the neighbours of its sentences (guo2018 eq. 3);
- by the number of mutually aligned sentences (their baseline);
- by the average of its sentence vectors (yang2019).

The first of tied documents is taken. Documents with the same name are counterparts.

Where the paper is silent:

- The confidence is f1, as in eq. 3 and section 2.4.1. The last sentence of section 2.4.2 calls it f2.
- Eq. 3 sums over neighbours. A target sentence that is a neighbour of several source sentences counts once, with its
  greatest term. Otherwise the negative terms of wrong source sentences would count against a right target.
- The paper does not say where ranks begin, or how positions are scaled. Here ranks begin at 1, and positions are not
  scaled.
- Most terms are negative unless the encoder is sure of most neighbours. Then the document with the fewest neighbours
  wins. The row `eq3-evidence` has no negative terms: a neighbour counts for its document, or not at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import neighbours
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.base.progress import count_of
from bitextbench.formats import bitext
from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours import Both, Neighbours
from bitextbench.scoring.similarities.confidence import calibrated, probabilities

N = 10  # neighbours of a sentence: guo2018 section 4.2
WEIGHTS = (5.0, -2.0)  # w1 and w2 of eq. 3: section 4.2


@dataclass(frozen=True)
class Documents:
    """For each sentence, int64 [n]: its `document`, a place in `names`, and its `position` in that document, from 0."""

    document: NDArray[np.int64]
    position: NDArray[np.int64]
    names: list[str]

    @classmethod
    def of(cls, names: Sequence[str]) -> "Documents":
        """From the document name of each sentence. Raises InputError for no sentences."""
        if not len(names):
            raise InputError("no sentences to make documents of", remedy="name the document of every sentence")
        places: dict[str, int] = {}
        document = np.array([places.setdefault(name, len(places)) for name in names], np.int64)
        order = np.argsort(document, kind="stable")
        starts = np.cumsum(np.bincount(document)) - np.bincount(document)
        position = np.empty(len(document), np.int64)
        position[order] = np.arange(len(document)) - starts[document[order]]
        return cls(document, position, list(places))


def of_file(path: Path, vectors: Embeddings) -> Documents:
    """The documents of a corpus folder, or of a file with the document name of each sentence.

    Raises InputError when sentences and vectors differ in number, and as `Documents.of` does.
    """
    names = bitext.read_side(path, "doc") if path.is_dir() else list(read_lines(path))
    if len(names) != len(vectors):
        raise InputError(
            f"{count_of(len(names), 'sentence')} for the {count_of(len(vectors), 'vector')} of {vectors.name}",
            path,
            remedy="write the document of each sentence, one a line",
        )
    return Documents.of(names)


def confidence(vectors: tuple[Embeddings, Embeddings], nearest: Neighbours, model: Path | None) -> NDArray[np.float64]:
    """f1 of eq. 3: the confidence of each neighbour, [n, N] in [0, 1].

    The calibrated confidence of the encoder `model` (section 2.4.2) or, without one, the similarity, clipped to [0, 1].
    """
    if model is None:
        return np.clip(np.asarray(nearest.similarities, np.float64), 0, 1)
    return probabilities(calibrated(model, vectors[0].dimension), *vectors, np.arange(len(nearest)), nearest.ids)


def by_sentences(
    src: Documents,
    tgt: Documents,
    nearest: Neighbours,
    confidence: NDArray[np.floating],
    weights: tuple[float, float] = WEIGHTS,
    *,
    first: int = 1,
    least: float = -np.inf,
) -> NDArray[np.int64]:
    """The target document of each source document by guo2018 eq. 3, int64 [documents].

    The score of a target document is the sum of `-r(x, y) + w1 f1(x, y) + w2 f2(x, y)` over some of its
    sentences y. Only those count that are among the N neighbours of a sentence x of
    the source document.

    - r is the rank of y, counted from `first`.
    - f1 is its `confidence` [n, N] in [0, 1].
    - f2 is the absolute difference of the positions in the documents.

    The sum has one term for each y: the greatest, if y is a neighbour of several x. Terms below `least` are raised to
    it.
    """
    rank = first + np.arange(nearest.ids.shape[1])
    distance = np.abs(src.position[:, None] - tgt.position[nearest.ids])
    terms = -rank + weights[0] * np.asarray(confidence, np.float64) + weights[1] * distance
    n = len(tgt.document)
    keys, which = np.unique(src.document[:, None] * n + nearest.ids, return_inverse=True)  # a source document and a y
    best = np.full(len(keys), least)
    np.maximum.at(best, which.ravel(), terms.ravel())
    return _best(keys // n, tgt.document[keys % n], best, src, tgt)


def by_alignments(src: Documents, tgt: Documents, both: Both) -> NDArray[np.int64]:
    """The target document with the most sentences aligned to each source document: mutual nearest neighbours.

    guo2018 section 4.2 counts "Viterbi aligned sentences", and calls it "counting mutually aligned sentences" in the
    next paragraph. It gives no model for the former; the latter needs the vectors alone, and is what is done here. -1
    for a document without aligned sentences.
    """
    nearest = both.forward.ids[:, 0]
    mutual = np.flatnonzero(both.backward.ids[nearest, 0] == np.arange(len(nearest)))
    return _best(src.document[mutual], tgt.document[nearest[mutual]], np.ones(len(mutual)), src, tgt)


def _best(
    a: NDArray[np.int64], b: NDArray[np.int64], terms: NDArray[np.float64], src: Documents, tgt: Documents
) -> NDArray[np.int64]:
    """For each source document the target document with the greatest sum of terms; -1 without terms."""
    pairs, which = np.unique(a.ravel() * len(tgt.names) + b.ravel(), return_inverse=True)
    sums = np.bincount(which, weights=terms.ravel(), minlength=len(pairs))
    left, right = np.divmod(pairs, len(tgt.names))
    order = np.lexsort((right, -sums, left))
    documents, first = np.unique(left[order], return_index=True)
    best = np.full(len(src.names), -1, np.int64)
    best[documents] = right[order][first]
    return best


def by_average(
    src: Documents, tgt: Documents, vectors: tuple[Embeddings, Embeddings], **search: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nearest document by the cosine of averaged sentence vectors, in both directions."""
    averages = [averaged(documents, side) for documents, side in zip((src, tgt), vectors, strict=True)]
    both = neighbours.search(averages[0], averages[1], 1, **search)
    return both.forward.ids[:, 0], both.backward.ids[:, 0]


def averaged(documents: Documents, vectors: Embeddings) -> Embeddings:
    """The mean vector of each document, float32 [documents, d], in the order of names."""
    sums = np.zeros((len(documents.names), vectors.dimension))
    step = 1 << 16
    for start in range(0, len(vectors), step):
        np.add.at(sums, documents.document[start : start + step], vectors.block(start, start + step).astype(np.float64))
    means = sums / np.bincount(documents.document)[:, None]
    return Embeddings(means.astype(np.float32), f"{vectors.name} by document")
