"""Shards and ragged ids."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged


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


def test_no_flipped_byte_of_a_page_is_used(tmp_path):
    path = tmp_path / "00000.parquet"
    bitext.write_shards(tmp_path, [rows(40)], 1)
    whole, table = path.read_bytes(), bitext.read_shard(path)
    pages = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")  # the rest is the footer
    readers = {
        "table": lambda: bitext.read_shard(path),
        "batches": lambda: pa.Table.from_batches(bitext.shard_batches(path, bitext.SCHEMA.names, 7)),
        "corpus": lambda: pa.concat_tables(bitext.read_batches(tmp_path)),
    }
    refused = dict.fromkeys(readers, 0)
    for place in range(4, pages, 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        for name, reader in readers.items():
            try:  # a byte of a page's statistics, say, changes nothing
                assert reader().equals(table), place
            except InputError as error:
                refused[name] += str(error).startswith(f"{path}: cannot be read as Parquet (")
    assert min(refused.values()) > 0.5 * len(range(4, pages, 5)), refused


def test_columns_of_another_type(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "src": ["b"]}), tmp_path / "00000.parquet")
    with pytest.raises(InputError, match=r"00000\.parquet: column id is string; needed: int64"):
        bitext.read_shard(tmp_path / "00000.parquet", ["id", "src"])


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


@pytest.mark.parametrize(
    ("name", "array", "what"),
    [
        ("offsets", np.array([0, 2, 1, 3]), "do not belong together"),
        ("offsets", np.array([0, 2, 2, 4]), "do not belong together"),
        ("offsets", np.array([1, 2, 3, 3]), "do not belong together"),
        ("offsets", np.empty(0, np.int64), "do not belong together"),
        ("offsets", np.array([0.0, 3.0]), r"holds float64 \[2\], not int64 \[sentences \+ 1\]"),
        ("ids", np.array([1, 2, 3]), r"holds int64 \[3\], not int32 \[tokens\]"),
    ],
)
def test_ragged_files_that_are_wrong(tmp_path, name, array, what):
    Ragged.of([[1, 2], [], [3]]).save(tmp_path / "a")
    np.save(tmp_path / f"a.{name}.npy", array)
    with pytest.raises(InputError, match=rf"a\.{name}\.npy: .*{what}.*; run the text step again"):
        Ragged.load(tmp_path / "a")


def test_truncated_ragged_files(tmp_path):
    Ragged.of([[1, 2], [], [3]]).save(tmp_path / "a")
    for path in (tmp_path / "a.ids.npy", tmp_path / "a.offsets.npy"):
        whole = path.read_bytes()
        for size in (0, 60, 130, len(whole) - 1):
            path.write_bytes(whole[:size])
            with pytest.raises(InputError, match=rf"{path.name}: cannot be read as .npy .*; run the text step again"):
                Ragged.load(tmp_path / "a")
        path.write_bytes(whole)


@pytest.mark.parametrize("wrong", [-1, 7])
def test_ids_outside_a_vocabulary(tmp_path, wrong):
    Ragged.of([[1, 2], [wrong]]).save(tmp_path / "a")
    with pytest.raises(InputError, match=rf"a\.ids\.npy: holds id {wrong}, but ids go from 0 to 6; the other BPE"):
        Ragged.load(tmp_path / "a").check(7, "the other BPE")
