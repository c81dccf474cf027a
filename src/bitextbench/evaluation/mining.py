"""Precision, recall and F1 of the pairs that each strategy mines from a comparable corpus."""

from collections.abc import Sequence
from typing import Any

from bitextbench import neighbours
from bitextbench.base.bootstrap import SEED
from bitextbench.evaluation import bucc, curves
from bitextbench.formats.mined_pairs import Candidates
from bitextbench.formats.vectors import Embeddings
from bitextbench.mining.comparable import Comparable, mine, searchable
from bitextbench.scoring.margins import K, metric_and_margin


def evaluate(
    corpus: Comparable,
    src: Embeddings,
    tgt: Embeddings,
    similarities: Sequence[str],
    k: int = K,
    *,
    seed: int = SEED,
    **search: Any,
) -> dict[str, dict[str, Any]]:
    """The metrics of `bucc.evaluate`, for each similarity (of `margins.SIMILARITIES`) and each strategy of retrieval.

    Besides the four strategies of artetxe2019 there are `nearest_forward` and `nearest_backward`: each sentence with
    its nearest neighbour; the margin only scores the pair (yang2019 section 6.1). Without a margin, forward and
    backward have the average precision, too (section 6.3). `src`, `tgt`: the vectors of the corpus, row by row.
    """
    texts = (corpus.src, corpus.tgt)
    sides, kept = searchable(corpus, src, tgt)
    result: dict[str, dict[str, Any]] = {name: {} for name in similarities}
    for metric in sorted({metric_and_margin(name)[0] for name in similarities}):
        both = neighbours.search(sides[0], sides[1], k, metric=metric, **search)
        for name in similarities:
            own_metric, margin = metric_and_margin(name)
            for strategy, mined in mine(both, margin).items() if own_metric == metric else ():
                ids = (
                    [text.ids[place] for place in rows[places].tolist()]
                    for text, rows, places in zip(texts, kept, mined[:2], strict=True)
                )
                candidates = Candidates(mined.scores, *ids)
                metrics = bucc.evaluate(candidates, corpus.gold, *texts, seed=seed)
                if margin == "absolute" and strategy in ("forward", "backward"):
                    correct = bucc.in_gold(candidates, corpus.gold)
                    metrics["average_precision"] = curves.average_precision(
                        mined.scores, correct, len(corpus.gold), seed=seed
                    )
                result[name][strategy] = metrics
    return result
