"""Strict reading of lines."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_packed import PACKERS

from bitextbench.base import lines
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.formats.gold import read_gold


@pytest.mark.parametrize("suffix", PACKERS)
def test_lines_end_at_line_feeds_only(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    path.write_bytes(PACKERS[suffix]("a\x85b\u2028c\r\n\nlast".encode()))
    assert list(read_lines(path)) == ["a\x85b\u2028c", "", "last"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"good\nbad \xff\n", r"text:2: invalid UTF-8 at byte 5 of the line; convert"),
        (b"\xef\xbb\xbfbad \xff\n", r"text:1: invalid UTF-8 at byte 8 of the line; convert"),
        (b"nul\0\n", r"text:1: line holds a NUL byte; remove"),
        (b"x\n" + b"y" * 1_000_000 + b"\n", r"text:2: line is longer than 65,536 bytes; split"),
    ],
)
def test_bad_text_is_named_by_file_and_line(tmp_path, data, message):
    (tmp_path / "text").write_bytes(data)
    with pytest.raises(InputError, match=message):
        list(read_lines(tmp_path / "text"))


@pytest.mark.parametrize("text", [b"eins\rzwei\rdrei\r", b"eins\rzwei", b"eins\rzwei\rdrei\n", b"wort\r" * 10_000])
def test_lines_that_end_with_cr_alone(tmp_path, text):
    (tmp_path / "text").write_bytes(text)
    returns = text.strip().count(b"\r")  # the last ends the line
    said = f"text: {returns:,} carriage return{'s' * (returns > 1)} inside 1 line; end its lines with LF"
    with pytest.raises(InputError, match=said):
        list(read_lines(tmp_path / "text"))
    (tmp_path / "text").write_bytes(b"wort\r" * 20_000)
    with pytest.raises(InputError, match=r"text:1: line is longer .* and holds [\d,]+ carriage returns; end its lines"):
        list(read_lines(tmp_path / "text"))


def test_some_carriage_returns_are_counted(tmp_path, capsys):
    (tmp_path / "text").write_bytes(b"eins\r\nzw\rei\ndrei\r")
    assert list(read_lines(tmp_path / "text")) == ["eins", "zw\rei", "drei"]
    assert "text: 1 carriage return inside 3 lines; none ends a line" in capsys.readouterr().err


def test_a_byte_order_mark_is_no_text(tmp_path, capsys):
    (tmp_path / "gold").write_text("\ufeff1\t2\n3\t\ufeff4\n")
    assert list(read_lines(tmp_path / "gold")) == ["1\t2", "3\t\ufeff4"]
    assert "gold: begins with a byte-order mark, which is left out" in capsys.readouterr().err
    assert read_gold(tmp_path / "gold")[0] == ("1", "2")


def line_by_line(data, max_bytes):
    """What `decode_lines` does, a line at a time."""
    data = data.removeprefix(lines.BOM)
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
        st.sampled_from([b"a", b"\r\n", b"\n", b"\n\n", "\xfc\u2028".encode(), b"\xff", b"\0", b"bcd" * 4, lines.BOM]),
        max_size=40,
    ),
    st.integers(1, 9),
)
def test_blocks_of_any_size_give_the_same_lines(parts, size):
    data = b"".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", size)
        texts, wrong = gathered([line] for line in lines.decode_lines(io.BytesIO(data), "text", lines.Limits(20)))
        arrays, same = gathered(
            block.to_pylist() for block in lines.decode_arrays(io.BytesIO(data), "text", lines.Limits(20))
        )
    assert [*texts, *wrong] == list(line_by_line(data, 20))
    assert same == wrong
    assert arrays == texts[: len(arrays)]
    assert wrong or len(arrays) == len(texts)


def gathered(blocks):
    """The lines of blocks, and the number of the line that ended them by an error."""
    texts = []
    try:
        for block in blocks:
            texts += block
    except InputError as error:
        return texts, [int(str(error).split(":")[1])]
    return texts, []


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file; check the path"):
        list(read_lines(tmp_path / "none"))
