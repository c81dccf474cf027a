"""What a GPU reaches at paper scale: seconds and peak memory of an update of each encoder, of a search, of encoding, and of
fairseq's Transformers; each as a share of the card's rate of a product in bfloat16. `benchmarks/gpu.py` runs these.
"""

import contextlib
import itertools
import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from bitextbench import encoders, neighbours
from bitextbench.base.device import number_format, torch
from bitextbench.encoders import costs, trainer
from bitextbench.encoders.encode import write_vectors
from bitextbench.formats.ids import Ragged
from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours import tensors
from bitextbench.nmt import train as nmt_train
from bitextbench.report import amounts, updates
from bitextbench.report.plan import share as kind_of
from bitextbench.report.settings import paper_scale

Result = dict[str, Any]
LONG = 1.0  # seconds that a measurement takes, about
USUAL = 10  # batches
ENCODED = 20_000  # sentences
ENCODERS = ("nmt_autoencoder", "shared_seq2seq", "dan_dual", "transformer_bide")
THREADS = len(os.sched_getaffinity(0))
FAIRSEQ = {"base": 200, "big": 3}  # updates of each Transformer


def measured(device: torch.device, config: Path) -> Iterator[Result]:
    """Updates of paper scale of an encoder of each size: peak memory against `updates.tsv`, seconds, share of the rate."""
    settings, rate = paper_scale(config), matrix_rate(device)
    yield {"what": "product in bfloat16", "rate": rate, "bytes": copy_rate(device)}
    for name, spec, _ in updates.distinct(settings):
        line = updates.table()[name]
        model, vocabulary = amounts.sized(settings, spec)
        torch.cuda.empty_cache()
        try:
            found = update_of({**spec, "model": model}, vocabulary, device)
        except RuntimeError as error:  # out of memory, say: the others are measured
            yield {"what": f"update of {name}", "error": f"{type(error).__name__}: {str(error)[:500]}"}
            continue
        share = 1e9 * line.gflop / found["seconds"] / rate
        yield {
            "what": f"update of {name}",
            "kind": kind_of(spec["type"]),
            **found,
            "table_gib": line.gib,
            "share": share,
        }


def update_of(spec: dict[str, Any], vocabulary: int, device: torch.device) -> Result:
    """Seconds of an update, of usual batches of random ids; GiB at the peak, of the largest of many; and where the host
    waits in one.
    """
    training = trainer.training_of(spec)
    with device:
        model = encoders.create(spec, vocabulary)
    drawn = costs.batches_of(model, spec, training, updates.PAIRS)
    words = spec["model"].get("words", vocabulary)

    def filled(batches: dict[str, Any]) -> dict[str, Any]:
        return {
            name: tuple(_numbered(column, words, vocabulary).pinned() for column in columns)
            for name, columns in batches.items()
        }

    usual, big = itertools.cycle(filled(batches) for batches in drawn[:USUAL]), filled(max(drawn, key=costs.ids_of))
    optimizer, dtype = trainer.optimizer_of(spec, training, model, 1), number_format(training.precision, device)
    run = trainer.Updates(model=model, optimizer=optimizer, training=training, device=device, dtype=dtype)

    def update(batches: dict[str, Any]) -> None:
        trainer.step(run, batches, 0)

    torch.cuda.reset_peak_memory_stats(device)
    update(big)
    torch.cuda.synchronize(device)
    gib = torch.cuda.max_memory_allocated(device) / 2**30
    seconds = seconds_of(lambda: update(next(usual)), device, warm=min(USUAL, len(drawn)))
    waits: list[str] = []
    if training.optimizer != "lbfgs":
        with host_waits(waits):
            update(big)
    return {"seconds": seconds, "gib": round(gib, 2), "waits": waits}


def seconds_of(work: Callable[[], Any], device: torch.device, warm: int = 2) -> float:
    """Of a call, after some to warm up: the mean over LONG seconds, or 50 calls."""
    for _ in range(warm):
        work()
    torch.cuda.synchronize(device)
    started = time.perf_counter()
    work()
    torch.cuda.synchronize(device)
    count = int(np.clip(LONG / (time.perf_counter() - started), 1, 50))
    started = time.perf_counter()
    for _ in range(count):
        work()
    torch.cuda.synchronize(device)
    return (time.perf_counter() - started) / count


@contextlib.contextmanager
def host_waits(places: list[str]) -> Iterator[None]:
    """In this block, list each place where torch makes the host wait for the GPU."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode("default")
    said = [warning for warning in seen if "called a synchronizing" in str(warning.message)]
    places += [f"{Path(warning.filename).name}:{warning.lineno}" for warning in said]


def _numbered(column: Any, words: int, vocabulary: int) -> Any:
    """A batch of shapes with ids: a word where a token begins, then its n-grams (or bigrams)."""
    sizes = column.lengths if column.sizes is None else column.sizes
    each = max(1, int(sizes.sum()) // max(1, int(column.lengths.sum())))
    place, shape = torch.arange(column.ids.shape[1]), tuple(column.ids.shape)
    ids = (
        torch.where(place % each > 0, torch.randint(words, vocabulary, shape), torch.randint(4, words, shape))
        if each > 1
        else torch.randint(4, words, shape)
    )
    return column._replace(ids=ids.masked_fill(place >= sizes[:, None], 0), sizes=sizes)


def matrix_rate(device: torch.device, side: int = 8192) -> float:
    """Floating-point operations a second of a product in bfloat16."""
    a = torch.randn(side, side, device=device, dtype=torch.bfloat16)
    return 2 * side**3 / seconds_of(lambda: a @ a, device)


def copy_rate(device: torch.device, size: int = 1 << 32) -> float:
    """Bytes a second, read and written, of a copy on the device."""
    a = torch.empty(size // 4, device=device)
    return 2 * size / seconds_of(a.clone, device)


def encoding(device: torch.device, config: Path) -> Iterator[Result]:
    """Sentences a second of encoders of paper scale in bfloat16, where a model may be narrow, by tokens of a batch."""
    settings, rng = paper_scale(config), np.random.default_rng(1)
    for name in ENCODERS:
        spec = settings["encoders"][name]
        sized, vocabulary = amounts.sized(settings, spec)
        with device:
            model = encoders.create({**spec, "model": sized}, vocabulary)
        dtype = torch.bfloat16 if model.narrow else torch.float32
        model.to(dtype)
        words, each = sized.get("words", vocabulary), costs.IDS.get(spec["type"], 1)
        lengths = each * costs.Shapes.drawn(ENCODED, 100, 0).lengths.astype(np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        more = rng.integers(words, vocabulary, offsets[-1]) if each > 1 else 0
        ids = np.where(np.arange(offsets[-1]) % each > 0, more, rng.integers(4, words, offsets[-1]))
        sentences = model.read("encode", [Ragged(ids.astype(np.int32), offsets)])
        vectors = np.empty((len(lengths), model.dimension), np.float32)
        for tokens in (8192, 65_536):
            for _ in range(2):  # the first warms up
                started = time.perf_counter()
                for _ in write_vectors(model, sentences, "src", vectors, tokens, device, dtype):
                    pass
                seconds = time.perf_counter() - started
            yield {"what": f"encode, {name}, batches of {tokens:,} tokens", "sentences": round(ENCODED / seconds)}


def searching(device: torch.device, n: int = 1 << 20, dimension: int = 512, k: int = 4) -> Iterator[Result]:
    """An exact search of n by n vectors in both directions: its share of the rate, and that of its products alone; beside
    a product and `topk` of blocks by torch, and faiss.
    """
    with device:
        base = torch.randn(n, dimension)
        other = base + 0.5 * torch.randn(n, dimension)
    src, tgt = (Embeddings(side.cpu().numpy()) for side in (base, other))
    rate, spent = matrix_rate(device), []
    tops, settle = tensors.tops, neighbours.settle

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            torch.cuda.synchronize(device)
            started = time.perf_counter()
            found = work(*arguments)
            torch.cuda.synchronize(device)
            spent.append((name, time.perf_counter() - started))
            return found

        return call

    threads = THREADS
    few = n // 4
    few_src, few_tgt = (Embeddings(side.array[:few]) for side in (src, tgt))
    neighbours.search(few_src, few_tgt, k, device=str(device), precision="bf16", threads=threads)  # to warm up
    torch.cuda.reset_peak_memory_stats(device)
    with (
        mock.patch.object(tensors, "tops", timed("tops", tops)),
        mock.patch.object(neighbours, "settle", timed("settle", settle)),
    ):
        started = time.perf_counter()
        found = neighbours.search(src, tgt, k, device=str(device), precision="bf16", threads=threads)
        whole = time.perf_counter() - started
    parts = {name: sum(seconds for part, seconds in spent if part == name) for name, _ in spent}
    yield {
        "what": f"search of {n:,} by {n:,}, bf16",
        "seconds": whole,
        **parts,
        "gib": torch.cuda.max_memory_allocated(device) / 2**30,
        "share": 2 * n**2 * dimension / whole / rate,
        "tops_share": 2 * n**2 * dimension / parts.get("tops", whole) / rate,
        "found": float((found.forward.ids[:, 0] == np.arange(n)).mean()),
    }
    for precision, dtype in (("bf16", torch.bfloat16), ("fp32", torch.float32)):
        left, right = (torch.nn.functional.normalize(side[:few], dim=1).to(dtype) for side in (base, other))

        def plain(left: torch.Tensor = left, right: torch.Tensor = right) -> None:
            for block in left.split(4096):
                (block @ right.T).topk(k, dim=1)

        yield {
            "what": f"product and topk of torch, {few:,} by {few:,}, one direction, {precision}",
            "seconds": seconds_of(plain, device),
        }
    for backend, precision in (("torch", "bf16"), ("torch", "fp32"), ("faiss", "fp32")):
        try:
            started = time.perf_counter()
            more = {"backend": backend, "precision": precision, "threads": threads, "memory": 1 << 33}
            neighbours.search(few_src, few_tgt, k, device=str(device), **more)
            yield {
                "what": f"search of {few:,} by {few:,}, {backend}, {precision}",
                "seconds": time.perf_counter() - started,
            }
        except Exception as error:
            yield {"what": f"search of {few:,} by {few:,}, {backend}, {precision}: {error}"}


def in_the_box(device: torch.device) -> Iterator[Result]:
    """Sentences a second of the encoders in the box, on lines made of the words of examples/news.*."""
    from bitextbench.encoders import e5, muse

    rng = np.random.default_rng(1)
    words = (
        Path("examples/news.de").read_text(encoding="utf-8").split()
        + Path("examples/news.en").read_text(encoding="utf-8").split()
    )
    lines = [" ".join(rng.choice(words, size)) for size in rng.integers(8, 40, 30_000)]
    made: dict[str, Callable[..., Any]] = {"muse": muse.Muse, "e5-small": e5.E5Small}
    for name, create in made.items():
        try:
            right, few = None, lines[:300]
            for where, precision in (("cpu", "fp32"), (str(device), "fp32"), (str(device), "bf16")):
                encoder = create(threads=THREADS, device=where, precision=precision)
                side = encoder.side("de")
                vectors = np.zeros((len(few), encoder.dimension), np.float32)
                for _ in encoder.encode(few, "de", side, vectors):
                    pass
                if right is None:
                    right = vectors
                    continue
                cosine = (right * vectors).sum(1) / np.linalg.norm(right, axis=1) / np.linalg.norm(vectors, axis=1)
                all_of = np.zeros((len(lines), encoder.dimension), np.float32)
                started = time.perf_counter()
                for _ in encoder.encode(lines, "de", side, all_of):
                    pass
                seconds = time.perf_counter() - started
                yield {
                    "what": f"{name}, {precision}",
                    "sentences": round(len(lines) / seconds),
                    "least_cosine": float(cosine.min()),
                }
        except Exception as error:
            yield {"what": f"{name}: {type(error).__name__} {error}"}


def translating(device: torch.device, config: Path, folder: Path) -> Iterator[Result]:
    """fairseq's training of the Transformers of paper scale on random words: target words a second, share of the rate."""
    from bitextbench.nmt import fairseq_shim

    settings, rng, rate = paper_scale(config), np.random.default_rng(1), matrix_rate(device)
    names = [f"w{number}" for number in range(31_000)]
    folder.mkdir(parents=True, exist_ok=True)
    lengths = np.exp(rng.normal(np.log(costs.WORDS), costs.SPREAD, 40_000)).clip(1, 200).astype(int)
    for side in ("de", "en"):
        rows = (" ".join(names[number] for number in rng.integers(0, len(names), size)) for size in lengths)
        (folder / f"t.{side}").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        (folder / f"v.{side}").write_text("w1 w2\n", encoding="utf-8")
    pair = ["--source-lang", "de", "--target-lang", "en", "--joined-dictionary", "--workers", "8"]
    place = ["--trainpref", str(folder / "t"), "--validpref", str(folder / "v"), "--destdir", str(folder / "bin")]
    fairseq_shim.run("preprocess", [*pair, *place])
    for name, count in FAIRSEQ.items():
        spec = settings["transformers"][name]
        shorter = spec | {"max_updates": count, "validate_every": 10**6, "patience": 0, "ensemble": 1}
        options = nmt_train.translation(("de", "en"), spec) | nmt_train._schedule(shorter)
        options |= {
            "log-format": "json",
            "log-interval": max(1, count // 4),
            "disable-validation": True,
            "no-save": True,
        }
        lines: list[str] = []

        class Kept(logging.Handler):
            def emit(self, record: logging.LogRecord, lines: list[str] = lines) -> None:
                if record.name == "train_inner":  # by this name fairseq logs updates
                    lines.append(record.getMessage())

        handler = Kept()
        logging.getLogger("fairseq.logging.progress_bar").addHandler(handler)
        torch.cuda.reset_peak_memory_stats(device)
        fairseq_shim.run(
            "train",
            [
                str(folder / "bin"),
                *nmt_train.device_options(device.type, 1),
                *nmt_train.arguments(options),
                "--save-dir",
                str(folder / name),
            ],
        )
        logging.getLogger("fairseq.logging.progress_bar").removeHandler(handler)
        logged = [json.loads(line) for line in lines if line.startswith("{")]
        last = logged[-1]
        tokens = float(last["wps"])
        parameters = amounts.transformer(spec, spec["vocab_size"])
        yield {
            "what": f"fairseq, {name}",
            "words": tokens,
            "updates": float(last["ups"]),
            "gib": torch.cuda.max_memory_allocated(device) / 2**30,
            "share": 6 * parameters * tokens / rate,
            "logged": len(logged),
        }
