"""py3langid's model (naive Bayes on byte n-grams, Lui and Baldwin 2012), over many lines at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bitextbench.base.compiled import compiled
from bitextbench.corpus.words import UNKNOWN

LINES = 16  # lines that are read in turn


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
        self.row = np.asarray(model.tk_row, np.int32) << 8  # [states] the beginning of each state's row in `next`
        self.feature = np.asarray(model.tk_output, np.int32)  # [states] the feature that ends in this state, or -1

    def identify(self, lines: Sequence[str]) -> list[str]:
        """The language of each line."""
        lower = [line.lower() if line.isupper() else line for line in lines]
        text = pc.utf8_normalize(pa.array(lower, pa.large_string()), form="NFC")
        bounds = np.frombuffer(text.buffers()[1] or bytes(8), np.int64)[: len(lines) + 1]
        data = np.frombuffer(text.buffers()[2] or b"", np.uint8)
        return [
            self.codes[i] for i in _likeliest(data, bounds, self.next, self.row, self.feature, self.weights, self.prior)
        ]


@compiled
def _likeliest(data, bounds, following, row, feature, weights, prior):
    """The column of the best language for each line, int64 [n]; -1 for none.

    Each step of the automaton waits for memory, so that LINES lines take steps in turn.
    """
    best, scores, counts = np.full(len(bounds) - 1, -1), prior.copy(), np.zeros(len(weights), np.int64)
    state, hits = np.empty(LINES, np.int64), np.empty(LINES, np.int64)
    features = np.empty((LINES, max(np.diff(bounds)) + 1), np.int64)
    for first in range(0, len(best), LINES):
        lines = min(LINES, len(best) - first)
        state[:] = hits[:] = 0
        for step in range(max(np.diff(bounds[first : first + lines + 1]))):
            for k in range(lines):
                at = bounds[first + k] + step
                if at < bounds[first + k + 1]:
                    state[k] = following[row[state[k]] + data[at]]
                    features[k, hits[k]] = feature[state[k]]
                    hits[k] += feature[state[k]] >= 0
        for k in range(lines):
            for f in features[k, : hits[k]]:
                counts[f] += 1
            scores[:] = prior
            for f in features[k, : hits[k]]:
                if counts[f]:
                    weight, counts[f] = np.log1p(counts[f]), 0
                    for column in range(len(scores)):
                        scores[column] += weight * weights[f, column]
            if hits[k]:
                best[first + k] = scores.argmax()
    return best
