"""What an encoder costs: sentences in a second of one core, from text to vectors, and the size of its files."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitextbench.encoders.interface import SentenceEncoder
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES

SENTENCES = 1000  # of each side, measured
WARM = 100  # encoded before, so that nothing is loaded while the time is measured


def measure(
    encoder: SentenceEncoder, corpus: Path, languages: tuple[str, str], files: Sequence[Path]
) -> dict[str, Any]:
    """`speed` (sentences in a second of processor time) and `size` (MB of `files`) as metrics, without sampling error.

    `encoder`: on one thread. The sentences are the first of each side of a corpus.
    """
    texts = {side: bitext.read_side(corpus, side)[:SENTENCES] for side in SIDES}
    for side, language in zip(SIDES, languages, strict=True):
        _encode(encoder, texts[side][:WARM], language, side)
    start = time.process_time()
    for side, language in zip(SIDES, languages, strict=True):
        _encode(encoder, texts[side], language, side)
    seconds = time.process_time() - start
    count = sum(map(len, texts.values()))
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    return {
        "speed": _exact("sentences a second of one core", count / seconds, count),
        "size": _exact("MB", megabytes, len(files)),
    }


def _encode(encoder: SentenceEncoder, lines: list[str], language: str, usual: str) -> None:
    vectors = np.zeros((len(lines), encoder.dimension), np.float32)
    for _ in encoder.encode(lines, language, encoder.side(language, usual=usual), vectors):
        pass


def _exact(metric: str, value: float, n: int) -> dict[str, Any]:
    return {"metric": metric, "value": value, "interval": [value, value], "n": n, "signature": "measured once"}
