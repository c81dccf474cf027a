"""BLEU by sacreBLEU, with signature and bootstrap interval: of detokenised text, and of tokens, as in older papers,
NIST's among them.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bitextbench.base.errors import InputError
from bitextbench.base.items import grouped, packed
from bitextbench.base.languages import macro
from bitextbench.evaluation import sacrebleu_internals

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

SAMPLES = 1000  # of the bootstrap (Koehn 2004)
SEED = 12345


def sacre(language: str) -> "BLEU":
    """sacreBLEU's metric for a target language."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize="zh" if macro(language) == "zh" else "13a")


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], language: str, where: str | Path | None = None
) -> dict[str, Any]:
    """Corpus BLEU of detokenised lines, in percent, cased. sacreBLEU's tokenizer is `zh` (characters), or else `13a`.

    Returns metric, value, signature (the full one of sacreBLEU), interval, n (sentences), seed, sys_len, ref_len
    (tokens), items. The interval is a 95% bootstrap over sentences: the mean of the resampled scores minus and plus
    their 95% half-width. Raises InputError for no lines and unequal counts; it names the place `where`.
    """
    return _scored("bleu", sacre(language), hypotheses, references, where)


def tokenised(
    hypotheses: Sequence[str], references: Sequence[str], language: str, where: str | Path | None = None
) -> dict[str, Any]:
    """`bleu`, of the Moses tokens of detokenised lines, as multi-bleu.perl computes it.

    N-grams of up to 4 tokens, cased, without smoothing; both sides are tokenised in the same way. Compounds are not
    split at hyphens: artetxe2019 section 4.3 has BLEU "as computed by multi-bleu.perl", though Ott et al. 2018, quoted
    in its table 6, split them.
    """
    from sacrebleu.metrics.bleu import BLEU

    from bitextbench.text import moses

    hypothesis_tokens, reference_tokens = ([*moses.tokenize(lines, language)] for lines in (hypotheses, references))
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return _scored("multi-bleu", metric, hypothesis_tokens, reference_tokens, where)


class Nist:
    """BLEU as NIST's mteval-v11b defines it: of lower-cased tokens, with several references, of which the shortest sets
    the brevity penalty.

    N-grams of up to 4 tokens, without smoothing. zhang2016 section 6.1: "Case-insensitive NIST BLEU". Texts are taken
    as tokenised as they are: Moses' tokens in this project, where mteval has its own.
    """

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        from sacrebleu.metrics.bleu import BLEU

        self.references = references
        self.metric = BLEU(tokenize="none", smooth_method="none", lowercase=True, force=True)
        self.shortest = [min(len(line.split()) for line in lines) for lines in zip(*references, strict=True)]

    def statistics(self, hypotheses: Sequence[str]) -> list[list[int]]:
        """sacreBLEU's counts of each sentence: lengths of both, right n-grams, n-grams."""
        counted = sacrebleu_internals.counts(self.metric, hypotheses, self.references)
        return [[counts[0], shortest, *counts[2:]] for counts, shortest in zip(counted, self.shortest, strict=True)]


def nist(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], where: str | Path | None = None
) -> dict[str, Any]:
    """`bleu`, as `Nist` has it. `references`: texts, line by line with the hypotheses."""
    for text in references:
        _check_lines(hypotheses, text, where)
    metric = Nist(references)
    counts = np.array(metric.statistics(hypotheses))
    draws = np.random.default_rng(SEED).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), SAMPLES)
    sampled = np.array([sacrebleu_internals.scored(metric.metric, sums).score for sums in draws @ counts])
    low, high = np.quantile(sampled, (0.025, 0.975)).tolist()
    score = sacrebleu_internals.scored(metric.metric, counts.sum(axis=0))
    signature = f"nrefs:{len(references)}|case:lc|tok:none|smooth:none|length:shortest"
    return _measured(score, [low, high], signature, "multi-bleu", counts)


def _check_lines(hypotheses: Sequence[str], references: Sequence[str], where: str | Path | None) -> None:
    if not len(hypotheses):
        raise InputError("no hypotheses", where, remedy="translate a test set first")
    if len(hypotheses) != len(references):
        raise InputError(
            f"{len(hypotheses):,} hypotheses but {len(references):,} references",
            where,
            remedy="translate the test set again",
        )


def _scored(
    kind: str, metric: "BLEU", hypotheses: Sequence[str], references: Sequence[str], where: str | Path | None
) -> dict[str, Any]:
    _check_lines(hypotheses, references, where)
    os.environ["SACREBLEU_SEED"] = str(SEED)  # read when the bootstrap starts
    score = metric.corpus_score(hypotheses, [references], n_bootstrap=SAMPLES)
    counts = sacrebleu_internals.counts(metric, hypotheses, [references])
    return _measured(score, sacrebleu_internals.interval(score), str(metric.get_signature()), kind, counts)


def _measured(score: Any, interval: list[float], signature: str, kind: str, counts: Any) -> dict[str, Any]:
    """A score of sacreBLEU as a metric; `counts`: those of each sentence."""
    return {
        "metric": "BLEU",
        "value": score.score,
        "interval": interval,
        "n": len(counts),
        "seed": SEED,
        "signature": signature,
        "sys_len": score.sys_len,
        "ref_len": score.ref_len,
        "items": packed(grouped(kind, counts)),
    }
