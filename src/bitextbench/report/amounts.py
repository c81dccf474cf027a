"""Sizes of the trainings that a configuration describes: pairs, examples, epochs, tokens, parameters, FLOPs.

| name | of | is |
|---|---|---|
| pairs | a corpus | its rows before filters, exclusions and duplicates, by the counts of the registry |
| examples | a training | updates x batch, in pairs |
| epochs | a training | examples / pairs; `shared_seq2seq` uses each pair twice in an epoch, once in each direction |
| tokens | a training | tokens of one update: of all encoded sentences, or of one side where a decoder runs as well |
| parameters | an encoder | all parameters, at the configured sizes |
| flops | a training | 6 x parameters that a token is multiplied with x tokens x updates; embedding tables do not count |

A training is `encoders.<name>` or `translations.<name>`. Every sentence counts as TOKENS tokens, as the text of paper
scale cannot be counted here. If a data set has no known count, the amount is a text with a bound: "at most 3.2; no
count of x".
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from bitextbench.config import Config
from bitextbench.data import registry

PUBLISHED = {"bert-base-multilingual-cased": 119_547, "e5-small": 250_002}  # pieces
TOKENS = 30  # of a sentence; zhang2016 section 6.1 has 28 words in Chinese, 30 in English
Amount = float | str


class Count(NamedTuple):
    """The sum of the known counts of rows, and the names of the data sets without a known count."""

    known: int
    uncounted: tuple[str, ...] = ()


class TrainingSize(NamedTuple):
    """The size of a training.

    `batch`: pairs in an update; `tokens`: tokens in an update; `pairs`: pairs in an epoch. `met()` returns the number
    of multiplications in an update: parameters times the tokens that are multiplied with them.
    """

    updates: int
    batch: float
    tokens: float
    pairs: Count
    met: Callable[[], float]

    def flops(self) -> float:
        return 6 * self.met() * self.updates


def pairs(config: Config, path: str) -> Amount:
    return said(rows(config, [path.removeprefix("corpora.")]), lambda known: known, "at least")


def examples(config: Config, path: str) -> Amount:
    made = training(config, path)
    return rounded(made.updates * made.batch)


def epochs(config: Config, path: str) -> Amount:
    made = training(config, path)
    return said(made.pairs, lambda known: made.updates * made.batch / known, "at most")


def tokens(config: Config, path: str) -> Amount:
    return rounded(training(config, path).tokens)


def parameters(config: Config, path: str) -> Amount:
    model = _model(config, config["encoders"][path.removeprefix("encoders.")])
    return sum(parameter.numel() for parameter in model.parameters())


def flops(config: Config, path: str) -> Amount:
    return rounded(training(config, path).flops())


AMOUNTS = {function.__name__: function for function in (pairs, examples, epochs, tokens, parameters, flops)}


def training(config: Config, path: str) -> TrainingSize:
    kind, _, name = path.partition(".")
    return {"encoders": _encoder, "translations": _translation}[kind](config, config[kind][name])


def said(count: Count, of: Callable[[int], float], bound: str) -> Amount:
    """`of(known)` rounded; if some data set has no count, a text with `bound`, that number and the uncounted names."""
    if not count.uncounted:
        return rounded(of(count.known))
    missing = f"no count of {', '.join(count.uncounted)}"
    return f"{bound} {rounded(of(count.known)):,}; {missing}" if count.known else f"unknown; {missing}"


def rounded(number: float) -> float:
    """The number to three digits, as an int from 100 on."""
    short = float(f"{number:.3g}")
    return int(short) if short >= 100 else short


def rows(config: Config, corpora: Iterable[str], times: int = 1) -> Count:
    known, uncounted = 0, []
    for part in (part for corpus in corpora for part in config["corpora"][corpus]["parts"]):
        name = part.get("dataset", "a text of one's own")
        there = registry.entry(name).pairs if "dataset" in part else None
        if there is not None:
            known += min(max(there - part.get("skip", 0), 0), part.get("lines", there))
        elif "lines" in part:
            known += part["lines"]
        else:
            uncounted.append(name)
    return Count(known * times, tuple(dict.fromkeys(uncounted)))


def gpu_seconds(gpu: Mapping[str, Any], share: str, flops: float, updates: int = 0) -> float:
    """What products, or a training of so many updates, take on one GPU, at the rates `gpu` of `rates.yaml`."""
    least = updates * gpu["update"][share] if updates else 0
    return max(flops / gpu["flops"] / gpu["shares"][share], least)


def _encoder(config: Config, spec: dict[str, Any]) -> TrainingSize:
    kind, model = spec["type"], spec["model"]
    batch = spec["training"]["batch"] * max(1, spec["gpus"])
    bitexts = [corpus for role, corpus in spec["corpora"].items() if role not in ("valid", "mono", "calibration")]
    sides = 2 if kind == "transformer_dual" and model["direction"] == "both" else 1
    hard = spec.get("hard", {"count": 0, "share": 0})
    negatives = hard["count"] * hard["share"] or model.get("extra", 0)  # of an example
    decodes = kind in ("nmt_autoencoder", "pivot_nmt", "shared_seq2seq")
    sentences = batch if decodes else batch * (2 + sides * negatives)
    # the networks of Guo et al. meet a sentence once, and each language has its own
    passes = sentences / 2 if kind == "dan_dual" else sentences * TOKENS
    return TrainingSize(
        spec["training"]["updates"],
        batch / 2 if kind == "nmt_autoencoder" else batch,  # the other half is autoencoded
        sentences * TOKENS,
        rows(config, bitexts, times=2 if kind == "shared_seq2seq" else 1),
        lambda: passes * _computing(_model(config, spec)),
    )


def _translation(config: Config, spec: dict[str, Any]) -> TrainingSize:
    size, train = config["transformers"][spec["nmt"]], spec["train"]
    whole = [*train.get("corpora", []), *([train["mined"]["corpus"]] if "mined" in train else [])]
    paired = rows(config, whole)
    tokens = size["max_tokens"] * size["update_freq"] * max(1, size["gpus"])
    return TrainingSize(
        size["max_updates"],
        tokens / TOKENS,
        tokens,
        paired._replace(known=paired.known + train.get("selected", {"pairs": 0})["pairs"]),
        lambda: tokens * transformer(size, size["vocab_size"]),
    )


def transformer(size: Mapping[str, Any], vocabulary: int) -> int:
    """The number of parameters in the matrix products of a fairseq Transformer, without biases."""
    width, inner = size["embed_dim"], size["ffn_dim"]
    return size["layers"] * (12 * width**2 + 4 * width * inner) + vocabulary * width


def sized(config: Config, spec: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The sizes of an encoder's model, with those that its features determine, and the size of its vocabulary."""
    of, model = config["text"]["features"][spec["features"]], dict(spec["model"])
    if of["type"] == "words":
        model["words"] = 1 + of["unigrams"]
        return model, model["words"] + of["bigrams"]
    if of["type"] == "ngrams":
        model["words"] = 1 + of["vocab"] + of["oov"]
        return model, model["words"] + of["buckets"]
    if "dataset" in of:
        return model, PUBLISHED[of["dataset"]]
    return model, of["vocab"] + 2 * (of["type"] == "vocabulary")  # padding, and all other words


def _model(config: Config, spec: dict[str, Any]) -> Any:
    """The encoder at its configured size, without memory for its weights."""
    from bitextbench import encoders
    from bitextbench.base.device import torch

    model, size = sized(config, spec)
    with torch.device("meta"):
        return encoders.create({**spec, "model": model}, size)


def _computing(model: Any) -> int:
    """The number of parameters in matrix products: all but embedding tables."""
    from bitextbench.base.device import torch

    tables = {id(part.weight) for part in model.modules() if isinstance(part, torch.nn.Embedding)}
    named = [(name, parameter) for name, parameter in model.named_parameters() if id(parameter) not in tables]
    return sum(parameter.numel() for name, parameter in named if not name.startswith("embeddings"))
