"""Maps of tables: a square for each number of a paper, whose state says what came out."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bitextbench.report.audit import NOT_RUN, Tried
from bitextbench.report.claims import CELL, Key
from bitextbench.report.references import title
from bitextbench.report.run import ReportTable, Run

STATES = {
    "holds": "holds, or reproduced",
    "fails": "fails, or differs",
    "level": "level: no difference as large as the equivalence bound",
    "undecided": "undecided",
    "out-of-regime": "far from the paper's number, or compared with such a number",
    "computed": "computed; no claim depends on it",
    "not-run": "not computed in this run",
}


def states(run: Run) -> dict[Key, str]:
    """A mark for each number of the papers (STATES)."""
    verdicts: dict[Key, Counter[str]] = {}
    for tried in run.instances:
        if (mark := tried.verdict.replace(" ", "-")) in STATES:
            for key in set(cells_of(tried)):
                verdicts.setdefault(key, Counter())[mark] += 1
    return {
        key: state(number.verdict, verdicts.get(key, Counter()))
        for number in run.numbers
        for key in [(number.place, number.row, number.column)]
    }


def state(verdict: str, claims: Counter[str]) -> str:
    """The mark of a number (STATES)."""
    if verdict in ("reproduced", "differs"):
        return "holds" if verdict == "reproduced" else "fails"
    if verdict == NOT_RUN:
        return "not-run"
    (first, most), (_, second) = [*claims.most_common(2), ("computed", 0), ("", 0)][:2]
    return "undecided" if most == second else first


def cells_of(tried: Tried) -> list[Key]:
    """The cells that an instance uses."""
    return [(place.strip(), row.strip(), column.strip()) for place, row, column in CELL.findall(tried.cells)]


def squares(table: ReportTable, states: Mapping[Key, str]) -> dict[str, Any]:
    """A table as a map of squares: the column, row and state of each."""
    held = [(row, column, mark) for (place, row, column), mark in states.items() if place == table.place]
    rows, columns = (list(dict.fromkeys(one[axis] for one in held)) for axis in (0, 1))
    counts = Counter(mark for *_, mark in held)
    said = ", ".join(f"{counts[mark]} {mark.replace('-', ' ')}" for mark in STATES if counts[mark])
    return {
        "page": table.page if table.csv else "",
        "name": title(table.place).partition(", ")[2],
        "rows": len(rows),
        "columns": len(columns),
        "squares": [
            (columns.index(column), rows.index(row), mark, f"{row}, {column}: {STATES[mark]}")
            for row, column, mark in held
        ],
        "said": f"{title(table.place)}: {said}",
    }
