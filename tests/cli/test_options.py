"""What all commands share: types of numbers and outputs, streams that are closed, names of any bytes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bitextbench.base import files, json_yaml, names
from bitextbench.base.errors import InputError
from bitextbench.cli import options
from bitextbench.cli.main import cli
from bitextbench.cli.options import Numeric, Output
from bitextbench.mining import retrieval
from bitextbench.scoring import margins

LANGUAGES = ("--src-language", "de", "--tgt-language", "en")
PAIRS = "Der Hund ist sehr stark.\tThe dog is very strong.\nDie Katze ist heute neu.\tThe cat is new today.\n"


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


PARAMETERS = [(name, param) for name, command in commands(cli) for param in command.params]


def types(param: click.Parameter) -> list[click.ParamType]:
    return [*param.type.types] if isinstance(param.type, click.Tuple) else [param.type]


def test_numbers_of_all_commands_have_one_set_of_types():
    plain = (click.types.IntParamType, click.types.FloatParamType, click.IntRange, click.FloatRange)
    assert not [(name, param.name) for name, param in PARAMETERS if any(isinstance(one, plain) for one in types(param))]


def test_outputs_of_all_commands_have_one_type():
    assert not [
        (name, param.name) for name, param in PARAMETERS if param.name == "out" and not isinstance(param.type, Output)
    ]


def test_names_are_those_of_the_code():
    assert options.MARGINS == margins.MARGINS
    assert {*options.SIMILARITIES} == {*margins.SIMILARITIES}
    assert options.STRATEGIES == retrieval.STRATEGIES


@pytest.mark.parametrize(
    ("kind", "bad", "good"),
    [
        (options.COUNT, ["0", "-1", "1.5", "nan", "9" * 30, "x", ""], {"1": 1}),
        (options.NATURAL, ["-1", "9" * 5000], {"0": 0}),
        (options.THREADS, ["0", "-1", "99999"], {"2": 2}),
        (options.SEED, ["-1", "4294967296"], {"0": 0}),
        (options.SHARE, ["0", "nan", "inf", "1.1", "-0.5"], {"1": 1.0, "0.25": 0.25}),
        (options.LIMIT, ["nan", "x"], {"-inf": -float("inf"), "-3": -3.0}),
    ],
)
def test_numbers(kind: Numeric, bad: list[str], good: dict[str, float]):
    for text in bad:
        with pytest.raises(InputError, match=r"(is not a valid (integer|number)|is out of range); give"):
            kind.convert(text, None, None)
    assert {text: kind.convert(text, None, None) for text in good} == good


def shell(command: str, place: Path, **more) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", command.replace("bitextbench", f"{sys.executable} -m bitextbench")],
        cwd=place,
        capture_output=True,
        env=os.environ | more,
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "p.tsv").write_text(PAIRS)
    return tmp_path


SCORE = f"bitextbench score {{}} {' '.join(LANGUAGES)} --similarity levenshtein"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{SCORE.format('p.tsv')} >&-", b"bitextbench: error: standard output: is closed; open it, or name a file\n"),
        (f"{SCORE.format('-')} <&-", b"bitextbench: error: standard input: is closed; open it, or name a file\n"),
        (f"{SCORE.format('p.tsv')} -o p.tsv", b"bitextbench: error: p.tsv: is an input, p.tsv; give the output a name"),
    ],
)
def test_streams_that_are_closed_and_outputs_that_are_inputs(place, command, message):
    done = shell(command, place)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert (place / "p.tsv").read_text() == PAIRS


def test_nothing_is_written_into_a_file_that_got_the_number_of_a_closed_stream(place):
    done = shell(f"{SCORE.format('p.tsv')} -o o.tsv <&- >&- 2>&-", place)
    assert (done.returncode, (place / "o.tsv").read_text()) == (0, "-15.0\n-14.0\n")


def test_a_folder_that_is_made_for_an_output_is_said(tmp_path, capsys):
    given = tmp_path / "absent/deeper/o.tsv"
    assert options.OUT.convert(str(given), None, None) == given
    assert capsys.readouterr().err == f"{given}: there is no folder {given.parent}, so it will be made\n"
    options.OUT.convert(str(tmp_path / "o.tsv"), None, None)
    assert not capsys.readouterr().err


def test_output_is_utf8_whatever_the_locale(place):
    (place / "p.tsv").write_text("grün\tgreen\n")
    done = shell(f"{SCORE.format('p.tsv')} --append", place, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.stdout.decode() == "grün\tgreen\t-2.0\n"


def test_no_home(monkeypatch):
    def none():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(InputError, match="no home folder; name a folder for vectors: --cache"):
        files.cache_folder()
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert files.cache_folder() == Path("/there/bitextbench")


def test_names_of_any_bytes(tmp_path):
    place = tmp_path / os.fsdecode(b"k\xe4")
    place.mkdir()
    for name in ("p.parquet", os.fsdecode(b"\xff.parquet")):
        with open(place / name, "wb") as file:
            pq.write_table(pa.table({"a": [name == "p.parquet"]}), file)
        assert pq.read_table(names.utf8(place / name))["a"].to_pylist() == [name == "p.parquet"]
    json_yaml.write_json(place / "x.json", {"place": str(place), "text": "grün"})
    assert json_yaml.read_json(place / "x.json") == {"place": str(place), "text": "grün"}


def test_filter_reads_and_writes_names_of_any_bytes(place):
    folder = place / os.fsdecode(b"k\xe4")
    folder.mkdir()
    (place / "p.tsv").rename(folder / "p.tsv")
    tsv, parquet = (folder / os.fsdecode(b"\xe4." + end) for end in (b"tsv", b"parquet"))
    for source, out, more in ((folder / "p.tsv", parquet, ()), (parquet, tsv, ("--columns", "src,tgt"))):
        call = [sys.executable, "-m", "bitextbench", "filter", source, *more, *LANGUAGES, "-o", out]
        done = subprocess.run(call, capture_output=True)
        assert done.returncode == 0, done.stderr
    assert [line.split("\t", 3)[3] for line in tsv.read_text().splitlines()] == PAIRS.splitlines()


@pytest.mark.parametrize("command", ["audit", "leaderboard"])
def test_a_command_that_needs_the_repository_says_so(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    message = "references: no such file; call this in the repository, or name it by --references"
    with pytest.raises(InputError, match=message):
        cli.main([command, "run"], standalone_mode=False)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{}", "--spec: names no type of encoder"),
        ("{type: dan_duel}", "unknown encoder 'dan_duel'; did you mean dan_dual"),
        (
            "{type: nmt_autoencoder, model: {hidden: x}}",
            "--spec: `model.hidden: x` is wrong: 'x' is not of type 'integer'",
        ),
        ("{type: shared_seq2seq, model: {pairs: 3}}", "--spec: `model.pairs: 3` is wrong: 3 is not of type 'object'"),
        ("{type: bow_autoencoder, model: 3}", "--spec: `model: 3` is wrong: 3 is not of type 'object'"),
    ],
)
def test_a_setting_of_another_type_is_named(tmp_path, spec, message):
    call = ["train", "--spec", spec, "--bpe", "b", "--src", "de", "--tgt", "en", "--corpus", "bitext=b"]
    with pytest.raises(InputError, match=message):
        cli.main([*call, "--checkpoints", "c", "-o", str(tmp_path / "m/model.pt")], standalone_mode=False)
