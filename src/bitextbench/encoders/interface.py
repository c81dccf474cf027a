"""The interface that encoders of this project and published ones share: plain sentences to vectors."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Encoded(NamedTuple):
    """A report on some encoded sentences: their number, and how many of them were cut."""

    rows: int
    cut: int = 0


class Calibration(NamedTuple):
    """What the scores of an encoder's pairs say: the margin that suits it, by `k` neighbours, the least score, and how
    likely a pair is right.

    `benchmarks/mining_defaults.py` measures them on held-out texts in which 3% of the sentences have a translation: where
    more have one, more pairs are right.
    """

    margin: str
    threshold: float
    slope: float
    midpoint: float
    k: int = 4

    def right(self, scores: NDArray[np.float32]) -> float:
        """How many of the pairs of some scores [n] are right: an estimate, by a logistic function of the score."""
        return float((1 / (1 + np.exp(-self.slope * (scores.astype(np.float64) - self.midpoint)))).sum())


class SentenceEncoder(Protocol):
    """An encoder of plain sentences."""

    name: str  # its folder, for messages
    key: str  # a name of files: encoders of one key give one vector to a sentence
    dimension: int
    calibration: Calibration | None  # where one was measured

    def side(self, language: str | None, wanted: str | None = None, *, usual: str | None = None) -> str:
        """The side of the model that encodes a language: the one that is `wanted`, or of several the `usual` one.

        Raises InputError for a language that it does not know, or needs and does not get; and where several sides have
        it and none is named.
        """
        ...

    def encode(
        self, lines: list[str], language: str | None, side: str, vectors: NDArray[np.float32]
    ) -> Iterator[Encoded]:
        """Fill `vectors` [len(lines), dimension], which are zeros, in any order; sentences without tokens stay so.

        Raises InputError for a vector that is not finite.
        """
        ...
