"""The configuration of a run: config.yaml with overlays on top, checked against schema.yaml, and completed."""

import difflib
import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from bitextbench.base import members
from bitextbench.base.errors import InputError, near
from bitextbench.base.files import read_yaml
from bitextbench.data import registry
from bitextbench.scoring import declared

Config = dict[str, Any]

INHERIT = "inherit"  # false: this mapping takes the place of the one it is laid over
NEGATIVES = "kim2019/table5"  # a table of this place, which `studies.negatives` asks for
FIGURE3 = "kim2019/figure3"  # of probabilities, which `studies.shares` asks for
FIGURE4 = "yang2019/figure4"  # a table of this place, which `studies.margins` asks for
SECTION3 = "kim2019/section3"  # a table of this place, for which `comparison` asks by naming encoders of POOLINGS
POOLINGS = {
    "max": "nmt_autoencoder",
    **{name: f"nmt_autoencoder_{name}" for name in ("mean", "first", "last", "attention")},
}
PRECISION, QUALITY = "precision", "quality"  # tables of our own: scorers by what they select, and by labels
PRETRAINED = "pretrained"  # the type of an encoder that is not trained in the run
SECTIONS = (
    "corpora",
    "encoders",
    "rescorers",
    "text.features",
    "methods",
    "translations",
)  # whose entries may have `pairs`
IDENTIFIERS = ("py3langid", "fasttext-lid176")  # of a language, in addition to `language_models` and files
TYPES = {"int": "integer", "float": "number", "bool": "boolean", "str": "string", "tuple": "array", "Sequence": "array", "Mapping": "object", "dict": "object"}  # fmt: skip


def read(
    base: Iterable[str | Path], overlays: Iterable[str | Path] = (), settings: Mapping[str, Any] | None = None
) -> Config:
    """Configuration files, each laid over those before it, then `settings` of the command line. See `laid_over`.

    As Snakemake has it, keys of the overlays come before those of the base: a trained model holds its configuration in
    this order. Raises InputError for a file that cannot be read, or in which a key appears twice.
    """
    over = laid_over(_merged(overlays), settings or {})
    return _without_marks(laid_over(laid_over(over, _merged(base)), over))


def _merged(paths: Iterable[str | Path]) -> Config:
    whole: Config = {}
    for path in paths:
        if not isinstance(held := read_yaml(path), dict):
            raise InputError("not a mapping", path, remedy="write 'key: value'")
        whole = laid_over(whole, held)
    return whole


def laid_over(base: Any, over: Mapping[str, Any]) -> Config:
    """`over` on top of `base`: mappings are merged, anything else is replaced; also a mapping that says `inherit:
    false`.
    """
    base = base if isinstance(base, Mapping) and over.get(INHERIT) is not False else {}
    return {**base, **{k: laid_over(base.get(k), v) if isinstance(v, Mapping) else v for k, v in over.items()}}


def _without_marks(value: Any) -> Any:
    """A copy without `inherit: false`, at any depth of mappings."""
    if not isinstance(value, dict):
        return value
    return {key: _without_marks(inner) for key, inner in value.items() if (key, inner) != (INHERIT, False)}


def schema() -> Config:
    """The JSON schema of a configuration, with what similarities and types of encoders declare."""
    return _schema(os.environ.get(members.PLUGINS, ""))


@cache
def _schema(plugins: str) -> Config:
    text = files("bitextbench").joinpath("schema.yaml").read_text(encoding="utf-8")
    whole = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # libyaml's is ten times faster
    definitions = whole["$defs"]
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

    kind = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {"references": references}, type_checker=TYPE_CHECKER
    )
    return kind(schema())


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


def check_part(kind: str, value: Any, where: str) -> None:
    """Check a part of a configuration by one of the schema's $defs. Raises InputError for the first of what is wrong."""
    part = {"$defs": schema()["$defs"], "$ref": f"#/$defs/{kind}"}
    if error := next(jsonschema.Draft202012Validator(part).iter_errors(_without_nulls(value)), None):
        raise InputError(_message(_deepest(error)), where)


def resolve(config: Config) -> Config:
    """The whole of a configuration: what an overlay left out by `null` taken out, an entry for each of `pairs`, a
    method for each of the `portions` of negatives, encoders and methods of other seeds, and those that studies train.

    Raises InputError for an unknown or missing key (showing the right one), a wrong value, or a name that nothing
    defines. What is resolved stays as it is.
    """
    config = _by_pairs(_without_nulls(config))
    set_plugins(config)
    if errors := sorted(_validator(config).iter_errors(config), key=_order):
        raise InputError(_message(_deepest(errors[0])), "config")
    _check_languages(config)
    _check_trainings(config)
    _check_roles(config)
    _check_pretrained(config)
    config["methods"] = dict(_by_portion(config["methods"]))
    for method in (*config["selection"]["methods"], *portions(config)):
        for seed in config["seeds"]:
            seeded(config, "methods", method, seed)
    for add_seeds in (selectors, judged):
        add_seeds(config)
    comparison = config.get("comparison", {"encoders": [], "seeds": []})
    for encoder in comparison["encoders"]:
        for seed in comparison["seeds"]:
            seeded(config, "encoders", encoder, seed)
    for name, encoder in _with_margins(config).values():
        config["encoders"].setdefault(name, encoder)
    for name, (translation, transformer) in _with_thresholds(config).items():
        config["translations"].setdefault(name, translation)
        config["transformers"].setdefault(translation["nmt"], transformer)
    return config


def set_plugins(config: Config) -> None:
    """Look for encoders and similarities in the configuration's folder of plugins, too, here and in the commands that
    start here.
    """
    if isinstance(folder := config.get("plugins"), str):
        if not Path(folder).is_dir():
            raise InputError(f"`plugins: {folder}` is no folder", "config", remedy="make it, or remove the key")
        os.environ[members.PLUGINS] = str(Path(folder).absolute())


def _without_nulls(value: Any) -> Any:
    """A copy without the keys whose value is null, at any depth of mappings."""
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}


def _by_pairs(config: Config) -> Config:
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
    """The methods that stand for a method with `portions`, called as the rows of kim2019 table 5, and the portion of
    each.
    """
    return {f"{name}-{p if p == 'random' else f'worst{round(100 * float(p))}'}": p for p in portions}


def portions(config: Config) -> list[str]:
    """The methods that the study of negatives compares: kim2019 table 5."""
    study = config.get("studies", {}).get("negatives")
    return [*portion_methods(study, config["methods"][study].get("negatives", {}).get("portions", []))] if study else []


def curves(config: Config) -> list[str]:
    """The methods whose selections are measured at every size."""
    return config.get("studies", {}).get("curves", scorers(config))


def selectors(config: Config) -> list[tuple[str, int, str]]:
    """(method, seed, the method of that seed) of the table of precision (see `_of_seeds`)."""
    return _of_seeds(config, PRECISION, [*curves(config), *portions(config)])


def judged(config: Config) -> list[tuple[str, str, int, str]]:
    """(corpus, method, seed, the method of that seed) of the table of quality (see `_of_seeds`)."""
    quality = config.get("quality", {})
    methods = quality.get("methods", scorers(config))
    return [
        (corpus, *of)
        for corpus, own in quality.get("corpora", {}).items()
        for of in _of_seeds(config, QUALITY, [*methods, *own])
    ]


def _of_seeds(config: Config, place: str, methods: Iterable[str]) -> list[tuple[str, int, str]]:
    """(method, seed, the method of that seed) for each seed of a table, or the run's seed of what learns nothing.

    Adds those of other seeds to the configuration (see `seeded`).
    """
    return [
        (method, seed, seeded(config, "methods", method, seed))
        for method in methods
        for seed in (seeds_of(config, place) if _learns(config["methods"][method]) else [config["seed"]])
    ]


def _learns(method: Config) -> bool:
    """Whether a method depends on its seed: not one of labels or of published scores."""
    return not {"labels", "dataset"} & {*declared(method["similarity"]).needs}


def scorers(config: Config) -> list[str]:
    """The methods that score any corpus of the run's languages by what they have learned: not labels, published scores,
    studies of negatives.
    """
    studied = {
        name
        for base, entry in config["methods"].items()
        if "portions" in entry.get("negatives", {})
        for name in (base, *portion_methods(base, entry["negatives"]["portions"]))
    }
    return [
        name
        for name, entry in config["methods"].items()
        if name not in studied and ".seed" not in name and "pair" not in entry and _learns(entry)
    ]


def _by_portion(methods: Config) -> Iterator[tuple[str, Config]]:
    for name, entry in methods.items():
        yield name, entry
        negatives = entry.get("negatives", {})
        for made, portion in portion_methods(name, negatives.get("portions", [])).items():
            rest = {key: value for key, value in negatives.items() if key != "portions"}
            yield made, entry | {"negatives": rest | {"portion": portion}}


def _filled(value: Any, pair: str, src: str, tgt: str) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, pair, src, tgt) for key, inner in value.items()}
    if isinstance(value, list):
        return [_filled(inner, pair, src, tgt) for inner in value]
    if isinstance(value, str):
        return value.replace("{pair}", pair).replace("{src}", src).replace("{tgt}", tgt)
    return value


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


def _check_languages(config: Config) -> None:
    """Every data set must have the languages of the corpus that takes it."""
    for name, corpus in config["corpora"].items():
        pair = corpus.get("pair", config["pair"])
        for number, part in enumerate(corpus["parts"]):
            has = registry.entry(part["dataset"]).langs if "dataset" in part else pair.values()
            wanted = [code for side, code in pair.items() if part.get("side", side) == side]
            unknown = [code for code in wanted if code not in has]
            if unknown and (len(has) > 1 or len(unknown) == len(wanted)):
                what = f"`corpora.{name}.parts.{number}` takes `{unknown[0]}` of {part['dataset']}, which has none"
                raise InputError(what, "config", remedy=near(unknown[0], has))


def _check_trainings(config: Config) -> None:
    """Every training must come to a development score: the best state is kept."""
    for section in ("encoders", "rescorers"):
        for name, entry in config.get(section, {}).items():
            most, every = (entry.get("training", {}).get(key) for key in ("updates", "valid_every"))
            if most and every and every > most:
                what = f"`{section}.{name}.training.valid_every: {every}` is more than its {most} updates"
                raise InputError(what, "config", remedy="validate at least once, to choose the best state")


def _check_roles(config: Config) -> None:
    for name, entry in config["encoders"].items():
        if entry["type"] != PRETRAINED:
            check_roles(entry, [*entry["corpora"], *({"hard"} & entry.keys())], f"config: encoders.{name}")


def check_roles(encoder: Config, roles: Iterable[str], where: str) -> None:
    """Raises InputError for text in a role (`hard`: hard negatives) from which an encoder of this type learns nothing.

    A type of which ROLES of its module says nothing takes any.
    """
    kind = encoder["type"]
    declared_roles = members.constants(members.source("encoders", kind)).get("ROLES")
    takes = ["valid", *(declared_roles or ()), *(encoder.get("model") or {}).get("pairs", ())]
    if declared_roles is not None and (unused := [role for role in roles if role not in takes]):
        remedy = f"take it out; it learns from {', '.join(takes)}"
        raise InputError(f"{kind} learns nothing from `{unused[0]}`", where, remedy=remedy)


def pretrained(config: Config) -> list[str]:
    """The encoders that are not trained in the run."""
    return [name for name, entry in config["encoders"].items() if entry.get("type") == PRETRAINED]


def _check_pretrained(config: Config) -> None:
    """A model that is there has no confidence, and no other seed. It is computed on the CPU unless it says otherwise."""
    for name in pretrained(config):
        entry = config["encoders"][name]
        entry.setdefault("gpus", 0)
        if ("name" in entry) == ("folder" in entry):
            has = "both `name` and `folder`" if "name" in entry else "neither `name` nor `folder`"
            remedy = "write `name: muse`, or `folder: models/LaBSE`, say"
            raise InputError(f"`encoders.{name}` has {has}", "config", remedy=remedy)
    uses = [
        (f"methods.{method}", entry["encoder"])
        for method, entry in config["methods"].items()
        if "encoder" in declared(entry["similarity"]).needs
    ]
    uses += [("comparison.encoders", name) for name in config.get("comparison", {}).get("encoders", [])]
    for place, name in uses:
        if name in pretrained(config):
            what = f"`{place}` wants an encoder that is trained here, and `{name}` is {PRETRAINED}"
            raise InputError(what, "config", remedy="name another encoder")


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


def of_seed(config: Config, name: str, seed: int) -> str:
    """The name of an entry as of another seed than the run's; a pair of languages stays at the end."""
    return name if seed == config["seed"] else re.sub(r"(\.[a-z]+-[a-z]+)?$", rf".seed{seed}\1", name, count=1)


def seeded(config: Config, kind: str, name: str, seed: int) -> str:
    """`of_seed`; adds the entry to the section `kind` of `config`. All that it learns from is of that seed, too.

    What is not trained here stays what it is.
    """
    if kind == "encoders" and name in pretrained(config):
        return name
    made = of_seed(config, name, seed)
    if made not in config[kind]:
        entry = config[kind][name] | {"seed": seed}
        for path, learned in LEARNED_FROM.items():
            entry = _renamed(entry, path, partial(seeded, config, learned, seed=seed))
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


def shares(config: Config) -> list[tuple[int, str]]:
    """(seed, the method of that seed) of the study of shares (see `_of_seeds`)."""
    methods = [config["studies"]["shares"]] if config.get("studies") else []
    return [(seed, made) for _, seed, made in _of_seeds(config, FIGURE3, methods)]


def margin_encoders(config: Config) -> list[tuple[float, int, str]]:
    """Margin, seed and name of the study's encoders (yang2019 figure 4): ones of the configuration, if it has such.

    Adds those of other seeds to the configuration (see `seeded`).
    """
    return [
        (margin, seed, seeded(config, "encoders", name, seed))
        for margin, (name, _) in _with_margins(config).items()
        for seed in seeds_of(config, FIGURE4)
    ]


def poolings(config: Config) -> list[tuple[str, int, str]]:
    """Row, seed and name of the encoders of kim2019 section 3.1 that `comparison` names; none without two of them."""
    compared = config.get("comparison", {"encoders": [], "seeds": []})
    rows = [row for row, encoder in POOLINGS.items() if encoder in compared["encoders"]]
    seeds = compared["seeds"] if len(rows) > 1 else []
    return [(row, seed, of_seed(config, POOLINGS[row], seed)) for row in rows for seed in seeds]


def threshold_translations(config: Config) -> dict[int, str]:
    """The study's translation models by the number of pairs that they are trained on (artetxe2019 figure 2), ascending."""
    made = {entry["train"]["selected"]["pairs"]: name for name, (entry, _) in _with_thresholds(config).items()}
    return dict(sorted(made.items()))


def _with_thresholds(config: Config) -> dict[str, tuple[Config, Config]]:
    """The translation and its transformer, for each share of the pairs; updates grow with the pairs, so that epochs are
    as many.
    """
    study = config.get("studies", {}).get("thresholds")
    if not study:
        return {}
    entry = config["translations"][study["translation"]]
    if "selected" not in entry["train"]:
        what = f"`studies.thresholds.translation: {study['translation']}` is not trained on selected pairs"
        raise InputError(what, "config", remedy="name one with `train: {selected: ...}`")
    selected, size = entry["train"]["selected"], config["transformers"][entry["nmt"]]
    name, _, pair = study["translation"].rpartition(".")
    made = {study["translation"]: (entry, size)} if 1 in study["shares"] else {}
    for share in study["shares"]:
        pairs = round(share * selected["pairs"])
        if share != 1:
            train = entry["train"] | {"selected": selected | {"pairs": pairs}}
            updates = {key: max(1, round(share * size[key])) for key in ("max_updates", "validate_every")}
            made[f"{name}_{pairs}.{pair}"] = entry | {"train": train, "nmt": f"{entry['nmt']}_{pairs}"}, size | updates
    return made


def _with_margins(config: Config) -> dict[float, tuple[str, Config]]:
    study = config.get("studies", {}).get("margins", {"values": []})
    encoders = config["encoders"]
    made = {}
    for margin in study["values"]:
        entry = encoders[study["encoder"]]
        entry = entry | {"model": entry["model"] | {"margin": margin}}
        same = (name for name, known in encoders.items() if known == entry)
        made[margin] = next(same, f"{study['encoder']}.margin{margin}"), entry
    return made


def sharers(config: Config, encoder: str) -> list[str]:
    """The encoders that want the same hard negatives as this one, in order."""

    def wanted(spec: Config) -> tuple[Any, ...]:
        return spec.get("hard"), spec.get("features"), spec.get("corpora", {}).get("bitext")

    encoders = config["encoders"]
    return [name for name, spec in encoders.items() if wanted(spec) == wanted(encoders[encoder])]


def hard_directions(config: Config, encoder: str) -> str:
    """`both`, or `forward` where no encoder that shares these hard negatives is trained in both directions."""
    specs = [config["encoders"][name] for name in sharers(config, encoder)]
    both = any(s["type"] == "transformer_dual" and s["model"].get("direction", "both") == "both" for s in specs)
    return "both" if both else "forward"
