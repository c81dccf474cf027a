"""What people give to the commands, as columns of text: lines, or rows of Parquet, JSON lines, TMX and OPUS' Moses zips.

| name ends in | row n |
|---|---|
| anything that is no other format | line n: a sentence, or fields between tabs |
| .parquet | row n; columns by name, a field of a struct as `translation.de` |
| .jsonl, .ndjson, .json | line n, an object; fields by name in the same way |
| .tmx | unit n: the segments in the languages |
| .zip | line n of the members whose names end in the languages, as `Books.de-en.de` |

Text, JSON lines and TMX may be packed: .gz, .bz2, .xz, .zst. `-` is standard input, where the first bytes tell TMX and
JSON lines from text.

All are held to the rules of text: UTF-8 without NUL; a null, and a sentence of over MAX_LINE_BYTES, count as empty; line
breaks inside a sentence become spaces. What breaks them is an error, or with `skip_bad` empty and counted. The log says
what was counted, once the input is read.
"""

import io
import itertools
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bitextbench.base import names
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.languages import matching
from bitextbench.base.lines import (
    BOM,
    MAX_LINE_BYTES,
    Limits,
    UnequalError,
    decode_arrays,
    decode_lines,
    side_by_side,
)
from bitextbench.base.packed import COMPRESSED, Guarded, damage, open_bytes
from bitextbench.base.pipes import STDIN, is_dash, read_once, standard_input
from bitextbench.base.progress import count_of, log
from bitextbench.formats import bitext, tmx
from bitextbench.formats.repair import repaired

FORMS = {".parquet": "parquet", ".jsonl": "json", ".ndjson": "json", ".json": "json", ".tmx": "tmx", ".zip": "zip"}
# formats that are not read, and are no lines of text
OTHERS = [
    ".arrow", ".avro", ".bin", ".br", ".csv", ".db", ".doc", ".docx", ".epub", ".feather", ".h5", ".htm", ".html",
    ".lz", ".lz4", ".lzma", ".npy", ".npz", ".ods", ".odt", ".orc", ".pdf", ".pickle", ".pkl", ".po", ".pptx",
    ".rar", ".rtf", ".safetensors", ".sgm", ".sgml", ".sqlite", ".srt", ".tar", ".tgz", ".toml", ".vtt", ".xlf",
    ".xliff", ".xls", ".xlsx", ".xml", ".yaml", ".yml", ".z", ".7z",
]  # fmt: skip
REMEDY = "give lines of text (.txt, .tsv, .de), .jsonl or .tmx (each plain or .gz, .bz2, .xz, .zst), .parquet, or a Moses .zip"
BEGINS = {b"PAR1": "parquet", b"PK\x03\x04": "zip", b"<?xml": "tmx", b"<tmx": "tmx", b'{"': "json"}
NAMES = {"src": ("src", "source"), "tgt": ("tgt", "target", "trg")}  # of columns
JSON_BYTES = 16 * MAX_LINE_BYTES  # of a line: two sentences, escaped, and what else an object holds
SHOWN = 10  # bad lines in the log
_BREAKS = re.compile(r"\s*[\r\n]+\s*")


class Reading(NamedTuple):
    """How to read.

    - `skip_bad`: read bad lines as empty, and count them.
    - `repair`: mend the text (`formats.repair`).
    - `quiet`: write no log, as in a second pass.
    - `name`: the name of the input in messages, where it is a copy.
    """

    skip_bad: bool = False
    repair: bool = False
    quiet: bool = False
    name: str = ""


PLAIN = Reading()


class Wanted(NamedTuple):
    """Which columns to read.

    - `sides`: src, tgt or both.
    - `languages`: those of the sides; None if unknown.
    - `columns`: names, or numbers from 1 in lines between tabs, of the sides and perhaps of ids; () for the usual ones.
    - `ids`: whether to look for ids.
    - `whole`: whether to keep whole lines of text with tabs, as `line`.
    """

    sides: Sequence[str]
    languages: Sequence[str | None]
    columns: Sequence[str] = ()
    ids: bool = False
    whole: bool = False

    @property
    def names(self) -> list[str]:
        """The names of the columns that are asked for."""
        return [*self.sides, "id"][: len(self.columns) or len(self.sides)]


class Input:
    """A text or table that is read once, from its beginning; `report` then logs what was counted.

    `form`: a value of FORMS, or lines; known once reading has begun. `too_long` and `bad`: the numbers of lines that were, and
    of the latter what is wrong; both have empty text.
    """

    def __init__(self, path: str | Path, reading: Reading = PLAIN) -> None:
        self.path, self.reading = Path(path), reading
        self.name = Path(reading.name) if reading.name else STDIN if is_dash(path) else self.path
        self.too_long: set[int] = set()
        self.bad: dict[int, str] = {}
        self.breaks, self.form = 0, ""
        self.mended: Counter[str] = Counter()
        if not is_dash(path):
            existing(self.path)

    def tables(self, wanted: Wanted) -> Iterator[pa.Table]:
        """Tables of some thousand rows: a column for each side, `id` where there are ids, all texts; of lines with tabs also
        `line`, the whole line, where `wanted.whole`. Shorter ones have empty fields at the end, as many as the first good
        line has more.

        Raises InputError for a column that is not there or no text, and for what breaks the rules of text.
        """
        with ExitStack() as stack:
            form, stream = self._opened(stack)
            self.form = form
            read: dict[str, Callable[..., Iterator[pa.Table]]] = {
                "parquet": self._parquet,
                "json": self._json,
                "tmx": self._tmx,
                "zip": self._zip,
                "lines": self._lines,
            }
            for table in read[form](stream, wanted):
                yield self._repaired(table) if self.reading.repair else table

    def _opened(self, stack: ExitStack) -> tuple[str, Any]:
        """The form of the input, and a stream of its bytes, if the form is read from one."""
        form = form_of(self.path)
        if form in ("parquet", "zip") and not read_once(self.path):
            return form, None
        stream = stack.enter_context(closing(standard_input() if is_dash(self.path) else open_bytes(self.path)))
        begin = stream.peek(8).removeprefix(BOM).lstrip()  # type: ignore[attr-defined]
        found = next((kind for magic, kind in BEGINS.items() if begin.startswith(magic)), form)
        unnamed = read_once(self.path) or bool(self.reading.name)  # a copy has no suffix of its own
        if found in ("parquet", "zip") and not (unnamed and self.reading.name):
            remedy = "name a file" if unnamed else f"call it {self.name.name}.{found}"
            raise InputError(f"is {found.title()}, not text", self.name, remedy=remedy)
        if form == "lines" and found != "lines":
            if unnamed:
                return found, stream
            if found == "tmx":
                raise InputError(
                    "is XML, not lines of text", self.name, remedy=f"call it {self.name.name}.tmx, if it is one"
                )
        return form, stream

    def report(self, fate: str = "counted as empty") -> None:
        """Log what was counted; `fate`: of lines that are too long."""
        if self.reading.quiet:
            return
        if self.too_long:
            first = min(self.too_long)
            what = count_of(len(self.too_long), "line is", "lines are")
            log(f"{self.name}: {what} longer than {MAX_LINE_BYTES:,} bytes, first line {first:,}; {fate}")
        if self.bad:
            shown = "; ".join(f"line {number:,}: {what}" for number, what in itertools.islice(self.bad.items(), SHOWN))
            count = count_of(len(self.bad), "bad line counts", "bad lines count")
            log(f"{self.name}: {count} as empty: {shown}{'; ...' if len(self.bad) > SHOWN else ''}")
        if self.breaks:
            log(f"{self.name}: {count_of(self.breaks, 'sentence')} with line breaks, which became spaces")
        if self.mended:
            log(f"{self.name}: lines mended: {', '.join(f'{count:,} {kind}' for kind, count in self.mended.items())}")

    def wrong(self, number: int, what: str, remedy: str) -> None:
        """Count a bad line, or raise InputError."""
        if not self.reading.skip_bad:
            raise InputError(what, self.name, line=number, remedy=remedy)
        self.bad[number] = what

    def _repaired(self, table: pa.Table) -> pa.Table:
        for name in set(table.column_names) - {"id", "line"}:
            mended = [repaired(chunk, self.mended) for chunk in table[name].chunks]
            table = table.set_column(table.column_names.index(name), name, pa.chunked_array(mended, pa.string()))
        return table

    # ---- lines

    def _limits(self, max_bytes: int) -> Limits:
        return Limits(max_bytes, self.too_long, self.bad if self.reading.skip_bad else None, self.reading.quiet)

    def arrays(self, stream: IO[bytes]) -> Iterator[pa.StringArray]:
        """The lines of a stream of text."""
        return decode_arrays(stream, self.name, self._limits(MAX_LINE_BYTES))

    def _lines(self, stream: IO[bytes], wanted: Wanted) -> Iterator[pa.Table]:
        """Lines, or columns of fields between tabs; all of an empty line are empty."""
        if len(wanted.sides) == 1 and not wanted.columns:
            for lines in self.arrays(stream):
                yield pa.table({wanted.sides[0]: lines})
            return
        columns = wanted.columns
        if not all(str(column).isdecimal() and int(column) for column in columns):
            given = ",".join(map(str, columns))
            raise InputError(
                f"lines between tabs have no column names ({given})", self.name, remedy="number them from 1, as in 1,2"
            )
        places, done, width = [int(column) - 1 for column in columns], 0, 0
        for lines in self.arrays(stream):
            places = places or self._usual_places(lines)
            filled = pc.if_else(pc.equal(lines, ""), "\t" * max(places), lines)
            fields = pc.split_pattern(filled, "\t")
            lengths = pc.list_value_length(fields)
            if len(lines) and pc.min(lengths).as_py() <= max(places):
                short = pc.less_equal(lengths, max(places))
                for place in pc.indices_nonzero(short).to_pylist():
                    remedy = f"column {max(places) + 1} is asked for: separate fields by tabs, or say which columns"
                    remedy += ", or skip bad lines (--skip-bad)" if done + place else ""
                    self.wrong(done + place + 1, f"line has {count_of(lengths[place].as_py(), 'column')}", remedy)
                fields = pc.split_pattern(pc.if_else(short, "\t" * max(places), filled), "\t")
            named = {name: pc.list_element(fields, place) for name, place in zip(wanted.names, places, strict=True)}
            if wanted.whole:
                good = lengths.filter(pc.and_(pc.greater(lengths, max(places)), pc.not_equal(lines, "")))
                width = width or (good[0].as_py() if len(good) else 0)
                named["line"] = _widened(lines, width or max(places) + 1)
            yield pa.table(named)
            done += len(lines)

    def _usual_places(self, lines: pa.Array) -> list[int]:
        """Where the two texts of a line are: in the first two fields, or in the last two of what `mine` wrote."""
        fields = next((line.as_py() for line in lines if line.as_py()), "").split("\t")
        if len(fields) == 5 and _is_number(fields[0]) and not any(" " in field for field in fields[1:3]):
            if not self.reading.quiet:
                log(f"{self.name}: lines of score, two ids and two texts, as `mine` writes them: columns 4,5")
            return [3, 4]
        return [0, 1]

    # ---- rows

    def _parquet(self, _: None, wanted: Wanted) -> Iterator[pa.Table]:
        done = 0
        with (
            bitext.reading(self.name, "make the file again"),
            pq.ParquetFile(names.utf8(self.path), pre_buffer=False) as file,
        ):
            schema = file.schema_arrow
            structs = [field for field in schema if pa.types.is_struct(field.type)]
            inner = [
                f"{field.name}.{field.type.field(at).name}" for field in structs for at in range(field.type.num_fields)
            ]
            chosen = self._chosen([*schema.names, *inner], wanted)
            for batch in file.iter_batches(bitext.BLOCK, columns=[*chosen.values()]):
                columns = {
                    name: self._column(_field(batch, place), name, place, done) for name, place in chosen.items()
                }
                yield pa.table(columns)
                done += len(batch)

    def _json(self, stream: IO[bytes], wanted: Wanted) -> Iterator[pa.Table]:
        chosen: dict[str, str] = {}
        lines, done = decode_lines(stream, self.name, self._limits(JSON_BYTES)), 0
        while some := [*itertools.islice(lines, bitext.BLOCK)]:
            rows = [self._object(text, number) for number, text in enumerate(some, done + 1)]
            if not chosen and (first := next(filter(None, rows), None)):
                chosen = self._chosen([*_paths(first)], wanted)
            values = {
                name: [self._value(row, place, number) for number, row in enumerate(rows, done + 1)]
                for name, place in (chosen or dict.fromkeys(wanted.names, "")).items()
            }
            yield pa.table({name: self._texts(column, done) for name, column in values.items()})
            done += len(some)

    def _object(self, text: str, number: int) -> dict[str, Any]:
        """The object in a line of JSON; {} for an empty line, and a bad one."""
        if not text.strip(" \t\r"):
            return {}
        try:
            held = json.loads(text)
        except (ValueError, RecursionError) as error:
            self.wrong(number, f"not JSON ({getattr(error, 'msg', error)})", "write one object a line")
            return {}
        if not isinstance(held, dict):
            self.wrong(number, "no JSON object", "write one object a line (of an array: jq -c '.[]')")
            return {}
        return held

    def _value(self, row: dict[str, Any], place: str, number: int) -> bytes | None:
        """The text of a field, null for null; an empty row has none."""
        if not row:
            return None
        value: Any = row.get(place, row)
        if value is row:
            for part in place.split("."):
                value = value.get(part, row) if isinstance(value, dict) else row
        if value is row:
            self.wrong(number, f"no field {place}", "give each line the same fields")
            return None
        if isinstance(value, int) and not isinstance(value, bool) and place.split(".")[-1] == "id":
            value = str(value)
        if value is not None and not isinstance(value, str):
            self.wrong(
                number, f"field {place} is {json.dumps(value)[:40]}, not text", "give each line a text there, or null"
            )
            return None
        return None if value is None else value.encode("utf-8", "surrogatepass")

    def _tmx(self, stream: IO[bytes], wanted: Wanted) -> Iterator[pa.Table]:
        if None in wanted.languages:
            raise InputError(
                "TMX holds several languages", self.name, remedy="say which: --src-language, --tgt-language"
            )
        if wanted.columns:
            raise InputError("TMX has no columns", self.name, remedy="leave out the option that names columns")
        codes, done, missing = [str(code) for code in wanted.languages], 0, Counter[str]()
        held = tmx.Units(codes, self.name)
        for units in tmx.units(stream, held):
            sides = [*zip(*units, strict=True)] or [()] * len(codes)
            missing.update({code: side.count(None) for code, side in zip(codes, sides, strict=True)})
            encoded = ([text and text.encode() for text in side] for side in sides)
            yield pa.table({name: self._texts(side, done) for name, side in zip(wanted.sides, encoded, strict=True)})
            done += len(units)
        for code, count in (+missing).items() if not self.reading.quiet else ():
            log(f"{self.name}: {count:,} of {count_of(done, 'unit')} without text in {code}, which counts as empty")
        if held.further and not self.reading.quiet:
            log(f"{self.name}: {count_of(held.further, 'further text')} of units in {' and '.join(codes)} left out")

    def _zip(self, _: None, wanted: Wanted) -> Iterator[pa.Table]:
        if None in wanted.languages:
            raise InputError(
                "a zip holds several languages", self.name, remedy="say which: --src-language, --tgt-language"
            )
        if wanted.columns:
            raise InputError("a Moses zip has no columns", self.name, remedy="leave out the option that names columns")
        with damage(self.name), zipfile.ZipFile(self.path) as archive, ExitStack() as stack:
            texts = [
                Input(self.path, self.reading._replace(name=f"{self.name}/{member}"))
                for member in _members(archive, [str(code) for code in wanted.languages], self.name)
            ]
            parts = [text.name.relative_to(self.name) for text in texts]
            streams = [stack.enter_context(_member(archive, str(part), self.name)) for part in parts]
            sides = [text.arrays(stream) for text, stream in zip(texts, streams, strict=True)]
            for columns in side_by_side_of(sides, [text.name for text in texts]):
                yield pa.table(dict(zip(wanted.sides, columns, strict=True)))
            for text in texts:
                text.report()

    def _chosen(self, has: Sequence[str], wanted: Wanted) -> dict[str, str]:
        """The column of each side, and of ids where there are some. Raises InputError for none, and one that is there twice."""
        alone = len(wanted.sides) == 1
        names = dict(zip([*wanted.sides, "id"], wanted.columns, strict=False))
        for side, language in zip(wanted.sides, wanted.languages, strict=True) if not names else ():
            usual = [name for name in _usual(side, language, has, alone=alone) if name in has]
            if not usual:
                remedy = f"it has {', '.join(has) or 'no fields'}: say which are source and target"
                what = f"no column {'text or ' if alone else ''}{side}"
                raise InputError(what, self.name, remedy=remedy)
            names[side] = usual[0]
        if wanted.ids and not wanted.columns and "id" in has:
            names["id"] = "id"
        for name in names.values():
            if name not in has:
                remedy = f"it has {', '.join(has)}: say which are source and target"
                raise InputError(f"no column {name}", self.name, remedy=remedy)
            if list(has).count(name) > 1:
                raise InputError(f"has two columns {name}", self.name, remedy="rename one of them")
        return names

    def _column(self, array: pa.Array, name: str, place: str, done: int) -> pa.StringArray:
        """A column of Parquet as text by the rules."""
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        number = pa.types.is_integer(kind) and name == "id"
        if pa.types.is_null(kind) or number:
            return pc.fill_null(array.cast(pa.string()), "")
        texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_binary)
        if not any(test(kind) for test in (*texts, pa.types.is_large_binary, pa.types.is_binary_view)):
            raise InputError(f"column {place} is {kind}, not text", self.name, remedy="name a column of text")
        return self._texts(array.cast(kind).cast(pa.large_binary()), done)

    def _texts(self, values: Any, done: int) -> pa.StringArray:
        """Bytes of rows as text by the rules; `done`: the rows before."""
        binary = pc.fill_null(values if isinstance(values, pa.Array) else pa.array(values, pa.large_binary()), b"")
        try:
            text = binary.cast(pa.string())  # which checks that it is UTF-8
            plain = not any(pc.any(pc.match_substring(text, sign)).as_py() for sign in ("\0", "\n", "\r"))
            if plain and (pc.max(pc.binary_length(text)).as_py() or 0) <= MAX_LINE_BYTES:
                return text
        except pa.ArrowInvalid:
            pass
        return pa.array(
            [self._text(value, number) for number, value in enumerate(binary.to_pylist(), done + 1)], pa.string()
        )

    def _text(self, value: bytes, number: int) -> str:
        """One value by the rules."""
        if len(value) > MAX_LINE_BYTES:
            self.too_long.add(number)
            return ""
        try:
            text = value.decode()
        except UnicodeDecodeError as error:
            self.wrong(number, f"invalid UTF-8 at byte {error.start + 1}", "make the file again, of text in UTF-8")
            return ""
        if "\0" in text:
            self.wrong(number, "holds a NUL byte", "remove it")
            return ""
        if "\n" in text or "\r" in text:
            self.breaks += 1
            return _BREAKS.sub(" ", text).strip()
        return text


def check_filled(path: Path) -> None:
    """Raises InputError for an empty file of lines, plain or packed: a cheap look before an encoder is loaded."""
    if read_once(path) or not path.is_file() or form_of(path) in ("parquet", "zip"):
        return
    with open_bytes(path) as file:
        if not file.read(1):
            raise InputError("has no sentences", path, remedy="give a text with at least one sentence")


def form_of(path: str | Path) -> str:
    """The form of an input, by its name: a value of FORMS, or lines. Raises InputError for formats that are not read."""
    name = Path(path).name
    packing = next((suffix for suffix in COMPRESSED if name.lower().endswith(suffix)), "")
    suffix = ".tgz" if packing == ".tgz" else Path(name[: len(name) - len(packing)]).suffix.lower()
    form = FORMS.get(suffix, "lines")
    if suffix in OTHERS or (packing and form in ("parquet", "zip")):
        raise InputError(
            f"{suffix}{packing if suffix != packing else ''} is not a format that can be read", path, remedy=REMEDY
        )
    return form


def _usual(side: str, language: str | None, has: Sequence[str], *, alone: bool) -> list[str]:
    """The names that a side's column has usually, the likeliest first."""
    names = ["text", *NAMES[side]] if alone else [*NAMES[side]]
    for prefix in ("translation.", ""):
        inner = [name.removeprefix(prefix) for name in has if name.startswith(prefix) and name != "id"]
        if language and (found := matching(language, [name for name in inner if "." not in name])):
            names.append(prefix + found)
    return [*names, "sentence"] if alone else names


def _widened(lines: pa.StringArray, width: int) -> pa.StringArray:
    """The lines, with empty fields at the end of those that have fewer than `width`."""
    missing = pc.subtract(width - 1, pc.count_substring(lines, "\t"))
    return pc.binary_join_element_wise(lines, pc.binary_repeat("\t", pc.max_element_wise(missing, 0)), "")


def _field(batch: pa.RecordBatch, place: str) -> pa.Array:
    """A column, or a field of a struct."""
    if place in batch.schema.names:
        return batch[place]
    outer, _, inner = place.partition(".")
    return pc.struct_field(batch[outer], inner)


def _paths(row: dict[str, Any]) -> Iterator[str]:
    """The names of an object's fields, and of those of objects in it."""
    for name, value in row.items():
        yield name
        if isinstance(value, dict):
            yield from (f"{name}.{inner}" for inner in value)


def _members(archive: zipfile.ZipFile, languages: Sequence[str], name: Path) -> list[str]:
    """The members of a Moses zip that hold the languages: those of one stem."""
    held: dict[str, dict[str, str]] = {}
    for member in archive.namelist():
        stem, _, code = member.rpartition(".")
        held.setdefault(stem, {})[code] = member
    found = [
        [codes[str(matching(language, codes))] for language in languages]
        for stem, codes in held.items()
        if stem and all(matching(language, codes) for language in languages)
    ]
    if len(found) != 1:
        what = f"{len(found) or 'no'} texts in {' and '.join(languages)}"
        remedy = f"it holds {', '.join(archive.namelist()[:10])}" + ("; unpack one of them" if found else "")
        raise InputError(what, name, remedy=remedy)
    return found[0]


def _member(archive: zipfile.ZipFile, member: str, name: Path) -> IO[bytes]:
    info = archive.getinfo(member)
    if info.flag_bits & 1:
        raise InputError(f"member {member!r} is encrypted", name, remedy="unpack it first")
    return io.BufferedReader(Guarded(archive.open(info), name, info.compress_size))


def side_by_side_of(
    sides: Sequence[Iterator[pa.StringArray]], names: Iterable[Any]
) -> Iterator[tuple[pa.StringArray, ...]]:
    """Blocks of rows of several texts. Raises InputError if they differ in their numbers of lines."""
    try:
        yield from side_by_side(sides)
    except UnequalError as error:
        totals = [f"{name} has {count:,}" for name, count in zip(names, error.counts, strict=True)]
        what = f"the two sides differ in lines: {' and '.join(totals)}"
        raise InputError(what, remedy="align them line by line") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
