"""Plain sentences to vectors: what encoders of this project and published ones have in common, and how they are opened."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.files import check_output
from bitextbench.base.progress import log, progress
from bitextbench.formats import sentences
from bitextbench.formats.bitext import SIDES

BLOCK = 8192  # sentences that are encoded together


class Encoded(NamedTuple):
    """Some sentences whose vectors are written: their number, and how many of them were cut."""

    rows: int
    cut: int = 0


class SentenceEncoder(Protocol):
    """An encoder of plain sentences."""

    name: str  # its folder, for messages
    key: str  # a name of files: encoders of one key give one vector to a sentence
    dimension: int

    def side(self, language: str | None, wanted: str | None = None, *, usual: str | None = None) -> str:
        """The side of the model that encodes a language: the one that is `wanted`, or of several the `usual` one.

        Raises InputError for a language that it does not know, or needs and does not get; and where several sides have
        it and none is named.
        """
        ...

    def encode(
        self, lines: list[str], language: str | None, side: str, vectors: NDArray[np.float32]
    ) -> Iterator[Encoded]:
        """Fill `vectors` [len(lines), dimension], which are zeros, in any order; sentences without tokens stay so.

        Raises InputError for a vector that is not finite.
        """
        ...


def sentence_encoder(
    path: Path, *, prefix: str | None = None, threads: int = 1, device: str = "cpu"
) -> SentenceEncoder:
    """The encoder in a folder: one that was trained here, or one of sentence-transformers or transformers.

    `prefix` is put before each sentence (of the latter only). Raises InputError for any other folder.
    """
    from bitextbench.encoders import folder, pretrained

    if not path.exists():
        raise InputError("no such folder", path, remedy="train an encoder, or download one into a folder")
    if path.is_file():
        raise InputError("is a file", path, remedy=f"name its folder: {path.parent}")
    if (path / folder.DESCRIPTION).exists():
        if prefix is not None:
            raise InputError("takes no prefix", path, remedy="leave out --prefix")
        return folder.Trained(path, threads=threads, device=device)
    if any((path / name).exists() for name in pretrained.MARKS):
        return pretrained.Pretrained(path, prefix=prefix, threads=threads, device=device)
    what = f"has no {folder.DESCRIPTION}, {' or '.join(pretrained.MARKS)}"
    remedy = "train it again" if (path / folder.MODEL).exists() else "name the folder of an encoder"
    raise InputError(what, path, remedy=remedy)


def encode_text(
    text: Path,
    encoder: SentenceEncoder,
    out: Path,
    *,
    language: str | None = None,
    side: str | None = None,
    form: str = "auto",
) -> dict[str, int]:
    """Write the vectors of a text (see `formats.sentences.read`) to `out`, float32 [sentences, d], atomically: row by row.

    The steps (tokens, ids, vectors) are those of the workflow; so the vectors are the same. An empty sentence, and a line
    that is too long, has a zero vector. Returns {"sentences", "empty", "too_long", "cut"}, and logs it.
    Raises InputError as the encoder does, and for an output that cannot be written, before it encodes.
    """
    chosen = encoder.side(language, side)
    check_output(out)
    lines = sentences.read(text, chosen if chosen in SIDES else "src", form)
    cut = 0

    def rows(vectors: NDArray[np.float32]) -> Iterator[None]:
        nonlocal cut
        for start in range(0, len(lines), BLOCK):
            part = slice(start, start + BLOCK)
            for done in encoder.encode(lines.text[part], language, chosen, vectors[part]):
                cut += done.cut
                yield from itertools.repeat(None, done.rows)

    with arrays.create(out, (len(lines), encoder.dimension), np.float32) as vectors:
        for _ in progress(rows(vectors), f"encode {lines.name}", total=len(lines), unit="sentences"):
            pass
    empty = sum(not line.strip() for line in lines.text) - len(lines.too_long)
    counts = {"sentences": len(lines), "empty": empty, "too_long": len(lines.too_long), "cut": cut}
    said = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in counts.items())
    log(f"encode: {said}; vectors in {out}")
    return counts
