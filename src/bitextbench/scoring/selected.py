"""A selection as plain pairs: score, origin (line or id) and both raw sentences. (`select` writes tokens, for
training.)
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json
from bitextbench.formats import bitext, mined_pairs
from bitextbench.formats.scores import scores_by_id


def write_selected(corpus: Path, scores: Sequence[Path], selection: Path, out: Path) -> None:
    """Write the pairs of a corpus that a selection took, in the order of ids (see `mined_pairs.write_blocks`).

    Both ids are the document of the pair, which `doc: line` makes the number of its line; where it has none, its id.
    `selection` is what `select` wrote (selection.json), `scores` a file for each shard. Raises InputError where they
    are of another corpus.
    """
    whole, about = scores_by_id(scores), read_json(selection)
    if len(whole) != about["pool_pairs"]:
        what = f"was made of {about['pool_pairs']:,} pairs, but there are {len(whole):,} scores"
        raise InputError(what, selection, remedy="select again")
    least = np.float32(-np.inf if about["cutoff"] is None else about["cutoff"])

    def blocks() -> Iterator[tuple[Any, ...]]:
        start = 0
        for table in bitext.read_batches(corpus, ["id", "src", "tgt", "doc"]):
            block = whole[start : start + len(table)]
            keep = block >= least
            kept = table.filter(pa.array(keep))
            names = pc.if_else(pc.equal(kept["doc"], ""), pc.cast(kept["id"], pa.string()), kept["doc"])
            yield block[keep], names, names, kept["src"], kept["tgt"]
            start += len(table)

    mined_pairs.write_blocks(out, blocks())
