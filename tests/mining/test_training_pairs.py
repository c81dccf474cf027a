"""Mined pairs, joined text, tuned confidence: what NMT models of tables.yaml's `translation` cells are trained on."""

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from checkout import copy_checkout, jobs, snakemake
from generated import plain_model
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from bitextbench.base.errors import InputError
from bitextbench.config.studies import scorers
from bitextbench.evaluation.agreement import agreement
from bitextbench.evaluation.bleu import bleu, tokenised
from bitextbench.formats import bitext
from bitextbench.formats.vectors import Embeddings
from bitextbench.mining import corpora
from bitextbench.nmt import training_text
from bitextbench.scoring import Pairs
from bitextbench.scoring.similarities import confidence

PAIR = ("en", "fr")
FORWARD = {"similarity": "cosine", "retrieval": "forward"}


def corpus(folder, src, tgt, doc=None):
    columns = {"src": src, "tgt": tgt, "doc": doc or [""] * len(src), "label": [""] * len(src)}
    bitext.write_shards(folder, [pa.table(columns)], 1)
    return folder


def run(folder, spec, src=None, tgt=None, **more):
    out = folder / "mined"
    vectors = tuple(Embeddings(np.asarray(side, np.float32)) for side in (src, tgt))
    corpora.mine(folder / "c", folder / "c", vectors, PAIR, spec, out, **more)
    lines = [(out / f"train.{code}").read_text().splitlines() for code in PAIR]
    return list(zip(*lines, strict=True)), json.loads((out / "selection.json").read_text())


def test_pairs_are_those_of_the_vectors_and_right_if_the_corpus_has_them(tmp_path):
    """Row 1 finds the copy of its target in row 0, which is right by its text; row 3 finds the wrong one."""
    corpus(tmp_path / "c", ["a", "a2", "c", "d"], ["A", "A", "C", "D"])
    e = np.eye(4)
    src, tgt = [e[0], e[0], e[2], e[2] + 0.1 * e[3]], [e[0], e[0], e[2], e[3]]
    pairs, known = run(tmp_path, FORWARD, src, tgt)
    assert sorted(pairs) == [("a", "A"), ("a2", "A"), ("c", "C"), ("d", "C")]
    assert (known["precision"]["value"], known["pairs"], known["retrieved"]) == (75, 4, 4)
    pairs, known = run(tmp_path, FORWARD | {"threshold": 0.999}, src, tgt)
    assert ("d", "C") not in pairs
    assert (known["pairs"], known["below_threshold"], known["precision"]["value"]) == (3, 1, 100)
    pairs, _ = run(tmp_path, FORWARD | {"retrieval": "backward"}, src, tgt)
    assert sorted(pairs) == [("a", "A"), ("a2", "A"), ("c", "C"), ("d", "D")]  # each copy with its own


def test_rules_drop_pairs_and_count_them(tmp_path):
    corpus(tmp_path / "c", ["same", "a"], ["Same", "A b"])
    pairs, known = run(tmp_path, FORWARD | {"filter": {"different": True}}, np.eye(2), np.eye(2))
    assert pairs == [("a", "A b")]
    assert (known["pairs"], known["dropped"]) == (1, {"different": 1})
    with pytest.raises(InputError, match=r"no pair is left .*lower the threshold"):
        run(tmp_path, FORWARD | {"threshold": 2.0}, np.eye(2), np.eye(2))
    with pytest.raises(InputError, match="2 pairs for the 3 vectors"):
        run(tmp_path, FORWARD, np.eye(3), np.eye(3))
    with pytest.raises(InputError, match="documents are aligned by a calibrated confidence; name a dan_dual"):
        run(tmp_path, {"similarity": "dot", "documents": True}, np.eye(2), np.eye(2))


def test_the_threshold_is_of_the_calibrated_confidence(tmp_path):
    """Dots of 3 and -1: 0.95 and 0.27."""
    corpus(tmp_path / "c", ["a", "b"], ["A", "B"])
    model = plain_model(tmp_path / "m.pt", 2)
    spec = {"similarity": "dot", "retrieval": "forward", "threshold": 0.5}
    pairs, known = run(tmp_path, spec, [[3, 0], [-1, -2]], [[1, 0], [1, 0]], model=model)
    assert pairs == [("a", "A")]
    assert (known["retrieved"], known["below_threshold"]) == (2, 1)


def test_documents_are_matched_first_and_keep_the_order_of_their_sentences(tmp_path):
    """Sentences 0 and 3 are alike; each belongs to the document of its neighbours. Row 2 of a document has nothing
    beside it.
    """
    names = ["x"] * 3 + ["y"] * 3
    corpus(tmp_path / "c", ["a", "b", "c", "d", "e", "f"], ["A", "B", "C", "D", "E", "F"], names)
    e = 4 * np.eye(6)
    src = [e[0], e[1], e[2], e[0], e[4], e[5]]
    tgt = [e[0], e[1], -e[2], e[0], e[4], e[5]]
    model = plain_model(tmp_path / "m.pt", 6)
    spec = {"similarity": "dot", "documents": True, "threshold": 0.6}
    pairs, known = run(tmp_path, spec, src, tgt, model=model)
    assert pairs == [("a", "A"), ("b", "B"), ("d", "D"), ("e", "E"), ("f", "F")]
    assert known["precision"]["value"] == 100


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(0, 4), st.integers(1, 4)), elements=st.integers(-3, 3).map(float)))
def test_the_best_monotone_alignment(gains):
    n, m = gains.shape
    best = max(
        sum(gains[i, j] for i, j in zip(left, right, strict=True))
        for size in range(min(n, m) + 1)
        for left in combinations(range(n), size)
        for right in combinations(range(m), size)
    )
    i, j = corpora.monotone(gains)
    assert gains[i, j].sum() == best
    assert (np.diff(i) > 0).all()
    assert (np.diff(j) > 0).all()
    assert (gains[i, j] > 0).all()


def test_text_is_joined_and_says_what_is_in_it(tmp_path):
    selection = tmp_path / "selected"
    selection.mkdir()
    for code in PAIR:
        (selection / f"train.{code}").write_text(f"{code} 1\n{code} 2\n{code} 3\n{code} 4\n")
    (selection / "selection.json").write_text('{"words_by_label": {"parallel": 3, "copy": 1}}')
    whole = corpus(tmp_path / "c", ["en 5"], ["fr 5"])
    training_text.join([selection], {"whole": whole}, PAIR, tmp_path / "out")
    assert (tmp_path / "out/train.fr").read_text().splitlines() == [f"fr {i}" for i in range(1, 6)]
    known = json.loads((tmp_path / "out/selection.json").read_text())
    assert (known["pairs"], known["parts"], known["precision"]["value"]) == (5, {"selected": 4, "whole": 1}, 75)
    (selection / "train.fr").write_text("fr 1\n")
    with pytest.raises(InputError, match="4 and 1 lines"):
        training_text.join([selection], {}, PAIR, tmp_path / "out")


def test_a_confidence_learns_what_other_scores_find_extreme(tmp_path, monkeypatch):
    """Good pairs have a dot product of 1 or more, which the encoder's own confidence does not see as 0.5."""
    rng = np.random.default_rng(1)
    src = rng.normal(size=(2000, 8)).astype(np.float32)
    good = np.arange(2000) < 400
    tgt = np.where(good[:, None], src, rng.normal(size=(2000, 8))).astype(np.float32)
    scores = np.where(good, 1 + rng.random(2000), rng.random(2000)).astype(np.float32)
    model, tuned = plain_model(tmp_path / "m.pt", 8), tmp_path / "tuned.npz"
    monkeypatch.setattr(confidence, "UPDATES", 600)
    spec = {"best": 0.1, "worst": 0.5}
    confidence.tune(model, Embeddings(src), Embeddings(tgt), scores, spec, 1, tuned)
    before, after = (confidence.score(Pairs(np.arange(2000), src, tgt), path) for path in (model, tuned))
    assert ((after > 0) == good).mean() > ((before > 0) == good).mean() + 0.1
    found = agreement(model, tuned, Embeddings(src), Embeddings(tgt), scores, spec, 1)
    rows, best, held = confidence.extremes(scores, **spec, seed=1)
    assert (len(rows), best.sum(), held) == (400, 200, 40)
    few = confidence.extremes(scores[:7], **spec, seed=1)
    assert (len(few.rows), int(few.good.sum()), few.held) == (2, 1, 1)
    least = confidence.extremes(np.array([0.5, 0.1, 0.9], np.float32), best=0.01, worst=0.01, seed=1)
    assert (sorted(least.rows), least.rows[least.good].tolist()) == ([1, 2], [2])
    overlapping = confidence.extremes(scores[:10], best=0.7, worst=0.6, seed=1)
    assert (int(overlapping.good.sum()), len(set(overlapping.rows)), len(overlapping.rows)) == (7, 10, 10)
    assert set(scores[rows[best]]) == set(np.sort(scores)[-200:])
    assert scores[rows[~best]].max() <= np.median(scores)
    for name, logits in (("untuned", before), ("tuned", after)):
        assert found[name]["value"] == pytest.approx(100 * ((logits > 0)[rows] == best)[:held].mean())
    pearson = stats.pearsonr(1 / (1 + np.exp(-before)), scores)
    assert found["correlation"]["value"] == pytest.approx(pearson.statistic, abs=1e-4)
    assert found["correlation"]["interval"] == pytest.approx([*pearson.confidence_interval()], abs=1e-4)
    monkeypatch.setattr(confidence, "UPDATES", 20)
    bytes_of_two = set()
    for _ in range(2):
        confidence.tune(model, Embeddings(src), Embeddings(tgt), scores, spec, 1, tuned)
        bytes_of_two.add(tuned.read_bytes())
    assert len(bytes_of_two) == 1
    with pytest.raises(InputError, match="3 scores for 2,000 and 2,000 vectors"):
        confidence.tune(model, Embeddings(src), Embeddings(tgt), scores[:3], spec, 1, tuned)
    with pytest.raises(InputError, match="is for vectors of 8 dimensions, not 5"):
        confidence.calibrated(tuned, 5)


def test_tokenised_bleu_is_that_of_moses_tokens():
    """ "l'eau" is one token of 13a and two of Moses; without a common 4-gram multi-bleu.perl gives 0."""
    hypotheses, references = ["Il boit l'eau froide ici.", "Oui."], ["Il boit l'air froid ici.", "Oui."]
    assert tokenised(references, references, "fr")["value"] == pytest.approx(100)
    found = tokenised(hypotheses, references, "fr")
    assert (found["sys_len"], bleu(hypotheses, references, "fr")["sys_len"]) == (9, 8)
    assert found["value"] == 0
    assert "tok:none|smooth:none" in found["signature"]


def test_methods_of_other_languages_do_not_score_the_pool():
    methods = {
        "cosine": {"similarity": "cosine"},
        "c.en-fr": {"similarity": "cosine", "pair": {"src": "en", "tgt": "fr"}},
    }
    assert scorers({"methods": methods}) == ["cosine"]


def test_all_tables_of_mined_text_are_planned_at_paper_scale(tmp_path):
    places = ("guo2018/table5", "guo2018/table6", "yang2019/table3", "artetxe2019/table5", "artetxe2019/table6")
    command = ("--profile", "slurm", "-n", *(f"results/{place}.csv" for place in places))
    planned = jobs(snakemake(*command, cwd=copy_checkout(tmp_path)).stdout)
    assert planned["mine_corpus"] == 2 * 4  # pairs; by sentences and documents, forward and backward
    assert planned["select_pairs"] == 2 * 2 + 2
    assert planned["translation_train"] == planned["translation"] == 2 * (5 + 2) + 4
    assert planned["tune_confidence"] == 2
    assert planned["translation_significance"] == 1  # of yang2019 table 3, both languages
    assert "nmt_train" not in planned
