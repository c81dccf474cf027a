"""Given pairs of sentences: two texts that are aligned line by line, or one file with a pair a row.

| files | row n |
|---|---|
| `src`, `tgt` (or one of them) | line n of each text |
| `pairs`: a text, packed or not; `-` is standard input | `columns` of line n, which stand between tabs and are numbered from 1: [1, 2] |
| `pairs`: .parquet | `columns` of row n: [src, tgt], and `id` where there is one |

A third column is the id of a pair. Lines that are too long count as empty, and are logged; so is a byte-order mark,
which is left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bitextbench.base import names
from bitextbench.base.errors import InputError
from bitextbench.base.files import MAX_LINE_BYTES, UnequalError, decode_arrays, existing, read_arrays, side_by_side
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.sentences import BOM, STDIN, standard_input

NAMES = (*SIDES, "id")
Files = Mapping[str, Any]


def files(paths: Sequence[Path], columns: Sequence[str] = ()) -> Files:
    """Two texts, or one file of pairs, as `read` takes them. Raises InputError for `columns` of two texts, and others
    than 2 or 3.
    """
    if len(paths) == 2:
        if columns:
            raise InputError("two texts have no columns", remedy="leave them out, or give one file of pairs")
        return dict(zip(SIDES, map(str, paths), strict=True))
    if columns and not 2 <= len(columns) <= len(NAMES):
        raise InputError(f"{len(columns)} columns", remedy="name those of source and target, and perhaps that of ids")
    return {"pairs": str(paths[0]), **({"columns": [*columns]} if columns else {})}


def read(files: Files, *, whole: bool = False) -> Iterator[pa.Table]:
    """Tables of some thousand rows: `src` and `tgt`, or the side that there is; `id` where there are ids, all of them
    texts.

    `whole`: one column more, `line`: the whole line of a text of pairs, else the other columns between tabs.

    Raises InputError for texts of unequal length, a row without one of the columns, and what `read_lines` refuses.
    """
    if "pairs" not in files:
        tables = _texts(files)
    elif Path(files["pairs"]).suffix == ".parquet":
        tables = _parquet(existing(files["pairs"]), files.get("columns"))
    else:
        tables = _lines(Path(files["pairs"]), files.get("columns", (1, 2)))
    for table in tables:
        names = [name for name in table.column_names if name != "line"]
        if whole and "line" not in table.column_names:
            fields = [pc.replace_substring(table[name].cast(pa.string()), "\t", " ") for name in names]
            table = table.append_column("line", pc.binary_join_element_wise(*fields, "\t"))
        yield table if whole else table.select(names)


def _texts(paths: Files) -> Iterator[pa.Table]:
    sides = [side for side in SIDES if side in paths]
    try:
        for columns in side_by_side([_arrays(Path(paths[side])) for side in sides]):
            yield pa.table(dict(zip(sides, columns, strict=True)))
    except UnequalError as error:
        totals = [f"{paths[side]} has {count:,}" for side, count in zip(sides, error.counts, strict=True)]
        what = f"the two sides differ in lines: {' and '.join(totals)}"
        raise InputError(what, remedy="align them line by line") from None


def _arrays(path: Path) -> Iterator[pa.StringArray]:
    """The lines of a text. Those that are too long are empty."""
    too_long: list[int] = []
    if str(path) == "-":
        path, arrays = STDIN, decode_arrays(standard_input(), STDIN, too_long=too_long)
    else:
        arrays = read_arrays(path, too_long=too_long)
    yield from _without_mark(arrays, path)
    if too_long:
        what = f"{len(too_long):,} lines are longer than {MAX_LINE_BYTES:,} bytes, first line {too_long[0]:,}"
        log(f"{path}: {what}; they count as empty")


def _without_mark(arrays: Iterable[pa.StringArray], path: Path) -> Iterator[pa.StringArray]:
    for number, lines in enumerate(arrays):
        if not number and len(lines) and lines[0].as_py().startswith(BOM):
            log(f"{path}: begins with a byte-order mark, which is left out")
            lines = pa.concat_arrays([pa.array([lines[0].as_py().removeprefix(BOM)]), lines[1:]])
        yield lines


def _lines(path: Path, columns: Sequence[Any]) -> Iterator[pa.Table]:
    """Columns of a text of fields between tabs; all of an empty line are empty."""
    if not all(str(column).isdecimal() and int(column) for column in columns):
        given = ",".join(map(str, columns))
        raise InputError(f"columns {given} of a text", path, remedy="number them from 1, as in 1,2")
    places, done = [int(column) - 1 for column in columns], 0
    for lines in _arrays(path):
        filled = pc.if_else(pc.equal(lines, ""), "\t" * max(places), lines)
        fields = pc.split_pattern(filled, "\t")
        lengths = pc.list_value_length(fields)
        if len(lines) and pc.min(lengths).as_py() <= max(places):
            short = pc.index(pc.less_equal(lengths, max(places)), True).as_py()
            what = f"line has {lengths[short].as_py()} columns"
            remedy = f"column {max(places) + 1} is asked for: separate fields by tabs, or say which columns"
            raise InputError(what, path, line=done + short + 1, remedy=remedy)
        named = {name: pc.list_element(fields, place) for name, place in zip(NAMES, places, strict=False)}
        yield pa.table(named | {"line": lines})
        done += len(lines)


def _parquet(path: Path, columns: Sequence[Any] | None) -> Iterator[pa.Table]:
    with bitext.reading(path, "make the file again"), pq.ParquetFile(names.utf8(path), pre_buffer=False) as file:
        has = file.schema_arrow.names
        chosen = [str(name) for name in columns or [*SIDES, *(["id"] if "id" in has else [])]]
        if missing := [name for name in chosen if name not in has]:
            remedy = f"it has {', '.join(has)}: say which are source and target"
            raise InputError(f"no column {missing[0]}", path, remedy=remedy)
        for batch in file.iter_batches(bitext.BLOCK, columns=chosen):
            arrays = (pc.fill_null(batch[name].cast(pa.string()), "") for name in chosen)
            yield pa.table(dict(zip(NAMES, arrays, strict=False)))
