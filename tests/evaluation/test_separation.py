"""Cosines of pairs and of the nearest others, and the figure made of them."""

import json

import numpy as np
import pytest
from checkout import copy_checkout, jobs, snakemake
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.evaluation.separation import separation
from bitextbench.formats.vectors import Embeddings


def at(*degrees: float) -> Embeddings:
    angles = np.radians(degrees)
    return Embeddings(np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32), "vectors")


def test_means_are_over_the_sources_whose_target_comes_first():
    """Source 2 has another target before its own; target 3, a copy of target 0, is no other for source 0."""
    found = separation(at(0, 100, 300, 345), at(10, 110, 250, 340), ["a", "b", "c", "a"], k=4)
    first = [np.cos(np.radians(10)), np.cos(np.radians(10)), np.cos(np.radians(5))]
    other = [np.cos(np.radians(110)), np.cos(np.radians(90)), np.cos(np.radians(95))]
    assert found["positive"]["value"] == pytest.approx(np.mean(first), abs=1e-6)
    assert found["negative"]["value"] == pytest.approx(np.mean(other), abs=1e-6)
    assert found["positive"]["n"] == found["negative"]["n"] == 3
    low, high = found["positive"]["interval"]
    assert high - low == pytest.approx(2 * 1.96 * np.std(first) / np.sqrt(3), abs=1e-6)
    with pytest.raises(InputError, match="no target is the nearest of its source"):
        separation(at(0), at(180), ["a"])


def test_the_figure_has_a_line_a_margin(tmp_path):
    points = []
    for margin, f1 in ((0.3, 80.0), (0.0, 60.0)):
        cell = {"value": f1, "interval": [f1 - 1, f1 + 1]}
        mining, of = tmp_path / f"mining{margin}.json", tmp_path / f"of{margin}.json"
        mining.write_text(json.dumps({"cosine": {"backward": {"f1": cell}}}))
        of.write_text(json.dumps({name: {"value": 0.5, "interval": [0.4, 0.6]} for name in ("positive", "negative")}))
        points += ["--point", str(margin), str(mining), str(of)]
    out, picture = tmp_path / "figure.csv", tmp_path / "figure.png"
    done = CliRunner().invoke(cli, ["step", "figure-margins", *points, "--picture", str(picture), "-o", str(out)])
    assert done.exit_code == 0, done.output
    lines = out.read_text().splitlines()
    assert lines[0].split(",")[:4] == ["margin", "f1", "f1_low", "f1_high"]
    assert [line.split(",")[:2] for line in lines[1:]] == [["0.0", "60.0000"], ["0.3", "80.0000"]]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_model_is_planned_for_each_margin_that_no_other_has(tmp_path):
    root = copy_checkout(tmp_path)
    overlays = ("--configfile", "config/tiny.yaml", "config/studies.yaml")
    target = "results/tiny/yang2019/figure4.csv"
    planned = jobs(snakemake("--profile", "profiles/tiny", *overlays, "-n", "--", target, cwd=root).stdout)
    assert planned["separation"] == planned["mining"] == 6
    assert planned["train_encoder"] == 6 + 1  # and the one that mines hard negatives
    assert planned["hard_negatives"] == 1
