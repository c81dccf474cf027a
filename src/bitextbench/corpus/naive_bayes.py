"""py3langid's model (naive Bayes on byte n-grams, Lui and Baldwin 2012), over many lines at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bitextbench.base.compiled import compiled
from bitextbench.corpus.byte_lines import Lines
from bitextbench.corpus.words import UNKNOWN

LINES = 16  # lines that are read in turn
COUNTS = 64  # of a feature in a line, for which logarithms are kept


class NaiveBayes:
    """The same results as py3langid's `classify` among some languages; UNKNOWN for a line without features.

    An automaton reads the UTF-8 bytes and finds byte n-grams (features). The score of a language for a line is its
    prior plus the sum, over features, of log(1 + count) times the weight of the feature.
    """

    def __init__(self, model: Any, languages: Sequence[str]) -> None:
        columns = [i for i, code in enumerate(model.nb_classes) if code in languages]  # srl and sr are both "sr"
        self.codes = [*(model.nb_classes[i] for i in columns), UNKNOWN]
        self.weights = np.asarray(model.nb_ptc, np.float32)[:, columns].copy()  # [features, columns]
        self.prior = np.asarray(model.nb_pc, np.float64)[columns]
        self.next = np.asarray(model.tk_nextmove, np.int32)  # [rows * 256] states
        rows, features = np.asarray(model.tk_row, np.int32) << 8, np.asarray(model.tk_output, np.int32)
        # [states, 2] the beginning of its row in `next`; the feature that ends in it, or -1
        self.states = np.stack([rows, features], axis=1)

    def identify(self, column: pa.Array) -> list[str]:
        """The language of each line, none of them null."""
        lines = Lines(column, "")
        if (doubtful := _doubtful(lines.text, lines.bounds)).any():
            mask = pa.array(doubtful)
            some = [line.lower() if line.isupper() else line for line in column.filter(mask).to_pylist()]
            composed = pc.utf8_normalize(pa.array(some, column.type), form="NFC")
            lines = Lines(pc.replace_with_mask(column, mask, composed), "")
        best = _likeliest(lines.text, lines.bounds, self.next, self.states, self.weights, self.prior)
        return [self.codes[i] for i in best.tolist()]


@compiled
def _doubtful(data, bounds):
    """The lines that may be in capitals, as they have no a to z, or may not be in NFC, as they have U+0300 or more."""
    doubtful = np.empty(len(bounds) - 1, np.bool_)
    for i in range(len(doubtful)):
        small, high = np.uint8(0), np.uint8(0)
        for at in range(bounds[i], bounds[i + 1]):
            small |= np.uint8(np.uint8(data[at] - 97) < 26)
            high = max(high, data[at])
        doubtful[i] = small == 0 or high >= 0xCC
    return doubtful


@compiled
def _likeliest(data, bounds, following, states, weights, prior):
    """The column of the best language for each line, int64 [n]; -1 for none.

    Each step of the automaton waits for memory, so that LINES lines take steps in turn.
    """
    best, scores, counts = np.full(len(bounds) - 1, -1), prior.copy(), np.zeros(len(weights), np.int64)
    logs = np.array([np.log1p(count) for count in range(COUNTS)])
    row, hits = np.empty(LINES, np.int64), np.empty(LINES, np.int64)
    features = np.empty((LINES, max(np.diff(bounds)) + 1), np.int64)
    for first in range(0, len(best), LINES):
        lines = min(LINES, len(best) - first)
        row[:], hits[:] = states[0, 0], 0
        for step in range(max(np.diff(bounds[first : first + lines + 1]))):
            for k in range(lines):
                at = bounds[first + k] + step
                if at < bounds[first + k + 1]:
                    state = following[row[k] + data[at]]
                    row[k], feature = states[state]
                    features[k, hits[k]] = feature
                    hits[k] += feature >= 0
        for k in range(lines):
            for f in features[k, : hits[k]]:
                counts[f] += 1
            scores[:] = prior
            for f in features[k, : hits[k]]:
                if counts[f]:
                    weight = logs[counts[f]] if counts[f] < COUNTS else np.log1p(counts[f])
                    counts[f] = 0
                    for column in range(len(scores)):
                        scores[column] += weight * weights[f, column]
            if hits[k]:
                best[first + k] = scores.argmax()
    return best
