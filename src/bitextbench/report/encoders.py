"""The table of encoders: cost of training and retrieval of held-out translations; one line per encoder and test set.

Each source retrieves its nearest target in the encoder's metric, and each target its nearest source. The error rate
counts every answer in another row than the query's as wrong (kim2019 section 4.1); P@1 accepts a duplicate of the right
sentence (yang2019 footnote 4). Both are in percent. Several seeds give a mean, a spread and an interval, as in `cells`.
"""

import csv
import io
import statistics
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing, read_json
from bitextbench.base.outputs import atomic
from bitextbench.evaluation.encoders import COSTS
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.report.cells import summarise

METRICS = {
    "error_forward": ("error", "forward"),
    "error_backward": ("error", "backward"),
    "p1_forward": ("p1", "forward"),
    "p1_backward": ("p1", "backward"),
}
PARTS = ("", "_spread", "_low", "_high")
COLUMNS = ["encoder", "test", "candidates", "seeds", *COSTS, *(name + part for name in METRICS for part in PARTS)]
SHOWN = {
    "p1_forward": "P@1 of targets",
    "p1_backward": "P@1 of sources",
}  # the error rate is 100 minus it, but for copies


def build(measured: Sequence[Path], out: Path) -> None:
    """Write the table as CSV; encoders and tests are in the order of their first occurrence.

    Raises InputError for no measurements, two of the same encoder, test and seed, and tests of different sizes.
    """
    table = lines([read(path) for path in measured])
    with atomic(out) as part:
        part.write_text(to_csv(table), encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    """Read a file of `evaluation.encoders.measure` as one flat dict; each of METRICS becomes (value, interval)."""
    held = read_json(path)
    kinds = {"encoder": str, "test": str, "candidates": int, "seed": int, **dict.fromkeys(COSTS, (int, float))}
    flat = checked_fields(held, kinds, path)
    for name, (group, direction) in METRICS.items():
        metric = held.get(group, {}).get(direction)
        flat[name] = checked_fields(metric, {"value": (int, float)}, path)["value"], interval_of(metric, path)
    return flat


def lines(runs: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """The lines of the table: a dict from COLUMNS to text each. Raises InputError as `build` does."""
    if not runs:
        raise InputError("no measurements", remedy="give a file for each encoder and test set")
    table = []
    for (encoder, test), group in by_place(runs):
        first = group[0]
        if len({run["seed"] for run in group}) < len(group):
            raise InputError(f"{encoder} on {test}: a seed is given twice", remedy="give each once")
        if sizes := {run["candidates"] for run in runs if run["test"] == test} - {first["candidates"]}:
            raise InputError(
                f"{test} has {first['candidates']:,} candidates and {sizes.pop():,}", remedy="encode again"
            )
        line = {"encoder": encoder, "test": test, "candidates": str(first["candidates"])}
        line["seeds"] = " ".join(str(run["seed"]) for run in group)
        line |= {name: f"{statistics.fmean(run[name] for run in group):.0f}" for name in COSTS}
        for name in METRICS:
            values, intervals = zip(*(run[name] for run in group), strict=True)
            mean, spread, low, high = summarise(values, intervals)
            numbers = (mean, spread, max(low, 0.0), min(high, 100.0))
            line |= {name + part: "" if x is None else f"{x:.2f}" for part, x in zip(PARTS, numbers, strict=True)}
        table.append(line)
    return table


def by_place(runs: Sequence[dict[str, Any]]) -> list[tuple[tuple[str, str], list[dict[str, Any]]]]:
    """The runs of each encoder and test, sorted by seed."""
    order = {name: place for place, name in enumerate(dict.fromkeys(run["encoder"] for run in runs))}
    tests = {name: place for place, name in enumerate(dict.fromkeys(run["test"] for run in runs))}
    ordered = sorted(runs, key=lambda run: (tests[run["test"]], order[run["encoder"]], run["seed"]))
    return [(place, list(group)) for place, group in groupby(ordered, key=lambda run: (run["encoder"], run["test"]))]


def to_csv(table: Sequence[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return out.getvalue()


def read_csv(path: Path) -> list[dict[str, str]]:
    """The lines of a table that `build` wrote. Raises InputError for another file."""
    with open(existing(path), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != COLUMNS:
            raise InputError("not a table of encoders", path, remedy="make it again")
        return list(reader)


def cells(table: Sequence[dict[str, str]]) -> list[list[str]]:
    """The table as a person reads it: a head, then one row per line of the table, with mean ± spread."""
    head = ["", "test", *SHOWN.values(), "candidates", "seeds", "CPU s", "updates", "parameters", "dimension"]
    rows = []
    for line in table:
        values = [line[name] + (f" ± {line[f'{name}_spread']}" if line[f"{name}_spread"] else "") for name in SHOWN]
        counts = [f"{int(line[name]):,}" for name in ("cpu_seconds", "updates", "parameters", "dimension")]
        rows.append([line["encoder"], line["test"], *values, line["candidates"], line["seeds"], *counts])
    return [head, *rows]


def render(table: Sequence[dict[str, str]]) -> str:
    """The table for a terminal."""
    body = cells(table)
    widths = [max(map(len, column)) for column in zip(*body, strict=True)]
    texts = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in body]
    return "\n".join([texts[0], "-" * max(map(len, texts)), *texts[1:]]) + "\n"
