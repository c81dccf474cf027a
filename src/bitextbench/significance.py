"""Is one row of a table better than another? Paired bootstrap over test sentences (Koehn 2004), all seeds together.

A system is all NMT models of one selection, one a seed. Its score is BLEU over the outputs of all of them; a sample draws
sentences, and of each the outputs of every model: the models of a system share their training data, so their outputs of a
sentence are no independent observations.
"""

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.bleu import SAMPLES, SEED, sacre
from bitextbench.errors import InputError
from bitextbench.files import atomic


class Comparison(NamedTuple):
    """`difference`: BLEU of `row` minus `other`, with its 95% interval; `p`: of a difference as large by chance alone."""

    budget: str
    test: str
    row: str
    other: str
    bleu: float
    other_bleu: float
    difference: float
    low: float
    high: float
    p: float


def compare(
    systems: Mapping[str, Sequence[Sequence[str]]], references: Sequence[str], language: str, budget: str, test: str
) -> list[Comparison]:
    """Every pair of systems; a system is the hypotheses of each of its models, a line for each reference.

    p is two-sided, as in sacreBLEU (Riezler and Maxwell 2005): the share of samples whose difference is at least as far
    from the mean of all samples as the measured difference is from 0. Raises InputError for unequal counts.
    """
    for name, outputs in systems.items():
        for lines in outputs:
            if len(lines) != len(references):
                what = f"{len(lines):,} hypotheses but {len(references):,} references"
                raise InputError(what, f"{name}, {budget}, {test}", remedy="translate the test set again")
    draws = np.random.default_rng(SEED).integers(0, len(references), (SAMPLES, len(references)))
    weights = np.stack([np.bincount(draw, minlength=len(references)) for draw in draws])
    weights = np.concatenate([np.ones((1, len(references)), int), weights])  # the test set itself first
    scores = {name: _scores(outputs, references, language, weights) for name, outputs in systems.items()}
    return [
        _comparison(scores[row], scores[other], budget, test, row, other)
        for other, row in itertools.combinations(systems, 2)
    ]


def _scores(
    outputs: Sequence[Sequence[str]], references: Sequence[str], language: str, weights: NDArray[np.int64]
) -> NDArray[np.float64]:
    """BLEU for each row of `weights` [samples, sentences]: how often a sentence counts."""
    metric = sacre(language)
    statistics = sum(np.array(metric._extract_corpus_statistics(lines, [references])) for lines in outputs)
    return np.array([metric._compute_score_from_stats(sums.tolist()).score for sums in weights @ statistics])


def _comparison(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], budget: str, test: str, row: str, other: str
) -> Comparison:
    differences = ours - theirs
    measured, sampled = differences[0], differences[1:]
    extreme = int((np.abs(sampled - sampled.mean()) >= abs(measured)).sum())
    low, high = np.percentile(sampled, [2.5, 97.5])
    return Comparison(
        budget, test, row, other, ours[0], theirs[0], measured, low, high, (extreme + 1) / (len(sampled) + 1)
    )


def write(comparisons: Sequence[Comparison], out: Path) -> None:
    """As CSV, atomically."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Comparison._fields)
    for one in comparisons:
        writer.writerow([*one[:4], *(f"{value:.2f}" for value in one[4:9]), f"{one.p:.4f}"])
    with atomic(out) as part:
        part.write_text(text.getvalue(), encoding="utf-8")
