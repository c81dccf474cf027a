"""The rules that a decoder has for a text, as arrays: those of a grammar, of unknown words, and glue.

| feature | what |
|---|---|
| those of the grammar | see `smt.grammar` |
| `glue` | -1 for each S -> S X (Chiang 2007, eq. 7) |
| `unknown` | -1 for each word that no rule translates by itself, which passes through |
| `words` | -1 for each word of the target |
| `rules` | -1 for each rule of the grammar or for an unknown word |
| `lm` | ln p of the language model |
"""

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled
from bitextbench.base.errors import InputError, near
from bitextbench.base.json_yaml import read_json
from bitextbench.base.progress import log, progress
from bitextbench.smt import grammar, lm
from bitextbench.smt.words import NULL, Vocabulary, Words

OWN = ("glue", "unknown", "words", "rules", "lm")
GAP = 0  # of a source side; those of a target side are -1 and -2
GAPS = {name: -place for place, name in enumerate(grammar.GAP_TOKENS, 1)}
GLUE = ((lm.BEGIN, -1), (-1, -2), (-1, lm.END))  # S -> X, S -> S X, and the whole sentence
START, JOIN, GOAL = -3, -2, -1  # places of the rules of GLUE, from the end
MOST = 1e6  # a larger feature is taken for a damaged file


class Weighted(NamedTuple):
    """Rules under given weights, as the decoder reads them.

    - `trie`: source sides by symbol.
    - `order` int32: rules by node of the trie, those of node n at starts[n] : starts[n + 1], the best first.
    - `score` float64 [rules]: without the language model.
    - `target` int32: target sides, that of rule r at ends[r] : ends[r + 1].
    - `longest`: symbols of the longest source side.
    """

    trie: lm.Table
    starts: NDArray[np.int64]
    order: NDArray[np.int32]
    score: NDArray[np.float64]
    target: NDArray[np.int32]
    ends: NDArray[np.int64]
    longest: int


class Rules(NamedTuple):
    """The rules that can apply to a text; the last three are GLUE.

    - `source`, `target`: vocabularies.
    - `text`: the sentences to translate.
    - `features` float64 [rules, names - 1]: all but `lm`.
    - `sides`: the symbols of the source and of the target side of each rule.
    - `estimates` float64 [rules]: ln p of the words between gaps.
    """

    source: Vocabulary
    target: Vocabulary
    text: Words
    names: list[str]
    features: NDArray[np.float64]
    sides: tuple[Words, Words]
    model: lm.Model
    estimates: NDArray[np.float64]

    def weighted(self, weights: Mapping[str, float]) -> Weighted:
        """The rules under weights of all features."""
        values = np.array([weights[name] for name in self.names])
        score = self.features @ values[:-1]
        source, target = self.sides
        trie = lm.empty_table(len(source.ids))
        nodes = _grow(trie, source.ids, source.starts)
        last = int(nodes.max())
        nodes[START:] = last + np.arange(1, 4)  # glue has no source side
        order = np.lexsort((np.arange(len(nodes)), -(score + values[-1] * self.estimates), nodes)).astype(np.int32)
        starts = np.searchsorted(nodes[order], np.arange(last + 2))
        longest = int(np.diff(source.starts).max())
        words = np.where(target.ids > 0, self.model.word[np.maximum(target.ids, 0)], target.ids)
        return Weighted(trie, starts, order, score, words, target.starts, longest)


@compiled
def _grow(trie, symbols, starts):  # type: ignore[no-untyped-def]
    """Insert all source sides into the trie; returns the node of each, int32, from 1 on."""
    nodes = np.zeros(len(starts) - 1, np.int32)
    used = np.int32(0)
    for n in range(len(nodes)):
        node = np.int32(0)
        for symbol in symbols[starts[n] : starts[n + 1]]:
            below = lm.child(trie, node, symbol)
            if below == 0:
                used += 1
                below = used
                lm.put(trie, node, symbol, below)
            node = below
        nodes[n] = node
    return nodes


@compiled
def _estimates(model, symbols, starts):  # type: ignore[no-untyped-def]
    """ln p of the words of target sides, each run of words between gaps by itself."""
    estimates = np.zeros(len(starts) - 1)
    for n in range(len(estimates)):
        state = model.state[0]
        for symbol in symbols[starts[n] : starts[n + 1]]:
            if symbol < 0:
                state = model.state[0]
            else:
                p, state, _, _ = lm.step(model, state, model.word[symbol])
                estimates[n] += p
    return estimates


def load(path: Path, arpa: Path, lines: Iterable[str]) -> Rules:
    """The rules of a grammar that lines of tokens can use, and the language model of their words.

    Raises InputError for an empty grammar, one without a rule for the text, wrong rules and features, and whatever
    `lm.read` raises for.
    """
    reader = _Reader(lines)
    names, rules = grammar.read(path)
    if reserved := set(names) & set(OWN):
        raise InputError(f"the decoder itself has a feature {min(reserved)}", path, line=1, remedy="rename this one")
    number = 1
    for number, fields in enumerate(progress(rules, f"read {path}", unit="rules"), 2):
        try:
            reader.add(fields)
        except ValueError as error:
            raise InputError(str(error), path, line=number, remedy="make the grammar again") from None
    if number == 1:
        raise InputError("has no rules", path, remedy="extract a grammar from text of these languages")
    if not reader.count:
        remedy = "check that the text is in its source language, with the same tokens and letter case"
        raise InputError(f"none of {number - 1:,} rules fits the text", path, remedy=remedy)
    rules_of_text = reader.rules(names, arpa)
    log(f"{path}: {number - 1:,} rules, {reader.count:,} for the text; {reader.unknown:,} unknown words are copied")
    return rules_of_text


class _Reader:
    """Collects the rules of a grammar that a text can use."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.source, self.target = Vocabulary(), Vocabulary(lm.SPECIAL)
        self.text = self.source.encode(lines)
        self.sides = (array("i"), array("q", [0])), (array("i"), array("q", [0]))
        self.features = array("d")
        self.count = self.unknown = 0

    def add(self, fields: Sequence[str]) -> None:
        """Add a rule if the text has all words of its source side. Raises ValueError for a wrong rule."""
        source, target = (side.split() for side in fields[:2])
        gaps = [token for token in source if token in GAPS]
        if len(gaps) == len(source) or not target:
            raise ValueError("a side without a word")
        if sorted(gaps) != sorted(token for token in target if token in GAPS) or sorted(gaps) != [*GAPS][: len(gaps)]:
            raise ValueError("sides with different gaps")
        values = [float(value) for value in fields[len(grammar.HEAD) :]]
        if not all(abs(value) < MOST for value in values):  # not for NaN either
            raise ValueError("a feature that is no finite number")
        symbols = [GAP if token in GAPS else self.source.known(token) or -1 for token in source]
        if -1 in symbols:
            return
        numbers = {token: -place for place, token in enumerate(gaps, 1)}
        self._put(symbols, [numbers[token] if token in numbers else self.target[token] for token in target])
        self.features.extend(values)
        self.count += 1

    def _put(self, *sides: Iterable[int]) -> None:
        for (symbols, starts), side in zip(self.sides, sides, strict=True):
            symbols.extend(side)
            starts.append(len(symbols))

    def rules(self, names: list[str], arpa: Path) -> Rules:
        """All rules, with those of unknown words and glue behind those of the grammar."""
        for word in self._without_rule():
            self._put([self.source[word]], [self.target[word]])
            self.unknown += 1
        for side in GLUE:
            self._put([], side)
        source, target = (
            Words(np.array(symbols, np.int32), np.array(starts, np.int64)) for symbols, starts in self.sides
        )
        features = np.zeros((len(target), len(names) + len(OWN) - 1))
        features[: self.count, : len(names)] = np.array(self.features).reshape(self.count, -1)
        glue, unknown, words, rules = features[:, len(names) :].T
        glue[JOIN], unknown[self.count : START], rules[:START] = -1, -1, -1
        real = (target.ids > lm.END) | (target.ids == lm.UNKNOWN)
        words -= np.diff(np.concatenate([[0], np.cumsum(real)])[target.starts])
        model = lm.read(arpa, self.target)
        estimates = _estimates(model, target.ids, target.starts)
        return Rules(self.source, self.target, self.text, [*names, *OWN], features, (source, target), model, estimates)

    def _without_rule(self) -> list[str]:
        """The words of the text that are no source side by themselves, in their order."""
        symbols, starts = (np.array(part) for part in self.sides[0])
        alone = set(symbols[starts[:-1][np.diff(starts) == 1]].tolist())
        return [word for word, number in self.source.items() if number not in alone and number != NULL]


def read_weights(path: Path, names: Sequence[str]) -> dict[str, float]:
    """Weights of these features. Raises InputError for others, missing ones, and what is no number."""
    weights = read_json(path)
    if not isinstance(weights, dict):
        raise InputError("is not a mapping", path, remedy='write {"lm": 0.5, ...}')
    for name in weights:
        if name not in names:
            raise InputError(f"no feature {name} here", path, remedy=near(name, names))
    for name in names:
        value = weights.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(f"no number for the feature {name}", path, remedy="give every feature a weight")
    return {name: float(weights[name]) for name in names}
