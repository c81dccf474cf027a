"""A lock for one run at a time. The kernel releases it when the last process of the run ends, in whatever way.

Jobs in Slurm outlive a run that is killed, on machines that know nothing of its lock: the file has their name.

Where the file system has no locks (Lustre without flock), the kernel's lock is on a file of this machine's own folder of
temporary files, and the file in the shared folder says which machine has it until the run ends.
"""

import atexit
import errno
import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bitextbench.base.errors import InputError

POLL = 10.0  # seconds between two looks at Slurm's queue


def take(path: Path, jobs: str = "") -> tuple[int, bool]:
    """Lock a file until this process, and all that inherit the descriptor, have ended.

    It waits while another run holds the lock, and for the jobs that the last run left in Slurm under the name `jobs`.

    Returns the descriptor, and whether it had to wait: the other run may have done the planned work. Raises InputError
    if the last run left jobs and there is no squeue to ask. It also raises it if a run on another machine may still be
    at work and the file system cannot tell.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    record = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    lock = record
    try:
        waited = _lock(record, record, path)
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        _check_other_machines(record, path)
        lock = _local(path)
        waited = _lock(lock, record, path)
        atexit.register(_clear, path, os.getpid())
    _, _, left = os.pread(record, 300, 0).decode(errors="replace").strip().partition("\n")
    waited |= _wait_for_jobs(left, path)
    os.ftruncate(record, 0)
    os.pwrite(record, f"process {os.getpid()} on {os.uname().nodename}\n{jobs}\n".encode(), 0)
    if lock != record:
        os.close(record)
    return lock, waited


NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL)  # of a file system


def _lock(lock: int, record: int, path: Path) -> bool:
    """Lock a descriptor, and wait while another run has it; whether it had to. `record`: says which run."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.pread(record, 80, 0).decode(errors="replace").strip()
        print(f"{path}: waiting for another run ({who}), or a job that it left, to end", file=sys.stderr, flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return True
    return False


def _local(path: Path) -> int:
    """The descriptor of the file of this machine that stands for `path`."""
    name = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:16]
    place = Path(tempfile.gettempdir(), f"bitextbench-{os.getuid()}-{name}.lock")
    return os.open(place, os.O_RDWR | os.O_CREAT, 0o600)


def _check_other_machines(record: int, path: Path) -> None:
    """Raise InputError unless the last run was on this machine, or has ended by itself."""
    who = os.pread(record, 300, 0).decode(errors="replace").partition("\n")[0]
    machine = who.rpartition(" on ")[2]
    if machine not in ("", os.uname().nodename):
        what = f"this file system has no locks, and a run on another machine may be at work ({who})"
        raise InputError(what, path, remedy=f"wait until it has ended; if it was killed, remove {path}")


def _clear(path: Path, process: int) -> None:
    """Say that the run of this process has ended, where no kernel says it."""
    if os.getpid() == process and path.exists():
        os.truncate(path, 0)


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
