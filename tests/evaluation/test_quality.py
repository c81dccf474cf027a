"""Quality and precision without NMT, against scikit-learn and plain loops."""

import itertools
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.cli import main
from bitextbench.evaluation import quality, selections
from bitextbench.evaluation.quality import AP, AUC
from bitextbench.formats import bitext, records
from bitextbench.report import cells, measurements
from bitextbench.report import quality as report
from bitextbench.scoring.similarities.published import published

KINDS = ("parallel", "copy", "salad", "")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-2, 4), st.sampled_from(KINDS)), min_size=2, max_size=40))
def test_metrics_are_those_of_scikit_learn(pairs):
    scores, labels = np.array([s for s, _ in pairs], np.float32), np.array([label for _, label in pairs], object)
    good, known = labels == "parallel", labels != ""
    if not good.any() or good[known].all():
        with pytest.raises(InputError, match="a corpus with labels of good and bad pairs"):
            quality.measure(scores, labels)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quality, "FEW", 1)
        found = quality.measure(scores, labels)
    assert found["unlabelled"] == (~known).sum()
    assert found[AP]["value"] == pytest.approx(100 * average_precision_score(good[known], scores[known]))
    assert found[AUC]["value"] == pytest.approx(100 * roc_auc_score(good[known], scores[known]))
    bad_above, good_above, _ = roc_curve(good[known], scores[known], drop_intermediate=False)
    for share, value in enumerate(found["roc"]):  # the curve through the highest point of each share of bad pairs
        exact = np.flatnonzero(np.isclose(100 * bad_above, share))
        if len(exact):
            assert value == pytest.approx(100 * good_above[exact[-1]], abs=0.01)
    assert found["roc"] == sorted(found["roc"]) == [round(value, 2) for value in found["roc"]]
    for kind in {*labels} - {"parallel", ""}:
        of_kind = good | (labels == kind)
        value = found[f"{AUC}, {kind}"]["value"]
        assert value == pytest.approx(100 * roc_auc_score(good[of_kind], scores[of_kind]))


def test_intervals_hold_what_they_say():
    """Of 60 samples from one population, at least 50 intervals hold its AUC: 95% but for chance (and ties)."""
    rng = np.random.default_rng(1)
    labels = np.array(["parallel", "copy"] * 100, object)
    inside = 0
    for _ in range(60):
        scores = rng.normal(size=200).astype(np.float32) + (labels == "parallel")
        low, high = quality.measure(scores, labels)[AUC]["interval"]
        inside += low <= 100 * 0.76025 <= high  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt 2)
    assert inside >= 50


def test_extremes_and_few_of_a_kind():
    labels = np.array(["parallel"] * 30 + ["copy"] * 20 + ["salad"] * 19, object)
    found = quality.measure(np.arange(69)[::-1].astype(np.float32), labels)
    assert found[AUC]["value"] == found[AP]["value"] == 100
    assert found[AUC]["interval"] == [100, 100]
    assert f"{AUC}, copy" in found
    assert f"{AUC}, salad" not in found  # too few to say
    assert found[f"{AUC}, copy"]["n"] == 50
    assert quality.measure(np.zeros(69, np.float32), labels)[AUC]["value"] == 50
    assert quality.measure(np.where(labels == "parallel", -np.inf, 0).astype(np.float32), labels)[AUC]["value"] == 0


def corpus(folder: Path, texts: list[str], labels: list[str], shards: int = 2) -> Path:
    columns = {"src": texts, "tgt": texts, "doc": [""] * len(texts), "label": labels}
    bitext.write_shards(folder / "corpus", [pa.table(columns)], shards)
    return folder / "corpus"


def save(folder: Path, where: Path, by_id: np.ndarray, name: str = "s") -> list[Path]:
    paths = []
    for path in bitext.shard_paths(where):
        paths.append(folder / f"{name}{path.stem}.npy")
        np.save(paths[-1], by_id.astype(np.float32)[bitext.read_shard(path, ["id"])["id"].to_numpy()])
    return paths


@pytest.fixture
def pool(tmp_path, monkeypatch):
    """100 pairs of 1 to 4 words; good ones score higher, mostly."""
    monkeypatch.setattr(bitext, "BLOCK", 7)
    rng = np.random.default_rng(1)
    labels = [KINDS[i % 3] for i in range(90)] + [""] * 10
    texts = [" ".join(["w"] * (1 + i % 4)) + f"{i}" for i in range(100)]
    where = corpus(tmp_path, texts, labels)
    scores = rng.normal(size=100) + 2 * (np.array(labels) == "parallel")
    return (
        where,
        save(tmp_path, where, scores),
        scores.astype(np.float32),
        np.array(labels, object),
        [1 + i % 4 for i in range(100)],
    )


def test_precision_of_a_selection_equals_a_loop(pool):
    where, paths, scores, labels, words = pool
    found = selections.precision(where, paths, 60, "tgt")
    chosen, total = [], 0
    for i in np.argsort(-scores):
        chosen.append(i)
        total += words[i]
        if total > 60:
            break
    good, known = (sum(words[i] for i in chosen if test(labels[i])) for test in (lambda x: x == "parallel", bool))
    assert found["value"] == pytest.approx(100 * good / known)
    assert (found["words"], found["pairs"]) == (total, len(chosen))
    assert (found["threshold"], found["budget"]) == (scores[chosen[-1]], 60)
    assert found["recall"] == pytest.approx(
        100 * good / sum(w for w, label in zip(words, labels, strict=True) if label == "parallel")
    )
    assert found["interval"][0] < found["value"] < found["interval"][1]
    whole = selections.precision(where, paths, 10**6, "pairs")
    assert (whole["pairs"], whole["words"], whole["threshold"], whole["recall"]) == (100, 100, None, 100)


def test_the_samples_are_those_of_the_seed(pool):
    where, paths, *_ = pool
    one, two = (quality.evaluate(where, paths, seed=seed)[AUC] for seed in (1, 2))
    assert (one["value"], one["seed"], two["seed"]) == (two["value"], 1, 2)
    assert one["interval"] != two["interval"]
    assert selections.precision(where, paths, 60, "tgt", seed=2)["seed"] == 2
    assert {share["seed"] for share in selections.shares(paths, seed=2).values()} == {2}


def test_a_sweep_of_no_pairs_has_no_steps(tmp_path):
    where = corpus(tmp_path, [], [], 1)
    assert selections.sweep(where, {"a": save(tmp_path, where, np.zeros(0))}, "tgt", tmp_path / "s.csv") == []


def test_a_sweep_ends_with_the_whole_pool(pool, tmp_path):
    where, paths, scores, _, words = pool
    selections.sweep(where, {"a": paths, "b": paths[:]}, "tgt", tmp_path / "s.csv")
    rows = [line.split(",") for line in (tmp_path / "s.csv").read_text().splitlines()]
    assert rows[0] == ["method", "threshold", "pairs", "words", "precision", "recall"]
    last = [row for row in rows if row[0] == "a"][-1]
    assert (int(last[2]), int(last[3]), float(last[5])) == (100, sum(words), 100.0)
    assert float(last[1]) == pytest.approx(scores.min(), rel=1e-5)
    for _, threshold, n, *_ in rows[1:]:
        assert int(n) == (scores >= np.float32(threshold)).sum()


def test_a_sweep_takes_the_least_blocks_of_tied_scores_that_reach_each_step(pool, tmp_path):
    where, _, scores, labels, words = pool
    scores, words = scores.round(1), np.array(words)
    steps = selections.sweep(where, {"a": save(tmp_path, where, scores, "tied")}, "tgt", tmp_path / "s.csv")
    good = labels == "parallel"
    expected = []
    for share in range(1, 101):
        for threshold in sorted({*scores.tolist()}, reverse=True):
            taken = scores >= threshold
            if 100 * words[taken].sum() >= share * words.sum():
                break
        right, known = words[taken & good].sum(), words[taken & (labels != "")].sum()
        rates = (round(100 * right / known, 3), round(100 * right / words[good].sum(), 3))
        expected.append(("a", threshold, taken.sum(), words[taken].sum(), *rates))
    assert [tuple(step) for step in steps] == [*dict.fromkeys(expected)]
    (tmp_path / "x").mkdir()
    bare = corpus(tmp_path / "x", ["a", "b c"], ["", ""], 1)
    [first, last] = selections.sweep(bare, {"b": save(tmp_path, bare, np.arange(2))}, "tgt", tmp_path / "s.csv")
    assert (first, last) == (("b", 1.0, 1, 2, None, None), ("b", 0.0, 2, 3, None, None))


def test_distributions(pool, tmp_path):
    where, paths, scores, _, _ = pool
    methods = {"cosine": paths, "mlp": save(tmp_path, where, 100 * scores, "m")}
    selections.distribution(methods, ["mlp"], tmp_path / "d.csv")
    rows = np.genfromtxt(tmp_path / "d.csv", delimiter=",", names=True)
    assert rows["rank"].tolist() == [*range(101)]
    assert (rows["cosine"][0], rows["cosine"][-1]) == (0, 1)
    assert rows["cosine"][50] == pytest.approx((np.median(scores) - scores.min()) / np.ptp(scores), abs=1e-5)
    assert (np.diff(rows["mlp"]) >= 0).all()
    assert selections.read_distribution(tmp_path / "d.csv")["mlp"].to_numpy() == pytest.approx(rows["mlp"])
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"other\.csv: not a distribution of scores"):
        selections.read_distribution(tmp_path / "other.csv")
    p = 1 / (1 + np.exp(-np.clip(100 * scores.astype(float), -700, 700)))
    shares = selections.shares(methods["mlp"])
    assert shares["zero"]["value"] == pytest.approx(100 * (p < 0.005).mean())
    assert shares["near_one"]["value"] == pytest.approx(100 * (p >= 0.99).mean())


def test_pairs_that_no_method_scores_are_in_no_share(tmp_path):
    np.save(tmp_path / "s.npy", np.array([-np.inf, 9, -9, np.inf, 0], np.float32))
    shares = selections.shares([tmp_path / "s.npy"])
    assert [(shares[name]["value"], shares[name]["n"]) for name in ("zero", "near_one")] == [
        (pytest.approx(100 / 3), 3)
    ] * 2
    np.save(tmp_path / "s.npy", np.full(2, -np.inf, np.float32))
    with pytest.raises(InputError, match=r"s\.npy: no finite score"):
        selections.shares([tmp_path / "s.npy"])


def test_precision_without_a_good_pair_is_0(tmp_path):
    where = corpus(tmp_path, ["a", "b c"], ["copy", ""], 1)
    found = selections.precision(where, save(tmp_path, where, np.arange(2)), 1, "tgt")
    assert (found["value"], found["recall"], found["words"]) == (0, 0, 2)


def test_bad_scores_and_no_labels(pool, tmp_path):
    where, paths, *_ = pool
    for run in (
        lambda given: quality.evaluate(where, given),
        lambda given: selections.precision(where, given, 5, "tgt"),
    ):
        with pytest.raises(InputError, match=r"\d+ scores for \d+, \d+ pairs; give the scores of each shard"):
            run(paths[:1])
    (tmp_path / "x").mkdir()
    bare = corpus(tmp_path / "x", ["a", "b"], ["", ""], 1)
    with pytest.raises(InputError, match="no pair has a label"):
        selections.precision(bare, save(tmp_path / "x", bare, np.zeros(2)), 5, "tgt")


def test_the_table(pool, tmp_path):
    where, paths, *_ = pool
    for name in ("cosine", "random"):
        write_json(tmp_path / f"{name}.json", quality.evaluate(where, paths))
    specs = [
        {"row": "human", "column": name, "files": [str(tmp_path / f"{name}.json")]} for name in ("random", "cosine")
    ]
    other = read_json(tmp_path / "cosine.json")
    write_json(tmp_path / "seed2.json", other | {"roc": [0.0] * 101})
    specs.append({"row": "human", "column": "cosine", "files": [str(tmp_path / "seed2.json")], "seed": 2})
    arguments = [f"--cell={json.dumps(spec)}" for spec in specs]
    out, roc = (tmp_path / name for name in ("q.csv", "roc.csv"))
    command = [
        "step",
        "quality-table",
        *arguments,
        "--scale",
        "tiny",
        "--roc",
        str(roc),
        "--measurements",
        str(tmp_path / "measurements.json"),
        "-o",
        str(out),
    ]
    done = CliRunner().invoke(main.cli, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    lines = cells.read(out)
    assert [(line.column, line.seeds) for line in lines] == [("random", "1"), ("cosine", "1 2")] * 4
    assert [line.row for line in lines][::2] == [
        f"human: {name}" for name in (AP, AUC, f"{AUC}, copy", f"{AUC}, salad")
    ]
    place, measured = measurements.load(tmp_path / "measurements.json")
    assert place == "quality"
    assert [one.seed for one in measured] == [1] * 8 + [2] * 4
    value = read_json(tmp_path / "random.json")[AUC]
    assert lines[2].ours == pytest.approx(value["value"], abs=0.006)
    assert lines[2].note == "30 good pairs, 60 bad"
    points = records.read(roc, report.Point, "a table of ROC curves")
    assert [(point.method, point.bad) for point in points] == list(itertools.product(("random", "cosine"), range(101)))
    first_seeds = [read_json(tmp_path / f"{name}.json")["roc"] for name in ("random", "cosine")]
    assert [point.good for point in points] == list(itertools.chain(*first_seeds))
    shown = CliRunner().invoke(main.cli, ["show", str(out)], catch_exceptions=False)
    assert "random" in shown.output
    with pytest.raises(InputError, match="is given twice"):
        report.table(specs[:1] * 2, "tiny", out, roc)


ROW = "u\tv\t{en}\t{de}\t0.5\t{zipporah}\t0.9\t{label}\t"


@pytest.fixture
def human(tmp_path, monkeypatch):
    """A corpus of three labelled pairs and the file that they come from."""
    raw = tmp_path / "raw"
    raw.mkdir()
    rows = [("Hello", "Hallo", "1.5", "V"), ("A", "B", "-2", "MT"), ("C", "D", "0", "F"), ("Hello", "Hallo", "9", "A")]
    text = "".join(ROW.format(en=en, de=de, zipporah=z, label=label) + "\n" for en, de, z, label in rows)
    (raw / "sorted.en-de").write_text(text, encoding="utf-8")
    columns = {
        "src": ["D", "Hallo", "B"],
        "tgt": ["C", "Hello", "A"],
        "doc": [""] * 3,
        "label": ["parallel", "parallel", "machine"],
    }
    bitext.write_shards(tmp_path / "corpus", [pa.table(columns)], 1)
    return tmp_path / "corpus/00000.parquet", raw


def test_published_scores(human, tmp_path):
    shard, raw = human
    name, out = "paracrawl-human-eval-v3.de-en", tmp_path / "s.npy"
    published(shard, name, "zipporah", ("de", "en"), raw, out)
    assert np.load(out).tolist() == [0, 1.5, -2]
    published(shard, name, "label", ("de", "en"), raw, out)
    assert np.load(out).tolist() == [1, 1, 0]
    with pytest.raises(InputError, match="no column 'ziporah'; did you mean zipporah"):
        published(shard, name, "ziporah", ("de", "en"), raw, out)
    (raw / "sorted.en-de").write_text(ROW.format(en="C", de="D", zipporah="x", label="V") + "\n")
    with pytest.raises(InputError, match="1: score 'x' is not a number"):
        published(shard, name, "zipporah", ("de", "en"), raw, out)
    (raw / "sorted.en-de").write_text(ROW.format(en="C", de="D", zipporah="1", label="V") + "\n")
    with pytest.raises(InputError, match=f"pair 2 is not in {name}"):
        published(shard, name, "zipporah", ("de", "en"), raw, out)
