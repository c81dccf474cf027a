"""Retrieval strategies, thresholds and deduplication against brute force."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitextbench.base.errors import InputError
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.sentences import first_copies
from bitextbench.mining.retrieval import STRATEGIES, of_copies, one_to_one, retrieve
from bitextbench.neighbours import Both, Neighbours


def neighbourhood(scores: np.ndarray, k: int) -> tuple[Both, tuple[np.ndarray, np.ndarray]]:
    """The k candidates of each row and column of a score matrix, with their scores."""
    sides = []
    for matrix in (scores, scores.T):
        plain = np.nan_to_num(matrix, nan=-9)
        ids = np.argsort(-plain, axis=1, kind="stable")[:, :k]
        sides.append((Neighbours(ids, np.take_along_axis(plain, ids, 1)), np.take_along_axis(matrix, ids, 1)))
    (forward, f), (backward, g) = sides
    return Both(forward, backward), (f, g)


def oracle(strategy: str, scores: np.ndarray) -> list[tuple[float, int, int]]:
    """The pairs of a whole score matrix, best first, by the words of the paper."""
    cells = sorted((-s, i, j) for (i, j), s in np.ndenumerate(scores) if not np.isnan(s))
    forward = {i: next(c for c in cells if c[1] == i) for i in {c[1] for c in cells}}
    backward = {j: next(c for c in cells if c[2] == j) for j in {c[2] for c in cells}}
    match strategy:
        case "forward":
            pairs = set(forward.values())
        case "backward":
            pairs = set(backward.values())
        case "intersection":
            pairs = set(forward.values()) & set(backward.values())
        case _:
            pairs, seen = set(), set()
            for s, i, j in sorted({*forward.values(), *backward.values()}):
                if ("x", i) not in seen and ("y", j) not in seen:
                    seen |= {("x", i), ("y", j)}
                    pairs.add((s, i, j))
    return [(-s, i, j) for s, i, j in sorted(pairs)]


MATRIX = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
    elements=st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0, float("nan")]),
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@example(np.array([[np.nan]], np.float32))
@example(np.zeros((3, 3), np.float32))
@settings(deadline=None)
@given(MATRIX)
def test_equals_brute_force(strategy, scores):
    both, of_candidates = neighbourhood(scores, 7)
    mined = retrieve(strategy, both, of_candidates)
    got = list(zip(mined.scores.tolist(), mined.src.tolist(), mined.tgt.tolist(), strict=True))
    assert got == oracle(strategy, scores)


def test_only_the_k_nearest_are_candidates():
    # the pair (0, 1) scores best but is not among the nearest neighbour of either
    both = Both(
        Neighbours(np.array([[0], [1]]), np.ones((2, 1), np.float32)),
        Neighbours(np.array([[0], [1]]), np.ones((2, 1), np.float32)),
    )
    mined = retrieve("max", both, (np.array([[0.2], [0.1]], np.float32), np.array([[0.2], [0.1]], np.float32)))
    assert list(zip(mined.src, mined.tgt, strict=True)) == [(0, 0), (1, 1)]


@settings(deadline=None)
@given(MATRIX, st.sampled_from(STRATEGIES))
def test_properties(scores, strategy):
    both, of_candidates = neighbourhood(scores, 3)
    mined = retrieve(strategy, both, of_candidates)
    assert (np.diff(mined.scores) <= 0).all()
    if strategy != "backward":
        assert len(set(mined.src.tolist())) == len(mined.src)
    if strategy != "forward":
        assert len(set(mined.tgt.tolist())) == len(mined.tgt)
    if strategy == "intersection":
        pairs = set(zip(mined.src.tolist(), mined.tgt.tolist(), strict=True))
        best = retrieve("max", both, of_candidates)
        assert pairs <= set(zip(best.src.tolist(), best.tgt.tolist(), strict=True))


@settings(deadline=None)
@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), max_size=9), st.sampled_from([-2.0, 0.0, 0.5, 0.75, 2.0]))
def test_a_threshold_keeps_what_reaches_it(scores, threshold):
    ids = np.arange(len(scores))
    mined = Mined(ids, ids, np.sort(np.array(scores, np.float32))[::-1])
    assert mined.above(threshold).scores.tolist() == sorted((s for s in scores if s >= threshold), reverse=True)
    assert len(mined.above(None).src) == len(scores)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "a ", "", "é", "e\u0301"]), max_size=12))
def test_first_copies(lines):
    assert first_copies(lines).tolist() == [i for i, line in enumerate(lines) if line not in lines[:i]]


def test_nothing_to_pair():
    empty = Mined(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    assert len(one_to_one(empty).src) == 0


def test_unknown_strategy():
    with pytest.raises(InputError, match="unknown retrieval 'best'; known: forward"):
        retrieve("best", *neighbourhood(np.ones((1, 1), np.float32), 1))


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(deadline=None)
@given(MATRIX, st.data())
def test_each_copy_has_its_pair(strategy, scores, data):
    pairs = retrieve(strategy, *neighbourhood(scores, 7))
    src, tgt = (
        np.array(data.draw(st.permutations([*range(n), *data.draw(st.lists(st.integers(0, n - 1), max_size=9))])))
        for n in scores.shape
    )
    expected = []
    for score, s, t in zip(pairs.scores, pairs.src, pairs.tgt, strict=True):
        a, b = (np.flatnonzero(which == one).tolist() for which, one in ((src, s), (tgt, t)))
        together = {"forward": len(a), "backward": len(b)}.get(strategy, max(len(a), len(b)))
        for i in range(together):
            expected.append((-score, a[i if i < len(a) else 0], b[i if i < len(b) else 0]))
    found = of_copies(pairs, src, tgt, strategy)
    assert [*zip((-found.scores).tolist(), found.src, found.tgt, strict=True)] == sorted(expected)
