"""Mines parallel pairs from two monolingual texts and their vectors: artetxe2019 section 3, from files to a file."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats import mined_pairs, sentences
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.sentences import Sentences, first_copies
from bitextbench.formats.vectors import Embeddings, read_pair
from bitextbench.mining.retrieval import check_strategy, retrieve
from bitextbench.scoring import neighbours
from bitextbench.scoring.margins import SIMILARITIES, score_neighbours
from bitextbench.scoring.neighbours import Both


def metric_and_margin(name: str) -> tuple[str, str]:
    """The metric of the search and the margin of a similarity. Raises InputError for an unknown name."""
    if name not in SIMILARITIES:
        raise InputError(f"unknown similarity {name!r}", remedy=f"known: {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]


def mine_pairs(both: Both, margin: str, retrieval: str, threshold: float | None) -> tuple[Mined, dict[str, int]]:
    """Score the neighbours, retrieve pairs, and keep those that reach the threshold.

    Returns the pairs, and counts: candidates (scored neighbours of both directions), undefined (those without a score),
    retrieved, below_threshold, pairs.
    """
    scores = score_neighbours(margin, both)
    retrieved = retrieve(retrieval, both, scores)
    mined = retrieved.above(threshold)
    counts = {
        "candidates": sum(array.size for array in scores),
        "undefined": sum(int(np.isnan(array).sum()) for array in scores),
        "retrieved": len(retrieved.src),
        "below_threshold": len(retrieved.src) - len(mined.src),
        "pairs": len(mined.src),
    }
    return mined, counts


def mine(
    src_text: Path,
    tgt_text: Path,
    src_emb: Path,
    tgt_emb: Path,
    out: Path,
    *,
    margin: str = "ratio",
    retrieval: str = "max",
    k: int = 4,
    threshold: float | None = None,
    form: str = "auto",
    keep_duplicates: bool = False,
    **search: Any,
) -> dict[str, Any]:
    """Mine pairs, write them to `out` (see `formats.mined_pairs`), and return and log the counts.

    Empty sentences and later copies of a sentence are not searched (artetxe2019 section 3.1: "excluding duplicates");
    with `keep_duplicates`, copies are. `search`: options of `neighbours.search`.
    Raises InputError when vectors and lines differ in number, and for errors in any of the four files.
    """
    metric, rule = metric_and_margin(margin)
    check_strategy(retrieval)
    texts = [sentences.read(path, side, form) for path, side in ((src_text, "src"), (tgt_text, "tgt"))]
    vectors = read_pair(src_emb, tgt_emb)
    kept: list[NDArray[np.int64]] = []
    counts: dict[str, Any] = {}
    for side, text, vector in zip(("src", "tgt"), texts, vectors, strict=True):
        check_lengths(text, vector)
        rows, counts[side] = searched(text, keep_duplicates)
        kept.append(rows)
    src, tgt = (vector.select(rows) for vector, rows in zip(vectors, kept, strict=True))
    both = neighbours.search(src, tgt, k, metric=metric, **search)
    mined, pair_counts = mine_pairs(both, rule, retrieval, threshold)
    mined_pairs.write(out, Mined(kept[0][mined.src], kept[1][mined.tgt], mined.scores), *texts)
    counts |= pair_counts
    log(_summary(counts, out))
    return counts


def check_lengths(text: Sentences, vectors: Embeddings) -> None:
    """Raises InputError when a text and its vectors differ in number."""
    if len(text) != len(vectors):
        raise InputError(
            f"{len(vectors):,} vectors for the {len(text):,} sentences of {text.name}",
            vectors.name,
            remedy="encode this text again",
        )


def searched(text: Sentences, keep_duplicates: bool) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Places of the sentences to search, and counts: in, empty, duplicate, searched.

    Raises InputError when no sentence is left.
    """
    full = np.array([place for place, line in enumerate(text.text) if line.strip()], np.int64)
    rows = full if keep_duplicates else full[first_copies(text.text[place] for place in full)]
    if not len(rows):
        raise InputError("has empty sentences only", text.name, remedy="both sides need at least one sentence")
    empty, duplicate = len(text) - len(full), len(full) - len(rows)
    return rows, {"in": len(text), "empty": empty, "duplicate": duplicate, "searched": len(rows)}


def _summary(counts: dict[str, Any], out: Path) -> str:
    sides = (
        f"{side} {c['in']:,} sentences ({c['empty']:,} empty, {c['duplicate']:,} duplicate)"
        for side, c in counts.items()
        if isinstance(c, dict)
    )
    return (
        f"mine: {', '.join(sides)}; {counts['candidates']:,} candidates ({counts['undefined']:,} undefined), "
        f"{counts['retrieved']:,} retrieved, {counts['below_threshold']:,} below the threshold, "
        f"{counts['pairs']:,} pairs in {out}"
    )
