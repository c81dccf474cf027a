"""The places of numbers in a list of distinct ones, by a hash table: one look at memory each, where a binary search has
twenty.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled

_MIX, _FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class Lookup:
    """`keys` uint64 [m], distinct. Memory: 8 to 16 bytes a key."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        self.keys = np.ascontiguousarray(keys, np.uint64)
        self.slots = _slots(self.keys, 2 << len(keys).bit_length())

    def __call__(self, queries: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The place of each query in the keys [n], -1 for one that is not there."""
        return _places(self.keys, self.slots, np.ascontiguousarray(queries, np.uint64))


@compiled
def _slots(keys: Any, size: int) -> Any:
    """The place of a key at its hash, or at the first free slot after it, int32 [size]; `size` is a power of 2."""
    slots, mask = np.full(size, -1, np.int32), np.uint64(size - 1)
    for place in range(len(keys)):
        slot = _hashed(keys[place]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = place
    return slots


@compiled
def _hashed(key: Any) -> Any:
    value = (key ^ key >> _FOLD) * _MIX
    return value ^ value >> _FOLD


@compiled
def _places(keys: Any, slots: Any, queries: Any) -> Any:
    places, mask = np.full(len(queries), -1, np.int64), np.uint64(len(slots) - 1)
    for row in range(len(queries)):
        slot = _hashed(queries[row]) & mask
        while slots[slot] >= 0:
            if keys[slots[slot]] == queries[row]:
                places[row] = slots[slot]
                break
            slot = (slot + np.uint64(1)) & mask
    return places
