"""How well scores separate good from bad pairs of a labelled corpus; no NMT model is needed.

A pair is good if its label is "parallel"; any other label is a kind of noise. Pairs without a label are left out, and
counted. For every scorer and corpus:

- average precision: the mean, over good pairs, of the share of good pairs among all that score at least as high;
- ROC-AUC: the probability that a good pair scores higher than a bad one (ties count half): 50 for random scores, less
  for a scorer that prefers bad pairs;
- ROC-AUC against the bad pairs of each kind: which noise a scorer does not detect.

All are in percent, with 95% intervals by bootstrap over pairs (percentile method). Average precision depends on the
share of good pairs (it is that share for a random order), ROC-AUC does not.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, measure_all, quotient
from bitextbench.base.errors import InputError
from bitextbench.evaluation.curves import average
from bitextbench.evaluation.selections import ScoredPool
from bitextbench.formats.bitext import PARALLEL

FEW = 20  # a kind with fewer pairs is left out: its interval would be meaningless
AP, AUC = "average precision", "ROC-AUC"


def evaluate(corpus: Path, scores: Sequence[Path], *, seed: int = SEED) -> dict[str, Any]:
    """The metrics of one scorer on one corpus, by name (AP, AUC, and AUC of each kind as "ROC-AUC, <kind>").

    A metric is as in `bootstrap.measure`, with "good" and "bad", numbers of pairs; "unlabelled" is a number of pairs;
    "roc" the curve of AUC: of the bad pairs 0%, 1% ... 100% score at least as high as so many percent of the good ones.
    `scores`: a file for each shard. Raises InputError for unequal lengths, NaN, and a corpus without good or without
    bad pairs.
    """
    pool = ScoredPool(corpus, scores, "pairs")
    return measure(pool.scores, pool.labels, seed=seed, where=corpus)


def measure(
    scores: NDArray[np.float32], labels: NDArray[np.object_], *, seed: int = SEED, where: Any = None
) -> dict[str, Any]:
    """`evaluate`, of scores and labels [n]."""
    labelled = labels != ""
    order = np.flatnonzero(labelled)[np.argsort(-scores[labelled], kind="stable")]
    ranked, names = scores[order], labels[order]
    good = names == PARALLEL
    kinds = sorted({str(name) for name in names[~good]})
    if not good.any() or not kinds:
        what = f"{good.sum():,} pairs are labelled {PARALLEL}, {(~good).sum():,} otherwise"
        raise InputError(what, where, remedy="quality is measured on a corpus with labels of good and bad pairs")
    ties = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    bad = {AUC: ~good} | {f"{AUC}, {kind}": here for kind in kinds if (here := names == kind).sum() >= FEW}
    once = np.ones(len(ranked), np.int64)
    metrics = measure_all(once, lambda weights: _statistics(weights, good, bad, ties), seed=seed)
    result: dict[str, Any] = {}
    for name, metric in metrics.items():
        counts = {"good": int(good.sum()), "bad": int(bad.get(name, ~good).sum())}
        first = {key: metric.pop(key) for key in ("metric", "value", "interval")}
        result[name] = {**first, "n": sum(counts.values()), **counts, "seed": seed, "signature": metric["signature"]}
    return result | {"unlabelled": int((~labelled).sum()), "roc": roc(good, ties)}


def roc(good: NDArray[np.bool_], ties: NDArray[np.int64]) -> list[float]:
    """The percentage of good pairs above a threshold where 0%, 1% ... 100% of the bad ones are, of pairs ranked by
    score.
    """
    ends = np.append(ties[1:], len(good)) - 1
    true, false = (np.append(0, mask.cumsum()[ends]) / mask.sum() for mask in (good, ~good))
    highest = np.append(false[1:] != false[:-1], True)  # of the thresholds that as many bad pairs pass
    return [round(float(100 * share), 2) for share in np.interp(np.arange(101) / 100, false[highest], true[highest])]


def _statistics(
    weights: NDArray[np.float64], good: NDArray[np.bool_], bad: dict[str, NDArray[np.bool_]], ties: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """The metrics of ranked pairs for each weighting [s, n]; `ties`: the beginnings of blocks of equal scores."""

    def blocks(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        part = weights * mask
        return part if len(ties) == weights.shape[1] else np.add.reduceat(part, ties, axis=1)

    gain = blocks(good)
    above = gain.cumsum(axis=1)
    total = above[:, -1]
    middle = above - gain / 2
    values = {}
    for name, mask in bad.items():
        loss = blocks(mask)
        if name == AUC:
            values[AP] = average(gain, loss, total)
        values[name] = 100 * quotient((loss * middle).sum(axis=1), total * loss.sum(axis=1))
    return values
