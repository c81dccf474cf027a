"""Approximate search: true similarities, the exact lists where an index holds all, and a recall that is one."""

import re

import numpy as np
import pytest

from bitextbench import neighbours
from bitextbench.base.errors import InputError
from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours import approximate


def sides(n: int = 900, m: int = 700, d: int = 16) -> tuple[Embeddings, Embeddings]:
    draw = np.random.default_rng(1)
    near = draw.normal(size=(m, d)).astype(np.float32)
    far = draw.normal(size=(n - m, d)).astype(np.float32)
    return Embeddings(np.concatenate([near + 0.1 * draw.normal(size=(m, d)).astype(np.float32), far])), Embeddings(near)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_an_index_that_holds_all_is_exact(metric):
    src, tgt = sides()
    both, recall = approximate.search(src, tgt, 4, "Flat", metric=metric)
    expected = neighbours.search(src, tgt, 4, metric=metric)
    for found, true in zip(both, expected, strict=True):
        np.testing.assert_array_equal(found.ids, true.ids)
        np.testing.assert_array_equal(found.similarities, true.similarities)
    assert recall == 1


@pytest.mark.parametrize("factory", ["IVF16,Flat:nprobe=2", "IVF16,PQ4x4", "HNSW16", "PCA8,IVF8,Flat"])
def test_recall_is_that_of_the_lists(factory):
    src, tgt = sides()
    both, recall = approximate.search(src, tgt, 4, factory)
    expected = neighbours.search(src, tgt, 4)
    shares = []
    for found, true, one, other in zip(both, expected, (src, tgt), (tgt, src), strict=True):
        x, y = (side.array.astype(np.float64) for side in (one, other))
        cosines = (
            np.vecdot(x[:, None], y[found.ids])
            / np.linalg.norm(x, axis=1)[:, None]
            / np.linalg.norm(y[found.ids], axis=2)
        )
        np.testing.assert_allclose(found.similarities, cosines, rtol=1e-6)
        shares.append(np.mean([len({*a} & {*b}) / 4 for a, b in zip(found.ids, true.ids, strict=True)]))
    assert recall == pytest.approx(np.mean(shares), abs=0.1)  # of a sample
    assert 0.2 < recall <= 1


def test_a_row_whose_lists_are_short_is_searched_exactly(capsys):
    src, tgt = sides(120, 100)
    both, _ = approximate.search(src, tgt, 8, "IVF30,Flat:nprobe=1")
    assert "fewer than 8 neighbours in it; searched exactly" in capsys.readouterr().err
    assert np.isfinite(both.forward.similarities).all()
    assert (both.forward.ids < 100).all()


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("IVF4096,Flat", "does not work for 700 vectors"),
        ("XYZ", "does not work for 700 vectors (could not parse index string XYZ); check the name"),
        ("HNSW16:nprob=3", "does not work for"),
        ("HNSW0", "does not work for 700 vectors (a graph needs 2 links and more)"),
        ("IVF4_HNSW1,Flat", "does not work for 700 vectors (a graph needs 2 links and more)"),
        ("IVF4,Flat:nprobe=0", "does not work for 700 vectors ('cur_nprobe > 0' failed)"),
    ],
)
def test_what_faiss_refuses_is_one_line(factory, message):
    src, tgt = sides()
    with pytest.raises(InputError, match=re.escape(f"`{factory}` {message}")):
        approximate.search(src, tgt, 4, factory)
