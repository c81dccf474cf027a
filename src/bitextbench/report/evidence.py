"""Evidence: what our numbers say of an instance of a claim, by the tree of its single comparisons (see `predicates`).

A single comparison, d > 0, is tested as in `evaluation.significance`: the error of d is a normal deviation by test items
(the variance of its draws) plus Student's t by seeds (what is paired, and Welch's degrees of freedom, say `draws` and
`estimate`). Where few items differ, their bootstrap is too sure: of two systems without an error it says that they are
level, for any number of items. If the true number is at the border, m items away from ours, it has a variance of at
least m items: that is the least taken (as in a score test: Tango 1998). Where two trainings of one seed each are
compared, and no run says how far seeds lie apart, nothing is decided. Of it come two one-sided p-values: that d > 0 is
false although it seems true (`holds`), and that it is true although it seems false (`fails`). They are joined so that
each stays a p-value, whatever the parts have in common:

| | holds | fails |
|---|---|---|
| All of m parts | the largest: each part must hold (intersection-union test, Berger 1982) | m times the smallest: some part fails (Holm 1979, its first step) |
| Any of m parts | m times the smallest | the largest |

m counts the parts that are uncertain. The verdict on an instance, each at an error of at most 2.5%:

- holds, fails: `holds` or `fails` is at most 0.025;
- level: neither holds, and the distance from the border lies within the metric's equivalence bound (`metrics`): the
  predicate holds with each border moved out by the bound, and fails with each moved in by it. For a single comparison
  this is the equivalence test of a 95% interval (Lakens 2017);
- undecided: nothing of this.

An equality holds within the bound. Slack, interval and what is needed are those of the part that decides: of All the
one that is surest to be false, of Any the one that is surest to be true. The interval has the level at which that part
decides, so that it excludes 0 where the verdict is holds or fails.
"""

import ast
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import Z
from bitextbench.evaluation.significance import error_quantile, error_tail
from bitextbench.report import predicates
from bitextbench.report.claims import Instance, Key, Verdict
from bitextbench.report.draws import UNKNOWN, Draws, Spread
from bitextbench.report.predicates import Single, Tree

ALPHA = 0.025
MANY = 10**12  # seeds: no larger number is looked for
TINY = 1e-7  # more than binary fractions leave of 28.4 - 23.1 - 5.3; a variance of TINY^2 is none
STEP = 1e-3  # of a cell, for slopes

Array = NDArray[np.float64]
Cells = Mapping[str, Draws]


class Estimate(NamedTuple):
    """A number of several cells with its variances by items and by seeds; `freedom`: of the second; `worth`: of an item,
    the most in any cell. Arrays broadcast.
    """

    value: Any
    of_items: Any
    of_seeds: Any
    freedom: Any
    worth: float = 0.0

    def tail(self, away: Any) -> Any:
        """The probability of an error of at least `away`, of a true number that is as far from ours."""
        return error_tail(away, np.maximum(self.of_items, self.worth * away), self.of_seeds, self.freedom)

    def reach(self, tail: float) -> float:
        """How far away the probability is `tail`."""
        from scipy.optimize import brentq

        least = error_quantile(tail, self.of_items, self.of_seeds, self.freedom)
        if math.isinf(least) or not self.worth or 0 < self.worth * least <= self.of_items:
            return least
        most = next(far for power in range(100) if self.tail(far := 2.0**power * max(least, self.worth)) < tail)
        return float(brentq(lambda away: self.tail(away) - tail, least, most, xtol=1e-9 * most))

    def above(self, border: Any = 0.0) -> "Sides":
        """The tests of: the true number is above a border. One without errors that is at the border has no side: both
        p-values are 1.
        """
        away = self.value - border
        smaller = self.tail(abs(away))
        larger = np.where(smaller < 1, 1 - smaller, 1.0)
        return Sides(np.where(away > 0, smaller, larger), np.where(away > 0, larger, smaller))


class Sides(NamedTuple):
    """One-sided p-values of a statement: that it seems true by chance (`holds`), that it seems false by chance (`fails`).
    Arrays broadcast.
    """

    holds: Any
    fails: Any


@dataclass(frozen=True)
class Evidence:
    """The verdict on an instance.

    `single`: the part that decides. `slack`: how far the deciding part is on the true side of its border; `low`, `high`: its interval. `tested`, `level`:
    the p-values of the instance. `seeds`, `items`: the smallest numbers among the cells of the deciding part. `needed`:
    how many seeds and items would find a difference as large as the equivalence bound, in words. `part`: `single`
    in words, if it is one of several.
    """

    single: Single
    verdict: Verdict
    slack: float
    low: float
    high: float
    tested: Sides
    level: float
    seeds: int
    items: int
    needed: str = ""
    part: str = ""

    @property
    def p(self) -> float:
        """Two-sided."""
        return min(1.0, 2 * min(self.tested))


def of(instance: Instance, numbers: Mapping[Key, Draws], bounds: Mapping[Key, float]) -> Evidence | None:
    """The evidence on an instance; None if `numbers` lacks a cell. `bounds` has that of each cell's metric."""
    if not numbers.keys() >= set(instance.cells.values()):
        return None
    cells = {name: numbers[key] for name, key in instance.cells.items()}
    own = {name: bounds[key] for name, key in instance.cells.items()}
    singles = {one: estimate(one.number, cells) for one in predicates.leaves(instance.tree)}
    bound = {one: bound_of(one, own) for one in singles}
    whole, level = tested(instance.tree, singles, bound)
    tests: list[tuple[Verdict, float]] = [("holds", whole.holds), ("fails", whole.fails), ("level", level)]
    verdict: Verdict = next((name for name, p in tests if p <= ALPHA), "undecided")
    one, parts = deciding(instance.tree, each_tested(singles, bound))
    number, border = singles[one], border_of(one, bound[one])
    used = [cells[name] for name in names(one.number, cells)]
    seeds, items = (min(filter(None, (getattr(cell, field) for cell in used)), default=0) for field in ("k", "n"))
    slack = float(number.value) - border
    low, high = slack - number.reach(ALPHA / parts.holds), slack + number.reach(ALPHA / parts.fails)
    made = Evidence(one, verdict, slack, low, high, Sides(*map(float, whole)), float(level), seeds, items)
    if verdict == "undecided":
        of_items = max(float(number.of_items), number.worth * bound[one])
        needed = enough(bound[one], of_items, float(number.of_seeds), items, seeds)
        made = replace(made, needed=needed)
    if len(singles) > 1:
        written = {name: f"[{key[1]}, {key[2]}]" for name, key in instance.cells.items()}
        made = replace(made, part=predicates.text(one, written))
    return made


def exact(tree: Tree, numbers: Mapping[str, float], bounds: Mapping[str, float], side: int = 0) -> float:
    """The slack of a tree on numbers without errors: of All the least of its parts', of Any the greatest. `side`: as in
    `border_of`.
    """

    def slack(one: Single) -> float:
        return float(predicates.number(one.number, numbers)) - border_of(one, bound_of(one, bounds), side)

    return predicates.folded(tree, slack)


def estimate(number: ast.expr, cells: Cells) -> Estimate:
    """A number of cells, linear near their values (delta method).

    Cells of the same model and seeds are paired: the number is taken seed by seed, and its variance is s^2 / k with
    k - 1 degrees of freedom. Cells of the same model with some seeds in common, as of tables with other numbers of seeds,
    are paired by these; k is the smaller number. Of several such groups variances add up, with the degrees of freedom of
    Welch (1947). Cells of one seed add the variance of other seeds (`Draws.spread`) each, but for cells of one model that
    was trained once: their difference is that model's.
    """
    used = names(number, cells)
    at = {name: cells[name].value for name in used}
    value = predicates.number(number, at)
    slopes = [
        (
            predicates.number(number, at | {name: at[name] + STEP})
            - predicates.number(number, at | {name: at[name] - STEP})
        )
        / (2 * STEP)
        for name in used
    ]
    items = np.cov(np.stack([cells[name].items for name in used]), ddof=0).reshape(len(used), -1) if used else 0.0
    of_items = _rounded(np.einsum("i...,ij,j...->...", slopes, items, slopes)) if used else 0.0
    groups: dict[tuple[str, tuple[int, ...]], Any] = {}
    for slope, name in zip(slopes, used, strict=True):
        if len(seeds := cells[name].seeds) > 1:
            group = cells[name].model, tuple(sorted(seeds))
            groups[group] = groups.get(group, 0.0) + slope * np.stack([seeds[seed] for seed in group[1]])
    once: dict[Spread, Any] = {}
    if not _one_training([cells[name] for name in used]):
        for slope, name in zip(slopes, used, strict=True):
            if (alike := cells[name].spread) and np.any(slope):
                once[alike] = once.get(alike, 0.0) + slope**2
    worth = max(
        (float(np.max(np.abs(slope))) * cells[name].worth for slope, name in zip(slopes, used, strict=True)),
        default=0.0,
    )
    if UNKNOWN in once:
        return Estimate(value, of_items, math.inf, 1.0, worth)
    parts = [(weight * alike.variance, alike.freedom) for alike, weight in once.items()]
    parts += [
        (group.k / (group.k - 1) * sum(np.square(part) for part in group.shares.values()), group.k - 1)
        for group in _sharing(groups)
    ]
    of_seeds = _rounded(sum((variance for variance, _ in parts), start=0.0))
    squares = sum((variance**2 / freedom for variance, freedom in parts), start=0.0)
    freedom = np.divide(of_seeds**2, squares, out=np.ones_like(of_seeds), where=of_seeds > 0)
    return Estimate(value, of_items, of_seeds, freedom, worth)


class _Group(NamedTuple):
    """Cells of one model with seeds in common: what each seed adds to the mean, and the smallest number of seeds."""

    model: str
    shares: dict[int, Any]
    k: int


def _sharing(spreads: Mapping[tuple[str, tuple[int, ...]], Any]) -> list[_Group]:
    """Groups that have no seeds in common, from deviations by seed of cells of one model and seeds."""
    made: list[_Group] = []
    for (model, seeds), spread in spreads.items():
        shares, k = dict(zip(seeds, spread / len(seeds), strict=True)), len(seeds)
        for group in [one for one in made if one.model == model and one.shares.keys() & shares.keys()]:
            made.remove(group)
            shares = {seed: shares.get(seed, 0.0) + group.shares.get(seed, 0.0) for seed in shares | group.shares}
            k = min(k, group.k)
        made.append(_Group(model, shares, k))
    return made


def _one_training(cells: list[Draws]) -> bool:
    """Whether several cells are all of one model, which was trained once."""
    return len(cells) > 1 and all(cell.spread and cell.model == cells[0].model != "" for cell in cells)


def _rounded(variance: Any) -> Any:
    """Without what rounding leaves, of either sign, where cells are equal."""
    return np.where(variance > TINY**2, variance, 0.0)


def names(number: ast.expr, cells: Mapping[str, Any]) -> list[str]:
    """The cells of a number, each once, in order."""
    used = (node.id for node in ast.walk(number) if isinstance(node, ast.Name) and node.id in cells)
    return sorted(set(used), key=list(cells).index)


def bound_of(one: Single, bounds: Mapping[str, float]) -> float:
    """The equivalence bound of a comparison: the least of its cells'."""
    return min((bounds[name] for name in names(one.number, bounds)), default=0.0)


def border_of(one: Single, bound: float, side: int = 0) -> float:
    """Where a comparison's number has to be above, moved in (`side` 1) or out (-1) by the equivalence bound."""
    equal = (-1 if one.closed else 1) * bound if one.equal else 0.0
    return equal + side * bound - (TINY if one.closed else 0.0)


def each_tested(
    singles: Mapping[Single, Estimate], bounds: Mapping[Single, float], side: int = 0
) -> dict[Single, Sides]:
    """The tests of single comparisons, their borders as in `border_of`."""
    return {one: number.above(border_of(one, bounds[one], side)) for one, number in singles.items()}


def tested(tree: Tree, singles: Mapping[Single, Estimate], bounds: Mapping[Single, float]) -> tuple[Sides, Any]:
    """The tests of a tree, and the p-value that it is level."""
    whole, outer, inner = (joined(tree, each_tested(singles, bounds, side)) for side in (0, -1, 1))
    return whole, np.maximum(outer.holds, inner.fails)


def joined(tree: Tree, singles: Mapping[Single, Sides]) -> Sides:
    """The tests of a tree from those of its single comparisons."""
    if isinstance(tree, Single):
        return singles[tree]
    parts = [joined(part, singles) for part in tree.parts]
    every, some = ("holds", "fails") if tree.every else ("fails", "holds")
    largest = np.maximum.reduce([getattr(part, every) for part in parts])
    smallest = np.minimum.reduce([getattr(part, some) for part in parts])
    return Sides(**{every: largest, some: np.minimum(1.0, _uncertain(parts) * smallest)})


def _uncertain(parts: list[Sides]) -> Any:
    """How many parts are uncertain, at least 1."""
    return np.maximum(1, sum((part.holds > 0) & (part.fails > 0) for part in parts))


def deciding(tree: Tree, singles: Mapping[Single, Sides]) -> tuple[Single, Sides]:
    """The comparison that decides on a tree, and by how much each of its p-values is multiplied."""
    whole = joined(tree, singles)
    side = "holds" if whole.holds < whole.fails else "fails"
    times = {"holds": 1.0, "fails": 1.0}
    while not isinstance(tree, Single):
        parts = [joined(part, singles) for part in tree.parts]
        every, some = ("holds", "fails") if tree.every else ("fails", "holds")
        times[some] *= float(_uncertain(parts))
        p = [float(getattr(part, side)) for part in parts]
        tree = tree.parts[p.index(max(p) if side == every else min(p))]
    return tree, Sides(**times)


def enough(difference: float, of_items: float, of_seeds: float, n: int, k: int) -> str:
    """How many seeds, or seeds and test items, would find a difference with 80% power, in words.

    `of_items`, `of_seeds`: the variances by items and by the mean over seeds; `n`, `k`: the numbers of items and seeds.
    Found is what is larger than its standard error times t(97.5%) + t(80%), with the degrees of freedom of Welch (1947).
    Items grow with the seeds where theirs is more than half of the variance that would do. Of one seed the items alone
    are given, where what others would add is known or nothing; else a second seed. Empty if the difference is 0, the seeds are unknown, or those that are
    there would do.
    """
    from scipy.special import stdtrit

    most = (difference / (Z + 0.84)) ** 2  # the variance that would do
    if not most or not k:
        return ""
    more_items = 2 * of_items > most

    def decide(seeds: int) -> bool:
        part = of_seeds * k / seeds
        both = part + of_items * (k / seeds if more_items else 1)
        freedom = (seeds - 1) * (both / part) ** 2
        return bool(stdtrit(freedom, 1 - ALPHA) + stdtrit(freedom, 0.8) <= difference / math.sqrt(both))

    found = f" to find {difference:g} (the equivalence bound)"
    if math.isinf(of_seeds):
        return "a second seed"
    if k == 1 or not of_seeds:
        return _items(n, of_items / most) + found if of_items > most else ""
    if decide(k):
        return ""
    needed = k + 1 + bisect_left(range(k + 1, MANY), True, key=decide)
    return f"{needed:,} seeds" + (f" and {_items(n, needed / k)}" if more_items else "") + found


def _items(n: int, factor: float) -> str:
    """That many times n items, in words; n = 0 if unknown."""
    return f"{math.ceil(round(n * factor, 6)):,} items" if n else f"{factor:.1f} times the items"
