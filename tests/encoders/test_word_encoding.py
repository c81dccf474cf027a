"""Word vectors by an encoder of sentences."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.encoders import muse
from bitextbench.encoders.word_encoding import components, encode_words
from bitextbench.formats import word_vectors
from bitextbench.text.bpe import learn_sentencepiece, load_bpe
from bitextbench.text.ngrams import word_counts

TEXT = {"src": ["das Haus", "ein Haus", "das alte Haus", None], "tgt": ["the house", "a house", "the old house", ""]}


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for path, part in zip(paths, (slice(0, 2), slice(2, 4)), strict=True):
        pq.write_table(pa.table({side: pa.array(lines[part], pa.string()) for side, lines in TEXT.items()}), path)
    return paths


def vectors_of(words: list[str]) -> np.ndarray:
    vectors = np.zeros((len(words), muse.DIMENSION), np.float32)
    list(muse.Muse().encode(words, None, "any", vectors))
    return vectors


def test_words_of_both_sides_by_a_command(tmp_path: Path, shards):
    tokens = [f"--tokens={side}={path}" for side in TEXT for path in shards]
    options = ["--name", "muse", "--min-count", "1", "-o", str(tmp_path / "x")]
    done = CliRunner().invoke(cli, ["step", "encode-words", *tokens, *options])
    assert done.exit_code == 0, done.output
    for side, words in {"src": ["haus", "das", "alte", "ein"], "tgt": ["house", "the", "a", "old"]}.items():
        found = word_vectors.read(tmp_path / f"x.{side}.vec")
        assert found.words == words
        np.testing.assert_allclose(found.vectors, vectors_of(words), atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_fewer_dimensions_keep_what_they_can_of_products(tmp_path: Path, shards, threads):
    outs = {side: tmp_path / f"{side}.vec" for side in TEXT}
    given = dict.fromkeys(TEXT, shards)
    assert encode_words(given, muse.Muse(threads=threads), outs, dimension=5, min_count=1) == {"src": 4, "tgt": 4}
    src, tgt = (word_vectors.read(out) for out in outs.values())
    vectors = vectors_of([*src.words, *tgt.words])
    _, values, directions = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    nearest = (vectors @ directions[:5].T) @ directions[:5]  # Eckart and Young: no other rows of rank 5 are nearer
    found = np.concatenate([src.vectors, tgt.vectors])
    assert found.shape == (8, 5)
    np.testing.assert_allclose(found @ found.T, nearest @ nearest.T, atol=1e-5)
    assert values[5] > 0.01


def test_components_are_orthonormal():
    rows = np.random.default_rng(1).standard_normal((50, 7)).astype(np.float32)
    basis = components(rows, 4)
    np.testing.assert_allclose(basis.T @ basis, np.eye(4), atol=1e-5)


def test_rare_words_have_none(tmp_path: Path, shards):
    encoder, outs = muse.Muse(), {"src": tmp_path / "src.vec"}
    assert encode_words({"src": shards}, encoder, outs) == {"src": 2}
    assert word_vectors.read(outs["src"]).words == ["haus", "das"]
    assert encode_words({"src": shards}, encoder, outs, lowercase=False) == {"src": 2}
    assert word_vectors.read(outs["src"]).words == ["Haus", "das"]
    with pytest.raises(InputError, match="no word of src appears 4 times"):
        encode_words({"src": shards}, encoder, outs, min_count=4)
    with pytest.raises(InputError, match="dimension: 513 is more than the 512 of the encoder"):
        encode_words({"src": shards}, encoder, outs, dimension=513)


def test_pieces_are_encoded_without_the_mark_of_a_word(tmp_path: Path, shards):
    bpe = tmp_path / "bpe.model"
    bpe.write_bytes(learn_sentencepiece(iter(["das haus ein haus"] * 9), 24, 1))
    tokens = [f"--tokens=src={path}" for path in shards]
    options = ["--name", "muse", "--min-count", "1", "--bpe", str(bpe), "-o", str(tmp_path / "x")]
    done = CliRunner().invoke(cli, ["step", "encode-words", *tokens, *options])
    assert done.exit_code == 0, done.output
    found = word_vectors.read(tmp_path / "x.src.vec")
    processor = load_bpe(bpe)
    text = [piece for line in TEXT["src"] if line for piece in processor.encode(line.lower(), out_type=str)]
    assert found.words == sorted({*text}, key=lambda piece: (-text.count(piece), piece))
    assert "▁haus" in found.words
    np.testing.assert_allclose(
        found.vectors, vectors_of([word.removeprefix("▁") or word for word in found.words]), atol=1e-5
    )
    with pytest.raises(InputError, match="no piece of src appears 99 times"):
        encode_words({"src": shards}, muse.Muse(), {}, min_count=99, pieces=bpe)


def test_counts_have_one_order(shards):
    assert list(word_counts(shards, [*TEXT], lowercase=True).items())[:4] == [
        ("haus", 3),
        ("house", 3),
        ("das", 2),
        ("the", 2),
    ]
