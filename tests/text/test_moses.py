"""Moses tokens, words of Chinese, and back."""

import marshal
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.text import moses

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


@pytest.mark.parametrize(("language", "chinese"), EACH)
def test_detokenize_undoes_tokenize(language, chinese):
    text = TEXTS[language]
    tokens = list(moses.tokenize([text], language, chinese))
    assert tokens != [text]
    assert list(moses.detokenize(tokens, language)) == [text]


@given(st.lists(words, max_size=5), st.sampled_from(["en", "de", "ru"]))
def test_simple_text_comes_back(sentences, language):
    lines = [", ".join(words) + " ." for words in sentences]
    texts = [line.replace(" .", ".") for line in lines]
    assert list(moses.detokenize(moses.tokenize(texts, language), language)) == texts


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


def test_jieba_has_no_cache_that_another_user_could_have_written(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    moses._jieba.cache_clear()
    poisoned = marshal.dumps(({"清华": 10**9}, 10**9))
    (tmp_path / "jieba.cache").write_bytes(poisoned)
    assert list(moses.tokenize(["北京清华大学"], "zh", "jieba")) == ["北京 清华大学"]
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]
    assert (tmp_path / "jieba.cache").read_bytes() == poisoned


def test_normalize_composes_and_simplifies():
    decomposed = "Cafe\u0301\u00a0 \u201eja\u201c\t\u2013 it\u2019s\x07"
    assert list(moses.normalize([decomposed], "de")) == ['Café "ja" - it\'s']
    assert list(moses.normalize(["", " \u2028 "], "en")) == ["", ""]
