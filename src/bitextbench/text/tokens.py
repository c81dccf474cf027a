"""Moses tokens of a shard."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from bitextbench.base.files import atomic
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES


def tokenize_shard(shard: Path, languages: tuple[str, str], out: Path) -> None:
    """Normalise and Moses-tokenise both sides of a shard. Columns of `out`: id, src, tgt (tokens joined by spaces, cased).

    Rows stay as they are: the same ids in the same order; a null side stays null.
    """
    from bitextbench.text import moses  # here, as others of this module's users need no 0.8 s of it

    table = bitext.read_shard(shard, ["id", *SIDES])
    columns = {"id": table["id"]}
    for side, language in zip(SIDES, languages, strict=True):
        lines = table[side].to_pylist()
        present = [line for line in lines if line is not None]
        tokens = moses.tokenize(moses.normalize(present, language), language)
        columns[side] = pa.array([None if line is None else next(tokens) for line in lines], pa.string())
    with atomic(out) as part:
        pq.write_table(pa.table(columns), part, row_group_size=bitext.BLOCK, **bitext.WRITING)
