"""Exact nearest neighbours in both directions, from one pass over blocks of the similarity matrix.

One matrix product serves both directions: of every tile, the best of its rows and the best of its columns are kept. The
search runs in whatever precision is fast; what it finds is then scored again and proven complete:

1. *Search.* A fast product (fp32, or bf16 where the processor has it) keeps the best K = k + slack of each row and column.
2. *Score.* The similarity of a pair is computed from its two float32 vectors alone, in float64, and rounded to float32: it does
   not depend on blocks, threads, shards or backend. Lists are ordered by (-similarity, id).
3. *Prove.* A bound on the error of the fast product says how similar what was dropped can be at most. A row whose k-th
   similarity is not above that bound (ties, near-duplicates) is searched again, exhaustively.

So every backend, block size, number of threads and sharding gives the same bytes.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.device import number_format, setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic, existing, read_json
from bitextbench.base.progress import log, progress
from bitextbench.formats.vectors import Embeddings, check_pair

METRICS = ("cosine", "dot", "euclidean")
BACKENDS = ("torch", "faiss")
MEMORY = 1 << 30
LEAST_MEMORY = 1 << 26
GROUP = 32  # elements of a row or column of a tile, of which the greatest is looked at first
TILE = {"cpu": 2048, "cuda": 8192}  # rows and columns
SUPER = 16_384  # rows of which the lists are scored, or the vectors hashed, at a time; the smallest panel
CHUNK = 1 << 20  # elements that are scored at a time by one thread: 8 MiB in float64
SLACK = {torch.float32: 4, torch.bfloat16: 12}
ROUNDING = {torch.float32: 0.0, torch.bfloat16: 2.0**-8}  # of the product itself, relative
UNIT = 2.0**-24  # half a unit in the last place of float32


@dataclass(frozen=True)
class Neighbours:
    """`ids` int64 [n, k] and `similarities` float32 [n, k] of each row's neighbours, by (-similarity, id)."""

    ids: NDArray[np.int64]
    similarities: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)


class Both(NamedTuple):
    """Targets of each source, and sources of each target."""

    forward: Neighbours
    backward: Neighbours


class Metric(NamedTuple):
    """A similarity as the search sees it: a `key` that grows with it, x.y less a number for each side.

    `exact`: vectors float64 [m, d] of both sides and their lengths [m] -> similarities float64 [m].
    `similarity` and `key` turn one into the other.
    """

    scaled: bool  # vectors are divided by their lengths
    halved: bool  # half the squared lengths are subtracted
    exact: Callable[..., NDArray[np.float64]]
    similarity: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda key: key
    key: Callable[[NDArray[np.float64]], NDArray[np.float64]] = lambda similarity: similarity


def _cosine(a: NDArray[np.float64], b: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(np.vecdot(a, b), lengths, out=np.zeros(len(a)), where=lengths > 0)


def _euclidean(a: NDArray[np.float64], b: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    difference = a - b
    return -np.sqrt(np.vecdot(difference, difference))


METRIC = {
    "cosine": Metric(True, False, _cosine),  # kim2019 eq. 13; 0 where a vector is zero
    "dot": Metric(False, False, lambda a, b, lengths: np.vecdot(a, b)),
    "euclidean": Metric(  # kim2019 eq. 14: -|x - y|; its key is -|x - y|^2 / 2 = x.y - |x|^2 / 2 - |y|^2 / 2
        False, True, _euclidean, lambda key: -np.sqrt(np.maximum(0, -2 * key)), lambda value: -value * value / 2
    ),
}


@dataclass
class Side:
    """One side of a search: its vectors and what the bound on the error needs, float64 [n] each.

    `length`: of the rows of the product; `residual`: how far these are from the true ones.
    """

    vectors: Embeddings
    norms: NDArray[np.float64]
    metric: Metric
    dtype: torch.dtype
    device: torch.device

    def __post_init__(self) -> None:
        with np.errstate(divide="ignore"):
            inverse = np.where(self.norms > 0, 1 / self.norms, 0)
        self.scale = inverse if self.metric.scaled else np.ones_like(self.norms)
        self.length = self.norms * self.scale
        self.residual = 2 * UNIT * self.length if self.metric.scaled else np.zeros_like(self.norms)
        if self.dtype == torch.bfloat16:
            for rows in _blocks(len(self), TILE["cpu"]):
                full = self._full(self.vectors.block(rows.start, rows.stop), rows)
                lost = (full - full.to(self.dtype).float()).norm(dim=1)
                self.residual[rows] += lost.double().cpu().numpy() * (1 + 1e-3)

    def __len__(self) -> int:
        return len(self.norms)

    def _full(self, block: NDArray[np.float32], rows: Any) -> torch.Tensor:
        full = torch.from_numpy(block).to(self.device)
        if self.metric.scaled:
            # in float64: the inverse of a length below 1e-38 is more than a float32 holds
            small = torch.from_numpy(self.scale[rows]).to(self.device)[:, None]
            tiny = bool((small > 1e30).any())
            full = (full.double() * small).float() if tiny else full * small.float()
        return full

    def matrix(self, rows: slice) -> torch.Tensor:
        """The rows [m, d] of the product."""
        made = torch.empty((rows.stop - rows.start, self.vectors.dimension), dtype=self.dtype, device=self.device)
        for part in _blocks(len(made), TILE["cpu"]):
            here = slice(rows.start + part.start, rows.start + part.stop)
            made[part] = self._full(self.vectors.block(here.start, here.stop), here)
        return made

    def matrix_of(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return self._full(self.vectors.take(rows), rows).to(self.dtype)

    def half(self, rows: Any) -> torch.Tensor:
        """What is subtracted for each row, float32 [m]."""
        return torch.from_numpy((self.norms[rows] ** 2 / 2).astype(np.float32)).to(self.device)

    def slack(self, other: "Side") -> NDArray[np.float64]:
        """How far a key of each row against any row of `other` can be from the true one, but for the product's own rounding.

        |fl(a.b) - a.b| <= d u |a||b| for any order of summation (Higham 2002, section 3.1), then Cauchy-Schwarz for what the
        rows lost by rounding; u = 2^-24, with some room.
        """
        d = self.vectors.dimension
        own, others = self.length + self.residual, (other.length + other.residual).max()
        bound = 1.01 * (d + 8) * UNIT * own * others + own * other.residual.max() + self.residual * other.length.max()
        if self.metric.halved:
            bound += 8 * UNIT * (self.norms + other.norms.max()) ** 2
        return np.where(self.length > 0, bound + d * 2.0**-125, bound)  # products may underflow


class _Top:
    """The best `width` keys of each of n rows so far, on the device: values float32, ids int64 [n, width]."""

    def __init__(self, n: int, width: int, device: torch.device) -> None:
        self.values = torch.full((n, width), -torch.inf, device=device)
        self.ids = torch.full((n, width), -1, dtype=torch.int64, device=device)
        self.width = width

    def update(self, start: int, grouped: torch.Tensor, maxima: torch.Tensor, ids: torch.Tensor) -> None:
        """Take in a tile: `grouped` [m, g, s] of rows `start` on, against `ids` [g, s]; `maxima` [m, g] of the groups."""
        rows = slice(start, start + len(maxima))
        floor = self.values[rows, -1]
        row, group = (maxima > floor[:, None]).nonzero(as_tuple=True)
        if len(row) > self.width * len(maxima):
            self.add(rows, *_best_of_groups(grouped, maxima, self.width, ids))
        elif len(row):
            self._add_some(start, row, grouped[row, group].float(), ids[group], floor[row])

    def add(self, rows: Any, values: torch.Tensor, ids: torch.Tensor) -> None:
        """Take in candidates [m, c] of `rows` [m]."""
        values = torch.cat([self.values[rows], values.float()], 1)
        ids = torch.cat([self.ids[rows], ids], 1)
        self.values[rows], place = values.topk(self.width)
        self.ids[rows] = ids.gather(1, place)

    def _add_some(
        self, start: int, row: torch.Tensor, elements: torch.Tensor, known: torch.Tensor, floor: torch.Tensor
    ) -> None:
        """Take in what is above `floor` [h] of `elements` [h, s], whose ids are `known` [h, s], sorted by `row` [h]."""
        hit, lane = (elements > floor[:, None]).nonzero(as_tuple=True)
        touched, which, counts = torch.unique_consecutive(row[hit], return_inverse=True, return_counts=True)
        place = torch.arange(len(hit), device=hit.device) - (counts.cumsum(0) - counts)[which]
        values = torch.full((len(touched), int(counts.max())), -torch.inf, device=hit.device)
        ids = torch.full_like(values, -1, dtype=torch.int64)
        values[which, place] = elements[hit, lane]
        ids[which, place] = known[hit, lane]
        self.add(start + touched, values, ids)


def _best_of_groups(
    grouped: torch.Tensor, maxima: torch.Tensor, width: int, ids: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best `width` of each row [m, g, s]: they lie in the `width` groups with the greatest maxima."""
    groups = maxima.float().topk(min(width, maxima.shape[1])).indices
    elements = grouped[torch.arange(len(groups), device=groups.device)[:, None], groups].float().flatten(1)
    values, place = elements.topk(min(width, elements.shape[1]))
    return values, ids[groups].flatten(1).gather(1, place)


def _blocks(n: int, step: int) -> Iterator[slice]:
    yield from (slice(start, min(start + step, n)) for start in range(0, n, step))


def _torch_candidates(src: Side, tgt: Side, width: tuple[int, int], rows: int, tile: int) -> tuple[_Top, _Top]:
    """The best keys of each row and of each column, by one product: `rows` rows are prepared once, tile by tile."""
    forward, backward = _Top(len(src), width[0], src.device), _Top(len(tgt), width[1], src.device)
    held, left = None, torch.empty(0)
    for outer, columns in _steps(len(src), rows, len(tgt), tile):
        if outer != held:
            held, left = outer, src.matrix(outer)
        right = tgt.matrix(columns)
        for part in _blocks(len(left), tile):
            start = outer.start + part.start
            keys = _keys(left[part], right, src, tgt, slice(start, outer.start + part.stop), columns)
            _take_in(keys, forward, backward, start, columns.start)
    return forward, backward


def _steps(m: int, rows: int, n: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of the matrix of similarities, with progress."""
    pairs = [(a, b) for a in _blocks(m, rows) for b in _blocks(n, columns)]
    yield from progress(pairs, f"neighbours of {m:,} x {n:,}", total=len(pairs), unit="blocks")


def _keys(left: torch.Tensor, right: torch.Tensor, src: Side, tgt: Side, rows: Any, columns: Any) -> torch.Tensor:
    keys = left @ right.T
    return keys.sub_(src.half(rows)[:, None]).sub_(tgt.half(columns)) if src.metric.halved else keys


def _take_in(keys: torch.Tensor, forward: _Top, backward: _Top, row: int, column: int) -> None:
    """Both directions of one tile [m, n] whose first element is (row, column)."""
    m, n = keys.shape
    if m % GROUP or n % GROUP:
        keys = torch.nn.functional.pad(keys, (0, -n % GROUP, 0, -m % GROUP), value=-torch.inf)
    high, wide = keys.shape
    # groups of both are such that their maxima are taken along contiguous memory: of a row every (n / GROUP)-th element
    i, j = (torch.arange(start, start + size, device=keys.device) for start, size in ((row, high), (column, wide)))
    by_row = keys[:m].view(m, GROUP, -1)
    forward.update(row, by_row.transpose(1, 2), by_row.amax(1), j.view(GROUP, -1).T)
    by_column = keys.view(-1, GROUP, wide)[..., :n]
    backward.update(column, by_column.permute(2, 0, 1), by_column.amax(1).T, i.view(-1, GROUP))


def _faiss_candidates(src: Side, tgt: Side, width: tuple[int, int], rows: int, tile: int) -> tuple[_Top, _Top]:
    """The same by faiss's exhaustive search, one for each direction; always fp32."""
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    distance = faiss.METRIC_L2 if src.metric.halved else faiss.METRIC_INNER_PRODUCT
    gpu = src.device.type == "cuda"
    if gpu and not hasattr(faiss, "StandardGpuResources"):
        raise InputError("this faiss has no GPU part", remedy="install faiss-gpu, or take the backend torch")

    def knn(x: torch.Tensor, y: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        queries, base = x.cpu().numpy(), y.cpu().numpy()
        if gpu:
            found = faiss.knn_gpu(faiss.StandardGpuResources(), queries, base, k, metric=distance)
        else:
            found = faiss.knn(queries, base, k, metric=distance)
        values, ids = (torch.from_numpy(array).to(src.device) for array in found)
        return (values / -2 if src.metric.halved else values), ids

    forward, backward = _Top(len(src), width[0], src.device), _Top(len(tgt), width[1], src.device)
    for outer, columns in _steps(len(src), rows, len(tgt), rows):
        left, right = src.matrix(outer), tgt.matrix(columns)
        values, ids = knn(left, right, min(width[0], len(right)))
        forward.add(outer, values, ids + columns.start)
        values, ids = knn(right, left, min(width[1], len(left)))
        backward.add(columns, values, ids + outer.start)
    return forward, backward


def similarities(
    src: Side, tgt: Side, rows: NDArray[np.int64], columns: NDArray[np.int64], threads: int = 1
) -> NDArray[np.float32]:
    """The similarity of each pair (rows[i], columns[i]), float32 [m]: float64 inside, from the two vectors alone."""

    def part(pairs: slice) -> NDArray[np.float32]:
        i, j = rows[pairs], columns[pairs]
        a, b = (side.vectors.take(ids).astype(np.float64) for side, ids in ((src, i), (tgt, j)))
        return src.metric.exact(a, b, src.norms[i] * tgt.norms[j]).astype(np.float32)

    step = max(1, CHUNK // src.vectors.dimension)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate([np.empty(0, np.float32), *pool.map(part, _blocks(len(rows), step))])


def _order(similarity: NDArray[np.float32], ids: NDArray[np.int64], k: int) -> Neighbours:
    """The best k of each row [n, c] by (-similarity, id)."""
    order = np.lexsort((ids, -similarity), axis=-1)[:, :k]
    return Neighbours(np.take_along_axis(ids, order, 1), np.take_along_axis(similarity, order, 1))


def _settle(top: _Top, src: Side, tgt: Side, k: int, threads: int) -> Neighbours:
    """Score what the search kept, and search again the rows of which it is not proven that nothing is missing."""
    rounding, slack = ROUNDING[src.dtype], src.slack(tgt)
    found = Neighbours(np.empty((len(src), k), np.int64), np.empty((len(src), k), np.float32))
    open_rows = []
    for rows in _blocks(len(src), SUPER):
        keys, ids = top.values[rows].double().cpu().numpy(), top.ids[rows].cpu().numpy()
        error = rounding * np.abs(keys) + slack[rows, None]
        most, least = (src.metric.similarity(keys + sign * error).astype(np.float32) for sign in (1, -1))
        row, place = np.nonzero(most >= least[:, k - 1, None])
        similarity = np.full(keys.shape, -np.inf, np.float32)
        similarity[row, place] = similarities(src, tgt, rows.start + row, ids[row, place], threads)
        best = _order(similarity, ids, k)
        found.ids[rows], found.similarities[rows] = best.ids, best.similarities
        proven = (best.similarities[:, -1] > most[:, -1]) | (top.width == len(tgt))
        open_rows.append(rows.start + np.flatnonzero(~proven))
    if len(again := np.concatenate(open_rows)):
        _exhaust(src, tgt, again, found, k, threads)
    return found


def _exhaust(src: Side, tgt: Side, rows: NDArray[np.int64], found: Neighbours, k: int, threads: int) -> None:
    """Search `rows` again and put what is true into `found`, whose k-th similarity is known to be no less than the true one's.

    Every pair that could reach that similarity is scored. Equal vectors are searched once.
    """
    full, full_tgt = (Side(side.vectors, side.norms, side.metric, torch.float32, side.device) for side in (src, tgt))
    if not src.metric.halved:  # a zero vector is as similar to all others: 0
        zero, rows = rows[src.norms[rows] == 0], rows[src.norms[rows] > 0]
        found.ids[zero], found.similarities[zero] = np.arange(k), 0
    first, which = _distinct(src.vectors, rows)
    for part in _blocks(len(first), TILE["cpu"]):
        mine = first[part]
        best = _exhaust_block(full, full_tgt, mine, found.similarities[mine, -1], k, threads)
        found.ids[mine], found.similarities[mine] = best.ids, best.similarities
    found.ids[rows], found.similarities[rows] = found.ids[first[which]], found.similarities[first[which]]


def _exhaust_block(
    src: Side, tgt: Side, rows: NDArray[np.int64], floor: NDArray[np.float32], k: int, threads: int
) -> Neighbours:
    left, slack = src.matrix_of(rows), src.slack(tgt)[rows]
    best = Neighbours(np.full((len(rows), k), len(tgt)), np.full((len(rows), k), -np.inf, np.float32))
    for columns in _blocks(len(tgt), TILE["cpu"]):
        keys = _keys(left, tgt.matrix(columns), src, tgt, rows, columns)
        floor = np.maximum(floor, best.similarities[:, -1])
        least = src.metric.key(np.nextafter(floor, np.float32(-np.inf)).astype(np.float64)) - slack
        row, column = np.nonzero(keys.cpu().numpy() >= least[:, None])
        scores = np.full(keys.shape, -np.inf, np.float32)
        scores[row, column] = similarities(src, tgt, rows[row], columns.start + column, threads)
        ids = np.broadcast_to(np.arange(columns.start, columns.stop), scores.shape)
        touched = np.unique(row)
        new = _order(
            np.concatenate([best.similarities[touched], scores[touched]], 1),
            np.concatenate([best.ids[touched], ids[touched]], 1),
            k,
        )
        best.ids[touched], best.similarities[touched] = new.ids, new.similarities
    return best


def _distinct(vectors: Embeddings, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`first` of equal vectors, and `which` of them each row equals."""
    digests = [
        xxhash.xxh3_128_digest(vector) for part in _blocks(len(rows), SUPER) for vector in vectors.take(rows[part])
    ]
    _, first, which = np.unique(np.array(digests, dtype="S16"), return_index=True, return_inverse=True)
    return rows[first], which


def search(
    src: Embeddings, tgt: Embeddings, k: int, *, metric: str = "cosine", backend: str = "torch", device: str = "cpu",
    precision: str = "auto", memory: int = MEMORY, threads: int = 1, tile: int | None = None,
) -> Both:  # fmt: skip
    """The k nearest targets of every source and the k nearest sources of every target; k > n means k = n.

    metric: cosine (kim2019 eq. 13; 0 for a zero vector), dot, euclidean (eq. 14: minus the distance).
    backend: torch, faiss. precision: of the search, auto, fp32 or bf16; the result does not depend on it, nor on `tile`
    (rows and columns of a block), `threads`, `device`. memory: bytes beside the vectors and the result (24 k bytes a pair of
    sentences), what malloc keeps of freed blocks apart; vectors may be memory-mapped and larger than memory.
    Raises InputError for an empty side, dimensions that differ, a vector that is not finite, a k below 1, unknown names.
    """
    _check(k, metric, backend, memory)
    check_pair(src, tgt)
    where = setup(threads, device)
    narrow = backend == "torch" and metric != "euclidean"
    dtype = number_format(precision, where) if narrow else torch.float32
    if where.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    norms = [side.norms() for side in (src, tgt)]
    _report(src, tgt, norms)
    width = k + SLACK[dtype]
    panel = max(SUPER, memory // 4 // (32 * width))
    rows = max(TILE[where.type], memory // 4 // (dtype.itemsize * src.dimension))
    candidates = _torch_candidates if backend == "torch" else _faiss_candidates
    shape = len(src), len(tgt)
    whole = Both(*(_nothing(n, min(k, others)) for n, others in (shape, shape[::-1])))
    for a, b in product(_blocks(shape[0], panel), _blocks(shape[1], panel)):
        left, right = (
            Side(side.part(part.start, part.stop), norm[part], METRIC[metric], dtype, where)
            for side, part, norm in ((src, a, norms[0]), (tgt, b, norms[1]))
        )
        widths = min(width, len(right)), min(width, len(left))
        with torch.inference_mode():
            tops = candidates(left, right, widths, rows, tile or TILE[where.type])
            forward = _settle(tops[0], left, right, min(k, len(right)), threads)
            backward = _settle(tops[1], right, left, min(k, len(left)), threads)
        _merge_into(whole.forward, a, forward, b.start)
        _merge_into(whole.backward, b, backward, a.start)
    return whole


def _check(k: int, metric: str, backend: str, memory: int) -> None:
    if k < 1:
        raise InputError(f"k is {k}", remedy="ask for at least one neighbour")
    for what, name, known in (("metric", metric, METRICS), ("backend", backend, BACKENDS)):
        if name not in known:
            raise InputError(f"unknown {what} {name!r}", remedy=f"known: {', '.join(known)}")
    if memory < LEAST_MEMORY:
        raise InputError(f"{memory:,} bytes of memory are too few", remedy=f"give it at least {LEAST_MEMORY:,}")


def _report(src: Embeddings, tgt: Embeddings, norms: Sequence[NDArray[np.float64]]) -> None:
    """Say how many vectors are zero; refuse what a float32 product cannot hold."""
    for side, lengths in zip((src, tgt), norms, strict=True):
        if zeros := int((lengths == 0).sum()):
            log(f"{side.name}: {zeros:,} of {len(lengths):,} vectors are zero; their cosine to all others is 0")
    if (largest := norms[0].max() * norms[1].max()) > 1e37:
        raise InputError(
            f"vectors are too long (up to {largest:.1e} squared)", src.name, remedy="scale both sides down"
        )


def _nothing(n: int, k: int) -> Neighbours:
    return Neighbours(np.full((n, k), np.iinfo(np.int64).max), np.full((n, k), -np.inf, np.float32))


def _merge_into(result: Neighbours, rows: slice, part: Neighbours, first_id: int) -> None:
    """Put neighbours among the ids from `first_id` on into `rows` of a result."""
    similarity = np.concatenate([result.similarities[rows], part.similarities], 1)
    best = _order(similarity, np.concatenate([result.ids[rows], part.ids + first_id], 1), result.ids.shape[1])
    result.ids[rows], result.similarities[rows] = best.ids, best.similarities


def save(folder: Path, both: Both, metric: str, k: int, src: slice, tgt: slice) -> None:
    """Write a folder: `{forward,backward}.{ids,similarities}.npy` and `neighbours.json`, which says what they are of.

    `src`, `tgt`: the rows of the whole that were searched; ids count from the first row of the whole.
    """
    facts = {"metric": metric, "k": k, "src": [src.start, src.stop], "tgt": [tgt.start, tgt.stop]}
    first = {"forward": tgt.start, "backward": src.start}
    with atomic(folder) as part:
        part.mkdir()
        for name, side in zip(Both._fields, both, strict=True):
            arrays.save(part / f"{name}.ids.npy", side.ids + first[name])
            arrays.save(part / f"{name}.similarities.npy", side.similarities)
        (part / "neighbours.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")


def load(folder: Path) -> tuple[Both, dict[str, Any]]:
    """What `save` wrote, memory-mapped, and its facts. Raises InputError for a damaged folder."""
    facts = read_json(existing(folder) / "neighbours.json")
    sides = []
    for name, own in zip(Both._fields, ("src", "tgt"), strict=True):
        ids, scores = (
            arrays.load(folder / f"{name}.{what}.npy", "search again", dtype, ["sentences", "k"])
            for what, dtype in (("ids", np.int64), ("similarities", np.float32))
        )
        if ids.shape != scores.shape or len(ids) != facts[own][1] - facts[own][0]:
            raise InputError(f"{name}: ids and similarities do not fit", folder, remedy="search again")
        sides.append(Neighbours(ids, scores))
    return Both(*sides), facts


def merge(folders: Sequence[Path], out: Path) -> None:
    """Join the parts of a search, source rows by target rows: the same bytes as one search of the whole.

    Raises InputError when parts differ in metric or k, overlap, or leave a pair of rows out.
    """
    parts = [load(folder) for folder in folders]
    first = parts[0][1]
    for folder, (_, facts) in zip(folders, parts, strict=True):
        if (facts["metric"], facts["k"]) != (first["metric"], first["k"]):
            raise InputError(
                "another metric or k than the first part", folder, remedy="search it again like the others"
            )
    src, tgt = (_covered([facts[side] for _, facts in parts], side) for side in ("src", "tgt"))
    cells = {(*facts["src"], *facts["tgt"]) for _, facts in parts}
    whole = {(*a, *b) for a in src for b in tgt}
    if cells != whole or len(parts) != len(whole):
        raise InputError(
            f"{len(parts)} parts, {len(whole - cells)} missing, do not make a grid of {len(src)} x {len(tgt)}",
            folders[0],
            remedy="every range of source rows needs every range of target rows, once",
        )
    shape = src[-1][1] - src[0][0], tgt[-1][1] - tgt[0][0]
    k, low = first["k"], (src[0][0], tgt[0][0])
    result = Both(*(_nothing(n, min(k, others)) for n, others in (shape, shape[::-1])))
    for both, facts in parts:
        for side, neighbours, own, start in zip(result, both, ("src", "tgt"), low, strict=True):
            _merge_into(side, slice(facts[own][0] - start, facts[own][1] - start), neighbours, 0)
    relative = Both(
        *(Neighbours(side.ids - start, side.similarities) for side, start in zip(result, low[::-1], strict=True))
    )
    save(out, relative, first["metric"], k, slice(low[0], src[-1][1]), slice(low[1], tgt[-1][1]))


def _covered(ranges: Sequence[Sequence[int]], side: str) -> list[tuple[int, int]]:
    """The distinct ranges, in order. Raises InputError where they overlap or leave a gap."""
    distinct = sorted({(start, stop) for start, stop in ranges})
    for (_, stop), (start, _) in pairwise(distinct):
        if stop != start:
            raise InputError(
                f"{side} rows {stop} to {start} are in no part or in two",
                remedy="search ranges that follow one another",
            )
    return distinct
