"""One run at a time: a lock that the kernel takes off when the last process of a run has ended, however it ended."""

import fcntl
import os
import sys
from pathlib import Path


def take(path: Path) -> tuple[int, bool]:
    """Lock a file for as long as this process, or one that inherits the descriptor, lives; wait while another run holds it.

    Returns the descriptor, and whether it had to wait: what was planned may be done by then.
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
