"""The training of a run's encoders: costs (`training.csv`) and learning curves (`learning.csv`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.json_yaml import read_json
from bitextbench.formats import records
from bitextbench.formats.metrics import checked_fields

OBJECTIVES = 2  # the column of curve.csv where the losses of the objectives begin


@dataclass(frozen=True)
class Trained:
    """A trained encoder; `valid`: its best score on the development set (for most types P@1), in percent."""

    encoder: str
    seed: int
    type: str
    dimension: int
    parameters: int
    updates: int
    cpu_seconds: float
    valid: float | None


@dataclass(frozen=True)
class Validated:
    """A point of a learning curve.

    `loss`: the mean losses since the previous point, summed over objectives; `valid`: the development score in percent.
    """

    encoder: str
    seed: int
    update: int
    loss: float
    valid: float


def write(folders: Sequence[Path], trained: Path, validated: Path) -> None:
    """Write both tables from encoder folders that `train` wrote (training.json, curve.csv), in the given order.

    Raises InputError for a folder without these files, and for files of another version.
    """
    done = [read_training(folder) for folder in folders]
    steps = [step for folder, encoder in zip(folders, done, strict=True) for step in read_curve(folder, encoder)]
    records.write(trained, Trained, done)
    records.write(validated, Validated, steps)


def read_training(folder: Path) -> Trained:
    """Read training.json of an encoder's folder; the folder's name is the encoder's."""
    path = folder / "training.json"
    counts = dict.fromkeys(("seed", "dimension", "parameters", "updates"), int)
    kinds = {"type": str, **counts, "cpu_seconds": (int, float), "valid": (int, float, type(None))}
    fields = checked_fields(read_json(path), kinds, path)
    fields["valid"] = None if fields["valid"] is None else round(100 * fields["valid"], 2)
    return Trained(encoder=folder.name.replace(f".seed{fields['seed']}", ""), **fields)


def read_curve(folder: Path, encoder: Trained) -> list[Validated]:
    """The lines of curve.csv that have a development score."""
    import pandas

    path = existing(folder / "curve.csv")
    frame = pandas.read_csv(path)
    if [*frame.columns[[0, -1]]] != ["update", "valid"]:
        raise InputError("not a learning curve", path, line=1, remedy="train the encoder again")
    scored = frame[frame["valid"].notna()]
    losses = scored.iloc[:, OBJECTIVES:-1].sum(axis=1).round(4)
    return [
        Validated(encoder.encoder, encoder.seed, *point)
        for point in zip(scored["update"], losses, (100 * scored["valid"]).round(2), strict=True)
    ]
