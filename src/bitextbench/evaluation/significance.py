"""Is one row of a table better than another? Differences of BLEU, paired by seed and by test sentence.

A system is one row of the table: a translation model of each seed. The difference of two systems is the mean over seeds of
the difference between their models of one seed. Its variance has two parts, which add:

- the training: s^2 / k, s the standard deviation of the differences over k seeds;
- the test set: that of paired bootstrap over sentences (Koehn 2004), where a sentence brings the outputs of all models: they
  translate the same sentences, so their outputs of one are no independent observations.

The 95% interval is Student's t with the degrees of freedom of Welch (1947): those of the seeds where they are the larger
part, endless ones where the test set is all. One seed has no part of the training, which the table says.
"""

import csv
import io
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic, existing
from bitextbench.evaluation.bleu import SAMPLES, SEED, sacre

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


class Comparison(NamedTuple):
    """`difference`: BLEU of `row` minus `other`, with its 95% interval; `p`: of a difference as large by chance alone."""

    budget: str
    test: str
    row: str
    other: str
    bleu: float
    other_bleu: float
    difference: float
    low: float
    high: float
    p: float

    def reversed(self) -> "Comparison":
        """The same of `other` against `row`."""
        return self._replace(
            row=self.other, other=self.row, bleu=self.other_bleu, other_bleu=self.bleu,
            difference=-self.difference, low=-self.high, high=-self.low,
        )  # fmt: skip


def compare(
    systems: Mapping[str, Sequence[Sequence[str]]], references: Sequence[str], language: str, budget: str, test: str
) -> list[Comparison]:
    """Every pair of systems; a system is the hypotheses of each of its models, a line for each reference, seed by seed.

    Raises InputError for unequal counts of lines or of models.
    """
    if len({len(outputs) for outputs in systems.values()}) > 1:
        counts = ", ".join(f"{name} {len(outputs)}" for name, outputs in systems.items())
        raise InputError(f"unequal numbers of models: {counts}", f"{budget}, {test}", remedy="give each row all seeds")
    for name, outputs in systems.items():
        for lines in outputs:
            if len(lines) != len(references):
                what = f"{len(lines):,} hypotheses but {len(references):,} references"
                raise InputError(what, f"{name}, {budget}, {test}", remedy="translate the test set again")
    draws = np.random.default_rng(SEED).integers(0, len(references), (SAMPLES, len(references)))
    weights = np.stack([np.bincount(draw, minlength=len(references)) for draw in draws])
    whole = np.ones((1, len(references)), int)
    metric = sacre(language)
    seeds, sampled = {}, {}
    for name, outputs in systems.items():
        models = [np.array(metric._extract_corpus_statistics(lines, [references])) for lines in outputs]
        seeds[name] = np.concatenate([_scores(metric, whole, model) for model in models])
        sampled[name] = _scores(metric, weights, np.sum(models, axis=0))
    return [
        Comparison(
            budget, test, row, other, seeds[row].mean(), seeds[other].mean(),
            *_difference(seeds[row] - seeds[other], sampled[row] - sampled[other]),
        )
        for other, row in itertools.combinations(systems, 2)
    ]  # fmt: skip


def _scores(metric: "BLEU", weights: NDArray[np.int64], model: NDArray[np.int64]) -> NDArray[np.float64]:
    """BLEU for each row of `weights` [samples, sentences]: how often a sentence counts."""
    return np.array([metric._compute_score_from_stats(sums.tolist()).score for sums in weights @ model])


def _difference(seeds: NDArray[np.float64], sampled: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """Mean, low and high end of its 95% interval, p: of the differences of each seed and of each bootstrap sample."""
    from scipy.special import stdtr, stdtrit

    k, mean = len(seeds), float(seeds.mean())
    training, test = statistics.variance(seeds.tolist()) / k if k > 1 else 0.0, float(sampled.var())
    if not (variance := training + test):
        return mean, mean, mean, 1.0 if mean == 0 else 0.0
    freedom = (k - 1) * (variance / training) ** 2 if training else math.inf
    error = math.sqrt(variance)
    half = float(stdtrit(freedom, 0.975)) * error
    return mean, mean - half, mean + half, 2 * float(stdtr(freedom, -abs(mean) / error))


def read(path: str | Path) -> list[Comparison]:
    """What `write` wrote. Raises InputError for another file."""
    with open(existing(path), encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != Comparison._fields:
            raise InputError("not a table of comparisons", path, remedy="make it again")
        return [Comparison(*row[:4], *map(float, row[4:])) for row in reader]  # type: ignore[arg-type, call-arg]


def write(comparisons: Sequence[Comparison], out: Path) -> None:
    """As CSV, atomically."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Comparison._fields)
    for one in comparisons:
        writer.writerow([*one[:4], *(f"{value:.2f}" for value in one[4:9]), f"{one.p:.4f}"])
    with atomic(out) as part:
        part.write_text(text.getvalue(), encoding="utf-8")
