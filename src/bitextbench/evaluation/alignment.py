"""Sentence alignment recovery: kim2019 section 4.1, tables 1 and 3.

For each source, the most similar of all targets is retrieved; the error rate is the share of sources for which it is
not their own target. The same in the opposite direction, and the average of both. Row i of both sides is a pair; of
tied rows the lower one is taken. A sentence that nothing is compared with, as it is empty or too long, is an error.

Where the paper is silent:

- CSLS has the 10 neighbours of Conneau et al. 2018, who introduce it. Equal sentences count once among them.
- The Levenshtein distance is that of the sentences as they are, before tokenisation, in lower case.
- It is not said whether a copy of the right sentence is right. In the tables it is not, unlike in those of
  `reconstruction`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bitextbench import neighbours
from bitextbench.base.bootstrap import SEED, rate
from bitextbench.formats.vectors import Embeddings, by_probability
from bitextbench.scoring import Pairs, scored
from bitextbench.scoring.margins import margin, metric_and_margin, neighbourhoods

K = 10  # neighbours of CSLS: not given in kim2019; 10 in Conneau et al. 2018, who introduce it
BLOCK = 1 << 22  # scores at a time

Score = Callable[[slice], NDArray[np.float32]]  # rows of the sources -> scores against all targets [rows, n]


def recover(score: Score, n: int, at_once: int = BLOCK) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The best target of each of n sources, and the best source of each of n targets, int64 [n].

    -1 for a row or column without a score: NaN and -inf are none.

    `at_once`: scores computed at a time (but at least a whole row).
    """
    forward = np.empty(n, np.int64)
    backward, best = np.full(n, -1, np.int64), np.full(n, -np.inf, np.float32)
    step = max(1, at_once // n)
    for start in range(0, n, step):
        scores = score(slice(start, min(start + step, n)))
        scores = np.where(np.isnan(scores), -np.inf, scores)
        forward[start : start + step] = np.where(scores.max(axis=1) > -np.inf, scores.argmax(axis=1), -1)
        top = scores.max(axis=0)
        better = top > best
        backward[better] = start + scores.argmax(axis=0)[better]
        best[better] = top[better]
    return forward, backward


def by_vectors(
    src: Embeddings, tgt: Embeddings, name: str, k: int = K, **search: Any
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`recover` by a similarity of `margins.SIMILARITIES`; k: neighbours in a margin; `search`: as in `neighbours`.

    A margin is computed for all pairs, not only for neighbours, in the direction from source to target; both sides are
    then in memory in float64. By the dot product, sources are compared `by_probability`.
    """
    metric, rule = metric_and_margin(name)
    src, tgt = by_probability(src, tgt, metric)
    if rule == "absolute":
        both = neighbours.search(src, tgt, 1, metric=metric, **search)
        return both.forward.ids[:, 0], both.backward.ids[:, 0]
    f, g = neighbourhoods(src, tgt, k, metric=metric, **search)
    a, b = (_unit(side) for side in (src, tgt))
    with threadpool_limits(1):  # the last bit of a product of BLAS depends on the number of threads
        return recover(lambda rows: margin(rule, (a[rows] @ b.T).astype(np.float32), f[rows, None], g), len(src))


def _unit(side: Embeddings) -> NDArray[np.float64]:
    rows = side.block(0, len(side)).astype(np.float64)
    norms = side.norms()[:, None]
    return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)


def by_model(src: Embeddings, tgt: Embeddings, name: str, model: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`recover` by a fitted similarity such as the MLP, which scores all pairs."""
    targets = tgt.block(0, len(tgt))

    def score(rows: slice) -> NDArray[np.float32]:
        sources = src.block(rows.start, rows.stop)
        shape = len(sources), len(targets)
        left, right = sources.repeat(shape[1], axis=0), np.tile(targets, (shape[0], 1))
        return scored(name, Pairs(np.arange(len(left)), left, right), model).reshape(shape)

    return recover(score, len(src), BLOCK // src.dimension)


def by_text(src: Sequence[str], tgt: Sequence[str], threads: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`recover` by the Levenshtein distance of the sentences themselves, in lower case."""
    from bitextbench.scoring.similarities import levenshtein

    a, b = ([line.lower() for line in side] for side in (src, tgt))
    return recover(lambda rows: levenshtein.matrix(a[rows], b, threads), len(a))


def error_rates(
    forward: NDArray[np.int64],
    backward: NDArray[np.int64],
    src: Sequence[str] | None = None,
    tgt: Sequence[str] | None = None,
    *,
    seed: int = SEED,
    signature: str = "",
) -> dict[str, Any]:
    """Error rates in percent: forward, backward and average, each with its interval over sentences.

    With the texts of both sides, also `by_text`, for which a copy of the right sentence is right, too.
    """
    rows = np.arange(len(forward))
    result = _rates(forward != rows, backward != rows, seed, signature)
    if src is not None and tgt is not None:
        wrong = [
            np.array([at < 0 or text[at] != text[row] for row, at in enumerate(nearest.tolist())])
            for text, nearest in ((tgt, forward), (src, backward))
        ]
        result["by_text"] = _rates(wrong[0], wrong[1], seed, "|".join(filter(None, [signature, "by:text"])))
    return result


def _rates(forward: NDArray[np.bool_], backward: NDArray[np.bool_], seed: int, signature: str) -> dict[str, Any]:
    wrong = {"forward": forward, "backward": backward, "average": (forward.astype(np.float64) + backward) / 2}
    return {
        name: rate(f"error rate ({name})", column, seed=seed, signature=signature) for name, column in wrong.items()
    }
