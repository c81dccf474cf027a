"""Published sentence encoders from a folder: sentence-transformers' format, or a plain model of transformers.

| files | what is computed |
|---|---|
| modules.json | its modules, in order: Transformer, Pooling, Dense, Normalize |
| config.json, model.safetensors, tokenizer | the mean over the tokens of the last layer |

`published` has what encoders of all formats share that others have trained. A configuration calls each of them
`type: pretrained`, as the run does not train it.

Only safetensors are read, no code of the folder is run, and nothing is fetched. sentence-transformers is not needed; a
test compares with it.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bitextbench.base import names
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.encoders import pretrained_json
from bitextbench.encoders.published import ModelTokens, Published, fingerprint, key_of, verify_weights

MARKS = ("modules.json", "config.json")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
READ = (".json", ".txt", ".model", ".safetensors")  # files that decide what the vectors are
ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU", "Sigmoid", "LeakyReLU", "ELU", "SELU", "Mish", "Softplus")
POOLING = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
Step = Callable[[torch.Tensor], torch.Tensor]


class Pretrained(Published):
    """A Transformer with what follows it.

    `prefix` is put before each sentence ("query: " for e5); without one, the default prompt that the folder names, if any.
    Raises InputError for a folder that lacks something, wants code of its own, or has its weights in a pickle, and for
    weights that differ from their sums.
    """

    def __init__(self, folder: Path, *, prefix: str | None = None, **machine: Any) -> None:
        super().__init__(**machine)
        self.name = str(folder)
        self.prefix = default_prompt(folder) if prefix is None else prefix
        verify_weights(folder, sorted(folder.rglob("*.safetensors")))
        modules = pretrained_json.read(folder / MARKS[0], pretrained_json.MODULES, usual=[])
        (place, *others) = [(part["type"].rsplit(".", 1)[-1], folder / part["path"]) for part in modules] or [
            ("Transformer", folder)
        ]
        if place[0] != "Transformer":
            raise InputError(
                f"the first module is {place[0]}, not Transformer",
                folder / MARKS[0],
                remedy="use a model whose first module is Transformer",
            )
        self.model, self.tokenizer, self.most, self.lower = transformer(place[1])
        self.model.to(self.device)
        self.dimension = self.model.config.hidden_size
        self.pooling, self.whole = ["mean_tokens"], True
        self.steps: list[Step] = []
        for kind, path in others:
            self.add(kind, path)
        before = self.tokenizer(self.prefix)["input_ids"] if self.prefix and not self.whole else []
        self.skipped = max(
            0, len(before) - 1
        )  # tokens of the prefix that are not pooled; the last is the mark of the end
        files = (path for path in folder.rglob("*") if path.suffix in READ and path.is_file())
        self.key = key_of(fingerprint(folder, files, self.prefix), self.device, self.dtype)

    def add(self, kind: str, path: Path) -> None:
        """Add a module behind the Transformer. Raises InputError for a kind that is not known."""
        match kind:
            case "Pooling":
                settings = pretrained_json.read(path / "config.json", pretrained_json.POOLING)
                self.pooling, self.whole = pooling(settings, path), settings.get("include_prompt", True)
                self.dimension *= len(self.pooling)
            case "Dense":
                step, self.dimension = dense(path, self.dimension, self.device)
                self.steps.append(step)
            case "Normalize":
                self.steps.append(lambda vectors: torch.nn.functional.normalize(vectors, dim=1))
            case _:
                remedy = "Transformer, Pooling, Dense and Normalize are"
                raise InputError(f"the module {kind} is not supported", path.parent / MARKS[0], remedy=remedy)

    def tokens(self, lines: list[str]) -> ModelTokens:
        """The inputs of the Transformer, cut after the most tokens that it takes."""
        texts = [self.prefix + (line.lower() if self.lower else line) for line in lines]
        columns = dict(self.tokenizer(texts, truncation=True, max_length=self.most, return_overflowing_tokens=False))
        cut = np.zeros(len(texts), bool)
        full = np.flatnonzero([len(ids) == self.most for ids in columns["input_ids"]])
        if len(full):
            cut[full] = [len(ids) > self.most for ids in self.tokenizer([texts[row] for row in full])["input_ids"]]
        return ModelTokens(columns, cut)

    def vectors(self, columns: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.pooled(self.model(**columns).last_hidden_state.float())

    def pooled(self, states: torch.Tensor) -> torch.Tensor:
        """Sentence vectors [b, dimension] from the states of tokens [b, t, d], all of one length."""
        first = min(self.skipped, states.shape[1] - 1)
        vectors = torch.cat([pool(states, kind, first) for kind in self.pooling], 1)
        for step in self.steps:
            vectors = step(vectors)
        return vectors


def pool(states: torch.Tensor, kind: str, first: int) -> torch.Tensor:
    """One vector [b, d] of the states [b, t, d] from token `first` on."""
    used = states[:, first:]
    match kind:
        case "cls_token":
            return used[:, 0]
        case "max_tokens":
            return used.amax(1)
        case "mean_tokens":
            return used.mean(1)
        case "mean_sqrt_len_tokens":
            return used.sum(1) / used.shape[1] ** 0.5
        case "weightedmean_tokens":
            weights = torch.arange(first + 1, states.shape[1] + 1, dtype=states.dtype, device=states.device)[:, None]
            return (used * weights).sum(1) / weights.sum()
    return used[:, -1]


def pooling(settings: dict[str, Any], path: Path) -> list[str]:
    """The kinds of pooling, in the order in which their vectors stand. Raises InputError for an unknown one."""
    named = settings.get("pooling_mode")
    if named is None:
        return [kind for kind in POOLING if settings.get(f"pooling_mode_{kind}")] or ["mean_tokens"]
    short = {kind.removesuffix("_token").removesuffix("_tokens"): kind for kind in POOLING} | {
        kind: kind for kind in POOLING
    }
    kinds = [named] if isinstance(named, str) else named
    if unknown := [kind for kind in kinds if kind not in short]:
        raise InputError(f"unknown pooling {unknown[0]!r}", path / "config.json", remedy=f"known: {', '.join(POOLING)}")
    return [short[kind] for kind in kinds]


def dense(path: Path, inputs: int, device: torch.device) -> tuple[Step, int]:
    """A linear layer with its activation, and the size of its output. Raises InputError for one that is not supported."""
    settings = pretrained_json.read(path / "config.json", pretrained_json.DENSE)
    if settings["in_features"] != inputs:
        what = f"in_features is {settings['in_features']:,}, but the module before it has {inputs:,} outputs"
        raise InputError(what, path / "config.json", remedy="fetch the model again")
    name = str(settings.get("activation_function") or "Identity").rsplit(".", 1)[-1]
    if (
        name not in ACTIVATIONS
        or settings.get("use_residual")
        or ("module_input_name" in settings and settings["module_input_name"] != "sentence_embedding")
    ):
        raise InputError(f"a Dense of this kind ({name}) is not supported", path, remedy="use another model")
    activation = getattr(torch.nn, name)
    layer = torch.nn.Linear(settings["in_features"], settings["out_features"], settings.get("bias", True))
    try:
        layer.load_state_dict({key.removeprefix("linear."): value for key, value in weights(path).items()})
    except RuntimeError as error:
        what = f"weights do not fit config.json ({str(error).splitlines()[-1].strip()})"
        raise InputError(what, path, remedy="fetch the model again") from None
    module = torch.nn.Sequential(layer, activation()).to(device).eval()
    return module, settings["out_features"]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The tensors of `model.safetensors`. Raises InputError where there is none, or it is damaged."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    check_weights(folder)
    try:
        return load_file(names.utf8(folder / "model.safetensors"))
    except (SafetensorError, OSError) as error:
        what = f"cannot be read ({error})"
        raise InputError(what, folder / "model.safetensors", remedy="fetch the model again") from None


def check_weights(folder: Path) -> None:
    """Raises InputError for a folder without safetensors."""
    if list(folder.glob("model*.safetensors")):
        return
    if pickles := sorted(folder.glob("*.bin")):
        remedy = "convert it to model.safetensors, or fetch a revision that has that"
        raise InputError("weights in a pickle, which may run code, are not read", pickles[0], remedy=remedy)
    raise InputError("no such file", folder / "model.safetensors", remedy="fetch the whole model")


def transformer(folder: Path) -> tuple[Any, Any, int, bool]:
    """The model, its tokenizer, the most tokens of a sentence, and whether letters are lowered first.

    Raises InputError for a folder that lacks something, wants code of its own, or is of an unknown kind.
    """
    os.environ["HF_HUB_OFFLINE"] = "1"
    config = pretrained_json.read(folder / "config.json", pretrained_json.CONFIG)
    if config.get("auto_map"):
        remedy = "use a model of a type that the library transformers has"
        raise InputError(
            "the model needs code of its own (auto_map), which is not run", folder / "config.json", remedy=remedy
        )
    if config.get("is_encoder_decoder"):
        raise InputError(
            "the model has a decoder", folder / "config.json", remedy="use a model that is an encoder only"
        )
    check_weights(folder)
    if not any((folder / name).exists() for name in TOKENIZERS):
        raise InputError("has no tokenizer", folder, remedy=f"fetch one of {', '.join(TOKENIZERS)} with the model")
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        model, said = AutoModel.from_pretrained(
            names.utf8(folder), use_safetensors=True, dtype=torch.float32, output_loading_info=True, **local
        )
        tokenizer = AutoTokenizer.from_pretrained(names.utf8(folder), **local)
    except Exception as error:  # transformers checks little, and raises whatever the wrong value leads to
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot be loaded ({reason})", folder, remedy="fetch the whole model again") from None
    if missing := sorted(name for name in said["missing_keys"] if "pooler" not in name):
        what = f"weights lack {missing[0]} and {len(missing) - 1:,} others"
        raise InputError(what, folder, remedy="fetch the whole model again")
    own = pretrained_json.read(folder / "sentence_bert_config.json", pretrained_json.SENTENCES, usual={})
    most, marks = most_tokens(own, model.config, tokenizer), tokenizer.num_special_tokens_to_add()
    if most <= marks:
        what = f"the model takes {most} tokens a sentence, but {marks} have to mark its beginning and end"
        raise InputError(what, folder, remedy="fetch the model again")
    return model.eval(), tokenizer, most, bool(own.get("do_lower_case"))


def most_tokens(own: dict[str, Any], config: Any, tokenizer: Any) -> int:
    """The most tokens of a sentence, as sentence-transformers has it: its own setting, else what the tokenizer allows;
    never more than there are positions.
    """
    most = own.get("max_seq_length") or tokenizer.model_max_length
    return int(min(most, getattr(config, "max_position_embeddings", None) or 1 << 20, 1 << 20))


def default_prompt(folder: Path) -> str:
    """The prompt that config_sentence_transformers.json names as the default, or none; logs others that there are."""
    path = folder / "config_sentence_transformers.json"
    settings = pretrained_json.read(path, pretrained_json.PROMPTS, usual={})
    prompts, name = settings.get("prompts") or {}, settings.get("default_prompt_name")
    if name is not None and name not in prompts:
        raise InputError(f"default_prompt_name: {name!r} is none of the prompts", path, remedy="fetch the model again")
    if name is not None:
        return str(prompts[name])
    if others := sorted({prompt for prompt in prompts.values() if prompt}):
        log(
            f"{folder}: no prompt is put before the sentences; the model has {', '.join(map(repr, others))}; choose one with --prefix"
        )
    return ""
