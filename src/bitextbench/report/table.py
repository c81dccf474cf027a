"""Tables: our cells and the paper's, as CSV and as text for a terminal; `site` makes the pages."""

import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import fmean
from typing import Any, NamedTuple

from bitextbench.base.errors import InputError, near
from bitextbench.base.json_yaml import read_json
from bitextbench.evaluation.significance import Comparison
from bitextbench.report.cells import NOT_RUN, WARNING, Cell, Measurement, Scale, filled, short
from bitextbench.report.references import UNPRINTED, Printed, title

Place = tuple[str, str]  # row and column
WIDE = 100  # characters of a terminal
BAR = 24  # characters of the longest bar
BUDGET = re.compile(r"\d+M( words)?")  # a column, by the paper's name of a budget
OTHER_BUDGETS = "Columns have the names of the paper's budgets; those of this run are smaller (table2.csv has them)."


def beside(
    printed: Sequence[Printed], measurements: Sequence[Measurement], scale: Scale, notes: Mapping[Place, str]
) -> list[Cell]:
    """A cell for each number of the paper, in the paper's order, with our number if it was measured.

    Several measurements of a cell have different seeds. `notes`: for a measured cell a condition, for an empty cell the
    reason. Raises InputError for a measurement or note without a cell, and for two measurements of one cell and seed.
    """
    places = {(cell.row, cell.column) for cell in printed}
    for place, path in [
        *(((one.row, one.column), one.path) for one in measurements),
        *((place, None) for place in notes),
    ]:
        if place not in places:
            remedy = near(" ".join(place), map(" ".join, sorted(places)))
            raise InputError(f"no cell {', '.join(place)}", path, remedy=remedy)
    seeds = by_place(measurements)
    table = []
    for cell in printed:
        place = cell.row, cell.column
        note = notes.get(place, "")
        empty = Cell(
            cell.place, cell.row, cell.row_label, cell.column, paper=cell.value, scale=scale, note=note or NOT_RUN
        )
        table.append(_noted(filled(empty, seeds[place]), note) if place in seeds else empty)
    return table


def with_own_rows(printed: Sequence[Printed], specs: Sequence[Mapping[str, Any]]) -> list[Printed]:
    """The paper's cells, and below them an empty cell for those of specs (see `of_specs`) that have a `label`; each once,
    of however many seeds.
    """
    labelled = (
        replace(printed[0], row=spec["row"], row_label=spec["label"], column=spec["column"], value=None)
        for spec in specs
        if spec.get("label")
    )
    return [*printed, *dict.fromkeys(labelled)]


def unprinted(
    name: str,
    measurements: Sequence[Measurement],
    scale: Scale,
    notes: Mapping[Place, str],
    labels: Mapping[str, str] = {},
) -> list[Cell]:
    """The cells of a table that no paper printed, row by row; `labels` of rows are their names unless given.

    Raises InputError for two measurements of one cell and seed.
    """
    seeds = by_place(measurements)
    table = [
        replace(
            filled(Cell(name, row, labels.get(row, row), column, scale=scale), held),
            verdict="not printed" if name in UNPRINTED else "no paper has it",
            note=notes.get((row, column), ""),
        )
        for (row, column), held in seeds.items()
    ]
    rows, columns = names(table, "row"), names(table, "column")
    return sorted(table, key=lambda cell: (rows.index(cell.row), columns.index(cell.column)))


def with_training(table: Sequence[Cell], measurements: Sequence[Measurement]) -> list[Cell]:
    """The cells with the number of training pairs and the share of good ones, means over seeds, where the BLEU of a
    translation model comes with them (`measure-translation`).
    """
    facts: dict[Place, list[Mapping[str, Any]]] = {}
    for one in measurements:
        if (metric := read_json(one.path)).keys() >= {"bleu", "pairs"}:
            facts.setdefault((one.row, one.column), []).append(metric)
    return [_of_training(cell, held) if (held := facts.get((cell.row, cell.column))) else cell for cell in table]


def _of_training(cell: Cell, metrics: Sequence[Mapping[str, Any]]) -> Cell:
    pairs = round(fmean(one["pairs"]["n"] for one in metrics))
    known = [one["precision"]["value"] / 100 for one in metrics if "precision" in one]
    return replace(cell, pairs_selected=pairs, precision=round(fmean(known), 4) if known else None)


def by_place(measurements: Sequence[Measurement]) -> dict[Place, list[Measurement]]:
    """The measurements of each cell, sorted by seed. Raises InputError for two of one cell and seed."""
    seeds: dict[Place, list[Measurement]] = {}
    for one in measurements:
        held = seeds.setdefault((one.row, one.column), [])
        if one.seed in {other.seed for other in held}:
            raise InputError(
                f"{one.row}, {one.column}, seed {one.seed}, is given twice", one.path, remedy="give it once"
            )
        held.append(one)
    return {place: sorted(held, key=lambda one: one.seed) for place, held in seeds.items()}


def against(
    table: Sequence[Cell], row: str, comparisons: Sequence[Comparison], text: str = "detokenised text"
) -> list[Cell]:
    """The cells with a note on the difference from `row` in the same column, if the two were compared.

    A comparison's `budget` is the column. `text`: the text on which BLEU was measured, for the note.
    """
    both = [*comparisons, *(one.reversed() for one in comparisons)]
    compared = {(one.row, one.budget): one for one in both if one.other == row}
    return [
        _noted(cell, _difference(row, compared[place], text))
        if (place := (cell.row, cell.column)) in compared
        else cell
        for cell in table
    ]


def _difference(row: str, one: Comparison, text: str) -> str:
    p = "p < 0.0001" if one.p < 0.0001 else f"p = {one.p:.4f}"
    return f"{one.difference:+.2f} BLEU [{one.low:+.2f}, {one.high:+.2f}] against {row}, {p}, by a paired bootstrap of {text}"


def _noted(cell: Cell, note: str) -> Cell:
    return replace(cell, note="; ".join(filter(None, (cell.note, note))))


def names(table: Sequence[Any], field: str) -> list[str]:
    """The distinct values of a field, in the order of first occurrence."""
    return list(dict.fromkeys(getattr(cell, field) for cell in table))


def heading(table: Sequence[Cell], run: str) -> str:
    """The title with the run, and with the scale where the name of the run is another, or "" for an unknown one."""
    scale = f"{table[0].scale} scale"
    named = f"{run} run" if run == table[0].scale else f"{run} run, {scale}" if run else scale
    return f"{title(table[0].paper_table)} ({named})"


def groups(table: Sequence[Cell]) -> dict[str, list[str]]:
    """The columns grouped by the first level of their heading: "en-fr" -> ["en-fr/P", "en-fr/R"]."""
    columns: dict[str, list[str]] = {}
    for column in names(table, "column"):
        columns.setdefault(column.partition("/")[0], []).append(column)
    return columns


def rows_of(table: Sequence[Cell]) -> list[tuple[str, dict[str, Cell]]]:
    """The label of each row, and its cells by column."""
    return [
        (label, {cell.column: cell for cell in row}) for label, row in groupby(table, key=lambda cell: cell.row_label)
    ]


def budgets(table: Sequence[Cell]) -> dict[str, int]:
    """The words of each of the papers' budgets in the run of this table, where the table has them."""
    return {cell.budget: cell.budget_words for cell in table if cell.budget_words}


def first_level(group: str, words: Mapping[str, int]) -> str:
    """The first level of a heading; for a budget with its number of words in this run, out of `words`."""
    budget = group.removesuffix(" words")
    return f"{budget} words (here {words[budget]:,})" if budget in words else group


def brief(table: Sequence[Cell], reading: Sequence[str] = (), run: str = "") -> str:
    """The first column of each group as bars, best row first, with the sentences of `reading` below.

    A bar ends at our number; behind it stand the 95% interval and, where it is known, the share of good words. `run`: of
    `heading`.
    """
    lines = [heading(table, run)]
    for group, columns in groups(table).items():
        held = [cell for cell in table if cell.column == columns[0] and cell.ours is not None]
        if not held:
            continue
        lines.append(f"{first_level(group, budgets(table))}, {held[0].test}" if held[0].test else group)
        most = max(cell.ours or 0.0 for cell in held) or 1.0
        for cell in sorted(held, key=lambda cell: -(cell.ours or 0.0)):
            bar = "█" * max(1, round(BAR * (cell.ours or 0.0) / most))
            good = "" if cell.precision is None else f"  {cell.precision:.0%} good words"
            interval = "" if cell.low is None or cell.high is None else f"[{cell.low:.1f}, {cell.high:.1f}]"
            lines.append(f"  {short(cell.row_label):32}{cell.ours:5.1f}  {bar:{BAR}}  {interval:14}{good}")
    return "\n".join([*lines, *_wrapped(reading)]) + "\n"


class TextColumn(NamedTuple):
    """A column of a rendered table: the first level of its heading, its own heading, the text of each row."""

    group: str
    heading: str
    texts: list[str]

    @property
    def width(self) -> int:
        return max(map(len, (self.heading, *self.texts)))


def render(table: Sequence[Cell], reading: Sequence[str] = (), run: str = "") -> str:
    """The table for a terminal of WIDE characters, without columns that lack our numbers; columns that do not fit stand
    below the others.

    Below it follow the sentences of `reading`, the reasons for empty cells, and notes. `run`: of `heading`.
    """
    labels = TextColumn("", "ours [95% interval] (paper)", [short(label) for label, _ in rows_of(table)])
    height = 1 + len(labels.texts)
    parts = [_rows([labels, *part]) for part in _parts(labels, _columns(table))]
    texts = [aligned(part, spanning=len(part) - height) for part in parts]
    rule = "-" * max(len(line) for part in texts for line in part)
    body: list[str] = []
    for part in texts:
        heads = len(part) - len(labels.texts)
        body += [*part[:heads], rule, *part[heads:], rule]
    return "\n".join([heading(table, run), rule, *body, *_wrapped([*reading, *_remarks(table)])]) + "\n"


def _wrapped(lines: Sequence[str]) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, WIDE, subsequent_indent="    ")]


def _columns(table: Sequence[Cell]) -> list[TextColumn]:
    """The columns that have numbers of ours; after those of a budget comes the precision of its selections."""
    done = {cell.column for cell in table if cell.ours is not None} or {*names(table, "column")}
    rows = [cells for _, cells in rows_of(table)]
    made = []
    for group, held in groups(table).items():
        columns = [name for name in held if name in done]
        level = first_level(group, budgets(table)) if any("/" in name for name in names(table, "column")) else ""
        for name in columns:
            made.append(
                TextColumn(level, name.partition("/")[2] or group, [cell_text(cells.get(name)) for cells in rows])
            )
        if any(cell.precision is not None for cell in table if cell.column in columns):
            made.append(TextColumn(level, "precision", [_precision(cells, columns) for cells in rows]))
    return made


def _parts(labels: TextColumn, columns: Sequence[TextColumn]) -> list[list[TextColumn]]:
    """The columns in as many parts as fit below each other; a group is split only if it alone is too wide."""
    parts: list[list[TextColumn]] = [[]]
    for _, held in groupby(columns, key=lambda column: column.group):
        group = list(held)
        for piece in [group] if _fits([labels, *group]) else [[column] for column in group]:
            if parts[-1] and not _fits([labels, *parts[-1], *piece]):
                parts.append([])
            parts[-1] += piece
    return parts


def _fits(columns: Sequence[TextColumn]) -> bool:
    return sum(column.width + 2 for column in columns) - 2 <= WIDE


def _rows(columns: Sequence[TextColumn]) -> list[list[str]]:
    """The lines of a part: the first level of headings where there is one, headings, rows."""
    groups = [column.group for column in columns]
    first = [group if place == 0 or group != groups[place - 1] else "" for place, group in enumerate(groups)]
    lines = [
        [column.heading for column in columns],
        *map(list, zip(*(column.texts for column in columns), strict=True)),
    ]
    return [first, *lines] if any(first) else lines


def cell_text(cell: Cell | None) -> str:
    """Our number with its interval, and the paper's in brackets."""
    if cell is None:
        return ""
    ours = "–" if cell.ours is None else f"{cell.ours:.2f} [{cell.low:.2f}, {cell.high:.2f}]"
    return ours if cell.paper is None else f"{ours} ({cell.paper})"


def _precision(cells: Mapping[str, Cell], columns: Sequence[str]) -> str:
    share = next((cells[name].precision for name in columns if name in cells), None)
    return "" if share is None else f"{share:.1%}"


def aligned(rows: Sequence[Sequence[str]], spanning: int = 0) -> list[str]:
    """Rows as lines of text; the first `spanning` have headings over several columns, wider than the first of them."""
    widths = [max(map(len, column)) for column in zip(*rows[spanning:], strict=True)]
    lines = []
    for row in rows:
        line, at = "", 0
        for text, width in zip(row, widths, strict=True):
            if text:
                line = line.ljust(at) + text
            at += width + 2
        lines.append(line.rstrip())
    return lines


def _remarks(table: Sequence[Cell]) -> list[str]:
    """The lines below a table: reasons for empty cells, most frequent first; notes; the warning about the scale."""
    done = [cell for cell in table if cell.ours is not None]
    empty = Counter(cell.note or cell.verdict for cell in table if cell.ours is None)
    reasons = "; ".join(f"{count} {note}" if len(empty) > 1 else note for note, count in empty.most_common())
    noted = {note: names([cell for cell in done if cell.note == note], "row_label") for note in names(done, "note")}
    few = min(4, len(names(done, "row_label")))  # of more rows the names would be longer than the note
    small = table[0].scale != "paper"
    return [
        *([f"No number of ours in {empty.total()} of {len(table)} cells: {reasons}."] if empty else []),
        *(
            f"Note: {'; '.join(map(short, rows)) + ': ' if len(rows) < few else ''}{note}."
            for note, rows in sorted(noted.items())
            if note
        ),
        *([OTHER_BUDGETS] if small and not budgets(table) and any(map(BUDGET.fullmatch, groups(table))) else []),
        *([WARNING.format(table[0].scale)] if small else []),
    ]
