"""The paper-scale workflow in miniature, through the slurm profile, on a cluster of three nodes of this machine.

    python tests/rehearsal.py FOLDER results/table2.csv        # all tables without a target
    python tests/rehearsal.py FOLDER --one-each --environments

The second, where all files of the plan lie in FOLDER, makes one of each rule's again, in the rules' own environments.
FOLDER holds a copy of the checkout (`repo`), the publishers' miniatures (`mirror`) and the files of the cluster; a
second call goes on where the first stopped. At the end it says which rules of the plan have run, what was submitted,
and what jobs asked for beside what they took.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import conda_stand_in
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
    *("--set-resources", *(f"{rule}:gres=gpu:1" for rule in GPU_RULES)),
]


def prepare(folder: Path, lines: int) -> Path:
    """The copy of the checkout, and its mirror; what is there stays."""
    if not (folder / "mirror").exists():
        made = [sys.executable, HERE / "publishers.py", "--folder", folder / "mirror", "--lines", str(lines)]
        subprocess.run(made, check=True)
    return copy_checkout(folder)


def environment(cluster: Cluster, folder: Path) -> dict[str, str]:
    """Of the run: commands of the environment that runs this, and `conda`; data of the mirror."""
    path = f"{Path(sys.executable).parent}:{conda_stand_in.write(folder / 'conda')}:{cluster.env['PATH']}"
    return cluster.env | {"PATH": path, "BITEXTBENCH_MIRROR": str(folder / "mirror"), **SHARED}


class Run(NamedTuple):
    """How Snakemake is called."""

    repo: Path
    env: dict[str, str]
    options: list[str]

    def __call__(self, *more: str, **how: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "snakemake", *OPTIONS, *self.options, *more]
        return subprocess.run(command, cwd=self.repo, env=self.env, text=True, **how)

    def all(self, jobs: int, targets: list[str]) -> int:
        """Fetch from here, as docs/cluster.md has it for nodes without internet, then send the rest to the cluster."""
        self("--executor", "local", "--cores", "2", "--until", "fetch", "--", *targets, check=True)
        return self("--jobs", str(jobs), "--", *targets).returncode

    def one_each(self, jobs: int, targets: list[str]) -> int:
        """One job of each rule, whatever has been made. Snakemake would make anew what lies between two of them, too, as
        its input is newer: a call knows no rules but its own.
        """
        planned = self.plan(targets)
        rule = {file: job.rule for job in planned for file in job.makes}
        codes = []
        for files in rounds(planned):
            allowed = "--allowed-rules", *sorted({rule[file] for file in files})
            codes.append(self("--jobs", str(jobs), "--force", *allowed, "--", *files).returncode)
        return max(codes)

    def plan(self, targets: list[str]) -> list["Planned"]:
        """All jobs, also of what is there."""
        said = self("-n", "--forceall", "--", *targets, capture_output=True, check=True).stdout
        return parsed(said)


class Planned(NamedTuple):
    """A job of a plan."""

    rule: str
    needs: list[str]
    makes: list[str]


def parsed(said: str) -> list[Planned]:
    """The jobs that a dry run names; those of a group are indented."""
    blocks = re.findall(r"^( *)(?:local)?rule (\w+):\n((?:\1 {4}.*\n)+)", said, flags=re.M)
    return [
        Planned(rule, listed(block, "input"), listed(block, "output")) for _, rule, block in blocks if rule != "all"
    ]


def listed(block: str, key: str) -> list[str]:
    found = re.search(rf"^ +{key}: (.+)$", block, flags=re.M)
    return found[1].split(", ") if found else []


def rounds(jobs: list[Planned]) -> list[list[str]]:
    """A file of one job of each rule, the one with the fewest jobs before it; those of a round do not need each other."""
    maker = {file: number for number, job in enumerate(jobs) for file in job.makes}

    @cache
    def before(number: int) -> frozenset[int]:
        direct = {maker[file] for file in jobs[number].needs if file in maker}
        return frozenset(direct).union(*map(before, direct))

    chosen: dict[str, int] = {}
    for number in sorted(range(len(jobs)), key=lambda number: len(before(number))):
        chosen.setdefault(jobs[number].rule, number)
    level: dict[int, int] = {}
    for number in chosen.values():  # those before a job have fewer before them
        level[number] = 1 + max((level[other] for other in level.keys() & before(number)), default=-1)
    return [[jobs[n].makes[0] for n in level if level[n] == which] for which in range(max(level.values()) + 1)]


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


def report(run: Run, targets: list[str], seconds: float) -> None:
    repo, held = run.repo, jobs(run.env)
    planned = run.plan(targets)
    local = {job.rule for job in planned if all((repo / file).exists() for file in job.makes)}  # the login node's, too
    done = ran(repo) | local | {job.rule for job in held if job.state == "COMPLETED"}
    (repo / "ran.txt").write_text("\n".join(sorted(done)) + "\n")
    wanted = {job.rule for job in planned}
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
    # many, as the plugin asks later and later for the states of jobs of which none ends: with few the machine stands still
    parser.add_argument("--jobs", type=int, default=16, help="at once")
    parser.add_argument("--one-each", action="store_true", help="one job of each rule, again")
    parser.add_argument(
        "--environments", action="store_true", help="with profiles/slurm-conda, by tests/conda_stand_in.py"
    )
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
        conda = (
            ["--workflow-profile", "profiles/slurm-conda", "--conda-prefix", str(folder / "conda/envs")]
            if asked.environments
            else []
        )
        run = Run(repo, environment(cluster, folder), conda)
        code = (run.one_each if asked.one_each else run.all)(asked.jobs, asked.targets)
        report(run, asked.targets, time.monotonic() - began)
    print(f"{cpu_seconds():.0f} CPU seconds, the cluster's daemons among them")
    return code


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
