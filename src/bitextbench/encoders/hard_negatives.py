"""Mines hard negatives: wrong translations that a first model finds most similar (guo2018 section 2.3).

The result is, for each side, a `Ragged` with a row for each pair of the bitext: the numbers of the pairs whose other
side is a hard negative of this sentence, best first; most rows are empty. yang2019 section 4.2 takes 5 "for each
example".
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench.base.device import setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log, progress
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged
from bitextbench.formats.vectors import Embeddings, by_probability, read_shards

BLOCK = (1024, 4096)  # queries and candidates that are compared at a time: 16 MB of similarities
SIMILARITIES = ("cosine", "dot", "random")
EMPTY = np.uint64(xxhash.xxh3_64_intdigest(b""))
LAST = 2**32 - 1  # the highest number of a candidate
NONE = -(2**63)  # the key of no candidate: lower than any other


def mine(
    vector_stems: Sequence[Path],
    id_stems: Sequence[Path],
    out: Path,
    *,
    count: int = 5,
    share: float = 0.2,
    similarity: str = "dot",
    seed: int = 1,
    threads: int = 1,
    device: str = "cpu",
) -> int:
    """Write `<out>.src` and `<out>.tgt` (see Ragged.save): `count` hard negatives for a random `share` of the pairs.

    `vector_stems`, `id_stems`: the shards of the bitext, in order, without `.src` and `.tgt`; pairs are numbered by id.
    guo2018 mine by `dot`, for a `share` of 0.2; where sources are the candidates, by the log of their probability (see
    `by_probability`). A candidate that translates the sentence in any pair of the bitext (by equal ids) is not a
    negative, nor is an empty sentence; a pair with an empty side has none. Exact. Memory: the vectors of the chosen
    pairs, one block, and a hash of each pair.

    With the similarity `random`, vectors are drawn at random, so that the negatives are random: a baseline for hard
    ones.

    Returns the number of chosen pairs. Raises InputError for vectors that do not belong to the ids, and for an unknown
    similarity.
    """
    if similarity not in SIMILARITIES:
        raise InputError(f"similarity: {similarity} is unknown", "hard", remedy=f"choose {', '.join(SIMILARITIES)}")
    where = setup(threads, device)
    parts = {side: [texts(Ragged.load(f"{stem}.{side}")) for stem in id_stems] for side in ("src", "tgt")}
    keys = {side: np.concatenate(shards)[bitext.order_of_ids([*map(len, shards)])] for side, shards in parts.items()}
    vectors = {side: read_shards([f"{stem}.{side}.npy" for stem in vector_stems]) for side in keys}
    for side, rows in vectors.items():
        if len(rows) != len(keys[side]):
            what = f"{len(rows):,} vectors for {len(keys[side]):,} sentences ({side})"
            raise InputError(what, vector_stems[0] if vector_stems else None, remedy="encode the bitext again")
    if similarity == "random":
        rng = np.random.default_rng([seed, 1])
        vectors = {side: Embeddings(rng.standard_normal((len(rows), 16), np.float32)) for side, rows in keys.items()}
    backward = dict(zip(vectors, by_probability(vectors["src"], vectors["tgt"], similarity), strict=True))
    whole = np.flatnonzero((keys["src"] != EMPTY) & (keys["tgt"] != EMPTY))
    chosen = np.sort(np.random.default_rng(seed).choice(whole, round(share * len(whole)), replace=False))
    for side, other, of in (("src", "tgt", vectors), ("tgt", "src", backward)):
        queries = unit(of[side].take(chosen), similarity)
        known = np.sort(pair_keys(keys[side], keys[other]))
        negatives = nearest(queries, keys[side][chosen], known, of[other], keys[other], count, similarity, where)
        lengths = np.zeros(len(keys[side]), np.int64)
        lengths[chosen] = [len(row) for row in negatives]
        flat = np.concatenate([np.empty(0, np.int32), *negatives]).astype(np.int32)
        Ragged(flat, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])).save(f"{out}.{side}")
        log(f"hard negatives, {side}: {len(flat):,} for {len(chosen):,} of {len(keys[side]):,} pairs")
    return len(chosen)


def texts(sentences: Ragged) -> NDArray[np.uint64]:
    """A hash of the ids of each sentence [n]."""
    rows = (sentences[i].tobytes() for i in range(len(sentences)))
    return np.fromiter(map(xxhash.xxh3_64_intdigest, rows), np.uint64, len(sentences))


def pair_keys(sentences: NDArray[np.uint64], translations: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each pair of hashes [n]."""
    return sentences * np.uint64(0x9E3779B97F4A7C15) ^ translations


def unit(rows: NDArray[np.float32], similarity: str) -> torch.Tensor:
    """The rows whose products are the similarities: of unit length but for the dot product."""
    tensor = torch.from_numpy(rows)
    return tensor if similarity == "dot" else torch.nn.functional.normalize(tensor, dim=1)


def nearest(
    queries: torch.Tensor,
    sentences: NDArray[np.uint64],
    known: NDArray[np.uint64],
    vectors: Embeddings,
    keys: NDArray[np.uint64],
    count: int,
    similarity: str,
    device: torch.device,
) -> list[NDArray[np.int64]]:
    """For each query, the numbers of its `count` nearest candidates, by (-similarity, number).

    A candidate whose key is EMPTY is left out, and one that is `known` (the pair_keys of the bitext, ascending) to
    translate the query, whose key is in `sentences`. Each block is read once.
    """
    best = torch.full((len(queries), count), NONE, device=device)
    queries = queries.to(device)
    for first, block in progress(blocks(vectors), "hard negatives", unit="blocks"):
        candidates = unit(block, similarity).to(device).T
        candidate_keys = keys[first : first + len(block)]
        for low in range(0, len(queries), BLOCK[0]):
            part = slice(low, low + BLOCK[0])
            scores = queries[part] @ candidates
            # rank only the few that are better than the worst so far; of equal ones the lower number stays
            row, column = (scores > similarities(best[part, -1:])).nonzero(as_tuple=True)
            order = ordered(scores[row, column], first + column)
            key = candidate_keys[column.cpu().numpy()]
            pairs = pair_keys(sentences[part][row.cpu().numpy()], key)
            translated = known[np.searchsorted(known, pairs).clip(max=len(known) - 1)] == pairs
            order[torch.from_numpy(translated | (key == EMPTY)).to(device)] = NONE
            better = by_row(row, order, len(scores))
            best[part] = torch.cat([best[part], better], 1).topk(count).values
    return [(LAST - (row[row != NONE] & LAST)).numpy() for row in best.cpu()]


def by_row(row: torch.Tensor, order: torch.Tensor, rows: int) -> torch.Tensor:
    """The elements `order` [h] of each row, int64 [rows, most elements of one]; `row` [h] ascends, NONE is padding."""
    counts = torch.bincount(row, minlength=rows)
    place = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
    table = torch.full((rows, int(counts.max())), NONE, device=row.device)
    table[row, place] = order
    return table


def blocks(vectors: Embeddings) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Blocks of at most BLOCK[1] rows, each with the number of its first row.

    The first block is small, as all of it is ranked; no later block is longer than all blocks before it.
    """
    first = 0
    while first < len(vectors):
        size = min(BLOCK[1], max(128, first), len(vectors) - first)
        yield first, vectors.block(first, first + size)
        first += size


def ordered(similarity: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """Keys int64 [h] that sort like (similarity, -number); both [h].

    The bits of a float32, as an integer, sort like the float, reversed for negative numbers.
    """
    bits = (similarity.float() + 0.0).view(torch.int32)  # + 0.0: no negative zero
    return (_turned(bits).long() << 32) + (LAST - numbers)


def similarities(order: torch.Tensor) -> torch.Tensor:
    """The float32 that `ordered` took; minus infinity for NONE."""
    return _turned((order >> 32).int()).view(torch.float32).masked_fill(order == NONE, -torch.inf)


def _turned(bits: torch.Tensor) -> torch.Tensor:
    """Reverse the order of negative numbers; its own inverse."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)
