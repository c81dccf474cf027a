"""Verdicts on claims: worked out by hand. The error rates are in test_calibration.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.report import verdicts

SURE, OPEN = 1e-6, 0.4


def verdict(*instances: str, others: int = 0) -> str:
    """The verdict on a claim whose instances hold (+), fail (-), are level (=) or open (?), beside other, open claims."""
    holds = [{"+": SURE, "-": 1 - SURE}.get(one, OPEN) for one in instances]
    level = [SURE if one == "=" else 1.0 for one in instances]
    claim = verdicts.statements(holds, [1 - p for p in holds], level)
    rest = [verdicts.statements([OPEN], [1 - OPEN], [1.0])] * others
    first, *_ = verdicts.judged([claim, *rest])
    return first.verdict


@pytest.mark.parametrize(
    ("instances", "expected"),
    [
        ("+", "holds"),
        ("-", "fails"),
        ("=", "level"),
        ("?", "undecided"),
        ("++?", "holds"),
        ("--?", "fails"),
        ("==?", "level"),
        ("+?", "undecided"),
        ("-??", "undecided"),  # one failure among undecided instances
        ("-?", "undecided"),
        ("+-", "mixed"),  # a tie
        ("+++-", "mixed"),
        ("+---", "mixed"),
        ("++==", "undecided"),
    ],
)
def test_verdicts_by_hand(instances, expected):
    assert verdict(*instances) == expected


def test_it_turns_round_with_its_instances():
    turned = str.maketrans("+-", "-+")
    names = {"holds": "fails", "fails": "holds"}
    for instances in ("+", "++?", "+++-", "+?", "=", "+-"):
        found = verdict(*instances)
        assert verdict(*instances.translate(turned)) == names.get(found, found)


def test_q_decides_and_not_p():
    """Of one claim p = 0.03 would do; beside 19 open ones it does not."""
    claim = verdicts.statements([0.015], [0.985], [1.0])
    rest = [verdicts.statements([OPEN], [1 - OPEN], [1.0])] * 19
    assert verdicts.judged([claim])[0] == ("holds", 0.03, pytest.approx(0.03))
    assert verdicts.judged([claim, *rest])[0] == ("undecided", 0.03, pytest.approx(0.6))


def test_statements_on_a_claim_are_read_at_the_level_of_the_rejections():
    """Of one claim in C that is decided, each statement is tested at 0.05 / C: here twice 0.02 is mixed only alone."""
    claim, open_one = verdicts.Statements(0.02, SURE, 1.0, 1.0), verdicts.Statements(1.0, OPEN, 1 - OPEN, 1.0)
    assert [verdicts.judged([claim, *[open_one] * n])[0].verdict for n in (0, 1, 4)] == ["mixed", "holds", "holds"]
    at_the_level = verdicts.Statements(1.0, 0.025, 0.975, 1.0)
    assert verdicts.judged([at_the_level]) == [("holds", 0.05, 0.05)]
    assert verdicts.judged([verdicts.Statements(0.025, 1.0, 1.0, 1.0)]) == [("mixed", 0.05, 0.05)]
    assert verdicts.judged([verdicts.Statements(1.0, 1.0, 1.0, 0.025)]) == [("level", 0.05, 0.05)]


def test_one_instance_alone_is_never_mixed():
    assert verdicts.statements([0.5], [0.5], [1.0]).mixed == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_most_by_an_oracle(p):
    """Simes of the p-values that are left when those that could be true are left out."""
    rest = sorted(p)[len(p) // 2 :]
    assert verdicts.most_of(p) == pytest.approx(
        min(1, *(len(rest) * value / (at + 1) for at, value in enumerate(rest)))
    )


def test_no_claim_at_all():
    assert verdicts.judged([]) == []
