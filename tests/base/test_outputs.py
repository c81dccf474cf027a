"""Outputs: the old or the new, and nothing else, whatever happens to the process."""

import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from bitextbench.base import outputs
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import atomic, check_distinct, scratch


def test_atomic_leaves_the_old_or_the_new(tmp_path):
    path = tmp_path / "value"
    with atomic(path) as part:
        part.write_text("old")

    def interrupted():
        with atomic(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["value"]


def test_a_signal_while_the_scratch_folder_is_removed_leaves_nothing(tmp_path, monkeypatch):
    remove, calls = outputs.shutil.rmtree, []

    def interrupted(folder, **more):
        calls.append(folder)
        if len(calls) == 1:
            (folder / outputs.LOCK).unlink()
            raise SystemExit(143)
        remove(folder, **more)

    monkeypatch.setattr(outputs.shutil, "rmtree", interrupted)
    with pytest.raises(SystemExit), atomic(tmp_path / "value") as part:
        part.write_text("new")
    assert [p.name for p in tmp_path.iterdir()] == ["value"]


def test_atomic_replaces_folders(tmp_path):
    for content in "old", "new":
        with atomic(tmp_path / "folder") as part:
            part.mkdir()
            (part / content).write_text(content)
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["new"]


def test_atomic_keeps_files_and_folders_apart(tmp_path):
    def write(path, folder):
        with atomic(path) as part:
            part.mkdir() if folder else part.write_text("new")

    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="folder: is a folder, but the output is a file; give another name"):
        write(tmp_path / "folder", folder=False)
    with pytest.raises(InputError, match="file: is a file, but the output is a folder; give another name"):
        write(tmp_path / "file", folder=True)
    with pytest.raises(InputError, match="cannot be the name of an output"):
        write(".", folder=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_device_is_not_replaced(tmp_path, kind):
    place = Path("/dev/stdout") if kind == "device" else tmp_path / "pipe"
    if kind == "pipe":
        os.mkfifo(place)
    with pytest.raises(InputError, match=f"{place}: is not a regular file; name a file"), atomic(place) as part:
        part.touch()
    assert not place.is_file() or place.is_symlink()


def test_jobs_that_look_at_one_new_folder_do_not_trip_each_other(tmp_path):
    look = lambda number: outputs.check_output(tmp_path / "new/deep" / str(number % 8))  # noqa: E731
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(look, range(2000))) == {None}


def test_a_folder_that_a_killed_job_left_is_in_nobodys_way(tmp_path):
    left = tmp_path / ".out.abc.part/scratch"
    left.mkdir(parents=True)
    outputs.check_output(tmp_path / "out", "folder")
    with atomic(tmp_path / "out") as part:
        part.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


HOLDS = """
import sys, time
from pathlib import Path
from bitextbench.base.outputs import atomic, scratch
with {what}(Path(sys.argv[1])) as place:
    (place / "half" if place.is_dir() else place).write_text("half")
    print("holds", flush=True)
    time.sleep(60)
"""


def holder(path, what="atomic"):
    """A process that is in the middle of an output."""
    process = subprocess.Popen([sys.executable, "-c", HOLDS.format(what=what), path], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"holds\n"
    return process


@pytest.mark.parametrize("what", ["atomic", "scratch"])
def test_what_a_killed_process_left_is_removed_by_the_next_one_there(tmp_path, what):
    killed = holder(tmp_path / "out.tsv", what)
    killed.kill()
    killed.wait()
    assert len([*tmp_path.glob(".out.tsv.*.part")]) == 1
    with atomic(tmp_path / "another") as part:  # not only the next writer of the same name
        part.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["another"]


def test_what_a_living_process_writes_is_left_alone(tmp_path):
    living = holder(tmp_path / "out.tsv")
    with atomic(tmp_path / "out.tsv") as part:
        part.write_text("whole")
    assert (tmp_path / "out.tsv").read_text() == "whole"
    assert (next(tmp_path.glob(".out.tsv.*.part")) / ".out.tsv.part").read_text() == "half"
    living.kill()
    living.wait()


def write_folder(place):
    for number in range(50):
        with atomic(place) as part:
            part.mkdir()
            for name in "ab":
                (part / name).write_text(f"{os.getpid()} {number}")


def test_processes_that_write_one_folder_do_not_meet(tmp_path):
    workers = [get_context("spawn").Process(target=write_folder, args=[tmp_path / "out"]) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out/a").read_text() == (tmp_path / "out/b").read_text()


def test_threads_that_write_one_file_do_not_meet(tmp_path):
    def write(number):
        with atomic(tmp_path / "out") as part:
            part.write_text(f"{number:03d}" * 100)

    with ThreadPoolExecutor(8) as pool:
        [*pool.map(write, range(400))]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == (tmp_path / "out").read_text()[:3] * 100


def test_a_stranger_s_folder_is_left_alone(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".link.part").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".file.part").touch()
    with scratch(tmp_path / "x"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".file.part", ".link.part", "elsewhere"]


@pytest.mark.parametrize("name", ["n" * 255, "ü" * 127, os.fsdecode(b"k\xe4se")])
def test_names_of_any_length_and_encoding(tmp_path, name):
    with atomic(tmp_path / name) as part:
        part.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    outputs.check_output(tmp_path / name)


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(InputError, match=r"cannot be written .*File name too long"):
        outputs.check_output(tmp_path / ("n" * 256))


def test_an_output_is_no_input_and_no_other_output(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/text").touch()
    (tmp_path / "link").symlink_to(tmp_path / "in/text")
    out = tmp_path / "out"
    check_distinct([out, tmp_path / "log"], [tmp_path / "in/text", tmp_path / "in"])
    check_distinct([tmp_path / "in/new"], [tmp_path / "in", tmp_path / "in/text"])
    for outs, ins, message in (
        ([out, out], [], "out: is another output"),
        ([out, out / "x"], [], "x: is in another output"),
        ([out / "x", out], [], "out: holds another output"),
        ([tmp_path / "link"], [tmp_path / "in/text"], "link: is an input"),
        ([tmp_path / "in/../in/text"], [tmp_path / "link"], "text: is an input"),
        ([tmp_path / "in"], [tmp_path / "in/text"], "in: holds an input"),
    ):
        with pytest.raises(InputError, match=message):
            check_distinct(outs, ins)


def test_what_torch_raises_on_a_full_disk_is_the_error_of_the_system():
    with (
        pytest.raises(OSError, match="No space left on device"),
        outputs.full_disk(Path("model.pt")),
        open("/dev/full", "wb") as file,
    ):
        torch.save({"a": torch.zeros(1 << 20)}, file)
    with pytest.raises(RuntimeError, match="shape"), outputs.full_disk(Path("model.pt")):
        raise RuntimeError("shape")


@pytest.mark.parametrize("signal", [SystemExit(143), KeyboardInterrupt()])
@pytest.mark.parametrize("moment", [1, 3, 5, 7])
def test_a_signal_while_torch_writes_is_no_full_disk(signal, moment):
    """A handler that raises within a write, as `cli.main` has for SIGTERM."""

    class Interrupted(io.BytesIO):
        left = moment

        def write(self, data):
            self.left -= 1
            if not self.left:
                raise signal
            return super().write(data)

    with pytest.raises(type(signal)), outputs.full_disk(Path("model.pt")):
        torch.save({str(n): torch.zeros(1 << 12) for n in range(3)}, Interrupted())
