"""Exact deduplication of any number of pairs in bounded memory.

The first of equal pairs is kept; pairs are compared by 128 bits of MurmurHash3. Rows are written to a spool of Arrow
batches, and their digests to partitions by their first bits. At the end each partition is sorted by itself, which shows
the first row of each digest. Disk space while it works: the rows, compressed, and 24 bytes a row.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.base import arrays, murmur, names
from bitextbench.corpus.byte_lines import Lines

MEMORY = 512 << 20
SORTING = 64  # bytes of memory a row of a partition that is sorted
FANOUT_BITS = 6  # 64 partitions at a time, a file each

Mask = NDArray[np.bool_]
RECORD = np.dtype([("high", "<u8"), ("low", "<u8"), ("row", "<u8")])
"""A digest, and twice the row of its pair in the spool; plus 1 for a pair that did not pass and is not in the spool."""


def digests(table: pa.Table) -> NDArray[np.uint64]:
    """128 bits [n, 2] for each pair (src, tgt) of byte strings; a null is an empty side."""
    sides = (pc.fill_null(table[side].cast(pa.large_string()), "") for side in ("src", "tgt"))
    pairs = pc.binary_join_element_wise(*sides, pa.scalar("\n", pa.large_string()))
    hashes = [np.empty((0, 2), np.uint64)]
    for lines in (Lines(chunk, "") for chunk in pairs.chunks):
        hashes.append(murmur.digests(lines.words, lines.bounds))
    return np.concatenate(hashes)


def _firsts(high: NDArray[np.uint64], low: NDArray[np.uint64], number: NDArray[np.integer]) -> NDArray[np.integer]:
    """The least number of each distinct digest, in the order of digests."""
    order = np.argsort(high)
    same = np.diff(high[order]) == 0
    if (same & (np.diff(low[order]) != 0)).any():  # different digests with equal first halves
        order = np.lexsort((low, high))
        same = np.diff(high[order]) == 0
    starts = np.flatnonzero(np.concatenate([[True], ~same | (np.diff(low[order]) != 0)])[: len(order)])
    return np.minimum.reduceat(number[order], starts) if len(order) else number


class Deduplicator:
    """`add` takes tables; `tables` then yields the rows that passed, in their order, without later copies.

    `scratch` is a new folder; `memory` is the limit of sorting in bytes (one batch in and one out come on top).
    Once `tables` has begun, `alone` counts the copies among all rows, and `first` those among the rows that passed.
    """

    def __init__(self, scratch: Path, memory: int = MEMORY) -> None:
        scratch.mkdir(parents=True)
        self.scratch, self.memory = scratch, memory
        self.spool: pa.RecordBatchStreamWriter | None = None
        self.spooled = self.alone = self.first = 0
        with ExitStack() as files:
            self.partitions = [files.enter_context((scratch / f"{i:02x}").open("wb")) for i in range(1 << FANOUT_BITS)]
            self.files = files.pop_all()

    def add(self, table: pa.Table, passed: Mask) -> None:
        """Take rows. `passed` [n] must be the same for equal pairs."""
        if not self.spool:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            file = self.files.enter_context((self.scratch / "spool").open("wb"))
            self.spool = self.files.enter_context(pa.ipc.new_stream(file, table.schema, options=options))
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
        """The rows that passed, without later copies."""
        self.files.close()
        keep = arrays.zeros(self.scratch / "keep.npy", (self.spooled,), bool)
        for file in self.partitions:
            self._settle(Path(file.name), FANOUT_BITS, keep)
        if not self.spool:
            return
        start = 0
        with pa.ipc.open_stream(pa.OSFile(names.utf8(self.scratch / "spool"))) as spool:
            for batch in spool:
                yield pa.Table.from_batches([batch]).filter(pa.array(keep[start : start + len(batch)]))
                start += len(batch)

    def _settle(self, partition: Path, bits: int, keep: Mask) -> None:
        """Mark the first rows of a partition; split it where it is too large. Its digests have equal first `bits`."""
        rows = partition.stat().st_size // RECORD.itemsize
        if rows * SORTING > self.memory and bits + FANOUT_BITS < 64:
            paths = [partition.with_name(f"{partition.name}{i:02x}") for i in range(1 << FANOUT_BITS)]
            with ExitStack() as stack, open(partition, "rb") as file:
                parts = [stack.enter_context(open(name, "wb")) for name in paths]
                while len(block := np.fromfile(file, RECORD, self.memory // SORTING + 1)):
                    _deal(block[np.argsort(block["high"], kind="stable")], parts, bits)
            partition.unlink()
            for name in paths:
                self._settle(name, bits + FANOUT_BITS, keep)
            return
        records = np.fromfile(partition, RECORD)
        firsts = _firsts(records["high"], records["low"], records["row"])
        passed = firsts[firsts & np.uint64(1) == 0]
        keep[passed >> np.uint64(1)] = True
        self.alone -= len(firsts)
        self.first -= len(passed)
        partition.unlink()


def _deal(records: NDArray[np.void], files: list, bits: int) -> None:
    """Write records, sorted by digest, to files by the FANOUT_BITS bits of the digest that follow the first `bits`."""
    shift = np.uint64(64 - FANOUT_BITS - bits)
    part = records["high"] >> shift & np.uint64((1 << FANOUT_BITS) - 1)
    cuts = np.searchsorted(part, np.arange(1 + len(files), dtype=np.uint64)).tolist()
    for file, (start, end) in zip(files, itertools.pairwise(cuts), strict=True):
        file.write(records[start:end].tobytes())
