"""Deduplication against a set of pairs, with partitions that have to be split."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.corpus import deduplicate
from bitextbench.corpus.deduplicate import SORTING, Deduplicator, digests

Pairs = list[tuple[str | None, str | None]]


def table(pairs: Pairs) -> pa.Table:
    src, tgt = zip(*pairs, strict=True) if pairs else ((), ())
    return pa.table({"src": pa.array(src, pa.string()), "tgt": pa.array(tgt, pa.string())})


def run(pairs: Pairs, passed: list[bool], batch: int, memory: int) -> tuple[Pairs, int, int]:
    with tempfile.TemporaryDirectory() as folder:
        copies = Deduplicator(Path(folder) / "scratch", memory)
        for i in range(0, len(pairs), batch):
            copies.add(table(pairs[i : i + batch]), np.array(passed[i : i + batch]))
        kept = [tuple(row.values()) for part in copies.tables() for row in part.to_pylist()]
        return kept, copies.first, copies.alone


side = st.none() | st.text("ab", max_size=2)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(side, side), max_size=30), st.integers(1, 5), st.sampled_from([SORTING, 3 * SORTING, 1 << 20])
)
def test_the_first_of_equal_pairs_that_pass_stays(pairs, batch, memory):
    keys = [tuple(text or "" for text in pair) for pair in pairs]
    passed = [len(src) != 1 for src, _ in keys]
    expected = [pair for i, pair in enumerate(pairs) if passed[i] and keys[i] not in keys[:i]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deduplicate, "FANOUT_BITS", 1)
        kept, first, alone = run(pairs, passed, batch, memory)
    assert kept == expected
    assert first == sum(passed) - len(expected)
    assert alone == len(pairs) - len(set(keys))


def test_one_pair_over_and_over():
    assert run([("a", "b")] * 50, [True] * 50, 1, SORTING) == ([("a", "b")], 49, 49)


def test_half_of_a_digest_met_by_chance(monkeypatch):
    """Pairs whose digests agree in their first 64 bits are still two."""

    def half(rows: pa.Table) -> np.ndarray:
        whole = digests(rows).copy()
        whole[:, 0] = 7
        return whole

    monkeypatch.setattr(deduplicate, "digests", half)
    pairs: Pairs = [("a", "b"), ("c", "d"), ("a", "b"), ("e", "f"), ("c", "d")]
    assert run(pairs, [True] * 5, 2, SORTING) == ([("a", "b"), ("c", "d"), ("e", "f")], 2, 2)


def test_digests_are_xxh3_of_both_sides():
    found = digests(table([("ä", "b"), (None, ""), ("", "x")]))
    texts = ["ä\nb", "\n", "\nx"]
    assert [row.tobytes() for row in found] == [xxhash.xxh3_128_digest(text.encode()) for text in texts]


def test_no_rows():
    assert run([], [], 1, SORTING) == ([], 0, 0)
