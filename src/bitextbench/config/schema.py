"""What a configuration may say: schema.yaml, with what similarities and types of encoders declare."""

import difflib
import math
import os
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from bitextbench.base import members
from bitextbench.base.errors import InputError, near
from bitextbench.base.json_yaml import read_packaged
from bitextbench.config import PRETRAINED, Config
from bitextbench.data import registry
from bitextbench.scoring import declared

OWN_SEEDS = ("kim2019/table2", "zhang2016/table3")  # tables whose seeds `seeds_of` may not name
IDENTIFIERS = ("py3langid", "fasttext-lid176")  # of a language, in addition to `language_models` and files
TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string", "tuple": "array", "Sequence": "array", "Mapping": "object", "dict": "object"}  # fmt: skip


def schema() -> Config:
    """The JSON schema of a configuration, with what similarities and types of encoders declare."""
    return _schema(os.environ.get(members.PLUGINS, ""))


@cache
def _schema(plugins: str) -> Config:
    whole = read_packaged("config/schema.yaml")
    tables = [place for place in read_packaged("report/tables.yaml") if place not in OWN_SEEDS]
    whole["properties"]["seeds_of"]["propertyNames"]["enum"] += tables
    definitions = whole["$defs"]
    definitions["leaderboard_row"]["properties"]["groups"]["items"]["enum"] = [
        *read_packaged("report/leaderboard.yaml")
    ]
    definitions["method"]["allOf"] = [
        _where("similarity", name, _method(definitions, name)) for name in members.sources("similarities")
    ]
    models = [_where("type", name, {"properties": {"model": _model(name)}}) for name in members.sources("encoders")]
    for section in ("encoders", "rescorers"):
        whole["properties"][section]["additionalProperties"]["allOf"] = models
    return whole


def _where(key: str, value: str, then: Config) -> Config:
    """A schema for the objects whose `key` has this value."""
    return {"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": then}


def _method(definitions: Config, similarity: str) -> Config:
    """What a method of this similarity may say, and must."""
    says = declared(similarity)
    kinds = [kind for kind in (*says.needs, f"fit_{says.fit}") if kind in definitions["method_keys"]]
    keys = {key: value for kind in kinds for key, value in definitions["method_keys"][kind].items()}
    return {
        "additionalProperties": False,
        "required": [key for key in keys if key != "tuned"],  # without it, a confidence is the encoder's own
        "properties": definitions["method"]["properties"] | keys | dict(says.options),
    }


def _model(kind: str) -> Config:
    """What `model` of an encoder may say: the arguments of its Model, less those that its features fill in."""
    arguments = members.arguments(members.source("encoders", kind), "Model")
    if arguments is None:  # those of another model
        return {}
    known = {
        name: {"type": kinds} if (kinds := _types(argument.annotation)) else {}
        for name, argument in arguments.items()
        if argument.default
    }
    return {"type": "object", "additionalProperties": False, "properties": known}


def _types(annotation: str) -> list[str]:
    """The JSON types of an annotation; [] where it has others."""
    kinds = [TYPES.get(re.split(r"\[", part.strip())[0]) for part in annotation.split("|") if part.strip() != "None"]
    return [kind for kind in kinds if kind] if all(kinds) else []


# whole numbers as such (1.0 is none for a command), and no NaN, which is within any bounds
TYPE_CHECKER = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda _, value: type(value) is int,
        "number": lambda _, value: type(value) is int or (type(value) is float and math.isfinite(value)),
    }
)
VALIDATOR = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=TYPE_CHECKER)


def _validator(config: Config) -> Any:
    """A validator with the keyword `references`, for names that this configuration, or what comes with us, defines."""

    def references(_: Any, place: str, name: Any, part: Config) -> Iterator[jsonschema.ValidationError]:
        a_file = place == "identifiers" and isinstance(name, str) and ("/" in name or Path(name).suffix)
        if (
            isinstance(name, str)
            and not a_file
            and name not in (known := _defined(config, place, part.get("whose", {})))
        ):
            yield jsonschema.ValidationError(f"names `{name}`, which is not defined; {near(name, known)}")

    return jsonschema.validators.extend(VALIDATOR, {"references": references})(schema())


def _defined(config: Config, place: str, whose: Config) -> Collection[str]:
    """The names of a section, or of what comes with us."""
    match place:
        case "data sets":
            return registry.load()
        case "similarities":
            return members.sources("similarities")
        case "encoder types":
            return [*members.sources("encoders"), PRETRAINED]
        case "identifiers":
            return [*IDENTIFIERS, *(config.get("language_models") or {})]
    entries: Any = config
    for key in place.split("."):
        entries = entries.get(key, {}) if isinstance(entries, dict) else {}
    return [
        name
        for name, entry in (entries.items() if isinstance(entries, dict) else ())
        if not whose or (isinstance(entry, dict) and whose.items() <= entry.items())
    ]


def check(config: Config) -> None:
    """Check a whole configuration. Raises InputError for the first of what is wrong, showing the right key or name."""
    if errors := sorted(_validator(config).iter_errors(config), key=_order):
        raise InputError(_message(_deepest(errors[0])), "config")


def check_part(kind: str, value: Any, where: str) -> None:
    """Check a part of a configuration by one of the schema's $defs. Raises InputError for the first of what is wrong."""
    _check_by({"$defs": schema()["$defs"], "$ref": f"#/$defs/{kind}"}, value, where)


def check_encoder(encoder: Config, where: str) -> None:
    """Check `training` of an encoder, and the types of what its `model` says. Raises InputError for the first of what is
    wrong, and for no known encoder.
    """
    if not isinstance(encoder.get("type"), str):
        raise InputError("names no type of encoder", where, remedy="write type: dan_dual, say; `list encoders` has all")
    model = {**_model(encoder["type"]), "additionalProperties": True}  # its features say more
    parts = {"model": model, "training": {"$ref": "#/$defs/training"}}
    _check_by({"$defs": schema()["$defs"], "properties": parts}, encoder, where)


def _check_by(rules: Config, value: Any, where: str) -> None:
    if error := next(VALIDATOR(rules).iter_errors(without_nulls(value)), None):
        raise InputError(_message(_deepest(error)), where)


def without_nulls(value: Any) -> Any:
    """A copy without the keys whose value is null, at any depth of mappings."""
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}


def _order(error: jsonschema.ValidationError) -> tuple[bool, list[str]]:
    """By place; unknown names last, as an entry that is wrong may define none."""
    return error.validator == "references", [str(part) for part in error.absolute_path]


def _deepest(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """Of an error in alternatives, the one in the alternative that came closest."""
    return jsonschema.exceptions.best_match([error]) if error.context else error


def _message(error: jsonschema.ValidationError) -> str:
    path = [*error.absolute_path]
    place = ".".join(map(str, path))
    if error.validator == "references":
        while isinstance(path[-1], int):  # of a list
            path.pop()
        return f"`{'.'.join(map(str, path))}` {error.message}"
    if error.validator == "additionalProperties":
        known = [*error.schema.get("properties", {})]
        unknown = next(key for key in error.instance if key not in known)
        close = difflib.get_close_matches(str(unknown), known, 1)
        hint = f"did you mean `{close[0]}: {error.instance[unknown]}`?" if close else f"known keys: {', '.join(known)}"
        return f"unknown key `{'.'.join(filter(None, [place, str(unknown)]))}`; {hint}"
    if error.validator == "required":
        missing = next(key for key in error.validator_value if key not in error.instance)
        return f"`{'.'.join(filter(None, [place, missing]))}` is missing; {error.schema['properties'][missing].get('description', 'add it')}"
    about = error.schema.get("description") if isinstance(error.schema, dict) else None
    if "propertyNames" in error.absolute_schema_path:
        return f"`{place}` has the key {error.instance!r}, which is not {about}"
    if error.validator == "pattern":
        return f"`{place}: {_shown(error.instance)}` is not {about}"
    return f"`{place}: {_shown(error.instance)}` is wrong: {error.message}" + (f"; it is {about}" if about else "")


def _shown(value: Any) -> str:
    """A value in one line."""
    return str(value) if str(value).isprintable() else repr(value)
