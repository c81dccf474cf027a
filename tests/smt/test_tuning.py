"""Minimum error rate training finds the optimum of surfaces that can be searched otherwise."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.smt import tuning
from bitextbench.smt.nbest import Translation
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
@given(st.integers(0, 1 << 30), st.booleans())
def test_a_line_search_is_exact(seed, whole):
    """Also of whole features, with which many entries have the same line, and many lines one slope."""
    lists = toy_lists(seed)
    if whole:
        lists = lists._replace(features=(2 * lists.features).round())
    offsets, slopes = lists.features.T.copy()
    step, found = search_line(lists.starts, lists.counts, offsets, slopes, ascending(lists.starts, slopes))
    crossings = [
        (offsets[i] - offsets[j]) / (slopes[j] - slopes[i])
        for b, e in zip(lists.starts[:-1], lists.starts[1:], strict=True)
        for i in range(b, e)
        for j in range(i)
        if j >= b and slopes[i] != slopes[j]
    ]
    corners = np.unique(np.round([-1e3, *crossings, 1e3], 9))
    places = (corners[1:] + corners[:-1]) / 2
    assert found == pytest.approx(max(reached(lists, np.array([1.0, place])) for place in places))
    assert reached(lists, np.array([1.0, step])) == pytest.approx(found)


def test_of_equally_good_steps_the_nearest_to_0_is_taken():
    """Three lines cross at -5 and -1, and all entries are as good."""
    counts = np.tile(np.array([5, 4, 3, 2, 5, 4, 3, 2, 5]), (3, 1))
    offsets, slopes, starts = np.array([-5.0, 0, 1]), np.array([-1.0, 0, 1]), np.array([0, 3])
    for sign, moved in ((1, 0), (-1, 0), (1, -3), (-1, -3)):  # mirrored; and from 3 steps to the right
        place = [starts, counts, offsets + moved * -slopes, sign * slopes]
        step, found = search_line(*place, ascending(starts, place[3]))
        assert found == 1
        assert step == 0


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


@pytest.mark.parametrize(
    ("found", "rounds", "bleu_by_round", "new", "best"),
    [
        ([(1.0, 1.5), (2.0, 1.5)], 3, [0, 1, np.exp(-0.2)], [1, 1, 1], 1.0),  # the last round is not the best
        ([(1.0, 1.5), (2.0, 1.5)], 2, [0, 1], [1, 1], 1.0),
        ([(1.0, 1.5), (1.0, 1.5)], 9, [0, 1, 1], [1, 1, 0], 1.0),  # nothing new
        ([(1.0, 1.0), (2.0, 1.0)], 9, [0, 1], [1, 1], 1.0),  # BLEU is not expected to rise
        ([(0.5, 0.0)], 9, [0], [1], 0.0),
    ],
)
def test_rounds_end_and_the_weights_of_the_best_text_are_kept(monkeypatch, found, rounds, bleu_by_round, new, best):
    """One sentence, whose translation follows from the only weight; `found` has what each search gives."""
    texts = {0.0: "a cat", 1.0: REFERENCES[0], 2.0: "the cat sat on the"}

    def translations(rules, weights, count, **options):
        return iter([[Translation(texts[weights["x"]], np.array([weights["x"]]))]])

    monkeypatch.setattr(tuning, "translations", translations)
    searches = iter(found)
    monkeypatch.setattr(tuning, "optimise", lambda *_: (np.array([(pair := next(searches))[0]]), pair[1]))
    rules = SimpleNamespace(names=["x"])
    weights, history = tuning.tune(rules, [REFERENCES[:1]], {"x": 0.0}, 1, count=1, rounds=rounds, beam=1, span=1)
    assert weights == {"x": best}
    assert [one["bleu"] for one in history] == pytest.approx(bleu_by_round)
    assert [one["new"] for one in history] == new


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
