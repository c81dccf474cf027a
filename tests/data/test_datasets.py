"""Parsers and archives, on small files made here, and on the real mirror where there is one."""

import gzip
import io
import os
import random
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bitextbench.base import packed
from bitextbench.base.errors import InputError
from bitextbench.base.lines import decode_lines
from bitextbench.data import parsers
from bitextbench.data.fetch import fetch
from bitextbench.data.parsers import Row
from bitextbench.data.registry import TIERS, DataSet, File, Parser, entry, load
from bitextbench.data.unpack import open_place

DE_EN = ("de", "en")


def parse(data_set: DataSet, languages: tuple[str, str], raw: Path) -> Iterator[Row]:
    return parsers.rows_of(parsers.parse(data_set, languages, raw))


def rows(name: str, languages: tuple[str, str], raw: Path) -> Iterator[Row]:
    return parsers.rows_of(parsers.read(name, languages, raw))


def parsed(
    raw: Path, name: str, languages: tuple[str, str] = DE_EN, langs: tuple[str, ...] = DE_EN, **arguments: Any
) -> list[Row]:
    files = tuple(File(f"https://h/{path.name}", path.name) for path in raw.iterdir() if path.is_file())
    return list(parse(DataSet("a", langs, "", "core", (Parser(name, arguments),), files), languages, raw))


def write(raw: Path, **texts: str) -> None:
    for name, text in texts.items():
        (raw / name.replace("_", ".")).write_text(text, encoding="utf-8")


def tar(path: Path, **members: bytes) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def read(raw: Path, place: str) -> list[str]:
    with open_place(raw, place) as stream:
        return list(decode_lines(stream, raw / place))


# ---- parsers


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    write(tmp_path, a_de="\ufeffeins\n", a_en="\ufeffone\n", b="\ufeffde,eins\nde,zwei\n")
    assert parsed(tmp_path, "aligned", texts={"de": "a.de", "en": "a.en"}) == [("eins", "one", "", "")]
    assert parsed(tmp_path, "csv_first_comma", language="de", text="b") == [("zwei", None, "", "")]
    assert read(tmp_path, "b") == ["de,eins", "de,zwei"]


def test_aligned(tmp_path: Path) -> None:
    write(tmp_path, a_de="eins\nzwei\u2028\x85drei\n\n", a_en="one\ntwo\nthree")
    texts = {"de": "a.de", "en": "a.en"}
    assert parsed(tmp_path, "aligned", texts=texts) == [
        ("eins", "one", "", ""),
        ("zwei\u2028\x85drei", "two", "", ""),
        ("", "three", "", ""),
    ]
    assert parsed(tmp_path, "aligned", ("en", "de"), texts=texts)[0][:2] == ("one", "eins")
    write(tmp_path, a_en="one\ntwo\n")
    with pytest.raises(
        InputError, match=r"a\.en: the rows .*a\.de belong together, but they are 2 and 3; fetch the data"
    ):
        parsed(tmp_path, "aligned", texts=texts)


def test_aligned_in_every_container(tmp_path: Path) -> None:
    tar(tmp_path / "t.tgz", **{"./other": b"x", "in/a.de": b"eins\n", "in/a.en": b"one\n"})
    with zipfile.ZipFile(tmp_path / "z.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.de", "eins\n")
    (tmp_path / "a.en.gz").write_bytes(gzip.compress(b"one\n"))
    packed = (tmp_path / "t.tgz").read_bytes()
    for number in range(3):  # served in three parts
        (tmp_path / f"p.tar.gz.0{number}").write_bytes(packed[number * 50 : number * 50 + 50 if number < 2 else None])
    for de, en in (
        ("t.tgz/in/a.de", "t.tgz/in/a.en"),
        ("z.zip/a.de", "a.en.gz"),
        ("p.tar.gz/in/a.de", "p.tar.gz/in/a.en"),
    ):
        assert parsed(tmp_path, "aligned", texts={"de": de, "en": en}) == [("eins", "one", "", "")]
    with pytest.raises(InputError, match=r"t\.tgz: no member 'b'; it holds \./other, in/a\.de, in/a\.en"):
        read(tmp_path, "t.tgz/b")
    with pytest.raises(InputError, match=r"z\.zip: no member 'b'; it holds a\.de"):
        read(tmp_path, "z.zip/b")


def test_a_tar_in_bz2(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "b.tar.bz2", "w:bz2") as archive:
        info = tarfile.TarInfo("in/a.de")
        info.size = 5
        archive.addfile(info, io.BytesIO(b"eins\n"))
    assert read(tmp_path, "b.tar.bz2/in/a.de") == ["eins"]
    (tmp_path / "b.tar.bz2").write_bytes((tmp_path / "b.tar.bz2").read_bytes()[:60])
    with pytest.raises(InputError, match=r"b\.tar\.bz2: damaged or truncated archive"):
        read(tmp_path, "b.tar.bz2/in/a.de")


def test_aligned_with_documents(tmp_path: Path) -> None:
    write(tmp_path, a_de="eins\nzwei\n", a_en="one\ntwo\n", a_ids="1990/s/1 de:1:1 en:1:1\n1990/s/2 de:1:1 en:1:1\n")
    found = parsed(tmp_path, "aligned", texts={"de": "a.de", "en": "a.en"}, docs="a.ids")
    assert found == [("eins", "one", "1990/s/1", ""), ("zwei", "two", "1990/s/2", "")]


def test_bucc(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, b_de="de-1\teins\nde-2\tzwei\nde-3\tdrei\n", b_en="en-1\tone\nen-2\ttwo\nen-3\tfour\n")
    write(tmp_path, b_gold="de-1\ten-1\nde-2\ten-2\nde-2\ten-3\n")
    arguments = {"texts": {"de": "b.de", "en": "b.en"}, "gold": "b.gold"}
    wanted = [
        ("eins", "one", "", "parallel"),
        ("zwei", "two", "", "parallel"),
        ("drei", None, "", ""),
        (None, "four", "", ""),
    ]
    assert parsed(tmp_path, "bucc", **arguments) == wanted
    assert "1 pairs left out, which share a sentence with another pair" in capsys.readouterr().err
    swapped = parsed(tmp_path, "bucc", ("en", "de"), **arguments)
    assert swapped == [*((b, a, *rest) for a, b, *rest in wanted[:2]), ("four", None, "", ""), (None, "drei", "", "")]
    write(tmp_path, b_gold="de-1\ten-9\n")
    with pytest.raises(
        InputError,
        match=r"b\.gold:1: the text of this pair has no sentence with the id 'en-9'; fetch the data set again",
    ):
        parsed(tmp_path, "bucc", **arguments)


def test_tsv(tmp_path: Path) -> None:
    write(tmp_path, a_tsv='one "\tV\teins\ntwo\tMT\tzwei\n')
    columns, labels = ["en", "label", "de"], {"V": "parallel", "MT": "machine"}
    wanted = [("eins", 'one "', "", "parallel"), ("zwei", "two", "", "machine")]
    assert parsed(tmp_path, "tsv", text="a.tsv", columns=columns, labels=labels) == wanted
    assert parsed(tmp_path, "tsv", text="a.tsv", columns=columns, header=True) == [("zwei", "two", "", "")]
    with pytest.raises(InputError, match=r"a\.tsv:1: line has 3 columns instead of 2; fetch the data set again"):
        parsed(tmp_path, "tsv", text="a.tsv", columns=["en", "de"])
    with pytest.raises(InputError, match=r"a\.tsv:2: the label 'MT' is none of V; fetch the data set again"):
        parsed(tmp_path, "tsv", text="a.tsv", columns=columns, labels={"V": "parallel"})


def test_mono_and_first_comma(tmp_path: Path) -> None:
    write(tmp_path, a_de="eins\nzwei\n", a_csv='lang,text\nde,"Ja", sagt er, nein\n')
    mono = {"language": "de", "text": "a.de"}
    assert parsed(tmp_path, "mono", langs=("de",), **mono) == [("eins", None, "", ""), ("zwei", None, "", "")]
    assert parsed(tmp_path, "mono", ("en", "de"), langs=("de",), **mono)[0] == (None, "eins", "", "")
    found = parsed(tmp_path, "csv_first_comma", langs=("de",), language="de", text="a.csv")
    assert found == [('"Ja", sagt er, nein', None, "", "")]
    write(tmp_path, a_csv="lang,text\nen,one\n")
    with pytest.raises(InputError, match=r"a\.csv:2: line does not begin with 'de,'"):
        parsed(tmp_path, "csv_first_comma", langs=("de",), language="de", text="a.csv")


SGM = """<{kind}set setid="t" srclang="any">
<doc sysid="ref" docid="{doc}" genre="news">
<p>
<seg id="1"> {one} </seg>
</p>
<hl><seg id="2">{two}</seg></hl>
</doc>
<DOC docid="last" sysid="ref">
<seg id="1">{two}</seg>
</DOC>
"""


def test_sgm(tmp_path: Path) -> None:
    write(tmp_path, a_de=SGM.format(kind="src", doc="d.1", one="R & D < 1", two="zwei"))
    write(tmp_path, a_en=SGM.format(kind="ref", doc="d.1", one="one", two="two"))
    texts = {"de": "a.de", "en": "a.en"}
    wanted = [("R & D < 1", "one", "d.1", ""), ("zwei", "two", "d.1", ""), ("zwei", "two", "last", "")]
    assert parsed(tmp_path, "sgm", texts=texts) == wanted
    write(tmp_path, a_en=SGM.format(kind="ref", doc="d.2", one="one", two="two"))
    with pytest.raises(InputError, match=r"document 'd\.2' stands where 'd\.1' stands"):
        parsed(tmp_path, "sgm", texts=texts)
    write(tmp_path, a_en='<doc docid="d.1">\n<seg id="1">one</seg>\n')
    with pytest.raises(InputError, match=r"a\.en: the rows .* are 1 and 3"):
        parsed(tmp_path, "sgm", texts=texts)
    write(tmp_path, a_en='<doc docid="d.1">\n<seg id="1">one\n</seg>\n')
    with pytest.raises(InputError, match=r"a\.en:2: a segment does not end on its line"):
        parsed(tmp_path, "sgm", texts=texts)


def osis(*verses: tuple[str, str]) -> str:
    inner = "".join(f"<verse osisID='{name}'>{text}</verse>\n" for name, text in verses)
    return f"<osis xmlns='http://h/ns'><osisText><div><chapter>{inner}</chapter></div></osisText></osis>"


def test_osis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    de = [
        ("Ps.1.1", "Im <note>{O. am}</note> Anfang [war] <note>x</note>; {Titel}Licht"),
        ("Ps.1.2", "{nur Titel}"),
        ("Ps.2.1", "a"),
    ]
    en = [("Ps.1.1", "In the beginning"), ("Ps.1.2", "title"), ("Ps.2.1", "a"), ("Ps.2.2", "b")]
    zh = [("Ps.1.1", "起 初 \u5187"), ("Ps.1.2", "二")]
    ru = [("Ps.1.1", "^^Псалом.^^ (3-2) В начале"), ("Ps.1.2", "два")]
    for name, verses in (("de-ps", de), ("en-ps", en), ("zh-ps", zh), ("ru-ps", ru)):
        (tmp_path / f"{name}.xml").write_text(osis(*verses), encoding="utf-8")
    books = {language: f"{language}-*.xml" for language in ("de", "en", "zh", "ru")}
    assert parsed(tmp_path, "osis", books=books) == [("Im Anfang war; Licht", "In the beginning", "Ps.1", "")]
    assert "1 of 2 chapters have the same verse numbers; 1 of their 2 verses are empty" in capsys.readouterr().err
    found = parsed(tmp_path, "osis", ("zh", "ru"), ("zh", "ru"), books=books)
    assert found[0] == ("起初\u6709", "В начале", "Ps.1", "")
    (tmp_path / "de-ps.xml").write_text("<osis>")
    with pytest.raises(InputError, match=r"de-ps\.xml: the file is not XML"):
        parsed(tmp_path, "osis", books=books)


def test_joined(tmp_path: Path) -> None:
    write(tmp_path, de_tsv="a\tA1\na\tA2\nb\tB\nc\tC\n", fr_tsv="c\tC'\na\tA1'\na\tA2'\nd\tD'\n")
    bitexts = {
        language: {"name": "tsv", "text": f"{language}.tsv", "columns": ["en", language]} for language in ("de", "fr")
    }
    assert parsed(tmp_path, "joined", ("de", "fr"), ("de", "fr"), by="en", bitexts=bitexts) == [
        ("A1", "A1'", "", ""),
        ("C", "C'", "", ""),
    ]
    assert parsed(tmp_path, "joined", ("fr", "de"), ("fr", "de"), by="en", bitexts=bitexts) == [
        ("C'", "C", "", ""),
        ("A1'", "A1", "", ""),
    ]


def test_captions(tmp_path: Path) -> None:
    write(tmp_path, a1_de="d11\nd12\n", a2_de="d21\nd22\n", a1_en="e11\ne12\n", a2_en="e21\ne22\n")
    texts = {"de": ["a2.de", "a1.de"], "en": ["a1.en", "a2.en"]}
    assert parsed(tmp_path, "captions", texts=texts) == [
        ("d21", "e11", "image 1", "independent"),
        ("d11", "e21", "image 1", "independent"),
        ("d22", "e12", "image 2", "independent"),
        ("d12", "e22", "image 2", "independent"),
    ]


def test_mlqe(tmp_path: Path) -> None:
    header = "\t".join(["index", "original", "translation", "scores", "mean", "z_scores", "z_mean", "model_scores"])
    lines = [f"{i}\tsource {i}\tMT {i}\t[1]\t1\t[1]\t1\t1" for i in range(3)]
    write(
        tmp_path,
        p_tsv="\n".join([header, *lines]) + "\n",
        d_ids="doc_id\nA\nA\nB\n",
        h_hter="0.000000\n0.300000\n0.500000\n",
    )
    arguments = {"pairs": "p.tsv", "docs": "d.ids", "hter": "h.hter", "machine_from": 0.5}
    assert parsed(tmp_path, "mlqe", ("en", "de"), **arguments) == [
        ("source 0", "MT 0", "A", "parallel"),
        ("source 1", "MT 1", "A", ""),
        ("source 2", "MT 2", "B", "machine"),
    ]
    write(tmp_path, h_hter="0\nx\n1\n")
    with pytest.raises(InputError, match=r"h\.hter:2: the share of changes \(HTER\) 'x' is not a number"):
        parsed(tmp_path, "mlqe", **arguments)
    write(tmp_path, h_hter="0\n")
    with pytest.raises(InputError, match=r"h\.hter: the rows .* are 1 and 3"):
        parsed(tmp_path, "mlqe", **arguments)


def test_several_parsers_follow_each_other(tmp_path: Path) -> None:
    write(tmp_path, a_de="eins\n", a_en="one\n", b_tsv="zwei\ttwo\n")
    parsers = (
        Parser("aligned", {"texts": {"de": "a.de", "en": "a.en"}}),
        Parser("tsv", {"text": "b.tsv", "columns": ["de", "en"]}),
    )
    data_set = DataSet("a", DE_EN, "", "core", parsers, ())
    assert [row.src for row in parse(data_set, DE_EN, tmp_path)] == ["eins", "zwei"]


def test_wrong_use(tmp_path: Path) -> None:
    write(tmp_path, a_de="eins\n")
    with pytest.raises(
        InputError, match=r"a: this data set has no fr-en text; take another one, or other languages; it has de, en"
    ):
        parsed(tmp_path, "aligned", ("fr", "en"), texts={})
    with pytest.raises(InputError, match=r"a: unknown parser 'alligned'; did you mean aligned\?"):
        parsed(tmp_path, "alligned")
    with pytest.raises(InputError, match=r"a: parser aligned: .*'texts'; its arguments: texts"):
        parsed(tmp_path, "aligned", text="a.de")
    with pytest.raises(InputError, match=r"newstest2016\.de: no such file; fetch newstest2016\.de-en first"):
        list(rows("newstest2016.de-en", DE_EN, tmp_path))


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"gut\n\xff\n", ":2: invalid UTF-8"), (b"a\0b\n", ":1: line holds a NUL"), (b"x" * 70_000, ":1: line is longer")],
)
def test_damaged_text_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    tar(tmp_path / "t.tgz", a=data)
    with pytest.raises(InputError, match=f"t.tgz/a{message}"):
        read(tmp_path, "t.tgz/a")


# ---- archives


@pytest.mark.parametrize("name", ["../evil", "in/../../evil", "/evil", "in\\..\\evil"])
def test_escaping_names_are_refused(tmp_path: Path, name: str) -> None:
    tar(tmp_path / "t.tgz", **{name: b"x", "a": b"eins\n"})
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("a", "eins\n")
        archive.writestr(name, "x")
    for place in ("t.tgz/a", "z.zip/a"):
        with pytest.raises(InputError, match="leads out of the archive; do not use this archive"):
            read(tmp_path, place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.tgz", "z.zip"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_members_that_are_no_files_are_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "t.tgz", "w:gz") as archive:
        info = tarfile.TarInfo("a")
        info.type, info.linkname = kind, "/etc/hostname"
        archive.addfile(info)
    with pytest.raises(InputError, match="member 'a' is a link, folder or device"):
        read(tmp_path, "t.tgz/a")


def test_zip_link_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("a")
    info.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr(info, "/etc/hostname")
    with pytest.raises(InputError, match="member 'a' is encrypted, a link or a folder"):
        read(tmp_path, "z.zip/a")


def test_damaged_zip_members(tmp_path: Path) -> None:
    """An unknown method, a name that is not UTF-8, a place before the file, a flipped byte of LZMA and of bzip2."""
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("ä", b"line\n")
    good = (tmp_path / "z.zip").read_bytes()
    method, offset = good.index(b"PK\1\2") + 10, good.index(b"PK\5\6") + 16
    for at, byte in ((method, 99), (30, 0xFF), (offset, 0xF0)):
        (tmp_path / "z.zip").write_bytes(good[:at] + bytes([byte]) + good[at + 1 :])
        with pytest.raises(InputError, match=r"z\.zip: damaged or truncated archive \(.+\); fetch it again"):
            read(tmp_path, "z.zip/ä")
    for packing in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with zipfile.ZipFile(tmp_path / "z.zip", "w", packing) as archive:
            archive.writestr("a", random.Random(1).randbytes(1000))
        good = (tmp_path / "z.zip").read_bytes()
        (tmp_path / "z.zip").write_bytes(good[:60] + bytes([good[60] ^ 255]) + good[61:])
        with pytest.raises(InputError, match=r"z\.zip: damaged or truncated archive"):
            read(tmp_path, "z.zip/a")


def test_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (b"a" * 1000 + b"\n") * 20_000
    (tmp_path / "b.gz").write_bytes(gzip.compress(data))
    tar(tmp_path / "t.tgz", a=data)
    with zipfile.ZipFile(tmp_path / "z.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", data)
    for place in ("b.gz", "t.tgz/a", "z.zip/a"):
        with pytest.raises(InputError, match="unpacks to more than"):
            read(tmp_path, place)
    noise = b"".join(b"%d\n" % (i * i) for i in range(100_000))
    (tmp_path / "n.gz").write_bytes(gzip.compress(noise))
    monkeypatch.setattr(packed, "MAX_BYTES", 1 << 19)
    with pytest.raises(InputError, match="unpacks to more than"):
        read(tmp_path, "n.gz")


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "other"])
def test_damaged_archives(tmp_path: Path, damage: str) -> None:
    text = "".join(f"Satz Nummer {i * i}\n" for i in range(20_000)).encode()
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    tar(tmp_path / "t.tgz", a=text)
    with zipfile.ZipFile(tmp_path / "z.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", text)
    for name, place in (("a.gz", "a.gz"), ("t.tgz", "t.tgz/a"), ("z.zip", "z.zip/a")):
        good = (tmp_path / name).read_bytes()
        middle = len(good) // 2
        changed = good[:middle] + bytes(byte ^ 255 for byte in good[middle : middle + 50]) + good[middle + 50 :]
        bad = {"truncated": good[:middle], "changed": changed, "empty": b"", "other": b"<html>moved</html>" * 100}[
            damage
        ]
        (tmp_path / name).write_bytes(bad)
        if damage == "empty" and name == "a.gz":
            continue  # gzip of nothing is nothing
        with pytest.raises(InputError, match=f"{name}.*(truncated|holds nothing)"):
            read(tmp_path, place)


# ---- the real mirror


def mirror() -> Path:
    beside = Path(__file__).parents[3] / "shared" / "mirror"
    named = os.environ.get("BITEXTBENCH_MIRROR", "").split(os.pathsep)[0]
    return Path(named) if named else beside


needs_mirror = pytest.mark.skipif(
    not (mirror() / "index.yaml").exists(), reason="no mirror: set BITEXTBENCH_MIRROR or put it at ../shared/mirror"
)


def mirrored() -> dict[str, DataSet]:
    def there(file: File) -> bool:
        return (mirror() / file.url.split("://")[1]).exists()

    return {name: data_set for name, data_set in load().items() if data_set.files and all(map(there, data_set.files))}


@pytest.fixture(scope="module")
def index() -> dict[str, dict[str, Any]]:
    values = yaml.load(
        (mirror() / "index.yaml").read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    )
    return {value["url"]: value for value in values}


@needs_mirror
def test_registry_states_what_the_index_states(index: dict[str, dict[str, Any]]) -> None:
    found = mirrored()
    assert len(found) > 40
    for data_set in found.values():
        for file in data_set.files:
            assert (file.bytes, file.sha256) == (index[file.url]["bytes"], index[file.url]["sha256"])
            assert index[file.url]["licence"] in data_set.licence
        tiers = {index[file.url]["tier"] for file in data_set.files}
        assert max(tiers, key=TIERS.index) == data_set.tier  # the strictest of its files


SPECIAL = {
    "bible.de-en": 28_225,
    "bible": 28_153,  # German and Chinese
    "bucc2018-sample.zh-en": 8_624 + 13_589 - 257,  # sentences, of which each pair has two
    "mlqe-pe.en-de": 9_000,
    "newstest2008-2013": 16_573,
    "newstest2016-docs.de-en": 2_999,
    "newstest2017-docs.de-en": 3_004,
    "tatoeba-manythings.de-fr": 43_684,  # the English sentences that both files have
}


@needs_mirror
@pytest.mark.parametrize("name", mirrored())
def test_real_data_parses(name: str, index: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    data_set = load()[name]
    fetch(entry(name), tmp_path, [mirror()], tmp_path / "lock")
    languages = (data_set.langs[0], data_set.langs[-1]) if len(data_set.langs) > 1 else DE_EN
    found = list(rows(name, languages, tmp_path))
    lines = {index[file.url].get("lines") for file in data_set.files}
    if name not in SPECIAL:
        assert len(lines) == 1
        assert None not in lines
    header = name.startswith("leipzig")
    texts = 5 if "task2" in name else 1
    assert len(found) == (SPECIAL.get(name) or (lines.pop() - header) * texts)
    assert not any("\n" in (side or "") or "<seg" in (side or "") for row in found for side in row[:2])


@needs_mirror
def test_documents_hold_the_text_of_the_plain_set(tmp_path: Path) -> None:
    """Two publications of newstest2016, in two formats."""
    found = {}
    for name in ("newstest2016.de-en", "newstest2016-docs.de-en"):
        fetch(entry(name), tmp_path / name, [mirror()], tmp_path / "lock")
        found[name] = [
            (row.src.strip(), row.tgt.strip()) for row in rows(name, DE_EN, tmp_path / name) if row.src and row.tgt
        ]
    assert found["newstest2016.de-en"] == found["newstest2016-docs.de-en"]


@needs_mirror
def test_mlqe_texts_and_edits_belong_together(tmp_path: Path) -> None:
    """HTER comes from another archive than the text: its own tokenised source has the same letters, line for line."""
    fetch(entry("mlqe-pe.en-de"), tmp_path, [mirror()], tmp_path / "lock")
    tokenised = [
        line
        for split, stem in (("train", "en-de-train/train"), ("dev", "en-de-dev/dev"), ("test", "en-de-test20/test20"))
        for line in read(tmp_path, f"post-editing-{split}.tar.gz/{stem}.src")
    ]

    def letters(text: str) -> str:
        return "".join(filter(str.isalpha, text))

    texts = [row.src or "" for row in rows("mlqe-pe.en-de", ("en", "de"), tmp_path)]
    assert len(texts) == len(tokenised)
    assert sum(letters(one) != letters(other) for one, other in zip(texts, tokenised, strict=True)) < 0.01 * len(texts)
