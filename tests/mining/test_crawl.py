"""From a crawl to the pairs that are kept: every line accounted for, scores that are the workflow's, and what users get
wrong.
"""

import csv
import gzip
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from test_mine_with_an_encoder import make

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.data.synth import sentences
from bitextbench.formats import mined_pairs
from bitextbench.formats.vectors import read
from bitextbench.scoring.margins import margin

PAIRS = [pair for _, pair in itertools.islice(sentences("crawl", ("de", "en"), 3), 300)]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("encoders") / "shared")


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch) -> list[tuple[str, str]]:
    """a.de and b.en, with an empty side, a copy, a pair that is one sentence, a long one, and one of another language."""
    long = " ".join(["Wort"] * 90), " ".join(["word"] * 90)
    bad = [
        ("", "Nothing."),
        PAIRS[4],
        ("Ein Satz mit Worten.", "Ein Satz mit Worten."),
        long,
        ("Kurz.", "This is a long one."),
    ]
    lines = [*PAIRS[:100], *bad, *PAIRS[100:]]
    for name, side in (("a.de", 0), ("b.en", 1)):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in lines), encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return lines


def run(*arguments: object) -> Result:
    languages = ["--src-language", "de", "--tgt-language", "en"]
    return CliRunner().invoke(cli, ["filter", "a.de", "b.en", *languages, *map(str, arguments)])


def fates() -> dict[int, tuple[str, str]]:
    with gzip.open("why.tsv.gz", "rt", encoding="utf-8") as file:
        return {int(number): (fate, score) for number, fate, score in csv.reader(file, delimiter="\t")}


RULES = "{min_tokens: 1, max_tokens: 80, max_ratio: 3.0, max_overlap: 0.5}"


def test_every_line_has_its_fate(crawl):
    done = run("--rules", RULES, "--explain", "why.tsv.gz", "-o", "kept.tsv")
    assert done.exit_code == 0, done.output
    found = fates()
    assert [*found] == [*range(1, len(crawl) + 1)]
    assert [found[number][0] for number in range(101, 106)] == [
        "empty",
        "duplicate",
        "max_overlap",
        "max_tokens",
        "max_ratio",
    ]
    kept = mined_pairs.read("kept.tsv")
    assert kept.src == kept.tgt == [str(number) for number, (fate, _) in found.items() if fate == "kept"]
    with open("kept.tsv", encoding="utf-8", newline="") as file:
        for _, number, _, src, tgt in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            assert (src, tgt) == crawl[int(number) - 1]
    passed = "that passed the rules and are no copies are kept in"
    said = re.search(rf"filter: (\d+) pairs(.*); (\d+) of the (\d+) {passed}", done.output)
    assert int(said[1]) == len(crawl) == sum(map(int, re.findall(r", (\d+) ", said[2]))) + int(said[3])
    assert int(said[3]) == int(said[4]) == len(kept.src)


def test_a_line_of_invisible_characters_is_empty(crawl, encoder):
    sides = [("\u200b", "Nothing at all ."), ("Gar nichts .", "\ufeff \u00a0"), ("\u00ad", "\x01"), ("\u200bJa", "Yes")]
    for name, side in (("a.de", 0), ("b.en", 1)):
        Path(name).write_text("".join(f"{pair[side]}\n" for pair in sides), encoding="utf-8")
    done = run("--rules", "{}", "--explain", "why.tsv.gz", "-o", "kept.tsv")
    assert "4 pairs, 3 empty; 1 of the 1" in done.output
    assert [fate for fate, _ in fates().values()] == ["empty", "empty", "empty", "kept"]
    languages = ["--src-language", "de", "--tgt-language", "en"]
    by = [*languages, "--similarity", "levenshtein", "-o", "s.txt"]
    assert "4 pairs, 3 with an empty side" in CliRunner().invoke(cli, ["score", "a.de", "b.en", *by]).output
    encode = ["encode", "a.de", "--encoder", str(encoder), "--language", "de", "-o", "v.npy"]
    assert "encode: 4 sentences, 2 empty," in CliRunner().invoke(cli, encode).output


def test_swapped_languages_are_warned_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.tsv").write_text("Der Hund schläft heute in der Sonne.\tThe dog is sleeping in the sun today.\n" * 3)
    texts = ["filter", "p.tsv", "-o", "kept.tsv"]
    right, swapped = (
        CliRunner().invoke(cli, [*texts, "--src-language", a, "--tgt-language", b]).output
        for a, b in (("de", "en"), ("en", "de"))
    )
    assert "3 pairs, 2 duplicate; 1 of the 1 that passed the rules and are no copies are kept in kept.tsv" in right
    assert "warning" not in right
    assert "the rule `language` dropped 3 of 3 pairs; check that --src-language and --tgt-language are those" in swapped


def test_scores_are_those_of_numpy_and_the_best_are_kept(crawl, encoder):
    assert run("--rules", "{}", "--encoder", encoder, "--share", 1, "-o", "all.parquet").exit_code == 0
    for side, language, name in (("src", "de", "a.de"), ("tgt", "en", "b.en")):
        arguments = ["encode", name, "--encoder", str(encoder), "--language", language, "-o", f"{side}.npy"]
        assert CliRunner().invoke(cli, arguments).exit_code == 0
    whole = mined_pairs.read("all.parquet")
    rows = np.array([int(number) - 1 for number in whole.src])
    x, y = (
        side / np.linalg.norm(side, axis=1, keepdims=True)
        for side in (read(f"{s}.npy").block(0, len(crawl))[rows] for s in ("src", "tgt"))
    )
    distinct = [sorted({side.tobytes(): i for i, side in reversed([*enumerate(v)])}.values()) for v in (x, y)]
    near = [np.sort(s, axis=1)[:, -4:].mean(axis=1) for s in (x @ y[distinct[1]].T, y @ x[distinct[0]].T)]
    assert whole.scores == pytest.approx(margin("ratio", (x * y).sum(axis=1), *near), abs=1e-4)
    for limit in (["--pairs", 50], ["--words", 300], ["--threshold", float(np.median(whole.scores))], ["--share", 0.2]):
        assert (
            run("--rules", "{}", "--encoder", encoder, *limit, "--explain", "why.tsv.gz", "-o", "best.tsv").exit_code
            == 0
        )
        best = mined_pairs.read("best.tsv")
        below = [score for score, number in zip(whole.scores, whole.src, strict=True) if number not in set(best.src)]
        assert best.scores.min() > max(below)
        assert [fates()[int(n)] for n in best.src] == [("kept", str(score)) for score in best.scores]
        assert {"--pairs": 50, "--share": round(0.2 * len(whole.src))}.get(limit[0], len(best.src)) == len(best.src)
    assert list(map(int, best.src)) == sorted(map(int, best.src))
    arguments = ["--rules", "{}", "--encoder", encoder, "--share", 1, "--margin", "distance", "-o", "distance.tsv"]
    assert run(*arguments).exit_code == 0
    distances = margin("distance", (x * y).sum(axis=1), *near)
    assert mined_pairs.read("distance.tsv").scores == pytest.approx(distances, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--share", "0.5", "--margin", "ration"], "--margin: unknown name 'ration'; did you mean ratio?"),
        (["--share", "0.5", "--similarity", "distance"], "distance is a margin; give `filter` --margin distance"),
        (["--share", "0.5", "--similarity", "random", "--margin", "ratio"], "random has no margin; leave out one of"),
        (["--encoder", "E"], "no option says how much to keep; give exactly one of --words"),
        (["--encoder", "E", "--share", "0.5", "--pairs", "3"], "both --pairs and --share are given"),
        (
            ["--encoder", "E", "--share", "0.5", "--similarity", "zipporah"],
            "zipporah has to learn from clean pairs; give --clean A B",
        ),
        (["--rules", "{max_token: 3}"], "no filter rule 'max_token'; did you mean max_tokens"),
        (["--src-language", "german"], "german"),
        (["-o", "kept.txt"], "the suffix is not that of a format of pairs"),
        (["--explain", "why.parquet"], "why.parquet: is not a name of TSV, which --explain writes; end it in .tsv"),
        (["--explain", "why.txt"], "why.txt: the suffix is not that of a format of pairs"),
    ],
)
def test_what_users_get_wrong_is_one_line(crawl, encoder, arguments, message):
    done = run(*[encoder if part == "E" else part for part in ["-o", "kept.tsv", *arguments]])
    assert isinstance(done.exception, InputError)  # `main` makes one line and exit code 2 of it
    assert message in str(done.exception)
    assert not done.output  # nothing is begun first
    assert not Path("kept.tsv").exists()


def test_sides_of_unequal_length_are_refused(crawl):
    with open("b.en", "a", encoding="utf-8") as file:
        file.write("one more\n")
    done = run("-o", "kept.tsv")
    assert "the two sides differ in lines" in str(done.exception)
    assert sorted(path.name for path in Path().iterdir()) == ["a.de", "b.en"]


def test_fewer_pairs_than_are_asked_for_are_said_and_counts_are_said_once(crawl):
    said = run("--rules", "{}", "--similarity", "random", "--pairs", 100_000, "-o", "kept.tsv").stderr
    left = len(Path("kept.tsv").read_text().splitlines())
    assert f"filter: --pairs asks for 100,000, but only {left:,} were left\n" in said
    words = run("--rules", "{}", "--similarity", "random", "--words", 100_000, "-o", "kept.tsv").stderr
    count = sum(len(line.split("\t")[4].split()) for line in Path("kept.tsv").read_text().splitlines())
    assert f"filter: --words asks for 100,000, but only {count:,} were left\n" in words
    assert "rows in" not in said
    for limit in ("--pairs", "--words"):
        assert "only" not in run("--rules", "{}", "--similarity", "random", limit, 3, "-o", "kept.tsv").stderr
