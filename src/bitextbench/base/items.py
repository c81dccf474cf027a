"""The items of a metric (sentences, pairs, documents), which its file stores for paired comparisons.

A metric is a statistic of summed counts: of `ratio` the columns are numerator and denominator, of `bleu` and
`multi-bleu` (not smoothed) sacreBLEU's statistics of a sentence. Rows are items in the order of the corpus; more than
GROUPS go together, item i in row i modulo GROUPS.
"""

import base64
import binascii
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bitextbench.base.errors import InputError

GROUPS = 4096
KINDS = ("ratio", "bleu", "multi-bleu")
TYPES = (np.uint8, np.uint16, np.uint32, np.int64)  # of counts that are whole numbers, else float32


class GroupedItems(NamedTuple):
    """counts [groups, c]: sums over the items of each group; `n` items in all."""

    kind: str
    counts: NDArray[Any]
    n: int


def grouped(kind: str, counts: ArrayLike) -> GroupedItems:
    """Items, grouped, from their counts [n, c]."""
    rows = np.asarray(counts)
    if (n := len(rows)) > GROUPS:
        padded = np.concatenate([rows, np.zeros((-n % GROUPS, rows.shape[1]), rows.dtype)])
        rows = padded.reshape(-1, GROUPS, rows.shape[1]).sum(axis=0)
    return GroupedItems(kind, rows, n)


def worth(items: GroupedItems) -> float:
    """How many points one item of a test set is worth.

    In a ratio that is the step of its numerator (F1 counts a right pair twice) over its denominator. For BLEU it is 0, as
    nearly every sentence has a part in its bootstrap.
    """
    if items.kind != "ratio":
        return 0.0
    numerators, denominators = items.counts.T
    step = int(np.gcd.reduce(numerators.astype(np.int64))) if counts_whole(items) else 1
    return 100 * max(1, step) / max(1.0, float(denominators.sum()))


def counts_whole(items: GroupedItems) -> bool:
    """Whether the first count is a whole number in each item."""
    return np.array_equal(items.counts[:, 0], np.floor(items.counts[:, 0]))


def packed(items: GroupedItems) -> dict[str, Any]:
    """The items as JSON: little-endian, zlib, base64; a byte or less for each item where counts are small."""
    whole = np.array_equal(items.counts, np.floor(items.counts)) and (not items.counts.size or items.counts.min() >= 0)
    fitting = (kind for kind in TYPES if whole and items.counts.max(initial=0) <= np.iinfo(kind).max)
    columns = np.ascontiguousarray(items.counts.T, np.dtype(next(fitting, np.float32)).newbyteorder("<"))
    return {
        "kind": items.kind,
        "n": items.n,
        "columns": len(columns),
        "type": columns.dtype.str,
        "counts": base64.b64encode(zlib.compress(columns.tobytes(), 9)).decode("ascii"),
    }


def unpacked(value: Any, path: Path) -> GroupedItems:
    """What `packed` made. Raises InputError for anything else."""
    try:
        columns = np.frombuffer(zlib.decompress(base64.b64decode(value["counts"])), np.dtype(value["type"]))
        items = GroupedItems(value["kind"], columns.reshape(value["columns"], -1).T.astype(np.float64), value["n"])
    except (KeyError, TypeError, ValueError, zlib.error, binascii.Error) as error:
        raise InputError(f"items cannot be read ({error!r})", path, remedy="make the file again") from None
    if items.kind not in KINDS or len(items.counts) != min(items.n, GROUPS) or not np.isfinite(items.counts).all():
        raise InputError(f"items of {items.kind}: {len(items.counts)} rows", path, remedy="make the file again")
    return items
