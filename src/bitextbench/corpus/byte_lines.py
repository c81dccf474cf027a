"""Counts tokens, letters and characters of many lines at once, from their bytes, without Python objects.

White space and letters are Unicode's (as in `str.split` and `unicodedata`). They are found in the UTF-8 bytes: an ASCII
byte is a character; of the other bytes, only those that begin a character are decoded. Masks of bytes are kept as bits.
numba compiles the loops over bytes and tokens; those over all bytes become vector instructions.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled, lowest_bit
from bitextbench.base.languages import spaced
from bitextbench.base.murmur import FIRST, SECOND
from bitextbench.corpus.words import ENGLISH, usual_characters
from bitextbench.formats.repair import is_empty

BLOCK = 16384  # lines at a time: many for the cost of a call, few for a processor's cache
ROOM = 16  # bytes after the text, for words of eight bytes that begin in it
PRIME, FOLD = np.uint64(0xBF58476D1CE4E5B9), np.uint64(32)
LENGTH = np.uint64(0xD6E8FEB86659FD93)  # tells lengths apart, also of tokens that end with NUL

KINDS: dict[str, tuple[Callable[[str], bool], Sequence[tuple[int, int]]]] = {
    "space": (str.isspace, [(0, 0x3001)]),
    "empty": (is_empty, [(0, 0x3001), (0xFEFF, 0xFF00)]),
    "letter": (lambda point: unicodedata.category(point)[0] in "LM", [(0, 0x40000), (0xE0000, 0xE1000)]),
}
"""Kinds of characters: the test, and the ranges that hold all of them."""

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
Bits = NDArray[np.uint64]  # a mask of b bytes as b // 64 + 2 words; the bits from b on are undefined


@dataclass(frozen=True)
class Lines:
    """A column of strings as bytes. Shapes: n lines, t tokens, b bytes.

    The values for a null are undefined. `language` decides what a token is: text between white space, or a character
    (see `corpus.words`).
    """

    column: pa.Array
    language: str

    def __len__(self) -> int:
        return len(self.column)

    @cached_property
    def _offsets(self) -> NDArray[Any]:
        width = np.int64 if pa.types.is_large_string(self.column.type) else np.int32
        offsets = np.frombuffer(self.column.buffers()[1] or bytes(8), width)
        return offsets[self.column.offset : self.column.offset + len(self) + 1]

    @cached_property
    def bounds(self) -> Places:
        """The beginnings of lines, and the end, int64 [n + 1], in bytes."""
        return self._offsets.astype(np.int64) - int(self._offsets[0])

    @cached_property
    def text(self) -> NDArray[np.uint8]:
        """The bytes of all lines, uint8 [b], and what happens to be behind them."""
        return _read_only(np.frombuffer(self.column.buffers()[2] or b"", np.uint8)[self._offsets[0] :])

    @cached_property
    def data(self) -> NDArray[np.uint8]:
        """The bytes of all lines, uint8, padded to whole words of bits, plus ROOM; bytes from b on are undefined."""
        b, size = int(self.bounds[-1]), (int(self.bounds[-1]) // 64 + 2) * 64 + ROOM
        text = self.text
        return text[:size] if len(text) >= size else _read_only(np.append(text[:b], np.zeros(size - b, np.uint8)))

    @cached_property
    def words(self) -> Bits:
        """The eight bytes from each byte on, as a number: x86 and ARM read unaligned words."""
        return np.ndarray(len(self.data) - 7, np.uint64, self.data, strides=(1,))

    @cached_property
    def space(self) -> Bits:
        """The bytes of white space."""
        return _space(self.data, _table("space"))

    @cached_property
    def begins(self) -> Bits:
        """The bytes that begin a character."""
        return _begins(self.data)

    @cached_property
    def visible(self) -> Places:
        """The characters of each line that are not white space [n]."""
        return count(self.begins & ~self.space, self.bounds)

    @cached_property
    def letters(self) -> Places:
        """The letters of each line, and the marks on them [n]."""
        return count(_letters(self.data, _table("letter")), self.bounds)

    @cached_property
    def firsts(self) -> Bits:
        """The bytes that begin a line, and the first after the text."""
        return _bits(self.bounds, len(self.space))

    @cached_property
    def starts(self) -> Bits:
        """The bytes that begin a token."""
        if spaced(self.language):
            return (after(self.space) | self.firsts) & ~self.space
        return self.begins & ~self.space

    @cached_property
    def stops(self) -> Bits:
        """The bytes at which a token ends at the latest."""
        return (self.space if spaced(self.language) else self.begins) | self.firsts

    @cached_property
    def lengths(self) -> Places:
        """The tokens of each line [n]."""
        return count(self.starts, self.bounds)

    @cached_property
    def in_words(self) -> NDArray[Any]:
        """The length of each line in words [n], int64 or float64: see `corpus.words`."""
        return self.lengths if spaced(self.language) else self.visible / (ENGLISH * usual_characters(self.language))

    @cached_property
    def hashes(self) -> Bits:
        """A hash of each token [t], of all its bytes."""
        return _hashes(self.words, self.starts, self.stops, self.lengths.sum())

    @cached_property
    def runs(self) -> Places:
        """The longest run of one token in each line [n]."""
        return _runs(self.lengths, np.cumsum(self.lengths), self.hashes)


def _read_only(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The array without leave to write: Arrow gives either kind, and numba would compile all loops for both."""
    array.flags.writeable = False
    return array


def filled(column: pa.Array | pa.ChunkedArray) -> pa.BooleanArray:
    """Whether each line has more than white space and invisible characters (`repair.is_empty`); null for a null."""
    whole = pa.chunked_array([column], column.type) if isinstance(column, pa.Array) else column
    text = whole.chunk(0) if whole.num_chunks == 1 else whole.combine_chunks()  # which would copy a single chunk
    lines = Lines(text, "")
    return pa.array(_filled(lines.text, lines.bounds, _table("empty")), mask=text.is_null().to_numpy(False))


def after(bits: Bits) -> Bits:
    """The mask moved by one byte: bit i becomes bit i + 1."""
    moved = bits << np.uint64(1)
    moved[1:] |= bits[:-1] >> np.uint64(63)
    return moved


def overlap(src: Lines, tgt: Lines) -> tuple[Places, Places]:
    """For each pair of lines [n]: the distinct tokens that both sides have, and those of the side with fewer.

    Tokens are compared by 64 bits of a hash: among 10 billion pairs with 100 tokens a side, no collision is likely.
    """
    most = int((src.lengths + tgt.lengths).max(initial=0))
    size = 8 << most.bit_length()  # of the hash table: large enough for few collisions
    return _overlap(
        src.lengths, src.hashes, tgt.lengths, tgt.hashes, np.empty(size, np.uint64), np.zeros(size, np.int64)
    )


@cache
def _table(kind: str) -> Mask:
    """Whether each code point is of a kind; there are none outside the ranges of the kind."""
    table = np.zeros(1 << 21, bool)  # all values of four bytes
    test, ranges = KINDS[kind]
    for low, high in ranges:
        table[low:high] = np.fromiter(map(test, map(chr, range(low, high))), bool, high - low)
    return table


@compiled
def _decoded(data, at):
    """The code point of the character outside ASCII that begins `at`, and its number of bytes."""
    lead = np.int64(data[at])
    width = 2 + (lead >= 0xE0) + (lead >= 0xF0)
    point = lead & (0x7F >> width)
    for k in range(1, width):
        point = point << 6 | (data[at + k] & 0x3F)
    return point, width


@compiled
def _unsure(byte):
    """Whether a byte needs the table: a control character, or the first byte of a character that may be white space.

    These are U+0085, U+00A0, U+1680, U+2000 to U+205F and U+3000.
    """
    return (byte < 28) | (byte == 0xC2) | ((byte >= 0xE1) & (byte <= 0xE3))


@compiled
def _space(data, table):
    bits = np.zeros(len(data) // 64, np.uint64)
    for w in range(len(bits)):
        block, space, unsure = data[64 * w : 64 * w + 64], np.uint64(0), False
        for k in range(64):
            space |= np.uint64(block[k] <= 32) << np.uint64(k)
        for k in range(64):
            unsure |= _unsure(block[k])
        bits[w] |= space
        for at in range(64 * w, 64 * w + 64 if unsure else 0):
            if data[at] < 28 and not table[data[at]]:
                bits[w] &= ~(np.uint64(1) << np.uint64(at & 63))
            elif data[at] >= 0xC2 and _unsure(data[at]):
                point, width = _decoded(data, at)
                for part in range(at, min(at + width, 64 * len(bits)) if table[point] else at):
                    bits[part >> 6] |= np.uint64(1) << np.uint64(part & 63)
    return bits


@compiled
def _filled(data, bounds, empty):
    """Whether each line has a character that is not `empty`, bool [n]: mostly the first."""
    keep = np.zeros(len(bounds) - 1, np.bool_)
    for i in range(len(keep)):
        at = bounds[i]
        while at < bounds[i + 1] and not keep[i]:
            point, width = _decoded(data, at) if data[at] >= 0x80 else (np.int64(data[at]), 1)
            keep[i] = not empty[point]
            at += width
    return keep


@compiled
def _begins(data):
    bits = np.zeros(len(data) // 64, np.uint64)
    for w in range(len(bits)):
        block = data[64 * w : 64 * w + 64]
        for k in range(64):
            bits[w] |= np.uint64((block[k] & 0xC0) != 0x80) << np.uint64(k)
    return bits


@compiled
def _letters(data, table):
    bits = np.zeros(len(data) // 64, np.uint64)
    for w in range(len(bits)):
        block = data[64 * w : 64 * w + 64]
        letter = lead = np.uint64(0)
        for k in range(64):
            byte, place = block[k], np.uint64(k)
            letter |= np.uint64(np.uint8((byte | 32) - 97) < 26) << place
            lead |= np.uint64(byte >= 0xC0) << place
        while lead:
            place = lowest_bit(lead)
            lead &= lead - np.uint64(1)
            letter |= np.uint64(table[_decoded(data, 64 * w + place)[0]]) << np.uint64(place)
        bits[w] = letter
    return bits


@compiled
def _bits(places, words):
    bits = np.zeros(words, np.uint64)
    for at in places:
        bits[at >> 6] |= np.uint64(1) << np.uint64(at & 63)
    return bits


@compiled
def count(bits, bounds):
    """The number of set bits in each range, int64 [n]; range i is from bounds[i] to bounds[i + 1]."""
    counts, w, whole, last = np.empty(len(bounds) - 1, np.int64), 0, 0, 0
    for i, at in enumerate(bounds):
        while w < at >> 6:
            whole += _population(bits[w])
            w += 1
        before = whole + _population(bits[w] & ~(~np.uint64(0) << np.uint64(at & 63)))
        if i:
            counts[i - 1] = before - last
        last = before
    return counts


@compiled
def _population(word):
    """The bits set in a word. LLVM recognises this form: graphics.stanford.edu/~seander/bithacks.html."""
    word -= word >> np.uint64(1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64(word * np.uint64(0x0101010101010101) >> np.uint64(56))


@compiled
def _distance(bits, at):
    """The distance from `at` to the first set bit; mostly within the first 64 bits."""
    place, shift, far = at >> 6, np.uint64(at & 63), 0
    word = bits[place] >> shift | (bits[place + 1] << np.uint64(1)) << (np.uint64(63) - shift)
    while not word:
        place, far = place + 1, far + 64
        word = bits[place] >> shift | (bits[place + 1] << np.uint64(1)) << (np.uint64(63) - shift)
    return far + lowest_bit(word)


@compiled
def _hashes(words, starts, stops, size):
    """The hash of each token [size]; `words`: the eight bytes from each byte on.

    Sixteen bytes are hashed without a branch: few tokens are longer, so that few branches are mispredicted.
    """
    hashes, t = np.empty(size, np.uint64), 0
    for w in range(len(starts)):
        bits = starts[w]
        while bits and t < size:
            at = 64 * w + lowest_bit(bits)
            bits &= bits - np.uint64(1)
            n = 1 + _distance(stops, at + 1)
            token = (words[at] & FIRST[min(n, 16)] ^ np.uint64(n) * LENGTH) * PRIME
            token = (token ^ token >> FOLD ^ words[at + 8] & SECOND[min(n, 16)]) * PRIME
            if n > 16:
                for k in range(16, n, 8):
                    token = (token ^ token >> FOLD ^ words[at + k] & FIRST[min(n - k, 16)]) * PRIME
            hashes[t] = token ^ token >> FOLD
            t += 1
    return hashes


@compiled
def _runs(lengths, ends, hashes):
    runs, run = np.minimum(lengths, 1), 1
    for t in range(1, len(hashes)):
        if hashes[t] == hashes[t - 1]:
            i = np.searchsorted(ends, t, "right")
            run = run + 1 if t > ends[i] - lengths[i] else 1
            runs[i] = max(runs[i], run)
        else:
            run = 1
    return runs


@compiled
def _overlap(lengths, hashes, other_lengths, other_hashes, tokens, owners):
    """`overlap`. `tokens`, `owners` [2^m] are a hash table: each token, and the side that had it last.

    The sides of pair i are 2 i + 1, the source, and 2 i + 2, the target.
    """
    shared, fewer = np.zeros(len(lengths), np.int64), np.zeros(len(lengths), np.int64)
    a = b = 0
    for i in range(len(lengths)):
        distinct_src = distinct_tgt = 0
        source, target = 2 * i + 1, 2 * i + 2
        for token in hashes[a : a + lengths[i]]:
            place = _find(token, source, tokens, owners)
            distinct_src += owners[place] < source
            tokens[place], owners[place] = token, source
        for token in other_hashes[b : b + other_lengths[i]]:
            place = _find(token, source, tokens, owners)
            distinct_tgt += owners[place] < target
            shared[i] += owners[place] == source
            tokens[place], owners[place] = token, target
        a, b, fewer[i] = a + lengths[i], b + other_lengths[i], min(distinct_src, distinct_tgt)
    return shared, fewer


@compiled
def _find(token, source, tokens, owners):
    """The place of a token of this pair in the hash table, or the first free place for it."""
    last = np.uint64(len(tokens) - 1)
    place = token >> np.uint64(40) & last
    while owners[place] >= source and tokens[place] != token:
        place = (place + np.uint64(1)) & last
    return place
