"""The accuracy of document matching (guo2018 section 4.2)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, rate
from bitextbench.base.errors import InputError
from bitextbench.mining.documents import Documents


def accuracy(
    matched: NDArray[np.int64], src: Documents, tgt: Documents, *, seed: int = SEED, signature: str = ""
) -> dict[str, Any]:
    """P@1 in percent over the source documents that have a counterpart; `without` is the number of the others.

    `matched` int64 [documents]: the target document of each source document, -1 for none. Raises InputError when no
    name is on both sides.
    """
    names = set(tgt.names)
    pairs = [(name, place) for name, place in zip(src.names, matched.tolist(), strict=True) if name in names]
    if not pairs:
        raise InputError("no document has a counterpart", remedy="use the same names on both sides")
    hits = [place >= 0 and tgt.names[place] == name for name, place in pairs]
    return {**rate("P@1 of documents", hits, seed=seed, signature=signature), "without": len(src.names) - len(pairs)}
