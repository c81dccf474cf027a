"""Entries as of other seeds than the run's, and the seeds that fill a table."""

import re
from collections.abc import Callable, Iterable
from functools import partial

from bitextbench.config import NEGATIVES, Config
from bitextbench.config.encoders import pretrained
from bitextbench.scoring import declared

# where an entry names what it learns from, and the section of that
LEARNED_FROM = {
    ("encoder",): "encoders",
    ("likelihoods",): "likelihoods",
    ("hard", "by"): "encoders",
    ("negatives", "by"): "methods",
    ("tuned", "by"): "methods",
    ("start", "encoder"): "encoders",
    ("train", "mined", "encoder"): "encoders",
    ("train", "selected", "method"): "methods",
}


def of_seed(config: Config, kind: str, name: str, seed: int) -> str:
    """The name of an entry of the section `kind` as of another seed than the run's; a pair of languages stays at the end.

    What is not trained here stays what it is.
    """
    if seed == config["seed"] or (kind == "encoders" and name in pretrained(config)):
        return name
    return re.sub(r"(\.[a-z]+-[a-z]+)?$", rf".seed{seed}\1", name, count=1)


def add_seed(config: Config, kind: str, name: str, seed: int) -> str:
    """`of_seed`, added to its section with all that it learns from, which is of that seed, too."""
    made = of_seed(config, kind, name, seed)
    if made not in config[kind]:
        entry = config[kind][name] | {"seed": seed}
        for path, learned in LEARNED_FROM.items():
            entry = _renamed(entry, path, partial(add_seed, config, learned, seed=seed))
        config[kind][made] = entry
    return made


def _renamed(entry: Config, path: tuple[str, ...], rename: Callable[[str], str]) -> Config:
    """The entry with another name at the end of `path`, if it has one."""
    key, *rest = path
    if key not in entry or (rest and not isinstance(entry[key], dict)):
        return entry
    return entry | {key: _renamed(entry[key], tuple(rest), rename) if rest else rename(entry[key])}


def seeds_of(config: Config, place: str) -> list[int]:
    """The seeds of the whole chains that fill a table: by name, or those of all tables; table 5 of kim2019 has table 2's."""
    return config.get("seeds_of", {}).get(place, config["seeds" if place == NEGATIVES else "table_seeds"])


def of_seeds(config: Config, place: str, methods: Iterable[str]) -> list[tuple[str, int, str]]:
    """(method, seed, the method of that seed) for each seed of a table, or the run's seed of what learns nothing."""
    return [
        (method, seed, of_seed(config, "methods", method, seed))
        for method in methods
        for seed in (seeds_of(config, place) if learns(config["methods"][method]) else [config["seed"]])
    ]


def learns(method: Config) -> bool:
    """Whether a method depends on its seed: not one of labels or of published scores."""
    return not {"labels", "dataset"} & {*declared(method["similarity"]).needs}
