"""Files of measurements: what the cells of a table are the means of, each seed by itself, with its items.

With them a table, and every claim on it, can be judged again without the run: see `audit`. A file is JSON with one
measurement a line: row, column, seed, value, interval, n, signature, and `items`, one for each test set (see
`base.items`). `trained` is there where it is false.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from bitextbench.base.errors import InputError
from bitextbench.base.items import packed, unpacked
from bitextbench.base.json_yaml import read_json
from bitextbench.base.outputs import write_text
from bitextbench.formats.metrics import checked_fields, interval_of
from bitextbench.report.cells import Measurement

FIELDS = {"row": str, "column": str, "seed": int, "value": (int, float), "interval": list, "n": int, "signature": str}


def save(place: str, measured: Sequence[Measurement], out: Path) -> None:
    """Write the measurements of the table at `place`, atomically."""
    lines = ",\n".join(json.dumps(_fields(one), ensure_ascii=False) for one in measured)
    write_text(out, f'{{"table": {json.dumps(place)}, "measurements": [\n{lines}\n]}}\n')


def load(path: Path) -> tuple[str, list[Measurement]]:
    """The table's place, and what `save` wrote. Raises InputError for another file, NaN and a wrong interval."""
    match read_json(path):
        case {"table": str() as place, "measurements": list() as lines}:
            return place, [_measurement(line, path) for line in lines]
    raise InputError("not measurements of a table", path, remedy="make the table again")


def of_folder(folder: Path) -> list[Path]:
    """The files of a finished run. Raises InputError for a folder that has none."""
    if found := sorted(folder.glob("measurements/**/*.json")):
        return found
    raise InputError("has no measurements", folder, remedy="make that run first, or name a finished one")


def _fields(one: Measurement) -> dict[str, object]:
    fields = {name: getattr(one, name) for name in FIELDS} | ({} if one.trained else {"trained": False})
    return fields | {"items": [packed(part) for part in one.items]}


def _measurement(line: object, path: Path) -> Measurement:
    whole = {"trained": True} | line if isinstance(line, dict) else line
    held = checked_fields(whole, FIELDS | {"items": list, "trained": bool}, path)
    low, high = interval_of(held, path)
    items = tuple(unpacked(part, path) for part in held["items"])
    numbers = {name: held[name] for name in FIELDS if name != "interval"}
    return Measurement(**numbers, low=low, high=high, path=path, items=items, trained=held["trained"])
