"""Strict reading and atomic writing."""

import gzip
import lzma

import pyarrow
import pytest

from bitextbench.errors import InputError
from bitextbench.files import atomic, read_json, read_lines

PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pyarrow.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_lines_end_at_line_feeds_only(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKERS[suffix]("a\x85b\u2028c\r\n\nlast".encode()))
    assert list(read_lines(path)) == ["a\x85b\u2028c", "", "last"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"good\nbad \xff\n", r"text:2: invalid UTF-8 at byte 5 of the line; convert"),
        (b"nul\0\n", r"text:1: line holds a NUL byte; remove"),
        (b"x\n" + b"y" * 1_000_000 + b"\n", r"text:2: line is longer than 65,536 bytes; split"),
    ],
)
def test_bad_text_is_named_by_file_and_line(tmp_path, data, message):
    (tmp_path / "text").write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(read_lines(tmp_path / "text"))


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_truncated_archives(tmp_path, suffix):
    packed = PACKERS[suffix](b"".join(b"line %d %d\n" % (i, i**3) for i in range(20_000)))
    (tmp_path / f"text{suffix}").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="damaged or truncated archive"):
        list(read_lines(tmp_path / f"text{suffix}"))


def test_not_an_archive(tmp_path):
    (tmp_path / "text.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match=r"text.gz:1: damaged or truncated"):
        list(read_lines(tmp_path / "text.gz"))


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file; check the path"):
        list(read_lines(tmp_path / "none"))


def test_atomic_leaves_the_old_or_the_new(tmp_path):
    path = tmp_path / "value"
    with atomic(path) as part:
        part.write_text("old")

    def interrupted():
        with atomic(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["value"]


def test_atomic_replaces_folders(tmp_path):
    for content in "old", "new":
        with atomic(tmp_path / "folder") as part:
            part.mkdir()
            (part / content).write_text(content)
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["new"]


def test_broken_json_names_the_line(tmp_path):
    (tmp_path / "x.json").write_text('{\n"a": }\n')
    with pytest.raises(InputError, match=r"x.json:2: not JSON"):
        read_json(tmp_path / "x.json")
