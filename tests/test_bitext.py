"""Shards and ragged ids."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench import bitext
from bitextbench.errors import InputError
from bitextbench.ragged import Ragged


def rows(n: int) -> pa.Table:
    return pa.table(
        {"src": [f"s{i}" for i in range(n)], "tgt": [f"t{i}" for i in range(n)], "doc": [""] * n, "label": [""] * n}
    )


@pytest.mark.parametrize("n", [0, 1, 6, 7, 8, 50])
@pytest.mark.parametrize("shards", [1, 3])
def test_rows_keep_their_number_for_any_sharding(tmp_path, monkeypatch, n, shards):
    monkeypatch.setattr(bitext, "BLOCK", 7)
    table = rows(n)
    assert bitext.write_shards(tmp_path, [table.slice(0, 11), table.slice(11)], shards) == n
    assert len(bitext.shard_paths(tmp_path)) == shards
    back = pa.concat_tables(bitext.read_batches(tmp_path)) if n else bitext.read_shard(tmp_path / "00000.parquet")
    assert back["id"].to_pylist() == list(range(n))
    assert back["tgt"].to_pylist() == table["tgt"].to_pylist()


def test_a_missing_shard_in_the_middle_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(bitext, "BLOCK", 2)
    bitext.write_shards(tmp_path, [rows(9)], 3)
    (tmp_path / "00001.parquet").unlink()
    with pytest.raises(InputError, match=r"shard 00001.parquet is missing"):
        bitext.shard_paths(tmp_path)


def test_damaged_shards(tmp_path):
    (tmp_path / "00000.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        bitext.read_shard(tmp_path / "00000.parquet")


SENTENCES = st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=8)


@given(SENTENCES, st.data())
def test_ragged_takes_like_a_list(sentences, data):
    ragged = Ragged.of(sentences)
    assert [ragged[i].tolist() for i in range(len(ragged))] == sentences
    if sentences:
        picks = data.draw(st.lists(st.integers(0, len(sentences) - 1), max_size=6))
        taken = ragged.take(np.array(picks, int))
        assert [taken[i].tolist() for i in range(len(taken))] == [sentences[i] for i in picks]


@given(SENTENCES, SENTENCES)
def test_ragged_concatenates(first, second):
    both = Ragged.concatenate([Ragged.of(first), Ragged.of(second)])
    assert [both[i].tolist() for i in range(len(both))] == first + second


def test_ragged_files_must_fit_together(tmp_path):
    Ragged.of([[1, 2], [], [3]]).save(tmp_path / "a")
    assert Ragged.load(tmp_path / "a")[2].tolist() == [3]
    Ragged.of([[1]]).save(tmp_path / "b")
    (tmp_path / "b.offsets.npy").rename(tmp_path / "a.offsets.npy")
    with pytest.raises(InputError, match="do not belong together"):
        Ragged.load(tmp_path / "a")
