"""Throughput of the encoders beside their floor: the FLOPs of their matrix products over the rate of one big product.

    python benchmarks/encoders.py --threads 2 --out encoders.csv

Models have the sizes of a configuration (`--config`, over config.yaml), and embeddings of at most `--rows` rows, which
bear on memory alone. Sentences are random and have LENGTH tokens. FLOPs are counted, not estimated: torch's counter
sees every product of one pass (without the fused layers that it cannot look into). Both sides are measured in turn, in
one number format.

`--threads 2 --encoder transformer_de --encoder shared_seq2seq --precision auto --seconds 8` on two idle cores with AMX,
sizes of the papers, twice: the BiLSTM (shared_seq2seq) encodes 5,400 and 5,370 sentences/s, 62% and 63% of a product of
1,840 and 1,800 GFLOP/s in bf16, the Transformer 2,300 and 2,240, 64% and 64% of 1,740 and 1,700.
"""

import csv
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from bitextbench import encoders
from bitextbench.base.device import number_format, setup, torch
from bitextbench.base.progress import log
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.encoders import trainer
from bitextbench.encoders.batches import SentenceIds
from bitextbench.encoders.encode import write_vectors
from bitextbench.formats.ids import Ragged

LENGTH = 25
NGRAMS = 10  # of a word
SIDE = 4096  # of the matrices of the product


def specs(paths: tuple[Path, ...], rows: int) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Name, specification and ids of the encoders of a configuration, the first of each type."""
    config = resolve(read(paths[:1], paths[1:]))
    types = set()
    for name, spec in config["encoders"].items():
        if spec["type"] not in types:
            types.add(spec["type"])
            features = config["text"]["features"][spec["features"]]
            if features["type"] == "bpe":
                yield name, spec, min(rows, features["vocab"])
            else:
                yield name, spec | {"model": spec["model"] | {"words": rows // 2}}, rows


def sentences(count: int, words: int | None, vocab: int, ngrams: int, seed: int) -> SentenceIds:
    """Random sentences of LENGTH tokens; of features (`words` given) each with `ngrams` n-grams."""
    rng = np.random.default_rng(seed)
    first = rng.integers(4, words or vocab, (count, LENGTH, 1))
    parts = rng.integers(words or 0, vocab, (count, LENGTH, ngrams if words else 0))
    ids = np.concatenate([first, parts], 2).reshape(count, -1).astype(np.int32)
    return SentenceIds([Ragged(ids.ravel(), np.arange(count + 1) * ids.shape[1])], words)


def counted(work: Callable[[], Any]) -> int:
    """FLOPs of the matrix products of `work`, on the CPU."""
    with (
        torch.backends.mkldnn.flags(enabled=False),
        sdpa_kernel(SDPBackend.MATH),
        FlopCounterMode(display=False) as counter,
    ):
        work()
    return counter.get_total_flops()


@contextmanager
def synchronised(device: torch.device) -> Iterator[list[float]]:
    """Seconds of the block, in the list."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    seconds = [time.perf_counter()]
    yield seconds
    wait()
    seconds[0] = time.perf_counter() - seconds[0]


def in_turn(work: Callable[[], Any], dtype: torch.dtype, device: torch.device, least: float) -> tuple[float, float]:
    """Seconds of one call, and FLOP/s of one big product: over `least` seconds of both, after a call that does not
    count.

    In turn, for the clock of a processor changes within seconds.
    """
    a, b = (torch.randn(SIDE, SIDE, device=device).to(dtype) for _ in range(2))
    works, calls, totals = (work, lambda: a @ b), 0, [0.0, 0.0]
    for each in works:
        each()
    while calls < 3 or sum(totals) < least:
        for n, each in enumerate(works):
            with synchronised(device) as seconds:
                each()
            totals[n] += seconds[0]
        calls += 1
    return totals[0] / calls, 2 * SIDE**3 * calls / totals[1]


def measure(
    name: str,
    spec: dict[str, Any],
    vocab: int,
    device: torch.device,
    precision: str,
    batch: int,
    batch_tokens: int,
    least: float,
) -> dict[str, Any]:
    """One line of the table."""
    dtype, words = number_format(precision, device), spec["model"].get("words")
    model = encoders.create(spec, vocab)
    ngrams = NGRAMS if spec["type"] == "transformer_dual" else 1
    training = replace(trainer.training_of(spec), batch=batch, optimizer="sgd")  # for sparse gradients, too
    corpora = {
        role: {
            side: sentences(4 * training.batch, words, vocab, ngrams, 2 * n + m) for m, side in enumerate(model.sides)
        }
        for n, role in enumerate(spec["corpora"])
    }
    streams = model.streams(corpora, training.batch, training.max_tokens, 1)
    batches = {key: stream.batch(0) for key, stream in streams.items()}
    text = sentences(max(1, 4 * batch_tokens // LENGTH), words, vocab, ngrams, 99)
    few = text.padded(np.arange(64))
    encoding = counted(lambda: model.eval().encode("src", few)) / len(few.ids)
    updating = counted(lambda: torch.stack(list(model.train().loss(batches).values())).sum().backward())
    model.to(device)
    encoder = deepcopy(model).to(dtype) if model.narrow else model
    vectors = np.zeros((len(text), model.dimension), np.float32)
    seconds, rate = in_turn(
        lambda: list(write_vectors(encoder, text, "src", vectors, batch_tokens, device, dtype)), dtype, device, least
    )
    optimizer = trainer.OPTIMIZERS[training.optimizer](model.parameters(), lr=1e-6)
    run = trainer.Updates(model=model, optimizer=optimizer, training=training, device=device, dtype=dtype)
    update, train_rate = in_turn(lambda: trainer.step(run, batches, 0), dtype, device, least)
    pairs = sum(len(columns[0].ids) for columns in batches.values())
    row = {
        "encoder": name, "precision": precision, "batch_tokens": batch_tokens, "product_gflops": rate / 1e9,
        "encode_mflop": encoding / 1e6, "encode_sentences_s": len(text) / seconds,
        "encode_share": encoding * len(text) / seconds / rate, "train_mflop": updating / pairs / 1e6,
        "train_examples_s": pairs / update, "train_share": updating / update / train_rate,
    }  # fmt: skip
    return {key: float(f"{value:.3g}") if isinstance(value, float) else value for key, value in row.items()}


@click.command(context_settings={"show_default": True})
@click.option("--config", "configs", type=click.Path(path_type=Path), multiple=True, default=(Path("config.yaml"),))
@click.option("--encoder", "wanted", multiple=True, help="Names; all types by default.")
@click.option("--precision", "precisions", multiple=True, default=("fp32", "auto"))
@click.option("--batch-tokens", default="8192", help="Of encoding; several, comma-separated, show a curve.")
@click.option("--batch", default=64, help="Examples of an update.")
@click.option("--rows", default=100_000, help="The most rows of an embedding.")
@click.option("--seconds", default=1.0, help="The least time of each measurement.")
@click.option("--gpus", default=0, help="0 computes on the CPU.")
@click.option("--threads", default=1)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="CSV; else standard output.")
def main(
    configs: tuple[Path, ...],
    wanted: tuple[str, ...],
    precisions: tuple[str, ...],
    batch_tokens: str,
    batch: int,
    rows: int,
    seconds: float,
    gpus: int,
    threads: int,
    out: Path | None,
) -> None:
    """Measure encoding and training of each type of encoder."""
    device = setup(threads, "cuda" if gpus else "cpu")
    chosen = [(name, *rest) for name, *rest in specs(configs, rows) if not wanted or name in wanted]
    first = True
    with open(out, "w", newline="", encoding="utf-8") if out else nullcontext(sys.stdout) as file:
        formats = {number_format(precision, device): precision for precision in reversed(precisions)}
        for precision in reversed(formats.values()):
            for name, spec, vocab in chosen:
                for tokens in map(int, batch_tokens.split(",")):
                    row = measure(name, spec, vocab, device, precision, batch, tokens, seconds)
                    writer = csv.DictWriter(file, row, lineterminator="\n")
                    if first:
                        writer.writeheader()
                    first = False
                    writer.writerow(row)
                    file.flush()
                    log(
                        f"{name}, {precision}: encoding at {row['encode_share']:.0%}, training at {row['train_share']:.0%}"
                    )


if __name__ == "__main__":
    main()
