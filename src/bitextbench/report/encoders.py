"""The table of encoders: cost of training and retrieval of held-out translations; one line per encoder and test set.

Each source retrieves its nearest target in the encoder's metric, and each target its nearest source. The error rate
counts every answer in another row than the query's as wrong (kim2019 section 4.1); P@1 accepts a duplicate of the right
sentence (yang2019 footnote 4). Both are in percent. Several seeds give a mean, a spread and an interval, as in `cells`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json
from bitextbench.evaluation.encoders import COSTS
from bitextbench.formats import records
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.formats.records import Hundredths
from bitextbench.report.cells import summarise
from bitextbench.report.table import aligned

if TYPE_CHECKING:
    from pandas import DataFrame

METRICS = {
    "error_forward": ("error", "forward"),
    "error_backward": ("error", "backward"),
    "p1_forward": ("p1", "forward"),
    "p1_backward": ("p1", "backward"),
}
PARTS = ("", "_spread", "_low", "_high")
# the error rate is 100 minus it, but for copies
SHOWN = {"p1_forward": "P@1 of targets", "p1_backward": "P@1 of sources"}


class Retrieved(NamedTuple):
    """A line of encoders.csv; each of METRICS has PARTS: mean, standard deviation over seeds, interval."""

    encoder: str
    test: str
    candidates: int
    seeds: str
    updates: int
    parameters: int
    dimension: int
    cpu_seconds: int
    error_forward: Hundredths
    error_forward_spread: Hundredths | None
    error_forward_low: Hundredths
    error_forward_high: Hundredths
    error_backward: Hundredths
    error_backward_spread: Hundredths | None
    error_backward_low: Hundredths
    error_backward_high: Hundredths
    p1_forward: Hundredths
    p1_forward_spread: Hundredths | None
    p1_forward_low: Hundredths
    p1_forward_high: Hundredths
    p1_backward: Hundredths
    p1_backward_spread: Hundredths | None
    p1_backward_low: Hundredths
    p1_backward_high: Hundredths


def build(measured: Sequence[Path], out: Path) -> None:
    """Write the table as CSV; encoders and tests are in the order of their first occurrence.

    Raises InputError for no measurements, two of the same encoder, test and seed, and tests of different sizes.
    """
    records.write(out, Retrieved, lines([of_file(path) for path in measured]))


def read(path: Path) -> list[Retrieved]:
    """The lines of a table that `build` wrote. Raises InputError for another file."""
    return records.read(path, Retrieved, "a table of encoders")


def of_file(path: Path) -> dict[str, Any]:
    """Read a file of `evaluation.encoders.measure` as one flat dict; each of METRICS becomes (value, interval)."""
    held = read_json(path)
    kinds = {"encoder": str, "test": str, "candidates": int, "seed": int, **dict.fromkeys(COSTS, (int, float))}
    flat = checked_fields(held, kinds, path)
    for name, (group, direction) in METRICS.items():
        metric = held.get(group, {}).get(direction)
        flat[name] = checked_fields(metric, {"value": (int, float)}, path)["value"], interval_of(metric, path)
    return flat


def lines(runs: Sequence[dict[str, Any]]) -> list[Retrieved]:
    """The lines of the table. Raises InputError as `build` does."""
    import pandas

    if not runs:
        raise InputError("no measurements", remedy="give a file for each encoder and test set")
    frame = pandas.DataFrame(runs).sort_values("seed")
    for name in ("test", "encoder"):
        frame[name] = pandas.Categorical(frame[name], [*dict.fromkeys(run[name] for run in runs)])
    for test, sizes in frame.groupby("test", observed=True)["candidates"].unique().items():
        if len(sizes) > 1:
            raise InputError(f"{test} has {sizes[0]:,} candidates and {sizes[1]:,}", remedy="encode again")
    return [_line(held) for _, held in frame.groupby(["test", "encoder"], observed=True)]


def _line(runs: "DataFrame") -> Retrieved:
    """The line of one encoder and test; `runs` has a line for each seed."""
    encoder, test, candidates = runs[["encoder", "test", "candidates"]].iloc[0]
    if not runs["seed"].is_unique:
        raise InputError(f"{encoder} on {test}: a seed is given twice", remedy="give each once")
    seeds, costs = " ".join(map(str, runs["seed"])), runs[[*COSTS]].mean().round().astype(int)
    numbers: dict[str, Any] = {}
    for name in METRICS:
        values, intervals = zip(*runs[name], strict=True)
        mean, spread, low, high = summarise(values, intervals)
        for part, number in zip(PARTS, (mean, spread, max(low, 0.0), min(high, 100.0)), strict=True):
            numbers[name + part] = number
    return Retrieved(encoder, test, int(candidates), seeds, **costs, **numbers)


def cells(table: Sequence[Retrieved]) -> list[list[str]]:
    """The table as a person reads it: a head, then one row per line of the table, with mean ± spread.

    Tests stay in their order; within a test the best encoder is first.
    """
    head = ["", "test", *SHOWN.values(), "candidates", "seeds", "CPU s", "updates", "parameters", "dimension"]
    rows = []
    for line in ranked(table):
        counts = [f"{count:,}" for count in (line.cpu_seconds, line.updates, line.parameters, line.dimension)]
        found = [_shown(line, name) for name in SHOWN]
        rows.append([line.encoder, line.test, *found, str(line.candidates), line.seeds, *counts])
    return [head, *rows]


def ranked(table: Sequence[Retrieved]) -> list[Retrieved]:
    """The lines of each test by P@1, mean of both directions, best first."""
    tests = [*dict.fromkeys(line.test for line in table)]
    return sorted(table, key=lambda line: (tests.index(line.test), -mean_p1(line)))


def mean_p1(line: Retrieved, end: str = "") -> float:
    """P@1, mean of both directions; `end` is "_low" or "_high" for the ends of its interval."""
    return float(sum(getattr(line, f"p1_{side}{end}") for side in ("forward", "backward")) / 2)


def _shown(line: Retrieved, name: str) -> str:
    mean, spread = getattr(line, name), getattr(line, f"{name}_spread")
    return f"{mean:.2f}" if spread is None else f"{mean:.2f} ± {spread:.2f}"


def render(table: Sequence[Retrieved]) -> str:
    """The table for a terminal."""
    texts = aligned(cells(table))
    return "\n".join([texts[0], "-" * max(map(len, texts)), *texts[1:]]) + "\n"
