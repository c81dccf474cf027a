"""Selection by the WMT18 rule, against values worked out by hand and a brute-force oracle."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json
from bitextbench.formats import bitext
from bitextbench.scoring import select as selection
from bitextbench.scoring.select import Scored, count_words, cutoff, select
from bitextbench.scoring.selected import write_selected


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
    parts = [Scored(scores, words)]
    assert cutoff(parts, 3) == 5.0  # 4 exceeds 3
    assert cutoff(parts, 4) == 3.0  # 4 does not exceed 4: the whole block of 3.0 is taken too
    assert cutoff(parts, 8) == 3.0
    assert cutoff(parts, 9) == 1.0
    assert cutoff(parts, 14) is None  # never exceeded: everything
    assert cutoff([], 0) is None


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


SCORE = st.one_of(
    st.integers(-3, 3).map(float), st.floats(width=32, allow_nan=False), st.sampled_from([0.0, -0.0, 1e-45, -1e-45])
)


@given(st.lists(st.tuples(SCORE, st.integers(0, 6)), min_size=1, max_size=40), st.integers(0, 60), st.integers(1, 50))
def test_cutoff_equals_the_oracle(pairs, budget, shard):
    scores = np.array([score for score, _ in pairs], np.float32)
    words = np.array([count for _, count in pairs], np.uint32)
    parts = [Scored(scores[i : i + shard], words[i : i + shard]) for i in range(0, len(pairs), shard)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "BLOCK", 3)
        assert cutoff(parts, budget) == oracle(scores.tolist(), words.tolist(), budget)


def in_memory(scores: np.ndarray, words: np.ndarray, budget: int) -> float | None:
    """By sorting all scores."""
    order = np.argsort(-scores, kind="stable")
    ranked, running = scores[order], np.cumsum(words[order], dtype=np.int64)
    over = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True) & (running > budget))
    return float(ranked[over[0]]) if len(over) else None


@pytest.mark.parametrize("share", [0.001, 0.3, 0.999, 1.1])
def test_cutoff_of_many_scores_equals_sorting_them(share):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=300_000).astype(np.float32)
    scores[::3] = scores[::3].round(2)  # some ties
    words = rng.integers(0, 90, len(scores)).astype(np.uint32)
    budget = int(share * words.sum())
    assert cutoff([Scored(scores, words)], budget) == in_memory(scores, words, budget)


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
    assert "all pairs are selected" in capsys.readouterr().err


def test_pairs_may_count_instead_of_words(tmp_path):
    raw, tokens = corpus(tmp_path, 1, ["one two", "three", "four five six"])
    scores = save_scores(tmp_path, raw, [0.1, 0.9, 0.5])
    select("margin", "1", 1, raw, tokens, scores, ("de", "en"), "pairs", tmp_path / "out")
    assert (tmp_path / "out/train.de").read_text() == "Q1\nQ2\n"
    assert read_json(tmp_path / "out/selection.json")["words"] == 2


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.array([0.1, np.nan], np.float32), r"00000.npy:2: score is NaN"),
        (np.array([0.1], np.float32), r"1 scores for 2 pairs"),
        (np.array([0.1, 0.2]), r"holds float64 \[2\], not float32"),
        (np.array([[0.1, 0.2]], np.float32), r"holds float32 \[1, 2\], not float32"),
    ],
)
def test_bad_scores(tmp_path, scores, message):
    raw, tokens = corpus(tmp_path, 1, ["a", "b"])
    np.save(tmp_path / "00000.npy", scores)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=message):
        select("cosine", "10M", 1, raw, tokens, [tmp_path / "00000.npy"], ("de", "en"), "tgt", tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_missing_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(bitext, "BLOCK", 1)
    raw, tokens = corpus(tmp_path, 3, ["a", "b", "c"])
    scores = save_scores(tmp_path, raw, [0.1, 0.2, 0.3])

    def run(given: list[Path]) -> None:
        select("cosine", "10M", 1, raw, tokens, given, ("de", "en"), "tgt", tmp_path / "out")

    with pytest.raises(InputError, match="2 files of scores for the 3 shards"):
        run(scores[:2])
    (tokens / "00002.parquet").unlink()
    with pytest.raises(InputError, match="2 shards for the 3 shards"):
        run(scores)
    (raw / "00001.parquet").unlink()
    with pytest.raises(InputError, match=r"shard 00001.parquet is missing; make the corpus again"):
        run(scores)


def test_tokens_of_another_corpus(tmp_path):
    raw, tokens = corpus(tmp_path, 1, ["a", "b"])
    rows = bitext.read_shard(raw / "00000.parquet", ["id", "src", "tgt"])
    pq.write_table(rows.take([1, 0]), tokens / "00000.parquet")
    scores = save_scores(tmp_path, raw, [0.1, 0.2])
    with pytest.raises(InputError, match="not the sentences of the corpus; tokenise it again"):
        select("cosine", "10M", 1, raw, tokens, scores, ("de", "en"), "tgt", tmp_path / "out")


def test_an_empty_pool_is_an_error(tmp_path):
    raw, tokens = corpus(tmp_path, 1, [])
    with pytest.raises(InputError, match="mlp selects no words"):
        select("mlp", "10M", 1, raw, tokens, save_scores(tmp_path, raw, []), ("de", "en"), "tgt", tmp_path / "out")


def test_a_selection_as_plain_pairs(tmp_path):
    folder, tokens = corpus(tmp_path, 2, [f"word {i}" for i in range(12)])
    scores = save_scores(tmp_path, folder, [i % 5 for i in range(12)])
    select("m", "b", 8, folder, tokens, scores, ("de", "en"), "tgt", tmp_path / "out")
    about = read_json(tmp_path / "out/selection.json")
    write_selected(folder, scores, tmp_path / "out/selection.json", tmp_path / "plain.tsv")
    rows = [line.split("\t") for line in (tmp_path / "plain.tsv").read_text().splitlines()]
    assert len(rows) == about["pairs"]
    kept = [i for i in range(12) if i % 5 >= about["cutoff"]]
    assert rows == [[str(float(i % 5)), str(i), str(i), f"Q{i}", f"word {i}"] for i in kept]  # it has no documents
    np.save(tmp_path / "short.npy", np.zeros(5, np.float32))
    with pytest.raises(InputError, match=r"selection.json: was made of 12 pairs, but there are 5 scores"):
        write_selected(folder, [tmp_path / "short.npy"], tmp_path / "out/selection.json", tmp_path / "x.tsv")
