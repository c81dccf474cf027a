"""Pairs from two texts, or from a file that has them: columns, ids, and lines that are not as they should be."""

import gzip
import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bitextbench.base import lines
from bitextbench.base.errors import InputError
from bitextbench.base.progress import count_of
from bitextbench.formats import inputs, pairs


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(*paths: str, columns=()) -> list[tuple[str, ...]]:
    tables = [*pairs.read(pairs.files([Path(path) for path in paths], columns))]
    return [row for table in tables for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def test_columns_of_a_text():
    Path("crawl.tsv").write_bytes("\ufeffu\tEins\tOne\r\n\nv\tZwei\tTwo\tmore\n".encode() + b"w\t" + b"x" * 70_000)
    assert rows("crawl.tsv", columns=["2", "3", "1"]) == [
        ("Eins", "One", "u"),
        ("", "", ""),
        ("Zwei", "Two", "v"),
        ("", "", ""),
    ]
    Path("crawl.tsv.gz").write_bytes(gzip.compress(b"Eins\tOne\n"))
    assert rows("crawl.tsv.gz") == [("Eins", "One")]


def test_texts_with_a_mark_and_a_long_line(capsys):
    Path("a").write_bytes(b"\xef\xbb\xbfEins\n" + b"x" * 70_000 + b"\nDrei\n")
    Path("b").write_text("One\nTwo\nThree\n")
    assert rows("a", "b") == [("Eins", "One"), ("", "Two"), ("Drei", "Three")]
    said = capsys.readouterr().err
    assert "a: begins with a byte-order mark, which is left out" in said
    assert "a: 1 line is longer than 65,536 bytes, first line 2; counted as empty" in said


def test_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Eins\tOne\n")))
    assert rows("-") == [("Eins", "One")]


def test_columns_of_parquet():
    pq.write_table(pa.table({"id": [7, 8], "src": ["Eins", None], "tgt": ["One", "Two"]}), "p.parquet")
    assert rows("p.parquet") == [("Eins", "One", "7"), ("", "Two", "8")]
    assert rows("p.parquet", columns=["tgt", "src"]) == [("One", "Eins"), ("Two", "")]


@pytest.mark.parametrize(
    ("paths", "columns", "message"),
    [
        (
            ["a"],
            (),
            "a:2: line has 1 column; column 2 is asked for: separate fields by tabs, or say which columns, or skip bad lines (--skip-bad)",
        ),
        (["a"], ("src", "tgt"), "a: lines between tabs have no column names (src,tgt); number them from 1"),
        (["a"], ("1",), "1 column is named; name those of source and target"),
        (["a", "b"], ("1", "2"), "columns are named, but two texts are given"),
        (["p.parquet"], ("de", "en"), "p.parquet: no column de; it has src, tgt"),
        (["a", "none"], (), "none: no such file"),
    ],
)
def test_what_users_get_wrong(paths, columns, message):
    Path("a").write_text("Eins\tOne\nZwei\n")
    Path("b").write_text("One\nTwo\n")
    pq.write_table(pa.table({"src": ["Eins"], "tgt": ["One"]}), "p.parquet")
    with pytest.raises(InputError, match=re.escape(message)):
        rows(*paths, columns=columns)


PIECES = [b"a", "\u00e4\u2028".encode(), b"b"]
WRONG = [b"\r", b"\xff", b"\0", b"\xef\xbb\xbf", b"\xc3\n\xa4"]  # the last: a letter cut in two
MOST = 20  # bytes of a line
ENDS = [b"\n", b"\n", b"\r\n"]


def line_by_line(data: bytes, name: str) -> list[str]:
    """The lines of a text as they are to be read, one at a time; an error is a ValueError."""
    lines, returns = [], 0
    marked, data = data.startswith(b"\xef\xbb\xbf"), data.removeprefix(b"\xef\xbb\xbf")
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else [], 1):
        text = line.removesuffix(b"\r")
        if len(text) > MOST:
            lines.append("")
            continue
        returns += text.count(b"\r")
        if b"\0" in text:
            raise ValueError(f"{name}:{number}: line holds a NUL byte")
        try:
            lines.append(text.decode())
        except UnicodeDecodeError as error:
            place = error.start + 1 + (3 if marked and number == 1 else 0)
            raise ValueError(f"{name}:{number}: invalid UTF-8 at byte {place} of the line") from None
    if returns and returns >= len(lines):
        raise ValueError(f"{name}: {count_of(returns, 'carriage return')} inside {count_of(len(lines), 'line')}")
    return lines


@st.composite
def crawls(draw):
    """Two texts, mostly of as many lines, with up to two kinds of what is wrong."""
    pieces = st.lists(st.sampled_from(PIECES + draw(st.lists(st.sampled_from(WRONG), max_size=2))), max_size=3).map(
        b"".join
    )
    pieces |= st.just(b"x" * (MOST + 1))
    lines = st.lists(st.tuples(pieces, st.sampled_from(ENDS)).map(b"".join), max_size=6)
    sides = [b"".join(draw(lines)) for _ in range(2)]
    if draw(st.booleans()):
        missing = sides[0].count(b"\n") - sides[1].count(b"\n")
        sides[missing > 0] += b"c\n" * abs(missing)
    return sides


@example([b"a\xc3\n\xa4b\n", b"c\nd\n"], 1 << 20, False)
@given(crawls(), st.sampled_from([1, 5, 1 << 20]), st.booleans())
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_texts_are_read_as_a_line_at_a_time_would_be(crawl, block, packed):
    names = [f"{side}.gz" if packed else side for side in ("a", "b")]
    for name, data in zip(names, crawl, strict=True):
        Path(name).write_bytes(gzip.compress(data, 1) if packed else data)
    expected, errors = [], []
    for name, data in zip(names, crawl, strict=True):
        try:
            expected.append(line_by_line(data, name))
        except ValueError as error:
            errors.append(str(error))
    if not errors and len({*map(len, expected)}) > 1:
        errors.append(f"the two sides differ in lines: a has {len(expected[0])} and b has {len(expected[1])}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", block)
        patch.setattr("bitextbench.base.packed.BLOCK", block)
        patch.setattr(inputs, "MAX_LINE_BYTES", MOST)
        if not errors:
            assert rows(*names) == [*zip(*expected, strict=True)]
            return
        with pytest.raises(InputError) as raised:
            rows(*names)
    assert any(error in str(raised.value).replace(".gz has", " has") for error in errors), errors


@pytest.mark.parametrize("cut", [1, 1000, 20_000])
def test_a_truncated_side_is_an_error(cut):
    data = b"".join(b"line %d %d\n" % (i, i**5) for i in range(20_000))
    Path("a.gz").write_bytes(gzip.compress(data)[:-cut])
    Path("b").write_bytes(data)
    with pytest.raises(InputError, match=r"a.gz: damaged or truncated archive"):
        rows("a.gz", "b")


def test_a_line_of_a_megabyte_counts_as_empty():
    Path("a").write_bytes(b"Eins\n" + b"x" * 1_000_000 + b"\nDrei\n")
    Path("b").write_bytes(b"One\nTwo\nThree\n")
    assert rows("a", "b") == [("Eins", "One"), ("", "Two"), ("Drei", "Three")]
