"""Metrics of counts with a bootstrap interval (percentile method, Efron 1979).

Units (sentences, pairs, documents) that count alike are of one type, so resampling n units is one multinomial draw over
the types: exact, and with few types as fast for ten million units as for ten.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitextbench import __version__
from bitextbench.base.errors import InputError
from bitextbench.base.items import GroupedItems, counts_whole, grouped, packed, worth

SAMPLES = 1000
SEED = 12345
Z = 1.96  # of a normal deviation: 95% lie within
CHUNK = 1 << 22  # weights that are drawn at a time

Statistic = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def ratio(metric: str, counts: ArrayLike, *, seed: int = SEED, signature: str = "") -> dict[str, Any]:
    """A ratio of two sums over all units, in percent, with its interval (see `widened`) and the units as `items`.

    counts [n, 2]: the numerator and the denominator of each unit. Raises InputError for no units.
    """
    rows = np.asarray(counts, np.float64)
    if not len(rows):
        raise InputError(f"nothing to measure {metric} on", remedy="give it at least one sentence")
    types, frequencies = np.unique(rows, axis=0, return_counts=True)

    def statistic(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return 100 * quotient(*(weights @ types).T)

    measured = measure_types(metric, frequencies, statistic, seed=seed, signature=signature)
    items = grouped("ratio", rows)
    interval = widened(measured["value"], measured["interval"], items)
    return measured | {"interval": interval, "items": packed(items)}


def widened(value: float, interval: Sequence[float], items: GroupedItems) -> list[float]:
    """The interval of a share of n items, in percent, at least as long as a score interval's where few differ.

    Where all n are right the bootstrap's interval is [100, 100], for any n. But a true share p, with p = v - a for our
    share v, has the variance p (1 - p) / n, which is at least p a / n. So the lower end is at most v n / (n + z^2). If v
    is 1, that is the end of Wilson 1927. The upper end follows from the share of the others, 1 - v.
    """
    low, high = interval
    if counts_whole(items):
        kept = 100 / (100 + Z**2 * worth(items))  # n / (n + z^2)
        low, high = min(low, kept * value), max(high, 100 - kept * (100 - value))
    return [low, high]


def measure_types(
    metric: str, frequencies: NDArray[np.integer], statistic: Statistic, *, seed: int = SEED, signature: str = ""
) -> dict[str, Any]:
    """A statistic with its interval, for units of t types that occur `frequencies` [t] times each.

    statistic: frequencies of the types float64 [s, t] -> values [s].
    """
    return measure_all(frequencies, lambda weights: {metric: statistic(weights)}, seed=seed, signature=signature)[
        metric
    ]


def measure_all(
    frequencies: NDArray[np.integer],
    statistics: Callable[[NDArray[np.float64]], dict[str, NDArray[np.float64]]],
    *,
    seed: int = SEED,
    signature: str = "",
) -> dict[str, dict[str, Any]]:
    """`measure_types` of several metrics, by name, on the same draws."""
    values = {
        metric: float(column[0]) for metric, column in statistics(np.asarray(frequencies, np.float64)[None]).items()
    }
    draws = [statistics(weights) for weights in _weights(frequencies, seed)]
    result = {}
    for metric, value in values.items():
        low, high = np.quantile(np.concatenate([draw[metric] for draw in draws]), [0.025, 0.975])
        parts = [metric, *filter(None, [signature]), f"bs:{SAMPLES}", f"seed:{seed}", f"version:{__version__}"]
        result[metric] = {
            "metric": metric,
            "value": value,
            "interval": [float(low), float(high)],
            "n": int(frequencies.sum()),
            "seed": seed,
            "signature": "|".join(parts),
        }
    return result


def _weights(frequencies: NDArray[np.integer], seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each type is drawn, [s, t] at a time, SAMPLES in all."""
    rng = np.random.default_rng(seed)
    types, n = len(frequencies), int(frequencies.sum())
    few = n > 8 * types  # else units are drawn one by one, which is quicker
    units = np.repeat(np.arange(types), 0 if few else frequencies)
    step = max(1, CHUNK // (types if few else n))
    for start in range(0, SAMPLES, step):
        size = min(step, SAMPLES - start)
        if few:
            yield rng.multinomial(n, frequencies / n, size=size).astype(np.float64)
        else:
            drawn = units[rng.integers(0, n, (size, n))] + types * np.arange(size)[:, None]
            yield np.bincount(drawn.ravel(), minlength=size * types).reshape(size, types).astype(np.float64)


def rate(metric: str, hits: ArrayLike, *, seed: int = SEED, signature: str = "") -> dict[str, Any]:
    """The mean of a number in [0, 1] for each unit [n], in percent."""
    values = np.asarray(hits, np.float64)
    return ratio(metric, np.stack([values, np.ones_like(values)], 1), seed=seed, signature=signature)


def quotient(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Elementwise; 0 where the denominator is 0 (nothing was found, or nothing was there to find)."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)
