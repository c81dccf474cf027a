"""Mining from files to a file, as a user runs it: formats, counts, and bad input."""

import gzip
import lzma
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.encoders.interface import Calibration
from bitextbench.formats import mined_pairs, sentences
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.sentences import Sentences
from bitextbench.mining import checks, summary, texts
from bitextbench.mining.vectors import from_files

EXAMPLES = Path(__file__).parents[2] / "examples"
SRC = ["eins", "zwei", "", "drei", "zwei", "vier\tfünf"]
TGT = ["two", "one", "three", "noise"]
SRC_VECTORS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]], np.float32)
TGT_VECTORS = np.array([[0.1, 1, 0, 0], [1, 0.1, 0, 0], [0, 0, 1, 0.1], [-1, -1, -1, 2]], np.float32)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    names = {"src_text": "S", "tgt_text": "T", "src_emb": "S.npy", "tgt_emb": "T.npy"}
    paths = {name: tmp_path / file for name, file in names.items()}
    paths["src_text"].write_text("\n".join(SRC) + "\n", encoding="utf-8")
    paths["tgt_text"].write_text("\n".join(TGT) + "\n", encoding="utf-8")
    np.save(paths["src_emb"], SRC_VECTORS)
    np.save(paths["tgt_emb"], TGT_VECTORS)
    return paths


def arguments(files: dict[str, Path]) -> list[str]:
    options = [text for name in ("src_emb", "tgt_emb") for text in (f"--{name.replace('_', '-')}", str(files[name]))]
    return [str(files["src_text"]), str(files["tgt_text"]), *options]


def mine(src_text: Path, tgt_text: Path, src_emb: Path, tgt_emb: Path, out: Path, **options) -> dict:
    return texts.mine(src_text, tgt_text, out, from_files(src_emb, tgt_emb), **options)


INVISIBLE = ["\u200b", "\ufeff \u00a0", "\u00ad\u200e", "\x01"]


def test_a_line_of_invisible_characters_is_empty(files, tmp_path):
    """Such lines of both sides are alike, and would be the best pair."""
    for name, lines in (("src", SRC), ("tgt", TGT)):
        files[f"{name}_text"].write_text("\n".join([*lines, *INVISIBLE, "\u200bx"]) + "\n", encoding="utf-8")
        vectors = np.load(files[f"{name}_emb"])
        np.save(files[f"{name}_emb"], np.vstack([vectors, np.full((5, 4), 0.5, np.float32)]))
    counts = mine(**files, out=tmp_path / "pairs.tsv")
    assert (counts["src"]["empty"], counts["tgt"]["empty"]) == (5, 4)
    assert counts["tgt"]["searched"] == len(TGT) + 1


def test_the_command_of_the_issue(files, tmp_path):
    out = tmp_path / "pairs.tsv"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "bitextbench",
            "mine",
            *arguments(files),
            "--margin",
            "ratio",
            "--retrieval",
            "max",
            "-k",
            "2",
            "--threshold",
            "1",
            "-o",
            out,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in out.read_text(encoding="utf-8").splitlines()]
    assert sorted(row[1:] for row in rows) == [
        ["1", "2", "eins", "one"],
        ["2", "1", "zwei", "two"],
        ["4", "3", "drei", "three"],
        ["6", "4", "vier fünf", "noise"],
    ]
    scores = [float(row[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] >= 1
    assert "src 6 sentences (1 empty, 1 duplicate), tgt 4 sentences (0 empty, 0 duplicate)" in done.stderr
    assert f"4 pairs in {out}" in done.stderr
    assert re.search(
        r"mine: ratio \(least, quartiles, best\)( [\d.]+){5}\nmine: [\d.]+ s, [\d,]+ MiB at most\n$", done.stderr
    )


def test_equal_vectors_have_the_distance_zero(files, tmp_path):
    np.save(files["tgt_emb"], SRC_VECTORS[:4])
    mine(**files, out=tmp_path / "p.tsv", margin="euclidean")
    first = (tmp_path / "p.tsv").read_text(encoding="utf-8").splitlines()[0]
    assert first.split("\t")[0] == "0.0"


def test_counts_and_threshold(files, tmp_path):
    counts = mine(**files, out=tmp_path / "p.tsv", margin="cosine", retrieval="intersection", k=9, threshold=0.8)
    assert counts["src"] == {"in": 6, "empty": 1, "duplicate": 1, "searched": 4}
    assert (counts["candidates"], counts["retrieved"], counts["below_threshold"], counts["pairs"]) == (32, 4, 1, 3)
    counts = mine(**files, out=tmp_path / "p.tsv", margin="cosine", retrieval="forward", keep_duplicates=True)
    assert (counts["src"]["searched"], counts["src"]["alike"], counts["pairs"]) == (4, 1, 5)


def test_every_packing_and_format_gives_the_same(files, tmp_path):
    mine(**files, out=tmp_path / "plain.tsv")
    expected = (tmp_path / "plain.tsv").read_bytes()
    for suffix, pack in ((".gz", gzip.compress), (".xz", lzma.compress), (".zst", pa.Codec("zstd").compress)):
        packed = {}
        for name in ("src_text", "tgt_text"):
            packed[name] = files[name].with_suffix(suffix)
            packed[name].write_bytes(pack(files[name].read_bytes()))
        mine(**files | packed, out=tmp_path / "packed.tsv")
        assert (tmp_path / "packed.tsv").read_bytes() == expected
    packed = {}
    for name, lines in (("src_text", SRC), ("tgt_text", TGT)):
        packed[name] = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"id": range(1, len(lines) + 1), "text": lines}), packed[name])
    mine(**files | packed, out=tmp_path / "packed.tsv", threads=2, backend="faiss")
    assert (tmp_path / "packed.tsv").read_bytes() == expected


def test_bucc_ids_and_parquet_out(files, tmp_path):
    for name, lines in (("src_text", SRC), ("tgt_text", TGT)):
        text = "".join(f"{name[:3]}-{i}\t{line}\n" for i, line in enumerate(lines))
        files[name].write_text(text, encoding="utf-8")
    mine(**files, out=tmp_path / "p.parquet")
    rows = pq.read_table(tmp_path / "p.parquet").to_pylist()
    noise = {"src_id": "src-5", "tgt_id": "tgt-3", "src": "vier\tfünf", "tgt": "noise"}
    assert [row for row in rows if noise.items() <= row.items()]
    mine(**files, out=tmp_path / "p.tsv")
    for one, other in zip(mined_pairs.read(tmp_path / "p.parquet"), mined_pairs.read(tmp_path / "p.tsv"), strict=True):
        np.testing.assert_array_equal(one, other)


def test_lines_that_are_taken_for_ids_and_sentences_are_named(tmp_path, capsys):
    (tmp_path / "S").write_text("a\tb\nc\td\n")
    assert sentences.read(tmp_path / "S").ids == ["a", "c"]
    assert "S: lines of id<TAB>sentence; --text-format lines takes them whole\n" in capsys.readouterr().err
    for form in ("bucc", "lines"):
        sentences.read(tmp_path / "S", form=form)
    assert capsys.readouterr().err == ""


def test_plain_lines_with_a_tab_first(tmp_path):
    (tmp_path / "S").write_text("a\tb\nno tab\n")
    with pytest.raises(InputError, match=r"S:2: line is not `id<TAB>sentence`; mend it, or say"):
        sentences.read(tmp_path / "S")
    assert sentences.read(tmp_path / "S", form="lines").text == ["a\tb", "no tab"]


@pytest.mark.parametrize("first", ["x" * 70_000, "id-0\t" + "x" * 70_000])
def test_a_first_line_without_text_decides_nothing(tmp_path, first):
    (tmp_path / "S").write_text(f"{first}\nid-1\teins\n")
    read = sentences.read(tmp_path / "S")
    assert (read.ids, read.text) == (["line 1", "id-1"], ["", "eins"])
    (tmp_path / "S").write_text("\nid-1\teins\n")
    with pytest.raises(InputError, match=r"S:1: line is not `id<TAB>sentence`; mend it, or say"):
        sentences.read(tmp_path / "S")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "src_text",
            b"one\n",
            r"S.npy: 6 vectors for the 1 sentence of .*S; encode this text again, with a vector for each",
        ),
        ("src_text", b"", "S: has no sentences"),
        ("src_text", b"\n \n\n\n\n\n", "S: has empty lines only"),
        ("src_text", b"one\ntwo\nthree\nfour\n", "S.npy: 6 vectors for the 4 sentences"),
        ("src_text", "eins\n".encode("utf-16"), "S:1: is UTF-16; convert it: iconv -f UTF-16 -t UTF-8"),
        (
            "src_text",
            gzip.compress(b"eins\n", mtime=0),
            r"S: is packed as \.gz, and its name does not say so; call it S\.gz",
        ),
        ("src_text", b"eins\rzwei\rdrei\r", "S: 2 carriage returns inside 1 line; end its lines with LF"),
        ("src_text", b"a\tx\nb\ty\na\tz\nd\t1\ne\t2\nf\t3\n", "S:3: id 'a' is also in line 1"),
        ("src_text", b"\xff\n", "S:1: invalid UTF-8"),
        ("tgt_emb", np.ones((4, 3), np.float32), r"S.npy: 4 dimensions, but .*T.npy has 3"),
        ("tgt_emb", np.ones((0, 4), np.float32), "T.npy: has no vectors"),
        ("tgt_emb", np.full((4, 4), np.nan, np.float32), r"T.npy:1: vector is not finite"),
        ("tgt_emb", np.ones((4, 4), np.int64), "T.npy: holds int64, not floats"),
    ],
)
def test_bad_files(files, tmp_path, name, content, message):
    if isinstance(content, bytes):
        files[name].write_bytes(content)
    else:
        np.save(files[name], content)
    with pytest.raises(InputError, match=message):
        mine(**files, out=tmp_path / "out.tsv")
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--margin", "ration", "--margin: unknown name 'ration'; did you mean ratio?"),
        ("--retrieval", "best", "--retrieval: unknown name 'best'; known: forward"),
        ("-k", "0", "-k: 0 is out of range; give 1 to 16,384"),
        ("--memory", "0.001", "bytes of memory are too few"),
        ("--src-emb", "none.npy", "none.npy: no such file"),
        ("--encoder", "folder", "both --encoder and files of vectors are given; give --encoder, or both"),
        (
            "--precision-target",
            "0.9",
            "only one of --gold and --precision-target is given; give both or neither",
        ),
        ("--src-language", "german", "unknown language 'german'; did you mean de?"),
        ("--tgt-language", "qq", "unknown language 'qq'; give a code of ISO 639"),
    ],
)
def test_bad_options(files, tmp_path, option, value, message):
    done = run("mine", *arguments(files), option, value, "-o", tmp_path / "o.tsv")
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.de", "b.en", "--margin", "cos"], "--margin: unknown name 'cos'; did you mean cosine?"),
        (["a.de", "c.en"], "c.en: no such file; check the path"),
        (["a.de", "b.en", "--gold", "none", "--precision-target", "0.9"], "none: no such file"),
        (["a.de", "b.en", "-o", "pairs.csv"], "pairs.csv: the suffix is not that of a format of pairs"),
    ],
)
def test_bad_options_are_found_before_an_encoder_is_loaded(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    for name in ("a.de", "b.en"):
        Path(name).write_text("a sentence\n")
    done = run("mine", "-o", "pairs.tsv", *arguments)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)
    assert not done.output


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_an_empty_text_is_found_before_an_encoder_is_loaded(tmp_path, monkeypatch, packing):
    monkeypatch.setattr("bitextbench.cli.options.EncoderChoice.load", lambda _: pytest.fail("an encoder is loaded"))
    full, empty = tmp_path / "full", tmp_path / f"empty{packing}"
    full.write_text("a sentence\n", encoding="utf-8")
    empty.write_bytes(gzip.compress(b"") if packing else b"")
    for command in (["mine", full, empty], ["mine", empty, full], ["encode", empty]):
        done = run(*command, "-o", tmp_path / "out")
        assert str(done.exception) == f"{empty}: has no sentences; give a text with at least one sentence"


def test_one_text_for_both_sides_is_an_error(files, tmp_path):
    copy = tmp_path / "copy"
    copy.write_bytes(files["src_text"].read_bytes())
    for again in (files["src_text"], copy):
        same = files | {"tgt_text": again, "tgt_emb": files["src_emb"]}
        with pytest.raises(
            InputError, match=f"{again}: holds the same sentences as {files['src_text']}; give a text of"
        ):
            mine(**same, out=tmp_path / "out.tsv")


@pytest.mark.parametrize(
    ("languages", "warned"),
    [
        (("de", "en"), False),
        (("en", "de"), True),
        (("de-AT", "en"), False),
        (("en", "deu"), True),
        (("en", None), False),
        (("ace", "de"), False),
        (("en", "en"), False),
        (("fr", "en"), False),
    ],
)
def test_texts_in_each_others_language_are_warned_of(capsys, languages, warned):
    lines = {name: (EXAMPLES / f"news.{name}").read_text(encoding="utf-8").splitlines() for name in ("de", "en")}
    checks.check_sides(*(Sentences(range(len(text)), text, name) for name, text in lines.items()), languages)
    said = capsys.readouterr().err
    assert bool(re.match("warning: de seems to be in deu?, and en in en; check", said)) == warned, said


def test_zero_vectors_are_searched_and_reported(files, tmp_path):
    vectors = SRC_VECTORS.copy()
    vectors[0] = 0
    np.save(files["src_emb"], vectors)
    done = run("mine", *arguments(files), "-k", 4, "-o", tmp_path / "o.tsv")
    assert done.exit_code == 0
    assert "S.npy: 1 of 4 vectors are zero" in done.output
    assert "32 candidates (" in done.output


def test_neighbours_in_parts(files, tmp_path):
    emb = ["--src-emb", files["src_emb"], "--tgt-emb", files["tgt_emb"], "-k", "3"]
    assert run("neighbours", *emb, "-o", tmp_path / "one").exit_code == 0
    folders = []
    for rows in (":2", "2:6"):
        folders.append(tmp_path / rows.replace(":", "-"))
        assert run("neighbours", *emb, "--src-rows", rows, "-o", folders[-1]).exit_code == 0
    assert run("merge-neighbours", *folders, "-o", tmp_path / "merged").exit_code == 0
    for path in (tmp_path / "one").iterdir():
        assert (tmp_path / "merged" / path.name).read_bytes() == path.read_bytes()
    done = run("neighbours", *emb, "--src-rows", "4:9", "-o", tmp_path / "x")
    assert "has 6 vectors: 4:9 is no range of them" in str(done.exception)
    assert run("neighbours", *emb, "--src-rows", "4", "-o", tmp_path / "x").exit_code == 2


def test_pairs_come_back_as_they_were(tmp_path):
    text = Sentences(["a", "b"], ["x\ty", "z\r"], "S")
    scores = np.array([1.1, 1 / 3], np.float32)
    mined_pairs.write(tmp_path / "p.tsv", Mined(np.array([1, 0]), np.array([0, 1]), scores), text, text)
    assert (tmp_path / "p.tsv").read_text().splitlines()[0] == "1.1\tb\ta\tz \tx y"
    back = mined_pairs.read(tmp_path / "p.tsv")
    np.testing.assert_array_equal(back.scores, scores)
    assert (back.src, back.tgt) == (["b", "a"], ["a", "b"])


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.floats(width=32), *[st.text("a\t\r\nü\u2028\0\x85 ", max_size=5)] * 4), max_size=9),
    st.booleans(),
)
def test_lines_are_those_of_one_by_one(rows, arrow):
    scores = np.array([row[0] for row in rows], np.float32)
    texts = [[row[place] for row in rows] for place in range(1, 5)]
    blocks = [(scores, *([pa.chunked_array([column], pa.string()) for column in texts] if arrow else texts))] * 2
    clean = str.maketrans("\t\r\n", "   ")
    lines = [
        "\t".join([score, *(field.translate(clean) for field in fields)]) + "\n"
        for score, *fields in zip(scores.astype(str), *texts, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        for packing, unpack in (("", bytes), (".gz", gzip.decompress), (".xz", lzma.decompress)):
            path = Path(folder) / f"p.tsv{packing}"
            mined_pairs.write_blocks(path, iter(blocks))
            assert unpack(path.read_bytes()) == "".join(lines * 2).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1\ta\n", "p.tsv:1: fewer than three columns"),
        ("1\ta\tb\nx\ta\tc\n", "p.tsv:2: score 'x' is not a finite number"),
        ("nan\ta\tb\n", "p.tsv:1: score 'nan' is not a finite number"),
        ("1e39\ta\tb\n", "p.tsv:1: score '1e39' is not a finite number of 32 bits"),
        ("1\ta\tb\n2\ta\tb\n", "p.tsv:2: repeats the pair of line 1"),
    ],
)
def test_bad_pairs(tmp_path, content, message):
    (tmp_path / "p.tsv").write_text(content)
    with pytest.raises(InputError, match=message):
        mined_pairs.read(tmp_path / "p.tsv")


def test_pairs_of_another_program_in_parquet(tmp_path):
    """Numbers are ids, as of lines; a null is no score."""
    pq.write_table(pa.table({"score": [0.5, 1], "src_id": [1, 2], "tgt_id": ["1", None]}), tmp_path / "p.parquet")
    read = mined_pairs.read(tmp_path / "p.parquet")
    assert (read.src, read.tgt) == (["1", "2"], ["1", ""])
    pq.write_table(pa.table({"score": [0.5, None], "src_id": [1, 2], "tgt_id": [1, 2]}), tmp_path / "p.parquet")
    with pytest.raises(InputError, match=r"p\.parquet:2: score None is not a finite number"):
        mined_pairs.read(tmp_path / "p.parquet")


def test_help_of_the_commands():
    for command in ("neighbours", "merge-neighbours", "mine", "evaluate"):
        assert run(command, "-h").exit_code == 0


def test_a_calibration_gives_margin_threshold_and_an_estimate(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(summary, "CALIBRATED", 1)
    calibration = Calibration("distance", threshold=0.1, slope=40.0, midpoint=0.1, k=2)
    options = {**files, "calibration": calibration, "k": 2}
    usual = mine(**options, out=tmp_path / "usual.tsv")
    assert (usual["margin"], usual["threshold"]) == ("distance", 0.1)
    scores = [float(line.split("\t")[0]) for line in (tmp_path / "usual.tsv").read_text().splitlines()]
    assert usual["estimated_right"] == round(sum(1 / (1 + math.exp(-40 * (score - 0.1))) for score in scores))
    own = mine(**options, out=tmp_path / "own.tsv", margin="ratio")
    assert own["margin"] == "ratio"
    assert not {"threshold", "estimated_right"} & own.keys()
    other = mine(**options | {"k": 1}, out=tmp_path / "other.tsv")  # margins grow with the number of neighbours
    assert other["margin"] == "distance"
    assert not {"threshold", "estimated_right"} & other.keys()
    assert "(the default, 0.1000, is for --margin distance and -k 2 only)" in capsys.readouterr().err
    every = mine(**options, out=tmp_path / "all.tsv", threshold=-math.inf)
    assert every["below_threshold"] == 0


def test_an_estimate_is_only_of_texts_as_large_as_those_it_was_measured_on(files, tmp_path, capsys, monkeypatch):
    options = {**files, "calibration": Calibration("distance", threshold=0.1, slope=40.0, midpoint=0.1, k=2), "k": 2}
    assert mine(**options, out=tmp_path / "small.tsv")["estimated_right"] is None
    said = capsys.readouterr().err
    assert "how many pairs are right is not estimated" in said
    assert "an estimated" not in said
    monkeypatch.setattr(summary, "CALIBRATED", 1)
    mine(**options, out=tmp_path / "large.tsv")
    said = capsys.readouterr().err
    assert "fewer if both are about the same events, and none if no sentence has a translation\n" in said
    assert "not estimated" not in said
    mine(**options, out=tmp_path / "ratio.tsv", margin="ratio")
    assert "estimated" not in capsys.readouterr().err
