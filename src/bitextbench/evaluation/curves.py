"""Precision, recall (yang2019 figure 5) and BLEU (artetxe2019 figure 2) over thresholds; distributions of scores
(kim2019 figure 3).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, measure_types, quotient
from bitextbench.formats import records
from bitextbench.formats.records import Hundredths


class Curve(NamedTuple):
    """At each distinct score, best first: the number of pairs that reach it, and of right ones among them, int64."""

    thresholds: NDArray[np.float32]
    pairs: NDArray[np.int64]
    right: NDArray[np.int64]

    def precision(self) -> NDArray[np.float64]:
        return quotient(self.right.astype(np.float64), self.pairs.astype(np.float64))

    def recall(self, gold: int) -> NDArray[np.float64]:
        """The share of right pairs in the `gold` pairs."""
        return quotient(self.right.astype(np.float64), np.full(len(self.right), float(gold)))


def curve(scores: NDArray[np.float32], correct: NDArray[np.bool_]) -> Curve:
    """The curve of pairs [n]. Points are the ends of blocks of tied scores: tied pairs are taken or left together."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)])
    return Curve(ranked[ends], ends + 1, np.cumsum(correct[order])[ends].astype(np.int64))


def average_precision(
    scores: NDArray[np.float32], correct: NDArray[np.bool_], gold: int, *, seed: int = SEED
) -> dict[str, Any]:
    """The sum over thresholds of precision times the gain in recall, in percent; the interval is over pairs."""
    points = curve(scores, correct)
    right = np.diff(points.right, prepend=0)
    wrong = np.diff(points.pairs, prepend=0) - right
    missed = np.array([gold - right.sum()])

    def statistic(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        gain, loss = weights[:, : len(right)], weights[:, len(right) : -1]
        return average(gain, loss, gain.sum(1) + weights[:, -1])

    counts = np.concatenate([right, wrong, missed])
    return measure_types("average precision", counts, statistic, seed=seed)


def average(right: NDArray[np.float64], wrong: NDArray[np.float64], gold: NDArray[np.float64]) -> NDArray[np.float64]:
    """Average precision in percent [s], for right and wrong pairs [s, scores] at each score, best first; `gold` [s]."""
    precision = quotient(right.cumsum(1), (right + wrong).cumsum(1))
    return 100 * quotient((precision * right).sum(1), gold)


def write(path: Path, points: Curve, gold: int) -> None:
    """Write a CSV: threshold, pairs, right, precision and recall in percent."""
    held = {"threshold": points.thresholds.astype(str), "pairs": points.pairs, "right": points.right}
    rates = {"precision": points.precision(), "recall": points.recall(gold)}
    records.write_columns(path, held | {name: (100 * rate).round(4) for name, rate in rates.items()})


class Threshold(NamedTuple):
    """A line of artetxe2019/figure2.csv: development BLEU of a model, with its interval, by its number of training pairs;
    `peak`: yes at the best.
    """

    pairs: int
    bleu: Hundredths
    bleu_low: Hundredths
    bleu_high: Hundredths
    peak: str


def write_thresholds(measured: Mapping[int, Mapping[str, Any]], out: Path) -> None:
    """Write BLEU over the number of selected pairs as CSV."""
    best = max(sorted(measured), key=lambda pairs: measured[pairs]["value"])
    lines = []
    for pairs, metric in sorted(measured.items()):
        low, high = metric["interval"]
        lines.append(Threshold(pairs, metric["value"], low, high, "yes" if pairs == best else ""))
    records.write(out, Threshold, lines)


def distribution(scores: NDArray[np.floating], points: int = 101, *, rescale: bool = False) -> NDArray[np.float64]:
    """Scores [points] at equidistant ranks, ascending: the curve of kim2019 figure 3.

    rescale: linearly to [0, 1], as in the paper for cosines (0 if all are equal).
    """
    ranked = np.quantile(np.asarray(scores, np.float64), np.linspace(0, 1, points))
    if not rescale:
        return ranked
    return quotient(ranked - ranked[0], np.full(points, ranked[-1] - ranked[0]))
