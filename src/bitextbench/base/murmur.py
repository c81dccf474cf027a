"""MurmurHash3 (Appleby 2011, x64, 128 bits, seed 0) of many ranges of bytes, as machine code.

Source: https://github.com/aappleby/smhasher, MurmurHash3.cpp.
"""

from typing import Any

import numpy as np

from bitextbench.base.compiled import compiled

A, B = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
# masks of the bytes of a token of n bytes: in the eight bytes from its beginning, and in the next eight
FIRST, SECOND = np.array([[2 ** (8 * min(8, max(0, n - k))) - 1 for n in range(17)] for k in (0, 8)], np.uint64)


@compiled
def digests(words: Any, bounds: Any) -> Any:
    """128 bits of each range of bytes, uint64 [n, 2]. `words`: the eight bytes from each byte on, to 16 bytes behind
    the last range.
    """
    hashes = np.empty((len(bounds) - 1, 2), np.uint64)
    for i in range(len(hashes)):
        at, size, low, high = bounds[i], bounds[i + 1] - bounds[i], np.uint64(0), np.uint64(0)
        for _ in range(size // 16):
            low = (_rotl(low ^ _mixed(words[at], A, B, 31), 27) + high) * np.uint64(5) + np.uint64(0x52DCE729)
            high = (_rotl(high ^ _mixed(words[at + 8], B, A, 33), 31) + low) * np.uint64(5) + np.uint64(0x38495AB5)
            at += 16
        low ^= _mixed(words[at] & FIRST[size % 16], A, B, 31) ^ np.uint64(size)
        high ^= _mixed(words[at + 8] & SECOND[size % 16], B, A, 33) ^ np.uint64(size)
        low += high
        high += low
        low, high = _avalanche(low), _avalanche(high)
        hashes[i] = low + high, low + high + high
    return hashes


@compiled
def _mixed(word: Any, first: Any, second: Any, bits: int) -> Any:
    return _rotl(word * first, bits) * second


@compiled
def _rotl(word: Any, bits: int) -> Any:
    return word << np.uint64(bits) | word >> np.uint64(64 - bits)


@compiled
def _avalanche(word: Any) -> Any:
    word = (word ^ word >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    word = (word ^ word >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return word ^ word >> np.uint64(33)
