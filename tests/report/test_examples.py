"""Pages of examples show what their tables in the papers show."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged
from bitextbench.formats.vectors import Embeddings
from bitextbench.mining import comparable
from bitextbench.report import examples


def corpus(folder: Path, pairs: list[tuple[str | None, str | None]], shards: int = 1) -> Path:
    src, tgt = map(list, zip(*pairs, strict=True))
    rows = pa.table({"src": src, "tgt": tgt, "doc": [""] * len(pairs), "label": [""] * len(pairs)})
    bitext.write_shards(folder, [rows], shards)
    return folder


def cells(page: list[str], head: str) -> list[list[str]]:
    """The tables of a page under this head, without their heads."""
    rows = [line.strip("|").split("|") for line in page if line.startswith("|")]
    rows = [[cell.strip() for cell in row] for row in rows]
    return [row for row in rows if row[0] not in ("---", head)]


Sides = tuple[comparable.Comparable, Embeddings, Embeddings]


def hidden(folder: Path, noise: dict[str, int]) -> Sides:
    """Sentences on a circle, by degrees: gold pairs (a, x) and (b, y), sources c, d, e, and targets that translate
    none.
    """
    degrees = {"a": 0, "x": 0, "b": 30, "y": 60, "c": 180, "d": 190, "e": 200} | noise
    rows = [("a", "x"), ("b", "y"), ("c", None), ("d", None), ("e", None), *((None, name) for name in noise)]
    sides = []
    for side in (0, 1):
        angles = np.radians([degrees[row[side] or "x"] for row in rows])
        sides.append(Embeddings(np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32), "vectors"))
    return comparable.read(corpus(folder / "corpus", rows), ("en", "fr")), *sides


def test_a_wrong_pair_is_nearer_than_a_right_one_and_its_neighbours_are_near_too(tmp_path):
    page = list(examples.scales(*hidden(tmp_path, {"z": 184}), k=3))
    assert [line.strip() for line in page if line.startswith("**")] == [
        "**z** (its nearest neighbour is wrong)",
        "**y** (its nearest neighbour is right)",
    ]
    wrong, right = np.split(np.array(cells(page, "cosine"), object), 2)
    assert wrong[:, 2].tolist() == ["c", "d", "e"]
    assert right[:2, 2].tolist() == ["b", "a"]
    assert wrong[0, 0] == f"{np.cos(np.radians(4)):.3f}" > right[0, 0]
    assert wrong[0, 1] < right[0, 1]


@pytest.mark.parametrize(
    ("noise", "wanted"),
    [
        ({"z": 184}, ([["0.998", "c", "z"]], [])),  # F1 is best with all three pairs, 2 of 3 right: 0.8
        ({"z": 184, "v": 204, "w": 185}, ([], [["0.866", "b", "y"]])),  # with the best pair alone: 2/3
    ],
)
def test_failures_are_wrong_pairs_above_the_threshold_and_gold_ones_below(tmp_path, noise, wanted):
    page = list(examples.failures(*hidden(tmp_path, noise)))
    middle = page.index("**False negatives**\n")
    assert (cells(page[:middle], "cosine"), cells(page[middle:], "cosine")) == wanted


def test_corners_are_the_extremes_of_both_scorers(tmp_path):
    found = corpus(tmp_path / "pool", [(f"s{i}", f"t|{i}") for i in range(400)], shards=2)
    rng = np.random.default_rng(1)
    cosine, mlp = (rng.standard_normal(400).astype(np.float32) for _ in range(2))
    files = [tmp_path / f"{name}.npy" for name in ("cosine", "mlp")]
    for path, scores in zip(files, (cosine, mlp), strict=True):
        np.save(path, scores)
    options = [part for path in files for part in ("--scores", path.stem, str(path))]
    done = CliRunner().invoke(
        cli, ["step", "examples", "corners", str(found), *options, "-o", str(tmp_path / "page.md")]
    )
    assert done.exit_code == 0, done.output
    rows = cells((tmp_path / "page.md").read_text().splitlines(), "source")
    last, first = np.argsort(mlp)[:4], np.argsort(mlp)[-4:]
    wanted = [part[pick(cosine[part])] for part in (last, first) for pick in (np.argmin, np.argmax)]
    assert [row[:2] for row in rows] == [[f"s{i}", f"t&#124;{i}"] for i in wanted]
    with pytest.raises(InputError, match="has 400 pairs, but there are scores of 399"):
        list(examples.corners(found, {"cosine": cosine[1:], "mlp": mlp[1:]}))


def test_negatives_are_other_targets(tmp_path):
    found = corpus(tmp_path / "bitext", [(f"s{i}", f"t{i}") for i in range(50)])
    Ragged.of([[i + 1, i + 2] if i in (3, 30) else [] for i in range(50)]).save(tmp_path / "hard.src")
    page = list(examples.negatives(found, tmp_path / "hard"))
    rows = cells(page, "")
    assert [line for line in page if line.startswith("**")] == ["**s3**\n", "**s30**\n"]
    assert [row[1] for row in rows if row[0] == "translation"] == ["t3", "t30"]
    assert [row[1] for row in rows if row[0] == "hard negative"] == ["t4", "t5", "t31", "t32"]
    random = [row[1] for row in rows if row[0] == "random negative"]
    assert len({*random[:2]}) == len({*random[2:]}) == 2
    assert not {"t3"} & {*random[:2]}
    assert page == list(examples.negatives(found, tmp_path / "hard"))
    with pytest.raises(InputError, match="has 49 pairs, but there are scores of 50"):
        list(examples.negatives(corpus(tmp_path / "other", [("s", "t")] * 49), tmp_path / "hard"))


def test_nothing_to_tell_apart_is_said(tmp_path):
    found = comparable.read(corpus(tmp_path / "corpus", [("a", "x"), ("b", "y")]), ("en", "fr"))
    vectors = Embeddings(np.eye(2, dtype=np.float32), "vectors")
    assert "of 2 nearest neighbours 2 are right" in list(examples.scales(found, vectors, vectors))[1]
