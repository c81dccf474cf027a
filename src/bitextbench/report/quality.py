"""The table and the picture of the quality of scores."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bitextbench.base.files import atomic, read_json
from bitextbench.evaluation.quality import AUC
from bitextbench.report.kim2019_table2 import Line, Scale
from bitextbench.report.table import own_lines, write


def table(
    cells: Sequence[tuple[str, str, Path]], scale: Scale, seed: int, out: Path, page: Path, picture: Path
) -> None:
    """The table of a run: corpora and metrics are rows, scorers columns. CSV, page, and a picture of noise by kind.

    `cells`: corpus, scorer, and the file of what `evaluate` returned. Raises InputError for one that is given twice.
    """
    named = [
        (f"{corpus}: {metric}", scorer, path, metric, f"{value['good']:,} good pairs, {value['bad']:,} bad")
        for corpus, scorer, path in cells
        for metric, value in read_json(path).items()
        if isinstance(value, dict)
    ]
    lines = own_lines("quality", named, scale, seed)
    draw(lines, picture)
    write(lines, out, page)


def draw(lines: Sequence[Line], path: Path) -> None:
    """ROC-AUC of each method against each kind of noise, a panel for each corpus: 50 is white, what is not seen red."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    corpora: dict[str, list[Line]] = {}
    for line in lines:
        corpus, _, metric = line.row.partition(": ")
        if metric.startswith(AUC):
            corpora.setdefault(corpus, []).append(line)
    heights = [len({line.row for line in held}) for held in corpora.values()]
    figure, panels = pyplot.subplots(
        len(corpora), 1, figsize=(2 + 1.1 * len({line.column for line in lines}), 1.2 + 0.45 * sum(heights) + 0.8 * len(heights)),
        gridspec_kw={"height_ratios": heights}, layout="constrained", squeeze=False,
    )  # fmt: skip
    for axes, (corpus, held) in zip(panels[:, 0], corpora.items(), strict=True):
        rows, names = (list(dict.fromkeys(getattr(line, key) for line in held)) for key in ("row", "column"))
        matrix = np.full((len(rows), len(names)), np.nan)
        for line in held:
            matrix[rows.index(line.row), names.index(line.column)] = line.ours
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
