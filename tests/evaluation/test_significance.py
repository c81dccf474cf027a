import csv
import json
import math
import random
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest
from scipy import stats
from scipy.integrate import quad
from scipy.special import ndtr, stdtr

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.evaluation import significance
from bitextbench.evaluation.bleu import bleu
from bitextbench.evaluation.significance import compare, read, write
from bitextbench.formats import bitext
from bitextbench.report.cells import read as read_cells

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


def test_the_difference_is_the_mean_over_seeds_and_the_same_models_again_are_no_new_evidence():
    rng = random.Random(2)
    references = text(rng, 40)
    one, two, other = (spoilt(rng, references, share) for share in (0.2, 0.3, 0.25))
    (found,) = compare({"other": [other, other], "pair": [one, two]}, references, "en", "10M", "t")
    first, second, third = (BLEU().corpus_score(lines, [references]).score for lines in (one, two, other))
    assert found.bleu == pytest.approx((first + second) / 2)
    assert found.difference == pytest.approx((first + second) / 2 - third)
    (alone,) = compare({"other": [other], "pair": [one]}, references, "en", "10M", "t")
    (twice,) = compare({"other": [other, other], "pair": [one, one]}, references, "en", "10M", "t")
    assert twice[4:] == pytest.approx(alone[4:])


def test_the_interval_worked_out_by_hand():
    """Variance 2 / 2 of the seeds, 0.25 of the test set: the sum of both errors by simulation."""
    seeds, sampled = np.array([1.0, 3.0]), np.array([2.0 - 0.5, 2.0 + 0.5])
    mean, low, high, p = significance._difference(seeds, sampled)
    rng = np.random.default_rng(1)
    errors = rng.standard_t(1, 1_000_000) + rng.normal(0, 0.5, 1_000_000)
    assert (mean, mean - low) == pytest.approx((2.0, high - mean))
    assert (errors > high - mean).mean() == pytest.approx(0.025, abs=0.001)
    assert p == pytest.approx((abs(errors) > 2.0).mean(), abs=0.002)


@pytest.mark.parametrize("freedom", [1, 1.5, 2, 4, 40])
@pytest.mark.parametrize("value", [-3.0, 0.0, 0.5, 2, 20])
def test_an_error_of_one_part_is_that_part(value, freedom):
    assert significance.error_tail(value, 0.0, 4.0, freedom) == pytest.approx(stdtr(freedom, -value / 2), rel=1e-4)
    assert significance.error_tail(value, 4.0, 0.0, freedom) == pytest.approx(ndtr(-value / 2), rel=1e-9)


@pytest.mark.parametrize("freedom", [1, 1.5, 4, 40, 400])
@pytest.mark.parametrize("value", [0.5, 2, 5])
def test_the_sum_of_both_errors_is_their_convolution(value, freedom):
    exact, _ = quad(lambda t: stats.t.pdf(t, freedom) * ndtr(2 * t - value), -np.inf, np.inf, epsabs=1e-13)
    assert significance.error_tail(value, 1.0, 4.0, freedom) == pytest.approx(exact, rel=5e-5)


def test_errors_are_judged_as_arrays_and_their_ends_are_found():
    values = np.array([[0.5, 1.0], [2.0, -1.0]])
    tails = significance.error_tail(values, 1.0, np.array([1.0, 0.0]), 2)
    assert tails.shape == (2, 2)
    assert tails[1, 0] == significance.error_tail(2.0, 1.0, 1.0, 2)
    assert significance.error_tail(significance.error_quantile(0.001, 0.3, 2.0, 2), 0.3, 2.0, 2) == pytest.approx(0.001)
    assert significance.error_quantile(0.025, 0.0, 0.0, 1) == 0
    assert [*significance.error_tail(np.array([1e-6, 1e-9, -1e-6]), 0.0, 0.0, 1)] == [0, 1, 1]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_by_an_oracle(p):
    """The least level at which Holm's steps reject each."""
    adjusted = significance.adjusted(p)
    for one, found in zip(p, adjusted, strict=True):
        smaller = sorted(p)[: sorted(p).index(one) + 1]
        assert found == min(1, max((len(p) - rank) * value for rank, value in enumerate(smaller)))


def test_seeds_that_differ_alike_are_paired():
    """Two rows whose seeds go up and down together are told apart, which their separate intervals would not do."""
    rng = random.Random(5)
    references = text(rng, 300)
    shares = (0.1, 0.3, 0.5, 0.2)
    worse = [spoilt(rng, references, share + 0.05) for share in shares]
    better = [spoilt(rng, references, share) for share in shares]
    (found,) = compare({"worse": worse, "better": better}, references, "en", "10M", "t")
    assert found.low > 0


def test_a_comparison_has_the_error_of_its_seeds():
    """Where seeds lie far apart the interval is that of Student's t, and a little wider by the test set."""
    rng = random.Random(6)
    references = text(rng, 200)
    models = [spoilt(rng, references, share) for share in (0.1, 0.3, 0.5)]
    other = spoilt(rng, references, 0.3)
    (found,) = compare({"other": [other] * 3, "row": models}, references, "en", "10M", "t")
    scores = [BLEU().corpus_score(lines, [references]).score for lines in models]
    half = stats.t.isf(0.025, 2) * np.std(scores, ddof=1) / math.sqrt(3)
    assert half < found.high - found.difference < 1.02 * half


def test_of_one_reference_in_plain_words_nist_compares_alike():
    rng = random.Random(7)
    references = text(rng, 40)
    systems = {name: [spoilt(rng, references, share)] for name, share in (("a", 0.3), ("b", 0.2))}
    (nist,) = significance.compare_nist(systems, [references], "10M", "t")
    (plain,) = compare(systems, references, "en", "10M", "t")
    assert nist[:4] == plain[:4]
    assert nist[4:] == pytest.approx(plain[4:])


def test_the_interval_covers_the_true_difference():
    """2,000 simulated runs of five seeds: between 93 and 97% of the intervals hold the truth (3 standard errors: 1.5)."""
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(2000):
        test = rng.normal(0, 0.7)  # what this test set adds to all seeds alike
        seeds = 2.0 + test + rng.normal(0, 1.0, 5)
        _, low, high, _ = significance._difference(seeds, rng.normal(0, 0.7, 200))
        held += low <= 2.0 <= high
    assert 0.93 <= held / 2000 <= 0.97


def test_a_comparison_the_other_way_round_is_that_of_the_rows_in_the_other_order():
    rng = random.Random(8)
    references = text(rng, 30)
    systems = {name: [spoilt(rng, references, share)] for name, share in (("a", 0.3), ("b", 0.2))}
    (one,) = compare(systems, references, "en", "10M", "t")
    (other,) = compare(dict(reversed(systems.items())), references, "en", "10M", "t")
    assert one.reversed()[:4] == other[:4] == ("10M", "t", "a", "b")
    assert one.reversed()[4:] == pytest.approx(other[4:])
    assert other.low < other.difference < 0 < one.difference < one.high


def test_a_difference_that_is_the_same_in_every_sample_is_sure():
    good, bad = ["the cat sees a dog"], ["the cat sees a tree"]
    (found,) = compare({"bad": [bad], "good": [good]}, good, "en", "10M", "t")  # of a test set of one sentence
    assert found.p == 0
    assert (found.low, found.high) == pytest.approx((found.difference, found.difference))
    assert significance._difference(np.array([2.0]), np.array([2.0, 2.0])) == (2, 2, 2, 0)


def test_rows_are_compared_within_a_column_on_each_test(tmp_path):
    """Two seeds of two rows on two tests of one column, and a third test of another."""
    given, texts = [], []
    for column, test in (("MT", "mt02"), ("MT", "mt03"), ("other", "mt02")):
        for seed, row in ((1, "a"), (1, "b"), (2, "a"), (2, "b")):
            path = tmp_path / f"{column}.{test}.{row}.{seed}"
            path.write_text(f"{path.name}\n")
            given.append((row, column, test, path))

    def compared(systems, column, test):
        texts.append((systems, column, test))
        yield significance.Comparison(column, test, "b", "a", *[0.0] * 6)

    significance.write_columns(given, compared, tmp_path / "out.csv")
    places = [("MT", "mt02"), ("MT", "mt03"), ("other", "mt02")]
    assert [one[:2] for one in read(tmp_path / "out.csv")] == places
    assert texts == [
        ({row: [[f"{column}.{test}.{row}.{seed}"] for seed in (1, 2)] for row in "ab"}, column, test)
        for column, test in places
    ]


def test_unequal_numbers_of_models_are_an_error():
    with pytest.raises(InputError, match="unequal numbers of models: a 2, b 1"):
        compare({"a": [["x"], ["x"]], "b": [["x"]]}, ["x"], "en", "10M", "t")


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
    assert [(one.row, one.other) for one in read(tmp_path / "out.csv")] == [("b", "a"), ("c", "a"), ("c", "b")]


@pytest.mark.parametrize(("references", "lines"), [([], "no"), ([["a"], ["a", "b"]], "1, 2")])
def test_references_that_do_not_fit(references, lines):
    with pytest.raises(InputError, match=f"mt06: references of {lines} lines"):
        significance.compare_nist({"a": [["a"]], "b": [["a"]]}, references, "MT06", "mt06")


def test_unequal_counts_are_an_error():
    with pytest.raises(InputError, match="mlp, 10M, t: 1 hypotheses but 2 references"):
        compare({"mlp": [["a"]]}, ["a", "b"], "en", "10M", "t")


def test_cells_say_how_they_differ_from_the_row_that_the_paper_tests_against(tmp_path):
    """yang2019 table 3 by the commands of the workflow: two columns of two languages, one of three rows much better."""
    rng = random.Random(4)
    command, cells = ["step", "significance", "-o", f"{tmp_path}/table3.significance.csv"], []
    for column, language in (("en-fr", "fr"), ("en-es", "es")):
        references = text(rng, 200)
        rows = [dict.fromkeys(("doc", "label"), "") | {"src": line, "tgt": line} for line in references]
        bitext.write_shards(tmp_path / column, [pa.Table.from_pylist(rows, pa.schema([*bitext.SCHEMA][1:]))], 1)
        command += ["--language", column, language, "--references", f"{column}={tmp_path / column}"]
        for row, share in (("oracle", 0.3), ("forward", 0.31), ("backward", 0.05)):
            hypotheses = spoilt(rng, references, share)
            path = tmp_path / f"{row}.{column}"
            path.write_text("".join(f"{line}\n" for line in hypotheses))
            command += ["--hypotheses", row, column, column, str(path)]
            value = bleu(hypotheses, references, language)
            (tmp_path / f"{row}.{column}.json").write_text(json.dumps({"tokenised": value}))
            spec = {"row": row, "column": column, "files": [f"{path}.json#tokenised"], "note": "cased"}
            cells += ["--cell", json.dumps(spec)]
    assert CliRunner().invoke(cli, command, catch_exceptions=False).exit_code == 0
    reference = Path(__file__).parents[2] / "references/yang2019/table3.csv"
    options = ["--reference", str(reference), "--scale", "tiny", *cells]
    options += ["--significance", command[3], "--against", "oracle", "-o", f"{tmp_path}/table3.csv"]
    assert CliRunner().invoke(cli, ["step", "table", *options], catch_exceptions=False).exit_code == 0
    notes = {(cell.row, cell.column): cell.note for cell in read_cells(tmp_path / "table3.csv")}
    assert re.search(r"cased; \+\d.* BLEU \[\+.*\] against oracle, p < 0\.0001, by", notes["backward", "en-es"])
    assert re.search(r"cased; -.* BLEU \[-.*, \+.*\] against oracle, p = 0\.\d{4}, by", notes["forward", "en-fr"])
    assert "against" not in notes["oracle", "en-fr"] + notes["guo2018", "en-fr"]
    shown = CliRunner().invoke(cli, ["show", f"{tmp_path}/table3.csv"], catch_exceptions=False)
    assert "against oracle, p < 0.0001" in " ".join(shown.output.split())
