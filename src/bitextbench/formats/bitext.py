"""Bitext on disk: a folder of Parquet shards, `00000.parquet` and on, and the counts of what went in and out.

| column | type | meaning |
|---|---|---|
| id | int64 | number of the pair in the corpus, the same for any number of shards |
| src, tgt | string | the two sides; null where the corpus has one language only |
| doc | string | the document, "" where unknown |
| label | string | the class of the pair ("parallel", or a kind of noise), "" where unknown |

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

from bitextbench.base import names
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


@contextlib.contextmanager
def writer(path: str | Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Writes tables to a Parquet file."""
    with open(path, "wb") as file, pq.ParquetWriter(file, schema, **WRITING) as written:
        yield written


def write_shards(folder: str | Path, batches: Iterable[pa.Table], shards: int) -> int:
    """Write rows (columns as SCHEMA, without id) to `shards` files: block b, of BLOCK rows, to shard b modulo `shards`.

    The id of a row is its place in the input, whatever the number of shards. Memory: one batch. Returns the row count.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(writer(folder / f"{shard_name(i)}.parquet", SCHEMA)) for i in range(shards)]
        first = 0
        texts = (batch.select(SCHEMA.names[1:]).cast(pa.schema(list(SCHEMA)[1:])) for batch in batches)
        for index, block in enumerate(of_rows(texts, BLOCK)):
            ids = pa.array(np.arange(first, first + len(block)))
            whole = block.combine_chunks().add_column(0, SCHEMA.field("id"), ids)
            writers[index % shards].write_table(whole, row_group_size=BLOCK)
            first += len(block)
    return first


def order_of_ids(sizes: Sequence[int]) -> NDArray[np.int64]:
    """The place of each row in the concatenated shards, in the order of ids, int64 [rows]; `sizes`: rows a shard.

    Ties, draws and training take rows in the order of ids, so that the number of shards changes no result.
    """
    starts = np.cumsum([0, *sizes]).tolist()
    blocks = (
        np.arange(start + low, min(start + low + BLOCK, end))
        for low in range(0, max(sizes, default=0), BLOCK)
        for start, end in pairwise(starts)
    )
    return np.concatenate([np.empty(0, np.int64), *blocks])


def shard_paths(folder: str | Path) -> list[Path]:
    """The Parquet files of a corpus, in order. Raises InputError for none, and for one missing in the middle."""
    paths = sorted(existing(folder).glob("[0-9]*.parquet"))
    for index, path in enumerate(paths):
        if path.stem != shard_name(index):
            raise InputError(f"shard {shard_name(index)}.parquet is missing", folder, remedy="make the corpus again")
    if not paths:
        raise InputError(
            "is a folder without Parquet files",
            folder,
            remedy="name a text; or, for a corpus, run the corpus step first",
        )
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
    """Turns what pyarrow raises for a damaged file into an InputError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        what = f"cannot be read as Parquet ({' '.join(str(error).split())})"
        raise InputError(what, path, remedy=remedy) from None


def _opened(path: str | Path) -> pq.ParquetFile:
    """A Parquet file to read in parts. `pre_buffer` is off: it would keep in memory all that was read."""
    file = pq.ParquetFile(names.utf8(existing(path)), pre_buffer=False, page_checksum_verification=True)
    metadata = file.metadata
    _check_rows(sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)), metadata.num_rows)
    return file


def _check_rows(read: int, expected: int) -> None:
    """Raises ArrowInvalid for too few rows: pyarrow stops early at some kinds of damage."""
    if read != expected:
        raise pa.ArrowInvalid(f"{read:,} of {expected:,} rows")


def _check_columns(path: str | Path, schema: pa.Schema, columns: list[str]) -> None:
    if missing := set(columns) - set(schema.names):
        raise InputError(f"no column {', '.join(sorted(missing))}", path, remedy=f"needed: {', '.join(columns)}")
    for field in map(SCHEMA.field, columns):
        if (kind := schema.field(field.name).type) != field.type:
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


def of_rows(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of `rows` each; the last may be shorter."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        while sum(map(len, held)) >= rows:
            whole = pa.concat_tables(held)
            yield whole.slice(0, rows)
            held = [whole.slice(rows)]
    if sum(map(len, held)):
        yield pa.concat_tables(held)
