"""The trainer: batches, schedule, overfitting, exact resume after kill -9, any number of threads."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench import encoders
from bitextbench.base import sources
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256
from bitextbench.config.schema import check_encoder
from bitextbench.encoders import batches, distributed, trainer
from bitextbench.encoders.batches import Buckets, SentenceIds
from bitextbench.formats.ids import Ragged

V = 40


def cipher(folder: Path, name: str, count: int, seed: int = 1, longest: int = 8) -> Path:
    """A bitext of two toy languages: the target is the source reversed, each word exchanged by a permutation."""
    rng = np.random.default_rng(seed)
    exchange = 4 + np.random.default_rng(0).permutation(V - 4)
    rows = [rng.integers(4, V, rng.integers(2, longest + 1)) for _ in range(count)]
    Ragged.of(rows).save(folder / f"{name}.src")
    Ragged.of(exchange[row[::-1] - 4] for row in rows).save(folder / f"{name}.tgt")
    return folder / name


def spec(model: dict | None = None, **training) -> dict:
    return {
        "type": "nmt_autoencoder",
        "model": {"embedding": 32, "hidden": 64, **(model or {})},
        "training": {
            "batch": 32,
            "updates": 30,
            "log_every": 10,
            "valid_every": 10,
            "checkpoint_every": 7,
            "precision": "fp32",
            **training,
        },
    }


# ---- batches


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20), st.integers(1, 5))
def test_every_example_once_an_epoch_and_any_batch_at_any_time(lengths, size):
    columns = [SentenceIds([Ragged.of([i + 4] * pair[side] for i, pair in enumerate(lengths))]) for side in (0, 1)]
    good = [i for i, pair in enumerate(lengths) if min(pair) > 0 and max(pair) <= 7]
    if not good:
        with pytest.raises(InputError, match="toy: nothing to train on"):
            Buckets(columns, size, 7, [1], "toy")
        return
    stream = Buckets(columns, size, 7, [1], "toy")
    assert len(stream) == len(good)
    assert stream.dropped["empty"] == sum(min(pair) == 0 for pair in lengths)
    assert sum(stream.dropped.values()) + len(stream) == len(lengths)
    batches = [stream.batch(step) for step in range(stream.chunk // size * len(good))]  # `chunk` epochs
    for src, tgt in batches:
        assert len(src.ids) == len(tgt.ids) == size
        assert src.ids[:, 0].tolist() == tgt.ids[:, 0].tolist()  # a pair stays a pair
    drawn = np.concatenate([src.ids[:, 0].numpy() for src, _ in batches])
    assert np.bincount(drawn, minlength=24)[[i + 4 for i in good]].tolist() == [stream.chunk] * len(good)
    again = Buckets(columns, size, 7, [1], "toy")
    for step in (len(batches) - 1, 0):  # a run that goes on does not start at 0
        assert torch.equal(again.batch(step)[0].ids, batches[step][0].ids)


def test_a_batch_holds_sentences_of_about_one_length():
    rng = np.random.default_rng(1)
    rows = SentenceIds([Ragged.of([5] * n for n in rng.integers(1, 31, 6000))])
    stream = Buckets([rows], 60, 60, [1], "toy")
    spread = [int(lengths.max() - lengths.min()) for _, lengths, _ in (stream.batch(step)[0] for step in range(100))]
    assert max(spread) <= 2
    first = [int(stream.batch(step)[0].lengths[0]) for step in range(100)]
    assert first != sorted(first)  # but the batches come in random order


def test_even_batches_have_about_as_many_tokens_and_every_example_once():
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(3.2, 0.7, 6000), 1, 100).astype(int)
    rows = SentenceIds([Ragged.of([5] * n for n in lengths)])
    stream = Buckets([rows, rows], 60, 100, [1], "toy", even=True)
    drawn = [stream.rows(step) for step in range(100)]
    assert sorted(np.concatenate(drawn).tolist()) == [*range(6000)]
    tokens = np.array([(lengths[part] + 1).sum() for part in drawn])
    assert np.ptp(tokens) <= 2 * 101
    assert len({len(part) for part in drawn}) > 10
    padded = [stream.batch(step)[1].ids.numel() for step in range(100)]
    assert max(padded) < 1.2 * tokens.mean()
    few = SentenceIds([Ragged.of([[5] * 99, *[[5]] * 5])])  # a sentence is longer than the share of a batch
    assert [len(Buckets([few], 2, 100, [1], "toy", even=True).rows(step)) for step in range(3)] == [2, 2, 2]


def test_unequal_sides_are_an_error():
    with pytest.raises(InputError, match="bitext: unequal sides: 1 and 2 sentences; run the text step again"):
        Buckets([SentenceIds([Ragged.of([[5]])]), SentenceIds([Ragged.of([[5], [6]])])], 1, 60, [1], "bitext")


# ---- the schedule and the update


def test_the_papers_schedule():
    rate = trainer.Training().rate
    expected = {0: 1.0, 99_999: 1.0, 149_999: 1.0, 150_000: 0.9, 199_999: 0.9, 200_000: 0.81, 800_000: 0.9**14}
    assert {update: rate(update) for update in expected} == pytest.approx(expected)


def test_the_schedules_of_guo_and_yang_and_a_warmup():
    guo = trainer.Training(learning_rate=0.01, decay_after=0, decay_every=5_000_000, decay_factor=0.96).rate
    assert [guo(n) for n in (0, 4_999_999, 5_000_000, 49_999_999)] == pytest.approx(
        [0.01, 0.01, 0.0096, 0.01 * 0.96**9]
    )
    yang = trainer.Training(learning_rate=0.003, decay_after=0, decay_every=33_000_000, decay_factor=0.1).rate
    assert [yang(n) for n in (0, 32_999_999, 33_000_000, 39_999_999)] == pytest.approx([0.003, 0.003, 0.0003, 0.0003])
    rising = trainer.Training(learning_rate=2.0, warmup=4).rate
    assert [rising(n) for n in range(6)] == [0.5, 1.0, 1.5, 2.0, 2.0, 2.0]


def test_clipping_is_that_of_torch():
    torch.manual_seed(1)
    layers = [torch.nn.Linear(5, 7) for _ in range(2)]
    parameters = [p for layer in layers for p in layer.parameters()]
    (layers[0](torch.ones(2, 5)).sum() ** 2).backward()  # the second layer has no gradient
    norm = trainer.gradient_norm([p.grad for p in parameters if p.grad is not None])
    assert float(norm) == pytest.approx(torch.nn.utils.clip_grad_norm_(parameters, 1e9).item())


def test_sgd_moves_by_rate_times_clipped_gradient():
    torch.manual_seed(1)
    model = encoders.create(spec(), V)
    rows = SentenceIds([Ragged.of([[5, 6, 7], [8, 9]])]).padded(np.arange(2))
    before = trainer.plain(model)
    training = trainer.Training(learning_rate=0.5, clip=0.25)
    optimizer = torch.optim.SGD(model.parameters(), lr=9.0)
    run = trainer.Updates(model=model, optimizer=optimizer, training=training)
    trainer.step(run, {"nmt": (rows, rows), "autoencoding": (rows,)}, 0)
    after = trainer.plain(model)
    moved = np.sqrt(sum(((after[k] - before[k]).double() ** 2).sum().item() for k in after))
    assert moved == pytest.approx(0.5 * 0.25, rel=1e-4)


# ---- whole runs


def test_overfits_64_pairs(tmp_path: Path):
    data = [cipher(tmp_path, "pairs", 64)]
    training = {"optimizer": "adam", "learning_rate": 0.01, "updates": 100, "batch": 64, "valid_every": 100}
    found = trainer.train(
        spec(**training), V, {"bitext": data, "valid": data}, tmp_path / "model.pt", tmp_path / "kept"
    )
    assert found["valid"] > 0.9  # nothing trains vectors to be near; chance is 1 in 64
    with open(tmp_path / "curve.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == ["update", "learning_rate", "nmt", "autoencoding", "valid"]
    for loss in ("nmt", "autoencoding"):
        assert float(rows[-1][loss]) < float(rows[0][loss]) / 50
    assert rows[-1]["valid"] == f"{found['valid']:.6g}"
    assert not (tmp_path / "kept" / "last.pt").exists()


def test_bf16_learns_as_well(tmp_path: Path):
    data = [cipher(tmp_path, "pairs", 64)]
    training = {"optimizer": "adam", "learning_rate": 0.01, "updates": 100, "batch": 64, "precision": "bf16"}
    found = trainer.train(
        spec(**training), V, {"bitext": data, "valid": data}, tmp_path / "model.pt", tmp_path / "kept"
    )
    assert found["valid"] > 0.9


def test_monolingual_text_and_what_was_left_out_are_counted(tmp_path: Path, capsys):
    data = {"bitext": [cipher(tmp_path, "a", 20), cipher(tmp_path, "b", 10, seed=2)], "mono": [tmp_path / "m"]}
    Ragged.of([[]] * 3).save(tmp_path / "m.src")
    Ragged.of([[5], [6] * 9, [7]]).save(tmp_path / "m.tgt")
    found = trainer.train(spec(updates=2, max_tokens=8), V, data, tmp_path / "model.pt", tmp_path / "kept")
    assert found["examples"] == {"nmt": 30, "autoencoding": 32}
    assert found["dropped"]["autoencoding"] == {"empty": 0, "too_long": 1}
    assert found["valid"] is None
    log = capsys.readouterr().err
    assert "autoencoding: 32 examples, left out: {'empty': 0, 'too_long': 1}" in log
    assert "tokens/s" in log


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_one_thread_or_two_and_twice_gives_the_same_bytes(tmp_path: Path, cell: str):
    data = {"bitext": [cipher(tmp_path, "pairs", 300, longest=20)], "valid": [cipher(tmp_path, "valid", 50)]}
    made = []
    for name, threads in (("one", 1), ("two", 2), ("again", 1)):
        out = tmp_path / name / "model.pt"
        sizes = {"hidden": 128, "cell": cell, "dropout": 0.1}  # big enough for torch to use the second thread
        trainer.train(spec(sizes, updates=6, batch=120), V, data, out, tmp_path / f"kept.{name}", threads=threads)
        made.append([sha256(out.parent / file) for file in ("model.pt", "curve.csv")])
    assert made[0] == made[1] == made[2]


TWO = """
import json, sys
from pathlib import Path
import torch
from bitextbench.encoders import distributed as ranks, trainer
from bitextbench.encoders.distributed import distributed
spec, data, out = json.loads(sys.argv[1])
trainer.train(spec, spec["vocab"], {k: [Path(p) for p in v] for k, v in data.items()}, Path(out) / "model.pt", Path(out))
rank = distributed.get_rank()
rows = torch.tensor([[3, 1], [1, 0]][rank][: 2 - rank])  # two rows here, one there
one = torch.sparse_coo_tensor(rows[None], torch.ones(len(rows), 2) * (rank + 1), (4, 2)).coalesce()
found = ranks.sparse_sum(one, 2).to_dense().tolist()
assert found == [[0, 0], [3, 3], [0, 0], [1, 1]], found
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["nmt_autoencoder", "dan_dual"])  # dense gradients, sparse ones
def test_two_processes_train_on_the_mean_gradient_of_their_batches(tmp_path: Path, kind: str):
    data = {"bitext": [cipher(tmp_path, "pairs", 300)], "valid": [cipher(tmp_path, "valid", 20)]}
    wanted = spec(updates=5, valid_every=5, checkpoint_every=2, learning_rate=0.5, batch=8, precision="fp32") | {
        "vocab": V
    }
    if kind == "dan_dual":
        wanted |= {"type": kind, "model": {"words": V - 1, "embedding": 16, "layers": [16, 32]}}
    (tmp_path / "two.py").write_text(TWO)
    names = json.dumps(
        [wanted, {role: [str(stem) for stem in stems] for role, stems in data.items()}, str(tmp_path / "two")]
    )
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(tmp_path / "two.py"),
    ]
    subprocess.run([*command, names], check=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})

    torch.manual_seed(1)
    model, training = encoders.create(wanted, V), trainer.training_of(wanted)
    corpora = {
        role: {side: model.read(role, [Path(f"{stem}.{side}")]) for side in model.sides}
        for role, [stem] in data.items()
    }
    streams = model.streams(corpora, training.batch // 2, training.max_tokens, 1)  # `batch` is of both
    for update in range(5):
        model.zero_grad()
        for rank in (0, 1):
            torch.manual_seed(trainer.seed_of(1, update, rank))
            losses = model.loss({name: stream.batch(2 * update + rank) for name, stream in streams.items()})
            (sum(losses.values()) / 2).backward()
        gradients = [(p, p.grad.to_dense()) for p in model.parameters()]
        norm = torch.cat([gradient.flatten() for _, gradient in gradients]).norm()
        for parameter, gradient in gradients:
            parameter.data -= 0.5 * gradient * min(1, training.clip / norm)
    held = encoders.load(tmp_path / "two" / "model.pt", torch.device("cpu")).state_dict()
    for name, value in model.state_dict().items():
        assert torch.allclose(held[name], value, atol=1e-5), name


def test_no_two_seeds_or_processes_draw_the_same_in_any_update():
    """The second process of seed 1 once drew what the first of seed 2 did."""
    drawn = [trainer.seed_of(seed, update, rank) for seed in range(1, 6) for rank in range(8) for update in range(5000)]
    assert len(set(drawn)) == len(drawn)


RUN = """
import json, sys
from pathlib import Path
from bitextbench.encoders.trainer import train
spec, data, out, kept = json.loads(sys.argv[1])
train(spec, {V}, {{k: [Path(p) for p in v] for k, v in data.items()}}, Path(out), Path(kept))
"""


def test_kill_9_and_again_gives_the_same_bytes(tmp_path: Path):
    data = {"bitext": [str(cipher(tmp_path, "pairs", 200))], "valid": [str(cipher(tmp_path, "valid", 30))]}
    # an interval of the curve and of the dev score is open at every checkpoint
    wanted = spec({"dropout": 0.2}, optimizer="adam", learning_rate=0.01, updates=120, patience=9)

    def start(name: str) -> subprocess.Popen[str]:
        arguments = json.dumps([wanted, data, str(tmp_path / name / "model.pt"), str(tmp_path / f"kept.{name}")])
        return subprocess.Popen(
            [sys.executable, "-c", RUN.format(V=V), arguments], stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        )

    whole = start("whole")
    assert whole.wait(120) == 0, whole.stderr.read() if whole.stderr else ""
    killed, last = start("killed"), tmp_path / "kept.killed" / "last.pt"
    while not last.exists():
        assert killed.poll() is None
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.wait(60) == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model.pt").exists()
    again = start("killed")
    log = again.communicate(timeout=120)[1]
    assert again.returncode == 0, log
    assert "going on from update" in log
    for file in ("model.pt", "curve.csv"):
        assert sha256(tmp_path / "whole" / file) == sha256(tmp_path / "killed" / file)


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path, monkeypatch):
    data, kept, out = [cipher(tmp_path, "pairs", 50)], tmp_path / "kept", tmp_path / "model.pt"

    # a run that ends badly at update 10 leaves the checkpoint of update 7
    real = trainer.step
    monkeypatch.setattr(trainer, "step", lambda *a: real(*a) if a[2] < 9 else None)
    with pytest.raises(InputError, match="not finite at update 10"):
        trainer.train(spec(), V, {"bitext": data}, out, kept)
    monkeypatch.undo()
    refused = r"last\.pt: checkpoint of another configuration, other data or other code; restore those, or remove it"
    other = [cipher(tmp_path, "other", 50, seed=5)]
    for wrong in (
        (spec(learning_rate=0.5), V, {"bitext": data}),
        (spec({"hidden": 32}), V, {"bitext": data}),
        (spec(), V + 1, {"bitext": data}),
        (spec(), V, {"bitext": other}),
    ):
        with pytest.raises(InputError, match=refused):
            trainer.train(*wrong, out, kept)
    monkeypatch.setattr(sources, "modules", lambda *named: "of an edited trainer")
    with pytest.raises(InputError, match=refused):
        trainer.train(spec(), V, {"bitext": data}, out, kept)
    monkeypatch.undo()
    assert not out.exists()
    (kept / "last.pt").write_bytes((kept / "last.pt").read_bytes()[:-500])
    with pytest.raises(InputError, match=r"last\.pt: cannot be read .*; remove it to train from the start"):
        trainer.train(spec(), V, {"bitext": data}, out, kept)


def test_ids_of_another_vocabulary_are_refused(tmp_path: Path):
    data = {"bitext": [cipher(tmp_path, "pairs", 50)]}
    with pytest.raises(InputError, match=r"pairs\.src\.ids\.npy: holds id 39, but ids go from 0 to 38; use the BPE"):
        trainer.train(spec(), V - 1, data, tmp_path / "model.pt", tmp_path / "kept")


def test_a_loss_that_is_not_finite_stops_and_leaves_the_last_good_checkpoint(tmp_path: Path):
    data, kept, out = {"bitext": [cipher(tmp_path, "pairs", 50)]}, tmp_path / "kept", tmp_path / "model.pt"
    told = "lower training.learning_rate or training.clip; "
    with pytest.raises(InputError, match=rf"not finite at update \d+; {told}there was no checkpoint yet"):
        trainer.train(spec(learning_rate=1e38, clip=1e30), V, data, out, kept)
    # grows until it overflows: after some updates, and some checkpoints
    growing = spec(learning_rate=1.0, clip=1.0, checkpoint_every=1, updates=100_000, decay_after=0, decay_every=1)
    growing["training"]["decay_factor"] = 3.0
    with pytest.raises(InputError, match=rf"not finite at update \d+; {told}the last good checkpoint is .*last\.pt"):
        trainer.train(growing, V, data, out, kept)
    held = encoders.read(kept / "last.pt", "")
    assert all(torch.isfinite(value).all() for value in held["model"].values())
    assert not out.exists()


def test_stops_when_the_dev_score_does_not_improve_and_keeps_the_best(tmp_path: Path):
    data = {"bitext": [cipher(tmp_path, "pairs", 64)], "valid": [cipher(tmp_path, "valid", 30)]}
    still = spec(learning_rate=1e-30, patience=2, valid_every=3, updates=500)
    found = trainer.train(still, V, data, tmp_path / "model.pt", tmp_path / "kept")
    assert found["updates"] == 9  # the first score is the best, then two that are no better
    assert found["valid"] is not None
    assert encoders.load(tmp_path / "model.pt", torch.device("cpu"))


def test_the_confidence_learns_on_with_the_best_state(tmp_path: Path):
    data = {"bitext": [cipher(tmp_path, "pairs", 64)], "valid": [cipher(tmp_path, "valid", 30)]}
    states = []
    for count in (0, 9):
        model = {"words": V - 1, "embedding": 16, "layers": [16, 32], "confidence_updates": count}
        wanted = spec(learning_rate=0.5, updates=12, valid_every=3, patience=2) | {"type": "dan_dual", "model": model}
        report = trainer.train(wanted, V, data, tmp_path / f"{count}.pt", tmp_path / "kept")
        states.append(encoders.load(tmp_path / f"{count}.pt", torch.device("cpu")).state_dict())
    assert report["updates"] <= 12
    one, other = states
    assert {name.split(".")[0] for name in one if not torch.equal(one[name], other[name])} == {"calibration"}


def descriptors(**training) -> dict:
    """With few pairs a batch is the whole bitext."""
    schedule = {
        "optimizer": "lbfgs",
        "learning_rate": 1.0,
        "batch": 100,
        "precision": "fp32",
        "log_every": 1,
        **training,
    }
    return {"type": "descriptor_autoencoder", "model": {"embedding": 256, "block": 7}, "training": schedule}


def test_lbfgs_goes_down_and_gives_the_same_bytes_for_any_threads_and_when_resumed(tmp_path: Path, monkeypatch):
    data, made, real = {"bitext": [cipher(tmp_path, "pairs", 60)]}, [], trainer.step
    for name, threads, stop in (("one", 1, None), ("two", 2, None), ("resumed", 1, 3)):
        out = tmp_path / name / "model.pt"
        wanted = descriptors(updates=4, checkpoint_every=2)
        if stop:
            monkeypatch.setattr(trainer, "step", lambda *a, stop=stop: real(*a) if a[2] < stop else None)
            with pytest.raises(InputError, match=r"not finite at update 4; .* the last good checkpoint"):
                trainer.train(wanted, V, data, out, tmp_path / f"kept.{name}")
            monkeypatch.undo()
        trainer.train(wanted, V, data, out, tmp_path / f"kept.{name}", threads=threads)
        made.append([sha256(out.parent / file) for file in ("model.pt", "curve.csv")])
    assert made[0] == made[1] == made[2]
    with open(tmp_path / "one" / "curve.csv", encoding="utf-8") as file:
        totals = [sum(float(row[key]) for key in list(row)[2:-1]) for row in csv.DictReader(file)]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < totals[0] / 10


def test_what_it_cost_is_reported(tmp_path: Path):
    data = {"bitext": [cipher(tmp_path, "pairs", 64)]}
    started = time.process_time()
    found = trainer.train(spec(), V, data, tmp_path / "model.pt", tmp_path / "kept", seed=3)
    assert json.loads((tmp_path / "training.json").read_text()) == found
    weights = encoders.load(tmp_path / "model.pt", torch.device("cpu")).state_dict().values()
    assert found["parameters"] == sum(weight.numel() for weight in weights)
    assert (found["seed"], found["updates"], found["dimension"], found["metric"]) == (3, 30, 64, "cosine")
    assert 0 < found["cpu_seconds"] <= time.process_time() - started + 0.05


def test_bf16_trains(tmp_path: Path):
    data = {"bitext": [cipher(tmp_path, "pairs", 40)], "valid": [cipher(tmp_path, "valid", 5)]}
    losses = []
    for precision in ("fp32", "bf16"):
        out = tmp_path / precision / "model.pt"
        trainer.train(spec(updates=3, log_every=3, precision=precision), V, data, out, tmp_path / "kept")
        with open(out.parent / "curve.csv", encoding="utf-8") as file:
            losses.append(float(next(csv.DictReader(file))["nmt"]))
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"learning_rat": 1}, "--spec: unknown key `training.learning_rat`; did you mean `learning_rate: 1`"),
        ({"optimizer": "adamw"}, r"`training.optimizer: adamw` is wrong: .*\['sgd', 'adam', 'adagrad', 'lbfgs'\]"),
        ({"log_every": 0}, "`training.log_every: 0` is wrong: 0 is less than the minimum of 1"),
        ({"batch": 1}, "`training.batch: 1` is wrong: 1 is less than the minimum of 2"),
    ],
)
def test_a_wrong_training_is_refused(training: dict, message: str):
    with pytest.raises(InputError, match=message):
        check_encoder(spec(**training), "--spec")


def test_a_training_without_examples_is_an_error(tmp_path: Path):
    data = {"bitext": [cipher(tmp_path, "p", 5)]}
    with pytest.raises(
        InputError, match=r"bitext: nothing to train on \(left out: .*'too_long': 5}\); .*raise max_tokens"
    ):
        trainer.train(spec(max_tokens=1), V, data, tmp_path / "model.pt", tmp_path / "k")
    assert not (tmp_path / "model.pt").exists()


@pytest.mark.parametrize("block", [1, 3, 1 << 20])
def test_tokens_are_counted_in_blocks_of_sentences(monkeypatch, block: int):
    monkeypatch.setattr(batches, "SENTENCES", block)
    rows = [[7, 40, 50], [], [3], [60], [1, 2, 41, 9, 70, 70]]  # a token, then its n-grams, which begin at 40
    assert SentenceIds([Ragged.of(rows)], below=40).lengths.tolist() == [1, 0, 1, 0, 3]
    assert SentenceIds([Ragged.of(rows)]).lengths.tolist() == [3, 0, 1, 1, 6]


@pytest.mark.parametrize(("threads", "ranks", "each"), [(4, 2, 2), (2, 1, 2), (2, 8, 1)])
def test_processes_share_the_threads(monkeypatch, threads: int, ranks: int, each: int):
    before = torch.get_num_threads()
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    monkeypatch.setattr(distributed.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed.distributed, "get_rank", lambda: 1)
    monkeypatch.setattr(distributed.distributed, "get_world_size", lambda: ranks)
    distributed.join(threads, "cpu")
    assert torch.get_num_threads() == each
    torch.set_num_threads(before)
