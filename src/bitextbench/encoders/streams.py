"""Streams of batches made from other streams: with hard or random negatives, of two kinds in turn, all at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bitextbench.encoders.batches import Buckets, Padded, SentenceIds, Stream


class HardPairs:
    """A stream of the pairs that have hard negatives: (src, tgt, hard negatives in tgt[, those in src]).

    `negatives`: for each of the last columns, the numbers of the negatives of each pair. Those of more than
    `max_tokens` are left out.
    """

    def __init__(self, pairs: Buckets, negatives: Sequence[SentenceIds], max_tokens: int) -> None:
        self.pairs, self.negatives, self.max_tokens, self.dropped = pairs, list(negatives), max_tokens, pairs.dropped

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, step: int) -> tuple[Padded, ...]:
        rows = self.pairs.rows(step)
        src, tgt = self.pairs.columns
        drawn = [(tgt, self.negatives[0]), *((src, rest) for rest in self.negatives[1:])]
        return tuple(column.padded(rows) for column in (src, tgt)) + tuple(
            column.padded(short(column, np.concatenate([negatives[int(i)] for i in rows]), self.max_tokens))
            for column, negatives in drawn
        )


class WithNegative:
    """A stream of pairs with a wrong target for each, that of the next pair of the batch: (src, tgt, wrong)."""

    def __init__(self, pairs: Buckets) -> None:
        self.pairs, self.dropped = pairs, pairs.dropped

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, step: int) -> tuple[Padded, ...]:
        rows, (src, tgt) = self.pairs.rows(step), self.pairs.columns
        return src.padded(rows), tgt.padded(rows), tgt.padded(np.roll(rows, -1))


def short(column: SentenceIds, rows: NDArray[np.integer], max_tokens: int) -> NDArray[np.integer]:
    """The `rows` whose sentences are neither empty nor too long."""
    return rows[(column.lengths[rows] > 0) & (column.lengths[rows] <= max_tokens)]


class Mixture:
    """Two streams that alternate in proportion to their sizes: all examples occur equally often."""

    def __init__(self, first: Stream, second: Stream) -> None:
        self.first, self.second, self.share = first, second, len(first) / (len(first) + len(second))
        self.dropped = {reason: first.dropped[reason] + second.dropped[reason] for reason in first.dropped}

    def __len__(self) -> int:
        return len(self.first) + len(self.second)

    def batch(self, step: int) -> tuple[Padded, ...]:
        before, after = int(step * self.share), int((step + 1) * self.share)
        return self.first.batch(before) if after > before else self.second.batch(step - before)


class Augmented:
    """The batches of a stream; those of others are further columns: random negatives (guo2018 section 3.3)."""

    def __init__(self, pairs: Stream, *more: Stream) -> None:
        self.pairs, self.more, self.dropped = pairs, more, pairs.dropped

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, step: int) -> tuple[Padded, ...]:
        return sum((stream.batch(step) for stream in self.more), self.pairs.batch(step))


class FullBatch:
    """All examples of a stream, by length, as one batch: L-BFGS needs the same function in every update."""

    def __init__(self, pairs: Buckets) -> None:
        self.pairs, self.dropped = pairs, pairs.dropped
        order = np.lexsort([column.lengths[pairs.kept] for column in pairs.columns])
        rows = np.take(pairs.kept, order).astype(np.int64)
        self.whole = tuple(column.padded(rows) for column in pairs.columns)

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, step: int) -> tuple[Padded, ...]:
        return self.whole
