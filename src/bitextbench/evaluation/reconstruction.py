"""Corpus reconstruction: P@N of the true target among all targets; guo2018 section 4.1, yang2019 section 5.1.

A corpus has repeated sentences (9.5 of the 11.3 million of the UN corpus are distinct, yang2019 footnote 4), and equal
sentences have equal vectors. So P@N is given in two ways. By text, a copy of the true target is right, too. By index,
only the target itself is right, which has a ceiling: of m copies only N can be among the first N, the same for every
source.

Where the paper is silent:

- It is not said whether a copy of the true target is right. In the tables it is: P@N is by text.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import neighbours
from bitextbench.base.bootstrap import SEED, rate
from bitextbench.base.errors import InputError
from bitextbench.formats.vectors import Embeddings, by_probability
from bitextbench.neighbours import Both, Neighbours
from bitextbench.scoring.margins import K, margin, means, metric_and_margin, neighbourhoods

AT = (1, 3, 10)


def ranked(
    src: Embeddings, tgt: Embeddings, name: str = "cosine", k: int = K, at: Sequence[int] = AT, **search: Any
) -> Both:
    """The max(at) best targets of each source, and sources of each target, by a similarity of `margins.SIMILARITIES`.

    A margin is computed over k neighbours, of equal sentences one ("excluding duplicates", artetxe2019 section 3.1),
    and ranks the k nearest (footnote 7). For P@10 the next ones come after them, by their margins as well. The
    `similarities` of the result are the scores. By the dot product, sources are compared `by_probability`.
    """
    metric, rule = metric_and_margin(name)
    src, tgt = by_probability(src, tgt, metric)
    both = neighbours.search(src, tgt, max(k, *at), metric=metric, **search)
    nearest = Both(*(Neighbours(side.ids[:, :k], side.similarities[:, :k]) for side in both))
    f, g = means(nearest) if rule == "absolute" else neighbourhoods(src, tgt, k, nearest, metric=metric, **search)
    return Both(_rank(both.forward, rule, f, g, k, max(at)), _rank(both.backward, rule, g, f, k, max(at)))


def _rank(
    side: Neighbours, rule: str, own: NDArray[np.float64], other: NDArray[np.float64], k: int, n: int
) -> Neighbours:
    """The n best neighbours: the k nearest by their margins, then others by theirs. `own` and `other` are the means of
    the side that searches and of the other.
    """
    scores = margin(rule, side.similarities, own[:, None], other[side.ids])
    further = np.broadcast_to(np.arange(scores.shape[1]) >= k, scores.shape)
    order = np.lexsort((side.ids, np.where(np.isnan(scores), np.inf, -scores), further), axis=-1)[:, :n]
    return Neighbours(np.take_along_axis(side.ids, order, 1), np.take_along_axis(scores, order, 1))


def text_codes(texts: Sequence[str]) -> NDArray[np.int64]:
    """A number for each text [n], the same for equal ones."""
    codes: dict[str, int] = {}
    return np.array([codes.setdefault(text, len(codes)) for text in texts], np.int64)


def ceiling(codes: NDArray[np.int64], n: int) -> float:
    """The highest possible P@n by index, in percent, if equal targets cannot be distinguished."""
    copies = np.unique(codes, return_counts=True)[1]
    return float(100 * np.minimum(copies, n).sum() / len(codes))


def precision_at(
    ranking: NDArray[np.int64],
    texts: Sequence[str] | None = None,
    at: Sequence[int] = AT,
    *,
    seed: int = SEED,
    signature: str = "",
) -> dict[str, Any]:
    """P@N in percent for each N, with intervals over sources; the target of source i is i.

    ranking: int64 [n, c], the targets of each source, best first. texts [n]: those of the targets; with them, the
    result has `by_text` and the `ceiling` of `by_index`. Raises InputError for fewer than N targets, unless there are
    no more.
    """
    if ranking.shape[1] < min(max(at), len(ranking)):
        raise InputError(
            f"{ranking.shape[1]} targets for each source, too few for P@{max(at)}", remedy="search with a greater k"
        )
    gold = np.arange(len(ranking))[:, None]
    result: dict[str, Any] = {
        "by_index": _precision(ranking == gold, at, seed, "|".join(filter(None, [signature, "by:index"])))
    }
    if texts is not None:
        codes = text_codes(texts)
        result["by_text"] = _precision(
            codes[ranking] == codes[gold], at, seed, "|".join(filter(None, [signature, "by:text"]))
        )
        result["ceiling"] = {f"P@{n}": ceiling(codes, n) for n in at}
    return result


def _precision(hits: NDArray[np.bool_], at: Sequence[int], seed: int, signature: str) -> dict[str, Any]:
    return {f"P@{n}": rate(f"P@{n}", hits[:, :n].any(axis=1), seed=seed, signature=signature) for n in at}
