"""Regimes and equivalence bounds: of every metric of the papers, and what a wrong file is told."""

from pathlib import Path

import pytest

from bitextbench.base.errors import InputError
from bitextbench.report import metrics, references

FOLDER = Path(__file__).parents[2] / "references"
TABLES = references.load_all(FOLDER)
TEXT = (FOLDER / "metrics.yaml").read_text(encoding="utf-8")


def test_every_number_of_the_papers_has_a_metric_and_is_in_its_own_regime():
    known = metrics.load(FOLDER / "metrics.yaml", TABLES)
    for place, cells in TABLES.items():
        for cell in cells:
            key = (place, cell.row, cell.column)
            assert not known.of(key).outside(known.paper(key), known.paper(key))
    assert known.of(("guo2018/table4", "eq3-evidence", "en-fr")).name == "accuracy [%]"  # a row of our own
    assert known.of(("yang2019/figure4", "f1", "0.2")).name == "F1 [%]"
    assert known.paper(("yang2019/figure4", "f1", "0.2")) == 86.1
    assert known.paper(("kim2019/section3", "max", "de-en")) == known.paper(("kim2019/table3", "cosine", "de-en"))
    assert known.paper(("yang2019/figure4", "positive", "0.2")) is None
    assert known.of(("kim2019/table99", "a", "b")) is None


@pytest.mark.parametrize(
    ("ours", "paper", "outside"), [(10, 20, False), (9.9, 20, True), (99, 20, False), (40, 20, False), (40.1, 20, True)]
)
def test_regimes_have_two_ends(ours, paper, outside):
    assert metrics.Unit("x", 1, at_least=0.5).outside(ours, paper) == (outside and ours < paper)
    assert metrics.Unit("x", 1, at_most=2).outside(ours, paper) == (ours > 40)
    assert not metrics.Unit("x", 1).outside(ours, paper)


def line_of(text: str) -> int:
    return TEXT[: TEXT.index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("    bound: 1\n", "", "BLEU [%]:", "'bound' is a required property"),
        ("    regime: {at_least: 0.5}\n", "", "BLEU [%]:", "'regime' is a required property"),
        ("    bound: 1\n", "    bound: 0\n", "    bound: 1", "0 is less than or equal to the minimum"),
        ("    bound: 1\n", "    bounds: 1\n", "BLEU [%]:", "'bound' is a required property"),
        ("{at_least: 0.5}", "{at_leats: 0.5}", "    regime: {at_least: 0.5}", "is not valid"),
        ("  BLEU [%]:", "  BLUE [%]:", "metrics:", "no metric BLEU [%], of artetxe2019/section4"),
        ("  F1 [%]:", "  X [%]: {regime: none, bound: 1, reason: r}\n  F1 [%]:", "  F1 [%]:", "no table has X [%]"),
        ('metric: "F1 [%]"', "metric: F2", "    f1:", "no metric F2"),
        ("fr-en/F]", "fr-en/G]", "    f1:", "no cell yang2019/table5, bide-am-forward, fr-en/G"),
        ("bide-am-forward, fr-en/F]", "none, fr-en/F]", "    f1:", "no cell yang2019/table5, none, fr-en/F"),
        (
            "yang2019/figure4:",
            "yang2019/figure9:",
            "    f1:",
            "yang2019/figure9 is not a figure without printed numbers",
        ),
    ],
)
def test_a_wrong_file_is_told_its_line(tmp_path, old, new, at, message):
    assert old in TEXT
    (tmp_path / "metrics.yaml").write_text(TEXT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as error:
        metrics.load(tmp_path / "metrics.yaml", TABLES)
    assert str(error.value).startswith(f"{tmp_path}/metrics.yaml:{line_of(at)}: ")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
