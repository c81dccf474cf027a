"""Pictures of the report: matplotlib's SVG, made to stand in a page. Text is text; the page's style sheet has the colours, so that
they change with light and dark; bytes depend on nothing but the data and matplotlib's version.
"""

import html
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bitextbench.report.cells import Cell, short
from bitextbench.report.run import Margin, Step
from bitextbench.report.table import names

# stand for variables of the style sheet
NAMES = ("ink", "soft", "line", "ours", "paper", "fails", *(f"c{number}" for number in range(8)))
COLOUR = {name: f"#0102{place:02x}" for place, name in enumerate(NAMES, start=16)}
CYCLE = [COLOUR[f"c{number}"] for number in range(8)]
MARKERS = "osD^vP*X"  # curves differ by more than colour
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "bitextbench", "font.family": "DejaVu Sans", "font.size": 9, "figure.facecolor": "none",
    "axes.facecolor": "none", "axes.edgecolor": COLOUR["line"], "axes.labelcolor": COLOUR["soft"], "text.color": COLOUR["ink"],
    "xtick.color": COLOUR["line"], "xtick.labelcolor": COLOUR["soft"], "ytick.color": COLOUR["line"],
    "ytick.labelcolor": COLOUR["ink"], "axes.titlecolor": COLOUR["ink"], "axes.titlesize": 9, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "grid.color": COLOUR["line"],
    "legend.frameon": False, "axes.axisbelow": True, "axes.unicode_minus": True,
}  # fmt: skip
ROW, HEAD, FOOT = 0.27, 0.36, 0.5  # inches: a row of a panel, above and below it


def svg(draw: Callable[[Figure], None], width: float, height: float, name: str, label: str) -> str:
    """A picture of inches by inches as an element of a page; `name` keeps its ids apart, `label` is what a screen reader says."""
    with matplotlib.rc_context(STYLE):
        figure, out = Figure(figsize=(width, height)), io.StringIO()
        draw(figure)
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    body = out.getvalue().partition("<svg")[2].partition(">")[2]
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", body, flags=re.S)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r"(href=\"#|url\(#)", rf"\g<1>{name}-", body)
    body = re.sub(r"'?DejaVu Sans'?(, [-\w' ]+)*", "var(--font)", body)
    for variable, colour in COLOUR.items():
        body = body.replace(colour, f"var(--{variable})")
    body = re.sub(r"\s*\n\s*", "\n", re.sub(r"(\d\.\d\d)\d+", r"\1", body))
    size = f'viewBox="0 0 {width * 72:.4g} {height * 72:.4g}" width="{width * 96:.0f}" height="{height * 96:.0f}"'
    return f'<svg class="plot" {size} role="img" aria-label="{html.escape(label)}">{body}'


def dots(cells: Sequence[Cell], units: Mapping[str, str], name: str) -> str:
    """Ours with its interval and the paper's number, a panel a column; panels of one unit have one scale. "" without ours."""
    columns = [column for column, held in by_column(cells).items() if any(one.ours is not None for one in held)]
    rows = {row: short(label) for row, label in {cell.row: cell.row_label for cell in cells}.items()}
    if not columns:
        return ""
    grid = Grid(len(columns), len(rows), longest(rows.values()))

    def draw(figure: Figure) -> None:
        for column, axes in zip(columns, grid.panels(figure), strict=True):
            unit = units.get(column, "")
            same = [cell for cell in cells if units.get(cell.column, "") == unit and cell.column in columns]
            grid.rows(axes, list(rows.values()))
            axes.set(title=column, xlabel=unit, xlim=limits(same))
            for cell in by_column(cells)[column]:
                dot(axes, [*rows].index(cell.row), cell)

    return svg(
        draw,
        grid.width,
        grid.height,
        name,
        "Dot plot: ours with its 95% interval, and the paper's number, by column and row",
    )


def dot(axes: Axes, y: int, cell: Cell) -> None:
    """A cell: a filled dot with its interval, the paper's as an open diamond."""
    if cell.paper is not None:
        axes.plot(float(cell.paper), y, "D", mfc="none", mec=COLOUR["paper"], mew=1.3, ms=5)
    if cell.ours is not None:
        ends = [cell.ours if end is None else end for end in (cell.low, cell.high)]
        axes.plot(ends, [y, y], color=COLOUR["ours"], lw=1.8, solid_capstyle="butt")
        axes.plot(cell.ours, y, "o", color=COLOUR["ours"], ms=5)


def limits(cells: Sequence[Cell]) -> tuple[float, float]:
    """A range that holds all numbers, with room at its ends."""
    ends = [float(end) for cell in cells for end in (cell.paper, cell.ours, cell.low, cell.high) if end is not None]
    room = max(0.06 * (max(ends) - min(ends)), 0.5)
    return min(ends) - room, max(ends) + room


def slopes(cells: Sequence[Cell], name: str) -> str:
    """The order of rows in the paper (left) and here (right), largest number on top, a panel a column; "" where none has two rows."""
    both = {
        column: [cell for cell in held if None not in (cell.ours, cell.paper)]
        for column, held in by_column(cells).items()
    }
    columns = {column: held for column, held in both.items() if len(held) > 1}
    if not columns:
        return ""
    labels = [short(cell.row_label) for held in columns.values() for cell in held]
    grid = Grid(len(columns), max(map(len, columns.values())), longest(labels), alone=True)

    def draw(figure: Figure) -> None:
        for (column, held), axes in zip(columns.items(), grid.panels(figure), strict=True):
            slope(axes, held, grid.count)
            axes.set_title(column, pad=16)

    return svg(
        draw, grid.width, grid.height, name, "Slope graph: the order of rows in the paper and in this run, by column"
    )


def slope(axes: Axes, cells: Sequence[Cell], count: int) -> None:
    """A line a row, from its place in the paper to its place here: level, up or down."""
    paper = sorted(cells, key=lambda cell: -float(cell.paper or 0))
    ours = sorted(cells, key=lambda cell: -(cell.ours or 0.0))
    for left, cell in enumerate(paper):
        right = ours.index(cell)
        colour = COLOUR["soft" if left == right else "ours" if right < left else "fails"]
        axes.plot([0, 1], [left, right], "o-", color=colour, ms=4, lw=1.6, ls="--" if right > left else "-")
        axes.text(1.06, right, f"{cell.ours:.1f}", va="center", fontsize=8, color=COLOUR["soft"])
    axes.set(xlim=(-0.06, 1.06), ylim=(count - 0.4, -0.6), xticks=[0, 1], xticklabels=["paper", "ours"])
    axes.set_yticks(range(len(paper)), [f"{short(cell.row_label)}  {cell.paper}" for cell in paper])
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.spines[:].set_visible(False)


class Grid:
    """Panels of equal size, three abreast at most, under each other where there are more; sizes in inches."""

    def __init__(self, panels: int, rows: int, label: float, *, alone: bool = False) -> None:
        """`label`: room for the names of rows, at each panel where they stand `alone`, else at the first of a line."""
        self.number, self.count, self.label, self.alone = panels, rows, label, alone
        self.across = min(panels, max(1, int(9.6 / (label + 1.7))) if alone else 3)
        self.panel = (10.2 - label * (self.across if alone else 1)) / self.across - 0.45
        self.panel = min(self.panel, 1.3 if alone else 3.6)
        self.step = self.panel + 0.5 + (label if alone else 0.0)
        self.high = rows * ROW + 0.1
        self.lines = math.ceil(panels / self.across)
        self.width = label + self.step * (self.across - 1) + self.panel + 0.55
        self.height = self.lines * (self.high + HEAD + FOOT)

    def panels(self, figure: Figure) -> list[Axes]:
        """The panels, line by line."""
        made = []
        for place in range(self.number):
            line, column = divmod(place, self.across)
            left = self.label + column * self.step
            bottom = (self.lines - 1 - line) * (self.high + HEAD + FOOT) + FOOT
            box = (left / self.width, bottom / self.height, self.panel / self.width, self.high / self.height)
            made.append(figure.add_axes(box))
        return made

    def rows(self, axes: Axes, labels: Sequence[str]) -> None:
        """Name the rows, from top to bottom, at the first panel of a line."""
        first = axes.get_position().x0 * self.width < self.label + 0.1
        axes.set_yticks(range(len(labels)), labels if first else [""] * len(labels))
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.grid(axis="x", lw=0.6)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(5))


def longest(labels: object) -> float:
    """Room for names of rows, in inches of 9 point type."""
    return 0.3 + 0.083 * max(len(str(label)) for label in labels)  # type: ignore[attr-defined]


def by_column(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    return {column: [cell for cell in cells if cell.column == column] for column in names(cells, "column")}


# ---- curves


def precision_curves(steps: Sequence[Step], name: str) -> str:
    """Precision by the words selected, a curve a method. "" for a pool without labels."""
    known = [step for step in steps if step.precision is not None]
    methods = {method: list(held) for method, held in groupby(known, key=lambda step: step.method)}
    if not methods:
        return ""

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.08, 0.13, 0.68, 0.82))
        for place, (method, held) in enumerate(methods.items()):
            axes.plot(
                [step.words for step in held], [step.precision for step in held], label=method, **look(place, len(held))
            )  # type: ignore[arg-type]
        axes.set(xlabel="words selected", ylabel="good words, %", ylim=(0, 102), xlim=(0, None))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
        framed(axes)

    return svg(
        draw,
        9,
        4.2,
        name,
        "Curves of precision over the number of words selected, by method; the numbers are in sweep.csv",
    )


def margin_curves(margins: Sequence[Margin], name: str) -> str:
    """F1 and mean cosines over the margin of training (yang2019, figure 4)."""
    at = [line.margin for line in margins]

    def draw(figure: Figure) -> None:
        left, right = figure.add_axes((0.07, 0.16, 0.36, 0.74)), figure.add_axes((0.52, 0.16, 0.28, 0.74))
        for axes, curves in ((left, {"F1, %": "f1"}), (right, {"translations": "positive", "others": "negative"})):
            for place, (label, key) in enumerate(curves.items()):
                value, low, high = ([getattr(line, key + end) for line in margins] for end in ("", "_low", "_high"))
                axes.fill_between(at, low, high, color=CYCLE[place], alpha=0.18, lw=0)
                axes.plot(at, value, label=label, **look(place, 1))  # type: ignore[arg-type]
            axes.set_xlabel("margin in training")
            framed(axes, legend=axes is right)
        left.set_title("F1, %")
        right.set_title("mean cosine")

    return svg(draw, 9, 3.2, name, "Curves of F1 and of mean cosines over the margin of training, with 95% intervals")


def costs(lines: Sequence[Mapping[str, str]], name: str) -> str:
    """P@1 of each encoder over the CPU time of its training, a panel a test; mean of both directions, each with its interval."""
    tests = {test: [line for line in lines if line["test"] == test] for test in {line["test"]: 0 for line in lines}}

    def draw(figure: Figure) -> None:
        for place, (axes, (test, held)) in enumerate(zip(boxes(figure, len(tests)), tests.items(), strict=True)):
            for number, line in enumerate(held):
                value, low, high = (
                    sum(float(line[f"p1_{side}{end}"]) for side in ("forward", "backward")) / 2
                    for end in ("", "_low", "_high")
                )
                at, colour = max(float(line["cpu_seconds"]), 1.0), CYCLE[number % len(CYCLE)]
                axes.plot([at, at], [low, high], color=colour, lw=1.6)
                axes.plot(at, value, MARKERS[number % len(MARKERS)], color=colour, ms=6, label=line["encoder"], ls="")
            axes.set(
                title=f"{test}, {int(held[0]['candidates']):,} candidates",
                xlabel="CPU seconds of training",
                xscale="log",
            )
            axes.set(ylabel="P@1, %", ylim=(0, None))
            framed(axes, legend=place == len(tests) - 1)

    return svg(
        draw,
        10,
        4.2,
        name,
        "P@1 of each encoder over the CPU seconds of its training; the numbers are in the table below",
    )


def boxes(figure: Figure, number: int) -> list[Axes]:
    """Panels side by side, with room for a legend at the right."""
    step = 0.76 / number
    return [figure.add_axes((0.06 + place * step, 0.13, step - 0.06, 0.77)) for place in range(number)]


def look(place: int, points: int) -> dict[str, object]:
    """Colour, marker and dashes of a curve; a dozen markers on it."""
    return {
        "color": CYCLE[place % len(CYCLE)], "marker": MARKERS[place % len(MARKERS)], "ms": 4.5, "lw": 1.6,
        "markevery": max(1, points // 12), "ls": "-" if place < len(CYCLE) else "--",
    }  # fmt: skip


def framed(axes: Axes, *, legend: bool = True) -> None:
    """Grid lines, and the names of curves at the right."""
    axes.grid(lw=0.6)
    axes.tick_params(length=0, labelcolor=COLOUR["soft"])
    if legend:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), fontsize=8.5)
