"""Files: whether they are there, their sizes and hashes, their bytes and text."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from bitextbench.base import sums
from bitextbench.base.errors import InputError


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/bitextbench, or ~/.cache/bitextbench. Raises InputError where there is no home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bitextbench"
    except RuntimeError:  # neither HOME nor an entry of this user, as in containers
        remedy = "name a folder for vectors: --cache, or the variable XDG_CACHE_HOME"
        raise InputError("no home folder", remedy=remedy) from None


def sha256(path: str | Path) -> str:
    """Hex digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: str | Path) -> str:
    """The text of a file. Raises InputError where it is not UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("invalid UTF-8", path, line=line, remedy="is this the right file?") from None


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file, which are those of its sum, if it has one. Raises InputError otherwise."""
    sums.verify(existing(path))
    return Path(path).read_bytes()


def size(paths: Iterable[str | Path]) -> int:
    """The bytes of files, and of all that folders hold. Raises FileNotFoundError, with its name, for one that is not there."""
    total = 0
    for path in paths:
        if os.path.isdir(path):
            held = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
            total += sum(os.lstat(name).st_size for name in held)
        else:
            total += os.stat(path).st_size
    return total


def existing(path: str | Path) -> Path:
    """The path, if something is there. Raises InputError otherwise."""
    path = Path(path)
    if not path.exists():
        raise InputError("no such file", path, remedy="check the path, or run the step that makes it")
    return path
