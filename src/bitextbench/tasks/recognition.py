"""Recognising parallel sentences: zhang2016 section 6.2.2, table 2.

A parallel pair should score higher than its source with a sampled target. A sampled target has a length drawn evenly from 1 to
that of the reference (their footnote 7), and words drawn from the vocabulary of the references. Three are sampled for each
source, and the evaluation is repeated five times.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.errors import InputError
from bitextbench.tasks.bootstrap import SEED, rate

EVALUATIONS = 5
SAMPLES = 3
DRAWS = ("types", "tokens")


def sample_targets(
    references: Sequence[Sequence[str]], seed: int, *, samples: int = SAMPLES, draw: str = "types"
) -> list[list[list[str]]]:
    """`samples` random sentences for each reference (as words): one evaluation's, which `seed` names.

    draw: "types", every word of the vocabulary alike; "tokens", as often as it occurs in the references. (The paper samples
    "from the target vocabulary", which is the former.) Raises InputError for an empty reference or an unknown draw.
    """
    if draw not in DRAWS:
        raise InputError(f"unknown draw {draw!r}", remedy=f"known: {', '.join(DRAWS)}")
    if empty := [number for number, words in enumerate(references, 1) if not len(words)]:
        raise InputError(f"reference {empty[0]} has no words ({len(empty)} such)", remedy="leave empty sentences out")
    tokens = [word for words in references for word in words]
    words = np.array(sorted(set(tokens)) if draw == "types" else tokens, dtype=object)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(
        1, np.array([len(words) for words in references])[:, None], (len(references), samples), endpoint=True
    )
    return [[rng.choice(words, length).tolist() for length in row] for row in lengths]


def accuracy(
    parallel: NDArray[np.floating], sampled: NDArray[np.floating], *, seed: int = SEED, signature: str = ""
) -> dict[str, Any]:
    """How often a parallel pair scores higher than a sampled one, in percent, and `draws`, the same for each evaluation.

    parallel: [n] scores; sampled: [evaluations, n, samples] of the same sources. A tie is not higher. The interval is over
    sources. Raises InputError for shapes that do not fit and for NaN.
    """
    if sampled.ndim != 3 or parallel.shape != sampled.shape[1:2]:
        raise InputError(
            f"scores of the shapes {parallel.shape} and {sampled.shape}",
            remedy="needed: [n] and [evaluations, n, samples]",
        )
    if np.isnan(parallel).any() or np.isnan(sampled).any():
        raise InputError("a score is NaN", remedy="score the pairs again")
    higher = parallel[None, :, None] > sampled
    draws = [float(100 * hits.mean()) for hits in higher]
    return {**rate("accuracy", higher.mean(axis=(0, 2)), seed=seed, signature=signature), "draws": draws}
