"""A language model of word trigrams: interpolated Kneser-Ney smoothing.

Kneser and Ney 1995; Chen and Goodman 1999, eq. 22:

    p(w | u v) = max(c(u v w) - D, 0) / c(u v .) + D N(u v .) / c(u v .) p(w | v)

with N(u v .) the number of distinct words after u v. Lower orders count distinct contexts instead of occurrences. Each
order has one discount D = n1 / (n1 + 2 n2). Single words are interpolated with the uniform distribution.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.arrays import Layout
from bitextbench.base.compiled import compiled
from bitextbench.base.lookup import Lookup
from bitextbench.formats.ids import Ragged

ORDER = 3
KINDS = {"keys": "u8", "counts": "i8"}
BITS = np.uint64(21)  # of a word's id in an n-gram
LARGEST = (1 << 21) - 4  # words
Keys = NDArray[np.uint64]


class Order:
    """The n-grams of one length: `keys` [m], ascending, the last word in the lowest bits; their `counts` [m].

    `heads` [h], ascending: n-grams without their last words; `totals`, `followers` [h]: c(u v .) and N(u v .) above.
    """

    def __init__(self, keys: Keys, counts: NDArray[np.int64]) -> None:
        self.keys, self.counts = keys, counts
        heads = keys >> BITS
        starts = np.flatnonzero(np.concatenate([[True], heads[1:] != heads[:-1]])[: len(heads)])
        self.heads = heads[starts]
        self.totals = np.add.reduceat(counts, starts) if len(starts) else counts
        self.followers = np.diff(starts, append=len(heads))
        once, twice = ((counts == k).sum() for k in (1, 2))
        self.discount = once / (once + 2 * twice) if once else 0.5

    @cached_property
    def _of_keys(self) -> Lookup:
        return Lookup(self.keys)

    @cached_property
    def _of_heads(self) -> Lookup:
        return Lookup(self.heads)

    def p(self, ngrams: Keys, shorter: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probabilities of n-grams [n], given those of the shorter n-grams."""
        places, heads = self._of_keys(ngrams), self._of_heads(ngrams >> BITS)
        return _p(places, heads, self.counts, self.totals, self.followers, float(self.discount), shorter)


@compiled
def _p(places: Any, heads: Any, counts: Any, totals: Any, followers: Any, discount: float, shorter: Any) -> Any:
    """`Order.p`; `places` of n-grams and `heads` are -1 for those that are not there."""
    p = shorter.copy()
    for i in range(len(p)):
        if heads[i] >= 0 and totals[heads[i]] > 0:
            total, count = totals[heads[i]], counts[places[i]] if places[i] >= 0 else 0
            p[i] = max(count - discount, 0.0) / total + discount * followers[heads[i]] / total * shorter[i]
    return p


@dataclass(frozen=True)
class NgramModel:
    """`size` words with the ids below `size`; any other id is the unknown word. `orders`: for 1, 2 and 3 words."""

    size: int
    orders: tuple[Order, ...]

    def bits(self, sentences: Ragged) -> NDArray[np.float64]:
        """The mean of -log2 p over the tokens of each sentence and its end [n]."""
        keys = _ngrams(sentences, self.size)
        p = np.full(len(keys), 1 / (self.size + 2))  # the words, the unknown one, the end
        for length, order in enumerate(self.orders, 1):
            p = order.p(keys & _lowest(length), p)
        ends = np.cumsum(sentences.lengths + 1)
        total = np.concatenate([[0.0], np.cumsum(-np.log2(p))])
        return np.diff(total[np.concatenate([[0], ends])]) / (sentences.lengths + 1)

    def arrays(self) -> dict[str, NDArray]:
        """The model as arrays, for `load`."""
        parts = {f"{name}{n}": getattr(order, name) for n, order in enumerate(self.orders) for name in KINDS}
        return {"size": np.array(self.size), **parts}


def layout(name: str) -> Layout:
    """Of `NgramModel.arrays`; axes begin with `name`."""
    orders = {f"{what}{n}": (kind, f"{name}_{n + 1}grams") for n in range(ORDER) for what, kind in KINDS.items()}
    return {"size": ("i8", ""), **orders}


def load(arrays: Mapping[str, NDArray]) -> NgramModel:
    orders = (Order(arrays[f"keys{n}"], arrays[f"counts{n}"]) for n in range(ORDER))
    return NgramModel(int(arrays["size"]), tuple(orders))


def learn(sentences: Ragged, size: int) -> NgramModel:
    """Learn from sentences of word ids; all ids from `size` on are one unknown word."""
    assert size <= LARGEST
    orders = []
    keys, counts = np.unique(_ngrams(sentences, size), return_counts=True)
    for length in range(ORDER, 0, -1):
        orders.append(Order(keys, counts))
        keys, counts = np.unique(keys & _lowest(length - 1), return_counts=True)
    return NgramModel(size, tuple(reversed(orders)))


def _lowest(words: int) -> np.uint64:
    """A bit mask of the last `words` words of an n-gram."""
    return (np.uint64(1) << BITS * np.uint64(words)) - np.uint64(1)


def _ngrams(sentences: Ragged, size: int) -> Keys:
    """The trigrams that end in each token and in the end of each sentence, one sentence after the other."""
    begin, end = np.uint64(size + 1), np.uint64(size + 2)
    n = len(sentences)
    out = np.full(len(sentences.flat) + 3 * n, begin)
    shift = 3 * np.repeat(np.arange(n), sentences.lengths) + 2
    out[np.arange(len(sentences.flat)) + shift] = np.minimum(sentences.flat, size)
    out[sentences.offsets[1:] + 3 * np.arange(1, n + 1) - 1] = end
    predicted = out != begin
    predicted[:2] = False
    last = np.flatnonzero(predicted)
    return out[last - 2] << BITS << BITS | out[last - 1] << BITS | out[last]
