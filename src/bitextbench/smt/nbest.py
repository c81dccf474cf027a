"""The best derivations of a forest, lazily (Huang and Chiang 2005, algorithm 3), and lists of them as Moses writes them."""

import heapq
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.smt import lm
from bitextbench.smt.decoder import Forest
from bitextbench.smt.rules import Rules, Weighted

DIGITS = 6
TRIES = 20  # derivations looked at for one entry: many say the same words
sys.setrecursionlimit(max(sys.getrecursionlimit(), 100_000))  # a derivation is as high as its sentence is long


class Entry(NamedTuple):
    """A translation: its tokens, and its `features` float64 [names], rounded as they are written."""

    tokens: str
    features: NDArray[np.float64]


class Derivation(NamedTuple):
    """The order of these is that of derivations, the best first. `ranks`: which derivations of the edge's items."""

    cost: float
    edge: int
    ranks: tuple[int, int]


class Derivations:
    """The derivations of the items of one forest, as far as they have been asked for."""

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
        self.found: dict[int, list[Derivation]] = {}
        self.waiting: dict[int, list[Derivation]] = {}
        self.seen: set[tuple[int, tuple[int, int]]] = set()

    def get(self, item: int, rank: int) -> Derivation | None:
        """The derivation of an item at a place from 0 on; None where there are fewer."""
        if item not in self.found:
            self.found[item] = []
            self.waiting[item] = sorted(Derivation(self.best[edge], edge, (0, 0)) for edge in self.edges[item])
        found, waiting = self.found[item], self.waiting[item]
        while len(found) <= rank:
            if found:
                _, edge, (a, b) = found[-1]
                self._wait(item, edge, (a + 1, b))
                self._wait(item, edge, (a, b + 1))
            if not waiting:
                return None
            found.append(heapq.heappop(waiting))
        return found[rank]

    def _wait(self, item: int, edge: int, ranks: tuple[int, int]) -> None:
        """Let a derivation wait for its turn, if it exists and has not waited yet."""
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

    def read(self, rank: int) -> tuple[list[int], list[int], float]:
        """Target words, rules, and ln p of the language model of a derivation of the sentence that was found."""
        words: list[int] = []
        rules: list[int] = []
        total = 0.0
        stack: list[tuple[int, int] | int] = [(self.goal, rank)]
        while stack:
            top = stack.pop()
            if isinstance(top, int):
                words.append(top)
                continue
            _, edge, ranks = self.get(*top) or self.found[top[0]][0]
            rule = self.rule[edge]
            rules.append(rule)
            total += self.lm[edge]
            below = [*zip(self.below[edge], ranks, strict=True)]
            target = self.target.ids[self.target.starts[rule] : self.target.starts[rule + 1]].tolist()
            stack += [symbol if symbol > 0 else below[-1 - symbol] for symbol in reversed(target)]
        return words, rules, total


def best(derivations: Derivations, rules: Rules, count: int) -> list[Entry]:
    """The best `count` different translations, each by its best derivation; fewer where there are no more, or too many say the same."""
    names = rules.target.words()
    entries: dict[str, Entry] = {}
    for rank in range(TRIES * count):
        if len(entries) == count or derivations.get(derivations.goal, rank) is None:
            break
        words, used, total = derivations.read(rank)
        tokens = " ".join(names[word] for word in words if word not in (lm.BEGIN, lm.END))
        if tokens not in entries:
            features = np.append(rules.features[used].sum(0), total).round(DIGITS) + 0.0  # no -0.0
            entries[tokens] = Entry(tokens, features)
    return [*entries.values()]


def lines(number: int, entries: Iterable[Entry], names: Sequence[str], weights: Mapping[str, float]) -> Iterator[str]:
    """The n-best list of a sentence: `number ||| tokens ||| name=value ... ||| total`."""
    values = np.array([weights[name] for name in names])
    for entry in entries:
        features = " ".join(f"{name}={value!r}" for name, value in zip(names, entry.features.tolist(), strict=True))
        yield f"{number} ||| {entry.tokens} ||| {features} ||| {round(float(entry.features @ values), DIGITS)!r}"
