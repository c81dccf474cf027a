"""Builds a corpus from its parts: rows, noise, exclusion, pre-filter, deduplication, shards. Every row is counted."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bitextbench.base.errors import InputError, near
from bitextbench.base.json_yaml import write_json
from bitextbench.base.outputs import atomic, remove
from bitextbench.base.parallel import cores, in_order
from bitextbench.base.progress import progress
from bitextbench.corpus import parts
from bitextbench.corpus.byte_lines import filled
from bitextbench.corpus.deduplicate import MEMORY, Deduplicator
from bitextbench.corpus.noise import DEFAULT_PROPORTIONS, add_noise
from bitextbench.corpus.prefilter import Filtered, check_rules, prefilter
from bitextbench.formats import bitext
from bitextbench.formats.bitext import PARALLEL, SIDES

Spec = Mapping[str, Any]
Languages = tuple[str, str]
CHUNK = 100_000  # rows in memory at a time; noise takes wrong partners from the same chunk


def build(
    name: str,
    spec: Spec,
    languages: Languages,
    raw: str | Path,
    corpora: Mapping[str, str | Path],
    out: str | Path,
    seed: int,
    threads: int | None = None,
) -> dict[str, Any]:
    """Build the corpus `name` in the folder `out`; `spec` is its entry under `corpora:` in a configuration, as the schema
    has it.

    `raw` holds the fetched data sets, a folder each. `corpora` gives the folders of the corpora that `exclude` names.
    `seed` draws the generated parts; noise has a seed of its own. Each row passes, in this order,

    - its part (`draw` or `shuffle`, `skip`, `lines`, `side`, `label`);
    - the test for empty sides;
    - noise, in chunks of CHUNK rows, which may add rows;
    - exclusion: a pair is dropped if one of its sides occurs in an excluded corpus, on either side; only letters and
      digits are compared;
    - the pre-filter, and exact deduplication if `deduplicate` is true or {memory: MiB that it may take};
    - bitext.write_shards.

    Writes the shards and counts.json, {"in", "by_part", "added", "dropped", "alone", "out", "by_label"} with in + added
    = out + dropped, and returns it. `dropped` counts the first reason for each row: "empty", "in <corpus>", a filter
    rule, "duplicate". `alone` counts, for each rule, all rows of the pre-filter that it drops, whatever the other rules
    do. `out` is written as a whole or not at all. `threads` of the pre-filter: all cores by default; they change no
    byte. Memory: a chunk for each thread and two more, the excluded sentences, and that of deduplication.

    Raises InputError for an unknown corpus or rule, and for any defect of the text.
    """
    spec = {key: value for key, value in spec.items() if value is not None}  # an overlay says `noise: null` for none
    check_rules(spec.get("filter", {}), languages)
    excluded = {other: _sentences(_folder(other, corpora)) for other in spec.get("exclude", ())}
    by_part: Counter[str] = Counter()
    tally = {key: Counter[str]() for key in ("added", "dropped", "alone", "by_label")}
    tables = progress(_tables(spec, languages, Path(raw), seed, by_part), f"corpus {name}", size=len, by_bytes=True)
    chunks = (table.combine_chunks() for table in bitext.of_rows(tables, CHUNK))  # each column in one piece
    with atomic(out) as part:
        kept = _filtered(name, chunks, spec, languages, excluded, part / "scratch", tally, threads or cores())
        n_out = bitext.write_shards(part, kept, spec.get("shards", 1))
        remove(part / "scratch")
        counts = _counts(by_part, tally, n_out)
        write_json(part / "counts.json", counts)
    return counts


def _counts(by_part: Counter[str], tally: Mapping[str, Counter[str]], n_out: int) -> dict[str, Any]:
    """The contents of counts.json; all rows are accounted for."""
    counts = {
        "in": by_part.total(),
        "by_part": dict(by_part),
        "added": dict(+tally["added"]),
        "dropped": dict(+tally["dropped"]),
        "alone": dict(+tally["alone"]),
        "out": n_out,
        "by_label": dict(sorted(tally["by_label"].items())),
    }
    assert by_part.total() + tally["added"].total() == n_out + tally["dropped"].total(), counts
    return counts


def _filtered(
    name: str,
    chunks: Iterable[pa.Table],
    spec: Spec,
    languages: Languages,
    excluded: Mapping[str, pa.Array],
    scratch: Path,
    tally: Mapping[str, Counter[str]],
    threads: int,
) -> Iterator[pa.Table]:
    """The rows that are kept, with noise; `tally` counts the others."""
    deduplicate = spec.get("deduplicate", False)
    memory = deduplicate["memory"] << 20 if isinstance(deduplicate, Mapping) else MEMORY
    copies = Deduplicator(scratch, memory) if deduplicate else None

    def drop(reason: str, table: pa.Table, kept: pa.Table) -> pa.Table:
        tally["dropped"][reason] += len(table) - len(kept)
        return kept

    def prepared() -> Iterator[pa.Table]:
        noised = False
        for number, table in enumerate(chunks):
            table = drop("empty", table, _only(table, _filled(table)))
            if "noise" in spec:
                noised |= PARALLEL in table["label"].unique().to_pylist()
                before = len(table)
                table = _noise(table, spec["noise"], number, languages)
                tally["added"]["noise duplicates"] += len(table) - before
            yield table
        if "noise" in spec and not noised:
            what = "noise needs rows labelled parallel, and no part has any"
            raise InputError(what, name, remedy="give a part `label: parallel`")

    def filtered_of(table: pa.Table) -> tuple[pa.Table, dict[str, int], Filtered]:
        """The rows that no other corpus has, how many each has, and what the pre-filter says of the others."""
        table, found = _excluded(table, excluded)
        return table, found, prefilter(table, spec.get("filter", {}), languages)

    def through() -> Iterator[pa.Table]:
        for _, (table, found, filtered) in in_order(filtered_of, prepared(), threads):
            tally["dropped"].update(found)
            tally["dropped"].update(filtered.first)
            tally["alone"].update(filtered.alone)
            if copies:
                copies.add(table, filtered.passed)
            else:
                yield _only(table, pa.array(filtered.passed))
        if copies:
            yield from copies.tables()
            tally["dropped"]["duplicate"], tally["alone"]["duplicate"] = copies.first, copies.alone

    for table in through():
        labels = pc.value_counts(table["label"])
        tally["by_label"].update(dict(zip(*(part.to_pylist() for part in labels.flatten()), strict=True)))
        yield table


def _noise(table: pa.Table, spec: Spec, chunk: int, languages: Languages) -> pa.Table:
    seed = np.random.SeedSequence([spec.get("seed", 0), chunk]).generate_state(1, np.uint64)
    return add_noise(table, spec.get("proportions", DEFAULT_PROPORTIONS), int(seed[0]), languages)


def _only(table: pa.Table, mask: pa.Array | pa.ChunkedArray) -> pa.Table:
    """The rows of a mask; all of them without a copy."""
    return table if pc.all(mask, min_count=0).as_py() else table.filter(mask)


def _filled(table: pa.Table) -> pa.Array:
    """A mask of the rows that have a side, and text on every side that they have."""
    sides = [pc.fill_null(filled(table[side]), True) for side in SIDES]
    both_null = pc.and_(pc.is_null(table["src"]), pc.is_null(table["tgt"]))
    return pc.and_not(pc.and_(*sides), both_null)


def normalised(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """NFKC, lower case, letters and digits only, so that near-copies of a sentence become equal. Null stays null."""
    return pc.replace_substring_regex(pc.utf8_lower(pc.utf8_normalize(text, form="NFKC")), r"[^\pL\pN]+", "")


def _sentences(folder: str | Path) -> pa.Array:
    """The distinct sentences of both sides of a corpus, normalised, without those that have no letters and digits."""
    columns = (normalised(batch[side]).unique() for batch in bitext.read_batches(folder, [*SIDES]) for side in SIDES)
    distinct = pa.chunked_array([*columns], pa.string()).unique().drop_null()
    return distinct.filter(pc.not_equal(distinct, ""))


def _excluded(table: pa.Table, excluded: Mapping[str, pa.Array]) -> tuple[pa.Table, dict[str, int]]:
    """The rows no side of which is in an excluded corpus, and the numbers of the others: of the first that has each."""
    counts: dict[str, int] = {}
    forms = pa.table({side: normalised(table[side]) for side in SIDES}) if excluded else table
    for other, sentences in excluded.items():
        kept = pc.invert(pc.or_(*(pc.is_in(forms[side], sentences) for side in SIDES)))
        table, forms, before = _only(table, kept), _only(forms, kept), len(table)
        counts[f"in {other}"] = before - len(table)
    return table, counts


def _tables(spec: Spec, languages: Languages, raw: Path, seed: int, by_part: Counter[str]) -> Iterator[pa.Table]:
    for number, part in enumerate(spec["parts"], 1):
        name = f"{number} {parts.title(part)}"
        by_part[name] = 0
        for table in parts.read(part, languages, raw, seed):
            by_part[name] += len(table)
            yield table


def _folder(name: str, corpora: Mapping[str, str | Path]) -> str | Path:
    if name not in corpora:
        raise InputError(
            f"no folder is given for the excluded corpus {name!r}",
            remedy=near(name, corpora) if corpora else "give one",
        )
    return corpora[name]
