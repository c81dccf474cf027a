"""Standard streams, and inputs that can be read once: `-`, pipes, process substitution.

What is read twice is copied first: all such inputs at the same time, as one program may write several of them in turn.
"""

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, NoReturn

from bitextbench.base.errors import InputError
from bitextbench.base.outputs import atomic, scratch
from bitextbench.base.packed import BLOCK, Readable, open_bytes, unpacked_by_magic

STDIN = Path("standard input")  # for messages
DASH = "-"  # the name of a standard stream
PIPE = 141  # the exit code of a program whose reader has gone: 128 + SIGPIPE


def is_dash(path: str | Path) -> bool:
    """Whether a path names a standard stream."""
    return str(path) == DASH


def shown(path: Path, *, output: bool = False) -> str:
    """The name of an input, or of an output, in messages."""
    return str(path) if not is_dash(path) else "standard output" if output else str(STDIN)


class Unsized(Readable):
    """A stream of bytes whose size is what was read of it; it stays open."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.size = stream, 0

    def some(self, count: int) -> bytes:
        data = self.stream.read1(count) if hasattr(self.stream, "read1") else self.stream.read(count)
        self.size += len(data)
        return bytes(data)


def standard_input() -> IO[bytes]:
    """Standard input as bytes, unpacked if it is packed. Raises InputError where it is closed."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise InputError("is closed", STDIN, remedy="give it a text, or name a file")
    return unpacked_by_magic(io.BufferedReader(Unsized(stream)), STDIN)


@contextlib.contextmanager
def standard_output() -> Iterator[IO[bytes]]:
    """Standard output as bytes. Where its reader has gone, the program ends with PIPE, without a word.

    Raises InputError where it is closed.
    """
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        raise InputError("is closed", "standard output", remedy="name a file for the output")
    try:
        yield stream
        stream.flush()
    except BrokenPipeError:
        end_of_pipe()


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """`outputs.atomic`; for "-" a temporary file, whose bytes go to standard output when the block ends well."""
    if not is_dash(path):
        with atomic(path) as part:
            yield part
        return
    with scratch() as folder:
        part = folder / "output"
        yield part
        with open(part, "rb") as file, standard_output() as stream:
            shutil.copyfileobj(file, stream, BLOCK)


def end_of_pipe() -> NoReturn:
    """End the program, as the reader of its standard output has gone."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it at its end
    raise SystemExit(PIPE)


def read_once(path: Path) -> bool:
    """Whether an input can be read once only: standard input, a pipe, a socket, a terminal."""
    return is_dash(path) or (path.exists() and not path.is_file() and not path.is_dir())


def check_inputs(paths: Iterable[Path]) -> None:
    """Raises InputError for two inputs that are one stream."""
    seen: dict[tuple[int, int] | str, Path] = {}
    for path in paths:
        if read_once(path):
            status = _status(path)
            stream = (status.st_dev, status.st_ino) if status else str(path)
            if (first := seen.setdefault(stream, path)) is not path:
                what = (
                    "both texts are standard input" if is_dash(first) else f"is the stream {first}, which is read once"
                )
                raise InputError(what, None if is_dash(first) else path, remedy="name a file for one of them")


def _status(path: Path) -> os.stat_result | None:
    """The state of an input; None for a standard input that is no file, as in tests."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return os.fstat(sys.stdin.fileno()) if is_dash(path) else path.stat()
    return None


def copied(paths: Sequence[Path], folder: Path) -> list[Path]:
    """The inputs, each as something that can be read more than once: those that cannot are copied to `folder`, all at the
    same time.
    """
    with ThreadPoolExecutor(max(1, len(paths))) as threads:
        return [*threads.map(_copied, paths, (folder / f"input{number}" for number in range(len(paths))))]


def _copied(path: Path, copy: Path) -> Path:
    if not read_once(path):
        return path
    with standard_input() if is_dash(path) else open_bytes(path) as stream, open(copy, "wb") as file:
        shutil.copyfileobj(stream, file, BLOCK)
    return copy


def state(path: Path) -> tuple[int, int, int] | None:
    """What changes with a file: its inode, size and time; None for what is read once."""
    status = None if read_once(path) else _status(path)
    return status and (status.st_ino, status.st_size, status.st_mtime_ns)
