"""Claims: the reading of predicates, three-valued verdicts, and what is refused."""

import operator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.report import claims
from bitextbench.report.claims import Claim, Interval


def numbers(**cells: tuple[float, float]) -> dict:
    """Cells of t/table1, column c, by row."""
    return {
        ("t/table1", row, "c"): Interval(Fraction(str(low)), Fraction(str(high))) for row, (low, high) in cells.items()
    }


def verdict(predicate: str, **cells: tuple[float, float]) -> str:
    [only] = claims.judge(Claim("x", "t/table1", predicate), numbers(**cells))
    return only


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("[a, c] < [b, c]", "holds"),
        ("[b, c] < [a, c]", "fails"),
        ("[a, c] < [d, c]", "undecided"),
        ("[a, c] <= 2 < [b, c]", "holds"),
        ("[a, c] < 2", "undecided"),
        ("[a, c] > 2", "fails"),
        ("[a, c] >= 2", "undecided"),
        ("[e, c] == 5", "holds"),
        ("[e, c] != 5", "fails"),
        ("[a, c] == 1.5", "undecided"),
        ("[a, c] == [b, c]", "fails"),
        ("not [a, c] < [d, c]", "undecided"),
        ("[a, c] < [b, c] and [a, c] < [d, c]", "undecided"),
        ("[b, c] < [a, c] and [a, c] < [d, c]", "fails"),
        ("[a, c] < [b, c] or [a, c] < [d, c]", "holds"),
        ("[b, c] < [a, c] or [a, c] < [d, c]", "undecided"),
        ("[b, c] - [a, c] >= 1", "holds"),
        ("-[b, c] + 2 * [a, c] <= 1", "holds"),
        ("mean([a, c], [b, c]) == 2.5", "undecided"),
        ("2 <= mean([a, c], [b, c]) <= 3", "holds"),
        ("max([a, c], [b, c]) >= 3 and min([a, c], [b, c]) <= 2", "holds"),
        ("abs([a, c] - [b, c]) <= 3", "holds"),
        ("abs([a, c] - [d, c]) >= 0", "holds"),
        ("abs([a, c] - [d, c]) > 1.5", "fails"),
        ("f1([e, c], [e, c]) == 5", "holds"),
        ("f1(0, 0) == 0", "holds"),
        ("[t/table1: a, c] < [ t/table1 : b , c ]", "holds"),
        ("[a, c] < [nobody, c]", "not run"),
    ],
)
def test_predicates(predicate, expected):
    assert verdict(predicate, a=(1, 2), b=(3, 4), d=(1.5, 2.5), e=(5, 5)) == expected


def test_decimals_are_exact():
    assert 28.4 - 23.1 != 5.3
    assert verdict("[a, c] - [b, c] == 5.3", a=(28.4, 28.4), b=(23.1, 23.1)) == "holds"


COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
grid = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda ends: (min(ends), max(ends)))


@given(
    st.sampled_from(list(COMPARISONS)),
    st.sampled_from(["[a, c]", "[a, c] - [b, c]", "mean([a, c], [b, c])"]),
    grid,
    grid,
    grid,
)
def test_verdicts_are_those_of_all_choices(comparison, left, a, b, d):
    """The oracle tries every choice of multiples of 1/2 within the intervals; each cell is mentioned once, so that it
    is exact.
    """
    choices = [[Fraction(i, 2) for i in range(2 * low, 2 * high + 1)] for low, high in (a, b, d)]
    sides = {
        "[a, c]": lambda x, y: x,
        "[a, c] - [b, c]": lambda x, y: x - y,
        "mean([a, c], [b, c])": lambda x, y: (x + y) / 2,
    }
    results = {COMPARISONS[comparison](sides[left](x, y), z) for x, y, z in product(*choices)}
    expected = "undecided" if len(results) == 2 else "holds" if True in results else "fails"
    assert verdict(f"{left} {comparison} [d, c]", a=a, b=b, d=d) == expected


@given(grid, grid)
def test_f1_spans_what_its_numbers_allow(p, r):
    values = [2 * x * y / (x + y) if x + y else 0 for x in {*p} for y in {*r}]
    low, high = (Fraction(value) for value in (min(values), max(values)))
    assert verdict(f"{float(low) - 1e-9} <= f1([p, c], [r, c]) <= {float(high) + 1e-9}", p=p, r=r) == "holds"


def test_variables_take_each_value():
    claim = Claim("x", "t/table1", "[{row}, c] > {n}", variables={"row": ["a", "b"], "n": ["0", "2"]})
    assert [instance.values for instance in claims.instances(claim)] == [
        {"row": row, "n": n} for row in "ab" for n in "02"
    ]
    assert claims.judge(claim, numbers(a=(1, 1), b=(3, 3))) == ["holds", "fails", "holds", "holds"]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["holds", "holds"], "holds"),
        (["holds", "undecided"], "undecided"),
        (["holds", "holds", "undecided"], "holds"),
        (["holds", "not run"], "holds"),
        (["not run", "not run"], "not run"),
        ([], "not run"),
        (["undecided", "not run"], "undecided"),
        (["holds", "not run", "fails"], "fails"),
        (["holds", "holds", "fails"], "holds in part"),
        (["undecided", "undecided", "fails"], "fails"),
        (["smaller", "not run"], "smaller"),
        (["smaller", "holds"], "smaller"),
        (["smaller", "smaller", "undecided"], "smaller"),
        (["smaller", "undecided"], "undecided"),
        (["smaller", "holds", "holds"], "holds"),
        (["smaller", "smaller", "fails"], "fails"),
    ],
)
def test_the_verdict_of_a_claim_is_that_of_its_instances(verdicts, expected):
    assert claims.overall(verdicts) == expected


@pytest.mark.parametrize(
    "predicate",
    [
        "__import__('os').system('true')",
        "open('x') > 1",
        "[a, c].real > 1",
        "[a, c] > x",
        "[a, c] > True",
        "[a, c] > 'b'",
        "[a, c] > 1e999",
        "[a, c] ** 2 > 1",
        "[a, c] / [b, c] > 1",
        "[a, c] in [1, 2, 3]",
        "(lambda: 1)() > 0",
        "mean() > 0",
        "mean(*[1, 2]) > 0",
        "abs([a, c], 1) > 0",
        "f1([a, c]) > 0",
        "min([a, c], key=1) > 0",
        "[a, c]",
        "[a, c] - 1",
        "1 < [a, c] <",
        "[a] > 1",
        "[a, {row}] > 1",
        "not " * 200 + "1 < " + "-" * 180 + "2 <",
        "",
    ],
)
def test_other_things_than_predicates_are_refused(predicate):
    with pytest.raises(InputError, match="claim x: cannot read the predicate"):
        claims.instances(Claim("x", "t/table1", predicate))


GOOD = "- {id: x, table: t/table1, predicate: '[a, c] > 1'}\n"


def test_a_file_of_claims(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(GOOD + "- {id: y, table: t/table1, predicate: '[a, {n}] > 1', for: {n: [1, b]}, fails: [{n: 1}]}\n")
    first, second = claims.load(path)
    assert (first.id, first.scale, first.paper) == ("x", "any", "t")
    assert (second.variables, second.fails) == ({"n": ["1", "b"]}, [{"n": "1"}])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + GOOD, "claim x appears twice"),
        ("- {id: x, table: t", "not YAML"),
        ("x: 1\n", "is not of type 'array'"),
        ("[]\n", "[]"),
        ("- {id: x, table: t/table1}\n", "'predicate' is a required property"),
        (GOOD.replace("}", ", quotation: y}"), "'quotation' was unexpected"),
        (GOOD.replace("}", ", scale: small}"), "'small' is not one of"),
        (GOOD.replace("}", ", for: {n: []}}"), r"[]"),
        (GOOD.replace("> 1", ">"), "cannot read the predicate [a, c] >"),
        (GOOD.replace("> 1", "> {n}"), "cannot read the predicate [a, c] > {n}"),
    ],
)
def test_a_bad_file_of_claims_is_refused(tmp_path, text, message):
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        claims.load(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
