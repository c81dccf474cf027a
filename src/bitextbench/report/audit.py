"""The audit: every number and every claim of the papers against the results of a run.

`audit.csv` has a line for each number in the folder of references, with ours and a verdict:

| verdict | meaning |
|---|---|
| reproduced | one further training of ours could give a number that rounds to the paper's (`cells.repeated`) |
| differs | it could not, at an error of 5% |
| undecided | outside the interval of one seed, which is the test set's alone |
| scale not comparable | the run has other data, models or budgets than the paper |
| not run | no table of the run has the number |

`instances.csv` has a line for each instance of a claim, with the evidence of our numbers (`evidence`), and `claims.csv` one
for each entry of claims.yaml (`verdicts`):

| verdict | an instance | a claim |
|---|---|---|
| holds | it does, at an error of 2.5% | in most instances |
| fails | it does not, at an error of 2.5% | in most instances |
| mixed | | it holds in some instances and fails in others |
| level | it is within the metric's equivalence bound of its border: of a > b, no difference as large as it | in most instances |
| undecided | nothing of this | nothing of this |
| out of regime | a number of ours is far from the paper's in the same cell (`metrics`) | all instances that were run are |
| scale not comparable | the claim quotes the paper's figures, and the run has another scale | the same |
| not run | a cell has no number of ours | no instance was run |

The verdict of a claim is corrected for the number of claims: its q, not its p, decides.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bitextbench.base.errors import InputError, near
from bitextbench.formats import records
from bitextbench.report import claims, draws, evidence, layout, measurements, metrics, references, verdicts
from bitextbench.report.cells import ONE_SEED, Cell, filled, read, repeated
from bitextbench.report.claims import Claim, Instance, Key, Verdict
from bitextbench.report.draws import Draws
from bitextbench.report.evidence import Evidence
from bitextbench.report.metrics import Metrics
from bitextbench.report.references import PaperCell, Printed
from bitextbench.report.table import by_place
from bitextbench.report.verdicts import Judged, adjusted

NOT_RUN: Literal["not run"] = "not run"
NOT_COMPARABLE: Literal["scale not comparable"] = "scale not comparable"
OUT: Literal["out of regime"] = "out of regime"
IN = "in"
NOT_PRINTED = "not printed"
DECIDED = ("holds", "fails", "mixed", "level")


class Found(NamedTuple):
    """A line of a computed table that has our number."""

    line: Cell
    path: Path
    number: int  # the line's, in the file
    file: str  # the table's name as evidence

    def alone(self, key: Key) -> Draws:
        """The line's number, drawn from its interval."""
        assert self.line.ours is not None
        drawn = draws.alone(" ".join(key), self.line.ours, self.line.low, self.line.high, len(self.line.seeds.split()))
        return drawn._replace(spread=draws.UNKNOWN if ONE_SEED in self.line.notes else None)


@dataclass(frozen=True)
class Number(PaperCell):
    """A line of audit.csv: a number of a paper, and ours. None is an empty field."""

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
class Stated:
    """What a paper states, and what of it is tested."""

    claim: str
    paper: str
    section: str
    quote: str
    tested: str


def of_q(q: float) -> str:
    return "q < 0.001" if q < 0.001 else f"q {q:.2g}"


@dataclass(frozen=True)
class Judgement(Stated):
    """A line of claims.csv: a claim of a paper, and whether it holds on our numbers.

    `p`, `q`: as in `verdicts`, where the verdict rests on them. `regime`: how many of the instances that were run are in
    the papers' regime. `holds` to `not_run` are numbers of instances and add up to `instances`; `otherwise` lists those
    that were run and do not hold. `evidence`: files.
    """

    predicate: str
    on_paper: str
    verdict: str
    p: float | None
    q: float | None
    regime: str
    instances: int
    holds: int
    fails: int
    level: int
    undecided: int
    out_of_regime: int
    not_comparable: int
    not_run: int
    otherwise: str
    scale: str
    evidence: str
    note: str

    @property
    def in_regime(self) -> bool:
        """Whether it is decided, by instances each of whose cells is in the regime of a printed number."""
        return self.verdict in DECIDED and NOT_PRINTED not in self.regime

    def __str__(self) -> str:
        return f"{self.claim}: {self.verdict}{'' if self.q is None else f' ({of_q(self.q)})'}: {self.tested}"


@dataclass(frozen=True)
class Tried(Stated):
    """A line of instances.csv: a claim with one choice of values for its variables.

    - `slack`: how far it is on the true side of the border; `low` to `high` is its 95% interval.
    - `p`: two-sided. `q`: p adjusted for the false discovery rate over all instances that count.
    - `part`: the single comparison, of several, to which slack and p belong.
    - `regime`: whether its cells are in the papers' regime, or which is not.
    - `paper_slack`: the same comparison's slack on the paper's numbers.
    - `cells`: the cells that the predicate uses, written as in claims.yaml with their tables.
    """

    values: str
    predicate: str
    verdict: str
    regime: str = ""
    slack: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    q: float | None = None
    seeds: int | None = None
    items: int | None = None
    needed: str = ""
    part: str = ""
    paper_slack: float | None = None
    cells: str = ""

    def __str__(self) -> str:
        slack = "" if self.slack is None else f", slack {self.slack:+.1f} ({self.low:.1f} to {self.high:.1f})"
        return f"{self.claim}: {self.verdict}{slack}: {self.predicate}"


class Case(NamedTuple):
    """An instance of a claim with our evidence on it; `regime`: IN, NOT_PRINTED, or the numbers that are outside."""

    claim: Claim
    instance: Instance
    evidence: Evidence | None
    regime: str
    verdict: Verdict

    @property
    def values(self) -> str:
        return " ".join(self.instance.values.values())

    @property
    def counts(self) -> bool:
        return self.verdict in ("holds", "fails", "level", "undecided")


class Audit(NamedTuple):
    numbers: list[Number]
    claims: list[Judgement]
    instances: list[Tried]


def write(made: Audit, numbers: Path, judgements: Path, instances: Path) -> str:
    """Write audit.csv, claims.csv and instances.csv; returns the count of each verdict as a sentence."""
    records.write(numbers, Number, made.numbers)
    records.write(judgements, Judgement, made.claims)
    records.write(instances, Tried, made.instances)
    counts = [
        f"{len(lines):,} {name}: " + ", ".join(f"{count:,} {verdict}" for verdict, count in found.most_common())
        for name, lines in made._asdict().items()
        for found in [Counter(line.verdict for line in lines)]
    ]
    decided = sum(claim.in_regime for claim in made.claims)
    return "; ".join([*counts, f"{decided:,} of {len(made.claims):,} claims decided in the papers' regime"])


def audit(
    folder: Path,
    tables: Sequence[Path],
    measured: Sequence[Path] = (),
    seeded: Sequence[Path] = (),
    run: Path | None = None,
) -> Audit:
    """Compare the papers' numbers and claims with the tables of one run; lines have the order of the references.

    `folder` holds the references, claims.yaml and metrics.yaml. `measured`: files that `measurements.save` wrote for
    these tables; a cell that none of them has is drawn from its interval. `seeded`: those of another run, whose spread
    over seeds cells of one seed are given. `run`: the folder of the tables, which the evidence then has as
    results/<its name>, wherever it lies. Raises InputError for a table that is damaged, has another scale than the
    others or has a number twice. It raises it for one made from other references than those of `folder`, and for a claim
    on a cell that no table has. Otherwise it raises it as `claims.load` and `metrics.load` do.
    """
    reference = references.load_all(folder)
    known = metrics.load(folder / "metrics.yaml", reference)
    held = _found(tables, reference, run)
    scales = sorted({entry.line.scale for entry in held.values()})
    if len(scales) > 1:
        raise InputError(f"tables of several scales: {', '.join(scales)}", remedy="audit each run by itself")
    numbers = [
        _number(cell, held.get((place, cell.row, cell.column))) for place, cells in reference.items() for cell in cells
    ]
    loaded = claims.load(folder / "claims.yaml")
    _check_cells(loaded, known, {*held})
    cells = {key: entry.alone(key) for key, entry in held.items()} | _drawn(measured, held, _spreads(seeded))
    cases = [_cases(claim, cells, known, "".join(scales)) for claim in loaded]
    counted = [[case.evidence for case in each if case.counts and case.evidence] for each in cases]
    judged = iter(verdicts.of_claims([each for each in counted if each]))
    paper = claims.points(reference), claims.rounded(reference)
    lines = [
        _judgement(claim, claims.on_paper(claim, *paper), each, next(judged) if some else None, held, "".join(scales))
        for claim, each, some in zip(loaded, cases, counted, strict=True)
    ]
    return Audit(numbers, lines, _with_q([_tried(case, known) for each in cases for case in each]))


def _check_cells(loaded: Sequence[Claim], known: Metrics, ours: set[Key]) -> None:
    """Raise InputError for a claim on a cell that neither the references nor the tables of a run have."""
    described = {(place, entry.row, entry.column) for place, entries in layout.load().items() for entry in entries}
    for claim in loaded:
        for key in {key: None for instance in claims.instances(claim) for key in instance.cells.values()}:
            if not (key in known.printed or key[:2] in known.rows or key in described | ours) or known.of(key) is None:
                cells = [" ".join(one) for one in known.printed]
                what = f"claim {claim.id}: no cell [{key[0]}: {key[1]}, {key[2]}]"
                raise InputError(what, claim.file, line=claim.line, remedy=near(" ".join(key), cells))


def _found(tables: Sequence[Path], printed: dict[str, list[Printed]], run: Path | None) -> dict[Key, Found]:
    """Our numbers by place, row and column, without those that no paper has as a number or in a figure."""
    reference = {(place, cell.row, cell.column): cell for place, cells in printed.items() for cell in cells}
    measured: dict[Key, Found] = {}
    for path in tables:
        file = (Path("results", run.resolve().name) / path.relative_to(run) if run else path).as_posix()
        for number, line in enumerate(read(path), start=2):
            key = (line.paper_table, line.row, line.column)
            _same_reference(line, reference.get(key), path, number)
            if line.ours is None or (key not in reference and line.paper_table not in references.UNPRINTED):
                continue
            if key in measured:
                what = f"{', '.join(key)} is also in {measured[key].path}:{measured[key].number}"
                raise InputError(what, path, line=number, remedy="give each table once")
            measured[key] = Found(line, path, number, file)
    return measured


def _spreads(seeded: Sequence[Path]) -> draws.Spreads:
    loaded = (measurements.load(path) for path in seeded)
    return {key: one for place, seeds in loaded for key, one in draws.spreads(place, by_place(seeds).values()).items()}


def _drawn(measured: Sequence[Path], held: Mapping[Key, Found], spreads: draws.Spreads) -> dict[Key, Draws]:
    """The draws of the cells that files of measurements have. Raises InputError for one that is not the table's."""
    drawn: dict[Key, Draws] = {}
    for path in measured:
        place, found = measurements.load(path)
        cells = by_place(found)
        for (row, column), seeds in cells.items():
            if one := held.get((place, row, column)):
                _same_numbers(one, filled(one.line, seeds), path)
        drawn |= draws.of_table(place, cells, layout.models(), spreads)
    return drawn


def _same_numbers(found: Found, again: Cell, path: Path) -> None:
    """Raise InputError unless a line of a table has the numbers of its measurements."""
    for name in ("ours", "spread", "low", "high", "delta", "seeds"):
        there, here = getattr(found.line, name), getattr(again, name)
        if there != here:
            what = f"{again.row}, {again.column}: {name} is {there}, but {here} in {path}"
            raise InputError(what, found.path, line=found.number, remedy="make the table again")


def _same_reference(line: Cell, cell: Printed | None, path: Path, number: int) -> None:
    """Raise InputError unless a line has the paper's number."""
    printed = None if cell is None else cell.value
    if line.paper is not None and line.paper != printed:
        what = f"the paper's number for {line.row}, {line.column} is {line.paper}, but {printed} in the references"
        raise InputError(what, path, line=number, remedy="make the table again")


def _number(cell: Printed, measured: Found | None) -> Number:
    printed = {name: getattr(cell, name) for name in references.FILLED}
    number = Number(**printed, printed=str(cell.value), note=cell.note)
    if measured is None or cell.value is None:
        return number
    line = measured.line
    verdict = NOT_COMPARABLE if line.scale != "paper" else repeated(line, cell.value)
    notes = [cell.note, line.note, "" if line.low is not None and line.high is not None else "no interval"]
    ours: dict[str, Any] = {name: getattr(line, name) for name in ("ours", "low", "high", "seeds", "scale")}
    return replace(
        number,
        **ours,
        delta=_difference(line.ours, cell.value),
        verdict=verdict,
        evidence=f"{measured.file}:{measured.number}",
        note="; ".join(filter(None, notes)),
    )


def _cases(claim: Claim, cells: Mapping[Key, Draws], known: Metrics, scale: str) -> list[Case]:
    """The instances of a claim with our evidence on them."""
    made = []
    for instance in claims.instances(claim):
        keys = instance.cells.values()
        bounds = {key: metric.bound for key in keys if (metric := known.of(key))}
        one = evidence.of(instance, cells, bounds)
        regime = _regime(keys, cells, known) if one else ""
        verdict: Verdict = one.verdict if one else NOT_RUN
        if one and claim.scale == "paper" != scale:
            verdict = NOT_COMPARABLE
        elif one and regime not in (IN, NOT_PRINTED):
            verdict = OUT
        made.append(Case(claim, instance, one, regime, verdict))
    return made


def _regime(keys: Iterable[Key], cells: Mapping[Key, Draws], known: Metrics) -> str:
    """Whether our numbers in some cells are in the papers' regime, or those that are not."""
    printed = {key: known.paper(key) for key in keys}
    far = [
        f"[{key[1]}, {key[2]}] {cells[key].value:.1f} against {paper:g}"
        for key, paper in printed.items()
        if paper is not None and (metric := known.of(key)) and metric.outside(cells[key].value, paper)
    ]
    return "; ".join(far) or (NOT_PRINTED if None in printed.values() else IN)


def _stated(claim: Claim) -> tuple[str, str, str, str, str]:
    return claim.id, claim.paper, claim.section, claim.quote, claim.tested


def _tried(case: Case, known: Metrics) -> Tried:
    claim, instance, one = case.claim, case.instance, case.evidence
    empty = Tried(
        *_stated(claim),
        case.values,
        instance.predicate,
        case.verdict,
        case.regime,
        paper_slack=_paper_slack(instance, one, known),
        cells=" ".join(f"[{place}: {row}, {column}]" for place, row, column in instance.cells.values()),
    )
    if one is None or case.verdict == NOT_COMPARABLE:
        return empty
    return replace(
        empty,
        slack=_rounded(one.slack),
        low=_rounded(one.low),
        high=_rounded(one.high),
        p=float(f"{one.p:.3g}"),
        seeds=one.seeds or None,
        items=one.items or None,
        needed=one.needed if case.counts else "",
        part=one.part,
    )


def _paper_slack(instance: Instance, one: Evidence | None, known: Metrics) -> float | None:
    """The slack on the paper's numbers, of the part that decides on ours; None if one is not printed."""
    numbers = {name: known.printed[key] for name, key in instance.cells.items() if key in known.printed}
    if len(numbers) < len(instance.cells):
        return None
    bounds = {name: metric.bound for name, key in instance.cells.items() if (metric := known.of(key))}
    return _rounded(evidence.exact(one.single if one else instance.tree, numbers, bounds))


def _rounded(value: float) -> float | None:
    return round(value, 4) + 0.0 if math.isfinite(value) else None


def _with_q(tried: Sequence[Tried]) -> list[Tried]:
    """With p adjusted over all instances that count."""
    judged = [line for line in tried if line.p is not None and line.verdict != OUT]
    q = dict(zip(map(id, judged), adjusted([line.p for line in judged if line.p is not None]), strict=True))
    return [replace(line, q=float(f"{q[id(line)]:.3g}")) if id(line) in q else line for line in tried]


def _difference(ours: float | None, printed: Decimal) -> float:
    """Without the noise of binary fractions."""
    return float(Fraction(str(ours)) - Fraction(str(printed)))


def _judgement(
    claim: Claim,
    on_paper: Sequence[Verdict],
    cases: Sequence[Case],
    judged: Judged | None,
    held: Mapping[Key, Found],
    scale: str,
) -> Judgement:
    counts = Counter(case.verdict for case in cases)
    ran = [case for case in cases if case.verdict != NOT_RUN]
    used = {held[key].file for case in ran for key in case.instance.cells.values()}
    otherwise = [f"{case.verdict}: {case.values or 'as a whole'}" for case in ran if case.verdict != "holds"]
    regime = Counter(case.regime if case.regime in (IN, NOT_PRINTED) else OUT for case in ran)
    least: Verdict = next((verdict for verdict in (NOT_COMPARABLE, OUT) if counts[verdict]), NOT_RUN)
    return Judgement(
        *_stated(claim),
        claim.predicate,
        claims.together(on_paper),
        verdict=judged.verdict if judged else least,
        p=float(f"{judged.p:.3g}") if judged else None,
        q=float(f"{judged.q:.3g}") if judged else None,
        regime=", ".join(f"{count} {name}" for name, count in regime.items()),
        instances=len(cases),
        holds=counts["holds"],
        fails=counts["fails"],
        level=counts["level"],
        undecided=counts["undecided"],
        out_of_regime=counts[OUT],
        not_comparable=counts[NOT_COMPARABLE],
        not_run=counts[NOT_RUN],
        otherwise="; ".join(otherwise),
        scale=scale if ran else "",
        evidence=" ".join(sorted(used)),
        note=claim.why,
    )
