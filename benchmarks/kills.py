"""Kill -9 a run at random moments and start it again: does it end in the bytes of a run that nobody killed?

    python benchmarks/kills.py                                             6 kills of one micro run
    python benchmarks/kills.py --runs 20 --kills 1 -- make tiny            a kill in each of 20 runs of `make tiny`

Runs are made from the last commit, in a temporary folder, with the Python that this is called by. Nothing is unlocked
or removed between a kill and the next start, which is the same command. Exits with 1 where a file differs.
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
MICRO = "snakemake --profile profiles/tiny --quiet all --configfile config/tiny.yaml tests/micro.yaml -- results/micro/table2.csv"
CLOCKED = {"benchmarks", "checkpoints"}  # folders of what tells of time, or only lives while a run does


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--kills", type=int, default=6, help="in each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--finished", type=Path, help="a checkout where the command has ended, to compare with")
    parser.add_argument("--within", type=float, help="seconds in which a kill falls (those of the run / kills)")
    parser.add_argument("command", nargs="*", default=MICRO.split())
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        whole, began = options.finished or checkout(Path(folder) / "whole"), time.monotonic()
        if not options.finished:
            start(options.command, whole).wait()
        within = options.within or (time.monotonic() - began) / options.kills
        wanted = hashes(whole)
        print(f"{len(wanted)} files to compare; a kill within {within:.0f} s", flush=True)
        same = 0
        for run in range(options.runs):
            root = checkout(Path(folder) / f"killed{run}")
            for _ in range(options.kills):
                kill_after(moments.uniform(0, within), options.command, root)
            status = start(options.command, root).wait()
            found = hashes(root)
            differ = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
            same += status == 0 and not differ
            print(
                f"run {run}: exit status {status}, {len(differ)} of {len(wanted)} files differ {differ[:5]}", flush=True
            )
            shutil.rmtree(root)
        print(f"{same} of {options.runs} runs, each killed {options.kills} times, ended in the same bytes")
    sys.exit(same != options.runs)


def checkout(root: Path) -> Path:
    """The last commit in a folder, with the environment of this checkout where it has one, and no results."""
    root.mkdir()
    archive = subprocess.run(
        ["git", "archive", "HEAD", "--", ".", ":!results"], cwd=ROOT, capture_output=True, check=True
    )
    subprocess.run(["tar", "x"], cwd=root, input=archive.stdout, check=True)
    if (ROOT / ".venv").exists():
        (root / ".venv").symlink_to(ROOT / ".venv")
        for path in (root / "pyproject.toml", *(root / "envs/lock").glob("*.txt")):
            os.utime(path, (0, 0))  # or make would install all of it again
    return root


def start(command: list[str], root: Path) -> subprocess.Popen[bytes]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (root / "run.log").open("ab") as log:
        return subprocess.Popen(
            command, cwd=root, env=os.environ | {"PATH": path}, start_new_session=True, stdout=log, stderr=log
        )


def kill_after(seconds: float, command: list[str], root: Path) -> None:
    run = start(command, root)
    time.sleep(seconds)
    ended = run.poll()
    os.killpg(run.pid, signal.SIGKILL) if ended is None else None
    run.wait()
    made = sum(path.is_file() for path in (root / "work").rglob("*"))
    print(f"  {'killed' if ended is None else 'had ended'} after {seconds:.0f} s, with {made} files made", flush=True)


def hashes(root: Path) -> dict[str, str]:
    """Of all that a run made, less pictures, provenance and what tells of time."""
    return {
        str(path.relative_to(root)): hashlib.sha256(
            re.sub(rb'\n *"cpu_seconds": .*', b"", path.read_bytes())
        ).hexdigest()
        for top in ("work", "results")
        for path in sorted((root / top).rglob("*"))
        if path.is_file()
        and not CLOCKED & {*path.relative_to(root).parts}
        and not path.name.endswith((".png", ".html", ".provenance.json", ".lock"))
    }


if __name__ == "__main__":
    main()
