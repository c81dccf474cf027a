"""The similarity of phrases as a feature of rules: zhang2016 sections 5 and 6.3.

Each pair of phrases is scored once, whatever the number of rules that have it. The feature is the similarity of section
6.3: minus half the squared distance of the vectors (eq. 13). For a bag-of-words autoencoder it is minus the
cross-entropy of what it rebuilds (section 6.1). MERT finds its weight.

Where the paper is silent:

- The phrases of a rule with gaps are not defined. Here they are its words without the gaps, in their order.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import setup
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.encoders import load
from bitextbench.encoders.models.bow_autoencoder import Model as BagOfWords
from bitextbench.encoders.pairs import distances, ids, rebuilt
from bitextbench.smt import grammar
from bitextbench.smt.grammar import FEATURE
from bitextbench.smt.words import unescaped


def add(
    path: Path, model: Path, pieces: Path, out: Path, *, lowercase: bool, threads: int = 1, device: str = "cpu"
) -> None:
    """Write a grammar with the feature `similarity` behind the others.

    `pieces`: the text model of the encoder. Raises InputError for a grammar that has the feature, and for a similarity
    that is no number.
    """
    features, rules = grammar.read(path)
    if FEATURE in features:
        raise InputError(f"has the feature {FEATURE} already", path, remedy="name the grammar that it was made from")
    lines = list(rules)
    numbers: dict[tuple[str, str], int] = {}
    places = [numbers.setdefault((words(fields[0]), words(fields[1])), len(numbers)) for fields in lines]
    scores = score(list(numbers), model, pieces, lowercase=lowercase, threads=threads, device=device)
    if wrong := np.flatnonzero(~np.isfinite(scores)).tolist():
        pair = " ||| ".join(list(numbers)[wrong[0]])
        raise InputError(
            f"the similarity of {pair} is not a number (of {len(wrong):,} pairs)", model, remedy="train it again"
        )
    log(f"{out}: {len(lines):,} rules, {len(numbers):,} pairs of phrases")
    written = (
        "\t".join([*fields, repr(grammar.rounded(float(scores[place])))])
        for fields, place in zip(lines, places, strict=True)
    )
    grammar.write(out, [*features, FEATURE], written)


def words(side: str) -> str:
    """The words of a side of a rule, as the text has them."""
    return unescaped(" ".join(token for token in side.split() if token not in grammar.GAP_TOKENS))


def score(
    pairs: list[tuple[str, str]], model: Path, pieces: Path, *, lowercase: bool, threads: int = 1, device: str = "cpu"
) -> NDArray[np.float64]:
    """The similarity of each pair of phrases [n]; each phrase is encoded once."""
    where = setup(threads, device)
    encoder = load(model, where)
    sides = list(zip(*pairs, strict=True))
    if isinstance(encoder, BagOfWords):
        sources, targets = ids(encoder, sides, pieces, lowercase)
        return rebuilt(encoder, sources, targets, np.arange(len(pairs)), where).astype(float)
    numbers = [{phrase: number for number, phrase in enumerate(dict.fromkeys(side))} for side in sides]
    sources, targets = ids(encoder, [[*phrases] for phrases in numbers], pieces, lowercase)
    rows = [np.array([places[phrase] for phrase in side]) for places, side in zip(numbers, sides, strict=True)]
    return distances(encoder, sources, targets, rows[0], where, rows[1]).astype(float)
