"""Two runs side by side: verdicts that turn round, intervals that do not reach, and what is not comparable."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.formats.records import to_csv
from bitextbench.report import replication
from bitextbench.report.audit import Tried

ROOT = Path(__file__).parents[2]


def tried(claim: str, slack: float, half: float, verdict: str) -> Tried:
    interval = {"slack": slack, "low": slack - half, "high": slack + half}
    return Tried(claim, "p", "1", "said", "Tested.", "x", "[a, x] > [b, x]", verdict, **interval)


ONE = [
    tried("alike", 3, 1, "holds"),
    tried("turns", 2, 1, "holds"),
    tried("fades", 2, 1, "holds"),
    tried("copied", 5, 1, "holds"),
    tried("skipped", 5, 1, "holds"),
    tried("absent", 5, 1, "holds"),
    tried("reworded", 5, 1, "holds"),
]
OTHER = [
    tried("copied", 5, 1, "holds"),
    tried("turns", -2, 1, "fails"),
    tried("alike", 4, 1, "holds"),
    tried("fades", 0.7, 1, "undecided"),
    Tried("skipped", "p", "1", "said", "Tested.", "x", "", "not run"),
    replace(tried("reworded", 4, 1, "holds"), predicate="[a, x] >= [b, x] + 1"),
]


def test_verdicts_are_compared_where_both_runs_have_evidence_of_their_own():
    found = replication.pairs(ONE, OTHER)
    assert [pair.claim for pair in found] == ["alike", "turns", "fades"]
    assert replication.counts(found) == {"judged": 3, "same": 1, "turned": 1, "apart": 1}
    lines = replication.render(found).splitlines()
    assert lines[:3] == [
        "3 instances of claims are judged in both, 1 alike.",
        "1 hold in one and fail in the other.",
        "1 differ by more than their 95% intervals allow.",
    ]
    assert [line.split() for line in lines[5:10]] == [
        ["holds", "level", "undecided", "fails"],
        ["holds", "1", "0", "1", "1"],
        ["level", "0", "0", "0", "0"],
        ["undecided", "0", "0", "0", "0"],
        ["fails", "0", "0", "0", "0"],
    ]
    assert lines[11:] == [  # what turns round first
        "turns x: holds +2.0 (1.0 to 3.0); fails -2.0 (-3.0 to -1.0)",
        "fades x: holds +2.0 (1.0 to 3.0); undecided +0.7 (-0.3 to 1.7)",
    ]


def test_out_of_regime_the_interval_tells_the_verdict():
    runs = [[tried("far", slack, 1, "out of regime")] for slack in (2, -2)]
    [pair] = replication.pairs(*runs)
    assert (pair.one.verdict, pair.other.verdict, pair.turned) == ("holds", "fails", True)
    [pair] = replication.pairs(*([tried("near", slack, 1, "out of regime")] for slack in (1, -1)))  # 0 is an end
    assert (pair.one.verdict, pair.other.verdict, pair.same) == ("undecided", "undecided", True)


def test_each_choice_of_values_is_an_instance_and_the_lines_are_in_the_order_of_claims():
    one = [replace(tried(claim, 2, 1, "holds"), values=values) for claim in "ba" for values in ("x", "y")]
    other = [replace(line, slack=0.5, low=-0.5, high=1.5, verdict="undecided") for line in one if line.values == "y"]
    found = replication.pairs(one, other)
    assert [(pair.claim, pair.values) for pair in found] == [("b", "y"), ("a", "y")]
    assert [line[:4] for line in replication.render(found).splitlines()[-2:]] == ["a y:", "b y:"]


@pytest.mark.parametrize(
    ("slack", "low", "high", "apart"),
    [
        (5.0, 1.0, 6.0, False),  # the arms that face each other are 3 and 4: the difference is known to within 5
        (5.1, 1.1, 6.1, True),
        (5.1, 0.9, 5.2, False),
        (3.5, 3.0, 90.0, True),  # the other arms do not matter
    ],
)
def test_apart_by_the_arms_of_uneven_intervals(slack, low, high, apart):
    least = replication.Shown(0.0, -20.0, 3.0, "fails")
    other = replication.Shown(slack, low, high, "holds")
    for pair in ((least, other), (other, least)):
        assert replication.Pair("c", "x", *pair).apart == apart


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from(replication.VERDICTS)), min_size=1))
def test_the_order_of_runs_does_not_matter(drawn):
    one = [tried(str(i), slack, 1, verdict) for i, (slack, _, verdict) in enumerate(drawn)]
    other = [tried(str(i), slack, 2, "fails") for i, (_, slack, _) in enumerate(drawn)]
    assert replication.counts(replication.pairs(one, other)) == replication.counts(replication.pairs(other, one))
    assert replication.counts(replication.pairs(one, one))["judged"] == 0


def test_one_in_twenty_is_apart_where_nothing_differs():
    rng, n, errors = np.random.default_rng(1), 4000, (1.0, 2.5)
    runs = [
        [tried(str(i), value, 1.96 * error, "holds") for i, value in enumerate(rng.normal(0, error, n))]
        for error in errors
    ]
    share = replication.counts(replication.pairs(*runs))["apart"] / n
    assert abs(share - 0.05) < 3 * (0.05 * 0.95 / n) ** 0.5


def test_a_run_without_an_audit_and_one_beside_its_copy(tmp_path):
    shutil.copy(ROOT / "results/small/instances.csv", tmp_path)
    with pytest.raises(InputError, match="no claim is judged in"):  # a copy shows nothing
        replication.of_folders(ROOT / "results/small", tmp_path)
    (tmp_path / "instances.csv").write_text(
        to_csv(Tried, [replace(line, low=line.slack) for line in ONE]), encoding="utf-8"
    )
    (tmp_path / "other").mkdir()
    with pytest.raises(
        InputError, match=r"other: has no instances\.csv; judge its tables by `bitextbench audit .*other`"
    ):
        replication.of_folders(tmp_path, tmp_path / "other")
    (tmp_path / "other/instances.csv").write_text(to_csv(Tried, OTHER), encoding="utf-8")
    done = CliRunner().invoke(cli, ["compare", str(tmp_path), str(tmp_path / "other")], catch_exceptions=False)
    assert done.output.startswith("4 instances of claims are judged in both, 2 alike.\n1 hold in one")
