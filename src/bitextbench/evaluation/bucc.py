"""The BUCC mining task: Zweigenbaum et al. 2017; artetxe2019 section 4.1, yang2019 section 6.

Two texts of `id<TAB>sentence` have a few per cent of translations of each other. The gold file has these pairs as
`source id<TAB>target id`. Mined pairs are compared with gold by id. The threshold is the one with the best F1. On the
training sets the papers tune it on the pairs that they report; on the test sets they have the training set's. The gold
of the test sets is not public. So a two-fold figure is given, too: tuned on one half of the sources, measured on the
other. Gold pairs that cannot be found because of deduplication count in recall, and are reported.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, quotient, ratio
from bitextbench.base.progress import count_of, log
from bitextbench.evaluation.curves import curve
from bitextbench.formats.gold import Gold, check_ids
from bitextbench.formats.mined_pairs import Candidates
from bitextbench.formats.sentences import Sentences, first_copies


def tune(scores: NDArray[np.float32], correct: NDArray[np.bool_], gold: int) -> float | None:
    """The threshold with the best F1 (the highest of equal ones), None where there are no pairs.

    Only the ends of blocks of tied scores are considered. The threshold is midway to the next score, or the score of
    the block itself if it is the last one, or if there is no float32 between.
    """
    if not len(scores):
        return None
    points = curve(scores, correct)
    best = int(np.argmax(_f1(points.right, points.pairs, gold)))
    least = points.thresholds[best]
    if best + 1 == len(points.thresholds):
        return float(least)
    following = points.thresholds[best + 1]
    middle = np.float32((float(least) + float(following)) / 2)
    return float(middle if following < middle <= least else least)


def _f1(right: Any, pairs: Any, gold: Any) -> NDArray[np.float64]:
    """2 right / (pairs + gold): the harmonic mean of precision and recall."""
    return quotient(2 * np.asarray(right, np.float64), np.asarray(pairs + gold, np.float64))


def scores_of(counts: NDArray[np.int64], *, seed: int = SEED, signature: str = "") -> dict[str, Any]:
    """Precision, recall and F1 in percent, with intervals over sources. counts [n, 3]: right, mined and gold pairs of
    each.
    """
    right, pairs, gold = counts.T
    quotients = {"precision": (right, pairs), "recall": (right, gold), "f1": (2 * right, pairs + gold)}
    return {name: ratio(name, np.stack(parts, 1), seed=seed, signature=signature) for name, parts in quotients.items()}


def two_fold(
    scores: NDArray[np.float32], src: Sequence[str], correct: NDArray[np.bool_], gold: Gold, seed: int = SEED
) -> tuple[NDArray[np.bool_], list[float | None]]:
    """Tune on one half, measure on the other, and vice versa: which pairs [n] are taken, and the thresholds.

    The sources that occur in pairs or gold are split into two random halves; a pair belongs to the half of its source.
    """
    first = half({*src, *(pair[0] for pair in gold)}, seed)
    in_first = np.array([name in first for name in src], bool)
    gold_first = sum(pair[0] in first for pair in gold)
    taken, thresholds = np.zeros(len(scores), bool), []
    for tuned, measured, size in ((in_first, ~in_first, gold_first), (~in_first, in_first, len(gold) - gold_first)):
        threshold = tune(scores[tuned], correct[tuned], size)
        taken |= measured & (scores >= np.float32(np.inf if threshold is None else threshold))
        thresholds.append(threshold)
    return taken, thresholds


def half(names: Iterable[str], seed: int) -> set[str]:
    """A random half of the sources."""
    ordered = sorted(names)
    return {ordered[place] for place in np.random.default_rng(seed).permutation(len(ordered))[: len(ordered) // 2]}


def lost_to_duplicates(gold: Gold, src: Sentences, tgt: Sentences) -> int:
    """The number of gold pairs with a sentence that is not searched, because it is a later copy of another."""
    kept = [{side.ids[place] for place in first_copies(side.text).tolist()} for side in (src, tgt)]
    return sum(pair[0] not in kept[0] or pair[1] not in kept[1] for pair in gold)


def evaluate(
    candidates: Candidates,
    gold: Gold,
    src: Sentences | None = None,
    tgt: Sentences | None = None,
    *,
    threshold: float | None = None,
    seed: int = SEED,
    where: str | Path = "candidates",
) -> dict[str, Any]:
    """Precision, recall and F1 of mined pairs, at `threshold`, or at the best one on these pairs; and two-fold.

    Without the texts, ids are not checked, lost pairs are not counted, and intervals are over the sources that occur.
    Which occur depends on the method, so that its items cannot be paired with those of another: none are given.
    Raises InputError for a candidate with an unknown id; `where` is the file that it names.
    """
    check_ids(candidates.src, candidates.tgt, src, tgt, where)
    correct = in_gold(candidates, gold)
    chosen = tune(candidates.scores, correct, len(gold)) if threshold is None else threshold
    taken = candidates.scores >= np.float32(np.inf if chosen is None else chosen)
    how = "given" if threshold is not None else "best F1 on these pairs"
    names = src.ids if src else dict.fromkeys([*candidates.src, *(name for name, _ in gold)])
    places = {name: place for place, name in enumerate(names)}
    taken_by_half, thresholds = two_fold(candidates.scores, candidates.src, correct, gold, seed)

    def measured(taken: NDArray[np.bool_], signature: str) -> dict[str, Any]:
        found = [[*compress(candidates.src, mask)] for mask in (taken & correct, taken)] + [[name for name, _ in gold]]
        rows = [np.array([places[name] for name in ids], np.int64) for ids in found]
        counts = np.stack([np.bincount(row, minlength=len(places)) for row in rows], 1)
        made = scores_of(counts, seed=seed, signature=signature)
        if not src:
            for metric in made.values():
                del metric["items"]
        return made

    return {
        **measured(taken, f"threshold:{how}"),
        "threshold": chosen,
        "threshold_from": how,
        "candidates": len(correct),
        "pairs": int(taken.sum()),
        "gold": len(gold),
        "gold_lost_to_duplicates": lost_to_duplicates(gold, src, tgt) if src and tgt else None,
        "two_fold": {**measured(taken_by_half, "threshold:two-fold"), "thresholds": thresholds},
    }


def in_gold(candidates: Candidates, gold: Gold) -> NDArray[np.bool_]:
    """Whether each pair [n] is in gold."""
    truth = set(gold)
    return np.array([pair in truth for pair in zip(candidates.src, candidates.tgt, strict=True)], bool)


def check_match(candidates: Candidates, gold: Gold, where: Path) -> None:
    """Warn where no candidate is in gold: the ids are then perhaps of other texts, or swapped."""
    pairs = [*zip(candidates.src, candidates.tgt, strict=True)]
    if not pairs or not set(gold).isdisjoint(pairs):
        return
    first, wanted = (" and ".join(name[:40] for name in pair) for pair in (pairs[0], gold[0]))
    hint = "check that both are of the same texts"
    if not {pair[::-1] for pair in pairs}.isdisjoint(gold):
        hint = "source and target are swapped in one of them"
    elif any(not _shifted(one).isdisjoint(other) for one, other in ((pairs, gold), (gold, pairs))):
        hint = "one of them seems to count lines from 0; count from 1 in both, as `mine` does"
    log(f"warning: {where}: none of its pairs is in gold (the first is {first} here, and {wanted} there); {hint}")


def _shifted(pairs: Gold) -> set[tuple[str, str]]:
    """The pairs of line numbers among some pairs of ids, one line further."""
    numbers = ([int(name) for name in pair if name.isascii() and name.isdecimal()] for pair in pairs)
    return {(str(found[0] + 1), str(found[1] + 1)) for found in numbers if len(found) == 2}


def summary(result: Mapping[str, Any]) -> str:
    """What `evaluate` says in one line, in percent."""
    figures = " ".join(
        f"{name} {result[key]['value']:.1f}" for name, key in (("P", "precision"), ("R", "recall"), ("F1", "f1"))
    )
    interval = "{:.1f} to {:.1f}".format(*result["f1"]["interval"])
    threshold = "none" if result["threshold"] is None else f"{result['threshold']:.4f}"
    taken = f"{result['pairs']:,} of {count_of(result['candidates'], 'pair reaches', 'pairs reach')} the threshold {threshold}"
    return (
        f"{figures} (95% interval {interval}; {taken}, {result['threshold_from']}; "
        f"{count_of(result['gold'], 'pair')} in gold)"
    )
