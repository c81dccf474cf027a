"""Reads the rows of fetched data sets: one small parser for each format.

A parser takes the folder of the data set, the two languages and its arguments in the registry. It yields tables of some
thousand rows (columns: FIELDS) in the order of the files, without an object for a row where the format is simple; those
of intricate formats yield rows, which `in_tables` gathers. Places are those of `unpack.open_place`. Lines end at LF
only.
"""

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bitextbench.base.errors import InputError, near
from bitextbench.base.files import existing
from bitextbench.base.lines import UnequalError, decode_arrays, decode_lines, side_by_side
from bitextbench.base.progress import log
from bitextbench.data.registry import DataSet, Parser, entry
from bitextbench.data.unpack import open_place

Languages = tuple[str, str]


Tables = Iterator[pa.Table]
FIELDS = pa.schema([(name, pa.string()) for name in ("src", "tgt", "doc", "label")])
ROWS = 1000  # of a table that is made of rows
AGAIN = "fetch the data set again"  # the remedy of a file that differs from what the registry describes


class Row(NamedTuple):
    """A pair, or a sentence of one side. `label`: "parallel", a kind of noise, or "" where unknown."""

    src: str | None
    tgt: str | None
    doc: str = ""
    label: str = ""


def table(n: int, **columns: pa.Array | str) -> pa.Table:
    """A table of n rows. A column is an array, or a text that all rows share; a missing side is null, doc and label are
    "".
    """
    given = {"doc": "", "label": ""} | columns
    return pa.table([_column(given.get(name), n) for name in FIELDS.names], FIELDS)


def _column(held: pa.Array | str | None, n: int) -> pa.Array:
    if held is None:
        return pa.nulls(n, pa.string())
    return _repeated(held, 1 << (n - 1).bit_length()).slice(0, n) if isinstance(held, str) else held


@functools.lru_cache(maxsize=16)
def _repeated(text: str, n: int) -> pa.Array:
    return pa.repeat(text, n)


def in_tables(rows: Iterable[Row]) -> Tables:
    """The rows as tables of some thousand rows."""
    rows = iter(rows)
    while held := list(islice(rows, ROWS)):
        yield pa.table([pa.array(column, pa.string()) for column in zip(*held, strict=True)], FIELDS)


def by_rows(parser: Callable[..., Iterator[Row]]) -> Callable[..., Tables]:
    """Decorator: a parser that yields rows becomes one that yields tables."""

    @functools.wraps(parser)
    def gathered(*place: Any, **arguments: Any) -> Tables:
        return in_tables(parser(*place, **arguments))

    return gathered


def rows_of(tables: Tables) -> Iterator[Row]:
    """The rows of tables, one by one."""
    return (
        Row(*row) for table in tables for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    )


def read(name: str, languages: Languages, raw: Path) -> Tables:
    """The rows of a registry data set that was fetched into the folder `raw`; `languages` are those of src and tgt.

    A row of a monolingual data set has null on the side of the other language.

    Raises InputError for a language that is not in the data set, and for a missing file. Text that differs from the
    registry is one, too, with file and line: unequal sides, wrong columns, invalid UTF-8, a damaged archive.
    """
    return parse(entry(name), languages, raw)


def parse(data_set: DataSet, languages: Languages, raw: Path) -> Tables:
    """`read`, for an entry of the registry."""
    if not set(languages) & set(data_set.langs) or (
        len(data_set.langs) > 1 and not set(languages) <= set(data_set.langs)
    ):
        has = ", ".join(data_set.langs) or "no text"
        raise InputError(
            f"this data set has no {'-'.join(languages)} text",
            data_set.name,
            remedy=f"take another one, or other languages; it has {has}",
        )
    for file in data_set.files:
        if not (raw / file.path).exists():
            raise InputError("no such file", raw / file.path, remedy=f"fetch {data_set.name} first")
    for parser in data_set.parsers:
        function = parser_function(parser, data_set.name)
        yield from function(raw, languages, **parser.arguments)


def parser_function(parser: Parser, where: str) -> Callable[..., Tables]:
    """The function that a registry entry names. Raises InputError for an unknown name and wrong arguments."""
    if parser.name not in PARSERS:
        raise InputError(f"unknown parser {parser.name!r}", where, remedy=near(parser.name, PARSERS))
    function = PARSERS[parser.name]
    try:
        inspect.signature(function).bind(None, None, **parser.arguments)
    except TypeError as error:
        known = ", ".join(list(inspect.signature(function).parameters)[2:])
        raise InputError(f"parser {parser.name}: {error}", where, remedy=f"its arguments: {known}") from None
    return function


# ---- the parsers


def aligned(raw: Path, languages: Languages, texts: Mapping[str, str], docs: str = "") -> Tables:
    """Two texts; line n of one is the translation of line n of the other.

    Line n of `docs`, an optional third text, begins with the name of the document, up to white space.
    """
    places = [*(texts[language] for language in languages), *([docs] if docs else [])]
    for src, tgt, *names in _together(raw, places):
        doc = pa.array([line.split(maxsplit=1)[0] for line in names[0].to_pylist()], pa.string()) if names else ""
        yield table(len(src), src=src, tgt=tgt, doc=doc)


@by_rows
def bucc(raw: Path, languages: Languages, texts: Mapping[str, str], gold: str) -> Iterator[Row]:
    """A comparable corpus of BUCC: `id<TAB>sentence` of each language, and the ids of pairs, in the order of `texts`.

    First come the pairs, with the label parallel, then the other sentences one by one, with None on the other side. Of
    the pairs that share a sentence only the first is kept; the log counts the others. Memory: both texts.
    """
    sides = {language: dict(cells for _, cells in _cells(raw, place, 2)) for language, place in texts.items()}
    paired: dict[str, set[str]] = {language: set() for language in texts}
    dropped = 0
    for number, names in _cells(raw, gold, 2):
        pair = dict(zip(texts, names, strict=True))
        if unknown := [name for language, name in pair.items() if name not in sides[language]]:
            what = f"the text of this pair has no sentence with the id {unknown[0]!r}"
            raise InputError(what, raw / gold, line=number, remedy=AGAIN)
        if any(name in paired[language] for language, name in pair.items()):
            dropped += 1
            continue
        for language, name in pair.items():
            paired[language].add(name)
        src, tgt = (sides[language][pair[language]] for language in languages)
        yield Row(src, tgt, label="parallel")
    if dropped:
        log(f"{raw}: {dropped:,} pairs left out, which share a sentence with another pair")
    for language in languages:
        for name, sentence in sides[language].items():
            if name not in paired[language]:
                yield _one_side(languages, language, sentence)


@by_rows
def joined(raw: Path, languages: Languages, by: str, bitexts: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """N-way text from bitexts: sentences of two languages that translate the same sentence of a third, `by`.

    `bitexts` has, for each language, the parser (`name` and arguments) of its bitext with `by`. Of several translations
    of a sentence, the first is taken; empty lines translate nothing. Memory: the text of one bitext.
    """
    src, tgt = (_first_translations(raw, (by, language), **bitexts[language]) for language in languages)
    others = dict(tgt)
    yield from (Row(text, others[pivot]) for pivot, text in src if pivot in others)


def _first_translations(
    raw: Path, languages: Languages, name: str, **arguments: Any
) -> Iterator[tuple[str | None, str | None]]:
    """(sentence, its first translation) for each distinct sentence of the first language that has one."""
    seen = set()
    for row in rows_of(PARSERS[name](raw, languages, **arguments)):
        if row.src not in seen and all(side and side.strip() for side in row[:2]):
            seen.add(row.src)
            yield row.src, row.tgt


def mono(raw: Path, languages: Languages, language: str, text: str) -> Tables:
    """One sentence a line, in one language."""
    side = "src" if languages[0] == language else "tgt"
    for (lines,) in _together(raw, [text]):
        yield table(len(lines), **{side: lines})


@by_rows
def csv_first_comma(raw: Path, languages: Languages, language: str, text: str) -> Iterator[Row]:
    """A header, then `language,sentence` without quoting: the line is split at its first comma (Leipzig news)."""
    for number, line in enumerate(_lines(raw, text), 1):
        head, comma, sentence = line.partition(",")
        if number == 1:
            continue
        if not comma or head != language:
            raise InputError(f"line does not begin with '{language},'", raw / text, line=number, remedy=AGAIN)
        yield _one_side(languages, language, sentence)


def tsv(
    raw: Path,
    languages: Languages,
    text: str,
    columns: Sequence[str],
    header: bool = False,
    labels: Mapping[str, str] | None = None,
) -> Tables:
    """Columns between tabs, without quoting. `columns` names all of them; the names of the sides are languages.

    `labels` maps the values of the column `label` to labels of rows.
    """
    src, tgt = (columns.index(language) for language in languages)
    done = 0
    for (lines,) in _together(raw, [text]):
        cells = pc.split_pattern(lines, "\t")
        if len(wrong := np.flatnonzero(pc.list_value_length(cells).to_numpy() != len(columns))):
            number = done + int(wrong[0]) + 1
            raise _wrong_columns(len(cells[wrong[0]]), len(columns), raw / text, number)
        start = 1 if header and not done else 0
        done += len(lines)
        cells = cells.slice(start)
        label: pa.Array | str = ""
        if labels is not None:
            marks = pc.list_element(cells, columns.index("label")).to_pylist()
            if unknown := [place for place, mark in enumerate(marks) if mark not in labels]:
                number = done - len(marks) + unknown[0] + 1
                what = f"the label {marks[unknown[0]]!r} is none of {', '.join(labels)}"
                raise InputError(
                    what, raw / text, line=number, remedy=f"{AGAIN}, or add the label to its registry entry"
                )
            label = pa.array([labels[mark] for mark in marks], pa.string())
        yield table(len(cells), src=pc.list_element(cells, src), tgt=pc.list_element(cells, tgt), label=label)


@by_rows
def sgm(raw: Path, languages: Languages, texts: Mapping[str, str]) -> Iterator[Row]:
    """Two texts of WMT or WIT3, with `<doc docid="...">`, and one `<seg>` a line.

    Nothing is unescaped, and no XML parser is used, as in sacreBLEU: these files of WMT contain a bare &.
    """
    places = [texts[language] for language in languages]
    sides = [list(_segments(raw, place)) for place in places]
    _check_equal(raw, places, [len(side) for side in sides])
    for (src_doc, src), (tgt_doc, tgt) in zip(*sides, strict=True):
        if src_doc != tgt_doc:
            raise InputError(
                f"document {tgt_doc!r} stands where {src_doc!r} stands in the other text",
                raw / places[1],
                remedy=AGAIN,
            )
        yield Row(src, tgt, doc=src_doc)


@by_rows
def osis(raw: Path, languages: Languages, books: Mapping[str, str]) -> Iterator[Row]:
    """A Bible in OSIS XML, one file a book: verses with equal ids, in chapters with the same ids in both editions.

    `books` has a file pattern for each language. Where two editions number a chapter differently, equal ids are
    different verses: the whole chapter is left out, and counted in the log. doc = the chapter.
    """
    src, tgt = (_chapters(raw, books[language], language) for language in languages)
    same = [name for name in src if list(src[name]) == list(tgt.get(name, ()))]
    pairs = [(name, src[name][verse], tgt[name][verse]) for name in same for verse in src[name]]
    full = [Row(src_verse, tgt_verse, doc=name) for name, src_verse, tgt_verse in pairs if src_verse and tgt_verse]
    log(
        f"{raw}: {len(same):,} of {len(src.keys() | tgt.keys()):,} chapters have the same verse numbers;"
        f" {len(pairs) - len(full):,} of their {len(pairs):,} verses are empty in one language and left out"
    )
    yield from full


@by_rows
def captions(raw: Path, languages: Languages, texts: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    """Independent descriptions of the same images (Multi30k, task 2): comparable, not parallel.

    Text i of one language is paired with text i of the other, line by line, which is image by image. doc = the number
    of the image.
    """
    sides = [texts[language] for language in languages]
    together = _together(raw, [*sides[0], *sides[1]])
    each = (lines for block in together for lines in zip(*(column.to_pylist() for column in block), strict=True))
    for image, lines in enumerate(each, 1):
        for src, tgt in zip(lines[: len(sides[0])], lines[len(sides[0]) :], strict=True):
            yield Row(src, tgt, doc=f"image {image}", label="independent")


@by_rows
def mlqe(raw: Path, languages: Languages, pairs: str, hter: str, docs: str, machine_from: float) -> Iterator[Row]:
    """MLQE-PE, English to German: machine translations, and the share of each that a human changed (HTER, 0 to 1).

    The text is that of the direct assessments, which is not tokenised; HTER is of the post-editing of the same
    sentences. Labels: "parallel" for HTER 0, "machine" from `machine_from` on, "" between.
    """
    columns = ["index", "en", "de", "scores", "mean", "z_scores", "z_mean", "model_scores"]
    src, tgt = (columns.index(language) for language in languages)
    assessed = [cells for _, cells in _cells(raw, pairs, len(columns))][1:]  # both have a header, HTER has none
    articles = list(_lines(raw, docs))[1:]
    edits = list(_lines(raw, hter))
    _check_equal(raw, [pairs, docs, hter], [len(assessed), len(articles), len(edits)])
    for number, (cells, article, edit) in enumerate(zip(assessed, articles, edits, strict=True), 1):
        try:
            rate = float(edit)
        except ValueError:
            what = f"the share of changes (HTER) {edit!r} is not a number"
            raise InputError(what, raw / hter, line=number, remedy=AGAIN) from None
        label = "parallel" if rate == 0 else "machine" if rate >= machine_from else ""
        yield Row(cells[src], cells[tgt], doc=article, label=label)


PARSERS: dict[str, Callable[..., Tables]] = {
    function.__name__: function
    for function in (aligned, joined, bucc, mono, csv_first_comma, tsv, sgm, osis, captions, mlqe)
}


# ---- shared parts


def _lines(raw: Path, place: str) -> Iterator[str]:
    with open_place(raw, place) as stream:
        yield from decode_lines(stream, raw / place)


def _cells(raw: Path, place: str, width: int) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells of a tab-separated text."""
    for number, line in enumerate(_lines(raw, place), 1):
        cells = line.split("\t")
        if len(cells) != width:
            raise _wrong_columns(len(cells), width, raw / place, number)
        yield number, cells


def _wrong_columns(found: int, wanted: int, path: Path, line: int) -> InputError:
    return InputError(f"line has {found} columns instead of {wanted}", path, line=line, remedy=AGAIN)


def _together(raw: Path, places: Sequence[str]) -> Iterator[tuple[pa.StringArray, ...]]:
    """The lines of several texts in parallel. Raises InputError at the end if their numbers of lines differ."""
    try:
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(open_place(raw, place)) for place in places]
            yield from side_by_side(
                [decode_arrays(stream, raw / place) for stream, place in zip(streams, places, strict=True)]
            )
    except UnequalError as error:
        _check_equal(raw, places, error.counts)


def _check_equal(raw: Path, places: Sequence[str], counts: Sequence[int]) -> None:
    for place, count in zip(places, counts, strict=True):
        if count != counts[0]:
            what = f"the rows of this file and of {raw / places[0]} belong together, but they are {count:,} and {counts[0]:,}"
            raise InputError(what, raw / place, remedy=AGAIN)


def _one_side(languages: Languages, language: str, text: str) -> Row:
    return Row(text, None) if languages[0] == language else Row(None, text)


def _segments(raw: Path, place: str) -> Iterator[tuple[str, str]]:
    """(document, text) of the segments of an SGML file."""
    doc = ""
    for number, line in enumerate(_lines(raw, place), 1):
        if match := re.search(r'<doc\b[^>]*\bdocid="([^"]*)"', line, re.IGNORECASE):
            doc = match[1]
        if match := re.search(r"<seg\b[^>]*>(.*)</seg>", line, re.IGNORECASE):
            yield doc, match[1].strip()
        elif re.search(r"</?seg\b", line, re.IGNORECASE):
            raise InputError("a segment does not end on its line", raw / place, line=number, remedy=AGAIN)


def _chapters(raw: Path, pattern: str, language: str) -> dict[str, dict[str, str]]:
    """{"Gen.1": {"Gen.1.1": text}} of the books that match, in the order of their file names."""
    chapters: dict[str, dict[str, str]] = {}
    for path in sorted(raw.glob(pattern)):
        try:
            verses = ElementTree.parse(existing(path)).iterfind(".//{*}verse")
        except ElementTree.ParseError as error:
            raise InputError(f"the file is not XML ({error})", path, remedy=AGAIN) from None
        for verse in verses:
            name = verse.get("osisID", "")
            chapters.setdefault(name.rpartition(".")[0], {})[name] = _clean(_text(verse), language)
    return chapters


def _text(element: ElementTree.Element) -> str:
    """The text of a verse without notes and titles, which are elements of their own."""
    inner = (
        ("" if child.tag.endswith(("}note", "}title")) else _text(child)) + (child.tail or "") for child in element
    )
    return (element.text or "") + "".join(inner)


def _clean(verse: str, language: str) -> str:
    """A verse without additions of editors: psalm titles, brackets round words, other numberings, reference marks."""
    verse = re.sub(r"\{[^}]*\}|\^\^.*?\^\^|\(\d+-\d+\)", " ", verse)
    verse = re.sub(r"[\[\]*+^{}]", "", verse)
    if language == "zh":
        verse = re.sub(r"\s", "", verse).replace("\u5187", "\u6709")  # this edition writes the former for the latter
    verse = " ".join(verse.split())
    return re.sub(r"\s+([,.;:!?])", r"\1", verse) if language in ("de", "en") else verse
