"""The label of a pair as its score: an upper bound for every method on a pool with made noise. No paper has this row."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.scoring import Pairs
from bitextbench.scoring.similarities import random

NEEDS = ("labels",)
GOOD, UNKNOWN = "parallel", ""


def score(pairs: Pairs, model: Path | None = None, seed: int = 1) -> NDArray[np.float32]:
    """2 for good pairs, 1 for those without a label, 0 for bad ones; plus a random number below 1, which orders them.

    Raises InputError when the shard has pairs and none of them a label.
    """
    labels = pairs.labelled()
    if len(labels) and not any(labels):
        raise InputError("no pair has a label", remedy="the oracle needs a pool with labels")
    ranks = np.array([{GOOD: 2.0, UNKNOWN: 1.0}.get(label, 0.0) for label in labels], np.float32)
    return ranks + random.score(pairs, seed=seed)
