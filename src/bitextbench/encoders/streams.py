"""Streams of batches made of other streams: pairs with hard negatives, with more random ones, two kinds in turn, all at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bitextbench.encoders.batches import Buckets, Padded, Sentences, Stream


class HardPairs:
    """Batches of the pairs that have hard negatives: (src, tgt, hard negatives in tgt[, those in src]), as a Stream.

    `negatives`: for each of the last columns its `Ragged` rows, by pair. Negatives of more than `max_tokens` are left out.
    """

    def __init__(self, pairs: Buckets, negatives: Sequence[Sentences], max_tokens: int) -> None:
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


class Wrong:
    """Batches of pairs, and a wrong target for each: (src, tgt, wrong), as a Stream.

    It is the target of the next pair of the batch, one of about its length; from batch `easy` on one of the hard negatives of the
    source, in turn, where it has some. `hard`: their numbers, by pair.
    """

    def __init__(self, pairs: Buckets, hard: Sentences | None, easy: int) -> None:
        self.pairs, self.hard, self.easy, self.dropped = pairs, hard, easy, pairs.dropped

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, step: int) -> tuple[Padded, ...]:
        rows, (src, tgt) = self.pairs.rows(step), self.pairs.columns
        wrong = np.roll(rows, -1)
        if self.hard is not None and step >= self.easy:
            drawn = (self.hard[int(row)] for row in rows)
            wrong = np.array(
                [ids[step % len(ids)] if len(ids) else other for ids, other in zip(drawn, wrong, strict=True)]
            )
        return src.padded(rows), tgt.padded(rows), tgt.padded(wrong)


def short(column: Sentences, rows: NDArray[np.integer], max_tokens: int) -> NDArray[np.integer]:
    """Those of `rows` that are not empty and not too long."""
    return rows[(column.lengths[rows] > 0) & (column.lengths[rows] <= max_tokens)]


class Mixture:
    """Two streams taking turns, in proportion to their sizes: each example of both occurs equally often."""

    def __init__(self, one: Stream, other: Stream) -> None:
        self.one, self.other, self.share = one, other, len(one) / (len(one) + len(other))
        self.dropped = {reason: one.dropped[reason] + other.dropped[reason] for reason in one.dropped}

    def __len__(self) -> int:
        return len(self.one) + len(self.other)

    def batch(self, step: int) -> tuple[Padded, ...]:
        before, after = int(step * self.share), int((step + 1) * self.share)
        return self.one.batch(before) if after > before else self.other.batch(step - before)


class Augmented:
    """The batches of one stream, followed by those of others: more random negatives (guo2018 section 3.3)."""

    def __init__(self, pairs: Stream, *more: Stream) -> None:
        self.pairs, self.more, self.dropped = pairs, more, pairs.dropped

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, step: int) -> tuple[Padded, ...]:
        return sum((stream.batch(step) for stream in self.more), self.pairs.batch(step))


class Whole:
    """All examples of a stream, by length, as its one batch: L-BFGS needs the same function in every update."""

    def __init__(self, pairs: Buckets) -> None:
        self.pairs, self.dropped = pairs, pairs.dropped
        order = np.lexsort([column.lengths[pairs.kept] for column in pairs.columns])
        rows = np.take(pairs.kept, order).astype(np.int64)
        self.held = tuple(column.padded(rows) for column in pairs.columns)

    def __len__(self) -> int:
        return len(self.pairs)

    def batch(self, step: int) -> tuple[Padded, ...]:
        return self.held
