"""A lock for one run at a time. The kernel releases it when the last process of the run ends, in whatever way.

Jobs in Slurm outlive a run that is killed, on machines that know nothing of its lock: the file has their name.
"""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

from bitextbench.base.errors import InputError

POLL = 10.0  # seconds between two looks at Slurm's queue


def take(path: Path, jobs: str = "") -> tuple[int, bool]:
    """Lock a file until this process, and all that inherit the descriptor, have ended; wait while another run holds it,
    and for the jobs that the last one left in Slurm. `jobs`: the name of ours there.

    Returns the descriptor, and whether it had to wait: the other run may have done the planned work. Raises InputError
    where there are such jobs to ask for, and no squeue.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    waited = False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        waited = True
        who = os.pread(lock, 80, 0).decode(errors="replace").strip()
        print(f"{path}: waiting for another run ({who}), or a job that it left, to end", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:  # some network file systems have no locks
        print(f"{path}: {error.strerror}: runs at once are not kept apart", file=sys.stderr, flush=True)
    _, _, left = os.pread(lock, 300, 0).decode(errors="replace").strip().partition("\n")
    waited |= _wait_for_jobs(left, path)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()} on {os.uname().nodename}\n{jobs}\n".encode(), 0)
    return lock, waited


def _wait_for_jobs(name: str, path: Path) -> bool:
    """Wait until no job of this name is in Slurm's queue; whether there was one."""
    said = ""
    while name:
        try:
            asked = subprocess.run(
                ["squeue", "--noheader", "--format=%i", "--name", name], capture_output=True, text=True
            )
        except FileNotFoundError:
            remedy = f"start where squeue is, or remove {path} once they have ended"
            raise InputError(f"its last run left jobs in Slurm ({name})", path, remedy=remedy) from None
        ids = " ".join(asked.stdout.split())
        if asked.returncode == 0 and not ids:
            break
        if ids:
            news = f"{ids} (after scancel {ids} they start again)"
        else:
            why = asked.stderr.strip().rpartition("\n")[2]
            news = f"{why} (if that cluster is no more, remove {path} and start again)"
        if news != said:
            print(f"{path}: a run was killed; waiting for its jobs in Slurm: {news}", file=sys.stderr, flush=True)
        said = news
        time.sleep(POLL)
    return bool(said)
