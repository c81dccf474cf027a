"""XXH3 (64 bits, without a seed) of the character n-grams of many words, as machine code: the hashes of `xxhash`.

Source: the specification of XXH3, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, for inputs of 1 to
LONGEST bytes.
"""

from typing import Any

import numpy as np

from bitextbench.base.compiled import compiled

LONGEST = 32  # bytes of what is hashed here
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
)
_KEYS = np.frombuffer(_SECRET, np.uint64)  # little-endian, as the hash is
_SHORT = np.uint64(int.from_bytes(_SECRET[:4], "little") ^ int.from_bytes(_SECRET[4:8], "little"))
_P1, _P2, _P3 = (np.uint64(prime) for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_AVALANCHE, _MIX = np.uint64(0x165667919E3779F9), np.uint64(0x9FB21C651E98DF25)
_LOW = np.uint64(0xFFFFFFFF)


@compiled
def _word(data: Any, at: int, size: int) -> Any:
    """`size` bytes as a number, the first the lowest."""
    value = np.uint64(0)
    for k in range(size):
        value |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return value


@compiled
def _folded(a: Any, b: Any) -> Any:
    """The halves of the product of two 64-bit numbers, one over the other."""
    half = np.uint64(32)
    a0, a1, b0, b1 = a & _LOW, a >> half, b & _LOW, b >> half
    low, one, two = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> half) + (one & _LOW) + two
    return (a * b) ^ (a1 * b1 + (one >> half) + (middle >> half))


@compiled
def _turned(value: Any, bits: int) -> Any:
    return value << np.uint64(bits) | value >> np.uint64(64 - bits)


@compiled
def _reversed(value: Any) -> Any:
    """The bytes in the other order."""
    turned = np.uint64(0)
    for k in range(8):
        turned = turned << np.uint64(8) | value >> np.uint64(8 * k) & np.uint64(0xFF)
    return turned


@compiled
def _spread(value: Any) -> Any:
    value = (value ^ value >> np.uint64(37)) * _AVALANCHE
    return value ^ value >> np.uint64(32)


@compiled
def hashed(data: Any, at: int, size: int) -> Any:
    """The hash of `data[at:at + size]`, of 1 to LONGEST bytes."""
    if size <= 3:
        first, middle, last = data[at], data[at + (size >> 1)], data[at + size - 1]
        value = np.uint64(first) << np.uint64(16) | np.uint64(middle) << np.uint64(24)
        value = (value | np.uint64(last) | np.uint64(size) << np.uint64(8)) ^ _SHORT
        value = (value ^ value >> np.uint64(33)) * _P2
        value = (value ^ value >> np.uint64(29)) * _P3
        return value ^ value >> np.uint64(32)
    if size <= 8:
        value = _word(data, at + size - 4, 4) + (_word(data, at, 4) << np.uint64(32)) ^ _KEYS[1] ^ _KEYS[2]
        value = (value ^ _turned(value, 49) ^ _turned(value, 24)) * _MIX
        value = (value ^ (value >> np.uint64(35)) + np.uint64(size)) * _MIX
        return value ^ value >> np.uint64(28)
    length = np.uint64(size)
    if size <= 16:
        low = _word(data, at, 8) ^ _KEYS[3] ^ _KEYS[4]
        high = _word(data, at + size - 8, 8) ^ _KEYS[5] ^ _KEYS[6]
        return _spread(length + _reversed(low) + high + _folded(low, high))
    begin = _folded(_word(data, at, 8) ^ _KEYS[0], _word(data, at + 8, 8) ^ _KEYS[1])
    end = at + size - 16
    return _spread(length * _P1 + begin + _folded(_word(data, end, 8) ^ _KEYS[2], _word(data, end + 8, 8) ^ _KEYS[3]))


@compiled
def ngram_ids(data: Any, bounds: Any, first: Any, shortest: int, longest: int, least: int, buckets: int) -> Any:
    """`first` of each word and `least` + hash modulo `buckets` of its n-grams of characters, by length and place;
    bounds of words.
    """
    total = 0
    ends = np.zeros(len(bounds), np.int64)
    for word in range(len(first)):
        size = 0
        for at in range(bounds[word], bounds[word + 1]):
            size += data[at] & 0xC0 != 0x80
        total += 1
        for n in range(shortest, min(longest, size) + 1):
            total += size - n + 1
        ends[word + 1] = total
    ids, starts = np.empty(total, np.int32), np.empty(bounds[-1] - bounds[0] + 1, np.int64)
    place = 0
    for word in range(len(first)):
        size = 0  # in characters, whose beginnings are starts[:size]
        for at in range(bounds[word], bounds[word + 1]):
            if data[at] & 0xC0 != 0x80:
                starts[size] = at
                size += 1
        starts[size] = bounds[word + 1]
        ids[place] = first[word]
        place += 1
        for n in range(shortest, min(longest, size) + 1):
            for k in range(size - n + 1):
                value = hashed(data, starts[k], starts[k + n] - starts[k])
                ids[place] = least + np.int64(value % np.uint64(buckets))
                place += 1
    return ids, ends
