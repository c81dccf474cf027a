"""The BUCC mining task: Zweigenbaum et al. 2017; artetxe2019 section 4.1, yang2019 section 6.

Two texts of `id<TAB>sentence`, a few per cent of which translate each other; the gold file has those pairs, `source id<TAB>
target id`. Mined pairs are compared with gold by id. The threshold is the one with the best F1, which the papers tune on the
very pairs that they report; beside it stands a two-fold figure, tuned on one half of the sources and measured on the other.
A gold pair that deduplication makes impossible to find stays in the denominator of recall, and is counted.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, measure_types, quotient
from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic, read_lines
from bitextbench.evaluation.curves import curve
from bitextbench.formats.mined_pairs import Candidates
from bitextbench.formats.sentences import Sentences
from bitextbench.mining.retrieval import first_copies

Gold = list[tuple[str, str]]


def read_gold(path: Path, src: Sentences, tgt: Sentences) -> Gold:
    """Pairs of ids. Raises InputError for a line that is not two ids, an unknown id, a pair twice, no pairs."""
    gold: dict[tuple[str, str], int] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split("\t")
        if len(fields) != 2:
            raise InputError("line is not `source id<TAB>target id`", path, line=number, remedy="mend it")
        pair = fields[0], fields[1]
        check_ids([pair[0]], [pair[1]], src, tgt, path, number)
        if (first := gold.setdefault(pair, number)) != number:
            raise InputError(f"the pair of line {first} again", path, line=number, remedy="remove one of them")
    if not gold:
        raise InputError("has no pairs", path, remedy="is this the gold file?")
    return list(gold)


def check_ids(
    src_ids: Sequence[str],
    tgt_ids: Sequence[str],
    src: Sentences,
    tgt: Sentences,
    where: str | Path,
    first_line: int = 1,
) -> None:
    """Raises InputError for an id that its text does not have, naming the line."""
    for ids, text in ((src_ids, src), (tgt_ids, tgt)):
        for number, name in enumerate(ids, first_line):
            if name not in text.index:
                raise InputError(
                    f"id {name!r} is not in {text.name}", where, line=number, remedy="source first? the same data set?"
                )


def write_gold(path: Path, gold: Gold) -> None:
    """Write pairs of ids in BUCC's format."""
    _write_lines(path, gold)


def write_text(path: Path, sentences: Sentences) -> None:
    """Write `id<TAB>sentence` lines. Raises InputError for an id with white space, a sentence with a line end."""
    for number, (name, text) in enumerate(zip(sentences.ids, sentences.text, strict=True), 1):
        if not name or name.split() != [name] or "\n" in text or "\r" in text:
            raise InputError(f"id {name!r} or its sentence cannot stand in a line", sentences.name, line=number)
    _write_lines(path, list(zip(sentences.ids, sentences.text, strict=True)))


def _write_lines(path: Path, rows: Gold) -> None:
    with atomic(path) as part:
        part.write_text("".join(f"{a}\t{b}\n" for a, b in rows), encoding="utf-8", newline="\n")


def tune(scores: NDArray[np.float32], correct: NDArray[np.bool_], gold: int) -> float | None:
    """The threshold with the best F1 (of equal ones the highest), None where there are no pairs.

    Only the ends of tie blocks are looked at. The threshold lies midway to the next score; it is the block's own score where
    the block is the last one, or no float32 lies between.
    """
    if not len(scores):
        return None
    points = curve(scores, correct)
    best = int(np.argmax(_f1(points.right, points.pairs, gold)))
    own = points.thresholds[best]
    if best + 1 == len(points.thresholds):
        return float(own)
    following = points.thresholds[best + 1]
    middle = np.float32((float(own) + float(following)) / 2)
    return float(middle if following < middle <= own else own)


def _f1(right: Any, pairs: Any, gold: Any) -> NDArray[np.float64]:
    """2 right / (pairs + gold), which is the harmonic mean of precision and recall."""
    return quotient(2 * np.asarray(right, np.float64), np.asarray(pairs + gold, np.float64))


def scores_of(right: int, pairs: int, gold: int, *, seed: int = SEED, signature: str = "") -> dict[str, Any]:
    """Precision, recall and F1 in percent. Intervals are over the pairs that were found or were to be found."""
    frequencies = np.array([right, pairs - right, gold - right])  # found rightly, found wrongly, missed
    statistics = {
        "precision": lambda right, wrong, missed: 100 * quotient(right, right + wrong),
        "recall": lambda right, wrong, missed: 100 * quotient(right, right + missed),
        "f1": lambda right, wrong, missed: 100 * _f1(right, right + wrong, right + missed),
    }
    return {
        name: measure_types(name, frequencies, lambda weights, of=of: of(*weights.T), seed=seed, signature=signature)  # type: ignore[misc]
        for name, of in statistics.items()
    }


def two_fold(
    scores: NDArray[np.float32], src: Sequence[str], correct: NDArray[np.bool_], gold: Gold, seed: int = SEED
) -> tuple[dict[str, int], list[float | None]]:
    """Tuned on one half, measured on the other, both ways: right, pairs and gold of both together, and the thresholds.

    The sources that occur in pairs or gold are split in two halves at random; a pair goes with its source.
    """
    first = half({*src, *(pair[0] for pair in gold)}, seed)
    in_first = np.array([name in first for name in src], bool)
    gold_first = sum(pair[0] in first for pair in gold)
    total, thresholds = {"right": 0, "pairs": 0, "gold": len(gold)}, []
    for tuned, measured, size in ((in_first, ~in_first, gold_first), (~in_first, in_first, len(gold) - gold_first)):
        threshold = tune(scores[tuned], correct[tuned], size)
        taken = measured & (scores >= np.float32(np.inf if threshold is None else threshold))
        total["pairs"] += int(taken.sum())
        total["right"] += int((taken & correct).sum())
        thresholds.append(threshold)
    return total, thresholds


def half(names: Iterable[str], seed: int) -> set[str]:
    """One half of the sources, at random."""
    ordered = sorted(names)
    return {ordered[place] for place in np.random.default_rng(seed).permutation(len(ordered))[: len(ordered) // 2]}


def lost_to_duplicates(gold: Gold, src: Sentences, tgt: Sentences) -> int:
    """Gold pairs of which a sentence is a later copy of another, and so is not searched."""
    kept = [{side.ids[place] for place in first_copies(side.text).tolist()} for side in (src, tgt)]
    return sum(pair[0] not in kept[0] or pair[1] not in kept[1] for pair in gold)


def evaluate(
    candidates: Candidates,
    gold: Gold,
    src: Sentences,
    tgt: Sentences,
    *,
    threshold: float | None = None,
    seed: int = SEED,
    where: str | Path = "candidates",
) -> dict[str, Any]:
    """Precision, recall and F1 of mined pairs, at `threshold` or at the one that is best on these pairs, and two-fold.

    Raises InputError for a candidate whose id is unknown; `where` is the file that it names.
    """
    check_ids(candidates.src, candidates.tgt, src, tgt, where)
    truth = set(gold)
    correct = np.array([pair in truth for pair in zip(candidates.src, candidates.tgt, strict=True)], bool)
    chosen = tune(candidates.scores, correct, len(gold)) if threshold is None else threshold
    taken = candidates.scores >= np.float32(np.inf if chosen is None else chosen)
    how = "given" if threshold is not None else "best F1 on these pairs"
    total, thresholds = two_fold(candidates.scores, candidates.src, correct, gold, seed)
    return {
        **scores_of(int((taken & correct).sum()), int(taken.sum()), len(gold), seed=seed, signature=f"threshold:{how}"),
        "threshold": chosen,
        "threshold_from": how,
        "candidates": len(correct),
        "pairs": int(taken.sum()),
        "gold": len(gold),
        "gold_lost_to_duplicates": lost_to_duplicates(gold, src, tgt),
        "two_fold": {**scores_of(**total, seed=seed, signature="threshold:two-fold"), "thresholds": thresholds},
    }
