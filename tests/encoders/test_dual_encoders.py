"""The dual encoders of Guo et al. 2018 and Yang et al. 2019 against loops, and whole runs of both."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench import encoders
from bitextbench.base.device import autocast, torch
from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.encoders import layers, losses, trainer
from bitextbench.encoders.batches import SentenceIds
from bitextbench.encoders.dual import copies
from bitextbench.encoders.encode import encode, loaded
from bitextbench.encoders.models import transformer_dual
from bitextbench.formats.ids import Ragged

WORDS, V, E = 20, 50, 6  # ids of words, all ids, embedding
SIZES = {
    "dan_dual": {"embedding": E, "initial": 1.0, "layers": [E, 8, 5, 5], "sparse": False},
    "transformer_dual": {"embedding": E, "hidden": 8, "filters": 16, "heads": 2, "dimension": 5, "sparse": False},
}
NAMES = [*SIZES]


def create(name: str, seed: int = 1, **sizes) -> encoders.Encoder:
    torch.manual_seed(seed)
    return encoders.create({"type": name, "model": {"words": WORDS, **SIZES[name], **sizes}}, V)


def rows(rng: np.random.Generator, count: int, longest: int = 5) -> list[list[int]]:
    """Sentences of words, each with 0 to 3 n-grams."""

    def word() -> list[int]:
        return [int(rng.integers(1, WORDS)), *rng.integers(WORDS, V, rng.integers(0, 4)).tolist()]

    return [[i for _ in range(rng.integers(1, longest + 1)) for i in word()] for _ in range(count)]


def padded(sentences: list[list[int]]):
    return SentenceIds([Ragged.of(sentences)], WORDS).padded(np.arange(len(sentences)))


def weights(model) -> dict[str, np.ndarray]:
    return {name: value.double().numpy() for name, value in model.state_dict().items()}


def linear(w: dict, name: str, x: np.ndarray) -> np.ndarray:
    return w[f"{name}.weight"] @ x + w[f"{name}.bias"]


@pytest.mark.parametrize("name", NAMES)
def test_a_token_starts_from_the_vector_of_its_word(tmp_path: Path, name):
    path = tmp_path / "src.vec"
    path.write_text(
        f"3 {E}\n" + "".join(f"{word} {' '.join([str(x)] * E)}\n" for word, x in zip("abc", (1, 2, 3), strict=True))
    )
    model, before = create(name), create(name)
    assert model.initialise({"src": path}, {"a": 4, "b": 7, "c": 4}.get) == {"src": 2}
    table = model.table("src").detach()
    assert table[[4, 7]].tolist() == [[1.0] * E, [2.0] * E]  # of two words with one row, the first
    others = [row for row in range(WORDS) if row not in (4, 7)]
    assert torch.equal(table[others], before.table("src")[others])
    assert not table[WORDS:].any()
    if name == "dan_dual":
        assert torch.equal(model.table("tgt"), before.table("tgt"))
        alone, with_ngrams = (model.encode("src", padded([sentence])) for sentence in ([4, 7], [4, 30, 7, 31, 32]))
        assert torch.equal(alone, with_ngrams)


# ---- guo2018


def dan(w: dict, side: str, ids: list[int]) -> np.ndarray:
    """Section 2.2, footnote 1, section 3.2: word by word."""
    n = sum(i < WORDS for i in ids)
    h = sum(w[f"embeddings.{side}"][i] for i in ids) / n**0.5
    for layer in range(4):
        out = linear(w, f"layers.{side}.{layer}", h)
        out = out if layer == 3 else np.maximum(out, 0)
        h = out + h if len(out) == len(h) else out
    return h


def test_dan_equals_a_loop():
    model = create("dan_dual")
    sentences = rows(np.random.default_rng(1), 7)
    for side in ("src", "tgt"):
        expected = [dan(weights(model), side, ids) for ids in sentences]
        np.testing.assert_allclose(model.encode(side, padded(sentences)).detach().numpy(), expected, atol=1e-5)
    assert model.dimension == 5


def test_confidence_is_a_scaled_and_shifted_product_and_stops_the_gradient():
    model = create("dan_dual").eval()
    rng = np.random.default_rng(1)
    batch = {"ranking": (padded(rows(rng, 3)), padded(rows(rng, 3)), padded(rows(rng, 4)))}
    u, v = model.vectors(batch["ranking"])
    assert (len(u), len(v)) == (3, 7)
    w, logits = weights(model), model.confidence(u, v)
    for i, x in enumerate(u.detach().double().numpy()):
        scale, bias = linear(w, "calibration", np.concatenate([x, x * x]))
        expected = [scale * (x @ y) + bias for y in v.detach().double().numpy()]
        np.testing.assert_allclose(logits[i].detach().numpy(), expected, atol=1e-5)
    found = model.loss(batch)
    assert found["confidence"].item() == pytest.approx(losses.calibration(logits).mean().item() / 9)
    found["confidence"].backward()
    touched = {name for name, p in model.named_parameters() if p.grad is not None}
    assert touched == {"calibration.weight", "calibration.bias"}
    assert [*create("dan_dual", confidence=0).loss(batch)] == ["ranking"]
    with pytest.raises(InputError, match="trained without a confidence"):
        create("dan_dual", confidence=0).confidence(u, v)


def test_confidence_learns_from_held_out_pairs_where_there_are_some():
    model, rng = create("dan_dual").eval(), np.random.default_rng(1)

    def corpus(count: int) -> dict[str, SentenceIds]:
        return {side: SentenceIds([Ragged.of(rows(rng, count))], WORDS) for side in ("src", "tgt")}

    corpora = {"bitext": corpus(12), "valid": corpus(5)}
    streams = model.streams(corpora, 8, 100, 1)
    assert {name: len(stream) for name, stream in streams.items()} == {"ranking": 12, "confidence": 5}
    batches = {name: stream.batch(0) for name, stream in streams.items()}
    held_out = model.confidence(*model.vectors(batches["confidence"]))
    assert held_out.shape == (5, 5)  # each pair once
    assert model.loss(batches)["confidence"].item() == pytest.approx(losses.calibration(held_out).mean().item() / 9)
    assert [*model.streams({"bitext": corpora["bitext"]}, 8, 100, 1)] == ["ranking"]
    assert len(model.streams(corpora | {"calibration": corpus(6)}, 8, 100, 1)["confidence"]) == 6
    assert [*create("dan_dual", confidence=0).streams(corpora, 8, 100, 1)] == ["ranking"]


def test_updates_of_the_confidence_alone_change_nothing_else():
    sides = {side: SentenceIds([Ragged.of(rows(np.random.default_rng(1), 40))], WORDS) for side in ("src", "tgt")}

    def finished(updates: int) -> tuple[dict[str, np.ndarray], float]:
        model = create("dan_dual", confidence_updates=updates)
        streams = model.streams({"bitext": sides}, 40, 100, 1)
        model.finish(streams, 7)
        loss = model.eval().calibration_loss(*model.vectors(streams["ranking"].batch(0)))
        return weights(model), loss.item()

    (before, high), (after, low) = finished(0), finished(2000)
    assert {name for name in before if not np.array_equal(before[name], after[name])} == {
        "calibration.weight", "calibration.bias"
    }  # fmt: skip
    one_answer = -(1 / 40 * np.log(1 / 40) + 39 / 40 * np.log(39 / 40))  # the best loss that is the same for all pairs
    assert low < 1.1 * one_answer < high
    assert all(map(np.array_equal, after.values(), finished(2000)[0].values()))


# ---- yang2019


def attention(w: dict, name: str, h: np.ndarray, heads: int = 2) -> np.ndarray:
    q, k, v = np.split(h @ w[f"{name}.in_proj_weight"].T + w[f"{name}.in_proj_bias"], 3, axis=1)
    parts = []
    for head in range(heads):
        one = slice(head * len(h[0]) // heads, (head + 1) * len(h[0]) // heads)
        scores = np.exp(q[:, one] @ k[:, one].T / (len(h[0]) // heads) ** 0.5)
        parts.append(scores / scores.sum(1, keepdims=True) @ v[:, one])
    return np.concatenate(parts, 1) @ w[f"{name}.out_proj.weight"].T + w[f"{name}.out_proj.bias"]


def normalised(w: dict, name: str, h: np.ndarray) -> np.ndarray:
    h = (h - h.mean(1, keepdims=True)) / np.sqrt(h.var(1, keepdims=True) + 1e-5)
    return h * w[f"{name}.weight"] + w[f"{name}.bias"]


def transformer(w: dict, ids: list[int]) -> np.ndarray:
    """Section 4.2, one sentence alone."""
    begins = [i for i, feature in enumerate(ids) if feature < WORDS]
    words = [sum(w["embeddings"][i] for i in ids[a:b]) for a, b in zip(begins, [*begins[1:], len(ids)], strict=True)]
    h = np.array([linear(w, "widen", word) * 8**0.5 for word in words])
    for t, row in enumerate(h):
        row += [f(t / 10_000 ** (2 * i / 8)) for i in range(4) for f in (np.sin, np.cos)]
    for layer in (f"layers.{i}" for i in range(3)):
        h = normalised(w, f"{layer}.norm1", h + attention(w, f"{layer}.self_attn", h))
        inner = np.maximum(h @ w[f"{layer}.linear1.weight"].T + w[f"{layer}.linear1.bias"], 0)
        inner = inner @ w[f"{layer}.linear2.weight"].T + w[f"{layer}.linear2.bias"]
        h = normalised(w, f"{layer}.norm2", h + inner)
    weight = np.exp(h @ w["query"])
    pooled = [h.max(0), h.mean(0), h[0], weight / weight.sum() @ h]
    return linear(w, "project", np.concatenate(pooled))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("together", [1, 12, 1024])  # tokens: each sentence for itself, some, all
def test_transformer_equals_a_loop(training, together, monkeypatch):
    monkeypatch.setitem(transformer_dual.TOGETHER, "cpu", together)
    model = create("transformer_dual").train(training)
    sentences = rows(np.random.default_rng(1), 20)
    expected = [transformer(weights(model), ids) for ids in sentences]
    with torch.no_grad():
        for side in ("src", "tgt"):
            np.testing.assert_allclose(model.encode(side, padded(sentences)).numpy(), expected, atol=1e-4)


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize(("direction", "margin"), [("forward", 0.0), ("both", 0.0), ("both", 0.3)])
def test_three_models_are_equations_3_5_and_8(direction, margin, similarity):
    kinds = {"direction": direction, "margin": margin, "similarity": similarity, "scale": 2.0, "length_penalty": 7.0}
    model, rng = create("transformer_dual", **kinds), np.random.default_rng(1)
    columns = tuple(padded(rows(rng, n)) for n in (3, 3, 2, 4))[: 4 if direction == "both" else 3]
    with torch.no_grad():
        found = model.loss({"ranking": columns})
        src, tgt, more_tgt, *more_src = (model.encode("src", column).double() for column in columns)
    u, v = torch.cat([src, *more_src]), torch.cat([tgt, more_tgt])

    def phi(x, y):
        return float(x @ y / (x.norm() * y.norm() if similarity == "cosine" else 1))

    def loss(a, b):
        total = 0.0
        for i in range(3):
            values = [np.exp(2 * (phi(a[i], y) - (margin if i == n else 0))) for n, y in enumerate(b)]
            total -= np.log(values[i] / sum(values)) / 3
        return total

    expected = loss(u, v) + (loss(v, u) if direction == "both" else 0)
    assert found["ranking"].item() == pytest.approx(expected, rel=1e-4)
    lengths = [float(x.norm()) for x in (*u, *v)]
    assert found["length"].item() == pytest.approx(7 * np.mean(lengths), rel=1e-5)


def test_gradients_of_embeddings_alone_are_multiplied():
    grads = []
    for factor in (1.0, 25.0):
        model = create("transformer_dual", embedding_gradient=factor)
        rng = np.random.default_rng(1)
        sum(model.loss({"ranking": (padded(rows(rng, 3)), padded(rows(rng, 3)))}).values()).backward()
        grads.append({name: p.grad for name, p in model.named_parameters()})
    for name, gradient in grads[0].items():
        assert torch.allclose(grads[1][name], gradient * (25 if name == "embeddings" else 1), rtol=1e-4, atol=1e-6)
    assert grads[0]["embeddings"].abs().sum() > 0


# ---- both


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5), st.sampled_from(NAMES))
def test_padding_changes_nothing(seed, count, more, name):
    model, sentences = create(name).eval(), rows(np.random.default_rng(seed), count)
    with torch.no_grad():
        alone = torch.cat([model.encode("src", padded([row])) for row in sentences])
        together = padded(sentences)
        wider = together._replace(ids=torch.nn.functional.pad(together.ids, (0, more)))
        for batch in (together, wider):
            assert torch.allclose(model.encode("src", batch), alone, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_sparse_gradients_are_the_same_gradients(name):
    rng = np.random.default_rng(1)
    batch = {"ranking": (padded(rows(rng, 5)), padded(rows(rng, 5)))}
    states = []
    for sparse in (False, True):
        model = create(name, sparse=sparse, **({"confidence_dropout": 0.0} if name == "dan_dual" else {}))
        training = trainer.Training(learning_rate=0.1, clip=0.05)
        optimizer = torch.optim.SGD(model.parameters(), lr=9.0)
        run = trainer.Updates(model=model, optimizer=optimizer, training=training)
        for update in range(3):
            assert trainer.step(run, batch, update)
        assert any(p.grad.is_sparse for p in model.parameters()) == sparse
        states.append(trainer.plain(model))
    for key, value in states[0].items():
        assert torch.allclose(value, states[1][key], atol=1e-6)


def cipher(folder: Path, name: str, count: int, seed: int = 1, longest: int = 6) -> Path:
    """A bitext of two toy languages: the target is the source reversed, every id exchanged within its kind."""
    rng, exchange = np.random.default_rng(seed), np.random.default_rng(0)
    table = np.concatenate([[0], 1 + exchange.permutation(WORDS - 1), WORDS + exchange.permutation(V - WORDS)])
    src = rows(rng, count, longest)
    Ragged.of(src).save(folder / f"{name}.src")
    Ragged.of(table[reversed_words(row)] for row in src).save(folder / f"{name}.tgt")
    return folder / name


def reversed_words(row: list[int]) -> list[int]:
    begins = [i for i, feature in enumerate(row) if feature < WORDS]
    words = [row[a:b] for a, b in zip(begins, [*begins[1:], len(row)], strict=True)]
    return [i for word in reversed(words) for i in word]


def spec(name: str, model: dict | None = None, **training) -> dict:
    sizes = {
        "dan_dual": {"embedding": 16, "layers": [16, 16, 32, 32]},
        "transformer_dual": {"embedding": 16, "hidden": 32, "filters": 64, "heads": 2, "dimension": 32},
    }[name]
    return {
        "type": name,
        "model": {"words": WORDS, "sparse": False, **sizes, **(model or {})},
        "training": {"batch": 32, "optimizer": "adam", "learning_rate": 0.003, "precision": "fp32", **training},
    }


@pytest.mark.parametrize(
    ("name", "model", "best"),
    [
        ("dan_dual", {"initial": 0.3}, 1.0),  # from its small default it takes so few words hundreds of updates
        ("transformer_dual", {}, 1.0),
    ],
)
def test_overfits_64_pairs(tmp_path: Path, name, model, best):
    data = [cipher(tmp_path, "pairs", 64)]
    wanted = spec(name, model, updates=80, batch=64)
    found = trainer.train(wanted, V, {"bitext": data, "valid": data}, tmp_path / "model.pt", tmp_path / "kept")
    assert found["valid"] == best


@pytest.mark.parametrize("name", NAMES)
def test_hard_negatives_are_trained_on(tmp_path: Path, name):
    data, n = {"bitext": [cipher(tmp_path, "pairs", 40)]}, 40
    rng = np.random.default_rng(1)
    for side in ("src", "tgt"):
        Ragged.of(rng.integers(0, n, 3) if i < 8 else [] for i in range(n)).save(tmp_path / f"hard.{side}")
    wanted = spec(name, updates=5, log_every=5, batch=4)
    found = trainer.train(wanted, V, {**data, "hard": [tmp_path / "hard"]}, tmp_path / "model.pt", tmp_path / "kept")
    assert found["examples"] == {"ranking": 40}
    easy = trainer.train(wanted, V, data, tmp_path / "easy.pt", tmp_path / "kept")
    assert easy["examples"] == {"ranking": 40}
    assert (tmp_path / "easy.pt").read_bytes() != (tmp_path / "model.pt").read_bytes()
    data = {"bitext": [cipher(tmp_path, "few", 7)], "hard": [tmp_path / "hard"]}
    with pytest.raises(InputError, match="the hard negatives are of 40 pairs, but the bitext has 7; mine them again"):
        trainer.train(wanted, V, data, tmp_path / "model.pt", tmp_path / "kept")


def test_an_equal_target_is_no_negative_and_another_translation_of_the_source_is_one():
    """Only candidates are compared: the sources of the first two pairs may be one sentence."""
    targets = padded([[5, 30], [6], [5, 30]])
    more = padded([[6], [7]])
    marked = copies(targets, more).tolist()
    assert marked == [[False, False, True, False, False], [False, False, False, True, False], [True, *4 * [False]]]


def test_augmented_random_negatives_are_drawn():
    corpora = {
        "bitext": {side: SentenceIds([Ragged.of(rows(np.random.default_rng(1), 30))], WORDS) for side in ("src", "tgt")}
    }
    batch = create("dan_dual", extra=20).streams(corpora, 4, 60, 1)["ranking"].batch(0)
    assert [len(column.ids) for column in batch] == [4, 4, 80]
    batch = create("transformer_dual", extra=2).streams(corpora, 4, 60, 1)["ranking"].batch(0)
    assert [len(column.ids) for column in batch] == [4, 4, 8, 8]


@pytest.mark.parametrize("name", NAMES)
def test_any_batch_size_and_number_of_threads_give_the_same_vectors(tmp_path: Path, name):
    """Within 1e-5 of vectors of about unit components."""
    sentences = [*rows(np.random.default_rng(1), 150, longest=9), []]
    Ragged.of(sentences).save(tmp_path / "00000.src")
    torch.manual_seed(1)
    wanted = spec(name)
    model = encoders.create(wanted, V)
    trainer.save({"spec": wanted, "vocab_size": V, "state_dict": trainer.plain(model)}, tmp_path / "model.pt")
    found = []
    for batch_tokens, threads in ((1, 1), (37, 1), (100_000, 2)):
        encoder = loaded(tmp_path / "model.pt", threads=threads)
        encode(encoder, tmp_path / "00000.src", "src", tmp_path / "o.npy", batch_tokens=batch_tokens)
        found.append(np.load(tmp_path / "o.npy"))
    assert found[0].shape == (151, 32)
    assert not found[0][-1].any()
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_one_thread_or_two_train_the_same_bytes(tmp_path: Path, name):
    data, made = {"bitext": [cipher(tmp_path, "pairs", 200, longest=20)]}, []
    for threads in (1, 2):
        out = tmp_path / str(threads) / "model.pt"
        trainer.train(spec(name, updates=2, log_every=2, batch=200), V, data, out, tmp_path / "kept", threads=threads)
        made.append([(out.parent / file).read_bytes() for file in ("model.pt", "curve.csv")])
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("name", "model", "training", "message"),
    [
        (
            "dan_dual",
            {"words": 1},
            {},
            "dan_dual: model: words cannot be 1; set it to 2 to 50, as features of type words or ngrams do",
        ),
        ("dan_dual", {"layers": []}, {}, r"layers cannot be \[\]; set it to a list of sizes"),
        ("dan_dual", {"layers": [5, 0]}, {}, r"layers cannot be \[5, 0\]; set it to a list of sizes of 1 or more"),
        ("dan_dual", {"margin": 0.3}, {}, "unknown key margin; known: words, embedding"),
        (
            "transformer_dual",
            {"direction": "backward"},
            {},
            "direction cannot be 'backward'; set it to forward or both",
        ),
        ("transformer_dual", {"margin": -1}, {}, "margin cannot be -1; set it to 0 or more"),
        ("transformer_dual", {"heads": 0}, {}, "heads cannot be 0; set it to 1 or more"),
        ("transformer_dual", {"heads": 3}, {}, r"hidden cannot be \d+; set it to an even multiple of the 3 heads"),
        (
            "transformer_dual",
            {"sparse": True},
            {},
            "adam takes no sparse gradients; set training.optimizer: sgd or adagrad",
        ),
    ],
)
def test_a_wrong_model_is_an_error_that_shows_the_right_one(tmp_path: Path, name, model, training, message):
    with pytest.raises(InputError, match=message):
        trainer.train(spec(name, model), V, {"bitext": [cipher(tmp_path, "p", 9)]}, tmp_path / "m.pt", tmp_path / "k")


def shard(folder: Path, name: str, src: list[str], tgt: list[str]) -> Path:
    (folder / name).mkdir()
    pq.write_table(pa.table({"id": range(len(src)), "src": src, "tgt": tgt}), folder / name / "00000.parquet")
    return folder / name / "00000.parquet"


def test_from_tokens_to_a_model_with_hard_negatives_by_commands(tmp_path: Path):
    words = ["eins", "zwei", "drei", "vier", "fünf", "sechs"]
    src = [f"{a} {b} {c}" for a in words for b in words for c in words]
    tgt = [" ".join(f"{w}en" for w in line.split()) for line in src]
    tokens = shard(tmp_path, "bitext", src, tgt)

    def call(*arguments) -> None:
        done = CliRunner().invoke(cli, [*map(str, arguments)], catch_exceptions=False)
        assert done.exit_code == 0, done.output

    sizes = {"vocab": 4, "oov": 9, "buckets": 50, "shortest": 3, "longest": 4, "corpora": ["bitext"]}
    for kind, size in (("words", {"unigrams": 90, "bigrams": 90}), ("ngrams", sizes)):
        wanted = json.dumps({"type": kind, **size})
        call("step", "features", tokens.parent, "--spec", wanted, "-o", tmp_path / f"{kind}.json")
        call("step", "ids", tokens, "--model", tmp_path / f"{kind}.json", "-o", tmp_path / kind)

    def train(name, kind, out, *more):
        wanted = spec(name, updates=3, log_every=3)
        del wanted["model"]["words"]  # comes from the features
        stem, kept = tmp_path / kind / "00000", tmp_path / f"kept.{out}"
        call(
            "train",
            "--spec",
            json.dumps(wanted),
            "--bpe",
            tmp_path / f"{kind}.json",
            "--src",
            "de",
            "--tgt",
            "en",
            "--corpus",
            f"bitext={stem}",
            "--corpus",
            f"valid={stem}",
            "--checkpoints",
            kept,
            "-o",
            tmp_path / out / "model.pt",
            *more,
        )
        call("step", "encode", stem, "--model", tmp_path / out / "model.pt", "-o", tmp_path / out / "00000")
        (tmp_path / f"{kind}.json").rename(tmp_path / "away")  # the folder works by itself
        for side, code, lines in (("src", "de", src), ("tgt", "en", tgt)):
            text, own = (tmp_path / f"{side}.{suffix}" for suffix in ("txt", "npy"))
            text.write_text("".join(f"{line}\n" for line in lines))
            call("encode", text, "--encoder", tmp_path / out, "--language", code, "--side", side, "-o", own)
            assert np.load(own).tobytes() == np.load(tmp_path / out / f"00000.{side}.npy").tobytes()
        (tmp_path / "away").rename(tmp_path / f"{kind}.json")

    train("dan_dual", "words", "dan")
    by, ids = ("--vectors", tmp_path / "dan" / "00000"), ("--ids", tmp_path / "ngrams" / "00000")
    call("step", "hard-negatives", *by, *ids, "--count", 2, "--share", 0.5, "-o", tmp_path / "hard")
    assert sorted(set(Ragged.load(tmp_path / "hard.src").lengths.tolist())) == [0, 2]
    train("transformer_dual", "ngrams", "transformer", "--corpus", f"hard={tmp_path / 'hard'}")
    assert np.load(tmp_path / "transformer" / "00000.src.npy").shape == (216, 32)


@pytest.mark.parametrize("padded_", [False, True])
def test_a_layer_in_bf16_is_torchs_in_fp32(padded_: bool):
    torch.manual_seed(1)
    layer, h = layers.Layer(32, 4, 64, 0.0).eval(), torch.randn(5, 7, 32)
    padding = (
        torch.arange(7) >= torch.tensor([7, 1, 3, 6, 2])[:, None] if padded_ else torch.zeros(5, 7, dtype=torch.bool)
    )
    with torch.no_grad():
        exact = torch.nn.TransformerEncoderLayer.forward(layer, h, src_key_padding_mask=padding)
        near = layer.to(torch.bfloat16)(h.bfloat16(), src_key_padding_mask=padding if padded_ else None)
    assert near.dtype == torch.bfloat16
    torch.testing.assert_close(near[~padding].float(), exact[~padding], atol=0.03, rtol=0.03)


def test_bf16_is_nearly_fp32():
    rng, model = np.random.default_rng(1), create("dan_dual").eval()
    batch, cpu = {"ranking": (padded(rows(rng, 9)), padded(rows(rng, 9)))}, torch.device("cpu")
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        with autocast(cpu, dtype):
            losses_ = model.loss(batch)
        sum(losses_.values()).backward()
        found.append(losses_["ranking"].item())
    assert found[0] != found[1]
    assert found[1] == pytest.approx(found[0], rel=0.03)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize("kind", NAMES)
def test_held_out_pairs_are_encoded_in_bf16_while_the_weights_are_fp32(kind: str):
    model, batch = create(kind).eval(), padded(rows(np.random.default_rng(1), 9))
    with torch.no_grad():
        exact = model.encode("src", batch)
        with autocast(torch.device("cpu"), torch.bfloat16):
            near = model.encode("src", batch).float()
    assert torch.cosine_similarity(exact, near).min() > 0.99
