"""The registry: strict reading, and entries whose parsers exist and read only files that the entry has."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bitextbench.base.errors import InputError
from bitextbench.data import parsers
from bitextbench.data.registry import DataSet, entry, load, read

GOOD = {
    "name": "a.de-en",
    "langs": ["de", "en"],
    "licence": "CC0",
    "tier": "core",
    "parsers": [{"name": "aligned", "texts": {"de": "a.de", "en": "a.en"}}],
    "files": [
        {"url": "https://example.org/x/a.de", "bytes": 3, "sha256": "0" * 63 + "a"},
        {"url": "http://example.org/x/a.en"},
    ],
}


def written(folder: Path, *entries: Any) -> list[Path]:
    path = folder / "r.yaml"
    path.write_text(yaml.safe_dump(list(entries)))
    return [path]


def test_good_entry(tmp_path: Path) -> None:
    data_set = read(written(tmp_path, GOOD))["a.de-en"]
    assert [file.path for file in data_set.files] == ["a.de", "a.en"]
    assert data_set.files[1].sha256 is None
    assert data_set.parsers[0].arguments["texts"]["de"] == "a.de"


def file_with(**changes: Any) -> dict[str, Any]:
    return {"files": [{**GOOD["files"][0], **changes}]}  # type: ignore[index]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"license": "CC0"}, "unknown key 'license'; did you mean 'licence'?"),
        ({"tier": "cor"}, "tier is 'cor'; did you mean core?"),
        ({"licence": None}, "key 'licence' is missing"),
        ({"langs": "de"}, "langs is not a list"),
        ({"parsers": [{"texts": {}}]}, "a parser has no name"),
        (file_with(sha265="0" * 64), "unknown key 'sha265'; did you mean sha256"),
        (file_with(sha256="0" * 63), "64 digits of 0-9 and a-f"),
        (file_with(sha1="Z" * 40), "40 digits"),
        (file_with(bytes="3"), "bytes is '3'; give a whole number"),
        (file_with(url="ftp://example.org/a"), "starts with https://"),
        (file_with(url="https://example.org/"), "names a file"),
        (file_with(url="file:///a"), "files of your own are `files:` in a configuration"),
        (file_with(path="../a"), "'../a' cannot be a file name"),
        (file_with(path="manifest.json"), "cannot be a file name"),
        ({"files": [GOOD["files"][0]] * 2}, "two files are called a.de"),  # type: ignore[index]
    ],
)
def test_bad_entry_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        read(written(tmp_path, {**GOOD, **change}))
    assert message.replace("'licence'?", "licence") in str(error.value)
    assert str(error.value).startswith(f"{tmp_path / 'r.yaml'}: a.de-en: ")


def test_bad_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.de-en appears twice"):
        read(written(tmp_path, GOOD, GOOD))
    with pytest.raises(InputError, match="'text' is not a mapping"):
        read(written(tmp_path, "text"))
    path = tmp_path / "bad.yaml"
    path.write_text("- name: a\n  langs: [de\n  tier: core\n")
    with pytest.raises(InputError, match=r"bad\.yaml:3: not YAML"):
        read([path])
    path.write_text("name: a\n")
    with pytest.raises(InputError, match="not a list of data sets"):
        read([path])


def test_unknown_name_shows_the_nearest() -> None:
    with pytest.raises(
        InputError, match=r"no data set 'newstest-2016\.de-en' in the registry; did you mean .*newstest2016\.de-en"
    ):
        entry("newstest-2016.de-en")


def places(value: Any) -> Iterator[str]:
    """All places in a parser's arguments."""
    if isinstance(value, dict):
        for item in value.values():
            yield from places(item)
    elif isinstance(value, list):
        for item in value:
            yield from places(item)
    else:
        yield value


@pytest.mark.parametrize("data_set", load().values(), ids=lambda data_set: data_set.name)
def test_entry_is_sound(data_set: DataSet) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]+", data_set.name)
    assert all(file.sha256 or file.sha1 or file.url.startswith("http") for file in data_set.files)
    files = {re.sub(r"\.\d\d$", "", file.path) for file in data_set.files}
    for parser in data_set.parsers:
        parsers.parser_function(parser, data_set.name)
        arguments = {
            key: parser.arguments[key] for key in ("text", "texts", "pairs", "hter", "docs") if key in parser.arguments
        }
        assert {place.split("/")[0] for place in places(arguments)} <= files
        for key in ("texts", "books"):
            assert set(parser.arguments.get(key, data_set.langs)) == set(data_set.langs)


def test_paper_scale_entries_are_there() -> None:
    """What Kim et al. 2019 train on, section 4, as far as its addresses are known."""
    wanted = ["europarl-v7.de-en", "commoncrawl-wmt13.de-en", "news-commentary-v13.de-en", "rapid2016.de-en"]
    wanted += ["paracrawl-v1-filtered.de-en", "wmt18-pcf-pool.de-en", "newstest2008-2015.de-en", "fasttext-lid176"]
    wanted += [f"news-crawl-{year}.en" for year in range(2013, 2018)]
    wanted += [f"news-crawl-{year}.de" for year in range(2007, 2018)] + [
        f"newstest{year}.de-en" for year in range(2008, 2019)
    ]
    assert set(wanted) <= set(load())
