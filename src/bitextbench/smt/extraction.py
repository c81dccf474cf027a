"""Hierarchical rules of aligned sentences, as far as a given test set can use them: Chiang 2007, section 3.2.

An initial phrase pair has at most ten words a side. No link leaves it, and its first and last words have links
("unaligned words are not allowed at the edges of phrases"). A rule is an initial phrase pair in which up to two smaller
ones are gaps. Its source side has at most five symbols and no gaps side by side, and at least one link stays outside of
gaps. Each initial phrase pair counts once; its rules share that count evenly.

Memory is bounded by what the test set can use, in two passes. The first keeps the rules whose source side matches a
test sentence within ten words. The second counts all rules again whose target side was kept.

A rule is a row, int32 [WIDTH]: five symbols of the source, then ten of the target (0: none, GAPS: the gaps). Two
numbers hold the links between words (bit 10 * source place + target place).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled
from bitextbench.smt.words import NULL, Words

SPAN = 10  # words of an initial phrase, on either side
SYMBOLS = 5  # of the source side of a rule
GAPS = (-1, -2)
WIDTH = SYMBOLS + SPAN + 2
LOW = 25  # bits in the first number of the links
Rows = NDArray[np.int32]
Links = NDArray[np.int64]


class Bitext(NamedTuple):
    """Sentences of both sides, and their links [n, 2]; those of pair n are link_starts[n] : link_starts[n + 1]."""

    source: Words
    target: Words
    links: Links
    link_starts: NDArray[np.int64]

    @property
    def arrays(self) -> tuple[Any, ...]:
        return (*self.source, *self.target, self.links, self.link_starts)


class Counted(NamedTuple):
    """Rules, their counts, and those of all rules with the same target side; `seen`: the count of all rules of the
    text.
    """

    rules: Rows
    counts: NDArray[np.float64]
    target_counts: NDArray[np.float64]
    seen: float


def extract(bitext: Bitext, test: Words) -> Counted:
    """The rules that match the sentences of `test`, sorted, each with the links that it mostly has."""
    patterns = np.unique(_patterns(*test))  # type: ignore[call-arg]
    rows, counts, seen = _matching(*bitext.arrays, patterns)  # type: ignore[call-arg]
    rows, counts = _most_frequent_links(rows, counts)
    targets, place = np.unique(rows[:, SYMBOLS : SYMBOLS + SPAN], axis=0, return_inverse=True)
    target_counts = _of_targets(*bitext.arrays, np.ascontiguousarray(targets), _slots(targets))  # type: ignore[call-arg]
    return Counted(rows, counts, target_counts[place.reshape(-1)], seen)


def _most_frequent_links(rows: Rows, counts: NDArray[np.float64]) -> tuple[Rows, NDArray[np.float64]]:
    """Rules sorted by both sides, counted over all links that they have; the links are the most frequent, of ties the
    first.
    """
    sides = SYMBOLS + SPAN
    order = np.lexsort((rows[:, -1], rows[:, -2], -counts, *rows[:, :sides].T[::-1]))
    rows, counts = rows[order], counts[order]
    first = firsts(rows[:, :sides])
    return rows[first], np.add.reduceat(counts, np.flatnonzero(first)) if len(rows) else counts


def firsts(rows: Rows) -> NDArray[np.bool_]:
    """Which rows differ from those before them."""
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]).any(1)
    return first


@compiled
def _shapes(start, end, phrases):  # type: ignore[no-untyped-def]
    """The gaps [a, b) and [c, d) that a phrase [start, end) of the source may have; an empty interval is no gap.

    phrases[a, b - a] >= 0 says that [a, b) may be a gap.
    """
    size = end - start
    if size <= SYMBOLS:
        yield end, end, end, end
    for a in range(start, end):
        for b in range(a + 1, end + 1):
            rest = size - (b - a)
            if rest == 0 or phrases[a, b - a] < 0:
                continue
            if rest + 1 <= SYMBOLS:
                yield a, b, end, end
            for c in range(b + 1, end):
                for d in range(c + 1, end + 1):
                    if rest - (d - c) + 2 <= SYMBOLS and phrases[c, d - c] >= 0:
                        yield a, b, c, d


@compiled
def _pattern(words, start, end, shape, out) -> int:  # type: ignore[no-untyped-def]
    """The symbols of a phrase with gaps, into `out`; returns their number."""
    a, b, c, d = shape
    out[:] = NULL
    i, size = start, 0
    while i < end:
        if i == a and a < b:
            out[size] = GAPS[0]
            i = b
        elif i == c and c < d:
            out[size] = GAPS[1]
            i = d
        else:
            out[size] = words[i]
            i += 1
        size += 1
    return size


@compiled
def _hash(symbols):  # type: ignore[no-untyped-def]
    value = np.uint64(1469598103934665603)
    for symbol in symbols:
        value = (value ^ np.uint64(np.int64(symbol) + 3)) * np.uint64(0x9E3779B97F4A7C15)
        value ^= value >> np.uint64(29)
    return value


@compiled
def _patterns(words, starts):  # type: ignore[no-untyped-def]
    """The hashes of all source sides that could match a sentence."""
    hashes, size = np.empty(1 << 16, np.uint64), 0
    symbols = np.empty(SYMBOLS, np.int32)
    for n in range(len(starts) - 1):
        sentence = words[starts[n] : starts[n + 1]]
        anything = np.zeros((len(sentence), SPAN + 1), np.int64)
        for start in range(len(sentence)):
            for end in range(start + 1, min(start + SPAN, len(sentence)) + 1):
                for shape in _shapes(start, end, anything):
                    length = _pattern(sentence, start, end, shape, symbols)
                    if (symbols[:length] == NULL).any():  # a word that the training text does not have
                        continue
                    if size == len(hashes):
                        hashes = np.concatenate((np.unique(hashes), np.empty(len(hashes), np.uint64)))
                        size = len(hashes) - size
                    hashes[size] = _hash(symbols)
                    size += 1
    return hashes[:size]


@compiled
def _phrases(links, sizes):  # type: ignore[no-untyped-def]
    """Initial phrase pairs: the first target word [source start, source length], -1 for none; and the end of the target
    phrase.
    """
    least, most = np.full(sizes[0], sizes[1]), np.full(sizes[0], -1)  # targets of a source word
    first, last = np.full(sizes[1], sizes[0]), np.full(sizes[1], -1)  # sources of a target word
    for i, j in links:
        least[i], most[i] = min(least[i], j), max(most[i], j)
        first[j], last[j] = min(first[j], i), max(last[j], i)
    begins, ends = np.full((sizes[0], SPAN + 1), -1), np.full((sizes[0], SPAN + 1), -1)
    for start in range(sizes[0]):
        low, high = sizes[1], -1
        if most[start] < 0:
            continue
        for end in range(start + 1, min(start + SPAN, sizes[0]) + 1):
            low, high = min(low, least[end - 1]), max(high, most[end - 1])
            if high - low >= SPAN:
                break
            if most[end - 1] < 0:
                continue
            inside = True
            for j in range(low, high + 1):
                inside &= last[j] < 0 or (first[j] >= start and last[j] < end)
            if inside:
                begins[start, end - start], ends[start, end - start] = low, high + 1
    return begins, ends


@compiled
def _lexical(shape, before, start, end) -> bool:  # type: ignore[no-untyped-def]
    """Whether a link stays outside of the gaps; `before`: links before each source word."""
    a, b, c, d = shape
    return before[end] - before[start] > before[b] - before[a] + before[d] - before[c]


@compiled
def _rules(source, target, links, row):  # type: ignore[no-untyped-def]
    """Yields the count of each rule of a pair of sentences; the rule itself is in `row`."""
    begins, ends = _phrases(links, (len(source), len(target)))
    before = np.zeros(len(source) + 1, np.int64)
    for i, _ in links:
        before[i + 1] += 1
    before = np.cumsum(before)
    for start in range(len(source)):
        for length in range(1, SPAN + 1):
            if begins[start, length] < 0:
                continue
            end, number = start + length, 0
            for shape in _shapes(start, end, begins):
                number += _lexical(shape, before, start, end)
            for shape in _shapes(start, end, begins):
                if _lexical(shape, before, start, end):
                    _write(source, target, links, (start, end), shape, begins, ends, row)
                    yield 1 / number


@compiled
def _write(source, target, links, span, shape, begins, ends, row) -> None:  # type: ignore[no-untyped-def]
    """The rule of a phrase with gaps, as a row."""
    start, end = span
    low, high = begins[start, end - start], ends[start, end - start]
    a, b, c, d = shape
    gaps = (high, high, high, high)
    if a < b:
        gaps = (begins[a, b - a], ends[a, b - a], high, high)
    if c < d:
        gaps = (gaps[0], gaps[1], begins[c, d - c], ends[c, d - c])
    _pattern(source, start, end, shape, row[:SYMBOLS])
    _pattern(target, low, high, gaps, row[SYMBOLS : SYMBOLS + SPAN])
    row[-2:] = 0
    for i, j in links:
        if start <= i < end and not (a <= i < b or c <= i < d):
            bit = SPAN * _place(i, start, shape) + _place(j, low, gaps)
            if bit < LOW:
                row[-2] |= 1 << bit
            else:
                row[-1] |= 1 << (bit - LOW)


@compiled
def _place(word, start, shape) -> int:  # type: ignore[no-untyped-def]
    """The place of a word among the symbols of a phrase with gaps."""
    a, b, c, d = shape
    place = word - start
    if word >= b and a < b:
        place -= b - a - 1
    if word >= d and c < d:
        place -= d - c - 1
    return place


@compiled
def _slot(rows, slots, key):  # type: ignore[no-untyped-def]
    """The slot of a row, or the empty one where it would be."""
    slot = _hash(key) & np.uint64(len(slots) - 1)
    while slots[slot] >= 0 and not (rows[slots[slot]] == key).all():
        slot = (slot + np.uint64(1)) & np.uint64(len(slots) - 1)
    return slot


@compiled
def _slots(rows):  # type: ignore[no-untyped-def]
    """An index of rows: a slot has the number of a row, or -1."""
    size = 1 << 10
    while size < 4 * len(rows):
        size *= 2
    slots = np.full(size, -1, np.int64)
    for number in range(len(rows)):
        slots[_slot(rows, slots, rows[number])] = number
    return slots


@compiled
def _matching(source, source_at, target, target_at, links, links_at, patterns):  # type: ignore[no-untyped-def]
    """The rules whose source side is among the patterns, with their counts; and the count of all rules."""
    rows, counts, size = np.empty((1 << 10, WIDTH), np.int32), np.empty(1 << 10), 0
    slots, row, seen = _slots(rows[:0]), np.empty(WIDTH, np.int32), 0.0
    for n in range(len(source_at) - 1):
        sides = source[source_at[n] : source_at[n + 1]], target[target_at[n] : target_at[n + 1]]
        for count in _rules(sides[0], sides[1], links[links_at[n] : links_at[n + 1]], row):
            seen += count
            wanted = _hash(row[:SYMBOLS])
            place = np.searchsorted(patterns, wanted)
            if place == len(patterns) or patterns[place] != wanted:
                continue
            slot = _slot(rows, slots, row)
            if slots[slot] >= 0:
                counts[slots[slot]] += count
                continue
            slots[slot], rows[size], counts[size] = size, row, count
            size += 1
            if size == len(rows):
                rows = np.concatenate((rows, np.empty_like(rows)))
                counts = np.concatenate((counts, np.empty_like(counts)))
                slots = _slots(rows[:size])
    return rows[:size], counts[:size], seen


@compiled
def _of_targets(source, source_at, target, target_at, links, links_at, targets, slots):  # type: ignore[no-untyped-def]
    """The count of all rules that have each of the target sides."""
    counts, row = np.zeros(len(targets)), np.empty(WIDTH, np.int32)
    for n in range(len(source_at) - 1):
        sides = source[source_at[n] : source_at[n + 1]], target[target_at[n] : target_at[n + 1]]
        for count in _rules(sides[0], sides[1], links[links_at[n] : links_at[n + 1]], row):
            number = slots[_slot(targets, slots, row[SYMBOLS : SYMBOLS + SPAN])]
            if number >= 0:
                counts[number] += count
    return counts
