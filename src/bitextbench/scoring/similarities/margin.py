"""The margin of a given pair: its cosine compared with the cosines of both sides' nearest neighbours (artetxe2019,
section 3).

The neighbourhoods are those of the pool itself: "processing the entire corpus in batches of 5 million sentences"
(section 4.3). The model of this similarity belongs to one corpus: `fit` stores for each pair the mean cosines of its
two sides.

Where the paper is silent:

- Batches have equal sizes, of at most 5 million. In a small batch neighbours are farther, and ratios are higher: a
  short last one would have more than its share of what is selected.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.arrays import load_npz, save_npz
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats.vectors import Embeddings
from bitextbench.scoring import Pairs, margins
from bitextbench.scoring.similarities import cosine

NEEDS = ("vectors",)
FIT = "neighbourhoods"
OPTIONS = {
    "margin": {"enum": ["absolute", "distance", "ratio", "csls", "yang9", "yang10"]},
    "k": {"type": "integer", "minimum": 1, "maximum": 16384},
    "batch": {"type": "integer", "minimum": 1},
}
BATCH = 5_000_000


def fit(src: Embeddings, tgt: Embeddings, spec: dict[str, Any], out: Path, **settings: Any) -> None:
    """Write the mean cosine of each sentence's `k` nearest translations, for both sides of the pairs [n] of a corpus.

    Of equal sentences one is a neighbour: "excluding duplicates" (section 3.1).

    `src`, `tgt` [n, d]: row i is pair i. spec: `margin`, one of margins.MARGINS (ratio); `k` (4); `batch`, the most
    pairs of a neighbourhood (5 million). `settings`: of `neighbours.search`. Memory: the vectors of a batch are
    memory-mapped.
    """
    if len(src) != len(tgt):
        raise InputError(
            f"the sides have {len(src):,} and {len(tgt):,} vectors", src.name, remedy="encode both sides of one corpus"
        )
    means = np.zeros((len(src), 2), np.float32)
    batch = spec.get("batch", BATCH)
    count = -(-len(src) // batch)
    cuts = [len(src) * number // max(1, count) for number in range(count + 1)]
    for start, stop in itertools.pairwise(cuts):
        near, far = (side.part(start, stop) for side in (src, tgt))
        both = margins.neighbourhoods(near, far, spec.get("k", 4), metric="cosine", **settings)
        means[start:stop] = np.stack(both, axis=1)
    log(f"neighbourhoods of {len(src):,} pairs, in {count:,} batches of at most {batch:,}")
    save_npz(out, means=means, margin=np.array(spec.get("margin", "ratio")))


def score(pairs: Pairs, model: Path | None) -> NDArray[np.float32]:
    """The margin [n]; -inf where a ratio has no meaning, because a neighbourhood is not similar at all."""
    if model is None:
        raise InputError("a margin needs the neighbourhoods of the corpus", remedy="find them first")
    stored = load_npz(model, "find the neighbourhoods again", {"means": ("f4", "pairs 2"), "margin": ("U", "")})
    means, name = stored["means"], str(stored["margin"])
    if len(pairs.ids) and pairs.ids.max() >= len(means):
        what = f"has neighbourhoods of {len(means):,} pairs, and none of pair {pairs.ids.max():,}"
        raise InputError(what, model, remedy="find those of this corpus")
    scores = margins.margin(name, cosine.score(pairs), *means[pairs.ids].T)
    undefined = np.isnan(scores)
    if undefined.any():
        log(
            f"margin: {undefined.sum():,} of {len(scores):,} pairs have no neighbourhood of positive similarity; they come last"
        )
    return np.where(undefined, np.float32(-np.inf), scores)
