"""Similarities: exact, of given pairs; and prepared for a fast product, with a bound on its error."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import torch
from bitextbench.formats.vectors import Embeddings

METRICS = ("cosine", "dot", "euclidean")
TILE = {"cpu": 2048, "cuda": 8192}  # rows and columns of a tile of the product
CHUNK = 1 << 20  # elements that one thread scores at a time: 8 MiB in float64
ROUNDING = {torch.float32: 0.0, torch.bfloat16: 2.0**-8}  # relative rounding of the result of the product
UNIT = 2.0**-24  # half a unit in the last place of float32


class Metric(NamedTuple):
    """A similarity, and its key in the search: x.y minus one number for each side, which grows with the similarity.

    `exact`: vectors float64 [m, d] of both sides and the products of their lengths [m] -> similarities float64 [m].
    `similarity` and `key` convert one into the other.
    """

    scaled: bool  # vectors are divided by their lengths
    halved: bool  # half the squared length of each side is subtracted
    exact: Callable[..., NDArray[np.float64]]
    similarity: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda key: key
    key: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda similarity: similarity


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(np.vecdot(a, b), lengths, out=np.zeros(len(a)), where=lengths > 0)


def _euclidean(a: NDArray[np.float64], b: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    difference = a - b
    return -np.sqrt(np.vecdot(difference, difference))


METRIC = {
    "cosine": Metric(True, False, _cosine),  # kim2019 eq. 13; 0 where a vector is zero
    "dot": Metric(False, False, lambda a, b, lengths: np.vecdot(a, b)),
    "euclidean": Metric(  # kim2019 eq. 14: -|x - y|; its key is -|x - y|^2 / 2 = x.y - |x|^2 / 2 - |y|^2 / 2
        False, True, _euclidean, lambda key: -np.sqrt(np.maximum(0, -2 * key)), lambda value: -value * value / 2
    ),
}


@dataclass
class Side:
    """One side of a search: its vectors, and numbers for the bound on the error, float64 [n] each.

    `length`: the lengths of the rows of the product; `residual`: their distances from the exact rows.
    """

    vectors: Embeddings
    norms: NDArray[np.float64]
    metric: Metric
    dtype: torch.dtype
    device: torch.device

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore"):
            inverse = np.where(self.norms > 0, 1 / self.norms, 0)
        self.scale = inverse if self.metric.scaled else np.ones_like(self.norms)
        self.length = self.norms * self.scale
        self.residual = 2 * UNIT * self.length if self.metric.scaled else np.zeros_like(self.norms)
        if self.dtype == torch.bfloat16:
            for rows in blocks(len(self), TILE["cpu"]):
                full = self._full(self.vectors.block(rows.start, rows.stop), rows)
                lost = (full - full.to(self.dtype).float()).norm(dim=1)
                self.residual[rows] += lost.double().cpu().numpy() * (1 + 1e-3)

    def __len__(self) -> int:
        return len(self.norms)

    def _full(self, block: NDArray[np.float32], rows: Any) -> torch.Tensor:
        full = torch.from_numpy(block).to(self.device)
        if self.metric.scaled:
            scale = torch.from_numpy(self.scale[rows]).to(self.device)[:, None]
            tiny = bool((scale > 1e30).any())  # float32 cannot hold the inverse of a length below 1e-38
            full = (full.double() * scale).float() if tiny else full * scale.float()
        return full

    def matrix(self, rows: slice) -> torch.Tensor:
        """Consecutive rows [m, d] of the product."""
        matrix = torch.empty((rows.stop - rows.start, self.vectors.dimension), dtype=self.dtype, device=self.device)
        for part in blocks(len(matrix), TILE["cpu"]):
            here = slice(rows.start + part.start, rows.start + part.stop)
            matrix[part] = self._full(self.vectors.block(here.start, here.stop), here)
        return matrix

    def matrix_of(self, rows: NDArray[np.int64]) -> torch.Tensor:
        """Any rows [m, d] of the product."""
        return self._full(self.vectors.take(rows), rows).to(self.dtype)

    def half(self, rows: Any) -> torch.Tensor:
        """Half the squared lengths of rows, float32 [m]."""
        return torch.from_numpy((self.norms[rows] ** 2 / 2).astype(np.float32)).to(self.device)

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
        a, b = (side.vectors.take(ids).astype(np.float64) for side, ids in ((src, i), (tgt, j)))
        return src.metric.exact(a, b, src.norms[i] * tgt.norms[j]).astype(np.float32)

    step = max(1, CHUNK // src.vectors.dimension)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate([np.empty(0, np.float32), *pool.map(part, blocks(len(rows), step))])


def blocks(n: int, step: int) -> Iterator[slice]:
    """Slices of `step` numbers that cover 0 to n; the last may be shorter."""
    yield from (slice(start, min(start + step, n)) for start in range(0, n, step))
