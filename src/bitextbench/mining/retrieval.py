"""Retrieves pairs from scored neighbours: artetxe2019 section 3.2.

Of tied pairs, the lower source id and then the lower target id comes first. A pair whose score is NaN is no candidate.
"""

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.vectors import Distinct
from bitextbench.neighbours import Both, Neighbours
from bitextbench.scoring.margins import score_neighbours

STRATEGIES = ("forward", "backward", "intersection", "max")


def check_strategy(name: str) -> None:
    """Raises InputError for an unknown strategy."""
    if name not in STRATEGIES:
        raise InputError(f"unknown retrieval {name!r}", remedy=f"known: {', '.join(STRATEGIES)}")


def retrieve(strategy: str, both: Both, scores: tuple[NDArray[np.float32], NDArray[np.float32]]) -> Mined:
    """Candidate pairs by one of four strategies; `scores` [sources, k] and [targets, k] are those of the neighbours.

    - forward: each source with its best-scored neighbour.
    - backward: each target with its best-scored neighbour.
    - intersection: pairs of both strategies.
    - max: forward and backward pairs together, from the best down, each sentence once.

    Raises InputError for an unknown strategy.
    """
    check_strategy(strategy)
    if strategy == "forward":
        return _sorted(_forward(both, scores))
    if strategy == "backward":
        return _sorted(_backward(both, scores))
    forward, backward = _forward(both, scores), _backward(both, scores)
    if strategy == "intersection":
        best_source = np.full(len(both.backward), -1)
        best_source[backward.tgt] = backward.src
        return _sorted(forward.take(best_source[forward.tgt] == forward.src))
    return one_to_one(_sorted(forward.joined(backward)))


def of_copies(pairs: Mined, src: NDArray[np.int64], tgt: NDArray[np.int64], strategy: str) -> Mined:
    """Pairs of sentences out of pairs of distinct ones; `src`, `tgt` [n]: which of these each sentence is a copy of.

    The first copy goes with the first, the second with the second, and so on. Where one side has more copies, its others
    go with the first of the other side; but not where they have no pair by the strategy, as targets in `forward`.
    """
    (by_src, from_src, m), (by_tgt, from_tgt, n) = map(_groups, (src, tgt))
    m, n = m[pairs.src], n[pairs.tgt]
    counts = {"forward": m, "backward": n}.get(strategy, np.maximum(m, n))
    of = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    return _sorted(
        Mined(
            by_src[from_src[pairs.src[of]] + np.where(number < m[of], number, 0)],
            by_tgt[from_tgt[pairs.tgt[of]] + np.where(number < n[of], number, 0)],
            pairs.scores[of],
        )
    )


def _groups(which: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The places [n] of equal values next to each other, in order, and where each value begins, and how often it occurs."""
    counts = np.bincount(which)
    return np.argsort(which, kind="stable"), np.cumsum(counts) - counts, counts


def _forward(both: Both, scores: tuple[NDArray[np.float32], NDArray[np.float32]]) -> Mined:
    src, tgt, best = _best(both.forward, scores[0])
    return Mined(src, tgt, best)


def _backward(both: Both, scores: tuple[NDArray[np.float32], NDArray[np.float32]]) -> Mined:
    tgt, src, best = _best(both.backward, scores[1])
    return Mined(src, tgt, best)


def _best(
    neighbours: Neighbours, scores: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Row, id and score of the best-scored neighbour of every row that has one; of tied ones, the lowest id."""
    defined = np.where(np.isnan(scores), -np.inf, scores)
    best = defined.max(axis=1)
    ids = np.where(defined == best[:, None], neighbours.ids, np.iinfo(np.int64).max).min(axis=1)
    rows = np.flatnonzero(best > -np.inf)
    return rows, ids[rows], best[rows].astype(np.float32)


def _sorted(pairs: Mined) -> Mined:
    return pairs.take(np.lexsort((pairs.tgt, pairs.src, -pairs.scores)))


def one_to_one(pairs: Mined) -> Mined:
    """The pairs, taken in order, that share no sentence with a pair taken before."""
    used_src = bytearray(int(pairs.src.max(initial=-1)) + 1)
    used_tgt = bytearray(int(pairs.tgt.max(initial=-1)) + 1)
    taken = []
    for index, (src, tgt) in enumerate(zip(pairs.src.tolist(), pairs.tgt.tolist(), strict=True)):
        if not (used_src[src] or used_tgt[tgt]):
            used_src[src] = used_tgt[tgt] = 1
            taken.append(index)
    return pairs.take(np.array(taken, np.int64))


def mine_pairs(
    both: Both, margin: str, retrieval: str, threshold: float | None, copies: tuple[Distinct, Distinct] | None = None
) -> tuple[Mined, dict[str, int]]:
    """Score the neighbours, retrieve pairs, and keep those that reach the threshold; of `copies`, each has its pair.

    Returns the pairs, and counts: candidates (scored neighbours of both directions), undefined (those without a score),
    retrieved, below_threshold, pairs.
    """
    scores = score_neighbours(margin, both)
    retrieved = retrieve(retrieval, both, scores)
    if copies:
        retrieved = of_copies(retrieved, copies[0].which, copies[1].which, retrieval)
    mined = retrieved.above(threshold)
    counts = {
        "candidates": sum(array.size for array in scores),
        "undefined": sum(int(np.isnan(array).sum()) for array in scores),
        "retrieved": len(retrieved.src),
        "below_threshold": len(retrieved.src) - len(mined.src),
        "pairs": len(mined.src),
    }
    return mined, counts
