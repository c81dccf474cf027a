"""Tokenised text as numbers: a vocabulary, and the words of all sentences in one array."""

import contextlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import sums
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import atomic
from bitextbench.formats import bitext
from bitextbench.formats.mined_pairs import PACKERS

NULL = 0  # the id of no word
# as in Moses: bare brackets mark gaps, bare bars separate the fields of an n-best list
ESCAPES: dict[str, str] = {"[": "&#91;", "]": "&#93;", "|": "&#124;"}
TRANSLATION = str.maketrans(dict(ESCAPES))


class Words(NamedTuple):
    """`ids` int32 [tokens]; the words of sentence n are ids[starts[n] : starts[n + 1]]; `starts` int64 [sentences + 1]."""

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1


class Vocabulary(dict[str, int]):
    """Numbers of words, from 1 on, in the order of their first occurrence; `NULL` is 0."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self) + 1
        return number

    def known(self, word: str) -> int:
        """The number of a word; NULL where it has none."""
        return self.get(word, NULL)

    def words(self) -> list[str]:
        """The words by number; an empty text is NULL's."""
        return ["", *self]

    def encode(self, lines: Iterable[str], *, grow: bool = True) -> Words:
        """The words of lines of tokens. New words get numbers, or with `grow` false NULL."""
        number = self.__getitem__ if grow else self.known
        ids, starts = array("i"), array("q", [0])
        for line in lines:
            ids.extend(map(number, line.split()))
            starts.append(len(ids))
        return Words(np.array(ids, np.int32), np.array(starts, np.int64))


def escaped(line: str) -> str:
    """A line of tokens without bare brackets and bars, which mark gaps and the ends of fields."""
    return line.translate(TRANSLATION)


def unescaped(line: str) -> str:
    """The reverse of `escaped`."""
    for character, escape in ESCAPES.items():
        line = line.replace(escape, character)
    return line


def read_pairs(tokens: Sequence[Path], *, lowercase: bool) -> tuple[list[str], list[str]]:
    """Both sides of tokenised corpora, one after the other, escaped. Raises InputError for a missing side."""
    sources, targets = (
        [line for folder in tokens for line in side_lines(folder, side, lowercase=lowercase)] for side in bitext.SIDES
    )
    return sources, targets


def side_lines(folder: Path, side: str, *, lowercase: bool) -> Iterator[str]:
    """The lines of one side of a tokenised corpus, escaped. Raises InputError where a line has no such side."""
    for table in bitext.read_batches(folder, [side]):
        for line in table[side].to_pylist():
            if line is None:
                raise InputError(f"has no side {side}", folder, remedy="name a corpus of pairs")
            yield escaped(line.lower() if lowercase else line)


@contextlib.contextmanager
def packed(path: Path) -> Iterator[Any]:
    """A file to write bytes to, compressed as its suffix says. It gets its name, and its sum, when the block ends without
    an error.
    """
    with atomic(path) as part:
        with PACKERS.get(path.suffix, PACKERS[""])(part) as out:
            yield out
        sums.seal(part)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text to such a file."""
    with packed(path) as out:
        for line in lines:
            out.write(f"{line}\n".encode())


def write_side(folder: Path, side: str, out: Path, *, lowercase: bool) -> None:
    """Write one side of a tokenised corpus as text, escaped as translations are, so that the two can be compared."""
    write_lines(out, side_lines(folder, side, lowercase=lowercase))
