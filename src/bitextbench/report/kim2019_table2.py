"""Table 2 of Kim et al. 2019 (section 4.2): each BLEU of the paper beside ours, as CSV, as text and as a page.

A seed is one of the whole chain: encoder, similarity, selection and translation model. Rows are compared by the differences of
their models of one seed (`significance`). The interval of a cell is for the mean over k seeds, 95%, and has two parts:

- the chain: h_seed = t(0.975, k - 1) * s / sqrt(k), s the standard deviation over seeds (ddof 1); 0 for one seed;
- the test set: the distance from a seed's BLEU to the end of its bootstrap interval, averaged over seeds. The seeds
  translate the same sentences, so that their sampling errors go together and averaging does not make them smaller.

The parts are independent and add in quadrature, each side for itself: low = mean - sqrt(h_seed^2 + h_test,low^2), cut to BLEU's range of 0 to 100.
"""

import csv
import io
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from itertools import combinations, groupby, product
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Protocol

from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic, existing, read_json
from bitextbench.evaluation import significance
from bitextbench.evaluation.significance import Comparison
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.report import references
from bitextbench.report.references import Cell

TITLE = "Kim et al. 2019, Table 2: parallel corpus filtering, German→English"
NOT_RUN = "not in this run"
WARNING = "Numbers of the {} run compare methods, not papers: its data, models and budgets are not the paper's."

Scale = Literal["tiny", "small", "paper"]


@dataclass(frozen=True)
class Metric:
    """BLEU of one trained model on one test set, with its bootstrap interval."""

    method: str
    budget: str
    seed: int
    test: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    signature: str
    path: Path


@dataclass(frozen=True)
class Selection:
    """What one method selected for one budget; `words`, `pairs` and `words_by_label` are sums where it stands for several seeds."""

    method: str
    budget: str
    seed: int
    budget_words: int
    words: int
    pairs: int
    reached: bool
    words_by_label: dict[str, int]
    path: Path
    seeds: int = 1

    @property
    def precision(self) -> float | None:
        """Share of good pairs among the selected words whose label is known; None where none is."""
        known = sum(count for label, count in self.words_by_label.items() if label)
        return self.words_by_label.get("parallel", 0) / known if known else None


@dataclass(frozen=True)
class Line:
    """One cell of the table, as a line of the CSV; numbers are rounded as written there, None is an empty field.

    The paper's number has the digits that it printed.
    """

    paper_table: str
    row: str
    row_label: str
    column: str
    budget: str
    test: str
    paper: Decimal | None
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


INTS = {"budget_words", "words_selected", "pairs_selected"}
DECIMALS = {"ours": 2, "spread": 2, "low": 2, "high": 2, "delta": 2, "precision": 4}


def build(
    reference: Path, metrics: Sequence[Path], selections: Sequence[Path], comparisons: Sequence[Comparison],
    config: dict[str, Any], out: Path, html: Path, provenance: Path | dict[str, Any],
) -> None:  # fmt: skip
    """Write the table as CSV and as a self-contained page.

    `config` is the run's: the methods of its selection are the rows, the budgets the columns, that have our numbers; the
    paper's others say that they are not part of the run. Needs a metric file for each of these rows and budgets, each seed and test,
    and a selection file for each row, budget and seed.
    Raises InputError when one is missing, stands twice, is no part of the table, holds NaN, or has another sacreBLEU
    signature than the rest: there is no table from a part of the data.
    """
    cells = references.load(reference)
    chosen = [read_selection(path) for path in selections]
    table = lines(cells, [read_metric(path) for path in metrics], chosen, config)
    facts = provenance if isinstance(provenance, dict) else read_json(provenance)
    text, page = to_csv(table), to_html(table, pooled(chosen), comparisons, facts)
    for path, content in ((out, text), (html, page)):
        with atomic(path) as part:
            part.write_text(content, encoding="utf-8")


def read_metric(path: Path) -> Metric:
    """One metric file. Raises InputError for missing fields, NaN, or an interval that is not [low, high]."""
    texts = dict.fromkeys(("method", "budget", "test", "metric", "signature"), str)
    kinds = {**texts, "seed": int, "n": int, "value": (int, float), "interval": list}
    known = checked_fields(read_json(path), kinds, path)
    low, high = interval_of(known, path)
    del known["interval"]
    return Metric(**known, low=low, high=high, path=path)


def read_selection(path: Path) -> Selection:
    """One selection file. Raises InputError for missing fields, or words by label that do not add up to the words."""
    numbers = {"seed": int, "budget_words": int, "words": int, "pairs": int}
    kinds = {"method": str, "budget": str, **numbers, "reached": bool, "words_by_label": dict}
    known = checked_fields(read_json(path), kinds, path)
    counts = known["words_by_label"].values()
    if not all(isinstance(count, int) for count in counts) or (counts and sum(counts) != known["words"]):
        what = f"words_by_label does not add up to words, {known['words']}"
        raise InputError(what, path, remedy="select again")
    if known["words"] <= 0:
        raise InputError("no words selected", path, remedy="select again")
    return Selection(**known, path=path)


def summarise(
    values: Sequence[float], intervals: Sequence[tuple[float, float]]
) -> tuple[float, float | None, float, float]:
    """Mean over seeds, standard deviation (None for one seed), low and high end of the mean's interval, as above."""
    from scipy.special import stdtrit

    k = len(values)
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) if k > 1 else None
    seed = 0.0 if spread is None else float(stdtrit(k - 1, 0.975)) * spread / math.sqrt(k)
    below = statistics.fmean(max(value - low, 0.0) for value, (low, _) in zip(values, intervals, strict=True))
    above = statistics.fmean(max(high - value, 0.0) for value, (_, high) in zip(values, intervals, strict=True))
    return mean, spread, mean - math.hypot(seed, below), mean + math.hypot(seed, above)


def lines(
    cells: Sequence[Cell], metrics: Sequence[Metric], selections: Sequence[Selection], config: dict[str, Any]
) -> list[Line]:
    """The table's lines, one a cell of the paper, in the paper's order. Raises InputError as `build` does."""
    scale, methods, budgets = config["scale"], config["selection"]["methods"], list(config["selection"]["budgets"])
    if scale not in ("tiny", "small", "paper"):
        raise InputError(f"unknown scale {scale}", remedy="use tiny, small or paper")
    cells = _with_own_rows(_with_own_tests(cells, metrics), methods)
    columns = [column for column in _names(cells, "column") if column.split("/")[0] in budgets]
    seeds = sorted({metric.seed for metric in metrics})
    by_cell = {(m.method, f"{m.budget}/{m.test}", m.seed): m for m in metrics}
    by_row = {(s.method, s.budget, s.seed): s for s in selections}
    _complete("metric", metrics, by_cell, product(methods, columns, seeds or [1]))
    _complete("selection", selections, by_row, product(methods, budgets, seeds or [1]))
    _same("signature", ((m.signature, m.path) for m in metrics))
    _same("metric", ((m.metric, m.path) for m in metrics))
    for test, group in groupby(sorted(metrics, key=lambda m: m.test), key=lambda m: m.test):
        _same(f"number of sentences of {test}", ((m.n, m.path) for m in group))
    for budget in budgets:
        _same(f"budget {budget}", ((s.budget_words, s.path) for s in selections if s.budget == budget))

    together = {(s.method, s.budget): s for s in pooled(selections)}
    table = []
    for cell in cells:
        budget, _, test = cell.column.partition("/")
        place = Line(
            f"{cell.paper}/table{cell.table}",
            cell.row,
            cell.row_label,
            cell.column,
            budget,
            test,
            cell.printed,
            scale=scale,
        )
        ours = cell.row in methods and budget in budgets
        runs = [by_cell[cell.row, cell.column, seed] for seed in seeds] if ours else []
        table.append(
            _with_selection(filled(place, runs), together[cell.row, budget]) if ours else replace(place, note=NOT_RUN)
        )
    return table


def _with_own_tests(cells: Sequence[Cell], metrics: Sequence[Metric]) -> list[Cell]:
    """The paper's cells and, after those of the same row and budget, cells without a number for tests that only this run has."""
    place = {
        name: [cell.column.partition("/")[index] for cell in cells] for name, index in (("budget", 0), ("test", 2))
    }
    tests = sorted({metric.test for metric in metrics}.difference(place["test"]))
    first = {(cell.row, budget): cell for cell, budget in zip(cells, place["budget"], strict=True)}
    own = [
        replace(cell, column=f"{budget}/{test}", value=None) for (_, budget), cell in first.items() for test in tests
    ]
    rows, budgets = _names(cells, "row"), list(dict.fromkeys(place["budget"]))
    return sorted([*cells, *own], key=lambda cell: (rows.index(cell.row), budgets.index(cell.column.partition("/")[0])))


def _with_own_rows(cells: Sequence[Cell], methods: Sequence[str]) -> list[Cell]:
    """The cells and, after them, cells without a number for rows that only this run has."""
    rows = _names(cells, "row")
    first = [cell for cell in cells if cell.row == rows[0]]
    own = [
        replace(cell, row=method, row_label=method, value=None)
        for method in methods
        if method not in rows
        for cell in first
    ]
    return [*cells, *own]


class Run(Protocol):
    """What a cell needs to know of one run."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def signature(self) -> str: ...


def filled(place: Line, runs: Sequence[Run]) -> Line:
    """The line with our numbers, percentages, from runs of different seeds."""
    mean, spread, low, high = summarise([run.value for run in runs], [(run.low, run.high) for run in runs])
    mean, low, high = round(mean, 2), round(max(low, 0.0), 2), round(min(high, 100.0), 2)
    inside = "not in the paper" if place.paper is None else "reproduced" if low <= place.paper <= high else "differs"
    return replace(
        place, ours=mean, spread=None if spread is None else round(spread, 2), low=low, high=high,
        seeds=" ".join(str(run.seed) for run in runs),
        delta=None if place.paper is None else round(mean - float(place.paper), 2) + 0.0,
        verdict=inside if place.scale == "paper" or place.paper is None else "scale not comparable",
        note="one seed: the interval is the test set's alone" if len(runs) == 1 else "", signature=runs[0].signature,
    )  # fmt: skip


def pooled(selections: Sequence[Selection]) -> list[Selection]:
    """What each method selected for each budget, over all seeds; `reached` where all did."""
    together: dict[tuple[str, str], list[Selection]] = {}
    for selection in selections:
        together.setdefault((selection.method, selection.budget), []).append(selection)
    return [
        replace(
            group[0], words=sum(s.words for s in group), pairs=sum(s.pairs for s in group), seeds=len(group),
            reached=all(s.reached for s in group),
            words_by_label=dict(sum((Counter(s.words_by_label) for s in group), Counter())),
        )
        for group in together.values()
    ]  # fmt: skip


def _with_selection(line: Line, selection: Selection) -> Line:
    notes = [line.note, "" if selection.reached else "budget not reached: the whole pool is taken"]
    return replace(
        line, budget_words=selection.budget_words, words_selected=round(selection.words / selection.seeds),
        pairs_selected=round(selection.pairs / selection.seeds),
        precision=None if selection.precision is None else round(selection.precision, 4), note="; ".join(filter(None, notes)),
    )  # fmt: skip


def _complete(
    kind: str, given: Sequence[Metric] | Sequence[Selection], found: Iterable[tuple], wanted: Iterable[tuple]
) -> None:
    """Every wanted file is there, and nothing else."""
    found, wanted = set(found), set(wanted)
    if len(found) < len(given):
        paths = ", ".join(str(item.path) for item in given)
        raise InputError(f"two {kind} files for one place among {paths}", remedy="give each once")
    for what, which, remedy in (
        (f"no {kind} file for", wanted - found, "finish the run: a table is not made from a part"),
        (f"a {kind} file that is no part of the table:", found - wanted, "leave it out, or add it to the reference"),
    ):
        if which:
            raise InputError(f"{what} {'; '.join(sorted(', '.join(map(str, key)) for key in which))}", remedy=remedy)


def _same(what: str, values: Iterable[tuple[Any, Path]]) -> None:
    """Raise InputError unless all values are equal."""
    first: tuple[Any, Path] | None = None
    for value, path in values:
        first = first or (value, path)
        if value != first[0]:
            raise InputError(
                f"{what} is {value}, but {first[0]} in {first[1]}", path, remedy="score them all the same way"
            )


def to_csv(table: Sequence[Line]) -> str:
    """The CSV text: the fields of `Line` as columns, an empty field for None."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(field.name for field in fields(Line))
    for line in table:
        writer.writerow(_written(name, value) for name, value in asdict(line).items())
    return out.getvalue()


def _written(name: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.{DECIMALS[name]}f}" if name in DECIMALS else str(value)


def read_csv(path: str | Path) -> list[Line]:
    """The lines of a table that `build` wrote. Raises InputError for another file."""
    with open(existing(path), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != [field.name for field in fields(Line)]:
            raise InputError("not a table of this program", path, remedy="make the table again")
        return [Line(**{name: _parsed(name, text) for name, text in record.items()}) for record in reader]


def _parsed(name: str, text: str) -> Any:
    if name in INTS or name in DECIMALS or name == "paper":
        kind = Decimal if name == "paper" else int if name in INTS else float
        return kind(text) if text else None
    return text


def short(label: str) -> str:
    """A row's label without the citation at its end."""
    return re.sub(r" \([^()]*, \d{4}\)$", "", label)


def reading(table: Sequence[Line], comparisons: Sequence[Comparison]) -> list[str]:
    """Sentences on the rows that ran: the lowest row, random against the best, and each order of two rows that the paper has."""
    done = [line for line in table if line.ours is not None]
    columns = {name: [line for line in done if line.column == name] for name in _names(done, "column")}
    return [_lowest(columns), _gap(columns), *_orders(columns, comparisons)]


def _names(table: Sequence[Line] | Sequence[Cell], field: str) -> list[str]:
    return list(dict.fromkeys(getattr(line, field) for line in table))


def _where(names: Sequence[str], columns: Any) -> str:
    return f"all {len(columns)} columns" if len(names) == len(columns) else ", ".join(names)


def _lowest(columns: dict[str, list[Line]]) -> str:
    where: dict[str, list[str]] = {}
    for name, column in columns.items():
        where.setdefault(short(min(column, key=attrgetter("ours")).row_label), []).append(name)
    return "Lowest row: " + "; ".join(f"{label} in {_where(names, columns)}" for label, names in where.items()) + "."


def _gap(columns: dict[str, list[Line]]) -> str:
    """Best row minus random in each column, and the least ratio of this gap to the larger spread of the two rows."""
    parts, ratios = [], []
    for name, column in columns.items():
        base = next((line for line in column if line.row == "random"), column[0])
        best = max(column, key=attrgetter("ours"))
        gap = (best.ours or 0.0) - (base.ours or 0.0)
        parts.append(f"{gap:.2f} in {name} ({best.row})")
        if base.spread is not None and best.spread is not None:
            ratios.append(gap / max(base.spread, best.spread, 0.01))  # 0.01: the spread's last digit
    against = f"at least {min(ratios):.1f} times the spread over seeds" if ratios else "one seed has no spread"
    return f"Best row minus random, BLEU: {', '.join(parts)}; {against}."


def _orders(columns: dict[str, list[Line]], comparisons: Sequence[Comparison]) -> list[str]:
    """Each pair of rows that the paper orders, by paired differences: in which columns the order is the paper's, the other way,
    or undecided, as the interval of the difference holds 0.
    """
    both = [*comparisons, *(one.reversed() for one in comparisons)]
    differences = {(f"{one.budget}/{one.test}", one.row, one.other): one for one in both}
    where: dict[str, dict[str, list[str]]] = {}
    for name, column in columns.items():
        for pair in combinations((line for line in column if line.paper is not None), 2):
            low, high = sorted(pair, key=lambda line: line.paper or Decimal(0))
            one = differences.get((name, high.row, low.row))
            if low.paper != high.paper and one:
                state = "holds" if one.low > 0 else "is reversed" if one.high < 0 else "is undecided"
                where.setdefault(f"{low.row} < {high.row}", {}).setdefault(state, []).append(name)
    if not where:
        return ["No two rows of this run are ordered by the paper."]
    head = "The paper's order, by paired differences (same seeds, same test sentences; 95%):"
    return [head, *(f"  {pair} {_states(states, columns)}." for pair, states in where.items())]


def _states(states: dict[str, list[str]], columns: dict[str, list[Line]]) -> str:
    order = ("holds", "is undecided", "is reversed")
    return ", ".join(f"{state} in {_where(states[state], columns)}" for state in order if state in states)


def render(path: str | Path) -> str:
    """The table for a terminal: ours ± spread (paper) in the paper's rows and columns, precision, and a reading.

    Rows are compared by the file beside it, <table>.significance.csv.
    """
    table, comparisons = read_csv(path), significance.read(Path(path).with_suffix(".significance.csv"))
    scale = table[0].scale
    budgets = _names(table, "budget")
    tests = {budget: _names([line for line in table if line.budget == budget], "test") for budget in budgets}
    head = [["", *(name for budget in budgets for name in (_budget(table, budget), *[""] * len(tests[budget])))]]
    head += [["BLEU: ours ± spread (paper)", *(name for budget in budgets for name in (*tests[budget], "precision"))]]
    body = []
    for label, group in groupby(table, key=lambda line: line.row_label):
        row = [short(label)]
        for _, cells in groupby(group, key=lambda line: line.budget):
            held = list(cells)
            row += [cell_text(line) for line in held] + [
                "" if held[0].precision is None else f"{held[0].precision:.1%}"
            ]
        body.append(row)
    widths = [max(map(len, column)) for column in zip(*head[1:], *body, strict=True)]
    rule = "-" * (sum(widths) + 2 * len(widths) - 2)
    texts = [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in (*head, *body)
    ]
    notes = [f"Note: {note}." for note in sorted({line.note for line in table if line.ours is not None} - {""})]
    warning = [] if scale == "paper" else [WARNING.format(scale)]
    title = f"{TITLE} ({scale} run)"
    return (
        "\n".join([title, rule, *texts[:2], rule, *texts[2:], rule, *reading(table, comparisons), *notes, *warning])
        + "\n"
    )


def _budget(table: Sequence[Line], budget: str) -> str:
    words = next((line.budget_words for line in table if line.budget == budget and line.budget_words), None)
    return f"{budget} words" + (f" (here {words:,})" if words else "")


def cell_text(line: Line) -> str:
    """Ours ± spread (paper), or why there is no number of ours."""
    paper = "" if line.paper is None else f" ({line.paper})"
    if line.ours is None:
        return (line.note or line.verdict) + paper
    spread = "" if line.spread is None else f" ± {line.spread:.2f}"
    return f"{line.ours:.2f}{spread}{paper}"


def to_html(
    table: Sequence[Line],
    selections: Sequence[Selection],
    comparisons: Sequence[Comparison],
    provenance: dict[str, Any],
) -> str:
    """The page: table, plots, composition of the selections, provenance; one file that needs nothing else."""
    import jinja2

    scale = table[0].scale
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bitextbench.report", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters["short"] = short
    rows = [(label, list(group)) for label, group in groupby(table, key=lambda line: line.row_label)]
    ranked = {row: index for index, row in enumerate(_names(table, "row"))}
    labels = sorted(
        {label for chosen in selections for label in chosen.words_by_label}, key=lambda name: (name != "parallel", name)
    )
    return environment.get_template("table2.html").render(
        title=TITLE, scale=scale, warning="" if scale == "paper" else WARNING.format(scale), reading=reading(table, comparisons),
        rows=rows, columns=rows[0][1], budgets={budget: _budget(table, budget) for budget in _names(table, "budget")},
        selections=sorted(selections, key=lambda s: (_names(table, "budget").index(s.budget), ranked[s.method])),
        row_labels={line.row: short(line.row_label) for line in table}, labels=labels,
        top=10 * math.ceil(max(max(float(line.paper or 0), line.high or 0.0) for line in table) / 10),
        signature=next(line.signature for line in table if line.signature),
        provenance=provenance,
    )  # fmt: skip
