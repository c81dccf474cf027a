"""Sentence vectors from a trained encoder, shard by shard.

Same bytes for any batch size and any number of threads: a batch holds sentences of one length only, so there is no padding, and
the products of MKL do not depend on the number of rows in the mode that `device` sets (tested).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.batches import Sentences
from bitextbench.device import autocast, precision, setup, torch
from bitextbench.encoders import Encoder, load
from bitextbench.errors import InputError
from bitextbench.files import atomic
from bitextbench.progress import log, progress
from bitextbench.ragged import Ragged


def encode(
    model_path: str | Path,
    stem: str | Path,
    side: str,
    out: Path,
    *,
    batch_tokens: int = 8192,
    threads: int = 1,
    device: str = "cpu",
    precision_name: str = "fp32",
) -> dict[str, int]:
    """Write float32 [sentences, d] to `out`, one row a sentence of the ids at `stem`, in their order; atomically.

    Memory: the model, one batch, and two int64 a sentence; ids and vectors are memory-mapped. An empty sentence has a zero vector.
    Returns {"sentences", "tokens", "empty"}. Raises InputError for an id outside the model's vocabulary, a side that the model
    does not know, a vector that is not finite, a missing device.
    """
    where = setup(threads, device)
    dtype = precision(precision_name, where)
    model = load(model_path, where)
    if side not in model.sides:
        raise InputError(f"the model has no side {side}", model_path, remedy=f"it has: {', '.join(model.sides)}")
    sentences = Sentences([ids := Ragged.load(stem)])
    lengths = sentences.lengths
    if len(ids.flat) and not 0 <= ids.flat.min() <= (top := int(ids.flat.max())) < model.vocab_size:
        raise InputError(f"holds id {top}, but the model's vocabulary has {model.vocab_size:,}", f"{stem}.ids.npy", remedy="use the BPE of the model")
    with atomic(out) as part:
        vectors = np.lib.format.open_memmap(part, mode="w+", dtype=np.float32, shape=(len(sentences), model.dimension))
        rows = (row for batch in write_vectors(model, sentences, side, vectors, batch_tokens, where, dtype) for row in batch)
        for row in progress(rows, f"encode {Path(stem).name}", total=int((lengths > 0).sum()), unit="sentences"):
            if not np.isfinite(vectors[row]).all():
                raise InputError("the model gives a vector that is not finite", stem, line=int(row) + 1, remedy="train again with a lower learning rate")
        vectors.flush()
        del vectors
    counts = {"sentences": len(sentences), "tokens": len(ids.flat), "empty": int((lengths == 0).sum())}
    if counts["empty"]:
        log(f"encode: {counts['empty']:,} empty sentences of {len(sentences):,} have a zero vector")
    return counts


def batches_of_one_length(lengths: NDArray[np.integer], batch_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Indices of non-empty sentences, by length, at most `batch_tokens` tokens at a time (one sentence at least)."""
    order = np.argsort(lengths, kind="stable")
    ends = np.flatnonzero(np.diff(lengths[order], append=-1)) + 1
    start = 0
    for end in ends:
        if length := int(lengths[order[start]]) if end > start else 0:
            step = max(1, batch_tokens // length)
            yield from (order[first : min(first + step, end)] for first in range(start, end, step))
        start = end


@torch.no_grad()
def write_vectors(
    model: Encoder, sentences: Sentences, side: str, vectors: NDArray[np.float32], batch_tokens: int, device: torch.device, dtype: torch.dtype
) -> Iterator[NDArray[np.int64]]:
    """Fill `vectors` [sentences, d]; yields the rows of each batch when they are written. Rows of empty sentences stay as they are."""
    was_training = model.training
    model.eval()
    with autocast(device, dtype):
        for indices in batches_of_one_length(sentences.lengths, batch_tokens):
            batch = sentences.padded(indices)
            vectors[indices] = model.encode(side, batch._replace(ids=batch.ids.to(device))).float().cpu().numpy()
            yield indices
    model.train(was_training)
