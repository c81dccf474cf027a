"""The report of a run: self-contained HTML pages, made from the files in results/<run> alone (`run`)."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import jinja2

from bitextbench.base.outputs import write_text
from bitextbench.config import FIGURE4
from bitextbench.report import encoders, filtering, maps, plots, sentences, settings
from bitextbench.report.audit import DECIDED, Judgement, Tried
from bitextbench.report.cells import Cell, short
from bitextbench.report.claims import Key
from bitextbench.report.notes import notes, numbered
from bitextbench.report.references import PAPERS, title
from bitextbench.report.run import FIGURE2, TABLE2, UNPRINTED, ReportTable, Run, load
from bitextbench.report.table import budgets, first_level, groups, names, rows_of

MENU = {
    "Overview": "index.html", "Claims": "claims.html", "Tables": "index.html#tables", "Encoders": "encoders.html",
    "Filtering": "filtering.html", "Settings": "settings.html", "Provenance": "provenance.html",
}  # fmt: skip


def write(folder: Path) -> str:
    """Write the pages into the run's folder; returns a sentence on them.

    Raises InputError as `run.load` does; then nothing is written.
    """
    run = load(folder)
    made = Site(run).pages()
    for name, text in made.items():
        write_text(folder / name, text)
    return f"the report: {folder / 'index.html'}, {len(made)} pages"


def templates() -> jinja2.Environment:
    """The templates of pages."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("bitextbench.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


class Site:
    """The pages of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.warning = sentences.warning(run)
        self.states = maps.states(run)
        self.words = budgets([cell for table in run.tables.values() for cell in table.cells])
        self.environment = templates()
        self.environment.filters.update(
            short=short,
            place=title,
            seconds=sentences.duration,
            p=sentences.probability,
            counted=sentences.counted,
            settings_summary=settings.summary,
        )

    def pages(self) -> dict[str, str]:
        """The text of each page, by its path in the run's folder: of what the run has."""
        computed = [table for table in self.run.tables.values() if table.csv]
        return {
            "index.html": self.entrance(),
            **{table.page: self.table(table) for table in computed},
            **{page: make() for page, make in self.others.items()},
        }

    @cached_property
    def others(self) -> dict[str, Callable[[], str]]:
        """What makes each page but the entrance and the tables', of those for which the run has data."""
        run = self.run
        learned = run.encoders or run.learning or run.trained or FIGURE4 in run.tables
        selected = run.sweep or run.roc or run.thresholds or set(UNPRINTED) & run.tables.keys()
        makers: dict[str, tuple[Callable[[], str], Any]] = {
            "claims.html": (self.claims, run.claims),
            "encoders.html": (self.encoders, learned),
            "filtering.html": (self.filtering, selected),
            "settings.html": (self.settings, run.settings),
            "provenance.html": (self.provenance, run.provenance),
        }
        return {page: make for page, (make, data) in makers.items() if data}

    @cached_property
    def menu(self) -> dict[str, str]:
        """MENU without the pages for which the run has no data."""
        return {name: page for name, page in MENU.items() if page in self.others or page.startswith("index.html")}

    def page(self, name: str, heading: str, template: str = "", **parts: Any) -> str:
        """A page from a template, which has its name unless another is given; `name` is its path in the run's folder."""
        return self.environment.get_template(template or name).render(
            run=self.run,
            menu=self.menu,
            here=name,
            root="../" * name.count("/"),
            title=heading,
            warning=self.warning,
            papers=PAPERS,
            **parts,
        )

    # ---- the entrance

    def entrance(self) -> str:
        placed = {number.place for number in self.run.numbers}
        numbers = [number.verdict for number in self.run.numbers]
        settings = self.run.settings if self.run.scale == "paper" else []  # they are those of the paper scale
        squares = {
            paper: [
                maps.squares(table, self.states)
                for place, table in self.run.tables.items()
                if place in placed and place.startswith(f"{paper}/")
            ]
            for paper in PAPERS
        }
        return self.page(
            "index.html",
            f"What works, and do the published numbers hold? The {self.run.name} run",
            sentence=sentences.about(self.run),
            numbers=Counter(sorted(numbers, key=lambda verdict: verdict == "not run")),
            counts=self.counts,
            settings=Counter(sorted((line.equal for line in settings if line.equal), reverse=True)),
            decided={verdict: [one for one in self.run.claims if one.verdict == verdict] for verdict in DECIDED},
            meanings=sentences.VERDICTS,
            states=maps.STATES,
            maps={paper: held for paper, held in squares.items() if held},
            placed=placed,
        )

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of claims with each verdict that any has, in the order of sentences.VERDICTS."""
        found = Counter(claim.verdict for claim in self.run.claims)
        return {name: found[name] for name in sentences.VERDICTS if found[name]}

    # ---- claims

    def claims(self) -> str:
        order = [*sentences.VERDICTS]
        claims = sorted(self.run.claims, key=lambda claim: order.index(claim.verdict))
        return self.page(
            "claims.html",
            "Claims",
            sentence=f"Of {len(claims)} claims that the papers make in words, {sentences.counted(self.counts)}.",
            groups={
                verdict: [self.claim(one) for one in held] for verdict, held in groupby(claims, attrgetter("verdict"))
            },
            links=self.links,
            code=sentences.code,
            meanings=sentences.VERDICTS,
            counts=self.counts,
            shown_papers=list(dict.fromkeys(claim.paper for claim in self.run.claims)),
        )

    def claim(self, claim: Judgement) -> dict[str, Any]:
        """A claim with its instances, those that ran and the others, and half the width of their plot."""
        held = [one for one in self.run.instances if one.claim == claim.claim]
        done = [one for one in held if one.slack is not None and one.low is not None]
        ends = [abs(end) for one in done for end in (one.low, one.high, one.slack, one.paper_slack) if end is not None]
        return {
            "claim": claim,
            "run": done,
            "rest": [one for one in held if one.low is None],
            "score": sentences.score(claim),
            "reach": max(ends, default=0.0) or 1.0,
        }

    def links(self, tried: Tried) -> list[dict[str, str]]:
        """The cells that an instance uses, each with a link to its place in a page."""
        return [
            {"href": self.places.get(key, "index.html#tables"), "text": f"{key[1]}, {key[2]}"}
            for key in maps.cells_of(tried)
        ]

    @cached_property
    def places(self) -> dict[Key, str]:
        """The page and anchor of each cell."""
        found = {}
        for table in filter(attrgetter("csv"), self.run.tables.values()):
            rows, columns = names(table.cells, "row_label"), names(table.cells, "column")
            for cell in table.cells:
                place = f"{table.page}#c{rows.index(cell.row_label)}-{columns.index(cell.column)}"
                found[table.place, cell.row, cell.column] = place
        return found

    # ---- tables

    def table(self, table: ReportTable) -> str:
        """The page of a table."""
        cells, paper = table.cells, table.place.partition("/")[0] if table.place.partition("/")[0] in PAPERS else ""
        levels = groups(cells)
        done = numbered(cells)
        units = {n.column: n.unit for n in self.run.numbers if n.place == table.place}
        ids = re.sub(r"\W", "", table.place)
        return self.page(
            table.page,
            UNPRINTED.get(table.place, title(table.place)),
            "table.html",
            about=sentences.ABOUT.get(table.place, ""),
            paper=paper,
            csv=table.csv,
            said=f"{len(done)} of {len(cells)} numbers are ours." if table.csv else "",
            units=", ".join(dict.fromkeys(units.values())),
            seeds=max((cell.seeds for cell in done), key=len, default=""),
            rows=rows_of(cells),
            columns=names(cells, "column"),
            levels=any("/" in cell.column for cell in cells),
            groups={first_level(group, self.words): held for group, held in levels.items()},
            curves=plots.margin_curves(cells, f"{ids}d") if table.place == FIGURE4 else "",
            dots="" if table.place == FIGURE4 else plots.dots(cells, units, f"{ids}d", self.run.seeds),
            single=any(plots.singly(cell, self.run.seeds) for cell in done),
            measured=table.measurements if table.place in self.measured else "",
            slopes=plots.slopes(cells, f"{ids}s"),
            claims=self.resting(table.place),
            signatures=names([cell for cell in done if cell.signature], "signature"),
            notes=notes(cells),
            **self.selected(table),
        )

    @cached_property
    def measured(self) -> set[str]:
        """The tables whose measurements are there."""
        return {place for place, _, _ in self.run.seeds}

    def resting(self, place: str) -> list[Judgement]:
        """The claims that use cells of a table."""
        held = {one.claim for one in self.run.instances if any(key[0] == place for key in maps.cells_of(one))}
        return [claim for claim in self.run.claims if claim.claim in held]

    def selected(self, table: ReportTable) -> dict[str, Any]:
        """The sentences of a filtering table, and the selections of its rows."""
        if table.place != TABLE2:
            return {"reading": [], "selections": []}
        done = any(cell.ours is not None for cell in table.cells)
        said = filtering.reading(table.cells, self.run.comparisons) if done and self.run.comparisons else []
        return filtering.selection_parts(table.cells, self.run.selections) | {"reading": sentences.nested(said)}

    # ---- other pages

    def encoders(self) -> str:
        head, *lines = encoders.cells(self.run.encoders) if self.run.encoders else [[]]
        tests = {test: [[name, *rest] for name, _, *rest in held] for test, held in groupby(lines, itemgetter(1))}
        return self.page(
            "encoders.html",
            "Encoders",
            head=head[2:],
            tests=tests,
            figure4=f"{FIGURE4}.csv",
            learning=plots.learning_curves(self.run.learning, "learning") if self.run.learning else "",
            trainings=plots.training_costs(self.run.trained, "trainings") if self.run.trained else "",
            picture=plots.costs(self.run.encoders, "costs", page=True) if self.run.encoders else "",
            margins=plots.margin_curves(self.run.tables[FIGURE4].cells, "margins")
            if FIGURE4 in self.run.tables
            else "",
        )

    def filtering(self) -> str:
        pictures = [(place, text, self.picture(place)) for place, text in UNPRINTED.items()]
        return self.page(
            "filtering.html",
            "Filtering",
            curves=plots.precision_curves(self.run.sweep, "sweep", page=True),
            distribution=plots.distribution_curves(curves, "distribution", page=True)
            if (curves := self.run.distribution) is not None
            else "",
            thresholds=plots.threshold_curve(self.run.thresholds, "thresholds") if self.run.thresholds else "",
            figure2=FIGURE2,
            roc=plots.roc_curves(self.run.roc, "roc") if self.run.roc else "",
            pictures=pictures,
        )

    def picture(self, place: str) -> str:
        """The dot plot of a table of the run's own (of `quality` without the kinds of noise); "" for a missing table."""
        held = self.run.tables[place].cells if place in self.run.tables else []
        whole = [turned(cell) for cell in held if "ROC-AUC, " not in cell.row] if place == "quality" else held
        return plots.dots(whole, {}, place, {}) if whole else ""

    def settings(self) -> str:
        papers = {paper: [line for line in self.run.settings if line.paper == paper] for paper in PAPERS}
        judged = [line for line in self.run.settings if line.equal]
        same = sum(line.equal == "yes" for line in judged)
        return self.page(
            "settings.html",
            "Settings",
            settings={paper: lines for paper, lines in papers.items() if lines},
            sentence=f"{same} of {len(judged)} settings that the papers state are configured as in the paper; {len(judged) - same} are not, each for a reason.",
        )

    def provenance(self) -> str:
        facts = self.run.provenance
        return self.page(
            "provenance.html",
            "Provenance",
            facts=facts,
            files=self.run.files,
            **sentences.provenance(facts),
            graph=plots.rule_graph(**self.run.rules, name="rules") if self.run.rules else "",
        )


def turned(cell: Cell) -> Cell:
    """The cell with its row and column exchanged."""
    return replace(cell, row=cell.column, row_label=cell.column, column=cell.row)
