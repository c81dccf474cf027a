"""Evidence: the verdict of our numbers on an instance of a claim, by draws of its cells (see `draws`).

The slack of a comparison a > b is a - b: positive if the comparison is true. The slack of `and` is the minimum over its
parts, that of `or` the maximum, that of `not` the negative. An instance holds if at least 97.5% of the draws have
positive slack, fails if at least 97.5% have negative slack. Where neither is so, it is "smaller" if the middle 95% lie
below the paper's own slack: the direction is open, but a difference as large as the paper's is excluded (the paper's
number as the bound of an equivalence test, Lakens 2017). Otherwise it is undecided. Draws cannot confirm a == b: it is
undecided if the middle 95% of a - b contain 0, and fails otherwise.
"""

import ast
import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import quotient
from bitextbench.report.claims import Instance, Interval, Key, Verdict
from bitextbench.report.draws import DRAWS, Draws

SURE = 0.975
MANY = 10**12  # seeds: no larger number is looked for
TINY = 1e-9  # what binary fractions leave of 28.4 - 23.1 - 5.3

Array = NDArray[np.float64]
Cells = Mapping[str, Array]


@dataclass(frozen=True)
class Evidence:
    """The verdict on an instance.

    `low`, `high`: the 95% interval of `slack`. `p`: two-sided p-value that the true slack has the other sign. `seeds`,
    `items`: the smallest numbers among the cells. `needed`: how many seeds and items would decide the direction, in
    words.
    """

    verdict: Verdict
    slack: float
    low: float
    high: float
    p: float
    seeds: int
    items: int
    needed: str


def of(instance: Instance, numbers: Mapping[Key, Draws], paper_slack: float | None = None) -> Evidence | None:
    """The evidence on an instance, which has `paper_slack` on the paper's numbers; None if `numbers` lacks a cell."""
    if not numbers.keys() >= set(instance.cells.values()):
        return None
    cells = {name: numbers[key] for name, key in instance.cells.items()}

    def slack(values: Callable[[Draws], Array]) -> Array:
        return _slack(instance.tree, {name: values(cell) for name, cell in cells.items()})

    value = float(slack(lambda cell: cell.value + np.zeros(DRAWS))[0])
    drawn = slack(lambda cell: cell.all)
    low, high = _middle(drawn)
    above, below = (float((side > 0).mean()) for side in (drawn, -drawn))
    verdict: Verdict = "holds" if above >= SURE else "fails" if below >= SURE else undirected(high, paper_slack)
    k, n = (min(filter(None, (getattr(cell, name) for cell in cells.values())), default=0) for name in ("k", "n"))
    needed = ""
    if verdict in ("undecided", "smaller"):
        parts = (lambda cell: cell.value + cell.items, lambda cell: cell.value + cell.known_seeds)
        of_items, of_seeds = (slack(part).var() for part in parts)
        needed = enough(value, float(of_items), float(of_seeds), n, k)
    p = min(1.0, 2 * (1 - max(above, below) + 1 / DRAWS))
    return Evidence(verdict, value, low, high, p, k, n, needed)


def undirected(high: float, paper_slack: float | None) -> Verdict:
    """The verdict on an instance of open direction whose slack is at most `high`."""
    return "smaller" if paper_slack is not None and max(high, 2 * TINY) < paper_slack else "undecided"


def printed(instance: Instance, numbers: Mapping[Key, Interval]) -> float | None:
    """The slack on the papers' numbers, taken as exact; None if one of them is missing."""
    if not numbers.keys() >= set(instance.cells.values()):
        return None
    cells = {name: np.full(DRAWS, float(numbers[key].low)) for name, key in instance.cells.items()}
    return float(_slack(instance.tree, cells)[0])


def enough(slack: float, of_items: float, of_seeds: float, n: int, k: int) -> str:
    """How many seeds, or seeds and test items, would decide a slack of this size with 80% power, in words.

    `of_items`, `of_seeds`: the variances of the slack by items and by the mean over seeds; `n`, `k`: the numbers of items
    and seeds. Decided is what is larger than its standard error times t(97.5%) + t(80%), with the degrees of freedom of
    Welch (1947). Items grow with the seeds where theirs is more than half of the variance that would do. Of one seed the
    items alone are given: what others would add is unknown. Empty if the slack is 0 or the seeds are unknown.
    """
    from scipy.stats import t

    most = (slack / (1.96 + 0.84)) ** 2  # the variance that would do
    if not most or not k:
        return ""
    more_items = 2 * of_items > most

    def decide(seeds: int) -> bool:
        part = of_seeds * k / seeds
        both = part + of_items * (k / seeds if more_items else 1)
        freedom = (seeds - 1) * (both / part) ** 2
        return bool(t.ppf(SURE, freedom) + t.ppf(0.8, freedom) <= abs(slack) / math.sqrt(both))

    if k == 1 or not of_seeds:
        return _items(n, of_items / most)
    needed = k + 1 + bisect_left(range(k + 1, MANY), True, key=decide)
    return f"{needed:,} seeds" + (f" and {_items(n, needed / k)}" if more_items else "")


def _items(n: int, factor: float) -> str:
    """That many times n items, in words; n = 0 if unknown."""
    return f"{math.ceil(n * factor):,} items" if n else f"{factor:.1f} times the items"


def adjusted(p: Sequence[float]) -> list[float]:
    """p-values adjusted for the false discovery rate (Benjamini and Hochberg 1995), in the order of `p`."""
    from scipy.stats import false_discovery_control

    return [float(value) for value in false_discovery_control(p)] if p else []


def _middle(drawn: Array) -> tuple[float, float]:
    low, high = np.quantile(drawn, [1 - SURE, SURE])
    return float(low), float(high)


def _slack(node: ast.expr, cells: Cells) -> Array:
    """The slack [DRAWS] of a predicate, as `claims.instances` parses it."""
    match node:
        case ast.BoolOp(op=op, values=parts):
            least = np.minimum if isinstance(op, ast.And) else np.maximum
            return least.reduce([_slack(part, cells) for part in parts])
        case ast.UnaryOp(operand=operand):
            return -_slack(operand, cells)
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = pairwise(_number(side, cells) for side in (left, *rest))
            return np.minimum.reduce([COMPARISONS[type(op)](*pair) for op, pair in zip(ops, sides, strict=True)])
    raise ValueError(ast.unparse(node))


def _number(node: ast.expr, cells: Cells) -> Array:
    """The value [DRAWS] of an arithmetic expression. `claims.instances` has allowed nothing but FUNCTIONS and cells."""
    value = eval(compile(ast.Expression(node), "claim", "eval"), {"__builtins__": {}}, FUNCTIONS | dict(cells))
    return value + np.zeros(DRAWS)


def _equal(a: Array, b: Array) -> Array:
    difference = a - b
    low, high = _middle(difference)
    return TINY - abs(difference) if low == high or low > 0 or high < 0 else np.zeros(DRAWS)


COMPARISONS: dict[type, Callable[[Array, Array], Array]] = {
    ast.Lt: lambda a, b: b - a - TINY,
    ast.Gt: lambda a, b: a - b - TINY,
    ast.LtE: lambda a, b: b - a + TINY,
    ast.GtE: lambda a, b: a - b + TINY,
    ast.Eq: _equal,
    ast.NotEq: lambda a, b: -_equal(a, b),
}
FUNCTIONS: dict[str, Any] = {
    "mean": lambda *values: sum(values) / len(values),
    "min": lambda *values: np.minimum.reduce(np.broadcast_arrays(*values)),
    "max": lambda *values: np.maximum.reduce(np.broadcast_arrays(*values)),
    "abs": abs,
    "f1": lambda precision, recall: quotient(*np.broadcast_arrays(2.0 * precision * recall, precision + recall)),
}
