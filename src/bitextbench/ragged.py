"""Sentences as numbers: one flat array of token ids and the offsets of the sentences in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.errors import InputError
from bitextbench.files import atomic, existing


@dataclass(frozen=True)
class Ragged:
    """`flat` int32 [tokens], `offsets` int64 [sentences + 1]; sentence i is `flat[offsets[i]:offsets[i + 1]]`."""

    flat: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, sentences: Iterable[Iterable[int]]) -> "Ragged":
        rows = [np.asarray(list(row), dtype=np.int32) for row in sentences]
        lengths = np.array([0, *map(len, rows)], dtype=np.int64)
        return cls(np.concatenate([np.empty(0, np.int32), *rows]), np.cumsum(lengths))

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
        lengths = self.lengths[indices]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return Ragged(self.flat[np.repeat(self.offsets[indices], lengths) + within], offsets)

    def save(self, stem: str | Path) -> None:
        """Write `<stem>.ids.npy` and `<stem>.offsets.npy`, atomically."""
        for name, array in (("ids", self.flat), ("offsets", self.offsets)):
            with atomic(f"{stem}.{name}.npy") as part, open(part, "wb") as file:
                np.save(file, array)

    @classmethod
    def load(cls, stem: str | Path) -> "Ragged":
        """Memory-map what `save` wrote. Raises InputError when the two files do not fit together."""
        flat, offsets = (np.load(existing(f"{stem}.{name}.npy"), mmap_mode="r") for name in ("ids", "offsets"))
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(flat):
            raise InputError(
                "ids and offsets do not belong together", f"{stem}.offsets.npy", remedy="run the text step again"
            )
        return cls(flat, offsets)
