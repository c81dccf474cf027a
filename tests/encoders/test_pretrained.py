"""Published encoders: a tiny model in the true format, with random weights; beside sentence-transformers where it is installed."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny_bert

from bitextbench.base import sums
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256
from bitextbench.encoders import plain
from bitextbench.encoders.pretrained import Pretrained

LINES = [
    "a bird sings",
    "birds sing at night and the night is long and dark",
    "",
    "the Night",
    "a bird sings",
    "a night " * 9,
]
POOLING = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    return tiny_bert.save(tmp_path_factory.mktemp("bert"))


def model(folder: Path, bert: Path, *, pooling: dict, dense: bool = False, normalize: bool = False) -> Path:
    """The folder of a model of sentence-transformers, as it saves it."""
    from safetensors.torch import save_file

    shutil.copytree(bert, folder, ignore=shutil.ignore_patterns(".*"))  # as published: no sum of a use
    names = ["Transformer", "Pooling", *["Dense"] * dense, *["Normalize"] * normalize]
    paths = ["", *(f"{place}_{name}" for place, name in enumerate(names[1:], 1))]
    modules = [
        {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{name}"}
        for place, (name, path) in enumerate(zip(names, paths, strict=True))
    ]
    for path in paths[1:]:
        (folder / path).mkdir()
    written = {
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": 12, "do_lower_case": False},
        "1_Pooling/config.json": {"word_embedding_dimension": 32} | pooling,
    }
    if dense:
        sizes = {
            "in_features": 32,
            "out_features": 16,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        }
        written["2_Dense/config.json"] = sizes
        torch.manual_seed(2)
        save_file(
            {"linear.weight": torch.randn(16, 32), "linear.bias": torch.randn(16)}, folder / "2_Dense/model.safetensors"
        )
    for name, value in written.items():
        (folder / name).write_text(json.dumps(value))
    return folder


def encoded(folder: Path, lines: list[str] = LINES, **options) -> tuple[np.ndarray, int]:
    encoder = Pretrained(folder, **options)
    vectors = np.zeros((len(lines), encoder.dimension), np.float32)
    done = list(encoder.encode(lines, None, encoder.side(None), vectors))
    assert sum(one.rows for one in done) == len(lines)
    return vectors, sum(one.cut for one in done)


def test_mean_pooling_is_that_of_transformers(bert):
    from transformers import AutoModel, AutoTokenizer

    found, cut = encoded(bert)
    reference, tokenizer = AutoModel.from_pretrained(bert).eval(), AutoTokenizer.from_pretrained(bert)
    for line, vector in zip(LINES, found, strict=True):
        tokens = tokenizer(line, truncation=True, max_length=16, return_tensors="pt")
        with torch.no_grad():
            expected = reference(**tokens).last_hidden_state.mean(1)[0].numpy()
        np.testing.assert_allclose(vector, expected if line else 0 * expected, atol=1e-5)
    assert cut == 2  # of more than 16 tokens
    assert (found[0] == found[4]).all()


@pytest.mark.parametrize("lines", [1, 3])
def test_vectors_do_not_depend_on_the_batch(bert, lines):
    whole, _ = encoded(bert)
    parts = [encoded(bert, LINES[start : start + lines])[0] for start in range(0, len(LINES), lines)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


MODELS = {
    "labse": {
        "pooling": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
        "dense": True,
        "normalize": True,
    },
    "e5": {"pooling": {"pooling_mode_mean_tokens": True}, "normalize": True},
    "named": {"pooling": {"pooling_mode": "mean", "include_prompt": False}},
    **{kind: {"pooling": {f"pooling_mode_{kind}": True}} for kind in POOLING},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("prefix", ["", "query: "])
def test_vectors_are_those_of_sentence_transformers(bert, tmp_path, name, prefix):
    reference = pytest.importorskip("sentence_transformers")
    folder = model(tmp_path / name, bert, **MODELS[name])
    lines = [line for line in LINES if line]
    expected = reference.SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(
        lines, prompt=prefix or None
    )
    found, _ = encoded(folder, lines, prefix=prefix)
    np.testing.assert_allclose(found, expected, atol=2e-6, rtol=1e-4)


def test_modules_are_computed_in_order(bert, tmp_path):
    folder = model(tmp_path / "labse", bert, **MODELS["labse"])
    found, cut = encoded(folder)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), [1, 1, 0, 1, 1, 1], atol=1e-6)
    assert found.shape == (6, 16)
    assert cut == 2  # at 12 tokens
    other = model(tmp_path / "cls", bert, pooling=MODELS["labse"]["pooling"])
    weights = torch.nn.functional.normalize  # the same by hand
    from safetensors.torch import load_file

    held = load_file(folder / "2_Dense/model.safetensors")
    states = torch.from_numpy(encoded(other)[0])
    by_hand = weights(torch.tanh(states @ held["linear.weight"].T + held["linear.bias"]), dim=1).numpy()
    np.testing.assert_allclose(found[[0, 1, 3]], by_hand[[0, 1, 3]], atol=1e-6)


def test_a_prefix_changes_vectors_and_their_key(bert, tmp_path):
    folder = model(tmp_path / "e5", bert, **MODELS["e5"])
    assert not np.allclose(encoded(folder)[0][0], encoded(folder, prefix="query: ")[0][0])
    assert Pretrained(folder).key != Pretrained(folder, prefix="query: ").key
    settings = {"prompts": {"query": "query: ", "document": ""}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    assert Pretrained(folder).prefix == "query: "
    assert Pretrained(folder, prefix="").prefix == ""


def test_other_prompts_are_said(bert, tmp_path, capsys):
    folder = model(tmp_path / "e5", bert, **MODELS["e5"])
    (folder / "config_sentence_transformers.json").write_text(
        '{"prompts": {"query": "query: "}, "default_prompt_name": null}'
    )
    assert Pretrained(folder).prefix == ""
    assert (
        "no prompt is put before the sentences; the model has 'query: '; choose one with --prefix"
        in capsys.readouterr().err
    )


def without(name):
    return lambda folder: (folder / name).unlink()


def pickled(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def changed(name, key, value):
    def change(folder):
        held = json.loads((folder / name).read_text())
        held[key] = value
        (folder / name).write_text(json.dumps(held))

    return change


def other_module(folder):
    text = (folder / "modules.json").read_text()
    (folder / "modules.json").write_text(text.replace("models.Pooling", "models.LSTM"))


def truncated(folder):
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000])


def no_tokenizer(folder):
    (folder / "tokenizer.json").unlink()


def fewer_weights(folder):
    from safetensors.torch import load_file, save_file

    held = load_file(folder / "model.safetensors")
    save_file({name: value for name, value in held.items() if "layer.1" not in name}, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (without("model.safetensors"), r"model\.safetensors: no such file; fetch the whole model"),
        (pickled, r"pytorch_model\.bin: weights in a pickle, which may run code, are not read; convert it"),
        (truncated, r"cannot be loaded \(.*\); fetch the whole model again"),
        (fewer_weights, r"weights lack encoder\.layer\.1\..* and \d+ others"),
        (no_tokenizer, r"has no tokenizer; fetch one of tokenizer\.json"),
        (changed("config.json", "auto_map", {"AutoModel": "modeling.Own"}), r"config\.json: the model needs code of its own"),
        (changed("config.json", "model_type", "unheard-of"), r"cannot be loaded"),
        (changed("config.json", "is_encoder_decoder", True), r"the model has a decoder"),
        (other_module, r"modules\.json: the module LSTM is not supported"),
        (changed("1_Pooling/config.json", "pooling_mode", "median"), r"unknown pooling 'median'; known: cls_token"),
        (changed("2_Dense/config.json", "out_features", 8), r"2_Dense: weights do not fit config\.json"),
        (without("1_Pooling/config.json"), r"1_Pooling/config\.json: no such file"),
        (lambda folder: (folder / "config.json").write_text("{"), r"config\.json:1: not JSON"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_one_line(bert, tmp_path, spoil, message):
    folder = model(tmp_path / "model", bert, **MODELS["labse"])
    spoil(folder)
    with pytest.raises(InputError, match=message) as error:
        Pretrained(folder)
    assert "\n" not in str(error.value)


def test_no_language_is_needed_and_a_wrong_one_is_refused(bert):
    encoder = plain.sentence_encoder(bert)
    assert encoder.side("gsw") == encoder.side(None) == "any"
    with pytest.raises(InputError, match=r"unknown language 'german'; did you mean de\?"):
        encoder.side("german")


@pytest.mark.parametrize(
    ("name", "message"), [("nowhere", "no such folder; name a folder"), ("empty", "has no encoder.json, modules.json, config.json or "), ("file", "is a file; name its folder")]
)  # fmt: skip
def test_folders_that_are_no_encoder(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=message):
        plain.sentence_encoder(tmp_path / name)


def flipped(path: Path) -> None:
    """One bit of the weights, behind the header."""
    held = bytearray(path.read_bytes())
    held[-1000] ^= 1
    path.write_bytes(held)


def test_weights_that_change_after_their_first_use_are_told(bert, tmp_path):
    folder = model(tmp_path / "labse", bert, **MODELS["labse"])
    encoded(folder, LINES[:1])
    again = shutil.copytree(folder, tmp_path / "copy")
    for path in (folder / "model.safetensors", again / "2_Dense/model.safetensors"):
        flipped(path)
        with pytest.raises(
            InputError, match=rf"^{path}: has changed since it was written.*; fetch the model again; if you "
        ):
            Pretrained(path.parents[path.parent.name == "2_Dense"])
        sums.place(path).unlink()  # changed on purpose
    Pretrained(folder)


def downloaded(folder: Path) -> Path:
    """As `hf download --local-dir` leaves it: commit, ETag (of a large file its SHA-256) and time of each file."""
    record = folder / ".cache/huggingface/download/model.safetensors.metadata"
    record.parent.mkdir(parents=True)
    record.write_text(f"{'0' * 40}\n{sha256(folder / 'model.safetensors')}\n1700000000.5\n")
    return folder


def cached(folder: Path) -> Path:
    """As the cache of Hugging Face has it: links to files that are named by their SHA-256."""
    path = folder / "model.safetensors"
    blob = folder.parent / "blobs" / sha256(path)
    blob.parent.mkdir()
    path.rename(blob)
    path.symlink_to(blob)
    return folder


@pytest.mark.parametrize("kept", [downloaded, cached])
def test_weights_that_are_not_those_published_are_told_at_their_first_use(bert, tmp_path, kept):
    folder = kept(model(tmp_path / "e5", bert, **MODELS["e5"]))
    Pretrained(folder)
    assert not [*folder.glob(".*xxh128")]  # the publisher's sum is enough
    flipped(folder / "model.safetensors")
    with pytest.raises(
        InputError, match=r"model\.safetensors: is not the published file: its SHA-256 differs; fetch the model"
    ):
        Pretrained(folder)


def test_a_folder_that_cannot_be_written_is_used(bert, tmp_path):
    folder = model(tmp_path / "e5", bert, **MODELS["e5"])
    sums.place(folder / "model.safetensors").symlink_to("/proc/nowhere")  # root may write to any folder
    Pretrained(folder)
