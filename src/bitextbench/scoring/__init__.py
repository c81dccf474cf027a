"""Similarities of given pairs, by name: one raw float a pair, higher is better (logits, never saturated probabilities).

A similarity is a module of this package with

    score(pairs: Pairs, model: Path | None) -> float32 [n]

and, when it learns, `fit(src, tgt, labels, spec, seed, out)`, which writes the `model` that `score` reads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.formats.likelihoods import Likelihoods

Vectors = NDArray[np.float32]
Score = Callable[["Pairs", Path | None], NDArray[np.float32]]

NAMES = (
    "confidence", "cosine", "dual_cross_entropy", "levenshtein", "margin", "mlp", "nmt_lm", "oracle", "random", "zipporah",
)  # fmt: skip


class Text(NamedTuple):
    """Tokenised lines [n] of both sides, joined by spaces; null is empty."""

    src: pa.ChunkedArray
    tgt: pa.ChunkedArray


@dataclass(frozen=True)
class Pairs:
    """`ids` int64 [n]; `src`, `tgt` float32 [n, d], where row i of both is pair i (None for what needs no vectors).

    `likelihoods` [n] for what compares log-probabilities, `tokens` [n] for what compares words; `labels` [n]: what the pairs
    are known to be, "" where nothing is.
    """

    ids: NDArray[np.int64]
    src: Vectors | None = None
    tgt: Vectors | None = None
    likelihoods: Likelihoods | None = None
    tokens: Text | None = None
    labels: Sequence[str] | None = None

    def vectors(self) -> tuple[Vectors, Vectors]:
        """Both sides. Raises InputError when this similarity was given none."""
        if self.src is None or self.tgt is None:
            raise InputError("this similarity compares sentence vectors", remedy="name an `encoder` in its method")
        return self.src, self.tgt

    def of_models(self) -> Likelihoods:
        """The likelihoods. Raises InputError when this similarity was given none."""
        if self.likelihoods is None:
            raise InputError("this similarity combines log-probabilities", remedy="name `likelihoods` in its method")
        return self.likelihoods

    def text(self) -> Text:
        """The tokens. Raises InputError when this similarity was given none."""
        if self.tokens is None:
            raise InputError(
                "this similarity compares words", remedy="give it the tokens; name a `bitext` in its method"
            )
        return self.tokens

    def labelled(self) -> Sequence[str]:
        """The labels. Raises InputError when this similarity was given none."""
        if self.labels is None:
            raise InputError("this similarity looks at labels", remedy="give it a corpus with labels")
        return self.labels


def similarity(name: str) -> ModuleType:
    """The module of a similarity. Raises InputError for an unknown name."""
    if name not in NAMES:
        raise InputError(f"unknown similarity {name!r}", remedy=f"known: {', '.join(NAMES)}")
    return import_module(f"{__name__}.similarities.{name}")


def checked(scores: NDArray[np.floating], name: str) -> NDArray[np.float32]:
    """The scores as float32. Raises InputError for one that is not finite."""
    if len(bad := np.flatnonzero(~np.isfinite(scores))):
        raise InputError(f"{name} score of pair {bad[0]} is not finite", remedy="look at the vectors of this pair")
    return scores.astype(np.float32)
