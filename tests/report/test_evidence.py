"""Evidence: trees against an oracle, verdicts and intervals by hand, and what would decide an instance.

The error rates are in test_calibration.py.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bitextbench.report import claims, evidence, predicates
from bitextbench.report.claims import Claim
from bitextbench.report.draws import DRAWS, UNKNOWN, Draws, Spread
from bitextbench.report.evidence import ALPHA
from bitextbench.report.verdicts import adjusted

RNG = np.random.default_rng(1)
ZERO = np.zeros(DRAWS)


def cell(value: float, error: float = 0.0, seeds: dict[int, float] | None = None, k: int = 3, n: int = 100) -> Draws:
    drawn = RNG.standard_normal(DRAWS)
    return Draws(value, error * (drawn - drawn.mean()) / drawn.std(), seeds or {}, "", k, n)


def found(predicate: str, bound: float = 1.0, **cells: Draws) -> evidence.Evidence | None:
    [instance] = claims.instances(Claim("x", "t/table1", predicate))
    bounds = {("t/table1", row, "c"): bound for row in "abcdefg"}
    return evidence.of(instance, {("t/table1", row, "c"): one for row, one in cells.items()}, bounds)


@pytest.mark.parametrize(
    ("predicate", "verdict"),
    [
        ("[a, c] < [b, c]", "holds"),
        ("[b, c] < [a, c]", "fails"),
        ("[a, c] < [d, c]", "undecided"),
        ("not [a, c] < [b, c]", "fails"),
        ("[a, c] < [b, c] and [a, c] < [d, c]", "undecided"),
        ("[a, c] < [d, c] or [a, c] < [b, c]", "holds"),
        ("[a, c] < [d, c] < [b, c]", "undecided"),
        ("[b, c] < [d, c] < [a, c]", "fails"),
        ("[e, c] == 5", "holds"),
        ("[e, c] == 5.5", "holds"),  # within the bound of 1
        ("[e, c] == 6.5", "fails"),
        ("[e, c] != 5", "fails"),
        ("[e, c] >= 5 and [e, c] <= 5", "holds"),
        ("[e, c] > 5 or [e, c] < 5", "level"),
        ("[e, c] > 5", "level"),
        ("[e, c] > 4.9", "holds"),
        ("[a, c] == [d, c]", "undecided"),
        ("[a, c] != [d, c]", "undecided"),
        ("[a, c] == [b, c]", "fails"),
        ("[a, c] != [b, c]", "holds"),
        ("28.4 - 23.1 == 5.3 and 28.4 - 23.1 >= 5.3 and 28.4 - 23.1 <= 5.3", "holds"),
        ("abs([a, c] - [b, c]) > 5", "holds"),
        ("abs([a, c] - [d, c]) <= 5", "holds"),
        ("f1([e, c], [e, c]) == 5", "holds"),
        ("f1(0, 0) == 0", "holds"),
        ("max([a, c], [b, c], 3) - min([a, c], 1) > 15", "holds"),
        ("max([a, c], [b, c]) - min([a, c], [b, c]) <= 5", "fails"),
        ("mean([a, c], [b, c]) > [e, c]", "holds"),
        ("[g, c] > [a, c]", "level"),
        ("[a, c] < [b, c] and [g, c] > [a, c]", "level"),
        ("[g, c] > [a, c] or [b, c] < [a, c]", "level"),
        ("[b, c] < [a, c] and [g, c] > [a, c]", "fails"),
    ],
)
def test_verdicts(predicate, verdict):
    a = cell(10, 1)
    g = a._replace(value=10.1, items=a.items + cell(0, 0.2).items)
    one = found(predicate, a=a, b=cell(20, 1), d=cell(10.5, 1), e=cell(5), g=g)
    assert one.verdict == verdict
    assert one.low <= one.slack <= one.high
    assert (one.low > 0) == (verdict == "holds")
    assert (one.high < 0) == (verdict == "fails")


def test_a_missing_cell_is_not_judged():
    assert found("[a, c] > [b, c]", a=cell(1)) is None


NUMBERS = st.sampled_from(
    [
        "[a, c]",
        "[b, c]",
        "[a, c] - [b, c]",
        "2 * [a, c]",
        "-[b, c]",
        "abs([a, c] - [b, c])",
        "max([a, c], [b, c])",
        "min([a, c], 1)",
        "mean([a, c], [b, c])",
        "mean(min([a, c], 1), [b, c])",
        "f1(max([a, c], 1), [b, c])",
        "-max([a, c], [b, c])",
        "min([a, c], [b, c]) * -2",
        "1.5 * max([a, c], [b, c])",
        "1 - abs(min([a, c], [b, c]) - 1)",
        "0.5",
    ]
)
COMPARED = st.builds(lambda a, op, b: f"{a} {op} {b}", NUMBERS, st.sampled_from(["<", "<=", ">", ">="]), NUMBERS)
JOINED = st.builds(lambda a, op, b: f"({a}) {op} not ({b})", COMPARED, st.sampled_from(["and", "or"]), COMPARED)


@settings(max_examples=150, deadline=None)
@given(st.one_of(COMPARED, JOINED))
def test_a_tree_is_true_where_python_says_so(predicate):
    """The oracle evaluates the predicate itself, on numbers without errors that are never equal."""
    [instance] = claims.instances(Claim("x", "t/table1", predicate))
    code = claims.CELL.sub(r"\2", predicate)
    own = {"mean": lambda *v: sum(v) / len(v), "f1": lambda p, r: 2 * p * r / (p + r) if p + r else 0}
    for draw in range(10):
        by_row = {row: abs(float(np.random.default_rng([draw, ord(row)]).normal(1, 2))) for row in "ab"}
        numbers = {name: by_row[key[1]] for name, key in instance.cells.items()}
        slack = evidence.exact(instance.tree, numbers, dict.fromkeys(numbers, 1.0))
        if abs(slack) > 1e-8:
            truth = eval(code, own | by_row)  # of our own making
            assert (slack > 0) == truth
            cells = {row: Draws(value, ZERO) for row, value in by_row.items()}
            assert found(predicate, **cells).verdict == ("holds" if truth else "fails")


@pytest.mark.parametrize(
    ("predicate", "leaves"),
    [
        ("-2 * max([a, c], [b, c]) > min(1, [d, c]) * 3", 4),
        ("[a, c] < [b, c] < [d, c]", 2),
        ("max([a, c], [b, c]) - min([a, c], [b, c]) <= 2", 4),
        ("abs([a, c]) > 1", 2),
        ("[a, c] == 5", 2),
        ("not ([a, c] > 1 and [b, c] > 1 and [d, c] > 1)", 3),
        ("mean(max([a, c], 1), 3) - 2 * min([b, c], 4) > f1(max([a, c], 1), 2)", 8),
    ],
)
def test_a_predicate_is_written_out(predicate, leaves):
    [instance] = claims.instances(Claim("x", "t/table1", predicate))
    assert len(list(predicates.leaves(instance.tree))) == leaves


def test_interval_p_and_counts():
    one = found("[a, c] > [b, c]", a=cell(10, 1, k=3, n=400), b=cell(9, 1, k=5, n=300))
    assert (one.slack, one.seeds, one.items, one.verdict) == (pytest.approx(1), 3, 300, "undecided")
    half = 1.96 * math.sqrt(2)
    assert (one.low, one.high) == (pytest.approx(1 - half, abs=0.1), pytest.approx(1 + half, abs=0.1))
    assert one.p == pytest.approx(0.48, abs=0.02)
    sure = found("[a, c] > [b, c]", a=cell(90, 1), b=cell(9, 1))
    assert (sure.verdict, sure.needed, sure.p) == ("holds", "", pytest.approx(0))


def test_the_deciding_part_has_the_interval_of_its_level():
    """Of a chain of three that fails at its second step, each part is tested at a third of the error."""
    one = found("[a, c] < [b, c] < [d, c] < [e, c]", a=cell(1, 1), b=cell(20, 1), d=cell(10, 1), e=cell(30, 1))
    assert (one.verdict, one.slack, one.part) == ("fails", pytest.approx(-10), "[d, c] - [b, c] > 0")
    error = math.sqrt(2)
    assert one.low == pytest.approx(-10 - 1.96 * error, abs=0.2)
    assert one.high == pytest.approx(-10 + stats.norm.isf(ALPHA / 3) * error, abs=0.2)
    some = found("[a, c] > 30 or [b, c] > 15 or [d, c] > 30", a=cell(1, 1), b=cell(20, 1), d=cell(10, 1))
    assert (some.verdict, some.slack, some.part) == ("holds", pytest.approx(5), "[b, c] - 15 > 0")
    assert some.low == pytest.approx(5 - stats.norm.isf(ALPHA / 3), abs=0.1)
    nested = found("[a, c] >= 30 or ([b, c] >= 15 or [d, c] >= 30)", a=cell(1, 1), b=cell(20, 1), d=cell(10, 1))
    assert (nested.verdict, nested.part) == ("holds", "[b, c] - 15 >= 0")
    assert nested.low == pytest.approx(some.low, abs=0.1)  # brackets around what is joined alike change nothing


def test_many_small_steps_are_no_failure():
    """Steps of half a standard error: the least of five is negative more often than not, and none is so for sure."""
    seeds = {1: 1.0, 2: -1.0, 3: 0.0}
    cells = {
        row: cell(place * 0.3, 0.0, {s: v * (-1) ** place for s, v in seeds.items()})
        for place, row in enumerate("abdef")
    }
    assert found("[a, c] < [b, c] < [d, c] < [e, c] < [f, c]", **cells).verdict == "undecided"


@pytest.mark.parametrize(
    ("difference", "of_items", "of_seeds", "needed"),
    [
        (2.8, 0.5, 0.5, "4 seeds"),
        (2.8, 0.5, 4.0, "26 seeds"),
        (2.8, 1.5, 0.5, "7 seeds and 234 items"),
        (2.8, 1.5, 0.0, "150 items"),
        (28.0, 1.5, 0.5, ""),
        (0.0, 1.0, 1.0, ""),
    ],
)
def test_what_would_find_a_difference(difference, of_items, of_seeds, needed):
    """A difference of 2.8 needs a standard error of 1; less with few seeds."""
    said = evidence.enough(difference, of_items, of_seeds, n=100, k=3)
    assert said == (f"{needed} to find 2.8 (the equivalence bound)" if needed else "")


def test_of_one_seed_the_items_alone_are_said():
    assert evidence.enough(2.8, 1.5, 1e-30, n=100, k=1) == "150 items to find 2.8 (the equivalence bound)"


@pytest.mark.parametrize("k", [2, 3, 5])
def test_more_seeds_find_what_was_said_to_need_them(k):
    """80% of the runs with as many seeds as `enough` says have their interval on one side of 0."""
    rng, difference, spread = np.random.default_rng(2), 1.0, 2.0
    said = evidence.enough(difference, 0.0, spread**2 / k, n=0, k=k)
    seeds = int(said.split()[0])
    assert 31 <= seeds <= 37
    runs = rng.normal(difference, spread, (2000, seeds))
    t = runs.mean(axis=1) / (runs.std(axis=1, ddof=1) / math.sqrt(seeds))
    assert 0.75 < (abs(t) > stats.t.ppf(0.975, seeds - 1)).mean() < 0.85


def test_adjusted_p_is_benjamini_and_hochberg():
    p = [0.04, 0.01, 0.03, 0.5]
    assert adjusted(p) == pytest.approx([4 * 0.04 / 3, 0.04, 4 * 0.04 / 3, 0.5])
    assert adjusted([]) == []


def test_cells_of_the_same_draws_differ_by_nothing_but_rounding():
    """As of retrieval by two strategies that find the same pairs; the variance of their difference came out below 0."""
    for _ in range(50):
        a = cell(86.88, 1.3 * RNG.random())
        one = found("[a, c] - mean([a, c], [b, c]) >= 2", a=a, b=a._replace(items=a.items * (1 + 1e-15)))
        assert one.verdict == "fails"
        assert found("[a, c] > [b, c]", a=a, b=a._replace(items=a.items * (1 + 1e-15))).verdict == "level"


@pytest.mark.parametrize("predicate", ["[a, c] < [b, c]", "[b, c] < [a, c]", "[a, c] == [b, c]", "[b, c] > 15"])
def test_two_trainings_of_one_seed_decide_nothing_where_no_run_says_how_far_seeds_lie_apart(predicate):
    a, b = (cell(value, 1)._replace(model=name, spread=UNKNOWN, k=1) for value, name in ((10, "a"), (20, "b")))
    one = found(predicate, a=a, b=b)
    assert (one.verdict, one.needed, one.low, one.high, one.p) == ("undecided", "a second seed", -math.inf, math.inf, 1)
    several = cell(20, 1, {1: 0.5, 2: -0.5})
    assert found(predicate.replace("15", "[a, c]"), a=a, b=several).verdict == "undecided"
    fixed = a._replace(spread=None), b._replace(spread=None)
    assert found(predicate, a=fixed[0], b=fixed[1]).verdict != "undecided"


def test_one_training_is_compared_with_itself_but_texts_of_a_pipeline_are_trained_on_apart():
    alike = {"spread": UNKNOWN, "k": 1}
    a, b = (cell(value, 1)._replace(model="m", **alike) for value in (10, 20))
    assert found("[a, c] < [b, c]", a=a, b=b).verdict == "holds"
    assert found("[b, c] > 15", a=a, b=b).verdict == "undecided"
    assert (
        found("[a, c] < [b, c]", a=a, b=b._replace(spread=None)).verdict == "undecided"
    )  # a trained part, a fixed one
    assert found("[a, c] < [b, c]", a=a._replace(model=""), b=b._replace(model="")).verdict == "undecided"


def test_cells_of_one_seed_get_the_spread_of_another_runs_seeds():
    spread = Spread(2.0, 7)
    a, b = (cell(value)._replace(spread=spread, k=1) for value in (10, 16))
    one = found("[a, c] < [b, c]", a=a, b=b)
    t = 6 / math.sqrt(2 * 2.0)
    assert one.tested.holds == pytest.approx(stats.t.sf(t, 7))
    assert one.low == pytest.approx(6 - stats.t.isf(ALPHA, 7) * 2)
    both = found("[a, c] < [b, c]", a=a, b=b._replace(spread=Spread(4.0, 3)))
    welch = (2 + 4) ** 2 / (2**2 / 7 + 4**2 / 3)
    assert both.tested.holds == pytest.approx(stats.t.sf(6 / math.sqrt(6), welch))
