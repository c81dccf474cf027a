"""Quality, precision, curves and kim2019 table 5 through the workflow: what is planned, and one small run."""

import pytest
from checkout import copy_checkout, jobs, laid_over, snakemake

from bitextbench.base.json_yaml import read_json
from bitextbench.report.cells import read

OVERLAY = """
language_models: {own: {corpora: [bitext, pivot_src], lines: 800}}
corpora:
  labelled: {parts: [{generated: labelled, lines: 400, label: parallel}], noise: {seed: 2}, filter: {language: own}, deduplicate: {memory: 1}}
quality: {corpora: {labelled: []}}
methods: {negatives: {negatives: {portions: [random, 0.6]}}}
studies: {thresholds: {translation: filtered_confidence.en-fr, shares: [0.5, 1]}}  # micro has no translation model of German
"""


@pytest.fixture
def checkout(tmp_path):
    return copy_checkout(tmp_path)


def test_table_5_is_planned_at_paper_scale(checkout):
    planned = jobs(snakemake("--profile", "slurm", "-n", "results/kim2019/table5.csv", cwd=checkout).stdout)
    assert planned["fit_similarity"] == 6  # portions
    assert planned["nmt_train"] == planned["validation_bleu"] == 6  # portions; one seed
    assert planned["kim2019_table5"] == 1


def test_human_labels_are_planned_for_another_language(checkout):
    overlays = ("--configfile", "config/small.yaml", "config/small-fr.yaml")
    command = ("--profile", "profiles/small", *overlays, "-n", "--", "results/small-fr/quality.csv")
    planned = jobs(snakemake(*command, cwd=checkout).stdout)
    assert planned["quality"] == 3 * 5 * 3 + 6  # releases, scorers and seeds; published scores
    assert planned["published_scores"] == 6
    assert "nmt_train" not in planned


def test_studies_of_the_tiny_run_need_no_download_and_no_nmt(checkout):
    overlays = ("--configfile", "config/tiny.yaml", "config/studies.yaml")
    targets = [
        f"results/tiny/{name}.csv" for name in ("quality", "precision", "sweep", "distribution", "kim2019/figure3")
    ]
    planned = jobs(snakemake("--profile", "profiles/tiny", *overlays, "-n", "--", *targets, cwd=checkout).stdout)
    assert planned["selection_precision"] == (6 + 6) * 2  # curves and portions, budgets
    assert not {"fetch", "nmt_train", "select"} & planned.keys()
    usual = jobs(snakemake("--profile", "profiles/tiny", "-n", "-F", "results/tiny/audit.csv", cwd=checkout).stdout)
    added = {
        "quality",
        "selection_precision",
        "sweep",
        "distribution",
        "language_model",
    }
    assert not added & usual.keys()  # `make tiny` does none of this


def test_a_translation_model_is_planned_for_each_threshold(checkout):
    target = "results/tiny/artetxe2019/figure2.csv"
    overlays = ("--configfile", "config/tiny.yaml", "config/studies.yaml")
    planned = jobs(snakemake("--profile", "profiles/tiny", *overlays, "-n", "--", target, cwd=checkout).stdout)
    assert planned["translation_train"] == planned["development_bleu"] == planned["select_pairs"] == 3
    assert planned["score"] == 2  # shards of one pool


@pytest.mark.slow
def test_a_run_of_all_of_it(checkout):
    pytest.importorskip("fasttext")
    (checkout / "own.yaml").write_text(OVERLAY)
    overlays = ("config/tiny.yaml", "tests/micro.yaml", "config/studies.yaml", "own.yaml")
    targets = [
        f"results/micro/{name}.csv" for name in ("quality", "precision", "sweep", "distribution", "kim2019/figure3")
    ]
    snakemake(*laid_over(*overlays), *targets, cwd=checkout)
    quality = {(line.row, line.column): line for line in read(checkout / targets[0])}
    assert {scorer for _, scorer in quality} == {"random", "cosine", "mlp", "margin", "zipporah"}
    for corpus in ("pool", "labelled"):
        random, zipporah = (quality[f"{corpus}: ROC-AUC", scorer] for scorer in ("random", "zipporah"))
        assert abs(random.ours - 50) < 10
        assert zipporah.low > random.high
    precision = {(line.row, line.column): line.ours for line in read(checkout / targets[1])}
    assert precision["oracle", "10M words"] == 100
    assert precision["negatives-worst60", "10M words"] == precision["mlp", "10M words"]  # the same model
    assert {line.row for line in read(checkout / targets[4]) if line.ours is not None} == {
        "mlp-zero",
        "mlp-near-one",
    }
    accuracy = read_json(checkout / "work/micro/languages/own.json")
    assert accuracy["this model"]["value"] > 90
    counts = read_json(checkout / "work/micro/corpus/labelled/counts.json")
    assert counts["alone"]["language"] >= counts["dropped"]["language"] > 0
