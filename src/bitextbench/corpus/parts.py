"""The parts that a corpus is made of, as tables of some thousand rows, in the order of the text."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bitextbench.data import parsers
from bitextbench.data.parsers import FIELDS, Row, Tables, in_tables, table
from bitextbench.formats import pairs
from bitextbench.formats.bitext import PARALLEL, SIDES

Languages = tuple[str, str]


def read(part: Mapping[str, Any], languages: Languages, raw: Path, seed: int) -> Tables:
    """The rows of a part, in three ways: as they are, shuffled as a whole (`shuffle`), or drawn at random (`draw`).

    `skip` and `lines` then cut a stretch. With `doc: line` the document of a row is the number of its line, with `doc: N`
    each N lines are a document. `raw`: the folder of the fetched data sets.
    """
    kind = next(kind for kind in SOURCES if kind in part)
    first = part.get("skip", 0)
    cut = slice(first, None if "lines" not in part else first + part["lines"])

    def source() -> Tables:
        tables = SOURCES[kind](part[kind], languages, raw, seed)
        return tables if "doc" not in part else numbered(tables, 1 if part["doc"] == "line" else part["doc"])

    if "draw" in part:
        tables = drawn(source, part["draw"], cut)
    elif "shuffle" in part:
        tables = shuffled(source(), part["shuffle"], cut)
    else:
        tables = between(source(), cut)
    for held in tables:
        sides = {name: held[name] for name in SIDES if part.get("side", name) == name}
        yield table(len(held), **sides, doc=held["doc"], label=part.get("label", held["label"]))


def numbered(tables: Tables, size: int) -> Tables:
    """The tables with documents of `size` lines each, numbered from 1; of one line: the number of the line."""
    done = 0
    for held in tables:
        lines = pa.array(np.arange(done, done + len(held)) // size + 1).cast(pa.string())
        yield held.set_column(held.schema.get_field_index("doc"), "doc", lines)
        done += len(held)


def between(tables: Tables, cut: slice) -> Tables:
    """The rows of a stretch; the rows after it are not read."""
    start = 0
    for held in tables:
        stop = len(held) if cut.stop is None else min(len(held), cut.stop - start)
        if (first := max(0, cut.start - start)) < stop:
            yield held.slice(first, stop - first)
        start += len(held)
        if cut.stop is not None and start >= cut.stop:
            return


def shuffled(tables: Tables, seed: int, cut: slice) -> Tables:
    """A stretch of the rows in a random order. Memory: all rows."""
    whole = pa.concat_tables([FIELDS.empty_table(), *tables])
    order = np.random.default_rng(seed).permutation(len(whole))[cut]
    for start in range(0, len(order), parsers.ROWS):
        yield whole.take(order[start : start + parsers.ROWS])


def drawn(source: Callable[[], Tables], seed: int, cut: slice) -> Tables:
    """The rows whose ranks in a random order are in `cut`, in their original order.

    Cuts of one seed that do not overlap have no row in common. `source` is read twice, and no row is held: 9 bytes a
    row.
    """
    total = sum(map(len, source()))
    taken = np.zeros(total, bool)
    taken[np.random.default_rng(seed).permutation(total)[cut]] = True
    start = 0
    for held in source():
        yield held.filter(pa.array(taken[start : start + len(held)]))
        start += len(held)


def _generated(stretch: str, languages: Languages, raw: Path, seed: int) -> Tables:
    from bitextbench.data.synth import sentences

    return in_tables(Row(src, tgt, doc, PARALLEL) for doc, (src, tgt) in sentences(stretch, languages, seed))


def _files(files: Mapping[str, Any], languages: Languages, raw: Path, seed: int) -> Tables:
    """The rows of the user's files (`formats.pairs`); a side without a file is null, and ids are documents."""
    for held in pairs.read({"languages": languages, **files}):
        columns = {{"id": "doc"}.get(name, name): held[name] for name in held.column_names}
        yield table(len(held), **columns)


def _lexicon(name: str, languages: Languages, raw: Path, seed: int) -> Tables:
    from bitextbench.data.synth import lexicon

    return in_tables(Row(src, tgt, label=PARALLEL) for src, tgt in lexicon.dictionary(name, languages))


SOURCES: dict[str, Callable[[Any, Languages, Path, int], Tables]] = {
    "dataset": lambda name, languages, raw, seed: parsers.read(name, languages, raw / name),
    "generated": _generated,
    "lexicon": _lexicon,
    "files": _files,
}


def own_files(corpus: Mapping[str, Any]) -> list[str]:
    """The user's own files that the parts of a corpus name."""
    return [part["files"][key] for part in corpus["parts"] for key in pairs.TEXTS if key in part.get("files", {})]


def title(part: Mapping[str, Any]) -> str:
    """The name of a part in counts.json."""
    kind = next(kind for kind in SOURCES if kind in part)
    if kind != "files":
        return f"{kind} {part[kind]}"
    texts = {key: str(path) for key, path in part["files"].items() if key in pairs.TEXTS}
    return " ".join([kind, *(part["files"].get("names", {}).get(key, path) for key, path in texts.items())])
