"""Sums of files whose format has none: texts, BPE models, weights that others published.

The sum of `name` is in `.name.xxh128` next to it: 32 hex digits, as `xxh128sum` prints them. It is written with the file
and verified when the file is read. A file without one, as users have, is accepted without a check.
"""

import hashlib
import os
from pathlib import Path

import xxhash

from bitextbench.base.errors import InputError

SUFFIX = ".xxh128"
LONGEST = 240  # bytes of a name that leaves room for the suffix


def place(path: Path) -> Path:
    """Where the sum of a file is."""
    name = path.name
    if len(os.fsencode(name)) > LONGEST:
        name = xxhash.xxh3_128_hexdigest(os.fsencode(name))
    return path.with_name(f".{name}{SUFFIX}")


def seal(path: Path) -> None:
    """Write the sum of a file next to it."""
    place(path).write_bytes(_sum(path))


def verify(path: Path, remedy: str = "make it again") -> None:
    """Raises InputError for a file whose sum differs from the one next to it."""
    if not path.name:  # a folder, as `.`: whoever opens it says so
        return
    try:
        written = place(path).read_bytes()
    except OSError:  # there is none, or it cannot be read
        return
    if written and written != _sum(path):  # an empty one is of a process that was killed
        remedy = f"{remedy}; if you changed it yourself, remove {place(path)}"
        raise InputError(
            f"has changed since it was written: its checksum is not the one in {place(path).name}", path, remedy=remedy
        )


def _sum(path: Path) -> bytes:
    with open(path, "rb") as file:
        return f"{hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()}\n".encode()
