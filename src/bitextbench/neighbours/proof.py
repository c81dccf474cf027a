"""The exact part of a search: scores what the fast search kept, proves that nothing is missing, or searches again."""

import numpy as np
from numpy.typing import NDArray

from bitextbench.formats.vectors import distinct
from bitextbench.neighbours.lists import Kept, Neighbours, best_k
from bitextbench.neighbours.metric import BLOCK, Side, blocks, keys_of, similarities

ROWS = 16_384  # rows whose lists are scored at a time


def settle(top: Kept, src: Side, tgt: Side, k: int, threads: int) -> Neighbours:
    """Score what the search kept in `top`; search again each row that is not proven complete."""
    width = top.values.shape[1]
    near, far = (src, tgt) if top.dropped is None else (src.full(), tgt.full())
    slack = near.slack(far)
    dropped = np.full(len(src), -np.inf) if top.dropped is None else _most(src, tgt, top.dropped.astype(np.float64))
    result = Neighbours(np.empty((len(src), k), np.int64), np.empty((len(src), k), np.float32))
    unproven = []
    for rows in blocks(len(src), ROWS):
        keys, ids = top.values[rows].astype(np.float64), top.ids[rows].astype(np.int64)
        error = near.rounding * np.abs(keys) + slack[rows, None]
        most, least = (src.metric.similarity(keys + sign * error).astype(np.float32) for sign in (1, -1))
        row, place = np.nonzero(most >= least[:, k - 1, None])
        similarity = np.full(keys.shape, -np.inf, np.float32)
        similarity[row, place] = similarities(src, tgt, rows.start + row, ids[row, place], threads)
        best = best_k(similarity, ids, k)
        result.ids[rows], result.similarities[rows] = best.ids, best.similarities
        proven = (best.similarities[:, -1] > np.maximum(most[:, -1], dropped[rows])) | (width == len(tgt))
        unproven.append(rows.start + np.flatnonzero(~proven))
    if len(again := np.concatenate(unproven)):
        _exhaust(src, tgt, again, result, k, threads)
    return result


def _most(src: Side, tgt: Side, keys: NDArray[np.float64]) -> NDArray[np.float32]:
    """The greatest similarity [n] that elements of these keys of the fast product, or smaller ones, can have."""
    with np.errstate(invalid="ignore"):
        bound = keys + (src.rounding * np.abs(keys) + src.slack(tgt))
    return src.metric.similarity(np.where(keys == -np.inf, -np.inf, bound)).astype(np.float32)


def _exhaust(src: Side, tgt: Side, rows: NDArray[np.int64], result: Neighbours, k: int, threads: int) -> None:
    """Search `rows` exhaustively, and correct them in `result`.

    Their k-th similarity in `result` is a lower bound of the true one: every pair that could reach it is scored. Equal
    vectors are searched once.
    """
    full, full_tgt = src.full(), tgt.full()
    if not src.metric.halved:  # the similarity of a zero vector to any other is 0
        zero, rows = rows[src.norms[rows] == 0], rows[src.norms[rows] > 0]
        result.ids[zero], result.similarities[zero] = np.arange(k), 0
    once = distinct(src.vectors.select(rows))
    first = rows[once.first]
    for part in blocks(len(first), BLOCK):
        block = first[part]
        best = _exhaust_block(full, full_tgt, block, result.similarities[block, -1], k, threads)
        result.ids[block], result.similarities[block] = best.ids, best.similarities
    alike = first[once.which]
    result.ids[rows], result.similarities[rows] = result.ids[alike], result.similarities[alike]


def _exhaust_block(
    src: Side, tgt: Side, rows: NDArray[np.int64], floor: NDArray[np.float32], k: int, threads: int
) -> Neighbours:
    """The k nearest of `rows`, by all pairs whose similarity could be at least `floor` [m]."""
    left, slack = src.matrix_of(rows), src.slack(tgt)[rows]
    best = Neighbours(np.full((len(rows), k), len(tgt)), np.full((len(rows), k), -np.inf, np.float32))
    for columns in blocks(len(tgt), BLOCK):
        keys = src.host(keys_of(left, tgt.matrix(columns), src, tgt, rows, columns))
        floor = np.maximum(floor, best.similarities[:, -1])
        least = src.metric.key(np.nextafter(floor, np.float32(-np.inf)).astype(np.float64)) - slack
        row, column = np.nonzero(keys >= least[:, None])
        scores = np.full(keys.shape, -np.inf, np.float32)
        scores[row, column] = similarities(src, tgt, rows[row], columns.start + column, threads)
        ids = np.broadcast_to(np.arange(columns.start, columns.stop), scores.shape)
        touched = np.unique(row)
        new = best_k(
            np.concatenate([best.similarities[touched], scores[touched]], 1),
            np.concatenate([best.ids[touched], ids[touched]], 1),
            k,
        )
        best.ids[touched], best.similarities[touched] = new.ids, new.similarities
    return best
