"""`kernels` by numpy, to the same bytes: for small searches, which are over before machine code is loaded, or compiled."""

import numpy as np
from numpy.typing import NDArray

from bitextbench.neighbours.lists import Kept

LANES = 16  # as in `kernels`
PAIRS = 1 << 18  # elements at a time


def keep_best(
    keys: NDArray[np.float32],
    row: int,
    column: int,
    row_values: NDArray[np.float32],
    row_ids: NDArray[np.int32],
    column_values: NDArray[np.float32],
    column_ids: NDArray[np.int32],
) -> None:
    for kept, tile, first, offset in (
        (Kept(row_values, row_ids), keys, row, column),
        (Kept(column_values, column_ids), np.ascontiguousarray(keys.T), column, row),
    ):
        width = min(kept.values.shape[1], tile.shape[1])
        best = np.argpartition(tile, tile.shape[1] - width, axis=1)[:, -width:]
        kept.add(slice(first, first + len(tile)), np.take_along_axis(tile, best, 1), best + offset)


def join_best(
    values: NDArray[np.float32], ids: NDArray[np.int32], more: NDArray[np.float32], more_ids: NDArray[np.int32]
) -> None:
    Kept(values, ids).add(slice(None), more, more_ids)


def sums(
    a: NDArray[np.float32],
    i: NDArray[np.int64],
    b: NDArray[np.float32],
    j: NDArray[np.int64],
    differences: bool,
    out: NDArray[np.float64],
) -> None:
    whole = a.shape[1] // LANES * LANES
    step = max(1, PAIRS // a.shape[1])
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        x, y = a[i[part]].astype(np.float64), b[j[part]].astype(np.float64)
        terms = np.square(x - y) if differences else x * y
        lanes = np.zeros((len(x), LANES))
        for place in range(0, whole, LANES):
            lanes += terms[:, place : place + LANES]
        for place in range(whole, a.shape[1]):
            lanes[:, 0] += terms[:, place]
        total = np.zeros(len(x))
        for lane in range(LANES):
            total += lanes[:, lane]
        out[part] = total
