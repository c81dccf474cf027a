"""From two texts and the folder of an encoder to pairs: the cache, formats, summary, and what users get wrong.

The encoder has random weights and one encoder for all languages, so that copies of a sentence are its translations.
"""

import gzip
import itertools
import json
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from bitextbench import encoders
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.data.synth import sentences
from bitextbench.encoders import cache, e5, folder, muse, plain, trainer
from bitextbench.text.bpe import learn_sentencepiece

LINES = list(dict.fromkeys(german for _, (german, _) in itertools.islice(sentences("lines", ("de", "en"), 1), 50)))
SIZES = {
    "shared_seq2seq": {"pairs": {"bitext": ["de", "en"]}, "embedding": 16, "hidden": 48, "decoder": 32},
    "nmt_autoencoder": {"embedding": 16, "hidden": 32},
    "cross_encoder": {"hidden": 16, "layers": 1, "heads": 2, "filters": 16, "positions": 64},
}


def make(path: Path, kind: str = "shared_seq2seq", pair: tuple[str, str] = ("de", "en")) -> Path:
    """The folder of an encoder with random weights."""
    path.mkdir()
    (path / "bpe.model").write_bytes(learn_sentencepiece((line.lower() for line in LINES), 150, 1))
    spec, size, _ = folder.features.text_model(path / "bpe.model", {"type": kind, "model": SIZES[kind], "training": {}})
    torch.manual_seed(1)
    model = encoders.create(spec, size)
    trainer.save({"spec": spec, "vocab_size": size, "state_dict": trainer.plain(model)}, path / "model.pt")
    text = folder.TextSide(path / "bpe.model", True, "jieba", dict(zip(("src", "tgt"), pair, strict=True)))
    folder.describe(path, model, text, {"spec": spec, "seed": 1, "updates": 0})
    (path / "bpe.model").unlink()  # the folder works by itself
    return path


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("encoders") / "shared")


@pytest.fixture
def place(tmp_path: Path, monkeypatch) -> Path:
    """A working folder with the texts a.de and b.en: each other's sentences, in another order, and what is to be
    dropped.
    """
    (tmp_path / "a.de").write_text("".join(f"{line}\n" for line in ["", *LINES, LINES[3]]))
    (tmp_path / "b.en").write_text("".join(f"{line}\n" for line in reversed(LINES)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str | Path, **more) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], **more)


def mine(encoder: Path, *arguments: str | Path, out: str = "pairs.tsv", src: str = "a.de", **more) -> Result:
    languages = ["--src-language", "de", "--tgt-language", "en"]
    return run("mine", src, "b.en", "--encoder", encoder, *languages, *arguments, "-o", out, **more)


def failed(done: Result) -> str:
    assert isinstance(done.exception, InputError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


def pairs(path: str = "pairs.tsv") -> list[list[str]]:
    return [line.split("\t") for line in Path(path).read_text().splitlines()]


def test_two_texts_are_mined(encoder, place):
    done = mine(encoder)
    assert done.exit_code == 0, done.output
    found = pairs()
    assert sum(src == tgt for *_, src, tgt in found) == len(LINES) == len(found)
    assert all(int(src_id) == 2 + LINES.index(src) for _, src_id, _, src, _ in found)
    assert f"src {len(LINES) + 2} sentences (1 empty, 1 duplicate), tgt {len(LINES)} sentences" in done.stderr
    assert re.search(
        r"mine: ratio \(least, quartiles, best\)( [\d.]+){5}\nmine: [\d.]+ s, [\d,]+ MiB at most$", done.stderr.strip()
    )
    assert [line for line in done.stderr.splitlines() if " of 4: " in line] == [
        "1 of 4: read",
        "2 of 4: encode",
        "3 of 4: search",
        "4 of 4: write",
    ]


def test_the_vectors_are_those_of_encode(encoder, place):
    assert mine(encoder).exit_code == 0
    for text, language in (("a.de", "de"), ("b.en", "en")):
        assert run("encode", text, "--encoder", encoder, "--language", language, "-o", f"{text}.npy").exit_code == 0
    done = run("mine", "a.de", "b.en", "--src-emb", "a.de.npy", "--tgt-emb", "b.en.npy", "-o", "other.tsv")
    assert done.exit_code == 0, done.output
    assert Path("other.tsv").read_bytes() == Path("pairs.tsv").read_bytes()


def test_vectors_of_files_have_no_default_and_the_log_says_so(place):
    np.save("a.npy", np.random.default_rng(1).random((len(LINES) + 2, 8)))
    np.save("b.npy", np.random.default_rng(2).random((len(LINES), 8)))
    files = ["a.de", "b.en", "--src-emb", "a.npy", "--tgt-emb", "b.npy", "-o", "p.tsv"]
    said = "the encoder of these vectors is unknown, so the margin is ratio and there is no default of the threshold; "
    muses, e5s = (f"--margin {one.CALIBRATION.margin} --threshold {one.CALIBRATION.threshold}" for one in (muse, e5))
    assert f"mine: {said}for vectors by muse give {muses}, by e5-small give {e5s}\n" in run("mine", *files).stderr
    assert said not in run("mine", *files, *muses.split()).stderr


def test_a_text_in_a_language_that_the_encoder_does_not_know_is_said(place):
    """muse does not know Finnish; without --src-language py3langid looks at the text."""
    Path("fi.txt").write_text("\n".join(FINNISH) + "\n", encoding="utf-8")
    Path("b.en").write_text("\n".join(ENGLISH) + "\n", encoding="utf-8")
    done = run("mine", "fi.txt", "b.en", "-o", "p.tsv")
    assert done.exit_code == 0, done.output
    assert "warning: fi.txt seems to be in fi, and muse was not trained on it; its languages are ar, de" in done.stderr
    assert "b.en seems" not in done.stderr
    said = run("mine", "fi.txt", "b.en", "--src-language", "fi", "-o", "p.tsv").stderr
    assert said.count("muse was not trained on") == 1


FINNISH = [
    "Hallitus esitteli uuden talousarvion eduskunnalle tiistaina.",
    "Lapset leikkivät puistossa koko pitkän iltapäivän.",
    "Juna Helsingistä Tampereelle on tänään myöhässä.",
    "Tutkijat löysivät järvestä uuden kalalajin viime kesänä.",
    "Kaupunki rakentaa keskustaan uuden kirjaston ensi vuonna.",
    "Hän osti torilta tuoretta leipää ja makeita mansikoita.",
]
ENGLISH = [
    "The government presented the new budget to parliament on Tuesday.",
    "The children played in the park all afternoon.",
    "The train from Helsinki to Tampere is late today.",
    "Researchers found a new species of fish in the lake last summer.",
    "The city will build a new library in the centre next year.",
    "She bought fresh bread and sweet strawberries at the market.",
]


def test_vectors_are_not_written_under_another_name(encoder, place):
    done = run("encode", "a.de", "--encoder", encoder, "--language", "de", "-o", "a.txt")
    assert failed(done) == "a.txt: is not a name of vectors; end it in .npy: a.txt.npy"
    assert not Path("a.txt").exists()


def test_another_margin_encodes_nothing_again(encoder, place):
    assert f"encode: 0 of {2 * len(LINES)} sentences are in the cache" in mine(encoder).stderr
    done = mine(encoder, "--margin", "distance")
    assert (
        f"encode: {2 * len(LINES)} of {2 * len(LINES)} sentences are in the cache {place}/cache/bitextbench"
        in done.stderr
    )
    assert f"encode: 0 of {2 * len(LINES)}" in mine(encoder, "--cache", place / "other").stderr
    other = make(place / "sided", "nmt_autoencoder")
    assert f"encode: 0 of {2 * len(LINES)}" in mine(other).stderr


def test_an_interrupted_run_goes_on_with_what_it_has(encoder, place, monkeypatch):
    for module in (cache, plain):
        monkeypatch.setattr(module, "BLOCK", 10)
    encode = folder.TrainedEncoder.encode
    left = iter(range(3))

    def interrupted(self, *arguments):
        yield from encode(self, *arguments)
        if next(left, None) is None:
            raise KeyboardInterrupt

    monkeypatch.setattr(folder.TrainedEncoder, "encode", interrupted)
    mine(encoder)
    assert not Path("pairs.tsv").exists()
    monkeypatch.setattr(folder.TrainedEncoder, "encode", encode)
    done = mine(encoder)
    assert f"encode: 30 of {2 * len(LINES)} sentences are in the cache" in done.stderr
    assert not [path for path in place.rglob("*") if path.name.startswith(".") or ".part" in path.name]
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert mine(encoder, "--cache", place / "whole", out="whole.tsv").exit_code == 0
    assert Path("whole.tsv").read_bytes() == Path("pairs.tsv").read_bytes()


def test_a_damaged_block_is_encoded_again(encoder, place):
    mine(encoder)
    (block, *_) = (place / "cache").rglob("*.npy")
    expected = block.read_bytes()
    block.write_bytes(expected[:300] + b"x" + expected[301:])
    left = block.with_name(f".{block.name}.x.part")  # by a killed process
    left.mkdir()
    done = mine(encoder)
    assert done.exit_code == 0, done.output
    assert "it does not match its checksum); encoded again" in done.stderr
    assert block.read_bytes() == expected
    assert not left.exists()


def test_every_format(encoder, place):
    mine(encoder)
    expected = Path("pairs.tsv").read_bytes()
    for name in ("p.tsv.gz", "p.tsv.zst"):
        assert mine(encoder, out=name).exit_code == 0
    assert gzip.decompress(Path("p.tsv.gz").read_bytes()) == expected
    with pa.input_stream("p.tsv.zst", compression="zstd") as stream:
        assert stream.read() == expected
    packed = Path("p.tsv.gz").read_bytes()
    time.sleep(1.1)  # the time of its writing is not in it
    mine(encoder, out="p.tsv.gz")
    assert Path("p.tsv.gz").read_bytes() == packed
    mine(encoder, out="p.parquet")
    assert [[row["src_id"], row["tgt_id"]] for row in pq.read_table("p.parquet").to_pylist()] == [
        row[1:3] for row in pairs()
    ]


def test_tmx(encoder, place):
    Path("a.de").write_text("Müller & <Söhne>\x01\nEin Haus\n")
    Path("b.en").write_text("Ein Haus\nMüller & <Söhne>\x01\n")
    assert mine(encoder, out="p.tmx").exit_code == 0
    root = ElementTree.parse("p.tmx").getroot()
    units = [[segment.text for segment in unit.iter("seg")] for unit in root.iter("tu")]
    assert sorted(units) == [["Ein Haus", "Ein Haus"], ["Müller & <Söhne> ", "Müller & <Söhne> "]]
    assert [tuv.get("{http://www.w3.org/XML/1998/namespace}lang") for tuv in root.iter("tuv")] == ["de", "en"] * 2
    assert {prop.get("type") for prop in root.iter("prop")} == {"score", "src_id", "tgt_id"}


def test_a_precision_is_reached(encoder, place):
    (place / "gold").write_text("".join(f"{row + 2}\t{len(LINES) - row}\n" for row in range(0, len(LINES), 2)))
    mine(encoder, "--margin", "distance")
    rows = pairs()
    done = mine(encoder, "--margin", "distance", "--gold", "gold", "--precision-target", "0.55", out="some.tsv")
    taken = pairs("some.tsv")
    assert rows[: len(taken)] == taken
    right = [int(row[1]) % 2 == 0 for row in rows]
    precision = np.cumsum(right) / np.arange(1, len(rows) + 1)
    ends = [place for place in range(len(rows)) if place + 1 == len(rows) or rows[place][0] != rows[place + 1][0]]
    assert len(taken) == 1 + max(end for end in ends if precision[end] >= 0.55)
    assert f"on the gold pairs, precision {precision[len(taken) - 1]:.3f}" in done.stderr
    (place / "gold").write_text("2\t1\n")
    done = mine(encoder, "--gold", "gold", "--precision-target", "0.99", out="none.tsv")
    assert "no threshold reaches a precision of 0.99: the best is 0.0" in failed(done)
    assert not Path("none.tsv").exists()


def test_lines_of_every_kind(encoder, place):
    text = b"\xef\xbb\xbf" + b"\r\n".join([LINES[0].encode(), b"x" * 200_000, b"y" * 70_000, LINES[1].encode(), b""])
    Path("a.de").write_bytes(text)
    done = mine(encoder)
    assert done.exit_code == 0, done.output
    assert "a.de: 2 lines are longer than 65,536 bytes, first line 2; left out" in done.stderr
    assert "a.de: begins with a byte-order mark, which is left out" in done.stderr
    assert "src 4 sentences (0 empty, 2 too long, 0 duplicate)" in done.stderr
    assert sorted(row[1:4:2] for row in pairs()) == [["1", LINES[0]], ["4", LINES[1]]]
    done = run("encode", "a.de", "--encoder", encoder, "--language", "de", "-o", "a.npy")
    assert "encode: 4 sentences, 0 empty, 2 too long, 0 cut; vectors in a.npy" in done.stderr
    assert np.load("a.npy").any(axis=1).tolist() == [True, False, False, True]


def test_ids_and_standard_input(encoder, place):
    ids = "".join(f"de-{row}\t{line}\n" for row, line in enumerate(LINES))
    done = mine(encoder, src="-", input=ids)
    assert done.exit_code == 0, done.output
    assert {row[1] for row in pairs()} == {f"de-{row}" for row in range(len(LINES))}
    both = run("mine", "-", "-", "--encoder", encoder, "-o", "x.tsv")
    assert failed(both) == "both texts are standard input; name a file for one of them"
    packed = mine(encoder, src="-", input=gzip.compress(ids.encode()))
    assert packed.exit_code == 0, packed.output


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--src-language", "german"], "unknown language 'german'; did you mean de?"),
        (["--tgt-language", "fr"], "unknown language 'fr'; known: de, en"),
        (["--prefix", "query: "], "takes no prefix"),
        (["-o", "a.de/x.tsv"], "a.de/x.tsv: cannot be written (a part of this path is a file); name another place"),
        (["-o", "/proc/x.tsv"], "/proc/x.tsv: cannot be written (No such file or directory); name another place"),
        (["-o", "/dev/stdout"], "/dev/stdout: is not a regular file; name a file"),
        (["-o", "pairs.xlsx"], "pairs.xlsx: the suffix is not that of a format of pairs; end it in .tsv, .tmx, .parquet"),
        (["-o", "pairs.parquet.gz"], "the suffix is not that of a format of pairs"),
        (["-o", "."], "is a folder; name a file"),
    ],
)  # fmt: skip
def test_mistakes_are_found_before_the_work(encoder, place, option, message, monkeypatch):
    monkeypatch.setattr(cache, "encode", None)
    done = mine(encoder, *option) if "-o" not in option else mine(encoder, out=option[1])
    assert message in str(done.exception)
    assert sorted(path.name for path in place.iterdir()) == ["a.de", "b.en"]


def test_tmx_wants_languages(place):
    for text in ("a.de", "b.en"):
        np.save(f"{text}.npy", np.eye(len(Path(text).read_text().splitlines()), 60, dtype=np.float32))
    done = run("mine", "a.de", "b.en", "--src-emb", "a.de.npy", "--tgt-emb", "b.en.npy", "-o", "p.tmx")
    assert "TMX needs the languages of both sides; give --src-language" in failed(done)
    done = run("mine", "a.de", "b.en", "--src-emb", "b.en.npy", "--tgt-emb", "a.de.npy", "-o", "p.tsv")
    assert "as many as the sentences of the other text; swap --src-emb and --tgt-emb" in failed(done)
    done = run("mine", "a.de", "b.en", "--src-emb", "a.de.npy", "-o", "p.tsv")
    assert "only one text has vectors; give both --src-emb and --tgt-emb" in failed(done)


def test_vectors_that_encode_made_of_another_text_are_refused(encoder, place):
    rows = min(len(Path(name).read_text().splitlines()) for name in ("a.de", "b.en"))
    for name, language in (("a.de", "de"), ("b.en", "en")):
        Path(name).write_text("".join(f"{line}\n" for line in Path(name).read_text().splitlines()[:rows]))
        done = run("encode", name, "--encoder", encoder, "--language", language, "-o", f"{name}.npy")
        assert done.exit_code == 0, done.output
    options = lambda src, tgt: ["--src-emb", f"{src}.npy", "--tgt-emb", f"{tgt}.npy", "-o", "p.tsv"]  # noqa: E731
    assert run("mine", "a.de", "b.en", *options("a.de", "b.en")).exit_code == 0
    Path("p.tsv").unlink()
    for texts in (("a.de", "b.en"), ("b.en", "a.de")):
        swapped = run("mine", *texts, *options(*texts[::-1]))
        what = f"{texts[1]}.npy: these are the vectors of {texts[1]}, not of {texts[0]}; swap --src-emb and --tgt-emb"
        assert failed(swapped) == what
    lines = Path("b.en").read_text().splitlines()
    Path("b.en").write_text("".join(f"{line}\n" for line in reversed(lines)))
    what = (
        "b.en.npy: these are not the vectors of b.en: the text differs from the one that was encoded; encode it again"
    )
    assert failed(run("mine", "a.de", "b.en", *options("a.de", "b.en"))) == what
    assert not Path("p.tsv").exists()


def test_vectors_of_another_text_are_said(place):
    Path("a.de").write_text("eins\nzwei\neins\n")
    Path("b.en").write_text("one\ntwo\nthree\n")
    np.save("a.npy", np.eye(3, dtype=np.float32))
    done = run("mine", "a.de", "b.en", "--src-emb", "a.npy", "--tgt-emb", "a.npy", "-o", "p.tsv")
    assert (
        "1 of 1 repeated sentences have different vectors (such as rows 1 and 3); check that these are the vectors of a.de"
        in done.stderr
    )


def test_a_text_in_another_script_is_said(place):
    Path("a.ru").write_text("eins\nzwei\n")
    Path("b.en").write_text("one\ntwo\n")
    np.save("a.npy", np.eye(2, dtype=np.float32))
    languages = "--src-language", "ru", "--tgt-language", "en"
    done = run("mine", "a.ru", "b.en", *languages, "--src-emb", "a.npy", "--tgt-emb", "a.npy", "-o", "p.tsv")
    assert "warning: a.ru: most letters are latin, and its language is said to be ru" in done.stderr
    assert "b.en" not in done.stderr


def spoilt(change):
    def spoil(path: Path) -> None:
        held = json.loads((path / "encoder.json").read_text())
        change(held)
        (path / "encoder.json").write_text(json.dumps(held))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path: (path / "text_model").unlink(), "text_model: no such file, and encoder.json names it; train it again, or copy the whole folder"),
        (lambda path: (path / "text_model").write_bytes(b"x"), "text_model: is not the file that encoder.json was written for"),
        (lambda path: (path / "model.pt").write_bytes((path / "model.pt").read_bytes()[:-9]), "model.pt: is not the file that"),
        (lambda path: (path / "encoder.json").unlink(), "has no encoder.json, modules.json, config.json or *.spm; train it again"),
        (lambda path: (path / "encoder.json").write_text("[1]"), "encoder.json: has the format None; this release reads format 1: train"),
        (spoilt(lambda held: held.update(format=2)), "encoder.json: has the format 2; this release reads format 1: update bitextbench"),
        (spoilt(lambda held: held.pop("sides")), "encoder.json: does not describe an encoder"),
        (spoilt(lambda held: held["text"].update(kind="syllables")), "text model of the unknown kind 'syllables'; known: bpe, words"),
    ],
)  # fmt: skip
def test_a_folder_that_is_not_whole(encoder, place, spoil, message):
    shutil.copytree(encoder, place / "spoilt")
    spoil(place / "spoilt")
    assert message in failed(mine(place / "spoilt"))


def test_sides_follow_from_the_language(encoder, place):
    sided = plain.sentence_encoder(make(place / "sided", "nmt_autoencoder"))
    assert (sided.side("de"), sided.side("en"), sided.side("en", "tgt")) == ("src", "tgt", "tgt")
    with pytest.raises(InputError, match="its side src was not trained on en; leave out --side, or give --side tgt"):
        sided.side("en", "src")
    with pytest.raises(InputError, match="the language of a text is not given; name one of de, en"):
        sided.side(None)
    same = plain.sentence_encoder(make(place / "same", "nmt_autoencoder", ("en", "en")))
    assert (same.side("en", "tgt"), same.side("en", usual="tgt")) == ("tgt", "tgt")
    with pytest.raises(InputError, match="both of its sides encode en; give --side src or --side tgt"):
        same.side("en")
    assert plain.sentence_encoder(encoder).side("en") == "src"  # one encoder for both


def test_a_model_of_pairs_is_no_encoder(place):
    assert "scores pairs of sentences and makes no vectors" in failed(mine(make(place / "pairs", "cross_encoder")))


def started(encoder: Path, *arguments: str, **more) -> subprocess.Popen:
    command = [
        sys.executable,
        "-m",
        "bitextbench",
        "mine",
        *arguments,
        "--encoder",
        str(encoder),
        "--src-language",
        "de",
        "--tgt-language",
        "en",
    ]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more)


def test_ctrl_c(encoder, place):
    heard = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)  # noqa: E731  a shell ignores it in what runs in its background
    process = started(encoder, "-", "b.en", "-o", "p.tsv", stdin=subprocess.PIPE, preexec_fn=heard)
    for line in process.stderr:
        if "1 of 4" in line:
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip().startswith("bitextbench: error: interrupted; nothing is half-written")
    assert said.count("\n") == 2  # click's, and that of the line
    assert not Path("p.tsv").exists()


def test_a_file_that_grows_too_large(encoder, place):
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # noqa: E731
    process = started(encoder, "a.de", "b.en", "-o", "p.tsv", preexec_fn=limit)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "Traceback" not in said
    assert re.search(
        r"bitextbench: error: .*\.npy: needs [\d,]+ bytes, and the disk has .*; make room, or write to another disk",
        said,
    )
    assert not [path for path in place.rglob("*") if path.is_file() and path.name not in ("a.de", "b.en")]


def test_an_index(encoder, place):
    assert mine(encoder).exit_code == 0
    done = mine(encoder, "--index", "Flat", out="index.tsv")
    assert done.exit_code == 0, done.output
    assert Path("index.tsv").read_bytes() == Path("pairs.tsv").read_bytes()
    assert "mine: approximate search; 100.0% of the true neighbours are found, on a sample" in done.stderr
    assert "--index: `IVF999,Flat` does not work for" in failed(mine(encoder, "--index", "IVF999,Flat", out="none.tsv"))
    assert not Path("none.tsv").exists()


VARIANTS = (str, "{} ".format, " {}".format, lambda s: s.replace(" ", "  ", 1), lambda s: s.replace(" ", "\u00a0", 1))


def test_copies_as_the_encoder_sees_them_do_not_change_scores(encoder, place):
    """Margins collapse to 1 where the neighbours of a sentence are its own copies."""
    (place / "b.en").write_text("".join(f"{line}\n" for line in LINES[8::-1]))

    def mined(lines: list[str], *more: str) -> list[list[str]]:
        Path("c.de").write_text("".join(f"{line}\n" for line in lines))
        done = mine(encoder, *more, src="c.de")
        assert done.exit_code == 0, done.output
        return [[score, tgt.strip().replace("\u00a0", " "), *ids] for score, *ids, _, tgt in pairs()]

    once = mined(LINES[:9])
    assert float(once[0][0]) > 1.01
    assert mined([form(line) for line in LINES[:9] for form in VARIANTS][::1]) == [
        [score, tgt, str(5 * int(src) - 4), of] for score, tgt, src, of in once
    ]
    copies = mined([line for line in LINES[:9] for _ in range(5)], "--keep-duplicates")
    assert sorted(row[:2] for row in copies) == sorted(row[:2] for row in once for _ in range(5))
    assert len({row[2] for row in copies}) == len(copies) == 5 * len(once)


def test_the_cost_of_a_sentence_is_bounded(encoder, place):
    """A line of 64 KiB is cut at 512 tokens, counted, and costs no more than a long sentence."""
    Path("long.de").write_text("".join(f"{line}\n" for line in ['"' * 65_000, "ja " * 21_000, '"' * 60_000, LINES[0]]))
    started = time.process_time()
    done = run("encode", "long.de", "--encoder", encoder, "--language", "de", "-o", "long.npy")
    assert done.exit_code == 0, done.output
    assert time.process_time() - started < 10  # a minute and 4 GB for each without
    assert "encode: 4 sentences, 0 empty, 0 too long, 3 cut" in done.stderr
    vectors = np.load("long.npy")
    np.testing.assert_array_equal(vectors[0], vectors[2])
    done = mine(encoder, src="long.de")
    assert (
        "mine: 3 sentences have more tokens than the encoder takes; the first ones count; the longest is 1 of long.de"
        in done.stderr
    )
