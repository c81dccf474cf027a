"""The leaderboard: encoders by tasks, over runs, with the figures that others published on the same sets.

A run whose configuration has `leaderboard` makes `leaderboard.csv`, a table of its own (`cells.Cell`): a row for each
encoder, a column for each measurement (`leaderboard_layout`). `write` joins the tables of several runs and the published
figures: `<out>/leaderboard.csv`, a page (HTML, which sorts), the same in Markdown, and a picture.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bitextbench.base.errors import InputError
from bitextbench.base.outputs import write_text
from bitextbench.base.progress import count_of
from bitextbench.formats import records
from bitextbench.report import cells, plots
from bitextbench.report.leaderboard_layout import groups
from bitextbench.report.site import templates
from bitextbench.report.table import names

LINE = 0.16  # inches: the height of a mark and its interval
HEAD = """# Leaderboard

Sentence encoders on the same real text. Numbers have 95% intervals over the test items. Rows with a source in brackets
are what others published on the same set. `bitextbench leaderboard` writes this page, a [CSV](leaderboard.csv) and a
[page that sorts](leaderboard.html). The picture has the tasks that compare encoders in two columns or more. The tables
have all.

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
    low: float | None = None
    high: float | None = None
    run: str = ""
    source: str = ""
    note: str = ""


def write(runs: Sequence[Path], references: Path, out: Path) -> str:
    """Write `<out>/leaderboard.csv`, `.html`, `.md` and `.svg` from the folders of runs; returns a sentence on them.

    Raises InputError as `made` does; then nothing is written.
    """
    standings = joined(runs, references)
    texts = made(standings)
    for suffix, text in texts.items():
        write_text(out / f"leaderboard.{suffix}", text)
    encoders = {one.encoder for one in standings if not one.source}
    return f"{out / 'leaderboard.html'}: {count_of(len(encoders), 'encoder')} of {count_of(len(runs), 'run')}, {count_of(len(standings), 'number')}"


def joined(runs: Sequence[Path], references: Path) -> list[Standing]:
    """The numbers of the folders of runs, and the published figures: leaderboard.csv of the folder `references`.

    Raises InputError for a run without a leaderboard, and for two runs that have one number.
    """
    return [*_of_runs(runs), *_of_others(references / "leaderboard.csv")]


def made(standings: Sequence[Standing]) -> dict[str, str]:
    """The leaderboard as the texts of files, by suffix: csv, svg, html, md."""
    return {
        "csv": records.to_csv(Standing, standings),
        "svg": plots.alone(picture(standings)),
        "html": page(standings, picture(standings, page=True)),
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
                interval = {} if cell.column.startswith("cost/") else {"low": cell.low, "high": cell.high}
                yield _standing(cell.row, cell.column, cell.ours, **interval, run=folder.name, note=cell.note)


def _of_others(path: Path) -> Iterator[Standing]:
    for one in records.read(path, OthersFigure, "figures of a leaderboard"):
        yield _standing(one.encoder, one.column, one.value, source=one.source)


def _standing(encoder: str, place: str, value: float, **more: Any) -> Standing:
    task, _, column = place.partition("/")
    if task not in groups():
        raise InputError(f"no group {task} in a leaderboard", place, remedy=f"known: {', '.join(groups())}")
    group = groups()[task]
    return Standing(encoder, task, column, group["unit"], group["better"], value, **more)


def table(standings: Sequence[Standing]) -> dict[str, Any]:
    """The page's table: its groups of columns that have numbers, and the rows, ours first."""
    by_place = {(one.encoder, one.task, one.column): one for one in standings}
    columns = {name: held for name in groups() if (held := names([s for s in standings if s.task == name], "column"))}
    first = {one.encoder: one for one in reversed(standings)}
    return {
        "groups": {name: {**groups()[name], "columns": held} for name, held in columns.items()},
        "rows": [
            {
                "name": name,
                "run": first[name].run,
                "source": first[name].source,
                "cells": [by_place.get((name, task, column)) for task, held in columns.items() for column in held],
            }
            for name in names(standings, "encoder")
        ],
    }


def page(standings: Sequence[Standing], drawn: str) -> str:
    """The page, which needs no other file."""
    template = templates().get_template("leaderboard.html")
    return template.render(title="Encoders by tasks", picture=drawn, **table(standings))


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
        for row, numbers in held:
            if any(numbers):
                name = f"{row['name']} ({row['source']})" if row["source"] else f"**{row['name']}**"
                lines.append([name, *map(_written, numbers)])
        parts.append(f"## {group['title']}\n\n{group['about']}{unit}\n")
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n")
    return "\n".join(parts)


def _written(one: Standing | None) -> str:
    """A number and its interval."""
    if one is None:
        return "–"
    number = f"{one.value:,.0f}" if one.value >= 1000 else f"{one.value:.1f}"
    return number if one.low is None else f"{number} ({one.low:.1f}–{one.high:.1f})"


def picture(standings: Sequence[Standing], *, page: bool = False) -> str:
    """A panel for each task: part of a `page`, or an SVG element.

    A row is a column that compares encoders, a mark an encoder; marks of published figures are hollow. No panel of
    percentages leaves 0 to 100%. Where no task has two rows, all columns are drawn.
    """
    drawn = [one for one in standings if one.task != "cost"]
    compared = [place for place, count in Counter((one.task, one.column) for one in drawn).items() if count > 1]
    rows = Counter(task for task, _ in compared)
    limits = {task: _limits([one for one in drawn if one.task == task]) for task in {one.task for one in drawn}}
    chosen = [one for one in drawn if (one.task, one.column) in compared and rows[one.task] > 1]
    panels = Panels(chosen or drawn, limits)
    return panels.page() if page else panels.alone()


class Panels:
    """A panel for each task; sizes in inches."""

    wide, head, foot, right, across = 2.1, 0.3, 0.4, 0.3, 3

    def __init__(self, standings: Sequence[Standing], limits: Mapping[str, tuple[float, float]]) -> None:
        self.limits = limits
        self.encoders = names(standings, "encoder")
        self.published = {one.encoder for one in standings if one.source}
        self.names = [f"{name} (published)" if name in self.published else name for name in self.encoders]
        self.held: dict[str, dict[str, list[Standing]]] = {}
        for one in standings:
            self.held.setdefault(one.task, {}).setdefault(one.column, []).append(one)
        self.label = {task: plots.longest(columns) for task, columns in self.held.items()}
        self.high = {
            task: LINE * (sum(map(len, columns.values())) + len(columns)) for task, columns in self.held.items()
        }

    def page(self) -> str:
        """The panels and the names of encoders, as part of a page."""
        pictures = [
            plots.svg(
                partial(self.one, task),
                self.label[task] + self.wide + self.right,
                self.head + self.high[task] + self.foot,
                f"board{number}",
                f"{groups()[task]['title']}: encoders with 95% intervals; the numbers are in leaderboard.csv",
            )
            for number, task in enumerate(self.held)
        ]
        hollow = [name for name, encoder in zip(self.names, self.encoders, strict=True) if encoder in self.published]
        return plots.side_by_side(pictures, self.names, line=False, hollow=hollow)

    def one(self, task: str, figure: Figure) -> None:
        """Draw one panel as a figure."""
        width, height = figure.get_size_inches()
        box = (self.label[task] / width, self.foot / height, self.wide / width, self.high[task] / height)
        self.panel(task, figure.add_axes(box))

    def alone(self) -> str:
        """All panels and the names of encoders, as an SVG element."""
        lines = [[*self.held][start : start + self.across] for start in range(0, len(self.held), self.across)]
        width = max(sum(self.label[task] + self.wide + self.right for task in line) for line in lines)
        tall = [self.head + max(self.high[task] for task in line) + self.foot for line in lines]
        across = max(1, min(len(self.names), int(width / (plots.longest(self.names) + 0.4))))  # names in a line
        names = 0.2 + 0.2 * math.ceil(len(self.names) / across)
        height = names + sum(tall)

        def draw(figure: Figure) -> None:
            top = height - names
            for line, of_line in zip(lines, tall, strict=True):
                left = 0.0
                for task in line:
                    left, bottom = left + self.label[task], top - self.head - self.high[task]
                    box = (left / width, bottom / height, self.wide / width, self.high[task] / height)
                    self.panel(task, figure.add_axes(box))
                    left += self.wide + self.right
                top -= of_line
            marks = [
                Line2D([], [], label=name, **self.mark(encoder))
                for name, encoder in zip(self.names, self.encoders, strict=True)
            ]
            figure.legend(handles=marks, loc="upper left", ncols=across, bbox_to_anchor=(0, 1))

        label = "Dot plots by task: encoders with 95% intervals; the numbers are in leaderboard.csv"
        return plots.svg(draw, width, height, "leaderboard", label)

    def panel(self, task: str, axes: Axes) -> None:
        """Draw the columns of a task from top to bottom, and in each the encoders that have a number."""
        at, middle = 0.0, {}
        for column, held in self.held[task].items():
            middle[column] = at + (len(held) - 1) / 2
            for one in held:
                mark = self.mark(one.encoder)
                if one.low is not None and one.high is not None:
                    axes.hlines(at, one.low, one.high, color=mark["mec"], lw=1.8)
                axes.plot(one.value, at, clip_on=False, **mark)
                at += 1
            at += 1
        axes.set(xlim=self.limits[task], ylim=(at - 1, -1))
        axes.set_yticks([*middle.values()], [*middle])
        plots.framed(axes, legend=False)
        axes.grid(visible=False, axis="y")
        axes.text(0, 1, groups()[task]["title"], weight="bold", va="bottom", transform=axes.transAxes)

    def mark(self, encoder: str) -> dict[str, Any]:
        """How the numbers of an encoder are drawn."""
        look = plots.look(self.encoders.index(encoder), 1)
        inside = "none" if encoder in self.published else look["color"]
        return {"ls": "", "marker": look["marker"], "mec": look["color"], "mfc": inside, "mew": 1.3, "ms": 5}


def _limits(standings: Sequence[Standing]) -> tuple[float, float]:
    """A range that contains all numbers of a task; of percentages within 0 to 100."""
    low, high = plots.around([end for one in standings for end in (one.value, one.low, one.high)])
    return (max(0.0, low), min(100.0, high)) if standings[0].unit == "%" else (low, high)
