"""Cells of tables: the paper's number and ours. A CSV file has one line per cell (long form).

Each measurement of a cell has its own seed for the whole chain: encoder, similarity, selection, translation model. A
cell shows the mean over k seeds with a 95% interval, which has two parts:

- seeds: h_seed = t(0.975, k - 1) * s / sqrt(k), with s the standard deviation over seeds (ddof 1); 0 for one seed;
- test set: the distance from a seed's value to the end of its bootstrap interval, averaged over seeds. All seeds are
  measured on the same sentences: their sampling errors are correlated, and averaging does not reduce them.

The parts are independent and add in quadrature, on each side: low = mean - sqrt(h_seed^2 + h_test,low^2), cut to the
range of 0 to 100 (a number above 100 is no percentage).

A paper's number is that of one training, not of the mean over all. So it is compared with the interval for one further
training on the same test set. That is wider by t * s in quadrature: h_seed becomes t * s * sqrt(1 + 1 / k).
"""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from bitextbench.base.errors import InputError
from bitextbench.base.items import GroupedItems, unpacked
from bitextbench.base.json_yaml import read_json
from bitextbench.formats import records
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.formats.records import Hundredths
from bitextbench.report.references import half_step

NOT_RUN = "not in this run"
WARNING = "Numbers at {} scale compare methods, not papers: data, models and budgets are not the paper's."

ONE_SEED = "one seed: the interval is the test set's alone"
SPEC = {"row", "column", "files", "seed", "trained", "note", "label"}

Scale = Literal["tiny", "small", "paper"]


@dataclass(frozen=True)
class Cell:
    """One cell: a line of the CSV. Numbers are rounded as in the CSV; None is an empty field.

    `paper` has the printed digits. Only filtering tables have the fields from `budget` to `words_selected`; `pairs_selected`
    and `precision`, the share of good pairs, are of the text that a translation model learns from.
    """

    paper_table: str
    row: str
    row_label: str
    column: str
    budget: str = ""
    test: str = ""
    paper: Decimal | None = None
    ours: Hundredths | None = None
    spread: Hundredths | None = None
    low: Hundredths | None = None
    high: Hundredths | None = None
    seeds: str = ""
    delta: Hundredths | None = None
    verdict: str = "not run"
    budget_words: int | None = None
    words_selected: int | None = None
    pairs_selected: int | None = None
    precision: Annotated[float, ".4f"] | None = None
    note: str = ""
    signature: str = ""
    scale: str = ""

    @property
    def notes(self) -> list[str]:
        """The single notes of `note`."""
        return [note for note in self.note.split("; ") if note]


@dataclass(frozen=True)
class Measurement:
    """One metric of one seed, for one cell; `n`: the number of items that the bootstrap resampled.

    `trained`: whether the run trained a model for it, so that another seed would give another number.
    """

    row: str
    column: str
    seed: int
    value: float
    low: float
    high: float
    n: int
    signature: str
    path: Path
    items: tuple[GroupedItems, ...] = ()  # of each test set; none where the metric is no statistic of sums
    trained: bool = True

    @property
    def interval(self) -> tuple[float, float]:
        return self.low, self.high


def read_measurement(row: str, column: str, seed: int, path: Path, key: str = "") -> Measurement:
    """Read a metric file, or the metric at `key` (levels joined by dots); `seed` is the seed of the whole chain.

    Raises InputError for a missing key (showing those that there are), NaN or a wrong interval.
    """
    metric = read_json(path)
    for name in filter(None, key.split(".")):
        if not isinstance(metric, dict) or name not in metric:
            known = ", ".join(metric) if isinstance(metric, dict) else "a number"
            raise InputError(f"no metric {key}", path, remedy=f"name what it has there: {known}")
        metric = metric[name]
    return measurement(row, column, seed, metric, path)


def measurement(row: str, column: str, seed: int, metric: Any, path: Path) -> Measurement:
    """The measurement that a metric of `path` is (`formats.metrics`). Raises InputError for NaN or a wrong interval."""
    kinds = {"value": (int, float), "interval": list, "n": int, "signature": str}
    fields = checked_fields(metric, kinds, path)
    low, high = interval_of(fields, path)
    items = (unpacked(metric["items"], path),) if "items" in metric else ()
    return Measurement(row, column, seed, fields["value"], low, high, fields["n"], fields["signature"], path, items)


def mean(parts: Sequence[Measurement]) -> Measurement:
    """The mean over independent test sets of one cell; the lower halves of the intervals add in quadrature, so do the
    upper.
    """
    n = len(parts)
    if n == 1:
        return parts[0]
    value = math.fsum(part.value for part in parts) / n
    below = math.hypot(*(part.value - part.low for part in parts)) / n
    above = math.hypot(*(part.high - part.value for part in parts)) / n
    signature = f"mean of {n}|{parts[0].signature}"
    items = tuple(chain(*(part.items for part in parts))) if all(part.items for part in parts) else ()
    return replace(parts[0], value=value, low=value - below, high=value + above, signature=signature, items=items)


def of_specs(specs: Sequence[Mapping[str, Any]]) -> tuple[list[Measurement], dict[tuple[str, str], str]]:
    """The measurements and notes of the cells that a command is given as specs.

    A spec has `row`, `column`, `files`, and optionally `seed` (1), `trained` (true), `note` ("") and `label` (of a row
    of our own). Each of `files` is a metric file, or `file#key` for one of its metrics. Several files are test sets, of
    which the cell shows the mean. Without files, `note` is the reason. Raises InputError for an unknown or missing key,
    and as `read_measurement` does.
    """
    measurements, notes = [], {}
    for spec in specs:
        if wrong := {"row", "column"} - spec.keys() | spec.keys() - SPEC:
            raise InputError(
                f"unknown or missing: {', '.join(sorted(wrong))}", "--cell", remedy="give row, column, files"
            )
        place = spec["row"], spec["column"]
        keyed = [file.partition("#")[::2] for file in spec.get("files", [])]
        if keyed:
            parts = [read_measurement(*place, spec.get("seed", 1), Path(path), key) for path, key in keyed]
            measurements.append(replace(mean(parts), trained=spec.get("trained", True)))
        if note := spec.get("note"):
            notes[place] = note
    return measurements, notes


def summarise(
    values: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float | None, float, float]:
    """Mean over seeds, standard deviation (None for one seed), and both ends of the interval that the module describes."""
    from scipy.special import stdtrit

    k = len(values)
    average = statistics.fmean(values)
    spread = statistics.stdev(values) if k > 1 else None
    seed = 0.0 if spread is None else float(stdtrit(k - 1, 0.975)) * spread / math.sqrt(k)
    below = statistics.fmean(max(value - low, 0.0) for value, (low, _) in zip(values, intervals, strict=True))
    above = statistics.fmean(max(high - value, 0.0) for value, (_, high) in zip(values, intervals, strict=True))
    return average, spread, average - math.hypot(seed, below), average + math.hypot(seed, above)


def filled(cell: Cell, seeds: Sequence[Measurement]) -> Cell:
    """The cell with our numbers in percent, from measurements of different seeds."""
    average, spread, low, high = summarise([one.value for one in seeds], [one.interval for one in seeds])
    most = 100.0 if average <= 100 else math.inf
    average, low, high = round(average, 2), round(max(low, 0.0), 2), round(min(high, most), 2)
    made = replace(
        cell,
        ours=average,
        spread=None if spread is None else round(spread, 2),
        low=low,
        high=high,
        seeds=" ".join(str(one.seed) for one in seeds),
        delta=None if cell.paper is None else round(average - float(cell.paper), 2) + 0.0,
        note=ONE_SEED if len(seeds) == 1 and seeds[0].trained else "",
        signature=seeds[0].signature,
    )
    if cell.paper is None:
        return replace(made, verdict="not in the paper")
    return replace(made, verdict=repeated(made, cell.paper) if cell.scale == "paper" else "scale not comparable")


def repeated(cell: Cell, paper: Decimal) -> Literal["reproduced", "differs", "undecided"]:
    """Whether one further training could give the paper's number; undecided outside the interval of one seed alone."""
    from scipy.special import stdtrit

    assert cell.ours is not None
    ours, k = cell.ours, len(cell.seeds.split())
    one = float(stdtrit(k - 1, 0.975)) * cell.spread if cell.spread and k > 1 else 0.0
    below, above = (0.0 if end is None else math.hypot(ours - end, one) for end in (cell.low, cell.high))
    if within(paper, round(ours - below, 4), round(ours + above, 4)):
        return "reproduced"
    return "undecided" if ONE_SEED in cell.notes else "differs"


def within(paper: Decimal, low: float, high: float) -> bool:
    """Whether an interval has a number that rounds to the paper's, to the digits that are printed."""
    half = half_step(paper)
    return Decimal(str(low)) - half <= paper <= Decimal(str(high)) + half


def write(table: Sequence[Cell], out: Path) -> None:
    """Write a table as CSV, atomically."""
    records.write(out, Cell, table)


def read(path: str | Path) -> list[Cell]:
    """The cells of a table that `write` wrote. Raises InputError for another file."""
    remedy = "name a table such as results/small/table2.csv; if this is one, make it again"
    return records.read(path, Cell, "a table", remedy=remedy)


def short(label: str) -> str:
    """A row's label without the citation at its end."""
    return re.sub(r" \([^()]*, \d{4}\)$", "", label)
