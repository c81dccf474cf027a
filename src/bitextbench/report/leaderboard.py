"""The leaderboard: encoders by tasks, over runs, with the figures that others published on the same sets.

A run whose configuration has `leaderboard` makes `leaderboard.csv`, a table of its own (`cells.Cell`): a row for each
encoder, a column for each measurement (`leaderboard_layout`). `write` joins the tables of several runs and the published
figures: `<out>/leaderboard.csv`, a page (HTML, which sorts), the same in Markdown, and a picture.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from matplotlib.figure import Figure

from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic
from bitextbench.formats import records
from bitextbench.report import cells, plots
from bitextbench.report.leaderboard_layout import groups

HEAD = """# Leaderboard

Sentence encoders on the same real text. Numbers have 95% intervals over the test items. Rows with a source in brackets are what others
published on the same set. `bitextbench leaderboard` writes this page, a [CSV](leaderboard.csv) and a [page that sorts](leaderboard.html).
The picture has the tasks of which two encoders or more have a number, the tables have all.

![Encoders by tasks](leaderboard.svg)
"""


@dataclass(frozen=True)
class OthersFigure:
    """A line of references/leaderboard.csv: a number that others printed, and where."""

    encoder: str
    column: str
    value: float
    source: str


@dataclass(frozen=True)
class Standing:
    """A line of the leaderboard: a number of an encoder with its 95% interval, of a run or, with `source`, of others."""

    encoder: str
    task: str
    column: str
    unit: str
    better: str
    value: float
    low: float | None
    high: float | None
    run: str
    source: str
    note: str


def write(runs: Sequence[Path], references: Path, out: Path) -> str:
    """Write `<out>/leaderboard.csv`, `.html`, `.md` and `.svg` from the folders of runs; returns a sentence on them.

    Raises InputError as `made` does; then nothing is written.
    """
    standings = joined(runs, references)
    texts = made(standings)
    out.mkdir(parents=True, exist_ok=True)
    for suffix, text in texts.items():
        with atomic(out / f"leaderboard.{suffix}") as part:
            part.write_text(text, encoding="utf-8")
    encoders = {one.encoder for one in standings if not one.source}
    return f"{out / 'leaderboard.html'}: {len(encoders)} encoders of {len(runs)} runs, {len(standings):,} numbers"


def joined(runs: Sequence[Path], references: Path) -> list[Standing]:
    """The numbers of the folders of runs, and the published figures: leaderboard.csv of the folder `references`.

    Raises InputError for a run without a leaderboard, and for two runs that have one number.
    """
    return [*_of_runs(runs), *_of_others(references / "leaderboard.csv")]


def made(standings: Sequence[Standing]) -> dict[str, str]:
    """The leaderboard as the texts of files, by suffix: csv, svg, html, md."""
    drawn = picture(standings)
    return {
        "csv": records.to_csv(Standing, standings),
        "svg": plots.alone(drawn),
        "html": page(standings, drawn),
        "md": markdown(standings),
    }


def _of_runs(runs: Iterable[Path]) -> Iterator[Standing]:
    seen: dict[tuple[str, str], Path] = {}
    for folder in runs:
        path = folder / "leaderboard.csv"
        if not path.exists():
            remedy = "give its configuration `leaderboard`, and make that table"
            raise InputError("a run without a leaderboard", path, remedy=remedy)
        for cell in cells.read(path):
            if (key := (cell.row, cell.column)) in seen:
                raise InputError(f"{', '.join(key)} is also in {seen[key]}", path, remedy="give each run once")
            seen[key] = path
            if cell.ours is not None:
                interval = (None, None) if cell.column.startswith("cost/") else (cell.low, cell.high)
                yield _standing(cell.row, cell.column, cell.ours, *interval, run=folder.name, note=cell.note)


def _of_others(path: Path) -> Iterator[Standing]:
    for one in records.read(path, OthersFigure, "figures of a leaderboard"):
        yield _standing(one.encoder, one.column, one.value, source=one.source)


def _standing(
    encoder: str,
    place: str,
    value: float,
    low: float | None = None,
    high: float | None = None,
    run: str = "",
    source: str = "",
    note: str = "",
) -> Standing:
    task, _, column = place.partition("/")
    if task not in groups():
        raise InputError(f"no group {task} in a leaderboard", place, remedy=f"known: {', '.join(groups())}")
    group = groups()[task]
    return Standing(encoder, task, column, group["unit"], group["better"], value, low, high, run, source, note)


def table(standings: Sequence[Standing]) -> dict[str, Any]:
    """The page's table: its groups of columns that have numbers, and the rows, ours first."""
    by_place = {(one.encoder, one.task, one.column): one for one in standings}
    columns = {
        name: list(dict.fromkeys(one.column for one in standings if one.task == name))
        for name in groups()
        if any(one.task == name for one in standings)
    }
    rows: dict[str, Standing] = {}
    for one in standings:
        rows.setdefault(one.encoder, one)
    return {
        "groups": {name: {**groups()[name], "columns": held} for name, held in columns.items()},
        "rows": [
            {
                "name": name,
                "run": first.run,
                "source": first.source,
                "cells": [by_place.get((name, task, column)) for task, held in columns.items() for column in held],
            }
            for name, first in rows.items()
        ],
    }


def page(standings: Sequence[Standing], drawn: str) -> str:
    """The page, which needs no other file."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bitextbench.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template("leaderboard.html").render(**table(standings), picture=drawn)


def markdown(standings: Sequence[Standing]) -> str:
    """The page in Markdown: a table for each group of columns."""
    shown, start = table(standings), 0
    parts = [HEAD]
    for group in shown["groups"].values():
        columns = group["columns"]
        held = [(row, row["cells"][start : start + len(columns)]) for row in shown["rows"]]
        start += len(columns)
        unit = f" In {group['unit']}; {group['better']} is better." if group["unit"] else ""
        lines = [["encoder", *columns], ["---", *["---:"] * len(columns)]]
        lines += [[_of_row(row), *map(_written, cells)] for row, cells in held if any(cells)]
        parts.append(f"## {group['title']}\n\n{group['about']}{unit}\n")
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n")
    return "\n".join(parts)


def _of_row(row: Mapping[str, Any]) -> str:
    return f"{row['name']} ({row['source']})" if row["source"] else f"**{row['name']}**"


def _written(one: Standing | None) -> str:
    """A number and its interval."""
    if one is None:
        return "–"
    number = f"{one.value:,.0f}" if one.value >= 1000 else f"{one.value:.1f}"
    return number if one.low is None else f"{number} ({one.low:.1f}–{one.high:.1f})"


def picture(standings: Sequence[Standing]) -> str:
    """A panel for each column that compares encoders, as an SVG element: our numbers with intervals, published figures as
    diamonds. The panels of a task share an axis, and none leaves 0 to 100%. Columns of one encoder are drawn only where
    no column has two.
    """
    drawn = [one for one in standings if one.task != "cost"]
    compared = {place for place, count in Counter((one.task, one.column) for one in drawn).items() if count > 1}
    shown = table([one for one in drawn if (one.task, one.column) in compared] or drawn)
    groups = shown["groups"]
    panels = [(name, column) for name, group in groups.items() for column in group["columns"]]
    rows = [row["name"] for row in shown["rows"]]
    limits = {name: _limits([one for one in drawn if one.task == name]) for name in groups}
    grid = plots.Grid(len(panels), len(rows), plots.longest(rows))

    def draw(figure: Figure) -> None:
        for place, ((name, column), axes) in enumerate(zip(panels, grid.panels(figure), strict=True)):
            held = [(at, one) for at, row in enumerate(shown["rows"]) if (one := row["cells"][place])]
            grid.rows(axes, rows)
            axes.text(0, 1, f"{groups[name]['title']}: {column}", weight="bold", va="bottom", transform=axes.transAxes)
            axes.set_xlim(limits[name])
            for at, one in held:
                if one.source:
                    colour = plots.COLOUR["paper"]
                    axes.plot(one.value, at, "D", mfc="none", mec=colour, mew=1.3, ms=5, clip_on=False)
                    continue
                if one.low is not None:
                    axes.hlines(at, one.low, one.high, color=plots.COLOUR["ours"], lw=1.8)
                axes.plot(one.value, at, "o", color=plots.COLOUR["ours"], ms=5, clip_on=False)

    label = "Dot plot: encoders by tasks, with 95% intervals; the numbers are in leaderboard.csv"
    return plots.svg(draw, grid.width, grid.height, "leaderboard", label)


def _limits(standings: Sequence[Standing]) -> tuple[float, float]:
    """A range that contains all numbers of a task; of percentages within 0 to 100."""
    ends = [end for one in standings for end in (one.value, one.low, one.high) if end is not None]
    room = max(0.06 * (max(ends) - min(ends)), 0.02)
    low, high = min(ends) - room, max(ends) + room
    return (max(0.0, low), min(100.0, high)) if standings[0].unit == "%" else (low, high)
