"""Training of the Transformer that judges a selection."""

import re
import sys
from pathlib import Path
from typing import Any

from bitextbench.base import sums
from bitextbench.base.arrays import verify_zip
from bitextbench.base.checkpoints import claim
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing, sha256
from bitextbench.base.outputs import atomic, full_disk
from bitextbench.base.progress import log
from bitextbench.nmt.data import Pair

NEVER = 1_000_000_000
_EPOCH = re.compile(r"checkpoint(\d+)\.pt")

# Filled by fairseq whenever it loads a model: copies of parameters for the encoder's fast path, and an empty buffer.
_NO_PARAMETER = re.compile(r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)|\._float_tensor$")


def train(
    data: Path,
    pair: Pair,
    spec: dict,
    seed: int,
    out: Path,
    checkpoints: Path,
    *,
    device: str = "cpu",
    threads: int = 1,
) -> list[Path]:
    """Train a Transformer on `<data>/data-bin` (see `prepare`) and write its best state to `out`, atomically.

    Returns what translates: `out`, or for an `ensemble` of more than one the states after the last epochs, as many
    (artetxe2019 section 4.3: "an ensemble of the last 10 epochs").

    Checkpoints go to the folder `checkpoints`. A killed training, started again, goes on from the last of them. It ends
    in the same parameters, on the same device with the same number of threads. Checkpoints of other data or other
    settings are removed. Best is the smallest validation loss (label-smoothed cross-entropy).

    `spec`:

    - layers (of encoder and decoder each), embed_dim, ffn_dim, heads, dropout, label_smoothing, learning_rate.
    - warmup_updates, and decay of the rate after these: `inverse_sqrt`, or `linear` to 0 at max_updates.
    - max_tokens: of the longer side of a batch, padding included. update_freq: batches an update. max_updates.
    - validate_every: updates; also the distance of checkpoints. patience: validations without gain before it stops (0:
      never). ensemble.
    - normalise: `before` each layer, as Sockeye does, or `after`, as Vaswani et al. 2017 do.
    - clip: the largest norm of the gradient (0: none).

    Embeddings are shared by encoder, decoder and softmax. Adam (.9, .98). `device`: "cpu" or "cuda" (fp16 with fp32
    master weights). Raises InputError for a GPU that is not there.

    Source: kim2019 section 4.2, "3-layer Transformer"; theirs was trained by Sockeye, this one by fairseq 0.12.2.
    """
    fit(data / "data-bin", translation(pair, spec), spec, seed, out, checkpoints, device=device, threads=threads)
    return [out] if spec["ensemble"] == 1 else latest(checkpoints, spec["ensemble"])


def latest(checkpoints: Path, count: int) -> list[Path]:
    """The states at the end of the last `count` epochs. Raises InputError for fewer."""
    epochs = {int(epoch[1]): path for path in checkpoints.iterdir() if (epoch := _EPOCH.fullmatch(path.name))}
    if len(epochs) < count:
        what = f"there are {len(epochs)} whole epochs, but the ensemble has {count} models"
        raise InputError(what, checkpoints, remedy="raise max_updates, or lower `ensemble`")
    return [epochs[epoch] for epoch in sorted(epochs)[-count:]]


def fit(
    data_bin: Path,
    model: dict[str, Any],
    spec: dict,
    seed: int,
    out: Path,
    checkpoints: Path,
    *,
    about: str = "",
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Train what fairseq's options `model` describe, as `train` does; `out` says what it is `about`."""
    options = [*device_options(device, threads), "--seed", str(seed), *arguments(model | _schedule(spec))]
    files = sorted(path for path in existing(data_bin).iterdir() if not path.name.startswith("."))
    for path in files:
        sums.verify(path)
    hashes = {path.name: sha256(path) for path in files}
    claim(checkpoints, {"options": options, "data": hashes}, "nmt.train")
    if not _finished(checkpoints / "checkpoint_last.pt", spec):
        from bitextbench.nmt import fairseq_shim

        fairseq_shim.run("train", [str(data_bin), "--save-dir", str(checkpoints), *options])
    _write_model(checkpoints / "checkpoint_best.pt", about, out)


def device_options(device: str, threads: int) -> list[str]:
    """fairseq's options for a device; sets torch's threads. Raises InputError for a GPU that is not there."""
    import torch

    torch.set_num_threads(threads)
    if device == "cpu":
        return ["--cpu"]
    if not torch.cuda.is_available():
        raise InputError(
            "a GPU was asked for, but torch finds none", remedy="set device: cpu, or ask the cluster for a GPU"
        )
    return ["--fp16", "--distributed-world-size", "1"]  # else fairseq takes all GPUs, by processes without the shim


def arguments(options: dict[str, Any]) -> list[str]:
    """The options as arguments of a command line; an option that is True has no value."""
    return [
        part
        for name, value in options.items()
        for part in ([f"--{name}"] if value is True else [f"--{name}", str(value)])
    ]


def translation(pair: Pair, spec: dict) -> dict[str, Any]:
    """fairseq's options for a Transformer that translates from `pair[0]`; sizes as in `train`."""
    before = {f"{side}-normalize-before": True for side in ("encoder", "decoder") if spec["normalise"] == "before"}
    size = {"layers": "layers", "embed-dim": "embed_dim", "ffn-embed-dim": "ffn_dim", "attention-heads": "heads"}
    return {
        "source-lang": pair[0],
        "target-lang": pair[1],
        "arch": "transformer",
        "criterion": "label_smoothed_cross_entropy",
        "label-smoothing": spec["label_smoothing"],
        **{f"{side}-{name}": spec[key] for side in ("encoder", "decoder") for name, key in size.items()},
        **before,
        "share-all-embeddings": True,
    }


def _schedule(spec: dict) -> dict[str, Any]:
    """fairseq's options for training. Validates and saves by updates, whatever the size of an epoch; saves epochs, if
    they count.
    """
    ensemble = spec.get("ensemble", 1)
    decays = {
        "inverse_sqrt": {"lr-scheduler": "inverse_sqrt", "warmup-init-lr": 1e-7},
        "linear": {"lr-scheduler": "polynomial_decay", "total-num-update": spec["max_updates"]},
    }
    return {
        "dropout": spec["dropout"],
        "optimizer": "adam",
        "adam-betas": "(0.9, 0.98)",
        "clip-norm": spec["clip"],
        "lr": spec["learning_rate"],
        **decays[spec.get("decay", "inverse_sqrt")],
        "warmup-updates": spec["warmup_updates"],
        "max-tokens": spec["max_tokens"],
        "required-batch-size-multiple": 1,
        "update-freq": spec["update_freq"],
        "num-workers": 0,
        "max-update": spec["max_updates"],
        "patience": spec["patience"],
        "save-interval-updates": spec["validate_every"],
        "keep-interval-updates": 1,
        "validate-interval-updates": spec["validate_every"],  # also where an update ends an epoch
        **({"keep-last-epochs": ensemble, "save-interval": 1} if ensemble > 1 else {"save-interval": NEVER}),
        "validate-interval": NEVER,
        "log-format": "simple",
        "log-interval": spec["validate_every"],
    }


def _finished(last: Path, spec: dict) -> bool:
    """Whether training ended at this checkpoint: fairseq would make one more update after it."""
    if not last.exists():
        return False
    state = _load(last)
    updates = state["optimizer_history"][-1]["num_updates"]
    waited = state["extra_state"]["early_stop"].get("num_runs", 0)
    log(f"nmt train: going on from update {updates:,} of {spec['max_updates']:,}")
    return updates >= spec["max_updates"] or 0 < spec["patience"] <= waited


def _write_model(checkpoint: Path, about: str, out: Path) -> None:
    """Parameters and configuration of the model, without the state of training and without paths of this machine."""
    import torch

    state = _load(checkpoint)
    updates = state["optimizer_history"][-1]["num_updates"]
    settings = state["cfg"]
    model = {
        "cfg": {
            "model": vars(settings["model"]) | {"data": "", "save_dir": ""},
            "task": settings["task"] | {"data": ""},
        },
        "model": _alone({name: value for name, value in state["model"].items() if not _NO_PARAMETER.search(name)}),
        "optimizer_history": [{"optimizer_name": "", "lr_scheduler_state": {}, "num_updates": updates}],
        "extra_state": {"train_iterator": {}, "model": about},
    }
    with atomic(out) as part, full_disk(part):
        torch.save(_interned(model), part)
    log(f"nmt train: validation loss {state['extra_state']['best']} at update {updates:,}")


def _alone(model: dict[str, Any]) -> dict[str, Any]:
    """The tensors with storage of their own; tensors that two names share stay shared.

    torch.save writes the whole storage of a tensor. The part that is no parameter differs after a killed training.
    """
    copies: dict[tuple, Any] = {}
    return {name: copies.setdefault((value.data_ptr(), value.shape), value.clone()) for name, value in model.items()}


def _interned(value: Any) -> Any:
    """The value with one object for equal texts.

    pickle writes an object once and then refers to it. A process that trained holds other objects than one that only
    read the finished training; their files would differ.
    """
    match value:
        case str():
            return sys.intern(str(value))
        case dict():
            return {_interned(key): _interned(held) for key, held in value.items()}
        case list() | tuple():
            return type(value)(map(_interned, value))
        case _:
            return value


def _load(checkpoint: Path) -> dict:
    """A checkpoint of our own: it holds fairseq's configuration objects, not parameters alone."""
    import torch

    verify_zip(checkpoint, "remove its folder to train from the start")
    return torch.load(checkpoint, map_location="cpu", weights_only=False)
