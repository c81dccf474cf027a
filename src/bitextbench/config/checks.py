"""What no schema says: whether languages, text, updates and published encoders of a configuration go together."""

from bitextbench.base.errors import InputError, near
from bitextbench.config import PRETRAINED, Config
from bitextbench.config.encoders import check_roles, pretrained
from bitextbench.data import registry
from bitextbench.scoring import declared


def check(config: Config) -> None:
    """Raises InputError for the first of what does not go together."""
    _check_languages(config)
    _check_trainings(config)
    _check_roles(config)
    _check_word_vectors(config)
    _check_pretrained(config)


def _check_languages(config: Config) -> None:
    """Every data set must have the languages of the corpus that takes it."""
    for name, corpus in config["corpora"].items():
        pair = corpus.get("pair", config["pair"])
        for number, part in enumerate(corpus["parts"]):
            has = registry.entry(part["dataset"]).langs if "dataset" in part else pair.values()
            wanted = [code for side, code in pair.items() if part.get("side", side) == side]
            unknown = [code for code in wanted if code not in has]
            if unknown and (len(has) > 1 or len(unknown) == len(wanted)):
                what = f"`corpora.{name}.parts.{number}` asks for `{unknown[0]}` of {part['dataset']}, which does not have it"
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


def _check_word_vectors(config: Config) -> None:
    """Vectors of pieces must be of the BPE that the encoder reads: of another one, some pieces match by chance."""
    for name, entry in config["encoders"].items():
        given = entry.get("vectors", {})
        wants = {} if isinstance(given, dict) else config["word_vectors"][given]
        if "features" in wants and wants["features"] != entry["features"]:
            what = f"`encoders.{name}` reads pieces of {entry['features']}, but its `vectors: {given}` are of {wants['features']}"
            raise InputError(what, "config", remedy=f"write `word_vectors.{given}.features: {entry['features']}`")


def _check_pretrained(config: Config) -> None:
    """A model that is there has no confidence, and no other seed. It is computed on the CPU unless it says otherwise."""
    for name in pretrained(config):
        entry = config["encoders"][name]
        entry.setdefault("gpus", 0)
        if ("name" in entry) == ("folder" in entry):
            has = "both `name` and `folder`" if "name" in entry else "neither `name` nor `folder`"
            remedy = "write for example `name: muse` or `folder: models/LaBSE`"
            raise InputError(f"`encoders.{name}` has {has}", "config", remedy=remedy)
    uses = [
        (f"methods.{method}", entry["encoder"])
        for method, entry in config["methods"].items()
        if "encoder" in declared(entry["similarity"]).needs
    ]
    uses += [("comparison.encoders", name) for name in config.get("comparison", {}).get("encoders", [])]
    for place, name in uses:
        if name in pretrained(config):
            what = f"`{place}` needs an encoder that is trained here, but `{name}` is {PRETRAINED}"
            raise InputError(what, "config", remedy="name another encoder")
