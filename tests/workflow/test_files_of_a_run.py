"""Where a run keeps what, and what is made from what."""

from functools import cache
from pathlib import Path

import pytest

from bitextbench.config import laid_over, read, resolve
from bitextbench.workflow import Files, batches, datasets

ROOT = Path(__file__).parents[2]


@cache
def files(*overlays: str) -> Files:
    return Files(resolve(read([ROOT / "config.yaml"], [ROOT / "config" / name for name in overlays])))


def test_a_file_for_each_shard():
    paper, tiny = files(), files("tiny.yaml")
    assert (paper.results, tiny.results) == ("results", "results/tiny")
    assert len(paper.tokens("pool", "valid")) == 64 + 1
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
    rows = 4000000 + 8000000
    assert run.table_megabytes("dan_dual") == int(3 * 2 * 4e-6 * rows * 320)


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
