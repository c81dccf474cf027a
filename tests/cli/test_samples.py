"""The first example of the README: two texts that the repository holds."""

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_pairs_of_the_example_are_found(tmp_path):
    command = [sys.executable, "-m", "bitextbench", "mine", EXAMPLES / "news.de", EXAMPLES / "news.en"]
    done = subprocess.run(
        [*command, "--cache", tmp_path / "cache", "-o", tmp_path / "pairs.tsv"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(
        "encoder muse: Universal Sentence Encoder, multilingual version 3; licence Apache-2.0"
    )
    gold = {tuple(line.split("\t")) for line in (EXAMPLES / "news.gold").read_text().splitlines()}
    mined = [line.split("\t") for line in (tmp_path / "pairs.tsv").read_text(encoding="utf-8").splitlines()]
    right = sum((src, tgt) in gold for _, src, tgt, *_ in mined)
    assert right >= 0.95 * len(gold)
    assert right >= 0.85 * len(mined)
    texts = ["--src-text", EXAMPLES / "news.de", "--tgt-text", EXAMPLES / "news.en"]
    files = ["--candidates", tmp_path / "pairs.tsv", "--gold", EXAMPLES / "news.gold"]
    command = [sys.executable, "-m", "bitextbench", "evaluate", "bucc", *texts, *files, "--threshold", "-inf"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"P {100 * right / len(mined):.1f} R {100 * right / len(gold):.1f} F1 ")


def test_a_margin_without_a_threshold_says_so(tmp_path):
    command = [sys.executable, "-m", "bitextbench", "mine", EXAMPLES / "news.de", EXAMPLES / "news.en"]
    options = ["--cache", tmp_path / "cache", "-o", tmp_path / "pairs.tsv", "--margin", "cosine"]
    found = {}
    for threshold in (None, "0.5", "-inf"):
        given = [] if threshold is None else ["--threshold", threshold]
        done = subprocess.run([*command, *options, *given], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[threshold] = done.stderr
    said = "mine: no threshold is set, so every retrieved pair is kept; give --threshold to keep fewer"
    assert f"{said} (the default, 0.1338, is for --margin distance and -k 4 only)\n" in found[None]
    assert all("no threshold" not in found[threshold] for threshold in ("0.5", "-inf"))


def test_vectors_of_ones_own_are_compared_with_a_baseline_as_the_page_says(tmp_path):
    page = (EXAMPLES.parent / "docs/mining.md").read_text(encoding="utf-8")
    section = page.partition("## Your own encoder against a baseline")[2].partition("\n## ")[0]
    (code,), (commands,) = (re.findall(rf"```{kind}\n(.*?)```", section, flags=re.S) for kind in ("python", "sh"))
    (tmp_path / "examples").symlink_to(EXAMPLES)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        ["bash", "-ec", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("two_fold/f1: ")]
    assert re.search(r"difference -\d\d\.\d \(-\d\d\.\d to -\d\d\.\d\), p < 0\.001$", line)
