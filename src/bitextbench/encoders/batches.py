"""Batches of examples, bucketed by length: a function of (data, seed, step), so that a run can resume at any step."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import exact, placed, torch
from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.ids import PAD, Ragged

CHUNK = 100  # batches that are sorted by length together
SENTENCES = 1 << 20  # whose lengths are counted at a time
LANES = 16  # numbers in the widest vector register of a CPU


class Padded(NamedTuple):
    """`ids` int64 [b, t], PAD after the end; `lengths` int64 [b] in tokens, and `sizes` int64 [b] in ids, which are more
    where tokens have n-grams. Both stay on the CPU: shapes that depend on them are known without asking a GPU.
    """

    ids: torch.Tensor
    lengths: torch.Tensor
    sizes: torch.Tensor | None = None  # the lengths, if None

    def on(self, device: torch.device) -> "Padded":
        """The batch with its ids on a device."""
        return self._replace(ids=placed(self.ids, device))

    def pinned(self) -> "Padded":
        """The batch in memory that a GPU reads by itself."""
        return self._replace(ids=self.ids.pin_memory())


def inside(sizes: torch.Tensor, width: int, device: torch.device) -> torch.Tensor:
    """The places [n] in a flattened [b, width] that are no padding, on the device; `sizes` [b] is on the CPU."""
    count, sizes = int(sizes.sum()), placed(sizes, device)
    rows = torch.repeat_interleave(torch.arange(len(sizes), device=device), sizes, output_size=count)
    return rows * width + torch.arange(count, device=device) - (sizes.cumsum(0) - sizes)[rows]


def stack(*parts: Padded) -> Padded:
    """Several batches as one, padded to the longest."""
    width = max(part.ids.shape[1] for part in parts)
    ids = [torch.nn.functional.pad(part.ids, (0, width - part.ids.shape[1]), value=PAD) for part in parts]
    sizes = [part.lengths if part.sizes is None else part.sizes for part in parts]
    return Padded(torch.cat(ids), torch.cat([part.lengths for part in parts]), torch.cat(sizes))


def aligned(width: int, device: torch.device) -> int:
    """On a CPU the next multiple of LANES; else the gradient of torch's softmax depends on the number of threads."""
    return -(-width // LANES) * LANES if exact(device) else width


class SentenceIds:
    """The sentences of a corpus as ids: memory-mapped shards (`parts`), numbered by the id of the pair.

    `lengths` int32 [sentences], in tokens: the ids of a sentence; with `below`, only ids below it count, which begin a
    token (see `ngrams`).
    """

    def __init__(self, parts: Iterable[Ragged], below: int | None = None) -> None:
        self.parts, self.below = [part for part in parts if len(part)], below
        self.starts = np.cumsum([0, *map(len, self.parts)])
        self.order = bitext.order_of_ids([*map(len, self.parts)]) if len(self.parts) > 1 else None
        self.lengths = np.concatenate([np.empty(0, np.int32), *map(self._lengths, self.parts)])[self._places(...)]

    @classmethod
    def load(cls, stems: Iterable[str | Path | Ragged], below: int | None = None) -> "SentenceIds":
        """The shards at `stems`, or ids in memory. Raises InputError as Ragged.load does."""
        return cls((stem if isinstance(stem, Ragged) else Ragged.load(stem) for stem in stems), below)

    def __add__(self, other: "SentenceIds") -> "SentenceIds":
        """The sentences of this corpus, then those of the other."""
        both = SentenceIds([*self.parts, *other.parts], self.below)
        first, second = (corpus._places(np.arange(len(corpus))) for corpus in (self, other))
        both.order = np.concatenate([first, len(self) + second])
        both.lengths = np.concatenate([self.lengths, other.lengths])
        return both

    def _places(self, indices: Any) -> Any:
        """The places of sentences in the concatenated parts."""
        return indices if self.order is None else self.order[indices]

    def _lengths(self, part: Ragged) -> NDArray[np.int32]:
        if self.below is None:
            return part.lengths.astype(np.int32)
        lengths = np.empty(len(part), np.int32)
        for start in range(0, len(part), SENTENCES):  # the ids of a large corpus may be larger than memory
            offsets = part.offsets[start : start + SENTENCES + 1]
            tokens = np.cumsum(part.flat[offsets[0] : offsets[-1]] < self.below, dtype=np.int32)
            before = np.concatenate([np.zeros(1, np.int32), tokens])
            lengths[start : start + SENTENCES] = np.diff(before[offsets - offsets[0]])
        return lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        place = self._places(index)
        part = int(np.searchsorted(self.starts, place, side="right")) - 1
        return self.parts[part][place - self.starts[part]]

    def check(self, below: int, remedy: str) -> None:
        """Raises InputError, with the file, for an id that is negative, or not less than `below`."""
        for part in self.parts:
            part.check(below, remedy)

    def head(self, count: int) -> "SentenceIds":
        """The first `count` sentences, in memory."""
        return SentenceIds([Ragged.of(self[i] for i in range(min(count, len(self))))], self.below)

    def cut(self, most: int) -> tuple["SentenceIds", NDArray[np.bool_]]:
        """The first `most` tokens of each sentence, and which sentences have more, bool [sentences]."""
        longer = self.lengths > most
        return (
            SentenceIds([self._begin(part, most) for part in self.parts], self.below) if longer.any() else self
        ), longer

    def _begin(self, part: Ragged, most: int) -> Ragged:
        """The first `most` tokens of each sentence of a part."""
        begins = np.flatnonzero(part.flat < self.below) if self.below else np.arange(len(part.flat))
        starts, ends = part.offsets[:-1], part.offsets[1:].copy()
        longer = self._lengths(part) > most
        ends[longer] = begins[np.searchsorted(begins, starts[longer]) + most]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])
        places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts)
        return Ragged(part.flat[places], offsets, part.name)

    def padded(self, indices: NDArray[np.integer]) -> Padded:
        """The sentences at `indices` as one tensor, in that order."""
        places = self._places(indices)
        part = np.searchsorted(self.starts, places, side="right") - 1
        drawn = {
            number: self.parts[number].take(places[part == number] - self.starts[number]) for number in np.unique(part)
        }
        width = max((int(rows.lengths.max()) for rows in drawn.values()), default=0)
        ids = np.full((len(indices), max(1, width)), PAD, np.int64)
        for number, rows in drawn.items():
            inside = np.zeros(ids.shape, bool)
            inside[part == number] = np.arange(ids.shape[1]) < rows.lengths[:, None]
            ids[inside] = rows.flat
        lengths = self.lengths[indices].astype(np.int64)
        sizes = lengths
        if self.below is not None:
            sizes = np.empty_like(lengths)
            for number, rows in drawn.items():
                sizes[part == number] = rows.lengths
        return Padded(*map(torch.from_numpy, (ids, lengths, sizes)))


class Buckets:
    """An endless stream of batches of `size` examples; an example has one sentence of each column, at the same index.

    The stream is a sequence of seeded permutations of the examples, cut into chunks of `together` batches. A chunk is
    sorted by length (the last column first), and its batches are shuffled. So the sentences of a batch have about one
    length (with `together` 1, any length), all batches have the same size, and every example occurs once in an epoch.
    With `even`, all batches of a chunk have about as many tokens of the last column instead; the end of each sentence
    counts as one. Long sentences come in batches of fewer examples, and the average batch has `size`. Memory: about 20
    bytes an example.

    Examples with an empty sentence, or one of more than `max_tokens`, are left out, and counted in `dropped`. Examples
    that are False in `among` bool [examples] are left out, too, but not counted: another stream draws them.

    Raises InputError when no example is left, and for columns of different lengths.
    """

    def __init__(
        self,
        columns: Sequence[SentenceIds],
        size: int,
        max_tokens: int,
        seed: Sequence[int],
        name: str,
        together: int = CHUNK,
        among: NDArray[np.bool_] | None = None,
        even: bool = False,
    ) -> None:
        if len({len(column) for column in columns}) > 1:
            counts = " and ".join(f"{len(column):,}" for column in columns)
            raise InputError(f"unequal sides: {counts} sentences", name, remedy="run the text step again")
        shortest, longest = (f([column.lengths for column in columns], axis=0) for f in (np.min, np.max))
        eligible = True if among is None else among
        kept = np.flatnonzero((shortest > 0) & (longest <= max_tokens) & eligible)
        self.columns, self.size, self.seed, self.even = list(columns), size, list(seed), even
        self.dropped = {
            "empty": int(((shortest == 0) & eligible).sum()),
            "too_long": int(((shortest > 0) & (longest > max_tokens) & eligible).sum()),
        }
        self.kept = kept.astype(np.int32 if len(shortest) < 2**31 else np.int64)
        if not len(kept):
            remedy = "give it sentences, or raise max_tokens" if len(shortest) else "give it sentences"
            raise InputError(f"nothing to train on (left out: {self.dropped})", name, remedy=remedy)
        self.chunk = size * min(together, max(1, len(kept) // size))
        self._epoch, self._chunk = lru_cache(2)(self._permute), lru_cache(1)(self._sort)

    def __len__(self) -> int:
        return len(self.kept)

    def batch(self, step: int) -> tuple[Padded, ...]:
        """Batch number `step`: `size` sentences of each column."""
        indices = self.rows(step)
        return tuple(column.padded(indices) for column in self.columns)

    def rows(self, step: int) -> NDArray[np.integer]:
        """The indices of the examples of batch number `step`: [size], or of about as many with `even`."""
        chunk, row = divmod(step * self.size, self.chunk)
        return self._chunk(chunk)[row // self.size]

    def _permute(self, epoch: int) -> NDArray[np.integer]:
        return np.random.default_rng([*self.seed, epoch]).permutation(self.kept)

    def _sort(self, chunk: int) -> Sequence[NDArray[np.integer]]:
        """The indices of each batch of a chunk."""
        epochs, places = np.divmod(np.arange(chunk * self.chunk, (chunk + 1) * self.chunk), len(self))
        drawn = np.concatenate([self._epoch(int(epoch))[places[epochs == epoch]] for epoch in np.unique(epochs)])
        order = np.lexsort([column.lengths[drawn] for column in self.columns])
        rng, count = np.random.default_rng([*self.seed, chunk, 1]), self.chunk // self.size
        if not self.even:
            return [*rng.permutation(drawn[order].reshape(-1, self.size))]
        tokens = np.cumsum(self.columns[-1].lengths[drawn[order]] + 1, dtype=np.int64)
        batches = np.split(drawn[order], np.searchsorted(tokens, tokens[-1] * np.arange(1, count) / count))
        if min(map(len, batches)) == 0:  # a sentence is longer than a batch should be
            batches = np.array_split(drawn[order], count)
        return [batches[place] for place in rng.permutation(count)]


class Stream(Protocol):
    """The source of the examples of one objective, as `Buckets` is."""

    dropped: dict[str, int]

    def __len__(self) -> int: ...

    def batch(self, step: int) -> tuple[Padded, ...]: ...


def batches_of_one_length(lengths: NDArray[np.integer], tokens: int, rows: int) -> Iterator[NDArray[np.int64]]:
    """Indices of non-empty sentences of one length, at most `rows` and `tokens` tokens (or one sentence).

    `lengths` [n]; or [k, n], of examples of k sentences, which are equal in all of them.
    """
    columns = np.atleast_2d(lengths)
    order = np.lexsort(columns)
    ordered = columns[:, order]
    # the beginning of each length; empty sentences come first
    starts = np.flatnonzero((np.diff(ordered, axis=1, prepend=0) != 0).any(axis=0))
    for start, end in itertools.pairwise([*starts.tolist(), len(order)]):
        step = min(rows, max(1, tokens // int(ordered[:, start].sum())))
        yield from (order[first : min(first + step, end)] for first in range(start, end, step))
