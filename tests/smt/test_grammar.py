"""Rules against extraction by definition and values worked out by hand; the file that they stand in."""

import json
import math
from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.cli.main import cli
from bitextbench.smt import alignment, extraction, grammar
from bitextbench.smt.words import Vocabulary


def corpus(folder, sources, targets):
    folder.mkdir()
    pq.write_table(pa.table({"id": range(len(sources)), "src": sources, "tgt": targets}), folder / "00000.parquet")
    return folder


def made(tmp_path, sources, targets, links, test, **options):
    """The grammar of some pairs for some sentences: {(source, target): features}."""
    tokens, path = corpus(tmp_path / "tokens", sources, targets), tmp_path / "links"
    path.write_text("".join(f"{line}\n" for line in links))
    (tmp_path / "test").write_text("".join(f"{line}\n" for line in test))
    out = tmp_path / "grammar.tsv.zst"
    grammar.make([tokens], path, [tmp_path / "test"], out, **{"limit": 20, "lowercase": True} | options)
    names, rules = grammar.read(out)
    assert names == list(grammar.FEATURES)
    return {(fields[0], fields[1]): [round(math.exp(float(value)), 4) for value in fields[3:]] for fields in rules}


def test_rules_of_two_words(tmp_path):
    rules = made(tmp_path, ["A b", "a"], ["x y", "z"], ["0-0 1-1", "0-0"], ["a b"])
    assert rules == {
        # forward, backward, and both lexical weights: half of the links of a go to x, half to z
        ("a", "x"): [0.5, 1, 0.5, 1],
        ("a", "z"): [0.5, 1, 0.5, 1],
        ("b", "y"): [1, 1, 1, 1],
        ("a b", "x y"): [1, 1, 0.5, 1],
        ("a [1]", "x [1]"): [1, 1, 0.5, 1],
        ("[1] b", "[1] y"): [1, 1, 1, 1],
    }
    assert json.loads((tmp_path / "grammar.tsv.zst.json").read_text())["rules"] == 6


def test_two_gaps_change_places(tmp_path):
    rules = made(tmp_path, ["a b c"], ["x y z"], ["0-2 1-1 2-0"], ["a b c"])
    assert ("[1] b [2]", "[2] y [1]") in rules
    assert not any("[1] [2]" in source for source, _ in rules)
    assert len(rules) == 3 + 2 * 3 + 7 - 2  # a [1] and [1] c come of two phrases each


def test_words_without_links_are_at_no_edge(tmp_path):
    rules = made(tmp_path, ["a b c"], ["x y"], ["0-0 2-1"], ["a b c"])
    assert set(rules) == {("a", "x"), ("c", "y"), ("a b c", "x y"), ("a b [1]", "x [1]"), ("[1] b c", "[1] y")}
    assert rules["a b c", "x y"][2:] == [1, 1]  # b goes with no word, as each time


def test_words_without_links_are_made_from_null_and_are_not_given(tmp_path):
    """w(x | a) is 1 (Koehn et al. 2003), though a lacks a link once, as z does, and b twice."""
    rules = made(tmp_path, ["a b a", "a", "a b c"], ["x", "z x", "x y"], ["0-0", "0-1", "0-0 2-1"], ["a b c"])
    assert rules["a", "x"][2:] == [1, 1]
    assert rules["a b c", "x y"][2:] == [1, 0.6667]  # of what NULL makes of the target, two of three are b


def test_rules_are_filtered_by_the_test_set_and_counted_without_it(tmp_path):
    rules = made(tmp_path, ["a b", "c"], ["x x", "x"], ["0-0 1-1", "0-0"], ["q c"])
    assert rules == {("c", "x"): [1, 0.3333, 1, 0.3333]}
    with pytest.raises(InputError, match="no rule matches the test sets"):
        made((tmp_path / "other").mkdir() or tmp_path / "other", ["a"], ["x"], ["0-0"], ["q"])


def test_the_best_rules_of_a_source_are_kept(tmp_path):
    rules = made(tmp_path, ["a", "a", "a"], ["x", "y", "y"], ["0-0"] * 3, ["a"], limit=1)
    assert list(rules) == [("a", "y")]
    counts = json.loads((tmp_path / "grammar.tsv.zst.json").read_text())
    assert counts["matching"] == counts["rules"] + counts["over_limit"] == 2


def test_of_rules_as_good_those_of_the_first_words_are_kept(tmp_path):
    assert list(made(tmp_path, ["a"] * 3, ["x", "y", "z"], ["0-0"] * 3, ["a"], limit=2)) == [("a", "x"), ("a", "y")]


def links_of(tmp_path, *rule):
    """The links of a rule in the file of `made`, and the logarithms of its lexical weights."""
    _, rules = grammar.read(tmp_path / "grammar.tsv.zst")
    [(links, weights)] = [(fields[2], [*map(float, fields[5:])]) for fields in rules if tuple(fields[:2]) == rule]
    return links, weights


def test_a_rule_has_the_links_that_it_mostly_has(tmp_path):
    links = ["0-0 1-1"] * 2 + ["0-1 1-0"] * 3
    assert made(tmp_path, ["a b"] * 5, ["x y"] * 5, links, ["a b"])["a b", "x y"][:2] == [1, 1]
    assert links_of(tmp_path, "a b", "x y")[0] == "0-1 1-0"


def test_links_of_long_rules(tmp_path):
    """c has three of ten words; the five words without a link come of NULL alike."""
    target = " ".join(f"t{number}" for number in range(10))
    made(tmp_path, ["a b c"], [target], ["0-0 1-1 2-4 2-5 2-9"], ["a b c"])
    links, weights = links_of(tmp_path, "a b c", target)
    assert links == "0-0 1-1 2-4 2-5 2-9"
    assert weights == pytest.approx([-3 * math.log(3) - 5 * math.log(5), 0], abs=1e-5)


def test_brackets_of_the_text_are_no_gaps(tmp_path):
    rules = made(tmp_path, ["[1]"], ["[ x"], ["0-0 0-1"], ["[1]"])
    assert list(rules) == [("&#91;1&#93;", "&#91; x")]


def by_definition(source, target, links):
    """The counts of rules of a pair: Chiang 2007, section 3.2."""
    found = Counter()
    spans = {}
    for i, j in product(range(len(source)), range(1, len(source) + 1)):
        inside = [link for link in links if i <= link[0] < j]
        if 0 < j - i <= 10 and {i, j - 1} <= {a for a, _ in inside}:
            k, m = min(b for _, b in inside), max(b for _, b in inside) + 1
            if m - k <= 10 and all(i <= a < j for a, b in links if k <= b < m):
                spans[i, j] = k, m
    for (i, j), (k, m) in spans.items():
        rules = []
        parts = [part for part in spans if i <= part[0] and part[1] <= j]
        for gaps in [(), *((part,) for part in parts), *((p, q) for p in parts for q in parts if p[1] < q[0])]:
            words = j - i - sum(b - a for a, b in gaps)
            free = [link for link in links if i <= link[0] < j and not any(a <= link[0] < b for a, b in gaps)]
            if words + len(gaps) <= 5 and free:
                sides = []
                for line, low, high, holes in ((source, i, j, gaps), (target, k, m, [spans[gap] for gap in gaps])):
                    symbols = [word if not any(a <= n < b for a, b in holes) else "" for n, word in enumerate(line)]
                    for number, (a, _) in enumerate(holes, 1):
                        symbols[a] = f"[{number}]"
                    sides.append(" ".join(filter(None, symbols[low:high])))
                rules.append(tuple(sides))
        found.update({rule: rules.count(rule) / len(rules) for rule in rules})
    return found


def test_extraction_is_by_definition(tmp_path):
    rng = np.random.default_rng(1)
    pairs, expected = [], Counter()
    for _ in range(60):
        lengths = rng.integers(1, 13, 2)
        source, target = (
            [f"{side}{number}" for number in rng.integers(0, 4, n)] for side, n in zip("st", lengths, strict=True)
        )
        places = sorted(
            {
                (min(i, lengths[0] - 1), int(np.clip(i + rng.integers(-1, 2), 0, lengths[1] - 1)))
                for i in rng.integers(0, lengths[0], lengths[0])
            }
        )
        pairs.append((source, target, [(int(i), int(j)) for i, j in places]))
        expected.update(by_definition(*pairs[-1]))
    vocabularies = Vocabulary(), Vocabulary()
    sides = [vocabulary.encode(" ".join(pair[side]) for pair in pairs) for side, vocabulary in enumerate(vocabularies)]
    path = tmp_path / "links"
    alignment.write(path, [np.array(pair[2]) for pair in pairs])
    found = extraction.extract(extraction.Bitext(*sides, *alignment.read(path, *sides)), sides[0])
    words = [vocabulary.words() for vocabulary in vocabularies]
    lines = [line.split("\t")[:2] for line in grammar._lines(found.rules, np.ones((len(found.rules), 1)), words)]
    counts = dict(zip(map(tuple, lines), found.counts.tolist(), strict=True))
    assert len(counts) > 500
    assert counts == pytest.approx(dict(expected))
    by_target = Counter()
    for (_, target), count in expected.items():
        by_target[target] += count
    assert found.target_counts.tolist() == pytest.approx([by_target[target] for _, target in lines])
    assert found.seen == pytest.approx(sum(expected.values()))


def test_from_tokens_to_a_grammar(tmp_path):
    tokens = corpus(tmp_path / "tokens", ["Das Haus", "das Buch", "ein Buch"], ["the house", "the book", "a book"])
    for command in (
        f"smt-text {tokens} -o {tmp_path}/text",
        f"smt-align {tokens} -o {tmp_path}/links.zst",
        f"smt-grammar {tokens} --links {tmp_path}/links.zst --source {tmp_path}/text.src -o {tmp_path}/grammar.tsv.zst",
    ):
        result = CliRunner().invoke(cli, ["step", *command.split()], catch_exceptions=False)
        assert result.exit_code == 0
    assert [*read_lines(tmp_path / "text.src")] == ["das haus", "das buch", "ein buch"]
    lines = [*read_lines(tmp_path / "grammar.tsv.zst")]
    assert lines[0].split("\t") == [*grammar.HEAD, *grammar.FEATURES]
    assert "[1] haus\t[1] house\t1-1\t0.0\t0.0\t0.0\t0.0" in lines


def test_files_that_are_no_grammars(tmp_path):
    path = tmp_path / "grammar.tsv"
    for text, message in (("", ":1: has no head"), ("source\ttarget\talign\tx\na\tb\n", ":2: has 2 fields, not 4")):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            list(grammar.read(path)[1])
