"""Metrics on disk: one JSON file for each metric, with value, interval, n, seed and signature."""

import math
from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError


def millions(count: int) -> dict[str, Any]:
    """A count as a metric, in millions, as the papers print them."""
    value = count / 1e6
    return {"metric": "pairs [M]", "value": value, "interval": [value, value], "n": count, "signature": "count"}


def checked_fields(value: Any, kinds: dict[str, Any], path: Path) -> dict[str, Any]:
    """The named fields of a JSON object, their types checked and their numbers finite. Raises InputError."""
    for key, kind in kinds.items():
        field = value.get(key) if isinstance(value, dict) else None
        if not isinstance(field, kind) or (isinstance(field, float) and not math.isfinite(field)):
            raise InputError(f"{key} is missing or wrong: {field!r}", path, remedy="make the file again")
    return {key: value[key] for key in kinds}


def interval_of(metric: dict[str, Any], path: Path) -> tuple[float, float]:
    """The interval of a metric file. Raises InputError for one that is not [low, high]."""
    match metric.get("interval"):
        case [int() | float() as low, int() | float() as high] if low <= high and math.isfinite(high - low):
            return low, high
        case other:
            raise InputError(f"interval is {other}", path, remedy="it must be [low, high]; make the file again")
