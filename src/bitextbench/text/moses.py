"""Moses normalisation, tokenisation and detokenisation (sacremoses), with Chinese cut into characters.

Every function takes lines and yields as many lines. Nothing is escaped: `&` stays `&`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

# Moses does not segment Chinese: a character of these blocks is a token. Radicals to Kanbun hold the CJK punctuation.
_CJK = "\u2e80-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U000323af"
_CJK_CHARACTER = re.compile(f"([{_CJK}])")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SPACE_BESIDE_CJK = re.compile(f"(?<=[{_CJK}]) | (?=[{_CJK}])")


def normalize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Unicode NFC, Moses punctuation, and white space: single spaces, none at the ends, no control characters."""
    moses = MosesPunctNormalizer(language)
    for line in lines:
        line = _CONTROL.sub(" ", line)
        yield " ".join(moses.normalize(unicodedata.normalize("NFC", line)).split())


def tokenize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Tokens joined by single spaces; case is kept and dashes inside words are not split (Moses without `-a`)."""
    moses = MosesTokenizer("en" if language == "zh" else language)  # its own `zh` needs 3 s to start and does no more
    for line in lines:
        spaced = _CJK_CHARACTER.sub(r" \1 ", line) if language == "zh" else line
        yield " ".join(moses.tokenize(spaced, escape=False))


def detokenize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Text as it is printed, from tokens joined by spaces; Chinese without spaces."""
    moses = MosesDetokenizer(language)
    for line in lines:
        text = moses.detokenize(line.split(), unescape=False)
        yield _SPACE_BESIDE_CJK.sub("", text) if language == "zh" else text
