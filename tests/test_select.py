"""Selection by the WMT18 rule, against values worked out by hand and a brute-force oracle."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench import bitext
from bitextbench.errors import InputError
from bitextbench.files import read_json
from bitextbench.select import count_words, cutoff, select


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b c", 3),
        ("a  b", 3),  # an empty inner field counts
        (" a", 2),  # so does a leading one
        ("a b  ", 2),  # trailing ones do not
        ("", 0),
        ("   ", 0),
        ("a\tb", 1),  # only spaces split
    ],
)
def test_words_are_counted_as_perl_does(line, words):
    assert count_words(pa.chunked_array([[line]])).tolist() == [words]


def test_cutoff_by_hand():
    # sums by score, best first: 5.0 -> 4, 3.0 -> 4+3+2 = 9, 1.0 -> 14
    scores = np.array([3.0, 5.0, 1.0, 3.0], np.float32)
    words = np.array([3, 4, 5, 2])
    assert cutoff(scores, words, 3) == 5.0  # 4 exceeds 3
    assert cutoff(scores, words, 4) == 3.0  # 4 does not exceed 4: the whole block of 3.0 is taken too
    assert cutoff(scores, words, 8) == 3.0
    assert cutoff(scores, words, 9) == 1.0
    assert cutoff(scores, words, 14) is None  # never exceeded: everything


def oracle(scores, words, budget):
    by_score = defaultdict(int)
    for score, count in zip(scores, words, strict=True):
        by_score[score] += count
    running = 0
    for score in sorted(by_score, reverse=True):
        running += by_score[score]
        if running > budget:
            return score
    return None


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 6)), min_size=1, max_size=40), st.integers(1, 60))
def test_cutoff_equals_the_oracle(pairs, budget):
    scores = np.array([score for score, _ in pairs], np.float32)
    words = np.array([count for _, count in pairs])
    assert cutoff(scores, words, budget) == oracle(scores.tolist(), words.tolist(), budget)


def corpus(folder: Path, shards: int, texts: list[str], labels: list[str] | None = None) -> tuple[Path, Path]:
    rows = pa.table(
        {
            "src": [f"Q{i}" for i in range(len(texts))],
            "tgt": texts,
            "doc": [""] * len(texts),
            "label": labels or ["parallel"] * len(texts),
        }
    )
    bitext.write_shards(folder / "corpus", [rows], shards)
    (folder / "tokens").mkdir()
    for path in bitext.shard_paths(folder / "corpus"):
        pq.write_table(bitext.read_shard(path, ["id", "src", "tgt"]), folder / "tokens" / path.name)
    return folder / "corpus", folder / "tokens"


def save_scores(folder: Path, corpus_folder: Path, by_id: list[float]) -> list[Path]:
    paths = []
    for path in bitext.shard_paths(corpus_folder):
        ids = bitext.read_shard(path, ["id"])["id"].to_numpy()
        paths.append(folder / f"{path.stem}.npy")
        np.save(paths[-1], np.array(by_id, np.float32)[ids])
    return paths


@pytest.mark.parametrize("shards", [1, 3])
def test_selection_is_the_same_for_any_number_of_shards(tmp_path, shards, monkeypatch):
    monkeypatch.setattr(bitext, "BLOCK", 2)
    texts = ["one two", "three", "four five six", "seven", "eight nine", "ten"]
    raw, tokens = corpus(tmp_path, shards, texts, ["parallel", "copy", "parallel", "parallel", "copy", "parallel"])
    scores = save_scores(tmp_path, raw, [0.1, 0.9, 0.5, 0.5, 0.2, 0.3])
    select("cosine", "10M", 2, raw, tokens, scores, ("de", "en"), "tgt", tmp_path / "out")
    assert (tmp_path / "out/train.de").read_text() == "Q1\nQ2\nQ3\n"
    assert (tmp_path / "out/train.en").read_text() == "three\nfour five six\nseven\n"
    summary = read_json(tmp_path / "out/selection.json")
    assert summary["words"] == 5
    assert summary["words_by_label"] == {"copy": 1, "parallel": 4}
    assert (summary["pool_words"], summary["pool_pairs"], summary["reached"]) == (10, 6, True)


def test_a_budget_larger_than_the_pool_takes_all_and_says_so(tmp_path, capsys):
    raw, tokens = corpus(tmp_path, 1, ["a", "b"])
    select(
        "random", "100M", 99, raw, tokens, save_scores(tmp_path, raw, [0.5, 0.1]), ("de", "en"), "tgt", tmp_path / "out"
    )
    assert read_json(tmp_path / "out/selection.json")["reached"] is False
    assert "everything is taken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("scores", "message"),
    [([0.1, float("nan")], r"00000.npy:2: score is NaN"), ([0.1], r"1 scores for 2 pairs")],
)
def test_bad_scores(tmp_path, scores, message):
    raw, tokens = corpus(tmp_path, 1, ["a", "b"])
    np.save(tmp_path / "00000.npy", np.array(scores, np.float32))
    with pytest.raises(InputError, match=message):
        select("cosine", "10M", 1, raw, tokens, [tmp_path / "00000.npy"], ("de", "en"), "tgt", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_pool_is_an_error(tmp_path):
    raw, tokens = corpus(tmp_path, 1, [])
    with pytest.raises(InputError, match="no words selected by mlp"):
        select("mlp", "10M", 1, raw, tokens, save_scores(tmp_path, raw, []), ("de", "en"), "tgt", tmp_path / "out")
