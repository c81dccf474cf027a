"""The studies of a configuration: which methods, encoders and translations each compares."""

from collections.abc import Iterator

from bitextbench.base.errors import InputError
from bitextbench.config import FIGURE3, FIGURE4, POOLINGS, PRECISION, QUALITY, Config
from bitextbench.config.seeds import learns, of_seed, of_seeds, seeds_of


def portion_methods(name: str, portions: list[float | str]) -> dict[str, float | str]:
    """The methods that stand for a method with `portions`, called as the rows of kim2019 table 5, and the portion of
    each.
    """
    return {f"{name}-{p if p == 'random' else f'worst{round(100 * float(p))}'}": p for p in portions}


def portions(config: Config) -> list[str]:
    """The methods that the study of negatives compares: kim2019 table 5."""
    study = config.get("studies", {}).get("negatives")
    return [*portion_methods(study, config["methods"][study].get("negatives", {}).get("portions", []))] if study else []


def by_portion(methods: Config) -> Iterator[tuple[str, Config]]:
    for name, entry in methods.items():
        yield name, entry
        negatives = entry.get("negatives", {})
        for made, portion in portion_methods(name, negatives.get("portions", [])).items():
            rest = {key: value for key, value in negatives.items() if key != "portions"}
            yield made, entry | {"negatives": rest | {"portion": portion}}


def curves(config: Config) -> list[str]:
    """The methods whose selections are measured at every size."""
    return config.get("studies", {}).get("curves", scorers(config))


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
        if name not in studied and ".seed" not in name and "pair" not in entry and learns(entry)
    ]


def selectors(config: Config) -> list[tuple[str, int, str]]:
    """(method, seed, the method of that seed) of the table of precision (see `of_seeds`)."""
    return of_seeds(config, PRECISION, [*curves(config), *portions(config)])


def judged(config: Config) -> list[tuple[str, str, int, str]]:
    """(corpus, method, seed, the method of that seed) of the table of quality (see `of_seeds`)."""
    quality = config.get("quality", {})
    methods = quality.get("methods", scorers(config))
    return [
        (corpus, *of)
        for corpus, more in quality.get("corpora", {}).items()
        for of in of_seeds(config, QUALITY, [*methods, *more])
    ]


def shares(config: Config) -> list[tuple[str, int, str]]:
    """(method, seed, the method of that seed) of the study of shares (see `of_seeds`)."""
    return of_seeds(config, FIGURE3, [config["studies"]["shares"]] if config.get("studies") else [])


def margin_encoders(config: Config) -> list[tuple[float, int, str]]:
    """Margin, seed and name of the study's encoders (yang2019 figure 4): ones of the configuration, if it has such."""
    return [
        (margin, seed, of_seed(config, "encoders", name, seed))
        for margin, (name, _) in with_margins(config).items()
        for seed in seeds_of(config, FIGURE4)
    ]


def with_margins(config: Config) -> dict[float, tuple[str, Config]]:
    study = config.get("studies", {}).get("margins", {"values": []})
    encoders = config["encoders"]
    made = {}
    for margin in study["values"]:
        entry = encoders[study["encoder"]]
        entry = entry | {"model": entry["model"] | {"margin": margin}}
        same = (name for name, known in encoders.items() if known == entry)
        made[margin] = next(same, f"{study['encoder']}.margin{margin}"), entry
    return made


def poolings(config: Config) -> list[tuple[str, int, str]]:
    """Row, seed and name of the encoders of kim2019 section 3.1 that `comparison` names; none without two of them."""
    compared = config.get("comparison", {"encoders": [], "seeds": []})
    rows = [row for row, encoder in POOLINGS.items() if encoder in compared["encoders"]]
    seeds = compared["seeds"] if len(rows) > 1 else []
    return [(row, seed, of_seed(config, "encoders", POOLINGS[row], seed)) for row in rows for seed in seeds]


def threshold_translations(config: Config) -> dict[int, str]:
    """The study's translation models by the number of pairs that they are trained on (artetxe2019 figure 2), ascending."""
    made = {entry["train"]["selected"]["pairs"]: name for name, (entry, _) in with_thresholds(config).items()}
    return dict(sorted(made.items()))


def with_thresholds(config: Config) -> dict[str, tuple[Config, Config]]:
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
