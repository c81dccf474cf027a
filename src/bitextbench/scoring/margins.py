"""Margin scores: the similarity of a pair compared with the similarities of its nearest neighbours.

a is the similarity of the pair (x, y), where x is the query of the search. f is the mean similarity of x to its k
nearest neighbours, and g that of y to its own:

| name | score | source |
|---|---|---|
| absolute | a | artetxe2019 section 3.1 |
| distance | a - b, where b = (f + g) / 2 | artetxe2019 section 3.1 |
| ratio | a / b | artetxe2019 section 3.1 |
| csls | 2 a - f - g, which is twice the distance | kim2019 eq. 16-18 |
| yang9 | a / b + a | yang2019 eq. 9 |
| yang10 | a / f + a, which needs one direction of the search only | yang2019 eq. 10 |

The sum of yang2019 eq. 10 runs over y, a typo for the neighbours of x. A quotient is NaN where its denominator is not
positive (the mean similarity is negative or zero). Where there are fewer than k neighbours, all of them count.

Where the paper is silent:

- yang2019 gives no k for eq. 9 and 10. In its tables here k is 4, as in artetxe2019 (footnote 5).
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitextbench import neighbours
from bitextbench.base.errors import InputError
from bitextbench.formats.vectors import Embeddings, distinct
from bitextbench.neighbours import Both

K = 4  # neighbours of a sentence: artetxe2019, footnote 5
MARGINS = ("absolute", "distance", "ratio", "csls", "yang9", "yang10")
SIMILARITIES = {  # name -> (metric of the search, margin)
    "cosine": ("cosine", "absolute"),
    "dot": ("dot", "absolute"),
    "euclidean": ("euclidean", "absolute"),
    **{name: ("cosine", name) for name in MARGINS},
}

FORMULAS = {
    "absolute": "a",
    "distance": "a - b",
    "ratio": "a / b",
    "csls": "2 a - f - g",
    "yang9": "a / b + a",
    "yang10": "a / f + a",
}  # of the table above


def margin(name: str, similarity: ArrayLike, f: ArrayLike, g: ArrayLike) -> NDArray[np.float32]:
    """The scores of pairs, float32; the arguments broadcast, and are computed with in float64. See the table above.

    Raises InputError for an unknown name.
    """
    a, f, g = (np.asarray(array, np.float64) for array in (similarity, f, g))
    match name:
        case "absolute":
            score = a + 0 * (f + g)  # of the shape of all three
        case "distance":
            score = a - (f + g) / 2
        case "ratio":
            score = _quotient(a, (f + g) / 2)
        case "csls":
            score = 2 * a - (f + g)  # the sum first: the same from either side
        case "yang9":
            score = _quotient(a, (f + g) / 2) + a
        case "yang10":
            score = _quotient(a, f) + a + 0 * g
        case _:
            raise InputError(f"unknown margin {name!r}", remedy=f"known: {', '.join(MARGINS)}")
    return score.astype(np.float32)


def _quotient(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.full(a.shape, np.nan), where=b > 0)


def means(both: Both) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """f [sources] and g [targets] of the table above, float64."""
    f, g = (np.asarray(side.similarities).mean(axis=1, dtype=np.float64) for side in both)
    return f, g


def neighbourhoods(
    src: Embeddings, tgt: Embeddings, k: int, nearest: Both | None = None, **search: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`means` of each source and each target, over neighbours of which equal ones count once: "excluding duplicates".

    `nearest`: the k nearest of all, which are not searched again where no two are equal. `search`: of
    `neighbours.search`.
    """
    near, far = distinct(src), distinct(tgt)
    if nearest and (len(near.first), len(far.first)) == (len(src), len(tgt)):
        return means(nearest)
    f, g = means(neighbours.search(near.vectors, far.vectors, k, **search))
    return f[near.which], g[far.which]


def score_neighbours(name: str, both: Both) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The scores of the forward neighbours [sources, k] and of the backward neighbours [targets, k].

    The two scores of a pair are equal, except for yang10, which depends on the direction.
    """
    f, g = means(both)
    return (
        margin(name, both.forward.similarities, f[:, None], g[both.forward.ids]),
        margin(name, both.backward.similarities, g[:, None], f[both.backward.ids]),
    )


def metric_and_margin(name: str, what: str = "similarity") -> tuple[str, str]:
    """The metric of the search and the margin of a similarity. Raises InputError for an unknown name, of `what`."""
    if name not in SIMILARITIES:
        raise InputError(f"unknown {what} {name!r}", remedy=f"known: {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]
