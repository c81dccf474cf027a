"""What people give, in every format: the same columns of text, held to the same rules, errors that say where."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bitextbench.base import pipes
from bitextbench.base.errors import InputError
from bitextbench.base.lines import MAX_LINE_BYTES
from bitextbench.formats import inputs, mined_pairs, pairs, sentences
from bitextbench.formats.inputs import Reading

DE, EN = ["Der Hund ist stark.", "Die Katze ist neu."], ["The dog is strong.", "The cat is new."]
LANGUAGES = ("de", "en")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(name: str, columns: tuple[str, ...] = (), **more) -> list[tuple[str, ...]]:
    files = pairs.files([Path(name)], columns, **{"languages": LANGUAGES, **more})
    return [
        row
        for table in pairs.read(files)
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]


def parquet(name: str, **columns) -> None:
    pq.write_table(pa.table(columns), name)


def unit(*segments: tuple[str, str]) -> str:
    return "<tu>" + "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in segments) + "</tu>"


def write_tmx(name: str, *units: str, head: str = '<?xml version="1.0"?>', encoding: str = "utf-8") -> None:
    Path(name).write_text(f'{head}<tmx version="1.4"><header/><body>{"".join(units)}</body></tmx>', encoding=encoding)


def write_all() -> list[str]:
    """The two pairs in every format."""
    parquet("plain.parquet", src=DE, tgt=EN)
    parquet("codes.parquet", en=EN, url=["a", "b"], de_DE=DE)
    parquet("struct.parquet", translation=[{"de": de, "en": en} for de, en in zip(DE, EN, strict=True)])
    both = [*zip(DE, EN, strict=True)]
    Path("struct.jsonl").write_text(
        "".join(json.dumps({"translation": {"deu": de, "eng": en}}) + "\n" for de, en in both)
    )
    Path("flat.ndjson").write_text(
        "\ufeff" + "".join(json.dumps({"target": en, "source": de}) + "\n" for de, en in both)
    )
    with gzip.open("packed.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"src": de, "tgt": en, "n": 1}) + "\n" for de, en in both)
    with zipfile.ZipFile("Books.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for code, lines in (("de", DE), ("en", EN)):
            archive.writestr(f"Books.de-en.{code}", "\n".join(lines) + "\n")
        archive.writestr("README", "of OPUS")
        archive.writestr("Books.de-en.xml", "<x/>")
    units = [unit(("de-DE", de), ("fr", "x"), ("EN-us", en)) for de, en in both]
    write_tmx("a.tmx", *units)
    write_tmx("doctype.tmx", *units, head='<?xml version="1.0"?><!DOCTYPE tmx SYSTEM "tmx14.dtd">')
    write_tmx("utf16.tmx", *units, head='<?xml version="1.0" encoding="UTF-16"?>', encoding="utf-16")
    Path("packed.tmx.gz").write_bytes(gzip.compress(Path("a.tmx").read_bytes()))
    Path("text.tsv").write_text("".join(f"{de}\t{en}\n" for de, en in both))
    return [path.name for path in Path().iterdir()]


def test_every_format_gives_the_same_pairs_and_texts():
    for name in write_all():
        assert rows(name) == [*zip(DE, EN, strict=True)], name
        if name != "text.tsv":
            read = [
                sentences.read(name, side, language=code).text
                for side, code in zip(("src", "tgt"), LANGUAGES, strict=True)
            ]
            assert read == [DE, EN], name


def test_columns_by_name():
    parquet("p.parquet", a=DE, t=[{"x": en} for en in EN], key=[7, 8])
    assert rows("p.parquet", ("a", "t.x", "key")) == [
        (*pair, str(key)) for key, pair in enumerate(zip(DE, EN, strict=True), 7)
    ]
    held = sentences.read("p.parquet", columns=("t.x", "key"))
    assert (held.text, held.ids) == (EN, ["7", "8"])
    Path("p.jsonl").write_text('{"a": "Eins", "b": {"c": "One"}}\n{"a": null, "b": {"c": "Two"}}\n')
    assert rows("p.jsonl", ("a", "b.c")) == [("Eins", "One"), ("", "Two")]
    Path("p.tsv").write_text("u\tEins\nv\tZwei\n")
    assert sentences.read("p.tsv", columns=("2", "1")).ids == ["u", "v"]


def test_what_we_write_is_read(tmp_path):
    blocks = [(__import__("numpy").float32([0.5, 0.25]), ["a", "b"], ["c", "d"], ['x & "y" <z>', "zwei"], EN)]
    for name in ("o.tmx", "o.tmx.gz", "o.parquet"):
        mined_pairs.write_blocks(Path(name), iter(blocks), languages=("de_DE", "en"))
        assert rows(name, ("src", "tgt") if "parquet" in name else ()) == [
            *zip(['x & "y" <z>', "zwei"], EN, strict=True)
        ]


STRING_TYPES = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.dictionary(pa.int8(), pa.string()),
]


@pytest.mark.parametrize("kind", STRING_TYPES, ids=str)
def test_types_of_text_in_parquet(kind):
    values = [None if text is None else text.encode() if "binary" in str(kind) else text for text in ("ä", None, "")]
    parquet("p.parquet", src=pa.array(values, kind), tgt=["x", "y", "z"])
    assert rows("p.parquet") == [("ä", "x"), ("", "y"), ("", "z")]


def test_parquet_is_held_to_the_rules_of_text(capsys):
    texts = ["Der Hund\nist stark.", "a\r\n b", "x" * (MAX_LINE_BYTES + 1), "x" * MAX_LINE_BYTES, None, "Schluss\n"]
    parquet("p.parquet", src=texts, tgt=["y"] * 6)
    parquet("text.parquet", text=texts)
    expected = ["Der Hund ist stark.", "a b", "", "x" * MAX_LINE_BYTES, "", "Schluss"]
    assert [src for src, _ in rows("p.parquet")] == expected
    said = capsys.readouterr().err
    assert "p.parquet: 1 line is longer than 65,536 bytes, first line 3; counted as empty" in said
    assert "p.parquet: 3 sentences with line breaks, which became spaces" in said
    held = sentences.read("text.parquet")
    assert (held.text, held.too_long) == (expected, {2})
    lines = [table["line"].to_pylist() for table in pairs.read(pairs.files([Path("p.parquet")]), whole=True)]
    assert len("\n".join(lines[0]).split("\n")) == 6


def test_a_row_whose_sides_are_both_too_long_is_counted_once(capsys):
    long = "x" * (MAX_LINE_BYTES + 1)
    parquet("p.parquet", src=["x", long, long, long, "x"], tgt=[long, long, long, long, "y"])
    assert rows("p.parquet") == [("x", ""), ("", ""), ("", ""), ("", ""), ("x", "y")]
    assert "p.parquet: 4 lines are longer than 65,536 bytes, first line 1; counted" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "line", "bad", "message"),
    [
        ("p.tsv", "a\tb\n", "alone\n", "line has 1 column"),
        ("p.jsonl", '{"src": "a", "tgt": "b"}\n', "[]\n", "no JSON object"),
        ("p.jsonl", '{"src": "a", "tgt": "b"}\n', '{"src": "a", "tgt": 1}\n', "field tgt is 1, not text"),
        ("p.jsonl", '{"src": "a", "tgt": "b"}\n', '{"src": "a", "tgt": "\\u0000"}\n', "holds a NUL byte"),
        ("p.parquet", "a", "\0", "holds a NUL byte"),
    ],
)
def test_a_bad_row_after_the_first_blocks_is_told_its_number(name, line, bad, message, monkeypatch):
    monkeypatch.setattr("bitextbench.base.lines.BLOCK", 5)
    monkeypatch.setattr("bitextbench.base.packed.BLOCK", 5)
    monkeypatch.setattr("bitextbench.formats.bitext.BLOCK", 2)
    if name == "p.parquet":
        parquet(name, src=[*[line] * 6, bad], tgt=[line] * 7)
    else:
        Path(name).write_text(line * 6 + bad)
    with pytest.raises(InputError, match=rf"{name}:7: {message}"):
        rows(name)


def test_a_number_is_an_id_but_true_is_none():
    Path("p.jsonl").write_text('{"id": 7, "src": "a", "tgt": "b"}\n')
    assert rows("p.jsonl") == [("a", "b", "7")]
    Path("p.jsonl").write_text('{"id": true, "src": "a", "tgt": "b"}\n')
    with pytest.raises(InputError, match=r"p\.jsonl:1: field id is true, not text"):
        rows("p.jsonl")


def test_a_column_of_ids_is_not_indonesian():
    parquet("p.parquet", id=["1", "2"], en=EN)
    with pytest.raises(InputError, match="no column src; it has id, en"):
        rows("p.parquet", languages=("id", "en"))
    parquet("p.parquet", translation=[{"id": "Anjing.", "en": "Dog."}])
    assert rows("p.parquet", languages=("id", "en")) == [("Anjing.", "Dog.")]


def test_a_quiet_reading_writes_no_log(capsys):
    write_tmx("p.tmx", unit(("de", "allein")), unit(("de", "x"), ("en", "y")))
    Path("mark.tsv").write_text("\ufeffa\tb\n")
    Path("returns.tsv").write_text("a\rb\tc\nd\te\n", newline="")
    Path("mined.tsv").write_text("0.5\t1\t2\ta\tb\n")
    parquet("p.parquet", src=["x" * (MAX_LINE_BYTES + 1), "a\nb"], tgt=EN)
    for name in ("p.tmx", "mark.tsv", "returns.tsv", "mined.tsv", "p.parquet"):
        read = rows(name)
        assert name in capsys.readouterr().err
        assert rows(name, quiet=True) == read
        assert not capsys.readouterr().err
    Path("plain.tsv").write_text("a\tb\n")
    rows("plain.tsv")
    assert not capsys.readouterr().err, "there is nothing to tell"


def invalid() -> pa.Array:
    data = pa.array([b"gut", b"Stra\xdfe"])
    return pa.StringArray.from_buffers(2, data.buffers()[1], data.buffers()[2])


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("p.parquet", {"src": ["a", "b\0"], "tgt": EN}, "p.parquet:2: holds a NUL byte"),
        ("p.parquet", {"src": invalid(), "tgt": EN}, "p.parquet:2: invalid UTF-8 at byte 5"),
        ("p.parquet", {"src": pa.array([b"\xff", b""]), "tgt": EN}, "p.parquet:1: invalid UTF-8 at byte 1"),
        ("p.parquet", {"src": [1, 2], "tgt": EN}, "p.parquet: column src is int64, not text"),
        ("p.parquet", {"src": [["a"], ["b"]], "tgt": EN}, "column src is list<element: string>, not text"),
        ("p.parquet", {"a": DE, "b": EN}, "p.parquet: no column src; it has a, b: say which"),
        ("p.parquet", {}, "p.parquet: no column src; it has no fields"),
    ],
)  # fmt: skip
def test_bad_columns_are_one_line(name, columns, message):
    parquet(name, **columns)
    with pytest.raises(InputError, match=re.escape(message)):
        rows(name)


def test_a_column_that_is_there_twice():
    pq.write_table(
        pa.Table.from_arrays([pa.array(DE), pa.array(EN), pa.array(EN)], names=["src", "tgt", "tgt"]), "p.parquet"
    )
    with pytest.raises(InputError, match=r"p.parquet: has two columns tgt; rename one of them"):
        rows("p.parquet")


BAD_JSON = ['{"src": "a", "tgt": "b"}', "{", "[1]", '{"src": 3, "tgt": "b"}', '{"src": "a"}', '{"src": "\\u0000", "tgt": "b"}', '{"src": "\\ud800", "tgt": "b"}', "", '{"src": "c", "tgt": "d"}']  # fmt: skip


@pytest.mark.parametrize(
    ("line", "message"),
    [(1, "not JSON"), (2, "no JSON object"), (3, "field src is 3, not text"), (4, "no field tgt"), (5, "holds a NUL byte"), (6, "invalid UTF-8")],
)  # fmt: skip
def test_bad_lines_of_json(line, message):
    Path("p.jsonl").write_text(f"{BAD_JSON[0]}\n{BAD_JSON[line]}\n")
    with pytest.raises(InputError, match=rf"p\.jsonl:2: {message}"):
        rows("p.jsonl")


def test_bad_lines_are_skipped_on_demand(capsys):
    Path("p.jsonl").write_text("".join(f"{line}\n" for line in BAD_JSON))
    assert rows("p.jsonl", skip_bad=True) == [("a", "b"), ("", ""), ("", ""), ("", "b"), ("a", ""), ("", "b"), ("", "b"), ("", ""), ("c", "d")]  # fmt: skip
    assert "p.jsonl: 6 bad lines count as empty: line 2: not JSON" in capsys.readouterr().err
    Path("a").write_bytes(b"Eins\nStra\xdfe\nDrei\0\n" + b"\xff\n" * 20)
    Path("b").write_text("One\nTwo\nThree\n" + "x\n" * 20)
    files = pairs.files([Path("a"), Path("b")], skip_bad=True)
    assert pa.concat_tables(pairs.read(files))["src"].to_pylist() == ["Eins", *[""] * 22]
    said = capsys.readouterr().err
    assert (
        "a: 22 bad lines count as empty: line 2: invalid UTF-8 at byte 5 of the line; line 3: line holds a NUL byte"
        in said
    )
    assert said.count("invalid UTF-8") == 9
    assert "; ..." in said
    with pytest.raises(InputError, match=r"a:2: invalid UTF-8 at byte 5 of the line"):
        [*pairs.read(pairs.files([Path("a"), Path("b")]))]
    Path("c.tsv").write_text("Eins\tOne\nallein\nZwei\tTwo\n")
    assert rows("c.tsv", skip_bad=True) == [("Eins", "One"), ("", ""), ("Zwei", "Two")]
    Path("ids").write_bytes(b"x\tEins\nohne\ny\t\xff\nz\tDrei\n")
    held = sentences.read("ids", form="bucc", reading=Reading(skip_bad=True))
    assert (held.text, held.bad) == (["Eins", "", "", "Drei"], {1, 2})


def test_units_of_tmx(capsys):
    inline = 'Der <bpt i="1">&lt;b&gt;</bpt><hi>Hund</hi><ept i="1">&lt;/b&gt;</ept> ist <ph>{0}<sub>Fu\u00df</sub></ph>\n   stark &amp; "gut" &#228;.'
    write_tmx(
        "p.tmx", unit(("de", inline), ("en", "x")), unit(("de", "allein")), unit(("en", "alone"), ("en", "again"))
    )
    assert rows("p.tmx") == [('Der Hund ist stark & "gut" ä.', "x"), ("allein", ""), ("", "alone")]
    said = capsys.readouterr().err
    assert "p.tmx: 1 of 3 units without text in en, which counts as empty" in said
    assert "p.tmx: 1 further text of units in de and en left out" in said
    assert rows("p.tmx", languages=("deu", "en-GB"))[0][1] == "x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<!DOCTYPE tmx [<!ENTITY a "b">]><tmx><tu/></tmx>', "p.tmx:1: declares or names an entity"),
        ('<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx><tu/></tmx>', "declares or names an entity"),
        ('<!DOCTYPE tmx SYSTEM "t.dtd"><tmx><tu><tuv xml:lang="de"><seg>&nosuch;</seg></tuv></tu></tmx>', "declares or names an entity"),
        ("<tmx><tu></tmx>", "p.tmx:1: not XML (mismatched tag)"),
        ("<tmx>", "not XML (no element found)"),
        ("", "not XML (no element found)"),
        ('<?xml version="1.0" encoding="GB2312"?><tmx/>', "p.tmx:1: cannot be decoded (multi-byte encodings are not supported); convert"),
        ('<?xml version="1.0" encoding="nosuch"?><tmx/>', "p.tmx:1: cannot be decoded (unknown encoding: nosuch); convert"),
        ('<tmx><tu><tuv xml:lang="fr"><seg>x</seg></tuv></tu></tmx>', "p.tmx: no unit has text in de; it has fr"),
    ],
)  # fmt: skip
def test_bad_tmx_is_one_line(text, message):
    Path("p.tmx").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        rows("p.tmx")


@pytest.mark.parametrize("name", ["a.csv", "a.xml", "a.xlsx", "a.pdf", "a.html", "a.csv.gz", "a.tar.gz", "a.tgz", "a.parquet.gz", "a.zip.xz", "a.npy", "a.docx", "a.de.lzma", "a.de.Z"])  # fmt: skip
def test_formats_that_are_not_read(name):
    Path(name).write_text("x\ty\n")
    with pytest.raises(
        InputError, match=r"is not a format that can be read; give lines of text .*\.jsonl or \.tmx .*\.parquet"
    ):
        rows(name)
    with pytest.raises(InputError, match=r"is not a format that can be read"):
        sentences.read(name)


def test_names_that_hide_the_format():
    write_all()
    for name, message in (
        ("plain.parquet", "is Parquet, not text"),
        ("Books.zip", "is Zip, not text"),
        ("a.tmx", "is XML, not lines"),
    ):
        Path("crawl.de").write_bytes(Path(name).read_bytes())
        with pytest.raises(InputError, match=message):
            rows("crawl.de")
    Path("a.ms").write_text("satu\tone\n")  # Malay, not troff
    assert rows("a.ms") == [("satu", "one")]


def test_zips_that_do_not_fit():
    for members, message in (
        ([], "no texts in de and en"),
        (["x.de"], "no texts"),
        (["a.de", "a.en", "b.de", "b.en"], "2 texts"),
    ):
        with zipfile.ZipFile("p.zip", "w") as archive:
            for member in members:
                archive.writestr(member, "x\n")
        with pytest.raises(InputError, match=rf"p\.zip: {message} .*it holds|p\.zip: {message}"):
            rows("p.zip")
    with zipfile.ZipFile("p.zip", "w") as archive:
        archive.writestr("a.de", "x\n")
        archive.writestr("a.en", "x\ny\n")
    with pytest.raises(InputError, match=r"the two sides differ in lines: p\.zip/a\.de has 1 and p\.zip/a\.en has 2"):
        rows("p.zip")
    data = bytearray(Path("p.zip").read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # of the first member
        data[data.index(header) + flags] |= 1
    Path("p.zip").write_bytes(data)
    with pytest.raises(InputError, match=r"p\.zip: member 'a\.de' is encrypted; unpack it first"):
        rows("p.zip")
    Path("p.zip").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(InputError, match=r"p\.zip: damaged or truncated archive"):
        rows("p.zip")


# ---- inputs that can be read once


def test_pipes_are_copied_all_at_once(place):
    """A program that writes two pipes in turn waits for the reader of either."""
    for name in ("a", "b"):
        os.mkfifo(name)

    def write() -> None:
        with open("a", "w") as a, open("b", "w") as b:
            for number in range(30_000):
                a.write(f"eins {number}\n")
                b.write(f"one {number}\n")

    thread = threading.Thread(target=write)
    thread.start()
    Path("copies").mkdir()
    copies = pipes.copied([Path("a"), Path("b")], place / "copies")
    thread.join()
    files = {**pairs.files(copies), "names": {"src": "a", "tgt": "b"}}
    assert sum(map(len, pairs.read(files))) == sum(map(len, pairs.read(files))) == 30_000
    with pytest.raises(InputError, match=r"a: is the stream a, which is read once"):
        pipes.check_inputs([Path("a"), Path("b"), Path("a")])


@pytest.mark.parametrize(
    "name", ["plain.parquet", "Books.zip", "a.tmx", "packed.tmx.gz", "struct.jsonl", "packed.jsonl.gz", "text.tsv"]
)
def test_a_copy_of_a_pipe_is_what_its_bytes_say(name, place):
    write_all()
    os.mkfifo("pipe")
    thread = threading.Thread(target=lambda: Path("pipe").write_bytes(Path(name).read_bytes()))
    thread.start()
    Path("copies").mkdir()
    (copy,) = pipes.copied([Path("pipe")], place / "copies")
    thread.join()
    assert rows(str(copy), names={"pairs": "pipe"}) == [*zip(DE, EN, strict=True)]


def test_standard_input_in_every_form(monkeypatch):
    write_all()
    for name in ("a.tmx", "struct.jsonl", "text.tsv", "packed.jsonl.gz"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(name).read_bytes())))
        assert rows("-") == [*zip(DE, EN, strict=True)], name
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("plain.parquet").read_bytes())))
    with pytest.raises(InputError, match=r"standard input: is Parquet, not text; name a file"):
        rows("-")


SHELL = "set -o pipefail; export B='{python} -m bitextbench' L='--src-language de --tgt-language en --rules {{}} --threads 1'; {command}"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    text = SHELL.format(python=sys.executable, command=command)
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=120, check=False)


def test_streams_of_the_commands():
    Path("p.tsv").write_text("".join(f"doc{n}\t{de}\t{en}\n" for n, (de, en) in enumerate(zip(DE, EN, strict=True))))
    done = shell("$B filter <(cat p.tsv) --columns 2,3,1 $L -o - --explain why.tsv | cut -f2,4; cat why.tsv")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"doc0\t{DE[0]}\ndoc1\t{DE[1]}\n1\tkept\t0.0\n2\tkept\t0.0\n"
    assert "2 of the 2 that passed the rules are kept in standard output" in done.stderr
    assert not Path("-").exists()
    assert "two outputs to standard output" in shell("$B filter p.tsv --columns 2,3 $L -o - --explain -").stderr
    Path("many.tsv").write_text("a\tb\n" * 200_000)
    done = shell("$B score many.tsv --similarity random | head -1; echo ${PIPESTATUS[0]}")
    assert done.stdout.split("\n")[1] == "141", done.stderr


# ---- repair

REPAIRS = [
    ("a &amp;amp; b &lt;p&gt; &#39;x&#39; AT&T &nosuch;", "a & b <p> 'x' AT&T &nosuch;", ["entities"]),
    ("Sch\u00c3\u00b6ne Gr\u00c3\u00bc\u00c3\u0178e", "Schöne Grüße", ["mojibake"]),
    ("Sil\u00adben\u200btrennung", "Silbentrennung", ["invisible"]),
    ("u\u0308ber", "\u00fcber", ["nfc"]),
    ("\u201eZitat\u201c, don\u2019t", "\"Zitat\", don't", ["quotes"]),
    ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", []),  # Persian needs its joiner
    ("\u1797\u17b6\u179f\u17b6\u200b\u1781\u17d2\u1798\u17c2\u179a", "\u1797\u17b6\u179f\u17b6\u200b\u1781\u17d2\u1798\u17c2\u179a", []),  # Khmer its spaces
    ("你好,世界", "你好,世界", []),
    ("a &#10; b &#0;", "a   b \ufffd", ["entities"]),
    ("schon gut", "schon gut", []),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after", "kinds"), REPAIRS)
def test_repair_by_kind(before, after, kinds, capsys):
    parquet("p.parquet", src=[before, "x"], tgt=["y", "z"])
    assert rows("p.parquet", repair=True) == [(after, "y"), ("x", "z")]
    said = capsys.readouterr().err
    assert kinds == re.findall(r"1 (\w+)", said.partition("lines mended: ")[2])
    assert rows("p.parquet")[0][0] == before


@example(["&lt"])
@example(["a?b=1&copy=2 &amp;"])
@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.text("a\u00e4\u0308&;#39lt\u00c3\u00bc\u00ad\u200b\u201c\u2019 中", max_size=12), min_size=1, max_size=6
    )
)
def test_repair_of_a_column_is_that_of_each_line(lines):
    from collections import Counter

    from bitextbench.formats.repair import KINDS, repaired

    expected = []
    for line in lines:
        for _, mend in KINDS.values():
            line = mend(line)
        expected.append(line)
    assert repaired(pa.array(lines, pa.string()), Counter()).to_pylist() == expected


def test_an_empty_text_is_found_before_the_work_begins():
    write_all()
    Path("empty").write_text("")
    Path("empty.gz").write_bytes(gzip.compress(b""))
    for name in ("empty", "empty.gz"):
        with pytest.raises(InputError, match=f"{name}: has no sentences"):
            inputs.check_filled(Path(name))
    for name in (".", "text.tsv", "packed.jsonl.gz", "plain.parquet", "Books.zip"):
        inputs.check_filled(Path(name))


def test_the_list_of_formats_has_no_language():
    assert not {
        suffix for suffix in inputs.OTHERS if suffix[1:] in {"de", "en", "ps", "tr", "ms", "so", "sh", "py", "pl"}
    }


def test_lines_without_ids_are_numbered_from_one(tmp_path):
    (tmp_path / "x.de").write_text("eins\nzwei\n\nvier\n")
    held = sentences.read(tmp_path / "x.de")
    assert [*held.ids] == ["1", "2", "3", "4"]
    assert (held.ids[-1], held.ids[1:3], len(held.ids)) == ("4", ["2", "3"], 4)
    assert held.index == {"1": 0, "2": 1, "3": 2, "4": 3}
    with pytest.raises(IndexError):
        held.ids[4]


@pytest.mark.parametrize("line", ["0.39\t56\t162\tein Satz\ta sentence", "-1e-3\tde-1\ten-2\tein Satz\ta sentence"])
def test_what_mine_wrote_is_read_without_naming_columns(place, line, capsys):
    (place / "pairs.tsv").write_text(f"{line}\n\n{line}\n", encoding="utf-8")
    assert [row[:2] for row in rows("pairs.tsv")] == [("ein Satz", "a sentence"), ("", ""), ("ein Satz", "a sentence")]
    assert "as `mine` writes them: columns 4,5" in capsys.readouterr().err


def test_other_lines_of_five_fields_are_read_from_the_first_two(place):
    (place / "pairs.tsv").write_text("1984\t1984 is a novel\t0.1\t0.2\t0.3\n", encoding="utf-8")
    assert [row[:2] for row in rows("pairs.tsv")] == [("1984", "1984 is a novel")]
