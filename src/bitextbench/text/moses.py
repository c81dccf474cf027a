"""Moses normalisation, tokenisation and detokenisation (sacremoses), with Chinese cut into words or characters.

Every function yields one line for each line. Nothing is escaped: `&` stays `&`.

Where the paper is silent:

- Moses does not segment Chinese, and all papers with Chinese count words. artetxe2019 has those of Jieba (footnote 2).
  zhang2016 ("80.9M Chinese words", section 6.1) and yang2019 (footnote 2) do not name a segmenter. So `text.chinese` in
  the configuration is `jieba`. The other choice is `characters`.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sacremoses import MosesDetokenizer, MosesTokenizer

from bitextbench.base.languages import base, macro
from bitextbench.text import moses_rules

BLOCK = 10_000  # lines at a time

# Radicals to Kanbun hold CJK punctuation.
_CJK = "\u2e80-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U000323af"
_CJK_CHARACTER = re.compile(f"([{_CJK}])")
_MAYBE_CHINESE = re.compile(f"[{_CJK}A-Za-z0-9.%+#&_-]+")  # what Jieba has words of; the rest it cuts into letters
_SPACE_BESIDE_CJK = re.compile(f"(?<=[{_CJK}]) | (?=[{_CJK}])")


def tokens(lines: pa.Array | pa.ChunkedArray, language: str, chinese: str = "characters") -> pa.Array | pa.ChunkedArray:
    """`tokenize(normalize(lines))` of a column of strings; a null stays null."""
    done = [pa.array([], pa.string())]
    for start in range(0, len(lines), BLOCK):
        block = lines.slice(start, BLOCK)
        some = _tokenize(_normalize(_filled(block), language), language, chinese)
        done.append(pc.if_else(block.is_valid(), some, None) if block.null_count else some)
    return pa.chunked_array(done).combine_chunks()


def normalize(lines: Iterable[str], language: str) -> Iterator[str]:
    """Unicode NFC, Moses punctuation, single spaces; no control characters, no spaces at the ends."""
    for block in _blocks(lines):
        yield from _normalize(block, language).to_pylist()


def tokenize(lines: Iterable[str], language: str, chinese: str = "characters") -> Iterator[str]:
    """Tokens joined by single spaces, in their case; dashes inside words are not split (Moses without `-a`).

    `chinese`: a key of CHINESE, which says what the tokens of Chinese are.
    """
    for block in _blocks(lines):
        yield from _tokenize(block, language, chinese).to_pylist()


def _blocks(lines: Iterable[str]) -> Iterator[pa.Array]:
    rest = iter(lines)
    while some := [*islice(rest, BLOCK)]:
        yield pa.array(some, pa.string())


def _filled(lines: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = lines.combine_chunks() if isinstance(lines, pa.ChunkedArray) else lines
    return pc.fill_null(whole, "")


def _normalize(lines: pa.Array, language: str) -> pa.Array:
    loose = moses_rules.uncomposed(*_bytes(lines), moses_rules.composable())
    composed = _replaced(lines, loose, lambda line: unicodedata.normalize("NFC", line), lines)
    rules = moses_rules.punctuation(base(language))
    return _strings(*moses_rules.normalized(*_bytes(composed), rules))


def _tokenize(lines: pa.Array, language: str, chinese: str) -> pa.Array:
    if macro(language) == "zh":
        lines = pa.array(map(CHINESE[chinese], lines.to_pylist()), pa.string())
    code = _code(language)
    moses = _tokenizer(code)
    data, ends, odd = moses_rules.tokenized(*_bytes(lines), _rules(code))
    return _replaced(_strings(data, ends), odd, lambda line: " ".join(moses.tokenize(line, escape=False)), lines)


def _bytes(lines: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The UTF-8 of lines without nulls, and the bounds of the lines in it [n + 1]."""
    _, offsets, data = lines.buffers()
    bounds = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return np.frombuffer(data or b"", np.uint8), bounds.astype(np.int64)


def _strings(data: NDArray[np.uint8], bounds: NDArray[np.int32]) -> pa.Array:
    return pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(data))


def _replaced(done: pa.Array, places: NDArray[np.bool_], change: Callable[[str], str], lines: pa.Array) -> pa.Array:
    """The column `done`; at `places` it has `change` of each of the `lines` instead."""
    if not places.any():
        return done
    changed = pa.array(map(change, lines.filter(pa.array(places)).to_pylist()), pa.string())
    return pc.replace_with_mask(done, pa.array(places), changed)


def _code(language: str) -> str:
    """The code by which the rules of a language are found: zh for all languages of Chinese."""
    return "zh" if macro(language) == "zh" else base(language)


@cache
def _tokenizer(language: str) -> MosesTokenizer:
    """Moses, with ours for Chinese: its own takes 3 s to start and ten times as long for a line."""
    moses = MosesTokenizer("en" if language == "zh" else language)
    if language == "zh":  # what has its spaces is left alone
        moses.PAD_NOT_ISALNUM = re.compile(rf"([^{moses.IsAlnum}{_CJK}\s.'`,-])"), r" \1 "
    return moses


@cache
def _rules(language: str) -> moses_rules.Tokens:
    return moses_rules.tokens(_tokenizer(language))


def _characters(line: str) -> str:
    return _CJK_CHARACTER.sub(r" \1 ", line)


def _words(line: str) -> str:
    return _MAYBE_CHINESE.sub(lambda run: _cut(run[0]), line)


@lru_cache(maxsize=1 << 16)
def _cut(run: str) -> str:
    """The words of a run, each distinct run once. Jieba's hidden Markov model finds words that its dictionary has not."""
    return f" {' '.join(_jieba().cut(run))} " if _CJK_CHARACTER.search(run) else run


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
    code = _code(language)
    moses = MosesDetokenizer(code)
    for line in lines:
        text = moses.detokenize(line.split(), unescape=False)
        yield _SPACE_BESIDE_CJK.sub("", text) if code == "zh" else text
