"""Margins against their formulas, pair by pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitextbench.base.errors import InputError
from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours import METRICS, search
from bitextbench.scoring.margins import MARGINS, SIMILARITIES, margin, means, metric_and_margin, score_neighbours


def oracle(name: str, cosine: np.ndarray, i: int, j: int, k: int) -> float:
    """The score of a pair as the papers write it, out of the whole matrix of cosines."""
    of_x = sorted(cosine[i].tolist(), reverse=True)[:k]
    of_y = sorted(cosine[:, j].tolist(), reverse=True)[:k]
    a = cosine[i, j]
    b = sum(z / (2 * len(of_x)) for z in of_x) + sum(z / (2 * len(of_y)) for z in of_y)
    one_way = sum(z / len(of_x) for z in of_x)
    match name:
        case "absolute":
            return a
        case "distance":
            return a - b
        case "ratio":
            return a / b if b > 1e-9 else np.nan
        case "csls":
            return 2 * a - sum(of_x) / len(of_x) - sum(of_y) / len(of_y)
        case "yang9":
            return a / b + a if b > 1e-9 else np.nan
        case "yang10":
            return a / one_way + a if one_way > 1e-9 else np.nan
    raise AssertionError(name)


VALUES = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
SIDE = hnp.arrays(np.float32, st.tuples(st.integers(1, 7), st.just(3)), elements=VALUES)


@settings(deadline=None, max_examples=60)
@given(SIDE, SIDE, st.integers(1, 9), st.sampled_from(MARGINS))
def test_equals_the_formula_on_negative_similarities_ties_and_single_sentences(x, y, k, name):
    both = search(Embeddings(x), Embeddings(y), k)
    every = search(Embeddings(x), Embeddings(y), len(y))  # all cosines, as float32
    cosine = np.empty((len(x), len(y)))
    np.put_along_axis(cosine, every.forward.ids, every.forward.similarities.astype(np.float64), 1)
    forward, backward = score_neighbours(name, both)
    f, g = means(both)
    one_way = name == "yang10"  # from the side that searches
    near_zero = np.abs(f[:, None] + 0 * g if one_way else (f[:, None] + g) / 2) < 1e-6
    for (i, c), score in np.ndenumerate(forward):
        j = both.forward.ids[i, c]
        if not near_zero[i, j]:  # there the sign of the denominator is a matter of rounding
            np.testing.assert_allclose(score, oracle(name, cosine, i, j, k), rtol=1e-3, atol=1e-6)
    near_zero = np.abs(g + 0 * f[:, None]) < 1e-6 if one_way else near_zero
    for (j, c), score in np.ndenumerate(backward):
        i = both.backward.ids[j, c]
        if not near_zero[i, j]:
            np.testing.assert_allclose(score, oracle(name, cosine.T, j, i, k), rtol=1e-3, atol=1e-6)


def test_values_worked_out_by_hand():
    # f = 0.5, g = 0.3, so b = 0.4
    expected = {"absolute": 0.8, "distance": 0.4, "ratio": 2.0, "csls": 0.8, "yang9": 2.8, "yang10": 2.4}
    for name in MARGINS:
        assert margin(name, 0.8, 0.5, 0.3) == pytest.approx(expected[name])


def test_a_quotient_by_nothing_is_undefined_not_infinite():
    with np.errstate(all="raise"):
        for name in ("ratio", "yang9"):
            assert np.isnan(margin(name, [0.5, 0.5], [0.1, -0.3], [-0.1, 0.1])).all()
        assert np.isnan(margin("yang10", 0.5, 0.0, 1.0))
        assert margin("ratio", -0.5, 0.5, 0.5) == -1


def test_both_directions_give_a_pair_the_same_score():
    rng = np.random.default_rng(1)
    x, y = (Embeddings(rng.standard_normal((40, 8)).astype(np.float32)) for _ in range(2))
    both = search(x, y, 4)
    for name in set(MARGINS) - {"yang10"}:
        forward, backward = score_neighbours(name, both)
        scores = {(i, both.forward.ids[i, c]): s for (i, c), s in np.ndenumerate(forward)}
        shared = 0
        for (j, c), s in np.ndenumerate(backward):
            if (pair := (both.backward.ids[j, c], j)) in scores:
                shared += 1
                assert scores[pair] == s
        assert shared > 20


def test_names():
    with pytest.raises(InputError, match="unknown margin 'ration'; known: absolute, distance"):
        margin("ration", 1, 1, 1)
    assert [metric_and_margin(name) for name in ("dot", "ratio")] == [("dot", "absolute"), ("cosine", "ratio")]
    with pytest.raises(InputError, match="unknown --margin 'ration'; known: cosine, dot"):
        metric_and_margin("ration", "--margin")
    for metric, name in SIMILARITIES.values():
        assert metric in METRICS
        assert margin(name, 1.0, [[0.5], [0.5]], [0.5, 0.5, 0.5]).shape == (2, 3)
