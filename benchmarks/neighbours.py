"""Exact neighbours in both directions: this project's search beside two searches of faiss, in one process on one
machine.

    python benchmarks/neighbours.py --sizes 10000,20000 --dimension 1024 --threads 2 -o neighbours.csv --plot neighbours.png

For each N, N sources and N targets (a target is its source and as much noise, so that the pairs are hard to find):

| column | meaning |
|---|---|
| ours_s, ours_cpu_s | our search, both directions: wall and processor time |
| faiss_s, faiss_cpu_s | two searches of IndexFlatIP, with the vectors already normalised and added; up to `--faiss-to` |
| speedup, cpu_speedup | faiss over ours |
| gemm_s, gemm_cpu_s, gemm_share | the N x N x d product alone, the one that the search takes, tile by tile; its share of our processor time |
| retrieval_s, retrieval_share | ratio margin and retrieval by `max`; its share of search and retrieval |
| same | share of neighbours, both directions, that faiss finds too (it orders near-ties otherwise) |
| peak_mib, vectors_mib | memory of a process that searches memory-mapped files, above what it held before; the two files |

The last line gives the exponent of N in our time, by least squares on logarithms: 2 is the cost of the product.

Measured so on two idle cores with AMX, d = 1024 (memory is that above the start, the vectors' pages among it):

| N | ours_s | faiss_s | speedup | gemm_share | retrieval_share | same | peak_mib | vectors_mib |
|---|---|---|---|---|---|---|---|---|
| 10,000 | 0.99 | 1.26 | 1.3 | 10% | 0.6% | 1 | 144 | 78 |
| 25,000 | 2.66 | 8.11 | 3.0 | 22% | 0.6% | 1 | 292 | 195 |
| 50,000 | 7.27 | 30.7 | 4.2 | 26% | 0.4% | 1 | 528 | 391 |
| 100,000 | 22.7 | 129 | 5.7 | 36% | 0.3% | 1 | 1,036 | 781 |
| 200,000 | 75.4 | | | 47% | 0.2% | | 2,084 | 1,562 |
| 400,000 | 265 | | | 48% | 0.1% | | 3,863 | 3,125 |

The same with `--precision fp32`, as without AMX: 40,000 in 11.9 s, 1.7 times as fast as faiss, the product 78%; 100,000
in 73.4 s against 136.0 s, 1.85 times, the product 80%. (Both with the product by torch, and its loops beside it.)

With the fastest product and loops of our own, on AMD Zen 3 with AVX2 (no bf16; two cores, which others used, too: so by
processor time, seconds), fp32, d = 1024:

| N | threads | ours_cpu_s | faiss_cpu_s | cpu_speedup | gemm_cpu_s | gemm_share | same |
|---|---|---|---|---|---|---|---|
| 20,000, before | 1 | 14.7 | 22.4 | 1.52 | | | 1 |
| 20,000 | 1 | 11.0 | 20.9 | 1.91 | 10.4 | 95% | 1 |
| 20,000 | 2 | 11.6 | 25.4 | 2.20 | 10.8 | 93% | 1 |
| 40,000 | 1 | 42.1 | 79.8 | 1.89 | 39.9 | 95% | 1 |

There a search of faiss is 98% its product, as fast as ours; two to one is a factor of 2, which one thread does not pass
in fp32.
"""

import csv
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np

from bitextbench.base.device import setup, torch
from bitextbench.base.progress import log
from bitextbench.formats.vectors import Embeddings
from bitextbench.mining.retrieval import retrieve
from bitextbench.neighbours import products, search
from bitextbench.neighbours.engine import TILE
from bitextbench.scoring.margins import score_neighbours

K = 4
MEMORY = """
import sys
from bitextbench.formats.vectors import read_pair
from bitextbench.neighbours import metric, search
metric.FEW = 0  # machine code is loaded before
small, src, tgt, k, threads, precision = sys.argv[1:]
options = {"threads": int(threads), "precision": precision}
search(*read_pair(small, small), int(k), **options)
def kib(field):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))
open("/proc/self/clear_refs", "w").write("5")  # the peak starts at what is held now
before = kib("VmRSS")
search(*read_pair(src, tgt), int(k), **options)
print(kib("VmHWM") - before)
"""  # (ru_maxrss would begin at the size of the parent process)


def vectors(n: int, dimension: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets, float32 [n, dimension] each, of length 1."""
    rng = np.random.default_rng(seed)
    src = rng.standard_normal((n, dimension), dtype=np.float32)
    tgt = src + rng.standard_normal((n, dimension), dtype=np.float32)
    return tuple(side / np.linalg.norm(side, axis=1, keepdims=True) for side in (src, tgt))  # type: ignore[return-value]


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What `work` returns, wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def product(src: np.ndarray, tgt: np.ndarray, precision: str, threads: int) -> None:
    """The matrix product alone, the one that the search takes, tile by tile."""
    name = products.choose(precision, len(src) * len(tgt) * src.shape[1] / threads)
    left, right = (torch.from_numpy(side).bfloat16() if name == "bf16" else side for side in (src, tgt))
    tiles = [np.empty((TILE["cpu"], TILE["cpu"]), np.float32) for _ in range(threads)]

    def rows(thread: int) -> None:
        for a in blocks(len(left), TILE["cpu"], thread, threads):
            for b in blocks(len(right), TILE["cpu"]):
                out = tiles[thread].ravel()[: len(left[a]) * len(right[b])].reshape(-1, len(right[b]))
                products.PRODUCTS[name](left[a], right[b], out)

    with products.one_thread_each(), ThreadPoolExecutor(threads) as pool:
        list(pool.map(rows, range(threads)))


def blocks(n: int, step: int, first: int = 0, every: int = 1) -> list[slice]:
    """Slices of `step` numbers that cover 0 to n, or every so many of them."""
    return [slice(start, start + step) for start in range(0, n, step)][first::every]


def by_faiss(src: np.ndarray, tgt: np.ndarray, threads: int) -> tuple[tuple[np.ndarray, np.ndarray], float, float]:
    """Ids of both directions, and the time of the two searches."""
    import faiss

    faiss.omp_set_num_threads(threads)
    indexes = [faiss.IndexFlatIP(side.shape[1]) for side in (src, tgt)]
    for index, side in zip(indexes, (src, tgt), strict=True):
        index.add(side)
    return timed(lambda: (indexes[1].search(src, K)[1], indexes[0].search(tgt, K)[1]))


def peak(src: np.ndarray, tgt: np.ndarray, threads: int, precision: str) -> int:
    """KiB that a search of memory-mapped files takes, the pages of the files included."""
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("small", src[:2048]), ("src", src), ("tgt", tgt)):
            np.save(Path(folder) / f"{name}.npy", array)
        files = [str(Path(folder) / f"{name}.npy") for name in ("small", "src", "tgt")]
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, *files, str(K), str(threads), precision],
            capture_output=True,
            text=True,
            check=True,
        )
    return int(done.stdout)


def measure(n: int, dimension: int, threads: int, precision: str, peer: bool, runs: int) -> dict[str, Any]:
    """One line of the table: medians of the runs, in each of which all are measured in turn; without the peer, faiss,
    its columns are empty.
    """
    setup(threads)
    src, tgt = vectors(n, dimension)
    sides = Embeddings(src, "src"), Embeddings(tgt, "tgt")
    row = {"n": n, "dimension": dimension, "threads": threads, "k": K}
    found = [_run(sides, src, tgt, threads, precision, peer) for _ in range(runs)]
    row |= {
        key: statistics.median(run[key] for run in found) if found[0][key] is not None else None for key in found[0]
    }
    row |= {"peak_mib": peak(src, tgt, threads, precision) / 1024, "vectors_mib": 2 * src.nbytes / 2**20}
    return {key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in row.items()}


def _run(
    sides: tuple[Embeddings, Embeddings], src: np.ndarray, tgt: np.ndarray, threads: int, precision: str, peer: bool
) -> dict[str, Any]:
    both, ours, ours_cpu = timed(lambda: search(*sides, K, threads=threads, precision=precision))
    _, gemm, gemm_cpu = timed(lambda: product(src, tgt, precision, threads))
    _, mining, _ = timed(lambda: retrieve("max", both, score_neighbours("ratio", both)))
    row: dict[str, Any] = {"ours_s": ours, "ours_cpu_s": ours_cpu}
    row |= dict.fromkeys(("faiss_s", "faiss_cpu_s", "speedup", "cpu_speedup"))
    row |= {
        "gemm_s": gemm, "gemm_cpu_s": gemm_cpu, "gemm_share": gemm_cpu / ours_cpu,
        "retrieval_s": mining, "retrieval_share": mining / (ours + mining), "same": None,
    }  # fmt: skip
    if peer:
        ids, faiss, faiss_cpu = by_faiss(src, tgt, threads)
        same = np.mean([np.mean(side.ids == found) for side, found in zip(both, ids, strict=True)])
        row |= {"faiss_s": faiss, "faiss_cpu_s": faiss_cpu, "same": float(same)}
        row |= {"speedup": faiss / ours, "cpu_speedup": faiss_cpu / ours_cpu}
    return row


@click.command(context_settings={"show_default": True})
@click.option(
    "--sizes", default="10000,20000", help="N, comma-separated, ascending; 10000 to 400000 shows the whole curve."
)
@click.option("--dimension", default=1024)
@click.option("--threads", default=1)
@click.option("--faiss-to", default=100_000, help="The greatest N that faiss searches, too.")
@click.option("--precision", type=click.Choice(["auto", "fp32", "bf16"]), default="auto")
@click.option("--runs", default=1, help="Of ours, product and faiss in turn; medians are given.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="CSV; else standard output.")
@click.option("--plot", type=click.Path(path_type=Path), help="PNG of the cost curve.")
def main(
    sizes: str,
    dimension: int,
    threads: int,
    faiss_to: int,
    precision: str,
    runs: int,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Measure search, faiss and product for growing N."""
    warm = Embeddings(vectors(5000, 16)[0])
    search(warm, warm, K)  # machine code is compiled, or loaded
    rows = []
    with open(out, "w", newline="", encoding="utf-8") if out else nullcontext(sys.stdout) as file:
        for n in map(int, sizes.split(",")):
            rows.append(measure(n, dimension, threads, precision, n <= faiss_to, runs))
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            if len(rows) == 1:
                writer.writeheader()
            writer.writerow(rows[-1])
            file.flush()
            peer = (
                f"{rows[-1]['speedup']} times faiss ({rows[-1]['cpu_speedup']} by processor time), "
                if rows[-1]["speedup"]
                else ""
            )
            log(f"n={n:,}: {peer}{rows[-1]['gemm_share']:.0%} of our time is the product")
    if len(rows) > 1:
        size, seconds = (np.log([row[key] for row in rows]) for key in ("n", "ours_s"))
        log(f"our time grows as N^{np.polyfit(size, seconds, 1)[0]:.2f}")
    if plot:
        draw(rows, plot)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Time over N, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
    for key, label in (
        ("ours_s", "ours, both directions"),
        ("faiss_s", "faiss, two searches"),
        ("gemm_s", "one product"),
    ):
        points = [(row["n"], row[key]) for row in rows if row[key] is not None]
        axes.loglog(*zip(*points, strict=True), marker="o", label=label)
    axes.set(
        xlabel="N sources and N targets",
        ylabel="seconds",
        title=f"d = {rows[0]['dimension']}, {rows[0]['threads']} threads",
    )
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
