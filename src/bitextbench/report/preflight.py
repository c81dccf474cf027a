"""What a run will need and does not find, before a job is queued: partition, GPU, environment, disk, quota, mirror."""

import os
import re
import shlex
import shutil
import socket
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bitextbench.base.errors import InputError
from bitextbench.base.files import read_text
from bitextbench.base.json_yaml import read_yaml
from bitextbench.base.progress import count_of
from bitextbench.base.versions import installed
from bitextbench.config import Config
from bitextbench.config.overlays import read
from bitextbench.data import registry
from bitextbench.data.fetch import mirror_places
from bitextbench.report.plan import Job, JobCost, gpu_memory
from bitextbench.report.run_configuration import of_run

SLURM_ASKED = ("slurm_partition", "slurm_account", "gpu_model", "gres", "constraint", "qos", "nodes")
WAIT = 5.0  # seconds for a publisher's server to answer
CONDA = (24, 7, 1)  # the first that Snakemake takes
USABLE = 7 / 8  # of a GPU's memory: libraries and fragments take the rest


class Checked(NamedTuple):
    """What was looked at, what was found, and the remedy; "" where nothing is missing."""

    what: str
    found: str
    remedy: str = ""


class Request(NamedTuple):
    """What a submission asks Slurm for; a group's jobs run in turn."""

    resources: tuple[tuple[str, Any], ...]
    threads: int


def profile(names: Sequence[str]) -> dict[str, Any]:
    """The settings of profiles, the later over the earlier, found as Snakemake finds them."""
    settings: dict[str, Any] = {}
    places = (Path(), Path.home() / ".config/snakemake", Path("/etc/xdg/snakemake"))
    for name in names:
        found = next((path for place in places if (path := place / name / "config.yaml").exists()), None)
        if not found:
            raise InputError(
                "no such profile", name, remedy="call this in the repository, or give a folder with a config.yaml"
            )
        settings |= read_yaml(found) or {}
    return settings


def configuration(overlays: Sequence[Path], profiles: Sequence[str]) -> Config:
    """That of a run: config.yaml under overlays, or without any under those that the profiles name."""
    settings = profile(profiles)
    named = settings.get("configfile", settings.get("configfiles", []))
    return of_run(read(["config.yaml"], overlays or ([named] if isinstance(named, str) else named)))[0]


def deploys(settings: Mapping[str, Any]) -> bool:
    """Whether a profile has environments of conda."""
    by = settings.get("sdm") or settings.get("software-deployment-method") or []
    return "conda" in ([by] if isinstance(by, str) else by)


def requests(jobs: Iterable[Job]) -> dict[Request, list[Job]]:
    """The requests of a plan, and the jobs of each."""
    submissions = defaultdict(list)
    for job in jobs:
        submissions[job.group].append(job)
    found: dict[Request, list[Job]] = defaultdict(list)
    for together in submissions.values():
        needs = {key: value for key in SLURM_ASKED if (value := together[0].resources.get(key))}
        for key, value in (("gpu", max(job.gpus for job in together)), ("mem_mb", max(job.memory for job in together))):
            needs |= {key: value} if value else {}
        if (seconds := sum(job.limit for job in together)) < float("inf"):
            needs["runtime"] = int(seconds / 60)
        found[Request(tuple(sorted(needs.items())), max(job.cores for job in together))] += together
    return found


def sent(jobs: Iterable[Job], snakefile: Path) -> list[Job]:
    """The jobs that go into the queue: those of no rule under `localrules` of the Snakefile."""
    named = re.search(r"^localrules:\n((?: +\w+,\n)+)", read_text(snakefile), flags=re.M)
    local = set(re.findall(r"\w+", named[1])) if named else set()
    return [job for job in jobs if job.rule not in local]


def slurm(jobs: Iterable[Job], partitions: Path | None) -> Iterator[Checked]:
    """Whether Slurm would take each request: its own `sbatch --test-only` says it."""
    from bitextbench.base.snakemake_internals import sbatch

    if not shutil.which("sbatch"):
        yield Checked("Slurm", "no sbatch on PATH", "start on the cluster's login node, or load its module")
        return
    answer = _run("sinfo", "--noheader", "--format=%P %l")
    if answer.returncode:
        yield Checked("Slurm", _last(answer.stderr), "ask where its configuration is")
        return
    if partitions and not partitions.exists():
        yield Checked("partitions", f"{partitions} is not there", "mend slurm-partition-config in the profile")
        return
    asked, longest = requests(jobs), _longest(answer.stdout)
    refused: dict[str, set[str]] = defaultdict(set)
    for request, held in asked.items():
        command = sbatch(dict(request.resources), request.threads, partitions)
        rules = {f"{job.rule} ({_shown(command)})" for job in held}
        if partitions and " -p " not in command:
            gpus = ", with max_gpu," if dict(request.resources).get("gpu") else ""
            refused[f"no partition of {partitions}{gpus} is large enough"] |= rules
            continue
        partition = named[1] if (named := re.search(r" -p (\S+)", command)) else ""
        most = longest.get(partition, float("inf"))
        if dict(request.resources).get("runtime", 0) > most:  # Slurm would let it wait for ever
            refused[f"partition {partition or 'by default'} has a time limit of {most} minutes"] |= rules
            continue
        done = _run(*shlex.split(command), "--test-only", "--wrap", "true")
        if done.returncode:
            refused[_last(done.stderr)] |= rules
    for why, rules in refused.items():
        yield Checked(
            "Slurm", f"{why}: {', '.join(sorted(rules))}", "mend the places in the profile, or its max_runtime"
        )
    if not refused:
        yield Checked("Slurm", f"takes all {len(asked)} kinds of request")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def _longest(said: str) -> dict[str, int]:
    """The time limits of partitions in minutes, where there are any, of `sinfo`; "" is the default partition."""
    found = {}
    for line in said.splitlines():
        name, limit = line.split()
        if limit != "infinite":
            days, _, clock = limit.rpartition("-")
            hours, minutes, _ = (int(part) for part in f"0:0:{clock}".split(":")[-3:])
            found[name.rstrip("*")] = (24 * int(days or 0) + hours) * 60 + minutes
            found |= {"": found[name.rstrip("*")]} if name.endswith("*") else {}
    return found


def _shown(command: str) -> str:
    """What a command of sbatch asks for."""
    return " ".join(re.findall(r"(?<= )(?:-[ptAC] \S+|--(?:mem|gpus|gres|cpus-per-task)[ =]\S+)", command))


def _last(said: str) -> str:
    lines = said.strip().splitlines()
    return lines[-1].removeprefix("sbatch: ").removeprefix("error: ") if lines else "says nothing"


def environment(jobs: Iterable[Job], settings: Mapping[str, Any], lock: Path) -> Iterator[Checked]:
    """Whether jobs will find their packages: conda where the profile says so, or else this environment against its lock."""
    if deploys(settings):
        yield _conda()
        return
    pins = re.findall(r"^([\w.-]+)==([^\s\\]+)", read_text(lock), flags=re.M)
    wrong = [f"{name} {found or 'is missing'}" for name, wanted in pins if (found := installed(name)) != wanted]
    remedy = "make env, or the profile with conda (profiles/slurm-conda)" if wrong else ""
    yield Checked("packages", ", ".join(wrong[:5]) if wrong else f"all {len(pins)} of {lock}", remedy)
    gpus = sorted({job.rule for job in jobs if job.gpus})
    if gpus and "+cpu" in (installed("torch") or "+cpu"):
        remedy = "pip install --no-deps --require-hashes -r envs/lock/cuda.txt in this environment"
        yield Checked("torch", f"{installed('torch')} has no CUDA, and these ask for GPUs: {', '.join(gpus)}", remedy)


def _conda() -> Checked:
    if not shutil.which("conda"):
        return Checked("conda", "not on PATH", "load its module, or leave profiles/slurm-conda out")
    said = _run("conda", "--version").stdout
    numbers = tuple(map(int, re.findall(r"\d+", said)[:3]))
    needed = ".".join(map(str, CONDA))
    return Checked("conda", said.strip() or "does not answer", "" if numbers >= CONDA else f"Snakemake needs {needed}")


def gpus(jobs: Iterable[Job], memory: int) -> Iterator[Checked]:
    """Whether each training fits a GPU of `memory` GiB, by the peaks that `step updates` found at the sizes of config.yaml."""
    peaks = {name: peak for job in jobs if (peak := gpu_memory(job)) for name in job.wildcards.values()}
    large = [f"{name} ({peak} GiB)" for name, peak in peaks.items() if peak > USABLE * memory]
    if large:
        remedy = "name a larger gpu_model for train_encoder and train_rescorer in the profile's set-resources"
        yield Checked("GPU memory", f"{memory} GiB are too few for {', '.join(sorted(large))}", remedy)
    elif peaks:
        yield Checked("GPU memory", f"each training fits {memory} GiB; the largest peak is {max(peaks.values())} GiB")


def disk(jobs: Iterable[Job], costs: Mapping[Job, JobCost], data: Path) -> Iterator[Checked]:
    """Whether what the jobs write fits, on each file system, and into its quota."""
    needed: dict[int, list[float]] = defaultdict(list)
    place: dict[int, Path] = {}
    for job in jobs:
        folder = next(one for one in (data if job.rule == "fetch" else Path("work"), Path()) if one.exists())
        device = folder.stat().st_dev
        place[device] = folder
        needed[device].append(costs[job].disk)
    for device, sizes in needed.items():
        free, asked = shutil.disk_usage(place[device]).free / 1e9, sum(sizes) / 1e3
        remedy = "free some, or move the checkout" if asked > free else ""
        yield Checked("disk", f"{place[device].resolve()}: {asked:,.0f} GB needed, {free:,.0f} GB free", remedy)
        yield _quota(place[device], asked)


def _quota(folder: Path, asked: float) -> Checked:
    """The user's quota on the file system of a folder, as `quota` says it; `asked` in GB."""
    if not shutil.which("quota"):
        return Checked("quota", f"{folder.resolve()}: no `quota` here to ask; see your centre's command")
    done = _run("quota", "-w", "-f", str(folder))
    rows = [
        re.findall(r"(\d+)\*?", line.split(maxsplit=1)[1])[:3] for line in done.stdout.splitlines()[2:] if " " in line
    ]
    limits = [(int(row[0]), int(row[1]) or int(row[2])) for row in rows if len(row) == 3 and any(map(int, row[1:]))]
    if not limits:
        return Checked("quota", f"{folder.resolve()}: none")
    left = min(limit - used for used, limit in limits) / 1e6  # of 1,024 bytes
    remedy = "ask for more, or move the checkout" if asked > left else ""
    return Checked("quota", f"{folder.resolve()}: {asked:,.0f} GB needed, {left:,.0f} GB left", remedy)


def downloads(jobs: Iterable[Job], mirrors: Sequence[str]) -> Iterator[Checked]:
    """Whether files that are to be fetched are in a mirror, or their servers can be reached from here."""
    try:
        places = mirror_places(mirrors)
    except InputError as error:
        yield Checked("mirror", str(error), "make it, or leave it out")
        return
    files = [file for job in jobs if job.rule == "fetch" for file in registry.entry(job.wildcards["dataset"]).files]
    if not files:
        yield Checked("downloads", "all are there")
        return
    folders = [place for place in places if isinstance(place, Path)]
    absent = [file for file in files if not any((place / file.url.partition("://")[2]).is_file() for place in folders)]
    yield Checked(
        "mirror", f"has {len(files) - len(absent):,} of {count_of(len(files), 'file')}" if folders else "none is named"
    )
    servers = [place for place in places if isinstance(place, str)]
    hosts = {urlsplit(address).netloc for address in servers or [file.url for file in absent]} if absent else set()
    if silent := sorted(host for host in hosts if not _answers(host)):
        remedy = "fetch where the internet is, or name a mirror in BITEXTBENCH_MIRROR"
        yield Checked("network", f"no answer from {', '.join(silent)}", remedy)
    elif hosts:
        yield Checked("network", count_of(len(hosts), "server answers", "servers answer"))


def _answers(host: str) -> bool:
    name, _, port = host.partition(":")
    if proxy := os.environ.get("https_proxy") or os.environ.get("http_proxy"):
        name, port = urlsplit(proxy).hostname or name, str(urlsplit(proxy).port or 80)
    try:
        with socket.create_connection((name, int(port or 443)), timeout=WAIT):
            return True
    except OSError:
        return False


def render(findings: Iterable[Checked]) -> str:
    """A line for each; what is missing first."""
    ordered = sorted(findings, key=lambda one: not one.remedy)
    lines = [
        f"{'MISSING' if one.remedy else 'ok':8}{one.what}: {one.found}" + (f"; {one.remedy}" if one.remedy else "")
        for one in ordered
    ]
    return "\n".join(lines) + "\n"
