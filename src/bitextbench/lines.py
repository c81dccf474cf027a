"""Lines as bytes: tokens, letters and characters of many lines counted at once, without a Python object for any of them.

White space and letters are Unicode's (as `str.split` and `unicodedata` have them), found in the UTF-8 bytes: an ASCII byte
tells by itself, and of the others only those that begin a character are decoded.
"""

import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.language import UNSPACED

BLOCK = 8192  # lines at a time: what is made of them stays in a processor's cache
_A, _B, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(29)

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


def count(mask: Mask, bounds: Places) -> Places:
    """How many of the elements [b] of each stretch are true [n]; stretch i ends where the next begins, at bounds[i + 1]."""
    words = np.zeros(len(mask) // 64 + 1, np.uint64)
    bits = np.packbits(mask, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    before = np.zeros(len(words), np.int64)  # each word
    np.cumsum(np.bitwise_count(words[:-1]), out=before[1:])
    place, rest = bounds >> 6, (bounds & 63).astype(np.uint64)
    inside = np.bitwise_count(words[place] & ((np.uint64(1) << rest) - np.uint64(1)))
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
        """A column of strings; what stands for a null has no meaning."""
        text = text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text
        width = np.int64 if pa.types.is_large_string(text.type) else np.int32
        offsets = np.frombuffer(text.buffers()[1] or bytes(8), width)[text.offset : text.offset + len(text) + 1]
        data = np.frombuffer(text.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
        return cls(data, offsets.astype(np.int64) - int(offsets[0]), language)

    def part(self, start: int, stop: int) -> "Lines":
        """Some of the lines; no text is copied."""
        bounds = self.bounds[start : stop + 1]
        return Lines(self.data[bounds[0] : bounds[-1]], bounds - bounds[0], self.language)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @cached_property
    def space(self) -> Mask:
        """The bytes [b] of white space."""
        data = self.data
        space = (data - np.uint8(28) <= 4) | (data - np.uint8(9) <= 4)
        # all other white space begins with one of these: U+0085, U+00A0; U+1680, U+2000 to U+205F, U+3000
        at = np.flatnonzero((data == 0xC2) | (data - np.uint8(0xE1) <= 2))
        points, widths = decoded(data, at)
        hits = _table("space")[points]
        for k in range(3):
            space[at[hits & (widths > k)] + k] = True
        return space

    @cached_property
    def begins(self) -> Mask:
        """The bytes [b] that begin a character."""
        return (self.data & 0xC0) != 0x80

    @cached_property
    def characters(self) -> Places:
        """Characters of each line [n]."""
        return count(self.begins, self.bounds)

    @cached_property
    def visible(self) -> Places:
        """Characters that are not white space, of each line [n]."""
        return count(self.begins > self.space, self.bounds)

    @cached_property
    def letters(self) -> Places:
        """Letters and the marks on them, of each line [n]."""
        found = (self.data | 32) - np.uint8(97) < 26
        at = np.flatnonzero(self.data >= 0xC0)
        found[at] = _table("letter")[decoded(self.data, at)[0]]
        return count(found, self.bounds)

    @cached_property
    def starts(self) -> Mask:
        """The bytes [b] that begin a token."""
        if self.language in UNSPACED:
            return self.begins > self.space
        starts = ~self.space
        np.greater(self.space[:-1], self.space[1:], out=starts[1:])
        first = self.bounds[:-1][np.diff(self.bounds) > 0]  # bytes of their lines
        starts[first] = ~self.space[first]
        return starts

    @cached_property
    def lengths(self) -> Places:
        """Tokens of each line [n]."""
        return count(self.starts, self.bounds)

    @cached_property
    def tokens(self) -> tuple[Places, Places]:
        """Where each token begins and ends, [t] each, in bytes."""
        if self.language in UNSPACED:
            ends = np.append(np.flatnonzero(self.begins)[1:], len(self.data))
            return np.flatnonzero(self.starts), ends[~self.space[self.begins]]
        last = ~self.space
        np.less(self.space[:-1], self.space[1:], out=last[:-1])
        final = self.bounds[1:][np.diff(self.bounds) > 0] - 1
        last[final] = ~self.space[final]
        return np.flatnonzero(self.starts), np.flatnonzero(last) + 1

    @cached_property
    def rows(self) -> Places:
        """The line of each token [t]."""
        return np.repeat(np.arange(len(self)), self.lengths)

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

    Tokens of a pair are told apart by 63 bits of a hash, less those that number n lines: 49 in a block of 8,192, where among
    25 billion pairs with 100 tokens a side one would hold two tokens that are taken for one.
    """
    bits = np.uint64(len(src).bit_length())
    ordered = np.concatenate([_keys(lines, bits) | np.uint64(side) for side, lines in enumerate((src, tgt))])
    ordered.sort()
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(src.lengths + tgt.lengths)])
    other, of_tgt = ordered[1:] ^ ordered[:-1], (ordered & np.uint64(1)).astype(bool)
    new, twin = np.ones(len(ordered), bool), np.zeros(len(ordered), bool)
    np.not_equal(other, 0, out=new[1:])
    np.equal(other, 1, out=twin[1:])  # a token of the target, and before it the same of the source
    distinct, theirs = count(new, bounds), count(new & of_tgt, bounds)
    return count(twin, bounds), np.minimum(theirs, distinct - theirs)


def _keys(lines: Lines, bits: np.uint64) -> NDArray[np.uint64]:
    """Of each token: the line in the upper `bits`, then the hash; the lowest bit is free."""
    return lines.rows.view(np.uint64) << (np.uint64(64) - bits) | lines.hashes >> bits & ~np.uint64(1)


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


def longest_run(lines: Lines) -> Places:
    """How often the most repeated token of each line stands in a row [n]."""
    hashes, rows = lines.hashes, lines.rows
    longest = np.zeros(len(lines), np.int64)
    if len(rows):
        starts = np.flatnonzero((np.diff(hashes, prepend=~hashes[:1]) != 0) | (np.diff(rows, prepend=-1) != 0))
        np.maximum.at(longest, rows[starts], np.diff(starts, append=len(rows)))
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
