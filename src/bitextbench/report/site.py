"""The report of a run: self-contained HTML pages, made from the files in results/<run> alone (`run`)."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from bitextbench.base.outputs import atomic
from bitextbench.config import FIGURE4
from bitextbench.report import encoders, filtering, plots, settings
from bitextbench.report.audit import DECIDED, NOT_COMPARABLE, NOT_RUN, OUT, Judgement, Tried
from bitextbench.report.cells import WARNING, Cell, short
from bitextbench.report.claims import CELL, Key
from bitextbench.report.references import PAPERS, title
from bitextbench.report.run import FIGURE2, OWN, TABLE2, ReportTable, Run, load, place_of
from bitextbench.report.table import first_level, groups, names, rows_of

CHANGED = "{} files of its data are not the publishers', but those of a mirror with other content: no result of this run counts."
MENU = {
    "Overview": "index.html", "Claims": "claims.html", "Tables": "index.html#tables", "Encoders": "encoders.html",
    "Filtering": "filtering.html", "Settings": "settings.html", "Provenance": "provenance.html",
}  # fmt: skip
VERDICTS = {
    "holds": "in most comparisons, at a false discovery rate of 5% over the claims of the run",
    "fails": "in most comparisons, at the same rate",
    "mixed": "it holds in some comparisons and fails in others, at the same rate",
    "level": "in most comparisons the difference is smaller than the metric's margin, in either direction",
    "undecided": "the intervals are too wide",
    OUT: "every comparison has a number of ours that is far from the paper's: shown, but not counted",
    NOT_COMPARABLE: "states the paper's own figures",
    NOT_RUN: "a table that it needs was not computed",
}
MANY = {
    "holds": "hold",
    "fails": "fail",
    "yes": "as in the paper",
    "no": "different, with a reason",
}
STATES = {
    "holds": "holds, or reproduced",
    "fails": "fails, or differs",
    "level": "level: no difference as large as the margin",
    "undecided": "undecided",
    "out-of-regime": "far from the paper's number, or compared with such a number",
    "computed": "computed; no claim depends on it",
    "not-run": "not computed in this run",
}


ABOUT = {  # what the rows of tables are that no paper has
    "precision": "The share of good words among the words that a method selects. Rows negatives-* are the MLP with the negatives of Table 5 of Kim et al. 2019.",
    "quality": "ROC-AUC is 50 for a random score. The rows human_* are releases of ParaCrawl with the labels of people. A row that names a fault, such as misaligned, compares good pairs with bad pairs of that kind alone.",
}

COLOURS = 8  # of the style sheet


def write(folder: Path) -> str:
    """Write the pages into the run's folder; returns a sentence on them.

    Raises InputError as `run.load` does; then nothing is written.
    """
    run = load(folder)
    made = Site(run).pages()
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic(folder / name) as part:
            part.write_text(text, encoding="utf-8")
    return f"the report: {folder / 'index.html'}, {len(made)} pages"


class Site:
    """The pages of a run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        changed = sum(file.get("checksum") == "changed" for file in run.provenance.get("data", []))
        scale = WARNING.format(run.scale) if run.scale not in ("", "paper") else ""
        self.warning = " ".join(filter(None, [scale, CHANGED.format(changed) if changed else ""]))
        self.environment = jinja2.Environment(
            loader=jinja2.PackageLoader("bitextbench.report"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self.environment.filters.update(
            short=short, place=title, seconds=duration, p=probability, settings_summary=settings.summary
        )

    def pages(self) -> dict[str, str]:
        """The text of each page, by its path in the run's folder: of what the run has."""
        computed = [table for table in self.run.tables.values() if table.csv]
        makers = {page: make for page, make in self.others.items() if page in self.menu.values()}
        return {
            "index.html": self.entrance(),
            **{table.page: self.table(table) for table in computed},
            **{page: make() for page, make in makers.items()},
        }

    @property
    def others(self) -> dict[str, Callable[[], str]]:
        """What makes each page but the entrance and the tables'."""
        return {
            "claims.html": self.claims,
            "encoders.html": self.encoders,
            "filtering.html": self.filtering,
            "settings.html": self.settings,
            "provenance.html": self.provenance,
        }

    @cached_property
    def menu(self) -> dict[str, str]:
        """MENU without the pages for which the run has no data."""
        run = self.run
        data = {
            "claims.html": run.claims,
            "encoders.html": run.encoders or run.learning or run.trained or FIGURE4 in run.tables,
            "filtering.html": run.sweep or run.roc or run.thresholds or set(OWN) & run.tables.keys(),
            "settings.html": run.settings,
            "provenance.html": run.provenance,
        }
        return {name: page for name, page in MENU.items() if data.get(page, True)}

    def page(self, template: str, name: str, heading: str, **parts: Any) -> str:
        """A page from a template; `name` is its path in the run's folder."""
        return self.environment.get_template(template).render(
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
        placed = {place_of(number) for number in self.run.numbers}
        maps = {
            paper: [self.map(place) for place in self.run.tables if place in placed and place.startswith(f"{paper}/")]
            for paper in PAPERS
        }
        return self.page(
            "index.html",
            "index.html",
            f"What works, and do the published numbers hold? The {self.run.name} run",
            sentence=self.sentence(),
            cards=self.cards(),
            decided={verdict: [one for one in self.run.claims if one.verdict == verdict] for verdict in DECIDED},
            meanings=VERDICTS,
            states=STATES,
            maps={paper: held for paper, held in maps.items() if held},
            placed=placed,
        )

    def sentence(self) -> str:
        """A sentence on the run."""
        number = sum(bool(table.csv) for table in self.run.tables.values())
        return (
            f"The {self.run.name} run has {number} tables. Each of our numbers stands next to the paper's, with a 95% interval,"
            " and each claim that a paper makes in words is tested on ours."
        )

    def cards(self) -> list[dict[str, Any]]:
        """The cards of the entrance page: counts of numbers, claims and settings."""
        numbers = Counter(sorted((number.verdict for number in self.run.numbers), key=lambda name: name == "not run"))
        settings = self.run.settings if self.run.scale == "paper" else []  # they are those of the paper scale
        same = Counter(line.equal for line in settings if line.equal)
        cards = [
            card(
                "Numbers",
                numbers.total() - numbers["not run"],
                numbers,
                "of the papers' numbers have one of ours next to them",
                "#tables",
                "All tables",
            ),
            card(
                "Claims",
                sum(claim.in_regime for claim in self.run.claims),
                self.counts,
                "of the papers' claims are decided in the papers' regime",
                "claims.html",
                "All claims",
            ),
            card(
                "Settings",
                same["yes"],
                {name: same[name] for name in ("yes", "no") if same[name]},
                "are configured as in the papers",
                "settings.html",
                "All settings",
            ),
        ]
        return [one for one in cards if one["total"]]

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of claims with each verdict that any has, in the order of VERDICTS."""
        found = Counter(claim.verdict for claim in self.run.claims)
        return {name: found[name] for name in VERDICTS if found[name]}

    @cached_property
    def instances(self) -> dict[str, list[Tried]]:
        held: dict[str, list[Tried]] = {}
        for tried in self.run.instances:
            held.setdefault(tried.claim, []).append(tried)
        return held

    @cached_property
    def states(self) -> dict[Key, str]:
        """A mark for each number of the papers (STATES)."""
        verdicts: dict[Key, Counter[str]] = {}
        for tried in self.run.instances:
            if (mark := tried.verdict.replace(" ", "-")) in STATES:
                for key in set(cells_of(tried)):
                    verdicts.setdefault(key, Counter())[mark] += 1
        return {
            key: state(number.verdict, verdicts.get(key, Counter()))
            for number in self.run.numbers
            for key in [(place_of(number), number.row, number.column)]
        }

    def map(self, place: str) -> dict[str, Any]:
        """A table as a map of squares: the column, row and state of each."""
        held = [(row, column, mark) for (table, row, column), mark in self.states.items() if table == place]
        rows, columns = (list(dict.fromkeys(one[axis] for one in held)) for axis in (0, 1))
        counts = Counter(mark for *_, mark in held)
        said = ", ".join(f"{counts[mark]} {mark.replace('-', ' ')}" for mark in STATES if counts[mark])
        return {
            "page": self.run.tables[place].page if self.run.tables[place].csv else "",
            "name": title(place).partition(", ")[2],
            "rows": len(rows),
            "columns": len(columns),
            "squares": [
                (columns.index(column), rows.index(row), mark, f"{row}, {column}: {STATES[mark]}")
                for row, column, mark in held
            ],
            "said": f"{title(place)}: {said}",
        }

    # ---- claims

    def claims(self) -> str:
        order = [*VERDICTS]
        claims = sorted(self.run.claims, key=lambda claim: order.index(claim.verdict))
        return self.page(
            "claims.html",
            "claims.html",
            "Claims",
            sentence=f"Of {len(claims)} claims that the papers make in words, {counted(self.counts)}.",
            groups={
                verdict: [self.claim(one) for one in held] for verdict, held in groupby(claims, attrgetter("verdict"))
            },
            links=self.links,
            code=code,
            meanings=VERDICTS,
            counts=self.counts,
            shown_papers=list(dict.fromkeys(claim.paper for claim in self.run.claims)),
        )

    def claim(self, claim: Judgement) -> dict[str, Any]:
        """A claim with its instances, those that ran and the others, and half the width of their plot."""
        held = self.instances.get(claim.claim, [])
        done = [one for one in held if one.slack is not None and one.low is not None]
        ends = [abs(end) for one in done for end in (one.low, one.high, one.slack, one.paper_slack) if end is not None]
        return {
            "claim": claim,
            "run": done,
            "rest": [one for one in held if one.low is None],
            "score": score(claim),
            "reach": max(ends, default=0.0) or 1.0,
        }

    def links(self, tried: Tried) -> list[dict[str, str]]:
        """The cells that an instance uses, each with a link to its place in a page."""
        return [
            {"href": self.places.get(key, "index.html#tables"), "text": f"{key[1]}, {key[2]}"}
            for key in cells_of(tried)
        ]

    @cached_property
    def places(self) -> dict[Key, str]:
        """The page and anchor of each cell."""
        return {
            (
                table.place,
                cell.row,
                cell.column,
            ): f"{table.page}#c{rows.index(cell.row_label)}-{columns.index(cell.column)}"
            for table in self.run.tables.values()
            if table.csv
            for rows, columns in [(names(table.cells, "row_label"), names(table.cells, "column"))]
            for cell in table.cells
        }

    # ---- tables

    def table(self, table: ReportTable) -> str:
        """The page of a table."""
        cells, paper = table.cells, table.place.partition("/")[0] if table.place.partition("/")[0] in PAPERS else ""
        levels = groups(cells)
        done = _numbered(cells)
        units = {n.column: n.unit for n in self.run.numbers if place_of(n) == table.place}
        ids = re.sub(r"\W", "", table.place)
        return self.page(
            "table.html",
            table.page,
            OWN.get(table.place, title(table.place)),
            about=ABOUT.get(table.place, ""),
            paper=paper,
            csv=table.csv,
            said=f"{len(done)} of {len(cells)} numbers are ours." if table.csv else "",
            units=", ".join(dict.fromkeys(units.values())),
            seeds=max((cell.seeds for cell in done), key=len, default=""),
            rows=rows_of(cells),
            columns=names(cells, "column"),
            levels=any("/" in cell.column for cell in cells),
            groups={first_level(cells, group): held for group, held in levels.items()},
            dots=plots.margin_curves(cells, f"{ids}d")
            if table.place == FIGURE4
            else plots.dots(cells, units, f"{ids}d", self.run.seeds),
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
        held = {one.claim for one in self.run.instances if any(key[0] == place for key in cells_of(one))}
        return [claim for claim in self.run.claims if claim.claim in held]

    def selected(self, table: ReportTable) -> dict[str, Any]:
        """The sentences of a filtering table, and the selections of its rows."""
        if table.place != TABLE2:
            return {"reading": [], "selections": []}
        done = any(cell.ours is not None for cell in table.cells)
        said = filtering.reading(table.cells, self.run.comparisons) if done and self.run.comparisons else []
        return selection_parts(table.cells, self.run.selections) | {"reading": nested(said)}

    # ---- other pages

    def encoders(self) -> str:
        head, *lines = encoders.cells(self.run.encoders) if self.run.encoders else [[]]
        return self.page(
            "encoders.html",
            "encoders.html",
            "Encoders",
            head=head,
            lines=lines,
            figure4=f"{FIGURE4}.csv",
            learning=plots.learning_curves(self.run.learning, "learning") if self.run.learning else "",
            trainings=plots.training_costs(self.run.trained, "trainings") if self.run.trained else "",
            picture=plots.costs(self.run.encoders, "costs") if self.run.encoders else "",
            margins=plots.margin_curves(self.run.tables[FIGURE4].cells, "margins")
            if FIGURE4 in self.run.tables
            else "",
        )

    def filtering(self) -> str:
        pictures = [(place, text, self.picture(place)) for place, text in OWN.items()]
        return self.page(
            "filtering.html",
            "filtering.html",
            "Filtering",
            curves=plots.precision_curves(self.run.sweep, "sweep"),
            distribution=plots.distribution_curves(curves, "distribution")
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
            "settings.html",
            "Settings",
            settings={paper: lines for paper, lines in papers.items() if lines},
            sentence=f"{same} of {len(judged)} settings that the papers state are configured as in the paper; {len(judged) - same} are not, each for a reason.",
        )

    def provenance(self) -> str:
        facts = self.run.provenance
        return self.page(
            "provenance.html",
            "provenance.html",
            "Provenance",
            facts=facts,
            files=self.run.files,
            **summary(facts),
            graph=plots.rule_graph(**self.run.rules, name="rules") if self.run.rules else "",
        )


def counted(counts: Mapping[str, int]) -> str:
    """Counts in words: "24 hold, 12 undecided"."""
    return ", ".join(f"{number} {MANY.get(verdict, verdict)}" for verdict, number in counts.items())


def card(name: str, count: int, counts: Mapping[str, int], what: str, page: str, link: str) -> dict[str, Any]:
    """A card of the entrance page: a count and its total."""
    return {
        "name": name,
        "count": count,
        "total": sum(counts.values()),
        "counts": counts,
        "what": what,
        "said": counted(counts),
        "page": page,
        "link": link,
    }


def state(verdict: str, claims: Counter[str]) -> str:
    """The mark of a number (STATES)."""
    if verdict in ("reproduced", "differs"):
        return "holds" if verdict == "reproduced" else "fails"
    if verdict == NOT_RUN:
        return "not-run"
    (first, most), (_, second) = [*claims.most_common(2), ("computed", 0), ("", 0)][:2]
    return "undecided" if most == second else first


def code(claim: Judgement) -> str:
    """The predicate of a claim, with its variables in capitals."""
    return re.sub(r"\{(\w+)\}", lambda name: name[1].upper(), claim.predicate)


def score(claim: Judgement) -> str:
    """The number of instances in which a claim holds, of those that count."""
    done = claim.holds + claim.fails + claim.level + claim.undecided
    return f"holds in {claim.holds} of {done}" if done else ""


def nested(sentences: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Each sentence with the indented ones that follow it."""
    held: list[tuple[str, list[str]]] = []
    for sentence in sentences:
        if sentence.startswith(" "):
            held[-1][1].append(sentence.strip())
        else:
            held.append((sentence, []))
    return held


def cells_of(tried: Tried) -> list[Key]:
    """The cells that an instance uses."""
    return [(place.strip(), row.strip(), column.strip()) for place, row, column in CELL.findall(tried.cells)]


def turned(cell: Cell) -> Cell:
    """The cell with its row and column exchanged."""
    return replace(cell, row=cell.column, row_label=cell.column, column=cell.row)


class Notes(NamedTuple):
    """The notes of a table, each at the widest place of which all numbers have it: the table, a row, a column, a cell."""

    of_table: list[str]
    of_rows: dict[str, list[str]]
    of_columns: dict[str, list[str]]

    def of_cell(self, cell: Cell) -> list[str]:
        """What is left to say in the cell itself."""
        said = [self.of_table, self.of_rows.get(cell.row_label, []), self.of_columns.get(cell.column, [])]
        return [note for note in cell.notes if not any(note in place for place in said)]


def notes(cells: Sequence[Cell]) -> Notes:
    """The notes of cells. Cells without a number count only where a row or a column has no other."""
    made = Notes(_shared(_numbered(cells)), {}, {})
    for found, field in ((made.of_rows, "row_label"), (made.of_columns, "column")):
        for name in names(cells, field):
            held = [cell for cell in cells if getattr(cell, field) == name]
            said = _numbered(held) or held
            found[name] = [note for note in _shared(said) if note in made.of_cell(said[0])] if len(said) > 1 else []
    return made


def _numbered(cells: Sequence[Cell]) -> list[Cell]:
    """The cells that have a number of ours."""
    return [cell for cell in cells if cell.ours is not None]


def _shared(cells: Sequence[Cell]) -> list[str]:
    """The notes that all cells have, in the order of the first."""
    return [note for note in cells[0].notes if all(note in cell.notes for cell in cells)] if cells else []


def selection_parts(cells: Sequence[Cell], selections: Sequence[filtering.Selection]) -> dict[str, Any]:
    """The selections for a page, sorted by budget and row."""
    levels, rows = [*groups(cells)], names(cells, "row")
    words = sum((Counter(chosen.words_by_label) for chosen in selections), Counter[str]())
    kinds = [
        label
        for label, _ in sorted(words.items(), key=lambda one: (one[0] != "parallel", one[0] != "", -one[1], one[0]))
    ]
    few = kinds[COLOURS - 1 :] if len(kinds) > COLOURS else []
    return {
        "selections": [
            replace(chosen, words_by_label=joined(chosen.words_by_label, few))
            for chosen in sorted(selections, key=lambda one: (levels.index(one.budget), rows.index(one.method)))
        ],
        "budgets": {group: first_level(cells, group) for group in levels},
        "row_labels": {cell.row: short(cell.row_label) for cell in cells},
        "labels": [label for label in kinds if label not in few] + ([f"{len(few)} other kinds"] if few else []),
    }


def joined(words_by_label: Mapping[str, int], few: Sequence[str]) -> dict[str, int]:
    """The words by label, those of `few` together."""
    held = {label: count for label, count in words_by_label.items() if label not in few}
    rest = sum(count for label, count in words_by_label.items() if label in few)
    return held | ({f"{len(few)} other kinds": rest} if few else {})


def summary(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The provenance as a sentence and a few lines."""
    if not facts:
        return {"sentence": "", "summary": {}}
    spent, code, machine = (facts.get(name, {}) for name in ("time_and_memory", "code", "hardware"))
    sentence = f"{spent.get('jobs', 0):,} jobs, {duration(spent.get('wall_s_sum'))} of work, at most {spent.get('max_rss_mb') or 0:,.0f} MB in one job."
    changed = " with changes" if code.get("dirty") else ""
    lines = {
        "bitextbench": code.get("bitextbench"),
        "commit": f"{code.get('commit')}{changed}",
        "processor": machine.get("cpu"),
        "cores": machine.get("cores"),
        "memory": f"{machine.get('memory_gib')} GiB",
        "GPUs": machine.get("gpus"),
        "system": machine.get("system"),
        "configuration": f"SHA-256 {facts.get('config_sha256')}",
        "signature": facts.get("signature"),
    }
    return {"sentence": sentence, "summary": lines}


def duration(seconds: float | None) -> str:
    """A time in seconds as text: 47 s, 12 min, 3.6 h."""
    if seconds is None:
        return "–"
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )


def probability(value: float | None) -> str:
    return "" if value is None else "< 0.001" if value < 0.0005 else f"{value:.3f}"
