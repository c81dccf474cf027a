"""Similarities that compare words or labels, and what they are made of, against plain Python."""

import math
from collections import Counter, defaultdict
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.data import synth
from bitextbench.formats.ids import Ragged
from bitextbench.formats.vectors import Embeddings
from bitextbench.scoring import Pairs, Text, dictionary, ngram_lm
from bitextbench.scoring.dictionary import Dictionary
from bitextbench.scoring.similarities import margin, oracle, random, zipporah
from bitextbench.text import ngrams

SENTENCES = st.lists(st.lists(st.integers(0, 3), max_size=4), min_size=1, max_size=5)
PAIRS = st.lists(st.tuples(*[st.lists(st.integers(0, 3), max_size=4)] * 2), min_size=1, max_size=5)


def model_one(pairs, rounds: int) -> dict[tuple[int, int], float]:
    """p(t | s) of IBM Model 1; -1 is the word for none."""
    t_given_s: dict[tuple[int, int], float] = defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts: Counter[tuple[int, int]] = Counter()
        for src, tgt in pairs:
            for t in tgt:
                total = sum(t_given_s[s, t] for s in [-1, *src])
                for s in [-1, *src]:
                    counts[s, t] += t_given_s[s, t] / total
        totals: Counter[int] = Counter()
        for (s, _), count in counts.items():
            totals[s] += count
        t_given_s = defaultdict(float, {(s, t): count / totals[s] for (s, t), count in counts.items()})
    return {key: value for key, value in t_given_s.items() if key[0] >= 0 and value >= 0.01}


@settings(deadline=None, max_examples=60)
@given(PAIRS, st.integers(1, 4), st.sampled_from([1, 3, 1 << 22]))
def test_the_dictionary_is_that_of_model_one(pairs, rounds, block):
    src, tgt = (Ragged.of(side) for side in zip(*pairs, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dictionary, "BLOCK", block)
        found = dictionary.learn(src, tgt, rounds=rounds)
    expected = model_one(pairs, rounds)
    s, t = np.divmod(found.keys.astype(np.int64), 1 << 32)
    assert dict(zip(zip(s.tolist(), t.tolist(), strict=True), found.values.tolist(), strict=True)) == pytest.approx(
        expected
    )


def test_a_dictionary_of_the_first_pairs(monkeypatch, capsys):
    pairs = [([0], [1]), ([2], [3])]
    monkeypatch.setattr(dictionary, "CELLS", 3)
    found = dictionary.learn(*(Ragged.of(side) for side in zip(*pairs, strict=True)))
    assert (found.keys >> np.uint64(32)).tolist() == [0]
    assert "from the first 1 of 2 pairs" in capsys.readouterr().err


class KneserNey:
    """Interpolated, in plain Python."""

    def __init__(self, sentences: list[list[int]], size: int) -> None:
        self.size = size
        full = Counter(gram for words in sentences for gram in self.grams(words))
        self.orders = {3: full}
        for n in (2, 1):
            self.orders[n] = Counter(gram[1:] for gram in self.orders[n + 1])

    def grams(self, words: list[int]):
        padded = ["<s>", "<s>", *(word if word < self.size else "?" for word in words), "</s>"]
        return list(zip(padded, padded[1:], padded[2:], strict=False))

    def p(self, gram: tuple) -> float:
        if not gram:
            return 1 / (self.size + 2)
        counts = self.orders[len(gram)]
        once, twice = (sum(count == k for count in counts.values()) for k in (1, 2))
        discount = once / (once + 2 * twice) if once else 0.5
        beside = [count for other, count in counts.items() if other[:-1] == gram[:-1]]
        if not beside:
            return self.p(gram[1:])
        rest = discount * len(beside) / sum(beside)
        return max(counts[gram] - discount, 0) / sum(beside) + rest * self.p(gram[1:])


@settings(deadline=None, max_examples=60)
@given(SENTENCES, SENTENCES)
def test_the_language_model_is_kneser_and_neys(training, held_out):
    model, plain = ngram_lm.learn(Ragged.of(training), 3), KneserNey(training, 3)
    model = ngram_lm.load(model.arrays())
    expected = [-sum(math.log2(plain.p(gram)) for gram in plain.grams(words)) / (len(words) + 1) for words in held_out]
    assert model.bits(Ragged.of(held_out)).tolist() == pytest.approx(expected)


def test_probabilities_of_the_next_word_add_up_to_one():
    plain = KneserNey([[0, 1], [0, 2, 1], [1]], 3)
    for context in [("<s>", "<s>"), ("<s>", 0), (0, 1), (9, 9)]:
        assert sum(plain.p((*context, word)) for word in [0, 1, 2, "?", "</s>"]) == pytest.approx(1)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(*[st.lists(st.integers(0, 5), max_size=4)] * 2), min_size=1, max_size=5))
def test_adequacy_by_hand(pairs):
    table = {(0, 0): 0.5, (0, 1): 0.25, (2, 3): 1.0, (3, 2): 0.125}
    keys = np.array([s << 32 | t for s, t in table], np.uint64)
    translations = Dictionary(keys, np.array([*table.values()], np.float32))
    expected = []
    for src, tgt in pairs:
        loss = 0.0
        for t in tgt:
            q = sum(table.get((s, t), 0) if s in {0, 2, 3} else float(s == t) for s in src) / max(1, len(src))
            loss -= math.log(q + zipporah.FLOOR) / len(tgt)
        expected.append(loss)
    src, tgt = (Ragged.of(side) for side in zip(*pairs, strict=True))
    assert zipporah.adequacy(src, tgt, translations).tolist() == pytest.approx(expected)


@settings(deadline=None, max_examples=60)
@given(PAIRS, st.integers(1, 3))
def test_sums_are_those_of_single_cells(pairs, rounds):
    """To the last bit: the order of a sum is that of source tokens."""
    src, tgt = (Ragged.of(side) for side in zip(*pairs, strict=True))
    found = dictionary.learn(src, tgt, rounds=rounds)
    s, t = np.divmod(found.keys.astype(np.int64), 1 << 32)
    table = dict(zip(zip(s.tolist(), t.tolist(), strict=True), found.values, strict=True))
    src, tgt = src.take(np.arange(len(src))[::-1]), tgt  # some words have no entry with these
    places, group = dictionary.cells(src, tgt)
    cells = zip(src.flat[places].tolist(), tgt.flat[group].tolist(), strict=True)
    p = [table.get(cell, np.float32(0)) + np.float32(cell[0] == cell[1] and cell[0] not in s) for cell in cells]
    expected = np.bincount(group, np.array(p, np.float32), minlength=len(tgt.flat))
    np.testing.assert_array_equal(found.sums(src, tgt), expected)


def test_words_have_the_ids_of_python():
    """Known ones by place; any other the same on both sides, and in no case."""
    lines = ["Straße ΟΔΟΣ İ Ǆ unbekannt", "", None, "x Unbekannt y", "ÀÉÞŸ \x85 \xa0 µ"]
    words = ["straße", "οδος", "i̇", "ǆ", "y", "x"]
    text = Text(pa.chunked_array([lines], pa.string()), pa.chunked_array([lines[:2], ["unbekannt NEU", "", "neu X"]]))
    index = {word: place for place, word in enumerate(words)}
    found = zipporah.HashedWords(words).ids(text)
    seen: dict[int, str] = {}
    for side, ids in zip(text, found, strict=True):
        for line, numbers in zip(side.to_pylist(), ids, strict=False):
            tokens = [token.lower() for token in (line or "").split(" ") if token]
            assert len(tokens) == len(numbers)
            for token, number in zip(tokens, numbers.tolist(), strict=True):
                assert index.get(token, len(words)) == min(number, len(words))
                assert seen.setdefault(number, token) == token
    assert len(set(seen.values())) == len(seen)


def test_lowered_is_lower():
    words = [chr(point) + end for point in range(1, 0x2FFF) if not chr(point).isspace() for end in ("", "B")]
    assert ngrams.lowered(pa.array(words)).to_pylist() == [word.lower() for word in words]


def generated(stretch: str, lines: int) -> Text:
    pairs = (pair for _, pair in islice(synth.sentences(stretch, ("de", "en"), 1), lines))
    return Text(*(pa.chunked_array([side]) for side in zip(*pairs, strict=True)))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("zipporah") / "m.npz"
    zipporah.fit(generated("bitext", 2000), generated("positives", 300), {"vocabulary": 3000}, 1, path)
    return path


def test_zipporah_tells_good_from_bad(fitted):
    good = generated("held out", 300)
    rng = np.random.default_rng(1)
    wrong = Text(good.src, good.tgt.take(pa.array(np.roll(np.arange(300), 7))))
    shuffled = Text(
        good.src, pa.chunked_array([[" ".join(rng.permutation(line.split())) for line in good.tgt.to_pylist()]])
    )
    best = zipporah.score(Pairs(np.arange(300), tokens=good), fitted)
    for bad, least in ((wrong, 0.97), (shuffled, 0.8)):
        scores = zipporah.score(Pairs(np.arange(300), tokens=bad), fitted)
        assert (best[:, None] > scores[None]).mean() > least


def test_zipporah_scores_a_pair_by_itself(fitted, monkeypatch):
    good = generated("held out", 50)
    whole = zipporah.score(Pairs(np.arange(50), tokens=good), fitted)
    monkeypatch.setattr(zipporah, "BLOCK", 7)
    np.testing.assert_array_equal(zipporah.score(Pairs(np.arange(50), tokens=good), fitted), whole)
    strange = Text(pa.chunked_array([["", "Xyzzy Xyzzy", None]]), pa.chunked_array([["", "Xyzzy", "a"]]))
    assert np.isfinite(zipporah.score(Pairs(np.arange(3), tokens=strange), fitted)).all()


def test_features_are_adequacy_and_log_perplexity_of_both_sides(fitted):
    model = zipporah.read(fitted)
    src, tgt = model.words.ids(generated("held out", 20))
    there, back = model.dictionaries
    adequacy = zipporah.adequacy(src, tgt, there) + zipporah.adequacy(tgt, src, back)
    perplexity = 2 ** model.fluencies[0].bits(src) * 2 ** model.fluencies[1].bits(tgt)
    expected = (np.array([adequacy, np.log(perplexity)]).T / 10) ** 8
    np.testing.assert_allclose(model.features(src, tgt), expected, rtol=1e-9)


def test_the_regression_is_that_of_maximum_likelihood():
    """No step of a tenth of a deviation along a feature, or of the constant, lowers the loss of the raw features."""
    rng = np.random.default_rng(1)
    good, bad = (rng.gamma(shape, 1.0, (count, 2)) ** [2, 4] for shape, count in ((2, 300), (4, 900)))
    features, labels = np.concatenate([good, bad]), np.repeat([1, -1], [300, 900])

    def loss(weights):
        return np.logaddexp(0, -labels * (features @ weights[:2] + weights[2])).sum()

    weights = zipporah._regression(good, bad)
    for step in np.diag([*(0.1 / features.std(0)), 0.1]):
        assert min(loss(weights + step), loss(weights - step)) > loss(weights)


def test_two_good_pairs_are_enough_to_learn_from(tmp_path):
    """Each has the other's target in the bad ones."""
    good = generated("positives", 2)
    zipporah.fit(generated("bitext", 500), good, {}, 1, tmp_path / "m.npz")
    swapped = Text(good.src, good.tgt.take(pa.array([1, 0])))
    best, worst = (zipporah.score(Pairs(np.arange(2), tokens=text), tmp_path / "m.npz") for text in (good, swapped))
    assert best.min() > worst.max()
    zipporah.fit(good, generated("positives", 9), {}, 1, tmp_path / "m.npz")


def test_zipporah_needs_text(fitted, tmp_path):
    with pytest.raises(InputError, match="compares words; give it the tokens; name a `bitext` in its method"):
        zipporah.score(Pairs(np.arange(2)), fitted)
    with pytest.raises(InputError, match="give Zipporah at least two of each"):
        zipporah.fit(generated("bitext", 1), generated("bitext", 9), {}, 1, tmp_path / "m.npz")


def test_the_oracle_takes_good_pairs_first_and_all_in_random_order():
    labels = ["parallel", "", "copy"] * 100
    scores = oracle.score(Pairs(np.arange(300), labels=labels))
    assert scores[0::3].min() > scores[1::3].max() > scores[1::3].min() > scores[2::3].max()
    assert len(np.unique(scores[0::3])) == 100
    np.testing.assert_array_equal(scores[2::3], random.score(Pairs(np.arange(2, 300, 3))))
    with pytest.raises(InputError, match="no pair has a label"):
        oracle.score(Pairs(np.arange(2), labels=["", ""]))


def ratio(src: np.ndarray, tgt: np.ndarray, k: int) -> list[float]:
    unit = [
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (src.astype(np.float64), tgt.astype(np.float64))
    ]
    cosine = unit[0] @ unit[1].T
    near = [np.sort(matrix, axis=1)[:, -k:].mean(axis=1) for matrix in (cosine, cosine.T)]
    return [cosine[i, i] / ((near[0][i] + near[1][i]) / 2) for i in range(len(src))]


def test_margins_of_given_pairs_equal_a_loop_in_equal_batches(tmp_path):
    rng = np.random.default_rng(1)
    src = rng.standard_normal((30, 8)).astype(np.float32) + 1
    tgt = src + rng.standard_normal((30, 8)).astype(np.float32)
    for batch, parts in ((30, [slice(0, 30)]), (29, [slice(0, 15), slice(15, 30)])):
        margin.fit(Embeddings(src), Embeddings(tgt), {"k": 3, "batch": batch}, tmp_path / "m.npz")
        expected = [value for part in parts for value in ratio(src[part], tgt[part], 3)]
        found = margin.score(Pairs(np.arange(30), src, tgt), tmp_path / "m.npz")
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        part = margin.score(Pairs(np.arange(9, 12), src[9:12], tgt[9:12]), tmp_path / "m.npz")
        np.testing.assert_array_equal(part, found[9:12])  # a shard by itself
    with pytest.raises(InputError, match="neighbourhoods of 30 pairs, and none of pair 30"):
        margin.score(Pairs(np.array([30]), src[:1], tgt[:1]), tmp_path / "m.npz")


def test_a_margin_is_a_ratio_of_four_neighbours_if_nothing_is_said(tmp_path):
    src, tgt = (Embeddings(side) for side in np.random.default_rng(3).standard_normal((2, 12, 8)).astype(np.float32))
    for name, spec in (("usual", {}), ("said", {"k": 4, "margin": "ratio"}), ("other", {"k": 5})):
        margin.fit(src, tgt, spec, tmp_path / f"{name}.npz")
    files = [(tmp_path / f"{name}.npz").read_bytes() for name in ("usual", "said", "other")]
    assert files[0] == files[1] != files[2]
    none = np.empty((0, 8), np.float32)
    assert margin.score(Pairs(np.arange(0), none, none), tmp_path / "usual.npz").shape == (0,)  # an empty shard


def test_copies_of_a_sentence_are_one_neighbour(tmp_path):
    """artetxe2019 section 3.1: the k nearest neighbours, excluding duplicates."""
    rng = np.random.default_rng(2)
    src, tgt = (rng.standard_normal((12, 8)).astype(np.float32) + 1 for _ in range(2))
    copied = np.r_[0:12, 3, 3, 3]  # the target of pair 3 is that of three more pairs, whose sources are others
    more = np.concatenate([src, rng.standard_normal((3, 8)).astype(np.float32)])
    margin.fit(Embeddings(more), Embeddings(tgt[copied]), {"k": 3}, tmp_path / "m.npz")
    means = np.load(tmp_path / "m.npz")["means"]
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (more, tgt)]
    cosine = unit[0] @ unit[1].T  # 15 sources, 12 distinct targets
    np.testing.assert_allclose(means[:, 0], np.sort(cosine, axis=1)[:, -3:].mean(axis=1), rtol=1e-5)
    np.testing.assert_allclose(means[:, 1], np.sort(cosine.T, axis=1)[:, -3:].mean(axis=1)[copied], rtol=1e-5)


def test_a_ratio_without_meaning_comes_last(tmp_path, capsys):
    src, tgt = np.array([[1, 0], [0, 1]], np.float32), np.array([[-1, 0], [0, 1]], np.float32)
    margin.fit(Embeddings(src), Embeddings(tgt), {"k": 2}, tmp_path / "m.npz")
    found = margin.score(Pairs(np.arange(2), src, tgt), tmp_path / "m.npz")
    assert found[0] == -np.inf
    assert "1 of 2 pairs have no neighbourhood of positive similarity" in capsys.readouterr().err
