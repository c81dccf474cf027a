"""Every command of the README is run: the main job for real, what needs a cluster or hours as a plan."""

import itertools
import re
import subprocess
from pathlib import Path

import golden
import pytest
from test_workflow import ROOT, copy_checkout, environment

from bitextbench.data.synth import sentences
from bitextbench.report.cells import read_csv

README = (ROOT / "README.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, flags=re.S) for line in block.splitlines()]
MINING = [command for command in COMMANDS if "crawl." in command]
PLANNED = [command for command in COMMANDS if command.startswith("snakemake ")]
PLANS = sorted({command.replace(" -n ", " ").replace("snakemake", "snakemake -n", 1) for command in PLANNED})


def run(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, shell=True, cwd=cwd, text=True, capture_output=True, env=environment())
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    return done


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A fresh checkout after `make tiny`, in the environment of the tests; and what the command said."""
    root = copy_checkout(tmp_path_factory.mktemp("tiny"))
    (root / ".venv").symlink_to(ROOT / ".venv")
    return root, run("make --assume-old .venv/installed tiny", root)


def test_no_command_of_the_readme_is_left_out():
    others = {"make tiny", "make test", ".venv/bin/bitextbench show results/tiny/table2.csv"}
    assert set(COMMANDS) == others | set(PLANNED) | set(MINING)


@pytest.mark.slow
def test_make_tiny_ends_with_a_table_in_which_random_is_worst(tiny):
    root, done = tiny
    assert "Lowest row: Random sampling in all 4 columns." in done.stdout
    assert "results/tiny/table2.html" in done.stdout
    lines = {(line.row, line.column): line for line in read_csv(root / "results/tiny/table2.csv")}
    for column in ("10M/test2017", "10M/test2018", "100M/test2017", "100M/test2018"):
        random, best = (
            lines["random", column],
            max((lines[row, column] for row in ("cosine", "mlp")), key=lambda x: x.ours),
        )
        assert best.ours - random.ours > max(best.spread, random.spread)
    for pair in ("random < cosine", "random < mlp"):
        assert f"{pair} holds in all 4 columns." in done.stdout
        assert lines["pivot", column].verdict == "not run"


@pytest.mark.slow
def test_make_tiny_ends_in_the_bytes_of_the_golden_run(tiny):
    root, _ = tiny
    found = golden.check(root, "tiny")
    assert not found.broken(), f"{found}"


@pytest.mark.slow
def test_make_tiny_prints_the_table_of_the_readme(tiny):
    table = re.search(r"```\n(Kim et al.*?)```", README, flags=re.S)[1]
    assert table in tiny[1].stdout


@pytest.mark.slow
def test_show_prints_what_make_tiny_ended_with(tiny):
    root, done = tiny
    shown = run(".venv/bin/bitextbench show results/tiny/table2.csv", root).stdout
    assert shown in done.stdout


@pytest.mark.slow
def test_own_texts_are_mined(tiny):
    root, _ = tiny
    stream = (
        pair for _, pair in sentences("own text", ("de", "en"), 7) if max(len(text.split()) for text in pair) <= 7
    )
    drawn = list(dict(itertools.islice(stream, 60)).items())
    (root / "crawl.de").write_text("".join(f"{german}\n" for german, _ in drawn))
    (root / "crawl.en").write_text("".join(f"{english}\n" for _, english in reversed(drawn)))
    for command in MINING:
        run(command, root)
    pairs = [line.split("\t") for line in (root / "pairs.tsv").read_text().splitlines()]
    right = sum((german, english) in drawn for *_, german, english in pairs)
    assert right > len(drawn) / 2


def test_make_test_sets_up_and_runs_pytest():
    said = run("make --no-print-directory --dry-run --always-make test", ROOT).stdout
    assert "--require-hashes" in said
    assert said.splitlines()[-1].startswith("pytest ")


@pytest.mark.parametrize("command", PLANS)
def test_snakemake_commands_plan(command, tmp_path):
    root = copy_checkout(tmp_path)
    (root / "config/mine.yaml").write_text(re.search(r"```yaml\n(.*?)```", README, flags=re.S)[1])
    for name in ("crawl.de", "crawl.en"):
        (root / name).write_text("a line\n")
    assert "This was a dry-run" in run(command, root).stdout
