"""Encoding of plain sentences by an encoder in a folder, of this project or published."""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.outputs import check_output
from bitextbench.base.pipes import is_dash, shown, written
from bitextbench.base.progress import count_of, log, progress
from bitextbench.encoders.interface import SentenceEncoder
from bitextbench.formats import bitext, sentences
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.inputs import PLAIN, Reading
from bitextbench.formats.repair import is_empty

BLOCK = 8192  # sentences that are encoded together
IN_PACKAGES = ("muse", "e5-small")  # the encoders whose weights are in packages


def sentence_encoder(
    named: str | Path, *, prefix: str | None = None, precision: str = "fp32", threads: int = 1, device: str = "cpu"
) -> SentenceEncoder:
    """The encoder of a package by its name (see IN_PACKAGES), or the one in a folder: one that was trained here, or one
    of sentence-transformers, transformers or LASER.

    `prefix` is put before each sentence (of sentence-transformers and transformers); `precision`: see
    `device.number_format`; an encoder that was trained here has fp32 alone. Raises InputError for any other folder.
    """
    from bitextbench.encoders import e5, folder, laser, muse, pretrained

    path = Path(named)
    machine: dict[str, Any] = {"threads": threads, "device": device, "precision": precision}
    if named == muse.NAME:
        if prefix is not None:
            raise InputError("takes no prefix", muse.NAME, remedy="leave out --prefix")
        log(f"encoder {muse.NAME}: {muse.ABOUT}")
        return muse.Muse(**machine)
    if named == e5.NAME:
        log(f"encoder {e5.NAME}: {e5.ABOUT}")
        return e5.E5Small(prefix=prefix, **machine)
    if not path.exists():
        raise InputError("no such folder", path, remedy=f"name a folder, or one of {', '.join(IN_PACKAGES)}")
    if path.is_file():
        raise InputError("is a file", path, remedy=f"name its folder: {path.parent}")
    if (path / folder.DESCRIPTION).exists():
        if prefix is not None:
            raise InputError("takes no prefix", path, remedy="leave out --prefix")
        return folder.TrainedEncoder(path, threads=threads, device=device)
    if any((path / name).exists() for name in pretrained.MARKS):
        return pretrained.Pretrained(path, prefix=prefix, **machine)
    if any(path.glob(laser.MARK)):
        return laser.Laser(path, prefix=prefix, **machine)
    what = f"has no {', '.join((folder.DESCRIPTION, *pretrained.MARKS))} or {laser.MARK}"
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
    columns: Sequence[str] = (),
    reading: Reading = PLAIN,
) -> dict[str, int]:
    """Write the vectors of a text (see `formats.sentences.read`) to `out`, float32 [sentences, d], atomically: row by row,
    and with the hash of the text.

    The steps (tokens, ids, vectors) are those of the workflow; so the vectors are the same. An empty sentence, and a line
    that is too long or bad, has a zero vector. Returns {"sentences", "empty", "too_long", "cut", "bad" if any are}, and
    logs it.
    Raises InputError as the encoder does, and for an output that cannot be written, before it encodes.
    """
    chosen = encoder.side(language, side)
    if not is_dash(out):
        check_output(out)
    usual = chosen if chosen in SIDES else "src"
    lines = sentences.read(text, usual, form, language=language, columns=columns, reading=reading)
    cut = 0

    def rows(vectors: NDArray[np.float32]) -> Iterator[None]:
        nonlocal cut
        for start in range(0, len(lines), BLOCK):
            part = slice(start, start + BLOCK)
            for done in encoder.encode(lines.text[part], language, chosen, vectors[part]):
                cut += done.cut
                yield from itertools.repeat(None, done.rows)

    shape = len(lines), encoder.dimension
    with (
        written(out) if is_dash(out) else contextlib.nullcontext(out) as place,
        arrays.create(place, shape, np.float32, lines.digest) as vectors,
    ):
        for _ in progress(rows(vectors), f"encode {lines.name}", total=len(lines), unit="sentences"):
            pass
    empty = sum(map(is_empty, lines.text)) - len(lines.too_long) - len(lines.bad)
    counts = {"sentences": len(lines), "empty": empty, "too_long": len(lines.too_long), "cut": cut}
    counts |= {"bad": len(lines.bad)} if lines.bad else {}
    said = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in counts.items() if what != "sentences")
    log(f"encode: {count_of(len(lines), 'sentence')}, {said}; vectors in {shown(out, output=True)}")
    return counts


def describe(named: str, files: Sequence[Path], out: Path) -> None:
    """Write the name or folder of an encoder that is there, and the SHA-256 of each file of the folder: what
    `encode_shard` takes.
    """
    hashes = {str(path.relative_to(named)): sha256(path) for path in files}
    write_json(out, {"encoder": named, "files": hashes})


def encode_shard(shard: Path, about: Path, languages: tuple[str, str], out: Path, **more: Any) -> None:
    """Write the vectors of both sides of a shard of a corpus by the encoder that `describe` wrote `about`: <out>.src.npy and .tgt.npy.

    A sentence that is absent or empty has a zero vector. `more`: of `sentence_encoder`. Raises InputError where a file of the
    encoder is another than it was, and as the encoder does.
    """
    description = read_json(about)
    for name, digest in description["files"].items():
        path = Path(description["encoder"]) / name
        if not path.is_file() or sha256(path) != digest:
            raise InputError("is not the file that this run began with", path, remedy=f"remove {about}")
    encoder = sentence_encoder(description["encoder"], **more)
    table, cut = bitext.read_shard(shard, [*SIDES]), 0
    for name, language in zip(SIDES, languages, strict=True):
        side, lines = encoder.side(language, usual=name), [line or "" for line in table[name].to_pylist()]
        with arrays.create(Path(f"{out}.{name}.npy"), (len(lines), encoder.dimension), np.float32) as vectors:
            blocks = (slice(start, start + BLOCK) for start in range(0, len(lines), BLOCK))
            batches = itertools.chain.from_iterable(
                encoder.encode(lines[block], language, side, vectors[block]) for block in blocks
            )
            what = f"encode {out.name}.{name}"
            cut += sum(
                done.cut
                for done in progress(batches, what, total=len(lines), unit="sentences", size=lambda done: done.rows)
            )
    log(f"encode: {count_of(len(table), 'pair')}, {count_of(cut, 'sentence')} cut")


def files_of(named: str | Path) -> list[Path]:
    """The files that decide what the vectors of an encoder are: of its package, or of its folder, sorted."""
    from bitextbench.encoders import e5, muse

    packages = {muse.NAME: muse.PACKAGE, e5.NAME: e5.PACKAGE}
    if named in packages:
        return packages[str(named)].paths()
    kinds = (".json", ".txt", ".model", ".safetensors", ".pt", ".spm")
    return sorted(path for path in Path(named).rglob("*") if path.suffix in kinds or path.name == "text_model")
