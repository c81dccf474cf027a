"""Records: CSV files (`.tsv`: tab-separated) whose lines are instances of a dataclass or NamedTuple, the
table's schema.

Its fields are the columns. The type of a field says what a column holds: str, int, float, Decimal (with its digits as
written), or one of these or None, which is an empty field. `Annotated[float, ".2f"]` says how a number is written; without
it, a number has all its digits.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.outputs import atomic, write_text

if TYPE_CHECKING:
    from pandas import DataFrame

Line = TypeVar("Line")

Hundredths = Annotated[float, ".2f"]


def finite(text: str) -> float:
    """The text as a float. Raises ValueError for text that is no number, for NaN and infinity."""
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is not a number")
    return value


def decimal(text: str) -> Decimal:
    """The text as a number with its digits. Raises ValueError as `finite` does."""
    finite(text)
    return Decimal(text)


READERS: Mapping[type, Callable[[str], Any]] = {str: str, int: int, float: finite, Decimal: decimal}


class Field(NamedTuple):
    """How a column is read, how its values are written, and whether a field may be empty."""

    read: Callable[[str], Any]
    spec: str
    optional: bool

    def parsed(self, text: str) -> Any:
        return None if self.optional and not text else self.read(text)

    def written(self, value: Any) -> str:
        return "" if value is None else format(value, self.spec) if self.spec else str(value)


def columns(schema: type[Any]) -> Mapping[str, Field]:
    """The columns of a schema."""
    return {name: _column(hint) for name, hint in get_type_hints(schema, include_extras=True).items()}


def _column(hint: Any) -> Field:
    optional = NoneType in get_args(hint)
    plain = next(part for part in get_args(hint) if part is not NoneType) if optional else hint
    kind, spec = get_args(plain) or (plain, "")
    return Field(READERS[kind], spec, optional)


def to_csv(schema: type[Line], lines: Iterable[Line], separator: str = ",") -> str:
    """The lines as the text of a file, with a header."""
    import pandas

    held = list(lines)
    texts = {name: [one.written(getattr(line, name)) for line in held] for name, one in columns(schema).items()}
    return pandas.DataFrame(texts, dtype=object).to_csv(index=False, lineterminator="\n", sep=separator)


def write(path: Path, schema: type[Line], lines: Iterable[Line]) -> None:
    """Write the lines to a file, atomically."""
    write_text(path, to_csv(schema, lines, _separator(path)))


def write_columns(path: Path, held: "Mapping[str, Any] | DataFrame", numbers: str | None = None) -> None:
    """Write columns of equal length to a CSV file, atomically; `numbers` says how floats are written ("%.6g").

    For tables whose columns depend on the data, as of learning curves, one column an objective.
    """
    import pandas

    with atomic(path) as part:
        pandas.DataFrame(held).to_csv(part, index=False, lineterminator="\n", float_format=numbers)


def read(
    path: str | Path, schema: type[Line], what: str, *, absent: Sequence[str] = (), remedy: str = "make the file again"
) -> list[Line]:
    """The lines of a file that `write` wrote; `what` names them in errors, which end with `remedy`. Columns of `absent`
    may be missing.

    Raises InputError, with the line, for other columns, a line of another length, and a field of a wrong type, of NaN
    or infinity.
    """
    texts, known = _texts(Path(path), what), columns(schema)
    _check_columns(list(texts), [name for name in known if name not in absent or name in texts], path, what, remedy)
    held: dict[str, list[Any]] = {}
    for name, column in texts.items():
        for line, text in enumerate(column, start=2):
            try:
                held.setdefault(name, []).append(known[name].parsed(text))
            except (ValueError, ArithmeticError) as error:
                raise _refused(f"not {what} ({error})", path, line) from None
    return [schema(**dict(zip(held, values, strict=True))) for values in zip(*held.values(), strict=True)]


def _texts(path: Path, what: str) -> dict[str, list[str]]:
    """The columns of a file as text."""
    import pandas
    from pandas.errors import EmptyDataError, ParserError

    try:
        with open(existing(path), encoding="utf-8", newline="") as file:
            # of the engines, this one tells a short line from one with empty fields
            frame = pandas.read_csv(
                file, header=None, dtype=str, keep_default_na=False, engine="python", sep=_separator(path)
            )
    except (EmptyDataError, ParserError, UnicodeDecodeError) as error:
        raise _refused(f"not {what} ({error})", path) from None
    if (short := frame.isna().any(axis=1)).any():
        raise _refused(f"not {what} (a field is missing)", path, int(short.to_numpy().argmax()) + 1)
    header, *rows = frame.to_numpy().tolist()
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True)) if rows else {name: [] for name in header}


def _separator(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","


def _check_columns(header: Sequence[str], wanted: Sequence[str], path: str | Path, what: str, remedy: str) -> None:
    if list(header) == list(wanted):
        return
    if 2 * len({*wanted} & {*header}) < len(wanted):
        begins = ", ".join(header)[:60]
        raise InputError(f"not {what}: it begins with {begins}", path, line=1, remedy="name another file")
    wrong = [f"no {name}" for name in wanted if name not in header] + [
        f"a {name}" for name in header if name not in wanted
    ]
    columns = ", ".join(wrong) or "in another order"
    raise InputError(f"not {what} of this version (columns: {columns})", path, line=1, remedy=remedy)


def _refused(what: str, path: str | Path, line: int | None = None) -> InputError:
    return InputError(what, path, line=line, remedy="make the file again")
