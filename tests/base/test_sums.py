"""Files whose format has no checksum: a changed, cut or swapped one is told by whoever reads it."""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bitextbench.base import sums
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.base.outputs import atomic
from bitextbench.formats import bitext, training_text, word_vectors
from bitextbench.smt import words
from bitextbench.text import bpe, ngrams
from bitextbench.text.tokens import tokenize_shard

LINES = ["a bird sings at night .", "the night is long and dark .", "birds sing ."]


def write_text(folder: Path) -> Path:
    with training_text.opened(folder, ("de", "en")) as files:
        for file in files:
            file.writelines(f"{line}\n" for line in LINES)
    return folder / "train.de"


def write_translation(folder: Path) -> Path:
    with words.packed(folder / "test2017.en") as file:
        file.writelines(f"{line}\n".encode() for line in LINES)
    return folder / "test2017.en"


def tokens(folder: Path) -> Path:
    columns = {"src": LINES * 20, "tgt": LINES * 20, "doc": [""] * 60, "label": [""] * 60}
    bitext.write_shards(folder / "corpus", [pa.table(columns)], 1)
    tokenize_shard(folder / "corpus/00000.parquet", ("en", "en"), folder / "tokens/00000.parquet")
    return folder / "tokens"


def write_bpe(folder: Path) -> Path:
    bpe.learn_bpe([tokens(folder)], 40, 100, 1, folder / "joint.model")
    return folder / "joint.model"


def write_features(folder: Path) -> Path:
    ngrams.learn([tokens(folder)], {"type": "vocabulary", "vocab": 5}, folder / "features.json", lowercase=True)
    return folder / "features.json"


def write_vectors(folder: Path) -> Path:
    word_vectors.write(
        word_vectors.WordVectors(["bird", "night"], torch.tensor([[0.5, 1.0], [2.0, 0.25]])), folder / "v.vec"
    )
    return folder / "v.vec"


def flips(whole: bytes, count: int = 200) -> list[bytes]:
    """The content with one bit changed, at `count` places drawn by a seed."""
    moments = random.Random(1)
    places = range(len(whole)) if len(whole) <= count else sorted(moments.sample(range(len(whole)), count))
    return [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in places]


def lines_of(path: Path) -> Any:
    return [*read_lines(path)]


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (write_text, lines_of),
        (write_translation, lines_of),
        (write_bpe, lambda path: bpe.load_bpe(path).encode("a bird")),
        (write_features, ngrams.load),
        (write_vectors, lambda path: word_vectors.read(path).vectors.tolist()),
    ],
    ids=["training text", "translation", "BPE", "features", "word vectors"],
)
def test_no_changed_file_is_used(tmp_path, write, read):
    path = write(tmp_path)
    expected, whole = read(path), path.read_bytes()
    for content in (*flips(whole), b"", whole[: len(whole) // 2], whole[:-1], whole + b"\n"):
        path.write_bytes(content)
        with pytest.raises(InputError) as error:
            read(path)
        assert str(error.value).startswith(f"{path}: has changed since it was written")
        assert "; make it again; if you changed it yourself, remove " in str(error.value)
    path.write_bytes(whole)
    assert read(path) == expected


def test_swapped_sides_are_told(tmp_path):
    path = write_text(tmp_path)
    other = path.with_name("train.en")
    other.write_text("a bird sings .\n")
    path.write_text("ein Vogel singt .\n")
    for one in (path, other):
        sums.seal(one)
    shutil.move(path, tmp_path / "x")
    shutil.move(other, path)
    shutil.move(tmp_path / "x", other)
    for one in (path, other):
        with pytest.raises(InputError, match="has changed since it was written"):
            lines_of(one)


def test_a_file_of_the_user_has_no_sum_and_is_read(tmp_path):
    path = write_text(tmp_path)
    path.write_text("changed\n")
    with pytest.raises(InputError, match=r"remove .*/\.train\.de\.xxh128"):
        lines_of(path)
    sums.place(path).unlink()
    assert lines_of(path) == ["changed"]


@pytest.mark.parametrize("path", [".", "..", "/", ""])
def test_what_is_no_file_has_no_sum(path):
    sums.verify(Path(path))


def test_another_output_in_its_place_takes_the_sum_away(tmp_path):
    path = write_translation(tmp_path)
    with atomic(path) as part:
        part.write_text("another\n")
    assert lines_of(path) == ["another"]
    assert [*tmp_path.iterdir()] == [path]


def test_a_process_that_ends_before_its_sum_is_written_does_no_harm(tmp_path):
    path = write_translation(tmp_path)
    path.write_text("another\n")
    sums.place(path).write_bytes(b"")
    assert lines_of(path) == ["another"]


@pytest.mark.parametrize("name", ["x" * 255, "é" * 100, os.fsdecode(b"k\xe4")])
def test_names_of_any_length_and_encoding_have_a_sum(tmp_path, name):
    path = tmp_path / name
    with words.packed(path) as file:
        file.write(b"a\n")
    path.write_text("b\n")
    with pytest.raises(InputError, match="has changed since it was written"):
        lines_of(path)
