"""The leaderboard: what is measured of which encoder, and runs beside each other."""

import csv
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bitextbench.base.errors import InputError
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.config.schema import schema
from bitextbench.formats.records import to_csv
from bitextbench.report import leaderboard, leaderboard_layout
from bitextbench.report.cells import Cell
from bitextbench.report.layout import Entry
from bitextbench.workflow import Files

ROOT = Path(__file__).parents[2]
MUSE = {"type": "pretrained", "folder": "muse", "gpus": 0}
CONFIG = {
    "encoders": {"muse": MUSE, "nmt_autoencoder": dict(MUSE), "dual.en-de": {"type": "transformer_dual"}},
    "methods": {"cosine": {"encoder": "nmt_autoencoder"}, "mlp": {"encoder": "dual.en-de"}, "random": {}},
}


def board(**rows: str) -> list[Entry]:
    return leaderboard_layout.entries(CONFIG | {"leaderboard": {row: {"encoder": name} for row, name in rows.items()}})


def test_an_encoder_is_measured_on_every_group_and_by_the_methods_that_score_by_it():
    found = board(mUSE="muse")
    assert {entry.column.partition("/")[0] for entry in found} == {*leaderboard_layout.groups()}
    assert {entry.encoder for entry in found} == {"muse", "cosine", "cosine.10M"}
    assert {entry.row for entry in found} == {"mUSE"}
    assert len({entry.column for entry in found}) == len(found)
    assert leaderboard_layout.entries(CONFIG) == []
    some = leaderboard_layout.entries(CONFIG | {"leaderboard": {"mUSE": {"encoder": "muse", "groups": ["tatoeba"]}}})
    assert {entry.column.partition("/")[0] for entry in some} == {"tatoeba"}


def test_the_schema_knows_the_groups():
    rows = schema()["$defs"]["leaderboard_row"]["properties"]
    assert rows["groups"]["items"]["enum"] == [*leaderboard_layout.groups()]


def test_an_encoder_of_each_pair_is_that_of_the_column():
    found = {entry.column: entry.encoder for entry in board(Dual="dual.{pair}")}
    assert (found["mining/de-en"], found["tatoeba/ru-en"]) == ("dual.en-de", "dual.en-ru")
    assert not any(name.startswith("filtering") for name in found)


def cell(row: str, column: str, value: float, **more) -> Cell:
    return replace(
        Cell("leaderboard", row, row, column, ours=value, low=value - 1, high=value + 1, seeds="1", scale="small"),
        **more,
    )


def run(folder: Path, *cells: Cell) -> Path:
    folder.mkdir(parents=True)
    (folder / "leaderboard.csv").write_text(to_csv(Cell, cells), encoding="utf-8")
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    muse = run(
        tmp_path / "muse",
        cell("muse", "bucc/zh-en", 94.3, note="the <sample>"),
        cell("muse", "tatoeba/de-en", 97.9),
        cell("muse", "cost/sentences/s", 1234.5),
        cell("muse", "alignment/de-en", 1.0, ours=None),
    )
    small = run(tmp_path / "small", cell("trained & small", "tatoeba/de-en", 12.0))
    (tmp_path / "leaderboard.csv").write_text("encoder,column,value,source\nother,tatoeba/de-en,98.0,Someone\n")
    return [muse, small]


def test_runs_stand_beside_each_other_and_beside_what_others_published(runs: list[Path], tmp_path: Path):
    said = leaderboard.write(runs, tmp_path, tmp_path / "out")
    assert "2 encoders of 2 runs, 5 numbers" in said
    with open(tmp_path / "out/leaderboard.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["encoder"], line["task"], line["column"], line["value"]) for line in lines] == [
        ("muse", "bucc", "zh-en", "94.3"),
        ("muse", "tatoeba", "de-en", "97.9"),
        ("muse", "cost", "sentences/s", "1234.5"),
        ("trained & small", "tatoeba", "de-en", "12.0"),
        ("other", "tatoeba", "de-en", "98.0"),
    ]
    assert [line["low"] for line in lines] == ["93.3", "96.9", "", "11.0", ""]  # of a cost and of others' none is known
    assert [line["run"] or line["source"] for line in lines] == ["muse", "muse", "muse", "small", "Someone"]
    page = (tmp_path / "out/leaderboard.html").read_text(encoding="utf-8")
    assert "trained &amp; small" in page
    assert "the &lt;sample&gt;" in page
    assert "1,234" in page or "1,235" in page
    assert "alignment" not in re.sub(r"<dl>.*", "", page, flags=re.S).lower()  # nobody has a number there
    plain = (tmp_path / "out/leaderboard.md").read_text(encoding="utf-8")
    assert "| **muse** | 97.9 (96.9–98.9) |" in plain
    assert "| other (Someone) | 98.0 |" in plain
    assert "News, documents" not in plain
    drawn = ElementTree.parse(tmp_path / "out/leaderboard.svg").getroot()
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    first = (tmp_path / "out/leaderboard.svg").read_bytes()
    leaderboard.write(runs, tmp_path, tmp_path / "out")
    assert (tmp_path / "out/leaderboard.svg").read_bytes() == first


def test_the_picture_compares_encoders_within_100_percent(runs: list[Path], tmp_path: Path):
    standings = leaderboard.joined(runs, tmp_path)
    one_row = standings + [replace(one, task="documents") for one in standings if one.task == "tatoeba"]
    drawn = leaderboard.picture(one_row + [replace(one, column="fr-en") for one in standings if one.task == "tatoeba"])
    assert ">Tatoeba, accuracy<" in drawn
    assert drawn.count(">de-en<") == drawn.count(">fr-en<") == 1  # not documents: its panel would have one row
    assert all(drawn.count(f">{name}<") == 1 for name in ("muse", "trained &amp; small", "other (published)"))
    page = leaderboard.picture(standings, page=True)
    assert "</svg>other (published)</li>" in page  # named above the panels, where a phone shows it
    assert "BUCC" not in drawn  # one encoder alone
    assert leaderboard._limits([replace(standings[1], low=96.9, high=99.9)])[1] == 100
    assert leaderboard._limits([one for one in standings if one.task == "tatoeba"]) == pytest.approx(
        (5.7, 100), abs=0.1
    )
    alone = leaderboard.picture([one for one in standings if one.run == "muse"])
    assert ">BUCC, F1<" in alone


def test_what_cannot_be_set_beside_each_other(runs: list[Path], tmp_path: Path):
    with pytest.raises(InputError, match=r"a run without a leaderboard; give its configuration `leaderboard`"):
        leaderboard.write([*runs, tmp_path / "none"], tmp_path, tmp_path / "out")
    with pytest.raises(InputError, match=r"muse, bucc/zh-en is also in .*; give each run once"):
        leaderboard.write([runs[0], runs[0]], tmp_path, tmp_path / "out")
    (tmp_path / "leaderboard.csv").write_text("encoder,column,value,source\nother,singing/de-en,98.0,Someone\n")
    with pytest.raises(InputError, match=r"no group singing in a leaderboard; known: bucc"):
        leaderboard.write(runs, tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_published_figures_of_the_repository_are_of_known_columns():
    assert {one.column for one in leaderboard._of_others(ROOT / "references/leaderboard.csv")} <= {
        f"{lang}-en" for lang in ("de", "fr", "es", "ru", "zh")
    }


def test_metrics_of_methods_lie_where_their_rules_make_them():
    files = Files(resolve(read([ROOT / "config.yaml"], [ROOT / "config/tiny.yaml"])))
    assert files.metric("selection", "pool", "mlp.10M") == "work/tiny/metrics/selection/mlp.10M.json"
    assert files.metric("bleu", "test2017", "mlp.10M") == "work/tiny/metrics/bleu/mlp.10M/1-2-3-4-5/1/test2017.json"
    assert files.metric("quality", "pool", "mlp") == "work/tiny/metrics/quality/pool/mlp.json"
