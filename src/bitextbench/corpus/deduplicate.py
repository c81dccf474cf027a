"""Exact deduplication of any number of pairs in bounded memory.

Of equal pairs the first stays; they are compared by 128 bits of XXH3. What comes in is written down: the rows to a spool of
Arrow batches, their digests to partitions by their first bits. When all is in, each partition is sorted by itself, which
says which rows of the spool are first of their kind. Disk, while it works: the rows, compressed, and 24 bytes a row.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from bitextbench.base import arrays

MEMORY = 512 << 20
SORTING = 64  # bytes of memory a row of a partition that is sorted
FANOUT_BITS = 6  # partitions are 64 at a time, a file each

Mask = NDArray[np.bool_]
RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<u8")])
"""A digest, and where its pair stands in the spool, times 2; plus 1 for a pair that is not there because it did not pass."""


def digests(table: pa.Table) -> NDArray[np.uint64]:
    """128 bits [n, 2] of each pair (src, tgt), byte for byte; a null is an empty side."""
    sides = (pc.fill_null(table[side].cast(pa.large_string()), "") for side in ("src", "tgt"))
    pairs = pc.binary_join_element_wise(*sides, pa.scalar("\n", pa.large_string())).combine_chunks()
    ends = np.frombuffer(pairs.buffers()[1], np.int64)[pairs.offset : pairs.offset + len(pairs) + 1].tolist()
    text = memoryview(pairs.buffers()[2] or b"")
    found = b"".join([xxhash.xxh3_128_digest(text[start:end]) for start, end in itertools.pairwise(ends)])
    return np.frombuffer(found, "<u8").reshape(-1, 2)


def _firsts(high: NDArray[np.uint64], low: NDArray[np.uint64], number: NDArray[np.integer]) -> NDArray[np.integer]:
    """The least number of each distinct digest, in the order of digests."""
    order = np.argsort(high)
    same = np.diff(high[order]) == 0
    if (same & (np.diff(low[order]) != 0)).any():  # half of a digest met by chance
        order = np.lexsort((low, high))
        same = np.diff(high[order]) == 0
    starts = np.flatnonzero(np.concatenate([[True], ~same | (np.diff(low[order]) != 0)])[: len(order)])
    return np.minimum.reduceat(number[order], starts) if len(order) else number


class Deduplicator:
    """Takes tables in by `add`; `tables` then gives back the rows that passed, without later copies, in their order.

    `scratch` is a new folder; `memory` bounds, in bytes, what sorting takes (a batch, in and out, comes on top).
    When `tables` has begun, `alone` is the number of copies among all rows, `first` of those among the rows that passed.
    """

    def __init__(self, scratch: Path, memory: int = MEMORY) -> None:
        scratch.mkdir(parents=True)
        self.scratch, self.memory = scratch, memory
        self.spool: pa.RecordBatchStreamWriter | None = None
        self.spooled = self.alone = self.first = 0
        self.files = ExitStack()
        self.partitions = [self.files.enter_context((scratch / f"{i:02x}").open("wb")) for i in range(1 << FANOUT_BITS)]

    def add(self, table: pa.Table, passed: Mask) -> None:
        """Take rows in. `passed` [n] depends on their text alone: equal pairs pass together."""
        if not self.spool:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self.spool = self.files.enter_context(
                pa.ipc.new_stream(self.scratch / "spool", table.schema, options=options)
            )
        digest = digests(table)
        rows = _firsts(digest[:, 0], digest[:, 1], np.arange(len(table)))
        kept = np.zeros(len(table), bool)
        kept[rows] = passed[rows]
        place = self.spooled + np.cumsum(kept) - 1
        records = np.empty(len(rows), RECORD)
        records["high"], records["low"] = digest[rows].T
        records["row"] = np.where(kept, 2 * place, 1)[rows]
        _deal(records, self.partitions, 0)
        self.spool.write_table(table.filter(pa.array(kept)))
        self.spooled += int(kept.sum())
        self.alone += len(table)  # less the distinct ones, in `tables`
        self.first += int(passed.sum())

    def tables(self) -> Iterator[pa.Table]:
        self.files.close()
        keep = arrays.zeros(self.scratch / "keep.npy", (self.spooled,), bool)
        for file in self.partitions:
            self._settle(Path(file.name), FANOUT_BITS, keep)
        if not self.spool:
            return
        start = 0
        with pa.ipc.open_stream(pa.OSFile(str(self.scratch / "spool"))) as spool:
            for batch in spool:
                yield pa.Table.from_batches([batch]).filter(pa.array(keep[start : start + len(batch)]))
                start += len(batch)

    def _settle(self, partition: Path, bits: int, keep: Mask) -> None:
        """Mark the first rows of a partition, whose digests agree in their first `bits`; split it where it is too large."""
        rows = partition.stat().st_size // RECORD.itemsize
        if rows * SORTING > self.memory and bits + FANOUT_BITS < 64:
            names = [partition.with_name(f"{partition.name}{i:02x}") for i in range(1 << FANOUT_BITS)]
            with ExitStack() as stack, open(partition, "rb") as file:
                parts = [stack.enter_context(open(name, "wb")) for name in names]
                while len(block := np.fromfile(file, RECORD, self.memory // SORTING + 1)):
                    _deal(block[np.argsort(block["high"], kind="stable")], parts, bits)
            partition.unlink()
            for name in names:
                self._settle(name, bits + FANOUT_BITS, keep)
            return
        found = np.fromfile(partition, RECORD)
        firsts = _firsts(found["high"], found["low"], found["row"])
        passed = firsts[firsts & np.uint64(1) == 0]
        keep[passed >> np.uint64(1)] = True
        self.alone -= len(firsts)
        self.first -= len(passed)
        partition.unlink()


def _deal(records: NDArray[np.void], files: list, bits: int) -> None:
    """Write records, which are sorted by digest, each to the file of its digest's next bits behind the first `bits`."""
    shift = np.uint64(64 - FANOUT_BITS - bits)
    part = records["high"] >> shift & np.uint64((1 << FANOUT_BITS) - 1)
    cuts = np.searchsorted(part, np.arange(1 + len(files), dtype=np.uint64)).tolist()
    for file, (start, end) in zip(files, itertools.pairwise(cuts), strict=True):
        file.write(records[start:end].tobytes())
