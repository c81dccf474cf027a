"""The content of a run's folder results/<run>: everything that the report is made from, and what is missing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.json_yaml import read_json
from bitextbench.base.lines import read_lines
from bitextbench.base.progress import log
from bitextbench.evaluation import significance
from bitextbench.evaluation.curves import Threshold
from bitextbench.evaluation.selections import Step, read_distribution
from bitextbench.formats import records
from bitextbench.report import cells, encoders, filtering, measurements
from bitextbench.report.answers import Answer, borne_out
from bitextbench.report.audit import Judgement, Number, Tried
from bitextbench.report.cells import Cell
from bitextbench.report.claims import Key
from bitextbench.report.quality import Point
from bitextbench.report.references import PAPERS
from bitextbench.report.settings import Compared
from bitextbench.report.training import Trained, Validated

if TYPE_CHECKING:
    from pandas import DataFrame

FIGURE2 = "artetxe2019/figure2.csv"
TABLE2 = "kim2019/table2"
UNPRINTED = {  # tables that no paper has, and their headings
    "precision": "Precision at the budgets of Table 2",
    "quality": "Scores against labels: ROC-AUC and average precision",
}
Found = TypeVar("Found")


@dataclass(frozen=True)
class Missing:
    """A missing file, and what the report lacks without it."""

    path: str
    what: str


@dataclass(frozen=True)
class ReportTable:
    """A table of a paper or of the run; `csv` and `page` are relative to the run's folder; without `csv` it was not
    computed.
    """

    place: str
    csv: str
    page: str
    cells: list[Cell]

    @property
    def measurements(self) -> str:
        """The path of the measurements of a computed table, relative to the run's folder."""
        return f"measurements/{self.csv.removesuffix('csv')}json"


@dataclass(frozen=True)
class Run:
    """The content of a run's folder; the fields of missing files are empty."""

    name: str
    tables: dict[str, ReportTable]  # by place; those of papers, then the run's own
    numbers: list[Number]
    claims: list[Judgement]
    instances: list[Tried]
    settings: list[Compared]
    comparisons: list[significance.Comparison]
    selections: list[filtering.Selection]
    sweep: list[Step]
    distribution: "DataFrame | None"
    thresholds: list[Threshold]
    encoders: list[encoders.Retrieved]
    encoders_csv: str  # where they are from, relative to the run's folder
    trained: list[Trained]
    learning: list[Validated]
    roc: list[Point]
    rules: dict[str, Any]  # of the workflow: see `workflow.rule_graph`
    provenance: dict[str, Any]
    seeds: dict[Key, list[float]]  # our number of each seed, by cell
    examples: list[str]
    files: list[str]  # CSV and JSON
    missing: list[Missing]
    answers: list[Answer]  # of results/answers.yaml, those that rest on this run

    @property
    def scale(self) -> str:
        """The run's scale: tiny, small or paper; "" for a run without a table."""
        return next((cell.scale for table in self.tables.values() for cell in table.cells if cell.scale), "")


def name_of(csv: Path) -> str:
    """The run that a table belongs to, by its path: that of results/<run>/.../<table>.csv; "" for any other path."""
    folders = csv.absolute().parent.parts
    return next((run for above, run in reversed([*pairwise(folders)]) if above == "results"), "")


def load(folder: Path) -> Run:
    """Read a run's folder; the table of encoders also from that of its study, results/<run>-encoders.

    Raises InputError for a folder without a table, a file of another version, NaN, and a table at a wrong path.
    """
    missing: list[Missing] = []

    def held(name: str, read: Callable[[Path], Found], what: str, nothing: Found) -> Found:
        path = existing(folder) / name
        if not path.exists():
            missing.append(Missing(name, what))
            return nothing
        return read(path)

    def lines(name: str, kind: type[Found], kinds: str, what: str) -> list[Found]:
        return held(name, lambda path: records.read(path, kind, kinds), what, [])

    study = f"../{folder.resolve().name}-encoders/encoders.csv"  # config/<run>-encoders.yaml
    encoders_csv = study if not (folder / "encoders.csv").exists() and (folder / study).exists() else "encoders.csv"
    numbers = lines("audit.csv", Number, "an audit", "which numbers of the papers have ours beside them")
    tables = read_tables(folder)
    for path in foreign(folder):
        log(f"not in the report: {path}; PAPERS of src/bitextbench/report/references.py lacks {path.parent.name}")
    return Run(
        folder.resolve().name.replace("results", "paper"),  # the paper run has no folder of its own
        {table.place: table for table in sorted([*tables, *unread(numbers, tables)], key=_order)},
        numbers,
        lines("claims.csv", Judgement, "a table of claims", "which claims of the papers hold"),
        lines("instances.csv", Tried, "a table of instances", "the instances of the claims, their intervals"),
        lines("settings.csv", Compared, "a table of settings", "which settings are as in the papers"),
        held("table2.significance.csv", significance.read, "rows of Table 2 against each other, in pairs", []),
        held("table2.selections.csv", filtering.read_selections, "what each row of Table 2 selected", []),
        lines("sweep.csv", Step, "a sweep over thresholds", "precision by size of the selection"),
        held("distribution.csv", read_distribution, "how each method distributes its scores", None),
        lines(FIGURE2, Threshold, "a figure of thresholds", "BLEU by number of selected pairs"),
        held(encoders_csv, encoders.read, "cost and quality of the encoders", []),
        encoders_csv,
        lines("training.csv", Trained, "a table of trainings", "what training the encoders cost"),
        lines("learning.csv", Validated, "a table of learning curves", "how the encoders came to learn"),
        lines("roc.csv", Point, "a table of ROC curves", "ROC curves of the scorers"),
        held("rules.json", read_rules, "the rules of the workflow, and what each hands to which", {}),
        held("table2.provenance.json", read_provenance, "configuration, versions, hardware, time and memory", {}),
        held("measurements", read_seeds, "the numbers of single seeds, and what the claims can be judged by again", {}),
        within(folder, ".md"),
        within(folder, ".csv", ".json"),
        missing,
        borne_out(folder.resolve().parent / "answers.yaml", folder.resolve().name),
    )


def read_seeds(folder: Path) -> dict[Key, list[float]]:
    """Our number of each seed, by cell, in the order of seeds. Raises InputError as `measurements.load` does."""
    numbers: dict[Key, list[float]] = {}
    for path in sorted(folder.rglob("*.json")):
        place, lines = measurements.load(path)
        for one in sorted(lines, key=lambda line: line.seed):
            numbers.setdefault((place, one.row, one.column), []).append(one.value)
    return numbers


def within(folder: Path, *suffixes: str) -> list[str]:
    """The files of a run by their suffix, relative to its folder."""
    files = [path for path in (*folder.glob("*"), *folder.glob("*/*")) if path.suffix in suffixes]
    return sorted(
        path.relative_to(folder).as_posix() for path in files if path.parent == folder or path.parent.name in PAPERS
    )


def read_tables(folder: Path) -> list[ReportTable]:
    """The computed tables, the papers' and the run's own, at least one. Raises InputError as `load` does."""
    files = [path for paper in PAPERS for path in sorted((folder / paper).glob("*.csv"))]
    of_papers = [path for path in files if path != folder / FIGURE2 and not path.name.endswith(".significance.csv")]
    unprinted = [folder / f"{name}.csv" for name in UNPRINTED]
    there = [path for path in [existing(folder) / "table2.csv", *of_papers, *unprinted] if path.exists()]
    if not there:
        raise InputError(
            "no table of a run in this folder",
            folder,
            remedy="name the folder of a run, such as results/small; its report also has the study of its encoders",
        )
    return [read_table(folder, path) for path in there]


def foreign(folder: Path) -> list[Path]:
    """The tables of papers that PAPERS lacks. A table of another run, whose folder lies in this one, has another place."""
    others = [path for path in sorted(folder.glob("*/*.csv")) if path.parent.name not in PAPERS]
    return [path for path in others if _first(path).startswith(f"{path.parent.name}/{path.stem},")]


def _first(path: Path) -> str:
    """The line below the head of a CSV file."""
    return "".join(islice(read_lines(path), 1, 2))


def _order(table: ReportTable) -> tuple[int, bool, str]:
    """The sorting key of a table: paper by paper, tables before sections and figures; then the run's own tables."""
    paper, _, name = table.place.partition("/")
    papers = list(PAPERS)
    return papers.index(paper) if paper in papers else len(papers), not name.startswith("table"), name


def read_table(folder: Path, path: Path) -> ReportTable:
    """Read one table. Raises InputError if it is empty or belongs to another path."""
    csv, lines = path.relative_to(folder).as_posix(), cells.read(path)
    place = TABLE2 if csv == "table2.csv" else csv.removesuffix(".csv")
    if {cell.paper_table for cell in lines} != {place}:
        names = ", ".join(sorted({cell.paper_table for cell in lines})) or "no cell"
        raise InputError(f"holds {names}, not {place}", path, remedy="make the table again")
    return ReportTable(place, csv, csv.removesuffix("csv") + "html", lines)


def unread(numbers: Sequence[Number], tables: Sequence[ReportTable]) -> list[ReportTable]:
    """The tables that were not computed: the audit has the paper's numbers alone."""
    computed = {table.place for table in tables}
    cells_of: dict[str, list[Cell]] = {}
    for number in numbers:
        if number.place not in computed:
            cell = Cell(number.place, number.row, number.row_label, number.column, paper=Decimal(number.printed))
            cells_of.setdefault(number.place, []).append(cell)
    return [ReportTable(place, "", f"{place}.html", held) for place, held in cells_of.items()]


def read_rules(path: Path) -> dict[str, Any]:
    """Raises InputError for another JSON file."""
    graph = read_json(path)
    if not isinstance(graph, dict) or graph.keys() != {"jobs", "steps", "edges"}:
        raise InputError("not a graph of rules of this version", path, remedy="start the run again")
    return graph


def read_provenance(path: Path) -> dict[str, Any]:
    """Raises InputError for another JSON file."""
    facts = read_json(path)
    if not isinstance(facts, dict) or not {"config", "packages", "rules", "hardware"} <= facts.keys():
        raise InputError("not a provenance of this version", path, remedy="make the table again")
    return facts
