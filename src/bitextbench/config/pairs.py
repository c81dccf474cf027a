"""Entries with `pairs: [en-fr, ...]`: one for each pair of languages."""

import re
from collections.abc import Iterator
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.config import Config
from bitextbench.config.overlays import laid_over

# whose entries may have `pairs`
SECTIONS = ("corpora", "encoders", "rescorers", "text.features", "word_vectors", "methods", "translations")


def by_pairs(config: Config) -> Config:
    """The entries of SECTIONS with `pairs`, one for each pair."""
    for section in SECTIONS:
        *path, last = section.split(".")
        place = config
        for key in path:
            place = place.get(key, {}) if isinstance(place, dict) else {}
        if isinstance(place, dict) and isinstance(place.get(last), dict):
            place[last] = dict(_by_pair(section, place[last]))
    return config


def _by_pair(place: str, entries: Config) -> Iterator[tuple[str, Any]]:
    """An entry with `pairs: [en-fr, ...]` as one of each. An entry by the name of one of these says what differs."""
    made = {
        name: dict(_each_pair(place, name, entry))
        for name, entry in entries.items()
        if isinstance(entry, dict) and "pairs" in entry
    }
    filled = set().union(*made.values())
    for name, entry in entries.items():
        if name in made:
            yield from ((one, laid_over(made[name][one], entries.get(one, {}))) for one in made[name])
        elif name not in filled:
            yield name, entry


def _each_pair(place: str, name: str, entry: Config) -> Iterator[tuple[str, Any]]:
    """{pair}, {src} and {tgt} of an entry are filled in, in its name and inside."""
    pairs = entry["pairs"]
    if not isinstance(pairs, list) or not all(re.fullmatch(r"[a-z]+-[a-z]+", str(pair)) for pair in pairs):
        raise InputError(
            f"`{place}.{name}.pairs: {pairs}` is not a list of language pairs",
            "config",
            remedy="write a list such as [en-fr, en-de]",
        )
    if "{pair}" not in str(name):
        raise InputError(
            f"`{place}.{name}` has `pairs`, but no {{pair}} in its name", "config", remedy=f'call it "{name}.{{pair}}"'
        )
    inside = {key: value for key, value in entry.items() if key != "pairs"}
    for pair in pairs:
        src, tgt = pair.split("-")
        made = _filled(inside, pair, src, tgt)
        yield (
            _filled(name, pair, src, tgt),
            made | ({"pair": {"src": src, "tgt": tgt}} if place in ("corpora", "methods") else {}),
        )


def _filled(value: Any, pair: str, src: str, tgt: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, pair, src, tgt) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, pair, src, tgt) for inner in value]
    if isinstance(value, str):
        return value.replace("{pair}", pair).replace("{src}", src).replace("{tgt}", tgt)
    return value
