"""Two files of `evaluate` on the same test items, figure by figure: one's own encoder against a baseline, say.

Both figures are resampled alike, so that items which are hard for both make no difference (paired bootstrap, Koehn
2004). The interval and p are those of a claim's comparison (`evidence`) of cells for which nothing was trained: they
cover the test items alone. They are those of one comparison, and p is two-sided.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitextbench.base.errors import InputError
from bitextbench.base.files import read_text
from bitextbench.base.items import unpacked
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.report.cells import Measurement
from bitextbench.report.draws import Draws, of_table
from bitextbench.report.evidence import ALPHA, estimate

DIFFERENCE = ast.parse("one - other", mode="eval").body
FIELDS = {"value": (int, float), "interval": list, "n": int, "signature": str, "items": dict}
GIVE = "give what `evaluate ... -o` wrote for both; `evaluate bucc` needs --src-text and --tgt-text, too"
AGAIN = "measure both on the same texts with the same gold"


class Difference(NamedTuple):
    """A figure of both files; the first minus the second, with its 95% interval and p; `n`: the items that both have."""

    figure: str
    one: float
    other: float
    low: float
    high: float
    p: float
    n: int
    signatures: tuple[str, str]

    def __str__(self) -> str:
        p = "p < 0.001" if self.p < 0.001 else f"p {self.p:.2g}"
        difference = f"{self.one - self.other:+.1f} ({self.low:.1f} to {self.high:.1f})"
        return f"{self.figure}: {self.one:.1f} and {self.other:.1f}, difference {difference}, {p}"


def of_files(one: Path, other: Path) -> list[Difference]:
    """The figures that both files have with their items, in the order of the first.

    Raises InputError for files without such a figure, and for one of other test items.
    """
    first, second = ({held.row: held for held in figures(read(path), path)} for path in (one, other))
    if not (both := [name for name in first if name in second]):
        raise InputError(f"no figure with its test items is here and in {other}", one, remedy=GIVE)
    for name in both:
        check_same(first[name], second[name])
    drawn = [draws(held) for held in (first, second)]
    return [difference(first[name], second[name], *(held[name] for held in drawn)) for name in both]


def read(path: Path) -> Any:
    """JSON. Raises InputError for another file, such as mined pairs."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InputError("not JSON", path, remedy=GIVE) from None


def figures(value: Any, path: Path, name: str = "") -> Iterator[Measurement]:
    """The metrics with items in what `evaluate` wrote, named by their keys: two_fold/f1."""
    if not isinstance(value, dict):
        return
    if "items" not in value:  # an average precision, say, has none
        for key, part in value.items():
            yield from figures(part, path, f"{name}/{key}".lstrip("/"))
        return
    held = checked_fields(value, FIELDS, path)
    items = (unpacked(held["items"], path),)
    low, high = interval_of(held, path)
    yield Measurement(name, "", 0, held["value"], low, high, held["n"], held["signature"], path, items, trained=False)


def check_same(one: Measurement, other: Measurement) -> None:
    """Raises InputError for a figure of other items: of another number, or a recall of other gold pairs."""
    (first,), (second,) = one.items, other.items
    if one.n != other.n or first.counts.shape != second.counts.shape:
        raise InputError(f"{one.row} is of {one.n:,} items, and of {other.n:,} in {other.path}", one.path, remedy=AGAIN)
    if one.row.endswith("recall") and not np.array_equal(first.counts[:, 1], second.counts[:, 1]):
        raise InputError(f"{one.row} is of other gold pairs than in {other.path}", one.path, remedy=AGAIN)


def draws(measured: dict[str, Measurement]) -> dict[str, Draws]:
    """What each figure could have been with other items."""
    made = of_table("", {(name, ""): [held] for name, held in measured.items()})
    return {name: held for (_, name, _), held in made.items()}


def difference(one: Measurement, other: Measurement, *drawn: Draws) -> Difference:
    number = estimate(DIFFERENCE, dict(zip(("one", "other"), drawn, strict=True)))
    apart = one.value - other.value
    half, p = number.reach(ALPHA), min(1.0, 2 * float(number.tail(abs(apart))))
    signatures = one.signature, other.signature
    return Difference(one.row, one.value, other.value, apart - half, apart + half, p, one.n, signatures)


def render(found: list[Difference], one: Path, other: Path) -> str:
    """A line for each figure, and what interval and p cover."""
    items = ", ".join(f"{n:,}" for n in dict.fromkeys(held.n for held in found))
    lines = [f"first {one}, second {other}, on the same {items} items of the test set", *map(str, found)]
    lines += [
        f"{held.figure} is measured in two ways: {held.signatures[0]} and {held.signatures[1]}"
        for held in found
        if held.signatures[0] != held.signatures[1]
    ]
    return "\n".join([*lines, "95% intervals and p cover the sampling of the test set, not of another training."])
