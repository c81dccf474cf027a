"""Draws of cells: their items and seeds by hand, coverage by simulation, and sacreBLEU's own paired test."""

import ast
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from scipy import stats

from bitextbench.base.bootstrap import rate
from bitextbench.base.errors import InputError
from bitextbench.base.items import GROUPS, GroupedItems, grouped, packed, unpacked
from bitextbench.evaluation.bleu import bleu, tokenised
from bitextbench.report import draws, evidence
from bitextbench.report.cells import Measurement, measurement
from bitextbench.report.draws import UNKNOWN, Draws, Spread

RNG = np.random.default_rng(1)
WORDS = [f"w{i}" for i in range(30)]


def measured(seed: int, metric: dict) -> Measurement:
    return measurement("r", "c", seed, metric, Path("m.json"))


def drawn(*seeds: Measurement) -> Draws:
    """The draws of a table with one cell."""
    [cell] = draws.of_table("t", {("r", "c"): seeds}).values()
    return cell


def sentences(n: int, noise: float, of: list[str] | None = None) -> list[str]:
    lines = of or [" ".join(RNG.choice(WORDS, RNG.integers(4, 12))) for _ in range(n)]
    return [" ".join(w if RNG.random() > noise else "x" for w in line.split()) for line in lines]


@pytest.mark.parametrize(
    "counts", [np.eye(7)[:, :2], np.array([[300, 1.0], [70000, 2]]), RNG.random((9, 2)), np.ones((9000, 2))]
)
def test_items_are_what_they_were(counts):
    items = grouped("ratio", counts)
    back = unpacked(packed(items), Path("m"))
    assert (back.kind, back.n) == ("ratio", len(counts))
    assert np.allclose(back.counts, items.counts, rtol=1e-6)
    assert np.allclose(back.counts.sum(axis=0), counts.sum(axis=0), rtol=1e-6)
    assert len(back.counts) == min(len(counts), GROUPS)


def test_items_take_less_than_a_byte_each_where_they_are_hits():
    hits = RNG.random(100_000) < 0.5
    assert len(rate("x", hits)["items"]["counts"]) < 10_000
    assert len(rate("x", hits[:1000])["items"]["counts"]) < 1000


@pytest.mark.parametrize(
    "change", [{"kind": "mean"}, {"counts": "%"}, {"columns": 3}, {"n": 5}, {"type": "no"}, {"counts": None}]
)
def test_damaged_items_are_refused(change):
    held = packed(grouped("ratio", np.ones((4, 2))))
    with pytest.raises(InputError, match=r"m\.json: items"):
        unpacked(held | change, Path("m.json"))


@pytest.mark.parametrize("smooth", [True, False])
def test_bleu_of_sums_is_sacrebleus(smooth):
    metric = BLEU(smooth_method="exp" if smooth else "none", force=True)
    reference = sentences(40, 0)
    noisy = [(40, 0.1), (40, 0.5), (3, 0.6), (1, 0.7), (1, 0.9), (1, 1.0), (40, 0.0)]
    texts = [sentences(n, noise, reference[:n]) for n, noise in noisy]
    texts += [[f"{line} y" for line in reference], [line.rsplit(" ", 1)[0] for line in reference]]  # longer, shorter
    sums = np.stack(
        [np.sum(metric._extract_corpus_statistics(lines, [reference[: len(lines)]]), axis=0) for lines in texts]
    )
    expected = [metric._compute_score_from_stats(row.tolist()).score for row in sums]
    assert draws._bleu(sums.astype(float), smooth=smooth) == pytest.approx(expected, abs=1e-9)


def test_a_paired_difference_is_that_of_sacrebleus_paired_bootstrap():
    """The standard deviation of the difference of two systems, over resampled sentences, within the error of 1,000
    draws.
    """
    reference = sentences(200, 0)
    one, other = sentences(200, 0.2, reference), sentences(200, 0.23, reference)
    metric = BLEU(force=True)
    rows = [np.array(metric._extract_corpus_statistics(lines, [reference])) for lines in (one, other)]
    picks = np.random.default_rng(5).integers(0, 200, (1000, 200))
    theirs = [
        np.array([metric._compute_score_from_stats(row[pick].sum(axis=0).tolist()).score for pick in picks])
        for row in rows
    ]
    ours = [drawn(measured(1, bleu(lines, reference, "en"))) for lines in (one, other)]
    assert (ours[0].items - ours[1].items).std() == pytest.approx((theirs[0] - theirs[1]).std(), rel=0.1)
    assert ours[0].items.std() == pytest.approx(theirs[0].std(), rel=0.1)
    alike = drawn(measured(1, tokenised(one, reference, "en")))
    assert np.corrcoef(alike.items, ours[0].items)[0, 1] > 0.95


def test_a_difference_of_seeds_is_students():
    """The difference of two rows of three seeds, by hand: t of the paired differences with 2 degrees of freedom; of two
    models by themselves, Welch's.
    """
    one, other = np.array([10.0, 12, 17]), np.array([9.0, 10, 16.5])
    rows = [
        drawn(*(Measurement("r", "c", seed, value, value, value, 5, "", Path("m")) for seed, value in enumerate(row)))
        for row in (one, other)
    ]
    assert (rows[0].value, rows[0].items.any()) == (13, False)
    number = ast.parse("a - b", mode="eval").body
    paired = evidence.estimate(number, dict(zip("ab", rows, strict=True)))
    assert paired.above().holds == pytest.approx(stats.ttest_rel(one, other, alternative="greater").pvalue, rel=1e-4)
    apart = [row._replace(model=name) for row, name in zip(rows, "xy", strict=True)]
    unpaired = evidence.estimate(number, dict(zip("ab", apart, strict=True)))
    welch = stats.ttest_ind(one, other, equal_var=False, alternative="greater")
    assert (unpaired.freedom, unpaired.above().holds) == (
        pytest.approx(welch.df),
        pytest.approx(welch.pvalue, rel=1e-4),
    )


def test_intervals_of_differences_cover_in_95_of_100():
    """Two rows of three seeds on 300 items, of which each item and each seed has an effect that both share in part."""
    covered, runs = 0, 200
    rng = np.random.default_rng(3)
    number = ast.parse("a - b", mode="eval").body
    for _ in range(runs):
        hard, shared = rng.standard_normal(300), rng.standard_normal(3)
        rows = []
        for _ in range(2):
            own, luck = rng.standard_normal(300), shared + rng.standard_normal(3)
            hits = [(hard + own + 0.2 * effect + rng.standard_normal(300) > 0) for effect in luck]
            counts = [np.stack([hit, np.ones(300)], 1) for hit in hits]
            seeds = (
                Measurement("r", "c", seed, 100 * c[:, 0].mean(), 0, 0, 300, "", Path("m"), (grouped("ratio", c),))
                for seed, c in enumerate(counts)
            )
            rows.append(drawn(*seeds))
        difference = evidence.estimate(number, dict(zip("ab", rows, strict=True)))
        covered += min(difference.above()) > 0.025
    assert 0.92 <= covered / runs <= 0.99  # at 95%: 1.5 points of standard error


def test_a_cell_without_items_keeps_its_interval():
    one = draws.alone("x", 5.0, 4.0, 7.0)
    assert np.quantile(one.value + one.items, [0.025, 0.975]) == pytest.approx([4, 7], abs=0.2)
    assert (one.items != draws.alone("y", 5.0, 4.0, 7.0).items).all()
    assert not draws.alone("x", 5.0, None, None).items.any()


def test_many_items_are_drawn_in_groups():
    hits = (RNG.random(3 * GROUPS + 5) < 0.3).astype(float)
    one = GroupedItems("ratio", np.array([[1.0, 1.0]]), 1)
    whole, nothing = draws.deviations([grouped("ratio", np.stack([hits, np.ones_like(hits)], 1)), one])
    assert whole.std() == pytest.approx(100 * math.sqrt(0.21 / len(hits)), rel=0.1)
    assert abs(nothing).max() == 0


def test_the_spread_of_a_table_is_pooled_over_its_cells():
    values = [RNG.normal(20, 2, k).tolist() for k in (3, 5, 1)]
    cells = [[scored(seed, value) for seed, value in enumerate(row)] for row in values]
    variances = [np.var(row, ddof=1) for row in values[:2]]
    pooled = (2 * variances[0] + 4 * variances[1]) / 6
    known = draws.spreads("t", cells)
    freedom = (6 * pooled) ** 2 / (2 * variances[0] ** 2 + 4 * variances[1] ** 2)
    assert known == {("t", "x"): Spread(pytest.approx(pooled), pytest.approx(freedom))}
    assert drawn(scored(1, 20.0)).spread == UNKNOWN
    assert drawn(replace(scored(1, 20.0), trained=False)).spread is None
    assert drawn(*cells[0]).spread is None
    [of_one_seed] = draws.of_table("t", {("r", "c"): [scored(1, 20.0)]}, known=known).values()
    assert of_one_seed.spread == known["t", "x"]


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.9, 1.0])
def test_cells_of_one_seed_are_not_too_sure_of_a_spread_whose_cells_share_their_seeds(alike):
    """24 cells of three seeds: with 48 degrees of freedom 7% of the differences of 0 would come out above it, for 2.5."""
    rng, runs, wrong = np.random.default_rng(1), 1000, 0
    for _ in range(runs):
        effects = math.sqrt(alike) * rng.standard_normal(3) + math.sqrt(1 - alike) * rng.standard_normal((24, 3))
        known = draws.spreads("t", [[scored(seed, 20 + one) for seed, one in enumerate(row)] for row in effects])
        spread = known["t", "x"]
        assert 1.99 <= spread.freedom <= 4.01
        wrong += stats.t.sf(rng.standard_normal() / math.sqrt(spread.variance), spread.freedom) <= 0.025
    assert wrong / runs <= 0.035


@pytest.mark.parametrize(
    ("counts", "worth"),
    [
        (np.ones((139, 2)), 100 / 139),
        (np.stack([np.zeros(50), np.ones(50)], 1), 2),
        (np.array([[2, 2], [0, 1], [0, 1], [0, 0]]), 50),  # F1: 2 right, of mined and gold
        (np.stack([np.arange(50) % 2, np.ones(50)], 1) / [5, 1], 2),
    ],
)
def test_what_an_item_is_worth(counts, worth):
    cell = measured(1, rate("x", [1.0]))
    assert drawn(replace(cell, items=(grouped("ratio", counts),))).worth == pytest.approx(worth)


def scored(seed: int, value: float) -> Measurement:
    return Measurement("r", "c", seed, value, value - 1, value + 1, 9, "x", Path("m.json"))
