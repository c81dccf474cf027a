"""Rescoring mined pairs by a cross-encoder: yang2019 section 6.2.

The pairs are nearest neighbours by the vectors of an encoder, in the forward search of BUCC: each foreign sentence with
its nearest English one. The cross-encoder learns from those of the training set. Gold pairs are positives; a sample of
the others are negatives, ten for each positive. 80% of both are for training, 20% for development. In the test set
mutual nearest neighbours are rescored, and the classifier selects the translations.

Where the paper is silent:

- The test gold of BUCC was never published. So the training set serves as both, by halves of its English sentences: a
  model that has learned from one half rescores the pairs of the other.
- Negatives are a random sample of all pairs that are not gold, and the split is random.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import encoders, neighbours
from bitextbench.base.bootstrap import SEED
from bitextbench.base.device import setup
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.progress import log
from bitextbench.encoders.batches import SentenceIds
from bitextbench.encoders.models import cross_encoder
from bitextbench.evaluation import bucc
from bitextbench.formats import mined_pairs
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.ids import Ragged
from bitextbench.formats.mined_pairs import Candidates, Mined
from bitextbench.formats.vectors import Embeddings, rows_of_shards
from bitextbench.mining import comparable
from bitextbench.mining.comparable import Comparable

HALVES = ("0", "1")
Ids = tuple[Ragged, Ragged]


def prepare(
    corpus: Comparable,
    src: Embeddings,
    tgt: Embeddings,
    stems: Sequence[Path],
    out: Path,
    *,
    negatives: int = 10,
    train: float = 0.8,
    seed: int = 1,
    **search: Any,
) -> dict[str, dict[str, int]]:
    """Write the training pairs of the model of each half, and the pairs that it rescores.

    `<out>/<half>/` has `candidates.tsv` (see `formats.mined_pairs`), scored by cosine. It has ids (`Ragged.save`,
    `.src` and `.tgt`) of `candidates`, `positives`, `negatives`, `valid` and `valid_negatives` (the 20%). All but the
    candidates are from the other half. `src`, `tgt` and the ids at `stems` (shards, without `.src` and `.tgt`) are
    those of the corpus, row by row.

    Returns the counts of each half, which are also in `<out>/pairs.json`. Raises InputError for ids of another corpus,
    and for a half without positives or negatives for both parts.
    """
    sides, kept = comparable.searchable(corpus, src, tgt)
    mined = comparable.mine(neighbours.search(sides[0], sides[1], 1, metric="cosine", **search), "absolute")
    forward, mutual = (placed(mined[name], kept) for name in ("nearest_backward", "intersection"))  # foreign to English
    text = read_ids(corpus, stems)
    first = bucc.half(corpus.src.ids, seed)
    in_first = np.array([name in first for name in corpus.src.ids], bool)
    counts = {}
    for half, own in zip(HALVES, (in_first, ~in_first), strict=True):
        folder = out / half
        candidates = mutual.take(own[mutual.src])
        mined_pairs.write(folder / "candidates.tsv", candidates, corpus.src, corpus.tgt)
        parts = split(
            forward.take(~own[forward.src]), corpus, negatives, train, np.random.default_rng([seed, int(half)])
        )
        for name, rows in (parts | {"candidates": candidates}).items():
            if not len(rows.src):
                raise InputError(f"half {half} has no {name}", str(out), remedy="give it a corpus with more gold pairs")
            for side, ids, places in zip(SIDES, text, rows[:2], strict=True):
                ids.take(places).save(folder / f"{name}.{side}")
        counts[half] = {name: len(rows.src) for name, rows in (parts | {"candidates": candidates}).items()}
        log(f"half {half}: {', '.join(f'{count:,} {name}' for name, count in counts[half].items())}")
    write_json(out / "pairs.json", counts)
    return counts


def placed(mined: Mined, kept: Sequence[NDArray[np.int64]]) -> Mined:
    """Mined pairs of searched sentences, renumbered to their places in the texts."""
    return Mined(kept[0][mined.src], kept[1][mined.tgt], mined.scores)


def read_ids(corpus: Comparable, stems: Sequence[Path]) -> Ids:
    """The ids of both texts, sentence by sentence. Raises InputError when they are of another corpus."""
    sides = []
    for side, rows in zip(SIDES, corpus.rows, strict=True):
        parts = [Ragged.load(f"{stem}.{side}") for stem in stems]
        order = rows_of_shards([len(part) for part in parts], f"{stems[0]}.{side}")
        if len(rows) and rows.max() >= len(order):
            raise InputError(
                f"{len(order):,} rows, fewer than the corpus", f"{stems[0]}.{side}", remedy="make the ids again"
            )
        sides.append(Ragged.concatenate(parts).take(order[rows]))
    return sides[0], sides[1]


def split(
    forward: Mined, corpus: Comparable, negatives: int, train: float, rng: np.random.Generator
) -> dict[str, Mined]:
    """Pairs for training and development, by role; at most `negatives` negatives for each positive."""
    gold = set(corpus.gold)
    names = zip(forward.src, forward.tgt, strict=True)
    is_gold = np.array([(corpus.src.ids[i], corpus.tgt.ids[j]) in gold for i, j in names], bool)
    right, wrong = (rng.permutation(np.flatnonzero(is_gold == value)) for value in (True, False))
    wrong = wrong[: negatives * len(right)]
    roles = {}
    for name, rest, rows in (("positives", "valid", right), ("negatives", "valid_negatives", wrong)):
        cut = round(train * len(rows))
        roles[name], roles[rest] = forward.take(rows[:cut]), forward.take(rows[cut:])
    return roles


def rescore(folder: Path, model: Path, *, threads: int = 1, device: str = "cpu") -> Candidates:
    """The candidates that `prepare` wrote to `folder`, with the logits of a trained model in place of cosines."""
    candidates = mined_pairs.read(folder / "candidates.tsv")
    loaded = encoders.load(model, setup(threads, device))
    if not isinstance(loaded, cross_encoder.Model):
        raise InputError("is not a cross-encoder", model, remedy="train one")
    src, tgt = (SentenceIds.load([folder / f"candidates.{side}"]) for side in SIDES)
    if not len(src) == len(tgt) == len(candidates.src):
        what = f"{len(src):,} and {len(tgt):,} sentences of {len(candidates.src):,} candidates"
        raise InputError(what, folder, remedy="prepare them again")
    highest = max(int(part.flat.max()) for side in (src, tgt) for part in side.parts)
    if highest >= loaded.vocab_size:
        what = f"id {highest:,} for a model of {loaded.vocab_size:,} pieces"
        raise InputError(what, folder, remedy="prepare the pairs with the vocabulary of the model")
    scores = loaded.score_pairs(src, tgt)
    if len(bad := np.flatnonzero(~np.isfinite(scores))):
        raise InputError(f"the logit of pair {bad[0] + 1} is not finite", model, remedy="train it again")
    log(f"{folder}: {int((scores > 0).sum()):,} of {len(scores):,} candidates are selected")
    return candidates._replace(scores=scores)


def evaluate(
    corpus: Comparable, folder: Path, models: Sequence[Path], *, seed: int = SEED, **device: Any
) -> dict[str, Any]:
    """The metrics of `bucc.evaluate` on the pairs of both halves that the classifier selects (logits above 0).

    `models`: one for each half, in order; see `prepare` for `folder`.
    """
    halves = [rescore(folder / half, model, **device) for half, model in zip(HALVES, models, strict=True)]
    candidates = Candidates(
        np.concatenate([half.scores for half in halves]),
        *([name for half in halves for name in half[side]] for side in (1, 2)),
    )
    return bucc.evaluate(candidates, corpus.gold, corpus.src, corpus.tgt, threshold=0.0, seed=seed, where=folder)
