"""The calibrated confidence of Guo et al. 2018, section 2.4.2 and figure 3: a dot product, scaled and shifted by its source.

The dual encoder that made the vectors has learned scale and bias with them (`encoders.dan_dual`); it is the model.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.errors import InputError
from bitextbench.similarity import Pairs, checked

BLOCK = 65_536  # sources at a time
Logits = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.float32]]


def score(pairs: Pairs, model: Path | None) -> NDArray[np.float32]:
    """The logit of the confidence of each pair. Raises InputError as `calibrated`."""
    src, tgt = pairs.vectors()
    if model is None:
        raise InputError("the confidence is the encoder's", remedy="give its model")
    logits = calibrated(model, src.shape[1])
    parts = [logits(src[at : at + BLOCK], tgt[at : at + BLOCK, None])[:, 0] for at in range(0, len(src), BLOCK)]
    return checked(np.concatenate([np.empty(0, np.float32), *parts]), "confidence")


def calibrated(model: Path, dimension: int) -> Logits:
    """A function of sources [n, d] and k targets of each [n, k, d]: the logits of their confidence [n, k].

    Raises InputError for a model without a confidence, or of vectors that have not `dimension`.
    """
    from bitextbench.device import setup, torch
    from bitextbench.encoders import load

    encoder = load(model, setup(1))
    calibration = getattr(encoder, "calibration", None)
    if calibration is None:
        raise InputError("has no calibrated confidence", model, remedy="train a dan_dual with `confidence: 0.1`")
    if dimension != encoder.dimension:
        raise InputError(
            f"is for vectors of {encoder.dimension} dimensions, not {dimension}", model, remedy="encode with it"
        )

    @torch.inference_mode()
    def logits(src: NDArray[np.float32], tgt: NDArray[np.float32]) -> NDArray[np.float32]:
        u, v = torch.from_numpy(np.array(src)), torch.from_numpy(np.array(tgt))
        scale, bias = calibration(torch.cat([u, u * u], 1)).split(1, 1)  # [n, 1]
        return (scale * (v @ u[:, :, None])[:, :, 0] + bias).numpy()

    return logits
