"""The questions of a practitioner and the answers of the runs: results/answers.yaml.

An entry has a `question`, an `answer` and `numbers`, both written by hand, and the predicates `so` that bear them out:

    - question: Cosine or margin?
      answer: Margin.
      numbers: "F1 {small/artetxe2019/table2: ratio-max, en-de/F1} instead of {small/artetxe2019/table2: absolute-max, en-de/F1}"
      so:
        - predicate: "[small/artetxe2019/table2: ratio-max, {pair}/F1] > [small/artetxe2019/table2: absolute-max, {pair}/F1]"
          for: {pair: [en-de, en-fr]}

Predicates are those of claims (`claims`), over the cells of `<run>/<table>`; names of rows are written without colons and
commas. A cell in `numbers` becomes our number. An answer whose numbers do not bear it out is an error, so that no page
can show it.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import TEXT, listed, only, read_checked
from bitextbench.report import cells, claims, encoders
from bitextbench.report.claims import Claim, Interval, Key

SO = only(["predicate"], {"predicate": TEXT, "for": {"type": "object"}})
KEYS = {**dict.fromkeys(("question", "answer", "numbers"), TEXT), "so": listed(SO)}
SCHEMA = listed(only(KEYS, KEYS))
SHOWN = re.compile(r"\{([^{}:]+): ([^{},]+), ([^{}]+)\}")  # a cell in `numbers`
DIGITS = 1  # of a number in an answer


Number = tuple[float, float | None, float | None]  # ours, low, high


class Answer(NamedTuple):
    question: str
    answer: str
    numbers: str


def load(path: Path, folders: Mapping[str, Path] | None = None) -> list[Answer]:
    """The answers of a file. Runs are looked for in its folder; `folders`: places of other runs.

    Raises InputError for a wrong structure, a cell without a number of ours, and an answer that the numbers do not bear out.
    """
    tables = Tables(path.parent, folders or {})
    return [_answer(entry, tables, path) for entry in read(path)]


def borne_out(path: Path, run: str) -> list[Answer]:
    """The answers of a file that rest on a run, or on the study of its encoders, and that the numbers bear out; none where
    there is no file.
    """
    if not path.exists():
        return []
    tables, found = Tables(path.parent, {}), []
    for entry in read(path):
        with suppress(InputError):
            if any(place.startswith((f"{run}/", f"{run}-encoders/")) for place in rests_on(entry)):
                found.append(_answer(entry, tables, path))
    return found


def rests_on(entry: Mapping[str, Any]) -> set[str]:
    """The tables that the predicates of an entry name."""
    made = (_claim("", one["predicate"], one.get("for", {}), "") for one in entry["so"])
    return {key[0] for claim in made for one in claims.instances(claim) for key in one.cells.values()}


def read(path: Path) -> list[dict[str, Any]]:
    """The entries of a file. Raises InputError for a wrong structure."""
    return list(read_checked(path, SCHEMA, "see the head of report/answers.py")[0])


def _answer(entry: Mapping[str, Any], tables: "Tables", path: Path) -> Answer:
    for one in entry["so"]:
        if (verdicts := holds(entry["answer"], one["predicate"], one.get("for", {}), tables)) != {"holds"}:
            what = f"{entry['answer']!r} is not borne out: {one['predicate']} {', '.join(sorted(verdicts))}"
            raise InputError(what, path, remedy="write what the numbers say")
    return Answer(
        entry["question"], entry["answer"], SHOWN.sub(lambda cell: tables.shown(*cell.groups()), entry["numbers"])
    )


def holds(
    sentence: str, predicate: str, variables: Mapping[str, Sequence[Any]], tables: "Tables", place: str = ""
) -> set[str]:
    """The verdicts of a predicate on the values of our numbers; `place` is the table of the cells that name none."""
    claim = _claim(sentence, predicate, variables, place)
    numbers: dict[Key, Interval] = {}
    for one in claims.instances(claim):
        for table in {key[0] for key in one.cells.values()}:
            numbers |= tables.points(table)
    return {str(verdict) for verdict in claims.judge(claim, numbers)}


def _claim(sentence: str, predicate: str, variables: Mapping[str, Sequence[Any]], place: str) -> Claim:
    values = {name: [str(one) for one in held] for name, held in variables.items()}
    return Claim(sentence, place, predicate, variables=values)


class Tables:
    """The tables of runs: `<run>/<table>` is results/<run>/<table>.csv."""

    def __init__(self, results: Path, folders: Mapping[str, Path]) -> None:
        self.results, self.folders = results, folders
        self.lines = cache(self._lines)

    def _lines(self, place: str) -> dict[tuple[str, str], Number]:
        """The numbers of a table by row and column. Of a table of encoders rows are encoders, columns `<test> forward` and
        `<test> backward` (P@1).
        """
        run, _, name = place.partition("/")
        path = self.folders.get(run, self.results / run) / f"{name}.csv"
        if name == "encoders":
            return {
                (line.encoder, f"{line.test} {way}"): tuple(
                    getattr(line, f"p1_{way}{end}") for end in ("", "_low", "_high")
                )
                for line in encoders.read(path)
                for way in ("forward", "backward")
            }
        return {
            (re.sub("[:,]", "", cell.row), cell.column): (cell.ours, cell.low, cell.high)
            for cell in cells.read(path)
            if cell.ours is not None
        }

    def points(self, place: str) -> dict[Key, Interval]:
        return {(place, *cell): claims.point(ours) for cell, (ours, _, _) in self.lines(place).items()}

    def shown(self, place: str, row: str, column: str) -> str:
        """Our number in a cell with its interval. Raises InputError for a cell without one."""
        if (row, column) not in self.lines(place):
            raise InputError(f"no number of ours in {place}: {row}, {column}", self.results, remedy="name another cell")
        ours, low, high = self.lines(place)[row, column]
        number = f"{ours:.{DIGITS}f}"
        return number if low is None else f"{number} ({low:.{DIGITS}f} to {high:.{DIGITS}f})"
