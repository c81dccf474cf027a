"""The folder of a training's checkpoints, which belongs to one configuration, its data, and the code that trains."""

from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.sources import modules

OTHER = "checkpoint of another configuration, other data or other code"
REMEDY = "restore those, or remove it to train from the start"


def claim(folder: Path, run: dict[str, Any], module: str) -> None:
    """Say in a folder which run its checkpoints are of, and the version of the module that makes them. Raises InputError if
    they are of another.
    """
    path, run = folder / "run.json", run | {"code": modules(module)}
    held = read_json(path) if path.exists() else folder.exists() and any(folder.iterdir())
    if held and held != run:
        raise InputError(OTHER, folder, remedy=REMEDY)
    write_json(path, run)
