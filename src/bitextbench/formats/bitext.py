"""Bitext on disk: a folder of Parquet shards, `00000.parquet` and on, and the counts of what went in and out.

| column | type | meaning |
|---|---|---|
| id | int64 | number of the pair in the corpus, the same for any number of shards |
| src, tgt | string | the two sides; null where the corpus has one language only |
| doc | string | the document, "" where unknown |
| label | string | what the pair is known to be ("parallel", or a kind of noise), "" where unknown |

Each page has a CRC-32, which is verified when it is read.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing

SCHEMA = pa.schema(
    [("id", pa.int64()), ("src", pa.string()), ("tgt", pa.string()), ("doc", pa.string()), ("label", pa.string())]
)
SIDES = ("src", "tgt")
PARALLEL = "parallel"  # the label of good pairs
WRITING: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
BLOCK = 5_000  # rows of a batch, of a row group, and dealt to one shard


def shard_name(index: int) -> str:
    return f"{index:05d}"


def write_shards(folder: str | Path, batches: Iterable[pa.Table], shards: int) -> int:
    """Number the rows (columns as SCHEMA, without id) and deal them out in blocks: block b goes to shard b modulo `shards`.

    A row's id is its place in the input, whatever the number of shards. Memory: one batch. Returns the row count.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        writers = [
            stack.enter_context(pq.ParquetWriter(folder / f"{shard_name(i)}.parquet", SCHEMA, **WRITING))
            for i in range(shards)
        ]
        first = 0
        for index, block in enumerate(_blocks(batches)):
            ids = pa.array(range(first, first + len(block)), pa.int64())
            writers[index % shards].write_table(block.add_column(0, "id", ids).cast(SCHEMA), row_group_size=BLOCK)
            first += len(block)
    return first


def _blocks(batches: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of BLOCK rows (the last may be shorter)."""
    held: list[pa.Table] = []
    size = 0
    for batch in batches:
        held.append(batch.select(SCHEMA.names[1:]).cast(pa.schema(list(SCHEMA)[1:])))
        size += len(batch)
        if size >= BLOCK:
            table = pa.concat_tables(held).combine_chunks()
            whole = size - size % BLOCK
            yield from (table.slice(start, BLOCK) for start in range(0, whole, BLOCK))
            held, size = [table.slice(whole)], size - whole
    if size:
        yield pa.concat_tables(held).combine_chunks()


def order_of_ids(sizes: Sequence[int]) -> NDArray[np.int64]:
    """For each row of a corpus, in the order of ids, its place in its shards laid end to end, which have `sizes` rows.

    Whatever depends on the order of rows (ties, draws, training) takes them in this one, which no number of shards changes.
    """
    starts = np.cumsum([0, *sizes]).tolist()
    blocks = (
        np.arange(start + low, min(start + low + BLOCK, end))
        for low in range(0, max(sizes, default=0), BLOCK)
        for start, end in pairwise(starts)
    )
    return np.concatenate([np.empty(0, np.int64), *blocks])


def shard_paths(folder: str | Path) -> list[Path]:
    """The Parquet files of a corpus, in order. Raises InputError when there are none or one in the middle is missing."""
    paths = sorted(existing(folder).glob("[0-9]*.parquet"))
    for index, path in enumerate(paths):
        if path.stem != shard_name(index):
            raise InputError(f"shard {shard_name(index)}.parquet is missing", folder, remedy="make the corpus again")
    if not paths:
        raise InputError("no Parquet shards here", folder, remedy="run the corpus step first")
    return paths


def read_shard(path: str | Path, columns: list[str] | None = None) -> pa.Table:
    """One shard as a table. Raises InputError for a damaged file or wrong columns."""
    with reading(path), _opened(path) as file:
        _check_columns(path, file.schema_arrow, columns or SCHEMA.names)
        table = file.read(columns)
        _check_rows(len(table), file.metadata.num_rows)
    return table


def shard_batches(path: str | Path, columns: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """A shard, `rows` at a time (the last may be fewer). Raises InputError for a damaged file or wrong columns."""
    with reading(path), _opened(path) as file:
        _check_columns(path, file.schema_arrow, columns)
        read = 0
        for batch in file.iter_batches(rows, columns=columns):
            read += len(batch)
            yield batch
        _check_rows(read, file.metadata.num_rows)


@contextlib.contextmanager
def reading(path: str | Path, remedy: str = "make the corpus again") -> Iterator[None]:
    """Raises InputError for what pyarrow raises when it reads a damaged file."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = f"cannot be read as Parquet ({' '.join(str(error).split())})"
        raise InputError(what, path, remedy=remedy) from None


def _opened(path: str | Path) -> pq.ParquetFile:
    """A Parquet file to read in parts; without `pre_buffer`, which keeps all that was read in memory."""
    file = pq.ParquetFile(existing(path), pre_buffer=False, page_checksum_verification=True)
    found = file.metadata
    _check_rows(sum(found.row_group(i).num_rows for i in range(found.num_row_groups)), found.num_rows)
    return file


def _check_rows(read: int, expected: int) -> None:
    """Some damage makes pyarrow stop early."""
    if read != expected:
        raise pa.ArrowInvalid(f"{read:,} of {expected:,} rows")


def _check_columns(path: str | Path, found: pa.Schema, wanted: list[str]) -> None:
    if missing := set(wanted) - set(found.names):
        raise InputError(f"no column {', '.join(sorted(missing))}", path, remedy=f"needed: {', '.join(wanted)}")
    for field in map(SCHEMA.field, wanted):
        if (kind := found.field(field.name).type) != field.type:
            raise InputError(f"column {field.name} is {kind}", path, remedy=f"needed: {field.type}")


def read_side(folder: str | Path, side: str) -> list[str]:
    """One side (a column) of a corpus, raw or tokenised, in the order of ids."""
    return [line for table in read_batches(folder, [side]) for line in table[side].to_pylist()]


def read_batches(folder: str | Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """All rows of a corpus, a block at a time, in the order of ids."""
    return batches_by_id(shard_paths(folder), columns or SCHEMA.names)


def batches_by_id(shards: Iterable[Path], columns: list[str]) -> Iterator[pa.Table]:
    """All rows of the shards of a corpus: the first block of every shard, the second, and so on."""
    for blocks in zip_longest(*(shard_batches(path, columns, BLOCK) for path in shards)):
        yield from (pa.Table.from_batches([block]) for block in blocks if block is not None)
