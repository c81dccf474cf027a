"""The encoders that learn by translating through one vector, against numpy, word by word."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_encoder import D, E, V, embed, negative_log_likelihood, padded, sentences, sigmoid, weights
from test_encoder import batch as three

from bitextbench import encoders
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import recurrent, trainer
from bitextbench.encoders.batches import Buckets, SentenceIds
from bitextbench.encoders.models.shared_seq2seq import Alternating
from bitextbench.formats.ids import BOS, EOS, Ragged

SIZES = {
    "pivot_nmt": {"embedding": E, "hidden": D},
    "shared_seq2seq": {"embedding": E, "hidden": D // 2, "decoder": 48, "language": 4, "dropout": 0.0},
}
ROWS = st.lists(st.lists(st.integers(4, V - 1), min_size=1, max_size=7), min_size=1, max_size=4)


def model(kind: str, seed: int = 1, **sizes) -> encoders.Encoder:
    torch.manual_seed(seed)
    return encoders.create({"type": kind, "model": {**SIZES[kind], **sizes}}, V)


def lstm(w: dict, name: str, x: np.ndarray, h: np.ndarray, c: np.ndarray):
    """One step, as torch defines it."""
    gates = w[f"{name}.weight_ih_l0"] @ x + w[f"{name}.weight_hh_l0"] @ h
    i, f, g, o = np.split(gates + w[f"{name}.bias_ih_l0"] + w[f"{name}.bias_hh_l0"], 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


# ---- Schwenk & Douze 2017


def test_pivot_loss_is_that_of_a_loop_over_words():
    encoder = model("pivot_nmt")
    first, second = three(0, 4)[:2], three(1, 3)[:2]
    losses = encoder.loss({"src": first, "tgt": second})
    for side, (source, pivot) in (("src", first), ("tgt", second)):
        w = weights(encoder)
        loop = [
            negative_log_likelihood(w, embed(w, side, f), e)
            for f, e in zip(sentences(source), sentences(pivot), strict=True)
        ]
        assert losses[side].item() == pytest.approx(np.mean(loop), rel=1e-5)


def test_each_pivot_bitext_trains_its_encoder_and_the_decoder():
    for side, other in (("src", "tgt"), ("tgt", "src")):
        encoder = model("pivot_nmt")
        encoder.loss({"src": three(0)[:2], "tgt": three(1)[:2]})[side].backward()
        norms = {name: parameter.grad.norm().item() for name, parameter in encoder.named_parameters()}
        assert all(norm > 0 for name, norm in norms.items() if f".{side}." in name or name.startswith(("dec", "out")))
        assert all(norm == 0 for name, norm in norms.items() if f".{other}." in name)


def test_pivot_streams_are_two_bitexts_with_the_pivot():
    corpora = {
        f"pivot_{side}": {"src": SentenceIds([Ragged.of([[word]])]), "tgt": SentenceIds([Ragged.of([[9]])])}
        for side, word in (("src", 5), ("tgt", 7))
    }
    streams = model("pivot_nmt").streams(corpora, 6, 60, 1)
    drawn = {side: [column.ids.unique().tolist() for column in stream.batch(0)] for side, stream in streams.items()}
    assert drawn == {"src": [[5], [9]], "tgt": [[7], [9]]}
    assert len(streams["src"].batch(0)[0].ids) == len(streams["tgt"].batch(0)[0].ids) == 3
    with pytest.raises(InputError, match="it has no text in the role pivot_src; give it two bitexts: pivot_src"):
        model("pivot_nmt").streams({"pivot_tgt": corpora["pivot_tgt"]}, 6, 60, 1)


# ---- Artetxe & Schwenk 2019


def embed_shared(w: dict, words: list[int]) -> np.ndarray:
    """The maximum over positions of the states of both directions."""
    halves = []
    for name, order in (("forwards", words), ("backwards", words[::-1])):
        h = c = np.zeros(D // 2)
        states = []
        for word in order:
            h, c = lstm(w, name, w["words.weight"][word], h, c)
            states.append(h)
        halves.append(np.max(states, axis=0))
    return np.concatenate(halves)


def shared_likelihood(w: dict, vector: np.ndarray, words: list[int], language: int) -> float:
    """-log p(words | vector, language): the vector starts the decoder and is read at each step."""
    h, c = np.split(w["state.weight"] @ vector + w["state.bias"], 2)
    total = 0.0
    for before, word in zip([BOS, *words], [*words, EOS], strict=True):
        x = np.concatenate([w["decoder_words.weight"][before], vector, w["language.weight"][language]])
        h, c = lstm(w, "decoder", x, h, c)
        logits = w["output.weight"] @ h + w["output.bias"]
        total += np.log(np.exp(logits).sum()) - logits[word]
    return total


def test_shared_loss_is_that_of_a_loop_over_words():
    encoder = model("shared_seq2seq", pairs={"a": ["de", "en"], "b": ["fr", "en"]})
    assert encoder.languages == ["de", "en", "fr"]
    w = weights(encoder)
    for name, language in (("a.src.tgt", 1), ("a.tgt.src", 0), ("b.tgt.src", 2), ("b.src.tgt", 1), ("a.src.src", 0)):
        source, target = three(3)[:2]
        loop = [
            shared_likelihood(w, embed_shared(w, f), e, language)
            for f, e in zip(sentences(source), sentences(target), strict=True)
        ]
        loss = encoder.loss({name: (source, target)})["translation"].item()
        assert loss == pytest.approx(np.sum(loop) / sum(len(e) + 1 for e in sentences(target)), rel=1e-5)


def test_logits_of_few_words_at_a_time_give_the_same_loss_and_gradient(monkeypatch):
    found = []
    for most in (recurrent.LOGITS, 3 * V):  # of three words at a time
        monkeypatch.setattr(recurrent, "LOGITS", most)
        encoder = model("pivot_nmt")
        source, target = (padded([[5, 6, 7], [8, 9]]) for _ in range(2))
        loss = sum(encoder.loss({"src": (source, target), "tgt": (target, source)}).values())
        loss.backward()
        found.append([loss.detach(), *(p.grad for p in encoder.parameters())])
    for whole, parts in zip(*found, strict=True):
        assert torch.allclose(whole, parts, atol=1e-6)


def test_the_shared_encoder_knows_no_language():
    encoder = model("shared_seq2seq")
    assert torch.equal(encoder.encode("src", padded([[5, 6]])), encoder.encode("tgt", padded([[5, 6]])))


def test_word_vectors_start_both_tables_of_the_shared_encoder(tmp_path: Path):
    files = {side: tmp_path / f"{side}.vec" for side in ("src", "tgt")}
    rows = {"src": {"both": 1.0, "haus": 3.0}, "tgt": {"both": 2.0, "house": -2.0}}
    for side, path in files.items():
        path.write_text(
            "".join(f"{word} {' '.join([str(x)] * E)}\n" for word, x in rows[side].items()), encoding="utf-8"
        )
    encoder, before = model("shared_seq2seq"), model("shared_seq2seq")
    row_of = {"both": 4, "haus": 5, "house": 6}.get
    assert encoder.initialise(files, row_of) == {"src": 2, "tgt": 2}
    scale = 5**0.5  # the root mean square of 1 and 3; that of 2 and -2 is 2
    for table in ("words", "decoder_words"):
        weight, random = (getattr(one, table).weight for one in (encoder, before))
        assert torch.allclose(weight[4:7, 0], torch.tensor([1.0, 3 / scale, -1.0]))
        assert torch.equal(weight[7:], random[7:])


def test_directions_take_turns():
    columns = {"src": SentenceIds([Ragged.of([[5], [6]])]), "tgt": SentenceIds([Ragged.of([[7], [8]])])}
    encoder = model("shared_seq2seq", pairs={"a": ["de", "en"], "b": ["fr", "en"]})
    streams = encoder.streams({"a": columns, "b": columns}, 2, 60, 1)
    order = ["a.src.tgt", "a.tgt.src", "b.src.tgt", "b.tgt.src"]
    for step in range(8):
        sizes = {name: [len(column.ids) for column in stream.batch(step)] for name, stream in streams.items()}
        assert sizes == {name: [2, 2] if name == order[step % 4] else [0, 0] for name in order}
    buckets = Buckets([columns["tgt"], columns["src"]], 2, 60, [1, 1], "a")  # every batch of a direction in its order
    turn = Alternating(buckets, 1, 4)
    for time in range(3):
        drawn = [turn.batch(4 * time + 1), buckets.batch(time)]
        assert torch.equal(drawn[0][0].ids, drawn[1][0].ids)
    assert set(streams["a.tgt.src"].batch(1)[0].ids.flatten().tolist()) == {7, 8}  # reads tgt, says src
    both = model("shared_seq2seq", autoencoding=True).streams({"bitext": columns}, 2, 60, 1)
    assert list(both) == ["bitext.src.src", "bitext.src.tgt", "bitext.tgt.src", "bitext.tgt.tgt"]
    assert torch.equal(*(column.ids for column in both["bitext.tgt.tgt"].batch(3)))
    with pytest.raises(InputError, match=r"it has no text in the role b, which model.pairs names; give it that bitext"):
        encoder.streams({"a": columns}, 2, 60, 1)


def test_defaults_are_the_papers_sizes():
    shared = encoders.create({"type": "shared_seq2seq"}, 10)
    assert shared.dimension == 1024
    assert shared.decoder.hidden_size == 2048
    assert shared.decoder.input_size == 512 + 1024 + 32
    assert shared.dropout.p == 0.1
    assert encoders.create({"type": "pivot_nmt"}, 10).dimension == 512


# ---- both


@pytest.mark.parametrize("kind", SIZES)
@settings(max_examples=15, deadline=None)
@given(ROWS, st.integers(1, 4))
def test_padding_and_company_change_nothing(kind, rows, more):
    encoder = model(kind)
    alone = torch.cat([encoder.encode("tgt", padded([row])) for row in rows])
    together = padded(rows)
    assert torch.allclose(encoder.encode("tgt", together), alone, atol=1e-6)
    ids = torch.nn.functional.pad(together.ids, (0, more), value=7)
    for row, length in zip(ids, together.lengths, strict=True):
        row[length:] = 7
    assert torch.allclose(encoder.encode("tgt", together._replace(ids=ids)), alone, atol=1e-6)


@pytest.mark.parametrize("kind", SIZES)
def test_padding_of_a_target_counts_nothing(kind):
    encoder = model(kind)
    names = {"pivot_nmt": ["src", "tgt"], "shared_seq2seq": ["bitext.src.tgt"]}[kind]
    source, target = three(5)[:2]
    wide = target._replace(ids=torch.nn.functional.pad(target.ids, (0, 3)))
    first, second = (encoder.loss(dict.fromkeys(names, (source, column))) for column in (target, wide))
    assert {k: v.item() for k, v in first.items()} == pytest.approx({k: v.item() for k, v in second.items()}, rel=1e-6)


def toy(folder: Path, count: int) -> int:
    """A text in three toy languages of 20 words each, as `bitext`, `pivot_src` and `pivot_tgt`; their vocabulary."""
    rng = np.random.default_rng(1)
    rows = [4 + rng.integers(0, 20, rng.integers(2, 6)) for _ in range(count)]
    spoken = {"src": rows, "tgt": [row[::-1] + 20 for row in rows], "pivot": [87 - row for row in rows]}
    for role, pair in (("bitext", ("src", "tgt")), ("pivot_src", ("src", "pivot")), ("pivot_tgt", ("tgt", "pivot"))):
        for side, name in zip(("src", "tgt"), pair, strict=True):
            Ragged.of(spoken[name]).save(folder / f"{role}.{side}")
    return 84


@pytest.mark.parametrize(
    ("kind", "sizes", "roles", "updates"),
    [
        ("pivot_nmt", {"embedding": 32, "hidden": 64}, ("pivot_src", "pivot_tgt"), 80),
        (
            "shared_seq2seq",
            {"embedding": 32, "hidden": 32, "decoder": 64, "language": 4, "dropout": 0.0, "autoencoding": True},
            ("bitext",),
            150,
        ),
    ],
)
def test_overfits_64_pairs(tmp_path: Path, kind: str, sizes: dict, roles: tuple[str, ...], updates: int):
    vocab = toy(tmp_path, 64)
    training = {"optimizer": "adam", "learning_rate": 0.015, "updates": updates, "batch": 64, "valid_every": updates}
    data = {role: [tmp_path / role] for role in roles} | {"valid": [tmp_path / "bitext"]}
    spec = {"type": kind, "model": sizes, "training": training | {"log_every": 20}}
    found = trainer.train(spec, vocab, data, tmp_path / "model.pt", tmp_path / "kept")
    with open(tmp_path / "curve.csv", encoding="utf-8") as file:
        losses = [
            [float(row[key]) for key in row if key in ("src", "tgt", "translation")] for row in csv.DictReader(file)
        ]
    assert np.mean(losses[-1]) < np.mean(losses[0]) / 50
    assert found["valid"] > 0.8  # nothing trains vectors to be near; chance is 1 in 64


@pytest.mark.parametrize(
    ("kind", "sizes", "message"),
    [
        ("pivot_nmt", {"cell": "rnn"}, "encoder pivot_nmt: model: cell cannot be 'rnn'; set it to gru or lstm"),
        ("pivot_nmt", {"hidden": 50}, "hidden cannot be 50; set it to a multiple of 32"),
        ("shared_seq2seq", {"hidden": 50}, "hidden cannot be 50; set it to a multiple of 16"),
        ("shared_seq2seq", {"decoder": 0}, "decoder cannot be 0; set it to a multiple of 16"),
        (
            "shared_seq2seq",
            {"pairs": {"bitext": ["de"]}},
            "pairs cannot be .*; set it to two languages for each bitext",
        ),
    ],
)
def test_a_wrong_size_is_an_error(kind, sizes, message):
    with pytest.raises(InputError, match=message):
        encoders.create({"type": kind, "model": sizes}, V)
