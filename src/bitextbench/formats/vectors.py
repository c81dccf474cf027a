"""Sentence vectors of any encoder: `.npy` files, one for each side or each shard, read a block at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats import bitext

BLOCK = 1 << 22  # elements to read at a time: 32 MiB in float64
SAMPLE = 1 << 14  # targets


@dataclass(frozen=True)
class Embeddings:
    """Vectors [n, d] of any float type, read as float32; usually memory-mapped.

    `rows` int64 selects rows, in that order (None: all of them); `name` is the file, for messages; `last`, float32
    [rows of the array], is one dimension more.
    """

    array: "NDArray[np.floating] | Stacked"
    name: str = "vectors"
    rows: NDArray[np.int64] | None = None
    last: NDArray[np.float32] | None = None

    def __len__(self) -> int:
        return len(self.array) if self.rows is None else len(self.rows)

    @property
    def dimension(self) -> int:
        return self.array.shape[1] + (self.last is not None)

    def block(self, start: int, stop: int) -> NDArray[np.float32]:
        """Rows `start` to `stop`, float32 [stop - start, d], C-contiguous."""
        rows = slice(start, stop) if self.rows is None else self.rows[start:stop]
        return self._read(rows)

    def take(self, rows: NDArray[np.integer]) -> NDArray[np.float32]:
        """Rows by number, float32 [len(rows), d]."""
        return self._read(rows if self.rows is None else self.rows[rows])

    def at(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """An array float32, C-contiguous, and the places in it where these rows are: without a copy where that can be."""
        array = self.array
        if (
            isinstance(array, np.ndarray)
            and array.dtype == np.float32
            and array.flags.c_contiguous
            and self.last is None
        ):
            return array, rows if self.rows is None else self.rows[rows]
        distinct, places = np.unique(rows, return_inverse=True)
        return self.take(distinct), places

    def _read(self, rows: Any) -> NDArray[np.float32]:
        vectors = _float32(self.array[rows])
        return vectors if self.last is None else np.column_stack([vectors, self.last[rows]])

    def select(self, rows: NDArray[np.int64]) -> "Embeddings":
        """Some of the rows; nothing is copied."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def part(self, start: int, stop: int) -> "Embeddings":
        """Rows `start` to `stop`; nothing is copied."""
        if self.rows is None:
            last = None if self.last is None else self.last[start:stop]
            return replace(self, array=self.array[start:stop], last=last)
        return replace(self, rows=self.rows[start:stop])

    def norms(self) -> NDArray[np.float64]:
        """Euclidean lengths [n]. Raises InputError, with the row, for a vector that is not finite as float32."""
        out = np.empty(len(self))
        step = max(1, BLOCK // max(1, self.dimension))
        for start in range(0, len(self), step):
            rows = self.block(start, start + step).astype(np.float64)
            out[start : start + step] = np.sqrt(np.vecdot(rows, rows))
        if len(bad := np.flatnonzero(~np.isfinite(out))):
            row = int(bad[0]) if self.rows is None else int(self.rows[bad[0]])
            raise InputError(
                f"vector is not finite ({len(bad):,} such)",
                self.name,
                line=row + 1,
                remedy="encode this sentence again",
            )
        return out


class Stacked:
    """Arrays [n, d] as one, indexed by a slice or by row numbers; only the rows that are read are copied."""

    def __init__(self, parts: Sequence[NDArray[np.floating]]) -> None:
        self.parts = parts
        self.starts = np.cumsum([0, *map(len, parts)])
        self.shape = (int(self.starts[-1]), parts[0].shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> NDArray[np.floating]:
        rows = np.arange(*index.indices(len(self))) if isinstance(index, slice) else np.asarray(index)
        out = np.empty((len(rows), self.shape[1]), np.result_type(*(part.dtype for part in self.parts)))
        part_of = np.searchsorted(self.starts, rows, side="right") - 1
        for part in np.unique(part_of):
            here = part_of == part
            out[here] = self.parts[part][rows[here] - self.starts[part]]
        return out


def by_probability(
    src: Embeddings, tgt: Embeddings, metric: str, log_sums: Callable[..., NDArray] | None = None
) -> tuple[Embeddings, Embeddings]:
    """Vectors for the search of the best source of a target, for the dot product phi: their products are log P(y | x).

    A dual encoder that is trained by eq. 1 of guo2018 ranks the targets y of a source x by phi. There P(y | x) is exp
    phi(x, y) / sum over y' of exp phi(x, y'). A constant that a source adds to all of its phi changes no P, but it
    would change the rank of sources. So a source has minus the log of its sum in one dimension more, a target 1. The
    rank of the targets of a source stays the same.

    The sum is over SAMPLE targets at most, evenly spaced. With other metrics the vectors stay as they are. `log_sums`
    computes log sum exp of the products of two blocks, float32 [rows]; if None, numpy does in float64.
    """
    if metric != "dot":
        return src, tgt
    some = tgt.take(np.arange(0, len(tgt), -(-len(tgt) // SAMPLE))).T
    sums = np.empty(len(src), np.float32)
    step = max(1, BLOCK // some.shape[1])
    for start in range(0, len(src), step):
        sums[start : start + step] = (log_sums or _log_sums)(src.block(start, start + step), some)
    return _longer(src, -sums), _longer(tgt, np.ones(len(tgt), np.float32))


def _log_sums(block: NDArray[np.float32], some: NDArray[np.float32]) -> NDArray[np.float64]:
    phi = (block @ some).astype(np.float64)
    most = phi.max(axis=1)
    return most + np.log(np.exp(phi - most[:, None]).sum(axis=1))


def _longer(side: Embeddings, values: NDArray[np.float32]) -> Embeddings:
    """The vectors with one more dimension, `values` [n]."""
    last = values if side.rows is None else np.zeros(len(side.array), np.float32)
    if side.rows is not None:
        last[side.rows] = values
    return replace(side, last=last)


def _float32(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # an overflow gives infinity, which `norms` reports
        return np.require(np.asarray(rows), np.float32, ["C", "W"])


def read(path: str | Path) -> Embeddings:
    """Memory-map a `.npy` file of vectors [n, d], float16, float32 or float64, in C or Fortran order.

    Raises InputError for a damaged file, another type than floats, another shape than two dimensions, and no columns.
    """
    array = arrays.load(path, "save a float32 array [n, d] with numpy.save")
    if array.dtype.kind != "f":
        raise InputError(f"holds {array.dtype}, not floats", path, remedy="save a float32 array [n, d] with numpy.save")
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(f"has the shape {array.shape}", path, remedy="vectors are [sentences, dimensions]")
    if array.dtype != np.float32 or not array.flags.c_contiguous:
        order = "" if array.flags.c_contiguous else ", not in C order"
        log(f"{path}: {array.dtype}{order}; read as float32, a block at a time")
    return Embeddings(array, str(path))


def read_shards(paths: Sequence[str | Path]) -> Embeddings:
    """Memory-map the vectors of all shards of a corpus, given in order; row i is the vector of id i (see `bitext`).

    Raises InputError as `read` does, for dimensions that differ, and for shards that are not of one corpus.
    """
    if len(paths) == 1:
        return read(paths[0])
    whole, name = stacked(paths)
    return Embeddings(whole, name, rows_of_shards(np.diff(whole.starts).tolist(), name))


def stacked(paths: Sequence[str | Path]) -> tuple[Stacked, str]:
    """The memory-mapped vectors of shards as one array, in the order of the shards; the first file, for messages.

    Raises InputError as `read` does, and for dimensions that differ.
    """
    parts = [read(path) for path in paths]
    for part in parts[1:]:
        check_dimensions(parts[0], part)
    return Stacked([part.array for part in parts]), parts[0].name  # type: ignore[misc]


def rows_of_shards(sizes: Sequence[int], where: str) -> NDArray[np.int64]:
    """`bitext.order_of_ids`, checked. Raises InputError for `sizes` that are not those of the shards of one corpus.

    `where` is the file that the message names.
    """
    dealt = np.bincount(np.arange(sum(sizes)) // bitext.BLOCK % len(sizes), minlength=len(sizes))
    if dealt.tolist() != [*sizes]:
        raise InputError(
            f"the shards have {', '.join(map(str, sizes))} rows",
            where,
            remedy="give all shards of one corpus, in their order",
        )
    return bitext.order_of_ids(sizes)


def read_pair(src: str | Path, tgt: str | Path) -> tuple[Embeddings, Embeddings]:
    """The vectors of both sides. Raises InputError when their dimensions differ, or one side is empty."""
    sides = read(src), read(tgt)
    check_pair(*sides)
    return sides


def read_both(src: Sequence[str | Path], tgt: Sequence[str | Path]) -> tuple[Embeddings, Embeddings]:
    """`read_shards` of the sources and of the targets."""
    return read_shards(src), read_shards(tgt)


def read_aligned(src: Sequence[str | Path], tgt: Sequence[str | Path]) -> tuple[Embeddings, Embeddings]:
    """`read_both`; row i of both is a pair. Raises InputError, too, when the sides differ in number or dimension, or one is
    empty.
    """
    sides = read_both(src, tgt)
    check_aligned(*sides)
    return sides


def load_pair(src: str | Path, tgt: str | Path) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Memory-map the vectors of pairs: two arrays, float32 [n, d].

    Raises InputError for another type or shape, shapes that differ between the sides, and a value that is not finite.
    """
    a, b = (arrays.load(path, "encode again", np.float32, ["sentences", "dimensions"]) for path in (src, tgt))
    if a.shape != b.shape:
        raise InputError(
            f"shape {a.shape}, but {tgt} has {b.shape}", src, remedy="encode both sides of one corpus with one model"
        )
    for path, array in ((src, a), (tgt, b)):
        if len(bad := np.flatnonzero(~np.isfinite(array).all(axis=1))):
            raise InputError("vector is not finite", path, line=int(bad[0]) + 1, remedy="encode again")
    return a, b


class Distinct(NamedTuple):
    """Vectors of which equal ones stand once: `vectors` [m] are those of the rows `first` int64 [m], ascending;
    `which` int64 [n] is the place among them of each row's.
    """

    vectors: Embeddings
    first: NDArray[np.int64]
    which: NDArray[np.int64]


def distinct(vectors: Embeddings) -> Distinct:
    """Equal vectors once, by their first copies.

    Sentences that look the same to an encoder have equal vectors, be they equal or different in blanks or letter case:
    so artetxe2019's "excluding duplicates" needs no text. Memory: a block of rows and 72 bytes a row.
    """
    digests = np.empty((len(vectors), 2), np.uint64)
    step = max(1, BLOCK // max(1, vectors.dimension))
    for start in range(0, len(vectors), step):
        rows = vectors.block(start, start + step) + np.float32(0)  # -0.0 becomes 0.0
        held = b"".join(map(xxhash.xxh3_128_digest, rows))
        digests[start : start + step] = np.frombuffer(held, np.uint64).reshape(-1, 2)
    order = np.lexsort(digests.T)  # stable: the first copy comes first
    begins = np.append(True, (digests[order[1:]] != digests[order[:-1]]).any(axis=1))[: len(order)]
    first = order[begins]
    places = np.argsort(np.argsort(first))
    which = np.empty(len(order), np.int64)
    which[order] = places[np.cumsum(begins) - 1]
    first = np.sort(first)
    return Distinct(vectors.select(first), first, which)


def check_pair(src: Embeddings, tgt: Embeddings) -> None:
    """Raises InputError when the dimensions of the sides differ, or one side is empty."""
    for side in (src, tgt):
        if not len(side):
            raise InputError("has no vectors", side.name, remedy="both sides need at least one sentence")
    check_dimensions(src, tgt)


def check_dimensions(src: Embeddings, tgt: Embeddings) -> None:
    """Raises InputError when the dimensions of two arrays differ."""
    if src.dimension != tgt.dimension:
        raise InputError(
            f"{src.dimension} dimensions, but {tgt.name} has {tgt.dimension}",
            src.name,
            remedy="encode both sides with one model",
        )


def check_aligned(src: Embeddings, tgt: Embeddings) -> None:
    """Raises InputError when the sides differ in number or dimension, or one side is empty."""
    check_pair(src, tgt)
    if len(src) != len(tgt):
        raise InputError(
            f"{len(src):,} vectors, but {tgt.name} has {len(tgt):,}",
            src.name,
            remedy="row i of both sides belong together",
        )
