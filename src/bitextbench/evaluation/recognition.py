"""Recognising parallel sentences: zhang2016 section 6.2.2, table 2.

A parallel pair should score higher than its source with a sampled target. The length of a sampled target is drawn
uniformly from 1 to that of the reference (their footnote 7). Its words are drawn from those of all references. Three
targets are sampled for each source, and the evaluation is repeated five times.

Where the paper is silent:

- "We randomly sampled l target sentences from the target vocabulary based on reference translations" does not say how
  likely each word is. With `tokens`, the default, a word is as likely as it is frequent. With `types` all words are
  equally likely.
- Under `types` a sampled target has rare words, so that word frequency alone recognises it. The length helps under
  both, as it is at most that of the reference. The scores `length` and `unigram` say how far one comes without the
  source.
- The pairs are sources and "their reference translations", of which the NIST sets have four a source. Here a source has
  one, the target of the corpus.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, rate
from bitextbench.base.errors import InputError
from bitextbench.formats import bitext

EVALUATIONS = 5
SAMPLES = 3
BLIND = ("length", "unigram")  # similarities of our own, which do not look at the source

Scores = tuple[NDArray[np.float32], NDArray[np.float32]]  # of pairs [n], of sampled pairs [evaluations, n, SAMPLES]


def sample_targets(
    references: Sequence[Sequence[str]], seed: int, *, samples: int = SAMPLES, draw: str = "tokens"
) -> list[list[list[str]]]:
    """`samples` random sentences for each reference (lists of words), for one evaluation.

    draw: "types": all words of the vocabulary are equally likely; "tokens": in proportion to their frequency. Raises
    InputError for an empty reference.
    """
    if empty := [number for number, reference in enumerate(references, 1) if not len(reference)]:
        raise InputError(f"reference {empty[0]} has no words ({len(empty)} such)", remedy="leave empty sentences out")
    tokens = [word for reference in references for word in reference]
    words = np.array(sorted(set(tokens)) if draw == "types" else tokens, dtype=object)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(
        1, np.array([len(reference) for reference in references])[:, None], (len(references), samples), endpoint=True
    )
    return [[rng.choice(words, length).tolist() for length in row] for row in lengths]


def accuracy(
    parallel: NDArray[np.floating], sampled: NDArray[np.floating], *, seed: int = SEED, signature: str = ""
) -> dict[str, Any]:
    """The share of sampled pairs that score lower than the parallel one, in percent; `draws`: for each evaluation.

    parallel: scores [n]; sampled: [evaluations, n, samples], of the same sources. A tie is not lower. The interval is
    over sources. Raises InputError for shapes that do not fit, and for NaN.
    """
    if sampled.ndim != 3 or parallel.shape != sampled.shape[1:2]:
        raise InputError(
            f"scores of the shapes {parallel.shape} and {sampled.shape}",
            remedy="needed: [n] and [evaluations, n, samples]",
        )
    if any(scores.dtype.kind not in "fiu" for scores in (parallel, sampled)):
        raise InputError(
            f"scores are {parallel.dtype} and {sampled.dtype}, not numbers", remedy="give arrays of numbers"
        )
    if np.isnan(parallel).any() or np.isnan(sampled).any():
        raise InputError("a score is NaN", remedy="score the pairs again")
    higher = parallel[None, :, None] > sampled
    draws = [float(100 * hits.mean()) for hits in higher]
    return {**rate("accuracy", higher.mean(axis=(0, 2)), seed=seed, signature=signature), "draws": draws}


def scores(
    tokens: Path,
    model: Path,
    pieces: Path,
    similarities: Sequence[str],
    *,
    draw: str = "tokens",
    lowercase: bool = True,
    evaluations: int = EVALUATIONS,
    seed: int = 1,
    threads: int = 1,
    device: str = "cpu",
) -> dict[str, Scores]:
    """By similarity, scores of the pairs of a token corpus and of its sources with the same sampled targets.

    similarity: `euclidean`, minus half the squared distance of the sentence vectors (eq. 13); `reconstruction`, minus
    the cross-entropies of a bag-of-words autoencoder (section 6.1); `length` and `unigram`, see `blind`. `pieces`: the
    text model of the encoder. Pairs with an empty side are left out. Raises InputError for `reconstruction` by another encoder.
    """
    from bitextbench.base.device import setup
    from bitextbench.encoders import load
    from bitextbench.encoders.models.bow_autoencoder import Model as BagOfWords
    from bitextbench.encoders.pairs import distances, ids, rebuilt

    where = setup(threads, device)
    encoder = load(model, where)
    if "reconstruction" in similarities and not isinstance(encoder, BagOfWords):
        raise InputError("does not rebuild bags of words", model, remedy="train a bow_autoencoder, or take euclidean")
    pairs = [
        pair for pair in zip(*(bitext.read_side(tokens, side) for side in ("src", "tgt")), strict=True) if all(pair)
    ]
    references = [target.split() for _, target in pairs]
    draws = [sample_targets(references, seed + number, draw=draw) for number in range(evaluations)]
    sampled = [target for drawn in draws for targets in drawn for target in targets]
    by_similarity = {name: blind(name, references, sampled) for name in similarities if name in BLIND}
    lines = [" ".join(target) for target in sampled]
    sources, targets, false = ids(encoder, [*zip(*pairs, strict=True), lines], pieces, lowercase)
    rows = np.tile(np.arange(len(pairs)).repeat(SAMPLES), evaluations)
    for similarity in set(similarities) - set(BLIND):
        measure = rebuilt if similarity == "reconstruction" else distances
        parallel = measure(encoder, sources, targets, np.arange(len(pairs)), where)
        by_similarity[similarity] = parallel, measure(encoder, sources, false, rows, where)
    shape = evaluations, len(pairs), SAMPLES
    return {name: (by_similarity[name][0], by_similarity[name][1].reshape(shape)) for name in similarities}


def blind(similarity: str, references: Sequence[Sequence[str]], sampled: Sequence[Sequence[str]]) -> Scores:
    """Scores of targets without their sources: of the references [n] and of the sampled ones, one after the other.

    `length` is the number of words; `unigram` their log-probability, by their frequencies in the references.
    """
    counts = Counter(word for reference in references for word in reference)
    total = math.log(counts.total())
    worth = {word: 1.0 if similarity == "length" else math.log(count) - total for word, count in counts.items()}
    first, second = (
        np.array([math.fsum(worth[word] for word in target) for target in targets], np.float32)
        for targets in (references, sampled)
    )
    return first, second
