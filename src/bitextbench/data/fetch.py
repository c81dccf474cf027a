"""Fetch a data set: verified, resumable, from a mirror folder or the network."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import requests
import urllib3

from bitextbench.base.errors import InputError
from bitextbench.base.files import atomic, read_json, write_json
from bitextbench.base.progress import log, progress
from bitextbench.data.registry import DataSet, File, entry

CHUNK = 1 << 20
ROUNDS = 4  # times that each address is tried
WAIT = 2.0  # seconds before the second round; twice as long before each next one
TIMEOUT = (15, 120)  # seconds to connect, and without a byte
PAGES = ("text/html", "application/xhtml+xml")


def mirror_folders(configured: Sequence[str | Path] = ()) -> list[Path]:
    """The folders to look in before the network: those of the config, then those of BITEXTBENCH_MIRROR.

    Raises InputError for one that is not there.
    """
    folders = [
        Path(folder) for folder in (*configured, *os.environ.get("BITEXTBENCH_MIRROR", "").split(os.pathsep)) if folder
    ]
    for folder in folders:
        if not folder.is_dir():
            raise InputError(
                "no such mirror folder", folder, remedy="mend 'mirror' in the config or BITEXTBENCH_MIRROR"
            )
    return folders


def fetch(name: str, folder: Path, mirrors: Sequence[Path], lock: Path) -> None:
    """Bring the files of a registry data set into `folder` as they are served, and write `folder/manifest.json` last.

    A file is looked for at `<mirror>/<url without scheme>` in each folder of `mirrors`, then on the network. What is
    already in `folder` is verified and kept. Sizes and checksums are the registry's; where the publisher states none,
    the first download's are recorded in `lock` (JSON) and hold from then on. Of several fetches into one folder one
    brings a file, and the others wait and verify it.

    Raises InputError when a file is found nowhere, is not what the registry or the lock says, or comes without a
    checksum as an HTML page or without its length.
    """
    fetch_data_set(entry(name), folder, mirrors, lock)


def fetch_data_set(data_set: DataSet, folder: Path, mirrors: Sequence[Path], lock: Path) -> None:
    """`fetch`, for an entry at hand."""
    log(f"{data_set.name}: licence: {data_set.licence} ({data_set.tier})")
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "manifest.json"
    before = {file["path"]: file["from"] for file in read_json(manifest)["files"]} if manifest.exists() else {}
    files = [_bring(file, folder, mirrors, lock, before.get(file.path)) for file in data_set.files]
    value = {"dataset": data_set.name, "licence": data_set.licence, "tier": data_set.tier, "files": files}
    if not manifest.exists() or read_json(manifest) != value:
        with _locked(folder / ".lock"):
            write_json(manifest, value)
    log(f"{data_set.name}: {len(files)} files, {sum(file['bytes'] for file in files):,} bytes, verified")


def _bring(file: File, folder: Path, mirrors: Sequence[Path], lock: Path, before: str | None) -> dict[str, Any]:
    """One file, verified, in `folder`. Returns what the manifest says of it."""
    target = folder / file.path
    published = _published(file)
    wanted = published or _recorded(lock).get(file.url) or {}
    if file.bytes is not None:
        wanted = {"bytes": file.bytes, **wanted}
    copy = next((place for mirror in mirrors if (place := mirror / file.url.split("://")[1]).is_file()), None)
    source = before or ("network" if copy is None else "mirror")
    if not (found := _right(target, wanted)):
        source = "network" if copy is None else "mirror"
        with _locked(folder / ".lock"):
            found = _right(target, wanted) or (
                _download(file, target, wanted) if copy is None else _copy(copy, target, wanted)
            )
    if not published:
        _record(lock, file.url, found)
    return {
        "path": file.path,
        "url": file.url,
        "bytes": found["bytes"],
        "sha256": found["sha256"],
        "checksum": "published" if published else "recorded",
        "from": source,
    }


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file against other processes; wait while one of them holds it."""
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# ---- what a file is, and what it has to be: {"bytes", "sha256", "sha1"}, as many as are known


def _published(file: File) -> dict[str, Any]:
    return {key: value for key in ("sha256", "sha1") if (value := getattr(file, key))}


def _difference(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """What is wrong with a file, "" when nothing is."""
    for key in ("bytes", "sha256", "sha1"):
        if key in wanted and found[key] != wanted[key]:
            return f"{key} {found[key]}, expected {wanted[key]}"
    return ""


def _sums(path: Path) -> dict[str, Any]:
    """Of what the disk has, not of what was sent to it."""
    sha256, sha1 = hashlib.sha256(), hashlib.sha1(usedforsecurity=False)
    with open(path, "rb") as stream:
        while chunk := stream.read(CHUNK):
            sha256.update(chunk)
            sha1.update(chunk)
        return {"bytes": stream.tell(), "sha256": sha256.hexdigest(), "sha1": sha1.hexdigest()}


def _right(target: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The sums of a file that is there and right, else {}."""
    found = _sums(target) if target.exists() else {}
    return {} if not found or _difference(found, wanted) else found


# ---- the lock: {url: {"bytes", "sha256"}} of the files whose publishers give no checksum


def _recorded(lock: Path) -> dict[str, dict[str, Any]]:
    return read_json(lock) if lock.exists() else {}


def _record(lock: Path, url: str, found: Mapping[str, Any]) -> None:
    """Write down a first download. Several fetches may run at once, so the lock file is itself guarded."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with _locked(lock.with_name(f".{lock.name}.guard")):
        recorded = _recorded(lock)
        if url not in recorded:
            recorded[url] = {"bytes": found["bytes"], "sha256": found["sha256"]}
            write_json(lock, dict(sorted(recorded.items())))
            log(f"{url}: no published checksum; recorded sha256 {found['sha256']} in {lock}")
        elif difference := _difference(found, recorded[url]):
            raise InputError(f"another fetch got another file: {difference}", url, remedy="fetch it again")


# ---- from a mirror folder


def _copy(source: Path, target: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    with atomic(target) as part:
        shutil.copyfile(source, part)
        found = _sums(part)
        if difference := _difference(found, wanted):
            raise InputError(difference, source, remedy="mend this mirror's copy, or leave the mirror out")
    return found


# ---- from the network


class _Refused(Exception):
    """This address will not give the file, now or later."""


class _Wrong(_Refused):
    """This address gives another file than the registry or the lock says."""


class _Unsure(_Refused):
    """This address gives what cannot be trusted without a checksum."""


def _download(file: File, target: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Try the addresses in turn until one gives the right file, or none has given more for ROUNDS rounds.

    `<target>.part` holds what is there so far, and stays for the next run.
    """
    part = target.with_name(f"{target.name}.part")
    addresses = [file.url, *file.mirrors]
    reasons: dict[str, Exception] = {}
    most = failures = 0
    while addresses and failures < ROUNDS:
        if reasons:
            time.sleep(WAIT * 2**failures)
        for url in list(addresses):
            try:
                found = _read(url, part, wanted)
            except (_Refused, requests.RequestException, urllib3.exceptions.HTTPError) as error:
                reasons[url] = error
                log(f"{url}: {error}")
                if isinstance(error, _Refused):
                    addresses.remove(url)
                continue
            os.replace(part, target)
            return found
        size = part.stat().st_size if part.exists() else 0
        failures = 0 if size > most else failures + 1
        most = max(most, size)
    remedy = "try again later (a download goes on where it stopped), or put the file into a mirror folder"
    if any(isinstance(reason, _Wrong) for reason in reasons.values()):
        remedy = "the publisher has changed the file: mend the registry entry or the lock file, or use a mirror folder"
    elif any(isinstance(reason, _Unsure) for reason in reasons.values()):
        remedy = "open the address in a browser, and give the file's sha256 in the registry, or use a mirror folder"
    what = "; ".join(f"{url}: {' '.join(str(reason).split())}" for url, reason in reasons.items())
    raise InputError(what, target, remedy=remedy)


def _read(url: str, part: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Add what is missing of `part`. Returns its sums when it is whole and right; a wrong one is removed."""
    resumed = part.stat().st_size if part.exists() else 0
    ended = True  # the reply has told its end
    if not resumed or resumed != wanted.get("bytes"):
        # identity: else a server may pack the file once more on its way, and the size and Range mean something else
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={resumed}-"} if resumed else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as reply:
            if reply.status_code == 416:  # nothing after what we have: it is whole, or wrong
                if reply.headers.get("Content-Range") != f"bytes */{resumed}":
                    part.unlink()
                    raise requests.HTTPError("the part on disk is of another file; starting again")
            elif 400 <= reply.status_code < 500 and reply.status_code not in (408, 425, 429):
                raise _Refused(f"{reply.status_code} {reply.reason}")
            else:
                reply.raise_for_status()
                begins = f"bytes {resumed}-"
                if reply.status_code != 206 or not reply.headers.get("Content-Range", "").startswith(begins):
                    resumed = 0  # the server sends everything
                ended = _check_reply(reply, wanted)
                _save(reply, part, resumed, wanted.get("bytes"))  # raises when the reply ends early
    found = _sums(part)
    if not ended and found["bytes"] < wanted.get("bytes", 0):
        raise requests.ConnectionError(f"the reply ended after {found['bytes']:,} of {wanted['bytes']:,} bytes")
    if difference := _difference(found, wanted):
        part.unlink()
        # a cut reply, or a part of an older file, may be the reason: the same address is tried again, from the start
        raise requests.HTTPError(f"{difference}; starting again") if resumed or not ended else _Wrong(difference)
    return found


def _check_reply(reply: requests.Response, wanted: Mapping[str, Any]) -> bool:
    """Whether the reply tells where it ends. Refuses one that nothing could tell from the data: a page, a part, no byte."""
    ended = reply.raw.length_remaining is not None or reply.raw.chunked
    if not wanted.keys() & {"sha256", "sha1"}:
        kind = reply.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind in PAGES and not reply.url.endswith((".html", ".htm", ".xhtml")):
            raise _Unsure(f"an HTML page ({kind}), not data")
        if not ended and "bytes" not in wanted:
            length = reply.headers.get("Content-Length")
            raise _Unsure(
                f"Content-Length is {length!r}" if length else "no Content-Length, so that a cut would not be seen"
            )
        if reply.raw.length_remaining == 0 and wanted.get("bytes") != 0:
            raise _Unsure("an empty file")
    return ended


def _save(reply: requests.Response, part: Path, resumed: int, size: int | None) -> None:
    """Append the reply to `part` (from the start when `resumed` is 0), to one chunk beyond `size` bytes at most."""
    left = reply.raw.length_remaining
    total = None if left is None else -(-left // CHUNK)
    with open(part, "ab" if resumed else "wb") as out:
        if left is not None and left > (free := shutil.disk_usage(part.parent).free):
            raise InputError(f"needs {left:,} bytes more, and {free:,} are free", part, remedy="free some space")
        for chunk in progress(reply.raw.stream(CHUNK, decode_content=False), reply.url, total=total, unit="MiB"):
            out.write(chunk)
            if size is not None and out.tell() > size:
                break
