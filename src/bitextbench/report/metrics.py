"""Metrics of the papers' tables: where our numbers are in the papers' regime, and which differences count as none.

`references/metrics.yaml` has, for each unit of the references:

| key | meaning |
|---|---|
| regime | `at_least` and `at_most`, as multiples of the paper's number in the same cell; or `none` for a metric without printed numbers |
| bound | the equivalence bound: the largest difference that is called none, in the metric's own unit (Lakens 2017) |
| reason | why this bound |

and under `unprinted`, for the rows of figures and sentences without printed numbers, their `metric` and optionally `like`: table,
row and column of a printed number of the same quantity, `{column}` for the column of the same name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError, near
from bitextbench.base.json_yaml import TEXT, only, read_checked
from bitextbench.report.claims import Key
from bitextbench.report.references import UNPRINTED, Printed

POSITIVE = {"type": "number", "exclusiveMinimum": 0}
LIMITS = only([], {"at_least": POSITIVE, "at_most": POSITIVE}, minProperties=1)
UNIT = {"regime": {"oneOf": [{"const": "none"}, LIMITS]}, "bound": POSITIVE, "reason": TEXT}
LIKE = {"type": "array", "minItems": 3, "maxItems": 3, "items": {"type": "string"}}
ROW = only(["metric"], {"metric": {"type": "string"}, "like": LIKE})
PARTS = {
    "metrics": {"type": "object", "additionalProperties": only(UNIT, UNIT)},
    "unprinted": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": ROW}},
}
SCHEMA = only(PARTS, PARTS)


@dataclass(frozen=True)
class Unit:
    """A metric by its unit. `at_least`, `at_most`: multiples of the paper's number; None for no such limit."""

    name: str
    bound: float
    at_least: float | None = None
    at_most: float | None = None

    def outside(self, ours: float, paper: float) -> bool:
        """Whether a number of ours is outside the regime of the paper's."""
        low, high = (None if part is None else part * paper for part in (self.at_least, self.at_most))
        return (low is not None and ours < low) or (high is not None and ours > high)


@dataclass(frozen=True)
class Metrics:
    """The metric of each cell of the references, and of further cells (`of`)."""

    units: Mapping[str, Unit]
    columns: Mapping[tuple[str, str], str]  # table and column -> unit
    rows: Mapping[tuple[str, str], Mapping[str, Any]]  # of figures without printed numbers
    printed: Mapping[Key, float]

    def of(self, key: Key) -> Unit | None:
        """The metric of a cell, which may be of a row of our own; None for a cell of no known table."""
        place, row, column = key
        unit = self.columns.get((place, column)) or self.rows.get((place, row), {}).get("metric")
        return None if unit is None else self.units[unit]

    def paper(self, key: Key) -> float | None:
        """The number of the paper against which the regime of a cell is judged, if there is one."""
        if like := self.rows.get(key[:2], {}).get("like"):
            place, row, column = like
            return self.printed.get((place, row, column.replace("{column}", key[2])))
        return self.printed.get(key)


def load(path: Path, tables: Mapping[str, Sequence[Printed]]) -> Metrics:
    """The metrics of the papers' tables.

    Raises InputError, with the line, for a wrong structure, a unit that no table has, and a unit of a table that the
    file lacks. An unprinted row must not name an unknown metric, or be like an unknown cell.
    """
    held, line_of = read_checked(path, SCHEMA, "see the head of report/metrics.py")
    units = {unit: _unit(unit, entry) for unit, entry in held["metrics"].items()}
    columns, printed = {}, {}
    for place, cells in tables.items():
        for cell in cells:
            if cell.unit not in units:
                what = f"no metric {cell.unit}, of {place}, {cell.row}, {cell.column}"
                raise InputError(what, path, line=line_of("metrics"), remedy="give its regime and bound")
            columns[place, cell.column] = cell.unit
            if cell.value is not None:
                printed[place, cell.row, cell.column] = float(cell.value)
    rows = {(place, row): entry for place, entries in held["unprinted"].items() for row, entry in entries.items()}
    made = Metrics(units, columns, rows, printed)
    for place, row in rows:
        _check_row(made, (place, row), path, line_of("unprinted", place, row))
    for unit in units.keys() - set(columns.values()) - {entry["metric"] for entry in rows.values()}:
        raise InputError(
            f"no table has {unit}", path, line=line_of("metrics", unit), remedy=near(unit, {*columns.values()})
        )
    return made


def _unit(unit: str, entry: Mapping[str, Any]) -> Unit:
    return Unit(unit, entry["bound"], **({} if entry["regime"] == "none" else entry["regime"]))


def _check_row(made: Metrics, place_and_row: tuple[str, str], path: Path, line: int) -> None:
    place, entry = place_and_row[0], made.rows[place_and_row]
    if place not in UNPRINTED:
        raise InputError(
            f"{place} is not a figure without printed numbers", path, line=line, remedy=near(place, UNPRINTED)
        )
    if entry["metric"] not in made.units:
        raise InputError(f"no metric {entry['metric']}", path, line=line, remedy=near(entry["metric"], made.units))
    if (like := entry.get("like")) and not any(
        like[:2] == [*key[:2]] and like[2] in (key[2], "{column}") for key in made.printed
    ):
        raise InputError(f"no cell {', '.join(like)}", path, line=line, remedy="name a printed number")
