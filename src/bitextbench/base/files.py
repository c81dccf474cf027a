"""Files: hashes, JSON, and text read strictly."""

import bz2
import contextlib
import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import yaml

from bitextbench.base import names, sums
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import write_text
from bitextbench.base.progress import Meter, log, meters

MAX_LINE_BYTES = 1 << 16  # the longest line that can be a sentence; a crawl's 1 MB lines are data damage
END_LINES = "end its lines with LF, or CR and LF, not with CR"
BLOCK = 1 << 20  # bytes read at a time
COMPRESSED = (".gz", ".tgz", ".bz2", ".xz", ".zst")
# how packed files, and texts in UTF-16, begin
MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\0": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}
UTF16 = (b"\xff\xfe", b"\xfe\xff")
MAX_BYTES = 64 << 30  # unpacked, of one archive: five times the largest corpus here
MAX_RATIO = 200  # unpacked to packed; text has 3 to 10, deflate can reach 1,032
RATIO_FROM = 1 << 24  # smaller than this does no harm: a side of millions of empty lines, pages of one line
# what unpackers raise; bz2 and zstd an OSError without a number
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile, NotImplementedError)


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/bitextbench, or ~/.cache/bitextbench. Raises InputError where there is no home."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bitextbench"
    except RuntimeError:  # neither HOME nor an entry of this user, as in containers
        remedy = "name a folder for vectors: --cache, or the variable XDG_CACHE_HOME"
        raise InputError("no home folder", remedy=remedy) from None


def sha256(path: str | Path) -> str:
    """Hex digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically: keys in the order given, one final newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not names.is_utf8(text):  # the name of a file
        text = json.dumps(value, indent=2)
    write_text(path, f"{text}\n")


def read_json(path: str | Path) -> Any:
    """Read JSON. Raises InputError that names the file and line."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg})", path, line=error.lineno, remedy="make the file again") from None
    except (ValueError, RecursionError) as error:  # thousands of digits or of brackets
        raise InputError(f"not JSON ({error})", path, remedy="make the file again") from None


def read_text(path: str | Path) -> str:
    """The text of a file. Raises InputError where it is not UTF-8."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("invalid UTF-8", path, line=line, remedy="is this the right file?") from None


def read_bytes(path: str | Path) -> bytes:
    """The bytes of a file, which are those of its sum, if it has one. Raises InputError otherwise."""
    sums.verify(existing(path))
    return Path(path).read_bytes()


def parse(text: str, where: str | Path) -> Any:
    """A value written as JSON or YAML, of the types of JSON.

    Raises InputError for another text, for a key that appears twice in a mapping, and for what JSON does not hold: NaN,
    infinity, dates; numbers of over 64 bits.
    """
    try:
        try:
            value = json.loads(text, object_pairs_hook=_once)
        except json.JSONDecodeError:
            value = yaml.load(text, Loader)
        return json.loads(json.dumps(value, allow_nan=False), parse_int=_whole)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        if isinstance(error, Twice):
            raise InputError(str(error.problem), where, line=mark and mark.line + 1, remedy="remove one") from None
        what = f"not YAML or JSON ({getattr(error, 'problem', None) or ' '.join(str(error).split())})"
        raise InputError(what, where, line=mark and mark.line + 1, remedy="mend the syntax") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"holds a value that cannot be used ({error})", where, remedy="use only numbers, texts, lists and mappings"
        ) from None


def read_yaml(path: str | Path) -> Any:
    """Read YAML, or JSON: see `parse`."""
    return parse(read_text(path), path)


def read_packaged(path: str | Path) -> Any:
    """The YAML of a file of this package, as of "config/schema.yaml". libyaml reads it ten times faster than `Loader`.

    Raises YAMLError for another file.
    """
    text = read_text(Path(__file__).parents[1] / path)
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class YamlLines:
    """Where the values of a file that `read_yaml` has read stand."""

    def __init__(self, path: str | Path) -> None:
        self.root = yaml.compose(read_text(path), Loader)

    def __call__(self, *keys: str | int) -> int:
        """The line, counted from 1, of the value under some keys; of one that is missing, that of the mapping around it."""
        node, line = self.root, 1
        for key in keys:
            held = node.value if isinstance(node, yaml.MappingNode) else enumerate(getattr(node, "value", ()))
            found = [(name, part) for name, part in held if str(getattr(name, "value", name)) == str(key)]
            if not found:
                break
            name, node = found[0]
            line = (name if isinstance(name, yaml.Node) else node).start_mark.line + 1
        return int(line)


def read_checked(
    path: str | Path,
    schema: Mapping[str, Any],
    remedy: str,
    said: Callable[[Any], str] = "{0.json_path}: {0.message}".format,
) -> tuple[Any, YamlLines]:
    """What a YAML file holds, and where. Raises InputError, with the line, for what a JSON schema refuses; `said` writes its
    error in words.
    """
    import jsonschema

    held, line_of = read_yaml(path), YamlLines(path)
    for error in jsonschema.Draft202012Validator(schema).iter_errors(held):
        raise InputError(said(error), path, line=line_of(*error.absolute_path), remedy=remedy)
    return held, line_of


class Twice(yaml.MarkedYAMLError):
    """A key appears twice in a mapping."""


class Loader(yaml.SafeLoader):
    """Reads 1e-06 as a number, as YAML 1.2 does; to YAML 1.1 it is a text. Refuses a key that appears twice.

    (libyaml's loader is ten times faster, but deeply nested text ends the process.)
    """

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise Twice(None, None, f"the key `{key.value}` appears twice", key.start_mark)
                seen.add((key.tag, key.value))
        return node


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), [*"-+.0123456789"]
)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of JSON. Raises Twice for a key that appears twice."""
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _ in pairs]
        raise Twice(None, None, f"the key `{next(name for name in names if names.count(name) > 1)}` appears twice")
    return held


def _whole(digits: str) -> int:
    if len(digits) > 19 or not -(1 << 63) <= int(digits) < 1 << 63:
        raise ValueError(f"{digits[:20]}... has more than 64 bits")
    return int(digits)


def size(paths: Iterable[str | Path]) -> int:
    """The bytes of files, and of all that folders hold. Raises FileNotFoundError, with its name, for one that is not there."""
    total = 0
    for path in paths:
        if os.path.isdir(path):
            held = (os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
            total += sum(os.lstat(name).st_size for name in held)
        else:
            total += os.stat(path).st_size
    return total


def existing(path: str | Path) -> Path:
    """The path, if something is there. Raises InputError otherwise."""
    path = Path(path)
    if not path.exists():
        raise InputError("no such file", path, remedy="check the path, or run the step that makes it")
    return path


def open_bytes(path: str | Path) -> IO[bytes]:
    """Open a plain, .gz, .bz2, .xz or .zst file for reading, unpacked: see `unpacked`.

    Of a pipe, the first bytes tell how it is packed. Raises InputError for a folder, for a file that differs from its sum
    (`sums`), and where name and contents do not agree on how it is packed.
    """
    path = existing(path)
    if path.is_dir():
        raise InputError("is a folder", path, remedy="name a file")
    file = opened(path)
    if not path.is_file():
        return unpacked_by_magic(file, path)
    sums.verify(path)
    check_packing(file.peek(8), path)
    return unpacked(file, path, file.raw) if path.suffix in COMPRESSED else file


def unpacked_by_magic(file: io.BufferedReader, path: Path) -> IO[bytes]:
    """A stream that has no name of its own, unpacked if its first bytes say that it is packed."""
    packing = next((suffix for magic, suffix in MAGIC.items() if file.peek(8).startswith(magic)), "")
    return unpacked(file, path, file.raw, packing) if packing else file


class Metered(io.FileIO):
    """A file to read whose size and bytes count in the last of `progress.meters`, if there is one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.meter = meters[-1] if meters else Meter()
        self.meter.total += os.fstat(self.fileno()).st_size
        self.count = 0

    def readinto(self, buffer: Any) -> int:
        count = super().readinto(buffer)
        self.meter.done += count
        self.count += count
        return count

    @property
    def size(self) -> int:
        """The bytes of the file; of a pipe, those read so far."""
        return max(self.count, os.fstat(self.fileno()).st_size)


def opened(path: Path) -> io.BufferedReader:
    """A file to read, whose progress can be shown."""
    return io.BufferedReader(Metered(path))


def check_packing(begin: bytes, path: Path) -> None:
    """Raises InputError where the first bytes of a file are packed in another way than its name says."""
    packed = next((suffix for magic, suffix in MAGIC.items() if begin.startswith(magic)), "")
    named = {".tgz": ".gz"}.get(path.suffix, path.suffix) if path.suffix in COMPRESSED else ""
    if packed and packed != named:
        what = f"is packed as {packed}, and its name does not say so"
        raise InputError(what, path, remedy=f"call it {path.name.removesuffix(named)}{packed}")
    if named and begin and not packed and all(byte >= 32 or byte in b"\t\r\n" for byte in begin):
        raise InputError(f"is not packed as {named}", path, remedy=f"call it {path.name.removesuffix(path.suffix)}")


def unpacked(packed: io.BufferedReader, path: Path, source: Any, packing: str = "") -> io.BufferedReader:
    """The unpacked content of a packed stream, read ahead by a thread.

    The suffix of `path` names the packing, if it is not given. `source.size`: the number of packed bytes, or of those
    read so far. Raises InputError, at once or while reading, if the stream is empty, damaged, truncated or followed by
    other data. The same holds for one that unpacks to more than MAX_BYTES, or to more than RATIO_FROM and MAX_RATIO
    times its size.
    """
    stream: Any
    packing = packing or path.suffix
    with damage(path):
        if not packed.peek(1):
            raise EOFError("no bytes")
        match packing:
            case ".gz" | ".tgz":
                stream = gzip.GzipFile(fileobj=packed)
            case ".zst":
                import pyarrow  # unlike the zstandard package, it reports a truncated file

                stream = pyarrow.input_stream(packed, compression="zstd")
            case _:
                stream = Streams(packed, lzma.LZMADecompressor if packing == ".xz" else bz2.BZ2Decompressor)
    return io.BufferedReader(Ahead(io.BufferedReader(Guarded(stream, path, source), BLOCK)), BLOCK)


class Readable(io.RawIOBase):
    """A stream whose next bytes are what `some` returns."""

    def some(self, count: int) -> bytes | memoryview:
        """At most `count` bytes, none at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.some(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class Ahead(Readable):
    """A stream that a separate thread reads one block ahead; an error of the thread is raised in place of its block."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.thread, self.block = stream, ThreadPoolExecutor(1), memoryview(b"")
        self.following = self.thread.submit(stream.read, BLOCK)

    def some(self, count: int) -> memoryview:
        if not self.block and (data := self.following.result()):
            self.block, self.following = memoryview(data), self.thread.submit(self.stream.read, BLOCK)
        held, self.block = self.block[:count], self.block[count:]
        return held

    def close(self) -> None:
        self.thread.shutdown()
        self.stream.close()
        super().close()


class Streams(Readable):
    """Streams of xz or bzip2 one behind the other, to the end of the file.

    lzma.open and bz2.open accept any bytes after a stream as the end of the file.
    """

    def __init__(self, packed: IO[bytes], decompressor: Callable[[], Any]) -> None:
        self.packed, self.decompressor, self.current = packed, decompressor, decompressor()

    def some(self, count: int) -> bytes:
        while True:
            held = b""
            if self.current.eof:
                held = self.current.unused_data or self.packed.read(BLOCK)
                while held and not (held := held.lstrip(b"\0")):  # xz may pad its streams
                    held = self.packed.read(BLOCK)
                if not held:
                    return b""
                self.current = self.decompressor()
            elif self.current.needs_input and not (held := self.packed.read(BLOCK)):
                raise EOFError("it ends too early")
            if data := self.current.decompress(held, count):
                return bytes(data)


class Guarded(Readable):
    """An unpacking stream with limits of size; `packed.size`, or `packed`, is the number of packed bytes: of the whole file, as
    a text may begin with what packs best.
    """

    def __init__(self, stream: Any, path: Path, packed: Any) -> None:
        self.stream, self.path, self.packed, self.count = stream, path, packed, 0

    def some(self, count: int) -> bytes:
        with damage(self.path):
            data = self.stream.read(count)
        self.count += len(data)
        packed = self.packed if isinstance(self.packed, int) else self.packed.size
        if self.count > MAX_BYTES or self.count > max(RATIO_FROM, MAX_RATIO * packed):
            what = f"unpacks to more than {self.count:,} bytes from {packed:,}"
            raise InputError(what, self.path, remedy="is this the right file? If it is, unpack it first")
        return bytes(data)

    def close(self) -> None:
        self.stream.close()
        if not isinstance(self.packed, int):
            self.packed.close()
        super().close()


@contextlib.contextmanager
def damage(path: str | Path) -> Iterator[None]:
    """What unpackers raise for damaged archives, as InputError; errors of the system, which have a number, pass."""
    try:
        yield
    except DAMAGE as error:
        # EINVAL: zipfile seeks to a place before the file
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        what = " ".join(str(error).split())
        if "too much memory" in what:  # of zstd
            remedy = "pack it again without --long, or unpack it first"
            raise InputError(f"needs more memory to unpack than is given to it ({what})", path, remedy=remedy) from None
        raise InputError(f"damaged or truncated archive ({what})", path, remedy="fetch it again") from None


class Limits(NamedTuple):
    """What a line may be: at most `max_bytes` long, UTF-8 without NUL.

    Other lines are errors. With `too_long`, over-long lines are read as empty, and their numbers (from 1) are added to it.
    With `bad`, lines with NUL or invalid UTF-8 are read as empty, and `bad` gets what is wrong, by number.
    """

    max_bytes: int = MAX_LINE_BYTES
    too_long: list[int] | None = None
    bad: dict[int, str] | None = None


LIMITS = Limits()


def read_lines(path: str | Path) -> Iterator[str]:
    """The lines of a text file (plain, .gz, .bz2, .xz, .zst), without their line ends.

    Only LF (and a CR before it) ends a line, as U+0085 and U+2028 occur inside sentences of real corpora. Other CRs are
    counted in the log.

    Raises InputError, with the line, for UTF-16, invalid UTF-8, NUL bytes and over-long lines. It also raises it for a
    text whose lines end with CR alone, and for damaged archives.
    """
    with open_bytes(path) as stream:
        yield from decode_lines(stream, path)


def decode_lines(stream: IO[bytes], name: str | Path, limits: Limits = LIMITS) -> Iterator[str]:
    """The lines of an open byte stream; `name` is for messages. See `read_lines`."""
    for lines in _verified(stream, name, limits, _decoded):
        yield from lines


def read_arrays(path: str | Path) -> Iterator[pa.StringArray]:
    """The lines that `read_lines` gives, as Arrow arrays of some thousands, without an object for a line."""
    with open_bytes(path) as stream:
        yield from decode_arrays(stream, path)


def decode_arrays(stream: IO[bytes], name: str | Path, limits: Limits = LIMITS) -> Iterator[pa.StringArray]:
    """The same of an open byte stream; `name` is for messages."""
    for lines in _verified(stream, name, limits, _as_array):
        yield lines if isinstance(lines, pa.StringArray) else pa.array([*lines], pa.string())


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


def _verified(
    stream: IO[bytes], name: str | Path, limits: Limits, decode: Callable[[bytes, int], Any]
) -> Iterator[Any]:
    """Blocks of lines as `decode` returns them; for None, an iterator over the lines that raises at the first wrong
    one.
    """
    number = returns = 0
    for block in _blocks(stream, limits.max_bytes, cut=limits.too_long is not None):
        if not number and block.startswith(UTF16):
            raise InputError("is UTF-16", name, line=1, remedy="convert it: iconv -f UTF-16 -t UTF-8")
        lines = decode(block, limits.max_bytes)
        yield _checked(block, name, number, limits) if lines is None else lines
        number += block.count(b"\n") if lines is None else len(lines)
        if b"\r" in block:
            returns += block.count(b"\r") - block.count(b"\r\n")
    if returns:
        what = f"{returns:,} carriage returns inside {number:,} lines"
        if returns >= number:
            raise InputError(what, name, remedy=END_LINES)
        log(f"{name}: {what}; they end none")


def _blocks(stream: IO[bytes], max_bytes: int, *, cut: bool) -> Iterator[bytes]:
    """Blocks of whole lines, each ended by LF. A line that is too long may be cut, to a length that is still too long.

    Without `cut` such a line is the last one.
    """
    rest = b""
    while (cut or len(rest) <= max_bytes + 1) and (data := stream.read(BLOCK)):
        if end := data.rfind(b"\n") + 1:
            yield b"".join((rest, memoryview(data)[:end]))  # one copy
            rest = data[end:]
        else:
            rest = (rest + data)[: max_bytes + 2] if cut else rest + data
    if rest:
        yield rest + b"\n"


def _decoded(block: bytes, max_bytes: int) -> list[str] | None:
    """The lines of a block; None if one of them may be wrong."""
    if b"\0" in block:
        return None
    try:
        lines = block.decode("utf-8").replace("\r\n", "\n").split("\n")
    except UnicodeDecodeError:
        return None
    lines.pop()
    return None if 4 * max(map(len, lines)) > max_bytes else lines  # UTF-8 has up to 4 bytes a character


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


def _checked(block: bytes, name: str | Path, before: int, limits: Limits) -> Iterator[str]:
    """The lines of a block, checked one by one; `before`: the number of lines before the block."""
    max_bytes, too_long, bad = limits
    for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), before + 1):
        text = line.removesuffix(b"\r")
        if len(text) > max_bytes and too_long is not None:
            too_long.append(number)
            yield ""
            continue
        if len(text) > max_bytes:
            what, returns = f"line is longer than {max_bytes:,} bytes", text.count(b"\r")
            remedy = END_LINES if returns else "split or remove it"
            what += f" and holds {returns:,} carriage returns" if returns else ""
            raise InputError(what, name, line=number, remedy=remedy)
        try:
            decoded = text.decode("utf-8")
            what, remedy = "line holds a NUL byte", "remove the byte; is this a text file?"
            wrong = "\0" in decoded
        except UnicodeDecodeError as error:
            decoded, wrong, remedy = "", True, "convert the file to UTF-8"
            remedy += ", or skip bad lines (--skip-bad)" if too_long is not None else ""
            what = "line holds a NUL byte" if b"\0" in text else f"invalid UTF-8 at byte {error.start + 1} of the line"
        if wrong and bad is None:
            raise InputError(what, name, line=number, remedy=remedy)
        if wrong and bad is not None:
            bad[number] = what
        yield "" if wrong else decoded
