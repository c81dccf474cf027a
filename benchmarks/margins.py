"""Where margins differ: the neighbourhoods of an encoder's vectors in a comparable corpus, and what each margin mines wrongly or misses.

    python benchmarks/margins.py work/published-muse bucc.en-zh nmt_autoencoder

Forward search, k = 4. A neighbourhood mean is the denominator of ratio and what distance takes off (artetxe2019 section 3): where it varies
little beside its size, the two rank pairs alike.
"""

import sys
from pathlib import Path

import numpy as np

from bitextbench import neighbours
from bitextbench.formats.vectors import read_shards
from bitextbench.mining import comparable
from bitextbench.scoring.margins import margin, means


def main(run: Path, corpus: str, encoder: str) -> None:
    sides = [read_shards(sorted((run / "vectors" / encoder / corpus).glob(f"*.{side}.npy"))) for side in ("src", "tgt")]
    src, tgt = corpus.rpartition(".")[2].split("-")
    texts = comparable.read(run / "corpus" / corpus, (src, tgt))
    searched, kept = comparable.searchable(texts, *sides)
    both = neighbours.search(*searched, 4, metric="cosine")
    ids, cosines = both.forward.ids[:, 0], both.forward.similarities[:, 0].astype(np.float64)
    forward, backward = means(both)
    near = (forward + backward[ids]) / 2
    names = [np.array(text.ids, object)[rows] for text, rows in zip((texts.src, texts.tgt), kept, strict=True)]
    gold = set(texts.gold)
    right = np.array([pair in gold for pair in zip(names[0], names[1][ids], strict=True)])
    print(f"{corpus}: neighbourhood mean, 5, 50, 95%:", np.quantile(near, [0.05, 0.5, 0.95]).round(3))
    for name in ("absolute", "distance", "ratio"):
        order = np.argsort(-margin(name, cosines, forward, backward[ids]), kind="stable")
        found = right[order].cumsum()
        f1 = 200 * found / (np.arange(1, len(order) + 1) + len(gold))
        best = int(f1.argmax()) + 1
        wrong = order[:best][~right[order[:best]]]
        missed = np.setdiff1d(np.flatnonzero(right), order[:best])
        for what, rows in (("wrong", wrong), ("missed", missed)):
            print(
                f"{name}: F1 {f1.max():.1f}, {len(rows)} {what}: cosine {np.median(cosines[rows]):.3f}, mean {np.median(near[rows]):.3f}"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
