"""The table of encoders: each figure against a loop, several seeds, and what must not pass."""

import csv
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.evaluation.encoders import measure
from bitextbench.formats import bitext
from bitextbench.report import cells, encoders

N = 40


def made_test(folder: Path, metric: str = "cosine", seed: int = 1) -> list[str]:
    """Files of one encoder and test set of N pairs, pair 1 a copy of pair 0, as options of `measure-encoder`."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    src = rng.normal(size=(N, 6)).astype(np.float32)
    tgt = (src + rng.normal(size=src.shape)).astype(np.float32) * rng.uniform(0.5, 2, (N, 1)).astype(np.float32)
    src[1], tgt[1] = src[0], tgt[0]
    np.save(folder / "x.src.npy", src)
    np.save(folder / "x.tgt.npy", tgt)
    texts = [f"sentence {max(i, 1)}" for i in range(N)]
    empty = [""] * N
    rows = pa.table({"src": texts, "tgt": texts, "doc": empty, "label": empty})
    bitext.write_shards(folder / "corpus", [rows], 1)
    report = {
        "seed": seed,
        "metric": metric,
        "updates": 7,
        "parameters": 900,
        "dimension": 6,
        "cpu_seconds": 2.5 + seed,
    }
    (folder / "training.json").write_text(json.dumps(report))
    names = {"--training": "training.json", "--src-emb": "x.src.npy", "--tgt-emb": "x.tgt.npy", "--corpus": "corpus"}
    return [text for option, name in names.items() for text in (option, str(folder / name))]


def run(*arguments: str) -> str:
    found = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def measured(folder: Path, name: str, seed: int, metric: str = "cosine") -> str:
    out = str(folder / f"{name}.{seed}.json")
    run(
        "step", "measure-encoder", name, "--test", "held", *made_test(folder / f"{name}{seed}", metric, seed), "-o", out
    )
    return out


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_error_and_p1_are_those_of_a_loop_in_the_encoders_own_metric(tmp_path, metric):
    held = json.loads(Path(measured(tmp_path, "x", 3, metric)).read_text())
    src, tgt = (np.load(tmp_path / f"x3/x.{side}.npy").astype(float) for side in ("src", "tgt"))
    if metric == "cosine":
        src, tgt = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (src, tgt))
    forward = src @ tgt.T
    if metric == "dot":  # sources are compared by log P(y | x)
        forward -= np.log(np.exp(forward).sum(1, keepdims=True))
    for direction, scores in (("forward", forward), ("backward", forward.T)):
        best = [int(np.argmax(row)) for row in scores]
        wrong = sum(answer != row for row, answer in enumerate(best))
        copies = {0, 1}
        right = sum(answer == row or {answer, row} == copies for row, answer in enumerate(best))
        assert held["error"][direction]["value"] == pytest.approx(100 * wrong / N)
        assert held["p1"][direction]["value"] == pytest.approx(100 * right / N)
        low, high = held["p1"][direction]["interval"]
        assert low < held["p1"][direction]["value"] < high


def test_seeds_make_a_line_and_a_person_can_read_it(tmp_path):
    files = [measured(tmp_path, name, seed) for name in ("b", "a") for seed in (1, 2)]
    made_of = [f"--made-of={path}" for path in files]
    options = [*made_of, "--benchmarks", str(tmp_path), "--provenance", str(tmp_path / "p.json")]
    shown = run("step", "compare-encoders", *files, *options, "-o", str(tmp_path / "t.csv"))
    assert shown == run("show", str(tmp_path / "t.csv"))
    with open(tmp_path / "t.csv", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    assert (first["encoder"], second["encoder"], first["seeds"], first["candidates"]) == ("b", "a", "1 2", "40")
    assert (first["cpu_seconds"], first["parameters"], first["updates"], first["dimension"]) == ("4", "900", "7", "6")
    held = [json.loads(Path(path).read_text())["p1"]["forward"] for path in files[:2]]
    mean, spread, low, high = cells.summarise([one["value"] for one in held], [one["interval"] for one in held])
    numbers = [float(first["p1_forward" + part]) for part in encoders.PARTS]
    assert numbers == pytest.approx([mean, spread, max(low, 0), min(high, 100)], abs=0.006)
    assert f"{mean:.2f} ± {spread:.2f}" in shown
    assert {entry["path"] for entry in json.loads((tmp_path / "p.json").read_text())["inputs"]} == set(files)


def test_what_does_not_fit_is_refused(tmp_path):
    one, two = measured(tmp_path, "x", 1), measured(tmp_path, "y", 1)
    out = tmp_path / "t.csv"
    with pytest.raises(InputError, match="x on held: a seed is given twice"):
        encoders.build([Path(one), Path(one)], out)
    changed = json.loads(Path(two).read_text()) | {"candidates": 39}
    Path(two).write_text(json.dumps(changed))
    with pytest.raises(InputError, match="held has 40 candidates and 39"):
        encoders.build([Path(one), Path(two)], out)
    del changed["error"]["backward"]["interval"]
    Path(two).write_text(json.dumps(changed))
    with pytest.raises(InputError, match=r"y\.1\.json: interval is None"):
        encoders.build([Path(two)], out)
    with pytest.raises(InputError, match="no measurements"):
        encoders.build([], out)
    np.save(tmp_path / "x1/x.src.npy", np.ones((N - 1, 6), np.float32))
    np.save(tmp_path / "x1/x.tgt.npy", np.ones((N - 1, 6), np.float32))
    files = [tmp_path / "x1" / name for name in ("training.json", "x.src.npy", "x.tgt.npy", "corpus")]
    with pytest.raises(InputError, match="40 sentences for 39 vectors"):
        measure("x", "held", files[0], [files[1]], [files[2]], files[3])
    assert not out.exists()
