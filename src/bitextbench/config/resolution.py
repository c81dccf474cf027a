"""A configuration with all that a run trains: an entry for each pair, portion, seed and study."""

import os
from collections.abc import Iterator
from pathlib import Path

from bitextbench.base import members
from bitextbench.base.errors import InputError
from bitextbench.config import FIGURE4, Config, checks, schema
from bitextbench.config.pairs import by_pairs
from bitextbench.config.schema import without_nulls
from bitextbench.config.seeds import add_seed, seeds_of
from bitextbench.config.studies import by_portion, judged, portions, selectors, shares, with_margins, with_thresholds


def resolve(config: Config) -> Config:
    """The whole of a configuration, completed.

    - What an overlay left out by `null` is taken out.
    - There is an entry for each of `pairs`, and a method for each of the `portions` of negatives.
    - The encoders and methods of other seeds, and those that studies train, are added.

    Raises InputError for an unknown or missing key (showing the right one), a wrong value, or a name that nothing
    defines. What is resolved stays as it is.
    """
    config = by_pairs(without_nulls(config))
    set_plugins(config)
    schema.check(config)
    checks.check(config)
    config["methods"] = dict(by_portion(config["methods"]))
    for name, encoder in with_margins(config).values():
        config["encoders"].setdefault(name, encoder)
    for name, (translation, transformer) in with_thresholds(config).items():
        config["translations"].setdefault(name, translation)
        config["transformers"].setdefault(translation["nmt"], transformer)
    for kind, name, seed in [*_of_other_seeds(config)]:
        add_seed(config, kind, name, seed)
    return config


def _of_other_seeds(config: Config) -> Iterator[tuple[str, str, int]]:
    """(section, entry, seed) of what selections, comparisons and studies train; those of tables: `workflow.add_seeds`."""
    for method in (*config["selection"]["methods"], *portions(config)):
        yield from (("methods", method, seed) for seed in config["seeds"])
    for method, seed, _ in (*selectors(config), *(of[1:] for of in judged(config)), *shares(config)):
        yield "methods", method, seed
    for encoder in config.get("comparison", {"encoders": []})["encoders"]:
        yield from (("encoders", encoder, seed) for seed in config["comparison"]["seeds"])
    for encoder, _ in with_margins(config).values():
        yield from (("encoders", encoder, seed) for seed in seeds_of(config, FIGURE4))


def set_plugins(config: Config) -> None:
    """Look for encoders and similarities in the configuration's folder of plugins, too, here and in the commands that
    start here.
    """
    if isinstance(folder := config.get("plugins"), str):
        if not Path(folder).is_dir():
            raise InputError(f"`plugins: {folder}` is not a folder", "config", remedy="make it, or remove the key")
        if not any(Path(folder, kind).is_dir() for kind in members.KINDS):
            what = f"`plugins: {folder}` has no folder {' or '.join(members.KINDS)}"
            raise InputError(what, "config", remedy="name the folder that holds them")
        os.environ[members.PLUGINS] = str(Path(folder).absolute())
