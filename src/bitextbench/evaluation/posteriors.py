"""Alignment recovery by translation models: the row "NMT de-en + en-de" of kim2019 table 1, section 4.1.

Where the paper is silent:

- How the two models are combined: here a pair has the mean of both scores, in either direction of retrieval.
- "Length-normalized": the log-probability is divided by the number of predicted pieces, with the end of the sentence.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import setup
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.evaluation.alignment import recover
from bitextbench.formats.bitext import SIDES, order_of_ids
from bitextbench.formats.ids import Ragged
from bitextbench.nmt.ids import load_sides, to_fairseq
from bitextbench.nmt.likelihood_models import SIDES_OF, load, log_probabilities

MODELS = ("forward", "backward")
AT_ONCE = 1 << 18  # pairs whose ids are held in memory


def align(
    stems: Sequence[Path], models: Mapping[str, Path], *, batch_tokens: int = 16384, device: str = "cpu"
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`alignment.recover` over the sentences of id shards; row i of both sides is a pair.

    The score of a pair (f, e) is the mean of ln p(e|f) / |e| and ln p(f|e) / |f|, "length-normalized posterior scores";
    the end of the sentence counts as a token. All n x n pairs are scored, which is slow. `models`: those of
    `likelihood_models.train`, by name. A sentence that is empty or longer than the models take is paired with none, and
    counted in the log. Raises InputError for a missing or damaged model, and for an id outside its vocabulary.
    """
    if missing := [name for name in MODELS if name not in models]:
        raise InputError(f"no model {' and '.join(missing)}", remedy=f"give {' and '.join(MODELS)}")
    where = setup(1, device)
    columns = zip(*map(load_sides, stems), strict=True)
    sides = {side: by_id(column) for side, column in zip(SIDES, columns, strict=True)}
    loaded = {name: load(name, models[name], where) for name in MODELS}
    longest = min(longest for _, _, longest in loaded.values())
    kept = {side: (column.lengths > 0) & (column.lengths <= longest) for side, column in sides.items()}
    for side, mask in kept.items():
        if left := int((~mask).sum()):
            log(f"posteriors: {left:,} sentences of {side} are empty or have more than {longest:,} pieces: left out")

    n = len(sides["src"])
    ids = {
        name: [to_fairseq(sides[str(side)], vocab_size, f"{stems[0]}.{side}") for side in SIDES_OF[name]]
        for name, (_, vocab_size, _) in loaded.items()
    }

    def score(rows: slice) -> NDArray[np.float32]:
        left, right = (index.ravel() for index in np.meshgrid(np.arange(n)[rows], np.arange(n), indexing="ij"))
        both = np.flatnonzero(kept["src"][left] & kept["tgt"][right])
        index = {"src": left[both], "tgt": right[both]}
        mean = np.zeros(len(both), np.float64)
        for name, (model, _, _) in loaded.items():
            given, predicted = (
                column.take(index[str(side)]) for side, column in zip(SIDES_OF[name], ids[name], strict=True)
            )
            what = f"posteriors {name}, rows {rows.start + 1:,} to {rows.stop:,} of {n:,}"
            scores = log_probabilities(model, given, predicted, batch_tokens=batch_tokens, what=what)
            mean += scores / predicted.lengths / len(loaded)
        matrix = np.full(len(left), -np.inf, np.float32)
        matrix[both] = mean
        return matrix.reshape(-1, n)

    return recover(score, n, AT_ONCE)


def by_id(shards: Sequence[Ragged]) -> Ragged:
    """The sentences of one side of a corpus, in the order of ids."""
    return Ragged.concatenate(shards).take(order_of_ids([*map(len, shards)]))
