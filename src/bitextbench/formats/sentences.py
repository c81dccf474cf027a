"""The sentences of one language, and their ids.

They are read from plain lines (the id is the number of the line, from 1), BUCC's `id<TAB>sentence`, any other input
(`formats.inputs`), or one side of a corpus of this project.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import overload

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.languages import other_script
from bitextbench.base.pipes import is_dash
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.inputs import PLAIN, Input, Reading, Wanted

_BUCC_LINE = re.compile(r"\S+\t")


class LineNumbers(Sequence[str]):
    """The ids of n lines that have none: "1" to "n", which take no memory."""

    def __init__(self, count: int) -> None:
        self.places = range(count)

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        found = self.places[place]
        return str(found + 1) if isinstance(found, int) else [str(one + 1) for one in found]


@dataclass(frozen=True)
class Sentences:
    """`ids` and `text` [n]; `name` is the file, for messages; `too_long` and `bad`: places of lines that were, whose text is
    empty.
    """

    ids: Sequence[str]
    text: list[str]
    name: str
    too_long: frozenset[int] = frozenset()
    bad: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        """Id -> its place."""
        return {name: place for place, name in enumerate(self.ids)}

    @cached_property
    def digest(self) -> str:
        """The hash of the sentences in their order, 32 hex digits: vectors of a text have it."""
        digest = xxhash.xxh3_128()
        for line in self.text:
            digest.update(f"{line}\n".encode())
        return digest.hexdigest()


def read(
    path: str | Path,
    side: str = "src",
    form: str = "auto",
    *,
    language: str | None = None,
    columns: Sequence[str] = (),
    reading: Reading = PLAIN,
) -> Sentences:
    """Read sentences from an input (`formats.inputs`) or a corpus folder; of what has two sides, the side `side` (src
    or tgt).

    `form` of lines: lines, bucc, or auto, which is bucc if the first line with text begins with a word and a tab.
    `columns` names the column of the sentences, and perhaps that of ids. By default that is `text`, or the name of the
    side or of the `language`; `id` is taken if there is one.

    Raises InputError for duplicate ids, a line without a tab in BUCC's format, no sentences, and what `formats.inputs`
    refuses.
    """
    if not is_dash(path) and existing(path).is_dir():
        tables = list(bitext.read_batches(path, ["id", side]))
        ids, text = ([value for table in tables for value in table[name].to_pylist()] for name in ("id", side))
        sentences = Sentences([str(name) for name in ids], text, str(path))
    else:
        source = Input(path, reading)
        sentences = _sentences(source, Wanted([side], [language], columns, ids=True), form)
        source.report("left out")
    if not len(sentences):
        raise InputError("has no sentences", sentences.name, remedy="give a text with at least one sentence")
    if (empty := next((place for place, text in enumerate(sentences.text, 1) if text is None), None)) is not None:
        raise InputError(f"has no {side} text", path, line=empty, remedy="is it the other side?")
    if not isinstance(sentences.ids, LineNumbers) and len(sentences.index) < len(sentences):
        twice = next(place for place, name in enumerate(sentences.ids) if sentences.index[name] != place)
        again = sentences.index[sentences.ids[twice]]
        raise InputError(
            f"id {sentences.ids[twice]!r} is also in line {twice + 1}",
            sentences.name,
            line=again + 1,
            remedy="make ids unique",
        )
    if language and (script := other_script(sentences.text, [language])):
        log(
            f"warning: {sentences.name}: most letters are {script}, and its language is said to be {language}; check that the texts are not swapped"
        )
    return sentences


def _sentences(source: Input, wanted: Wanted, form: str) -> Sentences:
    text: list[str] = []
    ids: list[str] = []
    for table in source.tables(wanted):
        text += table[wanted.sides[0]].to_pylist()
        ids += table["id"].to_pylist() if "id" in table.column_names else []
    if source.form == "lines" and not wanted.columns:
        found = form == "auto" and _BUCC_LINE.match(next(filter(None, text), ""))
        if found and not source.reading.quiet:
            log(f"{source.name}: lines of id<TAB>sentence; --text-format lines takes them whole")
        if found or form == "bucc":
            ids, text = _bucc(source, text)
    elif form == "bucc":
        raise InputError("has no lines of `id<TAB>sentence`", source.name, remedy="leave out --text-format bucc")
    skipped = source.too_long, source.bad
    too_long, bad = (frozenset(number - 1 for number in numbers) for numbers in skipped)
    if ids and "" in ids:
        place = ids.index("")
        if place not in too_long | bad:
            raise InputError("has no id", source.name, line=place + 1, remedy="give each sentence an id, or none")
    kept = [name or f"line {number}" for number, name in enumerate(ids, 1)] if ids else LineNumbers(len(text))
    return Sentences(kept, text, str(source.name), too_long, bad - too_long)


def _bucc(source: Input, lines: list[str]) -> tuple[list[str], list[str]]:
    """The ids and sentences of lines `id<TAB>sentence`. Lines that are left out have no id."""
    left_out = {*source.too_long, *source.bad}
    fields = [line.partition("\t") for line in lines]
    for number, (name, tab, _) in enumerate(fields, 1):
        if number not in left_out and not (name and tab):
            remedy = "mend it, or say that these are plain lines: --text-format lines"
            source.wrong(number, "line is not `id<TAB>sentence`", remedy)
            fields[number - 1] = "", "", ""
    return [name for name, _, _ in fields], [text for _, _, text in fields]


def first_copies(items: Iterable[Hashable]) -> NDArray[np.int64]:
    """Places of the first copies, int64, ascending: the items that are left when duplicates are removed."""
    first: dict[Hashable, int] = {}
    for index, item in enumerate(items):
        first.setdefault(item, index)
    return np.fromiter(first.values(), np.int64, len(first))
