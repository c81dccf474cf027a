"""Word vectors by an encoder of sentences: each word of a text is encoded as a sentence of its own.

A multilingual encoder gives a word and its translation similar vectors. An encoder that starts from them (`vectors` in
the configuration) needs minutes of training to find most translations. One that starts from random numbers needs days.
No paper starts so; config/warm.yaml says why it is done here.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bitextbench.base.errors import InputError
from bitextbench.base.progress import log, progress
from bitextbench.encoders.interface import SentenceEncoder
from bitextbench.formats.word_vectors import WordVectors, write
from bitextbench.text.ngrams import word_counts


def encode_words(
    shards: Mapping[str, Sequence[Path]],
    encoder: SentenceEncoder,
    outs: Mapping[str, Path],
    *,
    dimension: int | None = None,
    min_count: int = 2,
    lowercase: bool = True,
) -> dict[str, int]:
    """Write the vectors of the words of token shards, by side (.vec): most frequent first, ties in alphabetical order.

    Words that occur fewer than `min_count` times have none. `dimension`: of the vectors, at most that of the encoder
    (without it, all): the main components of the words of all sides. Returns the numbers of words. Raises InputError
    where no word is frequent enough, for a larger dimension, and as the encoder does.
    """
    dimension = encoder.dimension if dimension is None else dimension
    if dimension > encoder.dimension:
        what = f"dimension: {dimension:,} is more than the {encoder.dimension:,} of the encoder"
        raise InputError(what, encoder.name, remedy="choose a smaller one")
    words = {side: frequent(paths, side, min_count, lowercase) for side, paths in shards.items()}
    vectors = {side: encoded(encoder, of_side) for side, of_side in words.items()}
    if dimension < encoder.dimension:
        with threadpool_limits(1):  # the last bit of a product of BLAS depends on the number of threads
            basis = components(np.concatenate([*vectors.values()]), dimension)
            vectors = {side: rows @ basis for side, rows in vectors.items()}
    for side, out in outs.items():
        write(WordVectors(words[side], vectors[side]), out)
    return {side: len(of_side) for side, of_side in words.items()}


def frequent(shards: Sequence[Path], side: str, least: int, lowercase: bool) -> list[str]:
    """The words of a side that appear `least` times or more. Raises InputError where there are none."""
    counts = word_counts(shards, [side], lowercase=lowercase)
    words = [word for word, count in counts.items() if count >= least]
    if not words:
        what = f"no word of {side} appears {least:,} times"
        raise InputError(what, shards[0].parent, remedy="give it more text, or a lower min_count")
    log(f"{len(words):,} of {len(counts):,} words of {side} appear {least:,} times or more")
    return words


def encoded(encoder: SentenceEncoder, words: list[str]) -> NDArray[np.float32]:
    """The vectors [n, d] of some words."""
    vectors = np.zeros((len(words), encoder.dimension), np.float32)
    done = (None for part in encoder.encode(words, None, encoder.side(None), vectors) for _ in range(part.rows))
    for _ in progress(done, "encode words", total=len(words), unit="words"):
        pass
    return vectors


def components(rows: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """The `count` orthonormal directions [d, count] in which some rows [n, d] lie the most, the mean included."""
    _, directions = np.linalg.eigh(rows.T.astype(np.float64) @ rows)
    return directions[:, ::-1][:, :count].astype(np.float32)
