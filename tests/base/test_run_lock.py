"""A lock for one run at a time, on file systems with and without locks."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from bitextbench.base import run_lock
from bitextbench.base.errors import InputError


@pytest.fixture
def without_locks(tmp_path, monkeypatch):
    """A shared file system that has no locks, beside one of this machine that has."""
    shared, local = tmp_path / "shared", tmp_path / "local"
    local.mkdir()
    kernels = fcntl.flock

    def flock(descriptor, operation):
        if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(shared)):
            raise OSError(errno.ENOSYS, "Function not implemented")
        kernels(descriptor, operation)

    monkeypatch.setattr(run_lock.fcntl, "flock", flock)
    monkeypatch.setattr(run_lock.tempfile, "gettempdir", lambda: str(local))
    return shared / "work/paper.lock"


def test_without_locks_of_the_file_system_runs_of_one_machine_wait_for_each_other(without_locks):
    lock, waited = run_lock.take(without_locks)
    assert not waited
    (held,) = (without_locks.parents[2] / "local").iterdir()
    tried = subprocess.run(["flock", "-n", held, "true"])
    assert tried.returncode != 0  # the kernel has it
    os.close(lock)
    assert subprocess.run(["flock", "-n", held, "true"]).returncode == 0
    lock, waited = run_lock.take(without_locks)  # the record of a killed run of this machine is no lock
    os.close(lock)
    assert not waited


def test_without_locks_of_the_file_system_a_run_of_another_machine_is_not_passed_over(without_locks):
    without_locks.parent.mkdir(parents=True)
    without_locks.write_text("process 7 on login2\n\n")
    with pytest.raises(InputError, match=r"may be at work \(process 7 on login2\); .*remove "):
        run_lock.take(without_locks)
    without_locks.write_text("")  # it has ended
    os.close(run_lock.take(without_locks)[0])


def test_without_locks_the_end_of_a_run_is_written_down(tmp_path):
    take = (
        "import errno, os\n"
        "from pathlib import Path\n"
        "from bitextbench.base import run_lock\n"
        "path, kernels = Path('shared/run.lock').absolute(), run_lock.fcntl.flock\n"
        "def flock(descriptor, operation):\n"
        "    if os.readlink(f'/proc/self/fd/{descriptor}') == str(path):\n"
        "        raise OSError(errno.EOPNOTSUPP, 'Operation not supported')\n"
        "    kernels(descriptor, operation)\n"
        "run_lock.fcntl.flock = flock\n"
        "run_lock.take(path)\n"
        "print(path.read_text().split()[0])\n"
    )
    run = subprocess.run([sys.executable, "-c", take], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout == "process\n"
    assert (tmp_path / "shared/run.lock").read_text() == ""


def test_another_error_of_the_file_system_is_not_taken_for_that(tmp_path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(run_lock.fcntl, "flock", flock)
    with pytest.raises(OSError, match="Input/output"):
        run_lock.take(tmp_path / "run.lock")
