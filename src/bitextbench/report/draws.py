"""Draws: values that the cells of a table could have had with other test items and other seeds; claims compare cells by
them.

A cell is the mean of its seeds' values x_s, s = 1..k. Draw b is this mean plus two independent deviations:

- items: the test items are resampled with replacement (bootstrap, Efron 1979). Every seed, and every cell with the same
  number of items, gets the same resample. So rows measured on one test set are compared on the same items (paired). Two
  different test sets that happen to have the same size have independent outcomes, so that sharing a resample is
  harmless.
- seeds: c_b * sum_s g_bs (x_s - mean) / sqrt(k (k - 1)), with g_bs standard normal, the same for seed s of every cell,
  and c_b = sqrt((k - 1) / chi^2_b). So the difference of two cells with the same k seeds has Student's t distribution
  with k - 1 degrees of freedom and the standard error of its paired differences. (Resampling three seeds with
  replacement would give intervals of half the length.) With one seed this deviation is 0.

A cell without items (an average precision; a table whose CSV alone is left) is drawn independently of all others, from
a normal distribution whose two halves have the widths of the two halves of its interval.
"""

import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, quotient
from bitextbench.base.items import GroupedItems
from bitextbench.report.cells import Measurement

DRAWS = 2000

Array = NDArray[np.float64]
Key = tuple[str, str, str]  # place of the table, row, column


class Draws(NamedTuple):
    """The draws of a cell: its value, and the deviations from it by items and by seeds (float64 [DRAWS] each).

    `k`, `n`: the numbers of seeds and items; 0 if unknown.
    """

    value: float
    items: Array
    seeds: Array
    k: int = 0
    n: int = 0

    @property
    def all(self) -> Array:
        return self.value + self.items + self.seeds

    @property
    def known_seeds(self) -> Array:
        """The deviations by seeds as if their standard error were known: normal, so that they have a variance (Student's
        t has none with 2 degrees of freedom).
        """
        return self.seeds / _chi(self.k) if self.k > 1 else self.seeds


def of_table(place: str, cells: Mapping[tuple[str, str], Sequence[Measurement]]) -> dict[Key, Draws]:
    """The draws of a table from the measurements of each row and column."""
    return {(place, *key): of_cell(seeds, place) for key, seeds in cells.items()}


def of_cell(seeds: Sequence[Measurement], place: str = "") -> Draws:
    """The draws of a cell of the table at `place` from the measurements of its seeds."""
    k, first = len(seeds), seeds[0]
    mean = math.fsum(one.value for one in seeds) / k
    spread = np.zeros(DRAWS)
    if k > 1:
        spread = sum(_normal(one.seed) * (one.value - mean) for one in seeds) * _chi(k) / math.sqrt(k * (k - 1))
    if not all(one.items for one in seeds):
        low, high = (math.fsum(ends) / k for ends in zip(*((one.low, one.high) for one in seeds), strict=True))
        return alone(f"{place} {first.row} {first.column}", mean, low, high, k)._replace(seeds=spread)
    of_items = [np.mean([deviations(part) for part in one.items], axis=0) for one in seeds]
    return Draws(mean, np.mean(of_items, axis=0), spread, k, sum(part.n for part in first.items))


def alone(name: str, value: float, low: float | None, high: float | None, k: int = 0) -> Draws:
    """The draws of a cell from its interval; `name` seeds the generator, so that each cell has draws of its own."""
    normal = np.random.default_rng(list(hashlib.sha256(name.encode()).digest())).standard_normal(DRAWS)
    below, above = (0.0 if end is None else abs(value - end) / 1.96 for end in (low, high))
    return Draws(value, normal * np.where(normal < 0, below, above), np.zeros(DRAWS), k)


def deviations(items: GroupedItems) -> Array:
    """The deviations [DRAWS] of a metric on resampled items, centred at 0."""
    sums = _weights(len(items.counts)) @ items.counts
    values = 100 * quotient(*sums.T) if items.kind == "ratio" else _bleu(sums, smooth=items.kind == "bleu")
    return values - values.mean()


@functools.lru_cache(maxsize=4)
def _weights(groups: int) -> Array:
    """How often each group of items is drawn [DRAWS, groups]."""
    return np.random.default_rng([SEED, groups]).multinomial(groups, np.full(groups, 1 / groups), DRAWS).astype(float)


@functools.cache
def _normal(seed: int) -> Array:
    return np.random.default_rng([SEED, 1, seed]).standard_normal(DRAWS)


@functools.cache
def _chi(k: int) -> Array:
    return np.sqrt((k - 1) / np.random.default_rng([SEED, 2, k]).chisquare(k - 1, DRAWS))


def _bleu(sums: Array, *, smooth: bool) -> Array:
    """BLEU [s] in percent from sacreBLEU's sums [s, 10]: two lengths, four counts of correct n-grams, four of n-grams.

    `smooth`: smoothed as mteval does (sacreBLEU's `exp`).
    """
    lengths, references, right, total = sums[:, 0], sums[:, 1], sums[:, 2:6], sums[:, 6:]
    none = (right == 0).cumsum(axis=1)  # the first n-gram order without any counts 1/2, the next 1/4
    right = np.where(right == 0, 0.5**none, right) if smooth else right
    with np.errstate(divide="ignore"):
        precision = np.log(quotient(right, total)).mean(axis=1)
    penalty = np.minimum(0, 1 - quotient(references, lengths))
    return 100 * np.exp(precision + penalty) * (sums[:, 2] > 0)
