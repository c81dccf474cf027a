"""Names of files for libraries that take UTF-8 alone; Linux allows any bytes."""

import os
from functools import cache
from pathlib import Path


def utf8(path: str | Path) -> str:
    """A name of this file or folder, which is there, that is UTF-8: its own, or another that the kernel has for it."""
    path = Path(path)
    if is_utf8(str(path)):
        return str(path)
    if is_utf8(path.name):
        return f"/proc/self/fd/{_opened(str(path.parent))}/{path.name}"
    return f"/proc/self/fd/{_opened(str(path))}"


def is_utf8(name: str) -> bool:
    """Whether a text has characters alone, and no bytes that a name had."""
    return not any("\ud800" <= character <= "\udfff" for character in name)  # as Python has other bytes


@cache
def _opened(path: str) -> int:
    """A descriptor of a file or folder, which is open until the process ends."""
    return os.open(path, os.O_RDONLY)
