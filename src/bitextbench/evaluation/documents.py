"""Accuracy of pairs of documents (guo2018 section 4.2)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, rate
from bitextbench.base.errors import InputError
from bitextbench.mining.documents import Documents


def accuracy(
    found: NDArray[np.int64], src: Documents, tgt: Documents, *, seed: int = SEED, signature: str = ""
) -> dict[str, Any]:
    """P@1 in percent over the source documents that have a counterpart; `without` counts those that have none.

    Raises InputError when no name is on both sides.
    """
    names = set(tgt.names)
    matched = [(name, place) for name, place in zip(src.names, found.tolist(), strict=True) if name in names]
    if not matched:
        raise InputError("no document has a counterpart", remedy="name documents alike on both sides")
    hits = [place >= 0 and tgt.names[place] == name for name, place in matched]
    return {**rate("P@1 of documents", hits, seed=seed, signature=signature), "without": len(src.names) - len(matched)}
