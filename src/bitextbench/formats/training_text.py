"""Text that a translation model learns from, opened by path."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def opened(folder: Path, languages: tuple[str, str]) -> Iterator[list[TextIO]]:
    """`train.<src>` and `train.<tgt>` of a folder, open to be written."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(open(folder / f"train.{code}", "w", encoding="utf-8", newline="\n"))
            for code in languages
        ]
