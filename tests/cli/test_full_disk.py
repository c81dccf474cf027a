"""A disk that is really full: one line names the file and says so, nothing is left half-written, and with more room the
same command ends.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_killed import COMMANDS, ended, files, fill, finished, scratch, start


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A folder of another place, which the tests mount a small disk on."""
    (tmp_path / "disk").mkdir()
    yield tmp_path / "disk"
    subprocess.run(["umount", tmp_path / "disk"], capture_output=True)


def resize(disk: Path, kilobytes: int, *options: str) -> None:
    mount = ["mount", "-t", "tmpfs", "-o", ",".join((f"size={kilobytes}k", *options)), "tmpfs", str(disk)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a small disk")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "kept", "kilobytes"),
    [
        ("filter", "o.tsv", 300),
        ("filter", "why.tsv", 20),
        ("mine", "cache", 300),
        ("mine", "o.tsv", 8),
        ("score", "o.txt", 20),
        ("encode", "o.npy", 300),
    ],
)
def test_a_full_disk_is_said_and_nothing_is_left(tmp_path, disk, command, kept, kilobytes):
    place = fill(tmp_path / "place", command)
    call = [command, *(f"{disk}/{word}" if word == kept else word for word in COMMANDS[command])]
    before = files(place)
    resize(disk, kilobytes)
    code, said = ended(start(place, call), place)
    assert code == 2, said
    last = said.splitlines()[-1]
    assert re.match(rf"bitextbench: error: {disk}/\S+: ", last), said
    assert "No space left on device" in last, said
    assert "Traceback" not in said
    assert not scratch(disk) | scratch(place)
    made = {f"{folder.name}/{path}" for folder in (disk, place) for path in files(folder)}
    whole = {path for path in made if "/cache/" in path}  # blocks of sentences
    whole |= {"place/o.tsv"} if kept == "why.tsv" else set()  # what is explained
    assert made - {f"place/{path}" for path in before} == whole
    resize(disk, 64 << 10, "remount")
    finished(place, call)
    assert files(disk)
