"""Trains all encoders: SGD, Adam or L-BFGS, clipping, a schedule, a dev retrieval score, exact resume.

All random numbers of update k (batches, dropout) depend on (seed, k) only. So a checkpoint needs parameters, the state
of the optimizer, and k; a run that is killed and started again gives the same bytes.
"""

import inspect
import itertools
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xxhash

from bitextbench import encoders
from bitextbench.base import arrays, members, sources, torch_internals
from bitextbench.base.checkpoints import OTHER, REMEDY
from bitextbench.base.device import autocast, exact, number_format, torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.json_yaml import write_json
from bitextbench.base.outputs import atomic, full_disk
from bitextbench.base.progress import log
from bitextbench.encoders import Corpora, Encoder
from bitextbench.encoders.batches import Padded, SentenceIds, Stream
from bitextbench.encoders.distributed import average, first_of, join
from bitextbench.encoders.encode import write_vectors
from bitextbench.encoders.folder import TextSide, describe
from bitextbench.formats import records
from bitextbench.formats.word_vectors import Rows

AHEAD = 2  # batches that are drawn while a GPU computes
NO_CLIP = 1e9  # a `clip` from here on is none
VALID = 2000  # candidates of the dev retrieval score, at most
HISTORY = 10  # pairs of vectors of L-BFGS, each as long as all parameters: torch's 100 are 16 GB for 20M parameters
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adagrad": torch.optim.Adagrad,
    "lbfgs": partial(torch.optim.LBFGS, max_iter=10, history_size=HISTORY, line_search_fn="strong_wolfe"),
}
CPU = torch.device("cpu")
State = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Training:
    """The keys of `training` in the configuration. Defaults: Kim et al. 2019, section 4, where it gives them.

    "After 100k updates, we reduced the learning rate by a factor of 0.9 for every 50k updates": first at 150k.
    """

    batch: int = 120  # sentences, of all processes together
    max_tokens: int = 60  # longer sentences are left out
    updates: int = 800_000
    optimizer: str = "sgd"  # or adam, adagrad (takes sparse gradients, as sgd does), lbfgs (ten iterations an update)
    learning_rate: float = 1.0
    warmup: int = 0  # updates during which the rate rises from 0
    decay_after: int = 100_000
    decay_every: int = 50_000
    decay_factor: float = 0.9
    clip: float = 5.0  # the largest norm of the gradient; none from 1e9 on
    precision: str = "fp32"  # of products: fp32, bf16, or auto: bf16 where the device computes it natively
    log_every: int = 100
    valid_every: int = 5_000
    checkpoint_every: int = 1_000
    patience: int | None = None  # stop after this many dev scores without a better one, and keep the best model

    def rate(self, update: int) -> float:
        """Learning rate of update number `update` (from 0)."""
        rate = self.learning_rate * self.decay_factor ** max(0, (update - self.decay_after) // self.decay_every)
        return rate * (update + 1) / self.warmup if update < self.warmup else rate


def training_of(spec: dict[str, Any]) -> Training:
    """`spec["training"]`."""
    return Training(**(spec.get("training") or {}))


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
    row_of: Rows | None = None,
    text: TextSide | None = None,
) -> dict[str, Any]:
    """Train the encoder `spec["type"]` with sizes `spec["model"]` and schedule `spec["training"]`.

    See `distributed` for several devices; `threads` are those of all processes together.

    `data`: role (bitext; optionally mono, valid, hard) -> stems of id shards, each with `<stem>.src` and `<stem>.tgt`
    (`text.features.encode_shard`). `vectors`: files of word vectors by side, `row_of` gives the id of a word.

    Writes `out` ({"spec", "vocab_size", "state_dict"}, see `encoders.load`), and next to it `curve.csv` and
    `training.json`, which has the report. With `text` it also writes the files by which the folder works by itself
    (`folder`); then `out` has to be called model.pt. Resumes from `checkpoints`/last.pt, and removes it when all is written. On CPU
    the bytes are the same for any number of threads.

    Returns the report, or {} on other ranks than the first: {"type", "seed", "metric", "dimension", "parameters",
    "updates", "cpu_seconds": of all processes that trained it, "examples": {objective: n}, "dropped": {objective:
    {reason: n}}, "vectors": {side: number of words with a vector}, "valid": the dev score of the model or None}.

    Raises InputError for empty data, a checkpoint of another configuration, other data or other code, and a loss that
    is not finite.
    """
    started = time.process_time()
    training = training_of(spec)
    where, rank, ranks = join(threads, device)
    model, matched = new_model(spec, vocab_size, seed, vectors, row_of)
    corpora = read_corpora(model, data, vocab_size)
    run = new_run(spec, training, model.to(where), corpora, seed=seed, device=where, rank=rank, ranks=ranks)
    last = Checkpoint(checkpoints / "last.pt", fingerprint(spec, vocab_size, seed, ranks, corpora, vectors))
    at = last.resume(model, run.optimizer)
    run_updates(run, at, last, started)
    if rank > 0:
        return {}
    if at.best:
        run.model.load_state_dict(at.best)
    run.model.finish(run.streams, seed_of(seed, training.updates, rank))
    report = report_of(run, at, matched, at.cpu_seconds + time.process_time() - started)
    write(run, at, {key: spec.get(key) for key in ("type", "model", "training")}, report, text, out)
    last.path.unlink(missing_ok=True)
    return report


def write(
    run: "TrainingRun", at: "Progress", spec: dict[str, Any], report: dict[str, Any], text: TextSide | None, out: Path
) -> None:
    """The model, its curve, its report, and with `text` the files by which the folder works by itself."""
    save({"spec": spec, "vocab_size": run.model.vocab_size, "state_dict": plain(run.model)}, out)
    write_curve(at.curve, out.parent)
    write_json(out.parent / "training.json", report)
    if text:
        describe(out.parent, run.model, text, {"spec": spec, "seed": run.seed, "updates": at.update})


def new_model(
    spec: dict[str, Any], vocab_size: int, seed: int, vectors: dict[str, Path] | None, row_of: Rows | None
) -> tuple[Encoder, dict[str, int]]:
    """An untrained encoder, and how many of its rows start from word vectors, by side."""
    torch.manual_seed(seed)
    model = encoders.create(spec, vocab_size)
    matched = model.initialise(vectors, row_of or (lambda word: None)) if vectors else {}
    for side, count in matched.items():
        log(f"vectors to start from, {side}: {count:,} of {vocab_size:,} rows")
    return model, matched


def optimizer_of(spec: dict[str, Any], training: Training, model: Encoder, ranks: int) -> torch.optim.Optimizer:
    """The optimizer of the model. Raises InputError where it cannot train this model, or on several ranks."""
    if model.sparse and training.optimizer in ("adam", "lbfgs"):
        remedy = "set training.optimizer: sgd or adagrad, or model.sparse: false"
        raise InputError(f"{training.optimizer} takes no sparse gradients", f"encoder {spec['type']}", remedy=remedy)
    if ranks > 1 and training.optimizer == "lbfgs":
        remedy = "start one process, or choose another optimizer"
        raise InputError(f"lbfgs takes all examples at once, not those of {ranks} processes", remedy=remedy)
    return OPTIMIZERS[training.optimizer](model.parameters(), lr=training.learning_rate)


def share_of(batch: int, ranks: int) -> int:
    """The examples of one process in an update. Raises InputError where the processes have no equal shares."""
    if batch % ranks or batch // ranks < 2:
        remedy = (
            "choose a training.batch that the number of processes (gpus) divides, with at least two examples for each"
        )
        raise InputError(f"{ranks} processes cannot share a batch of {batch}", "training", remedy=remedy)
    return batch // ranks


def read_corpora(model: Encoder, data: dict[str, list[Path]], vocab_size: int) -> Corpora:
    """The ids of each role and side. Raises InputError for ids outside the vocabulary."""
    corpora = {
        role: {side: model.read(role, [f"{stem}.{side}" for stem in stems]) for side in model.sides}
        for role, stems in data.items()
    }
    for role, sides in corpora.items():
        for sentences in sides.values():
            if role == "hard":  # numbers of pairs of the bitext
                sentences.check(len(sentences), "mine them again from this bitext")
            else:
                sentences.check(vocab_size, "use the BPE that these ids were made with")
    return corpora


@dataclass(frozen=True, kw_only=True)
class Updates:
    """What all updates of a model have in common. `seed`: of what is drawn in them; `rank`, of `ranks` processes."""

    model: Encoder
    optimizer: torch.optim.Optimizer
    training: Training
    seed: int = 1
    device: torch.device = CPU
    dtype: torch.dtype = torch.float32
    rank: int = 0
    ranks: int = 1


@dataclass(frozen=True, kw_only=True)
class TrainingRun(Updates):
    """The parts of a training that stay the same in all updates."""

    kind: str  # type of the encoder
    corpora: Corpora
    streams: dict[str, Stream]


def new_run(
    spec: dict[str, Any], training: Training, model: Encoder, corpora: Corpora, *, device: torch.device, **more: int
) -> TrainingRun:
    """A run that has not begun; `more`: its seed, rank and ranks."""
    optimizer = optimizer_of(spec, training, model, more["ranks"])
    streams = model.streams(corpora, share_of(training.batch, more["ranks"]), training.max_tokens, more["seed"])
    for name, stream in streams.items():
        log(f"{name}: {len(stream):,} examples, left out: {stream.dropped}")
    return TrainingRun(
        kind=spec["type"],
        model=model,
        optimizer=optimizer,
        training=training,
        corpora=corpora,
        streams=streams,
        device=device,
        dtype=number_format(training.precision, device),
        **more,
    )


def run_updates(run: TrainingRun, at: "Progress", last: "Checkpoint", started: float) -> None:
    """Update until the end, or until `patience` stops the run; score, log and save checkpoints on the way.

    `started`: the process time at the start. Raises InputError for a loss or gradient that is not finite.
    """
    model, training = run.model, run.training
    speed = Speed(at.update)
    drawn = batches_from(run, at.update)
    # a GPU is asked for its losses no more often than it has to be: before they are shown, judged or kept
    often_enough = (training.log_every, training.valid_every, training.checkpoint_every, training.updates)
    while at.update < training.updates and not at.stopped(training):
        batches = next(drawn)
        losses = step(run, batches, at.update)
        if losses is None:
            raise _not_finite(run, f"at update {at.update + 1:,}", last)
        at.add(losses)
        speed.add(batches)
        end = at.update == training.updates
        if any(at.update % often == 0 for often in often_enough) and not at.finite():
            raise _not_finite(run, f"between updates {at.update - at.summed + 1:,} and {at.update:,}", last)
        if scored := "valid" in run.corpora and (end or at.update % training.valid_every == 0):
            own = model.development(run.corpora)
            value = retrieval(model, run.corpora["valid"], run.device, run.dtype) if own is None else own
            at.score(first_of(value, run.device, run.ranks), model, training)
        if scored or end or at.update % training.log_every == 0:
            row = at.record(training.rate(at.update - 1), at.scores[-1] if scored else None)
            if run.rank == 0:
                log(speed.line(row, training.updates, model.score))
        if not end and run.rank == 0 and at.update % training.checkpoint_every == 0:
            last.save(model, run.optimizer, at, at.cpu_seconds + time.process_time() - started)


def batches_from(run: TrainingRun, update: int) -> Iterator[dict[str, tuple[Padded, ...]]]:
    """The batches of each objective from an update on; for a GPU AHEAD of them are drawn and pinned in a thread."""
    host = exact(run.device)

    def drawn(update: int) -> dict[str, tuple[Padded, ...]]:
        number = update * run.ranks + run.rank
        batches = {name: stream.batch(number) for name, stream in run.streams.items()}
        return batches if host else {name: tuple(c.pinned() for c in columns) for name, columns in batches.items()}

    if host:
        yield from map(drawn, itertools.count(update))
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(drawn, number) for number in range(update, update + AHEAD))
        for number in itertools.count(update + AHEAD):
            yield waiting.popleft().result()
            waiting.append(thread.submit(drawn, number))


def _not_finite(run: TrainingRun, when: str, last: "Checkpoint") -> InputError:
    kept = f"the last good checkpoint is {last.path}" if last.path.exists() else "there was no checkpoint yet"
    remedy = f"lower training.learning_rate or training.clip; {kept}"
    return InputError(f"the loss or its gradient is not finite {when}", f"encoder {run.kind}", remedy=remedy)


def report_of(run: TrainingRun, at: "Progress", matched: dict[str, int], cpu_seconds: float) -> dict[str, Any]:
    """The contents of `training.json`; see `train`."""
    return {
        "type": run.kind,
        "seed": run.seed,
        "metric": run.model.metric,
        "dimension": run.model.dimension,
        "parameters": sum(parameter.numel() for parameter in run.model.parameters()),
        "updates": at.update,
        "cpu_seconds": round(cpu_seconds, 1),
        "examples": {name: len(stream) for name, stream in run.streams.items()},
        "dropped": {name: stream.dropped for name, stream in run.streams.items()},
        "vectors": matched,
        "valid": (max(at.scores) if at.best else at.scores[-1]) if at.scores else None,
    }


def seed_of(seed: int, update: int, rank: int) -> int:
    """The seed of what one process draws in one update, such as its dropout: another for each, of 32 bits as torch's generator takes."""
    return (seed + 1_000_003 * update + 100_003 * rank) % 2**32


def step(run: Updates, batches: dict[str, tuple[Padded, ...]], update: int) -> dict[str, torch.Tensor] | None:
    """One update. Returns the loss of each objective before it, on the device.

    A loss or gradient that is not finite gives None on a CPU, before any parameter changes. A GPU is not waited for: its
    losses are then not finite (and those of all later updates).
    """
    model, optimizer, training, device = run.model, run.optimizer, run.training, run.device
    model.train()
    on_device = {name: tuple(column.on(device) for column in columns) for name, columns in batches.items()}

    def losses() -> dict[str, torch.Tensor]:
        """The loss of each objective; sets the gradient of their sum."""
        torch.manual_seed(seed_of(run.seed, update, run.rank))
        with autocast(device, run.dtype):
            objectives = model.loss(on_device)
        optimizer.zero_grad()
        torch.stack(list(objectives.values())).sum().backward()
        if run.ranks > 1:
            average(model, objectives, run.ranks)
        return objectives

    for group in optimizer.param_groups:
        group["lr"] = training.rate(update)
    if isinstance(optimizer, torch.optim.LBFGS):
        values = line_searches(optimizer, losses)
        return values if all(bool(p.isfinite().all()) for p in (*model.parameters(), *values.values())) else None
    values = {name: loss.detach() for name, loss in losses().items()}
    clips = training.clip < NO_CLIP
    if exact(device) or clips:  # a sparse gradient has a row twice where a word occurs twice: its norm would be another
        for parameter in model.parameters():
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
    grads = [dense(p.grad) for p in model.parameters() if p.grad is not None]
    norm = gradient_norm(grads)
    if exact(device):
        if not all(bool(value.isfinite()) for value in (norm, *values.values())):
            return None
        clips = float(norm) > training.clip
    else:
        values = {name: value + 0 * norm for name, value in values.items()}
    if clips:
        torch_internals.scale(grads, (training.clip / norm).clamp(max=1.0).to(grads[0].dtype))
    with torch.no_grad():
        inspect.unwrap(type(optimizer).step)(optimizer)  # the wrapper imports torch._dynamo: 3 s
    return values


def line_searches(
    optimizer: torch.optim.LBFGS, losses: Callable[[], dict[str, torch.Tensor]]
) -> dict[str, torch.Tensor]:
    """The iterations of one update of L-BFGS, which has a line search in place of clipping; the losses before them.

    L-BFGS sums whole vectors, in an order that depends on the number of threads: it has one thread, the model has all.
    """
    threads, found = torch.get_num_threads(), []

    def total() -> torch.Tensor:
        torch.set_num_threads(threads)
        found.append({name: loss.detach() for name, loss in losses().items()})
        torch.set_num_threads(1)
        return torch.stack(list(found[-1].values())).sum()

    torch.set_num_threads(1)
    optimizer.step(total)
    torch.set_num_threads(threads)
    return found[0]


def gradient_norm(gradients: Sequence[torch.Tensor]) -> torch.Tensor:
    """The Euclidean norm of all gradients, a number; on a CPU torch sums within rows, and numpy over rows, in one
    order.
    """
    if not exact(gradients[0].device):
        return torch.linalg.vector_norm(torch_internals.norms(gradients))
    rows = torch.cat([torch.linalg.vector_norm(g.reshape(-1, g.shape[-1]), dim=1) for g in gradients])
    return torch.tensor(np.sqrt(np.square(rows.double().numpy()).sum()))


def dense(gradient: torch.Tensor) -> torch.Tensor:
    """The values of a gradient; of a sparse one, which `step` has coalesced, those of its rows."""
    return torch_internals.values(gradient) if gradient.is_sparse else gradient


def retrieval(model: Encoder, valid: dict[str, SentenceIds], device: torch.device, dtype: torch.dtype) -> float:
    """P@1 by the metric of the model, among the first VALID dev pairs without those that have an empty side.

    The mean of both directions, or forward only where the model is trained for that alone. Raises InputError for no
    pairs.
    """
    sides = model.sides[:2]
    src, tgt = (valid[side].head(VALID) for side in sides)
    if len(src) != len(tgt) or not (pairs := np.flatnonzero((src.lengths > 0) & (tgt.lengths > 0))).size:
        raise InputError(
            f"the sides have {len(src):,} and {len(tgt):,} sentences, which make no pairs",
            "valid",
            remedy="give aligned sentences",
        )
    unit = []
    for side, sentences in zip(sides, (src, tgt), strict=True):
        vectors = np.zeros((len(sentences), model.dimension), np.float32)
        for _ in write_vectors(model, sentences, side, vectors, 8192, device, dtype):
            pass
        rows = torch.from_numpy(vectors[pairs])
        unit.append(torch.nn.functional.normalize(rows, dim=1) if model.metric == "cosine" else rows)
    similarity = (unit[0] @ unit[1].T).numpy()
    return float(
        np.mean(
            [similarity.argmax(axis) == np.arange(len(pairs)) for axis in ((0, 1) if model.bidirectional else (1,))]
        )
    )


def fingerprint(
    spec: dict[str, Any], vocab_size: int, seed: int, ranks: int, corpora: Corpora, vectors: dict[str, Path] | None
) -> str:
    """A hash of everything that determines the result; a checkpoint has the hash of its run."""
    code = sources.modules("encoders.trainer", members.source("encoders", spec["type"]))
    what = [spec["type"], spec.get("model"), spec.get("training"), vocab_size, seed, ranks, code]
    digest = xxhash.xxh3_128(json.dumps(what, sort_keys=True).encode())
    for role, sides in sorted(corpora.items()):
        for side, sentences in sorted(sides.items()):
            digest.update(f"{role}.{side}".encode())
            for part in sentences.parts:
                stem = part.name.removesuffix(".ids.npy")
                sealed = [arrays.seal(f"{stem}.{what}.npy") for what in ("offsets", "ids")]
                for line, data in zip(sealed, (part.offsets.data, part.flat.data), strict=True):
                    digest.update(line or data)  # which was compared with its data when it was read
    for side, path in sorted((vectors or {}).items()):
        digest.update(side.encode() + existing(path).read_bytes())
    return digest.hexdigest()


@dataclass
class Progress:
    """The progress of a run: the contents of a checkpoint besides parameters and the state of the optimizer."""

    update: int = 0  # updates done
    sums: dict[str, torch.Tensor] = field(
        default_factory=dict
    )  # of each loss, since the last row of the curve, float64
    summed: int = 0  # updates in `sums`
    curve: list[dict[str, Any]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)  # dev scores so far
    best: State | None = None  # the model of the best score, if there is a `patience`
    cpu_seconds: float = 0.0  # of the processes before this one

    def add(self, losses: dict[str, torch.Tensor]) -> None:
        """Count an update and its losses, which may still be computed."""
        self.update += 1
        self.summed += 1
        self.sums = {name: self.sums.get(name, 0.0) + loss.double() for name, loss in losses.items()}

    def finite(self) -> bool:
        """Whether all losses since the last row of the curve are; waits for them."""
        return all(bool(total.isfinite()) for total in self.sums.values())

    def score(self, value: float, model: Encoder, training: Training) -> None:
        """Add a dev score; keep the model if it is the best one."""
        if training.patience is not None and value > max(self.scores, default=-1.0):
            self.best = plain(model)
        self.scores.append(value)

    def stopped(self, training: Training) -> bool:
        """Whether `patience` dev scores came after the best one."""
        if training.patience is None or not self.scores:
            return False
        return len(self.scores) - 1 - self.scores.index(max(self.scores)) >= training.patience

    def record(self, rate: float, valid: float | None) -> dict[str, Any]:
        """Add a row to the curve: mean losses since the last row."""
        means = {name: float(total) / self.summed for name, total in self.sums.items()}
        self.curve.append({"update": self.update, "learning_rate": rate, **means, "valid": valid})
        self.sums, self.summed = {}, 0
        return self.curve[-1]


class Checkpoint(NamedTuple):
    """The file that a stopped run resumes from, and the `fingerprint` of the run that it belongs to."""

    path: Path
    fingerprint: str

    def save(self, model: Encoder, optimizer: torch.optim.Optimizer, at: Progress, cpu_seconds: float) -> None:
        """Write parameters, the state of the optimizer and the progress."""
        progress = vars(at) | {"cpu_seconds": cpu_seconds}
        states = {"model": plain(model), "optimizer": optimizer.state_dict()}
        save({"fingerprint": self.fingerprint, **states, **progress}, self.path)

    def resume(self, model: Encoder, optimizer: torch.optim.Optimizer) -> Progress:
        """Load the checkpoint, if there is one. Raises InputError for a damaged one, and for that of another run."""
        if not self.path.exists():
            return Progress()
        saved = encoders.read(self.path, "remove it to train from the start")
        if saved.pop("fingerprint", None) != self.fingerprint:
            raise InputError(OTHER, self.path, remedy=REMEDY)
        model.load_state_dict(saved.pop("model"))
        optimizer.load_state_dict(saved.pop("optimizer"))
        log(f"going on from update {saved['update']:,} ({self.path})")
        return Progress(**saved)


class Speed:
    """Tokens and sentences a second since the start of this process."""

    def __init__(self, update: int) -> None:
        self.first, self.started, self.tokens, self.sentences = update, time.monotonic(), 0, 0

    def add(self, batches: dict[str, tuple[Padded, ...]]) -> None:
        self.sentences += sum(len(columns[0].lengths) for columns in batches.values())
        self.tokens += sum(int(column.lengths.sum()) for columns in batches.values() for column in columns)

    def line(self, row: dict[str, Any], updates: int, score: str) -> str:
        """A row of the curve, speed and time left, for the log."""
        update, rate, valid = row["update"], row["learning_rate"], row["valid"]
        losses = ", ".join(f"{name} {row[name]:.3f}" for name in list(row)[2:-1])
        seconds = time.monotonic() - self.started
        left = (updates - update) * seconds / (update - self.first)
        scored = "" if valid is None else f", {score} {valid:.3f}"
        return (
            f"update {update:,}/{updates:,}: {losses}{scored}, rate {rate:g}, "
            f"{self.tokens / seconds:,.0f} tokens/s, {self.sentences / seconds:,.0f} sentences/s, {left:,.0f} s left"
        )


def plain(model: Encoder) -> State:
    """A copy of the parameters on the CPU, each tensor with its own memory."""
    return {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}


def save(value: dict[str, Any], path: Path) -> None:
    """torch.save, atomically; to an open file, as torch would write the name of a path into the file."""
    with atomic(path) as part, full_disk(path), open(part, "wb") as file:
        torch.save(value, file)


def write_curve(curve: list[dict[str, Any]], folder: Path) -> None:
    """Write `curve.csv`: update, learning_rate, mean losses since the last row, valid (the dev score)."""
    records.write_columns(folder / "curve.csv", {name: [row[name] for row in curve] for name in curve[0]}, "%.6g")
