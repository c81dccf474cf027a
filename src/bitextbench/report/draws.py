"""Draws: what the cells of a table could have been with other test items, and what they were with other seeds.

A cell is the mean of its seeds' values x_s, s = 1..k, measured on n test items. `evidence` needs two things of it:

- items: deviations of the mean on test items that are resampled with replacement (bootstrap, Efron 1979). Every seed, and
  every cell with the same number of items, gets the same resample. So rows measured on one test set are compared on the
  same items (paired). Two different test sets that happen to have the same size have independent outcomes, so that
  sharing a resample is harmless.
- seeds: the deviations x_s - mean, with the name of the model that was trained with seed s. Cells of one model, or of
  texts that one pipeline selected, are compared seed by seed (paired). Two encoders that are trained by themselves have
  nothing in common but the number of the seed: their variances add up, with Welch's degrees of freedom. A cell of one
  seed has the spread of another run's seeds in the same table, where such a run is given (`spreads`). Else its spread
  is unknown, unless nothing was trained for it.

A cell without items (an average precision; a table whose CSV alone is left) is drawn independently of all others, from
a normal distribution whose two halves have the widths of the two halves of its interval.
"""

import functools
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, Z, quotient
from bitextbench.base.items import GroupedItems, worth
from bitextbench.config import FIGURE4
from bitextbench.report.cells import Measurement

DRAWS = 2000

Array = NDArray[np.float64]
Key = tuple[str, str, str]  # place of the table, row, column


class Spread(NamedTuple):
    """The variance of one seed's numbers, pooled over the cells of a table and metric, with its degrees of freedom."""

    variance: float
    freedom: float


UNKNOWN = Spread(math.inf, 1)
Spreads = Mapping[tuple[str, str], Spread]  # by place and signature


class Draws(NamedTuple):
    """A cell: its value; the deviations from it by items (float64 [DRAWS]), and by seed.

    `model`: what the seeds trained; "" for texts that a whole pipeline selected. `k`, `n`: the numbers of seeds and
    items; 0 if unknown. `spread`: that of seeds, where the cell has one; None where nothing was trained, or there are
    several. `worth`: how many points one item is worth; 0 if unknown.
    """

    value: float
    items: Array
    seeds: Mapping[int, float] = {}
    model: str = ""
    k: int = 0
    n: int = 0
    spread: Spread | None = None
    worth: float = 0.0


def of_table(
    place: str,
    cells: Mapping[tuple[str, str], Sequence[Measurement]],
    models: Mapping[Key, str] | None = None,
    known: Spreads | None = None,
) -> dict[Key, Draws]:
    """The draws of a table from the measurements of each row and column; `models` as `layout.models` gives them, `known`
    as `spreads` does. In figure 4 of yang2019 each column is a model.
    """
    drawn = iter(deviations([part for seeds in cells.values() for one in seeds for part in one.items]))
    made = {}
    for (row, column), seeds in cells.items():
        of_items = [[next(drawn) for _ in one.items] for one in seeds]
        model = column if place == FIGURE4 else (models or {}).get((place, row, column), "")
        alike = (known or {}).get((place, seeds[0].signature), UNKNOWN)
        made[place, row, column] = _of_cell(seeds, of_items, place, model, alike)
    return made


def spreads(place: str, cells: Iterable[Sequence[Measurement]]) -> dict[tuple[str, str], Spread]:
    """How far the numbers of a table lie apart over seeds, by place and signature, where cells have several seeds.

    The variance is pooled. Cells of one seed go up and down together, so that m of them with k seeds have fewer than
    m (k - 1) degrees of freedom. They have (k - 1) tr(S)^2 / tr(S^2) of them (Satterthwaite 1946), where S has the
    covariances of the cells. S of few seeds makes that smaller than it is, at most (k - 1)^2: no test is too sure.
    """
    apart: dict[tuple[str, str], dict[tuple[int, ...], list[Array]]] = {}
    for seeds in cells:
        if len(seeds) > 1:
            values = np.array([one.value for one in seeds])
            held = apart.setdefault((place, seeds[0].signature), {})
            held.setdefault(tuple(one.seed for one in seeds), []).append(values - values.mean())
    return {key: _pooled([np.stack(rows) for rows in held.values()]) for key, held in apart.items()}


def _pooled(groups: Sequence[Array]) -> Spread:
    """The variance of deviations [cells, k] of groups with seeds of their own, with its degrees of freedom."""
    squares = sum(float(np.square(rows).sum()) for rows in groups)
    freedom = sum(len(rows) * (rows.shape[1] - 1) for rows in groups)
    mixed = sum(float(np.square(rows @ rows.T).sum()) / (rows.shape[1] - 1) for rows in groups)
    return Spread(squares / freedom, min(freedom, squares**2 / mixed) if mixed else freedom)


def _of_cell(
    seeds: Sequence[Measurement], of_items: Sequence[Sequence[Array]], place: str, model: str, alike: Spread
) -> Draws:
    """The draws of a cell from the measurements of its seeds, and the deviations of each of their test sets.

    `alike`: the spread of one seed's numbers, for a cell of one seed.
    """
    k, first = len(seeds), seeds[0]
    mean = math.fsum(one.value for one in seeds) / k
    apart = {one.seed: one.value - mean for one in seeds} if k > 1 else {}
    spread = alike if k == 1 and first.trained else None
    if not all(of_items):
        low, high = (math.fsum(ends) / k for ends in zip(*((one.low, one.high) for one in seeds), strict=True))
        drawn = alone(f"{place} {first.row} {first.column}", mean, low, high, k)
        return drawn._replace(seeds=apart, model=model, spread=spread)
    items = np.mean([np.mean(parts, axis=0) for parts in of_items], axis=0)
    one = max(map(worth, first.items)) / len(first.items)
    return Draws(mean, items, apart, model, k, sum(part.n for part in first.items), spread, one)


def alone(name: str, value: float, low: float | None, high: float | None, k: int = 0) -> Draws:
    """The draws of a cell from its interval; `name` seeds the generator, so that each cell has draws of its own."""
    normal = np.random.default_rng(list(hashlib.sha256(name.encode()).digest())).standard_normal(DRAWS)
    below, above = (0.0 if end is None else abs(value - end) / Z for end in (low, high))
    return Draws(value, normal * np.where(normal < 0, below, above), k=k)


def deviations(parts: Sequence[GroupedItems]) -> list[Array]:
    """The deviations [DRAWS] of metrics on resampled items, centred at 0. Those with as many groups are drawn alike, and
    summed by one matrix product.
    """
    found: dict[int, Array] = {}
    for groups in {len(part.counts) for part in parts}:
        alike = [place for place, part in enumerate(parts) if len(part.counts) == groups]
        sums = _weights(groups) @ np.concatenate([parts[place].counts for place in alike], axis=1)
        ends = np.cumsum([parts[place].counts.shape[1] for place in alike])[:-1]
        found |= zip(alike, np.split(sums, ends, axis=1), strict=True)
    return [_centred(part.kind, found[place]) for place, part in enumerate(parts)]


def _centred(kind: str, sums: Array) -> Array:
    """A metric of sums [DRAWS, c], minus its mean."""
    values = 100 * quotient(*sums.T) if kind == "ratio" else _bleu(sums, smooth=kind == "bleu")
    return values - values.mean()


@functools.lru_cache(maxsize=4)
def _weights(groups: int) -> Array:
    """How often each group of items is drawn [DRAWS, groups]."""
    return np.random.default_rng([SEED, groups]).multinomial(groups, np.full(groups, 1 / groups), DRAWS).astype(float)


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
