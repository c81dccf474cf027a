"""Similarities: exact, of given pairs; and prepared for a fast product, with a bound on its error. Without torch."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.progress import progress
from bitextbench.formats.vectors import Embeddings

METRICS = ("cosine", "dot", "euclidean")
BLOCK = 2048  # rows that are prepared, or searched again, at a time
CHUNK = 1 << 22  # elements that one thread scores at a time
FEW = 1 << 24  # elements that numpy goes through before machine code is loaded
UNIT = 2.0**-24  # half a unit in the last place of float32


class Metric(NamedTuple):
    """A similarity, and its key in the search: x.y minus one number for each side, which grows with the similarity.

    `exact`: sums of `kernels.sums` (of products; of squared differences where `halved`) and the products of the
    lengths, float64 [m] -> similarities float64 [m]. `similarity` and `key` convert one into the other.
    """

    scaled: bool  # vectors are divided by their lengths
    halved: bool  # half the squared length of each side is subtracted
    exact: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
    similarity: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda key: key
    key: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda similarity: similarity


def _cosine(products: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(products, lengths, out=np.zeros(len(products)), where=lengths > 0)


METRIC = {
    "cosine": Metric(True, False, _cosine),  # kim2019 eq. 13; 0 where a vector is zero
    "dot": Metric(False, False, lambda products, lengths: products),
    "euclidean": Metric(  # kim2019 eq. 14: -|x - y|; its key is -|x - y|^2 / 2 = x.y - |x|^2 / 2 - |y|^2 / 2
        False,
        True,
        lambda squares, lengths: 0 - np.sqrt(squares),  # and so 0.0, not -0.0
        lambda key: 0 - np.sqrt(np.maximum(0, -2 * key)),
        lambda value: -value * value / 2,
    ),
}


@dataclass
class Side:
    """One side of a search: its vectors, and numbers for the bound on the error, float64 [n] each.

    `length`: the lengths of the rows of the product; `residual`: their distances from the exact rows. `rounding`: of
    the result of the product, relative.
    """

    vectors: Embeddings
    norms: NDArray[np.float64]
    metric: Metric
    rounding: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore"):
            inverse = np.where(self.norms > 0, 1 / self.norms, 0)
        self.scale = inverse if self.metric.scaled else np.ones_like(self.norms)
        self.length = self.norms * self.scale

    @cached_property
    def residual(self) -> NDArray[np.float64]:
        return 2 * UNIT * self.length if self.metric.scaled else np.zeros_like(self.norms)

    def __len__(self) -> int:
        return len(self.norms)

    def full(self) -> "Side":
        """The side with its numbers in float32."""
        return self

    def matrix(self, rows: slice) -> Any:
        """Consecutive rows [m, d] of the product, float32."""
        matrix = np.empty((rows.stop - rows.start, self.vectors.dimension), np.float32)
        for part in blocks(len(matrix), BLOCK):
            here = slice(rows.start + part.start, rows.start + part.stop)
            self._scale(self.vectors.block(here.start, here.stop), here, matrix[part])
        return matrix

    def matrix_of(self, rows: NDArray[np.int64]) -> Any:
        """Any rows [m, d] of the product."""
        matrix = self.vectors.take(rows)
        return self._scale(matrix, rows, matrix)

    def _scale(self, block: NDArray[np.float32], rows: Any, out: NDArray[np.float32]) -> NDArray[np.float32]:
        scale = self.scale[rows][:, None] if self.metric.scaled else np.ones((1, 1))
        if (scale > 1e30).any():  # float32 cannot hold the inverse of a length below 1e-38
            out[:] = block * scale
            return out
        return np.multiply(block, scale.astype(np.float32), out=out)

    @staticmethod
    def host(keys: Any) -> NDArray[np.float32]:
        """Keys as an array."""
        return keys

    def half(self, rows: Any) -> Any:
        """Half the squared lengths of rows, float32 [m]."""
        return (self.norms[rows] ** 2 / 2).astype(np.float32)

    def slack(self, other: "Side") -> NDArray[np.float64]:
        """A bound on the error of any key of each row against `other`, [n]; the rounding of the result is not included.

        |fl(a.b) - a.b| <= d u |a||b| for any order of summation (Higham 2002, section 3.1), and Cauchy-Schwarz for the
        residuals; u = 2^-24, with some margin.
        """
        d = self.vectors.dimension
        own, others = self.length + self.residual, (other.length + other.residual).max()
        bound = 1.01 * (d + 8) * UNIT * own * others + own * other.residual.max() + self.residual * other.length.max()
        if self.metric.halved:
            bound += 8 * UNIT * (self.norms + other.norms.max()) ** 2
        return np.where(self.length > 0, bound + d * 2.0**-125, bound)  # products may underflow


def similarities(
    src: Side, tgt: Side, rows: NDArray[np.int64], columns: NDArray[np.int64], threads: int = 1
) -> NDArray[np.float32]:
    """The similarity of each pair (rows[i], columns[i]), float32 [m]; in float64 inside, from the two vectors alone."""

    def part(pairs: slice) -> NDArray[np.float32]:
        i, j = rows[pairs], columns[pairs]
        (a, at_a), (b, at_b) = (side.vectors.at(ids) for side, ids in ((src, i), (tgt, j)))
        sums = np.empty(len(i))
        loop.sums(a, at_a, b, at_b, src.metric.halved, sums)
        return src.metric.exact(sums, src.norms[i] * tgt.norms[j]).astype(np.float32)

    loop = loops(len(rows) * src.vectors.dimension)
    step = max(1, CHUNK // src.vectors.dimension)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate([np.empty(0, np.float32), *pool.map(part, blocks(len(rows), step))])


def loops(elements: int) -> ModuleType:
    """The module with the loops over so many elements: both give the same bytes. numba's take a second to load."""
    if elements > FEW:
        from bitextbench.neighbours import kernels

        return kernels
    from bitextbench.neighbours import plain

    return plain


def keys_of(left: Any, right: Any, src: Side, tgt: Side, rows: Any, columns: Any) -> Any:
    """The keys [m, n] of a tile, by the product of the arrays, or tensors, that the sides gave."""
    return shifted(left @ right.T, src, tgt, rows, columns)


def shifted(keys: Any, src: Side, tgt: Side, rows: Any, columns: Any) -> Any:
    """The keys of products [m, n], computed in place."""
    if src.metric.halved:
        keys -= src.half(rows)[:, None]
        keys -= tgt.half(columns)
    return keys


def blocks(n: int, step: int) -> Iterator[slice]:
    """Slices of `step` numbers that cover 0 to n; the last may be shorter."""
    yield from (slice(start, min(start + step, n)) for start in range(0, n, step))


def steps(m: int, rows: int, n: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of the matrix of similarities, with progress."""
    pairs = [(a, b) for a in blocks(m, rows) for b in blocks(n, columns)]
    yield from progress(pairs, f"neighbours of {m:,} x {n:,}", total=len(pairs), unit="blocks")
