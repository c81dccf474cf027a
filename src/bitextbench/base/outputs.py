"""Outputs: written in a scratch folder next to their place and then renamed, so that a place holds the old or the new.

A scratch folder is `.<name>.<8 characters>.part`, with a file `lock` that its process holds. The kernel releases the
lock when that process ends, in whatever way: the next scratch folder in the same place removes those that nobody holds.
So a name belongs to one process, and two runs that write one output do not meet; the last one stays. Where a file
system has no locks, nothing of others is removed.
"""

import contextlib
import errno
import fcntl
import itertools
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bitextbench.base import sums
from bitextbench.base.errors import InputError

LOCK = "lock"
PART = ".part"
LONGEST = 255  # bytes of a name


@contextlib.contextmanager
def scratch(place: Path | None = None) -> Iterator[Path]:
    """A new folder next to `place`, or among temporary files, that is removed at the end.

    What killed processes left there is removed first.
    """
    folder, name = (place.parent, place.name) if place else (Path(tempfile.gettempdir()), "bitextbench")
    folder.mkdir(parents=True, exist_ok=True)
    for left in [*folder.glob(f".*{PART}")]:
        _remove_left(left)
    made, lock = _new(folder, name)
    try:
        yield made
    finally:
        try:
            shutil.rmtree(made, ignore_errors=True)  # another process may be removing the same, once the lock is gone
        except BaseException:  # of a signal, which leaves something
            shutil.rmtree(made, ignore_errors=True)
            raise
        finally:
            os.close(lock)


def _new(folder: Path, name: str) -> tuple[Path, int]:
    """A new scratch folder, and the descriptor that holds its lock."""
    prefix = f".{name}." if len(os.fsencode(name)) < LONGEST - 16 else "."
    while True:
        made = Path(tempfile.mkdtemp(PART, prefix, folder))
        if (lock := _hold(made, new=True)) is not None:  # else another process has just removed it
            return made, lock


def _remove_left(folder: Path) -> None:
    """Remove a scratch folder of ours that no process holds."""
    with contextlib.suppress(OSError):  # it has gone in the meantime, or is not ours to remove
        if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.geteuid():
            return
        if (lock := _hold(folder, new=False)) is not None:
            try:
                remove(folder)
            finally:
                os.close(lock)


def _hold(folder: Path, *, new: bool) -> int | None:
    """Lock a scratch folder until the descriptor is closed; None where another process has it, or has removed it."""
    path = folder / LOCK
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        held = new and error.errno != errno.EWOULDBLOCK  # some network file systems have no locks
    else:
        held = path.exists() and os.path.samestat(os.fstat(lock), path.stat())
    if held:
        return lock
    os.close(lock)
    return None


def check_mark(path: Path, mark: str) -> None:
    """Raises InputError for a folder that has files, but not `mark`: it is not one that was written here, to be replaced."""
    if path.is_dir() and any(path.iterdir()) and not (path / mark).exists():
        raise InputError("is a folder with other files, which would be lost", path, remedy="name a new folder")


@contextlib.contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """A temporary path next to `path`, for a file or a folder; it takes the place of `path` when the block ends well.

    Raises InputError where a folder is to take the place of a file, a file that of a folder, or either that of a
    device.

    When the block raises, `path` stays as it was and nothing else is left behind.
    """
    path = Path(path)
    if path.name in ("", ".."):
        raise InputError("cannot be the name of an output", path, remedy="give the output a name of its own")
    _check_place(path)
    try:
        with scratch(path) as folder:
            part = folder / (f".{path.name}{PART}" if len(os.fsencode(path.name)) < LONGEST - 8 else PART)
            yield part
            _put(part, path)
    except OSError as error:
        if error.filename is None or PART in str(error.filename):  # as of a full disk: `main` names the file
            error.filename, error.filename2 = str(path), None
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text to a file, as UTF-8, atomically."""
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")


def _put(part: Path, path: Path) -> None:
    """Rename a file or folder to its place, with the sum of a file where it has one (`sums.seal`)."""
    for number in itertools.count():
        made = "folder" if part.is_dir() else "file"
        here = "folder" if path.is_dir() else "file" if path.is_file() else made
        if here != made:
            raise InputError(f"is a {here}, but the output is a {made}", path, remedy="give another name")
        if made == "folder":  # it can take the place of an empty folder only
            with contextlib.suppress(FileNotFoundError):
                os.replace(path, part.with_name(f"old.{number}"))
        else:
            sums.place(path).unlink(missing_ok=True)  # of what was there
        try:
            os.replace(part, path)
            if sums.place(part).exists():
                os.replace(sums.place(part), sums.place(path))
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):  # another run has just put its own there
                raise


def _check_place(path: Path) -> None:
    """Raises InputError for devices and pipes, as /dev/stdout, which a file would take the place of."""
    mode = 0
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        mode = path.stat().st_mode  # looked at once: another process may put its own here in between
    if path.absolute().parent == Path("/dev") or (mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)):
        raise InputError("is not a regular file", path, remedy="name a file")


def check_output(path: Path, kind: str = "file") -> None:
    """Raises InputError where a file, a `folder`, or `either` cannot be written at this place: before long work begins."""
    try:
        if path.is_dir() and kind == "file":
            raise InputError("is a folder", path, remedy="name a file")
        if path.is_file() and kind == "folder":
            raise InputError("is a file", path, remedy="name a folder")
        _check_place(path)
        there = next(folder for folder in path.absolute().parents if folder.exists())  # `atomic` makes those below it
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        why = "a part of this path is a file" if isinstance(error, NotADirectoryError) else error.strerror
        raise InputError(f"cannot be written ({why})", path, remedy="name another place") from None


def check_distinct(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raises InputError for an output that is an input, or another output, or a folder that one of them is in."""
    written: list[tuple[Path, Path]] = []
    read = [(path, Path(os.path.realpath(path))) for path in inputs]
    for path in outputs:
        place = Path(os.path.realpath(path))
        for what, others in (("an input", read), ("another output", written)):
            for other, there in others:
                if place == there or place in there.parents or (what != "an input" and there in place.parents):
                    holds = "is" if place == there else "holds" if place in there.parents else "is in"
                    raise InputError(f"{holds} {what}, {other}", path, remedy="give the output a name of its own")
        written.append((path, place))


def remove(path: Path) -> None:
    """Remove a file or folder that may not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """What torch's zip writer raises where a file cannot be written, as the error of the system that it was.

    A signal during the write ends in the writer's error, too; it is raised as what it was, SystemExit say.
    """
    try:
        yield
    except RuntimeError as error:
        if not any(word in str(error) for word in ("inline_container", "PytorchStreamWriter", "unexpected pos")):
            raise
        causes = [*_before(error)]
        for cause in causes:
            if not isinstance(cause, Exception):  # a signal came while the file was written
                raise cause from None
        number = next((cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno), errno.ENOSPC)
        raise OSError(number, os.strerror(number), str(path)) from None


def _before(error: BaseException) -> Iterator[BaseException]:
    """The errors that were being handled when this one was raised, the last first."""
    while (cause := error.__context__) is not None:
        yield cause
        error = cause
