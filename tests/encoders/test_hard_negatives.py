"""Hard negatives against a loop, and the streams that bring them to a model."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitextbench.base.errors import InputError
from bitextbench.encoders import hard_negatives
from bitextbench.encoders.batches import Buckets, SentenceIds
from bitextbench.encoders.streams import Augmented, HardPairs, Mixture
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged

SIDES = ("src", "tgt")


def write(folder: Path, name: str, src: list[list[int]], tgt: list[list[int]], u: np.ndarray, v: np.ndarray) -> Path:
    for side, rows, vectors in (("src", src, u), ("tgt", tgt, v)):
        Ragged.of(rows).save(folder / f"{name}.{side}")
        np.save(folder / f"{name}.{side}.npy", vectors.astype(np.float32))
    return folder / name


def loop(queries, candidates, own, sentences, count):
    """For query i (which reads `own[i]`): the best sentences that translate it in no pair, ties by number."""
    found = []
    for query, text in zip(queries, own, strict=True):
        known = [translation for other, translation in zip(own, sentences, strict=True) if other == text]
        scores = [
            (-float(query @ c), j) for j, c in enumerate(candidates) if sentences[j] and sentences[j] not in known
        ]
        found.append([j for _, j in sorted(scores)[:count]])
    return found


@settings(deadline=None, max_examples=30)
@given(hnp.arrays(np.int8, (2, 9, 3), elements=st.integers(-2, 2)), st.integers(1, 12), st.data())
def test_mining_equals_a_loop_with_ties_duplicates_and_empty_sentences(tmp_path_factory, vectors, count, data):
    sentence = st.lists(st.integers(4, 5), max_size=2)
    src, tgt = (data.draw(st.lists(sentence, min_size=9, max_size=9)) for _ in SIDES)
    folder = tmp_path_factory.mktemp("mined")
    u, v = vectors.astype(np.float32)
    dealt = [[0, 1, 6, 7], [2, 3, 8], [4, 5]]  # blocks of two rows, to three shards
    stems = [
        write(folder, str(i), [src[row] for row in rows], [tgt[row] for row in rows], u[rows], v[rows])
        for i, rows in enumerate(dealt)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitext, "BLOCK", 2)
        chosen = hard_negatives.mine(stems, stems, folder / "hard", count=count, share=1.0)
    whole = [i for i in range(9) if src[i] and tgt[i]]
    assert chosen == len(whole)
    logs = u @ v.T - np.log(np.exp(u @ v.T.astype(float)).sum(1, keepdims=True))  # log P(y | x)
    for side, own, other, q, c in (("src", src, tgt, u, v), ("tgt", tgt, src, logs.T, np.eye(9))):
        expected = loop(q, c, own, other, count)
        mined = Ragged.load(folder / f"hard.{side}")
        for i in range(9):
            wanted, got = expected[i] if i in whole else [], mined[i].tolist()
            if side == "src":
                assert got == wanted
            else:  # ties of logarithms are not exact
                assert logs[got, i] == pytest.approx(logs[wanted, i], abs=1e-4)


def test_blocks_change_nothing(tmp_path: Path, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [[4 + i] for i in range(200)]
    stem = write(tmp_path, "a", rows, rows, *rng.standard_normal((2, 200, 8)))
    for name, block in (("whole", 1024), ("cut", 7)):
        monkeypatch.setattr(hard_negatives, "QUERIES", block)
        assert hard_negatives.mine([stem], [stem], tmp_path / name, share=0.2, seed=3) == 40
    for side in SIDES:
        whole, cut = (Ragged.load(tmp_path / f"{name}.{side}") for name in ("whole", "cut"))
        assert whole.flat.tolist() == cut.flat.tolist()
        assert whole.offsets.tolist() == cut.offsets.tolist()
        assert sorted(whole.lengths.tolist()) == [0] * 160 + [5] * 40


def test_cosine_and_dot_differ_where_lengths_do(tmp_path: Path):
    u = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    v = np.array([[1.0, 0.0], [9.0, 9.0], [2.0, 0.1]])
    stem = write(tmp_path, "a", [[4], [5], [6]], [[7], [8], [9]], u, v)
    first = {}
    for similarity in ("dot", "cosine"):
        hard_negatives.mine([stem], [stem], tmp_path / "h", count=1, share=1.0, similarity=similarity)
        first[similarity] = Ragged.load(tmp_path / "h.src")[0].tolist()
    assert first == {"dot": [1], "cosine": [2]}


def test_random_negatives_are_drawn_and_translate_nothing(tmp_path: Path):
    rows = [[4 + i] for i in range(60)]
    stem = write(tmp_path, "a", rows, rows, *np.ones((2, 60, 3)))
    for name, seed in (("a", 1), ("again", 1), ("b", 2)):
        hard_negatives.mine([stem], [stem], tmp_path / f"h{name}", count=2, share=1.0, similarity="random", seed=seed)
    first, again, other = (Ragged.load(tmp_path / f"h{name}.tgt") for name in ("a", "again", "b"))
    assert first.flat.tolist() == again.flat.tolist() != other.flat.tolist()
    assert len({*first.flat.tolist()}) > 30  # not the same few
    assert all(i not in first[i] and len(first[i]) == 2 for i in range(60))


def test_what_a_source_adds_to_all_targets_is_no_reason_to_be_a_negative(tmp_path: Path):
    u = np.array([[1.0, 0.1], [0.1, 1.0], [90.0, -9.0]])  # the last is long, and near to no target
    v = np.array([[1.0, 0.2], [0.2, 1.0], [0.0, -1.0]])
    stem = write(tmp_path, "a", [[4], [5], [6]], [[7], [8], [9]], u, v)
    hard_negatives.mine([stem], [stem], tmp_path / "h", count=1, share=1.0, similarity="dot")
    assert Ragged.load(tmp_path / "h.tgt")[1].tolist() == [0]


def test_a_killed_run_goes_on_and_a_changed_one_starts_afresh(tmp_path: Path, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [[4 + i] for i in range(60)]
    stem = write(tmp_path, "a", rows, rows, *rng.standard_normal((2, 60, 8)))
    monkeypatch.setattr(hard_negatives, "QUERIES", 20)
    real, calls = hard_negatives.nearest, []

    def dies(*arguments):
        calls.append(len(calls))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(hard_negatives, "nearest", dies)
    options = {"share": 1.0, "directions": "forward"}
    with pytest.raises(KeyboardInterrupt):
        hard_negatives.mine([stem], [stem], tmp_path / "h", **options)
    assert len([*(tmp_path / "h.src.parts").glob("*.npy")]) == 2
    hard_negatives.mine([stem], [stem], tmp_path / "h", **options)
    assert len(calls) == 4  # the third block alone
    assert not (tmp_path / "h.src.parts").exists()
    hard_negatives.mine([stem], [stem], tmp_path / "whole", **options)
    assert (tmp_path / "h.src.ids.npy").read_bytes() == (tmp_path / "whole.src.ids.npy").read_bytes()
    assert Ragged.load(tmp_path / "h.tgt").lengths.tolist() == [0] * 60  # targets are not searched for
    calls[:] = [0, 0, 0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hard_negatives, "nearest", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            hard_negatives.mine([stem], [stem], tmp_path / "h", count=1, **options)
    hard_negatives.mine([stem], [stem], tmp_path / "h", count=2, **options)
    assert {*Ragged.load(tmp_path / "h.src").lengths.tolist()} == {2}


def test_a_sentence_with_many_known_translations_is_searched_again(tmp_path: Path):
    src = [[4]] * 30 + [[5 + i] for i in range(10)]
    tgt = [[100 + i] for i in range(40)]
    v = np.linspace(1, 0.1, 40)[:, None]  # the 30 translations of the first sentence are its nearest
    stem = write(tmp_path, "a", src, tgt, np.ones((40, 1)), v)
    hard_negatives.mine([stem], [stem], tmp_path / "h", count=3, share=1.0, directions="forward")
    mined = Ragged.load(tmp_path / "h.src")
    assert [mined[i].tolist() for i in (0, 29)] == [[30, 31, 32]] * 2
    assert mined[30].tolist() == [0, 1, 2]


def test_what_does_not_fit_is_an_error(tmp_path: Path):
    stem = write(tmp_path, "a", [[4], [5]], [[4], [5]], np.ones((2, 3)), np.ones((1, 3)))
    with pytest.raises(InputError, match=r"a: 1 vectors for 2 sentences \(tgt\); encode the bitext again"):
        hard_negatives.mine([stem], [stem], tmp_path / "h")


# ---- streams


def pairs(count: int) -> list[SentenceIds]:
    """Sentence i holds 100 * side + i alone."""
    return [SentenceIds([Ragged.of([[100 * side + i] for i in range(4, count + 4)])]) for side in (1, 2)]


def test_each_pair_is_followed_by_its_own_hard_negatives():
    columns = pairs(10)
    columns[1] = SentenceIds([Ragged.of([[204 + i] * (9 if i == 7 else 1) for i in range(10)])])
    hard = [
        SentenceIds([Ragged.of([[(i + k) % 10 for k in (1, 2)] if i % 2 else [] for i in range(10)])]) for _ in SIDES
    ]
    stream = HardPairs(Buckets(columns, 2, 5, [1], "toy", 1, hard[0].lengths > 0), hard, 5)
    assert len(stream) == 4  # 1, 3, 5, 9: the target of 7 is too long
    seen = set()
    for step in range(4):
        src, tgt, more_tgt, more_src = stream.batch(step)
        drawn = [i - 104 for i in src.ids[:, 0].tolist()]
        seen |= set(drawn)
        assert [i - 204 for i in tgt.ids[:, 0].tolist()] == drawn
        wanted = [(i + k) % 10 for i in drawn for k in (1, 2)]
        assert [i - 104 for i in more_src.ids[:, 0].tolist()] == wanted
        assert [i - 204 for i in more_tgt.ids[:, 0].tolist()] == [i for i in wanted if i != 7]
    assert seen == {1, 3, 5, 9}


@given(st.integers(1, 30), st.integers(1, 30))
def test_two_streams_take_turns_by_their_sizes(one, other):
    class Counting(Buckets):
        def __init__(self, size):
            self.kept, self.dropped, self.steps = np.arange(size), {"empty": 1}, []

        def batch(self, step):
            self.steps.append(step)
            return ()

    streams = Counting(one), Counting(other)
    mixed = Mixture(*streams)
    assert len(mixed) == one + other
    assert mixed.dropped == {"empty": 2}
    for step in range(3 * (one + other)):
        mixed.batch(step)
    assert [abs(len(s.steps) - 3 * len(s)) <= 1 for s in streams] == [True, True]
    assert all(s.steps == list(range(len(s.steps))) for s in streams)  # none left out, none twice


def test_more_random_negatives_follow_the_batch():
    columns = pairs(6)
    stream = Augmented(Buckets(columns, 2, 5, [1], "toy"), Buckets(columns[1:], 6, 5, [2], "toy"))
    batch = stream.batch(0)
    assert [len(column.ids) for column in batch] == [2, 2, 6]
    assert sorted(batch[2].ids[:, 0].tolist()) == [204, 205, 206, 207, 208, 209]
