"""Packed files: damage, and what unpacks to too much."""

import bz2
import gzip
import io
import lzma

import pyarrow
import pytest

from bitextbench.base import packed
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines

PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pyarrow.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", [*PACKERS][1:])
def test_truncated_archives(tmp_path, suffix):
    packed = PACKERS[suffix](b"".join(b"line %d %d\n" % (i, i**3) for i in range(20_000)))
    (tmp_path / f"text{suffix}").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="damaged or truncated archive"):
        list(read_lines(tmp_path / f"text{suffix}"))


@pytest.mark.parametrize("suffix", [*PACKERS][1:])
def test_garbage_behind_an_archive(tmp_path, suffix):
    (tmp_path / f"text{suffix}").write_bytes(PACKERS[suffix](b"line\n") + b"garbage")
    with pytest.raises(InputError, match=rf"text{suffix}: damaged or truncated archive \(.+\); fetch it again"):
        list(read_lines(tmp_path / f"text{suffix}"))


@pytest.mark.parametrize("suffix", [*PACKERS][1:])
def test_archives_without_a_byte(tmp_path, suffix):
    (tmp_path / f"text{suffix}").touch()
    with pytest.raises(InputError, match=r"damaged or truncated archive \(no bytes\)"):
        list(read_lines(tmp_path / f"text{suffix}"))


@pytest.mark.parametrize("suffix", PACKERS)
def test_streams_one_behind_the_other(tmp_path, suffix):
    padding = bytes(8) if suffix == ".xz" else b""
    (tmp_path / f"text{suffix}").write_bytes(PACKERS[suffix](b"one\ntw") + padding + PACKERS[suffix](b"o\n") + padding)
    assert list(read_lines(tmp_path / f"text{suffix}")) == ["one", "two"]


def test_a_stream_of_pzstd(tmp_path):
    """It begins with a frame that readers skip."""
    (tmp_path / "pipe").write_bytes(b"\x50\x2a\x4d\x18\4\0\0\0size" + PACKERS[".zst"](b"one\n"))
    with packed.unpacked_by_magic(packed.opened(tmp_path / "pipe"), tmp_path / "pipe") as stream:
        assert stream.read() == b"one\n"


@pytest.mark.parametrize("suffix", [*PACKERS][1:])
def test_bombs(tmp_path, suffix):
    """20 million empty lines in a few bytes."""
    (tmp_path / f"text{suffix}").write_bytes(PACKERS[suffix](b"\n" * 20_000_000))
    lines = read_lines(tmp_path / f"text{suffix}")
    with pytest.raises(InputError, match=r"unpacks to more than [\d,]+ bytes from [\d,]+; is this the right file"):
        assert sum(1 for _ in lines) < 2_000_000


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_a_thread_ahead_gives_the_same_bytes_and_the_same_error(monkeypatch, size):
    monkeypatch.setattr(packed, "BLOCK", size)
    data = bytes(range(50))
    with io.BufferedReader(packed.Ahead(io.BytesIO(data))) as stream:
        assert [stream.read(7), stream.read(), stream.read(1)] == [data[:7], data[7:], b""]
    with io.BufferedReader(packed.Ahead(io.BytesIO(data))) as stream:
        assert stream.read(1) == b"\0"  # and no more: it ends without waiting for the rest
    half = lzma.compress(data)[:-20]
    broken = packed.Streams(io.BytesIO(half), lzma.LZMADecompressor)
    with io.BufferedReader(packed.Ahead(io.BufferedReader(broken))) as stream, pytest.raises(EOFError):
        stream.read()


def test_not_an_archive(tmp_path):
    (tmp_path / "text.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match=r"text.gz: is not packed as .gz; call it text$"):
        list(read_lines(tmp_path / "text.gz"))
