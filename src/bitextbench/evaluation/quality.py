"""How well scores tell good pairs from bad ones, where it is known which are which: no NMT model is needed.

A pair is good when it is labelled "parallel"; any other label names what is wrong with it; pairs without a label are left
out, and counted. For every scorer and corpus:

- average precision: the mean, over good pairs, of the share of good ones among all that score at least as high;
- ROC-AUC: the chance that a good pair scores higher than a bad one (ties count half): 50 for a scorer that sees nothing,
  and less for one that prefers bad pairs;
- the same against the bad pairs of each kind alone: which noise a scorer does not see.

All in percent, with 95% intervals by bootstrap over pairs (percentile method). Average precision depends on the share of good
pairs (a random order has that share), ROC-AUC does not.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import __version__
from bitextbench.base.bootstrap import SAMPLES, SEED, quotient
from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.bitext import PARALLEL
from bitextbench.formats.scores import load_scores

FEW = 20  # pairs of a kind, below which an interval says nothing: the kind is left out
CHUNK = 1 << 22  # weights that are drawn at a time
AP, AUC = "average precision", "ROC-AUC"


def evaluate(corpus: Path, scores: Sequence[Path], *, seed: int = SEED) -> dict[str, Any]:
    """The metrics of one scorer on one corpus, by name (AP, AUC, and AUC of each kind as "ROC-AUC, <kind>").

    Each as `bootstrap.measure` has them, with "good" and "bad", numbers of pairs; and "unlabelled", a number of pairs.
    `scores`: a file for each shard. Raises InputError for other lengths, NaN, or a corpus without good or without bad pairs.
    """
    labels = [bitext.read_shard(path, ["label"])["label"].to_pylist() for path in bitext.shard_paths(corpus)]
    loaded = load_scores(scores)
    if [*map(len, labels)] != [*map(len, loaded)]:
        what = f"{', '.join(f'{len(s):,}' for s in loaded)} scores for {', '.join(f'{len(s):,}' for s in labels)} pairs"
        raise InputError(what, scores[0] if scores else corpus, remedy="give the scores of each shard, in order")
    order = bitext.order_of_ids([*map(len, loaded)])
    names = np.array([label for shard in labels for label in shard], object)[order]
    return measure(np.concatenate(loaded)[order], names, seed=seed, where=corpus)


def measure(
    scores: NDArray[np.float32], labels: NDArray[np.object_], *, seed: int = SEED, where: Any = None
) -> dict[str, Any]:
    """`evaluate`, of scores and labels at hand [n]."""
    known = labels != ""
    order = np.flatnonzero(known)[np.argsort(-scores[known], kind="stable")]
    ranked, names = scores[order], labels[order]
    good = names == PARALLEL
    kinds = sorted({str(name) for name in names[~good]})
    if not good.any() or not kinds:
        what = f"{good.sum():,} pairs are labelled {PARALLEL}, {(~good).sum():,} otherwise"
        raise InputError(what, where, remedy="quality is measured on a corpus with labels of good and bad pairs")
    ties = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    bad = {AUC: ~good} | {f"{AUC}, {kind}": here for kind in kinds if (here := names == kind).sum() >= FEW}
    once = np.ones((1, len(ranked)))
    values = {name: column[0] for name, column in _statistics(once, good, bad, ties).items()}
    draws = [_statistics(weights, good, bad, ties) for weights in _weights(len(ranked), seed)]
    result: dict[str, Any] = {}
    for name, value in values.items():
        low, high = np.quantile(np.concatenate([draw[name] for draw in draws]), [0.025, 0.975])
        counts = {"good": int(good.sum()), "bad": int(bad.get(name, ~good).sum())}
        result[name] = {
            "metric": name, "value": float(value), "interval": [float(low), float(high)], "n": sum(counts.values()), **counts,
            "seed": seed, "signature": f"{name}|bs:{SAMPLES}|seed:{seed}|version:{__version__}",
        }  # fmt: skip
    return result | {"unlabelled": int((~known).sum())}


def _weights(n: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each of n pairs is drawn, in SAMPLES draws of n with replacement, some draws at a time [s, n]."""
    rng = np.random.default_rng(seed)
    step = max(1, CHUNK // n)
    for start in range(0, SAMPLES, step):
        draws = min(step, SAMPLES - start)
        drawn = rng.integers(0, n, (draws, n)) + n * np.arange(draws)[:, None]
        yield np.bincount(drawn.ravel(), minlength=draws * n).reshape(draws, n).astype(np.float64)


def _statistics(
    weights: NDArray[np.float64], good: NDArray[np.bool_], bad: dict[str, NDArray[np.bool_]], ties: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """The metrics of ranked pairs for each weighting [s, n]; `ties`: where blocks of equal scores begin."""

    def blocks(which: NDArray[np.bool_]) -> NDArray[np.float64]:
        part = weights * which
        return part if len(ties) == weights.shape[1] else np.add.reduceat(part, ties, axis=1)

    gain = blocks(good)
    above = gain.cumsum(axis=1)
    total = above[:, -1]
    middle = above - gain / 2
    found = {}
    for name, which in bad.items():
        loss = blocks(which)
        if name == AUC:
            precision = quotient(above, above + loss.cumsum(axis=1))
            found[AP] = 100 * quotient((precision * gain).sum(axis=1), total)
        found[name] = 100 * quotient((loss * middle).sum(axis=1), total * loss.sum(axis=1))
    return found
