"""Evidence by draws: predicates against an oracle, verdicts by hand, and what would decide an instance."""

import ast
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bitextbench.report import claims, draws, evidence
from bitextbench.report.claims import Claim
from bitextbench.report.draws import DRAWS, Draws

RNG = np.random.default_rng(1)
ZERO = np.zeros(DRAWS)


def cell(value: float, error: float = 0.0, seeds: float = 0.0, k: int = 3, n: int = 100) -> Draws:
    return Draws(value, error * RNG.standard_normal(DRAWS), seeds * RNG.standard_normal(DRAWS), k, n)


def found(predicate: str, paper_slack: float | None = None, **cells: Draws) -> evidence.Evidence | None:
    [instance] = claims.instances(Claim("x", "t/table1", predicate))
    return evidence.of(instance, {("t/table1", row, "c"): one for row, one in cells.items()}, paper_slack)


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
        ("[e, c] == 5", "holds"),
        ("[e, c] != 5", "fails"),
        ("[e, c] >= 5 and [e, c] <= 5", "holds"),
        ("[e, c] > 5 or [e, c] < 5", "fails"),
        ("[a, c] == [d, c]", "undecided"),
        ("[a, c] != [d, c]", "undecided"),
        ("[a, c] == [b, c]", "fails"),
        ("[a, c] != [b, c]", "holds"),
        ("28.4 - 23.1 == 5.3 and 28.4 - 23.1 >= 5.3 and 28.4 - 23.1 <= 5.3", "holds"),
        ("abs([a, c] - [b, c]) > 5", "holds"),
        ("f1([e, c], [e, c]) == 5", "holds"),
        ("f1(0, 0) == 0", "holds"),
        ("max([a, c], [b, c], 3) - min([a, c], 1) > 15", "holds"),
        ("mean([a, c], [b, c]) > [e, c]", "holds"),
    ],
)
def test_verdicts(predicate, verdict):
    assert found(predicate, a=cell(10, 1), b=cell(20, 1), d=cell(10.5, 1), e=cell(5)).verdict == verdict


@pytest.mark.parametrize(
    ("predicate", "paper_slack", "verdict"),
    [
        ("[d, c] > [a, c]", 5.0, "smaller"),  # 0.5 +- 2.8
        ("[d, c] > [a, c]", 2.0, "undecided"),
        ("[d, c] > [a, c]", -5.0, "undecided"),  # the paper's own numbers contradict its words
        ("[d, c] < [a, c]", 5.0, "smaller"),
        ("[b, c] > [a, c]", 50.0, "holds"),
        ("[b, c] < [a, c]", 50.0, "fails"),
        ("[a, c] == [d, c]", 1e-9, "undecided"),
    ],
)
def test_a_difference_of_either_sign_is_smaller_where_the_papers_is_excluded(predicate, paper_slack, verdict):
    one = found(predicate, paper_slack, a=cell(10, 1), b=cell(20, 1), d=cell(10.5, 1))
    assert one.verdict == verdict
    assert bool(one.needed) == (verdict in ("smaller", "undecided") and one.slack != 0)


@pytest.mark.parametrize("true", [0.0, 0.6])
def test_a_difference_as_large_as_the_papers_is_seldom_called_smaller(true):
    """By simulation: at most 2.5% of runs with the paper's difference are called smaller, most of those without one."""
    rng, runs = np.random.default_rng(1), 400
    noise = draws._normal(0)
    slacks = rng.normal(true, 0.15, runs)
    called = [
        found("[a, c] > [b, c]", 0.6, a=Draws(slack, 0.15 * noise, ZERO), b=Draws(0, ZERO, ZERO)).verdict
        for slack in slacks
    ]
    share = called.count("smaller") / runs
    assert share < 0.025 + 0.02 if true else share > 0.85


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
        "f1(abs([a, c]), abs([b, c]))",
        "0.5",
    ]
)
COMPARED = st.builds(lambda a, op, b: f"{a} {op} {b}", NUMBERS, st.sampled_from(["<", "<=", ">", ">="]), NUMBERS)
JOINED = st.builds(lambda a, op, b: f"({a}) {op} not ({b})", COMPARED, st.sampled_from(["and", "or"]), COMPARED)


@settings(max_examples=150)
@given(st.one_of(COMPARED, JOINED))
def test_slack_is_above_0_where_python_says_so(predicate):
    """The oracle evaluates the predicate draw by draw, on numbers that are never equal."""
    [instance] = claims.instances(Claim("x", "t/table1", predicate))
    by_row = {row: np.random.default_rng([1, ord(row)]).normal(1, 2, DRAWS) for row in "ab"}
    cells = {name: by_row[key[1]] for name, key in instance.cells.items()}
    slack = evidence._slack(instance.tree, cells) + ZERO
    code = compile(ast.Expression(instance.tree), "oracle", "eval")
    own = {"mean": lambda *v: sum(v) / len(v), "f1": lambda p, r: 2 * p * r / (p + r) if p + r else 0}
    for draw in range(20):
        numbers = {name: float(column[draw]) for name, column in cells.items()}
        if abs(slack[draw]) > 1e-8:
            assert (slack[draw] > 0) == eval(code, own | numbers)  # of our own making


def test_interval_p_and_counts():
    one = found("[a, c] > [b, c]", a=cell(10, 1, k=3, n=400), b=cell(9, 1, k=5, n=300))
    assert (one.slack, one.seeds, one.items, one.verdict) == (pytest.approx(1), 3, 300, "undecided")
    assert one.low == pytest.approx(1 - 1.96 * math.sqrt(2), abs=0.3)
    assert one.high == pytest.approx(1 + 1.96 * math.sqrt(2), abs=0.3)
    assert one.p == pytest.approx(0.48, abs=0.08)
    sure = found("[a, c] > [b, c]", a=cell(90, 1), b=cell(9, 1))
    assert (sure.verdict, sure.needed, sure.p) == ("holds", "", 1 / 1000)


@pytest.mark.parametrize(
    ("slack", "of_items", "of_seeds", "needed"),
    [
        (2.8, 0.5, 0.5, "4 seeds"),
        (2.8, 0.5, 4.0, "26 seeds"),
        (2.8, 1.5, 0.5, "7 seeds and 234 items"),
        (2.8, 1.5, 0.0, "150 items"),
        (0.0, 1.0, 1.0, ""),
    ],
)
def test_what_would_decide_it(slack, of_items, of_seeds, needed):
    """A slack of 2.8 needs a standard error of 1; less with few seeds."""
    assert evidence.enough(slack, of_items, of_seeds, n=100, k=3) == needed


def test_of_one_seed_the_items_alone_are_said():
    assert evidence.enough(2.8, 1.5, 1e-30, n=100, k=1) == "150 items"


@pytest.mark.parametrize("k", [2, 3, 5])
def test_more_seeds_decide_what_was_said_to_need_them(k):
    """80% of the runs with as many seeds as `enough` says have their interval on one side of 0; k seeds of the right
    spread say the number (their Student's t has no variance).
    """
    rng, slack, spread = np.random.default_rng(2), 1.0, 2.0
    values = np.linspace(-1, 1, k)
    values *= spread / values.std(ddof=1)
    drawn = sum(draws._normal(seed) * value for seed, value in enumerate(values)) / math.sqrt(k * (k - 1))
    a = Draws(slack, ZERO, drawn * draws._chi(k), k)
    [seeds] = [
        int(word) for word in found("[a, c] > [b, c]", a=a, b=Draws(0, ZERO, ZERO, k)).needed.split() if word.isdigit()
    ]
    assert 31 <= seeds <= 37
    runs = rng.normal(slack, spread, (2000, seeds))
    t = runs.mean(axis=1) / (runs.std(axis=1, ddof=1) / math.sqrt(seeds))
    assert 0.75 < (abs(t) > stats.t.ppf(0.975, seeds - 1)).mean() < 0.85


def test_adjusted_p_is_benjamini_and_hochberg():
    p = [0.04, 0.01, 0.03, 0.5]
    assert evidence.adjusted(p) == pytest.approx([4 * 0.04 / 3, 0.04, 4 * 0.04 / 3, 0.5])
    assert evidence.adjusted([]) == []
