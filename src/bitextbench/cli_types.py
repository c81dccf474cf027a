"""Arguments of commands."""

import contextlib
import json
from pathlib import Path
from typing import Any

import click
import yaml

FILE = click.Path(path_type=Path)


class Spec(click.ParamType):
    """JSON on the command line, or `@` and the name of a YAML or JSON file."""

    name = "JSON|@FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        from bitextbench.files import existing

        text = existing(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(text)  # first: to YAML 1.1 the number 1e-06 is a text
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            self.fail(f"not JSON or YAML: {error}", param, ctx)


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
