"""A bilingual dictionary: IBM Model 1 (Brown et al. 1993), trained on sentence pairs by expectation-maximisation."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats.ids import Ragged

CELLS = 1 << 25  # word pairs within sentence pairs, at most, in all that is learned from: 8 bytes each
BLOCK = 1 << 22  # word pairs at a time
NULL = 0  # the empty word; the number of a word in the tables is its id plus 1
_SHIFT, _LOWER = np.uint64(32), np.uint64((1 << 32) - 1)


@dataclass(frozen=True)
class Dictionary:
    """p(t | s) of pairs of word ids: `values` float32 [m].

    `keys` uint64 [m], ascending, have s in the upper half and t in the lower.
    """

    keys: NDArray[np.uint64]
    values: NDArray[np.float32]

    def sums(self, src: Ragged, tgt: Ragged) -> NDArray[np.float64]:
        """For each target token [t], the sum of p(t | s) over the source tokens of its pair, in their order.

        A source word without an entry translates to itself.
        """
        return _sums(src.flat, src.offsets, tgt.flat, tgt.offsets, *self._entries)

    @cached_property
    def _entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The entries of source word s are bounds[s] to bounds[s + 1]: target words, and their p."""
        words = (self.keys >> _SHIFT).astype(np.int64)
        bounds = np.searchsorted(words, np.arange(words.max(initial=-1) + 2))
        return bounds, (self.keys & _LOWER).astype(np.int64), self.values


def check(keys: NDArray[np.uint64], words: int, path: Path) -> None:
    """Raises InputError for `keys` out of order, or of words with ids from `words` on; `path` is the file."""
    largest = max(int((keys >> _SHIFT).max(initial=0)), int((keys & _LOWER).max(initial=0)))
    if (len(keys) and largest >= words) or (keys[1:] <= keys[:-1]).any():
        raise InputError("its dictionary and its words do not belong together", path, remedy="fit it again")


@compiled
def _sums(src, src_bounds, tgt, tgt_bounds, bounds, targets, values):
    sums, size = np.zeros(len(tgt)), 0
    for target in targets:
        size = max(size, target + 1)
    p = np.zeros(size, np.float32)  # of each target word, for one source word
    for row in range(len(src_bounds) - 1):
        for s in src[src_bounds[row] : src_bounds[row + 1]]:
            first, last = (bounds[s], bounds[s + 1]) if s < len(bounds) - 1 else (0, 0)
            for entry in range(first, last):
                p[targets[entry]] = values[entry]
            for place in range(tgt_bounds[row], tgt_bounds[row + 1]):
                t = tgt[place]
                sums[place] += p[t] if first < last and t < size else np.float32(first == last and s == t)
            for entry in range(first, last):
                p[targets[entry]] = 0
    return sums


def _keys(src: NDArray[np.integer], tgt: NDArray[np.integer]) -> NDArray[np.uint64]:
    return src.astype(np.uint64) << _SHIFT | tgt.astype(np.uint64)


def cells(src: Ragged, tgt: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every source token of a pair with every target token of it: places in both texts, [m] each, by target token."""
    row = np.repeat(np.arange(len(tgt)), tgt.lengths)
    times = src.lengths[row]
    within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(src.offsets[:-1][row], times) + within, np.repeat(np.arange(len(tgt.flat)), times)


def learn(src: Ragged, tgt: Ragged, *, rounds: int = 5, least: float = 0.01) -> Dictionary:
    """p(t | s) from `rounds` of EM over the word ids of sentence pairs; probabilities below `least` are dropped.

    Brown et al. 1993, section 4.1, from a uniform start. Learns from the first sentence pairs with at most CELLS word
    pairs.
    """
    sizes = np.cumsum((src.lengths + 1) * tgt.lengths)
    pairs = int(np.searchsorted(sizes, CELLS, "right"))
    if pairs < len(src):
        log(f"dictionary: learned from the first {pairs:,} of {len(src):,} pairs")
    flat = np.insert(src.flat[: src.offsets[pairs]] + np.int32(1), src.offsets[:pairs], np.int32(NULL))
    left = Ragged(flat, src.offsets[: pairs + 1] + np.arange(pairs + 1))
    right = Ragged(tgt.flat[: tgt.offsets[pairs]], tgt.offsets[: pairs + 1])
    places, group = cells(left, right)
    keys = _keys(left.flat[places], right.flat[group])
    links, of_cell = np.unique(keys, return_inverse=True)
    link_of, group_of = of_cell.astype(np.int32), group.astype(np.int32)
    del places, group, keys, of_cell
    word = (links >> _SHIFT).astype(np.int64)
    value = np.ones(len(links))
    for _ in range(rounds if len(links) else 0):
        counts = np.zeros(len(links))
        for start in range(0, len(link_of), BLOCK):
            counts += _expected(value, link_of, group_of, start)
        value = counts / np.bincount(word, counts)[word]
    kept = (value >= least) & (word != NULL)
    return Dictionary(links[kept] - (np.uint64(1) << _SHIFT), value[kept].astype(np.float32))


def _expected(
    value: NDArray[np.float64], link: NDArray[np.int32], group: NDArray[np.int32], start: int
) -> NDArray[np.float64]:
    """The expected counts of links [m] over the target tokens whose cells begin in the block from `start` on."""
    begin, end = (np.searchsorted(group, group[min(at, len(group) - 1)]) for at in (start, start + BLOCK))
    end = len(group) if start + BLOCK >= len(group) else end
    if begin == end:
        return np.zeros(len(value))
    here, target = link[begin:end], group[begin:end] - group[begin]
    share = value[here]
    share /= np.bincount(target, share)[target]
    return np.bincount(here, share, minlength=len(value)).astype(np.float64)
