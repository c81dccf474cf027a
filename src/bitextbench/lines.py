"""Lines as bytes: tokens, letters and characters of many lines counted at once, without a Python object for any of them.

White space and letters are Unicode's (as `str.split` and `unicodedata` have them), found in the UTF-8 bytes: an ASCII byte
tells by itself, and of the others only those that begin a character are decoded. Masks of bytes are kept as bits. What costs
much for a token (all its bytes) is asked of the few lines that a cheap bound does not settle: `sketches`, `most_alike`.
"""

import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.language import UNSPACED

BLOCK = 16384  # lines at a time: many for the cost of a call, few for a processor's cache
_A32 = np.uint32(0x9E3779B1)
_A, _B, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(29)

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
Bits = NDArray[np.uint64]  # a mask of b bytes as b // 64 + 1 words; bits from b on have no meaning


def packed(mask: Mask) -> Bits:
    """A mask in an eighth of the memory."""
    words = np.zeros(len(mask) // 64 + 1, np.uint64)
    bits = np.packbits(mask, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    return words


def after(bits: Bits) -> Bits:
    """Each bit moved to the next byte."""
    moved = bits << np.uint64(1)
    moved[1:] |= bits[:-1] >> np.uint64(63)
    return moved


def places(bits: Bits, size: int) -> Places:
    """Which of the first `size` bits are set, in order."""
    return np.flatnonzero(np.unpackbits(bits.view(np.uint8), count=size, bitorder="little").view(bool))


def count(bits: Bits, bounds: Places) -> Places:
    """How many bits are set in each stretch [n]; stretch i ends where the next begins, at bounds[i + 1]."""
    before = np.zeros(len(bits), np.int64)  # each word
    np.cumsum(np.bitwise_count(bits[:-1]), out=before[1:])
    place, rest = bounds >> 6, (bounds & 63).view(np.uint64)
    inside = np.bitwise_count(bits[place] & ((np.uint64(1) << rest) - np.uint64(1)))
    return np.diff(before[place] + inside)


@dataclass(frozen=True)
class Lines:
    """Lines in one array of bytes. Numbers of lines, tokens and bytes: n, t, b.

    `data` uint8 [b]; `bounds` int64 [n + 1], where lines begin, and the end; `language` says what a token is: what stands
    between white space, or a character (see `language.words`).
    """

    data: NDArray[np.uint8]
    bounds: Places
    language: str

    @classmethod
    def of(cls, text: pa.ChunkedArray | pa.Array, language: str) -> "Lines":
        """A column of strings, of which no text is copied; what stands for a null has no meaning."""
        text = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
        width = np.int64 if pa.types.is_large_string(text.type) else np.int32
        offsets = np.frombuffer(text.buffers()[1] or bytes(8), width)[text.offset : text.offset + len(text) + 1]
        data = np.frombuffer(text.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
        return cls(data, offsets.astype(np.int64) - int(offsets[0]), language)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def space(self) -> Bits:
        """The bytes of white space."""
        data = self.data
        space = data <= 32
        # Not so: other control characters. And so, of what is not ASCII: U+0085, U+00A0; U+1680, U+2000 to U+205F, U+3000.
        odd = (data + np.uint8(31)) <= 58  # 0 to 27, 0xE1 to 0xFF
        odd |= data == 0xC2
        at = np.flatnonzero(odd)
        space[at] = data[at] - np.uint8(9) <= 4
        at = at[data[at] - np.uint8(0xC2) <= 0xE3 - 0xC2]
        points, widths = decoded(data, at)
        hits = _table("space")[points]
        for k in range(3):
            space[at[hits & (widths > k)] + k] = True
        return packed(space)

    @cached_property
    def begins(self) -> Bits:
        """The bytes that begin a character."""
        return packed(self.data.view(np.int8) >= -64)  # not 0x80 to 0xBF

    @cached_property
    def visible(self) -> Places:
        """Characters that are not white space, of each line [n]."""
        return count(self.begins & ~self.space, self.bounds)

    @cached_property
    def letters(self) -> Places:
        """Letters and the marks on them, of each line [n]."""
        found = (self.data | 32) - np.uint8(97) < 26
        at = np.flatnonzero(self.data >= 0xC0)
        found[at] = _table("letter")[decoded(self.data, at)[0]]
        return count(packed(found), self.bounds)

    @cached_property
    def firsts(self) -> Bits:
        """The bytes that begin a line, and the one behind all."""
        firsts = np.zeros(len(self.data) + 1, bool)
        firsts[self.bounds] = True
        return packed(firsts)[: len(self.space)]

    @cached_property
    def starts(self) -> Bits:
        """The bytes that begin a token."""
        if self.language in UNSPACED:
            return self.begins & ~self.space
        return (after(self.space) | self.firsts) & ~self.space

    @cached_property
    def lengths(self) -> Places:
        """Tokens of each line [n]."""
        return count(self.starts, self.bounds)

    @cached_property
    def tokens(self) -> tuple[Places, Places]:
        """Where each token begins and ends, [t] each, in bytes."""
        starts = places(self.starts, len(self.data))
        if self.language in UNSPACED:
            lead = self.data[starts]
            return starts, starts + 1 + (lead >= 0xC0) + (lead >= 0xE0) + (lead >= 0xF0)
        ends = (self.space | self.firsts) & after(~self.space)
        return starts, places(ends, len(self.data) + 1)

    @cached_property
    def sketches(self) -> NDArray[np.uint32]:
        """A poor but cheap hash of each token [t]: of its first byte, its last byte and its length."""
        starts, ends = self.tokens
        sketches = (ends - starts).astype(np.uint32)
        sketches ^= self.data[ends - 1].astype(np.uint32) << np.uint32(8)
        sketches ^= self.data[starts].astype(np.uint32) << np.uint32(16)
        sketches *= _A32
        return sketches

    @cached_property
    def hashes(self) -> NDArray[np.uint64]:
        """A hash of each token [t], of all its bytes, eight at a time."""
        starts, ends = self.tokens
        words = np.zeros(len(self.data) // 8 + 2, np.uint64)
        words.view(np.uint8)[: len(self.data)] = self.data
        left = ends - starts
        hashes = _mixed(left.view(np.uint64), words, starts, left)
        longer = np.flatnonzero(left > 8)
        at, left, held = starts[longer], left[longer], hashes[longer]
        while len(longer):
            at, left = at + 8, left - 8
            hashes[longer] = held = _mixed(held, words, at, left)
            more = np.flatnonzero(left > 8)
            longer, at, left, held = longer[more], at[more], left[more], held[more]
        return hashes


def decoded(data: NDArray[np.uint8], at: Places) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Code points, and numbers of bytes, of the characters outside ASCII that begin `at`."""
    lead = data[at].astype(np.int32)
    widths = 2 + (lead >= 0xE0).astype(np.uint8) + (lead >= 0xF0)
    points = lead & (0x7F >> widths)
    for k in (1, 2, 3):
        more = np.flatnonzero(widths > k)
        points[more] = points[more] << 6 | data[at[more] + k] & 0x3F
    return points, widths


def overlap(src: Lines, tgt: Lines) -> tuple[Places, Places]:
    """Of each pair of lines [n]: distinct tokens that both have, and those of the side with fewer.

    Tokens of a pair are told apart by 63 bits of a hash, less those that number n lines: 48 in a block of 16,384, where among
    12 billion pairs with 100 tokens a side one would hold two tokens that are taken for one.
    """
    ordered, bounds = _ordered(src, tgt, src.hashes, tgt.hashes)
    other, of_tgt = ordered[1:] ^ ordered[:-1], (ordered & np.uint64(1)).astype(bool)
    new, twin = np.ones(len(ordered), bool), np.zeros(len(ordered), bool)
    np.not_equal(other, 0, out=new[1:])
    np.equal(other, 1, out=twin[1:])  # a token of the target, and before it the same of the source
    distinct, theirs = count(packed(new), bounds), count(packed(new & of_tgt), bounds)
    return count(packed(twin), bounds), np.minimum(theirs, distinct - theirs)


def most_alike(src: Lines, tgt: Lines) -> Places:
    """A bound from above, for a third of the time of `overlap`: tokens of each pair of lines [n], less those of them that
    are distinct by their `sketches`. What both sides share, and what one side repeats, is in it."""
    ordered, bounds = _ordered(src, tgt, src.sketches, tgt.sketches)
    alike = np.zeros(len(ordered), bool)
    np.less_equal(ordered[1:] ^ ordered[:-1], 1, out=alike[1:])
    return count(packed(alike), bounds)


def _ordered(
    src: Lines, tgt: Lines, *hashes: NDArray[np.unsignedinteger]
) -> tuple[NDArray[np.unsignedinteger], Places]:
    """The hashes of the tokens of each pair of lines in order, and where those of each pair begin [n + 1].

    The upper bits have the number of the pair instead, the lowest bit the side.
    """
    kind, bits = hashes[0].dtype.type, len(src).bit_length()
    pairs = np.arange(len(src), dtype=kind) << kind(8 * hashes[0].itemsize - bits)
    ordered = np.concatenate(
        [
            np.repeat(pairs | kind(side), lines.lengths) | found >> kind(bits) & ~kind(1)
            for side, (lines, found) in enumerate(zip((src, tgt), hashes, strict=True))
        ]
    )
    ordered.sort()
    return ordered, np.concatenate([np.zeros(1, np.int64), np.cumsum(src.lengths + tgt.lengths)])


def _mixed(hashes: NDArray[np.uint64], words: NDArray[np.uint64], at: Places, left: Places) -> NDArray[np.uint64]:
    """Hashes [t] with the next bytes of their tokens, from byte `at` on, up to eight of the `left` ones."""
    place, shift = at >> 3, (at << 3 & 63).view(np.uint64)
    word = words[place] >> shift | words[place + 1] << (np.uint64(64) - shift)  # a shift by 64 leaves nothing
    word <<= (64 - (np.minimum(left, 8) << 3)).view(np.uint64)
    word ^= hashes
    word *= _A
    word ^= word >> _SHIFT
    word *= _B
    return word


def longest_run(lengths: Places, hashes: NDArray[np.unsignedinteger]) -> Places:
    """How often the most repeated token of each line stands in a row [n], of the lines' tokens [n] and a hash of each [t]."""
    ends, longest = np.cumsum(lengths), np.minimum(lengths, 1)
    again = np.zeros(len(hashes), bool)
    np.equal(hashes[1:], hashes[:-1], out=again[1:])
    again[ends[:-1][lengths[1:] > 0]] = False  # the first of a line
    at = np.flatnonzero(again)
    heads = np.flatnonzero(np.diff(at, prepend=-2) != 1)
    np.maximum.at(longest, np.searchsorted(ends, at[heads], "right"), np.diff(heads, append=len(at)) + 1)
    return longest


@cache
def _table(kind: str) -> Mask:
    """Whether each code point is white space, or a letter or mark; there are none outside these ranges."""
    table = np.zeros(0x110000, bool)
    for low, high in ((0, 0x3001),) if kind == "space" else ((0, 0x40000), (0xE0000, 0xE1000)):
        points = map(chr, range(low, high))
        found = (point.isspace() if kind == "space" else unicodedata.category(point)[0] in "LM" for point in points)
        table[low:high] = np.fromiter(found, bool, high - low)
    return table
