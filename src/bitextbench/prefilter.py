"""Rules that drop pairs no model needs to look at, and exact deduplication.

Artetxe and Schwenk 2019, section 4.3: language identification by fastText, 3 to 80 tokens, an overlap of the tokens
below 50%, a length ratio of at most 2, no duplicates. Kim et al. 2019, section 4.2, use "the heuristics of Rossenbach
et al. (2018)" and give no values; `letters`, `max_chars`, `max_repeats` and `different` stand for such heuristics.

In a configuration: `filter: {min_tokens: 3, max_tokens: 80, max_ratio: 2.0, max_overlap: 0.5, language: py3langid}`.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from bitextbench.errors import InputError
from bitextbench.language import UNKNOWN, UNSPACED, identify, words
from bitextbench.registry import near

WEB = ("en", "de", "fr", "es", "ru", "zh", "it", "nl", "pt", "pl", "cs", "sv", "ja", "tr", "ar")
"""Languages, besides those of the pair, in which a crawled line may be. More of them would cost short good lines."""


@dataclass(frozen=True)
class Side:
    """One column of a batch. `text` may hold nulls; a rule's answer for a null counts as "keep"."""

    text: pa.ChunkedArray
    language: str

    def tokens(self) -> list[list[str]]:
        return [words(text, self.language) if text is not None else [] for text in self.text.to_pylist()]

    def lengths(self) -> pa.ChunkedArray:
        """Tokens of each line, without making them."""
        if self.language in UNSPACED:
            return pc.utf8_length(_without(self.text, SPACE))
        trimmed = pc.utf8_trim_whitespace(self.text)
        return pc.if_else(pc.equal(trimmed, ""), 0, pc.list_value_length(pc.utf8_split_whitespace(trimmed)))


Mask: TypeAlias = "pa.Array | pa.ChunkedArray"
SPACE = r"[\s\pZ\x{0b}\x{1c}-\x{1f}\x{85}]+"  # what str.split() splits on


def _without(text: pa.ChunkedArray, pattern: str) -> pa.ChunkedArray:
    return pc.replace_substring_regex(text, pattern, "")


def _both(rule: Callable[[Side, Any], Mask]) -> Callable[[Side, Side, Any], Mask]:
    """A rule for one side, asked of either."""
    return lambda src, tgt, value: pc.and_(pc.fill_null(rule(src, value), True), pc.fill_null(rule(tgt, value), True))


def max_chars(side: Side, most: int) -> Mask:
    """At most so many characters."""
    return pc.less_equal(pc.utf8_length(side.text), most)


def min_tokens(side: Side, least: int) -> Mask:
    """At least so many tokens."""
    return pc.greater_equal(side.lengths(), least)


def max_tokens(side: Side, most: int) -> Mask:
    """At most so many tokens."""
    return pc.less_equal(side.lengths(), most)


def max_ratio(src: Side, tgt: Side, most: float) -> Mask:
    """Tokens of the longer side by those of the shorter, at most; a side without tokens goes with its like only."""
    a, b = (pc.cast(side.lengths(), pa.float64()) for side in (src, tgt))
    return pc.less_equal(
        pc.max_element_wise(a, b, skip_nulls=False),
        pc.multiply(pc.min_element_wise(a, b, skip_nulls=False), float(most)),
    )


def different(src: Side, tgt: Side, wanted: bool) -> Mask:
    """The sides differ, letter case and white space aside."""
    src_text, tgt_text = (_without(pc.utf8_lower(side.text), SPACE) for side in (src, tgt))
    return pc.or_(pc.not_equal(src_text, tgt_text), not wanted)


def letters(side: Side, least: float) -> Mask:
    """The share of letters (and the marks on them) among the characters that are not white space."""
    visible = pc.utf8_length(_without(side.text, SPACE))
    share = pc.cast(pc.utf8_length(_without(side.text, r"[^\pL\pM]+")), pa.float64())
    return pc.greater_equal(share, pc.multiply(pc.cast(visible, pa.float64()), float(least)))


def max_repeats(side: Side, most: int) -> Mask:
    """No token stands more than so many times in a row."""
    return pa.array([_longest_run(tokens) <= most for tokens in side.tokens()], pa.bool_())


def _longest_run(tokens: list[str]) -> int:
    longest = run = 0
    last = None
    for token in tokens:
        run = run + 1 if token == last else 1
        last, longest = token, max(longest, run)
    return longest


def max_overlap(src: Side, tgt: Side, limit: float) -> Mask:
    """Distinct tokens that both sides have, by those of the side with fewer, below the limit ("at least 50%" goes)."""
    pairs = zip(src.tokens(), tgt.tokens(), strict=True)
    below = pa.array([_overlap(set(a), set(b)) < limit for a, b in pairs], pa.bool_())
    return pc.or_(below, pc.or_(pc.is_null(src.text), pc.is_null(tgt.text)))


def _overlap(a: set[str], b: set[str]) -> float:
    return len(a & b) / max(1, min(len(a), len(b)))


def language(src: Side, tgt: Side, model: str) -> Mask:
    """`identify` finds the language that the side should have, or nothing to go by."""
    candidates = {src.language, tgt.language, *WEB}

    def right(side: Side) -> Mask:
        found = identify([text or "" for text in side.text.to_pylist()], sorted(candidates), model)
        return pa.array([code in (side.language, UNKNOWN) for code in found], pa.bool_())

    return pc.and_(right(src), right(tgt))


RULES: dict[
    str, Callable[[Side, Side, Any], Mask]
] = {  # cheap ones first: a rule sees only what the ones before it kept
    "max_chars": _both(max_chars),
    "min_tokens": _both(min_tokens),
    "max_tokens": _both(max_tokens),
    "max_ratio": max_ratio,
    "different": different,
    "letters": _both(letters),
    "max_repeats": _both(max_repeats),
    "max_overlap": max_overlap,
    "language": language,
}


def check_rules(rules: Mapping[str, Any]) -> None:
    """Raises InputError for a rule that is not there, with the nearest that is, and for a value that it cannot take."""
    for rule, value in rules.items():
        if rule not in RULES:
            raise InputError(f"no filter rule {rule!r}", "filter", remedy=near(rule, RULES))
        wanted = {"different": bool, "language": str}.get(rule, (int, float))
        if not isinstance(value, wanted) or (rule != "different" and isinstance(value, bool)):
            remedy = {"different": "true or false", "language": "py3langid, or the path of a fastText model"}.get(
                rule, "a number"
            )
            raise InputError(f"filter rule {rule} cannot be {value!r}", "filter", remedy=f"give {remedy}")


def prefilter(table: pa.Table, rules: Mapping[str, Any], languages: tuple[str, str]) -> tuple[pa.Table, Counter[str]]:
    """The rows that pass every rule, in order, and for each rule the rows that it was the first to drop.

    Rules run in the order of RULES, whatever the order of `rules`. Tokens are between white space, or characters (see
    `language.words`). A null side passes; so does a pair with one where a rule compares the sides.

    Raises InputError for an unknown rule or a value of the wrong type.
    """
    check_rules(rules)
    dropped: Counter[str] = Counter()
    for name in (name for name in RULES if name in rules):
        src, tgt = Side(table["src"], languages[0]), Side(table["tgt"], languages[1])
        kept = table.filter(pc.fill_null(RULES[name](src, tgt, rules[name]), True))
        dropped[name] = len(table) - len(kept)
        table = kept
    return table, +dropped


class Deduplicator:
    """Passes the first of equal pairs on, over all batches that it is given; a 16-byte hash of each stays in memory.

    With its place in a Python set that takes about 85 bytes a distinct pair (measured at a million).
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def __call__(self, table: pa.Table) -> pa.Table:
        """The rows of pairs (src, tgt) not seen before, byte for byte."""
        keep = np.zeros(len(table), bool)
        for row, (src, tgt) in enumerate(zip(table["src"].to_pylist(), table["tgt"].to_pylist(), strict=True)):
            digest = xxhash.xxh3_128_digest(f"{src or ''}\n{tgt or ''}".encode())  # a line holds no line end
            if digest not in self._seen:
                self._seen.add(digest)
                keep[row] = True
        return table.filter(pa.array(keep))
