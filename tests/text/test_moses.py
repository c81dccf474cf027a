"""Moses tokens, words of Chinese, and back."""

import marshal
import re
import tempfile
import unicodedata
from functools import cache
from itertools import islice

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer

from bitextbench.data import synth
from bitextbench.text import moses, moses_rules

TEXTS = {
    "en": "He said: \"It's 3.5% of 1,000 in the Jones' house, isn't it?\" (Really?) B & B",
    "de": 'Er sagte: "Das ist z. B. gut, nicht?" Am 3. Mai 2019 kamen 1.000 Leute.',
    "fr": "L'homme dit : c'est l'été, n'est-ce pas ?",
    "es": "¿Qué tal, señor? ¡Hola!",
    "ru": 'Он сказал: "Привет, мир!"',
    "zh": "我在2019年5月3日去了北京，他说：你好。ABC公司在吗？",
}
EACH = [*((language, "characters") for language in TEXTS), ("zh", "jieba")]
words = st.lists(st.text("abcdefgäöüß", min_size=1, max_size=8), min_size=1, max_size=12)


CODES = [*TEXTS, "it", "cs"]
PARTS = [  # what the rules look at, and what is near to it
    *"  ,,''..\"\"()[]<>:;!?%&-`´‘’‚“”„«»–—…ºC", "nº", "\u00a0", "\u00a0cm", "\u2028", "\u2009", "\u3000", "\x85", "\x1f", "\x07", "\t", "\n", "\r",
    *"aAzsSéßяЯ中文あ한각ᄀ़ا१½Ⅷ◌ǅ😀", "e\u0301", "\u0301", "\u0323\u0301", "\u200b", "\ufeff", "\u202e", *"0159", "1,000", "3.5 %", "’’", "''", "&amp;", "&#39;",
    "a'b", "5's", "l'", "n't", "z. B.", "Mr.", "No. ", "bzw.", "U.S.", "...", ". ", ".\"", ".'", "\").", "http://a.b/c?d=e&f", "a@b.de", "<b>", "</b>", "DOTMULTI", "DOTDOTMULTI",
    "THISISPROTECTED000",
]  # fmt: skip
hard = st.lists(st.sampled_from(PARTS) | st.characters(codec="utf-8"), max_size=14).map("".join)


def plain_normal(line, language):
    """`normalize` by sacremoses, a line at a time."""
    line = unicodedata.normalize("NFC", re.sub("[\x00-\x1f\x7f-\x9f]", " ", line))
    return " ".join(_normalizer(language).normalize(line).split())


def plain_tokens(line, language):
    """`tokenize` by sacremoses, a line at a time."""
    spaced = moses.CHINESE["characters"](line) if language == "zh" else line
    return " ".join(moses._tokenizer(language).tokenize(spaced, escape=False))


@cache
def _normalizer(language):
    return MosesPunctNormalizer(language)


def same_as_sacremoses(lines, language):
    normal = list(moses.normalize(lines, language))
    assert normal == [plain_normal(line, language) for line in lines]
    for some in (normal, lines):  # whoever has lines that are not normal gets the tokens of sacremoses, too
        assert list(moses.tokenize(some, language)) == [plain_tokens(line, language) for line in some]


@pytest.mark.parametrize("language", TEXTS)
def test_the_embedded_corpus_is_that_of_sacremoses(language):
    other = "de" if language == "en" else "en"
    lines = [src for _, (src, _) in islice(synth.sentences("bitext", (language, other), 1), 300)]
    same_as_sacremoses([*lines, TEXTS[language], *TEXTS.values(), " ".join(lines[:50])], language)


@given(st.lists(hard, max_size=6), st.sampled_from(CODES))
@settings(max_examples=150, deadline=None)
@example(
    [
        "'5 a",
        ",5 a,5",
        "5' '5",
        "dogs'",
        "x.'",
        "a. b",
        "a. B",
        "No. 5",
        "No. x",
        ".. .",
        "5,",
        "a,b,c,",
        "1\u00a02\u00a03",
    ],
    "en",
)
@example(['x." ."y', '..." <', '." ', '."', ",’’", "5's", "a'b'c", "a'bc'd", "(a) . ( b )"], "de")
@example(["l'été d'or 5'b 'x x'", "« a » ? !\u00a0:", "DOTMULTI..", "aDOTMULTI."], "fr")
def test_hard_text_is_that_of_sacremoses(lines, language):
    same_as_sacremoses(lines, language)


def test_a_composable_character_is_known():
    """Every line that NFC changes has one."""
    marked = moses_rules.composable()
    for code in [*range(0xC0, 0xD800), *range(0xE000, 0x33000)]:
        char = chr(code)
        assert marked[code] or (unicodedata.is_normalized("NFC", char) and not unicodedata.combining(char))
    assert all(marked[ord(char)] for char in "\u0301\u0323\u09be\u0b3e\u1161\u11a8\u3099")
    assert not any(marked[ord(char)] for char in "aéßяй中あ각😀")


def test_tokens_of_a_column_keep_its_nulls():
    lines = [None, "", "Hello, world.", None, "it’s", "'s'"] * 5
    column = pa.chunked_array([pa.array(lines[:7]), pa.array(lines[7:])])
    expected = [line if line is None else plain_tokens(plain_normal(line, "en"), "en") for line in lines]
    assert moses.tokens(column, "en").to_pylist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moses, "BLOCK", 4)
        assert moses.tokens(column, "en").to_pylist() == expected
        some = [line for line in lines if line is not None]
        assert [*moses.tokenize(moses.normalize(some, "en"), "en")] == [line for line in expected if line is not None]
    assert moses.tokens(column.chunk(0).slice(2, 3), "en").to_pylist() == expected[2:5]
    assert moses.tokens(pa.array([], pa.string()), "en").to_pylist() == []


def test_a_line_of_a_megabyte():
    same_as_sacremoses(["(“a” 1,5.) " * 300, "x" * 1_000_000], "de")


@pytest.mark.parametrize(("region", "language"), [("fr-CA", "fr"), ("deu_AT", "de"), ("zh-TW", "zh"), ("yue", "zh")])
def test_the_rules_are_those_of_the_language_whatever_its_region(region, language):
    lines = [TEXTS[language], 'Il a 1\u00a0000 "fois".', "l'eau z.B. d'or"]
    normal = [*moses.normalize(lines, region)]
    tokens = [*moses.tokenize(normal, region)]
    assert normal == [*moses.normalize(lines, language)]
    assert tokens == [*moses.tokenize(normal, language)]
    assert [*moses.detokenize(tokens, region)] == [*moses.detokenize(tokens, language)]


@pytest.mark.parametrize(("language", "chinese"), EACH)
def test_detokenize_undoes_tokenize(language, chinese):
    text = TEXTS[language]
    tokens = list(moses.tokenize([text], language, chinese))
    assert tokens != [text]
    assert list(moses.detokenize(tokens, language)) == [text]


@settings(deadline=None)
@given(st.lists(words, max_size=5), st.sampled_from(["en", "de", "ru"]))
def test_simple_text_comes_back(sentences, language):
    lines = [", ".join(words) + " ." for words in sentences]
    texts = [line.replace(" .", ".") for line in lines]
    assert list(moses.detokenize(moses.tokenize(texts, language), language)) == texts


@settings(deadline=None)
@given(st.lists(st.text(max_size=40)), st.sampled_from(EACH))
def test_every_line_gives_one_clean_line(lines, each):
    normal = list(moses.normalize(lines, each[0]))
    tokens = list(moses.tokenize(normal, *each))
    assert len(normal) == len(tokens) == len(lines)
    for line in normal + tokens:
        assert line == " ".join(line.split())
        assert len(line.splitlines()) <= 1


def test_tokens_are_those_of_moses():
    line = 'The U.S. can\'t pay $3.50, Mr. Smith - so-called "expert" & co.'
    expected = 'The U.S. can \'t pay $ 3.50 , Mr. Smith - so-called " expert " & co .'
    assert list(moses.tokenize([line], "en")) == [expected]


def test_chinese_is_cut_into_characters():
    assert list(moses.tokenize(["你好，world！"], "zh", "characters")) == ["你 好 ， world ！"]


def test_chinese_is_cut_into_words_by_jieba():
    """Known and unknown words, numbers and Latin words beside them; other scripts as Moses has them."""
    lines = ["我来到北京清华大学。", "他来到了网易杭研大厦", "由于Москва，增长3.5%(中国 café)", ""]
    assert list(moses.tokenize(lines, "zh", "jieba")) == [
        "我 来到 北京 清华大学 。",
        "他 来到 了 网易 杭研 大厦",
        "由于 Москва ， 增长 3.5 % ( 中国 café )",
        "",
    ]


def test_jieba_cuts_equal_text_once():
    moses._cut.cache_clear()
    assert len(set(moses.tokenize(["北京清华大学，北京清华大学。"] * 3, "zh", "jieba"))) == 1
    assert moses._cut.cache_info().misses == 1


def test_jieba_has_no_cache_that_another_user_could_have_written(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    moses._jieba.cache_clear()
    moses._cut.cache_clear()
    poisoned = marshal.dumps(({"清华": 10**9}, 10**9))
    (tmp_path / "jieba.cache").write_bytes(poisoned)
    assert list(moses.tokenize(["北京清华大学"], "zh", "jieba")) == ["北京 清华大学"]
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]
    assert (tmp_path / "jieba.cache").read_bytes() == poisoned


def test_normalize_composes_and_simplifies():
    decomposed = "Cafe\u0301\u00a0 \u201eja\u201c\t\u2013 it\u2019s\x07"
    assert list(moses.normalize([decomposed], "de")) == ['Café "ja" - it\'s']
    assert list(moses.normalize(["", " \u2028 "], "en")) == ["", ""]
