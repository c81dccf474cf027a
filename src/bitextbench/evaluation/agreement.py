"""Agreement of two scores on which pairs are good (guo2018 section 5)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import Z, rate
from bitextbench.formats.vectors import Embeddings
from bitextbench.scoring.similarities.confidence import calibrated, check_scored, extremes, probabilities


def agreement(
    model: Path,
    tuned: Path,
    src: Embeddings,
    tgt: Embeddings,
    scores: NDArray[np.float32],
    spec: Mapping[str, float],
    seed: int,
) -> dict[str, Any]:
    """The agreement of a confidence with other `scores` [n], by which it was tuned: guo2018 section 5.

    `correlation`: Pearson's r of the scores and the untuned confidence over all pairs, with a 95% interval by Fisher's
    z. `untuned`, `tuned`: the share of held-out extremes, in percent, whose confidence before and after tuning is on
    the right side of 0.5. Raises InputError as `tune` does.
    """
    check_scored(src, tgt, scores)
    sample = extremes(scores, **spec, seed=seed)
    held_out, good = sample.rows[: sample.held], sample.good[: sample.held]
    result = {}
    for name, path in (("untuned", model), ("tuned", tuned)):
        confidence = probabilities(calibrated(path, src.dimension), src, tgt, held_out, held_out[:, None])[:, 0]
        result[name] = rate(f"agreement, {name}", (confidence > 0.5) == good, signature="held-out extremes")
    rows = np.arange(len(scores))
    confidence = probabilities(calibrated(model, src.dimension), src, tgt, rows, rows[:, None])[:, 0]
    return result | {"correlation": correlation(confidence, scores.astype(np.float64))}


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> dict[str, Any]:
    """Pearson's r of two scores [n] of the same pairs, with a 95% interval by Fisher's z."""
    r = float(np.corrcoef(one, other)[0, 1])
    z = Z / np.sqrt(max(1, len(one) - 3))
    interval = np.tanh(np.arctanh(r) + np.array([-z, z])).tolist()
    return {
        "metric": "Pearson's r",
        "value": r,
        "interval": interval,
        "n": len(one),
        "signature": "Pearson's r|Fisher's z",
    }
