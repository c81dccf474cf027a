"""Rules that drop bad pairs before any model scores them.

Artetxe and Schwenk 2019, section 4.3, identify languages by fastText. They keep pairs of 3 to 80 tokens with an overlap
of tokens below 50% and a length ratio of at most 2. They drop duplicates (`deduplicate`).

Lengths are in words, or in characters against what is usual for the pair: `corpus.words` says which.

In a configuration: `filter: {min_tokens: 3, max_tokens: 80, max_ratio: 2.0, max_overlap: 0.5, language: py3langid}`.

Where the paper is silent:

- Kim et al. 2019, section 4.2, use "the heuristics of Rossenbach et al. (2018)" and give no values. The rules
  `letters`, `max_chars`, `max_repeats` and `different` are such heuristics.
- Artetxe and Schwenk 2019 do not define the "overlap" of tokens. Here it is the share of common tokens among the distinct
  ones of the side with fewer. Tokens are what stands between white space, and keep their case.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.base.errors import InputError, near
from bitextbench.base.languages import macro, matching
from bitextbench.corpus.byte_lines import BLOCK, Lines, overlap
from bitextbench.corpus.language_id import identify, known, unknown_to
from bitextbench.corpus.words import UNKNOWN, counts_words_as_english, usual_characters

WEB = {"en", "de", "fr", "es", "ru", "zh", "it", "nl", "pt", "pl", "cs", "sv", "ja", "tr", "ar"}
"""Languages of crawled lines, besides those of the pair, among which py3langid chooses. Of all that it knows, it would take 22% of
good Chinese lines of 8 characters for another, 7% of news sentences; of these, 1% and none (newstest2021)."""

Mask = NDArray[np.bool_]
SPACE = r"[\s\pZ\x{0b}\x{1c}-\x{1f}\x{85}]+"  # what str.split() splits on


@dataclass(frozen=True)
class Column:
    """One side of a batch of n rows. `absent` [n]: the nulls; the values of `lines` for them are undefined."""

    lines: Lines
    absent: Mask

    @classmethod
    def of(cls, column: pa.ChunkedArray, language: str) -> "Column":
        """The side of a table; `combine_chunks` would copy a single chunk."""
        text = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        return cls(Lines(text, language), _mask(pc.is_null(text)))

    @property
    def text(self) -> pa.Array:
        return self.lines.column


def _mask(array: pa.BooleanArray) -> Mask:
    return array.to_numpy(zero_copy_only=False)


def _both(rule: Callable[[Column, Any], Mask]) -> Callable[[Column, Column, Any], Mask]:
    """A rule of one side, applied to both sides; a null passes."""

    @wraps(rule)
    def both(src: Column, tgt: Column, value: Any) -> Mask:
        return (rule(src, value) | src.absent) & (rule(tgt, value) | tgt.absent)

    return both


def max_chars(side: Column, most: int) -> Mask:
    """At most `most` characters."""
    keep = np.diff(side.lines.bounds) <= most  # in bytes: a line has no more characters than bytes
    if len(long := np.flatnonzero(~keep)):
        keep[long] = _mask(pc.less_equal(pc.utf8_length(side.text.take(long).fill_null("")), most))
    return keep


def min_tokens(side: Column, least: float) -> Mask:
    """At least `least` words."""
    return side.lines.in_words >= least


def max_tokens(side: Column, most: float) -> Mask:
    """At most `most` words."""
    return side.lines.in_words <= most


def min_longer(src: Column, tgt: Column, least: float) -> Mask:
    """The longer side has at least `least` words: many languages say in two words what English says in three."""
    a, b = (np.where(side.absent, 0, side.lines.in_words) for side in (src, tgt))
    return (np.maximum(a, b) >= least) | (src.absent & tgt.absent)


def max_ratio(src: Column, tgt: Column, most: float) -> Mask:
    """The longer side has at most `most` times the length of the shorter. A side without text needs another such.

    Length is in words; where one of the languages has no spaces, or fewer words than English by a fifth, in characters
    by what is usual for its language.
    """
    in_words = all(counts_words_as_english(side.lines.language) for side in (src, tgt))
    a, b = (
        side.lines.lengths if in_words else side.lines.visible / usual_characters(side.lines.language)
        for side in (src, tgt)
    )
    return (np.maximum(a, b) <= most * np.minimum(a, b)) | src.absent | tgt.absent


def different(src: Column, tgt: Column, required: bool) -> Mask:
    """The sides differ in more than letter case and white space."""
    if not required:
        return np.ones(len(src.lines), bool)
    keep = _mask(pc.fill_null(pc.not_equal(src.text, tgt.text), True))
    alike = np.flatnonzero(keep & (src.lines.visible == tgt.lines.visible) & ~src.absent & ~tgt.absent)
    if len(alike):
        lower = [pc.utf8_lower(side.text.take(alike)) for side in (src, tgt)]
        keep[alike] = apart = _mask(pc.not_equal(*lower))
        bare = (pc.replace_substring_regex(text.filter(pa.array(apart)), SPACE, "") for text in lower)
        keep[alike[apart]] = _mask(pc.not_equal(*bare))
    return keep


def letters(side: Column, least: float) -> Mask:
    """At least the share `least` of the characters, white space aside, are letters or marks on them."""
    return side.lines.letters >= least * side.lines.visible


def max_repeats(side: Column, most: int) -> Mask:
    """No token occurs more than `most` times in a row."""
    return side.lines.runs <= most


def max_overlap(src: Column, tgt: Column, limit: float) -> Mask:
    """The share of common tokens among the distinct tokens of the side with fewer is below `limit`."""
    shared, fewer = overlap(src.lines, tgt.lines)
    return (shared < limit * np.maximum(1, fewer)) | src.absent | tgt.absent


def language(src: Column, tgt: Column, model: str) -> Mask:
    """Each side is in its language, or `identify` cannot tell.

    A fastText model chooses among all its languages, as in artetxe2019. py3langid chooses among those of the pair and
    WEB. Other languages of the pair's macrolanguages are not among them, such as Cantonese for Chinese.
    """
    others = known(model)
    languages = [side.lines.language for side in (src, tgt)]
    families = set(map(macro, languages))
    own = [matching(code, others) or code for code in languages]
    others = {code for code in (others & WEB if model == "py3langid" else others) if macro(code) not in families}
    candidates = sorted(others | {*own})

    def right(side: Column, code: str) -> Mask:
        return np.array([found in (code, UNKNOWN) for found in identify(side.text, candidates, model)], bool)

    return right(src, own[0]) & right(tgt, own[1])


RULES: dict[str, Callable[[Column, Column, Any], Mask]] = {
    "max_chars": _both(max_chars),
    "min_tokens": _both(min_tokens),
    "max_tokens": _both(max_tokens),
    "min_longer": min_longer,
    "max_ratio": max_ratio,
    "different": different,
    "letters": _both(letters),
    "max_repeats": _both(max_repeats),
    "max_overlap": max_overlap,
    "language": language,
}
"""Cheap rules first. A row counts as dropped by the first rule, in this order, that drops it."""


RANGES = {"max_ratio": (1, math.inf), "letters": (0, 1), "max_overlap": (0, 1)}
"""Of values: shares are of 1. Others are 0 and more."""


def check_rules(rules: Mapping[str, Any], languages: Sequence[str] = ()) -> None:
    """Check the names and values of rules of the pre-filter.

    Raises InputError for an unknown rule, with the nearest known one, and for a value of the wrong type or out of range.
    It also raises it if the rule `language` names a model that does not know one of the `languages`.
    """
    for rule, value in rules.items():
        if rule not in RULES:
            raise InputError(f"no filter rule {rule!r}", "filter", remedy=near(rule, RULES))
        kind = {"different": bool, "language": str}.get(rule, (int, float))
        if not isinstance(value, kind) or (rule != "different" and isinstance(value, bool)):
            remedy = {"different": "true or false", "language": "py3langid, or the path of a fastText model"}.get(
                rule, "a number"
            )
            raise InputError(f"filter rule {rule} cannot be {value!r}", "filter", remedy=f"give {remedy}")
        low, high = RANGES.get(rule, (0, math.inf))
        if isinstance(value, (int, float)) and not low <= value <= high:
            remedy = f"give a number from {low} to {high}" if high < math.inf else f"give {low} or more"
            raise InputError(f"filter rule {rule} cannot be {value!r}", "filter", remedy=remedy)
    if "language" in rules and (unknown := unidentified(rules["language"], languages)):
        raise unknown_to(rules["language"], unknown)


def unidentified(model: str, languages: Sequence[str]) -> list[str]:
    """The `languages` that a model does not know."""
    return [code for code in languages if matching(code, known(model)) is None]


class Filtered(NamedTuple):
    """`passed` [n]: the rows that every rule keeps.

    For each rule, `first` counts the rows that no rule before it (in the order of RULES) drops and it does; `alone`
    counts all rows that it drops. `why` int8 [n]: the place in RULES of the first rule that drops a row, -1 for none.
    """

    passed: Mask
    first: Counter[str]
    alone: Counter[str]
    why: NDArray[np.int8]


def prefilter(table: pa.Table, rules: Mapping[str, Any], languages: tuple[str, str]) -> Filtered:
    """Apply the rules to a table with the columns src and tgt.

    Tokens, of which `max_overlap` and `max_repeats` compare the text, are what stands between white space, or characters
    (see `corpus.words`). A null side passes; a pair with one passes
    the rules that compare the sides. Every rule sees every row, which `alone` needs.

    Raises InputError for an unknown rule or a value of the wrong type.
    """
    check_rules(rules)
    why, alone = np.full(len(table), -1, np.int8), Counter[str]()
    names = [name for name in RULES if name in rules]
    columns = [table["src"], table["tgt"]] if names else []
    for start in range(0, len(table) if names else 0, BLOCK):
        block = slice(start, start + BLOCK)
        src, tgt = (Column.of(column[block], code) for column, code in zip(columns, languages, strict=True))
        for name in names:
            keep = RULES[name](src, tgt, rules[name])
            alone[name] += int((~keep).sum())
            why[block][~keep & (why[block] < 0)] = list(RULES).index(name)
    first = Counter({name: int((why == place).sum()) for place, name in enumerate(RULES)})
    return Filtered(why < 0, +first, +alone, why)
