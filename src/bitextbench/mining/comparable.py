"""Comparable corpora, as BUCC's: monolingual text with translations hidden in it; and how well each way of mining finds them.

A corpus of this project holds one where some rows have both sides, which are the gold pairs, and the others have one. Taken
apart, each side is shuffled and numbered anew, so that nothing but the text says what belongs together.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED
from bitextbench.base.errors import InputError
from bitextbench.evaluation import bucc, curves
from bitextbench.formats import bitext
from bitextbench.formats.mined_pairs import Candidates
from bitextbench.formats.sentences import Sentences
from bitextbench.formats.vectors import Embeddings
from bitextbench.mining.retrieval import STRATEGIES, Mined, retrieve
from bitextbench.mining.texts import check_lengths, metric_and_margin, searched
from bitextbench.scoring import neighbours
from bitextbench.scoring.margins import score_neighbours
from bitextbench.scoring.neighbours import Both, Neighbours


class Comparable(NamedTuple):
    """Both texts, the gold pairs by id, and the row of the corpus that each sentence comes from, int64 [n] a side."""

    src: Sentences
    tgt: Sentences
    gold: bucc.Gold
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]


def read(folder: Path, languages: tuple[str, str], seed: int = SEED) -> Comparable:
    """Take a corpus apart. Ids are BUCC's: the language and a number of nine digits.

    Raises InputError when a side is empty or no row has both.
    """
    tables = list(bitext.read_batches(folder, ["src", "tgt"]))
    texts, rows, names = [], [], []
    for side, language, salt in zip(("src", "tgt"), languages, (0, 1), strict=True):
        lines = np.array([line for table in tables for line in table[side].to_pylist()], object)
        full = np.array([place for place, line in enumerate(lines) if line is not None], np.int64)
        order = np.random.default_rng([seed, salt]).permutation(full)
        name = np.full(len(lines), "", object)
        name[order] = ids = [f"{language}-{number:09d}" for number in range(1, len(order) + 1)]
        texts.append(Sentences(ids, lines[order].tolist(), f"{folder} ({language})"))
        rows.append(order)
        names.append(name)
    gold = [(a, b) for a, b in zip(*names, strict=True) if a and b]
    if not gold:
        raise InputError("no row has both sides", folder, remedy="hide some translations in it")
    return Comparable(texts[0], texts[1], gold, (rows[0], rows[1]))


def write(found: Comparable, out: Path) -> None:
    """Write `<out>.src`, `<out>.tgt` and `<out>.gold` in BUCC's format, for any other system."""
    for text, suffix in ((found.src, "src"), (found.tgt, "tgt")):
        bucc.write_text(out.with_name(f"{out.name}.{suffix}"), text)
    bucc.write_gold(out.with_name(f"{out.name}.gold"), found.gold)


def evaluate(
    found: Comparable, src: Embeddings, tgt: Embeddings, similarities: Sequence[str], k: int = 4, *, seed: int = SEED, **search: Any
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """What `bucc.evaluate` measures, for each similarity (`margins.SIMILARITIES`) and each way of retrieval.

    Beside the four strategies of artetxe2019 there are `nearest_forward` and `nearest_backward`: each sentence with its nearest
    neighbour, whatever the margin, which only scores the pair (yang2019 section 6.1). Without a margin, forward and backward have
    the average precision, too (section 6.3). `src`, `tgt`: the vectors of the corpus, row by row.
    """
    texts = (found.src, found.tgt)
    sides, kept = searchable(found, src, tgt)
    truth = set(found.gold)
    result: dict[str, dict[str, Any]] = {name: {} for name in similarities}
    for metric in sorted({metric_and_margin(name)[0] for name in similarities}):
        both = neighbours.search(sides[0], sides[1], k, metric=metric, **search)
        for name in similarities:
            of, margin = metric_and_margin(name)
            for way, mined in mine(both, margin).items() if of == metric else ():
                ids = (
                    [text.ids[place] for place in rows[places].tolist()]
                    for text, rows, places in zip(texts, kept, mined[:2], strict=True)
                )
                candidates = Candidates(mined.scores, *ids)
                figures = bucc.evaluate(candidates, found.gold, *texts, seed=seed)
                if margin == "absolute" and way in ("forward", "backward"):
                    correct = np.array([pair in truth for pair in zip(*candidates[1:], strict=True)], bool)
                    figures["average_precision"] = curves.average_precision(
                        mined.scores, correct, len(truth), seed=seed
                    )
                result[name][way] = figures
    return result


def searchable(
    found: Comparable, src: Embeddings, tgt: Embeddings
) -> tuple[tuple[Embeddings, Embeddings], list[NDArray[np.int64]]]:
    """The sentences that are searched (none empty, no copies), a side: their vectors, and their places in the text.

    `src`, `tgt`: the vectors of the corpus, row by row. Raises InputError when they are not as many as the sentences.
    """
    sides = [vectors.select(rows) for vectors, rows in zip((src, tgt), found.rows, strict=True)]
    for text, side in zip((found.src, found.tgt), sides, strict=True):
        check_lengths(text, side)
    kept = [searched(text, False)[0] for text in (found.src, found.tgt)]
    return (sides[0].select(kept[0]), sides[1].select(kept[1])), kept


def mine(both: Both, margin: str) -> dict[str, Mined]:
    """The pairs of each way of retrieval, and their scores."""
    scores = score_neighbours(margin, both)
    mined = {strategy: retrieve(strategy, both, scores) for strategy in STRATEGIES}
    first = Both(*(Neighbours(side.ids[:, :1], side.similarities[:, :1]) for side in both))
    for strategy in ("forward", "backward"):
        mined[f"nearest_{strategy}"] = retrieve(strategy, first, (scores[0][:, :1], scores[1][:, :1]))
    return mined
