"""Word vectors by an encoder of sentences: each word of a text is encoded as a sentence of its own.

A multilingual encoder gives a word and its translation similar vectors. An encoder that starts from them (`vectors` in
the configuration) needs minutes of training to find most translations. One that starts from random numbers needs days.
No paper starts so; config/warm.yaml says why it is done here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sentencepiece import SentencePieceProcessor
from threadpoolctl import threadpool_limits

from bitextbench.base.errors import InputError
from bitextbench.base.progress import log, progress
from bitextbench.encoders.interface import SentenceEncoder
from bitextbench.formats.word_vectors import WordVectors, write
from bitextbench.text.bpe import MARK, load_bpe
from bitextbench.text.ngrams import in_order, word_counts


def encode_words(
    shards: Mapping[str, Sequence[Path]],
    encoder: SentenceEncoder,
    outs: Mapping[str, Path],
    *,
    dimension: int | None = None,
    min_count: int = 2,
    lowercase: bool = True,
    pieces: Path | None = None,
) -> dict[str, int]:
    """Write the vectors of the words of token shards, by side (.vec): most frequent first, ties in alphabetical order.

    With `pieces`, a BPE model, its pieces take the place of words: each is encoded without its mark of a word's start.
    Words that occur fewer than `min_count` times have none. `dimension`: of the vectors, at most that of the encoder
    (without it, all): the main components of the words of all sides. Returns the numbers of words. Raises InputError
    where no word is frequent enough, for a larger dimension, and as the encoder does.
    """
    dimension = encoder.dimension if dimension is None else dimension
    if dimension > encoder.dimension:
        what = f"dimension: {dimension:,} is more than the {encoder.dimension:,} of the encoder"
        raise InputError(what, encoder.name, remedy="choose a smaller one")
    bpe = load_bpe(pieces) if pieces else None
    words = {side: frequent(paths, side, min_count, lowercase, bpe) for side, paths in shards.items()}
    vectors = {side: encoded(encoder, unmarked(of_side) if bpe else of_side) for side, of_side in words.items()}
    if dimension < encoder.dimension:
        with threadpool_limits(1):  # the last bit of a product of BLAS depends on the number of threads
            basis = components(np.concatenate([*vectors.values()]), dimension)
            vectors = {side: rows @ basis for side, rows in vectors.items()}
    for side, out in outs.items():
        write(WordVectors(words[side], vectors[side]), out)
    return {side: len(of_side) for side, of_side in words.items()}


def frequent(
    shards: Sequence[Path], side: str, least: int, lowercase: bool, bpe: SentencePieceProcessor | None
) -> list[str]:
    """The words of a side, or its pieces, that appear `least` times or more. Raises InputError where there are none."""
    counts = word_counts(shards, [side], lowercase=lowercase)
    if bpe is not None:
        counts = piece_counts(counts, bpe)
    words = [word for word, count in counts.items() if count >= least]
    unit = "piece" if bpe is not None else "word"
    if not words:
        what = f"no {unit} of {side} appears {least:,} times"
        raise InputError(what, shards[0].parent, remedy="give it more text, or a lower min_count")
    log(f"{len(words):,} of {len(counts):,} {unit}s of {side} appear {least:,} times or more")
    return words


def piece_counts(words: Mapping[str, int], bpe: SentencePieceProcessor) -> Counter[str]:
    """How often each piece appears, given how often each word does: a piece lies within one word."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for piece in bpe.encode(word, out_type=str):
            counts[piece] += count
    return in_order(counts)


def unmarked(pieces: list[str]) -> list[str]:
    """The text of pieces; that of the mark alone is the mark."""
    return [piece.removeprefix(MARK) or piece for piece in pieces]


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
