"""Sentence vectors from a trained encoder, shard by shard.

On a CPU the bytes are the same for any batch size and any number of threads, for three reasons. The sentences of a
batch have one length, so there is no padding. Batches are filled up to a multiple of ROWS sentences, as MKL has other
kernels for odd numbers of rows. And batches are so small that torch does not split element-wise operations. (oneDNN's
LSTM does depend on the number of rows: by up to 1e-6.)
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.device import autocast, exact, number_format, setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log, progress
from bitextbench.encoders import Encoder, load
from bitextbench.encoders.batches import SentenceIds, batches_of_one_length
from bitextbench.formats.ids import Ragged

MOST_TOKENS = 512  # of a sentence; a line of a crawl may have 65,536 bytes, and a model reads them all for a minute
BATCH_TOKENS = {"cpu": 8192, "cuda": 65_536}  # an H200 encodes 25 to 60% more sentences a second than by 8,192
ROWS = 16  # MKL sums the last rows of a product in another order where they are not a whole group
SPLIT = 32_768  # elements from which torch splits an element-wise operation among threads


class Loaded(NamedTuple):
    """An encoder on its device, ready to encode in a number format; `path`: its file."""

    model: Encoder
    device: torch.device
    dtype: torch.dtype
    path: str | Path


def loaded(path: str | Path, *, threads: int = 1, device: str = "cpu", precision: str = "fp32") -> Loaded:
    """A trained encoder. Raises InputError for another kind of file, and for a device that is not there."""
    where = setup(threads, device)
    dtype = number_format(precision, where)
    model = load(path, where)
    return Loaded(model.to(dtype) if model.narrow else model, where, dtype, path)


def encode(
    encoder: Loaded, stem: str | Path, side: str, out: Path, *, batch_tokens: int | None = None
) -> dict[str, int]:
    """Write float32 [sentences, d] to `out`, atomically: a row for each sentence of the ids at `stem`, in their order.

    Memory: the model, one batch, 12 bytes a sentence; ids and vectors are memory-mapped. An empty sentence has a zero
    vector; of a long one the first MOST_TOKENS count. Returns {"sentences", "tokens", "empty", "cut"}.

    Raises InputError for an id outside the vocabulary of the model, an unknown side, and a vector that is not finite.
    """
    model, where, dtype, path = encoder
    if side not in model.sides:
        raise InputError(f"the model has no side {side}", path, remedy=f"it has: {', '.join(model.sides)}")
    ids = Ragged.load(stem)
    ids.check(model.vocab_size, "use the BPE that the model was trained with")
    sentences, longer = model.read("encode", [stem]).cut(MOST_TOKENS)
    cut = int(longer.sum())
    empty = int((sentences.lengths == 0).sum())
    with arrays.create(out, (len(sentences), model.dimension), np.float32) as vectors:
        batches = write_vectors(model, sentences, side, vectors, batch_tokens or BATCH_TOKENS[where.type], where, dtype)
        rows = itertools.chain.from_iterable(batches)
        for _ in progress(rows, f"encode {Path(stem).name}", total=len(sentences) - empty, unit="sentences"):
            pass
    if empty:
        log(f"encode {Path(stem).name}: {empty:,} empty sentences have a zero vector")
    if cut:
        log(f"encode {Path(stem).name}: {cut:,} sentences have more than {MOST_TOKENS} tokens, and were cut")
    return {"sentences": len(sentences), "tokens": len(ids.flat), "empty": empty, "cut": cut}


@torch.inference_mode()
def write_vectors(
    model: Encoder,
    sentences: SentenceIds,
    side: str,
    vectors: NDArray[np.float32],
    batch_tokens: int,
    device: torch.device,
    dtype: torch.dtype,
) -> Iterator[NDArray[np.int64]]:
    """Fill `vectors` [sentences, d], except for empty sentences; yield the rows of each batch once they are written.

    Raises InputError for a vector that is not finite.
    """
    was_training = model.training
    model.eval()
    cast = autocast(device, dtype if next(model.parameters()).dtype == torch.float32 else torch.float32)
    most = model.rows or max(1, SPLIT // model.dimension) if exact(device) else len(sentences)
    for rows in batches_of_one_length(sentences.lengths, batch_tokens, most):
        more = -len(rows) % ROWS if exact(device) else 0
        batch = sentences.padded(np.concatenate([rows, rows[-1:].repeat(more)]))
        with cast:
            encoded = model.encode(side, batch.on(device))[: len(rows)].float().cpu().numpy()
        if len(bad := np.flatnonzero(~np.isfinite(encoded).all(axis=1))):
            what = f"the vector of sentence {rows[bad[0]] + 1:,} is not finite"
            raise InputError(what, remedy="train again with a lower learning rate")
        vectors[rows] = encoded
        yield rows
    model.train(was_training)
