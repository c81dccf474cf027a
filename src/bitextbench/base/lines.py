"""The lines of text files, read strictly."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa

from bitextbench.base.errors import InputError
from bitextbench.base.packed import BLOCK, open_bytes
from bitextbench.base.progress import count_of, log

MAX_LINE_BYTES = 1 << 16  # the longest line that can be a sentence; a crawl's 1 MB lines are data damage
END_LINES = "end its lines with LF, or CR and LF, not with CR"
BOM = "\ufeff".encode()
UTF16 = (b"\xff\xfe", b"\xfe\xff")


class Limits(NamedTuple):
    """What a line may be: at most `max_bytes` long, UTF-8 without NUL.

    Other lines are errors. With `too_long`, over-long lines are read as empty, and their numbers (from 1) are added to it.
    With `bad`, lines with NUL or invalid UTF-8 are read as empty, and `bad` gets what is wrong, by number. `quiet`: write
    no log, as in a second pass.
    """

    max_bytes: int = MAX_LINE_BYTES
    too_long: set[int] | None = None
    bad: dict[int, str] | None = None
    quiet: bool = False


LIMITS = Limits()


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a text file (plain, .gz, .bz2, .xz, .zst), without their line ends.

    Only LF (and a CR before it) ends a line, as U+0085 and U+2028 occur inside sentences of real corpora. Other CRs are
    counted in the log. So is a byte-order mark before the first, which is left out.

    Raises InputError, with the line, for UTF-16, invalid UTF-8, NUL bytes and over-long lines. It also raises it for a
    text whose lines end with CR alone, and for damaged archives.
    """
    with open_bytes(path) as stream:
        yield from decode_lines(stream, path)


def decode_lines(stream: IO[bytes], name: str | Path, limits: Limits = LIMITS) -> Iterator[str]:
    """The lines of an open byte stream; `name` is for messages. See `read_lines`."""
    for lines in decode_arrays(stream, name, limits):
        yield from lines.to_pylist()


def read_arrays(path: str | Path) -> Iterator[pa.StringArray]:
    """The lines that `read_lines` gives, as Arrow arrays of some thousands, without an object for a line."""
    with open_bytes(path) as stream:
        yield from decode_arrays(stream, path)


def decode_arrays(stream: IO[bytes], name: str | Path, limits: Limits = LIMITS) -> Iterator[pa.StringArray]:
    """The same of an open byte stream; `name` is for messages."""
    number = returns = 0
    begin = stream.read(max(BLOCK, len(BOM)))  # a mark is whole, however small tests make blocks
    mark = len(BOM) if begin.startswith(BOM) else 0
    if mark and not limits.quiet:
        log(f"{name}: begins with a byte-order mark, which is left out")
    for block in _blocks(begin[mark:] or stream.read(BLOCK), stream, limits.max_bytes, cut=limits.too_long is not None):
        if not number and block.startswith(UTF16):
            raise InputError("is UTF-16", name, line=1, remedy="convert it: iconv -f UTF-16 -t UTF-8")
        lines = _as_array(block, limits.max_bytes)
        if lines is None:
            right: list[str] = []
            try:
                right.extend(_checked(block, name, number, limits, mark))
            except InputError:
                yield pa.array(right, pa.string())  # the lines before the wrong one
                raise
            lines = pa.array(right, pa.string())
        yield lines
        number += len(lines)
        if b"\r" in block:
            returns += block.count(b"\r") - block.count(b"\r\n")
    if returns:
        what = f"{count_of(returns, 'carriage return')} inside {count_of(number, 'line')}"
        if returns >= number:
            raise InputError(what, name, remedy=END_LINES)
        if not limits.quiet:
            log(f"{name}: {what}; none ends a line")


class UnequalError(Exception):
    """Texts that are read side by side differ in their numbers of lines, `counts`."""

    def __init__(self, counts: Sequence[int]) -> None:
        super().__init__(f"{counts} lines")
        self.counts = counts


def side_by_side(texts: Sequence[Iterator[pa.StringArray]]) -> Iterator[tuple[pa.StringArray, ...]]:
    """Blocks of lines with the same number of lines of each text. Raises UnequalError if one text ends before the
    others.
    """
    empty = pa.array([], pa.string())
    held, done = [next(text, empty) for text in texts], 0
    while count := min(map(len, held)):
        yield tuple(lines.slice(0, count) for lines in held)
        done += count
        held = [
            lines.slice(count) if len(lines) > count else next(text, empty)
            for lines, text in zip(held, texts, strict=True)
        ]
    counts = [done + len(lines) + sum(map(len, text)) for lines, text in zip(held, texts, strict=True)]
    if len(set(counts)) > 1:
        raise UnequalError(counts)


def _blocks(begin: bytes, stream: IO[bytes], max_bytes: int, *, cut: bool) -> Iterator[bytes]:
    """Blocks of whole lines, each ended by LF, of `begin` and the stream. A line that is too long may be cut, to a length
    that is still too long.

    Without `cut` such a line is the last one.
    """
    rest, data = b"", begin
    while data and (cut or len(rest) <= max_bytes + 1):
        if end := data.rfind(b"\n") + 1:
            yield b"".join((rest, memoryview(data)[:end]))  # one copy
            rest = data[end:]
        else:
            rest = (rest + data)[: max_bytes + 2] if cut else rest + data
        data = stream.read(BLOCK)
    if rest:
        yield rest + b"\n"


def _as_array(block: bytes, max_bytes: int) -> pa.StringArray | None:
    """The lines of a block as an Arrow array; None if one of them may be wrong."""
    if b"\0" in block:
        return None
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    whole = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, len(block)], np.int32)), pa.py_buffer(block))
    try:
        whole.validate(full=True)  # LF is part of no character: all lines are valid where the block is
    except pa.ArrowInvalid:  # no UTF-8
        return None
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends - np.arange(len(ends))  # in the block without its line ends
    if np.diff(offsets).max() > max_bytes:
        return None
    text = block.replace(b"\n", b"")
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text))


def _checked(block: bytes, name: str | Path, before: int, limits: Limits, mark: int) -> Iterator[str]:
    """The lines of a block, checked one by one; `before`: the number of lines before the block; `mark`: the bytes left
    out before the first line.
    """
    max_bytes, too_long, bad, _ = limits
    for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), before + 1):
        text = line.removesuffix(b"\r")
        if len(text) > max_bytes and too_long is not None:
            too_long.add(number)
            yield ""
            continue
        if len(text) > max_bytes:
            what, returns = f"line is longer than {max_bytes:,} bytes", text.count(b"\r")
            remedy = END_LINES if returns else "split or remove it"
            what += f" and holds {count_of(returns, 'carriage return')}" if returns else ""
            raise InputError(what, name, line=number, remedy=remedy)
        try:
            decoded = text.decode("utf-8")
            what, remedy = "line holds a NUL byte", "remove the byte; is this a text file?"
            wrong = "\0" in decoded
        except UnicodeDecodeError as error:
            decoded, wrong, remedy = "", True, "convert the file to UTF-8"
            remedy += ", or skip bad lines (--skip-bad)" if too_long is not None else ""
            place = error.start + 1 + (mark if number == 1 else 0)
            what = "line holds a NUL byte" if b"\0" in text else f"invalid UTF-8 at byte {place} of the line"
        if wrong and bad is None:
            raise InputError(what, name, line=number, remedy=remedy)
        if wrong and bad is not None:
            bad[number] = what
        yield "" if wrong else decoded
