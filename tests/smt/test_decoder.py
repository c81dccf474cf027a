"""The decoder finds what a search of all derivations finds."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smt import toy

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.smt import translate
from bitextbench.smt.rules import load

kenlm = pytest.importorskip("kenlm")


def decode(folder, rules, text, order=3, seed=1, **options):
    grammar = toy.write_grammar(folder / "grammar.tsv", rules)
    arpa = toy.write_model(folder / "model.arpa", random.Random(seed), order)
    loaded = load(grammar, arpa, text)
    options = {"beam": 0, "span": 10, "count": 1, **options}
    return loaded, [*translate.translations(loaded, toy.WEIGHTS, **options)], kenlm.Model(str(arpa))


def total(entry, names):
    return sum(value * toy.WEIGHTS[name] for name, value in zip(names, entry.features.tolist(), strict=True))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(2, 4), st.integers(1, 7), st.sampled_from([3, 10]))
def test_the_best_derivation_is_that_of_an_exhaustive_search(tmp_path_factory, seed, order, length, span):
    draw = random.Random(seed)
    rules = toy.random_rules(draw, draw.randint(1, 4))
    rules += [("a", "A", [-1.0, -0.5]), ("b", "B", [-1.0, -1.5])]
    words = ["a", *draw.choices("abcd", k=length - 1)]
    draw.shuffle(words)
    folder = tmp_path_factory.mktemp("toy")
    loaded, [entries], model = decode(folder, rules, [" ".join(words)], order, seed, span=span, count=5)
    truth = toy.exhaustive(words, rules, span, model)[:5]
    assert [total(entry, loaded.names) for entry in entries] == pytest.approx([score for score, _ in truth], abs=2e-4)
    assert entries[0].tokens == truth[0][1] or truth[0][0] == pytest.approx(truth[1][0], abs=2e-4)


RULES = [
    ("a", "A", [-0.5, -0.5]), ("a", "B", [-0.9, -0.1]), ("b", "C D", [-0.2, -1.0]), ("[1] b", "D [1]", [-1.0, -0.3]),
    ("[1] b [2]", "[2] C [1]", [-0.7, -0.2]), ("a b", "A B C", [-2.0, -0.1]),
]  # fmt: skip
TEXT = ["a b a", "", "a x b", " ".join("ab" * 100)]


@pytest.fixture
def files(tmp_path):
    """Arguments of smt-decode, by name."""
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in TEXT))
    (tmp_path / "weights.json").write_text(json.dumps(toy.WEIGHTS))
    return {
        "--grammar": toy.write_grammar(tmp_path / "grammar.tsv", RULES),
        "--lm": toy.write_model(tmp_path / "model.arpa", random.Random(1)),
        "--weights": tmp_path / "weights.json",
        "--source": tmp_path / "text",
        "-o": tmp_path / "out.txt",
    }


def run(files, *more, step="smt-decode"):
    cli.main(["step", step, *(str(part) for pair in files.items() for part in pair), *more], standalone_mode=False)


def test_features_of_nbest_lists_add_up(files, tmp_path, capfd):
    run(files, "--nbest", "20", "--nbest-output", str(tmp_path / "lists"))
    assert "1 of 4 sentences are longer than 10 words" in capfd.readouterr().err
    lists: dict = {}
    for line in (tmp_path / "lists").read_text().splitlines():
        number, tokens, features, score = line.split(" ||| ")
        values = {name: float(value) for name, value in (part.split("=") for part in features.split())}
        assert values.keys() == toy.WEIGHTS.keys()
        assert float(score) == pytest.approx(sum(toy.WEIGHTS[name] * value for name, value in values.items()), abs=2e-6)
        assert values["words"] == -len(tokens.split())
        lists.setdefault(int(number), []).append((tokens, float(score)))
    assert [*lists] == [0, 1, 2, 3]
    for entries in lists.values():
        scores = [score for _, score in entries]
        assert scores == sorted(scores, reverse=True)
        assert len({tokens for tokens, _ in entries}) == len(entries)
    lines = (tmp_path / "out.txt").read_text().split("\n")
    assert lines == [*(lists[number][0][0] for number in range(4)), ""]
    assert lines[1] == ""
    assert "x" in lines[2].split()
    assert len(lists[3]) == 20
    assert len(lines[3].split()) >= 100


def test_threads_change_no_byte(files, tmp_path):
    found = []
    for threads in ("1", "3"):
        run(files, "--beam", "20", "--threads", threads, "--nbest", "9", "--nbest-output", str(tmp_path / "lists"))
        found.append([(tmp_path / name).read_bytes() for name in ("out.txt", "lists")])
    assert found[0] == found[1]


def test_a_beam_finds_no_more_than_all(files, tmp_path):
    text = [" ".join(random.Random(3).choices("ab", k=7))]
    scores = []
    for beam in (1, 5, 50, 0):
        loaded, [entries], _ = decode(tmp_path, RULES, text, beam=beam)
        scores.append(total(entries[0], loaded.names))
    assert scores == sorted(scores)


def test_ties_go_to_the_first_rule(tmp_path):
    rules = [("a", word, [-1.0, -1.0]) for word in ("z", "y", "x")]  # words that the model does not know
    _, [entries, _], _ = decode(tmp_path, [*rules, ("b", "A", [0.0, 0.0])], ["a", "b"], count=3)
    assert [entry.tokens for entry in entries] == ["z", "y", "x"]


def test_brackets_and_bars_of_the_text_are_no_gaps(tmp_path):
    _, [entries], _ = decode(tmp_path, RULES, ["a &#91;1&#93; &#124;"])
    assert entries[0].tokens in ("A &#91;1&#93; &#124;", "B &#91;1&#93; &#124;")


def test_gaps_may_be_numbered_in_any_order(tmp_path):
    found = [
        decode(tmp_path, [*RULES[:3], (source, target, [3.0, 3.0])], ["a x b"])[1][0][0].tokens
        for source, target in (("[1] x [2]", "[2] D [1]"), ("[2] x [1]", "[1] D [2]"))
    ]
    assert found[0] == found[1]
    assert found[0].split()[0] == "C"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("--grammar", toy.HEAD + "\n", "has no rules"),
        ("--grammar", "", "no head of a grammar"),
        ("--grammar", f"{toy.HEAD}\na\tA\t\t-1\t-1\na\tB\t\tnan\t-1\n", r"grammar.tsv:3: .*no finite number"),
        ("--grammar", f"{toy.HEAD}\na\tA\t\t-1\tmuch\n", r"grammar.tsv:2: could not convert"),
        ("--grammar", f"{toy.HEAD}\na\tA\t\t-1\n", r"grammar.tsv:2: has 4 fields, not 5"),
        ("--grammar", f"{toy.HEAD}\na [1]\tA\t\t-1\t-1\n", r"grammar.tsv:2: sides with different gaps"),
        ("--grammar", f"{toy.HEAD}\n[1]\tA [1]\t\t-1\t-1\n", r"grammar.tsv:2: a side without a word"),
        ("--grammar", f"{toy.HEAD}\nq\tA\t\t-1\t-1\n", "none of 1 rules fits the text"),
        (
            "--grammar",
            f"{toy.HEAD.replace('backward', 'lm')}\na\tA\t\t-1\t-1\n",
            "the decoder itself has a feature lm; rename this one",
        ),
        ("--grammar", f"{toy.HEAD}\na\tя\t\t-1\t-1\n", "has no word of the grammar"),
        ("--lm", "the text of a book\n", "give an ARPA file"),
        ("--weights", "[]", "is not a mapping"),
        ("--weights", json.dumps({**toy.WEIGHTS, "gleu": 1}), "did you mean glue"),
        ("--weights", json.dumps({**toy.WEIGHTS, "lm": None}), "no number for the feature lm"),
    ],
)
def test_bad_input_is_an_error(files, name, content, message):
    files[name].write_text(content)
    with pytest.raises(InputError, match=message):
        run(files)
    assert not files["-o"].exists()


@pytest.mark.parametrize("step", ["smt-decode", "smt-tune"])
@pytest.mark.parametrize("option", ["--beam=-1", "--span=0", "--nbest=0", "--threads=0", "--rounds=0"])
def test_options_out_of_range(files, step, option):
    if step == "smt-tune":
        files = {name: path for name, path in files.items() if name != "--weights"}
        files |= {"--references": files["--source"], "--seed": 1}
    elif "rounds" in option:
        pytest.skip("of tuning")
    with pytest.raises(InputError, match=rf"{option.partition('=')[0]}: .*; give [01] (or more|to )"):
        run(files, option, step=step)


def test_tuning_raises_bleu_and_writes_the_same_weights(files, tmp_path, capfd):
    (tmp_path / "text").write_text("a b\nb a\na b a\nb b\n")
    (tmp_path / "references").write_text("D A B C\nC D B A\nA C D B\nC D D C\n")
    options = {name: files[name] for name in ("--grammar", "--lm", "--source")}
    options |= {"--references": tmp_path / "references", "--seed": 1}
    found = []
    for name in ("one.json", "two.json"):
        run({**options, "-o": tmp_path / name}, "--beam", "50", step="smt-tune")
        found.append((tmp_path / name).read_bytes())
    assert found[0] == found[1]
    assert json.loads(found[0]).keys() == toy.WEIGHTS.keys()
    rounds = json.loads((tmp_path / "one.json.rounds.json").read_text())
    assert rounds[0]["expected"] > rounds[0]["bleu"]
    assert "0 of 4 sentences are longer than 10 words" in capfd.readouterr().err
    run({**options, "-o": tmp_path / "short.json"}, "--beam", "50", "--rounds", "1", step="smt-tune")
    assert json.loads((tmp_path / "short.json.rounds.json").read_text())[0]["bleu"] == rounds[0]["bleu"]
    assert len(json.loads((tmp_path / "short.json.rounds.json").read_text())) == 1 < len(rounds)
    (tmp_path / "references").write_text("D A B C\n")
    with pytest.raises(InputError, match=r"references: 1 lines, but .* has 4"):
        run({**options, "-o": tmp_path / "three.json"}, step="smt-tune")
    (tmp_path / "references").write_text("\n" * 4)
    with pytest.raises(InputError, match="references: has no words"):
        run({**options, "-o": tmp_path / "none.json"}, step="smt-tune")
