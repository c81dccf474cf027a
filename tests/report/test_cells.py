import json
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.formats import metrics
from bitextbench.report import cells, references, table

REFERENCE = """paper,table,row,row_label,column,value,unit,condition
kim2019,3,cosine,Cosine & more,de-en,4.3,error rate [%],newstest2018
kim2019,3,cosine,Cosine & more,en-de,4.2,error rate [%],newstest2018
kim2019,3,mlp,MLP,de-en,85.0,error rate [%],newstest2018
"""


@pytest.fixture
def reference(tmp_path):
    path = tmp_path / "table3.csv"
    path.write_text(REFERENCE)
    return path


def metric(path, value, **changes):
    path.write_text(
        json.dumps(
            {"average": {"value": value, "interval": [value - 1, value + 2], "n": 9, "signature": "s"} | changes}
        )
    )
    return path


def measured(tmp_path, value=5.0, row="cosine", column="de-en", seed=1, **changes):
    return cells.read_measurement(
        row, column, seed, metric(tmp_path / f"{row}.{seed}.json", value, **changes), "average"
    )


def built(reference, tmp_path, runs, scale="paper", notes=None):
    made = table.beside(references.load(reference), runs, scale, notes or {})
    cells.write(made, tmp_path / "out.csv")
    return {(line.row, line.column): line for line in cells.read(tmp_path / "out.csv")}


def test_a_cell_worked_out_by_hand(reference, tmp_path):
    lines = built(reference, tmp_path, [measured(tmp_path)])
    line = lines["cosine", "de-en"]
    assert (line.ours, line.low, line.high, line.delta, line.verdict) == (5.0, 4.0, 7.0, 0.7, "reproduced")
    assert lines["mlp", "de-en"].verdict == "not run"
    assert [line.paper_table for line in lines.values()] == ["kim2019/table3"] * 3


def test_rows_of_our_own_stand_once_below_the_papers(reference, tmp_path):
    path = metric(tmp_path / "length.json", 80.0)
    spec = {"row": "length", "column": "de-en", "files": [f"{path}#average"], "label": "Length of the target"}
    specs = [spec | {"seed": seed} for seed in (1, 2)]
    runs, notes = cells.of_specs(specs)
    made = table.beside(table.with_own_rows(references.load(reference), specs), runs, "small", notes)
    assert [(line.row_label, line.ours, line.paper, line.verdict) for line in made[-1:]] == [
        ("Length of the target", 80.0, None, "not in the paper")
    ]
    assert len(made) == 4


def test_cells_of_translation_models_have_their_training_pairs(reference, tmp_path):
    runs = []
    for seed, pairs, share in ((1, 100, 80.0), (2, 301, 90.005)):
        bleu = {"value": 5.0, "interval": [4.0, 6.0], "n": 9, "signature": "s"}
        facts = {"bleu": bleu, "pairs": {"n": pairs}, "precision": {"value": share}}
        path = tmp_path / f"{seed}.json"
        path.write_text(json.dumps(facts))
        runs.append(cells.read_measurement("cosine", "de-en", seed, path, "bleu"))
    runs.append(measured(tmp_path, row="mlp"))
    made = table.with_training(table.beside(references.load(reference), runs, "small", {}), runs)
    assert [(line.row, line.pairs_selected, line.precision) for line in made if line.ours] == [
        ("cosine", 200, 0.85),
        ("mlp", None, None),
    ]


def test_a_count_in_millions_is_a_metric_whose_interval_has_no_width(tmp_path):
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"pairs": metrics.millions(2_500_000)}))
    one = cells.read_measurement("small", "de-en", 1, path, "pairs")
    assert (one.value, one.interval, one.n) == (2.5, (2.5, 2.5), 2_500_000)


def test_seeds_make_a_mean_with_a_spread(reference, tmp_path):
    line = built(reference, tmp_path, [measured(tmp_path, value, seed=int(value)) for value in (5.0, 7.0)])[
        "cosine", "de-en"
    ]
    # t(0.975, 1) = 12.706 of s / sqrt(2) = 1: 12.706 in quadrature with the test's 1 and 2, cut at 0
    assert (line.ours, line.spread, line.low, line.high, line.seeds) == (6.0, 1.41, 0.0, 18.86, "5 7")


@pytest.mark.parametrize(("value", "high"), [(98.0, 100.0), (1500.0, 1512.86)])
def test_an_interval_ends_at_100_but_of_what_is_no_percentage(reference, tmp_path, value, high):
    runs = [measured(tmp_path, value + more, seed=seed) for seed, more in enumerate((-1.0, 1.0))]
    line = built(reference, tmp_path, runs)["cosine", "de-en"]
    assert (line.ours, line.low, line.high) == (value, pytest.approx(value - 12.75, abs=0.01), high)


@pytest.mark.parametrize(("changes", "message"), [
    ({"value": float("nan")}, "value is missing or wrong"),
    ({"interval": [2.0, 1.0]}, "interval is"),
    ({"row": "cosin"}, "no cell cosin, de-en; did you mean cosine de-en"),
])  # fmt: skip
def test_bad_metrics_are_refused(reference, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        built(reference, tmp_path, [measured(tmp_path, **changes)])
    assert not (tmp_path / "out.csv").exists()


def test_twice_and_missing_are_refused(reference, tmp_path):
    with pytest.raises(InputError, match="seed 1, is given twice"):
        built(reference, tmp_path, [measured(tmp_path), measured(tmp_path)])
    with pytest.raises(InputError, match=r"no metric forward; name what it has there: \w+"):
        cells.read_measurement("cosine", "de-en", 1, metric(tmp_path / "a.json", 1.0), "forward")


def test_test_sets_of_a_cell_make_a_mean_and_notes_say_why(reference, tmp_path):
    parts = [
        cells.read_measurement("cosine", "de-en", 1, metric(tmp_path / f"{value}.json", value), "average")
        for value in (4.0, 10.0)
    ]
    notes = {("cosine", "de-en"): "two sets", ("mlp", "de-en"): "no encoder x"}
    lines = built(reference, tmp_path, [cells.mean(parts)], "tiny", notes)
    line = lines["cosine", "de-en"]
    # independent halves of 1 below and 2 above: sqrt(2) / 2 and sqrt(8) / 2
    assert (line.ours, line.low, line.high) == (7.0, 6.29, 8.41)
    assert line.note.endswith("; two sets")
    assert (lines["mlp", "de-en"].ours, lines["mlp", "de-en"].note) == (None, "no encoder x")
    assert lines["cosine", "en-de"].note == "not in this run"
    with pytest.raises(InputError, match="no cell x, y"):
        built(reference, tmp_path, [], notes={("x", "y"): "z"})


def test_the_paper_s_digits_are_kept(tmp_path):
    path = tmp_path / "table3.csv"
    path.write_text(REFERENCE.replace("4.3", "48.90").replace("4.2", "88"))
    lines = [*built(path, tmp_path, []).values()]
    assert [str(line.paper) for line in lines] == ["48.90", "88", "85.0"]
    assert "(48.90)" in table.render(lines)


def test_what_a_person_sees(reference, tmp_path):
    lines = [*built(reference, tmp_path, [measured(tmp_path)], "tiny").values()]
    text = table.render(lines).splitlines()
    assert text[0] == "Kim et al. 2019, Table 3 (tiny scale)"
    assert text[2].split() == [
        "ours",
        "[95%",
        "interval]",
        "(paper)",
        "de-en",
    ]  # columns without numbers of ours are left out
    assert text[4].split() == ["Cosine", "&", "more", "5.00", "[4.00,", "7.00]", "(4.3)"]
    assert text[5].split() == ["MLP", "–", "(85.0)"]
    assert text[7] == "No number of ours in 2 of 3 cells: not in this run."
    assert "compare methods, not papers" in " ".join(text[8:])


def test_from_vectors_to_the_table(reference, tmp_path):
    """Two of four sources find another target: 50% forward."""
    np.save(tmp_path / "src.npy", np.eye(4, dtype=np.float32))
    np.save(tmp_path / "tgt.npy", np.eye(4, dtype=np.float32)[[0, 1, 3, 2]])
    runner = CliRunner()
    said = runner.invoke(
        cli,
        f"evaluate alignment --src-emb {tmp_path}/src.npy --tgt-emb {tmp_path}/tgt.npy --out {tmp_path}/cosine.json".split(),
    )
    assert said.exit_code == 0, said.output
    cell = json.dumps({"row": "cosine", "column": "de-en", "files": [f"{tmp_path}/cosine.json#cosine.forward"]})
    arguments = ["step", "table", "--reference", str(reference), "--scale", "tiny", "--cell", cell]
    said = runner.invoke(cli, [*arguments, "--out", f"{tmp_path}/t.csv"])
    assert said.exit_code == 0, said.output
    shown = runner.invoke(cli, ["show", f"{tmp_path}/t.csv"]).output
    assert re.search(r"50\.00 \[.*\] \(4\.3\)", shown)


@pytest.mark.parametrize(("spec", "message"), [
    ({"row": "a", "column": "b", "file": "c"}, "--cell: unknown or missing: file; give row, column, files"),
    ({"column": "b"}, "unknown or missing: row"),
    ({"row": "a", "column": "b", "files": ["none.json"]}, "none.json: no such file"),
])  # fmt: skip
def test_a_wrong_cell_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        cells.of_specs([spec])


@pytest.mark.parametrize(("options", "message"), [
    ([], "a table needs either --reference or --name; give one of them"),
    (["--name", "x", "--reference", "y.csv"], "a table needs either --reference or --name"),
    (["--name", "x", "--selection", "s.json"], "cannot be combined with --selection"),
    (["--name", "x", "--against", "a"], "--against needs --significance"),
])  # fmt: skip
def test_options_of_a_table_that_do_not_go_together_are_refused(options, message, tmp_path):
    command = [
        "step",
        "table",
        *options,
        "--scale",
        "tiny",
        "--out",
        f"{tmp_path}/t.csv",
    ]
    refused = CliRunner().invoke(cli, command)
    assert message in str(refused.exception)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("paper", "verdict"), [("31.9", "reproduced"), ("32.0", "differs"), ("12.1", "reproduced"), ("12.0", "differs")]
)
def test_a_papers_number_is_that_of_one_training(tmp_path, paper, verdict):
    """20, 22, 24: mean 22, s 2; t(0.975, 2) s sqrt(1 + 1/3) is 9.94, where the interval of the mean has 4.97."""
    runs = [measured(tmp_path, value, seed=seed, interval=[value, value]) for seed, value in enumerate((20, 22, 24))]
    empty = cells.Cell("t", "cosine", "cosine", "de-en", paper=Decimal(paper), scale="paper")
    cell = cells.filled(empty, runs)
    assert (cell.low, cell.high, cell.verdict) == (17.03, 26.97, verdict)


@pytest.mark.parametrize(("trained", "verdict"), [(True, "undecided"), (False, "differs")])
def test_of_one_training_only_the_interval_of_the_items_is_known(tmp_path, trained, verdict):
    for paper, expected in (("5.9", "reproduced"), ("9.0", verdict)):
        empty = cells.Cell("t", "cosine", "cosine", "de-en", paper=Decimal(paper), scale="paper")
        assert cells.filled(empty, [replace(measured(tmp_path), trained=trained)]).verdict == expected
