"""Cosine similarity: kim2019 eq. 13."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.scoring import Pairs

NEEDS = ("vectors",)
BLOCK = 256  # pairs at a time: in float64 they stay in the cache of the CPU


def score(pairs: Pairs, model: Path | None = None) -> NDArray[np.float32]:
    """a.b / (|a| |b|), in float64 inside; 0 where a vector is zero (an empty sentence is like nothing)."""
    src, tgt = pairs.vectors()
    out = np.zeros(len(src), np.float32)
    for start in range(0, len(src), BLOCK):
        a, b = (side[start : start + BLOCK].astype(np.float64) for side in (src, tgt))
        norms = np.sqrt((a * a).sum(1) * (b * b).sum(1))
        np.divide((a * b).sum(1), norms, out=out[start : start + BLOCK], where=norms > 0, casting="same_kind")
    return out
