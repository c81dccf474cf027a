"""A real Slurm in a folder: munged, slurmctld and a slurmd for each node, on free ports, beside any that run.

    python tests/slurm_cluster.py FOLDER --nodes 3 -- COMMAND...    # run a command in the environment of a new cluster

All nodes are this machine: the shared file system is its own. A node can be killed and set down alone (`Cluster`).
"""

import argparse
import contextlib
import ctypes
import os
import re
import resource
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

DAEMONS = ("munged", "slurmctld", "slurmd")
GPUS = ("/dev/null", "/dev/zero")  # slurmd wants character devices, and opens none

SLURM_CONF = """\
ClusterName=bitextbench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
# containers have no cgroups to give away
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType={gather}
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
# finished jobs stay visible to squeue and scontrol as long as the tests last
MinJobAge=86400
SchedulerParameters=batch_sched_delay=0,sched_interval=1
KillWait=2
{nodes}
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
    """Run a cluster of one node with two GPUs whose every file lies in `folder` (new, empty); yield the environment in
    which sbatch finds it. Raises RuntimeError with the logs' ends if the cluster does not start.
    """
    with Cluster(folder) as cluster:
        yield cluster.env


class Cluster:
    """A cluster whose every file lies in `folder` (new, empty), as a context; the first of its nodes has the GPUs.

    A node has this machine's CPUs and memory (on paper at least `cpus` and `memory_mb`: jobs ask for more than they use
    in the tests), the first has two GPUs that are none: they can be asked for and appear in CUDA_VISIBLE_DEVICES, but
    compute nothing. `kills`: jobs over their memory are killed. The daemons die with this process and the ports are
    free ones, so that the jobs of a killed test, which go on to their end, are in nobody's way.
    """

    def __init__(self, folder: Path, nodes: int = 1, cpus: int = 2, memory_mb: int = 8000, kills: bool = False) -> None:
        self.folder, self.nodes = folder, [f"n{number}" for number in range(1, nodes + 1)]
        self.env = self._environment()
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("bin", "state", *(f"spool/{node}" for node in self.nodes)):
            (folder / name).mkdir(parents=True)
        gpus = "".join(f"NodeName={self.nodes[0]} Name=gpu File={device}\n" for device in GPUS)
        (folder / "gres.conf").write_text(gpus)
        (folder / "slurm.conf").write_text(self._configuration(cpus, memory_mb, kills))
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        # snakemake-executor-plugin-slurm-jobstep calls srun without the SLURM_* variables, SLURM_CONF among them
        srun = folder / "bin" / "srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {shutil.which("srun", path=_path())} "$@"\n')
        srun.chmod(0o755)
        # a slurmctld of a busy machine may take longer to say it than the executor plugin waits, which then asks sacct, in vain
        scontrol = folder / "bin" / "scontrol"
        real = shutil.which("scontrol", path=_path())
        said = f'[ "$*" = "show config" ] && exec grep MinJobAge {folder}/slurm.conf'
        scontrol.write_text(f'#!/bin/sh\n{said}\nexec {real} "$@"\n')
        scontrol.chmod(0o755)

    def _environment(self) -> dict[str, str]:
        # a suite that itself runs inside a Slurm job must not talk to that job's cluster
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_", "SRUN_"))}
        return env | {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": f"{self.folder}/bin:{_path()}"}

    def _configuration(self, cpus: int, memory_mb: int, kills: bool) -> str:
        host = socket.gethostname().split(".")[0]
        controller_port, *ports = _free_ports(1 + len(self.nodes))
        size = f"CPUs={max(cpus, os.cpu_count() or 2)} RealMemory={max(memory_mb, _memory_mb())}"
        nodes = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {size}"
            f"{f' Gres=gpu:{len(GPUS)}' if node == self.nodes[0] else ''} State=UNKNOWN"
            for node, port in zip(self.nodes, ports, strict=True)
        ]
        gather = "jobacct_gather/linux\nJobAcctGatherParams=OverMemoryKill\nJobAcctGatherFrequency=2" if kills else ""
        return SLURM_CONF.format(
            host=host,
            folder=self.folder,
            controller_port=controller_port,
            gather=gather or "jobacct_gather/none",
            nodes="\n".join(nodes),
        )

    def __enter__(self) -> "Cluster":
        munge_files = [
            f"--{name}={self.folder}/munge.{name.split('-')[0]}" for name in ("socket", "key-file", "pid-file")
        ]
        # --force: pytest's folders are closed to other users, which munged otherwise takes for a mistake
        munged = ["munged", "--foreground", "--force", *munge_files]
        try:
            self._start(
                "munged", *munged, f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed"
            )
            _wait_for(lambda: (self.folder / "munge.socket").exists(), "munged's socket", self.folder)
            self.start("slurmctld")
            for node in self.nodes:
                self.start(node)
            _wait_for(lambda: self.states() == ["idle"] * len(self.nodes), "idle nodes", self.folder)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            # job steps outlive slurmd: end them while somebody can
            _ask(self.env, "scancel", "--full", "--user=root")
            _wait_for(lambda: not _ask(self.env, "squeue", "-h").strip(), "an empty queue", self.folder)
        finally:
            self._stop()

    def states(self) -> list[str]:
        """The states of the nodes."""
        return _ask(self.env, "sinfo", "-h", "-N", "-o", "%T").split()

    def start(self, name: str) -> None:
        """Start slurmctld, or the slurmd of a node."""
        self._start(name, *(["slurmctld", "-D"] if name == "slurmctld" else ["slurmd", "-D", "-N", name]))

    def _start(self, name: str, *command: str) -> None:
        with open(self.folder / f"{name}.log", "a") as log:
            self.daemons[name] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *command],
                env=self.env,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def kill(self, name: str) -> None:
        """End a daemon at once, as a machine that loses its power does."""
        process = self.daemons.pop(name)
        process.kill()
        process.wait()

    def crash(self, node: str) -> None:
        """A node goes with all that runs on it. Needs `adopt_orphans`: the steps on it are told by their parent, us."""
        there = set(_ask(self.env, "squeue", "-h", "-w", node, "-o", "%i").split())
        self.kill(node)
        for stepd in psutil.Process().children():
            if re.match(rf"slurmstepd: \[({'|'.join(there) or 'none'})\.", " ".join(_command(stepd))):
                for process in [stepd, *stepd.children(recursive=True)]:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.send_signal(signal.SIGKILL)
        _ask(self.env, "scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=crash")

    def restore(self, node: str) -> None:
        """A node that crashed comes back."""
        self.start(node)
        _ask(self.env, "scontrol", "update", f"NodeName={node}", "State=RESUME")

    def _stop(self) -> None:
        for process in reversed(self.daemons.values()):
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Job(NamedTuple):
    """A job as slurmctld remembers it, with what it held (not only asked for)."""

    rule: str
    state: str  # COMPLETED, FAILED, ...
    cpus: int
    memory_mb: float
    gpus: int
    minutes: int  # its time limit


def records(env: dict[str, str]) -> Iterator[dict[str, str]]:
    """What slurmctld says of every job that Snakemake ever sent, by its own keys, and `rule`: of a group, the rule that
    it is called after.
    """
    for line in _ask(env, "scontrol", "--details", "--oneliner", "show", "jobs").splitlines():
        fields = dict(re.findall(r"(?:^|\s)(\w+)=(\S*)", line))
        if named := re.match(r"(?:rule|group)_(\w+?)(?:_wildcards_|\.|$)", fields.get("Comment", "")):
            yield fields | {"rule": named[1]}


def jobs(env: dict[str, str]) -> list[Job]:
    """Every job that Snakemake ever sent to the cluster, in the order of submission."""
    found = []
    for fields in records(env):
        held = fields.get("AllocTRES") or fields["TRES"]  # its name from Slurm 23.11 on, and before
        tres = dict(item.split("=", 1) for item in held.split(","))
        gpus = re.search(r"gpu:(?:\w+:)?(\d+)", fields.get("JOB_GRES", ""))  # none before the job starts
        found.append(
            Job(
                rule=fields["rule"],
                state=fields["JobState"],
                cpus=int(tres["cpu"]),
                memory_mb=float(tres["mem"][:-1]) * {"M": 1, "G": 1024}[tres["mem"][-1]],
                gpus=int(gpus[1]) if gpus else 0,
                minutes=_minutes(fields["TimeLimit"]),
            )
        )
    return found


def adopt_orphans() -> None:
    """Make this process the parent of daemons' orphans: `cpu_seconds` then counts them, and `Cluster.crash` finds them."""
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1)


def cpu_seconds() -> float:
    """Of all processes that this one has started and that have ended, and of those that they started."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _minutes(limit: str) -> int:
    """Minutes of Slurm's [days-]hours:minutes:seconds."""
    days, _, clock = limit.rpartition("-")
    hours, minutes, _ = clock.split(":")
    return int(days or 0) * 1440 + int(hours) * 60 + int(minutes)


def _memory_mb() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _free_ports(n: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [s.getsockname()[1] for s in sockets]


def _ask(env: dict[str, str], *command: str) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60).stdout


def _wait_for(condition: Callable[[], bool], what: str, folder: Path, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            logs = "\n".join(f"--- {log.name}\n{log.read_text()[-2000:]}" for log in sorted(folder.glob("*.log")))
            raise RuntimeError(f"Slurm: waited {seconds:.0f} s for {what}\n{logs}")
        time.sleep(0.1)


def main() -> None:
    """Run a command in the environment of a new cluster."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path, help="new or empty")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=10, help="of a node, on paper")
    parser.add_argument("--memory-mb", type=int, default=64000, help="of a node, on paper")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    if reason := why_not():
        sys.exit(reason)
    asked.folder.mkdir(parents=True, exist_ok=True)
    with Cluster(asked.folder.absolute(), asked.nodes, asked.cpus, asked.memory_mb, kills=True) as cluster:
        sys.exit(subprocess.run(asked.command, env=cluster.env).returncode)


if __name__ == "__main__":
    main()
