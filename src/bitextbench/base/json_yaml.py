"""JSON and YAML, read strictly: a wrong file is an error that names its line."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from bitextbench.base import names
from bitextbench.base.errors import InputError
from bitextbench.base.files import read_text
from bitextbench.base.outputs import write_text


def write_json(path: str | Path, value: Any) -> None:
    """Write JSON atomically: keys in the order given, one final newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not names.is_utf8(text):  # the name of a file
        text = json.dumps(value, indent=2)
    write_text(path, f"{text}\n")


def read_json(path: str | Path) -> Any:
    """Read JSON. Raises InputError that names the file and line."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg})", path, line=error.lineno, remedy="make the file again") from None
    except (ValueError, RecursionError) as error:  # thousands of digits or of brackets
        raise InputError(f"not JSON ({error})", path, remedy="make the file again") from None


def parse(text: str, where: str | Path) -> Any:
    """A value written as JSON or YAML, of the types of JSON.

    Raises InputError for another text, for a key that appears twice in a mapping, and for what JSON does not hold: NaN,
    infinity, dates; numbers of over 64 bits.
    """
    try:
        try:
            value = json.loads(text, object_pairs_hook=_once)
        except json.JSONDecodeError:
            value = yaml.load(text, Loader)
        return json.loads(json.dumps(value, allow_nan=False), parse_int=_whole)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        if isinstance(error, Twice):
            raise InputError(str(error.problem), where, line=mark and mark.line + 1, remedy="remove one") from None
        what = f"not YAML or JSON ({getattr(error, 'problem', None) or ' '.join(str(error).split())})"
        raise InputError(what, where, line=mark and mark.line + 1, remedy="mend the syntax") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"holds a value that cannot be used ({error})", where, remedy="use only numbers, texts, lists and mappings"
        ) from None


def read_yaml(path: str | Path) -> Any:
    """Read YAML, or JSON: see `parse`."""
    return parse(read_text(path), path)


def read_packaged(path: str | Path) -> Any:
    """The YAML of a file of this package, as of "config/schema.yaml". libyaml reads it ten times faster than `Loader`.

    Raises YAMLError for another file.
    """
    text = read_text(Path(__file__).parents[1] / path)
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class YamlLines:
    """Where the values of a file that `read_yaml` has read stand."""

    def __init__(self, path: str | Path) -> None:
        self.root = yaml.compose(read_text(path), Loader)

    def __call__(self, *keys: str | int) -> int:
        """The line, counted from 1, of the value under some keys; of one that is missing, that of the mapping around it."""
        node, line = self.root, 1
        for key in keys:
            held = node.value if isinstance(node, yaml.MappingNode) else enumerate(getattr(node, "value", ()))
            found = [(name, part) for name, part in held if str(getattr(name, "value", name)) == str(key)]
            if not found:
                break
            name, node = found[0]
            line = (name if isinstance(name, yaml.Node) else node).start_mark.line + 1
        return int(line)


TEXT = {"type": "string", "minLength": 1}


def listed(items: Any) -> dict[str, Any]:
    """The JSON schema of a list of some items, not empty."""
    return {"type": "array", "minItems": 1, "items": items}


def only(required: Iterable[str], properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The JSON schema of a mapping that has these properties alone, the required ones among them."""
    return {"type": "object", "required": [*required], "additionalProperties": False, "properties": properties, **more}


def read_checked(
    path: str | Path,
    schema: Mapping[str, Any],
    remedy: str,
    said: Callable[[Any], str] = "{0.json_path}: {0.message}".format,
) -> tuple[Any, YamlLines]:
    """What a YAML file holds, and where. Raises InputError, with the line, for what a JSON schema refuses; `said` writes its
    error in words.
    """
    import jsonschema

    held, line_of = read_yaml(path), YamlLines(path)
    for error in jsonschema.Draft202012Validator(schema).iter_errors(held):
        raise InputError(said(error), path, line=line_of(*error.absolute_path), remedy=remedy)
    return held, line_of


class Twice(yaml.MarkedYAMLError):
    """A key appears twice in a mapping."""


class Loader(yaml.SafeLoader):
    """Reads 1e-06 as a number, as YAML 1.2 does; to YAML 1.1 it is a text. Refuses a key that appears twice.

    (libyaml's loader is ten times faster, but deeply nested text ends the process.)
    """

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    raise Twice(None, None, f"the key `{key.value}` appears twice", key.start_mark)
                seen.add((key.tag, key.value))
        return node


Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), [*"-+.0123456789"]
)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of JSON. Raises Twice for a key that appears twice."""
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _ in pairs]
        raise Twice(None, None, f"the key `{next(name for name in names if names.count(name) > 1)}` appears twice")
    return held


def _whole(digits: str) -> int:
    if len(digits) > 19 or not -(1 << 63) <= int(digits) < 1 << 63:
        raise ValueError(f"{digits[:20]}... has more than 64 bits")
    return int(digits)
