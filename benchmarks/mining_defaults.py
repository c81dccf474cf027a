"""What `mine` does by default with an encoder in a package: its margin, its threshold, how likely a score is right.

    bitextbench fetch newstest2014.de-en -o data/raw/newstest2014.de-en    # so each set of NEWS and CHECK
    python benchmarks/mining_defaults.py --encoder muse --data data/raw --cache data/vectors --out defaults.json

They are chosen on news of three pairs of languages, in sets that are made as BUCC's were: SHARE of the pairs are hidden
in texts that report other things, the sources of every second year and the targets of the years between. With `--alike`
both texts are of the same articles, so that many wrong pairs are nearly right. The margin is the one of the best mean F1; the threshold is
the least whose mean F1 is within SLACK points of that, since pairs of other texts score lower than close translations of
news; a logistic function of the score is fitted to whether a retrieved pair is
right, each language with the same weight. BUCC's sample of zh-en has no part in this: it is the check.
"""

import json
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from bitextbench.base.parallel import cores
from bitextbench.data import parsers
from bitextbench.encoders import cache
from bitextbench.encoders.plain import sentence_encoder
from bitextbench.mining.retrieval import mine_pairs
from bitextbench.neighbours import search
from bitextbench.scoring.margins import metric_and_margin

NEWS = {
    "de-en": [f"newstest{year}.de-en" for year in range(2009, 2020)],
    "fr-en": [f"newstest{year}.fr-en" for year in range(2009, 2015)],
    "ru-en": [f"newstest{year}.ru-en" for year in range(2014, 2019)],
}
CHECK = {"zh-en": ["bucc2018-sample.zh-en"]}
SHARE = 0.03
SLACK = 0.5
MARGINS = ("cosine", "distance", "ratio", "csls")
STEPS = 200  # of Newton's method, which needs some 10


class ComparableSet(NamedTuple):
    """Two texts and the pairs of places that are right."""

    src: list[str]
    tgt: list[str]
    gold: set[tuple[int, int]]


def made(years: list[list[tuple[str, str]]], alike: bool, seed: int = 1) -> ComparableSet:
    """A comparable set out of the pairs of some years."""
    rng = np.random.default_rng(seed)
    seen: set[str] = set()
    pairs, kinds = [], []
    for number, year in enumerate(years):
        fresh = [pair for pair in year if not seen & {*pair} and not seen.update(pair)]
        pairs += fresh
        side = rng.integers(0, 2, len(fresh)) if alike else number % 2
        kinds += np.where(rng.random(len(fresh)) < SHARE, 0, 1 + side).tolist()
    kinds = np.array(kinds)
    sides = [[place for place, kind in enumerate(kinds) if kind in (0, 1 + side)] for side in (0, 1)]
    sides = [rng.permutation(side).tolist() for side in sides]
    where = [{place: row for row, place in enumerate(side)} for side in sides]
    gold = {(where[0][place], where[1][place]) for place in np.flatnonzero(kinds == 0).tolist()}
    return ComparableSet([pairs[i][0] for i in sides[0]], [pairs[i][1] for i in sides[1]], gold)


def read(name: str, data_sets: list[str], data: Path, alike: bool = False) -> ComparableSet:
    """The set of a pair of languages: news that are made one, or BUCC's, whose rows may lack a side."""
    src, tgt = name.split("-")
    years = [
        [row for table in parsers.read(one, (src, tgt), data / one) for row in table.to_pylist()] for one in data_sets
    ]
    if "bucc" not in data_sets[0]:
        return made([[(row["src"], row["tgt"]) for row in rows if row["src"] and row["tgt"]] for rows in years], alike)
    (rows,) = years
    sides = [[row[side] for row in rows if row[side]] for side in ("src", "tgt")]
    where = [{line: place for place, line in enumerate(side)} for side in sides]
    gold = {(where[0][row["src"]], where[1][row["tgt"]]) for row in rows if row["src"] and row["tgt"]}
    return ComparableSet(sides[0], sides[1], gold)


def mined(whole: ComparableSet, encoder, folder: Path, threads: int) -> dict[str, tuple[NDArray, NDArray]]:
    """For each margin the scores of the retrieved pairs, best first, and which of them are right."""
    texts = [cache.PlainText("set", side, None, "any") for side in (whole.src, whole.tgt)]
    src, tgt = (one.vectors for one in cache.encode(encoder, texts, folder))
    both = search(src, tgt, 4, metric="cosine", threads=threads)
    result = {}
    for name in MARGINS:
        pairs, _ = mine_pairs(both, metric_and_margin(name)[1], "max", None)
        right = [pair in whole.gold for pair in zip(pairs.src.tolist(), pairs.tgt.tolist(), strict=True)]
        result[name] = (pairs.scores.astype(np.float64), np.array(right))
    return result


def f1(scores: NDArray, right: NDArray, gold: int, threshold: float) -> tuple[float, float, float]:
    """F1, precision and recall at a threshold, percent."""
    taken = scores >= threshold
    hits = int((right & taken).sum())
    return (
        200 * hits / max(1, int(taken.sum()) + gold),
        100 * hits / max(1, int(taken.sum())),
        100 * hits / gold,
    )


def logistic(scores: list[NDArray], right: list[NDArray]) -> tuple[float, float]:
    """Slope and midpoint of a logistic function by maximum likelihood; each list counts the same."""
    x, y = np.concatenate(scores), np.concatenate(right).astype(float)
    weights = np.concatenate([np.full(len(one), 1 / len(one)) for one in scores])
    centre, scale = x.mean(), x.std()
    design = np.stack([(x - centre) / scale, np.ones_like(x)], 1)
    beta = np.zeros(2)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (weights * (y - p)) - 1e-6 * beta
        hessian = (design * (weights * p * (1 - p))[:, None]).T @ design + 1e-6 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        beta += step
        if np.abs(step).max() < 1e-10:
            break
    slope = beta[0] / scale
    return float(slope), float(centre - beta[1] / slope)


@click.command(help=__doc__)
@click.option("--encoder", "name", default="muse")
@click.option("--data", type=click.Path(path_type=Path), default=Path("data/raw"))
@click.option("--cache", "folder", type=click.Path(path_type=Path), required=True)
@click.option("--precision", default="fp32", help="Number format of the encoder.")
@click.option("--years", type=int, default=100, help="The first sets of a pair of languages.")
@click.option("--check/--no-check", default=True, help="Also BUCC's sample.")
@click.option("--alike", is_flag=True, help="Both texts are of the same articles.")
@click.option("--threads", type=int, default=cores)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(
    name: str, data: Path, folder: Path, precision: str, years: int, check: bool, alike: bool, threads: int, out: Path
) -> None:
    encoder = sentence_encoder(name, threads=threads, precision=precision)
    sets = {pair: read(pair, sets[:years], data, alike) for pair, sets in (NEWS | (CHECK if check else {})).items()}
    found = {pair: mined(one, encoder, folder, threads) for pair, one in sets.items()}
    gold = {pair: len(one.gold) for pair, one in sets.items()}
    best: dict[str, tuple[float, float]] = {}
    for margin in MARGINS:
        scores = np.concatenate([found[pair][margin][0] for pair in NEWS])
        grid = np.unique(np.quantile(scores, np.linspace(0.5, 1, 2000)))
        means = [np.mean([f1(*found[pair][margin], gold[pair], t)[0] for pair in NEWS]) for t in grid]
        best[margin] = (float(np.max(means)), float(grid[np.flatnonzero(means >= np.max(means) - SLACK)[0]]))
    margin = max(MARGINS[:3], key=lambda one: best[one][0])
    slope, midpoint = logistic([found[pair][margin][0] for pair in NEWS], [found[pair][margin][1] for pair in NEWS])
    threshold = best[margin][1]
    report = {
        "encoder": name,
        "margin": margin,
        "threshold": threshold,
        "slope": slope,
        "midpoint": midpoint,
        "margins": best,
        "at_threshold": {
            pair: dict(zip(("f1", "precision", "recall"), f1(*found[pair][margin], gold[pair], threshold), strict=True))
            for pair in found
        },
        "estimated_precision": {
            pair: float(100 * (1 / (1 + np.exp(-slope * (kept - midpoint)))).mean())
            for pair in found
            if len(kept := found[pair][margin][0][found[pair][margin][0] >= threshold])
        },
        "sizes": {pair: [len(one.src), len(one.tgt), len(one.gold)] for pair, one in sets.items()},
        "best_of_each": {
            pair: {
                one: max(f1(*found[pair][one], gold[pair], t)[0] for t in np.unique(found[pair][one][0])[::-1][:4000])
                for one in MARGINS
            }
            for pair in found
        },
    }
    out.write_text(json.dumps(report, indent=1) + "\n")
    click.echo(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
