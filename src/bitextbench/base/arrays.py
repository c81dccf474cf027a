"""Arrays on disk, each file with a checksum that is verified when it is read: `.npy`, `.npz`, and what torch.save
writes.

A `.npy` of ours ends in a line `xxh3_64 <16 hex digits>`: the hash of all bytes before that line. numpy.load and memory
maps stop at the end of the array, so that it is a `.npy` as any other; one without that line, as users have, is
accepted without a check. A line `of <32 hex digits>` may precede it: the hash of the data that the array was made from.
The other two formats are zip archives with a CRC-32 of each member, which torch does not verify; this module does.
"""

import contextlib
import math
import os
import shutil
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import xxhash
from numpy.typing import DTypeLike, NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.outputs import atomic

TAG = b"\nxxh3_64 "
LINE = len(TAG) + 16 + 1  # bytes of the last line, with its ends
SOURCE = b"\nof "
SOURCE_LINE = len(SOURCE) + 32
BUFFER = 1 << 18  # bytes that are hashed at a time: they stay in the CPU's cache
NO_NPY = (ValueError, TypeError, EOFError, OSError, OverflowError, SyntaxError, tokenize.TokenError)
NO_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, ValueError, EOFError, OSError)


def save(path: str | Path, array: NDArray) -> None:
    """Write a `.npy` with its checksum, atomically; the same numbers give the same bytes."""
    with atomic(path) as part:
        with open(part, "wb") as file:
            np.save(file, array)
        _seal(part)


@contextlib.contextmanager
def create(path: str | Path, shape: tuple[int, ...], dtype: DTypeLike, source: str = "") -> Iterator[np.memmap]:
    """A memory-mapped array of zeros to fill in any order: a `.npy` with its checksum when the block ends well.

    `source`: 32 hex digits, of what the array is made of; see `source_of`.

    Raises InputError when the disk has no room for it.
    """
    with atomic(path) as part:
        array = zeros(part, shape, dtype, name=path)
        yield array
        array.flush()
        if source:
            with open(part, "ab") as file:
                file.write(SOURCE + source.encode())
        _seal(part)


def zeros(path: str | Path, shape: tuple[int, ...], dtype: DTypeLike, *, name: str | Path | None = None) -> np.memmap:
    """A new memory-mapped `.npy` of zeros, without a checksum. Its space on disk is reserved.

    Without the reservation a full disk would end the process by SIGBUS. Raises InputError, with `name`, if the disk is
    full.
    """
    try:
        array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
        with open(path, "r+b") as file:
            os.posix_fallocate(file.fileno(), 0, array.offset + array.nbytes)
    except OSError as error:
        needed, free = math.prod(shape) * np.dtype(dtype).itemsize, shutil.disk_usage(Path(path).parent).free
        what = f"needs {needed:,} bytes, and the disk has {free:,} free ({error.strerror})"
        raise InputError(what, name or path, remedy="make room, or write to another disk") from None
    return array


def load(path: str | Path, remedy: str, dtype: DTypeLike | None = None, axes: Sequence[str] = ()) -> np.memmap:
    """Memory-map a `.npy` file; of one `dtype` and with these `axes`, where given.

    Raises InputError for a file that is damaged or no `.npy`, and for another dtype or number of axes.
    """
    try:
        size = _verified(existing(path))
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except NO_NPY as error:
        # of a text numpy says that it holds pickled objects, and how to trust them
        why = "it is another kind of file" if "pickle.load()" in str(error) else error
        raise InputError(f"cannot be read as .npy ({why})", path, remedy=remedy) from None
    end = array.offset + array.nbytes if isinstance(array, np.memmap) else -1
    if end < 0 or (end != size and not _source(Path(path), end, size)):
        what = "there are other bytes behind the array" if isinstance(array, np.memmap) else "it is an .npz"
        raise InputError(f"cannot be read as .npy ({what})", path, remedy=remedy)
    if dtype is not None and (array.dtype != dtype or array.ndim != len(axes)):
        what = f"holds {array.dtype} {list(array.shape)}, not {np.dtype(dtype)} [{', '.join(axes)}]"
        raise InputError(what, path, remedy=remedy)
    return array


def source_of(path: str | Path, array: NDArray) -> str:
    """The hash of the data that a `.npy` of ours, loaded as `array`, was made from; "" if the file has none."""
    if not isinstance(array, np.memmap):
        return ""
    return _source(Path(path), array.offset + array.nbytes, Path(path).stat().st_size - LINE)


def _source(path: Path, start: int, stop: int) -> str:
    if stop - start != SOURCE_LINE:
        return ""
    with open(path, "rb") as file:
        file.seek(start)
        line = file.read(SOURCE_LINE)
    return line[len(SOURCE) :].decode("ascii", "replace") if line.startswith(SOURCE) else ""


def seal(path: str | Path) -> bytes:
    """The last line of a `.npy` of ours, the hash of all before it; empty where a file has none, or there is no file."""
    if not Path(path).is_file():
        return b""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - LINE))
        line = file.read()
    return line if line.startswith(TAG) else b""


def save_npz(path: str | Path, **arrays: NDArray) -> None:
    """Write arrays by name, uncompressed, atomically; the same numbers give the same bytes."""
    with atomic(path) as part, open(part, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


Layout = Mapping[str, tuple[str, str]]
"""Of arrays by name: the type, as NumPy writes it ("f4"), and the axes between spaces ("words 3"): a number is a size, and
axes of one name have one size, in all arrays. "U" is a text of any length."""


def load_npz(path: str | Path, remedy: str, layout: Layout | None = None) -> dict[str, NDArray]:
    """All arrays of a `.npz`. Raises InputError for a file that is damaged or no `.npz`, and as `check_layout`."""
    verify_zip(path, remedy)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
    except (*NO_NPY, *NO_ZIP, MemoryError) as error:
        raise InputError(f"cannot be read as .npz ({error})", path, remedy=remedy) from None
    check_layout(arrays, path, remedy, layout or {})
    return arrays


def check_layout(arrays: Mapping[str, NDArray], path: str | Path, remedy: str, layout: Layout) -> None:
    """Raises InputError for an array that is missing, of another type, or of another shape than `layout` says."""
    if missing := [name for name in layout if name not in arrays]:
        raise InputError(f"has no array {', '.join(missing)}", path, remedy=remedy)
    sizes: dict[str, int] = {}
    for name, (kind, axes) in layout.items():
        array, expected = arrays[name], axes.split()
        right = array.dtype.kind == "U" if kind == "U" else array.dtype == np.dtype(kind)
        if right and array.ndim == len(expected):
            right = all(
                size == (int(axis) if axis.isdigit() else sizes.setdefault(axis, size))
                for size, axis in zip(array.shape, expected, strict=True)
            )
        else:
            right = False
        if not right:
            said = ", ".join(axis if axis.isdigit() else f"{axis}: {sizes.get(axis, 'any')}" for axis in expected)
            what = f"{name} is {array.dtype} {list(array.shape)}, not {np.dtype(kind).name} [{said}]"
            raise InputError(what, path, remedy=remedy)


def verify_zip(path: str | Path, remedy: str) -> None:
    """Raises InputError for a file that is no zip archive, and for one with a member that differs from its checksum."""
    try:
        with zipfile.ZipFile(existing(path)) as archive:
            damaged = archive.testzip()
    except NO_ZIP as error:
        raise InputError(f"cannot be read ({error})", path, remedy=remedy) from None
    if damaged:
        raise InputError(f"cannot be read ({damaged} does not match its checksum)", path, remedy=remedy)


def _seal(path: Path) -> None:
    """Add the checksum to a file."""
    with open(path, "r+b") as file:
        file.write(_line(file, os.path.getsize(path)))


def _verified(path: Path) -> int:
    """The bytes of a file without its checksum. Raises ValueError where that does not match."""
    size = path.stat().st_size - LINE
    with open(path, "rb") as file:
        file.seek(max(0, size))
        line = file.read()
        if size < 0 or not line.startswith(TAG):
            return size + LINE
        file.seek(0)
        if _line(file, size) != line:
            raise ValueError("it does not match its checksum")
    return size


def _line(file: BinaryIO, size: int) -> bytes:
    """The checksum of the next `size` bytes."""
    digest, buffer = xxhash.xxh3_64(), memoryview(bytearray(BUFFER))
    while size and (count := file.readinto(buffer[:size])):  # type: ignore[attr-defined]
        digest.update(buffer[:count])
        size -= count
    return TAG + digest.hexdigest().encode() + b"\n"
