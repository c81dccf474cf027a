"""Fetching from mirror folders and from a real HTTP server on this machine."""

import hashlib
import json
import multiprocessing
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bitextbench.base.errors import InputError
from bitextbench.data import fetch as module
from bitextbench.data.fetch import fetch, mirror_places
from bitextbench.data.registry import DataSet, File, entry

TEXT = bytes(range(256)) * 12_000  # three chunks


class Server(ThreadingHTTPServer):
    """Serves `content`; notes the Range of each request; can cut replies short, ignore Range, or refuse."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.cut: list[int] = []  # bytes to send of the next replies before the connection breaks
        self.ranges = True
        self.headers: dict[str, str | None] = {}  # in place of the right ones; None leaves one out
        self.status: dict[str, int] = {}

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.requests.append((self.path, wanted))
        data = self.server.content.get(self.path)
        if data is None or self.path in self.server.status:
            self.send_error(self.server.status.get(self.path, 404))
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        if start >= len(data) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(data)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        cut = self.server.cut.pop(0) if self.server.cut else None  # before a client may hang up, and go on
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        for name, value in ({"Content-Length": str(len(data) - start)} | self.server.headers).items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        sent = data[start:][:cut]
        if self.server.headers.get("Transfer-Encoding"):
            sent = b"%x\r\n%s\r\n0\r\n\r\n" % (len(sent), sent)
        self.wfile.write(sent)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(module, "WAIT", 0.01)
    server = Server()
    server.content["/x/a.bin"] = TEXT
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def data_set(*files: File) -> DataSet:
    return DataSet("a", ("de",), "CC0", "core", (), files)


def published(server: Server, text: bytes = TEXT, **more: Any) -> File:
    return File(server.url("/x/a.bin"), "a.bin", bytes=len(text), sha256=hashlib.sha256(text).hexdigest(), **more)


def manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def test_network_and_rerun(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    fetch(data_set(published(server)), out, [], tmp_path / "lock.json")
    assert left(out) == ["a.bin", "manifest.json"]
    assert (out / "a.bin").read_bytes() == TEXT
    first = (out / "manifest.json").stat().st_mtime_ns, (out / "manifest.json").read_bytes()
    assert manifest(out)["files"] == [
        {
            "path": "a.bin",
            "url": server.url("/x/a.bin"),
            "bytes": len(TEXT),
            "sha256": hashlib.sha256(TEXT).hexdigest(),
            "checksum": "published",
            "from": "network",
        }
    ]
    assert "licence: CC0" in capsys.readouterr().err
    fetch(data_set(published(server)), out, [], tmp_path / "lock.json")
    assert len(server.requests) == 1
    assert first == ((out / "manifest.json").stat().st_mtime_ns, (out / "manifest.json").read_bytes())
    assert not (tmp_path / "lock.json").exists()


def test_damaged_file_is_fetched_again(server: Server, tmp_path: Path) -> None:
    fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    (tmp_path / "a.bin").write_bytes(TEXT[:-1] + b"?")
    fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert (tmp_path / "a.bin").read_bytes() == TEXT


@pytest.mark.parametrize("known", [True, False], ids=["published", "recorded"])
def test_broken_connection_is_resumed(server: Server, tmp_path: Path, known: bool) -> None:
    server.cut = [2_000_000, 500_000]
    file = published(server) if known else File(server.url("/x/a.bin"), "a.bin")
    fetch(data_set(file), tmp_path, [], tmp_path / "lock")
    assert (tmp_path / "a.bin").read_bytes() == TEXT
    starts = [int(wanted.split("=")[1].rstrip("-")) for _, wanted in server.requests if wanted]
    assert len(server.requests) == 3
    assert starts == [2_000_000, 2_500_000]


def test_part_of_a_killed_run_is_resumed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(TEXT[:1000])
    fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert server.requests == [("/x/a.bin", "bytes=1000-")]
    assert (tmp_path / "a.bin").read_bytes() == TEXT


def test_whole_part_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(TEXT)
    fetch(data_set(File(server.url("/x/a.bin"), "a.bin")), tmp_path, [], tmp_path / "lock")
    assert server.requests == [("/x/a.bin", f"bytes={len(TEXT)}-")]
    assert left(tmp_path) == [".lock.guard", "a.bin", "lock", "manifest.json"]


def test_server_without_ranges_starts_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.cut = [1_500_000]
    fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert (tmp_path / "a.bin").read_bytes() == TEXT


@pytest.mark.parametrize(
    "old", [b"old" * 100, b"old" * len(TEXT), b"o" * len(TEXT)], ids=["short", "long", "same size"]
)
def test_part_of_another_file_is_thrown_away(server: Server, tmp_path: Path, old: bytes) -> None:
    (tmp_path / "a.bin.part").write_bytes(old)
    fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert (tmp_path / "a.bin").read_bytes() == TEXT


def test_always_truncated(server: Server, tmp_path: Path) -> None:
    server.cut = [100] + [0] * 10
    with pytest.raises(
        InputError, match=r"a\.bin: .*; try again later \(a download goes on where it stopped\)"
    ) as error:
        fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert "\n" not in str(error.value)
    assert left(tmp_path) == ["a.bin.part"]
    server.cut.clear()
    fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert (tmp_path / "a.bin").read_bytes() == TEXT


def test_wrong_checksum(server: Server, tmp_path: Path) -> None:
    server.content["/x/a.bin"] = wrong = TEXT[::-1]
    with pytest.raises(InputError) as error:
        fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    found, wanted = (hashlib.sha256(text).hexdigest() for text in (wrong, TEXT))
    assert f"{tmp_path / 'a.bin'}: {server.url('/x/a.bin')}: sha256 {found}, expected {wanted}; the publisher" in str(
        error.value
    )
    assert len(server.requests) == 1  # it would be as wrong the next time
    assert left(tmp_path) == []


def test_wrong_size_and_sha1(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"bytes \d+, expected 10"):
        fetch(data_set(File(server.url("/x/a.bin"), "a.bin", bytes=10)), tmp_path, [], tmp_path / "lock")
    with pytest.raises(InputError, match=r"sha1 \w{40}, expected 0{40}"):
        fetch(data_set(File(server.url("/x/a.bin"), "a.bin", sha1="0" * 40)), tmp_path, [], tmp_path / "lock")
    assert left(tmp_path) == []
    sha1 = hashlib.sha1(TEXT).hexdigest()
    fetch(data_set(File(server.url("/x/a.bin"), "a.bin", sha1=sha1)), tmp_path, [], tmp_path / "lock")
    assert manifest(tmp_path)["files"][0]["checksum"] == "published"


def test_second_address(server: Server, tmp_path: Path) -> None:
    server.content["/wrong"] = b"moved"
    server.content["/good"] = TEXT
    file = published(server, mirrors=(server.url("/wrong"), server.url("/good")))
    server.status["/x/a.bin"] = 403
    fetch(data_set(file), tmp_path, [], tmp_path / "lock")
    assert [path for path, _ in server.requests] == ["/x/a.bin", "/wrong", "/good"]
    assert (tmp_path / "a.bin").read_bytes() == TEXT


def test_server_error_is_tried_again_and_missing_is_not(server: Server, tmp_path: Path) -> None:
    server.status["/x/a.bin"] = 503
    with pytest.raises(InputError, match="503"):
        fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert len(server.requests) == module.ROUNDS
    server.requests.clear()
    server.status["/x/a.bin"] = 404
    with pytest.raises(InputError, match="404 Not Found"):
        fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")
    assert len(server.requests) == 1


def test_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT", 0.01)
    with pytest.raises(InputError, match=r"127\.0\.0\.1.*put the file into a mirror folder, as 127\.0\.0\.1:9/a$"):
        fetch(data_set(File("http://127.0.0.1:9/a", "a")), tmp_path, [], tmp_path / "lock")


def test_mirror_folders_come_first_in_their_order(server: Server, tmp_path: Path) -> None:
    file = published(server)
    for name, text in (("two", TEXT), ("three", b"damaged")):
        place = tmp_path / name / file.url.removeprefix("http://")
        place.parent.mkdir(parents=True)
        place.write_bytes(text)
    (tmp_path / "one").mkdir()
    mirrors = [tmp_path / name for name in ("one", "two", "three")]
    fetch(data_set(file), tmp_path / "out", mirrors, tmp_path / "lock")
    assert not server.requests
    assert manifest(tmp_path / "out")["files"][0]["from"] == "mirror"
    with pytest.raises(InputError, match=r"three.*: bytes 7, expected 3072000; mend this mirror's copy") as error:
        fetch(data_set(published(server)), tmp_path / "out2", mirrors[::-1], tmp_path / "lock")
    assert "\n" not in str(error.value)
    assert left(tmp_path / "out2") == []


def test_lock_records_the_first_download(server: Server, tmp_path: Path) -> None:
    lock, file = tmp_path / "registry.lock.json", File(server.url("/x/a.bin"), "a.bin")
    fetch(data_set(file), tmp_path / "one", [], lock)
    assert manifest(tmp_path / "one")["files"][0]["checksum"] == "recorded"
    wanted = {server.url("/x/a.bin"): {"bytes": len(TEXT), "sha256": hashlib.sha256(TEXT).hexdigest()}}
    assert json.loads(lock.read_text()) == wanted
    server.content["/x/a.bin"] = TEXT + b"!"
    with pytest.raises(
        InputError, match=r"bytes 3072001, expected 3072000; the publisher has changed the file.*lock file"
    ):
        fetch(data_set(file), tmp_path / "two", [], lock)
    assert json.loads(lock.read_text()) == wanted


def fetch_one(url: str, folder: Path) -> None:
    fetch(data_set(File(url, "a.bin")), folder, [], folder / "lock.json")


def test_several_fetches_at_once(server: Server, tmp_path: Path) -> None:
    """Each of them is cut again and again, and nothing but their care tells what the file is."""
    server.content["/x/a.bin"] = text = random.Random(1).randbytes(3_000_000)
    server.cut = [400_000] * 5 + [100_000] * 5
    with multiprocessing.get_context("fork").Pool(3) as pool:
        pool.starmap(fetch_one, [(server.url("/x/a.bin"), tmp_path)] * 3, chunksize=1)
    assert (tmp_path / "a.bin").read_bytes() == text
    assert manifest(tmp_path)["files"][0]["sha256"] == hashlib.sha256(text).hexdigest()
    assert left(tmp_path) == [".lock.json.guard", "a.bin", "lock.json", "manifest.json"]
    assert len(server.requests) == 11  # one of them fetched it


@pytest.mark.parametrize("length", ["abc", None, "-5"])
def test_the_end_of_a_file_has_to_be_known(server: Server, tmp_path: Path, length: str | None) -> None:
    server.headers = {"Content-Length": length}
    file = File(server.url("/x/a.bin"), "a.bin")
    with pytest.raises(
        InputError, match=r"Content-Length.*; open the address in a browser, and give the file's sha256"
    ):
        fetch(data_set(file), tmp_path, [], tmp_path / "lock")
    assert left(tmp_path) == []
    server.cut = [1_000_000]
    fetch(data_set(published(server)), tmp_path, [], tmp_path / "lock")  # its checksum tells
    assert [wanted for _, wanted in server.requests] == [None, None, "bytes=1000000-"]
    server.cut = [1_000_000]
    file = File(server.url("/x/a.bin"), "b.bin", sha256=hashlib.sha256(TEXT).hexdigest())
    fetch(data_set(file), tmp_path, [], tmp_path / "lock")
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "b.bin").read_bytes() == TEXT


def test_chunks_tell_their_end(server: Server, tmp_path: Path) -> None:
    server.headers = {"Content-Length": None, "Transfer-Encoding": "chunked"}
    fetch(data_set(File(server.url("/x/a.bin"), "a.bin")), tmp_path, [], tmp_path / "lock")
    assert (tmp_path / "a.bin").read_bytes() == TEXT


def test_a_page_is_no_data(server: Server, tmp_path: Path) -> None:
    server.content["/x/a.bin"] = page = b"<html>Please accept the licence.</html>"
    server.headers = {"Content-Type": "text/html; charset=utf-8"}
    with pytest.raises(InputError, match=r"an HTML page \(text/html\), not data; open the address in a browser"):
        fetch(data_set(File(server.url("/x/a.bin"), "a.bin")), tmp_path, [], tmp_path / "lock")
    assert left(tmp_path) == []
    server.content["/x/a.html"] = page
    fetch(data_set(File(server.url("/x/a.html"), "a.html")), tmp_path, [], tmp_path / "lock")
    fetch(data_set(published(server, page)), tmp_path, [], tmp_path / "lock")


def test_no_bytes_are_no_data(server: Server, tmp_path: Path) -> None:
    server.content["/x/a.bin"] = b""
    with pytest.raises(InputError, match=r"an empty file; open"):
        fetch(data_set(File(server.url("/x/a.bin"), "a.bin")), tmp_path, [], tmp_path / "lock")


def test_a_file_that_cannot_fit_is_not_begun(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(server.headers, "Content-Length", str(1 << 60))
    with pytest.raises(
        InputError, match=r"a\.bin\.part: needs 1,152,921,504,606,846,976 bytes more, and [\d,]+ are free"
    ):
        fetch(data_set(File(server.url("/x/a.bin"), "a.bin")), tmp_path, [], tmp_path / "lock")


def test_two_first_downloads_that_differ(tmp_path: Path) -> None:
    module._record(tmp_path / "lock", "http://h/a", {"bytes": 1, "sha256": "0" * 64, "sha1": ""})
    with pytest.raises(InputError, match="the file differs from that of an earlier download: sha256 111"):
        module._record(tmp_path / "lock", "http://h/a", {"bytes": 1, "sha256": "1" * 64, "sha1": ""})


def record(lock: Path, number: int) -> None:
    module._record(lock, f"http://h/{number:02d}", {"bytes": number, "sha256": "0" * 64})


def test_lock_holds_all_of_several_writers(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.starmap(record, [(tmp_path / "lock", number) for number in range(40)], chunksize=1)
    assert list(json.loads((tmp_path / "lock").read_text())) == [f"http://h/{number:02d}" for number in range(40)]


def test_mirror_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    monkeypatch.setenv("BITEXTBENCH_MIRROR", f"{tmp_path / 'b'}:{tmp_path / 'c'}")
    assert mirror_places([tmp_path / "a"]) == [tmp_path / name for name in "abc"]
    monkeypatch.setenv("BITEXTBENCH_MIRROR", "")
    assert mirror_places() == []
    with pytest.raises(InputError, match=r"no such mirror folder; mend 'mirrors' in the config"):
        mirror_places([tmp_path / "d"])


def test_unknown_data_set(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no data set 'bibel'.*did you mean bible"):
        fetch(entry("bibel"), tmp_path / "out", [], tmp_path / "lock")
    assert not (tmp_path / "out").exists()
