"""The paper-scale workflow in miniature, through the slurm profile, on a cluster of three nodes of this machine.

    python tests/rehearsal.py FOLDER results/table2.csv        # all tables without a target

FOLDER holds a copy of the checkout (`repo`), the publishers' miniatures (`mirror`) and the files of the cluster; a
second call goes on where the first stopped. At the end it says which rules of the plan have run, what was submitted,
and what jobs asked for beside what they took.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from checkout import copy_checkout
from slurm_cluster import Cluster, Job, adopt_orphans, cpu_seconds, jobs, why_not

HERE = Path(__file__).parent
GPU_RULES = (
    "train_encoder",
    "encode",
    "nmt_train",
    "translation_train",
)  # ask for a GPU, which is none, and leave it idle
# the cluster's cores are on paper: threads that wait for each other are not to keep the machine's busy
SHARED = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
OPTIONS = [
    *("--profile", "slurm", "--configfile", "config/rehearsal.yaml", "--latency-wait", "5"),
    *("--slurm-init-seconds-before-status-checks", "3", "--seconds-between-status-checks", "3"),
    *("--set-resources", *(f"{rule}:gpu=1" for rule in GPU_RULES)),
]


def prepare(folder: Path, lines: int) -> Path:
    """The copy of the checkout, and its mirror; what is there stays."""
    if not (folder / "mirror").exists():
        made = [sys.executable, HERE / "publishers.py", "--folder", folder / "mirror", "--lines", str(lines)]
        subprocess.run(made, check=True)
    return copy_checkout(folder)


def environment(cluster: Cluster, mirror: Path) -> dict[str, str]:
    """Of the run: commands of the environment that runs this, data of the mirror."""
    path = f"{Path(sys.executable).parent}:{cluster.env['PATH']}"
    return cluster.env | {"PATH": path, "BITEXTBENCH_MIRROR": str(mirror), **SHARED}


def run(repo: Path, env: dict[str, str], jobs: int, targets: list[str]) -> int:
    """Fetch from here, as docs/cluster.md has it for nodes without internet, then send the rest to the cluster."""
    snakemake = [sys.executable, "-m", "snakemake", *OPTIONS]
    fetch = ["--executor", "local", "--cores", "2", "--until", "fetch"]
    subprocess.run([*snakemake, *fetch, "--", *targets], cwd=repo, env=env, check=True)
    return subprocess.run([*snakemake, "--jobs", str(jobs), "--", *targets], cwd=repo, env=env).returncode


def planned(repo: Path, env: dict[str, str], targets: list[str]) -> set[str]:
    """The rules of the whole plan."""
    command = [sys.executable, "-m", "snakemake", *OPTIONS, "-n", "--forceall", "--quiet", "rules", "--", *targets]
    said = subprocess.run(command, cwd=repo, env=env, text=True, capture_output=True, check=True).stdout
    table = said.partition("Job stats:\n")[2].partition("\n\n")[0].splitlines()[2:-1]
    return {line.split()[0] for line in table} - {"all"}


def ran(repo: Path) -> set[str]:
    """The rules that have left a finished job behind, in this or an earlier call, or a benchmark."""
    log = repo / "ran.txt"
    before = set(log.read_text().split()) if log.exists() else set()
    return before | {path.parent.name for path in benchmarks(repo)}


def benchmarks(repo: Path) -> list[Path]:
    return [*repo.glob("work/paper/benchmarks/*/*.tsv"), *repo.glob("data/raw/benchmarks/*/*.tsv")]


def peaks(repo: Path, held: list[Job]) -> dict[str, tuple[float, float]]:
    """Of each rule the largest resident memory of a job, and the least that one asked for, in MB."""
    took: dict[str, float] = defaultdict(float)
    for path in benchmarks(repo):
        with open(path, encoding="utf-8") as lines:
            sizes = [row["max_rss"] for row in csv.DictReader(lines, delimiter="\t")]
        took[path.parent.name] = max(
            [took[path.parent.name], *(float(size) for size in sizes if size not in ("-", "NA"))]
        )
    asked = {rule: min(job.memory_mb for job in held if job.rule == rule) for rule in {job.rule for job in held}}
    return {rule: (took[rule], asked[rule]) for rule in sorted(took) if rule in asked}


def report(repo: Path, env: dict[str, str], targets: list[str], seconds: float) -> None:
    held = jobs(env)
    done = ran(repo) | {job.rule for job in held if job.state == "COMPLETED"}
    (repo / "ran.txt").write_text("\n".join(sorted(done)) + "\n")
    wanted = planned(repo, env, targets)
    states = Counter(job.state for job in held)
    print(f"{seconds:.0f} s; {len(held)} submissions: {', '.join(f'{n} {name}' for name, n in sorted(states.items()))}")
    print(
        f"rules that have run: {len(done & wanted)} of {len(wanted)}; not: {', '.join(sorted(wanted - done)) or 'none'}"
    )
    for rule, (took, asked) in peaks(repo, held).items():
        print(f"  {rule}: {took:.0f} MB of {asked:.0f} asked for{' (too few)' if took > asked else ''}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--lines", type=int, default=300, help="of a common text of the publishers")
    parser.add_argument("--jobs", type=int, default=4, help="at once")
    asked = parser.parse_args()
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 2
    folder = asked.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    repo = prepare(folder, asked.lines)
    shutil.rmtree(folder / "slurm", ignore_errors=True)
    began = time.monotonic()
    adopt_orphans()
    with Cluster(folder / "slurm", nodes=3, cpus=10, memory_mb=64000, kills=True) as cluster:
        env = environment(cluster, folder / "mirror")
        code = run(repo, env, asked.jobs, asked.targets)
        report(repo, env, asked.targets, time.monotonic() - began)
    print(f"{cpu_seconds():.0f} CPU seconds, the cluster's daemons among them")
    return code


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
