"""Where a run keeps what, and what is made from what."""

import copy
import itertools
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bitextbench.config.overlays import laid_over, read
from bitextbench.config.resolution import resolve
from bitextbench.report import layout
from bitextbench.workflow import Files, add_seeds, batches, datasets, rule_graph

ROOT = Path(__file__).parents[2]


@cache
def files(*overlays: str) -> Files:
    return Files(resolve(read([ROOT / "config.yaml"], [ROOT / "config" / name for name in overlays])))


def test_a_file_for_each_shard():
    paper, tiny = files(), files("tiny.yaml")
    assert (paper.results, tiny.results) == ("results", "results/tiny")
    assert len(paper.tokens("pool", "valid")) == 32 + 1
    assert tiny.vectors("pivot_nmt", "raw.en-fr", "tgt") == [
        f"work/tiny/vectors/pivot_nmt/raw.en-fr/0000{i}.tgt.npy" for i in range(2)
    ]
    assert tiny.pair("raw.en-de") == {"src": "en", "tgt": "de"}
    assert [paper.text_model(name) for name in ("joint", "words", "bert")] == [
        f"work/paper/features/{name}" for name in ("joint.model", "words.json", "bert.txt")
    ]


def test_what_identifies_languages():
    config = laid_over(files().config, {"language_models": {"own": {"corpora": ["bitext"], "lines": 5}}})
    run = Files(config)
    assert run.corpus_datasets("raw.en-de") == [
        "data/raw/wmt18-pcf-pool.de-en/manifest.json",
        run.dataset("fasttext-lid176"),
    ]
    assert run.corpus_spec("pool")["filter"]["language"] == "data/raw/fasttext-lid176/lid.176.bin"
    assert "pair" not in run.corpus_spec("pivot_src")
    mined = run.mined_spec({"corpus": "c", "encoder": "e", "retrieval": "max", "filter": {"language": "own"}})
    assert mined == {"retrieval": "max", "filter": {"language": "work/paper/languages/own.bin"}}
    assert run.identifier({"language": "own"}) == "work/paper/languages/own.bin"
    assert run.identifier({"language": "fasttext-lid176"}) == run.dataset("fasttext-lid176")
    assert run.identifier({"language": "py3langid"}) == run.identifier({}) == []


@pytest.mark.parametrize(
    ("method", "fit", "model"),
    [
        ("random", "", []),
        ("cosine", "", []),
        ("mlp", "vectors", "work/paper/similarities/mlp.npz"),
        ("zipporah", "tokens", "work/paper/similarities/zipporah.npz"),
        ("margin", "neighbourhoods", "work/paper/neighbourhoods/margin/pool.npz"),
        ("confidence.en-fr", "scores", "work/paper/similarities/confidence.en-fr.npz"),
        ("untuned", "", "work/paper/encoders/dan_dual/model.pt"),
        ("negatives", "portions", "work/paper/similarities/negatives.npz"),
        ("negatives-worst60", "vectors", "work/paper/similarities/negatives-worst60.npz"),
    ],
)
def test_what_a_method_scores_by(method, fit, model):
    untuned = {"methods": {"untuned": {"similarity": "confidence", "encoder": "dan_dual"}}}
    run = Files(laid_over(files().config, untuned))
    assert run.fit(method) == fit
    assert run.similarity_model(method, "pool") == model


def test_options_are_what_a_similarity_declares():
    assert files().options("margin") == {"margin": "ratio", "k": 4, "batch": 5000000}
    assert files().options("cosine") == {}


def test_a_confidence_is_calibrated_where_the_model_has_one():
    run = files()
    assert run.calibrated("dan_dual") == run.encoder("dan_dual")
    assert run.calibrated("transformer_de") == []
    without = laid_over(run.config, {"encoders": {"dan_dual": {"model": {"confidence": 0.0}}}})
    assert Files(without).calibrated("dan_dual") == []


def test_encoders_that_want_the_same_hard_negatives_share_them():
    run = files()
    assert run.hard_negatives("dan_dual") == []
    assert run.hard_negatives("transformer_bide") == run.hard_negatives("transformer_de") != []
    assert run.word_vectors("nmt_autoencoder")["src"] == "work/paper/word_vectors/joint/mapped.src.vec"
    assert run.word_vectors("mm2as_25")["src"] == "work/paper/word_vectors/ldc/own.src.vec"
    assert run.word_vectors("dan_dual") == {}
    warm = files("small.yaml", "small-languages.yaml", "warm.yaml")
    assert warm.word_vectors("dan_dual.en-fr")["tgt"] == "work/warm/word_vectors/muse.en-fr/encoded.tgt.vec"
    rows = 4000000 + 8000000
    assert run.table_megabytes("dan_dual") == int(4 * 2 * 4e-6 * rows * 320)  # it has a patience


def test_a_cell_of_the_decoder_has_a_measurement_of_each_tuning():
    texts = {name: {"parts": [{"generated": name}]} for name in ("ldc", "mt05", "mt06", "mt08")}
    config = laid_over(files().config, {"corpora": texts, "smt": {"language": ["ldc"]}})
    del config["smt"]["references"]
    run = Files(config)
    cells = {(cell.row, cell.column): cell for cell in layout.load()["zhang2016/table3"]}
    seeds = run.cell(cells["mm2as-25", "Avg"])
    assert [(one["seed"], one["files"]) for one in seeds] == [
        (seed, [f"work/paper/metrics/smt/{test}/mm2as_25.{seed}.json#bleu" for test in ("mt06", "mt08")])
        for seed in (1, 2, 3)
    ]
    assert len(run.decoded([cells["baseline", "MT06"]])) == 3
    assert run.decoded([cells["baseline", "Avg"]]) == []
    assert run.smt_grammar("baseline") == "work/paper/smt/grammar.tsv.zst"
    assert run.smt_grammar("as2mm_25") == "work/paper/smt/grammar.as2mm_25.tsv.zst"
    assert files().cell(cells["mm2as-25", "Avg"])[0]["note"] == "no file data/ldc/train.zh"
    assert files().smt_references("mt05") == [f"work/paper/smt/text/mt05{one}.tgt" for one in ("", "_2", "_3", "_4")]


def test_what_table_2_rests_on():
    run = files()
    assert run.learned_from("mlp") == {"positives", "bitext", "mono", "mono_tgt", "valid"}
    assert datasets(run.config, ["valid", "pool", "valid"]) == ["newstest2016.de-en", "wmt18-pcf-pool.de-en"]
    assert batches(run.config) == {"1": [1]}
    assert batches({"seeds": [1, 2, 3], "nmt": {"together": 2}}) == {"1-2": [1, 2], "3": [3]}


def test_similarities_that_are_fitted_on_an_encoder_s_vectors():
    run = files()
    wanted = ["cosine", "mlp", "levenshtein"]
    assert run.fitted_similarities("nmt_autoencoder", wanted) == ["work/paper/similarities/mlp.npz"]
    assert run.fitted_similarities("pivot_nmt", wanted) == []


def test_cells_have_a_measurement_of_each_seed():
    seeds = {"table_seeds": [1, 2], "seeds_of": {"guo2018/table5": [1, 2, 3]}}
    run, tables = Files(copy.deepcopy(files("tiny.yaml").config) | seeds), layout.load()
    add_seeds(run.config, itertools.chain(*tables.values()))
    whole = copy.deepcopy(run.config)
    cell = next(one for one in tables["kim2019/table3"] if one.similarity == "mlp" and not one.missing(run.config))
    assert [(spec["seed"], spec["files"]) for spec in run.cell(cell)] == [
        (1, ["work/tiny/metrics/alignment/newstest2018/nmt_autoencoder.json#mlp.forward"]),
        (2, ["work/tiny/metrics/alignment/newstest2018/nmt_autoencoder.seed2.json#mlp.forward"]),
    ]
    assert run.fitted_similarities("nmt_autoencoder.seed2", ["mlp"]) == ["work/tiny/similarities/mlp.seed2.npz"]
    assert run.config["methods"]["mlp.seed2"]["encoder"] == "nmt_autoencoder.seed2"
    metrics = run.metrics(tables["guo2018/table5"])
    assert "work/tiny/metrics/translation/newstest.en-fr/oracle.seed3.en-fr.json" in metrics
    assert "work/tiny/metrics/translation/newstest.en-fr/oracle.seed2.en-fr.json" in metrics
    assert (
        run.config["translations"]["mined_document.seed2.en-fr"]["train"]["mined"]["encoder"]
        == "dan_dual_hard20.seed2.en-fr"
    )
    empty = next(one for one in tables["artetxe2019/table6"] if one.missing(run.config))
    assert [spec["files"] for spec in run.cell(empty)] == [[]]
    counted = next(one for one in tables["artetxe2019/section4"] if one.task == "size" and not one.missing(run.config))
    assert len(run.cell(counted)) == 1
    assert run.config == whole, "asking for paths changes nothing"


def test_cells_say_what_their_corpora_stand_for():
    run = Files(copy.deepcopy(files("small.yaml").config))
    tables = layout.load()
    notes = {run.note(cell) for cell in tables["guo2018/table3"] if not cell.missing(run.config)}
    assert all(note.endswith("the Bible in place of the UN corpus") for note in notes)
    assert "note" not in run.corpus_spec("un.en-fr")
    missing = next(cell for cell in tables["yang2019/table1"] if cell.missing(run.config))
    assert run.note(missing) == missing.missing(run.config)


@dataclass(frozen=True, eq=False)
class Job:
    rule: Any
    number: int


def test_the_rules_of_a_plan():
    """Encoders, one of which learns from negatives that another finds: the edges of their rules lead in a circle."""
    train, encode, table = (SimpleNamespace(name=name) for name in ("train", "encode", "table"))
    rules = (train, encode, train, encode, table)
    first, vectors, second, again, made = (Job(rule, number) for number, rule in enumerate(rules))
    needs = {first: {}, vectors: {first: 1}, second: {vectors: 1}, again: {second: 1}, made: {again: 1, first: 1}}
    dag = SimpleNamespace(jobs=needs, dependencies=needs)
    assert rule_graph(dag) == {
        "jobs": {"encode": 2, "table": 1, "train": 2},
        "steps": {"encode": 1, "table": 4, "train": 0},
        "edges": [("encode", "table"), ("encode", "train"), ("train", "encode"), ("train", "table")],
    }
