"""The one error that a user sees."""

import difflib
from collections.abc import Iterable
from pathlib import Path


class InputError(Exception):
    """Bad input: says what is wrong, where, and what would be right, in one line.

    `InputError("line is not UTF-8", "pool.de", line=17, remedy="convert the file to UTF-8")` reads
    `pool.de:17: line is not UTF-8; convert the file to UTF-8`. The command line prints it and exits with 2.
    """

    def __init__(
        self, what: str, where: str | Path | None = None, *, line: int | None = None, remedy: str = ""
    ) -> None:
        place = "" if where is None else f"{where}: " if line is None else f"{where}:{line}: "
        super().__init__(place + what + (f"; {remedy}" if remedy else ""))


def near(word: str, known: Iterable[str]) -> str:
    """A remedy: the nearest of the known words, or all of them when none is near."""
    known = list(known)
    close = difflib.get_close_matches(word, known, n=3)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"
