"""The JSON files of the folders that `pretrained` reads, checked before anything is made of them."""

from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json

AGAIN = "fetch the model again"
Schema = dict[str, Any]


def size(most: int) -> Schema:
    return {"type": "integer", "minimum": 1, "maximum": most}


def of(**properties: Schema) -> Schema:
    """A mapping with some keys of these kinds; it may have others."""
    return {"type": "object", "properties": properties}


TEXT, FLAG = {"type": "string"}, {"type": ["boolean", "null"]}
MODULES = {
    "type": "array",
    "minItems": 1,
    "maxItems": 16,
    "items": of(
        type={"type": "string", "pattern": r"^sentence_transformers\.([a-z_]+\.)*[A-Z]\w*$"},
        path={"type": "string", "pattern": r"^(?!/)(?!.*\.\.)"},
    )
    | {"required": ["type", "path"]},
}
CONFIG = of(
    vocab_size=size(1 << 24),
    hidden_size=size(1 << 16),
    num_hidden_layers=size(1 << 10),
    num_attention_heads=size(1 << 10),
    intermediate_size=size(1 << 18),
    max_position_embeddings=size(1 << 20),
    type_vocab_size={"type": "integer", "minimum": 0, "maximum": 1 << 10},
    torch_dtype={"enum": ["float32", "float16", "bfloat16", "auto", None]},
    dtype={"enum": ["float32", "float16", "bfloat16", "auto", None]},
)
DENSE = of(
    in_features=size(1 << 16),
    out_features=size(1 << 16),
    bias={"type": "boolean"},
    activation_function={"type": ["string", "null"]},
) | {"required": ["in_features", "out_features"]}
MODE = {"type": ["string", "null", "array"], "items": TEXT, "minItems": 1, "maxItems": 6}
POOLING = of(pooling_mode=MODE, include_prompt={"type": "boolean"}, word_embedding_dimension=size(1 << 16)) | {
    "patternProperties": {"^pooling_mode_": FLAG}
}
SENTENCES = of(max_seq_length={"type": ["integer", "null"], "minimum": 1, "maximum": 1 << 20}, do_lower_case=FLAG)
PROMPTS = of(
    prompts={"type": ["object", "null"], "additionalProperties": TEXT}, default_prompt_name={"type": ["string", "null"]}
)


def read(path: Path, schema: Schema, usual: Any = None) -> Any:
    """What a file holds; `usual` where there is none, if given. Raises InputError for what the schema does not allow."""
    if usual is not None and not path.exists():
        return usual
    held = read_json(path)
    if error := best_match(Draft202012Validator(schema).iter_errors(held)):
        place = error.json_path.removeprefix("$").removeprefix(".")
        raise InputError(f"{place}: {error.message[:120]}" if place else error.message[:120], path, remedy=AGAIN)
    return held
