"""Exact nearest neighbours in both directions, from one pass over blocks of the similarity matrix.

One matrix product serves both directions: of every tile, the best of its rows and the best of its columns are kept. The
search runs in the fastest precision; its results are then scored again, exactly, and proven complete:

1. *Search* (`candidates`). A fast product (fp32, or bf16 where the processor has it; see `products`) keeps the best
   K = k + slack of each row and column.
2. *Score* (`metric`). The similarity of a pair is computed from its two float32 vectors alone, in float64, and rounded
   to float32. It does not depend on blocks, threads, shards or backend. Lists are ordered by (-similarity, id).
3. *Prove* (`proof`). A bound on the error of the fast product bounds the similarity of everything that was dropped. A
   row whose k-th similarity is not above that bound (ties, near-duplicates) is searched again, exhaustively.

So every backend, block size, number of threads and sharding gives the same bytes (`lists` has the format).
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats.vectors import Embeddings, check_pair
from bitextbench.neighbours.engine import Engine, engine_of
from bitextbench.neighbours.lists import Both, Neighbours, empty, load, merge, merge_into, save
from bitextbench.neighbours.metric import METRIC, METRICS, blocks
from bitextbench.neighbours.products import PRECISIONS
from bitextbench.neighbours.proof import settle

__all__ = ["BACKENDS", "LEAST_MEMORY", "MEMORY", "METRICS", "Both", "Neighbours", "load", "merge", "save", "search"]

BACKENDS = ("torch", "faiss")
MEMORY = 1 << 30
LEAST_MEMORY = 1 << 26
PANEL = 16_384  # rows and columns that are searched at a time, at least


def search(
    src: Embeddings,
    tgt: Embeddings,
    k: int,
    *,
    metric: str = "cosine",
    backend: str = "torch",
    device: str = "cpu",
    precision: str = "auto",
    memory: int = MEMORY,
    threads: int = 1,
    tile: int | None = None,
    forward_only: bool = False,
) -> Both:
    """The k nearest targets of every source and the k nearest sources of every target; k > n means k = n. With
    `forward_only` the lists of the targets are empty, and take no work.

    - `metric`: cosine (kim2019 eq. 13; 0 for a zero vector), dot, euclidean (eq. 14: minus the distance).
    - `backend`: torch, faiss.
    - `precision` of the fast search: auto, fp32 or bf16.
    - `memory`: a limit in bytes. The vectors, the result (24 k bytes a pair of sentences) and freed blocks that malloc
      keeps are not in it. Memory-mapped vectors may be larger than memory. A GPU has a limit of its own (`Engine.memory`).

    The result does not depend on `backend`, `precision`, `tile` (rows and columns of a block), `threads` or `device`.

    Raises InputError for an empty side, dimensions that differ, a vector that is not finite, k below 1, and unknown
    names.
    """
    _check(k, metric, backend, memory, precision)
    check_pair(src, tgt)
    engine = engine_of(src, tgt, metric, backend=backend, device=device, precision=precision, threads=threads)
    norms = [side.norms() for side in (src, tgt)]
    _report(src, tgt, norms)
    width = k + engine.slack
    panel, rows = sizes(engine, width, src.dimension, memory, threads)
    square = tile or engine.tile_within(memory, threads)
    shape = len(src), len(tgt)
    whole = Both(empty(shape[0], min(k, shape[1])), empty(shape[1], 0 if forward_only else min(k, shape[0])))
    with threadpool_limits(threads, "blas"):
        for a, b in product(blocks(shape[0], panel), blocks(shape[1], panel)):
            left, right = (
                engine.side(side.part(part.start, part.stop), norm[part], METRIC[metric])
                for side, part, norm in ((src, a, norms[0]), (tgt, b, norms[1]))
            )
            widths = min(width, len(right)), 0 if forward_only else min(width, len(left))
            tops = engine.candidates(left, right, widths, rows, square)
            forward = settle(tops[0], left, right, min(k, len(right)), threads)
            merge_into(whole.forward, a, forward, b.start)
            if not forward_only:
                backward = settle(tops[1], right, left, min(k, len(left)), threads)
                merge_into(whole.backward, b, backward, a.start)
    return whole


def sizes(engine: Engine, width: int, dimension: int, memory: int, threads: int) -> tuple[int, int]:
    """The rows and columns that are searched at a time, and of them the rows whose product is prepared at a time."""
    if engine.memory:  # both sides are on the GPU, in float32 and in the format of the product
        each = 2 * dimension * sum({4, engine.itemsize})
        panel = max(PANEL, min(engine.memory // each, engine.memory // (32 * width)))
        return panel, panel
    panel = max(PANEL, memory // 4 // (max(32, 8 * (threads + 1)) * width))
    return panel, max(engine.tile, memory // 4 // (engine.itemsize * dimension))


def _check(k: int, metric: str, backend: str, memory: int, precision: str) -> None:
    if k < 1:
        raise InputError(f"k is {k}", remedy="ask for at least one neighbour")
    for what, name, known in (
        ("metric", metric, METRICS),
        ("backend", backend, BACKENDS),
        ("precision", precision, PRECISIONS),
    ):
        if name not in known:
            raise InputError(f"unknown {what} {name!r}", remedy=f"known: {', '.join(known)}")
    if memory < LEAST_MEMORY:
        raise InputError(f"{memory:,} bytes of memory are too few", remedy=f"give it at least {LEAST_MEMORY:,}")


def _report(src: Embeddings, tgt: Embeddings, norms: Sequence[NDArray[np.float64]]) -> None:
    """Log the number of zero vectors. Raises InputError for vectors whose product would overflow float32."""
    for side, lengths in zip((src, tgt), norms, strict=True):
        if zeros := int((lengths == 0).sum()):
            log(f"{side.name}: {zeros:,} of {len(lengths):,} vectors are zero; their cosine to all others is 0")
    if (largest := norms[0].max() * norms[1].max()) > 1e37:
        raise InputError(
            f"vectors are too long (up to {largest:.1e} squared)", src.name, remedy="scale both sides down"
        )
