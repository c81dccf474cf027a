"""The translation models and language models as config.yaml has them, narrower: do they learn a text by heart?

Width, table of pieces and warm-up are smaller, all else is as at paper scale: layers, heads, dropout, smoothing, Adam,
peak rate. All pairs are one batch, so that `update_freq` does nothing. In 4,000 updates of warm-up nothing would be
learned in 80: here 10.
"""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from test_likelihoods import LONGEST, VOCAB, write_ids
from test_nmt import LINES, PAIR, write_selection

from bitextbench.nmt import data, ids, likelihood_models, train
from bitextbench.report.settings import paper_scale
from bitextbench.text.bpe import learn_sentencepiece, sentencepiece

CONFIG = paper_scale(Path(__file__).parents[2] / "config.yaml")
FOUR = CONFIG["likelihoods"]["four_models"]
TRANSFORMERS = {"table 2": CONFIG["nmt"], **CONFIG["transformers"]}
SIZES = ("embed_dim", "ffn_dim", "hidden_dim")
WIDTH = 64
UPDATES = {"table 2": 60, "base": 60, "big": 80}  # with three times the dropout


def narrowed(spec: dict[str, Any], updates: int = 60) -> dict[str, Any]:
    """The same with an `embed_dim` of WIDTH, and other sizes in proportion; one batch, few updates."""
    times = spec["embed_dim"] // WIDTH
    small = {size: spec[size] // times for size in SIZES if size in spec}
    schedule = {"warmup_updates": 10, "max_updates": updates, "validate_every": updates, "max_tokens": 4000}
    return spec | small | schedule | {"vocab_size": VOCAB, "ensemble": 1}


def model_of(spec: dict[str, Any]) -> str:
    """What matters to learning, as text."""
    keys = ("layers", "heads", "dropout", "label_smoothing", "learning_rate", "normalise", "clip", *SIZES)
    return str({key: spec.get(key) for key in keys})


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data of translation and of likelihoods; validation is on the text of training."""
    folder = tmp_path_factory.mktemp("learn")
    selected = write_selection(folder / "selected", LINES["de"], LINES["en"])
    data.prepare(selected, (LINES["de"], LINES["en"]), PAIR, narrowed(CONFIG["nmt"]), folder / "data")
    bpe = sentencepiece.SentencePieceProcessor(
        model_proto=learn_sentencepiece(iter([*LINES["de"], *LINES["en"]]), VOCAB, 1)
    )
    whole = [write_ids(folder / "whole", LINES["de"], LINES["en"], bpe)]
    ids.prepare({"bitext": whole, "mono": whole, "valid": whole}, bpe.get_piece_size(), LONGEST, folder / "likelihoods")
    return folder


def loss(checkpoints: Path) -> float:
    """On the text of training after the last update, in bits a piece."""
    return float(torch.load(checkpoints / "checkpoint_best.pt", weights_only=False)["extra_state"]["best"])


@pytest.mark.parametrize("name", UPDATES)
def test_a_transformer_learns(name, text, tmp_path):
    spec = narrowed(TRANSFORMERS[name], UPDATES[name])
    train.train(text / "data", PAIR, spec, 1, tmp_path / "model.pt", tmp_path / "checkpoints")
    assert loss(tmp_path / "checkpoints") < 0.6 * math.log2(VOCAB)  # of a guess


@pytest.mark.parametrize("name", ["forward", "tgt"])
def test_a_likelihood_model_learns(name, text, tmp_path):
    spec = FOUR["language" if name == "tgt" else "translation"]
    out, checkpoints = tmp_path / "model.pt", tmp_path / "checkpoints"
    likelihood_models.train(name, text / "likelihoods", narrowed(spec), LONGEST, 1, out, checkpoints)
    assert loss(checkpoints) < 0.6 * math.log2(VOCAB)  # of a guess


def test_all_transformers_are_here():
    tested = {model_of(TRANSFORMERS[name]) for name in UPDATES}
    assert {model_of(spec) for spec in TRANSFORMERS.values()} == tested
