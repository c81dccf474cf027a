"""A lock for one run at a time. The kernel releases it when the last process of the run ends, in whatever way."""

import fcntl
import os
import sys
from pathlib import Path


def take(path: Path) -> tuple[int, bool]:
    """Lock a file until this process, and all that inherit the descriptor, have ended; wait while another run holds it.

    Returns the descriptor, and whether it had to wait: the other run may have done the planned work.
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
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)
    return lock, waited
