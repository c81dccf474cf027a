"""Mined pairs on disk, best first: score, source id, target id, source, target; TSV without a header, TMX, or Parquet."""

import contextlib
import gzip
import lzma
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bitextbench import __version__
from bitextbench.base import names
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.languages import standard
from bitextbench.base.lines import read_lines
from bitextbench.base.outputs import check_output as check_writable
from bitextbench.base.pipes import is_dash, written
from bitextbench.formats import bitext
from bitextbench.formats.records import finite
from bitextbench.formats.sentences import Sentences

COLUMNS = ("score", "src_id", "tgt_id", "src", "tgt")
BLOCK = 65_536
MOST = float(np.finfo(np.float32).max)
_CLEAN = bytes.maketrans(b"\t\r\n", b"   ")  # these characters would end a field or a line
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Mined(NamedTuple):
    """Pairs by descending score: `src`, `tgt` int64 [n], places of sentences; `scores` float32 [n]."""

    src: NDArray[np.int64]
    tgt: NDArray[np.int64]
    scores: NDArray[np.float32]

    def take(self, rows: NDArray) -> "Mined":
        """Some of the pairs: `rows` is an index array or a mask."""
        return Mined(*(column[rows] for column in self))

    def joined(self, other: "Mined") -> "Mined":
        """These pairs, followed by the others."""
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


Languages = tuple[str | None, str | None]


def check_output(path: Path, languages: Languages) -> None:
    """Raises InputError for a name of an unknown format, and OSError for a path that cannot be written.

    TMX needs the languages.
    """
    form, _ = form_of(path)
    if form == ".tmx" and None in languages:
        remedy = "give --src-language and --tgt-language, or write .tsv"
        raise InputError("TMX needs the languages of both sides", path, remedy=remedy)
    if not is_dash(path):
        check_writable(path)


def form_of(path: Path) -> tuple[str, str]:
    """The format (.tsv, .tmx, .parquet) and the packing ("", .gz, .xz, .zst) that a name asks for; "-", standard output, is TSV.
    Raises InputError for others.
    """
    packing = path.suffix if path.suffix in PACKERS else ""
    form = Path(path.name.removesuffix(packing)).suffix or ".tsv"
    if form not in FORMS or (packing and form == ".parquet"):
        raise InputError(
            "the suffix is not that of a format of pairs", path, remedy=f"end it in {', '.join(FORMS)}; or .tsv.gz, say"
        )
    return form, packing


def write(path: Path, mined: Mined, src: Sentences, tgt: Sentences, *, languages: Languages = (None, None)) -> None:
    """Write the pairs as TSV, TMX or Parquet, by the name; of .tsv and .tmx also packed as .gz, .xz or .zst.

    In TSV, tabs in a sentence become spaces. `mined` holds the places of the sentences in `src` and `tgt`. Raises
    InputError for another name.
    """
    write_blocks(path, _blocks(mined, src, tgt), languages=languages)


def write_blocks(path: Path, blocks: Iterator[tuple[Any, ...]], *, languages: Languages = (None, None)) -> None:
    """`write`, of blocks of pairs: scores float32 [n], and four sequences or Arrow columns of n texts, as COLUMNS."""
    form, packing = form_of(path)
    with written(path) as part:
        if form == ".parquet":
            schema = pa.schema(zip(COLUMNS, [pa.float32(), *[pa.string()] * 4], strict=True))
            with bitext.writer(part, schema) as writer:
                for block in blocks:
                    writer.write_table(pa.table(dict(zip(COLUMNS, block, strict=True)), schema=schema))
        else:
            lines = _tmx(blocks, languages) if form == ".tmx" else _tsv(blocks)
            with PACKERS[packing](part) as file:
                file.writelines(lines)


@contextlib.contextmanager
def _gzip(path: Path) -> Iterator[gzip.GzipFile]:
    """Without name and time: the same pairs give the same bytes."""
    with open(path, "wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        yield packed


@contextlib.contextmanager
def _zst(path: Path) -> Iterator[pa.CompressedOutputStream]:
    with open(path, "wb") as file, pa.CompressedOutputStream(file, "zstd") as packed:
        yield packed


PACKERS: dict[str, Callable[[Path], Any]] = {
    "": partial(open, mode="wb"),
    ".gz": _gzip,
    ".xz": partial(lzma.open, mode="wb"),
    ".zst": _zst,
}
FORMS = (".tsv", ".tmx", ".parquet")


def _tsv(blocks: Iterator[tuple[Any, ...]]) -> Iterator[bytes]:
    """The lines of each block."""
    for scores, *texts in blocks:
        fields = [_strings(scores.astype(str)), *(_cleaned(_strings(column)) for column in texts)]
        lines = pc.binary_join_element_wise(*fields, pa.scalar("\t", pa.large_string()))
        ended = pc.binary_join_element_wise(lines, *[pa.scalar(text, pa.large_string()) for text in ("", "\n")])
        yield ended.buffers()[2] if len(scores) else b""


def _strings(column: Any) -> pa.LargeStringArray:
    """Texts as one array: an Arrow column, or any sequence; a null is empty."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else pa.array(column)
    return pc.fill_null(whole.cast(pa.large_string()), "")


def _cleaned(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    valid, bounds, data = texts.buffers()
    clean = pa.py_buffer((data or pa.py_buffer(b"")).to_pybytes().translate(_CLEAN))
    return pa.Array.from_buffers(texts.type, len(texts), [valid, bounds, clean], offset=texts.offset)


def _tmx(blocks: Iterator[tuple[Any, ...]], languages: Languages) -> Iterator[bytes]:
    """TMX 1.4b: a translation unit a pair, with its score and ids."""
    return (text.encode() for text in _units(blocks, languages))


def _units(blocks: Iterator[tuple[Any, ...]], languages: Languages) -> Iterator[str]:
    source, target = (quoteattr(standard(language or "und")) for language in languages)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
    yield f'<header creationtool="bitextbench" creationtoolversion="{__version__}" segtype="sentence" o-tmf="bitextbench"'
    yield f' adminlang="en" srclang={source} datatype="plaintext"/>\n<body>\n'
    for scores, *texts in blocks:
        for score, *fields in zip(scores.astype(str), *(_strings(column).to_pylist() for column in texts), strict=True):
            src_id, tgt_id, src, tgt = (escape(_NO_XML.sub(" ", field)) for field in fields)
            yield f'<tu><prop type="score">{score}</prop><prop type="src_id">{src_id}</prop><prop type="tgt_id">{tgt_id}</prop>'
            yield f"<tuv xml:lang={source}><seg>{src}</seg></tuv><tuv xml:lang={target}><seg>{tgt}</seg></tuv></tu>\n"
    yield "</body>\n</tmx>\n"


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
            table = pq.read_table(names.utf8(path), columns=list(COLUMNS[:3]), page_checksum_verification=True)
        if missing := [name for name in COLUMNS[:3] if name not in table.column_names]:
            raise InputError(f"no column {', '.join(missing)}", path, remedy=f"needed: {', '.join(COLUMNS[:3])}")
        ids = [pc.fill_null(table[name].cast(pa.string()), "").to_pylist() for name in COLUMNS[1:3]]
        rows = list(zip(table["score"].to_pylist(), *ids, strict=True))
    else:
        rows = [tuple(line.split("\t", 3)[:3]) for line in read_lines(path)]
    seen: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows, 1):
        if len(row) < 3:
            raise InputError(
                "fewer than three columns", path, line=number, remedy="needed: score, source id, target id"
            )
        if (first := seen.setdefault((row[1], row[2]), number)) != number:
            raise InputError(f"repeats the pair of line {first}", path, line=number, remedy="remove one of them")
    return Candidates(
        np.array([_score(row[0], path, number) for number, row in enumerate(rows, 1)], np.float32),
        [row[1] for row in rows],
        [row[2] for row in rows],
    )


def _score(text: str | float | None, path: Path, number: int) -> float:
    with contextlib.suppress(ValueError):
        if abs(score := finite(str(text))) <= MOST:
            return score
    what = f"score {text!r} is not a finite number of 32 bits"
    raise InputError(what, path, line=number, remedy="mine again")
