"""The training text of a translation model: `train.<src>` and `train.<tgt>` in a folder."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO


@contextmanager
def opened(folder: Path, languages: tuple[str, str]) -> Iterator[list[TextIO]]:
    """Both files, open for writing, source first."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(open(folder / f"train.{code}", "w", encoding="utf-8", newline="\n"))
            for code in languages
        ]
