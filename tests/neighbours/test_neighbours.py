"""Neighbours against brute force: ties, duplicates, zero vectors, any block, backend, precision, sharding; and memory."""

import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bitextbench import neighbours
from bitextbench.base import arrays, portable
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.vectors import Embeddings, read, read_pair, read_shards
from bitextbench.neighbours import (
    LEAST_MEMORY,
    Both,
    engine,
    kernels,
    load,
    merge,
    plain,
    products,
    proof,
    save,
    search,
    tensors,
)
from bitextbench.neighbours import metric as metric_


def oracle(x: np.ndarray, y: np.ndarray, k: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Ids and similarities of the k nearest rows of y for each row of x, by sorting all of them."""
    x, y = x.astype(np.float64)[:, None], y.astype(np.float64)[None]
    lengths = np.sqrt(np.vecdot(x, x)) * np.sqrt(np.vecdot(y, y))
    similarity = {
        "cosine": lambda: np.divide(np.vecdot(x, y), lengths, out=np.zeros(lengths.shape), where=lengths > 0),
        "dot": lambda: np.vecdot(x, y),
        "euclidean": lambda: -np.sqrt(np.vecdot(x - y, x - y)),
    }
    scores = similarity[metric]().astype(np.float32)
    ids = np.array([sorted(range(y.shape[1]), key=lambda j: (-row[j], j))[:k] for row in scores])
    return ids, np.take_along_axis(scores, ids, 1)


def check(both: Both, x: np.ndarray, y: np.ndarray, k: int, metric: str = "cosine") -> None:
    for side, (a, b) in zip(both, ((x, y), (y, x)), strict=True):
        ids, scores = oracle(a, b, k, metric)
        np.testing.assert_array_equal(side.ids, ids)
        np.testing.assert_array_equal(side.similarities, scores)
        assert (side.ids.dtype, side.similarities.dtype) == (np.int64, np.float32)


def normal(seed: int, n: int, d: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


def ties(seed: int, n: int, d: int = 3) -> np.ndarray:
    """Whole numbers: equal vectors, equal similarities, zero vectors."""
    return np.random.default_rng(seed).integers(-1, 2, (n, d)).astype(np.float32)


SMALL = st.integers(-2, 2).map(float)


@settings(deadline=None, max_examples=60)
@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 9), st.just(2)), elements=SMALL),
    hnp.arrays(np.float32, st.tuples(st.integers(1, 9), st.just(2)), elements=SMALL),
    st.integers(1, 12),
    st.sampled_from(neighbours.METRICS),
    st.sampled_from(neighbours.BACKENDS),
)
def test_equals_brute_force_on_ties_zero_vectors_and_k_above_n(x, y, k, metric, backend):
    both = search(Embeddings(x), Embeddings(y), k, metric=metric, backend=backend)
    check(both, x, y, k, metric)


@pytest.mark.parametrize("metric", neighbours.METRICS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tile": 32},
        {"tile": 100},
        {"threads": 2},
        {"threads": 3, "precision": "bf16"},
        {"precision": "fp32"},
        {"precision": "bf16"},
        {"backend": "faiss"},
    ],
    ids=str,
)
@pytest.mark.parametrize(("src", "tgt"), [(normal(1, 130, 8), normal(2, 203, 8)), (ties(3, 131), ties(4, 150))])
def test_the_same_for_any_block_precision_and_backend(metric, options, src, tgt):
    check(search(Embeddings(src), Embeddings(tgt), 4, metric=metric, **options), src, tgt, 4, metric)


SEARCH = """
import sys
from pathlib import Path
from bitextbench import neighbours
from bitextbench.formats.vectors import read_pair
for metric in neighbours.METRICS:
    both = neighbours.search(*read_pair(*sys.argv[1:3]), 4, metric=metric)
    neighbours.save(Path(sys.argv[3]) / metric, both, metric, 4, slice(0, 130), slice(0, 203))
"""


def test_the_same_by_other_kernels_of_the_libraries(tmp_path):
    """As on another processor; `strict` is what `device` sets."""
    for name, vectors in (("src", normal(1, 130, 100)), ("tgt", normal(2, 203, 100))):
        np.save(tmp_path / f"{name}.npy", vectors)
    found = []
    for name, by in (("portable", portable.ENVIRONMENT), ("strict", {"MKL_CBWR": "AUTO,STRICT"})):
        command = [sys.executable, "-c", SEARCH, tmp_path / "src.npy", tmp_path / "tgt.npy", tmp_path / name]
        others = {key: value for key, value in os.environ.items() if key not in portable.ENVIRONMENT}
        done = subprocess.run(command, capture_output=True, text=True, env=others | by)
        assert done.returncode == 0, done.stderr
        paths = sorted((tmp_path / name).rglob("*.npy"))
        found.append([path.read_bytes() for path in paths])
        assert len(paths) == 4 * len(neighbours.METRICS)
    assert found[0] == found[1]


@pytest.mark.parametrize("scale", [1e-30, 1e-42, 1e12])
def test_long_and_short_vectors(scale):
    src, tgt = (scale * normal(seed, 70, 6).astype(np.float64) for seed in (5, 6))
    src, tgt = src.astype(np.float32), tgt.astype(np.float32)
    check(search(Embeddings(src), Embeddings(tgt), 3), src, tgt, 3)


def test_near_duplicates_that_bf16_cannot_tell_apart():
    tgt = np.repeat(normal(7, 4, 16), 40, axis=0) * (1 + 1e-5 * normal(8, 160, 16))
    src = normal(7, 4, 16)
    check(search(Embeddings(src), Embeddings(tgt), 4, precision="bf16"), src, tgt, 4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("metric", neighbours.METRICS)
def test_the_search_on_a_gpu_here(monkeypatch, metric, dtype):
    """What runs there, on the CPU: the tensors do not know."""
    side = partial(tensors.TensorSide, dtype=dtype, device=torch.device("cpu"))
    means = engine.Engine("cuda", "fp32", side, tensors.by_torch)
    monkeypatch.setattr(neighbours, "engine_of", lambda *args, **kwargs: means)
    for src, tgt in ((normal(1, 130, 8), normal(2, 203, 8)), (ties(3, 131), ties(4, 150))):
        if metric != "euclidean" or dtype == torch.float32:
            check(search(Embeddings(src), Embeddings(tgt), 4, metric=metric, tile=100), src, tgt, 4, metric)


def test_a_gpu_holds_the_rows_of_a_side_once_in_each_number_format():
    vectors = Embeddings(normal(1, 20, 8))
    made = (vectors, vectors.norms(), metric_.METRIC["cosine"])
    full, narrow = (tensors.TensorSide(*made, dtype, torch.device("cpu")) for dtype in (torch.float32, torch.bfloat16))
    assert full.wide is full
    assert narrow.wide is narrow.wide
    assert torch.equal(narrow.whole, full.whole.bfloat16())


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 700), st.integers(1, 200), st.integers(1, 5))
def test_groups_have_each_element_once_and_its_greatest_key(n, tile, m):
    groups = tensors.Groups(n, tile)
    elements = groups.elements(torch.arange(groups.before(n)))
    assert sorted(elements[elements >= 0].tolist()) == list(range(n))
    keys = torch.from_numpy(normal(n, m, n))
    parts = [tensors.maxima(keys[:, part], False)[0] for part in tensors.tiles(slice(0, n), tile)]
    expected = torch.where(elements < 0, -torch.inf, keys[:, elements.clamp(min=0)]).amax(2)
    assert torch.equal(torch.cat(parts, 1), expected)


@pytest.mark.parametrize("few", [0, 1 << 40])
@pytest.mark.parametrize("name", [*products.PRODUCTS])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_by_any_product_and_loop(monkeypatch, few, name, threads):
    monkeypatch.setattr(metric_, "FEW", few)
    monkeypatch.setattr(engine, "choose", lambda precision, operations: name)
    for src, tgt in ((normal(1, 130, 37), normal(2, 203, 37)), (ties(3, 131), ties(4, 150))):
        both = search(Embeddings(src), Embeddings(tgt), 4, threads=threads, tile=32)
        check(both, src, tgt, 4)


@pytest.mark.parametrize("differences", [False, True])
@pytest.mark.parametrize("d", [5, 16, 100])
def test_numpy_and_machine_code_sum_to_the_same_bytes(d, differences):
    i, j = np.random.default_rng(1).integers(0, 50, (2, 300))
    found = np.empty((2, 300))
    for loop, out in zip((kernels, plain), found, strict=True):
        loop.sums(normal(1, 50, d), i, normal(2, 50, d), j, differences, out)
    assert found[0].tobytes() == found[1].tobytes()


RATES = {"numpy": 80.0, "torch": 90.0, "bf16": 200.0}


@pytest.mark.parametrize(
    ("precision", "operations", "chosen"),
    [
        ("auto", 1e15, "bf16"),
        ("fp32", 1e15, "torch"),
        ("bf16", 1, "bf16"),
        ("auto", 1e11, "numpy"),
        ("fp32", 1e11, "numpy"),
    ],
)
def test_the_fastest_product_is_taken_where_it_pays(monkeypatch, precision, operations, chosen):
    monkeypatch.setattr(products, "measured", lambda: RATES)
    assert products.choose(precision, operations) == chosen


@pytest.mark.parametrize("held", [None, "not JSON", "[]", '{"another processor": {"numpy": 1}}'])
def test_products_are_measured_once(monkeypatch, tmp_path, capsys, held):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if held:
        (tmp_path / "bitextbench").mkdir()
        (tmp_path / "bitextbench/products.json").write_text(held)
    rates = products.measured()
    assert {"numpy", "torch"} <= set(rates)
    assert all(rate > 0 for rate in rates.values())
    assert "billion operations/s; kept" in capsys.readouterr().err
    assert products.measured() == rates
    assert not capsys.readouterr().err


def test_a_small_search_takes_neither_torch_nor_machine_code(tmp_path):
    np.save(tmp_path / "x.npy", normal(1, 500, 16))
    script = (
        "import sys; from bitextbench.cli.main import main; sys.argv[0] = 'bitextbench'\n"
        "try: main()\nfinally: assert not {'torch', 'numba', 'tqdm', 'pandas'} & set(sys.modules)"
    )
    command = ["neighbours", "--src-emb", tmp_path / "x.npy", "--tgt-emb", tmp_path / "x.npy", "-o", tmp_path / "o"]
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "o/forward.ids.npy").exists()


def test_tiles_of_many_threads_fit_the_memory():
    on = {name: engine.Engine(name, "fp32", metric_.Side, None) for name in engine.TILE}
    assert [on["cpu"].tile_within(1 << 30, threads) for threads in (1, 64)] == [1024, 1024]
    assert 16 * 4 * on["cpu"].tile_within(LEAST_MEMORY, 16) ** 2 <= LEAST_MEMORY // 4
    assert on["cuda"].tile_within(LEAST_MEMORY, 16) == engine.TILE["cuda"]


def test_the_fast_search_has_the_tile_and_the_widths_that_it_is_asked_for(monkeypatch):
    """The slack of fp32 is 4; of a direction that nobody asks for nothing is kept."""
    asked = []

    def spied(*args, **options):
        def candidates(left, right, widths, rows, tile):
            asked.append((widths, tile))
            return made.candidates(left, right, widths, rows, tile)

        made = engine.engine_of(*args, **options)
        return made._replace(candidates=candidates)

    monkeypatch.setattr(neighbours, "engine_of", spied)
    src, tgt = Embeddings(normal(1, 6, 8)), Embeddings(normal(2, 20, 8))
    search(src, tgt, 4, tile=32)
    search(src, tgt, 4, forward_only=True)
    assert asked == [((8, 6), 32), ((8, 0), engine.TILE["cpu"])]


def test_rows_that_grow_more_similar_from_block_to_block():
    tgt = np.stack([np.ones(300), np.linspace(2, 0, 300)], 1).astype(np.float32)  # the nearest of (1, 0) is the last
    check(search(Embeddings(tgt[-1:]), Embeddings(tgt), 4, tile=64), tgt[-1:], tgt, 4)


def test_panels_of_a_small_budget_give_the_same(monkeypatch):
    monkeypatch.setattr(neighbours, "PANEL", 64)
    monkeypatch.setattr(proof, "ROWS", 64)
    monkeypatch.setattr(neighbours, "LEAST_MEMORY", 1)
    src, tgt = ties(9, 150), ties(10, 170)
    check(search(Embeddings(src), Embeddings(tgt), 4, memory=1), src, tgt, 4)


@pytest.mark.parametrize("cuts", [(0, 90, 90), (0, 1, 40, 90)])
def test_parts_join_to_the_same_bytes(tmp_path, cuts):
    src, tgt = ties(11, cuts[-1]), ties(12, 75)
    save(tmp_path / "one", search(Embeddings(src), Embeddings(tgt), 5), "cosine", 5, slice(0, len(src)), slice(0, 75))
    folders = []
    ranges = [slice(a, b) for a, b in pairwise(cuts) if a < b]
    for a in ranges:
        for b in (slice(0, 3), slice(3, 75)):  # 3 rows have fewer neighbours than k
            both = search(Embeddings(src[a]), Embeddings(tgt[b]), 5)
            folders.append(tmp_path / f"{a.start}-{b.start}")
            save(folders[-1], both, "cosine", 5, a, b)
    merge(folders[::-1], tmp_path / "merged")
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert len(names) == 5
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "merged" / name).read_bytes(), name
    check(load(tmp_path / "merged")[0], src, tgt, 5)
    with pytest.raises(InputError, match=r"do not make a grid of 3 x 2: 1 missing|do not make a grid of 1 x 1"):
        merge(folders[:-1] + folders[:1], tmp_path / "bad")


def test_parts_that_do_not_fit_together(tmp_path):
    x = Embeddings(normal(1, 10, 4))
    for name, metric, rows in (
        ("a", "cosine", slice(0, 10)),
        ("b", "dot", slice(10, 20)),
        ("c", "cosine", slice(5, 15)),
    ):
        save(tmp_path / name, search(x, x, 2, metric=metric), metric, 2, rows, slice(0, 10))
    with pytest.raises(InputError, match="another metric or k"):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "o")
    with pytest.raises(InputError, match="src rows 10 to 5 are in no part or in two"):
        merge([tmp_path / "a", tmp_path / "c"], tmp_path / "o")
    assert not (tmp_path / "o").exists()
    for folder, ids, similarities in (("b", (10, 3), (10, 2)), ("c", (9, 2), (9, 2))):  # c was a search of ten rows
        arrays.save(tmp_path / folder / "backward.ids.npy", np.zeros(ids, np.int64))
        arrays.save(tmp_path / folder / "backward.similarities.npy", np.zeros(similarities, np.float32))
        with pytest.raises(InputError, match=f"{folder}: backward: ids and similarities do not fit; search again"):
            load(tmp_path / folder)


@pytest.mark.parametrize("backend", neighbours.BACKENDS)
def test_one_direction_alone_is_that_of_both(backend):
    sides = Embeddings(ties(3, 131)), Embeddings(ties(4, 150))
    one, both = (search(*sides, 4, backend=backend, tile=32, forward_only=only) for only in (True, False))
    np.testing.assert_array_equal(one.forward.ids, both.forward.ids)
    np.testing.assert_array_equal(one.forward.similarities, both.forward.similarities)
    assert one.backward.ids.shape == one.backward.similarities.shape == (150, 0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_files_of_other_types_and_orders_are_read(tmp_path, dtype, order, capsys):
    tgt = normal(2, 20, 4).astype(dtype)
    np.save(tmp_path / "x.npy", np.array(tgt, order=order))
    side = read(tmp_path / "x.npy")
    check(search(side, side, 2), tgt.astype(np.float32), tgt.astype(np.float32), 2)
    assert ("read as float32" in capsys.readouterr().err) == (dtype != np.float32 or order == "F")


def test_selected_rows():
    x, rows = normal(3, 30, 4), np.array([4, 9, 2, 29])
    some = Embeddings(x).select(rows).part(1, 4)
    np.testing.assert_array_equal(some.block(0, 3), x[[9, 2, 29]])
    np.testing.assert_array_equal(some.take(np.array([2, 0])), x[[29, 9]])
    check(search(some, Embeddings(x), 2), x[[9, 2, 29]], x, 2)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((0, 4), np.float32), "bad.npy: has no vectors"),
        (np.ones((3, 5), np.float32), r"4 dimensions, but .*bad.npy has 5"),
        (np.ones(3, np.float32), r"bad.npy: has the shape \(3,\)"),
        (np.ones((3, 4), np.int32), "bad.npy: holds int32, not floats"),
        (np.array([[1, 2, 3, 4], [1, np.nan, 0, 0]], np.float32), r"bad.npy:2: vector is not finite \(1 such\)"),
        (np.array([[1, 2, np.inf, 4]], np.float32), "bad.npy:1: vector is not finite"),
        (np.array([[1e300, 0, 0, 0]]), "bad.npy:1: vector is not finite"),
        (np.full((1, 4), 1e20, np.float32), "good.npy: vectors are too long"),
        (np.array([{}]), "bad.npy: cannot be read as .npy"),
    ],
)
def test_bad_vectors(tmp_path, array, message):
    np.save(tmp_path / "good.npy", np.full((2, 4), 1e18, np.float32))
    np.save(tmp_path / "bad.npy", array)
    with pytest.raises(InputError, match=message):
        search(*read_pair(tmp_path / "good.npy", tmp_path / "bad.npy"), 2)


def test_other_mistakes(tmp_path):
    x = Embeddings(normal(1, 3, 4))
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00")
    with pytest.raises(InputError, match=r"cut.npy: cannot be read as .npy"):
        read(tmp_path / "cut.npy")
    for options, message in (
        ({"k": 0}, "k is 0"),
        ({"metric": "cosin"}, "unknown metric 'cosin'"),
        ({"backend": "annoy"}, "unknown backend"),
        ({"memory": LEAST_MEMORY - 1}, "are too few; give it at least"),
    ):
        with pytest.raises(InputError, match=message):
            search(x, x, **{"k": 1, **options})


def test_zero_vectors_are_counted(capsys):
    x = normal(1, 5, 4)
    x[[1, 3]] = 0
    search(Embeddings(x, "x.npy"), Embeddings(x, "x.npy"), 2)
    assert "x.npy: 2 of 5 vectors are zero" in capsys.readouterr().err


MEASURE = """
import sys
import numpy as np
from bitextbench.formats import bitext, vectors as embeddings
from bitextbench import neighbours
from bitextbench.formats.vectors import read_pair
from bitextbench.neighbours import metric
metric.FEW = 0  # machine code is loaded before
def bytes_of(field):
    return 1024 * next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(field))
neighbours.search(*read_pair(sys.argv[1], sys.argv[1]), 4)
open("/proc/self/clear_refs", "w").write("5")
before = bytes_of("VmRSS")
neighbours.search(*read_pair(sys.argv[2], sys.argv[2]), 4, memory=neighbours.LEAST_MEMORY)
print(bytes_of("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of a process is read from /proc")
def test_memory_stays_within_the_budget(tmp_path: Path):
    np.save(tmp_path / "warm.npy", normal(1, 100, 16))
    np.save(tmp_path / "x.npy", normal(1, 12_000, 16))
    # by default glibc takes ever larger blocks from its heap, and how much of it it keeps differs from run to run
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 17)}
    command = [sys.executable, "-c", MEASURE, tmp_path / "warm.npy", tmp_path / "x.npy"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    file = (tmp_path / "x.npy").stat().st_size
    grown = int(done.stdout)
    assert 0 < grown < LEAST_MEMORY + file + 24 * 4 * 12_000, grown  # 12,000^2 similarities would take 576 MB


@pytest.mark.parametrize(
    ("metric", "dtype"),
    [
        ("cosine", "fp32"),
        ("cosine", "bf16"),
        ("dot", "fp32"),
        ("dot", "bf16"),
        ("euclidean", "fp32"),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e15])
def test_the_error_of_the_product_is_within_its_bound(metric, dtype, scale):
    arrays = [(scale * normal(seed, 60, 200)).astype(np.float32) for seed in (1, 2)]
    arrays[1][:20] = arrays[0][:20]  # equal vectors, too
    rule = metric_.METRIC[metric]
    if dtype == "bf16":
        more = {"dtype": torch.bfloat16, "device": torch.device("cpu")}
        src, tgt = (tensors.TensorSide(e, e.norms(), rule, **more) for e in map(Embeddings, arrays))
    else:
        src, tgt = (metric_.Side(e, e.norms(), rule) for e in map(Embeddings, arrays))
    rows = slice(0, 60)
    keys = metric_.keys_of(src.matrix(rows), tgt.matrix(rows), src, tgt, rows, rows)
    got = (keys.double().numpy() if dtype == "bf16" else keys).astype(np.float64)
    x, y = (array.astype(np.float64) for array in arrays)
    lengths = np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    true = {"cosine": x @ y.T / lengths, "dot": x @ y.T, "euclidean": -((x[:, None] - y) ** 2).sum(2) / 2}[metric]
    error = np.abs(got - true)
    bound = src.rounding * np.abs(got) + src.slack(tgt)[:, None]
    assert (error <= bound).all()
    if scale >= 1:  # below, products underflow and the bound allows for more of that than happens
        assert bound.max() < 1000 * error.max()  # not so wide that nothing is ever proven


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 40), st.integers(1, 5), st.integers(1, 7))
def test_shards_are_read_in_the_order_of_ids(rows, shards, block):
    """As `bitext.write_shards` deals rows out."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitext, "BLOCK", block)
        vectors = np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)
        paths = [Path(name) / f"{shard}.npy" for shard in range(shards)]
        for shard, path in enumerate(paths):
            np.save(path, vectors[np.arange(rows) // block % shards == shard])
        read = read_shards(paths)
        np.testing.assert_array_equal(read.block(0, rows), vectors)
        np.testing.assert_array_equal(read.take(np.array([0, rows - 1])), vectors[[0, -1]])
        np.testing.assert_array_equal(read.part(rows // 2, rows).block(0, rows), vectors[rows // 2 :])


def test_shards_that_are_not_those_of_one_corpus(tmp_path, monkeypatch):
    monkeypatch.setattr(bitext, "BLOCK", 2)
    for name, rows in (("a", 3), ("b", 2)):
        np.save(tmp_path / f"{name}.npy", np.ones((rows, 2), np.float32))
    assert len(read_shards([tmp_path / "a.npy", tmp_path / "b.npy"])) == 5
    with pytest.raises(InputError, match="the shards have 2, 3 rows"):
        read_shards([tmp_path / "b.npy", tmp_path / "a.npy"])
