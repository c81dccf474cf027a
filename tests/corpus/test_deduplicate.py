"""Deduplication against a set of pairs, with partitions that have to be split."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
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


def test_no_more_rows_are_sorted_at_a_time_than_memory_has_room_for(monkeypatch):
    firsts, sizes = deduplicate._firsts, []

    def counted(high: np.ndarray, low: np.ndarray, number: np.ndarray) -> np.ndarray:
        sizes.append(len(high))
        return firsts(high, low, number)

    monkeypatch.setattr(deduplicate, "_firsts", counted)
    pairs: Pairs = [(str(i), "x") for i in range(200)]
    assert run(pairs, [True] * 200, 3, 3 * SORTING) == (pairs, 0, 0)
    assert max(sizes) == 3


def test_half_of_a_digest_met_by_chance(monkeypatch):
    """Pairs whose digests agree in their first 64 bits are still two."""

    def half(rows: pa.Table) -> np.ndarray:
        whole = digests(rows).copy()
        whole[:, 0] = 7
        return whole

    monkeypatch.setattr(deduplicate, "digests", half)
    pairs: Pairs = [("a", "b"), ("c", "d"), ("a", "b"), ("e", "f"), ("c", "d")]
    assert run(pairs, [True] * 5, 2, SORTING) == ([("a", "b"), ("c", "d"), ("e", "f")], 2, 2)


def murmur(data: bytes) -> bytes:
    """MurmurHash3_x64_128 as its author's MurmurHash3.cpp has it, in plain Python."""
    whole, one, two, h1, h2 = 2**64 - 1, 0x87C37B91114253D5, 0x4CF5AD432745937F, 0, 0
    turned = lambda x, r: (x << r | x >> 64 - r) & whole  # noqa: E731
    for start in range(0, len(data) // 16 * 16 + 1, 16):
        k1, k2 = (int.from_bytes(data[at : min(at + 8, len(data))], "little") for at in (start, start + 8))
        h1 ^= turned(k1 * one & whole, 31) * two & whole
        if start + 16 <= len(data):
            h1 = ((turned(h1, 27) + h2) * 5 + 0x52DCE729) & whole
        h2 ^= turned(k2 * two & whole, 33) * one & whole
        if start + 16 <= len(data):
            h2 = ((turned(h2, 31) + h1) * 5 + 0x38495AB5) & whole
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & whole
    h2 = (h2 + h1) & whole
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h1, h2 = ((h ^ h >> 33) * factor & whole for h in (h1, h2))
    h1, h2 = h1 ^ h1 >> 33, h2 ^ h2 >> 33
    h1 = (h1 + h2) & whole
    return h1.to_bytes(8, "little") + ((h2 + h1) & whole).to_bytes(8, "little")


def test_digests_are_murmurs_of_both_sides():
    assert murmur(b"The quick brown fox jumps over the lazy dog").hex() == "6c1b07bc7bbc4be347939ac4a93c437a"
    pairs: Pairs = [("ä", "b"), (None, ""), ("", "x"), *(("x" * n, "é" * n) for n in range(40))]
    expected = [murmur(f"{src or ''}\n{tgt or ''}".encode()) for src, tgt in pairs]
    for rows in (
        table(pairs),
        pa.concat_tables([table(pairs[:5]), table(pairs[5:])]),
        table([*pairs, *pairs]).slice(len(pairs)),
    ):
        assert [row.tobytes() for row in digests(rows)] == expected


def test_no_rows():
    assert run([], [], 1, SORTING) == ([], 0, 0)
