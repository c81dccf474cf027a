"""What encoders say of their training, collected."""

import json

import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.formats import records
from bitextbench.report import training
from bitextbench.report.training import Trained, Validated

REPORT = {
    "type": "dan_dual", "seed": 2, "metric": "dot", "dimension": 8, "parameters": 99, "updates": 20, "cpu_seconds": 1.5, "valid": 0.25,
}  # fmt: skip


@pytest.fixture
def encoder(tmp_path):
    folder = tmp_path / "dan_dual.seed2.en-fr"
    folder.mkdir()
    (folder / "training.json").write_text(json.dumps(REPORT))
    (folder / "curve.csv").write_text("update,learning_rate,bitext,mono,valid\n10,0.1,2,1.5,\n20,0.1,1,,0.25\n")
    return folder


def test_the_name_is_without_the_seed_and_lines_without_a_score_are_left_out(encoder, tmp_path):
    costs, curves = tmp_path / "training.csv", tmp_path / "learning.csv"
    step = ["step", "learning-curves", str(encoder), "--costs", str(costs), "-o", str(curves)]
    assert CliRunner().invoke(cli, step, catch_exceptions=False).exit_code == 0
    assert records.read(costs, Trained, "") == [Trained("dan_dual.en-fr", 2, "dan_dual", 8, 99, 20, 1.5, 25.0)]
    assert records.read(curves, Validated, "") == [Validated("dan_dual.en-fr", 2, 20, 1.0, 25.0)]


def test_files_of_another_version_are_refused(encoder):
    (encoder / "curve.csv").write_text("step,loss\n1,2\n")
    with pytest.raises(InputError, match="not a learning curve"):
        training.read_curve(encoder, training.read_training(encoder))
    (encoder / "training.json").write_text("{}")
    with pytest.raises(InputError, match=r"type is missing"):
        training.read_training(encoder)
