"""The retrieval quality of an encoder, and its cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json
from bitextbench.formats import sentences, vectors
from bitextbench.formats.metrics import checked_fields
from bitextbench.formats.vectors import by_probability

COSTS = ("updates", "parameters", "dimension", "cpu_seconds")


def measure(
    encoder: str, test: str, training: Path, src: Sequence[Path], tgt: Sequence[Path], texts: Path, **search: Any
) -> dict[str, Any]:
    """The error rates and P@1 of one trained model on one test set, with the cost of its training.

    `training`: the report of the trainer; `src`, `tgt`: vectors of the shards, whose rows are pairs; `texts`: the
    corpus, which shows copies; `search`: as in `neighbours`. Raises InputError for files that do not fit together.
    """
    from bitextbench import neighbours
    from bitextbench.evaluation import alignment, reconstruction

    kinds = {"seed": int, "metric": str, **dict.fromkeys(COSTS, (int, float))}
    facts = checked_fields(read_json(training), kinds, training)
    pair = vectors.read_aligned(src, tgt)
    forward, backward = neighbours.search(*by_probability(*pair, facts["metric"]), 1, metric=facts["metric"], **search)
    signature = f"similarity:{facts['metric']}"
    nearest = {"forward": (forward.ids, "tgt"), "backward": (backward.ids, "src")}
    error = alignment.error_rates(forward.ids[:, 0], backward.ids[:, 0], signature=signature)
    p1 = {}
    for name, (ids, side) in nearest.items():
        lines = sentences.read(texts, side).text
        if len(lines) != len(ids):
            raise InputError(f"{len(lines):,} sentences for {len(ids):,} vectors", texts, remedy="encode this corpus")
        p1[name] = reconstruction.precision_at(ids, lines, (1,), signature=signature)["by_text"]["P@1"]
    return {"encoder": encoder, "test": test, "candidates": len(forward.ids), **facts, "error": error, "p1": p1}
