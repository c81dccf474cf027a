"""Which language a line is in, and what its words are."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.errors import InputError
from bitextbench.files import existing

UNSPACED = {"zh", "ja", "th", "lo", "my", "km"}  # written without spaces: a character counts as a word
BLOCK = 20_000  # lines identified at once: about 100 MB for lines of 150 bytes
UNKNOWN = ""  # the answer where a line has nothing to judge by (digits, signs)


def words(text: str, language: str) -> list[str]:
    """The tokens of the pre-filter and the noise maker: between white space, or characters of an unspaced language."""
    return [*"".join(text.split())] if language in UNSPACED else text.split()


def join(tokens: Iterable[str], language: str) -> str:
    """The inverse of `words`, up to white space."""
    return ("" if language in UNSPACED else " ").join(tokens)


def identify(lines: Sequence[str], languages: Sequence[str], model: str) -> list[str]:
    """The likeliest of `languages` (ISO 639-1 codes) for each line, UNKNOWN where the model finds nothing to go by.

    `model` is "py3langid" (naive Bayes, Lui and Baldwin 2012; its model comes with the package) or the path of a
    fastText model such as lid.176.bin (Joulin et al. 2017). A line's answer does not depend on the other lines.

    Raises InputError for a language that the model does not know and for a missing model.
    """
    identifier = _identifier(model, tuple(sorted(set(languages))))
    return [code for first in range(0, len(lines), BLOCK) for code in identifier(lines[first : first + BLOCK])]


@cache
def _identifier(model: str, languages: tuple[str, ...]) -> Callable[[Sequence[str]], list[str]]:
    """A model serves many batches: keep it."""
    if model == "py3langid":
        return NaiveBayes(languages).identify
    import fasttext

    loaded = fasttext.load_model(str(existing(model)))
    _check(languages, {label.removeprefix("__label__") for label in loaded.get_labels()}, model)
    return partial(_fasttext, loaded, frozenset(languages))


def _fasttext(model: Any, languages: frozenset[str], lines: Sequence[str]) -> list[str]:
    """fastText's own `predict` fails on numpy 2; the method that it wraps does not. k = -1 asks for every label."""
    ranked = (model.f.predict(line.replace("\n", " ") + "\n", -1, 0.0, "strict") for line in lines)
    codes = ((label.removeprefix("__label__") for _, label in labels) for labels in ranked)
    return [next((code for code in line if code in languages), UNKNOWN) for line in codes]


def _check(languages: Iterable[str], known: Iterable[str], model: str) -> None:
    if unknown := set(languages) - set(known):
        raise InputError(
            f"the model does not know the language {', '.join(sorted(unknown))}",
            model,
            remedy=f"it knows {', '.join(sorted(known))}",
        )


@cache
def _py3langid() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)


class NaiveBayes:
    """py3langid's model, run over many lines at once: the same answers as its `classify`, about eight times as fast.

    An automaton reads the UTF-8 bytes and reports byte n-grams (features) as it meets them; a line's score for a
    language is its prior plus the sum of log(1 + count) times the feature's weight. Here one step of the automaton is
    one look-up for all lines of a block.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        model = _py3langid()
        _check(languages, model.labels, "py3langid")
        columns = [
            (i, code) for i, code in enumerate(model.nb_classes) if code in languages
        ]  # srl and sr are both "sr"
        self.codes = [code for _, code in columns]
        self.weights = np.asarray(model.nb_ptc)[:, [i for i, _ in columns]].T.astype(
            np.float32, order="C"
        )  # [columns, features]
        self.prior = np.asarray(model.nb_pc)[[i for i, _ in columns]].astype(np.float32)
        self.next = np.asarray(model.tk_nextmove, dtype=np.int32)  # [rows * 256] states
        self.row = np.asarray(model.tk_row, dtype=np.int32) << 8  # [states] where a state's row of `next` begins
        self.feature = np.asarray(model.tk_output, dtype=np.int32)  # [states] the feature found on arrival, or -1

    def identify(self, lines: Sequence[str]) -> list[str]:
        features = self.weights.shape[1]
        met_line, met_feature = self._features(lines)
        keys, counts = np.unique(met_line * features + met_feature, return_counts=True)
        line, feature = np.divmod(keys, features)
        starts = np.flatnonzero(np.diff(line, prepend=-1))  # keys are sorted by line
        heard = line[starts]
        scores = np.tile(self.prior[:, None], len(heard))  # [columns, lines with any feature]
        if len(heard):
            weight = np.log1p(counts.astype(np.float32))
            for row, column in zip(scores, self.weights, strict=True):
                row += np.add.reduceat(weight * column[feature], starts)
        codes = np.full(len(lines), UNKNOWN, object)
        codes[heard] = np.array(self.codes, object)[scores.argmax(axis=0)]
        return codes.tolist()

    def _features(self, lines: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The line and the feature of every feature met, in no particular order."""
        text = pc.utf8_normalize(
            pa.array([line.lower() if line.isupper() else line for line in lines], pa.large_string()), form="NFC"
        )
        ends = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(lines) + 1]
        data = np.frombuffer(text.buffers()[2] or b"", np.uint8)
        longest_first = np.argsort(ends[:-1] - ends[1:], kind="stable")
        begin, length = ends[:-1][longest_first], np.diff(ends)[longest_first]
        state = np.zeros(len(lines), np.int64)
        met: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        alive = len(lines)
        for step in range(length[0] if len(lines) else 0):
            alive = int(np.searchsorted(-length[:alive], -step))  # lines longer than `step` bytes
            state = self.next[self.row[state[:alive]] + data[begin[:alive] + step]]
            feature = self.feature[state]
            hit = np.flatnonzero(feature >= 0)
            met.append((longest_first[hit], feature[hit]))
        empty = np.empty(0, np.int64)
        return np.concatenate([empty, *(m[0] for m in met)]), np.concatenate([empty, *(m[1] for m in met)])
