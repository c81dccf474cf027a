"""Published sentence encoders from a folder: sentence-transformers' format, or a plain model of transformers.

| files | what is computed |
|---|---|
| modules.json | its modules, in order: Transformer, Pooling, Dense, Normalize |
| config.json, model.safetensors, tokenizer | the mean over the tokens of the last layer |

Only safetensors are read, no code of the folder is run, and nothing is fetched. sentence-transformers is not needed; a test
compares with it. Sentences of one length are computed together: there is no padding, and vectors do not depend on the batch.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench.base.device import setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import read_json
from bitextbench.base.languages import check_language
from bitextbench.base.progress import log
from bitextbench.encoders.batches import batches_of_one_length
from bitextbench.encoders.encode import ROWS
from bitextbench.encoders.plain import Encoded

MARKS = ("modules.json", "config.json")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
READ = (".json", ".txt", ".model", ".safetensors")  # files that decide what the vectors are
POOLING = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
BATCH_TOKENS = 4096
Step = Callable[[torch.Tensor], torch.Tensor]


class Pretrained:
    """A published encoder that encodes plain sentences of any language; see `plain.SentenceEncoder`.

    `prefix` is put before each sentence ("query: " for e5); without one, the default prompt that the folder names, if any.
    Raises InputError for a folder that lacks something, wants code of its own, or has its weights in a pickle.
    """

    def __init__(self, folder: Path, *, prefix: str | None = None, threads: int = 1, device: str = "cpu") -> None:
        self.name, self.device = str(folder), setup(threads, device)
        self.prefix = default_prompt(folder) if prefix is None else prefix
        modules = read_json(folder / MARKS[0]) if (folder / MARKS[0]).exists() else []
        (place, *others) = [(part["type"].rsplit(".", 1)[-1], folder / part["path"]) for part in modules] or [
            ("Transformer", folder)
        ]
        if place[0] != "Transformer":
            raise InputError(
                f"begins with {place[0]}", folder / MARKS[0], remedy="take a model that begins with Transformer"
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
        self.key = f"{fingerprint(folder, self.prefix)}-{self.device.type}"

    def add(self, kind: str, path: Path) -> None:
        """Add a module behind the Transformer. Raises InputError for a kind that is not known."""
        match kind:
            case "Pooling":
                settings = read_json(path / "config.json")
                self.pooling, self.whole = pooling(settings, path), settings.get("include_prompt", True)
                self.dimension *= len(self.pooling)
            case "Dense":
                step, self.dimension = dense(path, self.device)
                self.steps.append(step)
            case "Normalize":
                self.steps.append(lambda vectors: torch.nn.functional.normalize(vectors, dim=1))
            case _:
                remedy = "Transformer, Pooling, Dense and Normalize are"
                raise InputError(f"the module {kind} is not supported", path.parent / MARKS[0], remedy=remedy)

    def side(self, language: str | None, wanted: str | None = None, *, usual: str | None = None) -> str:
        """One side for all languages. Raises InputError for what is no language code, and where a side is `wanted`."""
        if wanted is not None:
            raise InputError("has one side for all languages", self.name, remedy="leave the side out")
        if language is not None:
            check_language(language, "--language")
        return "any"

    @torch.inference_mode()
    def encode(
        self, lines: list[str], language: str | None, side: str, vectors: NDArray[np.float32]
    ) -> Iterator[Encoded]:
        """Fill `vectors` [len(lines), dimension]; empty sentences keep zeros. Sentences of too many tokens are cut."""
        full = np.array([row for row, line in enumerate(lines) if line.strip()], np.int64)
        texts = [self.prefix + (lines[row].strip().lower() if self.lower else lines[row].strip()) for row in full]
        yield Encoded(len(lines) - len(full))
        if not texts:
            return
        tokens = self.tokenizer(texts, truncation=True, max_length=self.most, return_overflowing_tokens=False)
        lengths = np.array([len(ids) for ids in tokens["input_ids"]])
        at_most = np.flatnonzero(lengths == self.most)
        whole = self.tokenizer([texts[row] for row in at_most])["input_ids"] if len(at_most) else []
        cut = np.zeros(len(texts), bool)
        cut[at_most] = [len(ids) > self.most for ids in whole]
        for rows in batches_of_one_length(lengths, BATCH_TOKENS, BATCH_TOKENS):
            filled = [*rows, *rows[-1:].repeat(-len(rows) % ROWS)]
            given = {
                name: torch.tensor([column[row] for row in filled], device=self.device)
                for name, column in tokens.items()
            }
            batch_vectors = self.pooled(self.model(**given).last_hidden_state.float())[: len(rows)].cpu().numpy()
            if not np.isfinite(batch_vectors).all():
                raise InputError("a vector is not finite", self.name, remedy="fetch the model again")
            vectors[full[rows]] = batch_vectors
            yield Encoded(len(rows), int(cut[rows].sum()))

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


def dense(path: Path, device: torch.device) -> tuple[Step, int]:
    """A linear layer with its activation, and the size of its output. Raises InputError for one that is not supported."""
    settings = read_json(path / "config.json")
    name = str(settings.get("activation_function") or "Identity").rsplit(".", 1)[-1]
    activation = getattr(torch.nn.modules.activation, name, None) or getattr(torch.nn, name, None)
    if (
        activation is None
        or settings.get("use_residual")
        or ("module_input_name" in settings and settings["module_input_name"] != "sentence_embedding")
    ):
        raise InputError(f"a Dense of this kind ({name}) is not supported", path, remedy="take another model")
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
        return load_file(folder / "model.safetensors")
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
    config = read_json(folder / "config.json")
    if config.get("auto_map"):
        remedy = "it is not run: take a model of a kind that transformers has"
        raise InputError("wants code of its own (auto_map)", folder / "config.json", remedy=remedy)
    if config.get("is_encoder_decoder"):
        raise InputError("is a model with a decoder", folder / "config.json", remedy="take an encoder")
    check_weights(folder)
    if not any((folder / name).exists() for name in TOKENIZERS):
        raise InputError("has no tokenizer", folder, remedy=f"fetch one of {', '.join(TOKENIZERS)} with the model")
    from safetensors import SafetensorError
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        model, said = AutoModel.from_pretrained(
            folder, use_safetensors=True, dtype=torch.float32, output_loading_info=True, **local
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot be loaded ({reason})", folder, remedy="fetch the whole model again") from None
    if missing := sorted(name for name in said["missing_keys"] if "pooler" not in name):
        what = f"weights lack {missing[0]} and {len(missing) - 1:,} others"
        raise InputError(what, folder, remedy="fetch the whole model again")
    own = read_json(path) if (path := folder / "sentence_bert_config.json").exists() else {}
    return model.eval(), tokenizer, most_tokens(own, model.config, tokenizer), bool(own.get("do_lower_case"))


def most_tokens(own: dict[str, Any], config: Any, tokenizer: Any) -> int:
    """The most tokens of a sentence, as sentence-transformers has it: its own setting, else what tokenizer and positions allow."""
    if own.get("max_seq_length"):
        return int(own["max_seq_length"])
    return int(min(tokenizer.model_max_length, getattr(config, "max_position_embeddings", None) or 1 << 20, 1 << 20))


def default_prompt(folder: Path) -> str:
    """The prompt that config_sentence_transformers.json names as the default, or none; logs others that there are."""
    path = folder / "config_sentence_transformers.json"
    settings = read_json(path) if path.exists() else {}
    prompts, name = settings.get("prompts") or {}, settings.get("default_prompt_name")
    if name is not None:
        return str(prompts[name])
    if others := sorted({prompt for prompt in prompts.values() if prompt}):
        log(f"{folder}: no prompt is used; it knows {', '.join(map(repr, others))}: choose one by --prefix")
    return ""


def fingerprint(folder: Path, prefix: str) -> str:
    """A hash of the prefix and of all files that decide what the vectors are."""
    digest = xxhash.xxh3_64(prefix.encode())
    for path in sorted(path for path in folder.rglob("*") if path.suffix in READ and path.is_file()):
        digest.update(str(path.relative_to(folder)).encode())
        with open(path, "rb") as file:
            while data := file.read(1 << 20):
                digest.update(data)
    return digest.hexdigest()
