"""Identifies the language of lines, by py3langid or fastText."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bitextbench.base import names
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.corpus.words import UNKNOWN

BLOCK = 20_000  # lines identified at a time: about 100 MB for lines of 150 bytes
LABEL = "__label__"  # fastText's prefix of a label
SOME = 5  # lines of one language: fewer say little of the language of a text


def identify(lines: Sequence[str] | pa.Array, languages: Sequence[str], model: str) -> list[str]:
    """The likeliest of `languages` (codes as the model has them) for each line; UNKNOWN where no feature of the model occurs. A
    null is empty.

    `model` is "py3langid" (naive Bayes, Lui and Baldwin 2012; its model comes with the package) or the path of a
    fastText model such as lid.176.bin (Joulin et al. 2017). The result for a line does not depend on other lines.

    Raises InputError for a language that the model does not know and for a missing model.
    """
    if unknown := [code for code in languages if code not in known(model)]:
        raise unknown_to(model, unknown)
    identifier = _identifier(model, tuple(sorted(set(languages))))
    column = pc.fill_null(lines if isinstance(lines, pa.Array) else pa.array(lines, pa.large_string()), "")
    return [code for first in range(0, len(column), BLOCK) for code in identifier(column.slice(first, BLOCK))]


def likelier(lines: Iterable[str], code: str, other: str) -> list[bool]:
    """For each line, whether py3langid finds it likelier in the language `code` than in the `other`.

    It is for a few lines: `identify` is quicker for many, but takes seconds to be compiled.
    """
    ranked = (dict(_py3langid().rank(line)) for line in lines)
    return [scores[code] > scores[other] for scores in ranked]


def most_of(lines: Sequence[str]) -> str | None:
    """The language, as py3langid has it, of more than half of some lines and of SOME at least; None if there is none.

    It is for a few lines, as `likelier`.
    """
    (code, count), *_ = Counter(_py3langid().classify(line)[0] for line in lines).most_common(1) or [("", 0)]
    return code if count >= max(SOME, len(lines) // 2 + 1) else None


def unknown_to(model: str, languages: Iterable[str]) -> InputError:
    """The error for languages that a model does not know."""
    what = f"the model does not know the language {', '.join(sorted(languages))}"
    return InputError(what, model, remedy=f"known: {', '.join(sorted(known(model)))}; or leave out the rule `language`")


def known(model: str) -> set[str]:
    """The languages that a model knows."""
    if model == "py3langid":
        return set(_py3langid().labels)
    return {label.removeprefix(LABEL) for label in _fasttext(model).get_labels()}


@cache
def _identifier(model: str, languages: tuple[str, ...]) -> Callable[[pa.Array], list[str]]:
    """The function that identifies lines; cached, as a model serves many batches."""
    if model == "py3langid":
        from bitextbench.corpus.naive_bayes import NaiveBayes  # numba takes 0.4 s

        return NaiveBayes(_py3langid(), languages).identify
    return partial(_likeliest, _fasttext(model), frozenset(languages))


@cache
def _fasttext(path: str) -> Any:
    import fasttext

    return fasttext.load_model(names.utf8(existing(path)))


def _likeliest(model: Any, languages: frozenset[str], lines: pa.Array) -> list[str]:
    """The likeliest language of each line by fastText. Its `predict` fails on numpy 2; `multilinePredict` does not.

    All languages of the model are ranked (k = -1), which is slower, only where the likeliest is none of `languages`.
    """
    texts = [line.replace("\n", " ") + "\n" for line in lines.to_pylist()]

    def ranked(texts: list[str], k: int) -> list[list[str]]:
        predictions = model.f.multilinePredict(texts, k, 0.0, "strict")[0] if texts else []
        return [[label.removeprefix(LABEL) for label in labels] for labels in predictions]

    codes = [(labels or [UNKNOWN])[0] for labels in ranked(texts, 1)]
    others = [i for i, code in enumerate(codes) if code not in languages]
    for i, labels in zip(others, ranked([texts[i] for i in others], -1), strict=True):
        codes[i] = next((code for code in labels if code in languages), UNKNOWN)
    return codes


@cache
def _py3langid() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
