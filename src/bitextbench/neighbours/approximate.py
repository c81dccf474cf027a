"""Approximate nearest neighbours by an index of faiss, for sizes at which the exact search takes too long.

An index is named by faiss's own string (`IVF4096,Flat`, `IVF4096,PQ64`, `HNSW32`), optionally followed by settings:
`IVF4096,Flat:nprobe=32`. Its neighbours are scored again exactly, so that similarities and margins are those of the
vectors; but some true neighbours may be missing. Their share is measured on a sample that is searched exactly (recall).

The result depends on faiss: on its release, and on threads and device as far as these change the training of an index.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import neighbours
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log, progress
from bitextbench.formats.vectors import Embeddings, check_pair
from bitextbench.neighbours.engine import processor
from bitextbench.neighbours.lists import Both, Neighbours, best_k
from bitextbench.neighbours.metric import METRIC, Side, blocks, similarities

WIDTH = 4  # times k candidates are scored again
ROWS = 16_384  # of a query, or added at a time
TRAINED = 1 << 16  # rows that an index is trained on, at least; and PER_LIST of an inverted list
PER_LIST = 64
SAMPLE = 500  # rows of each side that recall is measured on
SETTINGS = {"nprobe": 16, "efSearch": 64}  # usual ones: lists that are looked at, breadth of the search of a graph


def search(
    src: Embeddings,
    tgt: Embeddings,
    k: int,
    factory: str,
    *,
    metric: str = "cosine",
    device: str = "cpu",
    threads: int = 1,
    **more: Any,
) -> tuple[Both, float]:
    """Neighbours as `neighbours.search` has them, but approximate; and their recall, of 1, on a sample of both sides.

    A row for which the index finds fewer than k is searched exactly; `more` is for that. Raises InputError for a string
    that faiss does not know, for fewer vectors than an index learns from, and as the exact search does.
    """
    import faiss

    check_pair(src, tgt)
    gpu = processor(device, threads) == "cuda"
    faiss.omp_set_num_threads(threads)
    sides = [Side(side, side.norms(), METRIC[metric]) for side in (src, tgt)]
    exact: dict[str, Any] = {"metric": metric, "device": device, "threads": threads} | more
    directions = [
        _one_way(faiss, left, right, min(k, len(right)), factory, gpu, threads, exact)
        for left, right in (sides, sides[::-1])
    ]
    both = Both(*directions)
    recall = (_recall(both.forward, src, tgt, exact) + _recall(both.backward, tgt, src, exact)) / 2
    log(f"index {factory}: {recall:.1%} of the true neighbours are found, on a sample")
    return both, recall


def _one_way(
    faiss: Any, left: Side, right: Side, k: int, factory: str, gpu: bool, threads: int, exact: dict[str, Any]
) -> Neighbours:
    """The k nearest of `right` for each row of `left`."""
    width = min(WIDTH * k, len(right))
    index = _index(faiss, right, factory, width, gpu)
    ids, scores = np.empty((len(left), k), np.int64), np.empty((len(left), k), np.float32)
    lacking = []
    for rows in progress([*blocks(len(left), ROWS)], f"neighbours by {factory}", unit="blocks"):
        _, held = index.search(left.matrix(rows), width)
        here = np.repeat(np.arange(rows.start, rows.stop), width)
        present = held.ravel() >= 0
        values = np.full(len(here), -np.inf, np.float32)
        values[present] = similarities(left, right, here[present], held.ravel()[present], threads)
        best = best_k(values.reshape(held.shape), np.where(held < 0, np.iinfo(np.int64).max, held), k)
        ids[rows], scores[rows] = best.ids, best.similarities
        lacking.append(rows.start + np.flatnonzero(np.isneginf(best.similarities).any(axis=1)))
    if len(few := np.concatenate(lacking)):
        log(
            f"index {factory}: {len(few):,} of {len(left):,} sentences have fewer than {k} neighbours in it; searched exactly"
        )
        whole = neighbours.search(left.vectors.select(few), right.vectors, k, **exact).forward
        ids[few], scores[few] = whole.ids, whole.similarities
    return Neighbours(ids, scores)


def _index(faiss: Any, side: Side, factory: str, width: int, gpu: bool) -> Any:
    """An index of one side, trained on a sample, on all GPUs where faiss has them."""
    name, _, settings = factory.partition(":")
    distance = faiss.METRIC_L2 if side.metric.halved else faiss.METRIC_INNER_PRODUCT
    try:
        if re.search(r"HNSW[01](?!\d)", name):  # faiss ends the process
            raise RuntimeError("a graph needs 2 links and more")
        index = faiss.index_factory(side.vectors.dimension, name, distance)
        rows = _sample(len(side), max(TRAINED, PER_LIST * _lists(faiss, index)))
        if gpu and hasattr(faiss, "index_cpu_to_all_gpus"):
            index = faiss.index_cpu_to_all_gpus(index)
        index.train(side.matrix_of(rows))
        for part in progress([*blocks(len(side), ROWS)], f"index {factory}", unit="blocks"):
            index.add(side.matrix(part))
        _set(faiss, index, settings, width)
        index.search(side.matrix(slice(0, 1)), width)  # which refuses settings out of range
    except RuntimeError as error:
        said = str(error).rstrip(" '").splitlines()[-1].split("failed: ")[-1].split("Error: ")[-1].strip()
        said = re.sub(r"^Error in .*\.\w+:\d+: ", "", said)  # where in the source of faiss
        remedy = "check the name in faiss' guide to its index factory, or name a smaller index, or leave out --index"
        raise InputError(
            f"`{factory}` does not work for {len(side):,} vectors ({said})", "--index", remedy=remedy
        ) from None
    return index


def _lists(faiss: Any, index: Any) -> int:
    """The inverted lists of an index; 0 where it has none."""
    try:
        return int(faiss.extract_index_ivf(index).nlist)
    except RuntimeError:
        return 0


def _set(faiss: Any, index: Any, settings: str, width: int) -> None:
    """Set the usual settings of this kind of index, then the given ones (`nprobe=32,...`)."""
    space = faiss.GpuParameterSpace() if "Gpu" in type(index).__name__ else faiss.ParameterSpace()
    for name, value in SETTINGS.items():
        try:
            space.set_index_parameter(index, name, max(value, width) if name == "efSearch" else value)
        except RuntimeError:  # an index of another kind
            continue
    if settings:
        space.set_index_parameters(index, settings)


def _sample(n: int, count: int) -> NDArray[np.int64]:
    """At most `count` of n rows, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(np.int64))


def _recall(approximate: Neighbours, left: Embeddings, right: Embeddings, exact: dict[str, Any]) -> float:
    """The share of the k nearest neighbours that the index found, on a sample of rows; ties with the k-th count."""
    rows = _sample(len(approximate), SAMPLE)
    k = approximate.ids.shape[1]
    truth = neighbours.search(left.select(rows), right, k, **exact).forward.similarities
    return float((approximate.similarities[rows] >= truth[:, -1:]).mean())


def neighbours_of(
    src: Embeddings, tgt: Embeddings, k: int, index: str | None, **options: Any
) -> tuple[Both, dict[str, float]]:
    """The neighbours of both directions: all true ones without an index; with one, also which share of them it found."""
    if index is None:
        return neighbours.search(src, tgt, k, **options), {}
    both, found = search(src, tgt, k, index, **options)
    return both, {"neighbours_found": found}
