"""Pairs from two texts, or from a file that has them: columns, ids, and lines that are not as they should be."""

import gzip
import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bitextbench.base.errors import InputError
from bitextbench.formats import pairs


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
    assert "a: 1 lines are longer than 65,536 bytes, first line 2; they count as empty" in said


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
        (["a"], (), "a:2: line has 1 columns; column 2 is asked for: separate fields by tabs"),
        (["a"], ("src", "tgt"), "a: columns src,tgt of a text; number them from 1"),
        (["a"], ("1",), "1 columns; name those of source and target"),
        (["a", "b"], ("1", "2"), "two texts have no columns"),
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
