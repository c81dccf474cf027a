"""Similarities against loops, and the training of the MLP."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from bitextbench.base.arrays import save_npz
from bitextbench.base.errors import InputError
from bitextbench.formats.vectors import load_pair
from bitextbench.scoring import Pairs, Text, similarity
from bitextbench.scoring.score import negatives, score_shard
from bitextbench.scoring.similarities import cosine, mlp, random

FINITE = st.floats(-100, 100, width=32)


@example(np.full((2, 5, 3), 1e-3, np.float32))  # short vectors
@given(hnp.arrays(np.float32, (2, 5, 3), elements=FINITE))
def test_cosine_equals_a_loop(sides):
    src, tgt = sides
    expected = []
    for a, b in zip(src.tolist(), tgt.tolist(), strict=True):
        norms = sum(x * x for x in a) ** 0.5 * sum(x * x for x in b) ** 0.5
        expected.append(sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else 0.0)
    got = cosine.score(Pairs(np.arange(5), src, tgt))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_random_scores_depend_on_the_id_alone():
    ids = np.arange(100_000)
    scores = random.score(Pairs(ids, None, None), seed=1)
    np.testing.assert_array_equal(scores[::3], random.score(Pairs(ids[::3], None, None), seed=1))
    assert not np.array_equal(scores, random.score(Pairs(ids, None, None), seed=2))
    counts = np.histogram(scores, bins=10, range=(0, 1))[0]
    assert abs(counts - 10_000).max() < 500  # five standard deviations of a uniform draw
    assert abs(np.corrcoef(scores[1:], scores[:-1])[0, 1]) < 0.02


def test_random_scores_are_the_published_numbers_of_splitmix64():
    """Steele et al. 2014: the first outputs of seed 0, of which a score has the upper 24 bits."""
    outputs = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    ids = np.arange(3)
    scores = random.score(Pairs(ids, None, None), seed=0)
    assert scores.tolist() == [(output >> 40) / 2**24 for output in outputs]
    far = np.arange(0x632BE59BD9B4E019, 0x632BE59BD9B4E019 + 3)  # where seed 1 begins
    assert (
        random.score(Pairs(far, None, None), seed=0).tolist() == random.score(Pairs(ids, None, None), seed=1).tolist()
    )


def pairs(n: int, dim: int, parallel: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    src = rng.standard_normal((n, dim)).astype(np.float32)
    return src, src if parallel else rng.standard_normal((n, dim)).astype(np.float32)


def train(path, *, threads: int = 1, dim: int = 4):
    good, bad = pairs(400, dim, True, 1), pairs(400, dim, False, 2)
    src, tgt = (np.concatenate(side) for side in zip(good, bad, strict=True))
    with threadpool_limits(threads):
        mlp.fit(src, tgt, np.repeat([1, 0], 400), {"hidden": [32, 32], "max_iter": 60}, 1, path)


def test_mlp_tells_parallel_from_not_and_ranks_by_logits(tmp_path):
    train(tmp_path / "m.npz")
    good = mlp.score(Pairs(np.arange(200), *pairs(200, 4, True, 3)), tmp_path / "m.npz")
    bad = mlp.score(Pairs(np.arange(200), *pairs(200, 4, False, 4)), tmp_path / "m.npz")
    assert (good[:, None] > bad[None, :]).mean() > 0.9  # ROC-AUC on pairs it has not seen
    assert len(np.unique(good)) == 200  # logits do not saturate
    assert good.max() > 1


@pytest.mark.parametrize("sizes", [[8, 1], [8, 5, 1], [8, 5, 3, 1]])
def test_the_logit_of_the_mlp_by_hand(tmp_path, monkeypatch, sizes):
    rng = np.random.default_rng(1)
    layers = [(rng.standard_normal(size), rng.standard_normal(size[1])) for size in itertools.pairwise(sizes)]
    arrays = {f"{name}{i}": part for i, layer in enumerate(layers) for name, part in zip("Wb", layer, strict=True)}
    save_npz(tmp_path / "m.npz", **{name: array.astype(np.float32) for name, array in arrays.items()})
    src, tgt = pairs(5, 4, False, 1)
    expected = []
    for x in np.concatenate([src, tgt], axis=1):
        for weights, bias in layers[:-1]:
            x = np.maximum(x @ weights + bias, 0)
        expected.append((x @ layers[-1][0] + layers[-1][1])[0])
    monkeypatch.setattr(mlp, "BLOCK", 2)
    np.testing.assert_allclose(mlp.score(Pairs(np.arange(5), src, tgt), tmp_path / "m.npz"), expected, rtol=1e-4)


def test_mlp_is_the_same_for_any_number_of_threads(tmp_path):
    for threads in (1, 2):
        train(tmp_path / f"{threads}.npz", threads=threads)
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_mlp_refuses_what_does_not_fit(tmp_path):
    train(tmp_path / "m.npz")
    with pytest.raises(InputError, match="is for vectors of 4 dimensions, not 5"):
        mlp.score(Pairs(np.arange(3), *pairs(3, 5, True, 1)), tmp_path / "m.npz")
    with pytest.raises(InputError, match="400 positive and 0 negative"):
        mlp.fit(*pairs(400, 4, True, 1), np.ones(400, int), {"hidden": [4], "max_iter": 1}, 1, tmp_path / "n.npz")
    assert not (tmp_path / "n.npz").exists()


@pytest.mark.parametrize("name", ["confidence", "margin", "mlp", "zipporah"])
def test_a_model_that_is_damaged_or_another(tmp_path, name):
    path, line = tmp_path / "m.npz", pa.chunked_array([["a"]])
    pair = Pairs(np.arange(1), *pairs(1, 4, True, 1), tokens=Text(line, line))
    save_npz(path, other=np.arange(100))
    with pytest.raises(InputError, match=r"m\.npz: has no array .* again"):
        similarity(name).score(pair, path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(InputError, match=r"m\.npz: cannot be read .* again"):
        similarity(name).score(pair, path)


def test_negatives_are_the_end_of_a_portion():
    scores = np.array([0.9, 0.1, 0.5, 0.3, 0.7], np.float32)  # best first: rows 0 4 2 3 1
    assert negatives(scores, 1.0, 2, 1).tolist() == [1, 3]  # the worst
    assert negatives(scores, 0.6, 2, 1).tolist() == [2, 4]  # the last of the top 60%
    assert negatives(scores, 0.2, 2, 1).tolist() == [0, 4]  # a portion smaller than the count: the best `count`
    assert negatives(scores, 1.0, 9, 1).tolist() == [0, 1, 2, 3, 4]
    drawn = negatives(scores, "random", 3, 1)
    assert len(set(drawn.tolist())) == 3
    assert drawn.tolist() == negatives(scores, "random", 3, 1).tolist()


def test_negatives_break_ties_by_row():
    assert negatives(np.zeros(5, np.float32), 1.0, 2, 1).tolist() == [3, 4]


def test_names_and_vectors_are_checked(tmp_path):
    with pytest.raises(InputError, match="unknown similarity 'cosin'; did you mean cosine"):
        similarity("cosin")
    with pytest.raises(InputError, match="compares sentence vectors"):
        cosine.score(Pairs(np.arange(2), None, None))
    a = np.ones((2, 3), np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", a[:1])
    a[1, 1] = np.nan
    np.save(tmp_path / "nan.npy", a)
    with pytest.raises(InputError, match=r"shape \(2, 3\), but .*b.npy has \(1, 3\)"):
        load_pair(tmp_path / "a.npy", tmp_path / "b.npy")
    with pytest.raises(InputError, match=r"nan.npy:2: vector is not finite"):
        load_pair(tmp_path / "a.npy", tmp_path / "nan.npy")
    with pytest.raises(InputError, match="no such file"):
        score_shard(tmp_path / "none.parquet", "random", tmp_path / "o.npy", src=None, tgt=None, model=None, seed=1)
