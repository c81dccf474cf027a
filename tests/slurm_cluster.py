"""A real one-node Slurm in a folder: munged, slurmctld and slurmd of our own, on free ports, beside any that run."""

import contextlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

DAEMONS = ("munged", "slurmctld", "slurmd")
GPUS = ("/dev/null", "/dev/zero")  # slurmd wants character devices, and opens none

SLURM_CONF = """\
ClusterName=bitextbench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
# containers have no cgroups to give away
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
# finished jobs stay visible to squeue and scontrol as long as the tests last
MinJobAge=86400
SchedulerParameters=batch_sched_delay=0,sched_interval=1
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Why no cluster can be started here, with the remedy; empty where one can."""
    absent = [name for name in (*DAEMONS, "sbatch", "srun", "setpriv") if not shutil.which(name, path=_path())]
    if absent:
        return f"{', '.join(absent)} not found: apt-get install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "slurmd runs as root only (apt-get install slurm-wlm munge, then test as root)"


@contextlib.contextmanager
def one_node_slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Run a cluster whose every file lies in `folder` (new, empty); yield the environment in which sbatch finds it.

    The node has this machine's CPUs and memory (on paper at least 2 and 8 GB: jobs ask for more than they use in the
    tests) and two GPUs that are none: they can be asked for and appear in CUDA_VISIBLE_DEVICES, but compute
    nothing. The daemons die with this process and the ports are free ones, so that the jobs of a killed test, which go
    on to their end, are in nobody's way. Raises RuntimeError with the logs' ends if the cluster does not start.
    """
    host = socket.gethostname().split(".")[0]
    controller_port, node_port = _free_ports(2)
    for name in ("bin", "state", "spool"):
        (folder / name).mkdir()
    (folder / "gres.conf").write_text("".join(f"NodeName={host} Name=gpu File={device}\n" for device in GPUS))
    (folder / "slurm.conf").write_text(
        SLURM_CONF.format(
            host=host,
            folder=folder,
            controller_port=controller_port,
            node_port=node_port,
            cpus=max(2, os.cpu_count() or 2),
            memory_mb=max(8000, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20),
            gpus=len(GPUS),
        )
    )
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))

    # a suite that itself runs inside a Slurm job must not talk to that job's cluster
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "SRUN_"))}
    env |= {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{folder}/bin:{_path()}"}
    # snakemake-executor-plugin-slurm-jobstep calls srun without the SLURM_* variables, SLURM_CONF among them
    srun = folder / "bin" / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun", path=_path())} "$@"\n')
    srun.chmod(0o755)
    munge_files = [f"--{name}={folder}/munge.{name.split('-')[0]}" for name in ("socket", "key-file", "pid-file")]
    # --force: pytest's folders are closed to other users, which munged otherwise takes for a mistake
    munged = ["munged", "--foreground", "--force", *munge_files]
    munged += [f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"]
    with contextlib.ExitStack() as daemons:
        daemons.enter_context(_daemon(munged, folder, env))
        _wait_for(lambda: (folder / "munge.socket").exists(), "munged's socket", folder)
        daemons.enter_context(_daemon(["slurmctld", "-D"], folder, env))
        daemons.enter_context(_daemon(["slurmd", "-D"], folder, env))
        _wait_for(lambda: _ask(env, "sinfo", "-h", "-o", "%T").strip() == "idle", "an idle node", folder)
        try:
            yield env
        finally:
            # job steps outlive slurmd: end them while somebody can
            _ask(env, "scancel", "--full", "--user=root")
            _wait_for(lambda: not _ask(env, "squeue", "-h").strip(), "an empty queue", folder)


class Job(NamedTuple):
    """A job as slurmctld remembers it, with what it held (not only asked for)."""

    rule: str
    state: str  # COMPLETED, FAILED, ...
    cpus: int
    memory_mb: float
    gpus: int
    minutes: int  # its time limit


def jobs(env: dict[str, str]) -> list[Job]:
    """Every job that Snakemake ever sent to the cluster, in the order of submission."""
    found = []
    for line in _ask(env, "scontrol", "--details", "--oneliner", "show", "jobs").splitlines():
        fields = dict(re.findall(r"(?:^|\s)(\w+)=(\S*)", line))
        if not fields.get("Comment", "").startswith("rule_"):
            continue
        held = fields.get("AllocTRES") or fields["TRES"]  # its name from Slurm 23.11 on, and before
        tres = dict(item.split("=", 1) for item in held.split(","))
        gpus = re.search(r"gpu:(?:\w+:)?(\d+)", fields["JOB_GRES"])
        found.append(
            Job(
                rule=fields["Comment"].removeprefix("rule_").split("_wildcards_")[0],
                state=fields["JobState"],
                cpus=int(tres["cpu"]),
                memory_mb=float(tres["mem"][:-1]) * {"M": 1, "G": 1024}[tres["mem"][-1]],
                gpus=int(gpus[1]) if gpus else 0,
                minutes=_minutes(fields["TimeLimit"]),
            )
        )
    return found


def _minutes(limit: str) -> int:
    """Minutes of Slurm's [days-]hours:minutes:seconds."""
    days, _, clock = limit.rpartition("-")
    hours, minutes, _ = clock.split(":")
    return int(days or 0) * 1440 + int(hours) * 60 + int(minutes)


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _free_ports(n: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [s.getsockname()[1] for s in sockets]


@contextlib.contextmanager
def _daemon(command: list[str], folder: Path, env: dict[str, str]) -> Iterator[None]:
    with open(folder / f"{command[0]}.log", "a") as log:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *command], env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ask(env: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout


def _wait_for(condition: Callable[[], bool], what: str, folder: Path, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            logs = "\n".join(f"--- {log.name}\n{log.read_text()[-2000:]}" for log in sorted(folder.glob("*.log")))
            raise RuntimeError(f"Slurm: waited {seconds:.0f} s for {what}\n{logs}")
        time.sleep(0.1)
