"""The audit: verdicts worked out by hand, every number of the papers once, and tables that do not belong together."""

import csv
import re
import shutil
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_yaml
from bitextbench.cli.main import cli
from bitextbench.formats import records
from bitextbench.formats.records import to_csv
from bitextbench.report import audit, claims, measurements, references
from bitextbench.report.cells import Cell, Measurement, filled, read
from bitextbench.report.references import PAPERS
from bitextbench.report.run import FIGURE2

ROOT = Path(__file__).parents[2]
REFERENCES = ROOT / "references"
TABLE1 = """paper,table,row,row_label,column,value,unit,condition,note
p,1,a,A,x,20.0,BLEU [%],here,
p,1,a,A,y,30.15,BLEU [%],there,doubtful
p,1,b,B,x,25.0,BLEU [%],here,
"""
CLAIMS = """
- {id: b-beats-a, table: p/table1, section: "1", quote: b is better, tested: B is above A., predicate: "[b, x] > [a, x]"}
- {id: a-grows, table: p/table1, section: "1", quote: a grows, tested: A grows., predicate: "[a, y] > [a, x]", why: by 10.15}
- {id: by-5, table: p/table1, section: "2", quote: 5 better, tested: B is 5 above A., scale: paper, predicate: "[b, x] - [a, x] == 5"}
- {id: all-over-10, table: p/table1, section: "2", quote: over 10, tested: All are over 10., for: {row: [a, b]}, predicate: "[{row}, x] > 10"}
"""
METRICS = """
metrics:
  BLEU [%]: {regime: {at_least: 0.5}, bound: 4, reason: chosen here}
unprinted: {}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setitem(PAPERS, "p", "P 2000")
    (tmp_path / "references/p").mkdir(parents=True)
    (tmp_path / "references/p/table1.csv").write_text(TABLE1, encoding="utf-8")
    (tmp_path / "references/claims.yaml").write_text(CLAIMS, encoding="utf-8")
    (tmp_path / "references/metrics.yaml").write_text(METRICS, encoding="utf-8")
    return tmp_path / "references"


def ours(
    row: str, column: str, paper: float | None, value: float | None, half: float | None, scale="paper", **more
) -> Cell:
    low, high = (None, None) if value is None or half is None else (value - half, value + half)
    printed = None if paper is None else Decimal(str(paper))
    return Cell("p/table1", row, row.upper(), column, "", "", printed, value, low=low, high=high, scale=scale, **more)


def run(folder: Path, *lines: Cell) -> tuple[dict, dict]:
    path = folder.parent / "table1.csv"
    path.write_text(to_csv(Cell, lines), encoding="utf-8")
    numbers, judgements, _ = audit.audit(folder, [path])
    return {(n.row, n.column): n for n in numbers}, {j.claim: j for j in judgements}


@pytest.mark.parametrize("run", sorted(path.parent.name for path in ROOT.glob("results/*/claims.csv")))
def test_an_audit_is_made_from_what_is_committed(run, tmp_path):
    shutil.copytree(ROOT / "results" / run, tmp_path / run)
    seeds_from = read_yaml(ROOT / "config/published.yaml")["seeds_from"]
    seeded = ["--seeds-of", str(ROOT / "results" / seeds_from)] if run.startswith("published") else []
    done = CliRunner().invoke(cli, ["audit", str(tmp_path / run), "--references", str(REFERENCES), *seeded])
    assert done.exit_code == 0, done.output
    for name in ("audit.csv", "claims.csv", "instances.csv"):
        same = (tmp_path / run / name).read_bytes() == (ROOT / "results" / run / name).read_bytes()
        assert same, f"run bitextbench audit results/{run} {'--seeds-of results/' + seeds_from if seeded else ''}"


def test_a_run_without_measurements_gives_no_spread(tmp_path):
    done = CliRunner().invoke(cli, ["audit", str(ROOT / "results/warm"), "--seeds-of", str(tmp_path)])
    assert isinstance(done.exception, InputError)
    assert "has no measurements" in str(done.exception)


def test_each_number_of_small_has_three_seeds_and_its_measurements():
    small = ROOT / "results/small"
    tables = [small / "table2.csv", *(path for paper in PAPERS for path in (small / paper).glob("*.csv"))]
    assert len(tables) >= 24
    for path in {*tables} - {small / FIGURE2}:  # a curve, without cells
        assert (small / "measurements" / path.relative_to(small)).with_suffix(".json").exists(), path
        assert all(len(cell.seeds.split()) >= 3 for cell in read(path) if cell.ours is not None), path


def test_a_table_with_other_numbers_than_its_measurements_is_refused(folder):
    path, held = folder.parent / "table1.csv", folder.parent / "table1.json"
    one = Measurement("a", "x", 1, 21.004, 20.0, 22.0, 10, "s", held)
    measurements.save("p/table1", [one], held)
    line = filled(ours("a", "x", 20.0, None, None), [one])
    for cell in (line, replace(line, ours=21.5), replace(line, high=95.0), replace(line, seeds="1 2")):
        path.write_text(to_csv(Cell, [cell]), encoding="utf-8")
        if cell is line:
            assert audit.audit(folder, [path], [held]).numbers[0].ours == 21.0
        else:
            with pytest.raises(
                InputError, match=r"table1.csv:2: a, x: (ours is 21.5, but 21.0|high is 95.0, but 22.0|seeds is 1 2)"
            ):
                audit.audit(folder, [path], [held])


def test_numbers_worked_out_by_hand(folder):
    numbers, _ = run(
        folder,
        ours("a", "x", 20.0, 20.5, 0.45, seeds="1 2", note="one thing"),  # 20.05 to 20.95: 20.05 may round to 20.0
        ours("a", "y", 30.15, 30.0, 0.1),
        ours("a", "own", None, 40.0, 1.0),
    )
    first, second, third = numbers["a", "x"], numbers["a", "y"], numbers["b", "x"]
    assert (first.printed, first.ours, first.low, first.high, first.delta) == ("20.0", 20.5, 20.05, 20.95, 0.5)
    assert (first.verdict, first.scale, first.seeds, first.note) == ("reproduced", "paper", "1 2", "one thing")
    assert first.evidence == f"{folder.parent.as_posix()}/table1.csv:2"
    assert (second.printed, second.delta, second.verdict, second.note) == ("30.15", -0.15, "differs", "doubtful")
    assert second.evidence.endswith("table1.csv:3")
    assert (third.printed, third.ours, third.verdict, third.evidence) == ("25.0", None, "not run", "")
    assert len(numbers) == 3


@pytest.mark.parametrize("scale", ["tiny", "small"])
def test_another_scale_is_not_comparable(folder, scale):
    numbers, judgements = run(folder, ours("a", "x", 20.0, 20.0, 1.0, scale), ours("b", "x", 25.0, 25.0, 1.0, scale))
    assert [number.verdict for number in numbers.values()] == [
        "scale not comparable",
        "not run",
        "scale not comparable",
    ]
    assert {name: judgement.verdict for name, judgement in judgements.items()} == {
        "b-beats-a": "holds", "a-grows": "not run", "by-5": "scale not comparable", "all-over-10": "holds"
    }  # fmt: skip


def test_claims_worked_out_by_hand(folder):
    def judged(half: float, b: float) -> dict:
        return run(folder, ours("a", "x", 20.0, 20.0, half), ours("b", "x", 25.0, b, half))[1]

    first = judged(1.9, 23.0)["b-beats-a"]  # 3 +- 2.7
    assert (first.verdict, first.tested, first.regime, first.in_regime) == ("holds", "B is above A.", "1 in", True)
    assert (first.p, first.q) == (pytest.approx(0.029, abs=0.005), pytest.approx(0.043, abs=0.007))  # second of three
    open_one = judged(3.0, 22.0)["b-beats-a"]  # 2 +- 4.2
    assert (open_one.verdict, open_one.on_paper, open_one.otherwise) == ("undecided", "holds", "undecided: as a whole")
    assert (open_one.instances, open_one.holds, open_one.undecided, open_one.not_run) == (1, 0, 1, 0)
    judgements = judged(2.0, 21.0)
    small = judgements["b-beats-a"]  # 1 +- 2.8, within the bound of 4
    assert (small.verdict, small.otherwise, small.level, small.undecided) == ("level", "level: as a whole", 1, 0)
    assert (judgements["by-5"].verdict, judgements["by-5"].scale) == ("level", "paper")  # 1 +- 2.8, and 5 +- 4
    assert judgements["all-over-10"].evidence.endswith("table1.csv")
    grows = judgements["a-grows"]
    assert (grows.verdict, grows.not_run, grows.evidence, grows.scale, grows.note) == ("not run", 1, "", "", "by 10.15")
    assert judged(0.5, 26.0)["by-5"].verdict == "holds"  # 6 +- 0.7, within the bound of 5


def test_a_number_far_from_the_papers_is_shown_and_not_counted(folder):
    """9 is less than half of 20: neither what holds nor what fails beside it counts."""
    lines = ours("a", "x", 20.0, 9.0, 1.0), ours("b", "x", 25.0, 25.0, 1.0)
    _, judgements = run(folder, *lines)
    assert (judgements["b-beats-a"].verdict, judgements["b-beats-a"].regime) == ("out of regime", "1 out of regime")
    assert not judgements["b-beats-a"].in_regime
    part = judgements["all-over-10"]  # one of its two instances counts
    assert (part.verdict, part.holds, part.out_of_regime, part.regime) == ("holds", 1, 1, "1 out of regime, 1 in")
    *_, instances = audit.audit(folder, [folder.parent / "table1.csv"])
    [first, *_] = instances
    assert (first.regime, first.slack, first.q) == ("[a, x] 9.0 against 20", 16.0, None)


def test_part_of_a_claim_is_not_the_claim(folder):
    _, judgements = run(folder, ours("a", "x", 20.0, 20.0, 2.0))
    part = judgements["all-over-10"]
    assert (part.verdict, part.holds, part.not_run, part.otherwise) == ("holds", 1, 1, "")


def test_an_instance_that_is_not_comparable_has_no_interval(folder):
    run(folder, ours("a", "x", 20.0, 20.0, 1.0, "small"), ours("b", "x", 25.0, 25.0, 1.0, "small"))
    *_, instances = audit.audit(folder, [folder.parent / "table1.csv"])
    [quoted] = [line for line in instances if line.claim == "by-5"]
    assert (quoted.verdict, quoted.slack, quoted.low, quoted.high, quoted.p, quoted.q) == (
        "scale not comparable",
        *[None] * 5,
    )
    assert (quoted.paper_slack, quoted.section, quoted.quote, quoted.tested) == (
        4.0,
        "2",
        "5 better",
        "B is 5 above A.",
    )


def test_every_instance_of_small_lies_in_its_interval_and_counts_once():
    small = ROOT / "results/small"
    tried = records.read(small / "instances.csv", audit.Tried, "instances")
    for line in tried:
        assert line.low is None or line.low <= line.slack <= line.high, line
        assert line.verdict != "holds" or line.low > 0
        assert line.verdict != "fails" or line.high < 0
    for claim in records.read(small / "claims.csv", audit.Judgement, "claims"):
        held = Counter(line.verdict for line in tried if line.claim == claim.claim)
        parts = (claim.holds, claim.fails, claim.level, claim.undecided, claim.out_of_regime, claim.not_comparable)
        assert claim.instances == held.total() == sum(parts) + claim.not_run
        assert (claim.holds, claim.out_of_regime) == (held["holds"], held["out of regime"])
        assert (claim.q is None) == (claim.verdict in ("not run", "out of regime", "scale not comparable"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('[a, x]"}', '[c, x]"}', r"claims.yaml:2: claim b-beats-a: no cell \[p/table1: c, x\]; did you mean p/table1 "),
        ("[a, y] >", "[a, y] <>", r"claims.yaml:3: claim a-grows: cannot read the predicate"),
        (" tested: A grows.,", "", r"claims.yaml:3: .* 'tested' is a required property"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_named_with_its_line(folder, old, new, message):
    assert old in CLAIMS
    (folder / "claims.yaml").write_text(CLAIMS.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        run(folder, ours("a", "x", 20.0, 20.0, 1.0))


def test_a_number_without_an_interval_stands_for_itself(folder):
    numbers, judgements = run(folder, ours("a", "x", 20.0, 20.0, None), ours("b", "x", 25.0, 20.1, None))
    assert (numbers["a", "x"].verdict, numbers["a", "x"].note) == ("reproduced", "no interval")
    assert numbers["b", "x"].verdict == "differs"
    assert judgements["b-beats-a"].verdict == "holds"


@given(st.integers(0, 400), st.integers(0, 50))
def test_reproduced_means_that_the_interval_has_a_number_that_rounds_to_the_papers(tenths, half):
    cell = references.Printed("p", "1", "a", "A", "x", Decimal("20"), "BLEU [%]", "here")
    line = ours("a", "x", 20.0, tenths / 10, half / 10)
    number = audit._number(cell, audit.Found(line, Path("t"), 2, "t"))
    hundredths = range(10 * (tenths - half), 10 * (tenths + half) + 1)
    expected = any(1950 <= value <= 2050 for value in hundredths)
    assert (number.verdict == "reproduced") == expected


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [ours("a", "x", 19.9, 20.0, 1.0)],
            r"table1.csv:2: the paper's number for a, x is 19.9, but 20.0 in the references",
        ),
        ([ours("z", "x", 19.9, 20.0, 1.0)], "the paper's number for z, x is 19.9, but None"),
        ([ours("a", "x", 20.0, 20.0, 1.0)] * 2, r"table1.csv:3: p/table1, a, x is also in .*table1.csv:2"),
        (
            [ours("a", "x", 20.0, 20.0, 1.0), ours("b", "x", 25.0, 2.0, 1.0, "tiny")],
            "tables of several scales: paper, tiny",
        ),
    ],
)
def test_tables_that_do_not_belong_together_are_refused(folder, lines, message):
    with pytest.raises(InputError, match=message):
        run(folder, *lines)


def test_the_papers_own_numbers_are_all_reproduced(tmp_path):
    """Run the real audit on tables that say what the papers say: each number once, and each claim as on paper."""
    printed = references.load_all(REFERENCES)
    paths = []
    for place, cells in printed.items():
        lines = [
            Cell(
                place,
                cell.row,
                cell.row_label,
                cell.column,
                "",
                "",
                None,
                cell.value,
                low=cell.value,
                high=cell.value,
                scale="paper",
            )
            for cell in cells
        ]
        paths.append(tmp_path / f"{place.replace('/', '-')}.csv")
        paths[-1].write_text(to_csv(Cell, lines), encoding="utf-8")
    numbers, judgements, instances = audit.audit(REFERENCES, paths)
    assert len(numbers) == sum(map(len, printed.values()))
    assert {(number.verdict, number.delta) for number in numbers} == {("reproduced", 0.0)}
    listed = [
        claim.id
        for claim in claims.load(REFERENCES / "claims.yaml")
        if claim.fails or claim.table in references.UNPRINTED
    ]
    assert [judgement.claim for judgement in judgements if judgement.verdict != "holds"] == listed
    files = [judgement.evidence.split() for judgement in judgements]
    assert files == [sorted(each) for each in files]
    assert max(map(len, files)) > 1
    by_paper = {"not run": "not run", "holds": "holds", "fails": "fails"}
    assert all(judgement.verdict == by_paper.get(judgement.on_paper, judgement.verdict) for judgement in judgements)
    assert Counter(line.claim for line in instances if line.verdict == "holds") == Counter(
        {judgement.claim: judgement.holds for judgement in judgements if judgement.holds}
    )


def test_the_command_writes_both_files(folder):
    lines = [ours("a", "x", 20.0, 20.0, 1.0), replace(ours("b", "x", 25.0, None, None), note="not in this run")]
    (folder.parent / "table1.csv").write_text(to_csv(Cell, lines), encoding="utf-8")
    arguments = [
        *("--references", folder, "--claims", folder.parent / "claims.csv"),
        *("--instances", folder.parent / "instances.csv", "-o", folder.parent / "audit.csv"),
    ]
    done = CliRunner().invoke(cli, ["step", "audit", str(folder.parent / "table1.csv"), *map(str, arguments)])
    assert done.exit_code == 0, done.output
    assert done.output == (
        "3 numbers: 2 not run, 1 reproduced; 4 claims: 3 not run, 1 holds; 5 instances: 4 not run, 1 holds;"
        " 1 of 4 claims decided in the papers' regime\n"
    )
    numbers, judged = (
        list(csv.DictReader((folder.parent / name).open(encoding="utf-8"))) for name in ("audit.csv", "claims.csv")
    )
    assert [(line["row"], line["printed"], line["ours"], line["verdict"]) for line in numbers] == [
        ("a", "20.0", "20.0", "reproduced"), ("a", "30.15", "", "not run"), ("b", "25.0", "", "not run")
    ]  # fmt: skip
    assert [line["verdict"] for line in judged] == ["not run", "not run", "not run", "holds"]
    *_, tried, _ = csv.DictReader((folder.parent / "instances.csv").open(encoding="utf-8"))
    assert (tried["values"], tried["predicate"], tried["slack"], tried["seeds"]) == ("a", "[a, x] > 10", "10.0", "")
    assert float(tried["low"]) == pytest.approx(9, abs=0.1)
    assert float(tried["high"]) == pytest.approx(11, abs=0.1)
    assert 0 < float(tried["p"]) == float(tried["q"]) < 1e-9
    assert (tried["section"], tried["quote"], tried["tested"], tried["regime"]) == (
        "2",
        "over 10",
        "All are over 10.",
        "in",
    )


def test_no_table_at_all_is_an_audit_of_nothing(folder):
    assert {line.verdict for lines in audit.audit(folder, []) for line in lines} == {"not run"}


def test_a_folder_without_tables_is_refused_and_stays_as_it_was(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.csv").write_text("a,b\n1,2\n")
    for name, message in (("texts", "texts: no table of a run in this folder"), ("absent", "absent: no such file")):
        done = CliRunner().invoke(cli, ["audit", str(tmp_path / name), "--references", str(REFERENCES)])
        assert isinstance(done.exception, InputError), done.output
        assert message in str(done.exception)
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["texts", "a.csv"]


def test_nothing_is_written_when_something_is_wrong(folder):
    (folder.parent / "table1.csv").write_text("a,b\n1,2\n")
    outputs = [folder.parent / f"{name}.csv" for name in ("audit", "claims", "instances")]
    with pytest.raises(InputError, match="not a table: it begins with a, b; name another file"):
        audit.write(audit.audit(folder, [folder.parent / "table1.csv"]), *outputs)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["references", "table1.csv"]


def test_claims_and_their_instances_are_shown_a_line_each():
    results = REFERENCES.parent / "results/published-muse"
    shown = {}
    for name in ("claims", "instances"):
        done = CliRunner().invoke(cli, ["show", str(results / f"{name}.csv")], catch_exceptions=False)
        shown[name] = [
            line for line in done.output.splitlines() if line.startswith("artetxe2019-margin-beats-cosine: ")
        ]
    (claim,) = shown["claims"]
    assert re.search(
        r": \w+ \(q (< )?0\.\d+\): Scoring by a margin gives at least 2 points of F1 more than cosine, ", claim
    )
    assert len(shown["instances"]) == 16
    (line,) = [line for line in shown["instances"] if "[distance-max, en-de/F1]" in line]
    assert re.fullmatch(
        r".*: holds, slack \+\d\.\d \(\d\.\d to \d\.\d\): \[.*\] - \[absolute-max, en-de/F1\] >= 2", line
    )
    (unrun, *_) = [line for line in done.output.splitlines() if ": not run: [" in line]  # without a slack
    assert "slack" not in unrun
