"""Document matching: guo2018 sections 2.4.1 and 4.2 (table 4), yang2019 section 5.3 (table 4).

Each source document takes one target document, by the neighbours of its sentences (guo2018 eq. 3), by counting mutually
aligned sentences (their baseline), or by the average of its sentence vectors (yang2019). A tie goes to the document that
comes first. Documents of the same name belong together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import read_lines
from bitextbench.formats import bitext
from bitextbench.formats.vectors import Embeddings
from bitextbench.scoring import neighbours
from bitextbench.scoring.neighbours import Both, Neighbours
from bitextbench.scoring.similarities.confidence import calibrated, probabilities

N = 10  # neighbours of a sentence, and the two weights: guo2018 section 4.2
WEIGHTS = (5.0, -2.0)


@dataclass(frozen=True)
class Documents:
    """`document` int64 [n] of each sentence, a place in `names`; `position` int64 [n] of the sentence in it, from 0."""

    document: NDArray[np.int64]
    position: NDArray[np.int64]
    names: list[str]

    @classmethod
    def of(cls, names: Sequence[str]) -> "Documents":
        """From the name of each sentence's document. Raises InputError for none."""
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
    """The documents of a corpus folder, or of a file with the name of each sentence's document.

    Raises InputError when sentences and vectors differ in number, and as `Documents.of`.
    """
    names = bitext.read_side(path, "doc") if path.is_dir() else list(read_lines(path))
    if len(names) != len(vectors):
        raise InputError(
            f"{len(names):,} sentences for the {len(vectors):,} vectors of {vectors.name}", path, remedy="one each"
        )
    return Documents.of(names)


def confidence(vectors: tuple[Embeddings, Embeddings], found: Neighbours, model: Path | None) -> NDArray[np.float64]:
    """f1 of eq. 3: how sure each neighbour is, [n, N] in [0, 1].

    By the calibrated confidence of the encoder `model` (section 2.4.2); without one, the similarity itself, cut to [0, 1].
    """
    if model is None:
        return np.clip(np.asarray(found.similarities, np.float64), 0, 1)
    return probabilities(calibrated(model, vectors[0].dimension), *vectors, np.arange(len(found)), found.ids)


def by_sentences(
    src: Documents,
    tgt: Documents,
    found: Neighbours,
    confidence: NDArray[np.floating],
    weights: tuple[float, float] = WEIGHTS,
) -> NDArray[np.int64]:
    """The target document of each source document by guo2018 eq. 3, int64 [documents].

    The score of a document is the sum, over its sentences y that are among the N neighbours of a sentence x of the source
    document, of -r(x, y) + w1 f1(x, y) + w2 f2(x, y): r the rank of y, from 1; f1 its `confidence` [n, N] in [0, 1]; f2 the
    absolute difference of the positions in the documents. The sum has one term a y: where several x find it, that of the x
    which it fits best, for a right y would else be blamed for each x that it is not the translation of. (The paper does not
    say so, nor where ranks begin, nor whether positions are scaled.)
    """
    rank = 1 + np.arange(found.ids.shape[1])
    distance = np.abs(src.position[:, None] - tgt.position[found.ids])
    terms = -rank + weights[0] * np.asarray(confidence, np.float64) + weights[1] * distance
    n = len(tgt.document)
    keys, which = np.unique(src.document[:, None] * n + found.ids, return_inverse=True)  # a source document and a y
    best = np.full(len(keys), -np.inf)
    np.maximum.at(best, which.ravel(), terms.ravel())
    return _best(keys // n, tgt.document[keys % n], best, src, tgt)


def by_alignments(src: Documents, tgt: Documents, both: Both) -> NDArray[np.int64]:
    """The target document with the most sentences aligned to the source document's: pairs that are each other's nearest.

    -1 for a document none of whose sentences is aligned.
    """
    nearest = both.forward.ids[:, 0]
    mutual = np.flatnonzero(both.backward.ids[nearest, 0] == np.arange(len(nearest)))
    return _best(src.document[mutual], tgt.document[nearest[mutual]], np.ones(len(mutual)), src, tgt)


def _best(
    a: NDArray[np.int64], b: NDArray[np.int64], terms: NDArray[np.float64], src: Documents, tgt: Documents
) -> NDArray[np.int64]:
    """For each source document the target document with the greatest sum of terms; -1 without any."""
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
