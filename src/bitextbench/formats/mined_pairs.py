"""Mined pairs on disk, best first: score, source id, target id, source, target; TSV without a header, or Parquet."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic, existing, read_lines
from bitextbench.formats import bitext
from bitextbench.formats.sentences import Sentences

COLUMNS = ("score", "src_id", "tgt_id", "src", "tgt")
BLOCK = 65_536
_CLEAN = str.maketrans("\t\r\n", "   ")  # these characters would end a field or a line


class Mined(NamedTuple):
    """Pairs by descending score: `src`, `tgt` int64 [n], places of sentences; `scores` float32 [n]."""

    src: NDArray[np.int64]
    tgt: NDArray[np.int64]
    scores: NDArray[np.float32]

    def take(self, rows: NDArray) -> "Mined":
        """Some of the pairs: `rows` is an index array or a mask."""
        return Mined(*(column[rows] for column in self))

    def joined(self, other: "Mined") -> "Mined":
        """These pairs, then the others."""
        return Mined(
            np.concatenate([self.src, other.src]),
            np.concatenate([self.tgt, other.tgt]),
            np.concatenate([self.scores, other.scores]),
        )

    def above(self, threshold: float | None) -> "Mined":
        """The pairs that score at least `threshold` (all of them for None)."""
        return self if threshold is None else self.take(self.scores >= threshold)


class Candidates(NamedTuple):
    """`scores` float32 [n] and the ids of both sides."""

    scores: NDArray[np.float32]
    src: list[str]
    tgt: list[str]


def write(path: Path, mined: Mined, src: Sentences, tgt: Sentences) -> None:
    """Write the pairs: Parquet where the name ends in `.parquet`, else TSV, where tabs in a sentence become spaces.

    `mined` holds the places of the sentences in `src` and `tgt`.
    """
    with atomic(path) as part:
        if path.suffix == ".parquet":
            schema = pa.schema(zip(COLUMNS, [pa.float32(), *[pa.string()] * 4], strict=True))
            with pq.ParquetWriter(part, schema, **bitext.WRITING) as writer:
                for block in _blocks(mined, src, tgt):
                    writer.write_table(pa.table(dict(zip(COLUMNS, block, strict=True)), schema=schema))
        else:
            with open(part, "w", encoding="utf-8", newline="\n") as file:
                for scores, *texts in _blocks(mined, src, tgt):
                    for score, *fields in zip(scores.astype(str), *texts, strict=True):
                        file.write("\t".join([score, *(field.translate(_CLEAN) for field in fields)]) + "\n")


def _blocks(mined: Mined, src: Sentences, tgt: Sentences) -> Iterator[tuple[Any, ...]]:
    """The columns of BLOCK pairs at a time."""
    for start in range(0, len(mined.src), BLOCK):
        i, j = (column[start : start + BLOCK].tolist() for column in (mined.src, mined.tgt))
        columns = ((src.ids, i), (tgt.ids, j), (src.text, i), (tgt.text, j))
        texts = ([values[place] for place in places] for values, places in columns)
        yield mined.scores[start : start + BLOCK], *texts


def read(path: str | Path) -> Candidates:
    """Scores and ids from a file that `write` made, or from a TSV that begins with the same three columns.

    Raises InputError for a line with fewer columns, a score that is not a finite number, and a pair that appears twice.
    """
    path = existing(path)
    if path.suffix == ".parquet":
        with bitext.reading(path, "mine again"):
            table = pq.read_table(path, columns=list(COLUMNS[:3]), page_checksum_verification=True)
        if missing := [name for name in COLUMNS[:3] if name not in table.column_names]:
            raise InputError(f"no column {', '.join(missing)}", path, remedy=f"needed: {', '.join(COLUMNS[:3])}")
        rows = list(zip(*(table[name].to_pylist() for name in COLUMNS[:3]), strict=True))
    else:
        rows = [tuple(line.split("\t", 3)[:3]) for line in read_lines(path)]
    seen: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows, 1):
        if len(row) < 3:
            raise InputError("fewer than three columns", path, line=number, remedy="score, source id, target id")
        if (first := seen.setdefault((row[1], row[2]), number)) != number:
            raise InputError(f"repeats the pair of line {first}", path, line=number, remedy="remove one of them")
    return Candidates(
        np.array([_score(row[0], path, number) for number, row in enumerate(rows, 1)], np.float32),
        [row[1] for row in rows],
        [row[2] for row in rows],
    )


def _score(text: str | float, path: Path, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"score {text!r} is not a finite number", path, line=number, remedy="mine again")
    return value
