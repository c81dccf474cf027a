"""Mining by blocks: any number of blocks ends in the pairs of one search of the same sentences."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.vectors import Embeddings, read, read_shards
from bitextbench.mining import blocks
from bitextbench.mining.retrieval import mine_pairs
from bitextbench.neighbours import search

SPEC = {"margin": "ratio", "retrieval": "max", "threshold": 0.9}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A corpus of two shards whose rows lack a side, or repeat a sentence; and vectors, zero where a side is lacking."""
    folder, rng = tmp_path_factory.mktemp("web"), np.random.default_rng(1)
    n = 2 * bitext.BLOCK + 90
    src = [None if i % 3 == 0 else f"s {i % 3000}" for i in range(n)]
    tgt = [f"t {i}" if i % 3 == 0 else " \u200b" if i % 3 == 1 else None for i in range(n)]
    table = pa.table(
        {"id": pa.array(range(n), pa.int64()), "src": src, "tgt": tgt, "doc": [None] * n, "label": [None] * n}
    )
    bitext.write_shards(folder / "corpus", [table.cast(bitext.SCHEMA)], 2)
    vectors = rng.standard_normal((2, n, 8)).astype(np.float32)
    for side in (0, 1):
        for shard, path in enumerate(bitext.shard_paths(folder / "corpus")):
            ids = bitext.read_shard(path, ["id"])["id"].to_numpy()
            np.save(folder / f"{shard}.{bitext.SIDES[side]}.npy", vectors[side, ids])
    blocks.write_searched(folder / "corpus", vectors_of(folder), folder / "rows")
    return folder


def vectors_of(folder):
    return tuple(read_shards([folder / f"{shard}.{side}.npy" for shard in (0, 1)]) for side in bitext.SIDES)


def mined(folder: Path, out: Path, shape: tuple[int, int]) -> bytes:
    """By the commands, a process for the last block, and in this process the others."""
    from bitextbench.neighbours import merge

    rows, parts = blocks.searched(folder / "rows"), []
    for i in range(shape[0]):
        for j in range(shape[1]):
            parts.append(out / f"{i}-{j}")
            block = blocks.Block(i, shape[0]), blocks.Block(j, shape[1])
            blocks.search(vectors_of(folder), rows, block, parts[-1], margin="ratio", k=4)
    merge(parts, out / "neighbours")
    blocks.mine(folder / "corpus", rows, out / "neighbours", SPEC, ("de", "en"), out / "web.tsv.gz")
    return (out / "web.tsv.gz").read_bytes()


def test_pairs_do_not_depend_on_the_blocks(folder, tmp_path):
    whole, parts = (mined(folder, tmp_path / name, shape) for name, shape in (("a", (1, 1)), ("b", (3, 2))))
    assert whole == parts
    src, tgt = vectors_of(folder)
    rows = blocks.searched(folder / "rows")
    text = bitext.read_side(folder / "corpus", "src")
    assert len(rows[0]) == len({line for line in text if line}) == 3000 - 1000
    expected, _ = mine_pairs(search(src.select(rows[0]), tgt.select(rows[1]), 4), "ratio", "max", 0.9)
    import gzip

    lines = [line.split("\t") for line in gzip.decompress(whole).decode().splitlines()]
    assert [(int(line[1]), int(line[2])) for line in lines] == [
        (rows[0][i], rows[1][j]) for i, j in zip(expected.src, expected.tgt, strict=True)
    ]
    assert lines[0][3] == text[int(lines[0][1])]


def test_an_approximate_search_by_blocks(folder, tmp_path):
    rows, block = blocks.searched(folder / "rows"), (blocks.Block(1, 2), blocks.Block(0, 1))
    blocks.search(vectors_of(folder), rows, block, tmp_path / "x", margin="ratio", k=4, index="IVF16,Flat:nprobe=16")
    blocks.search(vectors_of(folder), rows, block, tmp_path / "y", margin="ratio", k=4)
    for name in ("forward.ids.npy", "backward.similarities.npy"):
        assert (tmp_path / "x" / name).read_bytes() == (tmp_path / "y" / name).read_bytes()  # all lists are looked at


def test_bad_input(folder, tmp_path):
    rows = blocks.searched(folder / "rows")
    with pytest.raises(InputError, match=r"2,000 sentences do not fill 5,000 blocks; take fewer blocks"):
        blocks.search(
            vectors_of(folder), rows, (blocks.Block(0, 5000), blocks.Block(0, 1)), tmp_path / "x", margin="ratio", k=4
        )
    one = read(folder / "0.src.npy")
    with pytest.raises(InputError, match=r"vectors, but row [\d,]+ is to be searched; encode again"):
        blocks.search((one, one), rows, (blocks.Block(0, 1), blocks.Block(0, 1)), tmp_path / "x", margin="ratio", k=4)
    blocks.search(
        vectors_of(folder), rows, (blocks.Block(0, 2), blocks.Block(0, 1)), tmp_path / "half", margin="ratio", k=4
    )
    with pytest.raises(InputError, match="half: has neighbours of other rows than are searched; search again"):
        blocks.mine(folder / "corpus", rows, tmp_path / "half", SPEC, ("de", "en"), tmp_path / "web.tsv.gz")
    bitext.write_shards(tmp_path / "bare", [bitext.read_shard(bitext.shard_paths(folder / "corpus")[0]).slice(1, 1)], 1)
    with pytest.raises(InputError, match="bare: has no tgt text; both sides need at least one sentence"):
        blocks.write_searched(tmp_path / "bare", (one.part(0, 1), one.part(0, 1)), tmp_path / "r")
    with pytest.raises(InputError, match=r"vectors for .* rows of .*corpus; encode again"):
        blocks.write_searched(folder / "corpus", (one, one), tmp_path / "r")
    with pytest.raises(InputError, match="no block 2 of 2; the first block is 0"):
        blocks.Block(2, 2).rows(10)


def test_the_last_row_to_search_needs_a_vector(tmp_path):
    vectors, whole = Embeddings(np.eye(4, dtype=np.float32)), (blocks.Block(0, 1), blocks.Block(0, 1))
    rows = [np.array([0, 3])] * 2
    blocks.search((vectors, vectors), rows, whole, tmp_path / "x", margin="ratio", k=1)
    few = vectors.part(0, 3)
    for both in ((few, vectors), (vectors, few)):
        with pytest.raises(InputError, match="there are 3 vectors, but row 4 is to be searched; encode again"):
            blocks.search(both, rows, whole, tmp_path / "y", margin="ratio", k=1)


@given(st.integers(1, 50), st.integers(1, 50))
def test_blocks_are_all_rows_in_ranges_of_about_as_many(n, of):
    if of > n:
        with pytest.raises(InputError, match=f"{n} sentences do not fill {of} blocks"):
            [blocks.Block(number, of).rows(n) for number in range(of)]
        return
    ranges = [range(n)[blocks.Block(number, of).rows(n)] for number in range(of)]
    assert [row for part in ranges for row in part] == [*range(n)]
    assert {len(part) for part in ranges} <= {n // of, n // of + 1}


def test_sentences_with_one_vector_are_searched_once(tmp_path, capsys):
    rows = {"id": [0, 1, 2, 3], "src": ["a", "A", "b", "a"], "tgt": ["x", "y", "y ", None]}
    table = pa.table(rows | {"doc": [None] * 4, "label": [None] * 4}).cast(bitext.SCHEMA)
    bitext.write_shards(tmp_path / "corpus", [table], 1)
    src = Embeddings(np.array([[1, 0], [1, 0], [0, 1], [1, 0]], np.float32))
    tgt = Embeddings(np.array([[1, 0], [0, 1], [0, 1], [0, 0]], np.float32))
    blocks.write_searched(tmp_path / "corpus", (src, tgt), tmp_path / "rows")
    assert [side.tolist() for side in blocks.searched(tmp_path / "rows")] == [[0, 2], [0, 1]]
    said = capsys.readouterr().err
    assert "src: 4 rows, 0 empty, 1 duplicate, 1 alike to the encoder, 2 searched" in said
    assert "tgt: 4 rows, 1 empty, 0 duplicate, 1 alike to the encoder, 2 searched" in said


def test_the_commands(folder, tmp_path):
    command = [sys.executable, "-m", "bitextbench", "step", "search-block", "--rows", folder / "rows"]
    command += [f"--{side}-emb={folder / f'{shard}.{side}.npy'}" for side in bitext.SIDES for shard in (0, 1)]
    command += [
        "--src-block",
        "0",
        "2",
        "--tgt-block",
        "1",
        "2",
        "--spec",
        '{"margin": "ratio", "k": 4, "index": null}',
    ]
    subprocess.run([*map(str, command), "--out", str(tmp_path / "0-1")], check=True)
    rows, block = blocks.searched(folder / "rows"), (blocks.Block(0, 2), blocks.Block(1, 2))
    blocks.search(vectors_of(folder), rows, block, tmp_path / "own", margin="ratio", k=4)
    for path in (tmp_path / "own").iterdir():
        assert (tmp_path / "0-1" / path.name).read_bytes() == path.read_bytes()
