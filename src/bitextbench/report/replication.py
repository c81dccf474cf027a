"""Replication: which verdicts of a run another run of the same tables bears out, as on another machine.

Two runs of one configuration differ in what the processor does to the order of sums, which changes a trained model as
another seed does. An instance of a claim whose verdict turns round (holds in one, fails in the other) is no finding.
Where intervals cover what machines do, few instances differ by more than both intervals allow.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from pathlib import Path
from typing import NamedTuple

from bitextbench.base.errors import InputError
from bitextbench.formats import records
from bitextbench.report.audit import OUT, Tried

VERDICTS = ("holds", "level", "undecided", "fails")


class Shown(NamedTuple):
    """What a run shows of an instance: the slack in points, its 95% interval, the verdict."""

    slack: float
    low: float
    high: float
    verdict: str

    def __str__(self) -> str:
        return f"{self.verdict} {self.slack:+.1f} ({self.low:.1f} to {self.high:.1f})"


@dataclass(frozen=True)
class Pair:
    """An instance of a claim that both runs have judged, on numbers of their own."""

    claim: str
    values: str
    one: Shown
    other: Shown

    @property
    def same(self) -> bool:
        return self.one.verdict == self.other.verdict

    @property
    def turned(self) -> bool:
        """Whether it holds in one run and fails in the other."""
        return {self.one.verdict, self.other.verdict} == {"holds", "fails"}

    @property
    def apart(self) -> bool:
        """Whether 0 is outside the 95% interval of the difference of the slacks, for independent runs (Newcombe 1998)."""
        small, large = sorted((self.one, self.other))
        return large.slack - small.slack > hypot(large.slack - large.low, small.high - small.slack)


def pairs(one: Iterable[Tried], other: Iterable[Tried]) -> list[Pair]:
    """The instances that both runs have judged by one predicate, but for those with the same evidence, which comes from
    one table.
    """
    judged = [
        {(line.claim, line.values, line.predicate): shown for line in run if (shown := _shown(line))}
        for run in (one, other)
    ]
    both = [(key, judged[0][key], judged[1][key]) for key in judged[0] if key in judged[1]]
    return [Pair(claim, values, first, second) for (claim, values, _), first, second in both if first != second]


def _shown(line: Tried) -> Shown | None:
    """What a line shows; out of the papers' regime, too, where its interval tells the verdict."""
    if line.slack is None or line.low is None or line.high is None:
        return None
    by_interval = "holds" if line.low > 0 else "fails" if line.high < 0 else "undecided"
    return Shown(line.slack, line.low, line.high, by_interval if line.verdict == OUT else line.verdict)


def of_folders(one: Path, other: Path) -> list[Pair]:
    """`pairs` of the audits of two runs, <folder>/instances.csv.

    Raises InputError for a folder without an audit, and where no instance is judged in both.
    """
    for folder in (one, other):
        if not (folder / "instances.csv").exists():
            remedy = f"judge its tables by `bitextbench audit {folder}`, or give two files of `evaluate`"
            raise InputError("has no instances.csv", folder, remedy=remedy)
    found = pairs(*(records.read(folder / "instances.csv", Tried, "a table of instances") for folder in (one, other)))
    if not found:
        raise InputError(f"no claim is judged in {one} and in {other}", remedy="give two runs that share tables")
    return found


def counts(found: Sequence[Pair]) -> dict[str, int]:
    """How many instances both runs judged, and how many of them are `same`, `turned` and `apart`."""
    return {"judged": len(found)} | {
        name: sum(getattr(pair, name) for pair in found) for name in ("same", "turned", "apart")
    }


def render(found: Sequence[Pair]) -> str:
    """The counts, the verdicts of one run by those of the other, and a line for each instance that changes."""
    of = counts(found)
    cells = Counter((pair.one.verdict, pair.other.verdict) for pair in found)
    width = max(map(len, VERDICTS))
    head = " ".join(f"{verdict:>{width}}" for verdict in ("", *VERDICTS))
    rows = [
        " ".join([f"{row:>{width}}", *(f"{cells[row, column]:>{width}}" for column in VERDICTS)]) for row in VERDICTS
    ]
    changed = sorted((pair for pair in found if not pair.same), key=lambda pair: (not pair.turned, pair.claim))
    lines = [
        f"{of['judged']:,} instances of claims are judged in both, {of['same']:,} alike.",
        f"{of['turned']:,} hold in one and fail in the other.",
        f"{of['apart']:,} differ by more than their 95% intervals allow.",
        "",
        "first run (rows), second run (columns):",
        head,
        *rows,
        "",
        *(f"{pair.claim} {pair.values}: {pair.one}; {pair.other}" for pair in changed),
    ]
    return "\n".join(lines)
