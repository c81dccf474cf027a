"""Given pairs of sentences: two texts that are aligned line by line, or one file with a pair a row.

| files | row n |
|---|---|
| `src`, `tgt` (or one of them) | row n of each text |
| `pairs` | row n: of text, `columns` that stand between tabs and are numbered from 1 (1, 2); of Parquet and JSON lines, `columns` by name (those of source and target, and `id` where there is one); of TMX and Moses zips, the `languages` |

`formats.inputs` says how each is read; `skip_bad`, `repair`, `quiet` are its settings, and `names` those of copies by key. A third
column is the id of a pair.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bitextbench.base.errors import InputError
from bitextbench.base.progress import count_of
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.inputs import Input, Reading, Wanted, side_by_side_of

NAMES = (*SIDES, "id")
TEXTS = (*SIDES, "pairs")
Files = Mapping[str, Any]


def files(paths: Sequence[Path], columns: Sequence[str] = (), **settings: Any) -> Files:
    """Two texts, or one file of pairs, as `read` takes them. Raises InputError for `columns` of two texts, and others
    than 2 or 3.
    """
    given = {key: value for key, value in settings.items() if value}
    if len(paths) == 2:
        if columns:
            raise InputError(
                "columns are named, but two texts are given", remedy="leave the columns out, or give one file of pairs"
            )
        return dict(zip(SIDES, map(str, paths), strict=True)) | given
    if columns and not 2 <= len(columns) <= len(NAMES):
        raise InputError(
            count_of(len(columns), "column is named", "columns are named"),
            remedy="name those of source and target, and perhaps that of ids",
        )
    return {"pairs": str(paths[0]), **({"columns": [*columns]} if columns else {})} | given


def read(files: Files, *, whole: bool = False) -> Iterator[pa.Table]:
    """Tables of some thousand rows: `src` and `tgt`, or the side that there is; `id` where there are ids, all of them
    texts.

    `whole`: one column more, `line`: the whole line of a text of pairs, else the other columns between tabs.

    Raises InputError for texts of unequal length, a row without one of the columns, and what `formats.inputs` refuses.
    """
    for table in _pairs(files, whole) if "pairs" in files else _texts(files):
        if whole and "line" not in table.column_names:
            fields = [pc.replace_substring(column.cast(pa.string()), "\t", " ") for column in table.columns]
            table = table.append_column("line", pc.binary_join_element_wise(*fields, "\t"))
        yield table


def _input(files: Files, key: str) -> Input:
    settings = {name: files[name] for name in ("skip_bad", "repair", "quiet") if name in files}
    return Input(files[key], Reading(**settings, name=files.get("names", {}).get(key, "")))


def _languages(files: Files) -> dict[str, str | None]:
    return dict(zip(SIDES, files.get("languages") or (None, None), strict=True))


def _pairs(files: Files, whole: bool) -> Iterator[pa.Table]:
    source = _input(files, "pairs")
    wanted = Wanted(SIDES, [*_languages(files).values()], files.get("columns", ()), ids=True, whole=whole)
    yield from source.tables(wanted)
    source.report()


def _texts(files: Files) -> Iterator[pa.Table]:
    sides = [side for side in SIDES if side in files]
    texts = [_input(files, side) for side in sides]
    columns = [_column(text, side, _languages(files)[side]) for side, text in zip(sides, texts, strict=True)]
    for both in side_by_side_of(columns, [text.name for text in texts]):
        yield pa.table(dict(zip(sides, both, strict=True)))
    for text in texts:
        text.report()


def _column(text: Input, side: str, language: str | None) -> Iterator[pa.StringArray]:
    for table in text.tables(Wanted([side], [language])):
        yield from table[side].chunks
