"""The folder of a training's checkpoints, which belongs to one configuration and its data."""

from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.files import read_json, write_json

OTHER = "checkpoint of another configuration or other data"
REMEDY = "restore those, or remove it to train from the start"


def claim(folder: Path, run: dict[str, Any]) -> None:
    """Say in a folder which run its checkpoints are of. Raises InputError if they are of another."""
    path = folder / "run.json"
    held = read_json(path) if path.exists() else folder.exists() and any(folder.iterdir())
    if held and held != run:
        raise InputError(OTHER, folder, remedy=REMEDY)
    write_json(path, run)
