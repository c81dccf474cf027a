"""The registry of data sets: their addresses, sizes, checksums, licences and parsers.

Each file `registry/*.yaml` is a list of entries:

    - name: newstest2008.de-en          # unique
      langs: [de, en]
      licence: as the publisher states it
      tier: research                    # core: open licence; research: terms unstated or research use; noncommercial
      parsers:                          # of parsers.PARSERS, read one after the other; [] if the data is not text.
                                        # Arguments: the docstring of each function in parsers.py
      - {name: aligned, texts: {de: newstest2008.de, en: newstest2008.en}}
      files:
      - {url: 'https://...', mirrors: [...], bytes: 1, sha256: ..., path: ...}
      package: e5-small                 # in place of files: the encoder whose weights are in an installed package
      pairs: 1                          # rows, where somebody has counted them: before any filter
      note: what a user has to know
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from bitextbench.base.errors import InputError, near
from bitextbench.base.json_yaml import read_packaged

TIERS = ("core", "research", "noncommercial")


@dataclass(frozen=True)
class File:
    """One download. `mirrors` serve the same bytes; `path` is its name in the folder of the data set."""

    url: str
    path: str
    mirrors: tuple[str, ...] = ()
    bytes: int | None = None
    sha256: str | None = None
    sha1: str | None = None  # some publishers give no other checksum


@dataclass(frozen=True)
class Parser:
    """A function of `parsers.PARSERS`, and its arguments."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class DataSet:
    name: str
    langs: tuple[str, ...]
    licence: str
    tier: str
    parsers: tuple[Parser, ...]
    files: tuple[File, ...]
    note: str = ""
    package: str = ""
    pairs: int | None = None  # None: nobody has counted them


@lru_cache
def load() -> dict[str, DataSet]:
    """All entries by name. Raises InputError for a malformed entry."""
    folder = Path(__file__).with_suffix("")
    return read(sorted(folder.glob("*.yaml")))


def entry(name: str) -> DataSet:
    """The entry `name`. Raises InputError, with the nearest names, for an unknown one."""
    try:
        return load()[name]
    except KeyError:
        raise InputError(f"no data set {name!r} in the registry", remedy=near(name, load())) from None


def packaged() -> list[str]:
    """The entries whose files are made out of an installed package."""
    return [name for name, data_set in load().items() if data_set.package]


def read(paths: Iterable[Path]) -> dict[str, DataSet]:
    """The entries of registry files, checked. Raises InputError with file, data set and key."""
    data_sets: dict[str, DataSet] = {}
    for path in paths:
        try:
            values = read_packaged(path)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else None
            raise InputError(f"not YAML ({error.problem})", path, line=line, remedy="mend the syntax") from None
        if not isinstance(values, list):
            raise InputError("not a list of data sets", path, remedy="start each entry with '- name: ...'")
        for value in values:
            data_set = _data_set(value, path)
            if data_set.name in data_sets:
                raise InputError(f"data set {data_set.name} appears twice", path, remedy="rename or remove one")
            data_sets[data_set.name] = data_set
    return data_sets


def _data_set(value: Any, path: Path) -> DataSet:
    where = f"{path}: {value.get('name', 'unnamed data set')}" if isinstance(value, dict) else str(path)
    _check_keys(value, DataSet, where)
    if value["tier"] not in TIERS:
        raise InputError(f"tier is {value['tier']!r}", where, remedy=near(str(value["tier"]), TIERS))
    for key in ("langs", "parsers", "files"):
        if not isinstance(value[key], list):
            raise InputError(f"{key} is not a list", where, remedy=f"write {key}: [...]")
    if not isinstance(value.get("pairs"), int | None):
        raise InputError(f"pairs is {value['pairs']!r}", where, remedy="give a whole number")
    files = tuple(_file(item, where) for item in value["files"])
    names = [file.path for file in files]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"two files are called {twice[0]}", where, remedy="give one of them another name with 'path:'")
    parsers = tuple(_parser(item, where) for item in value["parsers"])
    return DataSet(**{**value, "langs": tuple(value["langs"]), "parsers": parsers, "files": files})


def _parser(value: Any, where: str) -> Parser:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise InputError("a parser has no name", where, remedy="write {name: aligned, texts: {...}}, say")
    return Parser(value["name"], {key: item for key, item in value.items() if key != "name"})


def _file(value: Any, where: str) -> File:
    if isinstance(value, dict) and "url" in value:
        value = {"path": str(value["url"]).rsplit("/", 1)[-1], **value}
    _check_keys(value, File, where)
    if not re.match(r"https?://[^/]+/.", value["url"]):
        raise InputError(
            f"url is {value['url']!r}",
            where,
            remedy="it starts with https:// or http:// and names a file; files of your own are `files:` in a configuration",
        )
    if not re.fullmatch(r"\w[^/\\]*", value["path"]) or value["path"] == "manifest.json":
        raise InputError(f"{value['path']!r} cannot be a file name here", where, remedy="give another with 'path:'")
    for key, digits in (("sha256", 64), ("sha1", 40)):
        if value.get(key) is not None and not re.fullmatch(rf"[0-9a-f]{{{digits}}}", str(value[key])):
            raise InputError(f"{key} is {value[key]!r}", where, remedy=f"it has {digits} digits of 0-9 and a-f")
    if not isinstance(value.get("bytes"), int | None):
        raise InputError(f"bytes is {value['bytes']!r}", where, remedy="give a whole number")
    return File(**{**value, "mirrors": tuple(value.get("mirrors", ()))})


def _check_keys(value: Any, kind: type, where: str) -> None:
    """Raises InputError unless `value` is a mapping with all required, and no unknown, keys of the dataclass `kind`."""
    if not isinstance(value, dict):
        raise InputError(f"{value!r} is not a mapping", where, remedy="write 'key: value'")
    known = [field.name for field in fields(kind)]
    for key in value:
        if key not in known:
            raise InputError(f"unknown key {key!r}", where, remedy=near(str(key), known))
    for field in fields(kind):
        if field.default is MISSING and value.get(field.name) is None:
            raise InputError(f"key {field.name!r} is missing", where, remedy="add it")
