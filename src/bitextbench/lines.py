"""Lines as bytes: tokens, letters and characters of many lines counted at once, without a Python object for any of them.

White space and letters are Unicode's (as `str.split` and `unicodedata` have them), found in the UTF-8 bytes: an ASCII byte
tells by itself, and of the others only those that begin a character are decoded.
"""

import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.language import UNSPACED

BLOCK = 4096  # lines at a time: what is made of them stays in a processor's cache
_A, _B, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(29)


@dataclass(frozen=True)
class Lines:
    """Lines in one array of bytes. Numbers of lines, tokens and bytes: n, t, b.

    `data` uint8 [b], where the last byte of each line is LF; `bounds` int64 [n + 1], where lines begin, and the end;
    `language` says what a token is: what stands between white space, or a character (see `language.words`).
    """

    data: NDArray[np.uint8]
    bounds: NDArray[np.int64]
    language: str

    @classmethod
    def of(cls, text: pa.ChunkedArray | pa.Array, language: str) -> "Lines":
        """A column; a null is an empty line."""
        empty, end = (pa.scalar(part, pa.large_string()) for part in ("", "\n"))
        ended = pc.binary_join_element_wise(pc.fill_null(text.cast(pa.large_string()), ""), empty, end)
        if isinstance(ended, pa.ChunkedArray):
            ended = ended.combine_chunks()
        bounds = np.frombuffer(ended.buffers()[1], np.int64)[ended.offset : ended.offset + len(ended) + 1]
        data = np.frombuffer(ended.buffers()[2] or b"", np.uint8)[bounds[0] : bounds[-1]]
        return cls(data, bounds - bounds[0], language)

    def part(self, start: int, stop: int) -> "Lines":
        """Some of the lines; no text is copied."""
        bounds = self.bounds[start : stop + 1]
        return Lines(self.data[bounds[0] : bounds[-1]], bounds - bounds[0], self.language)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def count(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the bytes [b] of each line are true [n]."""
        return np.add.reduceat(mask.view(np.uint8), self.bounds[:-1], dtype=np.int64) if len(self) else self.bounds[1:]

    @cached_property
    def space(self) -> NDArray[np.bool_]:
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
    def begins(self) -> NDArray[np.bool_]:
        """The bytes [b] that begin a character."""
        return (self.data & 0xC0) != 0x80

    @cached_property
    def visible(self) -> NDArray[np.int64]:
        """Characters that are not white space, of each line [n]."""
        return self.count(self.begins > self.space)

    @cached_property
    def letters(self) -> NDArray[np.int64]:
        """Letters and the marks on them, of each line [n]."""
        found = (self.data | 32) - np.uint8(97) < 26
        at = np.flatnonzero(self.data >= 0xC0)
        found[at] = _table("letter")[decoded(self.data, at)[0]]
        return self.count(found)

    @cached_property
    def tokens(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where each token begins and ends, [t] each, in bytes."""
        if self.language in UNSPACED:
            characters = np.flatnonzero(self.begins)  # the last is a LF
            shown = ~self.space[characters[:-1]]
            return characters[:-1][shown], characters[1:][shown]
        turns = np.flatnonzero(np.diff(self.space, prepend=True))
        return turns[::2], turns[1::2]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each line [n]."""
        return np.diff(np.searchsorted(self.tokens[0], self.bounds))

    @cached_property
    def rows(self) -> NDArray[np.int64]:
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


def decoded(data: NDArray[np.uint8], at: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Code points, and numbers of bytes, of the characters outside ASCII that begin `at`. A LF ends the data."""
    lead = data[at].astype(np.int32)
    widths = 2 + (lead >= 0xE0).astype(np.uint8) + (lead >= 0xF0)
    points = lead & (0x7F >> widths)
    for k in (1, 2, 3):
        more = np.flatnonzero(widths > k)
        points[more] = points[more] << 6 | data[at[more] + k] & 0x3F
    return points, widths


def overlap(src: Lines, tgt: Lines) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each pair of lines [n]: distinct tokens that both have, and those of the side with fewer.

    Tokens of a pair are told apart by 62 bits or fewer of a hash, less those that number n lines: 50 in a block of 4,096, where among
    50 billion pairs with 100 tokens a side one would hold two tokens that are taken for one.
    """
    n, bits = len(src), np.uint64(len(src).bit_length())
    ordered = np.concatenate([_keys(lines, bits) | np.uint64(side) for side, lines in enumerate((src, tgt))])
    ordered.sort()
    row = (ordered >> (np.uint64(64) - bits)).astype(np.int64)
    shared = np.flatnonzero((ordered[1:] ^ ordered[:-1]) == 1)  # a token of the source, and the same of the target
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    distinct = np.bincount(2 * row[first] + (ordered[first] & np.uint64(1)).astype(np.int64), minlength=2 * n)
    return np.bincount(row[shared], minlength=n), distinct.reshape(n, 2).min(axis=1)


def _keys(lines: Lines, bits: np.uint64) -> NDArray[np.uint64]:
    """Of each token: the line in the upper `bits`, then the hash; the lowest bit is free."""
    return lines.rows.astype(np.uint64) << (np.uint64(64) - bits) | lines.hashes >> bits & ~np.uint64(1)


def _mixed(
    hashes: NDArray[np.uint64], words: NDArray[np.uint64], at: NDArray[np.int64], left: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Hashes [t] with the next bytes of their tokens, from byte `at` on, up to eight of the `left` ones."""
    place, shift = at >> 3, (at << 3 & 63).view(np.uint64)
    word = words[place] >> shift | words[place + 1] << (np.uint64(64) - shift)  # a shift by 64 leaves nothing
    word <<= (64 - (np.minimum(left, 8) << 3)).view(np.uint64)
    word ^= hashes
    word *= _A
    word ^= word >> _SHIFT
    word *= _B
    return word


def longest_run(lines: Lines) -> NDArray[np.int64]:
    """How often the most repeated token of each line stands in a row [n]."""
    hashes, rows = lines.hashes, lines.rows
    longest = np.zeros(len(lines), np.int64)
    if len(rows):
        starts = np.flatnonzero((np.diff(hashes, prepend=~hashes[:1]) != 0) | (np.diff(rows, prepend=-1) != 0))
        np.maximum.at(longest, rows[starts], np.diff(starts, append=len(rows)))
    return longest


@cache
def _table(kind: str) -> NDArray[np.bool_]:
    """Whether each code point is white space, or a letter or mark; there are none outside these ranges."""
    table = np.zeros(0x110000, bool)
    for low, high in ((0, 0x3001),) if kind == "space" else ((0, 0x40000), (0xE0000, 0xE1000)):
        points = map(chr, range(low, high))
        found = (point.isspace() if kind == "space" else unicodedata.category(point)[0] in "LM" for point in points)
        table[low:high] = np.fromiter(found, bool, high - low)
    return table
