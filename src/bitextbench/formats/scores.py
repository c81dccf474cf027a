"""Scores of the pairs of a corpus: one `.npy` of float32 [n] for each shard."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.memory import release
from bitextbench.formats import bitext

BLOCK = 1 << 20  # scores that are checked at a time


def load_scores(paths: Sequence[Path]) -> list[NDArray[np.float32]]:
    """The scores of each shard, memory-mapped. Raises InputError for another kind of file, and NaN (with the row)."""
    shards: list[NDArray[np.float32]] = []
    for path in paths:
        scores = arrays.load(path, "score this shard again", np.float32, ["pairs"])
        for start in range(0, len(scores), BLOCK):
            if len(bad := np.flatnonzero(np.isnan(scores[start : start + BLOCK]))):
                raise InputError("score is NaN", path, line=start + int(bad[0]) + 1, remedy="score this shard again")
            release(scores)
        shards.append(scores)
    return shards


def scores_by_id(paths: Sequence[Path]) -> NDArray[np.float32]:
    """The scores of all shards [n], in memory, in the order of ids. Raises InputError as `load_scores`."""
    shards = load_scores(paths)
    return np.concatenate([np.empty(0, np.float32), *shards])[bitext.order_of_ids([*map(len, shards)])]
