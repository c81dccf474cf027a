"""What similarities have learned, as files: other arrays than `fit` wrote are refused where the file is read."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.mining import scorers
from bitextbench.mining.scorers import Scorer
from bitextbench.scoring import Pairs, Text, similarity
from bitextbench.scoring.similarities import margin, mlp, zipporah

RNG = np.random.default_rng(1)
WORDS = ["der Hund läuft", "die Katze schläft heute", "das Haus ist alt", "Peter kauft zwei Autos"]
TEXT = Text(*(pa.chunked_array([[line.translate(table) for line in WORDS]]) for table in ({}, {ord("e"): "i"})))


def fit_mlp(out: Path) -> None:
    src, tgt = RNG.standard_normal((2, 20, 4)).astype(np.float32)
    mlp.fit(src, tgt, np.arange(20) % 2, {"hidden": [3, 2], "max_iter": 2}, 1, out)


def fit_margin(out: Path) -> None:
    arrays.save_npz(out, means=np.ones((3, 2), np.float32), margin=np.array("ratio"))


FITS = {"mlp": fit_mlp, "zipporah": lambda out: zipporah.fit(TEXT, TEXT, {}, 1, out), "margin": fit_margin}
VECTORS = Pairs(np.arange(3), np.ones((3, 4), np.float32), np.ones((3, 4), np.float32))
READ = {
    "mlp": mlp.read,
    "zipporah": zipporah.read,
    "margin": lambda path: margin.score(VECTORS, path),
}
CHANGES = {
    "type": lambda array: (
        array.astype("U9" if array.dtype.kind != "U" else "f4", copy=False)
        if array.dtype.kind != "U"
        else np.ones(array.shape, np.float32)
    ),
    "axes": lambda array: array[None],
    "empty": lambda array: np.empty((0, *array.shape), array.dtype),
    "less": lambda array: array[1:] if array.ndim else array[None][1:],
    "more": lambda array: np.concatenate([array, array]) if array.ndim else np.stack([array, array]),
}
OTHERS = {  # of another corpus, of vectors of other dimensions, of other words
    ("means", "less"), ("means", "more"), ("W0", "less"), ("W0", "more"), ("words", "less"),
}  # fmt: skip


@pytest.mark.parametrize("name", FITS)
def test_other_arrays_are_refused(tmp_path, name):
    whole = tmp_path / "whole.npz"
    FITS[name](whole)
    READ[name](whole)
    held, path = arrays.load_npz(whole, ""), tmp_path / "changed.npz"
    for array in held:
        arrays.save_npz(path, **{other: value for other, value in held.items() if other != array})
        with pytest.raises(InputError, match=r"changed.npz: has no array|W\d|b\d"):
            READ[name](path)
        for change, function in CHANGES.items():
            if (array, change) in OTHERS:
                continue
            arrays.save_npz(path, **held | {array: function(held[array])})
            with pytest.raises(InputError, match="changed"):
                READ[name](path)


def test_words_of_a_dictionary_are_those_of_the_file(tmp_path):
    """Its entries are places in memory: 2^32 words would take 16 GB."""
    FITS["zipporah"](tmp_path / "whole.npz")
    held, path = arrays.load_npz(tmp_path / "whole.npz", ""), tmp_path / "changed.npz"
    keys = held["src_keys"].copy()
    for other in (keys[::-1], keys | np.uint64(1 << 31), keys | np.uint64(1 << 63)):
        arrays.save_npz(path, **held | {"src_keys": other})
        with pytest.raises(InputError, match="its dictionary and its words do not belong together; fit it again"):
            zipporah.read(path)
    arrays.save_npz(path, **held | {"words": np.full_like(held["words"], 255)})
    with pytest.raises(InputError, match="its words are not UTF-8; fit it again"):
        zipporah.read(path)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_n_grams_of_a_file_are_in_order_and_stand_once(tmp_path, order):
    FITS["zipporah"](tmp_path / "whole.npz")
    held, path = arrays.load_npz(tmp_path / "whole.npz", ""), tmp_path / "changed.npz"
    name = [name for name in sorted(held) if name.startswith("tgt_lm_keys")][order - 1]
    twice = held[name].copy()
    twice[1] = twice[0]
    for other in (held[name][::-1], twice):
        arrays.save_npz(path, **held | {name: other})
        with pytest.raises(InputError, match="its n-grams are not in order; fit it again"):
            zipporah.read(path)


@pytest.mark.parametrize(
    "about",
    ["", "[]", "[1, 2, 3]", "{", "5", '{"similarity": 5, "languages": ["de", "en"], "encoder": null}', "[" * 100_000,
     '{"similarity": "mlp", "languages": "de", "encoder": null}', '{"similarity": "mlp", "languages": ["de"], "encoder": 1}',
     '{"similarity": "mlp", "languages": [["de"], "en"], "encoder": null}'],
)  # fmt: skip
def test_a_file_says_what_scorer_it_is(tmp_path, about):
    arrays.save_npz(tmp_path / "x.npz", scorer=np.array(about))
    with pytest.raises(InputError, match="does not say what scorer it is; fit it again"):
        scorers.fitted(tmp_path / "x.npz")


def test_a_file_is_opened_for_its_languages_or_where_none_are_named(tmp_path):
    FITS["zipporah"](tmp_path / "whole.npz")
    about = json.dumps({"similarity": "zipporah", "languages": ["de", "en"], "encoder": None})
    arrays.save_npz(tmp_path / "x.npz", **arrays.load_npz(tmp_path / "whole.npz", ""), scorer=np.array(about))
    for languages in (("de", "en"), ("de_AT", "en-GB"), (None, None), ("de", None)):
        assert scorers.opened(tmp_path / "x.npz", languages, None).languages == ("de", "en")
    with pytest.raises(InputError, match=r"x\.npz: is for de and en, not en and de; fit one for these languages"):
        scorers.opened(tmp_path / "x.npz", ("en", "de"), None)


def test_a_file_of_a_similarity_that_learns_nothing(tmp_path):
    about = json.dumps({"similarity": "levenshtein", "languages": ["de", "en"], "encoder": None})
    arrays.save_npz(tmp_path / "x.npz", scorer=np.array(about))
    with pytest.raises(InputError, match="levenshtein learns nothing, so there is nothing to save"):
        scorers.opened(tmp_path / "x.npz", ("de", "en"), None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hidden": "x"}, "hidden: 'x' is not of type 'array'; it has hidden, max_iter"),
        ({"hidden": [1.5]}, r"hidden\[0\]: 1.5 is not of type 'integer'"),
        ({"hidden": [0]}, "0 is less than the minimum of 1"),
        ({"hidden": [-1]}, "-1 is less than the minimum of 1"),
        ({"hidden": []}, "hidden: "),
        ({"hidden": [100_000_000]}, "100000000 is greater than the maximum of 65536"),
        ({"max_iter": 0}, "max_iter: 0 is less than the minimum of 1"),
        ({"max_iter": True}, "max_iter: True is not of type 'integer'"),
        ({"epochs": 3}, "mlp: Additional properties are not allowed"),
    ],
)
def test_settings_are_checked(given, message):
    scorer = object.__new__(Scorer)
    scorer.name, scorer.options = "mlp", mlp.OPTIONS
    with pytest.raises(InputError, match=message):
        scorer.settings(given)
    assert scorer.settings({"max_iter": 60.0}) == {"hidden": [512, 512], "max_iter": 60}
    assert similarity("mlp") is mlp
