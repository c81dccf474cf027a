"""Two translation models and two language models: Rossenbach et al. 2018, the row "NMT + LM, 4 models" of kim2019 table
2.

Transformers translate in both directions, and recurrent language models score each side. We know this from the abstract
("The RWTH Aachen University Filtering System for the WMT 2018 Parallel Corpus Filtering Task") and from kim2019 section
4.2; we had no text of the paper.

Where the paper is silent:

- Each log-probability is divided by the number of tokens that its model predicts.
- The four have equal weights, as in a log-linear combination that is not tuned.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.scoring import Pairs

NEEDS = ("likelihoods",)


def score(pairs: Pairs, model: Path | None = None) -> NDArray[np.float32]:
    """( ln p(e|f)/|e| + ln p(f|e)/|f| + ln p(f)/|f| + ln p(e)/|e| ) / 4; FLOOR for a pair that the models do not take."""
    return pairs.of_models().per_token().mean(axis=0).astype(np.float32)
