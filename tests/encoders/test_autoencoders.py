"""The autoencoders of Chandar et al. 2014 and Zhang et al. 2016 against numpy, pair by pair."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_encoder import batch, padded, sentences, weights
from test_trainer import cipher

from bitextbench import encoders
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256
from bitextbench.encoders import trainer
from bitextbench.encoders.batches import SentenceIds
from bitextbench.encoders.models import descriptor_autoencoder
from bitextbench.encoders.models.bow_autoencoder import correlation
from bitextbench.encoders.models.descriptor_autoencoder import semantic_distances
from bitextbench.formats.ids import Ragged

V, D = 40, 6
SIDES = ("src", "tgt")
KINDS = ("bow_autoencoder", "descriptor_autoencoder")
ROWS = st.lists(st.lists(st.integers(4, V - 1), min_size=1, max_size=7), min_size=1, max_size=4)


def model(kind: str, seed: int = 1, **sizes) -> encoders.Encoder:
    torch.manual_seed(seed)
    size = {"bow_autoencoder": {"hidden": D}, "descriptor_autoencoder": {"embedding": D, "deviation": 0.5}}[kind]
    made = encoders.create({"type": kind, "model": {**size, **sizes}}, V)
    for parameter in made.parameters():  # biases that start at 0 are not left there
        parameter.data += 0.1 * torch.randn_like(parameter)
    return made


def pairs(seed: int = 0, count: int = 5):
    return batch(seed, count)[:2]


# ---- Chandar et al. 2014


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def chandar(w: dict, x: list[int], y: list[int], h=sigmoid) -> tuple[dict[str, np.ndarray], float, float]:
    """Eq. 1-4 of one pair: a of each input, the sum of four reconstructions, the joint one."""
    v = {side: np.isin(np.arange(V), words).astype(float) for side, words in zip(SIDES, (x, y), strict=True)}
    a = {side: w["c"] + v[side] @ w[f"words.{side}"] for side in SIDES}
    a["both"] = w["c"] + sum(v[side] @ w[f"words.{side}"] for side in SIDES)

    def cost(given: str, side: str) -> float:
        rebuilt = sigmoid(w[f"words.{side}"] @ h(a[given]) + w[f"bias.{side}"])
        return -np.sum(v[side] * np.log(rebuilt) + (1 - v[side]) * np.log(1 - rebuilt))

    return a, sum(cost(given, side) for given in SIDES for side in SIDES), sum(cost("both", side) for side in SIDES)


@pytest.mark.parametrize(("activation", "h"), [("sigmoid", sigmoid), ("tanh", np.tanh)])
def test_bag_of_words_loss_is_eq_1_to_4(activation, h):
    encoder = model("bow_autoencoder", activation=activation, beta=0.7, correlation=3.0)
    source, target = pairs()
    a, alone, joint = zip(
        *(chandar(weights(encoder), x, y, h) for x, y in zip(sentences(source), sentences(target), strict=True)),
        strict=True,
    )
    losses = {name: loss.item() for name, loss in encoder.loss({"pairs": (source, target)}).items()}
    x, y = (np.array([one[side] for one in a]) for side in SIDES)
    cor = sum(np.corrcoef(x[:, i], y[:, i])[0, 1] for i in range(D))
    assert losses == pytest.approx(
        {"reconstruction": np.mean(alone), "joint": 0.7 * np.mean(joint), "correlation": -3 * cor}, rel=1e-4
    )
    assert encoder.encode("tgt", target).detach().numpy() == pytest.approx(y, abs=1e-5)
    score = encoder.similarity(source, target).detach().numpy()
    assert score == pytest.approx(-np.array(alone) - 0.7 * np.array(joint), rel=1e-4)
    hidden = model("bow_autoencoder", activation=activation, representation="hidden")
    assert hidden.encode("tgt", target).detach().numpy() == pytest.approx(h(y), abs=1e-5)


def test_a_bag_holds_a_word_once_and_no_padding():
    bags = model("bow_autoencoder").bag(padded([[5, 5, 9], [7]]))
    assert [np.flatnonzero(bag).tolist() for bag in bags] == [[5, 9], [7]]
    assert bags.max() == 1


def test_merged_bags_are_unions():
    encoder = model("bow_autoencoder", merge=2)
    bags = encoder.merged(encoder.bag(padded([[5], [6, 7], [8]])))
    assert [np.flatnonzero(bag).tolist() for bag in bags] == [[5, 6, 7], [8]]


def test_a_constant_dimension_has_no_correlation_and_a_finite_gradient():
    x = torch.tensor([[1.0, 2], [1, 5]], requires_grad=True)
    cor = correlation(x, torch.tensor([[0.0, 1], [3, 7]]))
    cor.backward()
    assert cor.item() == pytest.approx(1)
    assert torch.isfinite(x.grad).all()


# ---- Zhang et al. 2016


def describe(w: dict, side: str, words: list[int], direction: str) -> tuple[np.ndarray, np.ndarray]:
    """Eq. 5: what is encoded, what is decoded."""
    m = np.array([w[f"words.{side}.weight"][word] for word in words])
    extremes, moments = np.r_[m.min(0), m.max(0)], np.r_[m.mean(0), m.std(0)]
    return (extremes, moments) if direction == "mm2as" else (moments, extremes)


def zhang(w: dict, side: str, words: list[int], direction: str) -> tuple[np.ndarray, float]:
    """Eq. 6-8: the code of a sentence, and its error."""
    given, target = describe(w, side, words, direction)
    hid = np.tanh(w[f"encoders.{side}.weight"] @ given + w["bias"])
    hid /= np.linalg.norm(hid)
    out = np.tanh(w["decoder.weight"] @ hid + w["decoder.bias"])
    return hid, 0.5 * np.linalg.norm(target - out) ** 2


@pytest.mark.parametrize("direction", ["mm2as", "as2mm"])
def test_descriptor_loss_is_eq_5_to_10(direction):
    encoder = model(
        "descriptor_autoencoder", direction=direction, alpha=0.3, decay_words=0.2, decay_weights=0.5, block=2
    )
    source, target = pairs(count=5)
    w = weights(encoder)
    x, y = (
        [zhang(w, side, words, direction) for words in sentences(column)]
        for side, column in zip(SIDES, (source, target), strict=True)
    )
    blocks = [[0, 3], [1, 4], [2]]  # dealt in turn to ceil(5 / 2) blocks
    semantic = sum(
        0.5 * np.linalg.norm(np.mean([x[i][0] for i in k], 0) - np.mean([y[i][0] for i in k], 0)) ** 2 for k in blocks
    )
    square = {name: np.sum(value**2) for name, value in w.items()}
    words = square["words.src.weight"] + square["words.tgt.weight"]
    matrices = square["encoders.src.weight"] + square["encoders.tgt.weight"] + square["decoder.weight"]
    expected = {
        "reconstruction": 0.3 / 5 * sum(a[1] + b[1] for a, b in zip(x, y, strict=True)),
        "semantic": 0.7 * semantic,
        "regularisation": 0.2 / 2 * words + 0.5 / 2 * matrices,
    }
    losses = encoder.loss({"pairs": (source, target)})
    assert {name: loss.item() for name, loss in losses.items()} == pytest.approx(expected, rel=1e-4)
    encoder.semantic = "mean"
    assert encoder.loss({"pairs": (source, target)})["semantic"].item() == pytest.approx(0.7 * semantic / 3, rel=1e-4)


def test_parts_do_not_change_the_loss(monkeypatch):
    encoder = model("descriptor_autoencoder")
    columns = {"pairs": pairs(count=9)}

    def loss_and_gradient():
        encoder.zero_grad()
        losses = encoder.loss(columns)
        sum(losses.values()).backward()
        return [loss.item() for loss in losses.values()], encoder.words["tgt"].weight.grad.clone()

    whole, at_once = loss_and_gradient()
    monkeypatch.setattr(descriptor_autoencoder, "PART", {"cpu": 8})
    parts, in_turn = loss_and_gradient()
    assert parts == pytest.approx(whole, rel=1e-6)
    assert torch.allclose(in_turn, at_once, atol=1e-6)


@pytest.mark.parametrize("direction", ["mm2as", "as2mm"])
@pytest.mark.parametrize("unit", [True, False])
def test_sentence_vectors_are_eq_11_and_12(direction, unit):
    encoder = model("descriptor_autoencoder", direction=direction, unit=unit)
    columns, w = pairs(), weights(encoder)
    for side, column in zip(SIDES, columns, strict=True):
        for vector, words in zip(encoder.encode(side, column).detach().numpy(), sentences(column), strict=True):
            given, target = describe(w, side, words, direction)
            hid = np.tanh(w[f"encoders.{side}.weight"] @ given + w["decoder.weight"].T @ target + w["bias"])
            assert vector == pytest.approx(hid / np.linalg.norm(hid) if unit else hid, abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.integers(1, 12))
def test_semantic_distance_is_that_of_a_loop_over_blocks(n, block):
    x, y = np.random.default_rng(n).normal(size=(2, n, 3))
    count = -(-n // block)
    loop = sum(0.5 * np.linalg.norm(x[k::count].mean(0) - y[k::count].mean(0)) ** 2 for k in range(count))
    found = semantic_distances(torch.from_numpy(x), torch.from_numpy(y), block).sum().item()
    assert found == pytest.approx(loop, rel=1e-5)
    if block == 1:  # "if we set B = 1, this constraint goes back to sentence level"
        assert found == pytest.approx(0.5 * np.sum((x - y) ** 2), rel=1e-5)
    if block >= n:  # "it becomes a constraint upon the whole training corpus"
        assert found == pytest.approx(0.5 * np.sum((x.mean(0) - y.mean(0)) ** 2), rel=1e-5)


def test_zero_is_the_least_value_of_eq_10_where_all_parameters_are_zero():
    encoder, columns = model("descriptor_autoencoder"), {"pairs": pairs()}
    assert all(loss.item() > 0 for loss in encoder.loss(columns).values())
    for parameter in encoder.parameters():
        parameter.data.zero_()
    assert all(loss.item() == 0 for loss in encoder.loss(columns).values())


def test_words_that_are_not_trained_stay():
    encoder = model("descriptor_autoencoder", train_words=False)
    sum(encoder.loss({"pairs": pairs()}).values()).backward()
    assert all((p.grad is None) == name.startswith("words.") for name, p in encoder.named_parameters())


def test_word_vectors_start_the_tables_of_their_side(tmp_path: Path):
    path = tmp_path / "vectors.vec"
    path.write_text("▁in " + " ".join(["3"] * D) + "\n", encoding="utf-8")
    encoder, before = model("descriptor_autoencoder"), model("descriptor_autoencoder")
    row_of = {"▁in": 4}.get
    assert encoder.initialise({"tgt": path}, row_of) == {"tgt": 1}
    assert encoder.words["tgt"].weight[4].tolist() == [3.0] * D
    assert torch.equal(encoder.words["tgt"].weight[5:], before.words["tgt"].weight[5:])
    assert torch.equal(encoder.words["src"].weight, before.words["src"].weight)
    with pytest.raises(InputError, match="this encoder takes no word vectors"):
        model("bow_autoencoder").initialise({"tgt": path}, row_of)


def test_many_sentences_part_by_part_are_the_same(monkeypatch):
    encoder, columns = model("descriptor_autoencoder"), {"pairs": pairs(count=16)}
    found = []
    for part in (descriptor_autoencoder.PART["cpu"], 20):
        monkeypatch.setattr(descriptor_autoencoder, "PART", {"cpu": part})
        encoder.zero_grad()
        losses = encoder.loss(columns)
        sum(losses.values()).backward()
        found.append([*losses.values(), *(p.grad for p in encoder.parameters())])
    for whole, parts in zip(*found, strict=True):
        assert torch.allclose(whole, parts, atol=1e-6)


def test_a_batch_as_large_as_the_bitext_is_always_the_same_and_has_every_pair_once():
    columns = {
        "bitext": dict(zip(SIDES, (SentenceIds([Ragged.of([[5] * n, [6, n + 9]] * 3)]) for n in (3, 4)), strict=True))
    }
    stream = model("descriptor_autoencoder").streams(columns, 6, 60, 1)["pairs"]
    first, again = stream.batch(0), stream.batch(1)
    assert first[0].lengths.tolist() == sorted(first[0].lengths.tolist())
    assert sorted(first[0].ids.tolist()) == sorted(columns["bitext"]["src"].padded(np.arange(6)).ids.tolist())
    assert all(torch.equal(a.ids, b.ids) for a, b in zip(first, again, strict=True))
    pairs_ = zip(first[0].lengths.tolist(), first[1].lengths.tolist(), strict=True)
    assert set(pairs_) == {(3, 4), (2, 2)}


# ---- both


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(kind):
    encoder = model(kind, **({"block": 2} if kind.startswith("desc") else {"merge": 2})).double()
    source, target = (padded(rows) for rows in ([[5, 6, 5], [7], [8, 9]], [[10], [11, 12, 13], [14, 15]]))
    names = [name for name, _ in encoder.named_parameters()]

    def loss(*values: torch.Tensor) -> torch.Tensor:
        losses = torch.func.functional_call(
            Whole(encoder), {f"encoder.{n}": v for n, v in zip(names, values, strict=True)}, (source, target)
        )
        return sum(losses.values())

    values = [p.detach().clone().requires_grad_() for p in encoder.parameters()]
    assert torch.autograd.gradcheck(loss, values, fast_mode=True)


class Whole(torch.nn.Module):
    """The loss of an encoder as the call of a module."""

    def __init__(self, encoder: encoders.Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, source, target):
        return self.encoder.loss({"pairs": (source, target)})


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None)
@given(ROWS, st.integers(1, 4))
def test_padding_and_company_change_nothing(kind, rows, more):
    encoder = model(kind)
    alone = torch.cat([encoder.encode("src", padded([row])) for row in rows])
    together = padded(rows)
    assert torch.isfinite(alone).all()
    assert torch.allclose(encoder.encode("src", together), alone, atol=1e-6)
    ids = torch.nn.functional.pad(together.ids, (0, more), value=7)
    for row, length in zip(ids, together.lengths, strict=True):
        row[length:] = 7
    assert torch.allclose(encoder.encode("src", together._replace(ids=ids)), alone, atol=1e-6)


def test_bag_of_words_overfits_64_pairs(tmp_path: Path):
    data = [cipher(tmp_path, "pairs", 64)]
    spec = {
        "type": "bow_autoencoder",
        "training": {"optimizer": "adam", "learning_rate": 0.02, "updates": 150, "batch": 64, "valid_every": 150},
    }
    found = trainer.train(spec, V, {"bitext": data, "valid": data}, tmp_path / "model.pt", tmp_path / "kept")
    assert found["valid"] == 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_or_two_gives_the_same_bytes(tmp_path: Path, kind: str):
    data, made = [cipher(tmp_path, "pairs", 300)], []
    for threads in (1, 2):
        out = tmp_path / str(threads) / "model.pt"
        training = {"optimizer": "adam", "learning_rate": 0.01, "updates": 2, "batch": 100, "precision": "fp32"}
        spec = {"type": kind, "model": {"hidden" if kind.startswith("bow") else "embedding": 64}, "training": training}
        trainer.train(spec, 4096, {"bitext": data}, out, tmp_path / f"kept.{threads}", threads=threads)
        made.append(sha256(out))
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("kind", "sizes", "message"),
    [
        (
            "bow_autoencoder",
            {"activation": "relu"},
            "encoder bow_autoencoder: model: activation cannot be 'relu'; set it to sigmoid or tanh",
        ),
        ("bow_autoencoder", {"representation": "mean"}, "representation cannot be 'mean'; set it to sum or hidden"),
        ("bow_autoencoder", {"merge": 0}, "merge cannot be 0; set it to 1 or more"),
        ("descriptor_autoencoder", {"direction": "mm2mm"}, "direction cannot be 'mm2mm'; set it to mm2as or as2mm"),
        ("descriptor_autoencoder", {"block": 0}, "block cannot be 0; set it to 1 or more"),
        ("descriptor_autoencoder", {"alpha": 1.5}, "alpha cannot be 1.5; set it to a number from 0 to 1"),
    ],
)
def test_a_wrong_size_is_an_error(kind, sizes, message):
    with pytest.raises(InputError, match=message):
        encoders.create({"type": kind, "model": sizes}, V)


def test_an_empty_training_set_is_an_error():
    empty = {"bitext": {side: SentenceIds([]) for side in SIDES}}
    for kind in KINDS:
        with pytest.raises(InputError, match="bitext: nothing to train on"):
            model(kind).streams(empty, 10, 60, 1)
