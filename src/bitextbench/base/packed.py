"""Packed files (.gz, .bz2, .xz, .zst), read to their end: damage and what unpacks to too much are errors."""

import bz2
import contextlib
import errno
import gzip
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

from bitextbench.base import sums
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.progress import Meter, meters

BLOCK = 1 << 20  # bytes read at a time
COMPRESSED = (".gz", ".tgz", ".bz2", ".xz", ".zst")
# how packed files begin
MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    b"\x50\x2a\x4d\x18": ".zst",  # of pzstd, with a frame to skip
}
MAX_BYTES = 64 << 30  # unpacked, of one archive: five times the largest corpus here
MAX_RATIO = 200  # unpacked to packed; text has 3 to 10, deflate can reach 1,032
RATIO_FROM = 1 << 24  # smaller than this does no harm: a side of millions of empty lines, pages of one line
# what unpackers raise; bz2 and zstd an OSError without a number
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, tarfile.TarError, zipfile.BadZipFile, NotImplementedError)


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
