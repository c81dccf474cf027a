"""Settings: what the papers state on data, models, training and evaluation, and the configuration of paper scale.

`references/<paper>/settings.yaml` is a list of entries:

    - key: batch                                     # its name, once in a file
      section: "4"                                   # of the paper; or footnote 3, table 2
      quote: batch size of 120 sentences             # a few words of the passage
      paper: 120                                     # its value, as the configuration would have it
      path: encoders.nmt_autoencoder.training.batch  # where ours is

Without `ours`, our value is the paper's. If it differs, `ours` is our value and `reason` a sentence that says why. Both
values are checked against the configuration, so that neither can drift.

| path | what it is |
|---|---|
| a.b.c | a key of the resolved configuration; names may contain dots; a number is an index, `*` every index of a list |
| sum(a.b.*.c) | the sum of such values |
| epochs(encoders.x) | an amount of `amounts`; values that differ by less than 5% are equal |
| bitextbench.module:NAME | a constant |

A choice that none of these can express has `where` instead of `path`: the module that makes it. Its `ours` is in words
and is not checked. An amount that the paper does not state has neither `paper` nor `section`.
"""

import functools
import importlib
import importlib.util
import math
import operator
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema

from bitextbench.base.errors import InputError, near
from bitextbench.base.files import existing
from bitextbench.base.json_yaml import TEXT, listed, only, read_checked
from bitextbench.config import Config
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.formats import records
from bitextbench.report.amounts import AMOUNTS
from bitextbench.report.references import paper_of

TO_MEND = "to be mended"
CLOSE = 0.05  # of amounts, which are estimates
FUNCTION = re.compile(r"(\w+)\(([^()]+)\)")


@dataclass(frozen=True)
class Setting:
    """One entry of a settings file; `paper` and `ours` are None if it lacks them."""

    key: str
    file: Path
    line: int
    section: str = ""
    quote: str = ""
    paper: Any = None
    path: str = ""
    where: str = ""
    ours: Any = None
    reason: str = ""

    def error(self, what: str, remedy: str) -> InputError:
        return InputError(f"{self.key}: {what}", self.file, line=self.line, remedy=remedy)


@dataclass(frozen=True)
class Compared:
    """A line of settings.csv. `equal` is yes or no; it is empty if the paper has no value."""

    paper: str
    key: str
    theirs: str
    section: str
    quote: str
    ours: str
    place: str
    equal: str
    reason: str


KEYS = {**dict.fromkeys(("key", "section", "quote", "path", "where", "reason"), TEXT), "paper": {}, "ours": {}}
NEEDED_WITH = {"paper": ["section", "quote"], "where": ["paper"], "ours": ["reason"], "reason": ["ours"]}
ONE_OF = [{"required": ["path"]}, {"required": ["where"]}]
SCHEMA = listed(only(["key"], KEYS, dependentRequired=NEEDED_WITH, oneOf=ONE_OF))


def write(folder: Path, config: Path, out: Path) -> str:
    """Write settings.csv of all papers in `folder`; returns a line for each paper on how many settings are the paper's.

    Raises InputError as `paper_of`, `load` and `compare` do; then nothing is written.
    """
    resolved = paper_scale(config)
    paths = sorted(existing(folder).glob("*/settings.yaml"))
    if not paths:
        raise InputError("no <paper>/settings.yaml in this folder", folder, remedy="name the folder of references")
    papers = {paper_of(path): [compare(entry, resolved) for entry in load(path)] for path in paths}
    records.write(out, Compared, chain.from_iterable(papers.values()))
    return "\n".join(f"{paper}: {summary(lines)}" for paper, lines in papers.items())


def paper_scale(path: Path) -> Config:
    """The resolved configuration of a run at paper scale."""
    return resolve(read([path]))


def summary(lines: Sequence[Compared]) -> str:
    """A line on how many settings of a paper are as in the paper."""
    judged = [line for line in lines if line.equal]
    others = [line for line in judged if line.equal == "no"]
    mend = sum(line.reason.startswith(TO_MEND) for line in others)
    same = f"settings: {len(judged) - len(others)} of {len(judged)} as in the paper"
    return f"{same}, {len(others)} for reasons" + (f" ({mend} {TO_MEND})" if mend else "")


def load(path: Path) -> list[Setting]:
    """The entries of a file. Raises InputError, with the line, for wrong keys, a value without a section, a duplicate
    key.
    """
    entries, line_of = read_checked(path, SCHEMA, "see the head of report/settings.py", _message)
    for key, count in Counter(entry["key"] for entry in entries).items():
        if count > 1:
            again = max(place for place, entry in enumerate(entries) if entry["key"] == key)
            raise InputError(f"{key} appears twice", path, line=line_of(again), remedy="give each its own key")
    return [Setting(file=path, line=line_of(place), **entry) for place, entry in enumerate(entries)]


def _message(error: jsonschema.ValidationError) -> str:
    return "needs `path` or `where`, one of them" if error.validator == "oneOf" else error.message


def compare(entry: Setting, config: Config) -> Compared:
    """Compare an entry with the configuration.

    Raises InputError for a path that does not exist, and if `paper` or `ours` is no longer what is configured."""
    alike = _close if FUNCTION.fullmatch(entry.path) else operator.eq
    differs = bool(entry.reason)
    if entry.path:
        configured = value(entry, config)
        if differs and not alike(configured, entry.ours):
            raise entry.error(
                f"`{entry.path}` is {configured}, not {entry.ours}", "write it as `ours`, and look at the reason"
            )
        if differs and entry.paper is not None and alike(configured, entry.paper):
            raise entry.error(f"`{entry.path}` is {configured}, as in the paper", "remove `ours` and `reason`")
        if not differs and entry.paper is not None and not alike(configured, entry.paper):
            what = f"`{entry.path}` is {configured}, in the paper {entry.paper}"
            raise entry.error(what, "configure it so, or give `ours` and a `reason`")
    else:
        _module(entry, entry.where)
        configured = entry.ours if differs else entry.paper
    return Compared(
        entry.file.parent.name,
        entry.key,
        _shown(entry.paper),
        entry.section,
        entry.quote,
        _shown(configured),
        entry.path or entry.where,
        equal="" if entry.paper is None else "no" if differs else "yes",
        reason=entry.reason,
    )


def value(entry: Setting, config: Config) -> Any:
    """Our value at the path of an entry. Raises InputError, with file and line, if the path does not exist."""
    if match := FUNCTION.fullmatch(entry.path):
        name, inner = match.groups()
        if name != "sum" and name not in AMOUNTS:
            raise entry.error(f"no function {name}", near(name, ["sum", *AMOUNTS]))
        parts = _walk(entry, config, inner)
        try:
            return sum(parts) if name == "sum" else AMOUNTS[name](config, inner)
        except (KeyError, TypeError):
            raise entry.error(
                f"`{inner}` has no {name}", "see the heads of report/settings.py and amounts.py"
            ) from None
    if ":" in entry.path:
        module, _, name = entry.path.partition(":")
        try:
            constant = functools.reduce(getattr, name.split("."), _module(entry, module))
        except AttributeError:
            raise entry.error(f"`{module}` has no {name}", "name a constant of the module") from None
        return list(constant) if isinstance(constant, tuple) else constant
    return _walk(entry, config, entry.path)


def _walk(entry: Setting, node: Any, path: str) -> Any:
    """The value at a path of names joined by dots; if two names fit, the longer is taken."""
    if not path:
        return node
    if isinstance(node, list) and path.split(".")[0] == "*":
        return [_walk(entry, part, path[2:]) for part in node]
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    keys = {str(key): part for key, part in inner}
    fitting = [key for key in keys if path == key or path.startswith(f"{key}.")]
    if not fitting:
        remedy = near(path.split(".")[0], keys) if keys else "it ends before that"
        raise entry.error(f"the configuration has no `{entry.path}`: nothing at `{path}`", remedy)
    key = max(fitting, key=len)
    return _walk(entry, keys[key], path[len(key) + 1 :])


def _module(entry: Setting, name: str) -> Any:
    if not name.startswith("bitextbench.") or not _exists(name):
        raise entry.error(f"no module {name}", "name one of bitextbench")
    return importlib.import_module(name) if entry.path else None


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _close(one: Any, other: Any) -> bool:
    numbers = all(isinstance(value, int | float) for value in (one, other))
    return math.isclose(one, other, rel_tol=CLOSE) if numbers else bool(one == other)


def _shown(setting: Any) -> str:
    if isinstance(setting, dict):
        return ", ".join(f"{name}: {value}" for name, value in setting.items())
    return "" if setting is None else ", ".join(map(str, setting)) if isinstance(setting, list) else str(setting)
