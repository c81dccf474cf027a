"""CSV files whose lines are instances of a dataclass: its fields are the columns; an empty field is None."""

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing

Line = TypeVar("Line")


def to_csv(lines: Sequence[Any]) -> str:
    """The instances of one dataclass as CSV text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(field.name for field in fields(lines[0]))
    for line in lines:
        writer.writerow("" if value is None else str(value) for value in asdict(line).values())
    return out.getvalue()


def read_csv(path: Path, kind: type[Line], what: str) -> list[Line]:
    """The lines of a file that `to_csv` wrote; `what` names them in errors.

    Raises InputError for other columns (of another version), a field of a wrong type, NaN and infinity.
    """
    hints = get_type_hints(kind)
    kinds = {field.name: _reader(hints[field.name]) for field in fields(kind)}  # type: ignore[arg-type]
    with open(existing(path), encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        _check_columns(reader.fieldnames or [], list(kinds), path, what)
        try:
            return [kind(**{name: kinds[name](text) for name, text in record.items()}) for record in reader]
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"not {what} ({error})", path, line=reader.line_num, remedy="make the file again"
            ) from None


def _check_columns(header: Sequence[str], wanted: Sequence[str], path: Path, what: str) -> None:
    if list(header) == list(wanted):
        return
    wrong = [f"no {name}" for name in wanted if name not in header] + [
        f"a {name}" for name in header if name not in wanted
    ]
    columns = ", ".join(wrong) or "in another order"
    raise InputError(f"not {what} of this version (columns: {columns})", path, line=1, remedy="make the file again")


def finite(text: str) -> float:
    """The text as a float. Raises ValueError for text that is no number, for NaN and infinity."""
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is not a number")
    return value


READERS: dict[Any, Callable[[str], Any]] = {str: str, int: int, float: finite}


def _reader(hint: Any) -> Callable[[str], Any]:
    """The function that reads a field of a type: str, int, float, or one of these or None."""
    optional = type(None) in get_args(hint)
    plain = next(part for part in (*get_args(hint), hint) if part is not type(None)) if optional else hint
    read = READERS[plain]
    return (lambda text: read(text) if text else None) if optional else read
