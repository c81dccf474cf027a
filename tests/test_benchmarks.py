"""The benchmarks still run: each as the program it is, at a size of seconds."""

import ast
import csv
import importlib
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from smt import toy

from bitextbench.base.arrays import save
from bitextbench.formats.bitext import write_shards
from bitextbench.report import measurements

ROOT = Path(__file__).parent.parent
SMALL = {
    "neighbours": ("--sizes", "50,300", "--dimension", "16"),
    "peers": (
        "--vectors",
        "200",
        "--dimension",
        "16",
        "--runs",
        "1",
        "--work",
        "neighbours",
        "--here",
        "--peer",
        "faiss_search",
    ),
    "filtering": ("--lines", "1000", "--sample", "500", "--scores", "20000"),
    "encoders": (
        *("--config", "config.yaml", "--config", "config/tiny.yaml", "--encoder", "nmt_autoencoder"),
        *("--precision", "fp32", "--batch-tokens", "500", "--seconds", "0.01"),
    ),
}


def figures(out: Path, name: str, *options: str) -> list[dict[str, str]]:
    """What a benchmark writes."""
    command = [sys.executable, f"benchmarks/{name}.py", *options, "-o", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(out, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_is_there(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("bitextbench"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.import_module(f"{node.module}.{alias.name}")


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_writes_its_figures(tmp_path: Path, name: str):
    rows = figures(tmp_path / "figures.csv", name, *SMALL[name])
    times = {"neighbours": "ours_s", "filtering": "cpu_s", "peers": "seconds", "encoders": "encode_share"}[name]
    found = [float(row[times]) for row in rows if row[times]]
    assert min(found) >= 0 < max(found)


@pytest.mark.slow
def test_the_audit_is_calibrated(tmp_path: Path):
    rows = figures(tmp_path / "figures.csv", "calibration", "--runs", "4", "--part", "power", "--part", "predicates")
    power = [float(row["figure"]) for row in rows if row["case"] == "unpaired; alone"]
    assert 8 > power[1] > power[2] > power[-1] > 0.5  # from three seeds on
    assert {row["seeds"] for row in rows if row["part"] == "predicate"} == {"2", "3", "5"}


@pytest.mark.slow
def test_the_decoder_is_measured_over_beams_and_numbers_of_rules(tmp_path: Path):
    (tmp_path / "text").write_text("a b a\n\nb a\n")
    (tmp_path / "weights.json").write_text(json.dumps(toy.WEIGHTS))
    rules = toy.random_rules(random.Random(1), 20)
    files = {
        "grammar": toy.write_grammar(tmp_path / "grammar.tsv", [("a", "A", [-1.0, -1.0]), *rules]),
        "lm": toy.write_model(tmp_path / "model.arpa", random.Random(1)),
        "source": tmp_path / "text",
        "weights": tmp_path / "weights.json",
    }
    options = [f"--{name}={path}" for name, path in files.items()]
    rows = figures(tmp_path / "figures.csv", "smt", *options, "--beam=1", "--beam=50", "--rules=5", "--rules=21")
    assert [row["beam"] or row["rules"] for row in rows] == ["1", "50", "5", "21"]
    assert all(float(row["words_per_second"]) > 0 for row in rows[:2])
    assert float(rows[0]["score"]) <= float(rows[1]["score"])
    assert all(0 < int(row["mib_before"]) <= int(row["mib_after"]) for row in rows[2:])


def test_lengths_that_tell_the_number_of_words_help_the_euclidean_distance(tmp_path: Path):
    """Directions of noise alone: only lengths find a translation, and exchanged among all sentences they find none."""
    rng = np.random.default_rng(1)
    words = np.repeat(np.arange(1, 21), 2)
    lines = [(" ".join(["w"] * n), " ".join(["v"] * n)) for n in words.tolist()]
    rows = pa.table(
        {
            "id": range(len(lines)),
            "src": [a for a, _ in lines],
            "tgt": [b for _, b in lines],
            "doc": [""] * len(lines),
            "label": [""] * len(lines),
        }
    )
    write_shards(tmp_path / "text", [rows], 1)
    for seed in (1, 2):
        folder = tmp_path / "vectors" / ("e" if seed == 1 else f"e.seed{seed}") / "c"
        folder.mkdir(parents=True)
        for side in ("src", "tgt"):
            vectors = rng.normal(size=(len(words), 4)) + 100
            lengths = 10 * words / np.linalg.norm(vectors, axis=1)
            save(folder / f"00000.{side}.npy", (vectors * lengths[:, None]).astype(np.float32))
    options = ["--encoder", "e", "--corpus", "c", "--seed", "1", "--seed", "2", "--text", str(tmp_path / "text")]
    errors = {
        line["row"]: float(line["ours"])
        for line in figures(tmp_path / "out.csv", "lengths", str(tmp_path / "vectors"), *options)
        if line["column"] == "average"
    }
    assert errors["Euclidean, lengths of the encoder"] < 60 < 80 < errors["cosine, all lengths 1"]
    assert errors["exchanged among sentences of as many words"] == errors["Euclidean, lengths of the encoder"]
    assert errors["exchanged among all sentences"] > 80
    assert measurements.load(tmp_path / "out.json")[0] == "alignment"


@pytest.mark.slow
def test_what_must_hold_on_a_gpu_holds_on_a_cpu(tmp_path: Path):
    options = ["--device", "cpu", "--updates", "3", "--vectors", "1000", "-o", str(tmp_path)]
    subprocess.run([sys.executable, ROOT / "benchmarks/gpu.py", *options], check=True, timeout=300, capture_output=True)
    checks = json.loads((tmp_path / "cpu.json").read_text())["checks"]
    assert len(checks) > 30
    assert all(line["holds"] for line in checks)
    assert {line["distance"] for line in checks if ", fp32" in line["what"]} == {0.0}  # a CPU is itself
