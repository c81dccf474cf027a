"""Rules that drop pairs no model needs to look at.

Artetxe and Schwenk 2019, section 4.3: language identification by fastText, 3 to 80 tokens, an overlap of the tokens
below 50%, a length ratio of at most 2, no duplicates (`deduplicate`). Kim et al. 2019, section 4.2, use "the heuristics of
Rossenbach et al. (2018)" and give no values; `letters`, `max_chars`, `max_repeats` and `different` stand for such heuristics.

In a configuration: `filter: {min_tokens: 3, max_tokens: 80, max_ratio: 2.0, max_overlap: 0.5, language: py3langid}`.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.base.errors import InputError, near
from bitextbench.corpus.byte_lines import BLOCK, Lines, overlap
from bitextbench.corpus.language_id import identify, known
from bitextbench.corpus.words import UNKNOWN

WEB = {"en", "de", "fr", "es", "ru", "zh", "it", "nl", "pt", "pl", "cs", "sv", "ja", "tr", "ar"}
"""Languages, besides those of the pair, in which a crawled line may be, as far as the model knows them. More of them would
cost short good lines."""

Mask = NDArray[np.bool_]
SPACE = r"[\s\pZ\x{0b}\x{1c}-\x{1f}\x{85}]+"  # what str.split() splits on


@dataclass(frozen=True)
class Side:
    """One column of a batch of n rows. `absent` [n]: the nulls; what `lines` has for them has no meaning."""

    lines: Lines
    absent: Mask

    @classmethod
    def of(cls, column: pa.ChunkedArray, language: str) -> "Side":
        text = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which copies even a single one
        return cls(Lines(text, language), _mask(pc.is_null(text)))

    @property
    def text(self) -> pa.Array:
        return self.lines.column


def _mask(found: pa.BooleanArray) -> Mask:
    return found.to_numpy(zero_copy_only=False)


def _both(rule: Callable[[Side, Any], Mask]) -> Callable[[Side, Side, Any], Mask]:
    """A rule for one side, asked of either; a null keeps."""
    return lambda src, tgt, value: (rule(src, value) | src.absent) & (rule(tgt, value) | tgt.absent)


def max_chars(side: Side, most: int) -> Mask:
    """At most so many characters."""
    keep = np.diff(side.lines.bounds) <= most  # no line has more characters than bytes
    if len(long := np.flatnonzero(~keep)):
        keep[long] = _mask(pc.less_equal(pc.utf8_length(side.text.take(long).fill_null("")), most))
    return keep


def min_tokens(side: Side, least: int) -> Mask:
    """At least so many tokens."""
    return side.lines.lengths >= least


def max_tokens(side: Side, most: int) -> Mask:
    """At most so many tokens."""
    return side.lines.lengths <= most


def max_ratio(src: Side, tgt: Side, most: float) -> Mask:
    """Tokens of the longer side by those of the shorter, at most; a side without tokens goes with its like only."""
    a, b = src.lines.lengths, tgt.lines.lengths
    return (np.maximum(a, b) <= most * np.minimum(a, b)) | src.absent | tgt.absent


def different(src: Side, tgt: Side, wanted: bool) -> Mask:
    """The sides differ, letter case and white space aside."""
    if not wanted:
        return np.ones(len(src.lines), bool)
    keep = _mask(pc.fill_null(pc.not_equal(src.text, tgt.text), True))
    alike = np.flatnonzero(keep & (src.lines.visible == tgt.lines.visible) & ~src.absent & ~tgt.absent)
    if len(alike):
        lower = [pc.utf8_lower(side.text.take(alike)) for side in (src, tgt)]
        keep[alike] = apart = _mask(pc.not_equal(*lower))
        bare = (pc.replace_substring_regex(text.filter(pa.array(apart)), SPACE, "") for text in lower)
        keep[alike[apart]] = _mask(pc.not_equal(*bare))
    return keep


def letters(side: Side, least: float) -> Mask:
    """The share of letters (and the marks on them) among the characters that are not white space."""
    return side.lines.letters >= least * side.lines.visible


def max_repeats(side: Side, most: int) -> Mask:
    """No token stands more than so many times in a row."""
    return side.lines.runs <= most


def max_overlap(src: Side, tgt: Side, limit: float) -> Mask:
    """Distinct tokens that both sides have, by those of the side with fewer, below the limit ("at least 50%" goes)."""
    shared, fewer = overlap(src.lines, tgt.lines)
    return (shared < limit * np.maximum(1, fewer)) | src.absent | tgt.absent


def language(src: Side, tgt: Side, model: str) -> Mask:
    """`identify` finds the language that the side should have, or nothing to go by."""
    candidates = sorted({src.lines.language, tgt.lines.language} | WEB & known(model))

    def right(side: Side) -> Mask:
        found = identify([text or "" for text in side.text.to_pylist()], candidates, model)
        return np.array([code in (side.lines.language, UNKNOWN) for code in found], bool)

    return right(src) & right(tgt)


RULES: dict[str, Callable[[Side, Side, Any], Mask]] = {
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
"""Cheap ones first: in this order a row is the first rule's that drops it."""


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


class Judgement(NamedTuple):
    """`passed` [n]: rows that every rule keeps. `first`: rows of which a rule is the first to drop them, in the order of
    RULES; `alone`: rows that it drops, whatever the others do."""

    passed: Mask
    first: Counter[str]
    alone: Counter[str]


def prefilter(table: pa.Table, rules: Mapping[str, Any], languages: tuple[str, str]) -> Judgement:
    """What the rules make of the rows of a table with the columns src and tgt.

    Tokens are between white space, or characters (see `language.words`). A null side passes; so does a pair with one where
    a rule compares the sides. Every rule sees every row, so that it can be counted alone.

    Raises InputError for an unknown rule or a value of the wrong type.
    """
    check_rules(rules)
    passed, first, alone = np.ones(len(table), bool), Counter[str](), Counter[str]()
    names = [name for name in RULES if name in rules]
    columns = [table["src"], table["tgt"]] if names else []
    for start in range(0, len(table) if names else 0, BLOCK):
        block = slice(start, start + BLOCK)
        src, tgt = (Side.of(column[block], code) for column, code in zip(columns, languages, strict=True))
        for name in names:
            keep = RULES[name](src, tgt, rules[name])
            first[name] += int((passed[block] & ~keep).sum())
            alone[name] += int((~keep).sum())
            passed[block] &= keep
    return Judgement(passed, +first, +alone)
