"""An n-gram language model with interpolated modified Kneser-Ney smoothing, written as ARPA: Chen and Goodman 1998,
section 4.1.

Each n-gram is numbered by its context's number and its last word. So one sort of whole numbers an order is enough.

Where the paper is silent:

- zhang2016 section 6.1 has SRILM, 4-grams and the smoothing, and no other setting. The rest is done as KenLM's `lmplz`
  does it (Heafield et al. 2013, section 3).
- No n-gram is pruned. SRILM drops trigrams and longer ones that occur once.
- Unigrams are interpolated with the uniform distribution over the vocabulary with `<unk>`.
- An order whose counts give no discounts has those of `FALLBACK`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.smt.words import Vocabulary, Words, side_lines, write_lines

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
FALLBACK = (0.5, 1.0, 1.5)  # of n-grams that occur once, twice, more often
NEVER = -99.0  # log10 of the probability of BEGIN
DIGITS = 6
Numbers = NDArray[np.int64]


class CountedNgrams(NamedTuple):
    """The n-grams of one length: their contexts (numbers in the order below), last words, suffixes (in the order
    below), and adjusted counts.
    """

    contexts: Numbers
    words: Numbers
    suffixes: Numbers
    counts: Numbers


class Smoothed(NamedTuple):
    """The n-grams of one length [n, length] as words, log10 of their probabilities and of the backoff weights behind
    them.
    """

    grams: Numbers
    probabilities: NDArray[np.float64]
    backoffs: NDArray[np.float64]


def estimate(folders: Sequence[Path], side: str, order: int, out: Path, *, lowercase: bool) -> None:
    """Write the model of one side of tokenised corpora. Raises InputError for a text without words, and for an order
    above the length of all sentences.
    """
    vocabulary = Vocabulary({UNKNOWN: 1, BEGIN: 2, END: 3})
    text = vocabulary.encode(line for folder in folders for line in side_lines(folder, side, lowercase=lowercase))
    if not len(text.ids):
        raise InputError("no words", folders[0], remedy="name a corpus of text in this language")
    levels = smoothed(text, order, len(vocabulary))
    write_lines(out, arpa(levels, vocabulary.words()))


def smoothed(text: Words, order: int, size: int) -> list[Smoothed]:
    """The models of all orders up to `order`, which is 2 or more.

    `size`: words of the vocabulary, of which 1 is UNKNOWN, 2 BEGIN, 3 END. Raises InputError as `estimate` does.
    """
    levels = counted(text, order, size)
    models: list[Smoothed] = []
    probabilities = np.full(size + 1, 1 / (size - 1))  # of no context: all words but BEGIN
    for length, level in enumerate(levels, 1):
        if not len(level.counts):
            raise InputError(f"no {length}-grams", remedy=f"give an order below {length}, or longer sentences")
        discounts = modified(level.counts)
        log(
            f"{length}-grams: {len(level.counts):,}, discounts {', '.join(f'{discount:.4f}' for discount in discounts)}"
        )
        taken = np.array([0, *discounts])[np.minimum(level.counts, 3)]
        totals = np.bincount(level.contexts, level.counts)
        weights = np.divide(np.bincount(level.contexts, taken), totals, out=np.ones_like(totals), where=totals > 0)
        lower = probabilities[level.suffixes]
        probabilities = (level.counts - taken) / totals[level.contexts] + weights[level.contexts] * lower
        if models:
            backoffs = np.ones(len(models[-1].grams))
            backoffs[: len(weights)] = weights
            models[-1] = models[-1]._replace(backoffs=np.log10(backoffs))
        grams = level.words[:, None]
        if models:
            grams = np.concatenate([models[-1].grams[level.contexts], grams], axis=1)
        models.append(Smoothed(grams, np.log10(probabilities), np.zeros(len(grams))))
    models[0].probabilities[models[0].grams[:, 0] == 2] = NEVER
    return models


def counted(text: Words, order: int, size: int) -> list[CountedNgrams]:
    """The n-grams of all orders, with counts: of the longest, how often they occur; of others, how many different words
    they follow.

    An n-gram that begins with BEGIN follows no word: its count is how often it occurs.
    """
    words, place = framed(text)
    numbers = words - 1  # of the n-gram that ends here
    levels = [
        CountedNgrams(
            np.zeros(size, np.int64),
            np.arange(1, size + 1),
            np.zeros(size, np.int64),
            np.bincount(numbers, minlength=size),
        )
    ]
    for length in range(2, order + 1):
        ends = np.flatnonzero(place >= length - 1)
        keys = numbers[ends - 1] * (size + 1) + words[ends]
        grams, first, inverse, occurrences = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        suffixes = numbers[ends[first]]
        followed = np.bincount(suffixes, minlength=len(levels[-1].counts))
        levels[-1] = levels[-1]._replace(counts=np.where(followed > 0, followed, levels[-1].counts))
        levels.append(CountedNgrams(grams // (size + 1), grams % (size + 1), suffixes, occurrences))
        numbers[ends] = inverse
    unigrams = levels[0].counts
    unigrams[0] = unigrams[1] = 0  # of UNKNOWN and BEGIN
    return levels


def framed(text: Words) -> tuple[Numbers, Numbers]:
    """All words, with BEGIN and END around each sentence, and the place of each in its sentence."""
    lengths = np.diff(text.starts) + 2
    begins = np.cumsum(lengths) - lengths
    words = np.empty(int(lengths.sum()), np.int64)
    place = np.arange(len(words)) - np.repeat(begins, lengths)
    inside = np.ones(len(words), bool)
    inside[begins] = inside[begins + lengths - 1] = False
    words[inside], words[begins], words[begins + lengths - 1] = text.ids, 2, 3
    return words, place


def modified(counts: Numbers) -> tuple[float, ...]:
    """The discounts of counts of 1, 2, and 3 or more: Chen and Goodman 1998, equation 26; FALLBACK where these counts
    give none.
    """
    n = [0, *(int((counts == k).sum()) for k in range(1, 5))]
    if not all(n[1:4]):
        return FALLBACK
    y = n[1] / (n[1] + 2 * n[2])
    discounts = tuple(k - (k + 1) * y * n[k + 1] / n[k] for k in range(1, 4))
    return discounts if min(discounts) >= 0 else FALLBACK


def arpa(levels: Sequence[Smoothed], words: Sequence[str]) -> Iterator[str]:
    """The lines of an ARPA file."""
    yield "\\data\\"
    yield from (f"ngram {length}={len(level.grams)}" for length, level in enumerate(levels, 1))
    for length, level in enumerate(levels, 1):
        yield f"\n\\{length}-grams:"
        rows = zip(level.grams.tolist(), level.probabilities.tolist(), level.backoffs.tolist(), strict=True)
        for gram, probability, backoff in rows:
            text = f"{round(probability, DIGITS)}\t{' '.join(words[word] for word in gram)}"
            yield text if length == len(levels) else f"{text}\t{round(backoff, DIGITS) + 0.0}"
    yield "\n\\end\\"
