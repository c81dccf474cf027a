"""Files of measurements: what is saved is read, a table is judged from them as from the run, and other files are refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bitextbench.base.bootstrap import rate
from bitextbench.base.errors import InputError
from bitextbench.report import draws, measurements
from bitextbench.report.cells import Measurement, measurement
from bitextbench.report.table import by_place

RNG = np.random.default_rng(1)


def measured(row: str, column: str, seed: int, *, items: bool = True) -> Measurement:
    metric = rate("x", RNG.random(5000) < 0.5)
    if not items:
        del metric["items"]
    return measurement(row, column, seed, metric, Path("m.json"))


def test_draws_of_what_was_read_are_those_of_what_was_saved(tmp_path):
    fixed = replace(measured("t", "d", 1), trained=False)
    made = [measured("r", "c/ü", 1), measured("r", "c/ü", 2), measured("s", "d", 1, items=False), fixed]
    measurements.save("p/table1", made, tmp_path / "a/b.json")
    place, read = measurements.load(tmp_path / "a/b.json")
    assert place == "p/table1"
    assert [replace(one, path=Path(), items=()) for one in read] == [
        replace(one, path=Path(), items=()) for one in made
    ]
    ours, theirs = (
        draws.of_table(place, by_place(held)) for held in (made, [replace(one, path=Path("m.json")) for one in read])
    )
    assert ours.keys() == theirs.keys()
    for key, one in ours.items():
        assert (one.value, one.k, one.n) == (theirs[key].value, theirs[key].k, theirs[key].n)
        assert np.array_equal(one.items, theirs[key].items)
    measurements.save("p/table1", read, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "a/b.json").read_bytes()


def test_files_of_a_run_are_text_in_the_order_of_their_names(tmp_path):
    names = [f"{paper}table{number}.json" for paper in ("", "kim2019/") for number in range(1, 9)]
    for place in RNG.permutation(len(names)):
        measurements.save("p/table1", [measured("r", "c/ü", 1)], tmp_path / "measurements" / names[place])
    found = measurements.of_folder(tmp_path)
    assert [path.relative_to(tmp_path / "measurements").as_posix() for path in found] == [*names[8:], *names[:8]]
    assert "c/ü" in found[0].read_text(encoding="utf-8")
    with pytest.raises(InputError, match="has no measurements; make that run first"):
        measurements.of_folder(tmp_path / "measurements")


def test_an_item_takes_less_than_100_bytes(tmp_path):
    measurements.save("p/table1", [measured("r", "c", 1)], tmp_path / "m.json")
    assert (tmp_path / "m.json").stat().st_size < 5000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no", "JSON"),
        ("[]", "not measurements of a table"),
        ('{"table": "t", "measurements": [{}]}', "row is missing"),
        ('{"table": "t", "measurements": [{"row": "r", "column": "c", "seed": 1, "value": NaN}]}', "value is missing or wrong: nan"),
    ],
)  # fmt: skip
def test_another_file_is_refused(tmp_path, text, message):
    (tmp_path / "m.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        measurements.load(tmp_path / "m.json")
