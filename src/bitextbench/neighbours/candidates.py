"""The fast search on a CPU: the best keys of each row and column of the matrix of similarities, tile by tile."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from bitextbench.base.errors import InputError
from bitextbench.neighbours.lists import Kept
from bitextbench.neighbours.metric import Side, blocks, loops, shifted, steps
from bitextbench.neighbours.products import Product, one_thread_each

PARTS = 4  # of a tile's rows for each thread, at least: none waits long for another


def by_product(
    src: Side, tgt: Side, width: tuple[int, int], rows: int, tile: int, product: Product, threads: int
) -> tuple[Kept, Kept]:
    """The best keys of each row and of each column, by one product of tiles; `rows` rows are prepared at a time. A
    `width` of 0 is of columns that nobody asks for.

    Each thread has rows of its own, and a list of its own of the best of the columns.
    """
    loop = loops(len(src) * len(tgt))
    forward = Kept.empty(len(src), width[0])
    backward = [Kept.empty(len(tgt), max(1, width[1])) for _ in range(threads)]
    height = min(tile, -(-min(rows, len(src)) // (PARTS * threads)) if threads > 1 else tile)
    tiles = [np.empty((height, min(tile, len(tgt))), np.float32) for _ in range(threads)]
    prepared = left = None
    with one_thread_each(), ThreadPoolExecutor(threads) as pool:
        for outer, columns in steps(len(src), rows, len(tgt), tile):
            if outer != prepared:
                prepared, left = outer, src.matrix(outer)
            right, parts = tgt.matrix(columns), iter([*blocks(len(left), height)])  # type: ignore[arg-type]

            def work(thread: int, outer=outer, columns=columns, left=left, right=right, parts=parts) -> None:
                for part in parts:  # the next one that no thread has
                    here = slice(outer.start + part.start, outer.start + part.stop)
                    keys = tiles[thread].ravel()[: (part.stop - part.start) * len(right)].reshape(-1, len(right))
                    product(left[part], right, keys)
                    shifted(keys, src, tgt, here, columns)
                    loop.keep_best(keys, here.start, columns.start, *forward[:2], *backward[thread][:2])

            if threads > 1:
                list(pool.map(work, range(threads)))
            else:
                work(0)
    for more in backward[1:]:
        loop.join_best(*backward[0][:2], *more[:2])
    return forward, backward[0]


def by_faiss(
    src: Side, tgt: Side, width: tuple[int, int], rows: int, tile: int, threads: int, gpu: bool
) -> tuple[Kept, Kept]:
    """`by_product` with the exhaustive search of faiss, once for each direction; always fp32."""
    import faiss

    faiss.omp_set_num_threads(threads)
    distance = faiss.METRIC_L2 if src.metric.halved else faiss.METRIC_INNER_PRODUCT
    if gpu and not hasattr(faiss, "StandardGpuResources"):
        raise InputError(
            "faiss was installed without GPU support", remedy="install faiss-gpu, or use the backend torch"
        )

    def knn(queries: np.ndarray, base: np.ndarray, k: int) -> Kept:
        if gpu:
            values, ids = faiss.knn_gpu(faiss.StandardGpuResources(), queries, base, k, metric=distance)
        else:
            values, ids = faiss.knn(queries, base, k, metric=distance)
        return Kept(np.divide(values, -2, out=values) if src.metric.halved else values, ids)

    forward, backward = Kept.empty(len(src), width[0]), Kept.empty(len(tgt), width[1])
    for outer, columns in steps(len(src), rows, len(tgt), rows):
        left, right = src.matrix(outer), tgt.matrix(columns)
        best = knn(left, right, min(width[0], len(right)))
        forward.add(outer, best.values, best.ids + columns.start)
        if width[1]:
            best = knn(right, left, min(width[1], len(left)))
            backward.add(columns, best.values, best.ids + outer.start)
    return forward, backward
