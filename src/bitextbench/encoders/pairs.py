"""How similar the two sides of tokenised pairs are to an encoder: zhang2016 section 5 (eq. 13) and section 6.1."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.base.device import torch
from bitextbench.encoders import Encoder
from bitextbench.encoders.batches import SentenceIds
from bitextbench.encoders.encode import MOST_TOKENS, write_vectors
from bitextbench.text.features import ids_by, kind_of

PAIRS = 256  # that are reconstructed at a time
ROWS = 1 << 16  # whose distances are computed at a time


def ids(encoder: Encoder, texts: Sequence[Sequence[str]], pieces: Path, lowercase: bool) -> list[SentenceIds]:
    """The ids of texts of tokenised sentences by the text model `pieces`, as the encoder reads them."""
    ids_of = ids_by(pieces, kind_of(pieces), lowercase=lowercase)
    read = (encoder.read("encode", [ids_of(pa.array(lines, pa.string()))]) for lines in texts)
    return [sentences.cut(MOST_TOKENS)[0] for sentences in read]


def distances(
    encoder: Encoder,
    sources: SentenceIds,
    targets: SentenceIds,
    rows: NDArray[np.integer],
    device: Any,
    target_rows: NDArray[np.integer] | None = None,
) -> NDArray[np.float32]:
    """-|x - y|^2 / 2 of the source at `rows` [m] and each target [m], or the target at `target_rows` [m]: eq. 13,
    higher for more similar ones.
    """
    x, y = (_vectors(encoder, side, sentences, device) for side, sentences in (("src", sources), ("tgt", targets)))
    places = np.arange(len(y)) if target_rows is None else target_rows
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), ROWS):
        part = slice(start, start + ROWS)
        out[part] = -np.square(x[rows[part]] - y[places[part]]).sum(1) / 2
    return out


def _vectors(encoder: Encoder, side: str, sentences: SentenceIds, device: Any) -> NDArray[np.float32]:
    vectors = np.zeros((len(sentences), encoder.dimension), np.float32)
    for _ in write_vectors(encoder, sentences, side, vectors, 8192, device, torch.float32):
        pass
    return vectors


def rebuilt(
    encoder: Any, sources: SentenceIds, targets: SentenceIds, rows: NDArray[np.integer], device: Any
) -> NDArray[np.float32]:
    """The quality of reconstruction of each target [m] and the source at `rows` [m] by a bag-of-words autoencoder."""
    out = np.empty(len(rows), np.float32)
    with torch.inference_mode():
        for start in range(0, len(rows), PAIRS):
            part = slice(start, start + PAIRS)
            x, y = sources.padded(rows[part]), targets.padded(np.arange(len(rows))[part])
            out[part] = encoder.similarity(x.on(device), y.on(device)).cpu().numpy()
    return out
