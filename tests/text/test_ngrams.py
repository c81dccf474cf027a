"""Words, bigrams and character n-grams against loops over strings."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.formats.ids import Ragged
from bitextbench.text import moses, ngrams
from bitextbench.text.features import encode_shard, text_model

ROOT = Path(__file__).parents[2]
LINES = st.lists(st.one_of(st.none(), st.text(alphabet="aAbcß 日", max_size=14)), max_size=8)
WORDS = ngrams.Bigrams(50, 70)
NGRAMS = ngrams.Ngrams(["b", "aab", "日"], oov=5, buckets=40, shortest=2, longest=3)
MASK = 2**64 - 1


def bigram(first: str, second: str) -> int:
    """`mixed` in whole numbers."""
    a, b = (xxhash.xxh3_64_intdigest(word.encode()) for word in (first, second))
    x = a * 0x9E3779B97F4A7C15 & MASK
    x = ((x ^ x >> 31) + b) * 0xBF58476D1CE4E5B9 & MASK
    return x ^ x >> 31


def rows(ids: Ragged) -> list[list[int]]:
    return [ids[i].tolist() for i in range(len(ids))]


@settings(deadline=None)
@given(LINES)
def test_words_and_bigrams_equal_a_loop(lines):
    expected = []
    for line in lines:
        words, row = [word.lower() for word in (line or "").split(" ") if word], []
        for i, word in enumerate(words):
            row.append(1 + xxhash.xxh3_64_intdigest(word.encode()) % 50)
            row += [51 + bigram(word, words[i + 1]) % 70] if i + 1 < len(words) else []
        expected.append(row)
    assert rows(WORDS.ids(pa.array(lines, pa.string()))) == expected
    assert all(0 < i < WORDS.size for row in expected for i in row)


@settings(deadline=None)
@given(LINES, st.booleans())
def test_words_and_character_ngrams_equal_a_loop(lines, lowercase):
    features = ngrams.Ngrams(NGRAMS.vocabulary, oov=5, buckets=40, shortest=2, longest=3, lowercase=lowercase)
    expected = []
    for line in lines:
        row = []
        for word in (word for word in (line or "").split(" ") if word):
            word = word.lower() if lowercase else word
            known = {"b": 1, "aab": 2, "日": 3}
            row.append(known.get(word, 4 + xxhash.xxh3_64_intdigest(word.encode()) % 5))
            for n in (2, 3):
                row += [9 + xxhash.xxh3_64_intdigest(word[i : i + n].encode()) % 40 for i in range(len(word) - n + 1)]
        expected.append(row)
    assert rows(features.ids(pa.array(lines, pa.string()))) == expected


def test_long_ngrams():
    features = ngrams.Ngrams([], oov=5, buckets=1000, shortest=9, longest=10)
    word = "日本語abcdefgß"
    parts = [word[i : i + n] for n in (9, 10) for i in range(len(word) - n + 1)]
    expected = [6 + xxhash.xxh3_64_intdigest(part.encode()) % 1000 for part in parts]
    assert features.ids(pa.array([word]))[0].tolist()[1:] == expected


@settings(deadline=None)
@given(LINES, st.integers(0, 8))
def test_a_sentence_has_the_same_ids_in_any_company(lines, cut):
    for features in (WORDS, NGRAMS):
        whole = features.ids(pa.array(lines, pa.string()))
        halves = [features.ids(pa.array(part, pa.string())) for part in (lines[:cut], lines[cut:])]
        assert rows(whole) == [row for half in halves for row in rows(half)]


def test_an_id_below_words_begins_a_token():
    line = "the cat the cat sat"
    for features in (WORDS, NGRAMS):
        ids = features.ids(pa.array([line, None, ""]))
        assert [int((ids[i] < features.words).sum()) for i in range(3)] == [5, 0, 0]
        assert ids[0][0] < features.words


def test_a_words_row_is_its_id_in_a_line():
    for features in (WORDS, NGRAMS):
        for word in ("b", "xyz", "日"):
            assert features.row(word) == features.ids(pa.array([word]))[0][0]


def test_an_encoder_learns_how_many_ids_are_words(tmp_path: Path):
    ngrams.learn([], {"type": "words", "unigrams": 50, "bigrams": 70}, tmp_path / "words.json")
    spec, size, row_of = text_model(tmp_path / "words.json", {"model": {"embedding": 2}})
    assert (spec, size) == ({"model": {"embedding": 2, "words": 51}}, 121)
    assert row_of("b") == WORDS.row("b")


def test_bigrams_have_an_order_and_hashes_spread():
    words = ngrams.Bigrams(1 << 20, 1 << 20)
    forth, back = (set(words.ids(pa.array([line]))[0].tolist()) for line in ("new york", "york new"))
    assert len(forth & back) == 2  # the words alone
    many = words.ids(pa.array([" ".join(f"w{i}" for i in range(10_000))]))[0]
    for part in (many[many < words.words], many[many >= words.words]):
        assert len(set(part.tolist())) > 0.99 * 10_000  # 48 collisions are expected of 10,000 in 2^20
        assert abs(np.histogram(part, 10)[0] - 1000).max() < 200


def shard(folder: Path, src: list[str | None], tgt: list[str | None]) -> Path:
    folder.mkdir(exist_ok=True)
    table = pa.table({"id": range(len(src)), "src": pa.array(src, pa.string()), "tgt": pa.array(tgt, pa.string())})
    pq.write_table(table, folder / "00000.parquet")
    return folder


SIZES = {"type": "ngrams", "vocab": 3, "oov": 2, "buckets": 10, "shortest": 3, "longest": 6, "corpora": ["bitext"]}


def test_the_vocabulary_holds_the_most_frequent_words_of_all_sides(tmp_path: Path):
    one = shard(tmp_path / "one", ["A b c", "a  d", None], ["x a", "b", "z z"])
    two = shard(tmp_path / "two", ["c"], [None])
    ngrams.learn([one, two], SIZES, tmp_path / "ngrams.json")
    counts = Counter("abcadxabzzc")
    expected = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:3]]
    features = ngrams.load(tmp_path / "ngrams.json")
    assert isinstance(features, ngrams.Ngrams)
    assert features.vocabulary == expected == ["a", "b", "c"]
    assert (features.words, features.size) == (6, 16)

    encode_shard(one / "00000.parquet", tmp_path / "ngrams.json", tmp_path / "ids", lowercase=True)
    assert Ragged.load(tmp_path / "ids" / "00000.src").lengths.tolist() == [3, 2, 0]
    assert Ragged.load(tmp_path / "ids" / "00000.tgt").lengths.tolist() == [2, 1, 2]

    ngrams.learn([one, two], {"type": "vocabulary", "vocab": 3, "corpora": ["bitext"]}, tmp_path / "words.json")
    encode_shard(one / "00000.parquet", tmp_path / "words.json", tmp_path / "words", lowercase=True)
    assert rows(Ragged.load(tmp_path / "words" / "00000.src")) == [[1, 2, 3], [1, 4], []]  # 4: another word
    spec, size, row_of = text_model(tmp_path / "words.json", {"model": {"embedding": 2}})
    assert (spec, size) == ({"model": {"embedding": 2}}, 5)
    assert [row_of(word) for word in ("a", "b", "c", "d", "")] == [1, 2, 3, None, None]

    ngrams.learn([one, two], SIZES | {"vocab": 99}, tmp_path / "cased.json", lowercase=False)
    cased = ngrams.load(tmp_path / "cased.json")
    assert isinstance(cased, ngrams.Ngrams)
    assert sorted(cased.vocabulary) == ["A", "a", "b", "c", "d", "x", "z"]


@pytest.mark.parametrize(("unigrams", "fits"), [(2**31 - 7, True), (2**31 - 6, False)])
def test_ids_are_below_two_to_the_31st(tmp_path: Path, unigrams: int, fits: bool):
    """One id is of padding."""
    out = tmp_path / "words.json"
    if fits:
        ngrams.learn([], {"type": "words", "unigrams": unigrams, "bigrams": 5}, out)
        assert ngrams.load(out).size == 2**31 - 1
    else:
        with pytest.raises(InputError, match=r"2,147,483,648 ids are too many"):
            ngrams.learn([], {"type": "words", "unigrams": unigrams, "bigrams": 5}, out)


def test_bad_input_is_one_line(tmp_path: Path):
    folder, out = shard(tmp_path / "empty", [None], [""]), tmp_path / "out.json"
    huge = {"type": "words", "unigrams": 2**31, "bigrams": 5}
    for corpora, spec, message in (
        ([], {"type": "bpe"}, "text.features: bpe has no such file; give one of words, ngrams, vocabulary"),
        ([], huge, "text.features: words: 2,147,483,654 ids are too many"),
        ([folder], SIZES, "empty: no words; give it tokenised corpora"),
    ):
        with pytest.raises(InputError, match=message):
            ngrams.learn(corpora, spec, out)
    assert not out.exists()
    for text in ("[]", "{}", json.dumps({"kind": "bpe"}), json.dumps({"kind": "words", "unigram": 3})):
        out.write_text(text)
        with pytest.raises(InputError, match=r"out\.json: not a file of features; make the file again"):
            ngrams.load(out)


def test_chinese_words_have_ngrams_of_up_to_four_characters_at_paper_scale():
    """yang2019 footnote 2: "N=[1, 4] for en-zh and N=[3, 6] for other language pairs"."""
    config = resolve(read([ROOT / "config.yaml"]))
    of = {name: config["text"]["features"][f"ngrams.{name}"] for name in ("en-zh", "en-ru", "en-fr")}
    sizes = {name: (spec["shortest"], spec["longest"]) for name, spec in of.items()}
    assert sizes == {"en-zh": (1, 4), "en-ru": (3, 6), "en-fr": (3, 6)}
    [line] = moses.tokenize(["贸易发展委员会"], "zh", config["text"]["chinese"])
    keys = ("oov", "buckets", "shortest", "longest")
    features = ngrams.Ngrams(words := line.split(), **{key: of["en-zh"][key] for key in keys})
    [ids] = rows(features.ids(pa.array([line])))
    assert words == ["贸易", "发展", "委员会"]
    assert [i for i in ids if i < features.words] == [1, 2, 3]
    assert len(ids) == 3 + (2 + 1) + (2 + 1) + (3 + 2 + 1)
