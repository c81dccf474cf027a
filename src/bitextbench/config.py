"""The configuration of a run: config.yaml with an overlay on top, checked against schema.yaml."""

import difflib
import math
import re
from collections.abc import Collection, Iterator
from importlib.resources import files
from typing import Any

import jsonschema

from bitextbench.base.errors import InputError, near
from bitextbench.base.files import parse
from bitextbench.data import registry

Config = dict[str, Any]

# whole numbers as such (1.0 is none for a command), and no NaN, which is within any bounds
Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {
            "integer": lambda _, value: type(value) is int,
            "number": lambda _, value: type(value) is int or (type(value) is float and math.isfinite(value)),
        }
    ),
)


def schema() -> Config:
    """The JSON schema of a configuration."""
    return parse(files("bitextbench").joinpath("schema.yaml").read_text(encoding="utf-8"), "schema.yaml")


def check_part(kind: str, value: Any, where: str) -> None:
    """Check a part of a configuration by one of the schema's $defs. Raises InputError for the first of what is wrong."""
    part = {"$defs": schema()["$defs"], "$ref": f"#/$defs/{kind}"}
    if error := next(jsonschema.Draft202012Validator(part).iter_errors(_without_nulls(value)), None):
        raise InputError(_message(_deepest(error)), where)


def check(config: Config) -> None:
    """Take out what an overlay left out by `null`, make one entry for each of `pairs`, check what there is, and make a method
    for each of the `portions` of negatives.

    Raises InputError for an unknown or missing key (showing the right one), a wrong value, or a name that nothing
    defines.
    """
    kept = _without_nulls(config)
    config.clear()
    config.update(kept)
    for place, section in (("", config), ("text.", config.get("text"))):
        for key in ("corpora", "encoders", "rescorers", "features", "methods", "translations"):
            if isinstance(section, dict) and isinstance(section.get(key), dict):
                section[key] = dict(_by_pair(f"{place}{key}", section[key]))
    errors = sorted(
        Validator(schema()).iter_errors(config),
        key=lambda error: [str(p) for p in error.absolute_path],
    )
    if errors:
        raise InputError(_message(_deepest(errors[0])), "config")
    _check_names(config)
    config["methods"] = dict(_by_portion(config["methods"]))


def _without_nulls(value: Any) -> Any:
    """A configuration without the keys whose value is null, at any depth."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}


def _by_pair(place: str, entries: Config) -> Iterator[tuple[str, Any]]:
    """An entry with `pairs: [en-fr, ...]` as one of each: {pair}, {src} and {tgt} are filled in, in its name and inside."""
    for name, entry in entries.items():
        if not isinstance(entry, dict) or "pairs" not in entry:
            yield name, entry
            continue
        pairs = entry["pairs"]
        if not isinstance(pairs, list) or not all(re.fullmatch(r"[a-z]+-[a-z]+", str(pair)) for pair in pairs):
            raise InputError(f"`{place}.{name}.pairs: {pairs}` is wrong", "config", remedy="write [en-fr, en-de], say")
        if "{pair}" not in str(name):
            raise InputError(f"`{place}.{name}` has `pairs`", "config", remedy=f'call it "{name}.{{pair}}"')
        inside = {key: value for key, value in entry.items() if key != "pairs"}
        for pair in pairs:
            src, tgt = pair.split("-")
            made = _filled(inside, pair, src, tgt)
            yield (
                _filled(name, pair, src, tgt),
                made | ({"pair": {"src": src, "tgt": tgt}} if place in ("corpora", "methods") else {}),
            )


def portion_methods(name: str, portions: list[float | str]) -> dict[str, float | str]:
    """The methods that stand for a method with `portions`, called as the rows of kim2019 table 5, and the portion of each."""
    return {f"{name}-{p if p == 'random' else f'worst{round(100 * float(p))}'}": p for p in portions}


def scorers(config: Config) -> list[str]:
    """The methods that score any corpus of the run's languages by what they have learned: not labels, published scores, studies
    of negatives."""
    studied = {
        name
        for base, entry in config["methods"].items()
        if "portions" in entry.get("negatives", {})
        for name in (base, *portion_methods(base, entry["negatives"]["portions"]))
    }
    others = {
        name
        for name, entry in config["methods"].items()
        if entry["similarity"] in ("published", "oracle") or "pair" in entry
    }
    return [name for name in config["methods"] if name not in studied | others]


def _by_portion(methods: Config) -> Iterator[tuple[str, Config]]:
    for name, entry in methods.items():
        yield name, entry
        negatives = entry.get("negatives", {})
        for made, portion in portion_methods(name, negatives.get("portions", [])).items():
            yield made, entry | {"negatives": {"by": negatives["by"], "portion": portion}}


def _filled(value: Any, pair: str, src: str, tgt: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, pair, src, tgt) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, pair, src, tgt) for inner in value]
    if isinstance(value, str):
        return value.replace("{pair}", pair).replace("{src}", src).replace("{tgt}", tgt)
    return value


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
    if "propertyNames" in error.absolute_schema_path:
        return f"`{place}` has the key {error.instance!r}, which is not {about}"
    if error.validator == "pattern":
        return f"`{place}: {_shown(error.instance)}` is not {about}"
    return f"`{place}: {_shown(error.instance)}` is wrong: {error.message}" + (f"; it is {about}" if about else "")


def _shown(value: Any) -> str:
    """A value in one line."""
    return str(value) if str(value).isprintable() else repr(value)


def _check_names(config: Config) -> None:
    """Every name that one part of the configuration uses must be defined by another."""
    corpora, methods, encoders = (config[key] for key in ("corpora", "methods", "encoders"))
    features, likelihoods = config["text"]["features"], config["likelihoods"]
    vectors, comparison = config.get("word_vectors", {}), config.get("comparison", {})
    rescorers = config.get("rescorers", {})
    translations = config.get("translations", {})
    parts = [(f"translations.{name}.train.{kind}", spec["train"][kind]) for name, spec in translations.items() for kind in ("mined", "selected") if kind in spec["train"]]  # fmt: skip
    pieces = {name: spec for name, spec in features.items() if spec["type"] == "bpe"}
    used: list[tuple[str, str, Collection[str]]] = [
        *((f"corpora.{name}.parts", part["dataset"], registry.load()) for name, spec in corpora.items() for part in spec["parts"] if "dataset" in part),
        *((f"{kind}.{name}.dataset", spec["dataset"], registry.load()) for kind, specs in (("text.features", features), ("methods", methods)) for name, spec in specs.items() if "dataset" in spec),
        *((f"rescorers.{name}.start.dataset", spec["start"]["dataset"], registry.load()) for name, spec in rescorers.items() if "dataset" in spec["start"]),
        *((f"corpora.{name}.exclude", other, corpora) for name, spec in corpora.items() for other in spec.get("exclude", [])),
        *((f"text.features.{name}.corpora", other, corpora) for name, spec in features.items() for other in spec.get("corpora", [])),
        *((f"encoders.{name}.corpora.{role}", other, corpora) for name, spec in encoders.items() for role, other in spec["corpora"].items()),
        *((f"encoders.{name}.features", spec["features"], features) for name, spec in encoders.items()),
        *((f"encoders.{name}.hard.by", spec["hard"]["by"], encoders) for name, spec in encoders.items() if "hard" in spec),
        *((f"rescorers.{name}.features", spec["features"], features) for name, spec in rescorers.items()),
        *((f"rescorers.{name}.corpora.comparable", spec["corpora"]["comparable"], corpora) for name, spec in rescorers.items()),
        *((f"rescorers.{name}.encoder", spec["encoder"], encoders) for name, spec in rescorers.items()),
        *((f"rescorers.{name}.start.encoder", spec["start"]["encoder"], encoders) for name, spec in rescorers.items() if "encoder" in spec["start"]),
        *((f"likelihoods.{name}.corpora.{role}", other, corpora) for name, spec in likelihoods.items() for role, other in spec["corpora"].items()),
        *((f"likelihoods.{name}.align", other, corpora) for name, spec in likelihoods.items() for other in spec["align"]),
        *((f"likelihoods.{name}.features", spec["features"], pieces) for name, spec in likelihoods.items()),
        *((f"methods.{name}.likelihoods", spec["likelihoods"], likelihoods) for name, spec in methods.items() if "likelihoods" in spec),
        *((f"encoders.{name}.vectors", spec["vectors"], vectors) for name, spec in encoders.items() if isinstance(spec.get("vectors"), str)),
        *((f"word_vectors.{name}.corpora.{side}", other, corpora) for name, spec in vectors.items() for side, text in spec["corpora"].items() for other in text),
        *((f"word_vectors.{name}.features", spec["features"], pieces) for name, spec in vectors.items() if "features" in spec),
        *((f"word_vectors.{name}.{key}", spec[key], corpora) for name, spec in vectors.items() for key in ("dictionary", "test") if key in spec),
        *(("comparison.encoders", name, encoders) for name in comparison.get("encoders", [])),
        *(("comparison.tests", name, corpora) for name in comparison.get("tests", [])),
        *((f"methods.{name}.encoder", spec["encoder"], encoders) for name, spec in methods.items() if "encoder" in spec),
        *((f"methods.{name}.positives", spec["positives"], corpora) for name, spec in methods.items() if "positives" in spec),
        *((f"methods.{name}.negatives.by", spec["negatives"]["by"], methods) for name, spec in methods.items() if "negatives" in spec),
        *((f"methods.{name}.tuned.{key}", spec["tuned"][key], defined) for name, spec in methods.items() if "tuned" in spec for key, defined in (("corpus", corpora), ("by", methods))),
        *((f"methods.{name}.bitext", spec["bitext"], corpora) for name, spec in methods.items() if "bitext" in spec),
        *((f"language_models.{name}.corpora", other, corpora) for name, spec in config.get("language_models", {}).items() for other in spec["corpora"]),
        *(("quality.methods", name, methods) for name in config.get("quality", {}).get("methods", [])),
        *(("quality.corpora", name, corpora) for name in config.get("quality", {}).get("corpora", {})),
        *((f"quality.corpora.{corpus}", name, methods) for corpus, names in config.get("quality", {}).get("corpora", {}).items() for name in names),
        *((f"studies.{key}", config["studies"][key], defined) for key, defined in (("negatives", methods), ("budget", config["selection"]["budgets"])) if "studies" in config),
        *((f"studies.margins.{key}", study[key], defined) for study in [config.get("studies", {}).get("margins")] if study for key, defined in (("encoder", encoders), ("mined", corpora), ("paired", corpora))),
        *(("studies.curves", name, methods) for name in config.get("studies", {}).get("curves", [])),
        ("selection.corpus", config["selection"]["corpus"], corpora),
        *(("selection.methods", name, methods) for name in config["selection"]["methods"]),
        *((f"translations.{name}.{key}", spec[key], corpora) for name, spec in translations.items() for key in ("valid", "test")),
        *((f"translations.{name}.nmt", spec["nmt"], config.get("transformers", {})) for name, spec in translations.items()),
        *((f"translations.{name}.train.corpora", other, corpora) for name, spec in translations.items() for other in spec["train"].get("corpora", [])),
        *((f"{place}.{key}", spec[key], defined) for place, spec in parts for key, defined in (("corpus", corpora), ("encoder", encoders), ("method", methods)) if key in spec),
        ("nmt.valid", config["nmt"]["valid"], corpora),
        *(("nmt.tests", name, corpora) for name in config["nmt"]["tests"]),
    ]  # fmt: skip
    for place, name, defined in used:
        if name not in defined:
            raise InputError(f"`{place}` names `{name}`, which is not defined", "config", remedy=near(name, defined))


def seeded(config: dict[str, Any], kind: str, name: str, seed: int) -> str:
    """The name of an entry of `kind` (encoders, likelihoods, methods) as of another seed than the run's; adds it to `config`.

    What it learns from is of that seed, too: the encoder and the negatives of a method, the hard negatives of an encoder.
    """
    if seed == config["seed"]:
        return name
    entry = config[kind][name] | {"seed": seed}
    for key, learned in (("encoder", "encoders"), ("likelihoods", "likelihoods")):
        if key in entry:
            entry[key] = seeded(config, learned, entry[key], seed)
    for key, learned in (("hard", "encoders"), ("negatives", "methods")):
        if key in entry:
            entry[key] = entry[key] | {"by": seeded(config, learned, entry[key]["by"], seed)}
    own = f"{name}.seed{seed}"
    config[kind].setdefault(own, entry)
    return own
