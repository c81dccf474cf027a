"""Other programs beside ours on the same input: rules of length by OpusFilter, nearest neighbours by faiss and
sentence-transformers.

    python benchmarks/peers.py --lines 100000 --vectors 20000 --envs /tmp/peers -o peers.csv

Each peer runs as a process of its own in an environment of its own, which is made in `--envs` (from PyPI, by the pinned
version below); `--here` takes the environment that runs this, for peers that it has. Columns: work, program, version,
size, runs; the least and the median of the seconds of a whole process, start and reading included; the most memory,
MiB; and the share of answers that are ours.

LASER and sentence-transformers have programs that mine bitext, but among their examples, not in what PyPI has. Both
search by faiss.
"""

import csv
import os
import statistics
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np

from bitextbench.data.synth import sentences

PROGRAMS = Path(__file__).parent / "peer_programs"
PEERS = {  # program: what is installed
    "opusfilter": ("opusfilter", "3.3.1", ()),
    "faiss_search": ("faiss-cpu", "1.15.1", ("numpy",)),
    "semantic_search": ("sentence-transformers", "5.1.0", ()),
}
K = 4
RULES = "{min_tokens: 3, max_tokens: 80, max_ratio: 2.0}"


def python_of(peer: str, envs: Path, here: bool) -> tuple[str, str]:
    """The Python that has a peer, and the peer's version."""
    package, pinned, more = PEERS[peer]
    if here:
        try:
            return sys.executable, version(package)
        except PackageNotFoundError:
            pass
    env = envs / peer
    if not (env / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", env], check=True)
        subprocess.run([env / "bin/python", "-m", "pip", "install", "-q", f"{package}=={pinned}", *more], check=True)
        (env / "installed").touch()
    return str(env / "bin/python"), pinned


def measured(command: list[str], folder: Path, runs: int) -> dict[str, float]:
    """Seconds and memory of a program that is run several times, on one thread."""
    seconds, peak = [], 0
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    if command[0] != sys.executable:
        environment.pop("PYTHONPATH", None)
    for _ in range(runs):
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        said = process.stderr.read() if process.stderr else ""
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise click.ClickException(f"{' '.join(command)}\n{said}")
        seconds.append(time.perf_counter() - start)
        peak = max(peak, usage.ru_maxrss // 1024)
    return {"seconds": round(min(seconds), 2), "median_s": round(statistics.median(seconds), 2), "peak_mib": peak}


def texts(folder: Path, lines: int) -> None:
    """Two aligned texts; every fifth pair is out of the rules."""
    drawn = islice(sentences("peers", ("de", "en"), 1), lines)
    with open(folder / "a", "w", encoding="utf-8") as a, open(folder / "b", "w", encoding="utf-8") as b:
        for number, (_, (src, tgt)) in enumerate(drawn):
            print(f"{src} {number}" if number % 5 else f"{src} {number} " * 9, file=a)
            print(f"{tgt} {number}", file=b)


def vectors(folder: Path, n: int, dimension: int) -> None:
    """Two sides of n vectors; row i of both is a pair, with noise."""
    draw = np.random.default_rng(1)
    a = draw.normal(size=(n, dimension)).astype(np.float32)
    np.save(folder / "a.npy", a)
    np.save(folder / "b.npy", a + 0.5 * draw.normal(size=a.shape).astype(np.float32))


def filtering(folder: Path, lines: int, runs: int, find) -> list[dict]:
    texts(folder, lines)
    ours = ["filter", "a", "b", "--src-language", "de", "--tgt-language", "en", "-o", "kept.tsv", "--rules"]
    rows = [
        {"program": "bitextbench filter", **measured([sys.executable, "-m", "bitextbench", *ours, RULES], folder, runs)}
    ]
    kept = [line.split("\t", 4)[3:] for line in (folder / "kept.tsv").read_text(encoding="utf-8").splitlines()]
    python, release = find("opusfilter")
    done = measured([python, str(PROGRAMS / "length_rules.py"), "a", "b", "a.kept", "b.kept"], folder, runs)
    pairs = zip(*((folder / f"{side}.kept").read_text(encoding="utf-8").splitlines() for side in "ab"), strict=True)
    same = {*map(tuple, kept)} ^ {*pairs}
    rows.append({"program": "opusfilter", "version": release, **done, "same": round(1 - len(same) / lines, 6)})
    return [{"work": "rules", "size": lines, "runs": runs, **row} for row in rows]


def searching(folder: Path, n: int, dimension: int, runs: int, peers: list[str], find) -> list[dict]:
    vectors(folder, n, dimension)
    rows = []
    for precision in ("fp32", "bf16"):
        ours = f"neighbours --src-emb a.npy --tgt-emb b.npy -k {K} --precision {precision} -o {precision}".split()
        done = measured([sys.executable, "-m", "bitextbench", *ours], folder, runs)
        rows.append({"program": f"bitextbench neighbours, {precision}", **done})
    truth = {way: np.load(folder / f"fp32/{way}.ids.npy") for way in ("forward", "backward")}
    for peer in peers:
        python, release = find(peer)
        done = measured([python, str(PROGRAMS / f"{peer}.py"), "a.npy", "b.npy", str(K), "found.npz"], folder, runs)
        with np.load(folder / "found.npz") as found:
            same = np.mean([(found[way] == truth[way]).mean() for way in truth])
        rows.append({"program": peer, "version": release, **done, "same": round(float(same), 6)})
    return [{"work": f"neighbours, {dimension} dimensions", "size": n, "runs": runs, **row} for row in rows]


@click.command()
@click.option("--lines", type=int, default=100_000)
@click.option("--vectors", "n", type=int, default=20_000)
@click.option("--dimension", type=int, default=1024)
@click.option("--runs", type=int, default=3)
@click.option("--envs", type=click.Path(path_type=Path), default=Path("peers"))
@click.option("--here", is_flag=True, help="Take peers that this environment has.")
@click.option("--work", type=click.Choice(["rules", "neighbours", "all"]), default="all")
@click.option("--peer", "peers", multiple=True, type=click.Choice([*PEERS]), help="Some of them only.")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True)
def main(
    lines: int, n: int, dimension: int, runs: int, envs: Path, here: bool, work: str, peers: tuple[str, ...], out: Path
) -> None:
    """Write how long each program takes, and whether it finds the same."""
    find = lambda peer: python_of(peer, envs.absolute(), here)  # noqa: E731
    rows = []
    with TemporaryDirectory() as folder:
        if work != "neighbours":
            rows += filtering(Path(folder), lines, runs, find)
        if work != "rules":
            some = [peer for peer in ("faiss_search", "semantic_search") if peer in (peers or PEERS)]
            rows += searching(Path(folder), n, dimension, runs, some, find)
    with open(out, "w", encoding="utf-8", newline="") as file:
        names = ["work", "program", "version", "size", "runs", "seconds", "median_s", "peak_mib", "same"]
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
