"""The encoders as config.yaml has them, smaller: do they learn a batch of text, without all vectors becoming one?

Width and table of words are smaller, all else is the paper's: layers, loss, optimiser, rate, schedule. F1 of the
fidelity list (a length penalty with which the loss never fell) would have been found here. What is another than at
paper scale:

- descriptor_autoencoder: random word vectors in place of word2vec's. Its loss falls because its vectors become one
  (see the model), which is tested as well: whoever mends that learns of it here.
- cross_encoder: it is fine-tuned from a published BERT, for which 2e-5 is enough. From random weights, as here, it
  learns nothing in 100 updates of that; with RATE it does.
"""

import itertools
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bitextbench import encoders
from bitextbench.base.device import torch
from bitextbench.data.synth import sentences
from bitextbench.encoders import trainer
from bitextbench.encoders.batches import Padded
from bitextbench.formats.ids import PAD
from bitextbench.report.settings import paper_scale

CONFIG = paper_scale(Path(__file__).parents[2] / "config.yaml")
MODELS = CONFIG["encoders"] | CONFIG["rescorers"]
WORDS, BUCKETS, PAIRS = 3000, 4000, 24
RATE = 2e-3
NARROWED = {"embedding", "hidden", "filters", "dimension", "layers", "decoder"}
Batches = dict[str, tuple[Padded, ...]]


class Case(NamedTuple):
    updates: int
    narrower: int = 2  # how many times
    vectors: bool = True  # whether there are vectors of sentences, which shall not become one


CASES = {
    "nmt_autoencoder": Case(12, 4),
    **{f"nmt_autoencoder_{name}": Case(12, 4) for name in ("mean", "first", "last", "attention", "reverse")},
    "pivot_nmt": Case(12, 4),
    "shared_seq2seq": Case(30, 8),
    "dan_dual.en-fr": Case(400),  # embeddings start near 0: nothing is learned in the first 100
    "transformer_de.en-fr": Case(30, 4),
    "transformer_bide.en-fr": Case(30, 4),
    "transformer_bide_am.en-fr": Case(30, 4),
    "mm2as_25": Case(5, 1, vectors=False),  # of ten iterations each
    "as2mm_100": Case(5, 1, vectors=False),
    "bow_autoencoder": Case(100, 1, vectors=False),  # pairs are compared by what it rebuilds
    "bert.en-fr": Case(40, 8, vectors=False),
}


def narrowed(key: str, value: Any, times: int) -> Any:
    if key not in NARROWED or (key == "layers" and isinstance(value, int)):
        return value
    return [part // times for part in value] if isinstance(value, list) else value // times


def ids(text: str, grams: bool) -> list[int]:
    """Each word, then its n-grams of 3 to 6 characters, hashed."""
    found = []
    for word in text.split():
        found.append(4 + zlib.crc32(word.encode()) % (WORDS - 4))
        marked = f"<{word}>" if grams else ""
        parts = (marked[at : at + n] for n in range(3, 7) for at in range(len(marked) - n + 1))
        found += [WORDS + zlib.crc32(part.encode()) % BUCKETS for part in parts]
    return found


def padded(texts: list[str], grams: bool) -> Padded:
    rows = [torch.tensor(ids(text, grams)) for text in texts]
    lengths = torch.tensor([len(text.split()) for text in texts])
    padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    return Padded(padded, lengths, torch.tensor([*map(len, rows)]))


@pytest.fixture(scope="module")
def texts() -> list[list[str]]:
    """24 pairs of sentences: those of each side."""
    pairs = [pair for _, pair in itertools.islice(sentences("paper scale", ("en", "fr"), 5), PAIRS)]
    return [[pair[side] for pair in pairs] for side in (0, 1)]


def batches(kind: str, texts: list[list[str]]) -> Batches:
    """One batch for each objective of a type of encoder."""
    src, tgt = (padded(side, kind.endswith("_dual")) for side in texts)
    match kind:
        case "nmt_autoencoder":
            return {"nmt": (tgt, src), "autoencoding": (src,)}
        case "pivot_nmt":
            return {"src": (src, tgt), "tgt": (tgt, src)}
        case "shared_seq2seq":
            return {"fr-en.src.tgt": (src, tgt)}
        case "descriptor_autoencoder" | "bow_autoencoder":
            return {"pairs": (src, tgt)}
        case "cross_encoder":
            return {"positives": (src, tgt), "negatives": (src, Padded(tgt.ids.roll(1, 0), tgt.lengths.roll(1, 0)))}
    return {"ranking": (src, tgt)}


def prepared(spec: dict[str, Any], times: int) -> dict[str, Any]:
    """A model's configuration, narrower; see the head of this file for what else it has not as at paper scale."""
    model = {key: narrowed(key, value, times) for key, value in spec["model"].items()}
    if spec["type"].endswith("_dual"):
        model["words"] = WORDS
    if spec["type"] == "cross_encoder":
        model["layers"] = 2
        return spec | {"model": model, "training": spec["training"] | {"learning_rate": RATE, "warmup": 10}}
    return spec | {"model": model}


def trained(name: str, case: Case, given: Batches) -> tuple[encoders.Encoder, list[float]]:
    """The model after some updates on one batch, and the sum of its losses before each of them."""
    spec = prepared(MODELS[name], case.narrower)
    training = trainer.training_of(spec)
    torch.manual_seed(1)
    model = encoders.create(spec, WORDS + BUCKETS)
    if spec["type"] == "descriptor_autoencoder":
        for table in model.words.values():
            torch.nn.init.normal_(table.weight, std=0.5)
    optimizer = trainer.optimizer_of(spec, training, model, 1)
    run, losses = trainer.Updates(model=model, optimizer=optimizer, training=training), []
    for update in range(case.updates):
        found = trainer.step(run, given, update)
        assert found is not None, f"loss or gradient of update {update} is not finite"
        losses.append(sum(found.values()))
    return model.eval(), losses


def mean_cosine(vectors: torch.Tensor) -> float:
    """Of different rows."""
    unit = torch.nn.functional.normalize(vectors, dim=1)
    return float(((unit @ unit.T).sum() - len(unit)) / (len(unit) * (len(unit) - 1)))


@pytest.mark.parametrize(("name", "case"), CASES.items())
def test_it_learns_a_batch(name, case, texts):
    given = batches(MODELS[name]["type"], texts)
    model, losses = trained(name, case, given)
    assert losses[-1] < 0.5 * losses[0]
    src = padded(texts[0], MODELS[name]["type"].endswith("_dual"))
    with torch.no_grad():
        if case.vectors:
            assert mean_cosine(model.encode("src", src)) < 0.9
        elif name == "mm2as_25":
            assert mean_cosine(model.encode("src", src)) > 0.99


def test_all_models_of_paper_scale_are_here():
    """Each type; of a type each optimiser, rate and model, but for the number of negatives, languages, the margin and
    zhang2016's dimensions.
    """

    def kind(spec: dict[str, Any]) -> tuple[Any, ...]:
        free = {"extra", "pairs", "margin", *(["embedding"] if spec["type"] == "descriptor_autoencoder" else [])}
        model = {key: value for key, value in spec["model"].items() if key not in free}
        training = {key: spec["training"][key] for key in ("optimizer", "learning_rate", "clip")}
        return spec["type"], str(model), str(training)

    assert {kind(spec) for spec in MODELS.values()} == {kind(MODELS[name]) for name in CASES}
