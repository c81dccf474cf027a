"""Kills in the middle of the work: nothing is left behind after the next run, whose result is that of an undisturbed one."""

import itertools
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bitextbench.cli.main import main
from bitextbench.data.synth import sentences
from bitextbench.formats.ids import Ragged

sys.path.insert(0, str(Path(__file__).parents[1] / "mining"))
from test_mine_with_an_encoder import make

LANGUAGES = ["--src-language", "de", "--tgt-language", "en"]
ENCODER = ["--encoder", "enc"]
SPEC = {
    "type": "nmt_autoencoder",
    "model": {"embedding": 16, "hidden": 32},
    "training": {"batch": 20, "updates": 200, "valid_every": 50, "checkpoint_every": 5},
}
COMMANDS = {
    "filter": ["p.tsv", *LANGUAGES, "--explain", "why.tsv", "-o", "o.tsv"],
    "mine": ["a.de", "b.en", *ENCODER, *LANGUAGES, "--cache", "cache", "-o", "o.tsv"],
    "score": ["p.tsv", *ENCODER, *LANGUAGES, "--similarity", "cosine", "-o", "o.txt"],
    "encode": ["a.de", *ENCODER, "--language", "de", "-o", "o.npy"],
    "train": [
        *("--spec", json.dumps(SPEC), "--bpe", "enc/text_model", "--src", "de", "--tgt", "en"),
        *("--corpus", "bitext=ids", "--corpus", "valid=valid", "--checkpoints", "kept", "-o", "trained/model.pt"),
    ],
}
PAIRS = {"filter": 5_000, "mine": 2_000, "score": 2_000, "encode": 4_000, "train": 200}
ENDS = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}


def fill(place: Path, command: str) -> Path:
    """The inputs of a command: distinct pairs, an encoder with random weights, random ids."""
    place.mkdir()
    stream = sentences("lines", ("de", "en"), 1)
    known = [next(stream)[1] for _ in range(200)]
    pairs = [(f"{de} {n}.", f"{en} {n}.") for n, (de, en) in zip(range(PAIRS[command]), itertools.cycle(known))]
    (place / "p.tsv").write_text("".join(f"{de}\t{en}\n" for de, en in pairs), encoding="utf-8")
    for name, lines in zip(("a.de", "b.en"), zip(*pairs, strict=True), strict=True):
        (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if command != "filter":
        make(place / "enc", "nmt_autoencoder")
    for stem, side in itertools.product(("ids", "valid"), ("src", "tgt")):
        Ragged.of([[4 + (n + k) % 50 for k in range(3 + n % 5)] for n in range(200)]).save(place / f"{stem}.{side}")
    return place


SERVER = multiprocessing.get_context("forkserver")  # processes that have loaded what a command needs
SERVER.set_forkserver_preload(["bitextbench.cli.main", "bitextbench.encoders.trainer", "bitextbench.encoders.plain"])


def run(place: Path, call: list[str], said: Path) -> None:
    """A command in a process of its own."""
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.chdir(place)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell sets to be ignored in the background
    sys.argv = ["bitextbench", *call, "--threads", "1"]
    main()


def start(place: Path, call: list[str]) -> multiprocessing.Process:
    process = SERVER.Process(target=run, args=(place, call, place.with_suffix(".said")))
    process.start()
    return process


def ended(process: multiprocessing.Process, place: Path) -> tuple[int, str]:
    """How a command ended, and what it said."""
    process.join()
    return process.exitcode, place.with_suffix(".said").read_text()


def finished(place: Path, call: list[str]) -> dict[str, bytes]:
    """All files after a run to its end. Those that tell of time are empty here."""
    code, said = ended(start(place, call), place)
    assert code == 0, said
    return files(place)


def files(place: Path) -> dict[str, bytes]:
    clocks = ("training.json", "encoder.json", "curve.png")
    return {
        str(path.relative_to(place)): b"" if path.name in clocks else path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


def scratch(place: Path) -> set[Path]:
    """Scratch folders, also those that a killed process left. One may be removed meanwhile: os.walk does not mind."""
    return {
        Path(root, name)
        for root, folders, files in os.walk(place)
        for name in (*folders, *files)
        if re.match(r"\..*\.part$", name)
    }


@pytest.mark.parametrize(("number", "message"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_within_a_callback_is_raised_after_it(number, message):
    """Python drops what is raised there, and the stage would go on for 30 s."""
    code = f"""
import os, signal, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell sets to be ignored in the background
from bitextbench.cli import main

class Thing: pass

def stage(**_):
    thing = Thing()
    gone = weakref.ref(thing, lambda _: os.kill(os.getpid(), {int(number)}))
    del thing
    time.sleep(30)
    print("went on")

main.cli = stage
main.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == ENDS[number]
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_killed_leaves_nothing(tmp_path, command):
    undisturbed, place = fill(tmp_path / "undisturbed", command), fill(tmp_path / "killed", command)
    before, call = files(place), [command, *COMMANDS[command]]
    expected = finished(undisturbed, call)
    for number, seconds in ((signal.SIGKILL, 0), (signal.SIGTERM, 0.1), (signal.SIGINT, 0.05), (signal.SIGKILL, 0.3)):
        left = scratch(place)
        killed = start(place, call)
        while killed.is_alive() and not scratch(place) - left:
            time.sleep(0.005)
        time.sleep(seconds)
        os.kill(killed.pid, number)
        code, said = ended(killed, place)
        assert code == ENDS[number], said
        assert "Traceback" not in said
        if number != signal.SIGKILL:  # what the others left was removed by this one
            assert not scratch(place)
            made = {path for path in files(place) if not path.startswith(("cache/", "kept/"))}
            assert made == before.keys()
    assert finished(place, call) == expected
