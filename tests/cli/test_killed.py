"""Kills in the middle of the work: nothing is left behind after the next run, whose result is that of an undisturbed one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitextbench.data.synth import sentences

LANGUAGES = ["--src-language", "de", "--tgt-language", "en"]
FILTER = ["filter", "p.tsv", *LANGUAGES, "--explain", "why.tsv", "-o", "o.tsv"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    pairs = (f"{de} {number}.\t{en} {number}.\n" for number, (_, (de, en)) in enumerate(_lines(20_000)))
    (tmp_path / "p.tsv").write_text("".join(pairs), encoding="utf-8")
    return tmp_path


def _lines(count: int):
    stream = sentences("lines", ("de", "en"), 1)
    return [next(stream) for _ in range(200)] * (count // 200)


def heed_interrupts() -> None:
    """A shell starts what it puts in the background with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(place: Path, *more: str) -> subprocess.Popen[bytes]:
    call = [sys.executable, "-m", "bitextbench", *FILTER, *more]
    return subprocess.Popen(call, cwd=place, stderr=subprocess.PIPE, env=os.environ, preexec_fn=heed_interrupts)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_filter_leaves_nothing(place, number):
    killed = start(place)
    while not [*place.glob(".o.tsv.*.part")] and killed.poll() is None:
        time.sleep(0.01)
    time.sleep(0.05)
    killed.send_signal(number)
    said = killed.communicate()[1].decode()
    assert killed.returncode == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[number], said
    assert "Traceback" not in said
    assert not (place / "o.tsv").exists()
    if number != signal.SIGKILL:
        assert [path.name for path in place.iterdir()] == ["p.tsv"]
    done = start(place)
    done.communicate()
    assert done.returncode == 0
    assert sorted(path.name for path in place.iterdir()) == ["o.tsv", "p.tsv", "why.tsv"]
    expected = (place / "o.tsv").read_bytes()
    assert start(place).wait() == 0
    assert (place / "o.tsv").read_bytes() == expected
