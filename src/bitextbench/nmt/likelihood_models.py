"""The four models of `likelihoods.MODELS`, by fairseq: their training, and the log-probabilities of given pairs.

Translation models are Transformers and language models LSTMs (kim2019 section 4.2, by Rossenbach et al. 2018), all over
the joint BPE of the encoders.
"""

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.arrays import verify_zip
from bitextbench.base.device import setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import scratch
from bitextbench.base.progress import log, progress
from bitextbench.encoders.batches import batches_of_one_length
from bitextbench.encoders.encode import ROWS
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.ids import Ragged
from bitextbench.formats.likelihoods import MODELS, Likelihoods
from bitextbench.nmt.ids import EOS, PAD, load_sides, to_fairseq, write_dictionary
from bitextbench.nmt.train import fit, translation

AT_ONCE = 8 * ROWS  # tokens; see `of_target`
STEP = 4  # sentences are padded to the next multiple, by at least one token

# model -> the side it is given, if any, and the side it predicts
SIDES_OF: dict[str, tuple[str | None, str]] = {
    "forward": ("src", "tgt"),
    "backward": ("tgt", "src"),
    "src": (None, "src"),
    "tgt": (None, "tgt"),
}


def train(
    name: str,
    data: Path,
    spec: dict[str, Any],
    max_length: int,
    seed: int,
    out: Path,
    checkpoints: Path,
    *,
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Train the model `name` of MODELS on `data` (of `ids.prepare`); checkpoints, resumption and result as `nmt.train`.

    `spec`: that of `nmt.train.train` for a translation model; `language_model`'s, with the same schedule, for the
    others. `max_length`: pieces of the longest sentence, as in `ids.prepare`; the model takes no longer ones.
    """
    given, predicted = SIDES_OF[name]
    positions = max_length + 1
    if given:
        limits = {f"max-{side}-positions": positions for side in ("source", "target")}
        folder, model = "translation", translation((given, predicted), spec) | limits
    else:
        folder, model = predicted, language_model(spec) | {"tokens-per-sample": positions}
    fit(data / folder, model, spec, seed, out, checkpoints, about=name, device=device, threads=threads)


def language_model(spec: dict[str, Any]) -> dict[str, Any]:
    """fairseq's options for an LSTM that predicts sentences one by one: layers, embed_dim, hidden_dim."""
    return {
        "task": "language_modeling",
        "sample-break-mode": "eos",
        "arch": "lstm_lm",
        "criterion": "cross_entropy",
        "decoder-layers": spec["layers"],
        "decoder-hidden-size": spec["hidden_dim"],
        "decoder-embed-dim": spec["embed_dim"],
        "decoder-out-embed-dim": spec["embed_dim"],
        "share-decoder-input-output-embed": True,
    }


def score(
    stem: Path, models: Mapping[str, Path], out: Path, *, batch_tokens: int = 8192, device: str = "cpu"
) -> Likelihoods:
    """Write the `Likelihoods` of the pairs of an id shard, in their order.

    `models`: name -> file of `train`, all of MODELS. `batch_tokens`: of both sides of a batch, padding included, at
    most. Each sentence is padded to a width that depends on its own length alone. A batch has pairs of one width on
    each side, filled up as in `encode`, and one thread on the CPU. So the bytes are the same for any shards and
    batches. An empty shard has empty likelihoods. Raises InputError for a missing or damaged file, another model than its name
    says, an id outside its vocabulary, a missing GPU, or a log-probability that is not finite.
    """
    if missing := [name for name in MODELS if name not in models]:
        raise InputError(f"no model {' and '.join(missing)}", remedy=f"give all of {', '.join(MODELS)}")
    where = setup(1, device)
    shard = dict(zip(SIDES, load_sides(stem), strict=True))
    lengths = np.stack([side.lengths for side in shard.values()])
    loaded = {name: load(name, models[name], where) for name in MODELS}
    longest = min(longest for _, _, longest in loaded.values())
    taken = np.flatnonzero(((lengths > 0) & (lengths <= longest)).all(axis=0))
    columns: dict[str, NDArray[Any]] = {}
    for name, (model, vocab_size, _) in loaded.items():
        sides = [to_fairseq(shard[side].take(taken), vocab_size, f"{stem}.{side}") for side in SIDES_OF[name] if side]
        columns[name] = np.full(len(lengths[0]), -np.inf, np.float32)
        columns[name][taken] = scores = log_probabilities(
            model, *sides, batch_tokens=batch_tokens, what=f"score {name}"
        )
        if len(bad := np.flatnonzero(~np.isfinite(scores))):
            what = f"the log-probability of pair {taken[bad[0]] + 1:,} of {stem} is not finite"
            raise InputError(what, models[name], remedy="train it again with a lower learning rate")
    if left := len(lengths[0]) - len(taken):
        log(f"score {stem.name}: {left:,} pairs have an empty side or more than {longest:,} pieces: -inf")
    tokens = {f"{side}_tokens": (lengths[i] + 1).astype(np.int32) for i, side in enumerate(SIDES)}
    likelihoods = Likelihoods(**columns, **tokens)
    likelihoods.save(out)
    return likelihoods


def load(name: str, path: Path, device: torch.device) -> tuple[torch.nn.Module, int, int]:
    """A model of `train`, the size of its vocabulary, and the most pieces that it takes. Raises InputError."""
    from bitextbench.nmt import fairseq_shim  # noqa: F401  before fairseq
    from fairseq import checkpoint_utils  # isort: skip

    verify_zip(path, "train it again")
    try:
        state = checkpoint_utils.load_checkpoint_to_cpu(str(path))
        about, embeddings = state["extra_state"]["model"], state["model"]["decoder.embed_tokens.weight"]
    except (RuntimeError, UnpicklingError, EOFError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"cannot be read as a model ({error})", path, remedy="train it again") from None
    if about != name:
        raise InputError(f"is the model `{about}`, not `{name}`", path, remedy="name each model by what it is")
    with scratch() as folder:  # fairseq reads its dictionaries
        for file in ("dict.txt", *(f"dict.{side}.txt" for side in SIDES)):
            write_dictionary(folder / file, len(embeddings))
        state["cfg"]["task"]["data"] = str(folder)
        [model], _, _ = checkpoint_utils.load_model_ensemble_and_task([str(path)], state=state)
    return model.to(device).eval(), len(embeddings), model.decoder.max_positions() - 1


@torch.inference_mode()
def log_probabilities(model: Any, *sides: Ragged, batch_tokens: int, what: str) -> NDArray[np.float32]:
    """ln p of the last of the `sides` [n], given the other if there is one; ids are fairseq's and end in its EOS."""
    device = next(model.parameters()).device
    out = np.empty(len(sides[-1]), np.float32)
    widths = np.stack([side.lengths // STEP + 1 for side in sides]) * STEP
    # an LSTM multiplies one row a sentence, a Transformer one a token, and widths are multiples of STEP
    together = ROWS if len(sides) == 1 else ROWS // STEP
    for rows in progress(batches_of_one_length(widths, batch_tokens, widths.shape[1]), what, unit="batches"):
        filled = np.concatenate([rows, rows[-1:].repeat(-len(rows) % together)])
        *given, target = (
            padded(side.take(filled), width).to(device) for side, width in zip(sides, widths[:, rows[0]], strict=True)
        )
        previous = torch.where(target == PAD, PAD, target.roll(1, dims=1))
        previous[:, 0] = EOS  # with which fairseq's decoders begin
        encoded = model.encoder(given[0], src_lengths=(given[0] != PAD).sum(1)) if given else None
        features, _ = model.decoder.extract_features(previous, encoder_out=encoded)
        scores = of_target(model.decoder, features, target)
        out[rows] = scores.where(target != PAD, 0)[: len(rows)].cpu().numpy().sum(axis=1, dtype=np.float64)
    return out


def of_target(decoder: Any, features: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """ln p of each token of `target` [b, t], given the decoder's `features` [b, t, d].

    A CPU computes few at a time, so that the probabilities of all words stay in its cache.
    """
    most = AT_ONCE if features.device.type == "cpu" else target.numel()
    parts = zip(features.flatten(0, 1).split(most), target.view(-1, 1).split(most), strict=True)
    return torch.cat([decoder.output_layer(x).log_softmax(1).gather(1, y) for x, y in parts]).view_as(target)


def padded(sentences: Ragged, width: int) -> torch.Tensor:
    """Ids as int64 [b, width], PAD after the end."""
    ids = np.full((len(sentences), width), PAD, np.int64)
    ids[np.arange(width) < sentences.lengths[:, None]] = sentences.flat
    return torch.from_numpy(ids)
