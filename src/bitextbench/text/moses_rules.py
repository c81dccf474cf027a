"""The rules of Moses, as sacremoses has them, as machine code on the bytes of many lines: the same bytes, no Python
objects.

A line is decoded to code points, and its rules run in the order of sacremoses; one runs only on a line that has its
characters. What a regular expression of sacremoses asks of the characters next to a match is asked of tables, which are
made from its own sets.

A match of sacremoses includes the characters around a comma or an apostrophe. A second comma or apostrophe one or two
places further then no longer matches. Lines with such overlapping matches, or with control characters, are left to
sacremoses itself.
"""

import re
import unicodedata
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from bitextbench.base.compiled import compiled

KEPT, ALPHA, N, LOWER, LETTER, SPACE, DECIMAL = (1 << bit for bit in range(7))  # of the table of characters
END = 0x33000  # there are no letters, marks of letters or spaces from here on
GROWTH = 3  # a rule makes at most so many characters, or bytes, of one
BLANK, QUOTE, APOSTROPHE, PERCENT, CLOSE, COMMA, DOT, LESS, NBSP = map(ord, " \"'%),.<\u00a0")
MARKER = "TMULTI"  # the end of sacremoses' own mark of dots

Table = NDArray[np.uint8]  # of all characters
Points = NDArray[np.int32]


@cache
def _characters() -> str:
    return "".join(map(chr, [*range(0xD800), *range(0xE000, END)]))


def points(text: str) -> Points:
    return np.frombuffer(text.encode("utf-32-le"), np.int32)


@cache
def signs() -> Table:
    """The flags that are the same for all languages."""
    return _flagged(
        np.zeros(0x110000, np.uint8),
        {
            ALPHA: MosesTokenizer.IsAlpha,
            N: MosesTokenizer.IsN,
            LOWER: MosesTokenizer.IsLower,
            SPACE: "".join(re.findall(r"\s", _characters())),
            DECIMAL: "".join(re.findall(r"\d", _characters())),
        },
    )


def _flagged(flags: Table, chars: dict[int, str]) -> Table:
    for flag, text in chars.items():
        flags[points(text)] |= np.uint8(flag)
    return flags


# ---- composition


@cache
def composable() -> NDArray[np.bool_]:
    """The characters that Unicode's NFC may change or join to the one before, bool [characters]: a line without any is
    NFC.
    """
    flags = np.zeros(0x110000, bool)
    flags[0x1160:0x1200] = flags[END:] = True  # letters of Hangul; what is not looked at
    for code in range(0xC0, END):
        char = chr(code)
        if unicodedata.combining(char) or not unicodedata.is_normalized("NFC", char):
            flags[code] = True
        parts = unicodedata.decomposition(char).split()
        if len(parts) == 2 and parts[0][0] != "<":
            flags[int(parts[1], 16)] = True
    return flags


@compiled
def decoded(data: Any, start: int, end: int, out: Any) -> int:
    """The code points of UTF-8; returns how many."""
    n, at = 0, start
    while at < end:
        first = np.int32(data[at])
        if first < 0x80:
            out[n] = first
            at += 1
        elif first < 0xE0:
            out[n] = (first & 0x1F) << 6 | np.int32(data[at + 1]) & 0x3F
            at += 2
        elif first < 0xF0:
            out[n] = (first & 0x0F) << 12 | (np.int32(data[at + 1]) & 0x3F) << 6 | np.int32(data[at + 2]) & 0x3F
            at += 3
        else:
            high = (first & 0x07) << 18 | (np.int32(data[at + 1]) & 0x3F) << 12
            out[n] = high | (np.int32(data[at + 2]) & 0x3F) << 6 | np.int32(data[at + 3]) & 0x3F
            at += 4
        n += 1
    return n


@compiled
def encoded(text: Any, n: int, out: Any, at: int) -> int:
    """Write `text[:n]` as UTF-8 to `out[at:]`; returns the end."""
    for place in range(n):
        code = text[place]
        if code < 0x80:
            out[at] = code
            at += 1
        elif code < 0x800:
            out[at], out[at + 1] = 0xC0 | code >> 6, 0x80 | code & 0x3F
            at += 2
        elif code < 0x10000:
            out[at], out[at + 1], out[at + 2] = 0xE0 | code >> 12, 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
            at += 3
        else:
            out[at], out[at + 1] = 0xF0 | code >> 18, 0x80 | code >> 12 & 0x3F
            out[at + 2], out[at + 3] = 0x80 | code >> 6 & 0x3F, 0x80 | code & 0x3F
            at += 4
    return at


@compiled
def _longest(bounds: Any) -> int:
    """The number of bytes of the longest line."""
    longest = 0
    for line in range(len(bounds) - 1):
        longest = max(longest, bounds[line + 1] - bounds[line])
    return longest


@compiled
def uncomposed(data: Any, bounds: Any, marked: Any) -> Any:
    """The lines that have a marked character, bool [n]."""
    hits = np.zeros(len(bounds) - 1, np.bool_)
    text = np.empty(_longest(bounds), np.int32)
    for line in range(len(hits)):
        high = np.uint8(0)
        for at in range(bounds[line], bounds[line + 1]):
            high = max(high, data[at])
        if high >= 0xC3:  # U+00C0 and on
            for place in range(decoded(data, bounds[line], bounds[line + 1], text)):
                hits[line] |= marked[text[place]]
    return hits


# ---- punctuation

LITERAL, SINGLE, CLOSED, PERCENTAGE, NUMBER, DOTS_OUT, DOTS_IN = range(7)  # kinds of rules
TWICE = np.uint64(1 << 63)  # the bit of a line that may have two blanks together
_EXPRESSIONS = {  # rules that are no literals: kind, and the characters without which they do nothing
    r" +": (SINGLE, ""),
    r"\) ([.!:?;,])": (CLOSED, ")"),
    r"(\d) %": (PERCENTAGE, "%"),
    "(\\d)\u00a0(\\d)": (NUMBER, "\u00a0"),
    r'"([,.]+)': (DOTS_IN, '"'),
    r'(\.+)"(\s*[^<])': (DOTS_OUT, '."'),
}
_NEEDLESS = {r"\r", "([a-zA-Z])‘([a-zA-Z])", "([a-zA-Z])’([a-zA-Z])"}  # no such character; later rules do the same


class Punctuation(NamedTuple):
    """The rules of `MosesPunctNormalizer`: kind, literal and replacement [rules], as code points, bits that they need
    and bring.

    `bits`: the bit of each character below 2^14, 0 for most.
    """

    kinds: NDArray[np.int64]
    finds: Points
    replacements: Points
    sizes: NDArray[np.int64]
    needs: NDArray[np.uint64]
    brings: NDArray[np.uint64]
    bits: NDArray[np.uint8]
    flags: Table


@cache
def punctuation(language: str) -> Punctuation:
    rules = [_rule(*rule) for rule in MosesPunctNormalizer(language).substitutions if rule[0] not in _NEEDLESS]
    chars = sorted({char for _, _, by, needed in rules for char in by + needed} - {" "})
    bits = np.zeros(1 << 14, np.uint8)
    bits[points("".join(chars))] = np.arange(1, len(chars) + 1)
    mask = lambda text: sum({1 << int(bits[ord(char)]) for char in text if char != " "})  # noqa: E731
    finds, replacements = (np.zeros((len(rules), 3), np.int32) for _ in range(2))
    for row, (_, find, by, _) in enumerate(rules):
        finds[row, : len(find)], replacements[row, : len(by)] = points(find), points(by)
    return Punctuation(
        np.array([kind for kind, *_ in rules]),
        finds,
        replacements,
        np.array([(len(find), len(by)) for _, find, by, _ in rules]),
        np.array([int(TWICE) if kind == SINGLE else mask(needed) for kind, _, _, needed in rules], np.uint64),
        np.array([mask(by) for _, _, by, _ in rules], np.uint64),
        bits,
        signs(),
    )


def _rule(pattern: str, replacement: str) -> tuple[int, str, str, str]:
    """Kind, literal, replacement, and the characters that a match has."""
    if pattern in _EXPRESSIONS:
        kind, needed = _EXPRESSIONS[pattern]
        return kind, "", "".join(re.findall("[,.]", replacement)) if kind == NUMBER else "", needed
    literal = re.sub(r"\\([()?!])", r"\1", pattern)
    if re.search(r"[][\\+*^$]", literal) or len(literal) > 3:
        raise NotImplementedError(f"a rule of another sacremoses: {pattern}")
    return LITERAL, literal, replacement, literal


@compiled
def _copied(a: Any, start: int, end: int, b: Any, m: int) -> int:
    """Write `a[start:end]` to `b[m:]`; returns the end."""
    for place in range(start, end):
        b[m] = a[place]
        m += 1
    return m


@compiled
def _replace(a: Any, n: int, find: Any, size: int, by: Any, width: int, b: Any) -> int:
    place = m = 0
    while place < n:
        same = place + size <= n
        for k in range(size):
            same = same and a[place + k] == find[k]
        if same:
            m, place = _copied(by, 0, width, b, m), place + size
        else:
            b[m] = a[place]
            m, place = m + 1, place + 1
    return m


@compiled
def _single(a: Any, n: int, b: Any) -> int:
    m = 0
    for place in range(n):
        if a[place] != BLANK or m == 0 or b[m - 1] != BLANK:
            b[m] = a[place]
            m += 1
    return m


@compiled
def _squeeze(kind: int, a: Any, n: int, flags: Any, by: int, b: Any) -> int:
    """Rules that drop or replace the middle one of three characters: CLOSED, PERCENTAGE, NUMBER."""
    place = m = 0
    while place < n:
        matches = False
        if place + 2 < n:
            first, second, third = a[place], a[place + 1], a[place + 2]
            if kind == CLOSED:
                mark = (
                    third == 0x2E or third == 0x21 or third == 0x3A or third == 0x3F or third == 0x3B or third == 0x2C
                )
                matches = first == CLOSE and second == BLANK and mark
            elif kind == PERCENTAGE:
                matches = flags[first] & DECIMAL != 0 and second == BLANK and third == PERCENT
            else:
                matches = flags[first] & DECIMAL != 0 and second == NBSP and flags[third] & DECIMAL != 0
        b[m] = a[place]
        m, place = m + 1, place + 1
        if matches:
            if kind == NUMBER:
                b[m] = by
                m += 1
            b[m] = a[place + 1]
            m, place = m + 1, place + 2
    return m


@compiled
def _dots_in(a: Any, n: int, b: Any) -> int:
    r"""`"([,.]+)`: commas and dots move before the quotation mark."""
    place = m = 0
    while place < n:
        end = place + 1
        if a[place] == QUOTE:
            while end < n and (a[end] == COMMA or a[end] == DOT):
                b[m] = a[end]
                m, end = m + 1, end + 1
        b[m] = a[place]
        m, place = m + 1, end
    return m


@compiled
def _dots_out(a: Any, n: int, flags: Any, b: Any) -> int:
    r"""`(\.+)"(\s*[^<])`: dots move behind the quotation mark, but not at the end and before `<`."""
    place = m = 0
    while place < n:
        quote = place
        while quote < n and a[quote] == DOT:
            quote += 1
        end = 0
        if quote > place and quote < n and a[quote] == QUOTE:
            after = quote + 1
            while after < n and flags[a[after]] & SPACE:
                after += 1
            if after < n and a[after] != LESS:
                end = after + 1
            elif after > quote + 1:
                end = after
        if end:
            b[m] = QUOTE
            m = _copied(a, quote + 1, end, b, _copied(a, place, quote, b, m + 1))
        else:
            end = max(quote, place + 1)
            m = _copied(a, place, end, b, m)
        place = end
    return m


@compiled
def normalized(data: Any, bounds: Any, rules: Punctuation) -> Any:
    """Bytes of the lines after the rules, and bounds. Control characters become spaces; spaces are single, none at the
    ends.
    """
    size = GROWTH * _longest(bounds) + 16
    a, b = np.empty(size, np.int32), np.empty(size, np.int32)
    out, ends = np.empty(GROWTH * (bounds[-1] - bounds[0]) + 16, np.uint8), np.zeros(len(bounds), np.int32)
    one = np.uint64(1)
    for line in range(len(bounds) - 1):
        n, seen, before = decoded(data, bounds[line], bounds[line + 1], a), np.uint64(0), 0
        for place in range(n):
            code = a[place]
            if code < 0x20 or 0x7F <= code <= 0x9F:
                a[place] = code = BLANK
            if code < len(rules.bits):
                seen |= one << np.uint64(rules.bits[code])
            if code == BLANK and before == BLANK:
                seen |= TWICE
            before = code
        for rule in range(len(rules.kinds)):
            if seen & rules.needs[rule] != rules.needs[rule]:
                continue
            kind, by = rules.kinds[rule], rules.replacements[rule]
            if kind == LITERAL:
                m = _replace(a, n, rules.finds[rule], rules.sizes[rule, 0], by, rules.sizes[rule, 1], b)
            elif kind == SINGLE:
                m = _single(a, n, b)
            elif kind == DOTS_IN:
                m = _dots_in(a, n, b)
            elif kind == DOTS_OUT:
                m = _dots_out(a, n, rules.flags, b)
            else:
                m = _squeeze(kind, a, n, rules.flags, by[0], b)
            seen = seen & ~TWICE if kind == SINGLE else seen | rules.brings[rule] | TWICE
            a, b, n = b, a, m
        m = spaced(a, n, rules.flags, b)
        ends[line + 1] = encoded(b, m, out, ends[line])
    return out[: ends[-1]].copy(), ends


@compiled
def spaced(a: Any, n: int, flags: Any, b: Any) -> int:
    """The text with single spaces, and none at the ends."""
    m = 0
    for place in range(n):
        if not flags[a[place]] & SPACE:
            b[m] = a[place]
            m += 1
        elif m and b[m - 1] != BLANK:
            b[m] = BLANK
            m += 1
    return m - 1 if m and b[m - 1] == BLANK else m


# ---- tokens

PLAIN, ENGLISH, FRENCH = range(3)  # what becomes of apostrophes
APOSTROPHES = {"en": ENGLISH, "fr": FRENCH, "it": FRENCH}


class Tokens(NamedTuple):
    """The tables of the tokenisation rules. The prefixes after which a dot is no token are a hash table."""

    flags: Table
    mode: int
    marker: Points
    slots: NDArray[np.int64]  # [2^k] the number of a prefix, -1 for none
    texts: Points  # of all prefixes
    bounds: NDArray[np.int64]  # of each of them in `texts`
    numeric: NDArray[np.bool_]  # whether it is one before digits alone


def tokens(moses: MosesTokenizer) -> Tokens:
    flags = _flagged(signs().copy(), {KEPT: moses.PAD_NOT_ISALNUM[0].sub("", _characters()), LETTER: moses.IsAlpha})
    # there are spaces around it when its neighbours are looked at
    flags[flags & KEPT == 0] &= np.uint8(~(ALPHA | N) & 0xFF)
    numeric = set(moses.NUMERIC_ONLY_PREFIXES)
    prefixes = sorted({*moses.NONBREAKING_PREFIXES, *numeric} - {""})
    slots = np.full(1 << (4 * len(prefixes) + 1).bit_length(), -1)
    for number, text in enumerate(prefixes):
        slot = int(_hashed(points(text), 0, len(text))) % len(slots)
        while slots[slot] >= 0:
            slot = (slot + 1) % len(slots)
        slots[slot] = number
    bounds, few = np.cumsum([0, *map(len, prefixes)]), np.array([text in numeric for text in prefixes], bool)
    return Tokens(
        flags, APOSTROPHES.get(moses.lang, PLAIN), points(MARKER), slots, points("".join(prefixes)), bounds, few
    )


@compiled
def _hashed(text: Any, start: int, end: int) -> Any:
    value = np.uint64(0xCBF29CE484222325)
    for place in range(start, end):
        value = (value ^ np.uint64(text[place])) * np.uint64(0x100000001B3)
    return value ^ value >> np.uint64(32)


@compiled
def _stays(a: Any, start: int, dot: int, after: int, rules: Tokens) -> bool:
    """`handles_nonbreaking_prefixes`: whether the dot behind `a[start:dot]` stays there. `after`: what begins the next
    token, or 0.
    """
    if rules.flags[after] & LOWER:
        return True
    letter = inner = False
    for place in range(start, dot):
        letter, inner = letter or rules.flags[a[place]] & LETTER != 0, inner or a[place] == DOT
    if letter and inner:
        return True
    size = np.uint64(len(rules.slots))
    slot = _hashed(a, start, dot) % size
    while rules.slots[slot] >= 0:
        number = rules.slots[slot]
        same = rules.bounds[number + 1] - rules.bounds[number] == dot - start
        for k in range(dot - start):
            same = same and rules.texts[rules.bounds[number] + k] == a[start + k]
        if same:
            return not rules.numeric[number] or 0x30 <= after <= 0x39
        slot = (slot + np.uint64(1)) % size
    return False


@compiled
def _odd(a: Any, n: int, marker: Any) -> bool:
    """Whether the line is left to sacremoses: `,,`, `'.?'`, its own mark of dots."""
    for place in range(1, n):
        code = a[place]
        if code == COMMA and a[place - 1] == COMMA:
            return True
        if code == APOSTROPHE and (a[place - 1] == APOSTROPHE or (place > 1 and a[place - 2] == APOSTROPHE)):
            return True
        if code == marker[-1] and place >= len(marker):
            same = True
            for k in range(len(marker)):
                same = same and a[place + 1 - len(marker) + k] == marker[k]
            if same:
                return True
    return False


@compiled
def _sides(code: int, before: int, after: int, flags: Any, mode: int) -> int:
    """Whether a comma or an apostrophe has spaces before (1) and after it (2). `before`, `after`: its neighbours, -1 at
    the edges.
    """
    a = flags[before] if before >= 0 else 0
    b = flags[after] if after >= 0 else 0
    if code == COMMA:
        return 0 if (before < 0 or a & N) and b & N else 3
    if mode == PLAIN:
        return 3
    if before < 0 or after < 0:
        return 0
    if mode == FRENCH:
        return 2 if a & ALPHA and b & ALPHA else 3
    if a & ALPHA:
        return 1 if b & ALPHA else 3
    if not b & ALPHA or not a & N:
        return 3
    return 1 if after == 0x73 else 0  # 5's


@compiled
def _split(a: Any, n: int, flags: Any, mode: int, b: Any) -> int:
    """All rules but that of the last dots. `b` has single spaces, and perhaps one at its end."""
    place = m = 0
    while place < n:
        code, end = a[place], place + 1
        sides = 0
        if code == DOT:
            while end < n and a[end] == DOT:
                end += 1
            sides = 3 if end - place > 1 else 0
        elif code in (COMMA, APOSTROPHE):
            sides = _sides(code, a[place - 1] if place else -1, a[end] if end < n else -1, flags, mode)
        elif not flags[code] & KEPT:
            sides = 3
        if (sides & 1 or code == BLANK) and m and b[m - 1] != BLANK:
            b[m] = BLANK
            m += 1
        if code != BLANK:
            m = _copied(a, place, end, b, m)
        if sides & 2:
            b[m] = BLANK
            m += 1
        place = end
    return m


@compiled
def tokenized(data: Any, bounds: Any, rules: Tokens) -> Any:
    """Bytes of the lines as tokens with spaces between them, bounds, and the lines that sacremoses has to do, which are
    empty.
    """
    size = GROWTH * _longest(bounds) + 16
    a, b = np.empty(size, np.int32), np.empty(size, np.int32)
    out, ends = np.empty(GROWTH * (bounds[-1] - bounds[0]) + 16, np.uint8), np.zeros(len(bounds), np.int32)
    odd = np.zeros(len(bounds) - 1, np.bool_)
    for line in range(len(odd)):
        n = decoded(data, bounds[line], bounds[line + 1], b)
        for place in range(n):
            odd[line] |= b[place] < 0x20
        n = spaced(b, n, rules.flags, a)
        ends[line + 1] = ends[line]
        if odd[line] or _odd(a, n, rules.marker):
            odd[line] = True
            continue
        n = _split(a, n, rules.flags, rules.mode, b)
        if n and b[n - 1] == BLANK:
            n -= 1
        m = start = 0
        for place in range(n):
            last = place + 1 == n or b[place + 1] == BLANK
            if b[place] == BLANK:
                start = place + 1
            elif b[place] == DOT and last and place > start and b[place - 1] != DOT:
                after = b[place + 2] if place + 2 < n else 0
                if not _stays(b, start, place, after, rules):
                    a[m] = BLANK
                    m += 1
            a[m] = b[place]
            m += 1
        if m > 1 and a[m - 2] == DOT and a[m - 1] == APOSTROPHE:  # TRAILING_DOT_APOSTROPHE
            m -= 2
            if m and a[m - 1] != BLANK:
                a[m] = BLANK
                m += 1
            a[m], a[m + 1], a[m + 2] = DOT, BLANK, APOSTROPHE
            m += 3
        ends[line + 1] = encoded(a, m, out, ends[line])
    return out[: ends[-1]].copy(), ends, odd
