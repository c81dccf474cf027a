"""Log-probabilities of pairs under four models: `nmt.likelihood_models` computes them, similarities combine them."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError

MODELS = ("forward", "backward", "src", "tgt")  # translation from src to tgt, from tgt to src; language models

FLOOR = -100.0  # nats a token, lower than any model gives: the value of a pair that the models cannot take


@dataclass(frozen=True)
class Likelihoods:
    """For each pair (f, e): ln p(e|f), ln p(f|e), ln p(f), ln p(e), float32 [n]; the tokens of f and of e, int32 [n].

    Tokens are pieces and the end of the sentence; the probabilities include that end. All four are -inf for a pair
    with a side that is empty or longer than the models take.
    """

    forward: NDArray[np.float32]
    backward: NDArray[np.float32]
    src: NDArray[np.float32]
    tgt: NDArray[np.float32]
    src_tokens: NDArray[np.int32]
    tgt_tokens: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.forward)

    def per_token(self, models: Sequence[str] = MODELS) -> NDArray[np.float64]:
        """The log-probabilities under `models` by predicted token, float64 [models, n]; FLOOR for -inf."""
        predicted = {"forward": self.tgt_tokens, "tgt": self.tgt_tokens}
        means = [getattr(self, name) / predicted.get(name, self.src_tokens).astype(float) for name in models]
        return np.maximum(means, FLOOR)

    def save(self, path: Path) -> None:
        """Write a `.npz`, atomically; the same numbers give the same bytes."""
        arrays.save_npz(path, **vars(self))

    @classmethod
    def load(cls, path: Path) -> "Likelihoods":
        """Raises InputError for a damaged file, columns of different lengths, and NaN (with the row of the pair)."""
        names = [field.name for field in fields(cls)]
        layout = {name: ("f4" if name in MODELS else "i4", "pairs") for name in names}
        columns = arrays.load_npz(path, "score this shard again", layout)
        for name in MODELS:
            if len(bad := np.flatnonzero(np.isnan(columns[name]))):
                raise InputError(f"`{name}` is NaN", path, line=int(bad[0]) + 1, remedy="train this model again")
        return cls(**{name: columns[name] for name in names})
