"""A paper's table of single metrics: each cell one kind of measurement, ours beside the paper's, as CSV, text and page.

Table 2 of Kim et al. has a module of its own, `table`, because budgets and selections belong to it; lines, intervals and
the CSV format are the same.
"""

import html as markup
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from bitextbench.base.errors import InputError, near
from bitextbench.base.files import atomic, read_json
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.report import references
from bitextbench.report.kim2019_table2 import NOT_RUN, WARNING, Line, Scale, cell_text, filled, short, to_csv

Place = tuple[str, str]  # row and column


@dataclass(frozen=True)
class Measured:
    """One metric of one run, for one cell."""

    row: str
    column: str
    seed: int
    value: float
    low: float
    high: float
    signature: str
    path: Path


def build(
    reference: Path, measured: Sequence[Measured], scale: Scale, out: Path, page: Path, notes: Mapping[Place, str] | None = None
) -> None:  # fmt: skip
    """Write the table as CSV and as a self-contained page.

    Several measurements of a cell are runs of different seeds. `notes`: of a cell that was measured, a condition; of another,
    why it was not. Raises InputError for a measurement or a note that belongs to no cell, and two measurements of the same
    cell and seed.
    """
    table = lines(references.load(reference), measured, scale, notes or {})
    for path, content in ((out, to_csv(table)), (page, to_html(table))):
        with atomic(path) as part:
            part.write_text(content, encoding="utf-8")


def read(row: str, column: str, seed: int, path: Path, key: str = "") -> Measured:
    """A metric file, or one of the metrics in it (`key`, levels joined by dots); `seed` is the training's. Raises InputError for a missing key, NaN or a wrong interval."""
    known = read_json(path)
    for name in filter(None, key.split(".")):
        if not isinstance(known, dict) or name not in known:
            raise InputError(f"no metric {key}", path, remedy="make the file again")
        known = known[name]
    kinds = {"value": (int, float), "interval": list, "signature": str}
    found = checked_fields(known, kinds, path)
    low, high = interval_of(found, path)
    return Measured(row, column, seed, found["value"], low, high, found["signature"], path)


def mean(parts: Sequence[Measured]) -> Measured:
    """The mean of measurements of one cell on independent test sets: halves of intervals add in quadrature, side by side."""
    n = len(parts)
    if n == 1:
        return parts[0]
    value = math.fsum(part.value for part in parts) / n
    below = math.hypot(*(part.value - part.low for part in parts)) / n
    above = math.hypot(*(part.high - part.value for part in parts)) / n
    signature = f"mean of {n}|{parts[0].signature}"
    return replace(parts[0], value=value, low=value - below, high=value + above, signature=signature)


def lines(
    cells: Sequence[references.Cell], measured: Sequence[Measured], scale: Scale, notes: Mapping[Place, str]
) -> list[Line]:
    """A line for each cell of the paper, in its order. Raises InputError as `build`."""
    known = {(cell.row, cell.column) for cell in cells}
    runs: dict[Place, list[Measured]] = {}
    for place, path in [*(((one.row, one.column), one.path) for one in measured), *((place, None) for place in notes)]:
        if place not in known:
            raise InputError(
                f"no cell {', '.join(place)}", path, remedy=near(" ".join(place), map(" ".join, sorted(known)))
            )
    for one in measured:
        place = one.row, one.column
        if one.seed in {run.seed for run in runs.setdefault(place, [])}:
            raise InputError(f"{', '.join(place)}, seed {one.seed}, is given twice", one.path, remedy="give it once")
        runs[place].append(one)
    table = []
    for cell in cells:
        note = notes.get((cell.row, cell.column), "")
        line = Line(
            cell.place, cell.row, cell.row_label, cell.column, "", "", cell.printed, scale=scale, note=note or NOT_RUN
        )
        found = sorted(runs.get((cell.row, cell.column), []), key=lambda run: run.seed)
        if found:
            line = filled(line, found)
            line = replace(line, note="; ".join(filter(None, (line.note, note))))
        table.append(line)
    return table


def rows_of(table: Sequence[Line]) -> tuple[list[str], list[tuple[str, list[Line | None]]]]:
    """The columns, and for each row its label and its cells; None where the paper has none."""
    columns = list(dict.fromkeys(line.column for line in table))
    rows = []
    for label, group in groupby(table, key=lambda line: line.row_label):
        held = {line.column: line for line in group}
        rows.append((label, [held.get(column) for column in columns]))
    return columns, rows


def title(table: Sequence[Line]) -> str:
    return f"{table[0].paper_table} ({table[0].scale} run)"


def render(table: Sequence[Line]) -> str:
    """The table for a terminal, without columns that have no number of ours; below it why, most frequent reason first."""
    columns, rows = rows_of(table)
    done = {line.column for line in table if line.ours is not None} or {*columns}
    run = [column in done for column in columns]
    body = [
        ["ours [95% interval] (paper)", *itertools.compress(columns, run)],
        *([short(label), *map(_text, itertools.compress(cells, run))] for label, cells in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*body, strict=True)]
    texts = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in body]
    rule = "-" * max(map(len, texts))
    empty = Counter(line.note or line.verdict for line in table if line.ours is None)
    reasons = "; ".join(f"{count} {note}" if len(empty) > 1 else note for note, count in empty.most_common())
    missing = [f"No number of ours in {empty.total()} of {len(table)} cells: {reasons}."] if empty else []
    notes = [f"Note: {note}." for note in sorted({line.note for line in table if line.ours is not None} - {""})]
    warning = [] if table[0].scale == "paper" else [WARNING.format(table[0].scale)]
    return "\n".join([title(table), rule, texts[0], rule, *texts[1:], rule, *missing, *notes, *warning]) + "\n"


def _text(line: Line | None) -> str:
    if line is None:
        return ""
    paper = "" if line.paper is None else f" ({line.paper})"
    if line.ours is None:
        return "–" + paper
    return f"{line.ours:.2f} [{line.low:.2f}, {line.high:.2f}]{paper}"


def to_html(table: Sequence[Line]) -> str:
    """The page: needs nothing else."""
    columns, rows = rows_of(table)
    head = "".join(f"<th>{markup.escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr><th>{markup.escape(label)}</th>{''.join('<td></td>' if c is None else _td(c) for c in cells)}</tr>\n"
        for label, cells in rows
    )
    warning = "" if table[0].scale == "paper" else f"<p>{markup.escape(WARNING.format(table[0].scale))}</p>"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{markup.escape(title(table))}</title>\n'
        "<style>body{font:15px sans-serif;margin:2em}td,th{padding:.4em .8em;border-bottom:1px solid #ddd;text-align:left}"
        "small{color:#5b6874}</style></head>\n"
        f"<body><h1>{markup.escape(title(table))}</h1>{warning}\n<table><tr><th></th>{head}</tr>\n{body}</table>\n"
        "<p>Ours ± spread (paper). The interval is 95%: the sampling of the test set and, with several seeds, of training.</p></body></html>\n"
    )


def _td(line: Line) -> str:
    beside = markup.escape(line.verdict)
    if line.ours is not None:
        beside = f"{line.low:.2f} to {line.high:.2f}; {beside}"
    return f"<td>{markup.escape(cell_text(line))}<br><small>{beside}</small></td>"


def own_lines(name: str, cells: Sequence[tuple[str, str, Path, str, str]], scale: Scale, seed: int) -> list[Line]:
    """The lines of a table that no paper has, row by row: (row, column, metric file, metric in it, note) of each cell.

    Raises InputError for a cell that is given twice.
    """
    places = [cell[:2] for cell in cells]
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise InputError(f"{', '.join(twice)} is given twice", name, remedy="give each cell once")
    lines = []
    for row, column, path, key, note in cells:
        line = Line(name, row, row, column, "", "", None, scale=scale)
        line = filled(line, [read(row, column, seed, path, key)])
        lines.append(replace(line, verdict="no paper has it", note=note))
    rows, columns = (list(dict.fromkeys(getattr(line, key) for line in lines)) for key in ("row", "column"))
    return sorted(lines, key=lambda line: (rows.index(line.row), columns.index(line.column)))


def write(lines: Sequence[Line], out: Path, page: Path) -> None:
    """Write a table as CSV and as a page."""
    for path, text in ((out, to_csv(lines)), (page, to_html(lines))):
        with atomic(path) as part:
            part.write_text(text, encoding="utf-8")
