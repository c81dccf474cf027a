"""Answers: what the committed results say, and that an answer cannot outlive its numbers."""

from pathlib import Path

import pytest
import yaml

from bitextbench.base.errors import InputError
from bitextbench.formats.records import to_csv
from bitextbench.report import answers
from bitextbench.report.cells import Cell

ROOT = Path(__file__).parents[2]
TABLE = to_csv(
    Cell,
    [
        Cell("kim2019/table2", "a: x", "A", "c", ours=20.0, low=18.0, high=22.0),
        Cell("kim2019/table2", "b", "B", "c", ours=10.0),
        Cell("kim2019/table2", "empty", "Empty", "c"),
    ],
)


@pytest.fixture
def results(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/table2.csv").write_text(TABLE)
    return tmp_path


def write(
    results: Path, numbers: str = "{run/table2: a x, c}", predicate: str = "[run/table2: a x, c] > [run/table2: b, c]"
):
    entry = {"question": "Which?", "answer": "a.", "numbers": numbers, "so": [{"predicate": predicate}]}
    (results / "answers.yaml").write_text(yaml.safe_dump([entry]))
    return results / "answers.yaml"


def test_the_committed_answers_are_borne_out_by_the_committed_results():
    held = answers.load(ROOT / "results/answers.yaml", {"tiny": ROOT / "docs/tiny"})
    assert len(held) >= 7
    assert not any("{" in text for answer in held for text in answer)


def test_numbers_stand_with_their_intervals(results):
    [answer] = answers.load(write(results, "{run/table2: a x, c}, {run/table2: b, c}"))
    assert answer.numbers == "20.0 (18.0 to 22.0), 10.0"


@pytest.mark.parametrize(
    ("predicate", "verdict"),
    [
        ("[run/table2: a x, c] < [run/table2: b, c]", "fails"),
        ("[run/table2: a x, c] > [run/table2: empty, c]", "not run"),
    ],
)
def test_an_answer_that_is_not_borne_out_is_an_error(results, predicate, verdict):
    with pytest.raises(InputError, match=f"'a.' is not borne out: .* {verdict}"):
        answers.load(write(results, predicate=predicate))


def test_a_number_that_is_not_there_is_an_error(results):
    with pytest.raises(InputError, match="no number of ours in run/table2: fish, c"):
        answers.load(write(results, "{run/table2: fish, c}"))


def test_a_run_that_is_not_there_is_an_error(results):
    with pytest.raises(InputError, match="other"):
        answers.load(write(results, "{other/table2: a x, c}"))


def test_runs_may_lie_elsewhere(results, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "table2.csv").write_text(TABLE)
    [answer] = answers.load(write(results, "{tiny/table2: b, c}"), {"tiny": other})
    assert answer.numbers == "10.0"


def test_an_unknown_key_names_the_file(results):
    path = write(results)
    path.write_text(path.read_text().replace("question", "qestion"))
    with pytest.raises(InputError, match=r"answers\.yaml.*question"):
        answers.load(path)


def test_a_report_has_the_answers_that_rest_on_its_run_and_are_borne_out(results):
    path = write(results)
    assert len(answers.borne_out(path, "run")) == 1
    assert answers.borne_out(path, "other") == []
    write(results, predicate="[run/table2: a x, c] < [run/table2: b, c]")
    assert answers.borne_out(path, "run") == []
    assert answers.borne_out(results / "none.yaml", "run") == []
