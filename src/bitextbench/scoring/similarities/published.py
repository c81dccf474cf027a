"""Scores that were published with a data set; encoders that were published are `encoders.published`."""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError, near
from bitextbench.data.registry import entry
from bitextbench.data.unpack import open_place
from bitextbench.formats import bitext
from bitextbench.formats.bitext import PARALLEL
from bitextbench.scoring import Pairs

NEEDS = ("dataset",)


def score(pairs: Pairs, model: Path | None = None) -> NDArray[np.float32]:
    """Raises InputError: these scores are read, by `published`."""
    raise InputError("published scores come with a data set", remedy="take `bitextbench step published-scores`")


def published(shard: Path, data_set: str, column: str, languages: tuple[str, str], raw: Path, out: Path) -> None:
    """Write the published scores of the pairs of a corpus shard to `out`.

    `raw` has the fetched data set, a text of columns between tabs. `column` is a column of numbers, or "label", which
    gives 1 for a good pair and 0 for a bad one: a second annotator. A pair that appears twice has its first score.
    Raises InputError for another kind of data set, an unknown column, and a pair that is not in the data set.
    """
    parser = next((parser for parser in entry(data_set).parsers if parser.name == "tsv"), None)
    if not parser or column not in parser.arguments["columns"]:
        columns = parser.arguments["columns"] if parser else []
        raise InputError(
            f"no column {column!r}",
            data_set,
            remedy=near(column, columns) if columns else "use a data set with published scores",
        )
    columns, labels = parser.arguments["columns"], parser.arguments.get("labels", {})
    places = [columns.index(name) for name in (*languages, column)]
    scores: dict[tuple[str, str], float] = {}
    with open_place(raw, parser.arguments["text"]) as stream:
        for number, line in enumerate(stream, 1):
            src, tgt, value = (line.decode().rstrip("\r\n").split("\t")[place] for place in places)
            score = float(labels.get(value) == PARALLEL) if column == "label" else _number(value, raw, number)
            scores.setdefault((src, tgt), score)
    rows = bitext.read_shard(shard, ["src", "tgt"])
    pairs = list(zip(rows["src"].to_pylist(), rows["tgt"].to_pylist(), strict=True))
    if missing := [row for row, pair in enumerate(pairs, 1) if pair not in scores]:
        raise InputError(f"pair {missing[0]} is not in {data_set}", shard, remedy="name the data set of this corpus")
    arrays.save(out, np.array([scores[pair] for pair in pairs], np.float32))


def _number(text: str, where: Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(f"score {text!r} is not a number", where, line=line, remedy="fetch it again")
    return value
