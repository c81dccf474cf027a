"""Arrays on disk: a changed or missing byte is never used, what others wrote is read, a full disk is said."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bitextbench import encoders
from bitextbench.base import arrays
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders.trainer import save

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


def npy(path: Path) -> np.ndarray:
    return arrays.load(path, "make it again")


def npz(path: Path) -> np.ndarray:
    return arrays.load_npz(path, "make it again", {"a": ("f4", "2 3")})["a"]


def model(path: Path) -> np.ndarray:
    return encoders.read(path, "make it again")["a"].numpy()


FORMATS: list[tuple[Callable, Callable]] = [
    (npy, lambda path: arrays.save(path, ARRAY)),
    (npz, lambda path: arrays.save_npz(path, a=ARRAY)),
    (model, lambda path: save({"a": torch.from_numpy(ARRAY)}, path)),
]


def test_what_an_array_was_made_of_is_kept(tmp_path: Path):
    path = tmp_path / "x.npy"
    with arrays.create(path, (3, 2), np.float32, source="0123456789abcdef" * 2) as array:
        array[:] = 1
    held = arrays.load(path, "make it again", np.float32, ["rows", "columns"])
    assert held.tolist() == np.load(path).tolist() == [[1, 1]] * 3
    assert arrays.source_of(path, held) == "0123456789abcdef" * 2
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError):
            arrays.load(path, "make it again")
    arrays.save(path, np.ones((3, 2), np.float32))
    assert arrays.source_of(path, arrays.load(path, "")) == arrays.source_of(path, np.ones(3)) == ""


@pytest.mark.parametrize(("read", "write"), FORMATS, ids=["npy", "npz", "torch"])
def test_no_flipped_or_missing_byte_is_used(tmp_path: Path, read: Callable, write: Callable):
    path, damaged = tmp_path / "whole", tmp_path / "damaged"
    write(path)
    assert np.array_equal(read(path), ARRAY)
    whole, used = path.read_bytes(), 0
    flips = (whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole)))
    for content in (*flips, *(whole[:size] for size in range(0, len(whole) - arrays.LINE, 7))):
        damaged.write_bytes(content)
        try:
            found = read(damaged)
        except InputError as error:
            assert str(error).startswith(f"{damaged}: ")  # noqa: PT017
            assert str(error).endswith("; make it again")  # noqa: PT017
        else:  # a byte of a zip archive that says nothing: a time, a place to fill
            used += 1
            assert (found.dtype, found.tolist()) == (ARRAY.dtype, ARRAY.tolist())
    assert used == 0 or read is not npy


@pytest.mark.parametrize("array", [ARRAY, ARRAY.T, ARRAY[:0], np.float64(1.5), np.arange(3, dtype=">i2")])
def test_numpy_reads_ours_and_we_read_numpys(tmp_path: Path, array: np.ndarray):
    arrays.save(tmp_path / "ours.npy", array)
    np.save(tmp_path / "theirs.npy", array)
    assert (tmp_path / "ours.npy").read_bytes().startswith((tmp_path / "theirs.npy").read_bytes())
    for found in (
        np.load(tmp_path / "ours.npy"),
        np.load(tmp_path / "ours.npy", mmap_mode="r"),
        npy(tmp_path / "ours.npy"),
        npy(tmp_path / "theirs.npy"),
    ):
        assert (found.dtype, found.shape) == (np.asarray(array).dtype, np.shape(array))
        assert found.tolist() == array.tolist()


def test_what_is_filled_out_of_order_is_what_is_saved(tmp_path: Path):
    with arrays.create(tmp_path / "filled.npy", ARRAY.shape, np.float32) as filled:
        filled[1], filled[0] = ARRAY[1], ARRAY[0]
    arrays.save(tmp_path / "saved.npy", ARRAY)
    assert (tmp_path / "filled.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()
    with pytest.raises(ZeroDivisionError), arrays.create(tmp_path / "failed.npy", (3,), np.float32):
        _ = 1 / 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["filled.npy", "saved.npy"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "cannot be read as .npy"),
        (b"a text\n", r"cannot be read as .npy \(it is another kind of file\)"),
        (np.arange(3.0), r"holds float64 \[3\], not float32 \[pairs\]"),
        (ARRAY, r"holds float32 \[2, 3\], not float32 \[pairs\]"),
        (np.array([{}]), "cannot be read as .npy"),
    ],
)
def test_other_files_are_named(tmp_path: Path, content: bytes | np.ndarray, what: str):
    path = tmp_path / "x.npy"
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    with pytest.raises(InputError, match=rf"x\.npy: {what}.*; score again"):
        arrays.load(path, "score again", np.float32, ["pairs"])
    arrays.save_npz(path, b=ARRAY)
    with pytest.raises(InputError, match=r"it is an \.npz"):
        npy(path)
    with pytest.raises(InputError, match="has no array a"):
        npz(path)


FILL = """
import sys
from bitextbench.base import arrays
from bitextbench.base.errors import InputError
try:
    with arrays.create(sys.argv[1], (1000, 1000), "float32") as array:
        array[:] = 1
except InputError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("kind", ["disk", "limit"])
def test_a_full_disk_is_said(tmp_path: Path, kind: str):
    """A real small disk, and the limit that a shell sets on the size of a file."""
    command: list[str] = [sys.executable, "-c", FILL, str(tmp_path / "disk" / "x.npy")]
    (tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path / "disk")]
    if kind == "limit":
        command = ["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", *command]
    elif os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        left = [*(tmp_path / "disk").iterdir()]
    finally:
        if kind == "disk":
            subprocess.run(["umount", str(tmp_path / "disk")], check=True)
    assert done.returncode == 1, done
    assert done.stderr.startswith(f"{tmp_path}/disk/x.npy: needs 4,000,000 bytes, and the disk has ")
    assert done.stderr.endswith("make room, or write to another disk\n")
    assert left == []
