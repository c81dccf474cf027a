"""Figure 4 of yang2019: F1 of mining and mean cosines of pairs, by the additive margin of training.

The paper draws curves without numbers (`references.UNPRINTED`); its statements about them are claims.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from bitextbench.config import FIGURE4
from bitextbench.report.cells import Cell, Measurement, Scale, read_measurement
from bitextbench.report.table import unprinted

CURVES = {"f1": "F1", "positive": "Mean cosine, positive", "negative": "Mean cosine, negative"}


def measurements(points: Iterable[tuple[float, int, Path, Path]]) -> list[Measurement]:
    """The figure's numbers in percent: rows are curves, columns margins.

    `points`: for each margin and seed the files that `measure-mining` and `measure-separation` wrote.
    """
    measured = []
    for margin, seed, mining, separation in sorted(points):
        measured.append(read_measurement("f1", str(margin), seed, mining, "cosine.backward.f1"))
        measured += [read_measurement(row, str(margin), seed, separation, row) for row in [*CURVES][1:]]
    return measured


def table(measured: Sequence[Measurement], scale: Scale) -> list[Cell]:
    """The figure as a table."""
    cells = unprinted(FIGURE4, measured, scale, {})
    return [replace(cell, row_label=CURVES[cell.row], verdict="not printed") for cell in cells]
