"""Word vectors in the text format of word2vec, fastText and MUSE: a header `count dimension`, then a line a word."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import read_lines


def read_vectors(path: str | Path, pieces: list[str], dimension: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Ids int64 [m] of the `pieces` (the vocabulary) that the file has, and their vectors float32 [m, dimension].

    Of a word that occurs twice the first counts. Raises InputError with the line for another dimension or a value that
    is no number.
    """
    row = {piece: index for index, piece in enumerate(pieces)}
    rows, values = [], []
    for number, line in enumerate(read_lines(path), 1):
        word, *fields = line.rstrip(" ").split(" ")
        width = int(fields[0]) if number == 1 and len(fields) == 1 and fields[0].isdigit() else len(fields)
        if width != dimension:
            raise InputError(
                f"{width} dimensions, but the embedding has {dimension}", path, line=number, remedy="make the two equal"
            )
        if len(fields) == width and word in row:
            try:
                values.append(np.array(fields, np.float32))
            except ValueError:
                raise InputError(
                    "a value is not a number", path, line=number, remedy="make the vectors again"
                ) from None
            rows.append(row.pop(word))
    return np.array(rows, np.int64), np.array(values, np.float32).reshape(-1, dimension)
