"""The neighbours that a search found: lists in memory and in a folder, and how the parts of a search are joined."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.json_yaml import read_json
from bitextbench.base.outputs import atomic


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


class Kept(NamedTuple):
    """The best K keys of each of n rows in a fast search, float32 [n, K] in descending order, and their ids, integer
    [n, K].

    `dropped`, float32 [n]: the greatest key of elements that were dropped before keys were computed again, in float32.
    """

    values: NDArray[np.float32]
    ids: NDArray[Any]
    dropped: NDArray[np.float32] | None = None

    @classmethod
    def empty(cls, n: int, width: int) -> "Kept":
        return cls(np.full((n, width), -np.inf, np.float32), np.full((n, width), -1, np.int32))

    def add(self, rows: slice, values: NDArray[np.float32], ids: NDArray[Any]) -> None:
        """Add elements [m, c] to `rows` [m]."""
        values = np.concatenate([self.values[rows], values], 1)
        ids = np.concatenate([self.ids[rows], ids], 1)
        order = np.argsort(-values, axis=1, kind="stable")[:, : self.values.shape[1]]
        self.values[rows] = np.take_along_axis(values, order, 1)
        self.ids[rows] = np.take_along_axis(ids, order, 1)


def best_k(similarity: NDArray[np.float32], ids: NDArray[np.int64], k: int) -> Neighbours:
    """The best k of each row [n, c], by (-similarity, id)."""
    order = np.lexsort((ids, -similarity), axis=-1)[:, :k]
    return Neighbours(np.take_along_axis(ids, order, 1), np.take_along_axis(similarity, order, 1))


def empty(n: int, k: int) -> Neighbours:
    """Lists of neighbours that are worse than all others: a start for `merge_into`."""
    return Neighbours(np.full((n, k), np.iinfo(np.int64).max), np.full((n, k), -np.inf, np.float32))


def merge_into(result: Neighbours, rows: slice, part: Neighbours, first_id: int) -> None:
    """Merge `part`, whose ids count from `first_id`, into `rows` of a result."""
    similarity = np.concatenate([result.similarities[rows], part.similarities], 1)
    best = best_k(similarity, np.concatenate([result.ids[rows], part.ids + first_id], 1), result.ids.shape[1])
    result.ids[rows], result.similarities[rows] = best.ids, best.similarities


def save(folder: Path, both: Both, metric: str, k: int, src: slice, tgt: slice) -> None:
    """Write a folder: `{forward,backward}.{ids,similarities}.npy`, and `neighbours.json` with metric, k and rows.

    `src`, `tgt`: the rows that were searched, of all rows; ids in the files count from the first of all rows.
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
    """The lists that `save` wrote, memory-mapped, and the JSON. Raises InputError for a damaged folder."""
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
    """Join the parts of a search (ranges of source rows by ranges of target rows), to the bytes of one whole search.

    Raises InputError for parts that differ in metric or k, that overlap, or that leave out a pair of rows.
    """
    parts = [load(folder) for folder in folders]
    first = parts[0][1]
    for folder, (_, facts) in zip(folders, parts, strict=True):
        if (facts["metric"], facts["k"]) != (first["metric"], first["k"]):
            raise InputError(
                "was searched with another metric or k than the first part",
                folder,
                remedy="search it again with those of the others",
            )
    src, tgt = (_covered([facts[side] for _, facts in parts], side) for side in ("src", "tgt"))
    cells = {(*facts["src"], *facts["tgt"]) for _, facts in parts}
    whole = {(*a, *b) for a in src for b in tgt}
    if cells != whole or len(parts) != len(whole):
        raise InputError(
            f"{len(parts)} parts do not make a grid of {len(src)} x {len(tgt)}: {len(whole - cells)} missing",
            folders[0],
            remedy="every range of source rows needs every range of target rows, once",
        )
    shape = src[-1][1] - src[0][0], tgt[-1][1] - tgt[0][0]
    k, low = first["k"], (src[0][0], tgt[0][0])
    result = Both(*(empty(n, min(k, others)) for n, others in (shape, shape[::-1])))
    for both, facts in parts:
        for side, neighbours, own, start in zip(result, both, ("src", "tgt"), low, strict=True):
            merge_into(side, slice(facts[own][0] - start, facts[own][1] - start), neighbours, 0)
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
