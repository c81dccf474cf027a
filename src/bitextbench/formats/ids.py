"""Sentences as token ids: one flat array of ids, and the offsets of the sentences in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError

PAD, UNK, BOS, EOS = 0, 1, 2, 3

AGAIN = "run the text step again"


@dataclass(frozen=True)
class Ragged:
    """`flat` int32 [tokens], `offsets` int64 [sentences + 1]; sentence i is `flat[offsets[i]:offsets[i + 1]]`.

    `name` is the file of the ids, for messages.
    """

    flat: NDArray[np.int32]
    offsets: NDArray[np.int64]
    name: str = "ids"

    @classmethod
    def of(cls, sentences: Iterable[Iterable[int]]) -> "Ragged":
        rows = [*map(list, sentences)]
        lengths = np.array([0, *map(len, rows)], dtype=np.int64)
        return cls(np.fromiter(chain.from_iterable(rows), np.int32, lengths.sum()), np.cumsum(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return self.flat[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    @classmethod
    def concatenate(cls, parts: Iterable["Ragged"]) -> "Ragged":
        """All sentences of all parts, in order."""
        parts = list(parts)
        lengths = np.concatenate([np.zeros(1, np.int64), *(part.lengths for part in parts)])
        return cls(np.concatenate([np.empty(0, np.int32), *(part.flat for part in parts)]), np.cumsum(lengths))

    def take(self, indices: NDArray[np.integer]) -> "Ragged":
        """The sentences at `indices`, in that order."""
        lengths = self.offsets[indices + 1] - self.offsets[indices]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Ragged(self.flat[np.repeat(self.offsets[indices], lengths) + within], offsets)

    def save(self, stem: str | Path) -> None:
        """Write `<stem>.ids.npy` and `<stem>.offsets.npy`, each atomically."""
        arrays.save(f"{stem}.ids.npy", self.flat)
        arrays.save(f"{stem}.offsets.npy", self.offsets)

    @classmethod
    def load(cls, stem: str | Path) -> "Ragged":
        """Memory-map what `save` wrote. Raises InputError for a damaged file, and ids and offsets that do not fit."""
        flat = arrays.load(f"{stem}.ids.npy", AGAIN, np.int32, ["tokens"])
        offsets = arrays.load(f"{stem}.offsets.npy", AGAIN, np.int64, ["sentences + 1"])
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(flat) or (offsets[1:] < offsets[:-1]).any():
            raise InputError("ids and offsets do not belong together", f"{stem}.offsets.npy", remedy=AGAIN)
        return cls(flat, offsets, f"{stem}.ids.npy")

    def check(self, below: int, remedy: str) -> None:
        """Raises InputError for an id that is negative, or not less than `below`."""
        for wrong in (self.flat.min(initial=0), self.flat.max(initial=0)):
            if not 0 <= wrong < below:
                raise InputError(f"holds id {wrong:,}, but ids go from 0 to {below - 1:,}", self.name, remedy=remedy)
