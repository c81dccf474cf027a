"""Strict reading and atomic writing."""

import bz2
import gzip
import io
import lzma

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base import files
from bitextbench.base.errors import InputError
from bitextbench.base.files import parse, read_json, read_lines

PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
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


@pytest.mark.parametrize("suffix", [*PACKERS][1:])
def test_bombs(tmp_path, suffix):
    """20 million empty lines in a few bytes."""
    (tmp_path / f"text{suffix}").write_bytes(PACKERS[suffix](b"\n" * 20_000_000))
    lines = read_lines(tmp_path / f"text{suffix}")
    with pytest.raises(InputError, match=r"unpacks to more than [\d,]+ bytes from [\d,]+; is this the right file"):
        assert sum(1 for _ in lines) < 2_000_000


@pytest.mark.parametrize("text", [b"eins\rzwei\rdrei\r", b"eins\rzwei", b"eins\rzwei\rdrei\n", b"wort\r" * 10_000])
def test_lines_that_end_with_cr_alone(tmp_path, text):
    (tmp_path / "text").write_bytes(text)
    with pytest.raises(InputError, match=r"text: [\d,]+ carriage returns inside 1 lines; end its lines with LF"):
        list(read_lines(tmp_path / "text"))
    (tmp_path / "text").write_bytes(b"wort\r" * 20_000)
    with pytest.raises(InputError, match=r"text:1: line is longer .* and holds [\d,]+ carriage returns; end its lines"):
        list(read_lines(tmp_path / "text"))


def test_some_carriage_returns_are_counted(tmp_path, capsys):
    (tmp_path / "text").write_bytes(b"eins\r\nzw\rei\ndrei\r")
    assert list(read_lines(tmp_path / "text")) == ["eins", "zw\rei", "drei"]
    assert "text: 1 carriage returns inside 3 lines; they end none" in capsys.readouterr().err


def line_by_line(data, max_bytes):
    """What `decode_lines` does, a line at a time."""
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], 1):
        text = line.removesuffix(b"\r")
        if len(text) > max_bytes or b"\0" in text:
            yield number
            return
        try:
            yield text.decode()
        except UnicodeDecodeError:
            yield number
            return


@given(
    st.lists(
        st.sampled_from([b"a", b"\r\n", b"\n", b"\n\n", "\xfc\u2028".encode(), b"\xff", b"\0", b"bcd" * 4]), max_size=40
    ),
    st.integers(1, 9),
)
def test_blocks_of_any_size_give_the_same_lines(parts, size):
    data = b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK", size)
        lines, wrong = gathered([line] for line in files.decode_lines(io.BytesIO(data), "text", files.Limits(20)))
        arrays, same = gathered(
            block.to_pylist() for block in files.decode_arrays(io.BytesIO(data), "text", files.Limits(20))
        )
    assert [*lines, *wrong] == list(line_by_line(data, 20))
    assert same == wrong
    assert arrays == lines[: len(arrays)]
    assert wrong or len(arrays) == len(lines)


def gathered(blocks):
    """The lines of blocks, and the number of the line that ended them by an error."""
    lines = []
    try:
        for block in blocks:
            lines += block
    except InputError as error:
        return lines, [int(str(error).split(":")[1])]
    return lines, []


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_a_thread_ahead_gives_the_same_bytes_and_the_same_error(monkeypatch, size):
    monkeypatch.setattr(files, "BLOCK", size)
    data = bytes(range(50))
    with io.BufferedReader(files.Ahead(io.BytesIO(data))) as stream:
        assert [stream.read(7), stream.read(), stream.read(1)] == [data[:7], data[7:], b""]
    with io.BufferedReader(files.Ahead(io.BytesIO(data))) as stream:
        assert stream.read(1) == b"\0"  # and no more: it ends without waiting for the rest
    half = lzma.compress(data)[:-20]
    broken = files.Streams(io.BytesIO(half), lzma.LZMADecompressor)
    with io.BufferedReader(files.Ahead(io.BufferedReader(broken))) as stream, pytest.raises(EOFError):
        stream.read()


def test_not_an_archive(tmp_path):
    (tmp_path / "text.gz").write_bytes(b"plain")
    with pytest.raises(InputError, match=r"text.gz: is not packed as .gz; call it text$"):
        list(read_lines(tmp_path / "text.gz"))


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file; check the path"):
        list(read_lines(tmp_path / "none"))


def test_broken_json_names_the_line(tmp_path):
    (tmp_path / "x.json").write_text('{\n"a": }\n')
    with pytest.raises(InputError, match=r"x.json:2: not JSON"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": "\xff"}', r"x.json:1: invalid UTF-8"),
        (b"[" * 100_000, r"x.json: not JSON \(maximum recursion"),
        (b"1" * 5000, r"x.json: not JSON \(Exceeds the limit"),
    ],
)
def test_files_that_are_no_json(tmp_path, text, message):
    (tmp_path / "x.json").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize("text", ['{"rate": 1e-06}', "rate: 1e-06", "{rate: 1E-6}", "rate: 1.0e-06", "rate: .1e-5"])
def test_small_numbers_are_numbers(text):
    assert parse(text, "spec") == {"rate": 1e-6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "maximum recursion"),
        ("- " * 100_000, "maximum recursion"),
        ('{"a": NaN}', "Out of range"),
        ("a: .inf", "Out of range"),
        ('{"a": 1e999}', "Out of range"),
        ('{"a": %s}' % ("1" * 5000), "Exceeds the limit"),
        ('{"a": %s}' % ("1" * 500), "11111111111111111111... has more than 64 bits"),
        ("a: 2024-01-01", "date"),
        ("&a [*a]", "Circular|recurs"),
        ("{a: ", "spec:1: not YAML or JSON"),
    ],
)
def test_specs_that_are_no_data(text, message):
    with pytest.raises(InputError, match=message) as error:
        parse(text, "spec")
    assert "\n" not in str(error.value)
