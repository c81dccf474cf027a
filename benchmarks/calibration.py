"""Whether the intervals and verdicts of the audit keep their levels: simulated runs with known true values.

    python benchmarks/calibration.py -o calibration.csv                   two and a half minutes of processor time
    python benchmarks/calibration.py --part power --part claims

A run is simulated from its test items: two systems with the same true value, trained by several seeds and measured on
the same items by the project's metrics. The cells, draws, evidence and verdicts are the project's own. Parts:

| part | the figure, in percent | nominal |
|---|---|---|
| interval | how often the interval of a cell contains the true value | 95 |
| share | how often that of a share of n items, most of them right, contains the true value; exact | 95 |
| apart | how often a difference of 0 is said to hold or to fail: its interval does not contain the true value | 5 |
| within | how often it contains the number of one further training on the same items | |
| repeated | how often that number is said to be reproduced, as a paper's number is | 95 |
| predicate | how often a predicate at its border gets a wrong verdict: the more frequent of two | 2.5 |
| added seeds | how often a > b holds at its border, where an undecided comparison of three seeds gets two more | 2.5 |
| spread | the same of cells of one seed, with the spread of another run, whose cells go up and down together in part | 2.5 |
| few errors | how often two systems that differ by the equivalence bound are said to be level, one of them without an error | 2.5 |
| claims | of the claims of references/claims.yaml that are decided, how many wrongly (the mean share); how many are decided | 5 |
| power | the difference that is decided in 80% of the runs, in standard deviations of one seed (no percentage) | |

`ratio` is the standard deviation by seeds over that by test items.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri
from scipy.stats import binom

from bitextbench.base.bootstrap import rate
from bitextbench.base.items import grouped
from bitextbench.base.progress import log
from bitextbench.evaluation import agreement, bleu, bucc, recognition, reconstruction
from bitextbench.report import claims, draws, evidence, layout, metrics, predicates, references, verdicts
from bitextbench.report.cells import Cell, Measurement, filled, measurement
from bitextbench.report.claims import Claim, Instance, Key
from bitextbench.report.draws import DRAWS, Draws
from bitextbench.report.evidence import ALPHA

Array = NDArray[np.float64]
SEEDS = (1, 2, 3, 5)
RATIOS = (0.0, 1.0, 3.0)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
REFERENCES = Path(__file__).parent.parent / "references"
PLACE = "simulated/table1"
ITEMS = 500
BOUND = 8.0  # the equivalence bound, in points: some standard errors, so that level is possible


class Figure(NamedTuple):
    """A line of the CSV; `error`: the standard error of the simulation."""

    part: str
    case: str
    ratio: float | str
    seeds: int | str
    figure: float
    error: float | str = ""


def share(part: str, case: str, ratio: float | str, seeds: int | str, hits: Sequence[bool] | Array) -> Figure:
    p = float(np.mean(hits))
    return Figure(part, case, ratio, seeds, 100 * p, 100 * (p * (1 - p) / len(hits)) ** 0.5)


class Kind(NamedTuple):
    """A metric: items of a test set, its value on them for one training, and for all items that there are.

    `measured(items, effect, rng)`: the metric of a system whose training had this effect.
    """

    items: Callable[[np.random.Generator], Any]
    measured: Callable[[Any, float, np.random.Generator], dict[str, Any]]
    population: Callable[[float], float]

    def truth(self, size: float) -> float:
        """The mean over trainings, whose effects have the standard deviation `size`."""
        return float(sum(weight * self.population(size * node) for node, weight in zip(NODES, WEIGHTS, strict=True)))

    def size(self, ratio: float, rng: np.random.Generator) -> float:
        """The standard deviation of effects that gives the ratio of the deviations by seeds and by items."""
        values = [self.measured(self.items(rng), 0.0, rng)["value"] for _ in range(100)]
        slope = (self.population(0.01) - self.population(-0.01)) / 0.02
        return ratio * float(np.std(values)) / slope


def first_place(items: Array, effect: float, rng: np.random.Generator) -> dict[str, Any]:
    right = items + rng.standard_normal(len(items)) + 0.5 + effect > 0
    ranking = (np.arange(len(items)) + ~right) % len(items)
    return reconstruction.precision_at(ranking[:, None], at=(1,))["by_index"]["P@1"]


def f1(items: tuple[Array, NDArray[np.bool_]], effect: float, rng: np.random.Generator) -> dict[str, Any]:
    ease, gold = items
    score = ease + rng.standard_normal(len(ease)) + effect
    right, wrong = gold & (score > -1), ~gold & (score > 1.5)
    return bucc.scores_of(np.stack([right, right | wrong, gold], 1).astype(int))["f1"]


def f1_of_all(effect: float) -> float:
    right, wrong = ndtr((effect + np.array([1, -1.5])) / np.sqrt(2))
    return float(100 * 2 * right / (right + wrong + 1))


def accuracy(items: Array, effect: float, rng: np.random.Generator) -> dict[str, Any]:
    parallel = items + rng.standard_normal(len(items)) + 1 + effect
    return recognition.accuracy(parallel, rng.standard_normal((5, len(items), 3)))


def bleu_of(items: tuple[Array, NDArray[np.int64]], effect: float, rng: np.random.Generator) -> dict[str, Any]:
    """Words of a translation are right, or "x"."""
    right = [rng.random(n) < p for p, n in zip(ndtr(0.5 * items[0] + 0.5 + effect), items[1], strict=True)]
    translations = [" ".join(f"w{at}" if yes else "x" for at, yes in enumerate(line)) for line in right]
    return bleu.bleu(translations, [" ".join(f"w{at}" for at in range(n)) for n in items[1]], "en")


def bleu_of_all(effect: float) -> float:
    precision = [(WEIGHTS * ndtr(0.5 * NODES + 0.5 + effect) ** n).sum() for n in (1, 2, 3, 4)]
    return float(100 * np.exp(np.log(precision).mean()))


def confidences(scores: Array, effect: float, rng: np.random.Generator) -> Array:
    return expit(3 * (scores + effect * scores + rng.standard_normal(len(scores))))


def correlation(items: Array, effect: float, rng: np.random.Generator) -> dict[str, Any]:
    return agreement.correlation(confidences(items, effect, rng), items)


def correlation_of_all(effect: float) -> float:
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(200_000)
    return float(np.corrcoef(confidences(scores, effect, rng), scores)[0, 1])


def normal(rng: np.random.Generator, n: int = 200) -> Array:
    return rng.standard_normal(n)


KINDS = {
    "P@1": Kind(normal, first_place, lambda effect: float(100 * ndtr((0.5 + effect) / np.sqrt(2)))),
    "F1": Kind(lambda rng: (normal(rng), rng.random(200) < 0.5), f1, f1_of_all),
    "accuracy": Kind(normal, accuracy, lambda effect: float(100 * ndtr((1 + effect) / np.sqrt(3)))),
    "BLEU": Kind(lambda rng: (normal(rng, 100), rng.integers(8, 17, 100)), bleu_of, bleu_of_all),
    "correlation": Kind(normal, correlation, correlation_of_all),
}


def instance(predicate: str) -> Instance:
    [made] = claims.instances(Claim("simulated", PLACE, predicate))
    return made


def drawn(cells: dict[tuple[str, str], list[Measurement]], *, paired: bool) -> dict[Key, Draws]:
    """The draws of measured cells, each row a model of its own unless they are paired."""
    return draws.of_table(PLACE, cells, {(PLACE, *place): "" if paired else place[0] for place in cells})


def two_systems(name: str, ratio: float, runs: int) -> Iterator[Figure]:
    """The parts `interval`, `within`, `repeated` and `apart` of a metric."""
    kind, rng = KINDS[name], np.random.default_rng([list(KINDS).index(name), int(10 * ratio)])
    size = kind.size(ratio, rng) if ratio else 0.0
    truth = kind.truth(size)
    hits: dict[tuple[str, int], list[bool]] = {}
    for _ in range(runs):
        items = kind.items(rng)
        systems = {
            (row, "c"): [
                measurement(row, "c", seed, kind.measured(items, size * rng.standard_normal(), rng), Path())
                for seed in range(1, max(SEEDS) + 1)
            ]
            for row in "ab"
        }
        further = kind.measured(items, size * rng.standard_normal(), rng)["value"]
        for k in SEEDS:
            few = {place: [replace(one, trained=ratio > 0) for one in held[:k]] for place, held in systems.items()}
            cell = filled(Cell(PLACE, "a", "a", "c", paper=Decimal(f"{further:.2f}"), scale="paper"), few["a", "c"])
            assert cell.low is not None
            assert cell.high is not None
            hits.setdefault(("interval", k), []).append(cell.low <= truth <= cell.high)
            hits.setdefault(("within", k), []).append(cell.low <= further <= cell.high)
            hits.setdefault(("repeated", k), []).append(cell.verdict == "reproduced")
            for way in ("paired", "unpaired"):
                sides = better(drawn(few, paired=way == "paired"))
                hits.setdefault((f"apart, {way}", k), []).append(float(min(sides)) <= ALPHA)
    for (part, k), found in hits.items():
        yield share(part, name, ratio, k, found)


HOLDS_OR_FAILS, FAILS_OR_LEVEL = [0, 1], [1, 2]  # the wrong ones of three verdicts: holds, fails, level
BORDERS = {  # a, b, d, e have the same true value, f is above them by the equivalence bound
    "[a, c] > [b, c]": HOLDS_OR_FAILS,
    "[a, c] > [b, c] and [d, c] > [e, c]": HOLDS_OR_FAILS,
    "[a, c] > [b, c] or [d, c] > [e, c]": HOLDS_OR_FAILS,
    "[a, c] < [b, c] < [d, c] < [e, c]": HOLDS_OR_FAILS,
    "max([a, c], [b, c]) > [d, c]": HOLDS_OR_FAILS,
    f"[f, c] - [a, c] >= {BOUND}": HOLDS_OR_FAILS,
    "[a, c] == [f, c]": HOLDS_OR_FAILS,
    "[f, c] > [a, c]": FAILS_OR_LEVEL,
}


def hits_of(rng: np.random.Generator, truths: dict[str, float], k: int, *, paired: bool) -> dict[Any, Any]:
    """Cells of hits on ITEMS shared items, whose error is 2 points; that of a seed is 1.5, which cells share by half where
    they are paired.
    """
    ease, shared = rng.standard_normal(ITEMS), rng.standard_normal(k) * paired
    cells: dict[Any, list[Measurement]] = {}
    for row, p in truths.items():
        own = rng.standard_normal(k)
        rates = p + 0.015 * (np.sqrt(0.5) * (shared + own) if paired else own)
        for seed, at in enumerate(ndtri(rates)):
            hits = (ease + rng.standard_normal(ITEMS)) / np.sqrt(2) < at
            part = grouped("ratio", np.stack([hits, np.ones(ITEMS)], 1))
            one = Measurement(row, "c", seed, 100 * hits.mean(), 0, 0, ITEMS, "", Path(), (part,))
            cells.setdefault((row, "c"), []).append(one)
    return cells


def at_borders(k: int, paired: bool, runs: int) -> Iterator[Figure]:
    """The part `predicate`."""
    rng, truths = np.random.default_rng([7, k, paired]), dict.fromkeys("abde", 0.7) | {"f": 0.7 + BOUND / 100}
    made = {predicate: instance(predicate) for predicate in BORDERS}
    p: dict[str, list[Any]] = {predicate: [] for predicate in BORDERS}
    for _ in range(runs):
        cells = drawn(hits_of(rng, truths, k, paired=paired), paired=paired)
        for predicate, one in made.items():
            p[predicate].append(tested(one, cells, dict.fromkeys(cells, BOUND)))
    for predicate, found in p.items():
        wrong = np.array(found)[:, BORDERS[predicate]] <= ALPHA
        most = int(wrong.mean(axis=0).argmax())
        yield share("predicate", f"{predicate}, {'paired' if paired else 'unpaired'}", 0.7, k, wrong[:, most])


DEVIATIONS = np.random.default_rng(5).standard_normal((DRAWS, 600))


class Design(NamedTuple):
    """Runs with normal errors, all at once: standard deviations by items, which all cells of a table share by half, and
    by seeds, of which cells of one model share `alike`.
    """

    k: int
    runs: int
    items: float = 0.7
    seeds: float = 1.0
    alike: float = 0.5


def simulated(
    truths: dict[Key, float], models: dict[Key, str], design: Design, rng: np.random.Generator
) -> dict[Key, Draws]:
    """Cells of which each number is an array over the runs."""
    k, runs = design.k, design.runs
    items = {place: rng.standard_normal(runs) for place in sorted({key[0] for key in truths})}
    luck = {model: rng.standard_normal((k, runs)) for model in sorted({*models.values()})}
    cells = {}
    for number, (key, true) in enumerate(truths.items()):
        own = rng.standard_normal((k, runs))
        effects = design.seeds * (np.sqrt(design.alike) * luck[models[key]] + np.sqrt(1 - design.alike) * own)
        error = design.items * np.sqrt(0.5) * (items[key[0]] + rng.standard_normal(runs))
        common = DEVIATIONS[:, -1 - [*items].index(key[0])]
        deviations = design.items * np.sqrt(0.5) * (common + DEVIATIONS[:, number])
        mean = effects.mean(axis=0)
        seeds = dict(enumerate(effects - mean)) if k > 1 else {}
        cells[key] = Draws(true + error + mean, deviations, seeds, models[key], k, 100)
    return cells


def pair(difference: float, design: Design, *, paired: bool, seed: int = 1) -> dict[Key, Draws]:
    truths = {(PLACE, "a", "c"): difference, (PLACE, "b", "c"): 0.0}
    models = {key: "" if paired else key[1] for key in truths}
    return simulated(truths, models, design, np.random.default_rng(seed))


def better(cells: dict[Key, Draws]) -> evidence.Sides:
    """The tests, in all runs, of the first cell's being better than the second."""
    one = instance("[a, c] > [b, c]")
    [single] = predicates.leaves(one.tree)
    return evidence.estimate(single.number, {name: cells[key] for name, key in one.cells.items()}).above()


def of_first(cells: dict[Key, Draws], k: int) -> dict[Key, Draws]:
    """The cells of their first k seeds."""
    few = {key: [cell.seeds[seed] for seed in range(k)] for key, cell in cells.items()}
    means = {key: np.mean(held, axis=0) for key, held in few.items()}
    return {
        key: cell._replace(value=cell.value + means[key], seeds=dict(enumerate(few[key] - means[key])), k=k)
        for key, cell in cells.items()
    }


def added_seeds(runs: int) -> Iterator[Figure]:
    for ratio in (1.0, 3.0):
        for paired in (True, False):
            cells = pair(0.0, Design(5, 10 * runs, items=1 / ratio), paired=paired)
            first, all_five = (better(each) for each in (of_first(cells, 3), cells))
            open_at_three = np.minimum(*first) > ALPHA
            wrong = (first.holds <= ALPHA) | (open_at_three & (all_five.holds <= ALPHA))
            yield share("added seeds", "paired" if paired else "unpaired", ratio, "3 to 5", wrong)


def of_spread(runs: int) -> Iterator[Figure]:
    """Two cells of one seed each, and 24 cells of three seeds in another run, which share a part of each seed's effect."""
    rng = np.random.default_rng(9)
    for alike in (0.0, 0.5, 0.9):
        wrong = []
        for _ in range(runs):
            values = np.sqrt(alike) * rng.standard_normal(3) + np.sqrt(1 - alike) * rng.standard_normal((24, 3))
            other = [[scored(seed, value) for seed, value in enumerate(row)] for row in values]
            known = draws.spreads(PLACE, other)
            cells = {(row, "c"): [scored(1, float(rng.standard_normal()))] for row in "ab"}
            found = draws.of_table(PLACE, cells, {(PLACE, row, "c"): row for row in "ab"}, known)
            one = evidence.of(instance("[a, c] > [b, c]"), found, dict.fromkeys(found, 1.0))
            wrong.append(one is not None and one.verdict == "holds")
        yield share("spread", f"cells share {alike:.0%} of the variance", "", 1, wrong)


def scored(seed: int, value: float) -> Measurement:
    return Measurement("r", "c", seed, value, value, value, 0, "x", Path())


def few_errors(runs: int) -> Iterator[Figure]:
    """A system that makes no error, and one that makes an error of 1%: the equivalence bound."""
    rng, level = np.random.default_rng(11), instance("[a, c] > [b, c]")
    for n in (139, 300, 1000):
        said = []
        for _ in range(runs):
            hits = {"a": np.ones(n), "b": rng.random(n) > 0.01}
            cells = {(row, "c"): [measurement(row, "c", 1, rate("P@1", held), Path())] for row, held in hits.items()}
            fixed = {place: [replace(one, trained=False) for one in held] for place, held in cells.items()}
            one = evidence.of(level, found := drawn(fixed, paired=False), dict.fromkeys(found, 1.0))
            said.append(one is not None and one.verdict == "level")
        yield share("few errors", f"{n} items", 0.0, 1, said)


class Truth(NamedTuple):
    """What is true of an instance: that it holds, fails, is level."""

    holds: bool
    fails: bool
    level: bool


def true_of(one: Instance, truths: dict[Key, float], bounds: dict[Key, float]) -> Truth:
    numbers = {name: truths[key] for name, key in one.cells.items()}
    own = {name: bounds[key] for name, key in one.cells.items()}
    whole, outer, inner = (evidence.exact(one.tree, numbers, own, side) for side in (0, -1, 1))
    near = 1e-6
    return Truth(whole > near, whole < -near, outer > near and inner < -near)


def tested(one: Instance, cells: dict[Key, Draws], bounds: dict[Key, float]) -> tuple[Array, Array, Array]:
    """The p-values of an instance in all runs: that it holds, that it fails, that it is level."""
    numbers = {name: cells[key] for name, key in one.cells.items()}
    own = {name: bounds[key] for name, key in one.cells.items()}
    singles = {single: evidence.estimate(single.number, numbers) for single in predicates.leaves(one.tree)}
    whole, level = evidence.tested(one.tree, singles, {single: evidence.bound_of(single, own) for single in singles})
    return whole.holds, whole.fails, level


def right(verdict: str, truth: Sequence[Truth]) -> bool:
    holds, fails, level = (sum(each) for each in zip(*truth, strict=True))
    most = {"holds": holds, "fails": fails, "level": level}
    return verdict == "undecided" or (holds > 0 < fails if verdict == "mixed" else 2 * most[verdict] > len(truth))


def of_papers(runs: int, worlds: int = 8) -> Iterator[Figure]:
    """The part `claims`: in each world half of the tables have equal true values in all cells, the others the papers'."""
    known = metrics.load(REFERENCES / "metrics.yaml", printed := references.load_all(REFERENCES))
    tried = [claims.instances(claim) for claim in claims.load(REFERENCES / "claims.yaml")]
    keys = sorted({key for held in tried for one in held for key in one.cells.values()})
    bounds = {key: unit.bound if (unit := known.of(key)) else 1.0 for key in keys}
    models = {key: layout.models().get(key, key[1]) for key in keys}
    places = sorted({*printed, *(key[0] for key in keys)})
    wrong, decided = [], []
    for world in range(worlds):
        rng = np.random.default_rng([13, world])
        alike = {place: rng.random() < 0.5 for place in places}
        papers = {key: known.paper(key) for key in keys}
        truths = {key: 0.0 if alike[key[0]] or (paper := papers[key]) is None else paper / bounds[key] for key in keys}
        design = Design(3, runs)
        cells = simulated(truths, models, design, rng)
        units = dict.fromkeys(keys, 1.0)
        p = [[tested(one, cells, units) for one in held] for held in tried]
        truth = [[true_of(one, truths, units) for one in held] for held in tried]
        for run in range(runs):
            said = verdicts.judged(
                [
                    verdicts.statements(*zip(*([float(at(each, run)) for each in one] for one in held), strict=True))
                    for held in p
                ]
            )
            wrong.append(sum(not right(one.verdict, held) for one, held in zip(said, truth, strict=True)))
            decided.append(sum(one.verdict != "undecided" for one in said))
    rates = np.array(wrong) / np.maximum(1, decided)
    error = float(rates.reshape(worlds, runs).mean(axis=1).std(ddof=1) / worlds**0.5)
    yield Figure("claims", "decided wrongly", 1.4, 3, 100 * float(rates.mean()), 100 * error)
    yield Figure("claims", f"decided, of {len(tried)}", 1.4, 3, 100 * float(np.mean(decided)) / len(tried))


def at(values: Array, run: int) -> Any:
    return np.broadcast_to(values, np.shape(values) or (run + 1,))[run]


def power(runs: int) -> Iterator[Figure]:
    """By bisection on the same errors."""
    for case, options, alike in (
        ("paired, seeds that share half of their variance", True, 0.5),
        ("paired, seeds that share nothing", True, 0.0),
        ("unpaired", False, 0.0),
    ):
        for level, of in ((ALPHA, "alone"), (ALPHA / 3, "where a third of the claims is decided")):
            for k in (2, 3, 4, 5, 8, 10):
                low, high = 0.0, 100.0
                for _ in range(30):
                    middle = (low + high) / 2
                    design = Design(k, 10 * runs, items=1e-9, alike=alike)
                    found = np.mean(better(pair(middle, design, paired=options)).holds <= level) >= 0.8
                    low, high = (low, middle) if found else (middle, high)
                yield Figure("power", f"{case}; {of}", "seeds alone", k, high)


def of_metrics(runs: int) -> Iterator[Figure]:
    """BLEU, which takes as long as all others, with one ratio and half of the runs."""
    for name in KINDS:
        for ratio in RATIOS:
            if name != "BLEU" or ratio == 1:
                yield from two_systems(name, ratio, runs // 2 if name == "BLEU" else runs)


def of_predicates(runs: int) -> Iterator[Figure]:
    for k in SEEDS[1:]:
        for paired in (True, False):
            yield from at_borders(k, paired, runs)


def of_shares(_: int) -> Iterator[Figure]:
    """By the probability of each number of right items."""
    for n in (20, 139, 676):
        ends = np.array([rate("", np.arange(n) < right)["interval"] for right in range(n + 1)])
        for p in (90, 95, 97, 98, 99, 99.5, 99.9):
            inside = (ends[:, 0] <= p) & (p <= ends[:, 1])
            yield Figure(
                "share", f"{p}% of {n} items", "", 1, 100 * float(binom.pmf(np.arange(n + 1), n, p / 100) @ inside)
            )


SIMULATED: dict[str, Callable[[int], Iterator[Figure]]] = {
    "added-seeds": added_seeds,
    "spread": of_spread,
    "few-errors": few_errors,
    "shares": of_shares,
    "claims": of_papers,
    "power": power,
    "predicates": of_predicates,
    "metrics": of_metrics,
}


@click.command(context_settings={"show_default": True})
@click.option("--runs", default=200, help="Simulated runs for each figure; those of normal errors ten times as many.")
@click.option("--part", "names", multiple=True, default=tuple(SIMULATED), type=click.Choice(list(SIMULATED)))
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("calibration.csv"), help="CSV.")
def main(runs: int, names: Sequence[str], out: Path) -> None:
    """Simulate each part."""
    with open(out, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Figure._fields)
        for name in names:
            for one in SIMULATED[name](runs):
                shown = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in one]
                writer.writerow(shown)
                log(" ".join(shown))


if __name__ == "__main__":
    main()
