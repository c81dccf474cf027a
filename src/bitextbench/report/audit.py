"""The audit: every number and every claim of the papers beside the results of a run.

`audit.csv` has a line for each number in the folder of references, with ours and a verdict:

| verdict | meaning |
|---|---|
| reproduced | our interval contains a number that rounds to the paper's |
| differs | our interval contains no such number |
| scale not comparable | the run has other data, models or budgets than the paper |
| not run | no table of the run has the number |

`claims.csv` has a line for each entry of claims.yaml: whether the claim holds, fails, is smaller or undecided on our
numbers (`evidence` decides by draws of the cells), and whether it holds on the paper's printed numbers. `instances.csv` has a
line for each instance of a claim. A claim that quotes figures of the paper is judged at paper scale alone.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

from bitextbench.base.errors import InputError
from bitextbench.base.outputs import atomic
from bitextbench.report import claims, draws, measurements, references
from bitextbench.report.cells import Cell, read_csv
from bitextbench.report.claims import Claim, Instance, Interval, Key, Verdict
from bitextbench.report.draws import DRAWS, Draws
from bitextbench.report.evidence import SURE, Evidence, adjusted, of, printed, undirected
from bitextbench.report.records import to_csv
from bitextbench.report.references import Printed
from bitextbench.report.table import by_place

NOT_RUN: Literal["not run"] = "not run"
NOT_COMPARABLE = "scale not comparable"
ROUNDING = 0.0051  # of a number in a table
SAME = 0.0201  # slacks of rounded and of unrounded numbers


class Found(NamedTuple):
    """A line of a computed table that has our number."""

    line: Cell
    path: Path
    number: int  # the line's, in the file

    @property
    def interval(self) -> Interval:
        """The line's interval; a number without one stands for itself."""
        ours = self.line.ours
        ends = (ours if end is None else end for end in (self.line.low, self.line.high))
        return Interval(*(Fraction(str(end)) for end in ends))

    def alone(self, key: Key) -> Draws:
        """The line's number, drawn from its interval."""
        assert self.line.ours is not None
        return draws.alone(" ".join(key), self.line.ours, self.line.low, self.line.high, len(self.line.seeds.split()))


@dataclass(frozen=True)
class Number:
    """A line of audit.csv: a number of a paper, and ours. None is an empty field."""

    paper: str
    table: str
    row: str
    row_label: str
    column: str
    unit: str
    condition: str
    printed: str
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    delta: float | None = None
    seeds: str = ""
    verdict: str = NOT_RUN
    scale: str = ""
    evidence: str = ""  # file:line
    note: str = ""


@dataclass(frozen=True)
class Judgement:
    """A line of claims.csv: a claim of a paper, and whether it holds on our numbers."""

    claim: str
    paper: str
    section: str
    quote: str
    predicate: str
    on_paper: str
    verdict: str
    instances: int
    holds: int
    fails: int
    smaller: int
    undecided: int
    not_run: int
    otherwise: str  # the instances that do not hold
    scale: str
    evidence: str  # files
    note: str


@dataclass(frozen=True)
class Tried:
    """A line of instances.csv: a claim with one choice of values for its variables.

    `slack` is positive if the claim holds; `low` and `high` are its 95% interval. `q` is `p` adjusted for the false
    discovery rate over all instances. `paper_slack` is the slack on the paper's numbers. `cells` lists the cells that
    the predicate uses, written as in claims.yaml with their tables.
    """

    claim: str
    paper: str
    values: str
    predicate: str
    verdict: str
    slack: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    q: float | None = None
    seeds: int | None = None
    items: int | None = None
    needed: str = ""  # what would decide it
    paper_slack: float | None = None
    cells: str = ""


class Audit(NamedTuple):
    numbers: list[Number]
    claims: list[Judgement]
    instances: list[Tried]


def write(
    folder: Path,
    tables: Sequence[Path],
    measured: Sequence[Path],
    numbers: Path,
    judgements: Path,
    instances: Path,
    earlier: Sequence[Tried] = (),
) -> str:
    """Write audit.csv, claims.csv and instances.csv; returns the count of each verdict as a sentence.

    `folder` holds the references and claims.yaml. Raises InputError as `audit` does; then nothing is written.
    """
    made = audit(folder, tables, measured, earlier)
    texts = [to_csv(lines) for lines in (made.numbers, made.claims, made.instances)]
    for path, text in zip((numbers, judgements, instances), texts, strict=True):
        with atomic(path) as part:
            part.write_text(text, encoding="utf-8")
    counts = (
        f"{len(lines):,} {name}: " + ", ".join(f"{count:,} {verdict}" for verdict, count in verdicts.most_common())
        for name, lines in made._asdict().items()
        for verdicts in [Counter(line.verdict for line in lines)]
    )
    return "; ".join(counts)


def audit(folder: Path, tables: Sequence[Path], measured: Sequence[Path] = (), earlier: Sequence[Tried] = ()) -> Audit:
    """Compare the papers' numbers and claims with the tables of one run; lines have the order of the references.

    `measured`: files that `measurements.save` wrote for these tables; a cell that none of them has is drawn from its
    interval, unless an instance of `earlier` has the evidence on it, and the same slack: that is kept.
    Raises InputError for a table that is damaged, has another scale than the others, has a number twice, or was made
    from other references than those of `folder`.
    """
    reference = references.load_all(folder)
    held = _found(tables, reference)
    scales = sorted({entry.line.scale for entry in held.values()})
    if len(scales) > 1:
        raise InputError(f"tables of several scales: {', '.join(scales)}", remedy="audit each run by itself")
    numbers = [
        _number(cell, held.get((place, cell.row, cell.column))) for place, cells in reference.items() for cell in cells
    ]
    saved = _drawn(measured, held)
    cells = {key: saved[key] if key in saved else entry.alone(key) for key, entry in held.items()}
    on_paper, scale = claims.points(reference), "".join(scales)
    kept = {(line.claim, line.values): line for line in earlier if line.p is not None}
    judged, tried = [], []
    for claim in claims.load(folder / "claims.yaml"):
        instances = claims.instances(claim)
        slacks = [printed(each, on_paper) for each in instances]
        evidence = [
            _or_kept(of(each, cells, slack), each, kept.get(_name(claim, each)), saved)
            for each, slack in zip(instances, slacks, strict=True)
        ]
        comparable = claim.scale == "any" or scale == "paper" or not any(evidence)
        judged.append(_judgement(claim, on_paper, instances, evidence, held, scale, comparable))
        tried += [_tried(claim, *one, comparable) for one in zip(instances, evidence, slacks, strict=True)]
    return Audit(numbers, judged, _with_q(tried))


def _found(tables: Sequence[Path], printed: dict[str, list[Printed]]) -> dict[Key, Found]:
    """Our numbers by place, row and column, without those that no paper has as a number or in a figure."""
    reference = {(place, cell.row, cell.column): cell for place, cells in printed.items() for cell in cells}
    measured: dict[Key, Found] = {}
    for path in sorted(tables):
        for number, line in enumerate(read_csv(path), start=2):
            key = (line.paper_table, line.row, line.column)
            _same_reference(line, reference.get(key), path, number)
            if line.ours is None or (key not in reference and line.paper_table not in references.UNPRINTED):
                continue
            if key in measured:
                what = f"{', '.join(key)} is also in {measured[key].path}:{measured[key].number}"
                raise InputError(what, path, line=number, remedy="give each table once")
            measured[key] = Found(line, path, number)
    return measured


def _drawn(measured: Sequence[Path], held: dict[Key, Found]) -> dict[Key, Draws]:
    """The draws of the cells that files of measurements have. Raises InputError for one that is not the table's."""
    drawn: dict[Key, Draws] = {}
    for path in measured:
        place, seeds = measurements.load(path)
        for key, one in draws.of_table(place, by_place(seeds)).items():
            if key in held and abs(one.value - float(held[key].line.ours or 0)) > ROUNDING:
                what = f"{', '.join(key[1:])} is {one.value:.2f}, but {held[key].line.ours} in {held[key].path}"
                raise InputError(what, path, remedy="make the table again")
            drawn[key] = one
    return drawn


def _same_reference(line: Cell, cell: Printed | None, path: Path, number: int) -> None:
    """Raise InputError unless a line has the paper's number."""
    printed = None if cell is None else cell.printed
    if line.paper is not None and line.paper != printed:
        what = f"the paper's number for {line.row}, {line.column} is {line.paper}, but {printed} in the references"
        raise InputError(what, path, line=number, remedy="make the table again")


def _number(cell: Printed, measured: Found | None) -> Number:
    number = Number(
        cell.paper,
        cell.table,
        cell.row,
        cell.row_label,
        cell.column,
        cell.unit,
        cell.condition,
        str(cell.printed),
        note=cell.note,
    )
    if measured is None or cell.value is None:
        return number
    line, interval = measured.line, measured.interval
    half = Fraction(1, 2 * 10**cell.decimals)
    inside = interval.low - half <= Fraction(str(cell.value)) <= interval.high + half
    verdict = NOT_COMPARABLE if line.scale != "paper" else "reproduced" if inside else "differs"
    notes = [cell.note, line.note, "" if line.low is not None and line.high is not None else "no interval"]
    ours = {
        "ours": line.ours,
        "low": line.low,
        "high": line.high,
        "delta": _difference(line.ours, cell.value),
        "seeds": line.seeds,
        "verdict": verdict,
        "scale": line.scale,
        "evidence": f"{measured.path.as_posix()}:{measured.number}",
        "note": "; ".join(filter(None, notes)),
    }
    return replace(number, **ours)  # type: ignore[arg-type]


def _tried(
    claim: Claim, instance: Instance, evidence: Evidence | None, paper_slack: float | None, comparable: bool
) -> Tried:
    empty = Tried(
        claim.id,
        claim.paper,
        _name(claim, instance)[1],
        instance.predicate,
        NOT_RUN,
        paper_slack=None if paper_slack is None else round(paper_slack, 4) + 0.0,
        cells=" ".join(f"[{place}: {row}, {column}]" for place, row, column in instance.cells.values()),
    )
    if evidence is None:
        return empty
    numbers = {name: round(getattr(evidence, name), 4) for name in ("slack", "low", "high", "p")}
    return replace(
        empty,
        verdict=evidence.verdict if comparable else NOT_COMPARABLE,
        **numbers,
        seeds=evidence.seeds or None,
        items=evidence.items or None,
        needed=evidence.needed,
    )


def _name(claim: Claim, instance: Instance) -> tuple[str, str]:
    return claim.id, " ".join(instance.values.values())


def _or_kept(
    one: Evidence | None, instance: Instance, line: Tried | None, measured: Collection[Key]
) -> Evidence | None:
    """The evidence of an earlier audit where a cell has no measurements any more, and the slack is the same."""
    if one is None or line is None or line.slack is None or set(instance.cells.values()) <= set(measured):
        return one
    return _evidence(line) if abs(line.slack - one.slack) < SAME else one


def _evidence(line: Tried) -> Evidence:
    """The evidence in a line of instances.csv; its p tells the verdict also where the claim is not comparable."""
    slack, low, high, p = (0.0 if value is None else value for value in (line.slack, line.low, line.high, line.p))
    decided: Verdict = "holds" if slack > 0 else "fails"
    verdict = decided if p < 2 * (1 - SURE + 1.5 / DRAWS) else undirected(high, line.paper_slack)
    return Evidence(verdict, slack, low, high, p, line.seeds or 0, line.items or 0, line.needed)


def _with_q(tried: Sequence[Tried]) -> list[Tried]:
    """With p adjusted over all instances that are judged."""
    judged = [line for line in tried if line.p is not None and line.verdict != NOT_COMPARABLE]
    q = dict(zip(map(id, judged), adjusted([line.p for line in judged if line.p is not None]), strict=True))
    return [replace(line, q=round(q[id(line)], 4)) if id(line) in q else line for line in tried]


def _difference(ours: float | None, printed: float) -> float:
    """Without the noise of binary fractions."""
    return float(Fraction(str(ours)) - Fraction(str(printed)))


def _judgement(
    claim: Claim,
    on_paper: dict[Key, Interval],
    instances: Sequence[Instance],
    evidence: Sequence[Evidence | None],
    measured: dict[Key, Found],
    scale: str,
    comparable: bool,
) -> Judgement:
    verdicts: list[Verdict] = [NOT_RUN if one is None else one.verdict for one in evidence]
    judged = [pair for pair in zip(instances, verdicts, strict=True) if pair[1] != NOT_RUN]
    used = {measured[key].path.as_posix() for instance, _ in judged for key in instance.cells.values()}
    otherwise = [
        f"{verdict}: {' '.join(instance.values.values()) or 'as a whole'}"
        for instance, verdict in judged
        if verdict != "holds"
    ]
    counts = Counter[str](verdicts)
    return Judgement(
        claim.id,
        claim.paper,
        claim.section,
        claim.quote,
        claim.predicate,
        on_paper=claims.overall(claims.judge(claim, on_paper)),
        verdict=claims.overall(verdicts) if comparable else NOT_COMPARABLE,
        instances=len(verdicts),
        holds=counts["holds"],
        fails=counts["fails"],
        smaller=counts["smaller"],
        undecided=counts["undecided"],
        not_run=counts[NOT_RUN],
        otherwise="; ".join(otherwise),
        scale=scale if judged else "",
        evidence=" ".join(sorted(used)),
        note=claim.why,
    )
