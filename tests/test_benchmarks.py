"""The benchmarks still run: each as the program it is, at a size of seconds."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_writes_its_figures(tmp_path: Path, name: str):
    out = tmp_path / "figures.csv"
    command = [sys.executable, f"benchmarks/{name}.py", *SMALL[name], "-o", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(out, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    times = {"neighbours": "ours_s", "filtering": "cpu_s", "peers": "seconds", "encoders": "encode_share"}[name]
    found = [float(row[times]) for row in rows if row[times]]
    assert min(found) >= 0 < max(found)
