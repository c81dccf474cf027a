"""Random scores: the baseline of kim2019 table 2, drawn after the pre-filter."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.scoring import Pairs

_STEP, _A, _B = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def score(pairs: Pairs, model: Path | None = None, seed: int = 1) -> NDArray[np.float32]:
    """A uniform number in [0, 1) that depends on the pair's id alone: the same for any number of shards (splitmix64)."""
    with np.errstate(over="ignore"):
        x = (pairs.ids.astype(np.uint64) + np.uint64(seed) * np.uint64(0x632BE59BD9B4E019)) * _STEP + _STEP
        x = (x ^ (x >> np.uint64(30))) * _A
        x = (x ^ (x >> np.uint64(27))) * _B
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
