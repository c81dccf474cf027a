"""The table of the quality of scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bitextbench.base.json_yaml import read_json
from bitextbench.formats import records
from bitextbench.report.cells import Measurement, Scale, of_specs, write
from bitextbench.report.table import unprinted


@dataclass(frozen=True)
class Point:
    """A point of a ROC curve: the percentages of bad and of good pairs whose score is at least some threshold."""

    corpus: str
    method: str
    bad: int
    good: float


def table(specs: Sequence[Mapping[str, Any]], scale: Scale, out: Path, roc: Path) -> list[Measurement]:
    """Write the table as CSV (rows are corpora and metrics, columns scorers), and the points of the ROC
    curves.

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
    cells = unprinted("quality", measurements, scale, notes)
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
    records.write(roc, Point, points)
    return measurements
