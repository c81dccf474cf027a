"""A cell of a table: the paper's number and ours beside it; in long form, one line of CSV a cell.

Several measurements of a cell are seeds, each of the whole chain: encoder, similarity, selection and translation model. The
interval of a cell is for the mean over k seeds, 95%, and has two parts:

- the chain: h_seed = t(0.975, k - 1) * s / sqrt(k), s the standard deviation over seeds (ddof 1); 0 for one seed;
- the test set: the distance from a seed's value to the end of its bootstrap interval, averaged over seeds. The seeds
  are measured on the same sentences, so that their sampling errors go together and averaging does not make them smaller.

The parts are independent and add in quadrature, each side for itself: low = mean - sqrt(h_seed^2 + h_test,low^2), cut to the
range of 0 to 100.
"""

import csv
import io
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing, read_json
from bitextbench.base.items import Items, unpacked
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.report.records import finite

NOT_RUN = "not in this run"
WARNING = "Numbers of the {} run compare methods, not papers: its data, models and budgets are not the paper's."

Scale = Literal["tiny", "small", "paper"]


@dataclass(frozen=True)
class Cell:
    """One cell, as a line of the CSV; numbers are rounded as written there, None is an empty field.

    The paper's number has the digits that it printed. `budget` to `precision` are those of a filtering table alone.
    """

    paper_table: str
    row: str
    row_label: str
    column: str
    budget: str = ""
    test: str = ""
    paper: Decimal | None = None
    ours: float | None = None
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    seeds: str = ""
    delta: float | None = None
    verdict: str = "not run"
    budget_words: int | None = None
    words_selected: int | None = None
    pairs_selected: int | None = None
    precision: float | None = None
    note: str = ""
    signature: str = ""
    scale: str = ""


COLUMNS = [field.name for field in fields(Cell)]
INTS = {"budget_words", "words_selected", "pairs_selected"}
DECIMALS = {"ours": 2, "spread": 2, "low": 2, "high": 2, "delta": 2, "precision": 4}


@dataclass(frozen=True)
class Measurement:
    """One metric of one seed, for one cell; `n` is what was resampled for the interval."""

    row: str
    column: str
    seed: int
    value: float
    low: float
    high: float
    n: int
    signature: str
    path: Path
    items: tuple[Items, ...] = ()  # of each test set; none where the metric is no statistic of sums


def read_measurement(row: str, column: str, seed: int, path: Path, key: str = "") -> Measurement:
    """A metric file, or one of the metrics in it (`key`, levels joined by dots); `seed` is that of the chain.

    Raises InputError for a missing key, NaN or a wrong interval.
    """
    metric = read_json(path)
    for name in filter(None, key.split(".")):
        if not isinstance(metric, dict) or name not in metric:
            raise InputError(f"no metric {key}", path, remedy="make the file again")
        metric = metric[name]
    kinds = {"value": (int, float), "interval": list, "n": int, "signature": str}
    known = checked_fields(metric, kinds, path)
    low, high = interval_of(known, path)
    items = (unpacked(metric["items"], path),) if "items" in metric else ()
    return Measurement(row, column, seed, known["value"], low, high, known["n"], known["signature"], path, items)


def mean(parts: Sequence[Measurement]) -> Measurement:
    """The mean of measurements of one cell on independent test sets: halves of intervals add in quadrature, side by side."""
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
    """The measurements and the notes of cells, as commands are given them.

    A spec has `row`, `column`, `files` (each a metric file, or `file#key` for one of its metrics; several are test sets, whose mean
    the cell takes; none: the note says why), `seed` (1), `note` (""), and `label` where the row is our own.
    Raises InputError for an unknown or missing key, and as `read_measurement`.
    """
    measurements, notes = [], {}
    for spec in specs:
        if wrong := {"row", "column"} - spec.keys() | spec.keys() - {"row", "column", "files", "seed", "note", "label"}:
            raise InputError(
                f"unknown or missing: {', '.join(sorted(wrong))}", "--cell", remedy="give row, column, files"
            )
        place = spec["row"], spec["column"]
        keyed = [file.partition("#")[::2] for file in spec.get("files", [])]
        if keyed:
            measurements.append(
                mean([read_measurement(*place, spec.get("seed", 1), Path(path), key) for path, key in keyed])
            )
        if note := spec.get("note"):
            notes[place] = note
    return measurements, notes


def summarise(
    values: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float | None, float, float]:
    """Mean over seeds, standard deviation (None for one seed), low and high end of the mean's interval, as above."""
    from scipy.special import stdtrit

    k = len(values)
    average = statistics.fmean(values)
    spread = statistics.stdev(values) if k > 1 else None
    seed = 0.0 if spread is None else float(stdtrit(k - 1, 0.975)) * spread / math.sqrt(k)
    below = statistics.fmean(max(value - low, 0.0) for value, (low, _) in zip(values, intervals, strict=True))
    above = statistics.fmean(max(high - value, 0.0) for value, (_, high) in zip(values, intervals, strict=True))
    return average, spread, average - math.hypot(seed, below), average + math.hypot(seed, above)


def filled(cell: Cell, seeds: Sequence[Measurement]) -> Cell:
    """The cell with our numbers, percentages, from measurements of different seeds."""
    average, spread, low, high = summarise([one.value for one in seeds], [(one.low, one.high) for one in seeds])
    average, low, high = round(average, 2), round(max(low, 0.0), 2), round(min(high, 100.0), 2)
    inside = "not in the paper" if cell.paper is None else "reproduced" if low <= cell.paper <= high else "differs"
    return replace(
        cell,
        ours=average,
        spread=None if spread is None else round(spread, 2),
        low=low,
        high=high,
        seeds=" ".join(str(one.seed) for one in seeds),
        delta=None if cell.paper is None else round(average - float(cell.paper), 2) + 0.0,
        verdict=inside if cell.scale == "paper" or cell.paper is None else "scale not comparable",
        note="one seed: the interval is the test set's alone" if len(seeds) == 1 else "",
        signature=seeds[0].signature,
    )


def to_csv(table: Sequence[Cell]) -> str:
    """The CSV text: the fields of `Cell` as columns, an empty field for None."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for cell in table:
        writer.writerow(_written(name, value) for name, value in asdict(cell).items())
    return out.getvalue()


def _written(name: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.{DECIMALS[name]}f}" if name in DECIMALS else str(value)


def read_csv(path: str | Path) -> list[Cell]:
    """The cells of a table that `to_csv` wrote. Raises InputError for another file."""
    with open(existing(path), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        try:
            if reader.fieldnames != COLUMNS:
                raise InputError("not a table of this program", path, remedy="make the table again")
            return [Cell(**{name: _parsed(name, text) for name, text in record.items()}) for record in reader]
        except (ValueError, ArithmeticError, TypeError) as error:
            raise InputError(
                f"not a table ({error})", path, line=reader.line_num, remedy="make the table again"
            ) from None


def _parsed(name: str, text: str) -> Any:
    if name == "paper" or name in DECIMALS:
        number = finite(text) if text else None
        return Decimal(text) if name == "paper" and text else number
    if name in INTS:
        return int(text) if text else None
    return text


def short(label: str) -> str:
    """A row's label without the citation at its end."""
    return re.sub(r" \([^()]*, \d{4}\)$", "", label)
