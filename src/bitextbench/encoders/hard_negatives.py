"""Mines hard negatives: wrong translations that a first model finds most similar (guo2018 section 2.3).

The result is a `Ragged` for each side, with a row for each pair of the bitext. A row has the numbers of the pairs whose
other side is a hard negative of this sentence, best first. Most rows are empty. (yang2019 section 4.2 takes 5 "for each
example".)

The exact search (`neighbours`) finds a few more candidates than are asked for, and known translations are dropped from
them. What is left of an exact list is exact, as far as it goes. Sentences that now lack candidates are searched again,
with four times as many.

Where the paper is silent:

- Copies of one sentence are hard negatives of their own, so that M negatives can be fewer sentences.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench import neighbours
from bitextbench.base import arrays, sources
from bitextbench.base.device import setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.outputs import remove
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged
from bitextbench.formats.vectors import Embeddings, by_probability, read_shards

QUERIES = 1 << 22  # that are searched, and kept on disk, at a time
SLACK = 4  # further candidates than those that are asked for, which may be known translations
EMPTY = np.uint64(xxhash.xxh3_64_intdigest(b""))


class Texts(NamedTuple):
    """Who translates whom: a hash of each sentence of the two sides [n], and of each pair, ascending."""

    own: NDArray[np.uint64]
    other: NDArray[np.uint64]
    known: NDArray[np.uint64]

    def translate(self, queries: NDArray[np.int64], candidates: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether candidates [m, k] translate their query [m] in any pair of the bitext."""
        pairs = pair_keys(self.own[queries][:, None], self.other[candidates])
        return self.known[np.searchsorted(self.known, pairs).clip(max=len(self.known) - 1)] == pairs


def mine(
    vector_stems: Sequence[Path],
    id_stems: Sequence[Path],
    out: Path,
    *,
    count: int = 5,
    share: float = 0.2,
    similarity: str = "dot",
    directions: str = "both",
    seed: int = 1,
    threads: int = 1,
    device: str = "cpu",
) -> int:
    """Write `<out>.src` and `<out>.tgt` (see Ragged.save): `count` hard negatives for a random `share` of the pairs.

    `vector_stems`, `id_stems`: the shards of the bitext, in order, without `.src` and `.tgt`; pairs are numbered by id.
    guo2018 mine by `dot`, for a `share` of 0.2; where sources are the candidates, by the log of their probability (see
    `by_probability`). A candidate is no negative if it translates the sentence in any pair of the bitext (by equal
    ids), or if it is empty. A pair with an empty side has no negatives. Exact, by (-similarity, number). With
    `directions` forward, targets have none: no search for a model that is trained in one direction. Memory: that of the
    search, and three hashes a pair. What is found of QUERIES sentences is kept in `<out>.<side>.parts` until the end,
    and not searched again by a run that was killed.

    With the similarity `random`, vectors are drawn at random, so that the negatives are random: a baseline for hard
    ones.

    Returns the number of chosen pairs. Raises InputError for vectors that do not belong to the ids.
    """
    where = setup(threads, device)
    parts = {side: [texts(Ragged.load(f"{stem}.{side}")) for stem in id_stems] for side in ("src", "tgt")}
    keys = {side: np.concatenate(shards)[bitext.order_of_ids([*map(len, shards)])] for side, shards in parts.items()}
    vectors = _vectors(vector_stems, keys, similarity, seed)
    whole = np.flatnonzero((keys["src"] != EMPTY) & (keys["tgt"] != EMPTY))
    chosen = np.sort(np.random.default_rng(seed).choice(whole, round(share * len(whole)), replace=False))
    metric = "dot" if similarity == "dot" else "cosine"
    options: dict[str, Any] = {"metric": metric, "device": device, "threads": threads}
    search = partial(neighbours.search, forward_only=True, **options)
    some = np.arange(0, len(keys["src"]), max(1, len(keys["src"]) // 1000))
    code = sources.modules("encoders.hard_negatives")
    run = [code, count, share, similarity, seed, len(chosen), *map(fingerprint, (keys["src"], keys["tgt"]))]
    for side, other in (("src", "tgt"), ("tgt", "src")):
        if side == "src":
            of = vectors
        elif directions == "both":
            made = by_probability(vectors["src"], vectors["tgt"], metric, None if device == "cpu" else log_sums(where))
            of = dict(zip(vectors, made, strict=True))
        else:
            _save(out, side, len(keys[side]), chosen[:0], np.empty((0, count), np.int64))
            continue
        pairs = Texts(keys[side], keys[other], np.sort(pair_keys(keys[side], keys[other])))
        kept = Parts(Path(f"{out}.{side}.parts"), [*run, *(fingerprint(of[name].take(some)) for name in (side, other))])
        found = kept.all(chosen, count, partial(nearest, of[side], of[other], pairs, count, search))
        _save(out, side, len(keys[side]), chosen, found)
        remove(kept.folder)
    return len(chosen)


def _save(out: Path, side: str, n: int, chosen: NDArray[np.int64], found: NDArray[np.int64]) -> None:
    """Write what was `found` of the `chosen` pairs [m, count], of n; -1 is none."""
    has = found >= 0
    lengths = np.zeros(n, np.int64)
    lengths[chosen] = has.sum(1)
    Ragged(found[has].astype(np.int32), np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])).save(
        f"{out}.{side}"
    )
    log(f"hard negatives, {side}: {has.sum():,} for {len(chosen):,} of {n:,} pairs")


def _vectors(
    stems: Sequence[Path], keys: dict[str, NDArray[np.uint64]], similarity: str, seed: int
) -> dict[str, Embeddings]:
    """The vectors of each side. Raises InputError where they are not as many as the sentences."""
    vectors = {side: read_shards([f"{stem}.{side}.npy" for stem in stems]) for side in keys}
    for side, rows in vectors.items():
        if len(rows) != len(keys[side]):
            what = f"{len(rows):,} vectors for {len(keys[side]):,} sentences ({side})"
            raise InputError(what, stems[0] if stems else None, remedy="encode the bitext again")
    if similarity == "random":
        rng = np.random.default_rng([seed, 1])
        vectors = {side: Embeddings(rng.standard_normal((len(rows), 16), np.float32)) for side, rows in keys.items()}
    return vectors


def texts(sentences: Ragged) -> NDArray[np.uint64]:
    """A hash of the ids of each sentence [n]."""
    rows = (sentences[i].tobytes() for i in range(len(sentences)))
    return np.fromiter(map(xxhash.xxh3_64_intdigest, rows), np.uint64, len(sentences))


def pair_keys(sentences: NDArray[np.uint64], translations: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each pair of hashes [n]."""
    return sentences * np.uint64(0x9E3779B97F4A7C15) ^ translations


def fingerprint(numbers: NDArray) -> str:
    """A hash of an array."""
    return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(numbers).data)


def log_sums(device: torch.device) -> Callable[..., NDArray[np.float32]]:
    """log sum exp of the products of two blocks, on a GPU in float32: see `by_probability`."""
    placed: list[torch.Tensor] = []

    @torch.inference_mode()
    def sums(block: NDArray[np.float32], some: NDArray[np.float32]) -> NDArray[np.float32]:
        if not placed:
            placed.append(torch.from_numpy(some).to(device))
        return (torch.from_numpy(block).to(device) @ placed[0]).logsumexp(1).cpu().numpy()

    return sums


class Parts(NamedTuple):
    """A folder with what was found of blocks of queries, by the run that `what` describes."""

    folder: Path
    what: list

    def all(
        self, chosen: NDArray[np.int64], count: int, search: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """What `search` finds for all `chosen` queries [m, count]; blocks that are there are read."""
        about = self.folder / "run.json"
        if not about.exists() or read_json(about) != self.what:
            remove(self.folder)
            write_json(about, self.what)
        found = np.empty((len(chosen), count), np.int64)
        for start in range(0, len(chosen), QUERIES):
            path, rows = self.folder / f"{start}.npy", slice(start, start + QUERIES)
            if path.exists():
                log(f"{path} is there")
                found[rows] = arrays.load(path, "remove it", np.int64, ["queries", "negatives"])
            else:
                found[rows] = search(chosen[rows])
                arrays.save(path, found[rows])
        return found


def nearest(
    own: Embeddings,
    other: Embeddings,
    pairs: Texts,
    count: int,
    search: Callable[..., neighbours.Both],
    queries: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The numbers of the `count` nearest of `other` for each query [m, count] that do not translate it, by
    (-similarity, number); -1 where there are no more.
    """
    found, width = np.full((len(queries), count), -1), count + SLACK
    wanting, some = np.arange(len(queries)), np.flatnonzero(pairs.other != EMPTY)
    if len(some) < len(other):
        other = other.select(some)
    while len(wanting):
        given = queries[wanting]
        ids = some[search(own.select(given), other, width).forward.ids]
        left = ~pairs.translate(given, ids)
        row, column = np.nonzero(left & (left.cumsum(1) <= count))
        found[wanting[row], left.cumsum(1)[row, column] - 1] = ids[row, column]
        wanting = wanting[(left.sum(1) < count) & (ids.shape[1] < len(other))]
        width *= 4
    return found
