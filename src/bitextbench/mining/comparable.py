"""Comparable corpora, as in BUCC: two monolingual texts that contain some translations of each other.

A corpus of this project is one if some rows have both sides (the gold pairs) and the others have one side. `read`
shuffles each side and numbers it anew, so that only the text shows which sentences belong together.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED
from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.gold import Gold, write_gold, write_text
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.sentences import Sentences
from bitextbench.formats.vectors import Embeddings, distinct
from bitextbench.mining.retrieval import STRATEGIES, retrieve
from bitextbench.mining.searched import check_lengths, searched
from bitextbench.neighbours import Both, Neighbours
from bitextbench.scoring.margins import score_neighbours


class Comparable(NamedTuple):
    """Both texts, the gold pairs by id, and the row of each sentence in the corpus, int64 [n] for each side."""

    src: Sentences
    tgt: Sentences
    gold: Gold
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]


def read(folder: Path, languages: tuple[str, str], seed: int = SEED) -> Comparable:
    """The two texts of a corpus. Ids are as in BUCC: the language, and a number of nine digits.

    Raises InputError when a side is empty, or no row has both.
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
        raise InputError("no row has both sides", folder, remedy="name a corpus in which some rows have both sides")
    return Comparable(texts[0], texts[1], gold, (rows[0], rows[1]))


def write(corpus: Comparable, out: Path) -> None:
    """Write `<out>.src`, `<out>.tgt` and `<out>.gold` in BUCC's format, for other systems."""
    for text, suffix in ((corpus.src, "src"), (corpus.tgt, "tgt")):
        write_text(out.with_name(f"{out.name}.{suffix}"), text)
    write_gold(out.with_name(f"{out.name}.gold"), corpus.gold)


def searchable(
    corpus: Comparable, src: Embeddings, tgt: Embeddings
) -> tuple[tuple[Embeddings, Embeddings], list[NDArray[np.int64]]]:
    """The sentences to search (neither empty nor copies, nor of the vector of another), for each side: their vectors, and their places in the text.

    `src`, `tgt`: the vectors of the corpus, row by row. Raises InputError when vectors and sentences differ in number.
    """
    sides = [vectors.select(rows) for vectors, rows in zip((src, tgt), corpus.rows, strict=True)]
    for text, side in zip((corpus.src, corpus.tgt), sides, strict=True):
        check_lengths(text, side)
    kept = [searched(text, False)[0] for text in (corpus.src, corpus.tgt)]
    once = [distinct(side.select(places)) for side, places in zip(sides, kept, strict=True)]
    return (once[0].vectors, once[1].vectors), [places[one.first] for places, one in zip(kept, once, strict=True)]


def mine(both: Both, margin: str) -> dict[str, Mined]:
    """The pairs of each strategy of retrieval, with their scores."""
    scores = score_neighbours(margin, both)
    mined = {strategy: retrieve(strategy, both, scores) for strategy in STRATEGIES}
    first = Both(*(Neighbours(side.ids[:, :1], side.similarities[:, :1]) for side in both))
    for strategy in ("forward", "backward"):
        mined[f"nearest_{strategy}"] = retrieve(strategy, first, (scores[0][:, :1], scores[1][:, :1]))
    return mined
