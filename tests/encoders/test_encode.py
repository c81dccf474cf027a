"""Encoding: exact, in order, whatever the batch size and the number of threads."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench import encoders
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.encoders import folder, trainer
from bitextbench.encoders.batches import SentenceIds, batches_of_one_length
from bitextbench.encoders.encode import encode, loaded
from bitextbench.formats.ids import Ragged
from bitextbench.text import bpe, features
from bitextbench.text.tokens import tokenize_shard

V = 50


@pytest.fixture
def stem(tmp_path: Path) -> Path:
    """Ids of 601 sentences of 0 to 12 tokens."""
    rng = np.random.default_rng(1)
    Ragged.of(rng.integers(4, V, rng.integers(0, 13)) for _ in range(601)).save(tmp_path / "00000.src")
    return tmp_path / "00000.src"


OTHERS = {
    "shared_seq2seq": {"pairs": {"bitext": ["de", "en"]}, "embedding": 16, "hidden": 48, "decoder": 32},
    "transformer_dual": {"words": V, "embedding": 16, "hidden": 64, "filters": 96, "heads": 4, "dimension": 96},
}


def saved(folder: Path, vocab_size: int = V, kind: str = "nmt_autoencoder", **model) -> Path:
    spec = {"type": kind, "model": OTHERS.get(kind, {"embedding": 16, "hidden": 96}) | model}
    torch.manual_seed(1)
    encoder = encoders.create(spec, vocab_size)
    trainer.save({"spec": spec, "vocab_size": vocab_size, "state_dict": trainer.plain(encoder)}, folder / "model.pt")
    return folder / "model.pt"


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_any_batch_size_and_number_of_threads(tmp_path: Path, stem: Path, cell: str):
    model, out = saved(tmp_path, cell=cell), tmp_path / "vectors.npy"
    written = []
    for batch_tokens, threads in ((1, 1), (37, 1), (100_000, 1), (100_000, 2), (512, 3)):
        encode(loaded(model, threads=threads), stem, "src", out, batch_tokens=batch_tokens)
        written.append(np.load(out))
    for other in written[1:]:
        if cell == "gru":
            assert other.tobytes() == written[0].tobytes()
        else:  # oneDNN
            np.testing.assert_allclose(other, written[0], atol=1e-6)


def test_a_transformer_too(tmp_path: Path, stem: Path):
    model, out = saved(tmp_path, kind="transformer_dual"), tmp_path / "vectors.npy"
    written = set()
    for batch_tokens, threads in ((37, 1), (100_000, 1), (100_000, 2), (512, 3)):
        encode(loaded(model, threads=threads), stem, "src", out, batch_tokens=batch_tokens)
        written.add(out.read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize("kind", ["nmt_autoencoder", *OTHERS])
def test_bf16_is_near(tmp_path: Path, stem: Path, kind: str):
    model = saved(tmp_path, kind=kind)
    for precision in ("fp32", "bf16"):
        encode(loaded(model, precision=precision), stem, "src", tmp_path / f"{precision}.npy")
    exact, near = (np.load(tmp_path / f"{precision}.npy").astype(np.float64) for precision in ("fp32", "bf16"))
    full = Ragged.load(stem).lengths > 0
    assert not near[~full].any()
    lengths = np.linalg.norm(exact[full], axis=1) * np.linalg.norm(near[full], axis=1)
    assert 0.999 < ((exact * near)[full].sum(1) / lengths).min() < 1


def test_rows_are_in_order_and_an_empty_sentence_is_a_zero_vector(tmp_path: Path, stem: Path, capsys):
    model, out, ids = saved(tmp_path), tmp_path / "vectors.npy", Ragged.load(stem)
    empty = int((ids.lengths == 0).sum())
    assert empty > 0
    assert encode(loaded(model), stem, "tgt", out) == {
        "sentences": 601,
        "tokens": len(ids.flat),
        "empty": empty,
        "cut": 0,
    }
    assert f"{empty} empty sentences have a zero vector" in capsys.readouterr().err
    found = np.load(out)
    assert (found.dtype, found.shape) == (np.float32, (601, 96))
    encoder, sentences = encoders.load(model, torch.device("cpu")), SentenceIds([ids])
    for index in range(0, 601, 7):
        if len(ids[index]):
            alone = encoder.encode("tgt", sentences.padded(np.array([index])))[0]
            np.testing.assert_allclose(found[index], alone.detach().numpy(), atol=1e-6)
        else:
            assert not found[index].any()


@pytest.mark.parametrize("rows", [[], [[]], [[5]]])
def test_a_shard_of_nothing_or_one(tmp_path: Path, rows: list[list[int]]):
    Ragged.of(rows).save(tmp_path / "few.src")
    encode(loaded(saved(tmp_path)), tmp_path / "few.src", "src", tmp_path / "few.npy")
    assert np.load(tmp_path / "few.npy").shape == (len(rows), 96)


def test_several_parts_are_numbered_through():
    parts = [Ragged.of([[4], [5, 6]]), Ragged.of([]), Ragged.of([[7, 8, 9]])]
    sentences = SentenceIds(parts)
    assert sentences.padded(np.array([2, 0, 1])).ids.tolist() == [[7, 8, 9], [4, 0, 0], [5, 6, 0]]
    assert len(sentences.head(2)) == 2


def test_bad_input_is_one_line_and_leaves_no_output(tmp_path: Path, stem: Path):
    out = tmp_path / "out" / "vectors.npy"
    model = saved(tmp_path, vocab_size=49)
    with pytest.raises(InputError, match=r"00000\.src\.ids\.npy: holds id 49, but ids go from 0 to 48; use the BPE"):
        encode(loaded(model), stem, "src", out)
    with pytest.raises(InputError, match="the model has no side fr; it has: src, tgt"):
        encode(loaded(model), stem, "fr", out)
    with pytest.raises(InputError, match=r"absent\.pt: no such file"):
        loaded(tmp_path / "absent.pt")
    model = saved(tmp_path)
    held = torch.load(model, weights_only=True)
    held["state_dict"]["words.src.weight"][7] = torch.nan
    trainer.save(held, model)
    with pytest.raises(InputError, match=r"the vector of sentence \d+ is not finite; train again") as error:
        encode(loaded(model), stem, "src", out)
    assert 7 in Ragged.load(stem)[int(str(error.value).split("sentence ")[1].split()[0]) - 1]
    assert not out.exists()
    assert [*out.parent.iterdir()] == []


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 30), st.integers(1, 7))
def test_batches_hold_one_length_and_every_sentence_once(lengths: list[int], tokens: int, rows: int):
    array = np.array(lengths, np.int32)
    batches = [batch.tolist() for batch in batches_of_one_length(array, tokens, rows)]
    assert sorted(i for batch in batches for i in batch) == [i for i, length in enumerate(lengths) if length]
    for batch in batches:
        assert len({lengths[i] for i in batch}) == 1
        assert 1 <= len(batch) <= rows
        assert len(batch) == 1 or sum(lengths[i] for i in batch) <= tokens


def test_a_text_of_ones_own_gets_the_vectors_of_the_workflow(tmp_path: Path):
    lines = ["Das  ist gut, oder?", "", "Ein Haus (rot)", "Das ist gut, oder?"]
    (tmp_path / "text.de").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    corpus = pa.table({"id": range(4), "src": lines, "tgt": lines})
    pq.write_table(corpus, tmp_path / "00000.parquet")
    tokens = tmp_path / "tokens" / "00000.parquet"
    tokenize_shard(tmp_path / "00000.parquet", ("de", "de"), tokens)
    bpe.learn_bpe([tokens.parent], 60, 10, 1, tmp_path / "bpe.model")
    features.encode_shard(tokens, tmp_path / "bpe.model", tmp_path, lowercase=True)
    model = saved(tmp_path, vocab_size=60)
    encode(loaded(model), tmp_path / "00000.src", "src", tmp_path / "one.npy")
    text = folder.TextSide(tmp_path / "bpe.model", True, "jieba", {"src": "de", "tgt": "en"})
    trained = encoders.load(model, torch.device("cpu"))
    folder.describe(tmp_path, trained, text, {"spec": {"type": "nmt_autoencoder"}, "seed": 1, "updates": 0})
    done = CliRunner().invoke(
        cli,
        [
            "encode",
            f"{tmp_path}/text.de",
            "--encoder",
            f"{tmp_path}",
            "--language",
            "de",
            "-o",
            f"{tmp_path}/other.npy",
        ],
    )
    assert done.exit_code == 0, done.output
    one, other = np.load(tmp_path / "one.npy"), np.load(tmp_path / "other.npy")
    assert one.tobytes() == other.tobytes()
    assert not one[1].any()
    assert (one[0] == one[3]).all()


@pytest.mark.parametrize(
    ("held", "what"),
    [
        ([1], "it holds a list"),
        ({"vocab_size": 50}, "not a trained encoder"),
        ({"spec": [], "vocab_size": 50, "state_dict": {}}, "not a trained encoder"),
        (
            {"spec": {"type": "nmt_autoencoder", "model": {}}, "vocab_size": "50", "state_dict": {}},
            "not a trained encoder",
        ),
        (
            {"spec": {"type": "nmt_autoencoder", "model": {}}, "vocab_size": 50, "state_dict": [1]},
            "not a trained encoder",
        ),
    ],
)
def test_files_that_are_no_encoder(tmp_path: Path, held: object, what: str):
    torch.save(held, tmp_path / "model.pt")
    with pytest.raises(InputError, match=rf"model\.pt: .*{what}.*; train again"):
        encoders.load(tmp_path / "model.pt", torch.device("cpu"))


def test_a_bpe_that_is_text(tmp_path: Path):
    (tmp_path / "bpe.model").write_text("a b\n")
    pq.write_table(pa.table({"id": [0], "src": ["a"], "tgt": ["b"]}), tmp_path / "00000.parquet")
    with pytest.raises(InputError, match=r"bpe\.model: is not a sentencepiece model"):
        features.encode_shard(tmp_path / "00000.parquet", tmp_path / "bpe.model", tmp_path, lowercase=True)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=6), st.integers(1, 6), st.booleans())
def test_the_first_tokens_of_a_sentence(rows, most, grams):
    """Of n-grams, ids from 5 on belong to the token before them."""
    rows = [[0, *row] if grams and row and row[0] >= 5 else row for row in rows]
    tokens = [sum(token < 5 for token in row) if grams else len(row) for row in rows]
    before = lambda row, place: sum(token < 5 for token in row[: place + 1]) if grams else place + 1  # noqa: E731
    cut, longer = SentenceIds([Ragged.of(rows)], 5 if grams else None).cut(most)
    assert longer.tolist() == [count > most for count in tokens]
    assert cut.lengths.tolist() == [min(count, most) for count in tokens]
    assert [cut[i].tolist() for i in range(len(cut))] == [
        [token for place, token in enumerate(row) if before(row, place) <= most] for row in rows
    ]
