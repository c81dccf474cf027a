"""Moses normalisation, tokenisation and detokenisation (sacremoses), with Chinese cut into words or characters.

Every function yields one line for each line. Nothing is escaped: `&` stays `&`.

Moses does not segment Chinese. All papers that have Chinese have words: artetxe2019 those of Jieba (footnote 2), zhang2016
does not say whose (section 6.1 counts "80.9M Chinese words"), yang2019 neither (its n-grams of up to four characters, footnote
2, lie within tokens). So `text.chinese` of the configuration is `jieba`; `characters` is the other choice.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

# Radicals to Kanbun hold CJK punctuation.
_CJK = "\u2e80-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U000323af"
_CJK_CHARACTER = re.compile(f"([{_CJK}])")
_MAYBE_CHINESE = re.compile(f"[{_CJK}A-Za-z0-9.%+#&_-]+")  # what Jieba has words of; the rest it cuts into letters
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SPACE_BESIDE_CJK = re.compile(f"(?<=[{_CJK}]) | (?=[{_CJK}])")


def normalize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Unicode NFC, Moses punctuation, single spaces; no control characters, no spaces at the ends."""
    moses = MosesPunctNormalizer(language)
    for line in lines:
        line = _CONTROL.sub(" ", line)
        yield " ".join(moses.normalize(unicodedata.normalize("NFC", line)).split())


def tokenize(lines: Iterable[str], language: str, chinese: str = "characters") -> Iterator[str]:
    """Tokens joined by single spaces, in their case; dashes inside words are not split (Moses without `-a`).

    `chinese`: a key of CHINESE, which says what the tokens of Chinese are.
    """
    moses = _tokenizer(language)
    for line in lines:
        spaced = CHINESE[chinese](line) if language == "zh" else line
        yield " ".join(moses.tokenize(spaced, escape=False))


def _tokenizer(language: str) -> MosesTokenizer:
    """Moses, with ours for Chinese: its own takes 3 s to start and ten times as long for a line."""
    moses = MosesTokenizer("en" if language == "zh" else language)
    if language == "zh":  # what has its spaces is left alone
        moses.PAD_NOT_ISALNUM = re.compile(rf"([^{moses.IsAlnum}{_CJK}\s.'`,-])"), r" \1 "
    return moses


def _characters(line: str) -> str:
    return _CJK_CHARACTER.sub(r" \1 ", line)


def _words(line: str) -> str:
    cut = _jieba().cut  # its hidden Markov model joins characters to words that its dictionary has not
    return _MAYBE_CHINESE.sub(
        lambda run: f" {' '.join(cut(run[0]))} " if _CJK_CHARACTER.search(run[0]) else run[0], line
    )


@cache
def _jieba() -> Any:
    """Jieba with its own dictionary, read anew (1 s): its cache is a file that all users of the machine could write."""
    import jieba

    tokenizer = jieba.Tokenizer()
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer


CHINESE: dict[str, Callable[[str], str]] = {"jieba": _words, "characters": _characters}
"""Spaces between the words, or the characters, of Chinese text."""


def detokenize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Plain text from tokens joined by spaces; Chinese without spaces."""
    moses = MosesDetokenizer(language)
    for line in lines:
        text = moses.detokenize(line.split(), unescape=False)
        yield _SPACE_BESIDE_CJK.sub("", text) if language == "zh" else text
