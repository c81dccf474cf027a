"""The decoder's language model gives kenlm's scores."""

import random

import pytest

from bitextbench.base.errors import InputError
from bitextbench.smt import kneser_ney, lm
from bitextbench.smt.words import Vocabulary

kenlm = pytest.importorskip("kenlm")
WORDS = [*"abcdefgh"]


def lines(count, seed=1, words=WORDS):
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, range(1, len(words) + 1), k=draw.randint(1, 9))) for _ in range(count)]


@pytest.fixture(params=[2, 3, 4])
def arpa(request, tmp_path):
    vocabulary = Vocabulary(lm.SPECIAL)
    levels = kneser_ney.smoothed(vocabulary.encode(lines(60)), request.param, len(vocabulary))
    path = tmp_path / "model.arpa"
    path.write_text("".join(f"{line}\n" for line in kneser_ney.arpa(levels, vocabulary.words())))
    return path


def test_scores_are_those_of_kenlm(arpa):
    vocabulary = Vocabulary(lm.SPECIAL)
    for word in [*WORDS, "new"]:
        vocabulary[word]
    model, truth = lm.read(arpa, vocabulary), kenlm.Model(str(arpa))
    for line in lines(200, seed=2, words=[*WORDS, "new", "other"]):
        assert lm.score(model, vocabulary, line) / 2.302585092994046 == pytest.approx(truth.score(line), abs=1e-4)


def test_words_outside_of_the_vocabulary_are_left_out(arpa):
    vocabulary = Vocabulary(lm.SPECIAL)
    for word in "abc":
        vocabulary[word]
    model, truth = lm.read(arpa, vocabulary), kenlm.Model(str(arpa))
    for line in lines(50, seed=3, words=[*"abc"]):
        assert lm.score(model, vocabulary, line) / 2.302585092994046 == pytest.approx(truth.score(line), abs=1e-4)
    assert len(model.p) < 200


PRUNED = """\\data\\
ngram 1=5
ngram 2=4
ngram 3=1

\\1-grams:
-1\t<unk>
-0.8\t<s>\t-0.3
-0.7\t</s>
-0.5\ta\t-0.2
-0.6\tb\t-0.1

\\2-grams:
-0.4\ta a\t-0.15
-0.2\t<s> a\t-0.05
-0.45\tb a\t-0.07
-0.35\tb </s>

\\3-grams:
-0.1\ta a b

\\end\\
"""


def test_an_ngram_may_lack_its_suffix(tmp_path):
    path = tmp_path / "pruned.arpa"
    path.write_text(PRUNED)  # "a a b" without "a b"
    vocabulary = Vocabulary(lm.SPECIAL)
    vocabulary["a"], vocabulary["b"]
    model, truth = lm.read(path, vocabulary), kenlm.Model(str(path))
    for line in lines(50, seed=4, words=["a", "b", "c"]):
        assert lm.score(model, vocabulary, line) / 2.302585092994046 == pytest.approx(truth.score(line), abs=1e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no"),
        (PRUNED.replace("-0.4\ta a", "-0.4\ta"), r"pruned.arpa:14: no 2-gram"),
        (PRUNED.replace("-0.4\ta a", "x\ta a"), "not a number"),
        (PRUNED.replace("-0.4\ta a\t-0.15\n", ""), "no context"),
        (PRUNED.replace("\\2-grams", "\\3-grams"), "in place of .2-grams:"),
    ],
)
def test_what_is_no_model_is_an_error(tmp_path, text, message):
    path = tmp_path / "pruned.arpa"
    path.write_text(text)
    vocabulary = Vocabulary(lm.SPECIAL)
    vocabulary["a"], vocabulary["b"]
    with pytest.raises(InputError, match=message):
        lm.read(path, vocabulary)


def test_a_model_of_another_language_is_an_error(arpa, capfd):
    vocabulary = Vocabulary(lm.SPECIAL)
    vocabulary["的"]
    with pytest.raises(InputError, match="has no word of the grammar"):
        lm.read(arpa, vocabulary)
    vocabulary["a"], vocabulary["和"]
    lm.read(arpa, vocabulary)
    assert "1 of 3 words of the grammar" in capfd.readouterr().err
