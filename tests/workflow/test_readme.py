"""Every command of the README is run as it is printed, in a fresh shell: the main job for real, what needs a cluster or
hours as a plan.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import golden
import numpy as np
import pytest
from checkout import ROOT, copy_checkout
from pyarrow import parquet

from bitextbench.base.json_yaml import read_json
from bitextbench.formats.ids import Ragged
from bitextbench.report.cells import read

README = (ROOT / "README.md").read_text()
DOCS = [
    (ROOT / "docs" / name).read_text()
    for name in ("cluster.md", "results.md", "running.md", "tables/labels.md", "tables/encoders.md")
]
RUNNING = (ROOT / "docs/running.md").read_text()
ACTIVATE = ". .venv/bin/activate"
ALL = "seeds: [1, 2, 3, 4, 5]\n"
SHOW = "bitextbench show --brief results/tiny/table2.csv"


def commands(page: str) -> list[str]:
    return [line for block in re.findall(r"```sh\n(.*?)```", page, flags=re.S) for line in block.splitlines()]


COMMANDS = commands(README)
MINING = [command for command in COMMANDS if command.startswith(("bitextbench mine ", "bitextbench evaluate "))]
PLANNED = [command for page in (README, *DOCS) for command in commands(page) if command.startswith("snakemake ")]
CONDA = " --workflow-profile profiles/slurm-conda"  # needs conda; test_environments.py has a stand-in for it
PLANS = sorted(
    {command.replace(" -n ", " ").replace(CONDA, "").replace("snakemake", "snakemake -n", 1) for command in PLANNED}
)


def checkout(folder: Path) -> Path:
    """A fresh checkout after `make env`: its .venv is the environment of the tests."""
    root = copy_checkout(folder)
    (root / ".venv").symlink_to(sys.prefix)
    return root


def run(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run lines of a shell that knows nothing of any environment but the system's."""
    kept = {name: os.environ[name] for name in ("HOME", "PYTHONPATH", "TMPDIR") if name in os.environ}
    done = subprocess.run(
        ["bash", "-ec", command],
        cwd=cwd,
        text=True,
        capture_output=True,
        env=kept | {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-5000:]
    return done


def activated(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run(f"{ACTIVATE}\n{command}", cwd)


WHOLE = (
    "BITEXTBENCH_WHOLE" in os.environ
)  # `make tiny` with all its seeds; else with the first, which is the same bytes


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A fresh checkout after `make tiny`, and what the command said."""
    root = checkout(tmp_path_factory.mktemp("tiny"))
    if not WHOLE:
        config = (root / "config/tiny.yaml").read_text()
        assert config.count(ALL) == 1
        (root / "config/tiny.yaml").write_text(config.replace(ALL, "seeds: [1]\n"))
    return root, run("make --assume-old .venv/installed tiny", root)


def test_no_command_of_the_readme_is_left_out():
    assert MINING
    assert set(COMMANDS) == {"make tiny", "make test", ACTIVATE, *MINING}


def test_the_readme_activates_the_environment_before_it_is_needed():
    assert next(command for command in COMMANDS if not command.startswith("make ")) == ACTIVATE


@pytest.mark.slow
def test_make_tiny_ends_with_a_table_in_which_random_is_worst(tiny):
    root, done = tiny
    assert "random < cosine" in done.stdout
    assert "results/tiny/index.html" in done.stdout
    said = (done.stdout + done.stderr).splitlines()
    assert len(said) <= 40, "a newcomer reads what make tiny prints"
    said = [line for line in said if "Complete log" not in line and not re.search(r"\d%.*: ", line)]  # a path, progress
    assert max(map(len, said)) <= 120, max(said, key=len)
    cells = {(cell.row, cell.column): cell for cell in read(root / "results/tiny/table2.csv")}
    assert cells["pivot", "10M/test2017"].verdict == "not run"


@pytest.mark.slow
def test_make_tiny_ends_in_the_bytes_of_the_golden_run(tiny):
    comparison = golden.check(tiny[0], "tiny", None if WHOLE else 1)
    assert not comparison.broken(), f"{comparison}"


TABLE = re.search(r"<!-- generated: make docs -->\n```\n(Kim .*?)```\n<!-- end -->", README, flags=re.S)[1]


def test_the_table_of_the_readme_decides_what_it_is_for():
    for pair in ("random < cosine", "random < mlp"):
        assert f"{pair} holds in 10M/test2017, 10M/test2018" in TABLE


@pytest.mark.slow
@pytest.mark.skipif(not WHOLE, reason="of all seeds; that the golden table is the README's is in test_docs")
def test_make_tiny_prints_the_table_of_the_readme(tiny):
    assert TABLE in tiny[1].stdout


@pytest.mark.slow
def test_show_prints_what_make_tiny_ended_with(tiny):
    root, done = tiny
    shown = activated(SHOW, root).stdout
    assert shown in done.stdout


BEST = re.findall(r"^```\n(\d\.\d+\t.*?)```\n", README, flags=re.S | re.M)[0]
MEASURED = re.search(r"^    (P \d.*\n)", README, flags=re.M)


def test_the_samples_are_mined_as_the_readme_shows(tmp_path):
    root = checkout(tmp_path)
    printed = [activated(f"export XDG_CACHE_HOME=$PWD/cache; {command}", root).stdout for command in MINING]
    assert printed == ["", MEASURED[1]]
    pairs = [line.split("\t") for line in (root / "pairs.tsv").read_text().splitlines()]
    for pair, shown in zip(pairs, BEST.splitlines(), strict=False):
        score, *rest = shown.split("\t")
        assert pair[1:] == rest
        # Intel and AMD differ in the eighth digit: only runs of the workflow compute portably
        assert float(pair[0]) == pytest.approx(float(score), abs=1e-4)


def test_make_test_sets_up_and_runs_pytest():
    said = run("make --no-print-directory --dry-run --always-make test", ROOT).stdout
    assert "envs/install.sh" in said
    assert said.splitlines()[-1].startswith("pytest ")


@pytest.mark.slow
def test_the_walk_of_a_pair_is_that_of_the_run(tiny):
    """docs/architecture.md follows pair 114 of the pool."""
    work, page = tiny[0] / "work/tiny", (ROOT / "docs/architecture.md").read_text()
    pair = parquet.read_table(work / "corpus/pool/00000.parquet").slice(114, 1).to_pylist()[0]
    assert pair["id"] == 114
    assert all(f"`{pair[column]}`" in page for column in ("src", "tgt", "doc", "label"))
    for side in ("src", "tgt"):
        assert " ".join(map(str, Ragged.load(work / f"features/joint/pool/00000.{side}")[114])) in page
    selection = read_json(work / "selected/mlp.10M/1/selection.json")
    bleu = read_json(next(work.glob("metrics/bleu/mlp.10M/*/1/test2017.json")))["value"]
    score, cosine = (np.load(work / f"scores/{method}/pool/00000.npy")[114] for method in ("mlp", "cosine"))
    for said in (
        f"| {score:.2f} (a logit)",
        f"has {cosine:.2f} |",
        f"of {selection['cutoff']:.2f} |",
        f"| {bleu:.1f} for",
        f"{selection['pool_pairs']:,} pass",
    ):
        assert said in page


@pytest.mark.parametrize("command", PLANS)
def test_snakemake_commands_plan(command, tmp_path):
    root = checkout(tmp_path)
    (root / "config/mine.yaml").write_text(re.search(r"```yaml\n(.*?)```", RUNNING, flags=re.S)[1])
    for name in ("crawl.de", "crawl.en"):
        (root / name).write_text("a line\n")
    assert "This was a dry-run" in activated(command, root).stdout
