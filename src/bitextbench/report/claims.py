"""Claims: statements of the papers as predicates over cells of tables, and whether they hold.

A predicate is arithmetic and comparison over cells:

    [ratio-{retrieval}, {pair}/F1] > [distance-{retrieval}, {pair}/F1]
    max([mlp, 10M/test2017] - [random, 10M/test2017], [mlp, 10M/test2018] - [random, 10M/test2018]) == 12.3
    [guo2018/table3: hard20, en-fr/P@1] == [ours, en-fr]

`[row, column]` is a cell of the claim's own table, `[paper/table: row, column]` a cell of another table. `{name}` is
replaced by each value that `for` lists, so that a claim may have many instances. Allowed are `+ - *`, `and or not`,
comparisons, `mean`, `min`, `max`, `abs`, and `f1(P, R)` = 2PR / (P + R); nothing else is evaluated.

A printed number is an interval: all numbers that round to its digits, or a point. Ends are exact fractions, so that
28.4 - 23.1 is 5.3. A comparison holds if it is true for every choice of numbers from the intervals, fails if it is true
for none, and is undecided otherwise. Our numbers are judged by their errors instead: see `evidence`.

`quote` and `section` are the passage; `tested` says in a plain sentence what the predicate tests. Where the paper gives no
figure, `why` says which bound was chosen here.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import TEXT, listed, only, read_checked
from bitextbench.report import predicates
from bitextbench.report.predicates import Single, Tree
from bitextbench.report.references import Printed, half_step

Verdict = Literal["holds", "mixed", "fails", "level", "undecided", "out of regime", "scale not comparable", "not run"]
Key = tuple[str, str, str]  # place of the table, row, column
THREE: tuple[Verdict, ...] = ("fails", "undecided", "holds")


@dataclass(frozen=True)
class Interval:
    """All numbers from low to high."""

    low: Fraction
    high: Fraction

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: "Interval") -> "Interval":
        return self + -other

    def __mul__(self, other: "Interval") -> "Interval":
        ends = [one * two for one in (self.low, self.high) for two in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, count: int) -> "Interval":
        return Interval(self.low / count, self.high / count)


@dataclass(frozen=True)
class Claim:
    """One entry of a claims file.

    `scale` is "any" for a claim that should be true of other data as well, "paper" for one that quotes the paper's
    figures. `fails` lists the values of `for` for which the paper's own numbers contradict the claim; `why` explains
    it.
    """

    id: str
    table: str
    predicate: str
    section: str = ""
    quote: str = ""
    tested: str = ""
    scale: Literal["any", "paper"] = "any"
    variables: dict[str, list[str]] = field(default_factory=dict)  # `for`
    fails: list[dict[str, str]] = field(default_factory=list)
    why: str = ""
    file: Path | None = None
    line: int | None = None

    @property
    def paper(self) -> str:
        return self.table.partition("/")[0]


class Instance(NamedTuple):
    """A claim with values for its variables. In `tree`, its single comparisons, each cell is a name; `cells` maps names
    to cells.
    """

    values: dict[str, str]
    predicate: str
    tree: Tree
    cells: dict[str, Key]


VALUE = {"type": ["string", "integer"]}
KEYS = {
    **dict.fromkeys(("id", "table", "section", "quote", "tested", "why"), TEXT),
    "predicate": {**TEXT, "maxLength": 1000},
    "scale": {"enum": ["any", "paper"]},
    "for": {"type": "object", "additionalProperties": listed(VALUE)},
    "fails": listed({"type": "object", "additionalProperties": VALUE}),
}
CELL = re.compile(r"\[(?:([^][{}:,]+):)?([^][{}:,]+),([^][{},]+)\]")


PASSAGE = ("section", "quote", "tested")


def load(path: str | Path, needed: Sequence[str] = PASSAGE) -> list[Claim]:
    """The claims of a YAML file, each with the `needed` fields.

    Raises InputError, with the line, for a wrong structure, a duplicate id or an invalid predicate.
    """
    schema = listed(only(["id", "table", "predicate", *needed], KEYS))
    entries, line_of = read_checked(path, schema, "see the head of report/claims.py")
    claims = [_claim(dict(entry), Path(path), line_of(place)) for place, entry in enumerate(entries)]
    first: dict[str, Claim] = {}
    for claim in claims:
        if first.setdefault(claim.id, claim) is not claim:
            raise InputError(f"claim {claim.id} appears twice", path, line=claim.line, remedy="give each its own id")
        instances(claim)
    return claims


def _claim(entry: dict[str, Any], path: Path, line: int) -> Claim:
    variables = {name: [str(value) for value in values] for name, values in entry.pop("for", {}).items()}
    fails = [{name: str(value) for name, value in values.items()} for values in entry.pop("fails", [])]
    return Claim(**entry, variables=variables, fails=fails, file=path, line=line)


def instances(claim: Claim) -> list[Instance]:
    """The instances of a claim: one for each combination of values; the last variable varies fastest.

    Raises InputError for a variable without values. A predicate has to be a comparison of operations that the module
    lists, and it has to be possible to write it out as single comparisons.
    """
    made = []
    for choice in product(*claim.variables.values()):
        values = dict(zip(claim.variables, choice, strict=True))
        predicate = claim.predicate
        for name, value in values.items():
            predicate = predicate.replace(f"{{{name}}}", value)
        cells: dict[str, Key] = {}
        try:
            node = ast.parse(CELL.sub(partial(_named, cells, claim), predicate).strip(), mode="eval").body
            tree = predicates.tree(node)
            _truth(tree, dict.fromkeys(cells, point(0)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            what = f"claim {claim.id}: cannot read the predicate {predicate}"
            remedy = "write it as report/claims.py says at its head"
            raise InputError(what, claim.file, line=claim.line, remedy=remedy) from None
        made.append(Instance(values, predicate, tree, cells))
    return made


def _named(cells: dict[str, Key], claim: Claim, match: re.Match[str]) -> str:
    """A new name that stands for a cell; `cells` gets the cell under this name."""
    place, row, column = match.groups()
    name = f"cell{len(cells)}"
    cells[name] = ((place or claim.table).strip(), row.strip(), column.strip())
    return f" {name} "


def points(tables: dict[str, list[Printed]]) -> dict[Key, Interval]:
    """The papers' numbers as points: exactly the printed value."""
    return {key: Interval(value, value) for key, value, _ in _printed(tables)}


def rounded(tables: dict[str, list[Printed]]) -> dict[Key, Interval]:
    """The papers' numbers as intervals of all numbers that round to them: 37.4 is 37.35 to 37.45, both ends excluded."""
    inside = 1 - Fraction(1, 10**9)
    return {key: Interval(value - half * inside, value + half * inside) for key, value, half in _printed(tables)}


def _printed(tables: dict[str, list[Printed]]) -> Iterator[tuple[Key, Fraction, Fraction]]:
    for place, cells in tables.items():
        for cell in cells:
            if cell.value is not None:
                half = Fraction(half_step(cell.value))
                yield (place, cell.row, cell.column), Fraction(cell.value), half


def judge(claim: Claim, numbers: dict[Key, Interval]) -> list[Verdict]:
    """The verdict of each instance: "not run" if `numbers` has not all of its cells."""
    verdicts: list[Verdict] = []
    for instance in instances(claim):
        if numbers.keys() >= set(instance.cells.values()):
            verdicts.append(_truth(instance.tree, {name: numbers[key] for name, key in instance.cells.items()}))
        else:
            verdicts.append("not run")
    return verdicts


def on_paper(claim: Claim, exact: dict[Key, Interval], possible: dict[Key, Interval]) -> list[Verdict]:
    """The verdict of each instance on the papers' own numbers, `points` and `rounded`. It holds if it is true of the printed
    numbers; fails if it is false of all numbers that round to them; else it is undecided, a matter of rounding.
    """
    both = zip(judge(claim, exact), judge(claim, possible), strict=True)
    return [one if one == "holds" else other for one, other in both]


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict from those of instances on the papers' own numbers: mixed if some hold and some fail, undecided only if
    all that have numbers are.
    """
    found = {*verdicts} - {"not run"}
    if {"holds", "fails"} <= found:
        return "mixed"
    ordered: tuple[Verdict, ...] = ("holds", "fails", "undecided")
    return next((verdict for verdict in ordered if verdict in found), "not run")


def _truth(tree: Tree, cells: Mapping[str, Interval]) -> Verdict:
    """The truth of a tree, in Kleene's three-valued logic: undecided is less than true, and more than false."""
    return THREE[predicates.folded(tree, partial(_rank, cells))]


def _rank(cells: Mapping[str, Interval], one: Single) -> int:
    """The place of a comparison's verdict in THREE."""
    number = predicates.number(one.number, cells, point, _f1)
    if one.closed:
        return 2 if number.low >= 0 else 0 if number.high < 0 else 1
    return 2 if number.low > 0 else 0 if number.high <= 0 else 1


def point(value: float) -> Interval:
    """A number, without an error."""
    return Interval(Fraction(str(value)), Fraction(str(value)))


def _f1(precision: Interval, recall: Interval) -> Interval:
    """The harmonic mean of two numbers that are not negative, 0 if both are 0: it rises with each."""
    ends = ((precision.low, recall.low), (precision.high, recall.high))
    return Interval(*(2 * p * r / (p + r) if p + r else Fraction(0) for p, r in ends))
