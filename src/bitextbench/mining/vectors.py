"""The vectors of two texts that are mined: from files, which must be those of the texts, or by an encoder."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.arrays import source_of
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.formats import sentences
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.repair import is_empty
from bitextbench.formats.sentences import Sentences
from bitextbench.formats.vectors import Embeddings, read_pair
from bitextbench.mining.checks import check_language
from bitextbench.mining.searched import check_lengths

USUAL = {  # the calibrations that `encoders.muse` and `encoders.e5` have: those import torch
    "muse": "--margin distance --threshold 0.1338",
    "e5-small": "--margin ratio --threshold 1.0258",
}
Rows = tuple[NDArray[np.int64], ...]
Vectors = Callable[[tuple[Sentences, ...], Rows], tuple[tuple[Embeddings, ...], int]]
"""A function of both texts and the places of the sentences to search, which gives their vectors and how many sentences were cut."""

if TYPE_CHECKING:
    from bitextbench.encoders.interface import SentenceEncoder  # it imports torch


def unknown_encoder(margin: str | None) -> None:
    """Say that vectors from files have the margin ratio and no threshold, unless a `margin` is given."""
    if margin is None:
        log(
            "mine: the encoder of these vectors is unknown, so the margin is ratio and there is no default of the "
            f"threshold; for vectors by {', by '.join(f'{name} give {options}' for name, options in USUAL.items())}"
        )


def from_files(src: Path, tgt: Path) -> Vectors:
    """Vectors of all sentences of both texts, from `.npy` files, which are opened and checked now.

    Raises InputError as `read_pair` does, and later for numbers that differ from those of the texts, and for vectors
    that `bitextbench encode` made of another text.
    """
    both = read_pair(src, tgt)

    def taken(texts: tuple[Sentences, ...], rows: Rows) -> tuple[tuple[Embeddings, ...], int]:
        if [*map(len, texts)] == [*map(len, reversed(both))] != [*map(len, both)]:
            what = f"{len(both[0]):,} vectors, as many as the sentences of the other text"
            raise InputError(what, src, remedy="swap --src-emb and --tgt-emb")
        check_sources(texts, both)
        for text, vectors in zip(texts, both, strict=True):
            check_lengths(text, vectors)
            check_copies(text, vectors)
        return tuple(vectors.select(places) for vectors, places in zip(both, rows, strict=True)), 0

    return taken


def from_encoder(encoder: "SentenceEncoder", languages: Sequence[str | None], folder: Path) -> Vectors:
    """Vectors by an encoder, kept in the cache `folder`. Raises InputError for languages that it does not know."""
    from bitextbench.encoders import cache

    sides = [encoder.side(language, usual=side) for language, side in zip(languages, SIDES, strict=True)]

    def encoded(texts: tuple[Sentences, ...], rows: Rows) -> tuple[tuple[Embeddings, ...], int]:
        for text, language in zip(texts, languages, strict=True):
            if language is None:  # of others `side` has warned
                check_language(text, encoder)
        plain = [
            cache.PlainText(text.name, [text.text[place] for place in places.tolist()], language, side)
            for text, places, language, side in zip(texts, rows, languages, sides, strict=True)
        ]
        encoded = cache.encode(encoder, plain, folder)
        return tuple(one.vectors for one in encoded), sum(one.cut for one in encoded)

    return encoded


def check_sources(texts: Sequence[Sentences], both: Sequence[Embeddings]) -> None:
    """Raises InputError for vectors that were made of another text, where their file says of which; most do not."""
    made_of = [source_of(vectors.name, vectors.array) for vectors in both]  # type: ignore[arg-type]
    for text, other, vectors, source in zip(texts, texts[::-1], both, made_of, strict=True):
        if source == other.digest != text.digest:
            remedy = "swap --src-emb and --tgt-emb"
            raise InputError(f"these are the vectors of {other.name}, not of {text.name}", vectors.name, remedy=remedy)
    for text, vectors, source in zip(texts, both, made_of, strict=True):
        if source and source != text.digest and len(text) == len(vectors):
            what = f"these are not the vectors of {text.name}: the text differs from the one that was encoded"
            raise InputError(what, vectors.name, remedy="encode it again")


def check_copies(text: Sentences, vectors: Embeddings, most: int = 1000) -> None:
    """Warn where copies of a sentence have different vectors: the vectors may be those of another text."""
    first: dict[str, int] = {}
    copies = ((first.setdefault(line, place), place) for place, line in enumerate(text.text) if not is_empty(line))
    pairs = np.array(list(itertools.islice((pair for pair in copies if pair[0] != pair[1]), most)), np.int64)
    if not len(pairs):
        return
    one, other = vectors.take(pairs[:, 0]), vectors.take(pairs[:, 1])
    differ = ~np.isclose(one, other, rtol=0.05, atol=0.05 * np.abs(one).max()).all(axis=1)
    if 2 * differ.sum() > len(pairs):
        a, b = pairs[differ][0] + 1
        log(
            f"warning: {vectors.name}: {differ.sum():,} of {len(pairs):,} repeated sentences have different vectors "
            f"(such as rows {a:,} and {b:,}); check that these are the vectors of {text.name}"
        )


def lines_of(path: Path | None, side: str, form: tuple[str, str], vectors: Embeddings) -> Any:
    """The lines of a side, one for each vector; None without a text."""
    if path is None:
        return None
    text = sentences.read(path, side, form[side == "tgt"])
    check_lengths(text, vectors)
    return text.text
