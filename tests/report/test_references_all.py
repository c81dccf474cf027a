"""What the papers printed: all tables are there, they add up, and where they do not, or misquote each other, it is
listed.
"""

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from bitextbench.base.errors import InputError
from bitextbench.report import claims, references, settings
from bitextbench.report.claims import Claim

FOLDER = Path(__file__).parents[2] / "references"
TABLES = references.load_all(FOLDER)
ARITHMETIC = claims.load(FOLDER / "arithmetic.yaml", needed=())
CLAIMS = claims.load(FOLDER / "claims.yaml")
HEAD = (FOLDER / "claims.yaml").read_text(encoding="utf-8").partition("\n\n")[0].lower()  # bounds of words of degree
DEGREES = {
    *("slightly", "only", "significantly", "clearly", "substantial", "much", "greatly", "large", "close", "similarly"),
    *(
        "nearly",
        "comparable",
        "consistent",
        "consistently",
        "stable",
        "around",
        "peculiarly",
        "exorbitantly",
        "bad",
        "strong",
    ),
    *("high", "low", "surprisingly", "poor"),
}
README = (FOLDER / "README.md").read_text(encoding="utf-8")
CELLS = {  # tables that are only examples: kim2019 4, artetxe2019 1, zhang2016 1, guo2018 1, yang2019 7
    "kim2019": {1: 4 * 2, 2: 5 * 4, 3: 4 * 3, 5: 6},
    "artetxe2019": {2: 12 * 6, 3: 2 + 4 + 1 + 4 + 2 + 2, 4: 2 * 2, 5: 3 * 3, 6: 10 * 2 - 5},
    "zhang2016": {2: 2 * 3, 3: 10 * 3},
    "guo2018": {2: 5 * 6, 3: 3 * 6, 4: 3 * 2, 5: 3 * 2, 6: 2 * 2, 7: 2 * 2},
    "yang2019": {1: 6 + 2 + 3 * 12, 2: 2 * 4, 3: 4 * 2, 4: 2 * 2 + 2 * 4, 5: 2 * 6 + 2 * 12, 6: 8 * 4},
}


def named(entries: list[Claim]) -> list:
    return [pytest.param(claim, id=claim.id) for claim in entries]


def failing(claim: Claim, numbers: dict) -> list[dict[str, str]]:
    verdicts = claims.judge(claim, numbers)
    if claim.table in references.UNPRINTED:
        assert {*verdicts} == {"not run"}, "a number that no paper printed"
        return []
    assert "not run" not in verdicts, "a cell that no paper printed"
    pairs = zip(claims.instances(claim), verdicts, strict=True)
    return [instance.values for instance, verdict in pairs if verdict == "fails"]


def test_all_tables_are_there():
    found = {place: len(cells) for place, cells in TABLES.items() if "/table" in place}
    assert found == {f"{paper}/table{n}": count for paper, tables in CELLS.items() for n, count in tables.items()}


def test_every_paper_has_a_title_and_settings():
    assert {place.partition("/")[0] for place in TABLES} == {*references.PAPERS}
    assert {path.parent.name for path in FOLDER.glob("*/settings.yaml")} == {*references.PAPERS}


def test_names_can_stand_in_a_claim_and_in_a_file_name():
    cells = [cell for table in TABLES.values() for cell in table]
    assert not [cell for cell in cells if set(cell.row) & set("[]{},:/ ") or set(cell.column) & set("[]{},: ")]


def test_percentages_are_percentages():
    cells = [cell for table in TABLES.values() for cell in table if "[%]" in cell.unit]
    assert len(cells) > 400
    assert all(0 <= cell.value <= 100 for cell in cells)


@pytest.mark.parametrize(("place", "row", "column", "decimals"), [
    ("artetxe2019/table4", "guo2018", "en-fr", 2),  # 48.90
    ("kim2019/table2", "pivot", "100M/test2017", 1),  # 30.0
    ("yang2019/figure5", "average-precision", "fr-en", 0),  # 88
])  # fmt: skip
def test_decimals_are_those_printed(place, row, column, decimals):
    assert [-cell.value.as_tuple().exponent for cell in TABLES[place] if (cell.row, cell.column) == (row, column)] == [
        decimals
    ]


def test_a_rate_of_200_pairs_has_steps_of_a_half():
    assert all(2 * cell.value % 1 == 0 for cell in TABLES["guo2018/table7"])


@pytest.mark.parametrize("claim", named(ARITHMETIC))
def test_what_must_add_up_does_but_for_what_is_listed(claim):
    assert failing(claim, claims.rounded(TABLES)) == claim.fails
    assert bool(claim.fails) <= bool(claim.why)


@pytest.mark.parametrize("claim", named([claim for claim in ARITHMETIC if "==" in claim.predicate]))
def test_a_wrong_digit_would_be_found(claim):
    """Each instance that adds up would not, were the first of its cells 0.3 higher."""
    for index, instance in enumerate(claims.instances(claim)):
        place, row, column = next(iter(instance.cells.values()))
        wrong = [
            replace(cell, value=cell.value + Decimal("0.3")) if (cell.row, cell.column) == (row, column) else cell
            for cell in TABLES[place]
        ]
        verdict = claims.judge(claim, claims.rounded(TABLES | {place: wrong}))[index]
        assert verdict == "fails" or instance.values in claim.fails


def test_the_readme_lists_every_conflict_and_every_claim_that_its_paper_does_not_bear_out():
    assert [claim.id for claim in [*ARITHMETIC, *CLAIMS] if claim.fails and f"`{claim.id}`" not in README] == []


@pytest.mark.parametrize("claim", named(CLAIMS))
def test_claims_hold_on_the_papers_own_numbers_but_where_listed(claim):
    """Taken as printed, and taken as rounded: no claim depends on digits that the paper does not print."""
    assert failing(claim, claims.points(TABLES)) == claim.fails
    assert claims.judge(claim, claims.points(TABLES)) == claims.judge(claim, claims.rounded(TABLES))
    assert bool(claim.fails) <= bool(claim.why)
    assert claim.section
    assert 1 <= len(claim.quote.split()) <= 12


@pytest.mark.parametrize("claim", named(CLAIMS))
def test_a_claim_says_in_one_plain_sentence_what_is_tested(claim):
    assert claim.tested.endswith(".")
    assert len(claim.tested.split()) <= 30
    assert not set(claim.tested) & set("{}[]<>")


@pytest.mark.parametrize("claim", named(CLAIMS))
def test_a_claim_is_a_conjunction_of_comparisons_of_sums(claim):
    """So that it fails only where one of its comparisons does; extremes, distances and alternatives are biased by noise."""
    biased = re.findall(r"\b(max|min|abs|or|not)\b(?![^][]*\])", claim.predicate)
    assert biased == (["or"] * 3 if claim.id == "guo2018-more-hard-negatives-not-always-better" else [])


@pytest.mark.parametrize("claim", named(CLAIMS))
def test_words_of_degree_are_bounded_or_explained(claim):
    """The head of claims.yaml has a bound for each such word of a quote, and `why` repeats it; or `why` explains it."""
    said = DEGREES & set(re.findall("[a-z]+", claim.quote.lower()))
    assert {word for word in said if word not in claim.why} == set()
    assert {word.removesuffix("ly") for word in said if word.removesuffix("ly") not in HEAD} <= {"surprising", "poor"}


def test_every_table_that_says_something_has_a_claim():
    assert (
        set(TABLES) - {key[0] for claim in CLAIMS for i in claims.instances(claim) for key in i.cells.values()} == set()
    )


def test_a_file_is_named_after_its_table(tmp_path):
    (tmp_path / "kim2019").mkdir()
    (tmp_path / "kim2019/table9.csv").write_bytes((FOLDER / "kim2019/table2.csv").read_bytes())
    with pytest.raises(InputError, match=r"table9\.csv: holds the cells of kim2019/table2"):
        references.load_all(tmp_path)


@pytest.mark.parametrize(("name", "near"), [("kim2O19", "did you mean kim2019"), ("xu", "known: kim2019, ")])
def test_a_paper_without_a_title_is_refused(tmp_path, name, near):
    (tmp_path / name).mkdir()
    text = (FOLDER / "kim2019/table2.csv").read_text(encoding="utf-8")
    (tmp_path / name / "table2.csv").write_text(text.replace("kim2019,", f"{name},"), encoding="utf-8")
    (tmp_path / name / "settings.yaml").write_bytes((FOLDER / "kim2019/settings.yaml").read_bytes())
    said = rf"there is no paper {name}; rename the folder \({near}.*\), or write its title into PAPERS of report/references"
    with pytest.raises(InputError, match=rf"{name}/table2\.csv: {said}"):
        references.load_all(tmp_path)
    with pytest.raises(InputError, match=rf"{name}/settings\.yaml: {said}"):
        settings.write(tmp_path, FOLDER.parent / "config.yaml", tmp_path / "settings.csv")


def test_an_empty_folder_is_no_folder_of_references(tmp_path):
    with pytest.raises(InputError, match="no <paper>/<table>"):
        references.load_all(tmp_path)
