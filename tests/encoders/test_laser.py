"""LASER2: a tiny model in its true format, with random weights; beside laser_encoders' own computation, written out."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import plain
from bitextbench.encoders.encode import MOST_TOKENS
from bitextbench.encoders.laser import Laser
from bitextbench.text.bpe import learn_sentencepiece, load_bpe

TEXT = ["a bird sings at night", "the night is long and dark", "birds sing", "the “bird” — it’s 5 % dark …"]
LINES = ["A bird sings", "the\u200bNight", "", "The “bird” — it’s 5 % dark …", "a night " * 9, "a bird 鳥"]
SIZES = {"embed_dim": 8, "hidden_size": 6, "num_layers": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("laser")
    (folder / "laser2.spm").write_bytes(learn_sentencepiece(iter(TEXT * 5), 40, 1))
    pieces = load_bpe(folder / "laser2.spm")
    names = ["<s>", "<pad>", "</s>", "<unk>", *(pieces.id_to_piece(piece) for piece in range(3, len(pieces)))]
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(SIZES["embed_dim"], SIZES["hidden_size"], SIZES["num_layers"], bidirectional=True)
    weights = {f"lstm.{name}": value for name, value in lstm.state_dict().items()}
    weights["embed_tokens.weight"] = torch.randn(len(names), SIZES["embed_dim"])
    params = {
        "num_embeddings": len(names),
        "padding_idx": 1,
        "bidirectional": True,
        "left_pad": False,
        "padding_value": 0.0,
        **SIZES,
    }
    dictionary = {name: place for place, name in enumerate(names)}
    torch.save({"params": params, "model": weights, "dictionary": dictionary}, folder / "laser2.pt")
    return folder


def encoded(folder: Path, lines: list[str]) -> np.ndarray:
    encoder = plain.sentence_encoder(folder)
    vectors = np.zeros((len(lines), encoder.dimension), np.float32)
    assert sum(done.rows for done in encoder.encode(lines, None, encoder.side(None), vectors)) == len(lines)
    return vectors


def test_vectors_are_those_of_a_packed_and_padded_batch(folder):
    """As `laser_encoders.models.LaserLstmEncoder` computes them: one batch, packed, states of padding at -inf."""
    held, pieces = torch.load(folder / "laser2.pt", weights_only=True), load_bpe(folder / "laser2.spm")
    plain_text = [
        "a bird sings",
        "the night",
        "",
        'the "bird" - it\'s 5% dark ...',
        ("a night " * 9).strip(),
        "a bird 鳥",
    ]
    ids = [
        [held["dictionary"].get(piece, 3) for piece in pieces.encode(line, out_type=str)] + [2] for line in plain_text
    ]
    assert 3 in ids[5]  # unknown
    lengths = torch.tensor([len(row) for row in ids])
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in ids], padding_value=1)
    lstm = torch.nn.LSTM(SIZES["embed_dim"], SIZES["hidden_size"], SIZES["num_layers"], bidirectional=True)
    lstm.load_state_dict({name.removeprefix("lstm."): value for name, value in held["model"].items() if "lstm" in name})
    embedded = torch.nn.functional.embedding(padded, held["model"]["embed_tokens.weight"])
    packed = torch.nn.utils.rnn.pack_padded_sequence(embedded, lengths, enforce_sorted=False)
    with torch.no_grad():
        states, _ = torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], padding_value=-torch.inf)
    expected = states.amax(0).numpy()
    expected[2] = 0  # empty
    np.testing.assert_allclose(encoded(folder, LINES), expected, atol=1e-6)


@pytest.mark.parametrize("lines", [1, 4])
def test_vectors_do_not_depend_on_the_batch(folder, lines):
    parts = [encoded(folder, LINES[start : start + lines]) for start in range(0, len(LINES), lines)]
    assert np.concatenate(parts).tobytes() == encoded(folder, LINES).tobytes()


def test_a_long_sentence_is_its_first_pieces_and_is_counted(folder):
    encoder = plain.sentence_encoder(folder)
    words = "a bird sings at night and the night is long and dark " * 60
    pieces = [len(encoder.tokens([words[:size]]).columns["ids"][0]) - 1 for size in range(0, len(words), 50)]
    assert pieces[-1] == MOST_TOKENS < len(encoder.pieces.encode(words.strip()))
    longest = words[: 50 * max(place for place, count in enumerate(pieces) if count < MOST_TOKENS)]
    vectors = np.zeros((2, encoder.dimension), np.float32)
    assert sum(done.cut for done in encoder.encode([words, longest], None, "any", vectors)) == 1
    ids = [encoder.vocabulary.get(piece, 3) for piece in encoder.pieces.encode(words.strip(), out_type=str)]
    with torch.no_grad():
        expected = encoder.network(torch.tensor([[*ids[:MOST_TOKENS], 2]]))[0].numpy()
    np.testing.assert_allclose(vectors[0], expected, atol=1e-6)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-6)


def test_vectors_are_those_of_laser_encoders(folder):
    models = pytest.importorskip("laser_encoders.models")
    theirs = models.SentenceEncoder(folder / "laser2.pt", spm_model=folder / "laser2.spm", cpu=True)
    lines = [line for line in LINES if line]
    np.testing.assert_allclose(encoded(folder, lines), theirs(lines), atol=1e-6)


def laser3(folder):
    torch.save({"cfg": Path("of fairseq"), "model": {}}, folder / "laser2.pt")


def other_sizes(folder):
    held = torch.load(folder / "laser2.pt", weights_only=True)
    held["params"]["hidden_size"] = 5
    torch.save(held, folder / "laser2.pt")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "laser2.pt").unlink(), r"laser2\.pt: no such file; fetch the \.pt beside the \.spm"),
        (lambda folder: (folder / "laser2.pt").write_bytes(b"PK"), r"laser2\.pt: is not a model of LASER2 \("),
        (lambda folder: (folder / "laser2.spm").write_text("a"), r"laser2\.spm: is not a sentencepiece model"),
        (lambda folder: (folder / "laser3.spm").touch(), r"has 2 files \*\.spm; keep one model in a folder"),
        (laser3, r"laser2\.pt: is not a model of LASER2 \("),
        (other_sizes, r"laser2\.pt: is not a model of LASER2 \(.*size mismatch"),
    ],
)
def test_what_cannot_be_used_is_one_line(folder, tmp_path, spoil, message):
    for path in folder.glob("laser2.*"):  # as published: no sum of a use
        shutil.copy(path, tmp_path)
    spoil(tmp_path)
    with pytest.raises(InputError, match=message) as error:
        plain.sentence_encoder(tmp_path)
    assert "\n" not in str(error.value)


def test_it_takes_no_prefix(folder):
    with pytest.raises(InputError, match="takes no prefix"):
        Laser(folder, prefix="query: ")


@pytest.mark.parametrize("name", ["laser2.pt", "laser2.spm"])
def test_a_byte_that_flips_after_the_first_use_is_told(folder, tmp_path, name):
    for path in folder.glob("laser2.*"):
        shutil.copy(path, tmp_path)
    encoded(tmp_path, LINES[:1])
    held = bytearray((tmp_path / name).read_bytes())
    held[len(held) // 2] ^= 1
    (tmp_path / name).write_bytes(held)
    with pytest.raises(InputError, match=f"{name}: has changed since it was written.*fetch the model again"):
        Laser(tmp_path)
