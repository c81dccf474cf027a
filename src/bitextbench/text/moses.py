"""Moses normalisation, tokenisation and detokenisation (sacremoses), with Chinese cut into characters.

Every function yields one line for each line. Nothing is escaped: `&` stays `&`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

# Moses does not segment Chinese: each character of these blocks is a token. Radicals to Kanbun hold CJK punctuation.
_CJK = "\u2e80-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U000323af"
_CJK_CHARACTER = re.compile(f"([{_CJK}])")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SPACE_BESIDE_CJK = re.compile(f"(?<=[{_CJK}]) | (?=[{_CJK}])")


def normalize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Unicode NFC, Moses punctuation, single spaces; no control characters, no spaces at the ends."""
    moses = MosesPunctNormalizer(language)
    for line in lines:
        line = _CONTROL.sub(" ", line)
        yield " ".join(moses.normalize(unicodedata.normalize("NFC", line)).split())


def tokenize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Tokens joined by single spaces, in their case; dashes inside words are not split (Moses without `-a`)."""
    moses = MosesTokenizer("en" if language == "zh" else language)  # `zh` takes 3 s to start, with the same result
    for line in lines:
        spaced = _CJK_CHARACTER.sub(r" \1 ", line) if language == "zh" else line
        yield " ".join(moses.tokenize(spaced, escape=False))


def detokenize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Plain text from tokens joined by spaces; Chinese without spaces."""
    moses = MosesDetokenizer(language)
    for line in lines:
        text = moses.detokenize(line.split(), unescape=False)
        yield _SPACE_BESIDE_CJK.sub("", text) if language == "zh" else text
