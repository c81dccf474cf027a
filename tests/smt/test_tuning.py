"""Minimum error rate training finds the optimum of surfaces that can be searched otherwise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.smt import tuning
from bitextbench.smt.tuning import Lists, References, ascending, bleu, search_line

REFERENCES = ["the cat sat on the mat", "a cat was sitting on this small mat"]


def toy_lists(seed, sentences=4, entries=6, features=2):
    """Lists whose entries have random features and statistics."""
    draw = np.random.default_rng(seed)
    n = sentences * entries
    length = draw.integers(5, 12, n)
    total = np.stack([length - k for k in range(4)], axis=1)
    right = np.sort((total * draw.uniform(0.1, 1, (n, 4))).astype(int), axis=1)[:, ::-1]
    counts = np.concatenate([right, total, draw.integers(5, 12, (n, 1))], axis=1).astype(np.int64)
    return Lists(draw.normal(size=(n, features)), counts, np.arange(0, n + 1, entries))


def reached(lists, weights):
    scores = lists.features @ weights
    chosen = [b + scores[b:e].argmax() for b, e in zip(lists.starts[:-1], lists.starts[1:], strict=True)]
    return bleu(lists.counts[chosen].sum(0))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30))
def test_a_line_search_is_exact(seed):
    lists = toy_lists(seed)
    offsets, slopes = lists.features.T.copy()
    step, found = search_line(lists.starts, lists.counts, offsets, slopes, ascending(lists.starts, slopes))
    crossings = [
        (offsets[i] - offsets[j]) / (slopes[j] - slopes[i])
        for b, e in zip(lists.starts[:-1], lists.starts[1:], strict=True)
        for i in range(b, e)
        for j in range(i)
        if j >= b
    ]
    corners = np.sort([-1e3, *crossings, 1e3])
    places = (corners[1:] + corners[:-1]) / 2
    assert found == pytest.approx(max(reached(lists, np.array([1.0, place])) for place in places))
    assert reached(lists, np.array([1.0, step])) == pytest.approx(found)


@pytest.mark.parametrize("seed", range(5))
def test_tuning_finds_the_optimum_of_a_surface(seed):
    lists = toy_lists(seed, sentences=6)
    weights, found = tuning.optimise(lists, np.array([0.5, 0.5]), seed=1)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    best = max(reached(lists, np.array([np.cos(angle), np.sin(angle)])) for angle in angles)
    assert found >= best - 1e-5
    assert reached(lists, weights) == pytest.approx(found)
    assert np.abs(weights).sum() == pytest.approx(1)


def test_the_same_seed_gives_the_same_weights():
    lists = toy_lists(7, features=4)
    first, second = (tuning.optimise(lists, np.ones(4), seed=3)[0].tolist() for _ in range(2))
    assert first == second


def test_bleu_of_one_reference_is_sacrebleus():
    metric = pytest.importorskip("sacrebleu").metrics.BLEU(tokenize="none", smooth_method="none", lowercase=True)
    lines = ["The cat sat on a mat", "the small cat sat on the mat ."]
    truth = [REFERENCES[0], "the small cat sat on this mat ."]
    total = np.sum([References([other]).statistics(line) for line, other in zip(lines, truth, strict=True)], axis=0)
    assert 100 * bleu(total) == pytest.approx(metric.corpus_score(lines, [truth]).score)


def test_of_several_references_the_shortest_counts():
    found = References(REFERENCES).statistics("A cat sat on on the mat")
    assert found[:4] == [6, 5, 2, 0]  # one "on" of two
    assert found[4:] == [7, 6, 5, 4, 6]
    assert bleu(np.array([6, 4, 2, 0, 7, 6, 5, 4, 6])) == 0
