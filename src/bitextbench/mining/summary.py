"""What a search for pairs found, in numbers and in words for its log."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.memory import peak
from bitextbench.base.pipes import shown
from bitextbench.base.progress import count_of
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.sentences import Sentences

CALIBRATED = 6_000  # sentences of the smallest text that calibrations were measured on (benchmarks/mining_defaults.py)

if TYPE_CHECKING:
    from bitextbench.encoders.interface import Calibration  # it imports torch


def figures(
    mined: Mined,
    margin: str,
    threshold: float | None,
    calibration: "Calibration | None",
    texts: Sequence[Sentences],
    started: float,
) -> dict[str, Any]:
    """The threshold, the estimate of right pairs, the quartiles of the scores, seconds and MiB of a search, as its result has them."""
    seconds = round(time.monotonic() - started, 1)
    given = {} if threshold is None else {"threshold": threshold}
    estimate: dict[str, Any] = {}
    if calibration:
        large = min(map(len, texts)) >= CALIBRATED
        estimate = {"estimated_right": round(calibration.right(mined.scores)) if large else None}
    quartiles = {"margin": margin, "quantiles": quantiles(mined.scores)}
    return given | estimate | quartiles | {"seconds": seconds, "peak_mib": peak()}


def quantiles(scores: NDArray[np.float32]) -> list[float]:
    """The minimum, the quartiles and the maximum of some scores; [] for no scores."""
    return [round(float(score), 4) for score in np.quantile(scores, [0, 0.25, 0.5, 0.75, 1])] if len(scores) else []


def as_text(counts: dict[str, Any], out: Path, texts: Sequence[Sentences]) -> str:
    """The lines of the log that say what came out; `counts`: the result of `texts.mine`."""
    sides = (f"{side} {count_of(c['in'], 'sentence')} ({_dropped(c)})" for side, c in counts.items() if side in SIDES)
    below = f"{counts['below_threshold']:,} below the threshold"
    below = f"{below} of {counts['threshold']:.4f}" if "threshold" in counts else "no threshold"
    lines = [
        f"mine: {', '.join(sides)}; {count_of(counts['candidates'], 'candidate')} ({counts['undefined']:,} undefined), "
        f"{counts['retrieved']:,} retrieved, {below}, {count_of(counts['pairs'], 'pair')} in {shown(out, output=True)}"
    ]
    if counts["cut"]:
        _, name, longest = max(
            (len(line), one.name, of) for one in texts for of, line in zip(one.ids, one.text, strict=True)
        )
        lines.append(f"mine: {cut(counts['cut'])}; the longest is {longest} of {name}")
    if counts["quantiles"]:
        lines.append(
            f"mine: {counts['margin']} (least, quartiles, best) " + " ".join(f"{s:.3f}" for s in counts["quantiles"])
        )
    if "estimated_right" in counts:
        estimate = (
            "how many pairs are right is not estimated: the smaller the texts, the higher the scores of wrong pairs, and "
            f"the estimate was measured on texts of {CALIBRATED:,} sentences and more"
            if counts["estimated_right"] is None
            else f"an estimated {counts['estimated_right']:,} of {count_of(counts['pairs'], 'pair')} are right, if the texts are "
            "unrelated and 3% of the sentences have a translation; fewer if both are about the same events, and none if "
            "no sentence has a translation"
        )
        lines.append(f"mine: {estimate}")
    if "precision" in counts:
        lines.append(f"mine: on the gold pairs, precision {counts['precision']:.3f}, recall {counts['recall']:.3f}")
    if "neighbours_found" in counts:
        lines.append(
            f"mine: approximate search; {counts['neighbours_found']:.1%} of the true neighbours are found, on a sample"
        )
    lines.append(f"mine: {counts['seconds']:,} s, {counts['peak_mib']:,} MiB at most")
    return "\n".join(lines)


def cut(count: int) -> str:
    """What is said of sentences of too many tokens."""
    return (
        count_of(count, "sentence has", "sentences have") + " more tokens than the encoder takes; the first ones count"
    )


def _dropped(counts: dict[str, int]) -> str:
    """The numbers of sentences that are not searched, by reason."""
    reasons = (f"{count:,} {reason.replace('_', ' ')}" for reason, count in counts.items())
    return ", ".join(reason for reason in reasons if not reason.endswith((" in", " searched")))
