"""The language model against values worked out by hand, and as KenLM reads it."""

import itertools
import math
from collections import Counter

import kenlm
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bitextbench.base.errors import InputError
from bitextbench.smt import kneser_ney
from bitextbench.smt.words import Vocabulary


def model(tmp_path, lines, order):
    vocabulary = Vocabulary({"<unk>": 1, "<s>": 2, "</s>": 3})
    levels = kneser_ney.smoothed(vocabulary.encode(lines), order, len(vocabulary))
    path = tmp_path / "model.arpa"
    path.write_text("".join(f"{line}\n" for line in kneser_ney.arpa(levels, vocabulary.words())))
    return levels, vocabulary.words(), path


def test_bigrams_of_two_sentences(tmp_path):
    """Adjusted counts: a 1, b 1, </s> 2 (what they follow); all discounts are those of FALLBACK, 0.5, 1 and 1.5."""
    levels, words, _ = model(tmp_path, ["a b", "a"], 2)
    for level, expected in zip(
        levels,
        (
            {"<unk>": (0.125, 1), "a": (0.25, 0.5), "b": (0.25, 0.5), "</s>": (0.375, 1)},
            {"<s> a": (0.625, 1), "a b": (0.375, 1), "a </s>": (0.4375, 1), "b </s>": (0.6875, 1)},
        ),
        strict=True,
    ):
        found = {
            " ".join(words[word] for word in gram): (10**probability, 10**backoff)
            for gram, probability, backoff in zip(level.grams, level.probabilities, level.backoffs, strict=True)
        }
        begin = found.pop("<s>", (0, 0.5))
        assert begin == pytest.approx((0, 0.5))
        assert found.keys() == expected.keys()
        assert all(found[gram] == pytest.approx(expected[gram]) for gram in expected)


def test_discounts_are_those_of_the_counts_of_counts():
    """n1..n4 are 4, 2, 1, 1, so Y = 4 / (4 + 2 * 2)."""
    counts = np.array([1, 1, 1, 1, 2, 2, 3, 4])
    assert kneser_ney.modified(counts) == pytest.approx((1 - 2 * 0.5 * 2 / 4, 2 - 3 * 0.5 * 1 / 2, 3 - 4 * 0.5 * 1 / 1))
    assert kneser_ney.modified(np.array([1, 2])) == kneser_ney.FALLBACK
    assert kneser_ney.modified(np.array([1, 1, 1, 1, 2, 2, 3])) == pytest.approx((0.5, 1.25, 3))  # none of 4
    negative = np.repeat([1, 2, 3, 4], [1, 1, 10, 1])  # 2 - 3 * (1 / 3) * 10
    assert kneser_ney.modified(negative) == kneser_ney.FALLBACK


def by_definition(lines, order):
    """The probability of each n-gram of lines: Heafield et al. 2013, section 3, n-gram by n-gram."""
    framed = [("<s>", *line.split(), "</s>") for line in lines]
    found = [Counter(line[i : i + n] for line in framed for i in range(len(line) - n + 1)) for n in range(1, order + 1)]
    adjusted = [
        {
            gram: times if n == order or gram[0] == "<s>" else sum(longer[1:] == gram for longer in found[n])
            for gram, times in counts.items()
            if gram != ("<s>",)
        }
        for n, counts in enumerate(found, 1)
    ]
    discounts = []
    for counts in adjusted:
        n1, n2, n3, n4 = (sum(count == k for count in counts.values()) for k in range(1, 5))
        y = n1 / (n1 + 2 * n2)
        discounts.append((0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3))

    def p(gram):
        if not gram:
            return 1 / len(found[0])  # with <unk>, without <s>
        counts, d = adjusted[len(gram) - 1], discounts[len(gram) - 1]
        beside = {other: count for other, count in counts.items() if other[:-1] == gram[:-1]}
        total, gamma = sum(beside.values()), sum(d[min(count, 3)] for count in beside.values())
        count = counts.get(gram, 0)
        return (count - d[min(count, 3)]) / total + gamma / total * p(gram[1:])

    return {" ".join(gram): p(gram) for counts in adjusted for gram in counts}


def test_probabilities_are_those_of_the_definition(tmp_path):
    rng = np.random.default_rng(1)
    lines = [" ".join(f"w{number}" for number in rng.zipf(1.5, rng.integers(1, 7)) % 29) for _ in range(100)]
    levels, words, _ = model(tmp_path, lines, 3)
    found = {
        " ".join(words[word] for word in gram): 10**probability
        for level in levels
        for gram, probability in zip(level.grams, level.probabilities, strict=True)
    }
    expected = by_definition(lines, 3)
    assert found.keys() - expected.keys() == {"<unk>", "<s>"}
    assert {gram: found[gram] for gram in expected} == pytest.approx(expected)


def test_probabilities_of_any_context_sum_to_one(tmp_path):
    rng = np.random.default_rng(1)
    lines = [" ".join(f"w{number}" for number in rng.zipf(1.5, rng.integers(1, 9)) % 7) for _ in range(300)]
    _, words, path = model(tmp_path, lines, 4)
    known = kenlm.Model(str(path))
    assert known.order == 4
    for context in itertools.product([*words[4:], "unseen", "<s>"], repeat=2):
        if context[1] == "<s>":
            continue
        state = kenlm.State()
        known.BeginSentenceWrite(state) if context[0] == "<s>" else known.NullContextWrite(state)
        for word in [word for word in context if word != "<s>"]:
            known.BaseScore(state, word, after := kenlm.State())
            state = after
        total = math.fsum(10 ** known.BaseScore(state, word, kenlm.State()) for word in words[1:] if word != "<s>")
        assert total == pytest.approx(1, abs=1e-5)


def test_a_model_of_one_side_of_corpora(tmp_path):
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder, lines in zip(folders, (["A b"], ["a"]), strict=True):
        folder.mkdir()
        columns = {"id": range(len(lines)), "src": [""] * len(lines), "tgt": pa.array(lines, pa.string())}
        pq.write_table(pa.table(columns), folder / "00000.parquet")
    kneser_ney.estimate(folders, "tgt", 2, tmp_path / "made.arpa", lowercase=True)
    assert (tmp_path / "made.arpa").read_text() == model(tmp_path, ["a b", "a"], 2)[2].read_text()
    with pytest.raises(InputError, match="one: no words; name a corpus of text in this language"):
        kneser_ney.estimate(folders, "src", 2, tmp_path / "none.arpa", lowercase=True)


def test_bad_orders_and_texts(tmp_path):
    with pytest.raises(InputError, match="no 4-grams; give an order below 4"):
        model(tmp_path, ["a"], 4)
