"""Measures selections without NMT: their precision, a sweep over thresholds, and the distribution of scores.

Where the paper is silent:

- "Scored with zero" (kim2019 section 5.1): the probability rounds to 0.00, as "between 0.99 and 1.0" has two decimals.
- "Nearly 80% of the corpus": here of the pool, after the pre-filter. The paper does not say whether of that.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import bootstrap
from bitextbench.base.errors import InputError
from bitextbench.evaluation import curves
from bitextbench.formats import bitext, records
from bitextbench.formats.bitext import PARALLEL
from bitextbench.formats.scores import load_scores, scores_by_id
from bitextbench.scoring.select import Scored, count_words, cutoff

if TYPE_CHECKING:
    from pandas import DataFrame

POINTS = 100  # thresholds of a sweep
NEAR_ONE, ZERO = 0.99, 0.005  # probabilities "between 0.99 and 1.0", and those that round to 0.00 (kim2019 section 5.1)


class ScoredPool:
    """The scores float32 [n], words int64 [n] and labels [n] of a corpus, in memory, in the order of ids.

    `good`, `labelled` int64 [n]: the words of good and of labelled pairs.
    """

    def __init__(self, corpus: Path, scores: Sequence[Path], count: str) -> None:
        column = [] if count == "pairs" else [count]
        shards = [bitext.read_shard(path, [*column, "label"]) for path in bitext.shard_paths(corpus)]
        loaded = load_scores(scores)
        if [*map(len, loaded)] != [*map(len, shards)]:
            n_scores, n_pairs = (", ".join(f"{len(shard):,}" for shard in column) for column in (loaded, shards))
            what = f"{n_scores} scores for {n_pairs} pairs"
            raise InputError(what, scores[0] if scores else corpus, remedy="give the scores of each shard, in order")
        order = bitext.order_of_ids([*map(len, loaded)])
        self.scores = np.concatenate(loaded)[order]
        words = [count_words(shard[count]) if column else np.ones(len(shard), np.int64) for shard in shards]
        self.words = np.concatenate(words)[order]
        self.labels = np.array([label for shard in shards for label in shard["label"].to_pylist()], object)[order]
        self.good = (self.labels == PARALLEL) * self.words
        self.labelled = (self.labels != "") * self.words


def precision(
    corpus: Path, scores: Sequence[Path], budget: int, count: str, *, seed: int = bootstrap.SEED
) -> dict[str, Any]:
    """The share of good words among the labelled words that the WMT18 rule selects, in percent, with its interval.

    The interval is over the selected pairs. Also "threshold", "words" and "pairs" of the selection, and "recall": its
    share of all good words. Raises InputError for a corpus without labels.
    """
    pool = ScoredPool(corpus, scores, count)
    if not pool.labelled.any():
        raise InputError(
            "no pair has a label", corpus, remedy="give a pool with labels: without them the precision is not known"
        )
    cut = cutoff([Scored(pool.scores, pool.words)], budget)
    kept = pool.scores >= (-np.inf if cut is None else cut)
    counts = np.stack([pool.good[kept], pool.labelled[kept]], axis=1)
    metric = bootstrap.ratio("precision", counts, seed=seed)
    recall = float(100 * pool.good[kept].sum() / max(1, pool.good.sum()))
    words = int(pool.words[kept].sum())
    return metric | {"threshold": cut, "budget": budget, "words": words, "pairs": int(kept.sum()), "recall": recall}


class Step(NamedTuple):
    """A line of sweep.csv: what a method selects with some threshold; precision and recall in percent of words, None for
    a pool without labels.
    """

    method: str
    threshold: float
    pairs: int
    words: int
    precision: float | None
    recall: float | None


def sweep(corpus: Path, methods: Mapping[str, Sequence[Path]], count: str, out: Path) -> list[Step]:
    """Write the selections of every method at thresholds from the best score down (artetxe2019, figure 2) as CSV.

    There are POINTS thresholds at equal steps of selected words.
    """
    steps = [step for method in methods.items() for step in _steps(corpus, count, *method)]
    records.write(out, Step, steps)
    return steps


def _steps(corpus: Path, count: str, method: str, scores: Sequence[Path]) -> Iterator[Step]:
    pool = ScoredPool(corpus, scores, count)
    order = np.argsort(-pool.scores, kind="stable")
    ranked = pool.scores[order]
    ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)])  # of blocks of equal scores
    words, good, labelled = (column[order].cumsum()[ends] for column in (pool.words, pool.good, pool.labelled))
    steps = np.searchsorted(words, np.linspace(0, words[-1], POINTS + 1)[1:]) if len(words) else ends
    for at in np.unique(steps):
        precision = round(100 * good[at] / labelled[at], 3) if labelled[at] else None
        recall = round(100 * good[at] / good[-1], 3) if good[-1] else None
        yield Step(method, ranked[ends[at]], int(ends[at]) + 1, int(words[at]), precision, recall)


def distribution(methods: Mapping[str, Sequence[Path]], logits: Sequence[str], out: Path) -> None:
    """Write scores at equidistant ranks, for every method (kim2019, figure 3), as CSV.

    Logits are converted to probabilities; other scores are rescaled linearly to [0, 1].
    """
    lines = {}
    for method, paths in methods.items():
        scores = _probabilities(paths) if method in logits else _finite(paths)
        lines[method] = curves.distribution(scores, rescale=method not in logits)
    ranks = np.linspace(0, 100, len(next(iter(lines.values()))))
    records.write_columns(out, {name: column.round(6) for name, column in {"rank": ranks, **lines}.items()})


def read_distribution(path: Path) -> "DataFrame":
    """The scores that `distribution` wrote, a column a method, by rank. Raises InputError for another file."""
    import pandas

    try:
        return pandas.read_csv(path, index_col="rank", dtype=float)
    except ValueError as error:
        raise InputError(f"not a distribution of scores ({error})", path, remedy="make the file again") from None


def shares(paths: Sequence[Path], *, seed: int = bootstrap.SEED) -> dict[str, Any]:
    """The shares of pairs, in percent, that kim2019 give with figure 3, of scores that are logits.

    "zero": those whose probability rounds to 0.00; "near_one": those whose probability is at least 0.99.
    """
    probabilities = _probabilities(paths)
    hits = {"zero": probabilities < ZERO, "near_one": probabilities >= NEAR_ONE}
    return {name: bootstrap.rate(f"share {name}", hit, seed=seed) for name, hit in hits.items()}


def _probabilities(paths: Sequence[Path]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(_finite(paths), -700, 700)))


def _finite(paths: Sequence[Path]) -> NDArray[np.float64]:
    """The scores that are finite: not of pairs that no method scores."""
    scores: NDArray[np.float64] = scores_by_id(paths).astype(np.float64)
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        raise InputError("no finite score", paths[0] if paths else None, remedy="score the pool again")
    return scores
