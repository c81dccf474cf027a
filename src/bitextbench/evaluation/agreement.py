"""Agreement of two scores on which pairs are good (guo2018 section 5)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import rate
from bitextbench.formats.vectors import Embeddings
from bitextbench.scoring.similarities.confidence import _check, calibrated, extremes, probabilities


def agreement(
    model: Path, tuned: Path, src: Embeddings, tgt: Embeddings, scores: NDArray[np.float32], spec: Mapping[str, float], seed: int
) -> dict[str, Any]:  # fmt: skip
    """How far a confidence agrees with other `scores` [n], which tuned it: guo2018 section 5.

    `correlation`: Pearson's r of scores and untuned confidence over all pairs, its 95% interval by Fisher's z. `untuned`, `tuned`: of
    held-out extremes, the share in percent that the confidence puts on the right side of 0.5, before and after.
    Raises InputError as `tune`.
    """
    _check(src, tgt, scores)
    found = extremes(scores, **spec, seed=seed)
    held, good = found.rows[: found.held], found.good[: found.held]
    result = {}
    for name, path in (("untuned", model), ("tuned", tuned)):
        sure = probabilities(calibrated(path, src.dimension), src, tgt, held, held[:, None])[:, 0]
        result[name] = rate(f"agreement, {name}", (sure > 0.5) == good, signature="held-out extremes")
    rows = np.arange(len(scores))
    sure = probabilities(calibrated(model, src.dimension), src, tgt, rows, rows[:, None])[:, 0]
    r = float(np.corrcoef(sure, scores.astype(np.float64))[0, 1])
    z = 1.96 / np.sqrt(max(1, len(rows) - 3))
    interval = np.tanh(np.arctanh(r) + np.array([-z, z])).tolist()
    result["correlation"] = {
        "metric": "Pearson's r",
        "value": r,
        "interval": interval,
        "n": len(rows),
        "signature": "Pearson's r|Fisher's z",
    }
    return result
