"""Faults while the paper-scale workflow runs in miniature, at moments drawn by a seed: do the same files come out?

    python tests/faults.py FOLDER --seed 1 --faults 20 -- results/table2.csv

FOLDER is that of a rehearsal (tests/rehearsal.py) which has made the same targets without faults. The run with faults
is in FOLDER/faulty, a file system of its own in memory, so that it can be full; its log is FOLDER/faulty.log. Whenever
Snakemake ends before the targets are there, the same command is given again, and nothing else is done. At the end:
faults by kind, jobs and CPU seconds lost, and files that differ. Exits with 1 where one differs, or a job was lost for
no reason.
"""

import argparse
import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import publishers
from checkout import ROOT, copy_checkout
from rehearsal import OPTIONS, environment
from slurm_cluster import Cluster, adopt_orphans, cpu_seconds, records, why_not

from bitextbench.data import registry

sys.path.insert(0, str(ROOT / "benchmarks"))
from kills import hashes

SERVED = ("truncate", "corrupt", "stall")  # by the publishers, while data is fetched
TOO_SMALL = 150  # MB for a job
STARTS = 30  # of Snakemake, at most
ALIVE = ("RUNNING", "PENDING", "COMPLETING", "CONFIGURING")
OUTAGE = {"node": 20.0, "slurmctld": 10.0, "disk": 60.0}  # seconds


class Met(NamedTuple):
    kind: str
    progress: float
    hit: tuple[str, ...]  # jobs


class Run:
    """A run with faults: Snakemake in `repo`, started again whenever it has ended, and what its jobs have used."""

    def __init__(self, repo: Path, cluster: Cluster, env: dict[str, str], command: list[str], expected: int) -> None:
        self.repo, self.cluster, self.env, self.command, self.expected = repo, cluster, env, command, expected
        self.log = open(repo.parent.parent / "faulty.log", "ab")  # noqa: SIM115
        self.starts = self.code = 0
        self.used: dict[str, list[float]] = defaultdict(list)  # job -> CPU seconds of each time that it ran
        self.small = cluster.folder / "bin" / "too-small"  # while it is there, jobs get too little memory
        self.begin()

    def begin(self) -> None:
        self.starts += 1
        self.snakemake = subprocess.Popen(
            self.command, cwd=self.repo, env=self.env, stdout=self.log, stderr=self.log, start_new_session=True
        )

    def progress(self) -> float:
        """The share of jobs that have ended well, by their benchmarks."""
        return len([*self.repo.glob("work/*/benchmarks/*/*.tsv")]) / self.expected

    def wait(self, seconds: float) -> bool:
        """Let it work; Snakemake is started again where it ended too soon. Whether it has ended well."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.sample()
            if (code := self.snakemake.poll()) is not None:
                if code == 0 or self.starts == STARTS:
                    self.code = code
                    return True
                self.begin()
            time.sleep(1)
        return False

    def sample(self) -> None:
        """The CPU seconds of jobs by now. A job that Slurm has queued again begins at 0."""
        now: Counter[str] = Counter()
        for job, process in self.processes():
            with contextlib.suppress(psutil.Error):
                now[job] += sum(process.cpu_times()[:4])
        for job, seconds in now.items():
            if not self.used[job] or seconds < self.used[job][-1] / 2:
                self.used[job].append(seconds)
            self.used[job][-1] = max(self.used[job][-1], seconds)

    def processes(self) -> Iterator[tuple[str, psutil.Process]]:
        """Jobs, and the processes that work for them."""
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                held = process.environ()
                if held.get("SLURM_CONF") == self.env["SLURM_CONF"] and "SLURM_JOB_ID" in held:
                    yield held["SLURM_JOB_ID"], process

    def jobs(self, *states: str) -> dict[str, dict[str, str]]:
        return {job["JobId"]: job for job in records(self.env) if not states or job["JobState"] in states}

    def some_job(self, moments: random.Random) -> str | None:
        """A job that runs; None where there is none for a minute."""
        for _ in range(60):
            if running := sorted(self.jobs("RUNNING"), key=int):
                return moments.choice(running)
            if self.wait(1):
                return None
        return None

    def scontrol(self, *arguments: str) -> None:
        subprocess.run(["scontrol", *arguments], env=self.env, capture_output=True, timeout=60)

    # ---- the faults; each returns the jobs that it hit

    def node(self, moments: random.Random) -> list[str]:
        """A node goes down in a job, and comes back."""
        job = self.some_job(moments)
        node = self.jobs()[job]["NodeList"] if job else "n3"
        hit = [name for name, held in self.jobs("RUNNING").items() if held["NodeList"] == node]
        self.cluster.crash(node)
        self.wait(OUTAGE["node"])
        self.cluster.restore(node)
        return hit

    def memory(self, moments: random.Random) -> list[str]:
        """The next job is given too little memory."""
        before = self.jobs()
        self.small.touch()
        for _ in range(300):
            if self.wait(1) or not self.small.exists():
                break
        self.small.unlink(missing_ok=True)
        now = self.jobs()
        hit = [name for name in now.keys() - before.keys() if now[name]["MinMemoryNode"] == f"{TOO_SMALL}M"]
        for _ in range(120):
            if not {*hit} & self.jobs(*ALIVE).keys() or self.wait(1):
                break
        return hit

    def time(self, moments: random.Random) -> list[str]:
        """A job hangs until its time is over."""
        job = self.some_job(moments)
        if job is None:
            return []
        for owner, process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.suspend() if owner == job and "python" in process.name() else None
        self.scontrol("update", f"JobId={job}", "EndTime=now")
        for _ in range(120):
            if job not in self.jobs("RUNNING") or self.wait(1):
                break
        return [job]

    def scancel(self, moments: random.Random) -> list[str]:
        """A job is cancelled by somebody."""
        job = self.some_job(moments)
        if job is None:
            return []
        subprocess.run(["scancel", job], env=self.env, capture_output=True, timeout=60)
        return [job]

    def slurmctld(self, moments: random.Random) -> list[str]:
        """The controller dies, and is started again."""
        self.cluster.kill("slurmctld")
        self.wait(OUTAGE["slurmctld"])
        self.cluster.start("slurmctld")
        return []

    def snakemake_killed(self, moments: random.Random) -> list[str]:
        """kill -9 of the process that submits; its jobs go on."""
        self.snakemake.send_signal(signal.SIGKILL)
        self.snakemake.wait()
        return []

    def disk(self, moments: random.Random) -> list[str]:
        """No space is left for a minute. Jobs of that time may fail."""
        before = self.jobs(*ALIVE)
        ballast = self.repo.parent / "ballast"
        with open(ballast, "wb") as file:
            for size in (1 << 20, 1 << 12):
                with contextlib.suppress(OSError):
                    while True:
                        os.write(file.fileno(), bytes(size))
        self.wait(OUTAGE["disk"])
        ballast.unlink()
        self.wait(20)
        return [
            name for name, held in self.jobs().items() if name in before or int(name) > max(map(int, before), default=0)
        ]


KINDS: dict[str, Callable[[Run, random.Random], list[str]]] = {
    "node down": Run.node,
    "over its memory": Run.memory,
    "over its time": Run.time,
    "scancel": Run.scancel,
    "slurmctld killed": Run.slurmctld,
    "snakemake killed": Run.snakemake_killed,
    "disk full": Run.disk,
}


def plan(moments: random.Random, n: int) -> list[tuple[float, str]]:
    """When, in shares of the work, and what: each kind as often as the others."""
    kinds = [*KINDS] * (-(-n // len(KINDS)))
    return sorted(zip((moments.uniform(0.02, 0.9) for _ in range(n)), moments.sample(kinds[:n], n), strict=True))


def fetch(repo: Path, mirror: Path, moments: random.Random, targets: list[str], n: int) -> list[Met]:
    """Fetch from publishers who answer n requests badly, each for another file."""
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "snakemake", *OPTIONS, "--executor", "local", "--cores", "4", "--until", "fetch"]
    planned = subprocess.run([*command, "-n", "--", *targets], cwd=repo, env=env, text=True, capture_output=True).stdout
    names = sorted({*re.findall(r"output: data/raw/([^/]+)/manifest.json", planned)})
    places = [file.url.split("://")[1] for name in names for file in registry.entry(name).files]
    faults = [
        publishers.Fault(kind, place)
        for kind, place in zip(itertools.cycle(SERVED), moments.sample(places, n), strict=False)
    ]
    with publishers.Server(publishers.read(mirror), faults) as server:
        env["BITEXTBENCH_MIRROR"] = server.address
        subprocess.run([*command, "--", *targets], cwd=repo, env=env, check=True, capture_output=True)
        print(*(f"{kind}: {place}" for place, kind in server.met), sep="\n", flush=True)
        return [Met(kind, 0.0, ()) for _, kind in server.met]


def work(repo: Path, env: dict[str, str], targets: list[str]) -> int:
    """The number of jobs to do."""
    command = [sys.executable, "-m", "snakemake", *OPTIONS, "-n", "--quiet", "rules", "--", *targets]
    said = subprocess.run(command, cwd=repo, env=env, text=True, capture_output=True, check=True).stdout
    return int(re.search(r"^total +(\d+)$", said, re.M)[1])


def injected(run: Run, moments: random.Random, faults: list[tuple[float, str]]) -> Iterator[Met]:
    """Wait for each moment, and do it."""
    for share, kind in faults:
        while run.progress() < share:
            if run.wait(1):
                return
        met = Met(kind, run.progress(), tuple(KINDS[kind](run, moments)))
        print(f"{met.progress:.0%} {kind}: {' '.join(met.hit) or 'no job'}", flush=True)
        yield met


def account(run: Run, met: list[Met]) -> tuple[dict[str, list[float]], list[str]]:
    """Of each kind, the CPU seconds of each job that it cost; jobs that ended badly for no reason of ours."""
    jobs, reason = run.jobs(), {job: one.kind for one in met for job in one.hit}
    last = {held["Comment"]: name for name, held in jobs.items() if held["JobState"] == "COMPLETED"}
    lost: dict[str, list[float]] = defaultdict(list)
    strange = []
    for name, held in jobs.items():
        used = run.used.get(name, [])
        again = used if last.get(held["Comment"]) != name else used[:-1]  # the others were for nothing
        ended_well = held["JobState"] == "COMPLETED"
        if again or not ended_well:
            lost[reason.get(name, "snakemake killed" if ended_well else "?")].append(sum(again))
        if not ended_well and name not in reason:
            strange.append(f"{name} {held['Comment']} {held['JobState']}")
    return lost, strange


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=4, help="at once")
    parser.add_argument("--megabytes", type=int, default=1000, help="of the file system")
    asked = parser.parse_args()
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 2
    folder, moments = asked.folder.absolute(), random.Random(asked.seed)
    whole, faulty = folder / "repo", folder / "faulty"
    if absent := [target for target in asked.targets if not (whole / target).exists()]:
        print(f"{whole}: no {', '.join(absent)}: run tests/rehearsal.py first", file=sys.stderr)
        return 2
    with small_disk(faulty, asked.megabytes):
        return compare(asked, moments, whole, copy_checkout(faulty))


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[None]:
    """A new, empty file system of its own."""
    folder.mkdir(exist_ok=True)
    while subprocess.run(["umount", "-l", folder], capture_output=True).returncode == 0:
        pass
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "faulty", folder], check=True)
    yield  # and stays, to be looked at


def compare(asked: argparse.Namespace, moments: random.Random, whole: Path, repo: Path) -> int:
    """The run with faults; what it says at its end."""
    folder, began = whole.parent, time.monotonic()
    served = asked.faults * len(SERVED) // (len(SERVED) + len(KINDS))
    met = fetch(repo, folder / "mirror", moments, asked.targets, served)
    shutil.rmtree(folder / "slurm-faulty", ignore_errors=True)
    adopt_orphans()
    with Cluster(folder / "slurm-faulty", nodes=3, cpus=10, memory_mb=64000, kills=True) as cluster:
        sparing_sbatch(cluster)
        command = [sys.executable, "-m", "snakemake", *OPTIONS, "--jobs", str(asked.jobs), "--", *asked.targets]
        env = environment(cluster, folder)
        run = Run(repo, cluster, env, command, work(repo, env, asked.targets))
        met += injected(run, moments, plan(moments, asked.faults - served))
        while not run.wait(60):
            pass
        lost, strange = account(run, met)
        submissions = len(run.jobs())
    found, wanted = hashes(repo), hashes(whole)
    differ = sorted(name for name in found if found[name] != wanted.get(name))
    print(f"{time.monotonic() - began:.0f} s, {cpu_seconds():.0f} CPU seconds; {submissions} submissions; ", end="")
    print(f"Snakemake was started {run.starts} times and ended with {run.code}")
    print(f"{'fault':20}{'injected':>10}{'jobs lost':>10}{'CPU seconds lost':>18}")
    for kind in (*SERVED, *KINDS, "?"):
        times = sum(one.kind == kind for one in met)
        if times or lost[kind]:
            print(f"{kind:20}{times:10}{len(lost[kind]):10}{sum(lost[kind]):18.0f}")
    used = sum(map(sum, run.used.values()))
    print(f"{len(met)} faults; {sum(map(sum, lost.values())):.0f} of {used:.0f} CPU seconds of jobs lost")
    print(f"lost for no reason of ours: {', '.join(strange) or 'none'}")
    print(f"{len(differ)} of {len(found)} files differ: {', '.join(differ[:20]) or 'none'}")
    return int(bool(run.code or differ or strange))


def sparing_sbatch(cluster: Cluster) -> None:
    """An sbatch before Slurm's, which gives a job too little memory where it finds a file that says so."""
    sbatch = cluster.folder / "bin" / "sbatch"
    real = shutil.which("sbatch")
    sbatch.write_text(
        f'#!/bin/sh\nif rm "{cluster.folder}/bin/too-small" 2>/dev/null; then set -- "$@" --mem={TOO_SMALL}; fi\nexec {real} "$@"\n'
    )
    sbatch.chmod(0o755)


if __name__ == "__main__":
    os.nice(5)
    sys.exit(main())
