"""A configuration with all that a run trains: an entry for each pair, portion, seed and study."""

import os
from pathlib import Path

from bitextbench.base import members
from bitextbench.base.errors import InputError
from bitextbench.config import Config, checks, schema
from bitextbench.config.pairs import by_pairs
from bitextbench.config.schema import without_nulls
from bitextbench.config.seeds import seeded
from bitextbench.config.studies import by_portion, judged, portions, selectors, with_margins, with_thresholds


def resolve(config: Config) -> Config:
    """The whole of a configuration: what an overlay left out by `null` taken out, an entry for each of `pairs`, a
    method for each of the `portions` of negatives, encoders and methods of other seeds, and those that studies train.

    Raises InputError for an unknown or missing key (showing the right one), a wrong value, or a name that nothing
    defines. What is resolved stays as it is.
    """
    config = by_pairs(without_nulls(config))
    set_plugins(config)
    schema.check(config)
    checks.check(config)
    config["methods"] = dict(by_portion(config["methods"]))
    for method in (*config["selection"]["methods"], *portions(config)):
        for seed in config["seeds"]:
            seeded(config, "methods", method, seed)
    for add_seeds in (selectors, judged):
        add_seeds(config)
    comparison = config.get("comparison", {"encoders": [], "seeds": []})
    for encoder in comparison["encoders"]:
        for seed in comparison["seeds"]:
            seeded(config, "encoders", encoder, seed)
    for name, encoder in with_margins(config).values():
        config["encoders"].setdefault(name, encoder)
    for name, (translation, transformer) in with_thresholds(config).items():
        config["translations"].setdefault(name, translation)
        config["transformers"].setdefault(translation["nmt"], transformer)
    return config


def set_plugins(config: Config) -> None:
    """Look for encoders and similarities in the configuration's folder of plugins, too, here and in the commands that
    start here.
    """
    if isinstance(folder := config.get("plugins"), str):
        if not Path(folder).is_dir():
            raise InputError(f"`plugins: {folder}` is no folder", "config", remedy="make it, or remove the key")
        os.environ[members.PLUGINS] = str(Path(folder).absolute())
