"""Cosines of pairs and of the nearest others, and the figure made of them."""

import json
from pathlib import Path

import numpy as np
import pytest
from checkout import copy_checkout, jobs, snakemake
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.base.items import unpacked
from bitextbench.cli.main import cli
from bitextbench.evaluation.curves import write_thresholds
from bitextbench.evaluation.separation import separation
from bitextbench.formats.vectors import Embeddings
from bitextbench.report import audit, measurements
from bitextbench.report.cells import read, read_measurement

REFERENCES = Path(__file__).parents[2] / "references"


def at(*degrees: float) -> Embeddings:
    angles = np.radians(degrees)
    return Embeddings(np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32), "vectors")


def test_means_are_over_the_sources_whose_target_comes_first():
    """Source 2 has another target before its own; target 3, a copy of target 0, is no other for source 0."""
    found = separation(at(0, 100, 300, 345), at(10, 110, 250, 340), ["a", "b", "c", "a"], k=4)
    first = [np.cos(np.radians(10)), np.cos(np.radians(10)), np.cos(np.radians(5))]
    other = [np.cos(np.radians(110)), np.cos(np.radians(90)), np.cos(np.radians(95))]
    assert found["positive"]["value"] == pytest.approx(100 * np.mean(first), abs=1e-4)
    assert found["negative"]["value"] == pytest.approx(100 * np.mean(other), abs=1e-4)
    assert found["positive"]["n"] == found["negative"]["n"] == 4
    low, high = found["positive"]["interval"]
    assert 100 * min(first) - 1e-4 < low < high < 100 * max(first) + 1e-4
    assert unpacked(found["positive"]["items"], Path()).counts == pytest.approx(
        np.c_[[*first[:2], 0, first[2]], [1, 1, 0, 1]]
    )
    with pytest.raises(InputError, match="no target is the nearest of its source"):
        separation(at(0), at(180), ["a"], k=2)


def test_a_source_with_none_but_copies_of_its_target_near_it_is_left_out():
    found = separation(at(0, 10, 90), at(0, 10, 120), ["a", "a", "b"], k=2)
    assert found["positive"]["value"] == pytest.approx(100 * np.cos(np.radians(30)), abs=1e-4)
    assert found["negative"]["value"] == pytest.approx(100 * np.cos(np.radians(80)), abs=1e-4)
    assert unpacked(found["negative"]["items"], Path()).counts[:, 1].tolist() == [0, 0, 1]


def metric(value: float, half: float) -> dict:
    return {"value": value, "interval": [value - half, value + half], "n": 100, "signature": "x"}


def test_the_figure_is_a_table_of_curves_that_the_audit_judges(tmp_path):
    """Margins 0 to 0.5: F1 rises to 0.3, negatives fall, and positives fall where the paper's rise."""
    points = []
    for number, f1 in reversed([*enumerate((60.0, 65.0, 70.0, 80.0, 79.0, 78.0))]):
        mining, of = tmp_path / f"mining{number}.json", tmp_path / f"of{number}.json"
        mining.write_text(json.dumps({"cosine": {"backward": {"f1": metric(f1, 1)}}}))
        cosines = {"positive": metric(95 - 2 * number, 0.1), "negative": metric(90 - 5 * number, 0.1)}
        of.write_text(json.dumps(cosines))
        curves = (
            ("f1", "F1", f"{mining}#cosine.backward.f1"),
            ("positive", "Mean cosine, positive", f"{of}#positive"),
            ("negative", "Mean cosine, negative", f"{of}#negative"),
        )
        points += [
            {"row": row, "label": label, "column": str(number / 10), "files": [file], "seed": seed}
            for seed in (1, 2)
            for row, label, file in curves
        ]
    out, drawn = (tmp_path / name for name in ("figure.csv", "figure.json"))
    options = ["--scale", "tiny", "--measurements", str(drawn), "-o", str(out)]
    given = [f"--cell={json.dumps(point)}" for point in points]
    call = ["step", "table", "--name", "yang2019/figure4", *given, *options]
    done = CliRunner().invoke(cli, call, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    cells = {(cell.row, cell.column): cell for cell in read(out)}
    assert len(cells) == 3 * 6
    assert cells["positive", "0.3"].row_label == "Mean cosine, positive"
    assert (cells["positive", "0.3"].ours, cells["positive", "0.3"].low) == (89.0, 88.9)
    assert {cell.verdict for cell in cells.values()} == {"not printed"}
    assert {(one.row, one.column) for one in measurements.load(drawn)[1]} == cells.keys()
    numbers, judged, _ = audit.audit(REFERENCES, [out], [drawn])
    assert {number.verdict for number in numbers} == {"not run"}
    verdicts = {one.claim.removeprefix("yang2019-"): one.verdict for one in judged if one.verdict != "not run"}
    assert verdicts == {
        "small-margin-helps": "holds",
        "f1-rises-with-the-margin": "holds",
        "positives-rise-with-the-margin": "fails",
        "negatives-fall-with-the-margin": "holds",
    }
    regimes = {one.claim.removeprefix("yang2019-"): (one.regime, one.in_regime) for one in judged}
    assert regimes["f1-rises-with-the-margin"] == ("1 in", True)
    assert regimes["negatives-fall-with-the-margin"] == ("1 not printed", False)


def test_thresholds_have_a_line_each_and_the_best_is_marked(tmp_path):
    points = []
    for pairs, bleu in ((20, 30.0), (5, 20.0), (10, 31.25)):
        path = tmp_path / f"{pairs}.json"
        path.write_text(json.dumps({"value": bleu, "interval": [bleu - 1, bleu + 2]}))
        points += ["--point", str(pairs), str(path)]
    out = tmp_path / "figure.csv"
    done = CliRunner().invoke(cli, ["step", "figure-thresholds", *points, "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines() == [
        "pairs,bleu,bleu_low,bleu_high,peak",
        "5,20.00,19.00,22.00,",
        "10,31.25,30.25,33.25,yes",
        "20,30.00,29.00,32.00,",
    ]


def test_of_equal_thresholds_the_one_of_fewest_pairs_is_the_best(tmp_path):
    measured = {pairs: {"value": bleu, "interval": [0, 40]} for pairs, bleu in ((20, 31), (5, 30), (10, 31))}
    write_thresholds(measured, tmp_path / "figure.csv")
    lines = (tmp_path / "figure.csv").read_text().splitlines()[1:]
    assert [(line.split(",")[0], line.endswith("yes")) for line in lines] == [("5", False), ("10", True), ("20", False)]


def test_a_count_is_a_metric_that_a_table_reads(tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/counts.json").write_text(json.dumps({"in": 90_000_000, "out": 64_400_000}))
    out = tmp_path / "size.json"
    done = CliRunner().invoke(cli, ["step", "size", "--corpus", str(tmp_path / "corpus"), "-o", str(out)])
    assert done.exit_code == 0, done.output
    cell = read_measurement("prefiltered", "sentences", 1, out, "pairs")
    assert (cell.value, cell.low, cell.high, cell.n) == (64.4, 64.4, 64.4, 64_400_000)


def test_a_model_is_planned_for_each_margin_that_no_other_has(tmp_path):
    root = copy_checkout(tmp_path)
    overlays = ("--configfile", "config/tiny.yaml", "config/studies.yaml")
    target = "results/tiny/yang2019/figure4.csv"
    planned = jobs(snakemake("--profile", "profiles/tiny", *overlays, "-n", "--", target, cwd=root).stdout)
    assert planned["separation"] == planned["mining"] == 6
    assert planned["train_encoder"] == 6 + 1  # and the one that mines hard negatives
    assert planned["hard_negatives"] == 1
