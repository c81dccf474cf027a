"""The cross-encoder of Yang et al. 2019, section 6.2: what BERT reads, what it learns, and rescoring by halves."""

import json
from pathlib import Path

import numpy as np
import pytest

from bitextbench import encoders
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import trainer
from bitextbench.encoders.batches import Buckets, SentenceIds
from bitextbench.encoders.streams import WithNegative
from bitextbench.evaluation import rescoring
from bitextbench.formats.ids import BOS, EOS, PAD, Ragged
from bitextbench.formats.sentences import Sentences as Text
from bitextbench.formats.vectors import Embeddings, rows_of_shards
from bitextbench.mining.comparable import Comparable

pytest.importorskip("transformers")
V = 40
SIZES = {"hidden": 32, "layers": 1, "heads": 2, "filters": 32, "dropout": 0.0, "positions": 33}
TRAINING = {
    "batch": 32,
    "optimizer": "adam",
    "learning_rate": 0.003,
    "decay_factor": 1.0,
    "precision": "fp32",
    "updates": 80,
}


def rows(count: int, seed: int, longest: int = 6) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(4, V, rng.integers(1, longest + 1)).tolist() for _ in range(count)]


def sentences(lines: list[list[int]]) -> SentenceIds:
    return SentenceIds([Ragged.of(lines)])


def create(seed: int = 1, **sizes) -> encoders.Encoder:
    torch.manual_seed(seed)
    return encoders.create({"type": "cross_encoder", "model": SIZES | sizes}, V).eval()


def save(folder: Path, **roles: tuple[list[list[int]], list[list[int]]]) -> dict[str, list[Path]]:
    for role, sides in roles.items():
        for side, lines in zip(("src", "tgt"), sides, strict=True):
            Ragged.of(lines).save(folder / f"{role}.{side}")
    return {role: [folder / role] for role in roles}


def train(folder: Path, data: dict[str, list[Path]], training: dict | None = None, vocab: int = V, **settings):
    spec = {"type": "cross_encoder", "model": SIZES, "training": TRAINING | (training or {})}
    return trainer.train(spec, vocab, data, folder / "model.pt", folder / "checkpoints", **settings)


def test_what_bert_reads():
    src, tgt = [[7, 8], [9] * 20], [[5], [6, 4, 6]]
    whole = np.arange(2)
    ids, segments, inside = (
        t.tolist() for t in create().joined(sentences(src).padded(whole), sentences(tgt).padded(whole))
    )
    wanted = [[BOS, *a[:15], EOS, *b, EOS] for a, b in zip(src, tgt, strict=True)]  # 15: half of 33 - 3 positions
    width = max(map(len, wanted))
    assert ids == [row + [PAD] * (width - len(row)) for row in wanted]
    for a, b, s, i in zip(src, tgt, segments, inside, strict=True):
        first, second = min(len(a), 15) + 2, len(b) + 1
        assert s == [0] * first + [1] * second + [0] * (width - first - second)
        assert i == [True] * (first + second) + [False] * (width - first - second)


def test_scores_depend_neither_on_the_batch_nor_on_threads():
    model, src, tgt = create(), sentences(rows(300, 1)), sentences(rows(300, 2))
    torch.set_num_threads(1)
    together = model.score_pairs(src, tgt)
    for i in (0, 150, 299):
        assert model.score_pairs(sentences([src[i]]), sentences([tgt[i]])) == pytest.approx(together[i], abs=1e-6)
    with torch.no_grad():  # padded
        padded = model.logits(src.padded(np.arange(300)), tgt.padded(np.arange(300))).numpy()
    assert np.allclose(padded, together, atol=1e-5)
    torch.set_num_threads(2)
    assert model.score_pairs(src, tgt).tobytes() == together.tobytes()


def test_it_overfits_64_pairs(tmp_path):
    """A pair is right where both its sentences are: neither alone decides. Words are many, so that each sentence has
    some of its own.
    """
    rng, words = np.random.default_rng(1), 200
    first, second = ([rng.integers(4, words, rng.integers(3, 7)).tolist() for _ in range(32)] for _ in range(2))
    src, tgt = [*first[:16] * 2, *first[16:] * 2], second * 2
    data = save(tmp_path, positives=(src[:16], tgt[:16]), negatives=(src[16:], tgt[16:]))
    roles = data | {"valid": data["positives"], "valid_negatives": data["negatives"]}
    report = train(tmp_path, roles, {"batch": 64, "learning_rate": 0.005, "updates": 60}, vocab=words)
    assert report["valid"] == 1.0  # F1 of what it was trained on
    model = encoders.load(tmp_path / "model.pt", torch.device("cpu"))
    logits = model.score_pairs(sentences(src), sentences(tgt))
    assert np.where(np.arange(64) < 16, logits, -logits).min() > 2  # each pair by far


def test_any_number_of_threads_ends_in_the_same_bytes(tmp_path):
    data = save(tmp_path, positives=(rows(32, 1), rows(32, 2)), negatives=(rows(96, 3), rows(96, 4)))
    for threads in (1, 2):
        train(tmp_path / str(threads), data, {"updates": 4, "batch": 128}, threads=threads)
    assert (tmp_path / "1/model.pt").read_bytes() == (tmp_path / "2/model.pt").read_bytes()


def test_wrong_targets_are_those_of_other_pairs():
    lines = [[4 + i] for i in range(8)]
    stream = WithNegative(Buckets([sentences(lines), sentences(lines)], 4, 9, [1], "bitext"))
    for step in range(6):
        src, tgt, wrong = (column.ids[:, 0].tolist() for column in stream.batch(step))
        assert src == tgt
        assert wrong == [*src[1:], src[0]]


def test_a_bitext_makes_a_model_to_start_from(tmp_path):
    src = rows(40, 1)
    start = save(tmp_path, bitext=(src, src), valid=(src[:9], src[:9]))
    report = train(tmp_path / "start", start, {"updates": 2})
    assert 0 <= report["valid"] <= 1
    path = tmp_path / "start/model.pt"
    model = create(seed=2)
    assert model.initialise({"model": path}, {}.get) == {"model": V}
    assert torch.equal(model.bert.classifier.weight, encoders.load(path, torch.device("cpu")).bert.classifier.weight)
    with pytest.raises(
        InputError, match=r"shape of .*word_embeddings\.weight is \(40, 32\), and the encoder's is \(50, 32\)"
    ):
        encoders.create({"type": "cross_encoder", "model": SIZES}, V + 10).initialise({"model": path}, {}.get)
    with pytest.raises(
        InputError, match=r"it has no .*layer\.1\..*; give a model with the encoder's vocabulary and sizes"
    ):
        create(layers=2).initialise({"model": path}, {}.get)


def test_a_published_bert_gives_all_but_its_classifier(tmp_path):
    theirs, model = create(seed=2), create()
    theirs.bert.save_pretrained(tmp_path)
    before = model.bert.classifier.weight.clone()
    model.initialise({"model": tmp_path / "model.safetensors"}, {}.get)
    assert torch.equal(model.bert.classifier.weight, before)
    wanted = theirs.bert.bert.state_dict()
    assert all(torch.equal(tensor, wanted[name]) for name, tensor in model.bert.bert.state_dict().items())


def test_a_published_sentence_encoder_gives_its_layers_and_the_rows_of_its_pieces(tmp_path):
    """As e5-small: no pooler, and more rows than pieces."""
    from transformers import BertModel

    torch.manual_seed(3)
    model, settings = create(pad=1), create().bert.config
    settings.vocab_size = V + 7
    theirs = BertModel(settings, add_pooling_layer=False)
    theirs.save_pretrained(tmp_path)
    assert model.initialise({"model": tmp_path / "model.safetensors"}, {}.get) == {"model": V}
    wanted = theirs.state_dict()
    for name, tensor in model.bert.bert.state_dict().items():
        if "pooler" not in name:
            assert torch.equal(tensor, wanted[name][:V] if "word_embeddings" in name else wanted[name]), name


def test_bad_input(tmp_path):
    with pytest.raises(InputError, match="hidden cannot be 32; set it to a multiple of heads, which is 5"):
        create(heads=5)
    with pytest.raises(InputError, match="heads cannot be 0; set it to 1 or more"):
        create(heads=0)
    with pytest.raises(InputError, match="sep cannot be 40; set it to an id of the vocabulary, at most 39"):
        create(sep=V)
    empty = save(tmp_path, positives=([], []), negatives=(rows(9, 1), rows(9, 2)))
    with pytest.raises(InputError, match="nothing to train on") as error:
        train(tmp_path, empty)
    assert "positives" in str(error.value)
    data = save(tmp_path, positives=(rows(9, 1), rows(9, 2)), negatives=(rows(9, 3), rows(9, 4)))
    with pytest.raises(InputError, match="not finite"):
        train(tmp_path, data, {"learning_rate": 1e30, "clip": 1e9})


# ---- halves of a comparable corpus


def corpus(tmp_path: Path, gold: int = 40, others: int = 60):
    """A comparable corpus whose pairs have the same vector. The first id of a sentence tells its row, the last its side."""
    rng = np.random.default_rng(1)
    vectors = [rng.standard_normal((gold + others, 16)).astype(np.float32) for _ in range(2)]
    vectors[1][:gold] = vectors[0][:gold]
    order = [rng.permutation(gold + others) for _ in range(2)]
    texts = [
        Text([f"{language}-{row}" for row in o], [f"{language} {row}" for row in o], language)
        for language, o in zip(("en", "fr"), order, strict=True)
    ]
    found = Comparable(*texts, [(f"en-{row}", f"fr-{row}") for row in range(gold)], tuple(order))
    save(tmp_path, ids=tuple([[4 + row % 30, 34 + side] for row in range(gold + others)] for side in range(2)))
    return found, [Embeddings(side) for side in vectors], [tmp_path / "ids"]


def test_no_half_learns_from_what_it_rescores(tmp_path):
    found, vectors, stems = corpus(tmp_path)
    counts = rescoring.prepare(found, *vectors, stems, tmp_path / "pairs", negatives=1)
    assert json.loads((tmp_path / "pairs/pairs.json").read_text()) == counts
    named = [set(rescoring.mined_pairs.read(tmp_path / f"pairs/{half}/candidates.tsv").src) for half in "01"]
    assert not named[0] & named[1]
    assert {f"en-{row}" for row in range(40)} <= named[0] | named[1]
    for half, other in (("0", "1"), ("1", "0")):
        of_half = counts[half]
        right = len([name for name in named[int(other)] if int(name[3:]) < 40])
        assert of_half["positives"] + of_half["valid"] == right
        assert of_half["negatives"] + of_half["valid_negatives"] <= right
        assert of_half["positives"] == round(0.8 * right)
        folder = tmp_path / "pairs" / half
        candidates = rescoring.mined_pairs.read(folder / "candidates.tsv")
        for number, (side, names) in enumerate((("src", candidates.src), ("tgt", candidates.tgt))):
            ids = [[4 + int(name[3:]) % 30, 34 + number] for name in names]
            assert [row.tolist() for row in Ragged.load(folder / f"candidates.{side}")] == ids
        for role in ("positives", "valid"):
            src, tgt = (Ragged.load(folder / f"{role}.{side}").flat.reshape(-1, 2) for side in ("src", "tgt"))
            assert src[:, 0].tolist() == tgt[:, 0].tolist()  # gold pairs are of one row
            assert ({*src[:, 1]}, {*tgt[:, 1]}) == ({34}, {35})
    with pytest.raises(InputError, match="fewer than the corpus"):
        rescoring.read_ids(found, [save(tmp_path, few=([[4]], [[4]]))["few"][0]])


def constant(path: Path, logit: float) -> Path:
    """A model that gives every pair one logit."""
    model = create()
    with torch.no_grad():
        model.bert.classifier.weight.zero_()
        model.bert.classifier.bias.fill_(logit)
    spec = {"type": "cross_encoder", "model": SIZES}
    trainer.save({"spec": spec, "vocab_size": V, "state_dict": model.state_dict()}, path)
    return path


def test_the_classifier_selects(tmp_path):
    found, vectors, stems = corpus(tmp_path)
    counts = rescoring.prepare(found, *vectors, stems, tmp_path / "pairs")
    every, none = constant(tmp_path / "m.pt", 1.0), constant(tmp_path / "0.pt", -1.0)
    result = rescoring.evaluate(found, tmp_path / "pairs", [every] * 2)
    assert result["recall"]["value"] == 100
    assert result["pairs"] == result["candidates"] >= 40
    of_half = [counts[half]["candidates"] for half in "01"]
    assert of_half[0] != of_half[1]
    for models, selected in (((every, none), of_half[0]), ((none, every), of_half[1])):
        assert rescoring.evaluate(found, tmp_path / "pairs", models)["pairs"] == selected
    with pytest.raises(InputError, match="the logit of pair 1 is not finite; train it again"):
        rescoring.rescore(tmp_path / "pairs/0", constant(tmp_path / "nan.pt", float("nan")))
    other = {"type": "bow_autoencoder", "model": {"hidden": 2}}
    state = encoders.create(other, V).state_dict()
    trainer.save({"spec": other, "vocab_size": V, "state_dict": state}, tmp_path / "bow.pt")
    with pytest.raises(InputError, match=r"bow\.pt: is not a cross-encoder; train one"):
        rescoring.rescore(tmp_path / "pairs/0", tmp_path / "bow.pt")
    Ragged.of([[4]]).save(tmp_path / "pairs/1/candidates.tgt")
    with pytest.raises(InputError, match=f"{of_half[1]} and 1 sentences of {of_half[1]} candidates"):
        rescoring.rescore(tmp_path / "pairs/1", every)
    few = encoders.create({"type": "cross_encoder", "model": SIZES}, 10).state_dict()
    spec = {"type": "cross_encoder", "model": SIZES}
    trainer.save({"spec": spec, "vocab_size": 10, "state_dict": few}, tmp_path / "n.pt")
    with pytest.raises(InputError, match="for a model of 10 pieces"):
        rescoring.evaluate(found, tmp_path / "pairs", [tmp_path / "n.pt"] * 2)


def test_rows_of_shards_are_dealt_in_blocks():
    order = rows_of_shards([7000, 5000], "x")  # blocks of 5,000 in turn: 0 and 2 (the rest) in the first shard
    assert order.tolist() == [*range(5000), *range(7000, 12000), *range(5000, 7000)]
    with pytest.raises(InputError, match="the shards have 4000"):
        rows_of_shards([4000, 5000], "x")
