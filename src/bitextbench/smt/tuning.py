"""Minimum error rate training (Och 2003): weights with the highest BLEU of n-best lists.

A round decodes the text and adds its n-best lists to those of earlier rounds. Then it searches the weights that choose
the best translations from all lists. A search starts from the present weights and from random ones. A step goes along
the direction with the highest gain, until no direction gains. A direction is a single feature or a random mix, as in
Koehn's implementation in Moses. Along a line BLEU is exact: the choice for a sentence changes at the corners of an
upper envelope. Rounds end when no new entry appears or BLEU stops rising.

BLEU has 4-grams and the length of the shortest reference (NIST's brevity penalty), both sides lower-cased: zhang2016
section 6.1.

Where the paper is silent:

- Of equally good steps the nearest to 0 is taken. Moses takes the leftmost.
- Before the first corner a step goes 0.1 further, as behind the last. Moses goes 1,000 further there.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.lines import read_lines
from bitextbench.base.progress import log
from bitextbench.smt.nbest import Translation
from bitextbench.smt.rules import OWN, Rules, load
from bitextbench.smt.translate import log_long, translations
from bitextbench.smt.words import escaped

ORDER = 4
STARTS, MIXES = 10, 3  # random ones; random directions
GAIN = 1e-5  # of BLEU (0 to 1); a smaller one does not count
FIRST = {"lm": 0.5, "words": -0.3, "rules": -0.1, "glue": 0.2, "unknown": 1.0}  # weights to start from; of others 0.2
OTHERS = 0.2
LIMIT = 1000.0  # of steps along a line
NARROW = 1e-6  # intervals between corners that are narrower are skipped: rounding may end outside of them
BEYOND = 0.1  # length of a step beyond the first or last corner
Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Line = tuple[Array, Counts]  # the slopes of all entries, and their order by `ascending`


class Lists(NamedTuple):
    """N-best lists; the entries of sentence n are at starts[n] : starts[n + 1].

    - `features` float64 [entries, features].
    - `counts` int64 [entries, 2 * ORDER + 1]: matching n-grams by length, all n-grams by length, the length of the
      shortest reference.
    """

    features: Array
    counts: Counts
    starts: Counts


class References:
    """The references of a sentence."""

    def __init__(self, references: Sequence[str]) -> None:
        lines = [line.lower().split() for line in references]
        self.shortest = min(map(len, lines))
        self.most: list[Counter[tuple[str, ...]]] = [Counter() for _ in range(ORDER)]  # of an n-gram, in one of them
        for line, (length, most) in itertools.product(lines, enumerate(self.most, 1)):
            most |= _ngrams(line, length)

    def statistics(self, tokens: str) -> list[int]:
        """The counts of a translation from which BLEU is computed, as `Lists.counts`."""
        words = tokens.lower().split()
        right = [(_ngrams(words, length) & most).total() for length, most in enumerate(self.most, 1)]
        return [*right, *(max(len(words) - n, 0) for n in range(ORDER)), self.shortest]


def _ngrams(words: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + length]) for at in range(len(words) - length + 1))


@compiled
def bleu(counts):  # type: ignore[no-untyped-def]
    """BLEU, 0 to 1, of summed statistics."""
    log_p = 0.0
    for n in range(ORDER):
        if counts[n] == 0:
            return 0.0
        log_p += np.log(counts[n] / counts[ORDER + n]) / ORDER
    return np.exp(log_p + min(0.0, 1 - counts[2 * ORDER] / counts[ORDER]))


@compiled
def ascending(starts, slopes):  # type: ignore[no-untyped-def]
    """The places of a list's entries within it, by their slope: int64 [entries]."""
    order = np.empty(len(slopes), np.int64)
    for n in range(len(starts) - 1):
        order[starts[n] : starts[n + 1]] = np.argsort(slopes[starts[n] : starts[n + 1]], kind="mergesort")
    return order


@compiled
def _envelope(offsets, slopes, order):  # type: ignore[no-untyped-def]
    """The lines that are the highest at some step, from left to right; of equal ones the first."""
    kept, count = np.zeros(len(order), np.int64), 0
    for line in order:
        if count and slopes[kept[count - 1]] == slopes[line]:
            if offsets[kept[count - 1]] >= offsets[line]:
                continue
            count -= 1
        while count > 1:
            a, b = kept[count - 2], kept[count - 1]
            if _crossing(offsets, slopes, a, line) > _crossing(offsets, slopes, a, b):
                break
            count -= 1
        kept[count] = line
        count += 1
    return kept[:count]


@compiled
def _crossing(offsets, slopes, a, b):  # type: ignore[no-untyped-def]
    return (offsets[a] - offsets[b]) / (slopes[b] - slopes[a])


@compiled
def search_line(starts, counts, offsets, slopes, order):  # type: ignore[no-untyped-def]
    """The step along a line with the highest BLEU, and that BLEU: exact (Och 2003, section 4). `offsets`, `slopes`
    float64 [entries]: the score at step 0, and its growth; `order`: of the slopes, by `ascending`. A step is the middle
    of an interval of equal BLEU; of equally good ones the nearest to 0.
    """
    steps = np.zeros(len(offsets))
    changes = np.zeros((len(offsets), counts.shape[1]), np.int64)
    total, number = np.zeros(counts.shape[1], np.int64), 0
    for n in range(len(starts) - 1):
        begin, end = starts[n], starts[n + 1]
        a, b = offsets[begin:end], slopes[begin:end]
        best = _envelope(a, b, order[begin:end])
        total += counts[begin + best[0]]
        for k in range(1, len(best)):
            steps[number] = _crossing(a, b, best[k - 1], best[k])
            changes[number] = counts[begin + best[k]] - counts[begin + best[k - 1]]
            number += 1
    turns = np.argsort(steps[:number], kind="mergesort")
    highest, step = -1.0, 0.0
    for k in range(number + 1):
        left = steps[turns[k - 1]] if k else -np.inf
        right = steps[turns[k]] if k < number else np.inf
        if right - left > NARROW and left < LIMIT and right > -LIMIT:
            if left < 0 < right:
                middle = 0.0
            elif k == 0:
                middle = right - BEYOND
            else:
                middle = left + BEYOND if k == number else (left + right) / 2
            reached = bleu(total)
            if reached > highest or (reached == highest and abs(middle) < abs(step)):
                highest, step = reached, middle
        if k < number:
            total += changes[turns[k]]
    return step, highest


def _climb(lists: Lists, axes: Sequence[Line], weights: Array, draw: np.random.Generator) -> tuple[Array, float]:
    """The weights at which no direction gains, and their BLEU. `axes`: the directions of one feature each."""
    highest = -1.0
    while True:
        mixes = draw.uniform(-1, 1, (MIXES, len(weights)))
        directions = np.concatenate([np.eye(len(weights)), mixes])
        offsets = lists.features @ weights
        lines = itertools.chain(axes, (_line(lists, lists.features @ mix) for mix in mixes))
        optima = [search_line(lists.starts, lists.counts, offsets, *line) for line in lines]
        best = max(range(len(optima)), key=lambda n: optima[n][1])
        step, reached = optima[best]
        if reached < highest + GAIN:
            return weights, highest
        highest, weights = reached, weights + step * directions[best]
        weights = weights / np.abs(weights).sum()


def _line(lists: Lists, slopes: Array) -> Line:
    return slopes, ascending(lists.starts, slopes)


def optimise(lists: Lists, weights: Array, seed: int, starts: int = STARTS) -> tuple[Array, float]:
    """The best weights, whose absolute values sum to 1, and their BLEU. Searches from `weights` and from random ones
    between -1 and 1.
    """
    draw = np.random.default_rng(seed)
    begins = [weights / np.abs(weights).sum(), *draw.uniform(-1, 1, (starts, len(weights)))]
    axes = [_line(lists, column) for column in np.ascontiguousarray(lists.features.T)]
    optima = [_climb(lists, axes, begin, draw) for begin in begins]
    return max(optima, key=lambda pair: pair[1])  # of equal ones the first


class NbestPool:
    """All entries of the n-best lists so far, each once."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        self.references = [*map(References, references)]
        self.entries: list[dict[tuple[str, bytes], tuple[Array, list[int]]]] = [{} for _ in references]

    def add(self, lists: Iterator[list[Translation]]) -> tuple[int, float]:
        """Add lists; returns how many entries are new, and the BLEU of the first of each list."""
        new, total = 0, np.zeros(2 * ORDER + 1, np.int64)
        for entries, held, references in zip(lists, self.entries, self.references, strict=True):
            for rank, entry in enumerate(entries):
                key = entry.tokens, entry.features.tobytes()
                if key not in held:
                    held[key] = entry.features, references.statistics(entry.tokens)
                    new += 1
                if rank == 0:
                    total += held[key][1]
        return new, float(bleu(total))

    def lists(self) -> Lists:
        held = [pair for entries in self.entries for pair in entries.values()]
        sizes = [len(entries) for entries in self.entries]
        features, counts = (np.array(column) for column in zip(*held, strict=True))
        return Lists(features, counts, np.concatenate([[0], np.cumsum(sizes)]))


def tune(
    rules: Rules,
    references: Sequence[Sequence[str]],
    weights: Mapping[str, float],
    seed: int,
    *,
    count: int,
    rounds: int,
    beam: int,
    span: int,
    threads: int = 1,
) -> tuple[dict[str, float], list[dict[str, float]]]:
    """The weights of the round whose decoded text has the highest BLEU; and of each round that BLEU, the one expected
    next, and the new entries.
    """
    pool = NbestPool(references)
    best, highest, history = dict(weights), -1.0, []
    for number in range(1, rounds + 1):
        new, reached = pool.add(translations(rules, weights, count, beam=beam, span=span, threads=threads))
        if reached > highest:
            best, highest = dict(weights), reached
        values, expected = np.array([weights[name] for name in rules.names]), reached
        if new and number < rounds:
            values, expected = optimise(pool.lists(), values, seed + number)
        history.append({"bleu": reached, "expected": expected, "new": new})
        log(f"round {number}: BLEU {100 * reached:.2f}, {new:,} new entries, {100 * expected:.2f} in the lists after")
        if not new or expected < reached + GAIN:
            break
        weights = dict(zip(rules.names, values.tolist(), strict=True))
    return best, history


def tune_files(
    grammar: Path,
    arpa: Path,
    source: Path,
    references: Sequence[Path],
    out: Path,
    *,
    seed: int,
    span: int,
    **search: int,
) -> None:
    """Tune on a text and its references, a line a sentence; write the weights, and the rounds to `<out>.rounds.json`.

    `search`: the other options of `tune`. Raises InputError as `load` does, and for texts of different lengths or without a
    word.
    """
    lines = [escaped(line) for line in read_lines(source)]
    truth = [[escaped(line) for line in read_lines(path)] for path in references]
    for path, other in zip(references, truth, strict=True):
        if len(other) != len(lines):
            remedy = "give references of this text"
            raise InputError(f"{len(other):,} lines, but {source} has {len(lines):,}", path, remedy=remedy)
        if not any(line.split() for line in other):
            raise InputError("has no words", path, remedy="give references of this text")
    rules = load(grammar, arpa, lines)
    log_long(source, rules, span)
    weights = {name: FIRST.get(name, OTHERS) if name in OWN else OTHERS for name in rules.names}
    best, history = tune(rules, [*zip(*truth, strict=True)], weights, seed, span=span, **search)
    write_json(Path(f"{out}.rounds.json"), history)
    write_json(out, best)
