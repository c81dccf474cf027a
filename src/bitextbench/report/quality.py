"""The table and the pictures of the quality of scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bitextbench.base.files import read_json
from bitextbench.base.outputs import atomic
from bitextbench.evaluation.quality import AUC
from bitextbench.report.cells import Cell, Measurement, Scale, of_specs
from bitextbench.report.records import to_csv
from bitextbench.report.table import own, write


@dataclass(frozen=True)
class Point:
    """A point of a ROC curve: the percentages of bad and of good pairs whose score is at least some threshold."""

    corpus: str
    method: str
    bad: int
    good: float


def table(specs: Sequence[Mapping[str, Any]], scale: Scale, out: Path, roc: Path, picture: Path) -> list[Measurement]:
    """Write the table as CSV (rows are corpora and metrics, columns scorers), the points of the ROC curves, and a
    picture.

    `specs`: for each file that `evaluate quality` wrote the corpus (`row`), scorer (`column`), file and seed, as in
    `cells.of_specs`; a ROC curve is of the first seed. Returns the measurements of each seed. Raises InputError for
    a corpus, scorer and seed that is given twice.
    """
    measurements, notes = of_specs(
        [
            {
                **spec,
                "row": f"{spec['row']}: {metric}",
                "files": [f"{file}#{metric}"],
                "note": f"{value['good']:,} good pairs, {value['bad']:,} bad",
            }
            for spec in specs
            for file in spec["files"]
            for metric, value in read_json(file).items()
            if isinstance(value, dict)
        ]
    )
    cells = own("quality", measurements, scale, notes)
    draw(cells, picture)
    write(cells, out)
    curves: dict[tuple[str, str], Mapping[str, Any]] = {}
    for spec in specs:
        curves.setdefault((spec["row"], spec["column"]), spec)  # of the first seed
    points = [
        Point(*place, bad, good)
        for place, spec in curves.items()
        for file in spec["files"]
        for bad, good in enumerate(read_json(file)["roc"])
    ]
    with atomic(roc) as part:
        part.write_text(to_csv(points), encoding="utf-8")
    return measurements


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Draw ROC-AUC by scorer and kind of noise, one panel per corpus: blue above 50, white at 50 (chance), red below."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    corpora: dict[str, list[Cell]] = {}
    for cell in cells:
        corpus, _, metric = cell.row.partition(": ")
        if metric.startswith(AUC):
            corpora.setdefault(corpus, []).append(cell)
    heights = [len({cell.row for cell in held}) for held in corpora.values()]
    figure, panels = pyplot.subplots(
        len(corpora),
        1,
        figsize=(2 + 1.1 * len({cell.column for cell in cells}), 1.2 + 0.45 * sum(heights) + 0.8 * len(heights)),
        gridspec_kw={"height_ratios": heights},
        layout="constrained",
        squeeze=False,
    )
    for axes, (corpus, held) in zip(panels[:, 0], corpora.items(), strict=True):
        rows, names = (list(dict.fromkeys(getattr(cell, key) for cell in held)) for key in ("row", "column"))
        matrix = np.full((len(rows), len(names)), np.nan)
        for cell in held:
            matrix[rows.index(cell.row), names.index(cell.column)] = cell.ours
        axes.imshow(matrix, cmap="RdBu", vmin=0, vmax=100, aspect="auto")
        for (y, x), value in np.ndenumerate(matrix):
            if not np.isnan(value):
                axes.text(
                    x, y, f"{value:.0f}", ha="center", va="center", color="white" if abs(value - 50) > 30 else "black"
                )
        kinds = [row.partition(f"{AUC}, ")[2] or "all bad pairs" for row in rows]
        axes.set(title=f"{corpus}: ROC-AUC by kind of noise", xticks=range(len(names)), yticks=range(len(rows)))
        axes.set_xticklabels(names, rotation=20, ha="right")
        axes.set_yticklabels(kinds)
    with atomic(path) as part:
        figure.savefig(part, dpi=120, format="png", metadata={"Software": None})
    pyplot.close(figure)
