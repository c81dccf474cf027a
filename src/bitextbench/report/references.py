"""The papers' printed numbers: `references/<paper>/table<N>.csv`, one line per number.

| column | meaning |
|---|---|
| paper, table | the paper's short name and the table's number in it; "figure3" or "section5" for a number printed there |
| row, row_label | the row's name in this package, and its printed label |
| column | the column's name; "/" between the levels of a heading ("10M/test2017") |
| value, unit | the number as printed, and its unit |
| condition | data, direction and setting of the number, in words |
| note | doubts about the number; may be empty, and the column may be absent |
"""

import re
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path

from bitextbench.base.errors import InputError, near
from bitextbench.base.files import existing
from bitextbench.config import FIGURE4, SECTION3
from bitextbench.formats import records


@dataclass(frozen=True)
class PaperCell:
    """A cell of a paper's table."""

    paper: str
    table: str
    row: str
    row_label: str
    column: str

    @property
    def place(self) -> str:
        """The table's name among all papers and the path of its file without the suffix: "kim2019/table2"."""
        return f"{self.paper}/{'table' if self.table.isdigit() else ''}{self.table}"


@dataclass(frozen=True)
class Printed(PaperCell):
    """One number of a paper's table."""

    value: Decimal | None  # with its digits as printed; None where the paper has no such cell
    unit: str
    condition: str
    note: str = ""


PAPERS = {
    "kim2019": "Kim et al. 2019",
    "artetxe2019": "Artetxe and Schwenk 2019",
    "zhang2016": "Zhang et al. 2016",
    "guo2018": "Guo et al. 2018",
    "yang2019": "Yang et al. 2019",
}
UNPRINTED = {FIGURE4, SECTION3}  # a figure and a sentence without printed numbers, of which claims speak
FILLED = [field.name for field in fields(Printed) if field.name not in ("value", "note")]


def half_step(printed: Decimal) -> Decimal:
    """Half a unit of the last digit: how far a number may lie from the printed one that it rounds to."""
    return Decimal(5).scaleb(int(printed.as_tuple().exponent) - 1)


def title(place: str) -> str:
    """The title of a table by its place: "Kim et al. 2019, Table 2" for kim2019/table2; any other name is its own
    title.
    """
    paper, _, table = place.partition("/")
    if paper not in PAPERS:
        return place
    return f"{PAPERS[paper]}, {re.sub(r'(?<=[a-z])(?=[0-9])', ' ', table).capitalize()}"


def load_all(folder: str | Path) -> dict[str, list[Printed]]:
    """The cells of every `<paper>/<table>.csv` in a folder by the table's place, sorted by place.

    Raises InputError as `load` and `paper_of` do, for a file whose name is not the place of its cells, and if there is
    no file.
    """
    tables = {}
    for path in sorted(existing(folder).glob("*/*.csv")):
        cells = load(path)
        place = f"{paper_of(path)}/{path.stem}"
        if cells[0].place != place:
            raise InputError(
                f"holds the cells of {cells[0].place}", path, remedy="name the file after its paper and table"
            )
        tables[place] = cells
    if not tables:
        raise InputError("no <paper>/<table>.csv in this folder", folder, remedy="name the folder of references")
    return tables


def paper_of(path: Path) -> str:
    """The paper in whose folder a file lies. Raises InputError for one that PAPERS lacks."""
    name = path.parent.name
    if name not in PAPERS:
        remedy = f"rename the folder ({near(name, PAPERS)}), or write its title into PAPERS of report/references.py"
        raise InputError(f"there is no paper {name}", path, remedy=remedy)
    return name


def load(path: str | Path) -> list[Printed]:
    """The cells of one table, in the order of the file (the paper's, row by row).

    Raises InputError for wrong columns, an empty field, and a value that is not a finite number. It also raises it for
    a cell that stands twice, two labels for a row, two tables in one file, or no cell at all.
    """
    cells: dict[tuple[str, str], Printed] = {}
    labels: dict[str, str] = {}
    for line, cell in enumerate(records.read(path, Printed, "a table of references", absent=["note"]), start=2):
        if not all((*(getattr(cell, name) for name in FILLED), cell.value is not None)):
            raise InputError("a field is empty", path, line=line, remedy=f"fill {', '.join(FILLED)}")
        if (cell.row, cell.column) in cells:
            raise InputError(f"{cell.row}, {cell.column} appears twice", path, line=line, remedy="remove one")
        if labels.setdefault(cell.row, cell.row_label) != cell.row_label:
            raise InputError(f"a second label for row {cell.row}", path, line=line, remedy="use one label a row")
        cells[cell.row, cell.column] = cell
    if len({(cell.paper, cell.table) for cell in cells.values()}) != 1:
        raise InputError("must hold the cells of exactly one table", path, remedy="one file for each table")
    return list(cells.values())
