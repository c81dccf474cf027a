"""The decoder finds what a search of all derivations finds."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from smt import toy

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
