"""Scores of given pairs by any similarity, in a stream and in `filter`: the workflow's, and those of a scorer that was
kept.
"""

import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from test_mine_with_an_encoder import make

from bitextbench.base import members
from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.corpus.build import build
from bitextbench.data.synth import sentences
from bitextbench.formats import mined_pairs
from bitextbench.mining import crawl, scorers, stream
from bitextbench.scoring import score, similarities
from bitextbench.text.tokens import tokenize_shard

PAIRS = [pair for _, pair in itertools.islice(sentences("crawl", ("de", "en"), 3), 300)]
LANGUAGES = ["--src-language", "de", "--tgt-language", "en"]
SMALL = "{hidden: [8], max_iter: 3}"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("encoders") / "shared")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name, side, stretch in (
        ("a", 0, PAIRS[:200]),
        ("b", 1, PAIRS[:200]),
        ("clean.a", 0, PAIRS[200:]),
        ("clean.b", 1, PAIRS[200:]),
    ):
        Path(name).write_text("".join(f"{pair[side]}\n" for pair in stretch), encoding="utf-8")
    return tmp_path


def run(*arguments: object, **more) -> Result:
    return CliRunner().invoke(cli, [*map(str, arguments), *LANGUAGES], **more)


def done(*arguments: object, **more) -> Result:
    result = run(*arguments, **more)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def failed(result: Result) -> str:
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def workflow(encoder: Path) -> dict[str, np.ndarray]:
    """The scores of a and b by the code of the workflow."""
    for name, texts in (("pool", ("a", "b")), ("clean", ("clean.a", "clean.b"))):
        part = {"files": dict(zip(("src", "tgt"), texts, strict=True))}
        build(name, {"parts": [part]}, ("de", "en"), ".", {}, name, seed=1)
        tokenize_shard(Path(name, "00000.parquet"), ("de", "en"), Path(f"{name}.tokens.parquet"))
        for text, side, code in zip(texts, ("src", "tgt"), ("de", "en"), strict=True):
            arguments = ["encode", text, "--encoder", str(encoder), "--language", code, "-o", f"{name}.{side}.npy"]
            assert CliRunner().invoke(cli, arguments).exit_code == 0
    pool, clean = ([(Path(f"{name}.src.npy"), Path(f"{name}.tgt.npy"))] for name in ("pool", "clean"))
    vectors = {"src": pool[0][0], "tgt": pool[0][1]}
    score.score_shard(Path("pool/00000.parquet"), "cosine", Path("cosine.npy"), **vectors)
    spec = {"hidden": [8], "max_iter": 3, "negatives": {"portion": 0.6}}
    score.fit_similarity("mlp", spec, clean, pool, [Path("cosine.npy")], 1, Path("mlp.npz"))
    score.fit_text_similarity(
        "zipporah", {}, [Path("clean.tokens.parquet")], [Path("clean.tokens.parquet")], 1, Path("zipporah.npz")
    )
    needs = {"tokens": Path("pool.tokens.parquet")}
    for name, more in (
        ("mlp", vectors | {"model": Path("mlp.npz")}),
        ("zipporah", needs | {"model": Path("zipporah.npz")}),
        ("levenshtein", needs),
        ("random", {}),
    ):
        score.score_shard(Path("pool/00000.parquet"), name, Path(f"{name}.npy"), **more)
    return {name: np.load(f"{name}.npy") for name in ("cosine", "mlp", "zipporah", "levenshtein", "random")}


def test_scores_are_the_workflows(encoder, monkeypatch):
    expected = workflow(encoder)
    by, learns = ["--encoder", encoder], ["--clean", "clean.a", "clean.b"]
    rest = ["--rules", "{}", "--threshold", "-1e30", "-o", "all.parquet"]
    for name, more in (
        ("mlp", [*by, *learns, "--settings", SMALL]),
        ("zipporah", learns),
        ("cosine", by),
        ("levenshtein", []),
    ):
        saved = ["--save-scorer", f"kept.{name}"] if "--clean" in more else []
        done("filter", "a", "b", "--similarity", name, *more, *saved, *rest)
        found = mined_pairs.read("all.parquet")
        rows = [int(number) - 1 for number in found.src]  # copies are left out
        if name != "mlp":  # its pool has no copies
            np.testing.assert_array_equal(found.scores, expected[name][rows], name)
        else:
            mlp = found.scores, rows
    monkeypatch.setattr(stream, "ROWS", 70)
    arguments = [
        "--similarity",
        "cosine",
        "--scorer",
        "kept.mlp",
        "--scorer",
        "kept.zipporah",
        "--similarity",
        "random",
        *by,
    ]
    lines = done("score", "a", "b", *arguments).stdout.splitlines()
    columns = np.array([line.split("\t") for line in lines], np.float32).T
    np.testing.assert_array_equal(columns[0], expected["cosine"])
    np.testing.assert_array_equal(columns[1], expected["random"])
    np.testing.assert_allclose(columns[2][mlp[1]], mlp[0], rtol=1e-5)  # blocks begin elsewhere than those of `filter`
    np.testing.assert_allclose(columns[3], expected["zipporah"], rtol=1e-5)


def test_the_mlp_is_the_workflows_on_a_crawl_without_copies(encoder):
    distinct = [*dict.fromkeys(PAIRS[:200])]
    for name, side in (("a", 0), ("b", 1)):
        Path(name).write_text("".join(f"{pair[side]}\n" for pair in distinct), encoding="utf-8")
    expected = workflow(encoder)["mlp"]
    more = ["--encoder", encoder, "--clean", "clean.a", "clean.b", "--settings", SMALL, "--threshold", "-1e30"]
    done("filter", "a", "b", "--similarity", "mlp", *more, "--rules", "{}", "-o", "all.parquet")
    np.testing.assert_array_equal(mined_pairs.read("all.parquet").scores, expected)


def test_a_stream_of_pairs_with_an_empty_side(encoder):
    text = "u1\tEin Haus.\tA house.\nu2\t\tNothing.\n\nu4\tEin Hund.\tA dog.\n"
    more = [
        "--columns",
        "2,3",
        "--similarity",
        "levenshtein",
        "--similarity",
        "cosine",
        "--encoder",
        encoder,
        "--append",
    ]
    result = done("score", "-", *more, input=text)
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert ["\t".join(row[:-2]) for row in rows] == [line or "\t\t" for line in text.splitlines()]
    assert [row[-1] for row in rows[1:3]] == ["0.0", "0.0"]
    assert rows[2] == ["", "", "", "0.0", "0.0"]
    assert re.search(r"score: 4 pairs, 2 with an empty side, 0 sentences cut; [\d.]+ s, ", result.stderr)
    done("score", "a", "b", "--similarity", "zipporah", "--clean", "clean.a", "clean.b", "-o", "s.gz")
    assert Path("s.gz").read_bytes().startswith(b"\x1f\x8b")


def test_scores_of_short_and_bad_lines_are_in_the_columns_of_others():
    good = "Ein Haus.\tA house.\tu"
    lines = [b"alone", good.encode(), b"", b"x\0\ty\tu", b"\xff\ty\tu", b"alone", b"y" * 70_000 + b"\ty\tu", b"a\tb"]
    Path("crawl.tsv").write_bytes(b"".join(line + b"\n" for line in lines))
    by = ["--similarity", "levenshtein"]
    done("score", "crawl.tsv", *by, "--append", "--skip-bad", "-o", "all.tsv")
    table = pandas.read_csv("all.tsv", sep="\t", header=None, keep_default_na=False)
    assert table[2].tolist() == ["", "u", *[""] * 6]
    done("score", "crawl.tsv", *by, "--skip-bad", "-o", "scores.txt")
    assert table[3].tolist() == [float(line) for line in Path("scores.txt").read_text().splitlines()]
    assert table[0].tolist() == ["alone", "Ein Haus.", "", "", "", "alone", "", "a"]


def test_sentences_that_are_cut_are_counted(encoder):
    long = "ja " * 600
    Path("long.tsv").write_text(f"{long}\t{long}\nja\t{long}\nja\tyes\n")
    Path("short.tsv").write_text("ja\tyes\n")
    by = ["--similarity", "cosine", "--encoder", encoder]
    assert "score: 3 pairs, 0 with an empty side, 3 sentences cut;" in done("score", "long.tsv", *by).stderr
    kept = ["--rules", "{}", "--share", 1, "-o", "x.tsv"]
    what = "sentences have more tokens than the encoder takes; the first ones count"
    assert f"3 {what}" in done("filter", "long.tsv", *by, *kept).stderr
    assert what not in done("filter", "short.tsv", *by, *kept).stderr


def test_ids_lead_back_to_the_crawl(encoder):
    Path("crawl.tsv").write_text(
        "".join(f"url{n}\t{a}\t{b}\n" for n, (a, b) in enumerate(PAIRS[:50])), encoding="utf-8"
    )
    pq.write_table(
        pa.table(
            {"id": [f"url{n}" for n in range(50)], "src": [a for a, _ in PAIRS[:50]], "tgt": [b for _, b in PAIRS[:50]]}
        ),
        "crawl.parquet",
    )
    for more in (["crawl.tsv", "--columns", "2,3,1"], ["crawl.parquet"]):
        best = ["--encoder", encoder, "--rules", "{}", "--pairs", 10, "--explain", "why.tsv", "-o", "good.tsv"]
        done("filter", *more, *best)
        rows = [line.split("\t") for line in Path("good.tsv").read_text(encoding="utf-8").splitlines()]
        assert len(rows) == 10
        assert all(PAIRS[int(name.removeprefix("url"))] == (a, b) for _, name, _, a, b in rows)
        fates = [line.split("\t")[1] for line in Path("why.tsv").read_text().splitlines()]
        assert [f"url{n}" for n, fate in enumerate(fates) if fate == "kept"] == [row[1] for row in rows]
    text = Path("crawl.tsv").read_text(encoding="utf-8")
    done("filter", "-", "--columns", "2,3", "--rules", "{}", "-o", "all.tsv", input=text)
    assert [line.split("\t")[1] for line in Path("all.tsv").read_text().splitlines()][:2] == ["1", "2"]
    done("filter", "-", "--columns", "2,3,1", "--rules", "{}", "--explain", "why.tsv", "-o", "x.tsv", input=text)
    assert [line.split("\t")[1] for line in Path("x.tsv").read_text().splitlines()][:2] == ["url0", "url1"]
    assert len(Path("why.tsv").read_text().splitlines()) == 50


def test_a_scorer_knows_what_it_is_for(encoder, place):
    learn = ["filter", "a", "b", "--clean", "clean.a", "clean.b", "--rules", "{}", "--share", 0.5]
    done(
        *learn,
        "--similarity",
        "mlp",
        "--encoder",
        encoder,
        "--settings",
        SMALL,
        "--save-scorer",
        "mlp.npz",
        "-o",
        "x.tsv",
    )
    other = make(place / "other", "nmt_autoencoder")
    assert "mlp.npz: was fitted with another encoder" in failed(
        run("score", "a", "b", "--scorer", "mlp.npz", "--encoder", other)
    )
    assert "was fitted with another encoder than muse" in failed(run("score", "a", "b", "--scorer", "mlp.npz"))
    swapped = ["--src-language", "en", "--tgt-language", "de"]
    result = CliRunner().invoke(cli, ["score", "a", "b", "--scorer", "mlp.npz", "--encoder", str(encoder), *swapped])
    assert "mlp.npz: is for de and en, not en and de; fit one for these languages" in failed(result)
    np.savez("no.npz", x=np.zeros(1))
    assert "no.npz: has no array scorer; fit it again" in failed(run("score", "a", "b", "--scorer", "no.npz"))


def test_muse_scores_where_no_encoder_is_given():
    for command in (["score", "a", "b", "--similarity", "cosine", "-o"], ["filter", "a", "b", "--pairs", 3, "-o"]):
        assert done(*command, "one.tsv").output.count("encoder muse") == 1
        done(*command, "two.tsv", "--encoder", "muse")
        assert Path("one.tsv").read_bytes() == Path("two.tsv").read_bytes()
    assert "encoder muse" not in done("score", "a", "b", "--similarity", "random", "-o", "one.tsv").output
    assert "encoder muse" not in done("filter", "a", "b", "-o", "one.tsv").output
    assert {line.split("\t")[0] for line in Path("one.tsv").read_text(encoding="utf-8").splitlines()} == {"0.0"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "a", "b"], "nothing says what to score by"),
        (["score", "a", "b", "a", "--similarity", "random"], "a: 3 files are given; give two texts, or one file of pairs"),
        (["score", "a", "b", "--similarity", "cosin"], "unknown similarity 'cosin'; did you mean cosine"),
        (["score", "a", "b", "--similarity", "cosine,random"], "repeat the option: --similarity cosine --similarity random"),
        (["score", "a", "b", "--similarity", "ratio"], "ratio is a margin; give `filter` --margin ratio; `score` has none"),
        (["score", "a", "b", "--similarity", "cosine", "--encoder", "labse"], "labse: no encoder or folder has this name; known: muse, e5-small"),
        (["score", "a", "b", "--similarity", "nmt_lm"], "nmt_lm needs translation and language models; score by it in the workflow"),
        (["score", "a", "b", "--similarity", "zipporah"], "zipporah is not fitted yet; give --clean A B, or a fitted --scorer"),
        (["score", "a", "b", "--similarity", "margin", "--encoder", "E"], "margin compares a pair with the whole crawl"),
        (["score", "a", "b", "--similarity", "mlp", "--encoder", "E"], "fit it by `bitextbench filter --clean --save-scorer`, or give a fitted --scorer"),
        (["score", "a", "b", "--similarity", "confidence"], "confidence is learned with an encoder, and muse was not trained here; name"),
        (["score", "a", "b", "--similarity", "random", "-o", "x.txt.bz2"], "x.txt.bz2: is not a name of a text; end it in .txt"),
        (["score", "a", "b", "--similarity", "random", "-o", "x.parquet"], "x.parquet: is not a name of a text"),
        (["score", "a", "--similarity", "random"], "a:1: line has 1 column; column 2 is asked for"),
        (["filter", "a", "b", "--similarity", "zipporah", "--share", "1", "-o", "x.tsv"], "zipporah has to learn from clean pairs"),
        (["filter", "a", "b", "--similarity", "random", "--clean", "a", "b", "--share", "1", "-o", "x.tsv"], "random is not trained on"),
        (["filter", "a", "b", "--similarity", "random", "--save-scorer", "s", "--share", "1", "-o", "x.tsv"], "no new scorer to save"),
    ],
)  # fmt: skip
def test_what_users_get_wrong_is_one_line(encoder, arguments, message):
    assert message in failed(run(*[encoder if part == "E" else part for part in arguments]))


OWN = {
    "short": "import numpy as np\n\ndef score(pairs, model):\n    return np.zeros(3)\n",
    "shape": "import numpy as np\n\ndef score(pairs, model):\n    return np.zeros((len(pairs.ids), 1))\n",
    "words": "def score(pairs, model):\n    return ['good'] * len(pairs.ids)\n",
    "nan": "import numpy as np\n\ndef score(pairs, model):\n    return np.full(len(pairs.ids), np.nan)\n",
    "one": "def score(pairs):\n    return [1.0] * len(pairs.ids)\n",
    "none": "",
    "both": """
import numpy as np
import pandas

NEEDS = ("vectors", "tokens")

def score(pairs, model):
    words = [len(line.split()) for line in pairs.text().src.to_pylist()]
    return (pairs.src * pairs.tgt).sum(axis=1) + np.array(words, np.float32)
""",
    "double": "def score(pairs, model):\n    return [1.5] * len(pairs.ids)\n",
}


@pytest.fixture
def own(place, monkeypatch) -> None:
    """A folder of similarities of one's own, OWN."""
    folder = place / "plugins/similarities"
    folder.mkdir(parents=True)
    for name, text in OWN.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setenv(members.PLUGINS, "plugins")
    monkeypatch.setattr(similarities, "__path__", members.folders("similarities"))
    for name in OWN:
        monkeypatch.delitem(sys.modules, f"{similarities.__name__}.{name}", raising=False)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("short", "short.py: score gave float64 [3] for 200 pairs; return one number for each pair, float32 [n]"),
        ("shape", "shape.py: score gave float64 [200, 1] for 200 pairs"),
        ("words", "words.py: score gave <U4 [200] for 200 pairs"),
        ("nan", "nan.py: the score of pair 0 is NaN; give each pair a number"),
        ("one", "one.py: has no score(pairs, model); write a function with these arguments"),
        ("none", "none.py: has no score(pairs, model); write a function with these arguments"),
    ],
)
@pytest.mark.usefixtures("own")
def test_a_similarity_of_ones_own_gives_a_number_for_each_pair(name, message):
    for command in (["score", "a", "b"], ["filter", "a", "b", "--rules", "{}", "--share", 1, "-o", "x.tsv"]):
        assert message in failed(run(*command, "--similarity", name))
    assert not Path("x.tsv").exists()


@pytest.mark.usefixtures("own")
def test_scores_of_ones_own_are_float32():
    assert done("score", "a", "b", "--similarity", "double").stdout.split() == ["1.5"] * 200


@pytest.mark.usefixtures("own")
def test_a_similarity_of_vectors_and_words_has_both_in_every_command(encoder, monkeypatch):
    monkeypatch.setattr(crawl, "ROWS", 70)
    monkeypatch.setattr(scorers, "ROWS", 70)
    scores = done("score", "a", "b", "--similarity", "both", "--encoder", encoder).stdout.split()
    done(
        "filter", "a", "b", "--rules", "{}", "--pairs", 200, "--similarity", "both", "--encoder", encoder, "-o", "x.tsv"
    )
    kept = [line.split("\t")[0] for line in Path("x.tsv").read_text(encoding="utf-8").splitlines()]
    assert np.allclose(np.array(kept, float), np.array(scores, float)[: len(kept)], atol=1e-4)
    assert len(kept) == 200


def test_a_folder_of_plugins_that_is_missing_is_named(monkeypatch):
    monkeypatch.setenv(members.PLUGINS, "nowhere")
    message = failed(run("score", "a", "b", "--similarity", "mine"))
    assert message.startswith(
        f"BITEXTBENCH_PLUGINS: unknown similarity 'mine', and no folder {Path('nowhere').absolute()}"
    )
    assert message.endswith("name a folder that has similarities/mine.py")


def test_equal_sides_score_zero():
    Path("pairs.tsv").write_text("a\ta\na\tb\n")
    assert done("score", "pairs.tsv", "--similarity", "levenshtein").stdout == "0.0\n-1.0\n"
