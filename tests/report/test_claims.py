"""Claims: the reading of predicates, three-valued verdicts, and what is refused."""

import operator
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.report import claims
from bitextbench.report.claims import Claim, Interval
from bitextbench.report.references import Printed


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
        ("abs([a, c] - [d, c]) >= -1", "holds"),
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


def test_a_cell_of_another_table_is_its_own():
    [instance] = claims.instances(Claim("x", "t/table1", "[a, c] < [t/table2: a, c]"))
    assert [*instance.cells.values()] == [("t/table1", "a", "c"), ("t/table2", "a", "c")]


def test_a_printed_number_is_a_point_and_all_that_rounds_to_it_without_the_ends():
    tables = {"t/table1": [Printed("t", "1", "a", "A", "c", Decimal("37.4"), "BLEU [%]", "here")]}
    for predicate, exact, possible in (
        ("[a, c] == 37.4", "holds", "undecided"),
        ("37.35 < [a, c] < 37.45", "holds", "holds"),
        ("[a, c] > 37.449", "fails", "undecided"),
    ):
        claim = Claim("x", "t/table1", predicate)
        assert claims.judge(claim, claims.points(tables)) == [exact]
        assert claims.judge(claim, claims.rounded(tables)) == [possible]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (["holds", "not run"], "holds"),
        (["not run", "not run"], "not run"),
        ([], "not run"),
        (["holds", "undecided"], "holds"),
        (["undecided", "not run"], "undecided"),
        (["undecided", "fails"], "fails"),
        (["holds", "holds", "fails"], "mixed"),
    ],
)
def test_one_verdict_on_the_papers_own_numbers(found, expected):
    assert claims.together(found) == expected


def test_what_rounding_leaves_open_is_no_contradiction():
    def said(predicate: str, *values: float) -> str:
        exact = {("t/table1", row, "c"): (Fraction(str(value)),) * 2 for row, value in zip("ab", values, strict=True)}
        possible = {key: (low - Fraction(1, 21), high + Fraction(1, 21)) for key, (low, high) in exact.items()}
        numbers = ({key: Interval(*ends) for key, ends in each.items()} for each in (exact, possible))
        [verdict] = claims.on_paper(Claim("x", "t/table1", predicate), *numbers)
        return verdict

    assert said("[a, c] - [b, c] == 5.3", 28.4, 23.1) == "holds"
    assert said("[a, c] > [b, c]", 37.5, 37.5) == "undecided"
    assert said("[a, c] > [b, c]", 37.5, 37.9) == "fails"


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
        "[a, c] in [b, c]",
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
        "[a, c] * max([b, c], 1) > 1",
        "f1(abs([a, c]), 1) > 1",
        " and ".join(["[a, c] - max([a, c], [b, c]) - max([a, c], [b, c]) > 0"] * 1300),
        "not " * 200 + "1 < " + "-" * 180 + "2 <",
        "",
    ],
)
def test_other_things_than_predicates_are_refused(predicate):
    with pytest.raises(InputError, match="claim x: cannot read the predicate"):
        claims.instances(Claim("x", "t/table1", predicate))


GOOD = "- {id: x, table: t/table1, section: s, quote: q, tested: t, predicate: '[a, c] > 1'}\n"


def test_a_file_of_claims(tmp_path):
    path = tmp_path / "claims.yaml"
    path.write_text(
        GOOD + GOOD.replace("id: x", "id: y").replace("c] > 1'", "{n}] > 1', for: {n: [1, b]}, fails: [{n: 1}]")
    )
    first, second = claims.load(path)
    assert (first.id, first.scale, first.paper, first.line) == ("x", "any", "t", 1)
    assert (second.variables, second.fails, second.line) == ({"n": ["1", "b"]}, [{"n": "1"}], 2)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GOOD + GOOD, 2, "claim x appears twice"),
        ("- {id: x, table: t", 1, "not YAML"),
        ("x: 1\n", 1, "is not of type 'array'"),
        ("[]\n", 1, "[]"),
        (
            GOOD + "- {id: y, table: t/table1, section: s, quote: q, tested: t}\n",
            2,
            "'predicate' is a required property",
        ),
        (GOOD + GOOD.replace("quote: q, ", ""), 2, "'quote' is a required property"),
        (GOOD + GOOD.replace("tested: t, ", ""), 2, "'tested' is a required property"),
        (GOOD.replace("}", ", quotation: y}"), 1, "'quotation' was unexpected"),
        ("\n\n" + GOOD.replace("}", ",\n   scale: small}"), 4, "'small' is not one of"),
        (GOOD.replace("}", ", for: {n: []}}"), 1, r"[]"),
        (GOOD.replace("> 1", ">"), 1, "cannot read the predicate [a, c] >"),
        ("# head\n" + GOOD.replace("> 1", "> {n}"), 2, "cannot read the predicate [a, c] > {n}"),
        ("# head\n" + GOOD.replace("> 1", "** 2 > 1"), 2, "cannot read the predicate [a, c] ** 2 > 1"),
    ],
)
def test_a_bad_file_of_claims_is_refused(tmp_path, text, line, message):
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        claims.load(path)
    assert str(error.value).startswith(f"{path}:{line}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
