"""Scores a corpus shard by shard (a `.npy` of float32 [n] each), and fits the similarities that learn.

Similarities learn from rows in the order of ids: the same bytes for any number of shards.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.likelihoods import Likelihoods
from bitextbench.formats.scores import load_scores, scores_by_id
from bitextbench.formats.vectors import Embeddings, Stacked, load_pair
from bitextbench.scoring import Pairs, Text, scored, similarity


def score_shard(
    shard: Path,
    name: str,
    out: Path,
    *,
    src: Path | None = None,
    tgt: Path | None = None,
    likelihoods: Path | None = None,
    tokens: Path | None = None,
    model: Path | None = None,
    seed: int = 1,
) -> None:
    """Score the pairs of a corpus shard by the similarity `name`, and save the scores in `out`.

    A similarity compares vectors (`src` and `tgt`), `likelihoods`, or `tokens` (the tokenised shard). Raises InputError
    when they do not belong to this shard.
    """
    rows = bitext.read_shard(shard, ["id", "label"])
    ids = rows["id"].to_numpy()
    sides = load_pair(src, tgt) if src and tgt else (None, None)
    if sides[0] is not None and len(sides[0]) != len(ids):
        raise InputError(
            f"{len(sides[0]):,} vectors for the {len(ids):,} pairs of {shard}", src, remedy="encode this corpus again"
        )
    log_probabilities = Likelihoods.load(likelihoods) if likelihoods else None
    if log_probabilities and len(log_probabilities) != len(ids):
        what = f"{len(log_probabilities):,} likelihoods for the {len(ids):,} pairs of {shard}"
        raise InputError(what, likelihoods, remedy="compute them again")
    words = read_text(tokens, ids) if tokens else None
    pairs = Pairs(ids, sides[0], sides[1], log_probabilities, words, rows["label"].to_pylist())
    arrays.save(out, scored(name, pairs, model, seed))


def read_text(shard: Path, ids: NDArray[np.integer] | None = None) -> Text:
    """The text of a token shard. Raises InputError when it has other ids than `ids`."""
    rows = bitext.read_shard(shard, ["id", "src", "tgt"])
    if ids is not None and not np.array_equal(rows["id"].to_numpy(), ids):
        raise InputError("these are not the sentences of the corpus", shard, remedy="tokenise it again")
    return Text(rows["src"], rows["tgt"])


def negatives(scores: NDArray[np.float32], portion: float | str, count: int, seed: int) -> NDArray[np.int64]:
    """Rows [count] of non-parallel examples in a scored corpus [n] (kim2019 section 5.2).

    `portion` in (0, 1]: the last `count` rows of the top-scored portion; 1.0 takes the worst of all, 0.6 is the paper's
    "60% worst". "random": drawn without replacement. Ties are ordered by row. At most n rows are taken.
    """
    count = min(count, len(scores))
    if portion == "random":
        return np.sort(np.random.default_rng(seed).choice(len(scores), count, replace=False))
    best_first = np.lexsort((np.arange(len(scores)), -scores))
    end = max(count, round(float(portion) * len(scores)))
    return np.sort(best_first[end - count : end])


def fit_similarity(
    name: str,
    spec: dict[str, Any],
    positives: Sequence[tuple[Path, Path]],
    pool: Sequence[tuple[Path, Path]],
    pool_scores: Sequence[Path],
    seed: int,
    out: Path,
) -> None:
    """Train a similarity on the vectors of trusted pairs, and of non-parallel pairs from the pool.

    Of these as many as `spec["negatives"]` has `count` (kim2019 section 5.2: 100,000), or else as there are positives
    (section 4: "a comparable size"). `positives`, `pool`: the vectors (src, tgt) of each shard; `pool_scores`: the
    scores of the shards of the pool. Raises InputError for a `count` that the pool does not have.
    """
    good, shards = ([load_pair(*paths) for paths in corpus] for corpus in (positives, pool))
    for path, (src, _), scores in zip(pool_scores, shards, load_scores(pool_scores), strict=True):
        if len(src) != len(scores):
            raise InputError(f"{len(scores):,} scores for {len(src):,} pairs", path, remedy="score this shard again")
    chosen, count, size = spec["negatives"], *(sum(len(src) for src, _ in corpus) for corpus in (good, shards))
    if chosen.get("count", 0) > size:
        remedy = "lower `negatives.count`, or remove it to take as many as positives"
        raise InputError(
            f"{name}: {chosen['count']:,} negatives are asked for, but the pool has {size:,} pairs", remedy=remedy
        )
    rows = negatives(scores_by_id(pool_scores), chosen["portion"], chosen.get("count", count), seed)
    log(f"{name}: {count:,} positives; {len(rows):,} negatives from portion {chosen['portion']} of {size:,} pairs")
    src, tgt = (
        np.concatenate([_by_id(right).block(0, count), _by_id(wrong).take(rows)])
        for right, wrong in zip(zip(*good, strict=True), zip(*shards, strict=True), strict=True)
    )
    similarity(name).fit(src, tgt, np.repeat([1, 0], [count, len(rows)]), spec, seed, out)


def _by_id(shards: Sequence[NDArray[np.float32]]) -> Embeddings:
    """The vectors of one side of a corpus."""
    return Embeddings(Stacked(shards), rows=bitext.order_of_ids([*map(len, shards)]))


def fit_text_similarity(
    name: str, spec: dict[str, Any], bitext_tokens: Sequence[Path], positives: Sequence[Path], seed: int, out: Path
) -> None:
    """Train a similarity of words on two corpora of good pairs; `bitext_tokens` and `positives` are token shards."""
    corpora = (_text(paths) for paths in (bitext_tokens, positives))
    similarity(name).fit(*corpora, spec, seed, out)


def _text(shards: Sequence[Path]) -> Text:
    """A tokenised corpus."""
    none = pa.schema([bitext.SCHEMA.field(side) for side in Text._fields]).empty_table()
    lines = pa.concat_tables([none, *bitext.batches_by_id(shards, [*Text._fields])])
    return Text(*(lines[side] for side in Text._fields))
