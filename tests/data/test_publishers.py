"""Every data set of the paper scale, fetched from its publisher's miniature, unpacked and parsed."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import publishers
import pytest
from click.testing import CliRunner
from publishers import Fault, Server

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.corpus.build import build
from bitextbench.corpus.language_id import identify
from bitextbench.data import fetch as module
from bitextbench.data import parsers, registry
from bitextbench.data.fetch import fetch, mirror_places
from bitextbench.data.registry import entry
from bitextbench.text import wordpieces
from bitextbench.workflow import Files

LINES = 100
NAMES = publishers.data_sets()
TEXTS = [name for name in NAMES if registry.entry(name).parsers]
SMALL, SUMLESS, REDIRECTED = "newstest2016.de-en", "news-crawl-2013.en", "rapid2016.de-en"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return publishers.mirror(LINES)


@pytest.fixture(scope="module")
def fetched(files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All data sets of the paper scale, fetched from the server."""
    folder = tmp_path_factory.mktemp("publishers")
    with Server(files) as server:
        for name in NAMES:
            fetch(entry(name), folder / name, [server.address], folder / "lock")
    return folder


@pytest.fixture
def server(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(module, "WAIT", 0.01)
    with Server(files, stall=5) as server:
        yield server


def test_each_data_set_of_the_paper_scale_has_a_publisher() -> None:
    edition = publishers.published(LINES)
    assert sorted(edition.rows) == NAMES
    assert len(NAMES) > 50
    wanted = {file.url for name in NAMES for file in registry.entry(name).files}
    assert edition.files.keys() == wanted


def test_the_same_bytes_again(files: dict[str, bytes]) -> None:
    publishers.published.cache_clear()
    assert publishers.mirror(LINES) == files


@pytest.mark.parametrize("name", TEXTS)
def test_rows_are_those_that_the_publisher_put_in(name: str, fetched: Path) -> None:
    languages = registry.entry(name).langs[:2]
    languages = languages if len(languages) == 2 else (languages[0], "xx")
    rows = [tuple(row) for row in parsers.rows_of(parsers.read(name, languages, fetched / name))]
    assert len(rows) > 20
    assert rows == publishers.published(LINES).rows[name]


@pytest.mark.parametrize("name", TEXTS)
def test_empty_lines_are_counted(name: str, fetched: Path, tmp_path: Path) -> None:
    languages = registry.entry(name).langs[:2]
    languages = languages if len(languages) == 2 else (languages[0], "en" if languages[0] != "en" else "de")
    edition = publishers.published(LINES)
    counts = build("c", {"parts": [{"dataset": name}]}, languages, fetched, {}, tmp_path / "c", 1)
    assert counts["in"] == len(edition.rows[name])
    empty = sum(n for kind, n in edition.flaws.get(name, {}).items() if kind.startswith(("empty", "blank")))
    assert counts["dropped"].get("empty", 0) == empty
    assert counts["out"] == counts["in"] - empty


def test_a_crawl_holds_test_sets(fetched: Path, tmp_path: Path) -> None:
    build("test", {"parts": [{"dataset": "newstest2018.de-en"}]}, ("de", "en"), fetched, {}, tmp_path / "test", 1)
    spec = {"parts": [{"dataset": "commoncrawl-wmt13.de-en"}], "exclude": ["test"]}
    counts = build("c", spec, ("de", "en"), fetched, {"test": tmp_path / "test"}, tmp_path / "c", 1)
    assert counts["dropped"]["in test"] == publishers.LEAKED


def test_each_corpus_of_the_paper_scale(fetched: Path, tmp_path: Path) -> None:
    """As configured, but for the numbers of lines and shards: by the command of the workflow, in the order of
    `exclude`.
    """
    whole = resolve(read([publishers.CONFIG])) | {"data": str(fetched)}
    files = Files(whole)
    corpora = {
        name: held for name, held in whole["corpora"].items() if all("dataset" in part for part in held["parts"])
    }
    assert len(corpora) > 60
    for name in sorted(
        corpora, key=lambda name: len(corpora[name].get("exclude", ()))
    ):  # none excludes one that excludes
        spec = files.corpus_spec(name) | {"shards": 2}
        spec["parts"] = [
            part | {key: min(part[key], 40) for key in ("lines", "skip") if key in part} for part in spec["parts"]
        ]
        pair = whole["corpora"][name].get("pair", whole["pair"])
        arguments = ["step", "corpus", name, "--spec", json.dumps(spec), "--src", pair["src"], "--tgt", pair["tgt"]]
        arguments += ["--data", str(fetched), "--seed", "1", "-o", str(tmp_path / name)]
        for other in spec.get("exclude", ()):
            arguments += ["--exclude", f"{other}={tmp_path / other}"]
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, f"{name}: {result.output}"
        counts = json.loads((tmp_path / name / "counts.json").read_text())
        assert counts["out"] > counts["in"] / 4, f"{name}: {counts}"
        if "language" in spec.get("filter", {}):
            assert counts["dropped"]["language"] > 0


def test_flaws_are_there() -> None:
    flaws = publishers.published(LINES).flaws
    assert {kind for counts in flaws.values() for kind in counts} >= publishers.FLAWS.keys()


def test_language_model(fetched: Path) -> None:
    path = str(fetched / "fasttext-lid176" / "lid.176.bin")
    columns = list(zip(*publishers.text("other text", publishers.LANGUAGES, 50), strict=True))
    for code, column in zip(publishers.LANGUAGES, columns, strict=True):
        assert identify(column, publishers.LANGUAGES, path).count(code) > 48


def test_bert(fetched: Path) -> None:
    from bitextbench.encoders.models.cross_encoder import Model  # torch takes seconds

    folder = fetched / "bert-base-multilingual-cased"
    pieces = wordpieces.load(folder / "vocab.txt")
    ids = wordpieces.ids_of(["This house is old.", "这座房子"], wordpieces.tokenizer_of(folder / "vocab.txt"))
    assert pieces.index("[UNK]") not in ids[0].tolist() + ids[1].tolist()
    model = Model(len(pieces), **publishers.BERT)
    assert model.initialise({"model": folder / "model.safetensors"}, pieces.index) == {"model": len(pieces)}


# ---- a mirror of changed content


def test_changed_content_is_named(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (SMALL, SUMLESS):
        fetch(entry(name), tmp_path / name, [server.address], tmp_path / "lock")
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        assert {(file["checksum"], file["from"]) for file in manifest["files"]} == {("changed", "mirror")}
    assert not (tmp_path / "lock").exists()
    warnings = [line for line in capsys.readouterr().err.splitlines() if "WARNING" in line]
    assert len(warnings) == 3
    assert f"not the publisher's file, but that of the mirror {server.address} (generated text of about" in warnings[0]


def test_changed_content_of_a_folder(
    files: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publishers.write(tmp_path / "mirror", files)
    assert publishers.read(tmp_path / "mirror") == files
    fetch(entry(SMALL), tmp_path / "out", [tmp_path / "mirror"], tmp_path / "lock")
    assert "WARNING" in capsys.readouterr().err
    (tmp_path / "mirror" / "changed.json").unlink()
    with pytest.raises(InputError, match=r"mend this mirror's copy"):
        fetch(entry(SMALL), tmp_path / "two", [tmp_path / "mirror"], tmp_path / "lock")


def test_changed_content_never_stands_for_the_publishers(server: Server, tmp_path: Path) -> None:
    """A file whose true sum nobody knows: what the mirror gave is not taken for it, nor half of that continued."""
    out, lock = tmp_path / "out", tmp_path / "lock"
    url = publishers.url(SUMLESS)
    place = tmp_path / "true" / url.split("://")[1]
    place.parent.mkdir(parents=True)
    place.write_bytes(b"true")
    fetch(entry(SUMLESS), out, [server.address], lock)
    fetch(entry(SUMLESS), out, [tmp_path / "true"], lock)
    assert (out / place.name).read_bytes() == b"true"
    assert json.loads((out / "manifest.json").read_text())["files"][0]["checksum"] == "recorded"
    with pytest.raises(InputError, match=r"is the publisher's file, but a mirror has another one; fetch into another"):
        fetch(entry(SUMLESS), out, [server.address], lock)
    assert (out / place.name).read_bytes() == b"true"


def test_a_mirror_without_changed_content_is_held_to_the_registry(server: Server, tmp_path: Path) -> None:
    server.files = {place: data for place, data in server.files.items() if place != "changed.json"}
    source = module._source(registry.entry(SMALL).files[0], {server.address: module._changed(server.address)})
    assert source.places[0].startswith(server.address)
    with pytest.raises(module._Wrong, match="expected"):
        module._read(source.places[0], tmp_path / "part", {"sha256": registry.entry(SMALL).files[0].sha256})


def test_a_first_download_from_a_mirror_is_recorded(server: Server, tmp_path: Path) -> None:
    """Of four volumes, whose sums nobody publishes, one changes."""
    server.files = {place: data for place, data in server.files.items() if place != "changed.json"}
    fetch(entry("un-v1-6way"), tmp_path / "one", [server.address], tmp_path / "lock")
    manifest = json.loads((tmp_path / "one" / "manifest.json").read_text())
    assert {(file["checksum"], file["from"]) for file in manifest["files"]} == {("recorded", "mirror")}
    place = publishers.url("un-v1-6way", 3).split("://")[1]
    server.files[place] += b"!"
    begun = len(server.requests)
    fetch(entry("un-v1-6way"), tmp_path / "one", [server.address], tmp_path / "lock")
    assert [place for place, _ in server.requests[begun:]] == ["changed.json"]
    source = module._source(registry.entry("un-v1-6way").files[3], {server.address: {}})
    with pytest.raises(module._Wrong, match="expected"):
        module._read(
            source.places[0], tmp_path / "part", module._recorded(tmp_path / "lock")[publishers.url("un-v1-6way", 3)]
        )


def test_a_mirror_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT", 0.01)
    with pytest.raises(
        InputError, match=r"http://127\.0\.0\.1:9: the mirror does not answer .*; start it, or leave it out"
    ):
        fetch(entry(SMALL), tmp_path / "out", ["http://127.0.0.1:9"], tmp_path / "lock")


def test_addresses_among_mirrors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITEXTBENCH_MIRROR", f"{tmp_path}:http://127.0.0.1:8000/:https://h/a:{tmp_path}")
    assert mirror_places(["http://i"]) == ["http://i", tmp_path, "http://127.0.0.1:8000", "https://h/a", tmp_path]


def test_by_command(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BITEXTBENCH_MIRROR", raising=False)
    out = tmp_path / "raw" / SMALL
    arguments = ["fetch", SMALL, "--mirror", server.address, "--lock", str(tmp_path / "lock"), "-o", str(out)]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    monkeypatch.setenv("BITEXTBENCH_MIRROR", server.address)
    again = [*arguments[:2], *arguments[4:]]
    assert CliRunner().invoke(cli, again, catch_exceptions=False).exit_code == 0
    assert len(server.requests) == 4  # two files, and twice changed.json


# ---- faults of a server


def meets(server: Server, name: str, folder: Path, kind: str, times: int = 1) -> None:
    """Fetch a data set from a server with a fault; its files are right in the end."""
    server.faults = [Fault(kind, times=times)]
    fetch(entry(name), folder / name, [server.address], folder / "lock")
    for file in registry.entry(name).files:
        assert (folder / name / file.path).read_bytes() == server.files[file.url.split("://")[1]]
    assert len(server.met) == times * len(registry.entry(name).files)


@pytest.mark.parametrize("kind", ["truncate", "503", "429", "redirect", "nolength", "chunked", "norange"])
@pytest.mark.parametrize("name", [SMALL, REDIRECTED])
def test_fault(server: Server, tmp_path: Path, kind: str, name: str) -> None:
    meets(server, name, tmp_path, kind)


def test_a_stalled_reply_is_left(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", (1, 0.2))
    begun = time.monotonic()
    meets(server, SUMLESS, tmp_path, "stall", 2)
    assert time.monotonic() - begun < 3


def test_truncated_and_ranges_refused(server: Server, tmp_path: Path) -> None:
    server.faults = [Fault("truncate"), Fault("norange")]
    fetch(entry(SUMLESS), tmp_path / "out", [server.address], tmp_path / "lock")
    assert [kind for _, kind in server.met] == ["truncate", "norange"]
    place = publishers.url(SUMLESS)
    assert (tmp_path / "out" / place.rsplit("/", 1)[1]).read_bytes() == server.files[place.split("://")[1]]


@pytest.mark.parametrize("kind", ["corrupt", "page"])
def test_wrong_bytes_are_refused_and_right_ones_taken_the_next_time(server: Server, tmp_path: Path, kind: str) -> None:
    server.faults = [Fault(kind, "*.gz")]
    with pytest.raises(InputError, match=r"expected"):
        fetch(entry(SUMLESS), tmp_path / SUMLESS, [server.address], tmp_path / "lock")
    assert not [path for path in (tmp_path / SUMLESS).iterdir() if path.name != ".lock"]
    meets(server, SUMLESS, tmp_path, kind)


def test_a_missing_file_of_a_mirror(server: Server, tmp_path: Path) -> None:
    server.faults = [Fault("404", "*.de")]
    with pytest.raises(InputError, match=r"newstest2016\.de: 404 Not Found; try again; if the error stays"):
        fetch(entry(SMALL), tmp_path / "out", [server.address], tmp_path / "lock")


@pytest.mark.parametrize("spec", ["500", "503:*:2:3", ""])
def test_fault_specifications(spec: str) -> None:
    assert publishers.fault("503:*europarl*:2") == Fault("503", "*europarl*", 2)
    assert publishers.fault("stall") == Fault("stall")
    with pytest.raises(Exception, match="KIND"):
        publishers.fault(spec)
