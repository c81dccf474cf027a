"""Pictures of the report: SVG by matplotlib, to be part of a page.

Text stays text. Colours are variables of the page's style sheet, so that they follow its light or dark mode. The bytes
depend on the data and the version of matplotlib alone.
"""

import html
import io
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, SupportsFloat

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from bitextbench.evaluation.curves import Threshold
from bitextbench.evaluation.selections import Step
from bitextbench.report.cells import Cell, short
from bitextbench.report.claims import Key
from bitextbench.report.encoders import Retrieved, mean_p1
from bitextbench.report.quality import Point
from bitextbench.report.table import names
from bitextbench.report.training import Trained, Validated

if TYPE_CHECKING:
    from pandas import DataFrame

# stand for variables of the style sheet
NAMES = ("ink", "soft", "line", "ours", "paper", "fails", *(f"c{number}" for number in range(8)))
COLOUR = {name: f"#0102{place:02x}" for place, name in enumerate(NAMES, start=16)}
CYCLE = [COLOUR[f"c{number}"] for number in range(8)]
MARKERS = "osD^vP*X"  # curves differ by more than colour
STYLE: Any = {
    "svg.fonttype": "none", "svg.hashsalt": "bitextbench", "font.family": "DejaVu Sans", "font.size": 9, "figure.facecolor": "none",
    "axes.facecolor": "none", "axes.edgecolor": COLOUR["line"], "axes.labelcolor": COLOUR["soft"], "text.color": COLOUR["ink"],
    "xtick.color": COLOUR["line"], "xtick.labelcolor": COLOUR["soft"], "ytick.color": COLOUR["line"],
    "ytick.labelcolor": COLOUR["ink"], "axes.titlecolor": COLOUR["ink"], "axes.titlesize": 9, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "grid.color": COLOUR["line"],
    "legend.frameon": False, "axes.axisbelow": True, "axes.unicode_minus": True,
}  # fmt: skip
LONGEST = 60  # characters of a name in a picture; tables have the whole
ROW = 0.27  # inches: the height of a row of a panel


def svg(draw: Callable[[Figure], None], width: float, height: float, name: str, label: str) -> str:
    """A picture as an SVG element of a page; `width` and `height` in inches.

    `name` makes its ids unique in the page; a screen reader reads `label`.
    """
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


def alone(drawn: str) -> str:
    """An SVG element of a page as the text of a file, with the colours of the style sheet, light and dark."""
    css = files("bitextbench.report").joinpath("templates/style.css").read_text(encoding="utf-8")
    colours = css.partition("\n* {")[0]
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    style = f"<style>{colours}\nsvg {{ background: var(--page); }} text {{ fill: var(--ink); }}</style>"
    head, _, body = drawn.partition(">")
    return f"{head.replace('<svg', f'<svg {names}', 1)}>\n{style}{body}\n"


def dots(cells: Sequence[Cell], units: Mapping[str, str], name: str, seeds: Mapping[Key, Sequence[float]]) -> str:
    """Our numbers with intervals and the paper's, as part of a page: one panel per column; panels of the same unit share
    a scale.

    `seeds`: our numbers of single seeds. "" if there is no number of ours.
    """
    columns = {column: held for column, held in by_column(cells).items() if any(one.ours is not None for one in held)}
    rows = {row: shown(short(label)) for row, label in {cell.row: cell.row_label for cell in cells}.items()}
    if not columns:
        return ""
    grid = Grid(1, len(rows), longest(rows.values()), widest=1.9)

    def draw(column: str, figure: Figure) -> None:
        [axes], unit = grid.panels(figure), units.get(column, "")
        same = [cell for cell in cells if units.get(cell.column, "") == unit and cell.column in columns]
        grid.rows(axes, list(rows.values()))
        numbers = (n for one in same for n in (one.paper, one.ours, one.low, one.high, *singly(one, seeds)))
        axes.set(xlabel=unit, xlim=around(numbers))
        axes.text(0, 1, column, weight="bold", va="bottom", transform=axes.transAxes)
        held = columns[column]
        places = [[*rows].index(cell.row) for cell in held]
        ticks = [(value, at) for cell, at in zip(held, places, strict=True) for value in singly(cell, seeds)]
        if ticks:
            axes.plot(*zip(*ticks, strict=True), "|", color=COLOUR["ours"], ms=8, mew=1)
        dot(axes, places, held)

    return side_by_side(grid.drawn(draw, columns, name, "ours with its 95% interval, and the paper's number, by row"))


def singly(cell: Cell, seeds: Mapping[Key, Sequence[float]]) -> Sequence[float]:
    """Our numbers of the cell's seeds, where it has several."""
    values = seeds.get((cell.paper_table, cell.row, cell.column), ())
    return values if len(values) > 1 else ()


def dot(axes: Axes, y: Sequence[int], cells: Sequence[Cell]) -> None:
    """Cells at heights y: filled dots with intervals, the paper's numbers as open diamonds."""
    paper = [(float(cell.paper), at) for at, cell in zip(y, cells, strict=True) if cell.paper is not None]
    ours = [(one.ours, at, *ends(one)) for at, one in zip(y, cells, strict=True) if one.ours is not None]
    if paper:
        axes.plot(*zip(*paper, strict=True), "D", mfc="none", mec=COLOUR["paper"], mew=1.3, ms=5)
    if ours:
        values, at, low, high = zip(*ours, strict=True)
        axes.hlines(at, low, high, color=COLOUR["ours"], lw=1.8)
        axes.plot(values, at, "o", color=COLOUR["ours"], ms=5)


def ends(cell: Cell) -> tuple[float, float]:
    """The ends of the cell's interval; a number without an interval is both ends."""
    ours = cell.ours or 0.0
    return (ours if cell.low is None else cell.low), (ours if cell.high is None else cell.high)


def around(ends: Iterable[SupportsFloat | None]) -> tuple[float, float]:
    """A range that contains all numbers, with a margin at both ends; None is no number."""
    numbers = [float(end) for end in ends if end is not None]
    room = max(0.06 * (max(numbers) - min(numbers)), 0.02)
    return min(numbers) - room, max(numbers) + room


def slopes(cells: Sequence[Cell], name: str) -> str:
    """The order of rows in the paper (left) and in this run (right), as part of a page: one panel per column.

    The largest number is on top.

    "" if no column has two rows with both numbers.
    """
    both = {
        column: [cell for cell in held if None not in (cell.ours, cell.paper)]
        for column, held in by_column(cells).items()
    }
    columns = {column: held for column, held in both.items() if len(held) > 1}
    if not columns:
        return ""
    labels = [in_paper(cell) for held in columns.values() for cell in held]
    grid = Grid(1, max(map(len, columns.values())), longest(labels), alone=True)

    def draw(column: str, figure: Figure) -> None:
        [axes] = grid.panels(figure)
        slope(axes, columns[column], grid.count)
        axes.text(0, -1.45, column, ha="center", va="bottom", weight="bold")

    return side_by_side(grid.drawn(draw, columns, name, "the order of rows in the paper and in this run"))


def slope(axes: Axes, cells: Sequence[Cell], count: int) -> None:
    """A line for each row, from its rank in the paper to its rank here; colours tell level, up and down.

    Rows that our intervals do not separate have one rank here, rows of one printed number one rank in the paper.
    """
    paper = ranks(cells, lambda cell: (float(cell.paper or 0),) * 2)
    ours = ranks(cells, ends)
    rightmost = sorted(range(len(cells)), key=lambda row: (ours[row], -(cells[row].ours or 0.0)))
    axes.set(xlim=(0, 1), ylim=(count - 0.4, -0.6))
    axes.set_axis_off()
    leftmost = sorted(range(len(cells)), key=lambda row: (paper[row], -float(cells[row].paper or 0)))
    for row, cell in enumerate(cells):
        left, right = leftmost.index(row), rightmost.index(row)
        moved = ours[row] - paper[row] if abs(ours[row] - paper[row]) >= 1 else 0
        colour = COLOUR["soft" if not moved else "ours" if moved < 0 else "fails"]
        dashes = "--" if moved > 0 else "-"
        axes.plot([0, 1], [paper[row], ours[row]], marker="o", color=colour, ms=4, lw=1.6, ls=dashes, clip_on=False)
        axes.text(-0.08, left, in_paper(cell), va="center", ha="right")
        axes.text(1.08, right, f"{cell.ours:.1f}", va="center", color=COLOUR["soft"])
    for x, side in enumerate(("paper", "ours")):
        axes.text(x, -0.75, side, ha="center", va="bottom", color=COLOUR["soft"])


def ranks(cells: Sequence[Cell], interval: Callable[[Cell], tuple[float, float]]) -> list[float]:
    """The rank of each cell, 0 for the largest. A cell whose interval reaches that of the first of a group belongs to the
    group; the cells of a group share their mean rank.
    """
    order = sorted(range(len(cells)), key=lambda row: sum(interval(cells[row])), reverse=True)
    groups: list[list[int]] = []
    for row in order:
        if groups and interval(cells[row])[1] >= interval(cells[groups[-1][0]])[0]:
            groups[-1].append(row)
        else:
            groups.append([row])
    found: dict[int, float] = {}
    for group in groups:
        found |= dict.fromkeys(group, len(found) + (len(group) - 1) / 2)
    return [found[row] for row in range(len(cells))]


def in_paper(cell: Cell) -> str:
    """The row of a cell and its number in the paper."""
    return f"{shown(short(cell.row_label))}  {cell.paper}"


class Grid:
    """Panels of equal size, at most three in a line; sizes in inches."""

    def __init__(self, panels: int, rows: int, label: float, *, alone: bool = False, widest: float = 3.6) -> None:
        """`label`: room for the names of rows: at each panel if `alone`, otherwise at the first panel of a line.

        `widest`: the greatest width of a panel.
        """
        self.number, self.count, self.label, self.alone = panels, rows, label, alone
        self.across = min(panels, max(1, int(9.6 / (label + 1.7))) if alone else 3)
        self.panel = (10.2 - label * (self.across if alone else 1)) / self.across - 0.45
        self.panel = min(self.panel, 1.3 if alone else widest)
        self.step = self.panel + 0.5 + (label if alone else 0.0)
        self.high = rows * ROW + 0.1
        self.head, self.foot = (0.5, 0.15) if alone else (0.3, 0.5)  # above and below a panel
        self.lines = math.ceil(panels / self.across)
        self.width = label + self.step * (self.across - 1) + self.panel + 0.55
        self.height = self.lines * (self.head + self.high + self.foot)

    def panels(self, figure: Figure) -> list[Axes]:
        """The panels, line by line."""
        made = []
        for place in range(self.number):
            line, column = divmod(place, self.across)
            left = self.label + column * self.step
            bottom = (self.lines - 1 - line) * (self.head + self.high + self.foot) + self.foot
            box = (left / self.width, bottom / self.height, self.panel / self.width, self.high / self.height)
            made.append(figure.add_axes(box))
        return made

    def drawn(self, draw: Callable[[str, Figure], None], titles: Iterable[str], name: str, label: str) -> list[str]:
        """Each panel as an SVG element of its own; a screen reader reads its title and `label`."""
        return [
            svg(partial(draw, title), self.width, self.height, f"{name}{number}", f"{title}: {label}")
            for number, title in enumerate(titles)
        ]

    def rows(self, axes: Axes, labels: Sequence[str]) -> None:
        """Name the rows, from top to bottom, at the first panel of a line."""
        if axes.get_position().x0 * self.width < self.label + 0.1:
            for place, label in enumerate(labels):
                axes.text(-0.04, place, label, va="center", ha="right", transform=axes.get_yaxis_transform())
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.yaxis.set_visible(False)
        axes.grid(axis="x", lw=0.6)
        axes.tick_params(length=0)
        axes.spines["left"].set_visible(False)
        axes.xaxis.set_major_locator(MaxNLocator(5))


def longest(labels: Iterable[str]) -> float:
    """The room in inches that the longest of some names needs in 9 point type."""
    return 0.3 + 0.076 * min(LONGEST + 12, max(map(len, labels)))  # type: ignore[attr-defined]


def shown(label: str) -> str:
    """A name as pictures have room for it."""
    return label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"


def by_column(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    return {column: [cell for cell in cells if cell.column == column] for column in names(cells, "column")}


# ---- curves

SHAPES = {
    "o": '<circle cx="13" cy="6" r="3.6"/>',
    "s": '<path d="M9.6 2.6h6.8v6.8h-6.8z"/>',
    "D": '<path d="M13 1.4l4.6 4.6l-4.6 4.6l-4.6 -4.6z"/>',
    "^": '<path d="M13 1.6l4.2 7.6h-8.4z"/>',
    "v": '<path d="M13 10.4l4.2 -7.6h-8.4z"/>',
    "P": '<path d="M11.6 2h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6v-2.8h2.6z"/>',
    "*": '<path d="M13 1l1.4 3.5l3.7 .2l-2.9 2.3l1 3.6l-3.2 -2l-3.2 2l1 -3.6l-2.9 -2.3l3.7 -.2z"/>',
    "X": '<path d="M10.4 1.6l2.6 2.6l2.6 -2.6l1.8 1.8l-2.6 2.6l2.6 2.6l-1.8 1.8l-2.6 -2.6l-2.6 2.6l-1.8 -1.8l2.6 -2.6l-2.6 -2.6z"/>',
}  # MARKERS as SVG


def key(names: Sequence[str], *, line: bool = True, hollow: Collection[str] = ()) -> str:
    """The names of curves as a list of a page, each behind the line and marker of `look`; without `line`, of dots.

    Markers of `hollow` names are outlines.
    """
    items = []
    for place, name in enumerate(names):
        style = look(place, 1)
        dashes = ' stroke-dasharray="5 3"' if style["ls"] == "--" else ""
        stroke = f'<path d="M0 6H26" stroke="currentColor" stroke-width="1.8"{dashes}/>' if line else ""
        colour = f'style="color:var(--c{place % len(CYCLE)})"'
        shape = SHAPES[style["marker"]]
        if name in hollow:
            shape = f'<g fill="none" stroke="currentColor" stroke-width="1.4">{shape}</g>'
        drawn = f'<svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true" {colour}>{stroke}{shape}</svg>'
        items.append(f"<li>{drawn}{html.escape(name)}</li>")
    return f'<ul class="key">{"".join(items)}</ul>'


def side_by_side(
    pictures: Iterable[str], names: Sequence[str] = (), *, line: bool = True, hollow: Collection[str] = ()
) -> str:
    """Panels as part of a page, as many in a line as fit; the names of their curves stand above, where a phone shows them."""
    above = f"{key(names, line=line, hollow=hollow)}\n" if names else ""
    return f'{above}<div class="panels">{"".join(pictures)}</div>'


def single(draw: Callable[[Axes], None], curves: Sequence[str], name: str, label: str, *, page: bool) -> str:
    """Curves in one panel: part of a page, or an SVG element with a legend of its own."""

    def whole(figure: Figure) -> None:
        axes = figure.add_axes((0.13, 0.15, 0.84, 0.81) if page else (0.08, 0.13, 0.68, 0.82))
        draw(axes)
        framed(axes, legend=not page)

    width, height = (4.6, 3.3) if page else (9, 4.2)
    drawn = svg(whole, width, height, name, label)
    return side_by_side([drawn], curves) if page else drawn


def panels(
    held: Mapping[str, Any],
    draw: Callable[[Axes, Any], None],
    names: Sequence[str],
    name: str,
    label: str,
    *,
    line: bool = True,
) -> str:
    """A panel for each part of the data, as part of a page; `draw` draws one."""

    def panel(title: str, figure: Figure) -> None:
        axes = figure.add_axes((0.13, 0.15, 0.84, 0.75))
        draw(axes, held[title])
        axes.set(title=title)
        framed(axes, legend=False)

    drawn = (
        svg(partial(panel, title), 4.4, 3.2, f"{name}{number}", f"{title}: {label}")
        for number, title in enumerate(held)
    )
    return side_by_side(drawn, names, line=line)


def precision_curves(steps: Sequence[Step], name: str, *, page: bool = False) -> str:
    """Precision by the number of selected words, one curve per method: part of a `page`, or an SVG element.

    "" for a pool without labels.
    """
    known = [step for step in steps if step.precision is not None]
    methods = {method: list(held) for method, held in groupby(known, key=lambda step: step.method)}
    if not methods:
        return ""

    def draw(axes: Axes) -> None:
        for place, (method, held) in enumerate(methods.items()):
            words, shares = [step.words for step in held], [step.precision or 0.0 for step in held]
            axes.plot(words, shares, label=method, **look(place, len(held)))
        axes.set(xlabel="words selected", ylabel="good words, %", ylim=(0, 102), xlim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))

    label = "Curves of precision over the number of words selected, by method; the numbers are in sweep.csv"
    return single(draw, [*methods], name, label, page=page)


def distribution_curves(curves: "DataFrame", name: str, *, page: bool = False) -> str:
    """Scores by rank, one curve per method (kim2019, figure 3; `selections.distribution`).

    Part of a `page`, or an SVG element.
    """

    def draw(axes: Axes) -> None:
        for place, method in enumerate(curves):
            axes.plot(curves.index, curves[method], label=method, **look(place, len(curves)))
        axes.set(xlabel="pairs, sorted by score, %", ylabel="score", xlim=(0, 100))

    label = "Curves of scores over ranks, by method; the numbers are in distribution.csv"
    return single(draw, [*map(str, curves)], name, label, page=page)


def margin_curves(cells: Sequence[Cell], name: str) -> str:
    """F1 and mean cosines by the additive margin of training, as part of a page."""
    curves = {label: list(held) for label, held in groupby(cells, key=lambda cell: cell.row_label)}

    def draw(axes: Axes) -> None:
        for place, curve in enumerate(curves.values()):
            at = [float(cell.column) for cell in curve]
            low, high = zip(*map(ends, curve), strict=True)
            axes.fill_between(at, low, high, color=CYCLE[place], alpha=0.18, lw=0)
            axes.plot(at, [cell.ours or 0.0 for cell in curve], **look(place, 1))
        axes.set(xlabel="additive margin", ylabel="%")

    label = "Curves of F1 and of mean cosines over the additive margin of training, with 95% intervals"
    return single(draw, [*curves], name, label, page=True)


def learning_curves(steps: Sequence[Validated], name: str) -> str:
    """The development score by update, as part of a page: one panel per language pair, one curve per encoder and seed."""
    pairs = by_pair(steps)
    names = encoders_of(pairs)

    def draw(axes: Axes, held: dict[str, list[Validated]]) -> None:
        for encoder, curve in held.items():
            for seed in sorted({step.seed for step in curve}):
                of_seed = [step for step in curve if step.seed == seed]
                style = look(names.index(encoder), len(of_seed))
                axes.plot([step.update for step in of_seed], [step.valid for step in of_seed], **style)
        axes.set(xlabel="update", ylabel="development score, %", ylim=(0, None))

    label = "the development score of each encoder by update; the numbers are in learning.csv"
    return panels(pairs, draw, names, name, label)


def training_costs(done: Sequence[Trained], name: str) -> str:
    """The best development score by CPU seconds of training, as part of a page.

    One panel per language pair, one dot per encoder and seed.
    """
    pairs = by_pair([one for one in done if one.valid is not None])
    names = encoders_of(pairs)

    def draw(axes: Axes, held: dict[str, list[Trained]]) -> None:
        for encoder, of_seeds in held.items():
            style = look(names.index(encoder), 1) | {"ls": ""}
            axes.plot([one.cpu_seconds for one in of_seeds], [one.valid or 0.0 for one in of_seeds], **style)
        most = max(one.cpu_seconds for of_seeds in held.values() for one in of_seeds)
        axes.set(
            xlabel="CPU seconds of training", ylabel="best development score, %", ylim=(0, 104), xlim=(0, 1.05 * most)
        )

    label = "the best development score of each encoder over the CPU seconds of its training; the numbers are in training.csv"
    return panels(pairs, draw, names, name, label, line=False)


def encoders_of(pairs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The encoders of all pairs, each once: one look in all panels."""
    return sorted({encoder for held in pairs.values() for encoder in held})


def by_pair(lines: Sequence[Any]) -> dict[str, dict[str, list[Any]]]:
    """The lines by language pair, then by encoder.

    The end of an encoder's name is the pair; names without a pair are under "one for all pairs".
    """
    pairs: dict[str, dict[str, list[Any]]] = {}
    for line in lines:
        name, dot, pair = line.encoder.rpartition(".")
        is_pair = bool(dot) and re.fullmatch(r"[a-z]+-[a-z]+", pair)
        pairs.setdefault(pair if is_pair else "one for all pairs", {}).setdefault(
            name if is_pair else line.encoder, []
        ).append(line)
    return dict(sorted(pairs.items()))


def roc_curves(points: Sequence[Point], name: str) -> str:
    """ROC curves, as part of a page: one panel per corpus, one curve per scorer, which looks the same in all panels."""
    methods = [*dict.fromkeys(point.method for point in points)]
    corpora = {corpus: list(held) for corpus, held in groupby(points, key=lambda point: point.corpus)}

    def draw(axes: Axes, held: list[Point]) -> None:
        for method, curve in groupby(held, key=lambda point: point.method):
            bad, good = zip(*((point.bad, point.good) for point in curve), strict=True)
            axes.plot(bad, good, **look(methods.index(method), 101))
        axes.plot([0, 100], [0, 100], color=COLOUR["line"], lw=1)
        axes.set(xlabel="bad pairs above a threshold, %", ylabel="good pairs above it, %", xlim=(0, 100), ylim=(0, 101))

    label = "ROC curves of the scorers against labels; the numbers are in roc.csv"
    return panels(corpora, draw, methods, name, label)


def rule_graph(jobs: Mapping[str, int], steps: Mapping[str, int], edges: Iterable[Sequence[str]], name: str) -> str:
    """The rules of a run with their numbers of jobs, in lines by `steps`; a stroke joins a rule to each rule that needs
    it.
    """
    import networkx

    onward = networkx.DiGraph([(before, after) for before, after in edges if steps[before] < steps[after]])
    graph = networkx.transitive_reduction(onward)
    graph.add_nodes_from(jobs)
    lines = {-step: [rule for rule in jobs if steps[rule] == step] for step in set(steps.values())}
    places = networkx.multipartite_layout(graph, subset_key=lines, align="horizontal")
    longest_line = max(map(len, lines.values()))

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.margins(x=0.08, y=0.06)
        for ends in sorted(graph.edges):  # their order is that of hashes
            axes.plot(*zip(*(places[rule] for rule in ends), strict=True), color=COLOUR["line"], lw=0.8)
        for rule, (x, y) in places.items():
            label = f"{rule}\n{jobs[rule]:,}"
            axes.text(x, y, label, ha="center", va="center", fontsize=7.5, linespacing=1.1)

    size = max(9.0, 1.15 * longest_line), max(3.0, 0.55 * len(lines))
    return svg(draw, *size, name, "The rules of the run from top to bottom, each with its number of jobs")


def threshold_curve(points: Sequence[Threshold], name: str) -> str:
    """BLEU of the development set over the number of selected pairs (artetxe2019, figure 2)."""

    def draw(figure: Figure) -> None:
        axes = figure.add_axes((0.1, 0.16, 0.86, 0.8))
        at = [point.pairs for point in points]
        low, high = ([getattr(point, end) for point in points] for end in ("bleu_low", "bleu_high"))
        axes.fill_between(at, low, high, color=CYCLE[0], alpha=0.18, lw=0)
        axes.plot(at, [point.bleu for point in points], **look(0, 1))
        axes.set(xlabel="selected pairs", ylabel="BLEU", xscale="log")
        axes.set_xticks(at, [f"{pairs:,}" for pairs in at])
        axes.minorticks_off()
        framed(axes, legend=False)

    label = "Curve of the development set's BLEU over the number of selected pairs, with 95% intervals"
    return svg(draw, 5.4, 3.2, name, label)


def costs(lines: Sequence[Retrieved], name: str, *, page: bool = False) -> str:
    """P@1 of each encoder, mean of both directions with the mean of their intervals: part of a `page`, or an SVG element.

    There is one panel per test. The best encoder is first; behind each name stand the CPU seconds of its training.
    """
    tests = {test: [line for line in lines if line.test == test] for test in names(lines, "test")}
    seconds = {line.encoder: line.cpu_seconds for line in lines}
    means = {line.encoder: mean_p1(line) for line in reversed(lines)}
    order = sorted(means, key=lambda encoder: -means[encoder])
    labels = [f"{shown(encoder)}  {seconds[encoder]:,} s" for encoder in order]
    label = "P@1 of each encoder, best first"

    def panel(grid: Grid, axes: Axes, test: str) -> None:
        grid.rows(axes, labels)
        found = {line.encoder: line for line in tests[test]}
        at = [place for place, encoder in enumerate(order) if encoder in found]
        lines_of = [found[order[place]] for place in at]
        low, high = ([mean_p1(line, end) for line in lines_of] for end in ("_low", "_high"))
        axes.hlines(at, low, high, color=COLOUR["ours"], lw=1.8)
        axes.plot([mean_p1(line) for line in lines_of], at, "o", color=COLOUR["ours"], ms=5)
        axes.set(xlabel=f"P@1, % of {tests[test][0].candidates:,} candidates", xlim=(0, None))
        axes.text(0, 1, test, weight="bold", va="bottom", transform=axes.transAxes)

    if page:
        one = Grid(1, len(order), longest(labels), widest=2.4)
        return side_by_side(one.drawn(lambda test, figure: panel(one, one.panels(figure)[0], test), tests, name, label))
    grid = Grid(len(tests), len(order), longest(labels))

    def draw(figure: Figure) -> None:
        for test, axes in zip(tests, grid.panels(figure), strict=True):
            panel(grid, axes, test)

    return svg(draw, grid.width, grid.height, name, f"{label}, by test; the numbers are in the table below")


def look(place: int, points: int) -> dict[str, Any]:
    """The colour, marker and dashes of a curve, with about a dozen markers."""
    return {
        "color": CYCLE[place % len(CYCLE)],
        "marker": MARKERS[place % len(MARKERS)],
        "ms": 4.5,
        "lw": 1.6,
        "markevery": max(1, points // 12),
        "ls": "-" if place < len(CYCLE) else "--",
    }


def framed(axes: Axes, *, legend: bool = True) -> None:
    """Grid lines, and with `legend` the names of curves at the right."""
    axes.grid(lw=0.6)
    axes.tick_params(length=0, labelcolor=COLOUR["soft"])
    if legend:
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.02), fontsize=8.5)
