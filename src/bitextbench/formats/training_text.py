"""The training text of a translation model: `train.<src>` and `train.<tgt>` in a folder, with their sums."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from bitextbench.base import sums


@contextmanager
def opened(folder: Path, languages: tuple[str, str]) -> Iterator[list[TextIO]]:
    """Both files, open for writing, source first."""
    paths = [folder / f"train.{code}" for code in languages]
    with ExitStack() as stack:
        yield [stack.enter_context(open(path, "w", encoding="utf-8", newline="\n")) for path in paths]
    for path in paths:
        sums.seal(path)
