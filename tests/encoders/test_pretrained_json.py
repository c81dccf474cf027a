"""The JSON of published folders: wrong numbers, texts and names are refused where they are read."""

import json

import pytest

from bitextbench.base.errors import InputError
from bitextbench.encoders import pretrained_json as files

RIGHT = {
    "MODULES": [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}],
    "CONFIG": {
        "model_type": "bert",
        "vocab_size": 30_522,
        "hidden_size": 384,
        "torch_dtype": "float32",
        "pad_token_id": 0,
    },
    "DENSE": {
        "in_features": 384,
        "out_features": 8,
        "bias": True,
        "activation_function": "torch.nn.modules.activation.Tanh",
    },
    "POOLING": {"word_embedding_dimension": 384, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
    "SENTENCES": {"max_seq_length": 128, "do_lower_case": False},
    "PROMPTS": {"prompts": {"query": "query: "}, "default_prompt_name": None},
}
WRONG = [
    *(("CONFIG", key, value) for key in ("vocab_size", "hidden_size", "num_attention_heads", "num_hidden_layers")
      for value in (0, -1, "x", 1.5, None, True, 10**12)),
    ("CONFIG", "torch_dtype", "evil"), ("CONFIG", "dtype", 5),
    *(("DENSE", key, value) for key in ("in_features", "out_features") for value in (0, -8, "8", 10**9, [])),
    ("DENSE", "bias", "no"), ("DENSE", "activation_function", 5), ("POOLING", "pooling_mode", []), ("POOLING", "pooling_mode", [5]),
    ("POOLING", "pooling_mode_cls_token", "yes"), ("POOLING", "include_prompt", "x"),
    *(("SENTENCES", "max_seq_length", value) for value in (0, -1, "x", 10**9, 1.5)), ("PROMPTS", "prompts", {"a": 5}), ("PROMPTS", "default_prompt_name", 5),
]  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_usual_files(tmp_path, name):
    (tmp_path / "x.json").write_text(json.dumps(RIGHT[name]))
    assert files.read(tmp_path / "x.json", getattr(files, name)) == RIGHT[name]
    assert files.read(tmp_path / "none.json", getattr(files, name), usual={"a": 1}) == {"a": 1}


@pytest.mark.parametrize(("name", "key", "value"), WRONG)
def test_wrong_values(tmp_path, name, key, value):
    (tmp_path / "x.json").write_text(json.dumps(RIGHT[name] | {key: value}))
    with pytest.raises(InputError, match=rf"x.json: {key}.*fetch the model again"):
        files.read(tmp_path / "x.json", getattr(files, name))


@pytest.mark.parametrize(
    ("key", "value"),
    [("type", "torch"), ("type", "Transformer"), ("type", "os.system"), ("type", 5), ("path", "/etc"), ("path", "../x"), ("path", 5)],
)  # fmt: skip
def test_modules_are_of_sentence_transformers_and_inside_the_folder(tmp_path, key, value):
    (tmp_path / "x.json").write_text(json.dumps([RIGHT["MODULES"][0] | {key: value}]))
    with pytest.raises(InputError, match=rf"\[0\]\.{key}: "):
        files.read(tmp_path / "x.json", files.MODULES)


@pytest.mark.parametrize("held", [[], {}, "x", 5, None, [5], [{}]])
def test_no_list_of_modules(tmp_path, held):
    (tmp_path / "x.json").write_text(json.dumps(held))
    with pytest.raises(InputError, match="fetch the model again"):
        files.read(tmp_path / "x.json", files.MODULES)
