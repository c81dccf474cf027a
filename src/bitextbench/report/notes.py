"""The notes of a table, each said once."""

from collections.abc import Sequence
from typing import NamedTuple

from bitextbench.report.cells import Cell
from bitextbench.report.table import names


class Notes(NamedTuple):
    """The notes of a table, each at the widest place of which all numbers have it: the table, a row, a column, a cell."""

    of_table: list[str]
    of_rows: dict[str, list[str]]
    of_columns: dict[str, list[str]]

    def of_cell(self, cell: Cell) -> list[str]:
        """What is left to say in the cell itself."""
        said = [self.of_table, self.of_rows.get(cell.row_label, []), self.of_columns.get(cell.column, [])]
        return [note for note in cell.notes if not any(note in place for place in said)]


def notes(cells: Sequence[Cell]) -> Notes:
    """The notes of cells. Cells without a number count only where a row or a column has no other."""
    made = Notes(_shared(numbered(cells)), {}, {})
    for found, field in ((made.of_rows, "row_label"), (made.of_columns, "column")):
        for name in names(cells, field):
            held = [cell for cell in cells if getattr(cell, field) == name]
            said = numbered(held) or held
            found[name] = [note for note in _shared(said) if note in made.of_cell(said[0])] if len(said) > 1 else []
    return made


def numbered(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that have a number of ours."""
    return [cell for cell in cells if cell.ours is not None]


def _shared(cells: Sequence[Cell]) -> list[str]:
    """The notes that all cells have, in the order of the first."""
    return [note for note in cells[0].notes if all(note in cell.notes for cell in cells)] if cells else []
