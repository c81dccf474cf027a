"""The configuration of a run: config.yaml with an overlay on top, checked against schema.yaml."""

import difflib
from importlib.resources import files
from typing import Any

import jsonschema
import yaml

from bitextbench.errors import InputError, near

Config = dict[str, Any]


def schema() -> Config:
    """The JSON schema of a configuration."""
    return yaml.safe_load(files("bitextbench").joinpath("schema.yaml").read_text(encoding="utf-8"))


def check(config: Config) -> None:
    """Take out what an overlay left out by `null`, then check what remains.

    Raises InputError for an unknown or missing key (showing the right one), a wrong value, or a name that nothing
    defines.
    """
    for named in (config, config.get("selection")):
        for key in ("corpora", "encoders", "methods", "budgets"):
            if isinstance(named, dict) and isinstance(named.get(key), dict):
                named[key] = {name: value for name, value in named[key].items() if value is not None}
    errors = sorted(
        jsonschema.Draft202012Validator(schema()).iter_errors(config),
        key=lambda error: [str(p) for p in error.absolute_path],
    )
    if errors:
        raise InputError(_message(_deepest(errors[0])), "config")
    _check_names(config)


def _deepest(error: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """Of an error in alternatives, the one in the alternative that came closest."""
    return jsonschema.exceptions.best_match([error]) if error.context else error


def _message(error: jsonschema.ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path)
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
    return f"`{place}: {error.instance}` is wrong: {error.message}" + (f"; it is {about}" if about else "")


def _check_names(config: Config) -> None:
    """Every name that one part of the configuration uses must be defined by another."""
    corpora, methods, encoders = (config[key] for key in ("corpora", "methods", "encoders"))
    features = config["text"]["features"]
    used: list[tuple[str, str, Config]] = [
        *((f"corpora.{name}.exclude", other, corpora) for name, spec in corpora.items() for other in spec.get("exclude", [])),
        *((f"text.features.{name}.corpora", other, corpora) for name, spec in features.items() for other in spec.get("corpora", [])),
        *((f"encoders.{name}.corpora.{role}", other, corpora) for name, spec in encoders.items() for role, other in spec["corpora"].items()),
        *((f"encoders.{name}.features", spec["features"], features) for name, spec in encoders.items()),
        *((f"encoders.{name}.hard.by", spec["hard"]["by"], encoders) for name, spec in encoders.items() if "hard" in spec),
        *((f"methods.{name}.encoder", spec["encoder"], encoders) for name, spec in methods.items() if "encoder" in spec),
        *((f"methods.{name}.positives", spec["positives"], corpora) for name, spec in methods.items() if "positives" in spec),
        *((f"methods.{name}.negatives.by", spec["negatives"]["by"], methods) for name, spec in methods.items() if "negatives" in spec),
        ("alignment.corpus", config["alignment"]["corpus"], corpora),
        ("alignment.encoder", config["alignment"]["encoder"], encoders),
        ("selection.corpus", config["selection"]["corpus"], corpora),
        *(("selection.methods", name, methods) for name in config["selection"]["methods"]),
        ("nmt.valid", config["nmt"]["valid"], corpora),
        *(("nmt.tests", name, corpora) for name in config["nmt"]["tests"]),
    ]  # fmt: skip
    for place, name, defined in used:
        if name not in defined:
            raise InputError(f"`{place}` names `{name}`, which is not defined", "config", remedy=near(name, defined))
