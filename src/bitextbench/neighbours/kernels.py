"""Compiled loops of a search: over the elements of the matrix of similarities, and over pairs of rows."""

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled

STEP = 64  # elements of a row that are compared before any is looked at
LANES = 16  # sums that a product of two vectors is made of: their order is the same on every processor


@compiled
def keep(values: NDArray[np.float32], ids: NDArray[np.int32], value: float, number: int) -> None:
    """Put a value in the place of the least of `values` [K], which stay in descending order."""
    place = len(values) - 1
    while place > 0 and values[place - 1] < value:
        values[place], ids[place] = values[place - 1], ids[place - 1]
        place -= 1
    values[place], ids[place] = value, number


@compiled
def keep_best(
    keys: NDArray[np.float32],
    row: int,
    column: int,
    row_values: NDArray[np.float32],
    row_ids: NDArray[np.int32],
    column_values: NDArray[np.float32],
    column_ids: NDArray[np.int32],
) -> None:
    """Add a tile [m, n], whose first element is (row, column), to the best K of all rows and of all columns [., K].

    One look at an element serves both directions, and most end with it.
    """
    floors = column_values[column : column + keys.shape[1], -1].copy()
    for i in range(keys.shape[0]):
        line, values, ids = keys[i], row_values[row + i], row_ids[row + i]
        floor = values[-1]
        for start in range(0, len(line), STEP):
            stop = min(len(line), start + STEP)
            above = np.int32(0)
            for j in range(start, stop):
                above += np.int32((line[j] > floor) | (line[j] > floors[j]))
            if above == 0:
                continue
            for j in range(start, stop):
                if line[j] > floor:
                    keep(values, ids, line[j], column + j)
                    floor = values[-1]
                if line[j] > floors[j]:
                    keep(column_values[column + j], column_ids[column + j], line[j], row + i)
                    floors[j] = column_values[column + j, -1]


@compiled
def join_best(
    values: NDArray[np.float32], ids: NDArray[np.int32], more: NDArray[np.float32], more_ids: NDArray[np.int32]
) -> None:
    """Add the best K of other elements to those of each row [n, K]."""
    for i in range(len(values)):
        for place in range(values.shape[1]):
            if more[i, place] > values[i, -1]:
                keep(values[i], ids[i], more[i, place], more_ids[i, place])


@compiled
def sums(
    a: NDArray[np.float32],
    i: NDArray[np.int64],
    b: NDArray[np.float32],
    j: NDArray[np.int64],
    differences: bool,
    out: NDArray[np.float64],
) -> None:
    """For each pair of rows, a[i].b[j], or the square of the length of their difference; in float64."""
    lanes = np.empty(LANES)
    whole = a.shape[1] // LANES * LANES
    for pair in range(len(i)):
        x, y = a[i[pair]], b[j[pair]]
        lanes[:] = 0
        if differences:
            for start in range(0, whole, LANES):
                for lane in range(LANES):
                    lanes[lane] += (np.float64(x[start + lane]) - np.float64(y[start + lane])) ** 2
            for place in range(whole, len(x)):
                lanes[0] += (np.float64(x[place]) - np.float64(y[place])) ** 2
        else:
            for start in range(0, whole, LANES):
                for lane in range(LANES):
                    lanes[lane] += np.float64(x[start + lane]) * np.float64(y[start + lane])
            for place in range(whole, len(x)):
                lanes[0] += np.float64(x[place]) * np.float64(y[place])
        total = 0.0
        for lane in range(LANES):
            total += lanes[lane]
        out[pair] = total
