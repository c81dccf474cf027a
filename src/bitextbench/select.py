"""Selection of the best-scored pairs up to a number of words: the rule of the WMT18 corpus filtering task.

Koehn et al. 2018: words are counted on the English side of the raw text, as Perl's `split(/ /)` does; the counts are summed
by distinct score, from the best down; the cut-off is the first score at which the sum exceeds the budget, and every pair
that scores at least the cut-off is taken. So pairs that tie at the cut-off are all in, and the sum overshoots.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench import bitext
from bitextbench.errors import InputError
from bitextbench.files import atomic, write_json
from bitextbench.progress import log
from bitextbench.score import load_scores


def count_words(text: pa.ChunkedArray | pa.Array) -> NDArray[np.int64]:
    """Words of each line as Perl's `split(/ /)` counts: trailing empty fields are dropped, leading and inner ones count."""
    stripped = pc.utf8_rtrim(text, characters=" ")
    spaces = pc.count_substring(stripped, " ")
    words = pc.if_else(pc.equal(stripped, ""), 0, pc.add(spaces, 1))
    return pc.fill_null(words, 0).to_numpy().astype(np.int64)


def cutoff(scores: NDArray[np.float32], words: NDArray[np.int64], budget: int) -> float | None:
    """The least score to keep, or None when all pairs together do not exceed the budget."""
    order = np.argsort(-scores, kind="stable")
    ranked, running = scores[order], np.cumsum(words[order])
    ends = np.append(ranked[1:] != ranked[:-1], True)  # the last pair of every block of equal scores
    over = np.flatnonzero(ends & (running > budget))
    return float(ranked[over[0]]) if len(over) else None


def select(
    method: str, budget: str, budget_words: int, corpus: Path, tokens: Path, scores: Sequence[Path],
    languages: tuple[str, str], count_side: str, out: Path,
) -> None:  # fmt: skip
    """Write the folder `out`: train.<src>, train.<tgt> (tokenised, in the order of ids) and selection.json.

    `corpus` has the raw text, `tokens` the same rows tokenised, `scores` a file for each of its shards; `count_side` is
    "src" or "tgt". Raises InputError when their lengths differ or nothing is selected.
    """
    loaded = load_scores(scores)
    words, labels = [], []
    for path, score_path, shard_scores in zip(bitext.shard_paths(corpus), scores, loaded, strict=True):
        shard = bitext.read_shard(path, [count_side, "label"])
        if len(shard) != len(shard_scores):
            raise InputError(
                f"{len(shard_scores):,} scores for {len(shard):,} pairs", score_path, remedy="score this shard again"
            )
        words.append(count_words(shard[count_side]))
        labels.append(shard["label"].combine_chunks().dictionary_encode())
    cut = cutoff(np.concatenate(loaded), np.concatenate(words), budget_words)
    kept = [shard_scores >= (-np.inf if cut is None else cut) for shard_scores in loaded]
    if not sum(int(w[k].sum()) for w, k in zip(words, kept, strict=True)):
        raise InputError(f"no words selected by {method}", corpus, remedy="is the corpus empty after filtering?")

    by_label: Counter[str] = Counter()
    for shard_words, keep, label in zip(words, kept, labels, strict=True):
        sums = np.bincount(label.indices.to_numpy()[keep], weights=shard_words[keep], minlength=len(label.dictionary))
        by_label.update(
            {name: int(total) for name, total in zip(label.dictionary.to_pylist(), sums, strict=True) if total}
        )
    rows = pa.concat_tables(
        bitext.read_shard(path, ["id", "src", "tgt"]).filter(pa.array(keep))
        for path, keep in zip(bitext.shard_paths(tokens), kept, strict=True)
    ).sort_by("id")
    pool_words, pool_pairs = sum(int(w.sum()) for w in words), sum(map(len, words))
    summary = {
        "method": method, "budget": budget, "budget_words": budget_words, "words": sum(by_label.values()), "pairs": len(rows),
        "cutoff": cut, "reached": cut is not None, "pool_words": pool_words, "pool_pairs": pool_pairs,
        "words_by_label": dict(sorted(by_label.items())) if set(by_label) != {""} else {},
    }  # fmt: skip
    if cut is None:
        log(
            f"{method} {budget}: the pool has {pool_words:,} words, the budget is {budget_words:,}: everything is taken"
        )
    with atomic(out) as folder:
        folder.mkdir()
        for side, language in zip(("src", "tgt"), languages, strict=True):
            (folder / f"train.{language}").write_text(
                "".join(f"{line}\n" for line in rows[side].to_pylist()), encoding="utf-8"
            )
        write_json(folder / "selection.json", summary)
    log(f"{method} {budget}: {summary['pairs']:,} pairs, {summary['words']:,} words, cut-off {cut}")
