"""Linters, formatters and types; and environments that hold what the lock holds."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
TOOLS = {
    "ruff": ["ruff", "check", "src", "tests", "envs", "docs", "benchmarks"],
    "ruff format": ["ruff", "format", "--check", "src", "tests", "envs", "docs", "benchmarks"],
    "snakefmt": ["snakefmt", "--check", "Snakefile", "rules"],
    "mypy": ["mypy"],
}
FAMILIES = ("data", "embed", "nmt", "report")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "mypy")) for name in TOOLS])
def test_tools_have_nothing_to_say(name):
    tool, *arguments = TOOLS[name]
    done = subprocess.run([Path(sys.executable).with_name(tool), *arguments], cwd=ROOT, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


def pins(lock: str) -> dict[str, str]:
    """Package -> version; every one must have a hash."""
    text = (ROOT / "envs/lock" / f"{lock}.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert all("--hash=sha256:" in line for line in lines), lock
    return dict(re.match(r"([\w.-]+)==(\S+)", line).groups() for line in lines)


def test_families_take_their_pins_from_one_lock():
    everything = pins("all")
    for family in FAMILIES:
        assert pins(family).items() <= everything.items(), family
    assert pins("nmt")["fairseq"] == "0.12.2"


def test_torch_is_locked_for_cpu_and_cuda():
    assert pins("cpu")["torch"] == pins("cuda")["torch"] + "+cpu"


@pytest.mark.parametrize("family", FAMILIES)
def test_conda_environments_are_pinned_exactly(family):
    environment = yaml.safe_load((ROOT / f"envs/{family}.yaml").read_text())
    assert all(re.fullmatch(r"[\w-]+=\d[\d.]*", pin) for pin in environment["dependencies"])
    assert environment["dependencies"][0].startswith("python=3.11.")
    assert f"envs/lock/{family}.txt" in (ROOT / f"envs/{family}.post-deploy.sh").read_text()


@pytest.mark.parametrize("family", FAMILIES)
def test_another_lock_makes_another_environment(family):
    script = (ROOT / f"envs/{family}.post-deploy.sh").read_text()
    assert runpy.run_path(str(ROOT / "envs/lock.py"))["stamped"](script) == script


def test_rules_use_these_environments():
    used = {
        name
        for path in (ROOT / "rules").glob("*.smk")
        for name in re.findall(r"\.\./envs/(\w+)\.yaml", path.read_text())
    }
    assert used == set(FAMILIES)


def test_no_path_of_a_machine_is_in_the_repository():
    listed = subprocess.run(
        ["git", "grep", "-nIE", r"(^|[^A-Za-z0-9_.])/(work|farm|root|home)/", "--", ".", ":!envs/lock"],
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    assert listed.stdout == ""
