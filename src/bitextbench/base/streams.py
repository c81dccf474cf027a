"""The standard streams of this process, in UTF-8; one that the caller has closed is an error when it is used."""

import io
import os
import sys
from typing import Any, NoReturn

from bitextbench.base.errors import InputError


class Closed(io.RawIOBase):
    """A stream that cannot be used."""

    def __init__(self, stream: str) -> None:
        self.stream = stream

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> NoReturn:
        raise InputError("is closed", self.stream, remedy="open it, or name a file")

    def write(self, data: Any) -> NoReturn:
        raise InputError("is closed", self.stream, remedy="open it, or name a file")


def prepare() -> None:
    """Make the standard streams usable, whatever the caller and the locale have made of them.

    Text is UTF-8, as in all files; names that are not UTF-8 keep their bytes. Without standard error messages go
    nowhere. The three numbers are never free: a file that is opened would get one of them, and what libraries print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(Closed("standard input"))  # type: ignore[type-var]
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(Closed("standard output"), write_through=True)  # type: ignore[type-var]
    elif isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
