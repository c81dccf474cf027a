"""One trainer for all encoders: SGD or Adam, clipping, a schedule, a dev retrieval score, exact resume.

Everything random in update k is drawn from (seed, k): batches, dropout. So a checkpoint is parameters, optimizer state and k, and
a run that was killed and started again ends in the same bytes.
"""

import csv
import json
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import xxhash

from bitextbench import encoders
from bitextbench.batches import Padded, Sentences
from bitextbench.device import autocast, precision, setup, torch
from bitextbench.encode import write_vectors
from bitextbench.encoders import Corpora, Encoder
from bitextbench.errors import InputError
from bitextbench.files import atomic, existing
from bitextbench.progress import log

VALID = 2000  # candidates of the dev retrieval score, at most


@dataclass(frozen=True)
class Training:
    """What the configuration's `training` may say. The defaults are those of Kim et al. 2019, section 4, where they are given."""

    batch: int = 120  # sentences
    max_tokens: int = 60  # longer sentences are left out
    updates: int = 800_000
    optimizer: str = "sgd"  # or adam
    learning_rate: float = 1.0
    decay_after: int = 100_000  # "after 100k updates, we reduced the learning rate by a factor of 0.9 for every 50k updates":
    decay_every: int = 50_000  # the first reduction at 150k
    decay_factor: float = 0.9
    clip: float = 5.0  # the largest norm of the gradient
    precision: str = "auto"  # fp32, bf16, or auto: bf16 where the device computes it natively
    log_every: int = 100
    valid_every: int = 5_000
    checkpoint_every: int = 1_000
    patience: int | None = None  # stop when this many dev scores in a row are not better, and keep the best model

    def rate(self, update: int) -> float:
        """Learning rate of update number `update` (from 0)."""
        return self.learning_rate * self.decay_factor ** max(0, (update - self.decay_after) // self.decay_every)


def training_of(spec: dict[str, Any]) -> Training:
    """`spec["training"]`, checked. Raises InputError for an unknown key or a value that cannot be."""
    given = spec.get("training") or {}
    known = [field.name for field in fields(Training)]
    if unknown := set(given) - set(known):
        raise InputError(f"unknown key {', '.join(sorted(unknown))}", f"encoder {spec['type']}: training", remedy=f"known: {', '.join(known)}")
    training = Training(**given)
    if training.optimizer not in OPTIMIZERS:
        raise InputError(f"optimizer: {training.optimizer} is unknown", f"encoder {spec['type']}: training", remedy=f"choose {' or '.join(OPTIMIZERS)}")
    return training


OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}


def train(
    spec: dict[str, Any],
    vocab_size: int,
    data: dict[str, list[Path]],
    out: Path,
    checkpoints: Path,
    *,
    seed: int = 1,
    threads: int = 1,
    device: str = "cpu",
    vectors: dict[str, Path] | None = None,
    pieces: list[str] | None = None,
) -> dict[str, Any]:
    """Train the encoder `spec["type"]` with sizes `spec["model"]` and schedule `spec["training"]`.

    `data`: role (bitext; mono, valid where there are) -> stems of id shards, each with `<stem>.src` and `<stem>.tgt`
    (`text.encode_shard`). `vectors`: word-vector files by side, matched by `pieces` (the vocabulary, by id).

    Writes `out` ({"spec", "vocab_size", "state_dict"}, see `encoders.load`), and beside it `curve.csv` and `curve.png`. Goes on
    from `checkpoints`/last.pt, which is removed when `out` is written. The same bytes for any number of threads on CPU.

    Returns counts: {"updates", "examples": {objective: n}, "dropped": {objective: {reason: n}}, "vectors": {side: n}, "valid": P@1 or None}.
    Raises InputError for empty data, a checkpoint of another configuration or other data, a loss that is not finite.
    """
    training, where = training_of(spec), setup(threads, device)
    dtype = precision(training.precision, where)
    torch.manual_seed(seed)
    model = encoders.create(spec, vocab_size)
    matched = model.initialise(vectors, pieces or []) if vectors else {}
    for side, count in matched.items():
        log(f"word vectors, {side}: {count:,} of {vocab_size:,} pieces")
    model.to(where)
    optimizer = OPTIMIZERS[training.optimizer](model.parameters(), lr=training.learning_rate)

    corpora = {role: {side: Sentences.load(f"{stem}.{side}" for stem in stems) for side in model.sides} for role, stems in data.items()}
    streams = model.streams(corpora, training.batch, training.max_tokens, seed)
    for name, stream in streams.items():
        log(f"{name}: {len(stream):,} examples, left out: {stream.dropped}")

    run = Run(model, optimizer, fingerprint(spec, vocab_size, seed, corpora, vectors), checkpoints / "last.pt")
    run.resume(where)
    first, started, seen = run.update, time.monotonic(), {"tokens": 0, "sentences": 0}
    while run.update < training.updates and not run.stopped(training.patience):
        batches = {name: stream.batch(run.update) for name, stream in streams.items()}
        rate = training.rate(run.update)
        losses, finite = update(model, optimizer, batches, rate, training.clip, seed + 1_000_003 * run.update, where, dtype)
        run.update += 1
        if not finite:
            raise InputError(
                f"the loss or its gradient is not finite at update {run.update:,}", f"encoder {spec['type']}",
                remedy=f"lower training.learning_rate ({rate:g}) or training.clip; the last good checkpoint is {run.path}",
            )  # fmt: skip
        run.add(losses)
        seen["sentences"] += sum(len(columns[0].lengths) for columns in batches.values())
        seen["tokens"] += sum(int(column.lengths.sum()) for columns in batches.values() for column in columns)
        last = run.update == training.updates
        valid_now = "valid" in corpora and (run.update % training.valid_every == 0 or last)
        if run.update % training.log_every == 0 or valid_now or last:
            run.record(rate, retrieval(model, corpora["valid"], where, dtype) if valid_now else None, keep_best=training.patience is not None)
            log(run.line(training.updates, run.update - first, seen, time.monotonic() - started))
        if run.update % training.checkpoint_every == 0 and not last:
            run.save()
    state = run.best_state if training.patience is not None and run.best_state else model.state_dict()
    save({"spec": {key: spec.get(key) for key in ("type", "model", "training")}, "vocab_size": vocab_size, "state_dict": plain(state)}, out)
    write_curve(run.curve, out.parent)
    run.path.unlink(missing_ok=True)
    return {
        "updates": run.update,
        "examples": {name: len(stream) for name, stream in streams.items()},
        "dropped": {name: stream.dropped for name, stream in streams.items()},
        "vectors": matched,
        "valid": run.best if training.patience is not None else next((row["valid"] for row in reversed(run.curve) if row["valid"] is not None), None),
    }


def update(
    model: Encoder,
    optimizer: torch.optim.Optimizer,
    batches: dict[str, tuple[Padded, ...]],
    rate: float,
    clip: float,
    seed: int,
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[dict[str, float], bool]:
    """One update. Returns the loss of each objective, and whether loss and gradient were finite (if not, nothing was changed)."""
    model.train()
    torch.manual_seed(seed)
    batches = {name: tuple(c._replace(ids=c.ids.to(device, non_blocking=True)) for c in columns) for name, columns in batches.items()}
    with autocast(device, dtype):
        losses = model.loss(batches)
    optimizer.zero_grad()
    torch.stack(list(losses.values())).sum().backward()
    norm = gradient_norm(model.parameters())
    values = {name: loss.item() for name, loss in losses.items()}
    finite = math.isfinite(norm) and all(map(math.isfinite, values.values()))
    if finite:
        for group in optimizer.param_groups:
            group["lr"] = rate
        if norm > clip:
            torch._foreach_mul_([p.grad for p in model.parameters() if p.grad is not None], clip / norm)
        optimizer.step()
    return values, finite


def gradient_norm(parameters: Iterable[torch.nn.Parameter]) -> float:
    """The Euclidean norm of all gradients together: by row in torch, the rows in float64 in numpy (in one order for any number of threads)."""
    rows = [torch.linalg.vector_norm(p.grad.reshape(-1, p.grad.shape[-1]), dim=1) for p in parameters if p.grad is not None]
    return float(np.sqrt(np.square(torch.cat(rows).double().cpu().numpy()).sum()))


def retrieval(model: Encoder, valid: dict[str, Sentences], device: torch.device, dtype: torch.dtype) -> float:
    """P@1 by cosine among the first VALID dev pairs, the mean of both directions; pairs with an empty side are left out."""
    src, tgt = (valid[side] for side in model.sides[:2])
    pairs = np.flatnonzero((src.lengths[:VALID] > 0) & (tgt.lengths[:VALID] > 0))
    unit = []
    for side, sentences in zip(model.sides[:2], (src, tgt), strict=True):
        vectors = np.zeros((min(len(sentences), VALID), model.dimension), np.float32)
        for _ in write_vectors(model, _first(sentences, VALID), side, vectors, 8192, device, dtype):
            pass
        unit.append(torch.nn.functional.normalize(torch.from_numpy(vectors[pairs]), dim=1))
    similarity = (unit[0] @ unit[1].T).numpy()
    gold = np.arange(len(pairs))
    return float(np.mean([(similarity.argmax(axis) == gold).mean() for axis in (0, 1)]))


def _first(sentences: Sentences, count: int) -> Sentences:
    from bitextbench.ragged import Ragged

    return Sentences([Ragged.of(sentences[i] for i in range(min(count, len(sentences))))])


def fingerprint(spec: dict[str, Any], vocab_size: int, seed: int, corpora: Corpora, vectors: dict[str, Path] | None) -> str:
    """A hash of everything that decides the result: a checkpoint belongs to one."""
    what = [spec["type"], spec.get("model"), spec.get("training"), vocab_size, seed]
    digest = xxhash.xxh3_128(json.dumps(what, sort_keys=True).encode())
    for role, sides in sorted(corpora.items()):
        for side, sentences in sorted(sides.items()):
            digest.update(f"{role}.{side}".encode())
            for part in sentences.parts:
                digest.update(np.ascontiguousarray(part.offsets))
                digest.update(np.ascontiguousarray(part.flat))
    for side, path in sorted((vectors or {}).items()):
        digest.update(side.encode() + existing(path).read_bytes())
    return digest.hexdigest()


class Run:
    """Where a training run stands, in memory and in its checkpoint."""

    def __init__(self, model: Encoder, optimizer: torch.optim.Optimizer, fingerprint: str, path: Path) -> None:
        self.model, self.optimizer, self.fingerprint, self.path = model, optimizer, fingerprint, path
        self.update = 0
        self.curve: list[dict[str, Any]] = []
        self.sums: dict[str, float] = {}
        self.summed = 0  # updates in `sums`
        self.best, self.since_best = -1.0, 0
        self.best_state: dict[str, torch.Tensor] | None = None

    KEPT = ("fingerprint", "update", "curve", "sums", "summed", "best", "since_best", "best_state")

    def save(self) -> None:
        save({"model": plain(self.model.state_dict()), "optimizer": self.optimizer.state_dict(), **{k: getattr(self, k) for k in self.KEPT}}, self.path)

    def resume(self, device: torch.device) -> None:
        """Go on from the checkpoint, if there is one. Raises InputError for a damaged one or one of another run."""
        if not self.path.exists():
            return
        try:
            held = torch.load(self.path, map_location="cpu", weights_only=True)
        except Exception as error:  # torch raises many kinds
            raise InputError(f"damaged checkpoint ({str(error).splitlines()[0]})", self.path, remedy="remove it to train from the start") from None
        if held.get("fingerprint") != self.fingerprint:
            raise InputError("checkpoint of another configuration or other data", self.path, remedy="restore those, or remove it to train from the start")
        self.model.load_state_dict(held["model"])
        self.optimizer.load_state_dict(held["optimizer"])
        for key in self.KEPT:
            setattr(self, key, held[key])
        log(f"going on from update {self.update:,} ({self.path})")

    def stopped(self, patience: int | None) -> bool:
        return patience is not None and self.since_best >= patience

    def add(self, losses: dict[str, float]) -> None:
        self.sums = {name: self.sums.get(name, 0.0) + loss for name, loss in losses.items()}
        self.summed += 1

    def record(self, rate: float, valid: float | None, keep_best: bool) -> None:
        """A row of the curve: mean losses since the row before, and the dev score."""
        means = {name: total / self.summed for name, total in self.sums.items()}
        self.curve.append({"update": self.update, "learning_rate": rate, **means, "valid": valid})
        self.sums, self.summed = {}, 0
        if valid is not None:
            better = valid > self.best
            self.best, self.since_best = max(valid, self.best), 0 if better else self.since_best + 1
            if better and keep_best:
                self.best_state = plain(self.model.state_dict())

    def line(self, updates: int, done: int, seen: dict[str, int], seconds: float) -> str:
        """The last row of the curve, speed and time left, for the log."""
        row = self.curve[-1]
        losses = ", ".join(f"{name} {value:.3f}" for name, value in row.items() if name not in ("update", "learning_rate", "valid"))
        score = "" if row["valid"] is None else f", P@1 {row['valid']:.3f}"
        speed = ", ".join(f"{count / seconds:,.0f} {name}/s" for name, count in seen.items())
        left = (updates - self.update) * seconds / done
        return f"update {self.update:,}/{updates:,}: {losses}{score}, rate {row['learning_rate']:g}, {speed}, {left:,.0f} s left"


def plain(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A copy of a state dict on the CPU, each tensor with its own memory."""
    return {name: tensor.detach().cpu().clone() for name, tensor in state.items()}


def save(value: dict[str, Any], path: Path) -> None:
    """torch.save, atomically; to an open file, because torch writes the name of a path into the file."""
    with atomic(path) as part, open(part, "wb") as file:
        torch.save(value, file)


def write_curve(curve: list[dict[str, Any]], folder: Path) -> None:
    """`curve.csv` (update, learning_rate, loss of each objective: mean since the row before, valid: P@1) and its picture, `curve.png`."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    names = list(curve[0]) if curve else ["update", "learning_rate", "valid"]
    with atomic(folder / "curve.csv") as part, open(part, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: "" if v is None else f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in curve)
    figure, left = pyplot.subplots(figsize=(7, 4), layout="constrained")
    steps = [row["update"] for row in curve]
    for name in names[2:-1]:
        left.plot(steps, [row[name] for row in curve], label=name)
    left.set(xlabel="update", ylabel="loss (nats a sentence)", ylim=(0, None))
    if scored := [row for row in curve if row["valid"] is not None]:
        right = left.twinx()
        right.plot([row["update"] for row in scored], [row["valid"] for row in scored], "k.--", label="valid")
        right.set(ylabel="P@1 on valid", ylim=(0, 1))
    left.legend(loc="upper right")
    with atomic(folder / "curve.png") as part:
        figure.savefig(part, format="png", dpi=120, metadata={"Software": None})
    pyplot.close(figure)
