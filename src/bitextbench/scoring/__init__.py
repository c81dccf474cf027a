"""Similarities of given pairs, by name: one raw float a pair, higher is better (logits, never saturated probabilities).

A similarity is a module of `similarities`, or of a folder of plugins (`base.members`), with

    score(pairs: Pairs, model: Path | None) -> float32 [n]

which gives one value for each pair, in their order. It has `seed` as a third argument where it draws. There may be
`read(path)`, which checks what `fit` wrote. What it declares, as literals in capitals, tells the workflow what to give
it:

| constant | meaning |
|---|---|
| NEEDS | what it scores by, of: |
| | "vectors": `pairs.src` and `pairs.tgt`, by the `encoder` of its method |
| | "likelihoods": `pairs.likelihoods`, of the `likelihoods` of its method |
| | "tokens": `pairs.tokens` |
| | "labels": `pairs.labels` |
| | "encoder": the encoder's own model is its `model`, unless it is fitted |
| | "dataset": scores that were published; see `similarities.published` |
| FIT | what its `model` is fitted on, if it has one: |
| | "vectors": `fit(src, tgt, labels, spec, seed, out)` on `positives` and `negatives` of its method, float32 [n, d] |
| | "tokens": `fit(bitext, positives, spec, seed, out)` on those corpora of its method, `Text` |
| | "neighbourhoods": `fit(src, tgt, spec, out, **settings)` on the very corpus that is scored, `Embeddings` |
| | "scores": `tune(model, src, tgt, scores, spec, seed, out)`, where its method has `tuned`, its `spec`: an encoder's model, fine-tuned |
| OPTIONS | further keys of its method, for the `spec` of `fit`: the JSON schema of each. `score` gets no `spec` |
| LOGITS | True where the logistic function makes probabilities of its scores |

All are optional: a module with `score` alone needs nothing but ids.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.base import members
from bitextbench.base.errors import InputError, near
from bitextbench.formats.likelihoods import Likelihoods

Vectors = NDArray[np.float32]

NEEDS = ("vectors", "likelihoods", "tokens", "labels", "encoder", "dataset")
FITS = ("", "vectors", "tokens", "neighbourhoods", "scores")


class Text(NamedTuple):
    """Tokenised lines [n] of both sides, joined by spaces; null is empty."""

    src: pa.ChunkedArray
    tgt: pa.ChunkedArray


@dataclass(frozen=True)
class Pairs:
    """`ids` int64 [n]; `src`, `tgt` float32 [n, d], where row i of both is pair i (None for what needs no vectors).

    `likelihoods` [n] for what compares log-probabilities, `tokens` [n] for what compares words; `labels` [n]: what the
    pairs are known to be, "" where nothing is.
    """

    ids: NDArray[np.int64]
    src: Vectors | None = None
    tgt: Vectors | None = None
    likelihoods: Likelihoods | None = None
    tokens: Text | None = None
    labels: Sequence[str] | None = None

    def vectors(self) -> tuple[Vectors, Vectors]:
        """Both sides. Raises InputError when this similarity was given none."""
        if self.src is None or self.tgt is None:
            raise InputError("this similarity compares sentence vectors", remedy="name an `encoder` in its method")
        return self.src, self.tgt

    def of_models(self) -> Likelihoods:
        """The likelihoods. Raises InputError when this similarity was given none."""
        if self.likelihoods is None:
            raise InputError("this similarity combines log-probabilities", remedy="name `likelihoods` in its method")
        return self.likelihoods

    def text(self) -> Text:
        """The tokens. Raises InputError when this similarity was given none."""
        if self.tokens is None:
            raise InputError(
                "this similarity compares words", remedy="give it the tokens; name a `bitext` in its method"
            )
        return self.tokens

    def labelled(self) -> Sequence[str]:
        """The labels. Raises InputError when this similarity was given none."""
        if self.labels is None:
            raise InputError("this similarity looks at labels", remedy="give it a corpus with labels")
        return self.labels


class Declared(NamedTuple):
    """The declarations of a similarity: the constants that the module describes."""

    needs: tuple[str, ...] = ()
    fit: str = ""
    options: Mapping[str, Any] = {}
    logits: bool = False


def declared(name: str) -> Declared:
    """What the similarity `name` declares; nothing of it is executed. Raises InputError for an unknown name, an unknown
    need, and options without a fit.
    """
    return _declared(members.source("similarities", name))


@cache
def _declared(source: Path) -> Declared:
    given = {key.lower(): value for key, value in members.constants(source).items() if key.lower() in Declared._fields}
    declaration = Declared(**given)
    for key, values, known in (("NEEDS", declaration.needs, NEEDS), ("FIT", (declaration.fit,), FITS)):
        if unknown := [value for value in values if value not in known]:
            raise InputError(f"{key} has {unknown[0]!r}", source, remedy=near(str(unknown[0]), filter(None, known)))
    if declaration.options and declaration.fit in ("", "scores"):
        what = f"OPTIONS are read by fit, but {'FIT is scores' if declaration.fit else 'there is no FIT'}"
        raise InputError(what, source, remedy="declare a FIT with a `fit`, or remove OPTIONS")
    return declaration


def similarity(name: str) -> ModuleType:
    """The module of a similarity. Raises InputError for an unknown name."""
    members.source("similarities", name)
    return import_module(f"{__name__}.similarities.{name}")


def scored(name: str, pairs: Pairs, model: Path | None, seed: int = 1) -> NDArray[np.float32]:
    """The scores [n] of pairs by the similarity `name`; `seed` is for one that draws.

    Raises InputError where its module has no `score` of these arguments, or does not give a number for each pair.
    """
    source, module = members.source("similarities", name), similarity(name)
    given: dict[str, Any] = {}
    try:
        asked = inspect.signature(module.score)
        given = {"seed": seed} if "seed" in asked.parameters else {}
        asked.bind(pairs, model, **given)
    except (AttributeError, TypeError):
        raise InputError("has no score(pairs, model)", source, remedy="write a function with these arguments") from None
    scores = np.asarray(module.score(pairs, model, **given))
    if scores.shape != (n := pairs.ids.shape) or scores.dtype.kind not in "fiu":
        what = f"score gave {scores.dtype} {list(scores.shape)} for {n[0]:,} pairs"
        raise InputError(what, source, remedy="return one number for each pair, float32 [n]")
    if len(bad := np.flatnonzero(np.isnan(scores))):
        raise InputError(f"the score of pair {pairs.ids[bad[0]]} is NaN", source, remedy="give each pair a number")
    return scores.astype(np.float32, copy=False)


def checked(scores: NDArray[np.floating], name: str) -> NDArray[np.float32]:
    """The scores as float32. Raises InputError for one that is not finite."""
    if len(bad := np.flatnonzero(~np.isfinite(scores))):
        raise InputError(f"{name} score of pair {bad[0]} is not finite", remedy="look at the vectors of this pair")
    return scores.astype(np.float32)
