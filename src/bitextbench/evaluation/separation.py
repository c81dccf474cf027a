"""The separation of translations from the nearest other sentences, by the margin in training: yang2019 section 5.4."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import __version__
from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic
from bitextbench.evaluation.reconstruction import text_codes
from bitextbench.formats.vectors import Embeddings
from bitextbench.scoring import neighbours

CURVES = ("f1", "positive", "negative")


def separation(src: Embeddings, tgt: Embeddings, targets: Sequence[str], k: int = 10, **search: Any) -> dict[str, Any]:
    """The mean cosine of a source with its target, `positive`, and with the nearest other target, `negative`.

    Row i of both sides is a pair. The means are over the sources whose nearest target is their own, as in the paper for
    the negatives ("retrieved in second place when the correct target was retrieved in first place"). Equal `targets`
    count as one; a source without another one among its k neighbours is left out. The 95% intervals assume independent
    sources. Raises InputError when no source has its own target as the nearest.
    """
    nearest = neighbours.search(src, tgt, k, metric="cosine", **search).forward
    codes = text_codes(targets)
    other = codes[nearest.ids] != codes[:, None]
    rows = np.flatnonzero(~other[:, 0] & other.any(axis=1))
    if not len(rows):
        raise InputError("no target is the nearest of its source", src.name, remedy="train the encoder for longer")
    columns = {"positive": np.zeros(len(rows), np.int64), "negative": other[rows].argmax(axis=1)}
    return {name: mean(name, nearest.similarities[rows, column]) for name, column in columns.items()}


def mean(name: str, cosines: NDArray[np.float32]) -> dict[str, Any]:
    """The mean cosine, and its interval by the central limit theorem."""
    value, half = float(cosines.mean(dtype=np.float64)), float(1.96 * cosines.std() / np.sqrt(len(cosines)))
    signature = f"mean cosine|{name}|normal|version:{__version__}"
    return {
        "metric": "mean cosine",
        "value": value,
        "interval": [value - half, value + half],
        "n": len(cosines),
        "signature": signature,
    }


def write(measured: Mapping[float, Mapping[str, Any]], out: Path, picture: Path) -> None:
    """Write the figure as CSV, a line for each margin, and as a plot. `measured`: F1 in percent and both means."""
    from matplotlib.figure import Figure

    margins = sorted(measured)
    with atomic(out) as part, open(part, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["margin", *(f"{name}{end}" for name in CURVES for end in ("", "_low", "_high"))])
        for margin in margins:
            cells = [measured[margin][name] for name in CURVES]
            numbers = [number for cell in cells for number in (cell["value"], *cell["interval"])]
            writer.writerow([margin, *(f"{number:.4f}" for number in numbers)])
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name, label in zip(CURVES, ("F1 / 100", "mean cosine, positive", "mean cosine, negative"), strict=True):
        scale = 100 if name == "f1" else 1
        values = np.array([[measured[m][name]["value"], *measured[m][name]["interval"]] for m in margins]).T / scale
        axes.errorbar(margins, values[0], [values[0] - values[1], values[2] - values[0]], marker="o", label=label)
    axes.set(xlabel="margin in training", title="Yang et al. 2019, figure 4, of this run")
    figure.legend(loc="outside lower center", ncols=3)
    with atomic(picture) as part:
        figure.savefig(part, format="png", dpi=150)
