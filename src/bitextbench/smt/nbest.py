"""The best derivations of a forest, lazily (Huang and Chiang 2005, algorithm 3), and lists of them as Moses writes
them.
"""

import heapq
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.smt import lm
from bitextbench.smt.decoder import Forest
from bitextbench.smt.rules import Rules, Weighted

DIGITS = 6
FRAMES = 100_000  # a derivation is as high as its sentence is long


class Translation(NamedTuple):
    """A translation: its tokens, and its `features` float64 [names], rounded as they are written."""

    tokens: str
    features: NDArray[np.float64]


class Derivation(NamedTuple):
    """Sorted by cost, the best first. `ranks`: which derivation of each of the edge's items."""

    cost: float
    edge: int
    ranks: tuple[int, int]


class Derivations:
    """The derivations of the items of one forest, made when they are asked for. Of an item's derivations with equal
    words, only the best counts.
    """

    def __init__(self, forest: Forest, rules: Rules, weighted: Weighted, lm_weight: float) -> None:
        table = forest.edges
        self.goal, self.target = forest.goal, rules.sides[1]
        self.rule, self.lm = table.rule.tolist(), table.lm.tolist()
        self.below = [*zip(table.first.tolist(), table.second.tolist(), strict=True)]
        own = -(weighted.score[table.rule] + lm_weight * table.lm)
        scores = np.append(forest.items.score, 0.0)  # the last for -1, no item
        self.own, self.best = own.tolist(), (own - scores[table.first] - scores[table.second]).tolist()
        self.edges = defaultdict(list)
        for edge, item in enumerate(table.item.tolist()):
            self.edges[item].append(edge)
        self.words: dict[int, dict[tuple[int, ...], Derivation]] = {}
        self.texts: dict[int, list[tuple[int, ...]]] = {}
        self.waiting: dict[int, list[Derivation]] = {}
        self.last: dict[int, Derivation] = {}  # taken last; its successors do not wait yet
        self.seen: set[tuple[int, tuple[int, int]]] = set()

    def get(self, item: int, rank: int) -> Derivation | None:
        """The derivation of an item at a rank, 0 for the best; None where there are fewer."""
        if item not in self.texts:
            self.texts[item], self.words[item] = [], {}
            self.waiting[item] = sorted(Derivation(self.best[edge], edge, (0, 0)) for edge in self.edges[item])
        texts, waiting = self.texts[item], self.waiting[item]
        while len(texts) <= rank:
            if item in self.last:
                _, edge, (a, b) = self.last.pop(item)
                self._wait(item, edge, (a + 1, b))
                self._wait(item, edge, (a, b + 1))
            if not waiting:
                return None
            self.last[item] = derivation = heapq.heappop(waiting)
            words = self._yield(derivation)
            if words not in self.words[item]:
                self.words[item][words] = derivation
                texts.append(words)
        return self.words[item][texts[rank]]

    def _wait(self, item: int, edge: int, ranks: tuple[int, int]) -> None:
        """Add a derivation to the queue of candidates, if it exists and is new."""
        if (edge, ranks) in self.seen:
            return
        self.seen.add((edge, ranks))
        cost = self.own[edge]
        for below, rank in zip(self.below[edge], ranks, strict=True):
            if below < 0 and rank:
                return
            if below >= 0:
                derivation = self.get(below, rank)
                if derivation is None:
                    return
                cost += derivation.cost
        heapq.heappush(self.waiting[item], Derivation(cost, edge, ranks))

    def _yield(self, derivation: Derivation) -> tuple[int, ...]:
        """The words of the target."""
        _, edge, ranks = derivation
        start, end = self.target.starts[self.rule[edge] :][:2]
        words: list[int] = []
        for symbol in self.target.ids[start:end].tolist():
            if symbol > 0:
                words.append(symbol)
            else:
                below, rank = self.below[edge][-1 - symbol], ranks[-1 - symbol]
                self.get(below, rank)
                words += self.texts[below][rank]
        return tuple(words)

    def used(self, derivation: Derivation) -> tuple[list[int], float]:
        """The rules of a derivation, and ln p of the language model."""
        rules, total, stack = [], 0.0, [derivation]
        while stack:
            _, edge, ranks = stack.pop()
            rules.append(self.rule[edge])
            total += self.lm[edge]
            for below, rank in zip(self.below[edge], ranks, strict=True):
                if below >= 0:
                    stack.append(self.words[below][self.texts[below][rank]])
        return rules, total


def best(derivations: Derivations, rules: Rules, count: int) -> list[Translation]:
    """The best `count` different translations of a sentence, each by its best derivation; fewer where there are no
    more.
    """
    names, goal, entries = rules.target.words(), derivations.goal, []
    with recursion(FRAMES):
        for rank in range(count):
            derivation = derivations.get(goal, rank)
            if derivation is None:
                break
            used, total = derivations.used(derivation)
            tokens = " ".join(names[word] for word in derivations.texts[goal][rank] if word not in (lm.BEGIN, lm.END))
            features = np.append(rules.features[used].sum(0), total).round(DIGITS) + 0.0  # no -0.0
            entries.append(Translation(tokens, features))
    return entries


@contextmanager
def recursion(frames: int) -> Iterator[None]:
    """Allow at least so many frames of Python within the block. The old limit returns after it: with a higher one C
    code (json's) may overflow its stack.
    """
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, frames))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def lines(
    number: int, entries: Iterable[Translation], names: Sequence[str], weights: Mapping[str, float]
) -> Iterator[str]:
    """The n-best list of a sentence: `number ||| tokens ||| name=value ... ||| total`."""
    values = np.array([weights[name] for name in names])
    for entry in entries:
        features = " ".join(f"{name}={value!r}" for name, value in zip(names, entry.features.tolist(), strict=True))
        yield f"{number} ||| {entry.tokens} ||| {features} ||| {round(float(entry.features @ values), DIGITS)!r}"
