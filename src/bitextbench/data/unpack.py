"""Streams text from archives; nothing is unpacked to disk.

A place is a file in the folder of a data set, followed by the member if the file is an archive: `newstest2008.de`,
`train.en.gz`, `dev.tgz/dev/newstest2009.de`. An archive in parts (`x.tar.gz.00`, `x.tar.gz.01`, ...) is named without
the number.
"""

import contextlib
import io
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.packed import BLOCK, COMPRESSED, Guarded, Readable, damage, opened, unpacked


@contextlib.contextmanager
def open_place(folder: Path, place: str) -> Iterator[IO[bytes]]:
    """The bytes at a place of `folder`, unpacked.

    Raises InputError, at once or while reading, for a missing file or member and for a damaged or truncated archive. A
    member is refused if its name leads out of the archive, or if it is no plain file. An archive is refused if it
    unpacks to more than MAX_BYTES, or to more than RATIO_FROM and MAX_RATIO times its size.
    """
    name, _, member = place.partition("/")
    path = folder / name
    with contextlib.ExitStack() as stack, damage(path):
        if name.endswith(".zip"):
            yield stack.enter_context(_zip_member(path, member))
            return
        packed = stack.enter_context(_Parts(_parts(path)))
        if path.suffix not in COMPRESSED:
            yield stack.enter_context(io.BufferedReader(packed))
            return
        stream = stack.enter_context(unpacked(io.BufferedReader(packed), path, packed))
        if name.endswith((".tar.gz", ".tgz", ".tar.bz2")):
            archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r|", bufsize=BLOCK))
            yield _tar_member(archive, path, member)
        else:
            yield stream


def _parts(path: Path) -> Sequence[Path]:
    """The file, or the numbered parts of it."""
    return sorted(path.parent.glob(f"{path.name}.[0-9][0-9]")) or [existing(path)]


class _Parts(Readable):
    """Several files, read as one."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.files = [opened(path) for path in paths]

    def some(self, count: int) -> bytes:
        return next((data for file in self.files if (data := file.read(count))), b"")

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.raw.size for file in self.files)  # type: ignore[attr-defined]

    def close(self) -> None:
        for file in self.files:
            file.close()
        super().close()


def _check_name(name: str, path: Path) -> None:
    if name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
        raise InputError(f"member {name!r} leads out of the archive", path, remedy="do not use this archive")


def _no_member(member: str, path: Path, names: Sequence[str]) -> InputError:
    return InputError(f"no member {member!r}", path, remedy=f"it holds {', '.join(names[:20]) or 'nothing'}")


def _tar_member(archive: tarfile.TarFile, path: Path, member: str) -> IO[bytes]:
    """The stream of a member. Raises InputError for a link or device; those elsewhere in the archive do no harm."""
    names = []
    for info in archive:
        _check_name(info.name, path)
        names.append(info.name)
        if info.name.removeprefix("./") == member:
            if not info.isfile():
                raise InputError(f"member {member!r} is a link, folder or device", path, remedy="name a plain file")
            stream = archive.extractfile(info)
            assert stream is not None
            return stream
    raise _no_member(member, path, names)


@contextlib.contextmanager
def _zip_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(existing(path)) as archive:
        for name in archive.namelist():
            _check_name(name, path)
        if member not in archive.namelist():
            raise _no_member(member, path, archive.namelist())
        info = archive.getinfo(member)
        if info.flag_bits & 1 or info.is_dir() or (info.external_attr >> 16) & 0o170000 == 0o120000:
            raise InputError(f"member {member!r} is encrypted, a link or a folder", path, remedy="name a plain file")
        try:
            stream = archive.open(info)
        except UnicodeDecodeError as error:
            raise zipfile.BadZipFile(str(error)) from None
        with stream:
            yield io.BufferedReader(Guarded(stream, path, info.compress_size), BLOCK)
