"""Word vectors in the text format of word2vec, fastText and MUSE: a header `count dimension`, then one word a line."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import sums
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.base.outputs import atomic

Rows = Callable[[str], int | None]  # the row of a word in a table of embeddings; None where it has none


def rows_of(words: Iterable[str]) -> Rows:
    """The rows of a table that has these words in order."""
    return {word: row for row, word in enumerate(words)}.get


def read_vectors(path: str | Path, row_of: Rows, dimension: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Rows int64 [m] of those words of a file that have one, and their vectors float32 [m, dimension].

    Where several words have the same row, the first vector counts. Raises InputError, with the line, for another
    dimension and for a value that is not a number.
    """
    found: dict[int, NDArray[np.float32]] = {}
    for number, line in enumerate(read_lines(path), 1):
        word, *fields = line.rstrip(" ").split(" ")
        header = number == 1 and len(fields) == 1 and fields[0].isdigit()
        width = int(fields[0]) if header else len(fields)
        if width != dimension:
            raise InputError(
                f"{width} dimensions, but the embedding has {dimension}", path, line=number, remedy="make the two equal"
            )
        if len(fields) == width and (row := row_of(word)) is not None and row not in found:
            try:
                found[row] = np.array(fields, np.float32)
            except ValueError:
                raise InputError(
                    "a value is not a number", path, line=number, remedy="make the vectors again"
                ) from None
    return np.array([*found], np.int64), np.array([*found.values()], np.float32).reshape(-1, dimension)


class WordVectors(NamedTuple):
    """The words of a language, most frequent first, and their vectors float32 [n, d]."""

    words: list[str]
    vectors: NDArray[np.float32]


def write(words: WordVectors, out: Path) -> None:
    """Write the text format of word2vec, atomically."""
    with atomic(out) as part:
        with open(part, "w", encoding="utf-8") as file:
            file.write(f"{len(words.words)} {words.vectors.shape[1]}\n")
            for word, row in zip(words.words, words.vectors, strict=True):
                file.write(f"{word} {' '.join(f'{value:.6g}' for value in row)}\n")
        sums.seal(part)


def read(path: Path, most: int = 200_000) -> WordVectors:
    """The first `most` words of a .vec file (200,000 in Conneau et al.). Raises InputError as `read_vectors` does."""
    heads = (line.rstrip(" ").split(" ", 1) for line in read_lines(path))
    count, *rest = next(heads, [""])
    if not rest or len(rest[0].split(" ")) != 1 or not (count + rest[0]).isdigit():
        raise InputError("no header `count dimension`", path, line=1, remedy="give it word2vec's text format")
    words = list(dict.fromkeys(word for word, *_ in heads))[:most]
    _, vectors = read_vectors(path, rows_of(words), int(rest[0]))
    return WordVectors(words, vectors)
