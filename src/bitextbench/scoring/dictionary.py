"""A bilingual dictionary of words: IBM Model 1 (Brown et al. 1993), trained by expectation-maximisation on sentence pairs."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.progress import log
from bitextbench.formats.ids import Ragged

CELLS = 1 << 25  # pairs of words of one sentence pair, over all that are learned from: 8 bytes each
BLOCK = 1 << 22  # of them at a time
NULL = 0  # the word that stands for none; a word's number in the tables is its id plus 1
_SHIFT, _LOWER = np.uint64(32), np.uint64((1 << 32) - 1)


@dataclass(frozen=True)
class Dictionary:
    """p(t | s) of pairs of word ids. `keys` uint64 [m], ascending: s in the upper half, t in the lower; `values` float32 [m]."""

    keys: NDArray[np.uint64]
    values: NDArray[np.float32]

    def __call__(self, src: NDArray[np.integer], tgt: NDArray[np.integer]) -> NDArray[np.float32]:
        """p(t | s) of pairs [n]; 0 where it has none."""
        if not len(self.keys):
            return np.zeros(len(src), np.float32)
        wanted = _keys(src, tgt)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.values[place], np.float32(0))

    def knows(self, size: int) -> NDArray[np.bool_]:
        """Which of the source words 0 to `size` have an entry [size]."""
        known = np.zeros(size, bool)
        known[(self.keys >> _SHIFT).astype(np.int64)] = True
        return known


def _keys(src: NDArray[np.integer], tgt: NDArray[np.integer]) -> NDArray[np.uint64]:
    return src.astype(np.uint64) << _SHIFT | tgt.astype(np.uint64)


def cells(src: Ragged, tgt: Ragged) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every source token of a pair with every target token of it: their places in both texts, [m] each, by target token."""
    row = np.repeat(np.arange(len(tgt)), tgt.lengths)
    times = src.lengths[row]
    within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    return np.repeat(src.offsets[:-1][row], times) + within, np.repeat(np.arange(len(tgt.flat)), times)


def learn(src: Ragged, tgt: Ragged, *, rounds: int = 5, least: float = 0.01) -> Dictionary:
    """p(t | s) from `rounds` of EM over word ids of pairs of sentences; what is below `least` is dropped.

    Of more than CELLS pairs of words, the first sentence pairs are taken. Brown et al. 1993, section 4.1; equal start.
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
    """The expected counts of links [m] over the target tokens that begin in the block of cells from `start` on."""
    begin, end = (np.searchsorted(group, group[min(at, len(group) - 1)]) for at in (start, start + BLOCK))
    end = len(group) if start + BLOCK >= len(group) else end
    if begin == end:
        return np.zeros(len(value))
    here, target = link[begin:end], group[begin:end] - group[begin]
    share = value[here]
    share /= np.bincount(target, share)[target]
    return np.bincount(here, share, minlength=len(value)).astype(np.float64)
