"""Two translation models and two language models: Rossenbach et al. 2018, the row "NMT + LM, 4 models" of kim2019 table
2.

Known of it, from its abstract ("The RWTH Aachen University Filtering System for the WMT 2018 Parallel Corpus Filtering
Task", WMT 2018) and from kim2019 section 4.2: recurrent language models of source and target, Transformers that
translate from source to target and back; their scores combined. Chosen here, because we had no text of the paper: each
log-probability is divided by the tokens that its model predicts, and the four have equal weights, as a log-linear
combination without tuning has.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.scoring import Pairs

NEEDS = ("likelihoods",)


def score(pairs: Pairs, model: Path | None = None) -> NDArray[np.float32]:
    """( ln p(e|f)/|e| + ln p(f|e)/|f| + ln p(f)/|f| + ln p(e)/|e| ) / 4; FLOOR for a pair that the models do not take."""
    return pairs.of_models().per_token().mean(axis=0).astype(np.float32)
