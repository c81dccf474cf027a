import json
import math
import re
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import matplotlib
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.special import ndtr

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.evaluation import significance
from bitextbench.formats import records
from bitextbench.report import cells, filtering, plots, references, site, table
from bitextbench.report.run import load

REFERENCE = Path(__file__).parents[2] / "references" / "kim2019" / "table2.csv"
BUDGETS = {"10M": 1000, "100M": 5000}
TESTS = ("test2017", "test2018")
ROWS = ("random", "cosine", "mlp")
SIGNATURE = "nrefs:1|case:mixed|tok:13a"


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def metric(folder: Path, method: str, budget: str, seed: int, test: str, value: float, **changes) -> Path:
    record = {
        "metric": "BLEU",
        "value": value,
        "interval": [value - 1.5, value + 2.0],
        "n": 100,
        "signature": SIGNATURE,
    }
    record |= {"method": method, "budget": budget, "seed": seed, "test": test} | changes
    return write(folder / f"{method}.{budget}.{seed}.{test}.json", record)


def selection(folder: Path, method: str, budget: str, seed: int, **changes) -> Path:
    words = BUDGETS[budget] + 8
    record = {"method": method, "budget": budget, "seed": seed, "budget_words": BUDGETS[budget]}
    record |= {"words": words, "pairs": words // 9}
    record |= {"cutoff": 0.5, "reached": True, "pool_words": 9000, "pool_pairs": 900}
    record |= {"words_by_label": {"copy": words - 252, "parallel": 252}} | changes
    return write(folder / f"{method}.{budget}.{seed}.json", record)


def values(method: str, seed: int) -> float:
    """random 9, 11; cosine 19, 21; mlp 29, 31: means 10, 20, 30, standard deviation sqrt(2)."""
    return 10.0 * (ROWS.index(method) + 1) + (-1 if seed == 1 else 1)


@pytest.fixture
def run(tmp_path):
    """Metric files by (method, budget, seed, test), selection files by (method, budget, seed), and a function that
    builds.
    """

    class Run:
        def __init__(self):
            keys = product(ROWS, BUDGETS, (1, 2), TESTS)
            self.metrics = {key: metric(tmp_path, *key, values(key[0], key[2])) for key in keys}
            self.selections = {key: selection(tmp_path, *key) for key in product(ROWS, BUDGETS, (1, 2))}
            self.csv, self.folder = tmp_path / "run/table2.csv", tmp_path / "run"

        def build(self, scale="tiny"):
            specs = [
                {"row": row, "column": f"{budget}/{test}", "seed": seed, "files": [str(path)]}
                for (row, budget, seed, test), path in self.metrics.items()
            ]
            chosen = [filtering.read_selection(path) for path in self.selections.values()]
            made = filtering.cells(references.load(REFERENCE), cells.of_specs(specs)[0], chosen, scale)
            cells.write(made, self.csv)
            (self.folder / "table2.selections.csv").write_text(
                records.to_csv(filtering.Share, filtering.shares(chosen))
            )
            return {(cell.row, cell.column): cell for cell in cells.read(self.csv)}

        def page(self):
            return site.Site(load(self.folder)).pages()["table2.html"]

        def text(self):
            made = cells.read(self.csv)
            return table.render(made, filtering.reading(made, []))

        def change(self, kind, key, **changes):
            path = getattr(self, kind)[key]
            write(path, json.loads(path.read_text()) | changes)

    return Run()


def test_a_test_set_of_the_runs_own_stands_beside_the_papers(run, tmp_path):
    for key in product(ROWS, BUDGETS, (1, 2)):
        run.metrics[*key, "multi30k"] = metric(tmp_path, *key, "multi30k", values(key[0], key[2]))
    lines = run.build()
    own = [line for (_, column), line in lines.items() if "multi30k" in column and line.ours is not None]
    assert {line.verdict for line in own} == {"not in the paper"}
    assert "multi30k" in run.page()


def test_a_method_of_the_runs_own_has_a_row_of_its_own(run, tmp_path):
    for key in product(["oracle"], BUDGETS, (1, 2), TESTS):
        run.metrics[key] = metric(tmp_path, *key, 50.0)
    for key in product(["oracle"], BUDGETS, (1, 2)):
        run.selections[key] = selection(tmp_path, *key)
    lines = run.build()
    own = [line for (row, _), line in lines.items() if row == "oracle"]
    assert {line.ours for line in own} == {50.0}
    assert {line.paper for line in own} == {None}
    assert "oracle" in run.page()
    assert "oracle" in run.text()


def test_the_reference_is_the_papers_table():
    cells = references.load(REFERENCE)
    assert len(cells) == 20
    printed = {
        row: [float(cell.value) for cell in cells if cell.row == row] for row in dict.fromkeys(c.row for c in cells)
    }
    assert printed == {
        "random": [19.1, 23.1, 23.2, 29.3],
        "pivot": [26.1, 32.4, 30.0, 37.5],
        "nmt_lm": [29.1, 35.2, 31.3, 38.2],
        "cosine": [23.0, 28.4, 27.9, 34.4],
        "mlp": [29.2, 35.4, 30.6, 37.5],
    }
    # section 4.2: "up to 5.3% BLEU in the 10M-word case and 5.1% in the 100M-word case"; MLP "up to 12.3% and 8.2%"
    gains = {
        row: [round(x - y, 1) for x, y in zip(printed[row], printed["random"], strict=True)]
        for row in ("cosine", "mlp")
    }
    assert [max(gains["cosine"][:2]), max(gains["cosine"][2:])] == [5.3, 5.1]
    assert [max(gains["mlp"][:2]), max(gains["mlp"][2:])] == [12.3, 8.2]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("row_label,column", "label,column", ":1: not a table of references of this version"),
        ("19.1", "nan", ":2: .*nan is not a number"),
        ("19.1", "19,1", "Expected 8 fields in line 2, saw 9"),
        ("19.1", "", ":2: a field is empty"),
        ("test2018,23.1", "test2017,23.1", ":3: random, 10M/test2017 appears twice"),
        ("Random sampling,10M/test2018", "Random,10M/test2018", ":3: a second label for row random"),
        ("kim2019,2,mlp", "kim2019,3,mlp", "exactly one table"),
    ],
)
def test_a_bad_reference_is_refused(tmp_path, old, new, message):
    path = tmp_path / "bad.csv"
    path.write_text(REFERENCE.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        references.load(path)


def test_an_empty_reference_is_refused(tmp_path):
    (tmp_path / "empty.csv").write_text(",".join(records.columns(references.Printed)) + "\n")
    with pytest.raises(InputError, match="exactly one table"):
        references.load(tmp_path / "empty.csv")


def test_a_cell_worked_out_by_hand(run):
    line = run.build()["mlp", "10M/test2017"]
    # seeds 29 and 31: mean 30, s = sqrt(2); t(0.975, 1) = 12.706, so the seeds' part is 12.706 * sqrt(2) / sqrt(2);
    # the test set's part is 1.5 down and 2.0 up: sqrt(12.706^2 + 1.5^2) = 12.794, sqrt(12.706^2 + 2^2) = 12.863
    assert (line.ours, line.spread, line.low, line.high) == (30.0, 1.41, 17.21, 42.86)
    assert (str(line.paper), line.delta, line.seeds) == ("29.2", 0.8, "1 2")
    assert (line.budget_words, line.words_selected, line.pairs_selected) == (1000, 1008, 112)
    assert line.precision == 0.25  # 252 of 1008
    assert (line.verdict, line.note, line.signature) == ("scale not comparable", "", SIGNATURE)


def test_there_is_a_line_for_each_cell_and_rows_not_built_say_so(run):
    lines = run.build()
    assert len(lines) == 20
    for key, line in lines.items():
        built = key[0] in ROWS
        assert (line.ours is not None) == built
        assert (line.verdict, line.note) == (("scale not comparable", "") if built else ("not run", "not in this run"))


def test_a_run_of_fewer_rows_and_budgets(run):
    run.metrics = {key: path for key, path in run.metrics.items() if key[:2] == ("mlp", "10M")}
    run.selections = {key: path for key, path in run.selections.items() if key[:2] == ("mlp", "10M")}
    ran = {key for key, line in run.build().items() if line.ours is not None}
    assert ran == {("mlp", "10M/test2017"), ("mlp", "10M/test2018")}
    assert "– (23.1)" in run.text()
    assert "No number of ours in 18 of 20 cells: not in this run." in run.text()


def test_verdicts_at_paper_scale(run):
    for key in run.metrics:  # all seeds alike: the interval is the test set's, 1.5 down and 2.0 up
        run.change("metrics", key, value=20.0, interval=[18.5, 22.0])
    verdicts = {key: line.verdict for key, line in run.build("paper").items()}
    assert verdicts["random", "10M/test2017"] == "reproduced"  # 19.1
    assert verdicts["random", "10M/test2018"] == "differs"  # 23.1
    assert verdicts["pivot", "10M/test2017"] == "not run"


def test_one_seed_has_no_spread(run):
    run.metrics = {key: path for key, path in run.metrics.items() if key[2] == 1}
    run.selections = {key: path for key, path in run.selections.items() if key[2] == 1}
    line = run.build()["mlp", "10M/test2017"]
    assert (line.ours, line.spread, line.low, line.high, line.seeds) == (29.0, None, 27.5, 31.0, "1")
    assert "one seed" in line.note
    text = run.text()
    assert "29.00 [27.50, 31.00] (29.2)" in text
    assert "one seed has no spread" in text


@pytest.mark.parametrize("labels", [{}, {"": 1008}])
def test_unknown_labels_leave_the_precision_empty(run, labels):
    for seed in (1, 2):
        run.change("selections", ("mlp", "10M", seed), words_by_label=labels)
    lines = run.build()
    assert lines["mlp", "10M/test2017"].precision is None
    assert lines["mlp", "100M/test2017"].precision == 0.0503  # 252 of 5008
    assert "parallel" in run.page()


def test_precision_is_of_the_words_whose_label_is_known(run):
    run.change("selections", ("mlp", "10M", 1), words_by_label={"": 8, "copy": 400, "parallel": 600})
    run.change("selections", ("mlp", "10M", 2), words_by_label={"": 8, "copy": 200, "parallel": 800})
    assert run.build()["mlp", "10M/test2017"].precision == 0.7  # of both seeds together


def test_no_labels_anywhere(run):
    for key in run.selections:
        run.change("selections", key, words_by_label={})
    run.build()
    assert "The pool has no labels" in run.page()
    assert not re.search(r"\d\.\d%", run.text())


def test_a_selection_without_a_good_pair_has_precision_0(run):
    run.change("selections", ("mlp", "10M", 1), words_by_label={"copy": 1008}, reached=False)
    run.change("selections", ("mlp", "10M", 2), words_by_label={"copy": 1008})
    line = run.build()["mlp", "10M/test2018"]
    assert line.precision == 0.0
    assert line.note == "budget not reached: the whole pool is taken"


KEY = ("mlp", "10M", 2, "test2018")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (KEY, "no metric file for mlp, 10M/test2018, 2;"),
        (("mlp", "10M", 2), "no selection file for mlp, 10M, 2;"),
    ],
)
def test_a_missing_file_is_refused(run, key, message):
    del (run.metrics if len(key) == 4 else run.selections)[key]
    with pytest.raises(InputError, match=message):
        run.build()
    assert not run.csv.exists()


def test_files_that_are_no_part_of_the_table_are_refused(run, tmp_path):
    more = "laser", "10M", 1
    run.selections[more] = selection(tmp_path, *more)
    with pytest.raises(InputError, match="no part of the table: laser"):
        run.build()
    del run.selections[more]
    run.selections["more"] = run.selections["mlp", "10M", 1]
    with pytest.raises(InputError, match="two selection files"):
        run.build()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"value": math.nan}, "value is missing or wrong: nan"),
        ({"value": "12"}, "value is missing or wrong"),
        ({"value": None}, "value is missing or wrong: None"),
        ({"interval": [math.nan, 1.0]}, "interval is"),
        ({"interval": [3.0, 1.0]}, "interval is"),
        ({"interval": [3.0, math.inf]}, "interval is"),
        ({"interval": []}, "interval is"),
        ({"signature": "nrefs:1|case:lc|tok:13a"}, "signature is nrefs:1|case:"),
        ({"n": 99}, "number of sentences of test2018 is "),
    ],
)
def test_a_bad_metric_file_is_refused(run, changes, message):
    run.change("metrics", KEY, **changes)
    with pytest.raises(InputError) as error:
        run.build()
    assert message in str(error.value)
    assert ".json: " in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": 1007}, "words_by_label does not add up to words, 1007"),
        ({"words_by_label": {"parallel": "1008"}}, "words_by_label does not add up to words, 1008"),
        ({"words": 0, "words_by_label": {}}, "no words selected"),
        ({"budget_words": 999}, "budget 10M is 999, but 1000 in"),
        ({"reached": None}, "reached is missing or wrong"),
    ],
)
def test_a_bad_selection_file_is_refused(run, changes, message):
    run.change("selections", ("mlp", "10M", 1), **changes)
    with pytest.raises(InputError, match=message):
        run.build()


def test_the_same_files_in_any_order_give_the_same_bytes(run):
    run.build()
    first = run.csv.read_bytes(), run.page()
    run.metrics = dict(reversed(run.metrics.items()))
    run.selections = dict(reversed(run.selections.items()))
    run.build()
    assert (run.csv.read_bytes(), run.page()) == first


def test_the_csv_reads_back_as_it_was_written(run):
    run.build()
    assert records.to_csv(cells.Cell, cells.read(run.csv)) == run.csv.read_text(encoding="utf-8")


def test_another_csv_is_not_rendered(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="not a table: it begins with a, b; name another file"):
        cells.read(tmp_path / "other.csv")


def test_the_text_table(run):
    run.build()
    text = run.text()
    assert "10M words (here 1,000)" in text
    rows = [line for line in text.splitlines() if line.startswith("Our method (MLP similarity)")]
    assert [re.split(r"\s{2,}", row)[1:] for row in rows] == [
        ["30.00 [17.21, 42.86] (29.2)", "30.00 [17.21, 42.86] (35.4)", "25.0%"],
        ["30.00 [17.21, 42.86] (30.6)", "30.00 [17.21, 42.86] (37.5)", "5.0%"],
    ]
    assert "10M words (here 1,000)" in text.splitlines()[2]
    assert re.split(r"\s{2,}", text.splitlines()[3])[1:] == ["test2017", "test2018", "precision"]
    assert all(len(line) <= table.WIDE for line in text.splitlines())
    assert "NMT + LM, 4 models" in text
    assert "Rossenbach" not in text
    assert "– (29.1)" in text
    assert "Numbers at tiny scale compare methods, not papers" in text
    run.build("paper")
    assert "compare methods, not papers" not in run.text()


def test_the_brief_table_has_the_best_row_first(run):
    run.build()
    head, budget, *rows = table.brief(cells.read(run.csv), run="tiny").splitlines()
    assert head == "Kim et al. 2019, Table 2 (tiny run)"
    assert budget.startswith("10M words (here 1,000), test2017")
    values = [float(re.search(r"\d+\.\d", row)[0]) for row in rows[: len(rows) // 2] if row.startswith("  ")]
    assert values == sorted(values, reverse=True)
    assert rows[0].count("█") == table.BAR


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("results/tiny/table2.csv", "tiny run"),
        ("results/published-muse/table2.csv", "published-muse run, tiny scale"),
        ("results/published-muse/kim2019/table2.csv", "published-muse run, tiny scale"),
        ("results/table2.csv", "tiny scale"),
        ("elsewhere/table2.csv", "tiny scale"),
    ],
)
def test_the_title_says_which_run_a_table_is_of(run, tmp_path, place, named):
    run.build()
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(run.csv.read_bytes())
    for more in ([], ["--brief"]):
        shown = CliRunner().invoke(cli, ["show", str(path), *more], catch_exceptions=False)
        assert shown.output.splitlines()[0] == f"Kim et al. 2019, Table 2 ({named})"


def test_columns_of_budgets_say_what_they_are_in_this_run(run):
    made = [
        replace(cell("mlp", 1.0, 2.0), column=f"{name}M words", budget="", test="", scale="tiny") for name in (10, 100)
    ]
    assert table.OTHER_BUDGETS in " ".join(table.render(made).split())
    assert table.OTHER_BUDGETS not in table.render([replace(one, scale="paper") for one in made])
    assert table.OTHER_BUDGETS not in table.render([replace(one, column="F1") for one in made])
    run.build()
    cells.write([replace(one, paper_table="precision") for one in made], run.folder / "precision.csv")
    page = site.Site(load(run.folder)).pages()["precision.html"]
    assert ">10M words (here 1,000)<" in page
    assert ">100M words (here 5,000)<" in page


def test_wide_columns_stand_below_each_other():
    made = [cell(row, 1.0, 2.0, column=f"{group}/x{n}") for row in ("a", "b") for group in ("g", "h") for n in range(5)]
    text = table.render(made)
    assert all(len(line) <= table.WIDE for line in text.splitlines())
    assert all(text.count(f" x{n}") == 2 for n in range(5)), "no column is lost, none stands twice"


@pytest.mark.parametrize(("more", "parts"), [(0, 1), (1, 2)])
def test_groups_stand_side_by_side_where_they_fit_to_the_last_character(more, parts):
    columns = ["g/" + "x" * 30, "h/" + "y" * (table.WIDE - 27 - 2 - 30 - 2 + more)]  # 27: the heading of the labels
    text = table.render([cell("a", 1.0, 2.0, column=column) for column in columns])
    assert text.count("ours [95% interval] (paper)") == parts
    assert ("y" * 39 in text.splitlines()[3]) == (parts == 1)


def test_cells_that_no_paper_printed_stand_row_by_row():
    places = [("b", "y"), ("a", "y"), ("b", "x"), ("a", "x")]
    measured = [cells.Measurement(*place, 1, 5.0, 4.0, 6.0, 9, "s", Path("m.json")) for place in places]
    made = table.unprinted("own", measured, "tiny", {("a", "y"): "why"})
    assert [(one.row, one.column) for one in made] == [("b", "y"), ("b", "x"), ("a", "y"), ("a", "x")]
    assert [one.note for one in made] == ["", "", "why", ""]
    assert {one.verdict for one in made} == {"no paper has it"}


def test_the_smallest_p_that_a_note_writes():
    one = compared("mlp", "random", 5, 1)._replace(budget="10M/test2017")  # the column
    said = [table.against([cell("mlp", 29, 20)], "random", [one._replace(p=p)])[0].note for p in (0.0001, 0.00009)]
    assert [note.split(", ")[2] for note in said] == ["p = 0.0001", "p < 0.0001"]


def test_a_note_of_few_rows_names_them():
    said = dict(zip("abcdef", ["one", "two", "two", "many", "many", "many"], strict=True))
    made = [replace(cell(row, 1.0, 2.0), note=note) for row, note in said.items()]
    notes = [
        line
        for line in table.render([*made, replace(made[0], row_label="G", note="many")]).splitlines()
        if "Note" in line
    ]
    assert notes == ["Note: many.", "Note: A: one.", "Note: B; C: two."]


def cell(row: str, paper: float, ours: float, half: float = 1.0, column: str = "10M/test2017") -> cells.Cell:
    budget, test = column.split("/")
    numbers = {"ours": ours, "spread": 0.5, "low": ours - half, "high": ours + half}
    return cells.Cell("kim2019/table2", row, row.upper(), column, budget, test, paper, **numbers)


def compared(row: str, other: str, difference: float, half: float, column: str = "10M/test2017"):
    budget, test = column.split("/")
    p = 2 * float(ndtr(-1.96 * abs(difference) / half))
    return significance.Comparison(
        budget, test, row, other, 20 + difference, 20, difference, difference - half, difference + half, p
    )


def test_reading_where_all_is_as_in_the_paper():
    rows = [cell("random", 19, 10), cell("cosine", 23, 15), cell("mlp", 29, 20)]
    found = [compared("cosine", "random", 5, 1), compared("random", "mlp", -10, 1), compared("mlp", "cosine", 5, 4.9)]
    lowest, gap, head, *orders = filtering.reading(rows, found)
    assert lowest == "Lowest row: RANDOM in the only column."
    assert "10.00 in 10M/test2017 (mlp); at least 20.0 times the spread" in gap  # (20 - 10) / 0.5
    assert "paired differences" in head
    assert [order.strip() for order in orders] == [
        "random < cosine holds in the only column.",
        "random < mlp holds in the only column.",  # though it was compared the other way round
        "cosine < mlp holds in the only column.",
    ]


def test_reading_where_it_is_not():
    rows = [
        cell(row, paper, ours, column=column)
        for column in ("10M/test2017", "10M/test2018")
        for row, paper, ours in (("random", 19, 10), ("cosine", 23, 9))
    ]
    found = [compared("cosine", "random", -1, 1.5), compared("cosine", "random", -5, 4, column="10M/test2018")]
    lowest, _, _, order = filtering.reading(rows, found)
    assert lowest == "Lowest row: COSINE in all 2 columns."
    assert order.strip() == "random < cosine is undecided in 10M/test2017, is reversed in 10M/test2018."


def test_orders_are_corrected_for_the_comparisons_of_the_table():
    rows = [cell("random", 19, 10), cell("cosine", 23, 15)]
    one = compared("cosine", "random", 5, 4.9)
    assert filtering.reading(rows, [one])[3].strip() == "random < cosine holds in the only column."
    head, order = filtering.reading(rows, [one, compared("a", "b", 1, 9)])[2:]
    assert "of all 2 comparisons together, by Holm" in head
    assert order.strip() == "random < cosine is undecided in the only column."


def test_rows_that_tie_in_the_paper_or_are_not_in_it_have_no_order():
    rows = [cell("pivot", 37.5, 30), cell("mlp", 37.5, 20), replace(cell("oracle", 0, 50), paper=None)]
    found = [compared("mlp", "pivot", -10, 1), compared("oracle", "mlp", 30, 1)]
    assert filtering.reading(rows, found)[2:] == ["No two rows of this run are ordered by the paper."]


def test_the_page_has_what_was_selected(run):
    run.build()
    page = run.page()
    assert "What each method selected" in page
    assert page.count("<tbody>") == 2
    assert page.count("<svg class") == 2 * 4  # dots and slopes of each column
    assert "not in this run" in page


@pytest.mark.parametrize("row", ["m", "Our model", "Our method (MLP similarity)", "BBoWAE, by the distance of codes"])
@pytest.mark.parametrize("picture", ["slopes", "dots"])
def test_names_of_a_picture_lie_within_it_and_not_over_each_other(monkeypatch, row, picture):
    drawn = []
    monkeypatch.setattr(plots, "svg", lambda draw, width, height, *_: drawn.append((draw, (width, height))) or "")
    columns = ("10M/test2017", "10M/test2018", "100M/test2017")
    held = [cell(row + end, 87.18, 69.7, column=column) for column in columns for end in "ab"]
    plots.slopes(held, "s") if picture == "slopes" else plots.dots(held, {}, "s", {})
    assert len(drawn) == len(columns)
    for draw, size in drawn:
        with matplotlib.rc_context(plots.STYLE):
            draw(figure := Figure(size))
            renderer = FigureCanvasAgg(figure).get_renderer()
            boxes = [text.get_window_extent(renderer) for axes in figure.axes for text in axes.texts]
        assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 for box in boxes)
        assert not [(one, other) for one, other in combinations(boxes, 2) if one.overlaps(other)]


scores = st.lists(st.floats(0, 100), min_size=1, max_size=6)


@given(scores, st.floats(0, 5), st.floats(0, 5))
def test_the_interval_holds_the_mean_and_the_test_sets_part(values, below, above):
    mean, spread, low, high = cells.summarise(values, [(v - below, v + above) for v in values])
    assert min(values) - 1e-9 <= mean <= max(values) + 1e-9
    assert low <= mean - below + 1e-9
    assert high >= mean + above - 1e-9
    assert (spread is None) == (len(values) == 1)


@given(scores)
def test_equal_seeds_add_nothing(values):
    same = [values[0]] * len(values)
    _, spread, low, high = cells.summarise(same, [(v - 1, v + 2) for v in same])
    assert (low, high) == pytest.approx((values[0] - 1, values[0] + 2))
    assert not spread


def test_a_bootstrap_interval_beside_its_value_does_not_turn_the_interval_round():
    assert cells.summarise([5.0], [(5.5, 6.0)]) == (5.0, None, 5.0, 6.0)


@pytest.mark.parametrize("name", ["audit.csv", "table2.significance.csv"])
def test_what_is_no_table_is_shown_by_report(name):
    path = Path(__file__).parents[2] / "results/small" / name
    done = CliRunner().invoke(cli, ["show", str(path)])
    assert isinstance(done.exception, InputError), done.output
    assert f"`bitextbench report {path.parent}` shows the other CSVs of a run" in str(done.exception)
