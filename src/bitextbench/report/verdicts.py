"""Verdicts on claims from the tests of their instances, corrected for the number of claims.

A claim has m instances in the papers' regime, each with p-values that it holds, that it fails, and that it is level
(`evidence`). Of the claim four statements are tested:

| statement | p-value |
|---|---|
| it holds in most instances | partial conjunction |
| it fails in most | partial conjunction |
| it is level in most | partial conjunction |
| it is mixed: it holds in some instance and fails in some other | m times the larger of the two smallest p-values (Bonferroni) |

Most is more than half, u = m // 2 + 1. The partial conjunction of Benjamini and Heller (2008) leaves out the u - 1 smallest
p-values, the most that can be so where the statement is false, and combines the r = m - u + 1 others by Simes (1986):
the least of r / i times the i-th smallest. Of one instance it is the p-value itself.

The p-value of a claim is twice the smallest of the four, as two of them are opposites; q is that p adjusted for the false
discovery rate over the C claims of a run that are judged (Benjamini and Hochberg 1995). The R claims whose q is at most
0.05 are decided: as mixed, as holding or failing, or as level, by the first of these statements whose own p, doubled,
is at most 0.05 R / C (the level of these rejections; Benjamini and Bogomolov 2014).

Error rates: of the claims that a run decides, at most 5% are expected to be decided wrongly. Simes and Benjamini and
Hochberg hold for independent tests and for tests that depend positively (Benjamini and Yekutieli 2001): instances
share test items, seeds and models, which makes them err alike. Chains, in which a cell stands on both sides, depend
negatively in part; `tests/report/test_calibration.py` simulates both.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitextbench.report.claims import Verdict
from bitextbench.report.evidence import Evidence

FDR = 0.05


class Statements(NamedTuple):
    """The one-sided p-values of the four statements on a claim."""

    mixed: float
    holds: float
    fails: float
    level: float

    @property
    def p(self) -> float:
        return min(1.0, 2 * min(self))


class Judged(NamedTuple):
    """The verdict on a claim, with its p and q."""

    verdict: Verdict
    p: float
    q: float


def of_claims(claims: Sequence[Sequence[Evidence]]) -> list[Judged]:
    """The verdicts on claims from the evidence on their instances, at least one for each claim."""
    return judged([statements(*zip(*((*one.tested, one.level) for one in each), strict=True)) for each in claims])


def statements(holds: Sequence[float], fails: Sequence[float], level: Sequence[float]) -> Statements:
    """The statements on a claim from the p-values of its instances."""
    mixed = len(holds) * max(min(holds), min(fails)) if len(holds) > 1 else 1.0
    return Statements(min(1.0, mixed), *(float(most_of(p)) for p in (holds, fails, level)))


def judged(claims: Sequence[Statements]) -> list[Judged]:
    """The verdicts on claims from the statements on them."""
    q = adjusted([one.p for one in claims])
    level = FDR * sum(value <= FDR for value in q) / max(1, len(q))
    return [Judged(_verdict(one, level), one.p, value) for one, value in zip(claims, q, strict=True)]


def _verdict(one: Statements, level: float) -> Verdict:
    """`level`: that of the rejections of Benjamini and Hochberg."""
    if 2 * one.mixed <= level:
        return "mixed"
    if 2 * min(one.holds, one.fails) <= level:
        return "holds" if one.holds < one.fails else "fails"
    return "level" if 2 * one.level <= level else "undecided"


def most_of(p: ArrayLike) -> NDArray[np.float64]:
    """The p-value [...] that a statement is true in most of m instances, from its p-values in each [..., m]."""
    found = np.sort(p, axis=-1)
    rest = found[..., found.shape[-1] // 2 :]
    r = rest.shape[-1]
    return np.minimum(1.0, (r / np.arange(1, r + 1) * rest).min(axis=-1))


def adjusted(p: Sequence[float]) -> list[float]:
    """p-values adjusted for the false discovery rate (Benjamini and Hochberg 1995), in the order of `p`."""
    from scipy.stats import false_discovery_control

    return [float(value) for value in false_discovery_control(p)] if p else []
