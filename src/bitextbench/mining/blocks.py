"""Mines two large texts by blocks of their similarity matrix, each a job of its own: artetxe2019 section 3.

The texts are the sides of a corpus; a row may lack one. Neighbours that were found in blocks are joined to those of one
search, so that the pairs are the same for any number of blocks.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import log
from bitextbench.formats import bitext, mined_pairs
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.repair import is_empty
from bitextbench.formats.sentences import Sentences, first_copies
from bitextbench.formats.vectors import Embeddings, distinct
from bitextbench.mining.retrieval import check_strategy, mine_pairs
from bitextbench.mining.summary import quantiles
from bitextbench.neighbours import load, save
from bitextbench.neighbours.approximate import neighbours_of
from bitextbench.scoring.margins import metric_and_margin


class Block(NamedTuple):
    """One of `of` ranges of about as many rows; numbers begin with 0."""

    number: int
    of: int

    def rows(self, n: int) -> slice:
        """The range, of n rows. Raises InputError where it is empty, or there is none of this number."""
        if self.number >= self.of:
            raise InputError(f"there is no block {self.number:,} of {self.of:,}", remedy="the first block is 0")
        start, stop = (n * edge // self.of for edge in (self.number, self.number + 1))
        if start == stop:
            raise InputError(f"{n:,} sentences do not fill {self.of:,} blocks", remedy="take fewer blocks")
        return slice(start, stop)


def write_searched(corpus: Path, vectors: tuple[Embeddings, Embeddings], out: Path) -> None:
    """Write the rows to search, int64: `out/src.npy` and `out/tgt.npy`; neither empty sentences nor later copies, nor
    those with the vector of another.

    `vectors` are those of all rows of the corpus. Raises InputError for another number of them, and for a side without a
    sentence.
    """
    with atomic(out) as folder:
        folder.mkdir()
        for side, of_side in zip(SIDES, vectors, strict=True):
            text = bitext.read_side(corpus, side)
            full = np.array([row for row, line in enumerate(text) if not is_empty(line or "")], np.int64)
            if not len(full):
                raise InputError(f"has no {side} text", corpus, remedy="both sides need at least one sentence")
            if len(text) != len(of_side):
                what = f"{len(of_side):,} vectors for {len(text):,} rows of {corpus}"
                raise InputError(what, of_side.name, remedy="encode again")
            texts = full[first_copies(text[row] for row in full.tolist())]
            rows = texts[distinct(of_side.select(texts)).first]
            arrays.save(folder / f"{side}.npy", rows)
            empty, copies, alike = len(text) - len(full), len(full) - len(texts), len(texts) - len(rows)
            log(
                f"{side}: {len(text):,} rows, {empty:,} empty, {copies:,} duplicate, {alike:,} alike to the encoder, "
                f"{len(rows):,} searched"
            )


def searched(folder: Path) -> list[NDArray[np.int64]]:
    """The rows that `write_searched` wrote, of both sides."""
    return [arrays.load(folder / f"{side}.npy", "make it again", np.int64, ["rows"]) for side in SIDES]


def search(
    vectors: tuple[Embeddings, Embeddings],
    rows: list[NDArray[np.int64]],
    blocks: tuple[Block, Block],
    out: Path,
    *,
    margin: str,
    k: int,
    index: str | None = None,
    **settings: Any,
) -> None:
    """Write the neighbours in a block of sources and a block of targets: a folder as of `neighbours.save`.

    `vectors` are those of all rows of the corpus; ids count the searched rows. `index`: of faiss, for an approximate
    search. Raises InputError for fewer vectors than rows, and as the search does.
    """
    metric, _ = metric_and_margin(margin)
    for side, taken in zip(vectors, rows, strict=True):
        if len(side) <= taken[-1]:
            raise InputError(
                f"there are {len(side):,} vectors, but row {taken[-1] + 1:,} is to be searched",
                side.name,
                remedy="encode again",
            )
    ranges = [block.rows(len(taken)) for block, taken in zip(blocks, rows, strict=True)]
    src, tgt = (side.select(taken[part]) for side, taken, part in zip(vectors, rows, ranges, strict=True))
    both, _ = neighbours_of(src, tgt, k, index, metric=metric, **settings)
    save(out, both, metric, k, ranges[0], ranges[1])


def mine(
    corpus: Path,
    rows: list[NDArray[np.int64]],
    folder: Path,
    spec: dict[str, Any],
    languages: tuple[str, str],
    out: Path,
) -> None:
    """Write the pairs out of joined neighbours (see `formats.mined_pairs`), and their counts as `<name>.json`.

    spec: `margin`, `retrieval` and perhaps `threshold`. Raises InputError for neighbours of another number of rows.
    """
    _, rule = metric_and_margin(spec["margin"])
    check_strategy(spec["retrieval"])
    both, _ = load(folder)
    if [*map(len, both)] != [*map(len, rows)]:
        raise InputError("has neighbours of other rows than are searched", folder, remedy="search again")
    mined, counts = mine_pairs(both, rule, spec["retrieval"], spec.get("threshold"))
    texts = [_sentences(corpus, side, taken) for side, taken in zip(SIDES, rows, strict=True)]
    mined_pairs.write(out, mined, *texts, languages=languages)
    write_json(out.with_name(f"{out.name.split('.')[0]}.json"), counts | {"quantiles": quantiles(mined.scores)})
    log(f"mined {counts['pairs']:,} pairs of {len(rows[0]):,} and {len(rows[1]):,} sentences")


def _sentences(corpus: Path, side: str, rows: NDArray[np.int64]) -> Sentences:
    """The searched sentences; the id of each is that of its row in the corpus."""
    text = bitext.read_side(corpus, side)
    return Sentences([str(row) for row in rows.tolist()], [text[row] for row in rows.tolist()], str(corpus))
