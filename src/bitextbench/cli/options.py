"""Arguments of commands."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError

FILE = click.Path(path_type=Path)


class Spec(click.ParamType):
    """A mapping as JSON or YAML on the command line, or `@` and the name of such a file.

    `kind` is one of the schema's $defs; without it the value is not looked at.
    """

    name = "JSON|@FILE"

    def __init__(self, kind: str = "") -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        from bitextbench.base.files import parse, read_yaml

        where = param.opts[0] if param else "--spec"
        found = read_yaml(value[1:]) if value.startswith("@") else parse(value, where)
        if not isinstance(found, dict):
            raise InputError(f"{str(found)[:60]!r} is not a mapping", where, remedy='write {"key": value}')
        if self.kind:
            from bitextbench.config import check_part

            check_part(self.kind, found, where)
        return found


class Mapping(click.ParamType):
    """NAME=PATH, under the names that say what they are."""

    def __init__(self, name: str = "NAME=PATH") -> None:
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, sep, path = value.partition("=")
        if not sep:
            self.fail(f"{value!r} is not {self.name}", param, ctx)
        return name, Path(path)
