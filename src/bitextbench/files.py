"""Files: atomic writes, hashes, JSON, and text read strictly."""

import contextlib
import gzip
import hashlib
import io
import json
import lzma
import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from bitextbench.errors import InputError

MAX_LINE_BYTES = 1 << 16  # the longest line that can be a sentence; a crawl's 1 MB lines are data damage


@contextlib.contextmanager
def atomic(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, for a file or a folder; it takes the place of `path` when the block ends well.

    When the block raises, `path` stays as it was and nothing else is left behind. What a killed process left is
    removed by the next writer of the same path.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    remove(part)
    try:
        yield part
        if part.is_dir() and path.is_dir():
            remove(path)
        os.replace(part, path)
    finally:
        remove(part)


def remove(path: Path) -> None:
    """Remove a file or folder that may not exist."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sha256(path: str | Path) -> str:
    """Hex digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically: keys in the order given, one final newline."""
    with atomic(path) as part:
        part.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: str | Path) -> Any:
    """Read JSON. Raises InputError that names the file and line."""
    try:
        return json.loads(existing(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg})", path, line=error.lineno, remedy="make the file again") from None


def existing(path: str | Path) -> Path:
    """The path, if something is there. Raises InputError otherwise."""
    path = Path(path)
    if not path.exists():
        raise InputError("no such file", path, remedy="check the path, or run the step that makes it")
    return path


def open_bytes(path: str | Path) -> IO[bytes]:
    """Open a plain, .gz, .xz or .zst file for reading, unpacked."""
    path = existing(path)
    match path.suffix:
        case ".gz":
            return gzip.open(path)  # type: ignore[return-value]
        case ".xz":
            return lzma.open(path)  # type: ignore[return-value]
        case ".zst":
            import pyarrow  # unlike the zstandard package, it reports a truncated file

            return io.BufferedReader(pyarrow.input_stream(str(path), compression="zstd"))
        case _:
            return open(path, "rb")


def read_lines(path: str | Path, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[str]:
    """The lines of a text file (plain, .gz, .xz, .zst), without their line ends.

    Only LF (and a CR before it) ends a line: U+0085 and U+2028 stand inside sentences of real corpora.

    Raises InputError with file and line for invalid UTF-8, NUL bytes, over-long lines and damaged archives.
    """
    with open_bytes(path) as stream:
        yield from decode_lines(stream, path, max_bytes=max_bytes)


def decode_lines(stream: IO[bytes], name: str | Path, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[str]:
    """The lines of an open byte stream; `name` is for messages. See `read_lines`."""
    number = 0
    try:
        while line := stream.readline(max_bytes + 2):
            number += 1
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if len(text) > max_bytes:
                raise InputError(
                    f"line is longer than {max_bytes:,} bytes", name, line=number, remedy="split or remove it"
                )
            if b"\0" in text:
                raise InputError(
                    "line holds a NUL byte", name, line=number, remedy="remove the byte; is this a text file?"
                )
            try:
                yield text.decode("utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"invalid UTF-8 at byte {error.start + 1} of the line",
                    name,
                    line=number,
                    remedy="convert the file to UTF-8",
                ) from None
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        raise InputError(
            f"damaged or truncated archive ({error})", name, line=number + 1, remedy="fetch it again"
        ) from None
