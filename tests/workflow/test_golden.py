"""Comparison with a golden run: what differs, from which stage on, and what a machine may not differ in."""

import json

import golden
import pytest


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a few files in tmp_path, and its golden file."""
    held = {
        "corpus/pool/counts.json": "{}",
        "encoders/gru/model.pt": "1",
        "encoders/gru/curve.csv": "update,learning_rate,src,valid\n10,1,8.0,\n20,1,4.0,0.5\n",
        "encoders/gru/training.json": '{\n "cpu_seconds": 1,\n "valid": 0.5\n}',
        "encoders/gru/curve.png": "a picture",
        "selected/mlp.10M/1/selection.json": '{"words": 10, "words_by_label": {"parallel": 6}}',
        "selected/mlp.10M/2/selection.json": '{"words": 10, "words_by_label": {"parallel": 8}}',
        "metrics/bleu/mlp.10M/1-2/1/test.json": '{"value": 20}',
        "metrics/bleu/mlp.10M/1-2/2/test.json": '{"value": 28}',
    }
    for name, text in held.items():
        path = tmp_path / "work/few" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(golden, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    golden.write(golden.make(tmp_path, "few"), tmp_path / "tests/golden/few.json")
    return tmp_path


def test_ranges_are_of_all_seeds_of_a_cell(run):
    ranges = json.loads((run / "tests/golden/few.json").read_text())["ranges"]
    assert ranges == {
        "bleu metrics/bleu/mlp.10M/test.json": [12, 36],
        "dev encoders/gru/training.json": [0.4, 0.6],
        "loss encoders/gru/src": [3.6, 4.4],
        "precision selected/mlp.10M/selection.json": [0.4, 1.0],
    }


def test_clocks_pictures_and_what_else_was_made_count_for_nothing(run):
    (run / "work/few/encoders/gru/training.json").write_text('{\n "cpu_seconds": 2,\n "valid": 0.5\n}')
    (run / "work/few/encoders/gru/curve.png").write_text("another")
    (run / "work/few/corpus/more").mkdir()
    (run / "work/few/corpus/more/counts.json").write_text("{}")
    found = golden.check(run, "few")
    assert not found.broken()
    assert str(found) == "the same bytes: all 6 entries"


@pytest.mark.parametrize(("flags", "broken"), [({"avx2", "fma"}, ["encoders/gru/"]), ({"sse2"}, [])])
def test_another_model_breaks_the_promise_where_there_are_avx2_and_fma(run, monkeypatch, flags, broken):
    (run / "work/few/encoders/gru/model.pt").write_text("2")
    monkeypatch.setattr(golden, "cpu_flags", lambda: flags)
    found = golden.check(run, "few")
    assert found.broken() == broken
    assert str(found).splitlines()[0] == "encoders: 1 of 1 differ"
    assert str(found).splitlines()[-1] == (
        "bytes part at encoders (encoders/gru/); every selection is the same; all values in range"
    )


def test_what_is_missing_or_out_of_range_breaks_it_anywhere(run, monkeypatch):
    (run / "work/few/corpus/pool/counts.json").unlink()
    (run / "work/few/metrics/bleu/mlp.10M/1-2/2/test.json").write_text('{"value": 40}')
    monkeypatch.setattr(golden, "cpu_flags", set)
    found = golden.check(run, "few")
    value = "bleu metrics/bleu/mlp.10M/test.json: [20, 40] out of 12 to 36"
    assert found.broken() == ["corpus/pool/", value]
    assert str(found).splitlines()[:3] == ["corpus: 1 of 1 differ", "metrics: 1 of 2 differ", value]
    assert str(found).endswith("; every selection is the same; 1 values out of range")


@pytest.mark.parametrize(("entry", "seed"), [
    ("encoders/nmt_autoencoder/", 1), ("encoders/nmt_autoencoder.seed3/", 3), ("selected/mlp.10M/4/", 4), ("nmt/mlp.10M/data/2/data-bin/", 2),
    ("nmt/mlp.100M/5/", 5), ("similarities/mlp.seed2.npz", 2), ("corpus/pool/", 1), ("metrics/bleu/random.10M/3/", 3),
])  # fmt: skip
def test_seeds_of_entries(entry, seed):
    assert golden.seed_of(entry) == seed


def test_the_folder_of_a_batch_of_seeds_is_not_looked_at(tmp_path):
    for batch in ("1", "1-2-3"):
        (tmp_path / batch / "work/few/nmt/mlp.10M" / batch / "1").mkdir(parents=True)
        (tmp_path / batch / "work/few/nmt/mlp.10M" / batch / "1/model.pt").write_text("x")
    assert golden.files(tmp_path / "1", "few") == golden.files(tmp_path / "1-2-3", "few")
    assert [*golden.files(tmp_path / "1", "few")] == ["nmt/mlp.10M/1/"]
