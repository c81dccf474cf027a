"""What this package takes from sacreBLEU that is not its interface, of this very version: the counts of each sentence."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bitextbench.base import versions

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU, BLEUScore

VERSIONS = {"sacrebleu": "2.6.0"}
versions.check(VERSIONS)


def counts(metric: "BLEU", hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Any:
    """Of each sentence: lengths of both, right n-grams, n-grams."""
    return metric._extract_corpus_statistics(hypotheses, references)


def scored(metric: "BLEU", sums: Any) -> "BLEUScore":
    """BLEU from the sums of counts, an array."""
    return metric._compute_score_from_stats(sums.tolist())


def interval(score: "BLEUScore") -> list[float]:
    """The bootstrap's 95% interval of a score."""
    return [score._mean - score._ci, score._mean + score._ci]
