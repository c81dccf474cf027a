"""Tables of filtering, like Table 2 of Kim et al. 2019: BLEU of models trained on a selection, by word budget and test
set.

Such a table also records what each row selected. Rows are compared by paired differences: models of the same seed, on
the same test sentences (`significance`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations, groupby, product
from operator import attrgetter
from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json
from bitextbench.evaluation.significance import Comparison, adjusted
from bitextbench.formats import records
from bitextbench.formats.metrics import checked_fields
from bitextbench.report.cells import Cell, Measurement, Scale, short
from bitextbench.report.references import Printed
from bitextbench.report.table import Place, beside, budgets, first_level, groups, names


@dataclass(frozen=True)
class Selection:
    """What one method selected for one budget; for several seeds `words`, `pairs` and `words_by_label` are sums."""

    method: str
    budget: str
    seed: int
    budget_words: int
    words: int
    pairs: int
    reached: bool
    words_by_label: dict[str, int]
    path: Path
    seeds: int = 1

    @property
    def precision(self) -> float | None:
        """The share of words of good pairs among the selected words with a known label; None without labels."""
        labelled = sum(count for label, count in self.words_by_label.items() if label)
        return self.words_by_label.get("parallel", 0) / labelled if labelled else None


def read_selection(path: Path) -> Selection:
    """Read a selection file. Raises InputError for missing fields, and if the words by label do not add up to the
    words.
    """
    numbers = {"seed": int, "budget_words": int, "words": int, "pairs": int}
    kinds = {"method": str, "budget": str, **numbers, "reached": bool, "words_by_label": dict}
    held = checked_fields(read_json(path), kinds, path)
    counts = held["words_by_label"].values()
    if not all(isinstance(count, int) for count in counts) or (counts and sum(counts) != held["words"]):
        what = f"words_by_label does not add up to words, {held['words']}"
        raise InputError(what, path, remedy="select again")
    if held["words"] <= 0:
        raise InputError("no words selected", path, remedy="select again")
    return Selection(**held, path=path)


@dataclass(frozen=True)
class Share:
    """A line of table2.selections.csv: the words of one label in what a method selected, summed over seeds.

    `label` and its words are None for a pool without labels.
    """

    method: str
    budget: str
    seeds: int
    budget_words: int
    words: int
    pairs: int
    label: str
    label_words: int | None


def shares(selections: Sequence[Selection]) -> list[Share]:
    """The lines of table2.selections.csv: one per selection and label."""
    return [
        Share(one.method, one.budget, one.seeds, one.budget_words, one.words, one.pairs, label, count)
        for one in pooled(selections)
        for label, count in (dict[str, int | None](one.words_by_label) or {"": None}).items()
    ]


def read_selections(path: Path) -> list[Selection]:
    """Read the selections from a CSV file of `shares`. Raises InputError for another file."""
    lines = records.read(path, Share, "a table of selections")
    selections = []
    for _, group in groupby(lines, key=lambda line: (line.method, line.budget)):
        first, *_ = held = list(group)
        by_label = {line.label: line.label_words for line in held if line.label_words is not None}
        words = {"budget_words": first.budget_words, "words": first.words, "pairs": first.pairs, "seeds": first.seeds}
        selections.append(
            Selection(first.method, first.budget, 1, **words, reached=True, words_by_label=by_label, path=path)
        )
    return selections


def cells(
    printed: Sequence[Printed],
    measurements: Sequence[Measurement],
    selections: Sequence[Selection],
    scale: Scale,
    notes: Mapping[Place, str] | None = None,
) -> list[Cell]:
    """The cells of the paper, the cells of tests and rows that this run alone has, and the selections; `notes` as in
    `beside`.

    A table is never made of a part of the data. So InputError is raised if a measurement or a selection of some row,
    budget and seed is missing or unexpected, and if test sets, budgets or signatures differ.
    """
    rows = list(dict.fromkeys(one.row for one in measurements))
    columns = list(dict.fromkeys(one.column for one in measurements))
    budgets = list(dict.fromkeys(column.partition("/")[0] for column in columns))
    seeds = sorted({one.seed for one in measurements}) or [1]
    by_cell = {(one.row, one.column, one.seed) for one in measurements}
    by_row = {(one.method, one.budget, one.seed) for one in selections}
    _complete("metric", measurements, by_cell, product(rows, columns, seeds))
    _complete("selection", selections, by_row, product(rows, budgets, seeds))
    _same("signature", ((one.signature, one.path) for one in measurements))
    for test in {column.partition("/")[2]: None for column in columns}:
        of_test = [one for one in measurements if one.column.endswith(f"/{test}")]
        _same(f"number of sentences of {test}", ((one.n, one.path) for one in of_test))
    for budget in budgets:
        _same(f"budget {budget}", ((one.budget_words, one.path) for one in selections if one.budget == budget))
    together = {(one.method, one.budget): one for one in pooled(selections)}
    table = []
    for cell in beside(_places(printed, rows, columns), measurements, scale, notes or {}):
        budget, _, test = cell.column.partition("/")
        cell = replace(cell, budget=budget, test=test)
        table.append(_with_selection(cell, together[cell.row, budget]) if cell.ours is not None else cell)
    return table


def _places(printed: Sequence[Printed], rows: Sequence[str], columns: Sequence[str]) -> list[Printed]:
    """The paper's cells and, without a number of the paper, those of rows and tests that this run alone has: its rows after
    the paper's, its tests, sorted, after those of each budget.
    """
    labels = {cell.row: cell.row_label for cell in printed}
    cells = {(cell.row, cell.column): cell for cell in printed}
    theirs, ours = ([column.partition("/")[::2] for column in held] for held in (names(printed, "column"), columns))
    budgets, tests = ([*dict.fromkeys(level)] for level in zip(*theirs, strict=True))
    tests += sorted({test for _, test in ours}.difference(tests))
    grid = product(dict.fromkeys([*labels, *rows]), (f"{budget}/{test}" for budget, test in product(budgets, tests)))
    return [
        cells.get((row, column))
        or replace(printed[0], row=row, row_label=labels.get(row, row), column=column, value=None)
        for row, column in grid
    ]


def pooled(selections: Sequence[Selection]) -> list[Selection]:
    """The selections of each method and budget, summed over seeds; `reached` if all seeds reached the budget."""
    together: dict[tuple[str, str], list[Selection]] = {}
    for selection in selections:
        together.setdefault((selection.method, selection.budget), []).append(selection)
    return [
        replace(
            group[0],
            words=sum(s.words for s in group),
            pairs=sum(s.pairs for s in group),
            seeds=len(group),
            reached=all(s.reached for s in group),
            words_by_label=dict(sum((Counter(s.words_by_label) for s in group), Counter())),
        )
        for group in together.values()
    ]


def _with_selection(cell: Cell, selection: Selection) -> Cell:
    notes = [cell.note, "" if selection.reached else "budget not reached: the whole pool is taken"]
    return replace(
        cell,
        budget_words=selection.budget_words,
        words_selected=round(selection.words / selection.seeds),
        pairs_selected=round(selection.pairs / selection.seeds),
        precision=None if selection.precision is None else round(selection.precision, 4),
        note="; ".join(filter(None, notes)),
    )


def _complete(
    kind: str, given: Sequence[Measurement] | Sequence[Selection], given_keys: Iterable[tuple], wanted: Iterable[tuple]
) -> None:
    """Raise InputError unless exactly the expected files are given."""
    given_keys, wanted = set(given_keys), set(wanted)
    if len(given_keys) < len(given):
        paths = ", ".join(str(item.path) for item in given)
        raise InputError(f"two {kind} files for one place among {paths}", remedy="give each once")
    missing, more = (
        "; ".join(sorted(", ".join(map(str, key)) for key in keys))
        for keys in (wanted - given_keys, given_keys - wanted)
    )
    if missing:
        raise InputError(f"no {kind} file for {missing}", remedy="finish the run: a table is not made from a part")
    if more:
        raise InputError(
            f"a {kind} file that is no part of the table: {more}", remedy="leave it out, or add it to the reference"
        )


def _same(what: str, values: Iterable[tuple[Any, Path]]) -> None:
    """Raise InputError unless all values are equal."""
    held = [*values]
    for value, path in held:
        if value != held[0][0]:
            said = f"{what} is {value}, but {held[0][0]} in {held[0][1]}"
            raise InputError(said, path, remedy="score them all the same way")


def reading(table: Sequence[Cell], comparisons: Sequence[Comparison]) -> list[str]:
    """Sentences on the rows that ran: the lowest row, the best row against random, and the orders of rows in the paper."""
    done = [cell for cell in table if cell.ours is not None]
    columns = {name: [cell for cell in done if cell.column == name] for name in names(done, "column")}
    return [_lowest(columns), _gap(columns), *_orders(columns, comparisons)]


def orders(sentences: Sequence[str]) -> list[str]:
    """Those of `reading` that say which orders of the paper hold."""
    return [line for line in sentences if line.startswith(("The paper's order", "  ", "No two rows"))]


def _where(names: Sequence[str], columns: Any) -> str:
    """The names; of all columns, how many these are."""
    if len(names) < len(columns):
        return ", ".join(names)
    return "the only column" if len(columns) == 1 else f"all {len(columns)} columns"


def _lowest(columns: dict[str, list[Cell]]) -> str:
    where: dict[str, list[str]] = {}
    for name, column in columns.items():
        where.setdefault(short(min(column, key=attrgetter("ours")).row_label), []).append(name)
    return "Lowest row: " + "; ".join(f"{label} in {_where(names, columns)}" for label, names in where.items()) + "."


def _gap(columns: dict[str, list[Cell]]) -> str:
    """The best row minus random in each column, and the smallest ratio of this gap to the larger spread of both rows."""
    parts, ratios = [], []
    for name, column in columns.items():
        base = next((cell for cell in column if cell.row == "random"), column[0])
        best = max(column, key=attrgetter("ours"))
        gap = (best.ours or 0.0) - (base.ours or 0.0)
        parts.append(f"{gap:.2f} in {name} ({best.row})")
        if base.spread is not None and best.spread is not None:
            ratios.append(gap / max(base.spread, best.spread, 0.01))  # 0.01: the spread's last digit
    against = f"at least {min(ratios):.1f} times the spread over seeds" if ratios else "one seed has no spread"
    return f"Best row minus random, BLEU: {', '.join(parts)}; {against}."


def _orders(columns: dict[str, list[Cell]], comparisons: Sequence[Comparison]) -> list[str]:
    """A sentence for each two rows that the paper orders: the columns in which paired differences confirm this order,
    reverse it, or leave it undecided (p, adjusted by Holm for all comparisons of the table, is above 5%).
    """
    corrected = [
        one._replace(p=p) for one, p in zip(comparisons, adjusted([one.p for one in comparisons]), strict=True)
    ]
    both = [*corrected, *(one.reversed() for one in corrected)]
    differences = {(f"{one.budget}/{one.test}", one.row, one.other): one for one in both}
    where: dict[str, dict[str, list[str]]] = {}
    for name, column in columns.items():
        for pair in combinations((cell for cell in column if cell.paper is not None), 2):
            low, high = sorted(pair, key=lambda cell: cell.paper or Decimal(0))
            one = differences.get((name, high.row, low.row))
            if low.paper != high.paper and one:
                state = "is undecided" if one.p > 0.05 else "holds" if one.difference > 0 else "is reversed"
                where.setdefault(f"{low.row} < {high.row}", {}).setdefault(state, []).append(name)
    if not where:
        return ["No two rows of this run are ordered by the paper."]
    what = f"95% sure of all {len(comparisons)} comparisons together, by Holm"
    head = f"The paper's order, by paired differences (same seeds, same test sentences; {what}):"
    return [head, *(f"  {pair} {_states(states, columns)}." for pair, states in where.items())]


def _states(states: dict[str, list[str]], columns: dict[str, list[Cell]]) -> str:
    order = ("holds", "is undecided", "is reversed")
    return ", ".join(f"{state} in {_where(states[state], columns)}" for state in order if state in states)


# ---- for a page

COLOURS = 8  # of the style sheet


def selection_parts(cells: Sequence[Cell], selections: Sequence[Selection]) -> dict[str, Any]:
    """The selections for a page, sorted by budget and row."""
    levels, rows = [*groups(cells)], names(cells, "row")
    words = sum((Counter(chosen.words_by_label) for chosen in selections), Counter[str]())
    kinds = sorted(words, key=lambda label: (label != "parallel", label != "", -words[label], label))
    few = kinds[COLOURS - 1 :] if len(kinds) > COLOURS else []
    return {
        "selections": [
            replace(chosen, words_by_label=joined(chosen.words_by_label, few))
            for chosen in sorted(selections, key=lambda one: (levels.index(one.budget), rows.index(one.method)))
        ],
        "budgets": {group: first_level(group, budgets(cells)) for group in levels},
        "row_labels": {cell.row: short(cell.row_label) for cell in cells},
        "labels": [label for label in kinds if label not in few] + ([f"{len(few)} other kinds"] if few else []),
    }


def joined(words_by_label: Mapping[str, int], few: Sequence[str]) -> dict[str, int]:
    """The words by label, those of `few` together."""
    held = {label: count for label, count in words_by_label.items() if label not in few}
    rest = sum(count for label, count in words_by_label.items() if label in few)
    return held | ({f"{len(few)} other kinds": rest} if few else {})
