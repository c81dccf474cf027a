"""Checkouts of this repository, and Snakemake in them."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def snakemake(*arguments: str, cwd: Path = ROOT, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", *arguments]
    done = subprocess.run(command, cwd=cwd, text=True, capture_output=True, env=environment())
    assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done


def laid_over(*overlays: str) -> list[str]:
    """The options of a run on two cores of configurations laid over each other; targets follow."""
    shown = "--show-failed-logs", "--quiet", "rules", "progress"
    return ["--profile", "profiles/tiny", "--cores", "2", *shown, "--configfile", *overlays, "--"]


def environment() -> dict[str, str]:
    """Rules call `python`: this one."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def copy_checkout(target_root: Path) -> Path:
    """What a clone of the repository holds but our results, which would count as made, with uncommitted changes, in
    `target_root`/repo. What is there and the same keeps its time.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard", "--", ":!results"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, target_root / "repo" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink() and not target.is_symlink():
            target.symlink_to(os.readlink(source))
        elif source.is_file() and not (target.exists() and target.read_bytes() == source.read_bytes()):
            target.write_bytes(source.read_bytes())
    return target_root / "repo"


def jobs(output: str) -> dict[str, int]:
    """The jobs of a dry run, by rule."""
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", output, flags=re.M)}


OVERLAYS = {
    str(path.relative_to(ROOT / "config")): command[1]
    for path in sorted((ROOT / "config").rglob("*.yaml"))
    if (command := re.search(r"^#   snakemake (.+)$", path.read_text(encoding="utf-8"), flags=re.M))
}
