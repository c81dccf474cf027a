"""What the papers printed: `references/<paper>/table<N>.csv`, one line a number.

| column | meaning |
|---|---|
| paper, table | the paper's short name and the table's number in it |
| row, row_label | the row's name here, and its label as printed |
| column | the column's name; "/" between the levels of a heading ("10M/test2017") |
| value, unit | the number as printed, and its unit |
| condition | data, direction and setting of the number, in words |
"""

import csv
import math
from dataclasses import dataclass, fields
from pathlib import Path

from bitextbench.errors import InputError
from bitextbench.files import read_lines


@dataclass(frozen=True)
class Cell:
    """One number of a paper's table."""

    paper: str
    table: str
    row: str
    row_label: str
    column: str
    value: float | None  # None where the paper has no such cell
    unit: str
    condition: str


COLUMNS = [field.name for field in fields(Cell)]


def load(path: str | Path) -> list[Cell]:
    """The cells of one table, in the order of the file (the paper's, row by row).

    Raises InputError for wrong columns, an empty field, a value that is not a finite number, a cell that stands
    twice, two labels for a row, two tables in one file, or no cell at all.
    """
    reader = csv.reader(read_lines(path), strict=True)
    cells: dict[tuple[str, str], Cell] = {}
    labels: dict[str, str] = {}
    try:
        if (header := next(reader, [])) != COLUMNS:
            raise InputError(
                f"columns are {','.join(header)}", path, line=1, remedy=f"they must be {','.join(COLUMNS)}"
            )
        for record in reader:
            cell = _cell(record, path, reader.line_num)
            if (cell.row, cell.column) in cells:
                raise InputError(
                    f"{cell.row}, {cell.column} stands twice", path, line=reader.line_num, remedy="remove one"
                )
            if labels.setdefault(cell.row, cell.row_label) != cell.row_label:
                raise InputError(
                    f"a second label for row {cell.row}", path, line=reader.line_num, remedy="use one label a row"
                )
            cells[cell.row, cell.column] = cell
    except csv.Error as error:
        raise InputError(
            f"not CSV ({error})", path, line=reader.line_num, remedy="quote fields that hold a comma"
        ) from None
    if len({(cell.paper, cell.table) for cell in cells.values()}) != 1:
        raise InputError("must hold the cells of exactly one table", path, remedy="one file for each table")
    return list(cells.values())


def _cell(record: list[str], path: str | Path, line: int) -> Cell:
    if len(record) != len(COLUMNS) or not all(record):
        raise InputError("a field is missing or empty", path, line=line, remedy=f"fill {','.join(COLUMNS)}")
    named = dict(zip(COLUMNS, record, strict=True))
    try:
        value = float(named.pop("value"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError("value is not a number", path, line=line, remedy="write the number that the paper printed")
    return Cell(**named, value=value)  # type: ignore[arg-type]
