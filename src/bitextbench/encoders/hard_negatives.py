"""Hard negatives: sentences that a first model takes for a translation, and that are none (guo2018 section 2.3).

Mining is a step of its own; its result is, for each side, a `Ragged` with a row for each pair of the bitext: the numbers of the
hard negatives of that side's sentence (pairs whose other side it resembles), best first; none for most pairs. yang2019 section
4.2 takes 5 "for each example".
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
from bitextbench.formats.vectors import Embeddings, read_shards

BLOCK = (1024, 4096)  # queries and candidates compared at a time: 16 MB of similarities
SIMILARITIES = ("cosine", "dot")
EMPTY = np.uint64(xxhash.xxh3_64_intdigest(b""))
LAST = 2**32 - 1  # the highest number of a candidate
NONE = -(2**63)  # no candidate: lower than any other


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

    `vector_stems`, `id_stems`: the shards of the bitext, in order, without `.src` and `.tgt`; pairs are numbered by id. `share` 0.2 is guo2018's, who
    mine by `dot`. A candidate that reads as the translation does (the same ids) is no negative, nor is an empty sentence, and a
    pair with an empty side gets none. Exact; memory: the vectors of the chosen pairs and one block.

    Returns the number of chosen pairs. Raises InputError for vectors that do not belong to the ids, an unknown similarity.
    """
    if similarity not in SIMILARITIES:
        raise InputError(f"similarity: {similarity} is unknown", "hard", remedy=f"choose {' or '.join(SIMILARITIES)}")
    where = setup(threads, device)
    parts = {side: [texts(Ragged.load(f"{stem}.{side}")) for stem in id_stems] for side in ("src", "tgt")}
    keys = {side: np.concatenate(shards)[bitext.order_of_ids([*map(len, shards)])] for side, shards in parts.items()}
    held = {side: read_shards([f"{stem}.{side}.npy" for stem in vector_stems]) for side in keys}
    for side, rows in held.items():
        if len(rows) != len(keys[side]):
            what = f"{len(rows):,} vectors for {len(keys[side]):,} sentences ({side})"
            raise InputError(what, vector_stems[0] if vector_stems else None, remedy="encode the bitext again")
    whole = np.flatnonzero((keys["src"] != EMPTY) & (keys["tgt"] != EMPTY))
    chosen = np.sort(np.random.default_rng(seed).choice(whole, round(share * len(whole)), replace=False))
    for side, other in (("src", "tgt"), ("tgt", "src")):
        queries = unit(held[side].take(chosen), similarity)
        found = nearest(queries, keys[other][chosen], held[other], keys[other], count, similarity, where)
        lengths = np.zeros(len(keys[side]), np.int64)
        lengths[chosen] = [len(row) for row in found]
        flat = np.concatenate([np.empty(0, np.int32), *found]).astype(np.int32)
        Ragged(flat, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])).save(f"{out}.{side}")
        log(f"hard negatives, {side}: {len(flat):,} for {len(chosen):,} of {len(keys[side]):,} pairs")
    return len(chosen)


def texts(sentences: Ragged) -> NDArray[np.uint64]:
    """A key of each sentence [n]: the same for the same ids."""
    rows = (sentences[i].tobytes() for i in range(len(sentences)))
    return np.fromiter(map(xxhash.xxh3_64_intdigest, rows), np.uint64, len(sentences))


def unit(rows: NDArray[np.float32], similarity: str) -> torch.Tensor:
    """Rows for a product that is the similarity: of unit length for the cosine."""
    tensor = torch.from_numpy(rows)
    return torch.nn.functional.normalize(tensor, dim=1) if similarity == "cosine" else tensor


def nearest(
    queries: torch.Tensor,
    excluded: NDArray[np.uint64],
    vectors: Embeddings,
    keys: NDArray[np.uint64],
    count: int,
    similarity: str,
    device: torch.device,
) -> list[NDArray[np.int64]]:
    """For each query the numbers of its `count` nearest candidates, by (-similarity, number).

    Left out are candidates whose key is EMPTY or the query's own `excluded` one. Each block of candidates is read once.
    """
    best = torch.full((len(queries), count), NONE, device=device)
    queries, not_for = queries.to(device), torch.from_numpy(excluded.view(np.int64)).to(device)
    for first, block in progress(blocks(vectors), "hard negatives", unit="blocks"):
        candidates = unit(block, similarity).to(device).T
        theirs = torch.from_numpy(keys[first : first + len(block)].view(np.int64)).to(device)
        for low in range(0, len(queries), BLOCK[0]):
            part = slice(low, low + BLOCK[0])
            found = queries[part] @ candidates
            # few of a later block are better than what there is: only those are looked at; of equals the former stays
            row, column = (found > similarities(best[part, -1:])).nonzero(as_tuple=True)
            order = ordered(found[row, column], first + column)
            key = theirs[column]
            order[(key == not_for[part][row]) | (key == int(EMPTY.view(np.int64)))] = NONE
            better = by_row(row, order, len(found))
            best[part] = torch.cat([best[part], better], 1).topk(count).values
    return [(LAST - (row[row != NONE] & LAST)).numpy() for row in best.cpu()]


def by_row(row: torch.Tensor, order: torch.Tensor, rows: int) -> torch.Tensor:
    """int64 [rows, most of one]: the elements `order` [h] of each row, where `row` [h] ascends; NONE fills up."""
    counts = torch.bincount(row, minlength=rows)
    place = torch.arange(len(row), device=row.device) - (counts.cumsum(0) - counts)[row]
    table = torch.full((rows, int(counts.max())), NONE, device=row.device)
    table[row, place] = order
    return table


def blocks(vectors: Embeddings) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """The number of its first row, and some rows: at most BLOCK[1], and few at first.

    All of the first block are better than nothing; from then on a block is as long as what came before, or shorter.
    """
    first = 0
    while first < len(vectors):
        size = min(BLOCK[1], max(128, first), len(vectors) - first)
        yield first, vectors.block(first, first + size)
        first += size


def ordered(similarity: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """int64 that sorts as (similarity, -number) does, of candidates and their numbers, both [h].

    The bits of a float32, seen as a whole number, sort as the float does but for the negative ones, which run backwards.
    """
    bits = (similarity.float() + 0.0).view(torch.int32)  # + 0.0: no negative zero
    return (_turned(bits).long() << 32) + (LAST - numbers)


def similarities(order: torch.Tensor) -> torch.Tensor:
    """The float32 that `ordered` took; for NONE less than any."""
    return _turned((order >> 32).int()).view(torch.float32).masked_fill(order == NONE, -torch.inf)


def _turned(bits: torch.Tensor) -> torch.Tensor:
    """The bits of negative numbers run backwards; twice is as before."""
    return bits ^ ((bits >> 31) & 0x7FFFFFFF)
