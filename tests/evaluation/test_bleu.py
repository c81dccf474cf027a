"""BLEU beside the paper's: value, signature, interval."""

import math

import pytest

from bitextbench.base.errors import InputError
from bitextbench.evaluation.bleu import bleu, nist, tokenised

REFERENCES = ["the cat sat on the mat .", "there is a dog in the small garden .", "he went home ."] * 10


def test_value_worked_out_by_hand():
    # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples and 1 of 3 quadruples match; equal lengths, so no brevity penalty.
    result = bleu(["a b c d x f"], ["a b c d e f"], "en")
    assert result["value"] == pytest.approx(100 * math.exp(sum(map(math.log, (5 / 6, 3 / 5, 2 / 4, 1 / 3))) / 4))
    assert (result["n"], result["sys_len"], result["ref_len"]) == (1, 6, 6)


def test_a_perfect_translation_scores_100():
    result = bleu(REFERENCES, REFERENCES, "en")
    assert result["value"] == pytest.approx(100)
    assert result["interval"] == pytest.approx([100, 100])


def test_interval_holds_the_value_and_repeats():
    hypotheses = [line.replace("the", "a") if i % 3 else line for i, line in enumerate(REFERENCES)]
    result = bleu(hypotheses, REFERENCES, "en")
    low, high = result["interval"]
    assert 0 < low < result["value"] < high < 100
    assert bleu(hypotheses, REFERENCES, "en") == result


def test_signature_is_whole_and_chinese_counts_characters():
    assert bleu(["a b"], ["a b"], "de")["signature"].startswith(
        "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:"
    )
    chinese = bleu(["我在北京吃饭。"], ["我在北京吃面。"], "zh")
    assert "tok:zh" in chinese["signature"]
    assert chinese["ref_len"] == 7


@pytest.mark.parametrize(("hypotheses", "references", "message"), [
    ([], [], "no hypotheses"),
    (["a"], ["a", "b"], "1 hypotheses but 2 references"),
])  # fmt: skip
def test_bad_input_is_named(hypotheses, references, message):
    with pytest.raises(InputError, match=f"hyp: {message}; translate"):
        bleu(hypotheses, references, "en", "hyp")


def test_nist_takes_the_shortest_reference_and_no_case():
    hypotheses = ["A B C D E"]
    closest = ["a b c d e f"]  # 6 words for 5: with it alone the penalty is exp(1 - 6 / 5)
    assert nist(hypotheses, [closest])["value"] == pytest.approx(100 * math.exp(1 - 6 / 5))
    found = nist(hypotheses, [closest, ["x y"]])
    assert found["value"] == pytest.approx(100)
    assert (found["sys_len"], found["ref_len"], found["n"]) == (5, 2, 1)
    assert found["signature"].startswith("nrefs:2|case:lc")
    with pytest.raises(InputError, match="1 hypotheses but 2 references"):
        nist(hypotheses, [["a", "b"]], "out.txt")
    with pytest.raises(InputError, match="1 hypotheses but 2 references"):
        nist(hypotheses, [["a"], ["a", "b"]], "out.txt")


def test_nist_is_multi_bleu_with_one_reference():
    hypotheses = ["the cat sat on the mat today", "a dog runs over there now"]
    references = ["the cat sat on a mat today .", "a dog runs over there"]
    assert nist(hypotheses, [references])["value"] == pytest.approx(tokenised(hypotheses, references, "en")["value"])
