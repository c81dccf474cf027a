"""How well scores tell good pairs from bad ones, where it is known which are which: no NMT model is needed.

A pair is good when it is labelled "parallel"; any other label names what is wrong with it; pairs without a label are left
out, and counted. For every scorer and corpus:

- average precision: the mean, over good pairs, of the share of good ones among all that score at least as high;
- ROC-AUC: the chance that a good pair scores higher than a bad one (ties count half): 50 for a scorer that sees nothing,
  and less for one that prefers bad pairs;
- the same against the bad pairs of each kind alone: which noise a scorer does not see.

All in percent, with 95% intervals by bootstrap over pairs (percentile method). Average precision depends on the share of good
pairs (a random order has that share), ROC-AUC does not.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import __version__
from bitextbench.base import arrays
from bitextbench.base.bootstrap import SAMPLES, SEED, quotient
from bitextbench.base.errors import InputError, near
from bitextbench.base.files import atomic, read_json
from bitextbench.data.registry import entry
from bitextbench.data.unpack import open_place
from bitextbench.formats import bitext
from bitextbench.report import table as grid
from bitextbench.report.kim2019_table2 import Line, Scale, filled, to_csv
from bitextbench.scoring.score import load_scores

GOOD = "parallel"
FEW = 20  # pairs of a kind, below which an interval says nothing: the kind is left out
CHUNK = 1 << 22  # weights that are drawn at a time
AP, AUC = "average precision", "ROC-AUC"


def evaluate(corpus: Path, scores: Sequence[Path], *, seed: int = SEED) -> dict[str, Any]:
    """The metrics of one scorer on one corpus, by name (AP, AUC, and AUC of each kind as "ROC-AUC, <kind>").

    Each as `bootstrap.measure` has them, with "good" and "bad", numbers of pairs; and "unlabelled", a number of pairs.
    `scores`: a file for each shard. Raises InputError for other lengths, NaN, or a corpus without good or without bad pairs.
    """
    labels = [bitext.read_shard(path, ["label"])["label"].to_pylist() for path in bitext.shard_paths(corpus)]
    loaded = load_scores(scores)
    if [*map(len, labels)] != [*map(len, loaded)]:
        what = f"{', '.join(f'{len(s):,}' for s in loaded)} scores for {', '.join(f'{len(s):,}' for s in labels)} pairs"
        raise InputError(what, scores[0] if scores else corpus, remedy="give the scores of each shard, in order")
    order = bitext.order_of_ids([*map(len, loaded)])
    names = np.array([label for shard in labels for label in shard], object)[order]
    return measure(np.concatenate(loaded)[order], names, seed=seed, where=corpus)


def measure(
    scores: NDArray[np.float32], labels: NDArray[np.object_], *, seed: int = SEED, where: Any = None
) -> dict[str, Any]:
    """`evaluate`, of scores and labels at hand [n]."""
    known = labels != ""
    order = np.flatnonzero(known)[np.argsort(-scores[known], kind="stable")]
    ranked, names = scores[order], labels[order]
    good = names == GOOD
    kinds = sorted({str(name) for name in names[~good]})
    if not good.any() or not kinds:
        what = f"{good.sum():,} pairs are labelled {GOOD}, {(~good).sum():,} otherwise"
        raise InputError(what, where, remedy="quality is measured on a corpus with labels of good and bad pairs")
    ties = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    bad = {AUC: ~good} | {f"{AUC}, {kind}": here for kind in kinds if (here := names == kind).sum() >= FEW}
    once = np.ones((1, len(ranked)))
    values = {name: column[0] for name, column in _statistics(once, good, bad, ties).items()}
    draws = [_statistics(weights, good, bad, ties) for weights in _weights(len(ranked), seed)]
    result: dict[str, Any] = {}
    for name, value in values.items():
        low, high = np.quantile(np.concatenate([draw[name] for draw in draws]), [0.025, 0.975])
        counts = {"good": int(good.sum()), "bad": int(bad.get(name, ~good).sum())}
        result[name] = {
            "metric": name, "value": float(value), "interval": [float(low), float(high)], "n": sum(counts.values()), **counts,
            "seed": seed, "signature": f"{name}|bs:{SAMPLES}|seed:{seed}|version:{__version__}",
        }  # fmt: skip
    return result | {"unlabelled": int((~known).sum())}


def _weights(n: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each of n pairs is drawn, in SAMPLES draws of n with replacement, some draws at a time [s, n]."""
    rng = np.random.default_rng(seed)
    step = max(1, CHUNK // n)
    for start in range(0, SAMPLES, step):
        draws = min(step, SAMPLES - start)
        drawn = rng.integers(0, n, (draws, n)) + n * np.arange(draws)[:, None]
        yield np.bincount(drawn.ravel(), minlength=draws * n).reshape(draws, n).astype(np.float64)


def _statistics(
    weights: NDArray[np.float64], good: NDArray[np.bool_], bad: dict[str, NDArray[np.bool_]], ties: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """The metrics of ranked pairs for each weighting [s, n]; `ties`: where blocks of equal scores begin."""

    def blocks(which: NDArray[np.bool_]) -> NDArray[np.float64]:
        part = weights * which
        return part if len(ties) == weights.shape[1] else np.add.reduceat(part, ties, axis=1)

    gain = blocks(good)
    above = gain.cumsum(axis=1)
    total = above[:, -1]
    middle = above - gain / 2
    found = {}
    for name, which in bad.items():
        loss = blocks(which)
        if name == AUC:
            precision = quotient(above, above + loss.cumsum(axis=1))
            found[AP] = 100 * quotient((precision * gain).sum(axis=1), total)
        found[name] = 100 * quotient((loss * middle).sum(axis=1), total * loss.sum(axis=1))
    return found


def published(shard: Path, data_set: str, column: str, languages: tuple[str, str], raw: Path, out: Path) -> None:
    """Scores that came with a data set of the registry, for the pairs of a corpus shard.

    `raw` has the fetched data set, a text of columns between tabs; `column` is one of them: numbers, or "label", which
    scores 1 for a good pair and 0 for a bad one: a second annotator. A pair that stands there twice has its first score.
    Raises InputError for another kind of data set, a column it has not, a pair that is not in it.
    """
    known = entry(data_set)
    parser = next((parser for parser in known.parsers if parser.name == "tsv"), None)
    if not parser or column not in parser.arguments["columns"]:
        columns = parser.arguments["columns"] if parser else []
        raise InputError(f"no column {column!r}", data_set, remedy=near(column, columns) if columns else "it has none")
    columns, labels = parser.arguments["columns"], parser.arguments.get("labels", {})
    places = [columns.index(name) for name in (*languages, column)]
    found: dict[tuple[str, str], float] = {}
    with open_place(raw, parser.arguments["text"]) as stream:
        for number, line in enumerate(stream, 1):
            src, tgt, value = (line.decode().rstrip("\r\n").split("\t")[place] for place in places)
            score = float(labels.get(value) == GOOD) if column == "label" else _number(value, raw, number)
            found.setdefault((src, tgt), score)
    rows = bitext.read_shard(shard, ["src", "tgt"])
    pairs = list(zip(rows["src"].to_pylist(), rows["tgt"].to_pylist(), strict=True))
    if missing := [row for row, pair in enumerate(pairs, 1) if pair not in found]:
        raise InputError(f"pair {missing[0]} is not in {data_set}", shard, remedy="name the data set that it is of")
    arrays.save(out, np.array([found[pair] for pair in pairs], np.float32))


def _number(text: str, where: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(f"score {text!r} is not a number", where, line=line, remedy="fetch it again")
    return value


def table(
    cells: Sequence[tuple[str, str, Path]], scale: Scale, seed: int, out: Path, page: Path, picture: Path
) -> None:
    """The table of a run: corpora and metrics are rows, scorers columns. CSV, page, and a picture of noise by kind.

    `cells`: corpus, scorer, and the file of what `evaluate` returned. Raises InputError for one that is given twice.
    """
    named = [
        (f"{corpus}: {metric}", scorer, path, metric, f"{value['good']:,} good pairs, {value['bad']:,} bad")
        for corpus, scorer, path in cells
        for metric, value in read_json(path).items()
        if isinstance(value, dict)
    ]
    lines = own_lines("quality", named, scale, seed)
    draw(lines, picture)
    write(lines, out, page)


def own_lines(name: str, cells: Sequence[tuple[str, str, Path, str, str]], scale: Scale, seed: int) -> list[Line]:
    """The lines of a table that no paper has, row by row: (row, column, metric file, metric in it, note) of each cell.

    Raises InputError for a cell that is given twice.
    """
    places = [cell[:2] for cell in cells]
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise InputError(f"{', '.join(twice)} is given twice", name, remedy="give each cell once")
    lines = []
    for row, column, path, key, note in cells:
        line = Line(name, row, row, column, "", "", None, scale=scale)
        line = filled(line, [grid.read(row, column, seed, path, key)])
        lines.append(replace(line, verdict="no paper has it", note=note))
    rows, columns = (list(dict.fromkeys(getattr(line, key) for line in lines)) for key in ("row", "column"))
    return sorted(lines, key=lambda line: (rows.index(line.row), columns.index(line.column)))


def write(lines: Sequence[Line], out: Path, page: Path) -> None:
    """Write a table as CSV and as a page."""
    for path, text in ((out, to_csv(lines)), (page, grid.to_html(lines))):
        with atomic(path) as part:
            part.write_text(text, encoding="utf-8")


def draw(lines: Sequence[Line], path: Path) -> None:
    """ROC-AUC of each method against each kind of noise, a panel for each corpus: 50 is white, what is not seen red."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    corpora: dict[str, list[Line]] = {}
    for line in lines:
        corpus, _, metric = line.row.partition(": ")
        if metric.startswith(AUC):
            corpora.setdefault(corpus, []).append(line)
    heights = [len({line.row for line in held}) for held in corpora.values()]
    figure, panels = pyplot.subplots(
        len(corpora), 1, figsize=(2 + 1.1 * len({line.column for line in lines}), 1.2 + 0.45 * sum(heights) + 0.8 * len(heights)),
        gridspec_kw={"height_ratios": heights}, layout="constrained", squeeze=False,
    )  # fmt: skip
    for axes, (corpus, held) in zip(panels[:, 0], corpora.items(), strict=True):
        rows, names = (list(dict.fromkeys(getattr(line, key) for line in held)) for key in ("row", "column"))
        matrix = np.full((len(rows), len(names)), np.nan)
        for line in held:
            matrix[rows.index(line.row), names.index(line.column)] = line.ours
        axes.imshow(matrix, cmap="RdBu", vmin=0, vmax=100, aspect="auto")
        for (y, x), value in np.ndenumerate(matrix):
            if not np.isnan(value):
                axes.text(
                    x, y, f"{value:.0f}", ha="center", va="center", color="white" if abs(value - 50) > 30 else "black"
                )
        kinds = [row.partition(f"{AUC}, ")[2] or "all bad pairs" for row in rows]
        axes.set(title=f"{corpus}: ROC-AUC by kind of noise", xticks=range(len(names)), yticks=range(len(rows)))
        axes.set_xticklabels(names, rotation=20, ha="right")
        axes.set_yticklabels(kinds)
    with atomic(path) as part:
        figure.savefig(part, dpi=120, format="png", metadata={"Software": None})
    pyplot.close(figure)
