"""The command line on bad input: one line that says what, where and what to do, an exit code, and nothing left behind."""

import contextlib
import itertools
import json
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json
from bitextbench.cli.main import cli
from bitextbench.cli.options import Spec
from bitextbench.data import registry
from bitextbench.formats.bitext import read_shard


def bitextbench(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bitextbench", *map(str, arguments)], cwd=cwd, text=True, capture_output=True
    )


def corpus(folder: Path, src: bytes, tgt: bytes) -> subprocess.CompletedProcess[str]:
    (folder / "a.de").write_bytes(src)
    (folder / "a.en").write_bytes(tgt)
    spec = {"parts": [{"files": {"src": "a.de", "tgt": "a.en"}}]}
    return bitextbench(
        "step", "corpus", "mine", "--spec", json.dumps(spec), "--src", "de", "--tgt", "en", "-o", "out", cwd=folder
    )


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        (b"eins\nzwei\n", b"one\n", r"a\.de.*2.*a\.en.*1|2 lines.*1 line"),
        (b"eins\n\xff\n", b"one\ntwo\n", r"a\.de:2: invalid UTF-8 at byte 1 of the line; convert"),
        (b"eins\n", b"o\0ne\n", r"a\.en:1: line holds a NUL byte; remove"),
    ],
)
def test_bad_text_ends_in_one_line(tmp_path, src, tgt, message):
    done = corpus(tmp_path, src, tgt)
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("bitextbench: error: ")]
    assert len(errors) == 1
    assert "Traceback" not in done.stderr
    assert re.search(message, errors[0]), errors[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.de", "a.en"]


def test_a_line_that_is_too_long_counts_as_empty(tmp_path):
    done = corpus(tmp_path, b"eins\n" + b"x" * 1_000_000 + b"\n", b"one\ntwo\n")
    assert "a.de: 1 line is longer than 65,536 bytes, first line 2; counted as empty" in done.stderr
    assert read_json(tmp_path / "out/counts.json")["dropped"] == {"empty": 1}


def test_empty_lines_are_counted_and_dropped(tmp_path):
    done = corpus(tmp_path, b"eins\n\ndrei\n", b"one\ntwo\n \n")
    assert done.returncode == 0, done.stderr
    counts = read_json(tmp_path / "out/counts.json")
    assert (counts["in"], counts["out"], counts["dropped"]) == (3, 1, {"empty": 2})
    assert read_shard(tmp_path / "out/00000.parquet")["tgt"].to_pylist() == ["one"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["step", "tokens", "none.parquet", "--src", "de", "--tgt", "en", "-o", "out"], "none.parquet: no such file; check the path"),
        (["fetch", "newstest2081.de-en", "--lock", "lock", "-o", "out"], "did you mean"),
        (["step", "encode", "ids", "--model", "m", "--gpus", "1", "-o", "out"], "cuda was asked for, but torch sees 0 GPUs here; run on a GPU machine"),
        (["step", "score", "x.parquet", "--similarity", "random", "-o", "out"], "x.parquet: no such file"),
    ],
)  # fmt: skip
def test_other_mistakes(tmp_path, arguments, message):
    done = bitextbench(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]
    assert not list(tmp_path.iterdir())


def test_a_spec_may_stand_in_a_file(tmp_path):
    (tmp_path / "spec.yaml").write_text("parts: [{generated: pool, lines: 5}]\n")
    done = bitextbench(
        "step", "corpus", "x", "--spec", "@spec.yaml", "--src", "de", "--tgt", "en", "-o", "out", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert read_json(tmp_path / "out/counts.json")["out"] == 5


def test_a_small_number_in_a_spec_is_a_number():
    assert Spec().convert(json.dumps({"decay": 1e-6, "clip": 1e9}), None, None) == {"decay": 1e-6, "clip": 1e9}


def test_a_corpus_that_is_filtered_away_is_an_error(tmp_path):
    spec = {"parts": [{"generated": "x", "lines": 30}], "filter": {"min_tokens": 500}}
    done = bitextbench(
        "step", "corpus", "pool", "--spec", json.dumps(spec), "--src", "de", "--tgt", "en", "-o", "out", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "error: pool: none of 30 rows is left: 30 min_tokens; look at its filter and exclude" in done.stderr


def corpus_of(spec: str, cwd: Path, out: str = "out", **more) -> subprocess.CompletedProcess[str]:
    arguments = ["step", "corpus", "x", "--spec", spec, "--src", "de", "--tgt", "en", "-o", out]
    return subprocess.run(
        [sys.executable, "-m", "bitextbench", *arguments], cwd=cwd, text=True, capture_output=True, **more
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("bitextbench: error: ")]
    return line


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ('{"parts": [{"generated": "pool", "lines": -5}]}', r"--spec: `parts\.0\.lines: -5` is wrong: .* minimum of 1"),
        ('{"parts": [{"generated": "pool", "lines": "5"}]}', r"`parts\.0\.lines: 5` is wrong"),
        ('[{"generated": "pool"}]', r"is not a mapping; write"),
        ('{"parts": 5}', r"`parts: 5` is wrong"),
    ],
)
def test_specs_of_wrong_types(spec, message):
    with pytest.raises(InputError, match=message):
        Spec("corpus").convert(spec, None, None)


def test_a_wrong_spec_ends_in_one_line(tmp_path):
    assert "--spec: holds a value that cannot be used (maximum recursion" in one_line(corpus_of("[" * 9999, tmp_path))


SMALL = '{"parts": [{"generated": "pool", "lines": 2000}]}'


def test_places_that_cannot_be_written_end_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    assert "(a part of this path is a file); name another place" in one_line(corpus_of(SMALL, tmp_path, "file/out"))
    assert "is a directory; name a file" in one_line(corpus_of("@.", tmp_path)).lower()
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))  # noqa: E731
    assert re.search(
        r"out: .*File too large.*; raise the limit", one_line(corpus_of(SMALL, tmp_path, preexec_fn=small))
    )
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))  # noqa: E731
    once = SMALL[:-1] + ', "deduplicate": true}'
    line = one_line(corpus_of(once, tmp_path, preexec_fn=few))
    assert "out: Too many open files; raise the limit on open files" in line
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    (tmp_path / "loop").symlink_to("loop")
    assert "Too many levels of symbolic links" in one_line(corpus_of(SMALL, tmp_path, "loop/out"))


VECTORS = ("--src-emb", "x.npy", "--tgt-emb", "x.npy")
LANGUAGES = ("--src-language", "de", "--tgt-language", "en")


@pytest.mark.parametrize(
    "command",
    [
        ("neighbours", *VECTORS, "-o"),
        ("mine", "a", "b", *VECTORS, "-o"),
        ("filter", "a", "b", *LANGUAGES, "-o"),
        ("filter", "a", "b", *LANGUAGES, "-o", "out.tsv", "--explain"),
        ("score", "a", "b", *LANGUAGES, "--similarity", "levenshtein", "-o"),
        ("merge-neighbours", "x.npy", "-o"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("out", ["file/x", "/proc/nothing/x"])
def test_a_place_that_cannot_be_written_is_found_before_the_work(tmp_path, monkeypatch, command, out):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.eye(3, 8, dtype=np.float32))
    for name in ("a", "b"):
        Path(name).write_text("eins zwei\ndrei vier\nein Haus\n")
    Path("file").touch()
    before = sorted(tmp_path.iterdir())
    done = CliRunner().invoke(cli, [*command, out])
    assert isinstance(done.exception, InputError)
    assert re.search(r"cannot be written \(.*\); name another place", str(done.exception))
    assert sorted(tmp_path.iterdir()) == before
    assert "blocks" not in done.stderr  # of a search


def test_a_folder_is_not_written_as_a_file_nor_the_other_way_round(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.eye(3, 8, dtype=np.float32))
    done = CliRunner().invoke(cli, ["neighbours", *VECTORS, "-o", "x.npy"])
    assert "x.npy: is a file; name a folder" in str(done.exception)
    Path("a").write_text("ein Haus\n")
    Path("folder").mkdir()
    words = [*LANGUAGES, "--similarity", "levenshtein"]
    done = CliRunner().invoke(cli, ["score", "a", "a", *words, "-o", "folder"])
    assert "folder: is a folder; name a file" in str(done.exception)


def test_a_full_disk_ends_in_one_line(tmp_path):
    (tmp_path / "disk").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(tmp_path / "disk")]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        line = one_line(corpus_of(SMALL, tmp_path, "disk/out"))
        assert re.search(r"disk/out: .*No space left.*; [\d,]+ bytes are free there: free some space", line), line
        assert not list((tmp_path / "disk").iterdir())
    finally:
        subprocess.run(["umount", tmp_path / "disk"], check=True)


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(commands(cli))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_each_option_has_a_help_and_each_command_for_people_an_example(path):
    command = COMMANDS[path]
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert command.help
    assert not [option.name for option in options if not option.help]
    if path[0] != "step":
        start = f"\b\nExample:\n  bitextbench {' '.join(path)} "
        assert command.epilog.startswith(start)
        named = set(re.findall(r"(?<= )-{1,2}[a-z-]+", f" {command.epilog.removeprefix(start)}"))
        assert named <= {name for option in options for name in option.opts}
        assert all(named & {*option.opts} for option in options if option.required)


def test_a_gpu_is_named_as_torch_names_it():
    """`smt-similarity` asked for a device called gpu, which torch does not have."""
    for path in COMMANDS:
        for option in COMMANDS[path].params:
            if "--gpus" in option.opts and path != ("plan",):
                assert [option.type.convert(number, option, None) for number in (0, 1)] == ["cpu", "cuda"], path


def test_a_configuration_may_be_larger_than_an_argument():
    """Linux takes 128 KiB as one argument; the rules give the whole configuration on standard input."""
    whole = json.dumps({"x": "y" * (1 << 18), "rate": 1e-06})
    code = "from bitextbench.cli.options import Spec; print(Spec().convert('@/dev/stdin', None, None)['rate'])"
    shell = ["bash", "-c", '"$0" -c "$1" <<< "$(cat)"', sys.executable, code]
    done = subprocess.run(shell, input=whole, capture_output=True, text=True)
    assert done.stdout == "1e-06\n", done.stderr
    for path in (Path(__file__).parents[2] / "rules").glob("*.smk"):
        for before in path.read_text(encoding="utf-8").split("{params.config:q}")[:-1]:
            assert before.endswith("<<< "), f"{path.name}: the configuration is an argument"


EXAMPLES = {path: command.epilog.splitlines()[-1].split() for path, command in COMMANDS.items() if path[0] != "step"}


@pytest.mark.parametrize("path", EXAMPLES, ids=" ".join)
def test_the_example_of_a_command_is_one_that_it_takes(path):
    program, *args = EXAMPLES[path]
    assert program == "bitextbench"
    assert tuple(args[: len(path)]) == path
    command = COMMANDS[path]
    rest = list(itertools.takewhile(lambda word: word not in ("<", ">", "|"), args[len(path) :]))
    if not isinstance(command, click.Group):
        with contextlib.suppress(
            InputError
        ):  # a file that the example names is not there; a wrong option is another error
            command.make_context(path[-1], [*rest], parent=cli.make_context("bitextbench", ["list"]))
    if path == ("fetch",):
        registry.entry(rest[0])


def test_help_is_cut_nowhere():
    groups = [name for name, one in cli.commands.items() if isinstance(one, click.Group)]
    for path in ([], *([name] for name in groups)):
        said = CliRunner().invoke(cli, [*path, "--help"], catch_exceptions=False).stdout
        shown = said.partition("Commands:")[2]
        assert "..." not in shown
        assert shown.count("(") == shown.count(")")  # a sentence does not end at `et al.`


def test_a_margin_is_listed_with_its_formula():
    from bitextbench.scoring import margins

    lines = CliRunner().invoke(cli, ["list", "margins"], catch_exceptions=False).stdout.splitlines()
    formulas = dict(line.split("\t") for line in lines)
    assert [*formulas] == [*margins.SIMILARITIES]
    a, f, g = 0.7, 0.5, 0.3
    for name, said in formulas.items():
        formula = re.sub(r"2 a", "2 * a", said.partition(",")[0])
        value = eval(formula, {"a": a, "f": f, "g": g, "b": (f + g) / 2})
        assert margins.margin(margins.SIMILARITIES[name][1], a, f, g) == pytest.approx(value)


def test_the_lists_say_which_command_takes_a_name():
    from bitextbench.scoring import margins

    said = {
        kind: dict(line.split("\t") for line in CliRunner().invoke(cli, ["list", kind]).stdout.splitlines())
        for kind in ("similarities", "margins")
    }
    where = {name: what.partition(":")[0] for name, what in said["similarities"].items()}
    elsewhere = {"nmt_lm", "oracle", "published", "dual_cross_entropy"}
    assert {name for name, place in where.items() if place == "for a configuration"} == elsewhere
    assert {name for name, place in where.items() if place == "for filter"} == {"margin"}
    assert {where[name] for name in {*where} - elsewhere - {"margin"}} == {"for filter and score"}
    alone = {name for name, what in said["margins"].items() if what.endswith("; for `mine` alone")}
    assert alone == {*said["margins"]} - {"cosine", *margins.MARGINS} == {"dot", "euclidean"}
    assert "a is the dot product of the pair" in said["margins"]["dot"]
    assert "the same as absolute" in said["margins"]["cosine"]


@pytest.mark.parametrize("kind", ["encoders", "similarities", "margins", "rules", "datasets"])
def test_what_can_be_named_is_listed(kind):
    lines = CliRunner().invoke(cli, ["list", kind], catch_exceptions=False).stdout.splitlines()
    names = [line.split("\t")[0] for line in lines]
    assert all(len(line.split("\t")) == 2 and line.split("\t")[1].strip() for line in lines)
    assert {
        "encoders": "muse",
        "similarities": "cosine",
        "margins": "ratio",
        "rules": "max_ratio",
        "datasets": "newstest2018.de-en",
    }[kind] in names


@pytest.mark.parametrize(
    ("given", "device"),
    [
        (["--device", "cpu"], "cpu"),
        (["--device", "cuda"], "cuda"),
        (["--gpus", "0"], "cpu"),
        (["--gpus", "4"], "cuda"),
        ([], "cpu"),
    ],
)
def test_a_device_is_named_or_a_number_of_gpus(tmp_path, monkeypatch, given, device):
    monkeypatch.chdir(tmp_path)
    for name in ("a.de", "a.en"):
        Path(name).write_text("ein Satz\n", encoding="utf-8")
    context = cli.commands["mine"].make_context(
        "mine", ["a.de", "a.en", "-o", "out.tsv", *given], parent=cli.make_context("bitextbench", ["list"])
    )
    assert context.params["device"] == device


def test_another_device_is_refused():
    with pytest.raises(click.BadParameter, match="'tpu' is not a device: cpu, cuda"):
        cli.commands["mine"].make_context(
            "mine",
            ["a.de", "a.en", "-o", "out.tsv", "--device", "tpu"],
            parent=cli.make_context("bitextbench", ["list"]),
        )
