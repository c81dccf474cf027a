"""Mines parallel pairs from two monolingual texts and their vectors: artetxe2019 section 3, from files to a file."""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bitextbench.base.errors import InputError
from bitextbench.base.outputs import scratch
from bitextbench.base.pipes import copied, read_once, shown
from bitextbench.base.progress import log
from bitextbench.formats import mined_pairs, sentences
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.gold import Gold, read_gold
from bitextbench.formats.inputs import PLAIN, Reading
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.sentences import Sentences
from bitextbench.formats.vectors import Distinct, distinct
from bitextbench.mining import summary
from bitextbench.mining.checks import check_sides
from bitextbench.mining.retrieval import check_strategy, mine_pairs
from bitextbench.mining.searched import searched
from bitextbench.mining.vectors import Vectors
from bitextbench.neighbours.approximate import neighbours_of
from bitextbench.scoring.margins import SIMILARITIES, K, metric_and_margin

if TYPE_CHECKING:
    from bitextbench.encoders.interface import Calibration  # it imports torch


def mine(
    src_text: Path,
    tgt_text: Path,
    out: Path,
    vectors: Vectors,
    *,
    calibration: "Calibration | None" = None,
    margin: str | None = None,
    retrieval: str = "max",
    k: int = K,
    threshold: float | None = None,
    gold: Path | None = None,
    target: float | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    forms: tuple[str, str] = ("auto", "auto"),
    columns: tuple[Sequence[str], Sequence[str]] = ((), ()),
    reading: Reading = PLAIN,
    keep_duplicates: bool = False,
    index: str | None = None,
    **search: Any,
) -> dict[str, Any]:
    """Mine pairs, write them to `out` (see `formats.mined_pairs`), and return and log the counts.

    `forms`, `columns`, `reading`: of `sentences.read`. Empty sentences, lines that are too long and later copies of a
    sentence are not searched (artetxe2019 section 3.1: "excluding duplicates"), nor are those that have the vector of
    another. With `keep_duplicates` they have their pairs, with the score of the first copy. `target` (of 1): the lowest
    threshold at which this share of the pairs is in `gold`, all pairs that are right. `calibration`: see `settled`.
    `languages` are written to TMX. `index`: of faiss, for an approximate search (`neighbours.approximate`). `search`:
    options of `neighbours.search`. Raises InputError for bad input, before the search where that can be.
    """
    started = time.monotonic()
    check_strategy(retrieval)
    mined_pairs.check_output(out, languages)
    margin, threshold, calibration = settled(margin, k, threshold, target, calibration)
    metric, rule = SIMILARITIES[margin]
    log("1 of 4: read")
    texts = _read((src_text, tgt_text), forms, languages, columns, reading)
    truth = read_gold(gold, *texts) if gold else None
    rows, counts = zip(*(searched(text, keep_duplicates) for text in texts), strict=True)
    log("2 of 4: encode")
    (src, tgt), cut = vectors(texts, rows)
    log("3 of 4: search")
    once = distinct(src), distinct(tgt)
    _count_alike(counts, once)
    src, tgt = (side.vectors for side in once)
    both, figures = neighbours_of(src, tgt, k, index, metric=metric, **search)
    mined, pair_counts = mine_pairs(both, rule, retrieval, threshold, once if keep_duplicates else None)
    if not keep_duplicates:
        rows = tuple(side[one.first] for side, one in zip(rows, once, strict=True))
    mined = Mined(rows[0][mined.src], rows[1][mined.tgt], mined.scores)
    reached: dict[str, Any] = {}
    if truth is not None and target is not None:
        mined, reached = at_precision(mined, *texts, truth, target)
        pair_counts |= {"pairs": len(mined.src), "below_threshold": pair_counts["retrieved"] - len(mined.src)}
    log("4 of 4: write")
    mined_pairs.write(out, mined, *texts, languages=languages)
    result = dict(zip(SIDES, counts, strict=True)) | pair_counts | reached | figures | {"cut": cut}
    result |= summary.figures(mined, margin, threshold, calibration, texts, started)
    log(summary.as_text(result, out, texts))
    return result


def _read(
    paths: tuple[Path, Path],
    forms: Sequence[str],
    languages: Sequence[str | None],
    columns: Sequence[Sequence[str]],
    reading: Reading,
) -> tuple[Sentences, Sentences]:
    """Both texts. Two streams are copied first: what writes them may write one after the other."""
    streams = all(map(read_once, paths))
    with scratch() if streams else contextlib.nullcontext(Path()) as folder:
        places = copied(paths, folder) if streams else paths
        src, tgt = (
            sentences.read(
                place,
                side,
                form,
                language=language,
                columns=chosen,
                reading=reading if place == path else reading._replace(name=shown(path)),
            )
            for path, place, side, form, language, chosen in zip(
                paths, places, SIDES, forms, languages, columns, strict=True
            )
        )
    check_sides(src, tgt, languages)
    return src, tgt


def settled(
    margin: str | None, k: int, threshold: float | None, target: float | None, calibration: "Calibration | None"
) -> tuple[str, float | None, "Calibration | None"]:
    """The margin, the threshold, and the calibration if it is one of this margin and number of neighbours.

    What is not given is that of the calibration; without one, the margin is ratio, and there is no threshold, which the
    log says. Raises InputError for an unknown margin.
    """
    metric_and_margin(margin or "ratio", "margin")
    margin = margin or (calibration.margin if calibration else "ratio")
    if calibration and (margin, k) == (calibration.margin, calibration.k):
        usual = calibration.threshold if target is None else None
        return margin, usual if threshold is None else threshold, calibration
    if threshold is None and target is None:
        log(_unlimited(calibration))
    return margin, threshold, None


def _unlimited(usual: "Calibration | None") -> str:
    """What a user has to know of a search without a threshold; `usual`: the calibration of the encoder."""
    only = (
        f" (the default, {usual.threshold:.4f}, is for --margin {usual.margin} and -k {usual.k} only)" if usual else ""
    )
    return f"mine: no threshold is set, so every retrieved pair is kept; give --threshold to keep fewer{only}"


def at_precision(
    mined: Mined, src: Sentences, tgt: Sentences, gold: Gold, target: float
) -> tuple[Mined, dict[str, Any]]:
    """The longest list of pairs, from the best down, whose share in `gold` is the target or more; its threshold and
    figures.

    Ties are taken or left together. Raises InputError where no threshold reaches the target.
    """
    truth = {(src.index[a], tgt.index[b]) for a, b in gold}
    right = np.array([pair in truth for pair in zip(mined.src.tolist(), mined.tgt.tolist(), strict=True)], bool)
    ends = np.flatnonzero(np.append(mined.scores[1:] != mined.scores[:-1], True)[: len(right)])
    precision = np.cumsum(right)[ends] / (ends + 1)
    if not (reached := np.flatnonzero(precision >= target)).size:
        best = f"the best is {precision.max():.3f}" if len(ends) else "there are no pairs"
        raise InputError(f"no threshold reaches a precision of {target}: {best}", remedy="lower --precision-target")
    last = int(ends[reached[-1]])
    figures = {"precision": float(precision[reached[-1]]), "recall": int(right[: last + 1].sum()) / len(truth)}
    return mined.take(np.arange(last + 1)), {"threshold": float(mined.scores[last]), **figures}


def _count_alike(counts: Sequence[dict[str, int]], once: Sequence[Distinct]) -> None:
    """Count the sentences of each side that have the vector of another."""
    for count, side in zip(counts, once, strict=True):
        if alike := len(side.which) - len(side.first):
            count |= {"alike": alike, "searched": len(side.first)}
