"""Significance tests of differences of BLEU between rows of a table, paired by seed and by test sentence.

A system is one row of the table: a translation model for each seed. The difference of two systems is the mean, over
seeds, of the difference between their models of one seed. Its variance is the sum of two parts:

- training: s^2 / k, where s is the standard deviation of the differences over k seeds;
- test set: the variance of a paired bootstrap over sentences (Koehn 2004). A sentence is drawn with the outputs of all
  models, as different translations of one sentence are not independent.

The error of a difference has two parts, too (Behrens and Fisher). That of training is Student's t with k - 1 degrees of
freedom; that of the test set is a normal deviation. Welch's approximation by a single t is too sure when seeds are few:
3.8% wrong instead of 2.5, with three seeds and four fifths of the variance from training. With one seed the part of
training is unknown and left out, and the table says so. Intervals and p are those of a single comparison. Use
`adjusted` to read a whole table.
"""

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.evaluation import sacrebleu_internals
from bitextbench.evaluation.bleu import SAMPLES, SEED, Nist, sacre
from bitextbench.formats import records

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


GRID = np.arange(-24, 7, 0.6)  # of the logarithm of chi-square, in its standard deviations from its middle

SAME = 1e-8  # what binary fractions may leave of 0


Rounded = Annotated[float, ".4f"]


class Comparison(NamedTuple):
    """`difference`: BLEU of `row` minus `other`, with its 95% interval; `p`: of a difference as large by chance."""

    budget: str
    test: str
    row: str
    other: str
    bleu: Rounded
    other_bleu: Rounded
    difference: Rounded
    low: Rounded
    high: Rounded
    p: Annotated[float, ".4g"]

    def reversed(self) -> "Comparison":
        """The comparison of `other` with `row`."""
        swapped = self._replace(row=self.other, other=self.row, bleu=self.other_bleu, other_bleu=self.bleu)
        return swapped._replace(difference=-self.difference, low=-self.high, high=-self.low)


def compare(
    systems: Mapping[str, Sequence[Sequence[str]]], references: Sequence[str], language: str, budget: str, test: str
) -> list[Comparison]:
    """Compare every pair of systems by BLEU of detokenised text: see `compared`."""
    metric = sacre(language)
    statistics_of = partial(sacrebleu_internals.counts, metric, references=[references])
    return compared(systems, metric, statistics_of, len(references), budget, test)


def compare_nist(
    systems: Mapping[str, Sequence[Sequence[str]]], references: Sequence[Sequence[str]], column: str, test: str
) -> list[Comparison]:
    """Compare every pair of systems by BLEU as NIST has it, with several references: see `compared`.

    Raises InputError for references of unequal numbers of lines, and where there are none.
    """
    if not references or len({*map(len, references)}) > 1:
        counts = ", ".join(f"{len(lines):,}" for lines in references)
        raise InputError(f"references of {counts or 'no'} lines", test, remedy="give each test set its references")
    nist = Nist(references)
    return compared(systems, nist.metric, nist.statistics, len(references[0]), column, test)


def compared(
    systems: Mapping[str, Sequence[Sequence[str]]],
    metric: "BLEU",
    statistics_of: Callable[[Sequence[str]], Any],
    size: int,
    budget: str,
    test: str,
) -> list[Comparison]:
    """Compare every pair of systems. A system is the hypotheses of its models, seed by seed, each of `size` lines.

    `statistics_of`: the counts of each line, from which `metric` computes BLEU. Raises InputError for unequal numbers
    of lines or of models.
    """
    if len({len(outputs) for outputs in systems.values()}) > 1:
        counts = ", ".join(f"{name} {len(outputs)}" for name, outputs in systems.items())
        raise InputError(f"unequal numbers of models: {counts}", f"{budget}, {test}", remedy="give each row all seeds")
    for name, outputs in systems.items():
        for lines in outputs:
            if len(lines) != size:
                what = f"{len(lines):,} hypotheses but {size:,} references"
                raise InputError(what, f"{name}, {budget}, {test}", remedy="translate the test set again")
    draws = np.random.default_rng(SEED).integers(0, size, (SAMPLES, size))
    weights = np.stack([np.bincount(draw, minlength=size) for draw in draws])
    whole = np.ones((1, size), int)
    seeds, sampled = {}, {}
    for name, outputs in systems.items():
        models = [np.array(statistics_of(lines)) for lines in outputs]
        seeds[name] = np.concatenate([_scores(metric, whole, model) for model in models])
        sampled[name] = _scores(metric, weights, np.sum(models, axis=0))
    comparisons = []
    for other, row in itertools.combinations(systems, 2):
        means = seeds[row].mean(), seeds[other].mean()
        difference = _difference(seeds[row] - seeds[other], sampled[row] - sampled[other])
        comparisons.append(Comparison(budget, test, row, other, *means, *difference))
    return comparisons


def _scores(metric: "BLEU", weights: NDArray[np.int64], model: NDArray[np.int64]) -> NDArray[np.float64]:
    """BLEU for each row of `weights` [samples, sentences], which says how often each sentence counts."""
    return np.array([sacrebleu_internals.scored(metric, sums).score for sums in weights @ model])


def _difference(seeds: NDArray[np.float64], sampled: NDArray[np.float64]) -> tuple[float, float, float, float]:
    """The mean, its 95% interval (low, high) and p, from the differences for each seed and each bootstrap sample."""
    k, mean = len(seeds), float(seeds.mean())
    training = statistics.variance(seeds.tolist()) / k if k > 1 else 0.0
    error = float(sampled.var()), training, max(1, k - 1)
    if not any(error[:2]):
        return mean, mean, mean, 1.0 if mean == 0 else 0.0
    half = error_quantile(0.025, *error)
    return mean, mean - half, mean + half, 2 * float(error_tail(abs(mean), *error))


def error_tail(value: Any, of_items: Any, of_seeds: Any, freedom: Any) -> Any:
    """The probability that an error is at least `value`. Arrays broadcast.

    The error is a sum: a normal deviation with variance `of_items`, and Student's t with variance `of_seeds` and
    `freedom` degrees of freedom (1 and more). Given chi-square, t is normal. So the sum is a mixture over the logarithm
    of chi-square, computed by the rectangle rule. Without any error the result is 0 for a value above SAME, else 1.
    """
    from scipy.special import gammaln, ndtr, stdtr

    if not np.any(of_items) and np.all(np.greater(of_seeds, 0)):
        return stdtr(freedom, -value / np.sqrt(of_seeds))
    half = np.asarray(freedom, float) / 2
    steps = GRID.reshape(-1, *[1] * max(map(np.ndim, (value, of_items, of_seeds, freedom))))
    log_chi = np.log(2 * half) + steps / np.sqrt(half)
    chi = np.exp(log_chi)
    weights = np.exp(half * (log_chi - math.log(2)) - chi / 2 - gammaln(half))
    variance = np.asarray(of_seeds) * (2 * half) / chi + of_items
    with np.errstate(divide="ignore", invalid="ignore"):
        tails = ndtr(-value / np.sqrt(variance))
    mixed = (weights * tails).sum(axis=0) / weights.sum(axis=0)
    return np.where(np.add(of_items, of_seeds) > 0, mixed, np.where(np.asarray(value) > SAME, 0.0, 1.0))


def error_quantile(tail: float, of_items: float, of_seeds: float, freedom: float) -> float:
    """The value that an error (see `error_tail`) is at least with a probability of `tail`, at most 1/2; infinite where a
    variance is.
    """
    from scipy.optimize import brentq

    scale = math.sqrt(of_items + of_seeds)
    if not scale or math.isinf(scale):
        return scale
    most = next(
        scale * 2.0**power for power in range(100) if error_tail(scale * 2.0**power, of_items, of_seeds, freedom) < tail
    )
    return float(
        brentq(lambda value: error_tail(value, of_items, of_seeds, freedom) - tail, 0.0, most, xtol=1e-9 * scale)
    )


def read(path: str | Path) -> list[Comparison]:
    """The comparisons that `write` wrote. Raises InputError for another kind of file."""
    return records.read(path, Comparison, "a table of comparisons")


def write(comparisons: Sequence[Comparison], out: Path) -> None:
    """Write the comparisons as CSV, atomically."""
    records.write(out, Comparison, comparisons)


def write_columns(
    hypotheses: Iterable[tuple[str, str, str, Path]],
    compared: Callable[[dict[str, list[list[str]]], str, str], Iterable[Comparison]],
    out: Path,
) -> None:
    """Compare the rows of each column with each other on each test, and write the comparisons.

    `hypotheses`: row, column, test, translation. `compared` has those of the rows of a column on a test.
    """
    columns: dict[tuple[str, str], dict[str, list[list[str]]]] = {}
    for row, column, test, path in hypotheses:
        columns.setdefault((column, test), {}).setdefault(row, []).append([*read_lines(path)])
    found = (compared(systems, column, test) for (column, test), systems in columns.items())
    write([*itertools.chain.from_iterable(found)], out)


def adjusted(p: Sequence[float]) -> list[float]:
    """p-values adjusted for the error of any wrong rejection among all (Holm 1979), in the order of `p`."""
    order = sorted(range(len(p)), key=p.__getitem__)
    steps = itertools.accumulate(((len(p) - rank) * p[at] for rank, at in enumerate(order)), max)
    by_place = dict(zip(order, steps, strict=True))
    return [min(1.0, by_place[at]) for at in range(len(p))]
