"""Dual conditional cross-entropy of two translation models: Junczys-Dowmunt 2018, section 2 (his `adq`)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.scoring import Pairs

NEEDS = ("likelihoods",)


def score(pairs: Pairs, model: Path | None = None) -> NDArray[np.float32]:
    """exp(-(|H(e|f) - H(f|e)| + (H(e|f) + H(f|e)) / 2)), H in nats a token; e^-100 for a pair that the models do not
    take.
    """
    forward, backward = -pairs.of_models().per_token(("forward", "backward"))
    return np.exp(-(np.abs(forward - backward) + (forward + backward) / 2)).astype(np.float32)
