"""Corpora built from small parts: every row accounted for, and nothing left behind when the input is bad."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base import json_yaml
from bitextbench.base.errors import InputError
from bitextbench.config.schema import check_part
from bitextbench.corpus import build as corpus
from bitextbench.corpus import parts
from bitextbench.corpus.noise import KINDS
from bitextbench.data import parsers
from bitextbench.formats import bitext

PAIR = ("de", "en")


def write(folder: Path, name: str, lines: list[str]) -> str:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder / name)


def part(folder: Path, pairs: list[tuple[str, str]], name: str = "a", **more: Any) -> dict[str, Any]:
    src, tgt = zip(*pairs, strict=True) if pairs else ([], [])
    return {"files": {"src": write(folder, f"{name}.de", [*src]), "tgt": write(folder, f"{name}.en", [*tgt])}, **more}


def build(
    folder: Path, spec: dict[str, Any], name: str = "pool", **corpora: Path
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    counts = corpus.build(name, spec, PAIR, folder / "raw", corpora, folder / name, 1)
    assert json_yaml.read_json(folder / name / "counts.json") == counts
    assert counts["in"] == sum(counts["by_part"].values())
    assert counts["in"] + sum(counts["added"].values()) == counts["out"] + sum(counts["dropped"].values())
    assert counts["out"] == sum(counts["by_label"].values())
    return counts, [row for batch in bitext.read_batches(folder / name) for row in batch.to_pylist()]


def test_every_step_and_its_counts(tmp_path: Path):
    build(tmp_path, {"parts": [part(tmp_path, [("Der Test.", "The test."), ("...", "...")], "test")]}, "test")
    pairs = [
        ("Der Hund schläft .", "The dog sleeps ."),  # stays
        ("", "An empty side ."),  # empty
        ("Noch eine leere Seite .", " \u3000 "),  # empty
        ("DER TEST", "Something else ."),  # in test: source
        ("Etwas anderes .", "the „test“ !"),  # in test: target
        ("The test", "Der Test ist gut ."),  # in test: another side
        ("...", "? !"),  # no letters to compare; too few letters
        ("Ja", "This is a much longer sentence ."),  # ratio
        ("Der Hund schläft .", "The dog sleeps ."),  # duplicate
        ("Der Hund schläft .", "The dog is asleep ."),  # stays: another target
    ]
    spec = {
        "parts": [part(tmp_path, pairs), part(tmp_path, pairs[:1], "b", label="parallel")],
        "exclude": ["test"],
        "filter": {"max_ratio": 2.0, "letters": 0.5},
        "deduplicate": True,
        "shards": 2,
    }
    counts, rows = build(tmp_path, spec, test=tmp_path / "test")
    assert counts == {
        "in": 11,
        "by_part": {f"1 files {tmp_path}/a.de {tmp_path}/a.en": 10, f"2 files {tmp_path}/b.de {tmp_path}/b.en": 1},
        "added": {},
        "dropped": {"empty": 2, "in test": 3, "max_ratio": 1, "letters": 1, "duplicate": 2},
        "alone": {"max_ratio": 1, "letters": 1, "duplicate": 2},
        "out": 2,
        "by_label": {"": 2},
    }
    assert rows == [
        {"id": 0, "src": pairs[0][0], "tgt": pairs[0][1], "doc": "", "label": ""},
        {"id": 1, "src": pairs[9][0], "tgt": pairs[9][1], "doc": "", "label": ""},
    ]
    assert sorted(path.name for path in (tmp_path / "pool").iterdir()) == [
        "00000.parquet",
        "00001.parquet",
        "counts.json",
    ]


def test_what_an_overlay_turns_off_is_not_done(tmp_path: Path):
    off = dict.fromkeys(("noise", "exclude", "filter", "deduplicate", "shards"))
    pairs = [("eins", "one")] * 2
    counts, rows = build(tmp_path, {"parts": [part(tmp_path, pairs, label="parallel")], **off})
    assert [(row["src"], row["tgt"]) for row in rows] == pairs
    assert (counts["added"], counts["dropped"], counts["alone"]) == ({}, {}, {})


def test_a_pair_in_two_excluded_corpora_is_dropped_for_the_first(tmp_path: Path):
    build(tmp_path, {"parts": [part(tmp_path, [("a", "b"), ("c", "d")], "test")]}, "test")
    build(tmp_path, {"parts": [part(tmp_path, [("b", "x"), ("e", "f")], "valid")]}, "valid")
    pairs = [("q", "r"), ("a", "b"), ("f", "s"), ("t", "D"), ("u", "v")]
    spec = {"parts": [part(tmp_path, pairs)], "exclude": ["test", "valid"], "deduplicate": True}
    counts, rows = build(tmp_path, spec, test=tmp_path / "test", valid=tmp_path / "valid")
    assert [row["src"] for row in rows] == ["q", "u"]
    assert (counts["dropped"], counts["alone"]) == ({"in test": 2, "in valid": 1}, {})


def test_a_row_that_has_no_side_is_empty(tmp_path: Path):
    """A part of one side alone, of a text that has the other."""
    mono = {"files": {"tgt": write(tmp_path, "mono.en", ["Only English"])}, "side": "src"}
    counts, rows = build(tmp_path, {"parts": [mono, part(tmp_path, [("eins", "one")])]})
    assert [row["src"] for row in rows] == ["eins"]
    assert counts["dropped"] == {"empty": 1}


@pytest.mark.parametrize("labels", [("parallel", ""), ("", "parallel")])
def test_noise_needs_rows_labelled_parallel_in_some_chunk(tmp_path, monkeypatch, labels):
    monkeypatch.setattr(corpus, "CHUNK", 2)
    halves = [part(tmp_path, numbered(2), f"{place}", label=label) for place, label in enumerate(labels)]
    counts, _ = build(tmp_path, {"parts": halves, "noise": {"seed": 1, "proportions": {"copy": 1}}})
    assert (counts["added"], counts["by_label"]) == ({}, {"": 2, "copy": 2})


def test_the_memory_of_deduplication_is_in_mib(tmp_path, monkeypatch):
    given = []
    taken = corpus.Deduplicator
    monkeypatch.setattr(corpus, "Deduplicator", lambda scratch, memory: given.append(memory) or taken(scratch, memory))
    build(tmp_path, {"parts": [part(tmp_path, numbered(2))], "deduplicate": {"memory": 3}})
    assert given == [3 * 1024 * 1024]


def numbered(n: int) -> list[tuple[str, str]]:
    return [(f"Satz {i}", f"Sentence {i}") for i in range(n)]


def test_stretches_sides_labels(tmp_path: Path):
    pairs = numbered(10)
    mono = {"files": {"tgt": write(tmp_path, "mono.en", ["Only English"])}}
    parts = [
        part(tmp_path, pairs, "a", skip=2, lines=3, label="parallel"),
        part(tmp_path, pairs, "b", side="src", lines=1),
        part(tmp_path, pairs, "c", side="tgt", skip=9),
        mono,
    ]
    _, rows = build(tmp_path, {"parts": parts, "filter": {"max_ratio": 1.0, "max_overlap": 0.6}})
    assert [(row["src"], row["tgt"], row["label"]) for row in rows] == [
        *((*pair, "parallel") for pair in pairs[2:5]),
        ("Satz 0", None, ""),
        (None, "Sentence 9", ""),
        (None, "Only English", ""),
    ]


def test_shuffled_stretches_are_disjoint_and_complete(tmp_path: Path):
    pairs = numbered(50)
    taken = []
    for name, stretch in (("x", {"lines": 20}), ("y", {"skip": 20, "lines": 10}), ("z", {"skip": 30})):
        _, rows = build(tmp_path, {"parts": [part(tmp_path, pairs, shuffle=7, **stretch)]}, name)
        taken.append([(row["src"], row["tgt"]) for row in rows])
    assert [len(rows) for rows in taken] == [20, 10, 20]
    assert taken[0] != pairs[:20]
    assert Counter([pair for rows in taken for pair in rows]) == Counter(pairs)


def test_drawn_stretches_are_random_disjoint_and_complete_and_keep_the_order(tmp_path: Path):
    pairs = numbered(50)
    taken = []
    for name, stretch in (("x", {"lines": 20}), ("y", {"skip": 20, "lines": 10}), ("z", {"skip": 30})):
        counts, rows = build(tmp_path, {"parts": [part(tmp_path, pairs, draw=7, **stretch)]}, name)
        taken.append([(row["src"], row["tgt"]) for row in rows])
        assert counts["in"] == counts["out"] == len(rows)
    assert [len(rows) for rows in taken] == [20, 10, 20]
    assert all(rows == [pair for pair in pairs if pair in rows] for rows in taken)
    assert not set(taken[0]) <= set(pairs[:40])  # of the whole text
    assert Counter([pair for rows in taken for pair in rows]) == Counter(pairs)
    assert taken[0] != [
        (row["src"], row["tgt"])
        for row in build(tmp_path, {"parts": [part(tmp_path, pairs, draw=8, lines=20)]}, "w")[1]
    ]


CUTS = [slice(0, None), slice(3, None), slice(0, 4), slice(1, 3), slice(2, 7), slice(5, 99), slice(7, 9), slice(4, 4)]


def in_pieces() -> Iterator[pa.Table]:
    """Seven rows in tables of three, none, two and two."""
    whole = pa.concat_tables(parsers.in_tables(parsers.Row(f"s{i}", f"t{i}") for i in range(7)))
    for start, stop in ((0, 3), (3, 3), (3, 5), (5, 7)):
        yield whole.slice(start, stop - start)


def sources(tables: Iterable[pa.Table]) -> list[str]:
    return [text for held in tables for text in held["src"].to_pylist()]


@pytest.mark.parametrize("cut", CUTS)
def test_stretches_do_not_depend_on_how_rows_are_read(monkeypatch, cut):
    whole = sources(in_pieces())
    assert sources(parts.between(in_pieces(), cut)) == whole[cut]
    shuffled = sources(parts.shuffled(in_pieces(), 1, slice(0, None)))
    assert sorted(shuffled) == whole != shuffled
    monkeypatch.setattr(parsers, "ROWS", 2)
    assert sources(parts.shuffled(in_pieces(), 1, cut)) == shuffled[cut]
    assert sources(parts.drawn(in_pieces, 1, cut)) == sorted(shuffled[cut])


def test_documents_of_lines_go_on_from_table_to_table():
    assert [name for held in parts.numbered(in_pieces(), 2) for name in held["doc"].to_pylist()] == [*"1122334"]


def test_what_follows_a_stretch_is_not_read():
    def endless() -> Iterator[pa.Table]:
        yield from islice(in_pieces(), 3)
        raise AssertionError("read on")

    assert sources(parts.between(endless(), slice(1, 5))) == ["s1", "s2", "s3", "s4"]


@pytest.mark.parametrize(
    ("doc", "documents"), [("line", [999, 1000, 1001, 1002]), (1, [999, 1000, 1001, 1002]), (4, [250, 250, 251, 251])]
)
def test_stretches_of_so_many_lines_are_documents(tmp_path: Path, doc: str | int, documents: list[int]):
    _, rows = build(tmp_path, {"parts": [part(tmp_path, numbered(2000), skip=998, lines=4, doc=doc)]})
    assert [row["doc"] for row in rows] == [str(number) for number in documents]


def test_no_rows(tmp_path: Path):
    counts, rows = build(tmp_path, {"parts": [part(tmp_path, [])], "deduplicate": True, "filter": {"max_tokens": 3}})
    assert rows == []
    assert counts["in"] == counts["out"] == 0


line = st.text("abÄ 1中.", max_size=6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(line, line), max_size=25),
    st.lists(st.tuples(line, line), max_size=5),
    st.sampled_from(
        [{}, {"max_tokens": 2}, {"max_overlap": 0.5, "different": True}, {"letters": 0.9, "max_ratio": 1.5}]
    ),
    st.sampled_from([False, True, {"memory": 1}]),
    st.integers(1, 4),
)
def test_every_row_is_accounted_for(pairs, other, rules, deduplicate, chunk):
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "CHUNK", chunk)
        folder = Path(name)
        build(folder, {"parts": [part(folder, other, "o")]}, "other")
        spec: dict[str, Any] = {
            "parts": [part(folder, [*pairs, ("Satz", "Sentence")], label="parallel")],
            "noise": {"seed": 1, "proportions": dict.fromkeys(KINDS, 1 / (len(KINDS) + 1))},
            "exclude": ["other"],
            "filter": rules,
            "deduplicate": deduplicate,
        }
        counts, rows = build(folder, spec, other=folder / "other")
        assert counts["by_label"] == dict(sorted(Counter(row["label"] for row in rows).items()))
        assert counts["dropped"].get("empty", 0) == sum(not (a.strip() and b.strip()) for a, b in pairs)
        if deduplicate:
            assert len({(row["src"], row["tgt"]) for row in rows}) == len(rows)
        known = {plain(text) for pair in other for text in pair if all(map(str.strip, pair))} - {""}
        assert not any(plain(row[side]) in known for row in rows for side in ("src", "tgt"))


def plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def test_normalised():
    texts = ["Ｆull-Width: １２ ½!", "Straße №5", "don't", None, "。、"]
    assert corpus.normalised(pa.chunked_array([texts])).to_pylist() == ["fullwidth1212", "straßeno5", "dont", None, ""]


def test_the_same_bytes_again_and_other_noise_in_every_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(corpus, "CHUNK", 10)
    same = [("ein Hund", "a dog"), ("eine Katze", "a cat")] * 10
    spec = {"parts": [part(tmp_path, same, label="parallel")], "noise": {"seed": 1}}
    _, rows = build(tmp_path, spec)
    again, _ = tmp_path / "again", corpus.build("pool", spec, PAIR, tmp_path, {}, tmp_path / "again", 1)
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in (tmp_path / "pool").iterdir()
    }
    labels = [row["label"] for row in rows if row["label"] != "duplicate"]
    assert labels[:10] != labels[10:]


def test_a_dictionary_of_the_embedded_corpus(tmp_path: Path):
    spec = {"parts": [{"lexicon": "nouns"}, {"lexicon": "adjectives"}]}
    corpus.build("words", spec, ("de", "en"), tmp_path, {}, tmp_path / "words", 1)
    rows = {(row["src"], row["tgt"]) for table in bitext.read_batches(tmp_path / "words") for row in table.to_pylist()}
    assert {("Mann", "man"), ("rot", "red")} <= rows
    assert not any(src in "mfn" for src, _ in rows)


def test_generated_part(tmp_path: Path):
    spec = {"parts": [{"generated": "pool", "lines": 200}, {"generated": "other", "lines": 50, "side": "src"}]}
    counts, rows = build(tmp_path, spec)
    assert counts["by_part"] == {"1 generated pool": 200, "2 generated other": 50}
    assert counts["by_label"] == {"parallel": 250}
    assert all(row["tgt"] for row in rows[:200])
    assert not any(row["tgt"] for row in rows[200:])
    assert len({row["doc"] for row in rows[:200]}) > 5
    assert corpus.build("pool", spec, PAIR, tmp_path, {}, tmp_path / "seed2", 2)["in"] == 250
    texts = [row["src"] for batch in bitext.read_batches(tmp_path / "seed2") for row in batch.to_pylist()]
    assert texts != [row["src"] for row in rows]


def test_noise_on_the_generated_corpus_is_labelled_rightly(tmp_path: Path):
    """The labels can be checked against the text without noise, because rows keep their order."""
    parts = [{"generated": "pool", "lines": 3000}]
    _, clean = build(tmp_path, {"parts": parts}, "clean")
    _, noisy = build(tmp_path, {"parts": parts, "noise": {"seed": 5}})
    noisy = [row for row in noisy if row["label"] != "duplicate"]
    right = {row["src"]: row["tgt"] for row in clean}
    for i, (was, now) in enumerate(zip(clean, noisy, strict=True)):
        match now["label"]:
            case "parallel":
                assert (now["src"], now["tgt"]) == (was["src"], was["tgt"])
            case "copy":
                assert now["src"] == now["tgt"]
            case "neighbour":
                beside = [
                    clean[j]["tgt"] for j in (i - 1, i + 1) if 0 <= j < len(clean) and clean[j]["doc"] == was["doc"]
                ]
                assert now["tgt"] in beside
            case "misaligned":
                assert now["tgt"] != right[now["src"]]
            case _:
                assert (now["src"], now["tgt"]) != (was["src"], was["tgt"])
    assert {row["label"] for row in noisy} == {"parallel", *KINDS} - {"duplicate"}


def bad_text(folder: Path, content: bytes) -> dict[str, Any]:
    (folder / "bad.de").write_bytes(content)
    return {"files": {"src": str(folder / "bad.de"), "tgt": write(folder, "bad.en", ["one", "two"])}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"eins\n", r"the two sides differ in lines: .*bad.de has 1 and .*bad.en has 2; align them"),
        (b"1\n2\n3\n4\n", r"bad.de has 4 and .*bad.en has 2;"),
        (b"", r"bad.de has 0 and .*bad.en has 2;"),
        (b"eins\nf\xfcnf\n", r"bad.de:2: invalid UTF-8 at byte 2 of the line; convert"),
        (b"eins\0\nzwei\n", r"bad.de:1: line holds a NUL byte; remove"),
    ],
)
def test_bad_text_leaves_nothing_behind(tmp_path: Path, content: bytes, message: str):
    spec = {"parts": [bad_text(tmp_path, content)]}
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=message):
        build(tmp_path, spec)
    assert sorted(tmp_path.iterdir()) == before


def test_a_failed_build_keeps_the_corpus_of_before(tmp_path: Path):
    build(tmp_path, {"parts": [part(tmp_path, numbered(3))]})
    with pytest.raises(InputError, match=r"missing.de: no such file"):
        build(tmp_path, {"parts": [{"files": {"src": str(tmp_path / "missing.de")}}]})
    assert json_yaml.read_json(tmp_path / "pool" / "counts.json")["out"] == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "`parts` is missing"),
        ({"parts": [{"lines": 3}]}, "it is rows of one source: dataset, generated, lexicon or files"),
        ({"parts": [{"dataset": "x", "lexicon": "nouns"}]}, "it is rows of one source"),
        ({"parts": [{"lexicon": "noun"}]}, r"`parts.0.lexicon: noun` is wrong: .*\['nouns', 'adjectives'\]"),
        ({"parts": [{"files": {}}]}, "`parts.0.files: {}` is wrong"),
        ({"parts": [{"generated": "x", "line": 3}]}, "unknown key `parts.0.line`; did you mean `lines: 3`"),
        ({"parts": [{"generated": "x"}]}, "`parts.0.lines` is missing; the text is endless"),
        ({"parts": [{"generated": "x", "lines": 3, "draw": 1}]}, "`parts.0.draw: 1` is wrong: .* for text that ends"),
        ({"parts": [{"generated": "x", "lines": 3, "shuffle": 1}]}, "`parts.0.shuffle: 1` is wrong: .* for text that ends"),
        ({"parts": [{"dataset": "x", "draw": 1, "shuffle": 1}]}, "`parts.0.shuffle: 1` is wrong: .* without `draw`"),
        ({"parts": [{"files": {"sorce": "x"}}]}, "unknown key `parts.0.files.sorce`"),
        ({"parts": [{"generated": "x", "lines": 3, "side": "de"}]}, "`parts.0.side: de` is wrong"),
        ({"parts": [{"generated": "x", "lines": 3}], "dedup": True}, "unknown key `dedup`; did you mean `deduplicate"),
        ({"parts": [{"dataset": "x"}], "noise": {"proportions": {"copies": 1}}}, "did you mean `copy: 1`"),
        ({"parts": [{"dataset": "x"}], "noise": {"proportions": {"copy": -0.1}}}, "less than the minimum of 0"),
    ],
)  # fmt: skip
def test_specs_that_the_schema_refuses(spec: dict[str, Any], message: str):
    with pytest.raises(InputError, match=message):
        check_part("corpus", spec, "--spec")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"parts": [{"generated": "x", "lines": 3}], "filter": {"min_token": 3}}, "did you mean min_tokens"),
        ({"parts": [{"generated": "x", "lines": 3}], "exclude": ["tset"]}, "excluded corpus 'tset'; did you mean test"),
        ({"parts": [{"generated": "x", "lines": 3, "label": ""}], "noise": {}}, "no part has any; give a part `label"),
        ({"parts": [{"generated": "x", "lines": 3, "side": "src"}], "noise": {}}, "noise needs both sides"),
    ],
)  # fmt: skip
def test_specs_that_the_text_does_not_allow(tmp_path: Path, spec: dict[str, Any], message: str):
    with pytest.raises(InputError, match=re.compile(message)):
        build(tmp_path, spec, test=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_threads_change_no_byte(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "CHUNK", 7)
    pairs = [(f"Das ist Satz {'x ' * (i % 9)}{i % 40}", f"This is line {i % 40}") for i in range(100)]
    spec = {"parts": [part(tmp_path, pairs)], "filter": {"max_ratio": 1.5, "max_overlap": 0.5}, "deduplicate": True}
    for threads in (1, 3):
        corpus.build("pool", spec, PAIR, tmp_path / "raw", {}, tmp_path / str(threads), 1, threads)
    one, three = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "13")
    assert one == three
