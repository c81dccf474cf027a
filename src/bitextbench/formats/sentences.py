"""The sentences of one language, and their ids.

They are read from plain lines (the id is the number of the line, from 1), BUCC's `id<TAB>sentence`, a Parquet file, or
one side of a corpus of this project. Text may be compressed as .gz, .xz or .zst.
"""

import io
import re
import sys
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow.parquet as pq
import xxhash
from numpy.typing import NDArray

from bitextbench.base import names
from bitextbench.base.errors import InputError
from bitextbench.base.files import MAGIC, MAX_LINE_BYTES, decode_lines, existing, read_lines
from bitextbench.base.progress import log
from bitextbench.formats import bitext

STDIN = Path("standard input")
BOM = "\ufeff"
_BUCC_LINE = re.compile(r"\S+\t")


@dataclass(frozen=True)
class Sentences:
    """`ids` and `text` [n]; `name` is the file, for messages; `too_long`: places of lines that were, whose text is
    empty.
    """

    ids: list[str]
    text: list[str]
    name: str
    too_long: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        """Id -> its place."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def digest(self) -> str:
        """The hash of the sentences in their order, 32 hex digits: vectors of a text have it."""
        digest = xxhash.xxh3_128()
        for line in self.text:
            digest.update(f"{line}\n".encode())
        return digest.hexdigest()


def read(path: str | Path, side: str = "src", form: str = "auto") -> Sentences:
    """Read sentences from a text, a Parquet file or a corpus folder; of the latter two, the side `side` (src or tgt).

    form: lines, bucc, or auto: bucc where the first line begins with a word and a tab. A Parquet file has a column
    `text` or one with the name of the side, and perhaps `id`. The path `-` is a text on standard input. Lines of a text
    that are too long, and a byte-order mark, are left out and logged.

    Raises InputError for duplicate ids, a line without a tab in BUCC's format, no sentences, and what `read_lines`
    refuses.
    """
    path = STDIN if str(path) == "-" else existing(path)
    if path.is_dir():
        tables = list(bitext.read_batches(path, ["id", side]))
        ids, text = ([value for table in tables for value in table[name].to_pylist()] for name in ("id", side))
        sentences = Sentences([str(name) for name in ids], text, str(path))
    elif path.suffix == ".parquet":
        sentences = _parquet(path, side)
    else:
        sentences = _text(path, form)
    if not len(sentences):
        raise InputError("has no sentences", path, remedy="both sides need at least one")
    if (empty := next((place for place, text in enumerate(sentences.text, 1) if text is None), None)) is not None:
        raise InputError(f"has no {side} text", path, line=empty, remedy="is it the other side?")
    if len(sentences.index) < len(sentences):
        twice = next(place for place, name in enumerate(sentences.ids) if sentences.index[name] != place)
        again = sentences.index[sentences.ids[twice]]
        raise InputError(
            f"id {sentences.ids[twice]!r} is also in line {twice + 1}", path, line=again + 1, remedy="make ids unique"
        )
    return sentences


def _text(path: Path, form: str) -> Sentences:
    numbers: list[int] = []
    lines = list(
        decode_lines(standard_input(), STDIN, too_long=numbers) if path is STDIN else read_lines(path, too_long=numbers)
    )
    too_long = frozenset(number - 1 for number in numbers)
    if numbers:
        log(
            f"{path}: {len(numbers):,} lines are longer than {MAX_LINE_BYTES:,} bytes, first line {numbers[0]:,}; left out"
        )
    if lines and lines[0].startswith(BOM):
        log(f"{path}: begins with a byte-order mark, which is left out")
        lines[0] = lines[0].removeprefix(BOM)
    if form == "auto":
        form = "bucc" if lines and _BUCC_LINE.match(lines[0]) else "lines"
    if form == "lines":
        return Sentences([str(number) for number in range(1, len(lines) + 1)], lines, str(path), too_long)
    fields = [line.partition("\t") for line in lines]
    for place, (name, tab, _) in enumerate(fields):
        if place in too_long:
            fields[place] = f"line {place + 1}, too long", "", ""
        elif not (name and tab):
            remedy = "mend it, or say that these are plain lines: --text-format lines"
            raise InputError("line is not `id<TAB>sentence`", path, line=place + 1, remedy=remedy)
    return Sentences([name for name, _, _ in fields], [text for _, _, text in fields], str(path), too_long)


def standard_input() -> IO[bytes]:
    """Standard input as bytes. Raises InputError where it is packed."""
    stream = io.BufferedReader(sys.stdin.buffer)  # type: ignore[type-var]
    if stream.peek(8).startswith(tuple(MAGIC)):
        raise InputError("is packed", STDIN, remedy="unpack it: zcat FILE | bitextbench ...")
    return stream


def _parquet(path: Path, side: str) -> Sentences:
    with bitext.reading(path, "make the file again"):
        table = pq.read_table(names.utf8(path), page_checksum_verification=True)
    column = next((name for name in ("text", side) if name in table.column_names), None)
    if column is None:
        raise InputError(f"no column text or {side}", path, remedy=f"it has: {', '.join(table.column_names)}")
    ids = table["id"].to_pylist() if "id" in table.column_names else range(1, len(table) + 1)
    return Sentences([str(name) for name in ids], table[column].to_pylist(), str(path))


def first_copies(items: Iterable[Hashable]) -> NDArray[np.int64]:
    """Places of the first copies, int64, ascending: the items that are left when duplicates are removed."""
    first: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        first.setdefault(item, index)
    return np.fromiter(first.values(), np.int64, len(first))
