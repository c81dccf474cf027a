"""Precision, recall and F1 of mined pairs against a known gold set, at several thresholds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bitextbench.base.bootstrap import SEED
from bitextbench.evaluation import bucc, curves
from bitextbench.formats.mined_pairs import Candidates
from bitextbench.formats.vectors import Embeddings
from bitextbench.mining.comparable import Comparable, mine, searchable
from bitextbench.mining.texts import metric_and_margin
from bitextbench.scoring import neighbours


def evaluate(
    found: Comparable, src: Embeddings, tgt: Embeddings, similarities: Sequence[str], k: int = 4, *, seed: int = SEED, **search: Any
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """What `bucc.evaluate` measures, for each similarity (`margins.SIMILARITIES`) and each way of retrieval.

    Beside the four strategies of artetxe2019 there are `nearest_forward` and `nearest_backward`: each sentence with its nearest
    neighbour, whatever the margin, which only scores the pair (yang2019 section 6.1). Without a margin, forward and backward have
    the average precision, too (section 6.3). `src`, `tgt`: the vectors of the corpus, row by row.
    """
    texts = (found.src, found.tgt)
    sides, kept = searchable(found, src, tgt)
    truth = set(found.gold)
    result: dict[str, dict[str, Any]] = {name: {} for name in similarities}
    for metric in sorted({metric_and_margin(name)[0] for name in similarities}):
        both = neighbours.search(sides[0], sides[1], k, metric=metric, **search)
        for name in similarities:
            of, margin = metric_and_margin(name)
            for way, mined in mine(both, margin).items() if of == metric else ():
                ids = (
                    [text.ids[place] for place in rows[places].tolist()]
                    for text, rows, places in zip(texts, kept, mined[:2], strict=True)
                )
                candidates = Candidates(mined.scores, *ids)
                figures = bucc.evaluate(candidates, found.gold, *texts, seed=seed)
                if margin == "absolute" and way in ("forward", "backward"):
                    correct = np.array([pair in truth for pair in zip(*candidates[1:], strict=True)], bool)
                    figures["average_precision"] = curves.average_precision(
                        mined.scores, correct, len(truth), seed=seed
                    )
                result[name][way] = figures
    return result
