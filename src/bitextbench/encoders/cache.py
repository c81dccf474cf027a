"""Vectors of plain sentences, kept on disk by content and encoder: nothing is encoded twice.

A text is encoded in blocks of BLOCK sentences. A block is a file, `<cache>/<key of the encoder>/<hash of language, side
and sentences>.npy`, written atomically. So a killed run goes on with the blocks that it has. If lines are added to a
text, only the last block and the new ones are encoded. If sentences of a block were cut, a file `.cut` has their
number. No vectors are ever removed: you can delete the folder at any time.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import log, progress
from bitextbench.encoders.interface import SentenceEncoder
from bitextbench.encoders.plain import BLOCK
from bitextbench.formats.vectors import Embeddings, Stacked


class PlainText(NamedTuple):
    """Sentences of one language; `name` is the file, for messages."""

    name: str
    lines: Sequence[str]
    language: str | None
    side: str


class Vectors(NamedTuple):
    """The vectors of a text, memory-mapped, and how many of its sentences were cut."""

    vectors: Embeddings
    cut: int


@dataclass(frozen=True)
class CachedBlock:
    """BLOCK sentences of a text from `start` on, and the file of their vectors."""

    text: PlainText
    start: int
    path: Path

    def __len__(self) -> int:
        return min(BLOCK, len(self.text.lines) - self.start)

    @property
    def lines(self) -> list[str]:
        return list(self.text.lines[self.start : self.start + BLOCK])


def encode(encoder: SentenceEncoder, texts: Sequence[PlainText], folder: Path, what: str = "encode") -> list[Vectors]:
    """The vectors of all sentences of each text, row by row, taken from the cache where it has them.

    Raises InputError as the encoder does, and where the disk is full.
    """
    plans = [list(_blocks(encoder.key, text, folder)) for text in texts]
    missing = [block for plan in plans for block in plan if _load(block.path, encoder.dimension) is None]
    total, new = (sum(map(len, blocks)) for blocks in (itertools.chain(*plans), missing))
    log(f"{what}: {total - new:,} of {total:,} sentences are in the cache {folder}")
    rows = itertools.chain.from_iterable(_encode(encoder, block) for block in missing)
    for _ in progress(rows, what, total=new, unit="sentences") if missing else ():
        pass
    return [_read(text, plan, encoder.dimension) for text, plan in zip(texts, plans, strict=True)]


def _blocks(key: str, text: PlainText, folder: Path) -> Iterator[CachedBlock]:
    for start in range(0, len(text.lines), BLOCK):
        digest = xxhash.xxh3_128(f"{text.side}\n{text.language}\n".encode())
        for line in text.lines[start : start + BLOCK]:
            digest.update(f"{line}\n".encode())
        yield CachedBlock(text, start, folder / key / f"{digest.hexdigest()}.npy")


def _encode(encoder: SentenceEncoder, block: CachedBlock) -> Iterator[None]:
    """Encode and keep a block; yields once for each sentence."""
    lines, cut = block.lines, 0
    with arrays.create(block.path, (len(lines), encoder.dimension), np.float32) as vectors:
        for done in encoder.encode(lines, block.text.language, block.text.side, vectors):
            cut += done.cut
            yield from itertools.repeat(None, done.rows)
        if cut:
            with atomic(block.path.with_suffix(".cut")) as part:
                part.write_text(f"{cut}\n")


def _load(path: Path, dimension: int) -> NDArray[np.float32] | None:
    """The vectors of a block; None where there are none, or they are damaged."""
    if not path.exists():
        return None
    try:
        vectors = arrays.load(path, "", np.float32, ["sentences", "dimensions"])
    except InputError as error:
        log(f"{error}; encoded again")
        return None
    return vectors if vectors.shape[1] == dimension else None


def _read(text: PlainText, plan: Sequence[CachedBlock], dimension: int) -> Vectors:
    parts = [_load(block.path, dimension) for block in plan]
    if any(part is None for part in parts):
        raise InputError("vectors are gone from the cache", text.name, remedy="run the command again")
    cuts = [path for block in plan if (path := block.path.with_suffix(".cut")).exists()]
    name = f"vectors of {text.name}"
    return Vectors(Embeddings(Stacked(parts), name), sum(int(path.read_text()) for path in cuts))  # type: ignore[arg-type]
