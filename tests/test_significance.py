import csv
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from bitextbench.errors import InputError
from bitextbench.significance import compare, write

WORDS = ["the", "a", "cat", "dog", "sees", "likes", "red", "small", "house", "tree"]


def text(rng: random.Random, n: int) -> list[str]:
    return [" ".join(rng.choices(WORDS, k=rng.randint(4, 12))) for _ in range(n)]


def spoilt(rng: random.Random, lines: list[str], share: float) -> list[str]:
    return [" ".join("x" if rng.random() < share else word for word in line.split()) for line in lines]


def test_one_model_each_agrees_with_sacrebleu():
    rng = random.Random(1)
    references = text(rng, 60)
    good, bad = spoilt(rng, references, 0.2), spoilt(rng, references, 0.26)
    (found,) = compare({"bad": [bad], "good": [good]}, references, "en", "10M", "t")
    _, scores = PairedTest([("bad", bad), ("good", good)], {"BLEU": BLEU()}, [references], "bs", n_samples=1000)()
    theirs = scores["BLEU"]
    assert (found.row, found.other) == ("good", "bad")
    assert (found.other_bleu, found.bleu) == pytest.approx([score.score for score in theirs])
    assert found.p == pytest.approx(theirs[1].p_value, abs=0.05)
    assert found.low < found.difference < found.high


def test_several_models_score_as_their_outputs_together_and_resample_by_sentence():
    rng = random.Random(2)
    references = text(rng, 40)
    one, two, other = (spoilt(rng, references, share) for share in (0.2, 0.3, 0.25))
    (found,) = compare({"other": [other, other], "pair": [one, two]}, references, "en", "10M", "t")
    assert found.bleu == pytest.approx(BLEU().corpus_score(one + two, [references + references]).score)
    (alone,) = compare({"other": [other], "pair": [one]}, references, "en", "10M", "t")
    (twice,) = compare({"other": [other, other], "pair": [one, one]}, references, "en", "10M", "t")
    assert twice[4:] == pytest.approx(alone[4:])  # the same outputs again are no new evidence


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 8), st.integers(0, 99))
def test_a_system_does_not_differ_from_itself(n, seed):
    rng = random.Random(seed)
    references = text(rng, n)
    lines = spoilt(rng, references, 0.3)
    (found,) = compare({"a": [lines], "b": [lines]}, references, "en", "10M", "t")
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_all_pairs_are_written(tmp_path):
    rng = random.Random(3)
    references = text(rng, 20)
    systems = {name: [spoilt(rng, references, share)] for name, share in (("a", 0.5), ("b", 0.1), ("c", 0.3))}
    write(compare(systems, references, "en", "10M", "test2017"), tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["row"], row["other"]) for row in rows] == [("b", "a"), ("c", "a"), ("c", "b")]
    assert float(rows[0]["difference"]) > 0 > float(rows[2]["difference"])
    assert float(rows[0]["p"]) < 0.01


def test_unequal_counts_are_an_error():
    with pytest.raises(InputError, match="mlp, 10M, t: 1 hypotheses but 2 references"):
        compare({"mlp": [["a"]]}, ["a", "b"], "en", "10M", "t")
