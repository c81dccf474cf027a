"""Mends text that programs have spoilt, before rules look at it; what was mended is counted by kind.

| kind | what |
|---|---|
| entities | HTML's character references (`&amp;`, `&#39;`) become characters |
| mojibake | text that was decoded in a wrong way and can be decoded again (ftfy: `Ã¼` becomes ü) |
| invisible | soft hyphens, zero-width spaces (but behind Thai, Lao, Khmer, Burmese), zero-width joiners between Latin, Greek or Cyrillic letters, byte-order marks, marks of direction, control characters are left out |
| nfc | composed characters (NFC) |
| quotes | curved quotation marks and apostrophes become straight ones |

Kinds come in this order. A line that none of them changes keeps its bytes.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

REFERENCE = r"&(#[0-9]+|#[xX][0-9a-fA-F]+|[A-Za-z][A-Za-z0-9]*);"
_JOINER = re.compile(
    "(?<=[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff])[\u200c\u200d](?=[A-Za-z\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff])"
)
# there it ends words, as a space does elsewhere
_SPACE = re.compile("(?<![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff])\u200b")
_LEFT_OUT = "\u00ad\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\x01-\x08\x0e-\x1f\x7f"
_INVISIBLE = re.compile(f"[{_LEFT_OUT}]")
_VISIBLE = re.compile(f"[^\\s\u200b-\u200d{_LEFT_OUT}]")
_QUOTES = str.maketrans(
    {**dict.fromkeys("\u2018\u2019\u201a\u201b", "'"), **dict.fromkeys("\u201c\u201d\u201e\u201f", '"')}
)


def _entities(text: str) -> str:
    """`&amp;lt;`, which was escaped twice, as well; not `&copy` without a semicolon, which addresses have; without line
    breaks and NUL, which would end a line.
    """
    for _ in range(2):
        text = re.sub(REFERENCE, lambda found: html.unescape(found[0]), text)
    return re.sub(r"[\r\n\0]+", " ", text)


def _mojibake(text: str) -> str:
    from ftfy import fix_encoding

    return fix_encoding(text)


KINDS: dict[str, tuple[str, Callable[[str], str]]] = {
    "entities": (REFERENCE, _entities),
    "mojibake": (r"[\x{80}-\x{10ffff}]{2}|[\x{80}-\x{9f}\x{fffd}]|[\x{c2}-\x{f4}]", _mojibake),
    "invisible": (
        r"[\x{ad}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{2069}\x{feff}\x01-\x08\x0e-\x1f\x7f]",
        lambda text: _INVISIBLE.sub("", _SPACE.sub("", _JOINER.sub("", text))),
    ),
    "nfc": (r"[\x{0300}-\x{10ffff}]", lambda text: unicodedata.normalize("NFC", text)),
    "quotes": (r"[\x{2018}-\x{201f}]", lambda text: text.translate(_QUOTES)),
}
"""Of each kind: which lines may need it (RE2), and the function that mends one."""


def is_empty(text: str) -> bool:
    """Whether a text has nothing but white space and invisible characters: as a sentence it would resemble all others
    of its kind.
    """
    return not _VISIBLE.search(text)


def repaired(lines: pa.StringArray, counts: Counter[str]) -> pa.StringArray:
    """The lines, mended; `counts` grows by the lines that each kind changed."""
    for kind, (sign, mend) in KINDS.items():
        may = pc.match_substring_regex(lines, sign)
        if not pc.any(may).as_py():
            continue
        before = lines.filter(may).to_pylist()
        after = [mend(text) for text in before]
        if changed := sum(a != b for a, b in zip(before, after, strict=True)):
            counts[kind] += changed
            lines = pc.replace_with_mask(lines, may, pa.array(after, lines.type))
    return lines
