"""The encoder of Kim et al. 2019 against numpy, word by word."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench import encoders
from bitextbench.base.device import number_format, setup, torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import trainer
from bitextbench.encoders.batches import SentenceIds, stack
from bitextbench.formats.ids import BOS, EOS, Ragged
from bitextbench.report.settings import paper_scale

V, E, D = 23, 8, 32


def model(seed: int = 1, **sizes) -> encoders.Encoder:
    torch.manual_seed(seed)
    return encoders.create({"type": "nmt_autoencoder", "model": {"embedding": E, "hidden": D, **sizes}}, V)


def padded(rows: list[list[int]]):
    return SentenceIds([Ragged.of(rows)]).padded(np.arange(len(rows)))


def batch(seed: int = 0, count: int = 5):
    rng = np.random.default_rng(seed)
    return tuple(padded([rng.integers(4, V, rng.integers(1, 9)).tolist() for _ in range(count)]) for _ in range(3))


def sentences(column) -> list[list[int]]:
    return [ids[:length].tolist() for ids, length in zip(column.ids, column.lengths, strict=True)]


def weights(encoder) -> dict[str, np.ndarray]:
    return {name: value.double().numpy() for name, value in encoder.state_dict().items()}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(w: dict, name: str, x: np.ndarray, h: np.ndarray):
    """One step, as torch defines it."""
    r, z, n = np.split(w[f"{name}.weight_ih_l0"] @ x + w[f"{name}.bias_ih_l0"], 3)
    hr, hz, hn = np.split(w[f"{name}.weight_hh_l0"] @ h + w[f"{name}.bias_hh_l0"], 3)
    z = sigmoid(z + hz)
    return (1 - z) * np.tanh(n + sigmoid(r + hr) * hn) + z * h


def embed(w: dict, side: str, words: list[int]) -> np.ndarray:
    """Eq. 1 and 3: the maximum over positions of the states of both directions."""
    halves = []
    for name, order in (("forwards", words), ("backwards", words[::-1])):
        h, states = np.zeros(D // 2), []
        for word in order:
            h = gru(w, f"{name}.{side}", w[f"words.{side}.weight"][word], h)
            states.append(h)
        halves.append(np.max(states, axis=0))
    return np.concatenate(halves)


def negative_log_likelihood(w: dict, s: np.ndarray, words: list[int]) -> float:
    """Eq. 2 and 4."""
    total = 0.0
    for before, word in zip([BOS, *words], [*words, EOS], strict=True):
        s = gru(w, "decoder", w["decoder_words.weight"][before], s)
        logits = w["output.weight"] @ s + w["output.bias"]
        total += np.log(np.exp(logits).sum()) - logits[word]
    return total


def states(w: dict, side: str, words: list[int]) -> np.ndarray:
    """h_1 .. h_J [J, D] of eq. 1, both directions at each word."""
    halves = []
    for name, order in (("forwards", words), ("backwards", words[::-1])):
        h, along = np.zeros(D // 2), []
        for word in order:
            h = gru(w, f"{name}.{side}", w[f"words.{side}.weight"][word], h)
            along.append(h)
        halves.append(along if name == "forwards" else along[::-1])
    return np.concatenate(halves, axis=1)


POOLED = {
    "max": lambda h: h.max(0),
    "mean": lambda h: h.mean(0),
    "first": lambda h: h[0],
    "last": lambda h: h[-1],
}


@pytest.mark.parametrize("pooling", POOLED)
def test_poolings_of_the_states_of_all_words(pooling):
    encoder, source = model(pooling=pooling), batch()[0]
    h = [states(weights(encoder), "src", words) for words in sentences(source)]
    np.testing.assert_allclose(encoder.encode("src", source).detach(), [*map(POOLED[pooling], h)], rtol=1e-4, atol=1e-6)


def test_a_decoder_with_attention_sees_all_states():
    encoder = model(attention=True)
    source, target, alone = batch()
    w, total = weights(encoder), []
    for f, e in zip(sentences(source), sentences(target), strict=True):
        h = states(w, "src", f)
        s, loss = h.max(0), 0.0
        for before, word in zip([BOS, *e], [*e, EOS], strict=True):
            s = gru(w, "decoder", w["decoder_words.weight"][before], s)
            shares = np.exp(h @ s) / np.exp(h @ s).sum()
            seen = np.tanh(w["attend.weight"] @ np.concatenate([shares @ h, s]) + w["attend.bias"])
            logits = w["output.weight"] @ seen + w["output.bias"]
            loss += np.log(np.exp(logits).sum()) - logits[word]
        total.append(loss)
    losses = encoder.loss({"nmt": (source, target), "autoencoding": (alone,)})
    assert losses["nmt"].item() == pytest.approx(np.mean(total), rel=1e-5)


@pytest.mark.parametrize(("autoencode", "translate"), [("tgt", "src"), ("src", "tgt")])
def test_loss_is_that_of_a_loop_over_words(autoencode, translate):
    encoder = model(autoencode=autoencode)
    source, target, alone = batch()
    w = weights(encoder)
    nmt = [
        negative_log_likelihood(w, embed(w, translate, f), e)
        for f, e in zip(sentences(source), sentences(target), strict=True)
    ]
    same = [negative_log_likelihood(w, embed(w, autoencode, e), e) for e in sentences(alone)]
    losses = encoder.loss({"nmt": (source, target), "autoencoding": (alone,)})
    assert losses["nmt"].item() == pytest.approx(np.mean(nmt), rel=1e-5)
    assert losses["autoencoding"].item() == pytest.approx(np.mean(same), rel=1e-5)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_loss_of_a_batch_is_the_mean_over_its_sentences_and_padding_counts_nothing(cell):
    encoder = model(cell=cell)
    source, target, alone = batch(count=4)
    whole = encoder.loss({"nmt": (source, target), "autoencoding": (alone,)})
    single = []
    for rows in zip(*map(sentences, (source, target, alone)), strict=True):
        f, e, a = (padded([row]) for row in rows)
        single.append(encoder.loss({"nmt": (f, e), "autoencoding": (a,)}))
    for name, loss in whole.items():
        assert loss.item() == pytest.approx(np.mean([one[name].item() for one in single]), rel=1e-5)


def test_gradient_reaches_each_part_from_its_own_objective():
    source, target, alone = batch()
    for name, touched, untouched in (("nmt", "src", "tgt"), ("autoencoding", "tgt", "src")):
        encoder = model()
        encoder.loss({"nmt": (source, target), "autoencoding": (alone,)})[name].backward()
        norms = {key: parameter.grad.norm().item() for key, parameter in encoder.named_parameters()}
        assert all(norm > 0 for key, norm in norms.items() if f".{touched}." in key or key.startswith(("dec", "out")))
        assert all(norm == 0 for key, norm in norms.items() if f".{untouched}." in key)


def test_autoencoding_the_source_swaps_the_roles_of_the_sides():
    tgt, src = model(autoencode="tgt"), model(autoencode="src")
    swap = {"src": "tgt", "tgt": "src"}
    state = {}
    for name, value in tgt.state_dict().items():
        side = next((side for side in swap if f".{side}." in name), None)
        state[name.replace(f".{side}.", f".{swap[side]}.") if side else name] = value
    src.load_state_dict(state)
    source, target, alone = batch()
    batches = {"nmt": (source, target), "autoencoding": (alone,)}
    assert {k: v.item() for k, v in tgt.loss(batches).items()} == {k: v.item() for k, v in src.loss(batches).items()}
    corpora = {
        "bitext": {
            "src": SentenceIds([Ragged.of([[5, 6], [7]])]),
            "tgt": SentenceIds([Ragged.of([[8], [9]])]),
        },
        "mono": {"src": SentenceIds([Ragged.of([[10]])]), "tgt": SentenceIds([Ragged.of([[11]])])},
    }
    for encoder, pairs, alone_words in (
        (tgt, ({5, 6, 7}, {8, 9}), {8, 9, 11}),
        (src, ({8, 9}, {5, 6, 7}), {5, 6, 7, 10}),
    ):
        streams = encoder.streams(corpora, 12, 60, 1)
        drawn = streams["nmt"].batch(0)
        assert tuple(set(column.ids.flatten().tolist()) - {0} for column in drawn) == pairs
        assert set(streams["autoencoding"].batch(0)[0].ids.flatten().tolist()) - {0} == alone_words
        assert len(drawn[0].ids) == len(streams["autoencoding"].batch(0)[0].ids) == 6  # 1:1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(4, V - 1), min_size=1, max_size=7), min_size=1, max_size=4), st.integers(1, 5))
def test_max_pooling_ignores_padding(rows, more):
    encoder = model()
    alone = torch.cat([encoder.encode("src", padded([row])) for row in rows])
    together = padded(rows)
    assert torch.allclose(encoder.encode("src", together), alone, atol=1e-6)
    # words after the end of a sentence are not read, whatever they are
    ids = torch.nn.functional.pad(together.ids, (0, more), value=7)
    for row, length in zip(ids, together.lengths, strict=True):
        row[length:] = 7
    assert torch.allclose(encoder.encode("src", together._replace(ids=ids)), alone, atol=1e-6)


def test_stack_pads_to_the_longest():
    both = stack(padded([[4, 5, 6]]), padded([[7], [8, 9]]))
    assert both.ids.tolist() == [[4, 5, 6], [7, 0, 0], [8, 9, 0]]
    assert both.lengths.tolist() == [3, 1, 2]


def test_word_vectors_start_the_tables_of_their_language(tmp_path: Path):
    path = tmp_path / "vectors.vec"
    rows = {"▁haus": 1.0, "nothing": 2.0, "▁in": 3.0}
    lines = [f"{len(rows) + 1} {E}", *(f"{word} " + " ".join([str(x)] * E) for word, x in rows.items())]
    path.write_text("\n".join([*lines, "▁haus " + " ".join(["9"] * E)]) + "\n", encoding="utf-8")
    pieces = ["<pad>", "<unk>", "<s>", "</s>", "▁in", "▁haus", *(f"p{i}" for i in range(6, V))]
    row_of = {piece: row for row, piece in enumerate(pieces)}.get
    encoder, before = model(), model()
    assert encoder.initialise({"src": path}, row_of) == {"src": 2}
    found = encoder.words["src"].weight.detach()[[5, 4]]  # of two vectors of a word the first: 1 and 3, not 9
    assert torch.allclose(found[1] / found[0], torch.full((E,), 3.0))
    assert torch.isclose(
        found.square().mean(), torch.tensor(1.0)
    )  # as of rows that have none, whatever their lengths in the file
    assert torch.equal(encoder.words["src"].weight[6:], before.words["src"].weight[6:])
    assert torch.equal(
        encoder.decoder_words.weight, before.decoder_words.weight
    )  # the decoder speaks the other language
    encoder.initialise({"tgt": path}, row_of)
    assert encoder.decoder_words.weight[5].tolist() == encoder.words["tgt"].weight[5].tolist()
    assert torch.equal(encoder.decoder_words.weight[5], found[0])

    path.write_text(f"1 {E}\nwort 1 2 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"vectors\.vec:2: 3 dimensions, but the embedding has 8"):
        encoder.initialise({"src": path}, row_of)
    path.write_text("▁in " + " ".join(["1"] * (E - 1) + ["x"]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"vectors\.vec:1: a value is not a number"):
        encoder.initialise({"src": path}, row_of)


def test_the_paper_s_rate_needs_clipping():
    """kim2019 section 4: plain SGD at rate 1.0. As config.yaml has it but for the sizes, on one batch."""
    spec = paper_scale(Path(__file__).parents[2] / "config.yaml")["encoders"]["nmt_autoencoder"]

    def trained(clip: float) -> list[float]:
        torch.manual_seed(1)
        encoder = encoders.create(spec | {"model": spec["model"] | {"embedding": 64, "hidden": 64}}, 1000)
        training = trainer.training_of(spec | {"training": spec["training"] | {"clip": clip}})
        optimizer = trainer.optimizer_of(spec, training, encoder, 1)
        ids = np.random.default_rng(1).integers(4, 1000, (2, 32, 12)).tolist()
        source, target = map(padded, ids)
        columns = {"nmt": (source, target), "autoencoding": (target,)}
        run = trainer.Updates(model=encoder, optimizer=optimizer, training=training)
        losses = [trainer.step(run, columns, k) for k in range(40)]
        return [sum(loss.values()) if loss else float("inf") for loss in losses]

    held, free = (trained(clip) for clip in (spec["training"]["clip"], 1e9))
    assert held[-1] < 0.8 * held[0]
    assert max(free) > 1.3 * free[0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "nmt_autoencodr"}, "unknown encoder .nmt_autoencodr.; did you mean nmt_autoencoder"),
        ({"type": "nmt_autoencoder", "model": {"hiden": 64}}, "unknown key hiden; known: cell, embedding, hidden"),
        ({"type": "nmt_autoencoder", "model": {"hidden": 50}}, "hidden cannot be 50; set it to a multiple of 32"),
        ({"type": "nmt_autoencoder", "model": {"cell": "rnn"}}, "cell cannot be 'rnn'; set it to gru or lstm"),
        ({"type": "nmt_autoencoder", "model": {"autoencode": "de"}}, "autoencode cannot be 'de'; set it to src or tgt"),
    ],
)
def test_a_wrong_spec_is_an_error_that_shows_the_right_one(spec, message):
    with pytest.raises(InputError, match=message):
        encoders.create(spec, V)


def test_what_is_saved_is_loaded_and_other_files_are_not(tmp_path: Path):
    encoder, path = model(), tmp_path / "model.pt"
    spec = {"type": "nmt_autoencoder", "model": {"embedding": E, "hidden": D}}
    trainer.save({"spec": spec, "vocab_size": V, "state_dict": trainer.plain(encoder)}, path)
    loaded = encoders.load(path, torch.device("cpu"))
    assert torch.equal(loaded.encode("tgt", padded([[4, 5]])), encoder.encode("tgt", padded([[4, 5]])))
    other = tmp_path / "other.pt"
    trainer.save({"spec": spec, "vocab_size": V + 1, "state_dict": trainer.plain(encoder)}, other)
    for content in (b"", b"no model", path.read_bytes()[:1000], other.read_bytes()):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"model\.pt: .*; train again"):
            encoders.load(path, torch.device("cpu"))


def test_a_device_or_format_that_is_not_there_is_an_error():
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="cuda was asked for, but torch sees 0 GPUs here; run on a GPU machine"):
            setup(1, "cuda")
    for name in ("gpu", "meta"):
        with pytest.raises(InputError, match=name):
            setup(1, name)
    with pytest.raises(InputError, match="fp8 is unknown; choose auto, fp32 or bf16"):
        number_format("fp8", torch.device("cpu"))
