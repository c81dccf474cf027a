"""tables.yaml against what the papers printed, and its format."""

from pathlib import Path

import pytest

from bitextbench.base.errors import InputError
from bitextbench.config import FIGURE3, FIGURE4, NEGATIVES, PRECISION, QUALITY
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.config.schema import schema
from bitextbench.config.seeds import seeds_of
from bitextbench.evaluation import recognition
from bitextbench.mining.retrieval import STRATEGIES
from bitextbench.report import references
from bitextbench.report.layout import Entry, load
from bitextbench.scoring.margins import SIMILARITIES

FOLDER = Path(__file__).parents[2] / "references"
MEASURES = {
    "bleu": {""},
    "alignment": {"forward", "backward", "average"},
    "posteriors": {"average"},
    "reconstruction": {f"{way}.by_text.P@{n}" for way in ("forward", "backward") for n in (1, 3, 10)},
    "documents": {"alignments", "evidence", "sentences", "average_forward", "average_backward"},
    "recognition": {"accuracy"},
    "translation": {"bleu", "tokenised", "pairs"},
    "agreement": {"correlation", "untuned", "tuned"},
    "size": {"pairs"},
    "smt": {"bleu"},
    "rescoring": {"f1"},
    "mining": {
        f"{way}.{part}{measure}"
        for way in (*STRATEGIES, "nearest_forward", "nearest_backward")
        for part in ("", "two_fold.")
        for measure in ("precision", "recall", "f1")
    }
    | {"forward.average_precision", "backward.average_precision"},
}


def test_each_table_has_the_cells_of_the_paper_once():
    printed = references.load_all(FOLDER)
    for place, entries in load().items():
        own = {(entry.row, entry.column) for entry in entries if entry.label}
        assert {(entry.row, entry.column) for entry in entries} - own == {
            (cell.row, cell.column) for cell in printed[place]
        }


def test_each_cell_is_something_that_a_task_measures():
    for place, entries in load().items():
        for entry in entries:
            if not entry.why:
                assert entry.metric in MEASURES[entry.task], (place, entry)
                others = {"mlp", "levenshtein", "nmt", "cross_encoder", "reconstruction", *recognition.BLIND}
                known = (
                    {""}
                    if entry.task in ("translation", "agreement", "bleu", "size", "smt")
                    else {*SIMILARITIES, *others}
                )
                assert entry.similarity in known, (place, entry)
                assert entry.corpora, (place, entry)


def test_a_selection_that_a_run_has_not_says_why():
    config = {"selection": {"methods": ["mlp"], "budgets": {"10M": 1}}, "nmt": {"tests": ["test2017"]}}
    why = {(entry.row, entry.column): entry.missing(config) for entry in load()["kim2019/table2"]}
    assert why["mlp", "10M/test2017"] == ""
    assert why["pivot", "10M/test2017"] == "no row pivot in this run"
    assert why["mlp", "100M/test2017"] == "no budget 100M in this run"
    assert why["mlp", "10M/test2018"] == "no test test2018 in this run"


def test_bert_rescores_the_four_languages_of_the_paper_at_paper_scale():
    config = resolve(read([FOLDER.parent / "config.yaml"]))
    entries = [entry for entry in load()["yang2019/table6"] if entry.row == "test-bert"]
    assert {entry.column: entry.missing(config) for entry in entries} == dict.fromkeys(
        ("fr-en", "de-en", "ru-en", "zh-en"), ""
    )


def test_english_is_the_source_and_bucc_is_searched_into_it():
    """guo2018 and yang2019 table 1: from English; yang2019 footnote 5: BUCC's forward is into English."""
    cells = {(place, entry.row, entry.column): entry for place, entries in load().items() for entry in entries}
    assert cells["yang2019/table2", "backward", "en-ru"].metric == "backward.by_text.P@1"
    forward = cells["yang2019/table5", "bide-am-forward", "de-en/P"]
    assert (forward.corpora, forward.encoder) == (("bucc.en-de",), "transformer_bide_am.en-de")
    assert forward.key == "cosine.backward.precision"
    assert cells["artetxe2019/table2", "ratio-forward", "en-fr/F1"].key == "ratio.backward.f1"
    assert cells["zhang2016/table2", "bbowae", "Avg"].corpora == ("mt06", "mt08")


def test_what_a_run_has_not_leaves_its_reason(tmp_path):
    entry = Entry("a", "b", "mining", ("x",), "y", "ratio", "max.f1")
    data = {"parts": [{"dataset": "d"}]}
    pair = {"src": "de", "tgt": "en"}
    corpora = {"x": data, "z": data}
    config = {"pair": pair, "corpora": corpora, "encoders": {"y": {"corpora": {"bitext": "z"}}}, "likelihoods": {}}
    assert entry.missing(config) == ""
    foreign = {"x": data | {"pair": {"src": "en", "tgt": "es"}}, "z": data}
    assert entry.missing({**config, "corpora": foreign}) == "y has not learned es in this run"
    assert entry.missing({**config, "corpora": {"x": data}}) == "no corpus z in this run"
    assert entry.missing({**config, "corpora": {"z": data}}) == "no corpus x in this run"
    assert entry.missing({**config, "encoders": {}}) == "no encoder y in this run"
    own = tmp_path / "own.de"
    config["corpora"]["z"] = {"parts": [{"files": {"src": str(own)}}]}
    assert entry.missing(config) == f"no file {own}"
    own.write_text("x\n")
    assert entry.missing(config) == ""
    assert Entry("a", "b", why="quoted").missing({}) == "quoted"
    confident = Entry("a", "b", "agreement", ("x",), "tuned", metric="correlation")
    assert confident.missing({"methods": {}}) == "no tuned method tuned in this run"
    assert confident.missing({"methods": {"tuned": {"similarity": "cosine"}}}) == "no tuned method tuned in this run"
    assert confident.missing({"methods": {"tuned": {"tuned": {}}}}) == ""


def test_a_published_encoder_is_not_compared_with_itself():
    entry = Entry("a", "b", "mining", ("x",), "y", "ratio", "max.f1", unlike="z")
    muse, e5 = ({"type": "pretrained", "folder": name, "gpus": 0} for name in ("muse", "e5"))
    config = {"pair": {"src": "de", "tgt": "en"}, "corpora": {"x": {"parts": []}}, "likelihoods": {}}
    assert entry.missing({**config, "encoders": {"y": muse, "z": dict(muse)}}) == (
        "the published encoder of this run stands for z, too"
    )
    assert entry.missing({**config, "encoders": {"y": muse, "z": e5}}) == ""
    assert entry.missing({**config, "encoders": {"y": muse}}) == ""


def test_numbers_of_a_published_encoder_need_no_training_but_by_the_mlp():
    config = {"encoders": {"y": {"type": "pretrained", "name": "muse"}, "z": {"type": "dan_dual"}}}
    assert not Entry("a", "b", "mining", ("x",), "y", "ratio", "max.f1").trained(config)
    assert Entry("a", "b", "alignment", ("x",), "y", "mlp", "error").trained(config)
    assert Entry("a", "b", "mining", ("x",), "z", "ratio", "max.f1").trained(config)
    assert Entry("a", "b", "translation", ("x",), "mined", metric="bleu").trained(config)
    assert not Entry("a", "b", "size", ("x",), "filtered").trained(config)


def test_a_translation_is_missing_unless_the_run_has_it_and_its_test():
    entry = Entry("a", "b", "translation", ("news",), "mined", metric="bleu")
    assert entry.key == "bleu"
    assert entry.missing({}) == "no translation model mined in this run"
    assert entry.missing({"translations": {"mined": {"test": "talks"}}}) == "mined translates talks in this run"
    assert entry.missing({"translations": {"mined": {"test": "news"}}}) == ""


BLOCK = "p/table1:\n- {cell: [a, b], task: mining, corpus: x, encoder: y, similarity: ratio, metric: max.f1}\n"


@pytest.mark.parametrize(("text", "message"), [
    (BLOCK + BLOCK.partition("\n")[2], "a, b appears twice"),
    (BLOCK.replace("task", "tusk"), "unknown or missing: tusk"),
    (BLOCK.replace("encoder: y, ", ""), "unknown or missing: encoder"),
])  # fmt: skip
def test_bad_entries(tmp_path, text, message):
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "t.yaml")


def test_table_2_says_where_it_makes_do_with_something_else():
    for entry in load()["kim2019/table2"]:
        assert "pre-filter" in entry.note
        assert ("Europarl" in entry.note) == (entry.encoder.startswith("pivot."))
        assert ("ParaCrawl 1" in entry.note) == (not entry.encoder.startswith(("random.", "pivot.")))


def test_table_5_of_kim2019_has_the_seeds_of_table_2_unless_it_is_named():
    config = {"seeds": [1, 2, 3], "table_seeds": [1]}
    assert [seeds_of(config, place) for place in (NEGATIVES, "guo2018/table5")] == [[1, 2, 3], [1]]
    assert seeds_of(config | {"seeds_of": {NEGATIVES: [2]}}, NEGATIVES) == [2]


def test_a_configuration_can_name_seeds_of_each_table_that_learns():
    named = set(schema()["properties"]["seeds_of"]["propertyNames"]["enum"])
    by_configuration = {
        place for place, entries in load().items() if {entry.task for entry in entries} - {"", "bleu", "smt"}
    }
    assert named == by_configuration | {NEGATIVES, FIGURE3, FIGURE4, PRECISION, QUALITY}
