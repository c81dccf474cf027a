"""What the lengths of an encoder's vectors do to the Euclidean distance, beside the cosine: kim2019, Table 3.

    python benchmarks/lengths.py work/small/vectors --encoder nmt_autoencoder --seed 1 --seed 2 --seed 3 --seed 4 --seed 5 \\
        --text work/small/corpus/newstest2018 -o results/small-lengths/alignment.csv

after the run has made results/small/kim2019/table3.csv. A vector of the encoder is split into its direction and its
length; rows give it another length, and recover the alignment of the corpus again (error rates in percent, lower is
better; of lengths that are exchanged at random, the mean over EXCHANGES draws). The log has the correlation of lengths
with the numbers of words, and the mean length of each side.
"""

from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import rate
from bitextbench.base.progress import log
from bitextbench.formats.bitext import SIDES, read_side
from bitextbench.formats.vectors import read_shards
from bitextbench.report import measurements
from bitextbench.report.cells import Measurement, measurement, write
from bitextbench.report.table import unprinted

Array = NDArray[np.float64]
Lengths = tuple[Array, Array]  # of sources and of targets
EXCHANGES = 20


def shuffled(lengths: Array, groups: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Lengths exchanged at random among the sentences of each group."""
    result = lengths.copy()
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        result[rows] = lengths[rng.permutation(rows)]
    return result


def variants(lengths: Lengths, words: tuple[NDArray[np.int64], ...], seed: int) -> dict[str, list[Lengths]]:
    """The lengths of each row; those that are drawn, EXCHANGES times."""
    rng = np.random.default_rng(seed)
    src, tgt = lengths
    alike = [(shuffled(src, words[0], rng), shuffled(tgt, words[1], rng)) for _ in range(EXCHANGES)]
    return {
        "cosine, all lengths 1": [(np.ones_like(src), np.ones_like(tgt))],
        "Euclidean, lengths of the encoder": [(src, tgt)],
        "exchanged among sentences of as many words": alike,
        "exchanged among all sentences": [(rng.permutation(src), rng.permutation(tgt)) for _ in range(EXCHANGES)],
        "targets half as long again": [(src, 1.5 * tgt)],
    }


def nearest(src: Array, tgt: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nearest target of each source, and the nearest source of each target, by the Euclidean distance."""
    squares = np.square(src).sum(1)[:, None] + np.square(tgt).sum(1)[None] - 2 * src @ tgt.T
    return squares.argmin(1), squares.argmin(0)


@click.command(context_settings={"show_default": True})
@click.argument("vectors", type=click.Path(path_type=Path, exists=True))
@click.option("--encoder", default="nmt_autoencoder")
@click.option("--corpus", default="newstest2018")
@click.option("--text", type=click.Path(path_type=Path, exists=True), required=True, help="The corpus' folder.")
@click.option("--seed", "seeds", type=int, multiple=True, default=(1,))
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="CSV; the measurements go beside it.")
def main(vectors: Path, encoder: str, corpus: str, text: Path, seeds: tuple[int, ...], out: Path) -> None:
    """Alignment errors of an encoder's directions with other lengths."""
    words = tuple(np.array([len(line.split()) for line in read_side(text, side)]) for side in SIDES)
    made: list[Measurement] = []
    for seed in seeds:
        folder = vectors / (encoder if seed == 1 else f"{encoder}.seed{seed}") / corpus
        shards = [read_shards(sorted(folder.glob(f"*.{side}.npy"))) for side in SIDES]
        sides = [side.block(0, len(side)).astype(np.float64) for side in shards]
        lengths = tuple(np.linalg.norm(side, axis=1) for side in sides)
        for side, long, number in zip(("sources", "targets"), lengths, words, strict=True):
            correlation = np.corrcoef(long, number)[0, 1]
            log(f"seed {seed}, {side}: mean length {long.mean():.2f}, correlation with the words {correlation:.2f}")
        directions = [side / long[:, None] for side, long in zip(sides, lengths, strict=True)]
        for name, drawn in variants((lengths[0], lengths[1]), words, seed).items():
            wrong = [
                np.stack(nearest(directions[0] * a[:, None], directions[1] * b[:, None])) != np.arange(len(a))
                for a, b in drawn
            ]
            de_en, en_de = np.mean(wrong, axis=0)  # of each sentence
            for column, errors in (("de-en", de_en), ("en-de", en_de), ("average", (de_en + en_de) / 2)):
                made.append(measurement(name, column, seed, rate(f"error rate ({column})", errors), out))
    out.parent.mkdir(parents=True, exist_ok=True)
    write(unprinted("alignment", made, "small", {}), out)
    measurements.save("alignment", made, out.with_suffix(".json"))


if __name__ == "__main__":
    main()
