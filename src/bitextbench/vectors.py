"""Sentence vectors on disk: one float32 [n, d] `.npy` a shard and side."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError


def load(path: str | Path) -> NDArray[np.float32]:
    """Memory-map float32 vectors [n, d]. Raises InputError for other shapes and types, and for damaged files."""
    return arrays.load(path, "encode again", np.float32, ["sentences", "dimensions"])


def load_pair(src: str | Path, tgt: str | Path) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The vectors of both sides. Raises InputError when their shapes differ or a value is not finite."""
    a, b = load(src), load(tgt)
    if a.shape != b.shape:
        raise InputError(
            f"shape {a.shape}, but {tgt} has {b.shape}", src, remedy="encode both sides of one corpus with one model"
        )
    for path, array in ((src, a), (tgt, b)):
        if len(bad := np.flatnonzero(~np.isfinite(array).all(axis=1))):
            raise InputError("vector is not finite", path, line=int(bad[0]) + 1, remedy="encode again")
    return a, b
