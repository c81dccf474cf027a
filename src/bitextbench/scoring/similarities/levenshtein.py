"""Levenshtein distance of characters: the weak baseline of kim2019 section 4.1, which finds common names and numbers.

Where the paper is silent:

- It is not said whether the distance is divided by the length. Here it is not.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from bitextbench.scoring import Pairs

NEEDS = ("tokens",)


def score(pairs: Pairs, model: Path | None = None) -> NDArray[np.float32]:
    """Minus the distance of each pair's tokenised lines."""
    src, tgt = ([line or "" for line in side.to_pylist()] for side in pairs.text())
    return 0 - process.cpdist(src, tgt, scorer=Levenshtein.distance, dtype=np.float32)  # and so 0.0, not -0.0


def matrix(src: Sequence[str], tgt: Sequence[str], threads: int = 1) -> NDArray[np.float32]:
    """Minus the distance of each source and each target [n, m]."""
    return -process.cdist(src, tgt, scorer=Levenshtein.distance, dtype=np.float32, workers=threads)
