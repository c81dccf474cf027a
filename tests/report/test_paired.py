"""Two files of `evaluate` side by side: differences by test item, what they cannot be taken of, and the command."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from bitextbench.base.bootstrap import rate, ratio
from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.report import paired

N = 2000


def written(path, metrics):
    path.write_text(json.dumps(metrics), encoding="utf-8")
    return path


def hits(share, seed):
    return np.random.default_rng(seed).random(N) < share


def compared(tmp_path, one, other):
    return paired.of_files(written(tmp_path / "one.json", one), written(tmp_path / "other.json", other))


def test_the_interval_is_that_of_the_differences_of_items(tmp_path):
    hard = hits(0.5, 1)  # for both
    one, other = hits(0.95, 2) & hard, hits(0.85, 3) & hard
    (found,) = compared(tmp_path, {"cosine": {"P@1": rate("P@1", one)}}, {"cosine": {"P@1": rate("P@1", other)}})
    differences = 100 * (one.astype(float) - other)
    error = differences.std() / N**0.5
    assert (found.figure, found.n) == ("cosine/P@1", N)
    assert found.one - found.other == pytest.approx(differences.mean())
    assert (found.low, found.high) == pytest.approx(
        (differences.mean() - 1.96 * error, differences.mean() + 1.96 * error), abs=0.1 * error
    )
    apart = 1.96 * 100 * ((one.var() + other.var()) / N) ** 0.5
    assert (found.high - found.low) / 2 < 0.6 * apart  # unpaired it would be far wider


def test_a_level_pair_of_systems_is_not_surely_level(tmp_path):
    same = {"P@1": rate("P@1", hits(0.9, 1))}
    (found,) = compared(tmp_path, same, same)
    assert found.low < 0 < found.high
    assert found.p == 1


def test_one_in_twenty_differs_where_nothing_does(tmp_path):
    pairs = [({"P@1": rate("P@1", hits(0.7, 2 * i))}, {"P@1": rate("P@1", hits(0.7, 2 * i + 1))}) for i in range(200)]
    p = np.array([compared(tmp_path, *pair)[0].p for pair in pairs])
    assert abs((p < 0.05).mean() - 0.05) < 3 * (0.05 * 0.95 / len(p)) ** 0.5


def test_figures_that_only_one_file_has_are_left_out_and_other_ways_are_named(tmp_path):
    one = {"f1": rate("f1", hits(0.7, 1), signature="threshold:given"), "threshold": 0.2, "ap": {"value": 3.0}}
    other = {"f1": rate("f1", hits(0.6, 2), signature="threshold:best"), "recall": rate("recall", hits(0.6, 2))}
    found = compared(tmp_path, one, other)
    assert [held.figure for held in found] == ["f1"]
    lines = paired.render(found, tmp_path / "one.json", tmp_path / "other.json").splitlines()
    assert lines[0].endswith("on the same 2,000 items of the test set")
    assert lines[1].startswith("f1: 7")
    assert lines[1].endswith("p < 0.001")
    assert lines[2].startswith("f1 is measured in two ways: f1|threshold:given|")


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"f1": rate("f1", np.ones(N - 1))}, r"one\.json: f1 is of 2,000 items, and of 1,999 in .*; measure both on"),
        ({"recall": ratio("recall", np.tile([0, 2], (N, 1)))}, r"recall is of other gold pairs than in .*other\.json"),
        ({"P@1": rate("P@1", np.ones(N))}, r"no figure with its test items is here and in .*other\.json; give what"),
        ({"f1": {"value": 3.0}}, "no figure with its test items"),
        ([1], "no figure with its test items"),
    ],
)
def test_files_that_cannot_be_paired(tmp_path, other, message):
    one = {"f1": rate("f1", np.ones(N)), "recall": rate("recall", np.ones(N))}
    with pytest.raises(InputError, match=message):
        compared(tmp_path, one, other)


def test_mined_pairs_against_a_baseline(tmp_path):
    for name, lines in (("S", 30), ("T", 30)):
        (tmp_path / name).write_text("".join(f"sentence {name} {i}\n" for i in range(lines)))
    (tmp_path / "G").write_text("".join(f"{i}\t{i}\n" for i in range(1, 21)))
    texts = [f"--src-text={tmp_path / 'S'}", f"--tgt-text={tmp_path / 'T'}", f"--gold={tmp_path / 'G'}"]
    for name, right in (("own", 18), ("base", 9)):
        pairs = [(i, i if i <= right else i + 1) for i in range(1, 21)]
        (tmp_path / f"{name}.tsv").write_text("".join(f"0.5\t{a}\t{b}\tx\ty\n" for a, b in pairs))
        options = [f"--candidates={tmp_path / name}.tsv", "--threshold=-inf", f"--out={tmp_path / name}.json"]
        done = CliRunner().invoke(cli, ["evaluate", "bucc", *texts, *options], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    files = [str(tmp_path / name) for name in ("own.json", "base.json")]
    lines = CliRunner().invoke(cli, ["compare", *files], catch_exceptions=False).output.splitlines()
    assert lines[0] == f"first {files[0]}, second {files[1]}, on the same 30 items of the test set"
    assert lines[3].startswith("f1: 90.0 and 45.0, difference +45.0 (")
    assert lines[-1] == "95% intervals and p cover the sampling of the test set, not of another training."
    done = CliRunner().invoke(cli, ["compare", str(tmp_path / "own.tsv"), files[1]])
    assert "own.tsv: not JSON; give what `evaluate ... -o` wrote for both" in str(done.exception)
