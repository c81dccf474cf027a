"""Fetches data sets from a mirror or the network: verified, resumable."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import urllib3

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import parse, read_json, write_json
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import count_of, log, progress
from bitextbench.data.registry import DataSet, File

CHUNK = 1 << 20
ROUNDS = 4  # attempts at each address
WAIT = 2.0  # seconds before the second round; each later wait is twice as long
TIMEOUT = (15, 120)  # seconds: to connect, and between two bytes
PAGES = ("text/html", "application/xhtml+xml")
MIRROR = re.compile(r"https?://[^/:]+(?::\d+)?[^:]*|[^:]+")  # between colons: an address, or a folder
CHANGED = "changed.json"
Mirror = Path | str  # a folder, or the address of a server


def mirror_places(configured: Sequence[str | Path] = ()) -> list[Mirror]:
    """The folders and addresses to search before the network: those of the config, then those of BITEXTBENCH_MIRROR.

    Raises InputError for a folder that does not exist.
    """
    named = MIRROR.findall(os.environ.get("BITEXTBENCH_MIRROR", ""))
    places = [
        place.rstrip("/") if re.match("https?://", place) else Path(place) for place in (*map(str, configured), *named)
    ]
    for place in places:
        if isinstance(place, Path) and not place.is_dir():
            raise InputError(
                "no such mirror folder", place, remedy="mend 'mirrors' in the config or BITEXTBENCH_MIRROR"
            )
    return places


def fetch(data_set: DataSet, folder: Path, mirrors: Sequence[Mirror], lock: Path) -> None:
    """Fetch the files of a data set into `folder`, as they are served; `folder/manifest.json` is written last.

    A file is searched at `<mirror>/<url without scheme>` in each of `mirrors`, folders first, then on the network.
    Files already in `folder` are verified and kept. Sizes and checksums are those of the registry. Where the publisher
    states none, those of the first download are recorded in `lock` (JSON) and are required from then on. If several
    processes fetch into one folder, one of them fetches a file; the others wait, and verify it.

    A mirror whose files are not the publishers' (a miniature for a rehearsal, say) lists them in its `changed.json`:
    `{"why": what they are, "files": {url: {"bytes", "sha256"}}}`. Those are taken from nowhere else and verified by
    these sums. A warning names them, the manifest calls them "changed", and `lock` never records them.

    Raises InputError for a file that cannot be found, or that differs from the registry, the lock or changed.json. A
    file without a checksum must not come as an HTML page or without its length. A changed file is refused in place of
    the publisher's.
    """
    log(f"{data_set.name}: licence: {data_set.licence} ({data_set.tier})")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.json"
    before = {file["path"]: file for file in read_json(manifest)["files"]} if manifest.exists() else {}
    changed = {mirror: _changed(mirror) for mirror in mirrors}
    files = [_bring(file, folder, _source(file, changed), lock, before.get(file.path, {})) for file in data_set.files]
    value = _manifest(data_set, files)
    if not manifest.exists() or read_json(manifest) != value:
        with _locked(folder / ".lock"):
            write_json(manifest, value)
    log(f"{data_set.name}: {count_of(len(files), 'file')}, {sum(file['bytes'] for file in files):,} bytes, verified")


def record(data_set: DataSet, folder: Path) -> None:
    """Write the manifest of a data set whose files were made here, out of a package: their sizes and sums."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = [{"path": str(path.relative_to(folder)), **_sums(path), "from": "package"} for path in paths]
    write_json(folder / "manifest.json", _manifest(data_set, files))


def _manifest(data_set: DataSet, files: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"dataset": data_set.name, "licence": data_set.licence, "tier": data_set.tier, "files": files}


@dataclass(frozen=True)
class _Source:
    """Where a file is: a copy in a mirror folder, or else some addresses, those of mirrors first."""

    places: tuple[Mirror, ...]
    changed: Mapping[str, Any]  # the sums of a file that is not the publisher's; else {}


def _source(file: File, changed: Mapping[Mirror, Mapping[str, Any]]) -> _Source:
    """The source of a file; `changed`: the mirrors, and what their changed.json has."""
    place = file.url.split("://")[1]
    folders: list[Mirror] = [mirror for mirror in changed if isinstance(mirror, Path) and (mirror / place).is_file()]
    asked = folders[:1] or [mirror for mirror in changed if isinstance(mirror, str)]
    places: list[Mirror] = [mirror / place if isinstance(mirror, Path) else f"{mirror}/{place}" for mirror in asked]
    for mirror, where in zip(asked, places, strict=True):
        if sums := changed[mirror].get("files", {}).get(file.url):
            why = changed[mirror].get("why", "other content")
            log(f"WARNING: {file.url}: not the publisher's file, but that of the mirror {mirror} ({why})")
            return _Source((where,), sums)
    return _Source((*places, *(() if folders else (file.url, *file.mirrors))), {})


def _origin(file: File, place: Mirror) -> str:
    return "network" if place in (file.url, *file.mirrors) else "mirror"


def _changed(mirror: Mirror) -> dict[str, Any]:
    """The changed.json of a mirror; {} where there is none. Raises InputError for a server that does not answer."""
    if isinstance(mirror, Path):
        return read_json(mirror / CHANGED) if (mirror / CHANGED).exists() else {}
    reason: Exception | None = None
    for attempt in range(ROUNDS):
        time.sleep(WAIT * 2 ** (attempt - 1) if attempt else 0)
        try:
            with requests.get(f"{mirror}/{CHANGED}", timeout=TIMEOUT) as reply:
                if reply.status_code in (403, 404, 410):
                    return {}
                reply.raise_for_status()
                return dict(parse(reply.content.decode(), f"{mirror}/{CHANGED}"))
        except requests.RequestException as error:
            reason = error
    raise InputError(f"the mirror does not answer ({reason})", mirror, remedy="start it, or leave it out")


def _bring(file: File, folder: Path, source: _Source, lock: Path, before: Mapping[str, Any]) -> dict[str, Any]:
    """Put one file into `folder`, verified. Returns its manifest entry; `before`: that of an earlier run."""
    target = folder / file.path
    published = {key: value for key in ("sha256", "sha1") if (value := getattr(file, key))}
    expected = source.changed or published or _recorded(lock).get(file.url) or {}
    if file.bytes is not None:
        expected = {"bytes": file.bytes, **expected}
    was_changed = before.get("checksum") == "changed"
    if source.changed and before and not was_changed:
        what = "is the publisher's file, but a mirror has another one"
        raise InputError(
            what, target, remedy="fetch into another folder (`data` in the config), or leave the mirror out"
        )
    if was_changed and not source.changed:
        log(f"{target}: came from a mirror with other content, which is not given now; the publisher's file is fetched")
        target.unlink(missing_ok=True)
    origin = before.get("from") or _origin(file, source.places[0])
    if not (sums := _verified(target, expected)):
        with _locked(folder / ".lock"):
            if not (sums := _verified(target, expected)):
                sums, place = _taken(file, source, target, expected)
                origin = _origin(file, place)
    if not published and not source.changed:
        _record(lock, file.url, sums)
    return {
        "path": file.path,
        "url": file.url,
        "bytes": sums["bytes"],
        "sha256": sums["sha256"],
        "checksum": "changed" if source.changed else "published" if published else "recorded",
        "from": origin,
    }


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file; wait while another process holds it."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- actual and expected sums of a file: {"bytes", "sha256", "sha1"}; of the expected ones, those that are known


def _difference(sums: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    """The first difference as a message; "" for none."""
    for key in ("bytes", "sha256", "sha1"):
        if key in expected and sums[key] != expected[key]:
            return f"{key} {sums[key]}, expected {expected[key]}"
    return ""


def _sums(path: Path) -> dict[str, Any]:
    """The sums of a file, read back from the disk."""
    sha256, sha1 = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
    with open(path, "rb") as stream:
        while chunk := stream.read(CHUNK):
            sha256.update(chunk)
            sha1.update(chunk)
        return {"bytes": stream.tell(), "sha256": sha256.hexdigest(), "sha1": sha1.hexdigest()}


def _verified(target: Path, expected: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of a file that exists and has the expected ones; else {}."""
    sums = _sums(target) if target.exists() else {}
    return {} if not sums or _difference(sums, expected) else sums


# ---- the lock: {url: {"bytes", "sha256"}} of files without a published checksum


def _recorded(lock: Path) -> dict[str, dict[str, Any]]:
    return read_json(lock) if lock.exists() else {}


def _record(lock: Path, url: str, sums: Mapping[str, Any]) -> None:
    """Record a first download. Several processes may do so at once: a file lock guards `lock`."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with _locked(lock.with_name(f".{lock.name}.guard")):
        recorded = _recorded(lock)
        if url not in recorded:
            recorded[url] = {"bytes": sums["bytes"], "sha256": sums["sha256"]}
            write_json(lock, dict(sorted(recorded.items())))
            log(f"{url}: no published checksum; recorded sha256 {sums['sha256']} in {lock}")
        elif difference := _difference(sums, recorded[url]):
            raise InputError(
                f"the file differs from that of an earlier download: {difference}", url, remedy="fetch it again"
            )


# ---- from a mirror folder


def _copy(source: Path, target: Path, expected: Mapping[str, Any]) -> dict[str, Any]:
    with atomic(target) as part:
        shutil.copyfile(source, part)
        sums = _sums(part)
        if difference := _difference(sums, expected):
            raise InputError(difference, source, remedy="mend this mirror's copy, or leave the mirror out")
    return sums


# ---- from the network


class _Refused(Exception):
    """This address does not serve the file; another attempt is useless."""


class _Unsure(_Refused):
    """The reply of this address cannot be trusted without a checksum."""

    remedy = "open the address in a browser, and give the file's sha256 in the registry, or use a mirror folder"


class _Wrong(_Refused):
    """The file at this address differs from the registry or the lock."""

    remedy = "the publisher has changed the file: mend the registry entry or the lock file, or use a mirror folder"


def _taken(file: File, source: _Source, target: Path, expected: Mapping[str, Any]) -> tuple[dict[str, Any], Mirror]:
    """Copy a file, or try the addresses in turn until one gives the expected file, or ROUNDS rounds bring no further byte.

    `<target>.part` holds the bytes so far, and stays for the next run. Returns the sums, and the place.
    """
    if isinstance(copy := source.places[0], Path):
        return _copy(copy, target, expected), copy
    part = target.with_name(f"{target.name}{'.changed' if source.changed else ''}.part")
    addresses = [*map(str, source.places)]
    reasons: dict[str, Exception] = {}
    most = failures = 0
    while addresses and failures < ROUNDS:
        if reasons:
            time.sleep(WAIT * 2**failures)
        for url in list(addresses):
            try:
                sums = _read(url, part, expected)
            except (_Refused, requests.RequestException, urllib3.exceptions.HTTPError) as error:
                reasons[url] = error
                log(f"{url}: {error}")
                if isinstance(error, _Refused):
                    addresses.remove(url)
                continue
            os.replace(part, target)
            return sums, url
        size = part.stat().st_size if part.exists() else 0
        failures = 0 if size > most else failures + 1
        most = max(most, size)
    place = file.url.split("://")[1]
    remedy = f"try again later (a download goes on where it stopped), or put the file into a mirror folder, as {place}"
    for kind in (_Unsure, _Wrong):
        remedy = kind.remedy if any(isinstance(reason, kind) for reason in reasons.values()) else remedy
    if source.changed:
        remedy = "try again; if the error stays, make the mirror and its changed.json again"
    what = "; ".join(f"{url}: {' '.join(str(reason).split())}" for url, reason in reasons.items())
    raise InputError(what, target, remedy=remedy)


def _read(url: str, part: Path, expected: Mapping[str, Any]) -> dict[str, Any]:
    """Download the rest of `part`. Returns its sums when they are the expected ones; a wrong file is removed."""
    resumed = part.stat().st_size if part.exists() else 0
    bounded = True  # the reply says where it ends
    if not resumed or resumed != expected.get("bytes"):
        # identity: else a server may compress the reply, and size and Range would be those of the compressed file
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={resumed}-"} if resumed else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as reply:
            if reply.status_code == 416:  # no bytes after `resumed`: the part is whole, or wrong
                if reply.headers.get("Content-Range") != f"bytes */{resumed}":
                    part.unlink()
                    raise requests.HTTPError("the part on disk is of another file; starting again")
            elif 400 <= reply.status_code < 500 and reply.status_code not in (408, 425, 429):
                raise _Refused(f"{reply.status_code} {reply.reason}")
            else:
                reply.raise_for_status()
                begins = f"bytes {resumed}-"
                if reply.status_code != 206 or not reply.headers.get("Content-Range", "").startswith(begins):
                    resumed = 0  # the server sends the whole file
                bounded = _check_reply(reply, expected)
                _save(reply, part, resumed, expected.get("bytes"))  # raises when the reply ends early
    sums = _sums(part)
    if not bounded and sums["bytes"] < expected.get("bytes", 0):
        raise requests.ConnectionError(f"the reply ended after {sums['bytes']:,} of {expected['bytes']:,} bytes")
    if difference := _difference(sums, expected):
        part.unlink()
        # perhaps the reply was cut, or the part is of an older file: try the same address again, from the start
        raise requests.HTTPError(f"{difference}; starting again") if resumed or not bounded else _Wrong(difference)
    return sums


def _check_reply(reply: requests.Response, expected: Mapping[str, Any]) -> bool:
    """Whether the reply says where it ends.

    Raises _Unsure, where there is no checksum, for an HTML page, an empty file, and a reply of unknown length.
    """
    bounded = reply.raw.length_remaining is not None or reply.raw.chunked
    if not expected.keys() & {"sha256", "sha1"}:
        kind = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind in PAGES and not reply.url.endswith((".html", ".htm", ".xhtml")):
            raise _Unsure(f"an HTML page ({kind}), not data")
        if not bounded and "bytes" not in expected:
            length = reply.headers.get("Content-Length")
            raise _Unsure(
                f"Content-Length is {length!r}" if length else "no Content-Length, so that a cut would not be seen"
            )
        if reply.raw.length_remaining == 0 and expected.get("bytes") != 0:
            raise _Unsure("an empty file")
    return bounded


def _save(reply: requests.Response, part: Path, resumed: int, size: int | None) -> None:
    """Append the reply to `part` (from the start when `resumed` is 0), up to one chunk beyond `size` bytes."""
    left = reply.raw.length_remaining
    total = None if left is None else -(-left // CHUNK)
    with open(part, "ab" if resumed else "wb") as out:
        if left is not None and left > (free := shutil.disk_usage(part.parent).free):
            raise InputError(f"needs {left:,} bytes more, and {free:,} are free", part, remedy="free some space")
        for chunk in progress(reply.raw.stream(CHUNK, decode_content=False), reply.url, total=total, unit="MiB"):
            out.write(chunk)
            if size is not None and out.tell() > size:
                break
