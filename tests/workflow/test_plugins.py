"""A similarity and an encoder of one's own: one file and one entry of the configuration each."""

import subprocess
import sys

import numpy as np
import pytest
from checkout import ROOT, copy_checkout, environment, snakemake

from bitextbench.base import members
from bitextbench.base.errors import InputError
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.scoring import declared

SIMILARITY = '''
"""Minus the difference of the sides in tokens, weighted."""

import sklearn  # as heavy as it likes: planning does not load it

NEEDS = ("tokens",)
FIT = "tokens"
OPTIONS = {"weight": {"type": "number"}}


def fit(bitext, positives, spec, seed, out):
    out.write_text(str(spec["weight"]))


def score(pairs, model):
    import numpy as np

    lengths = [np.array([len((line or "").split()) for line in side.to_pylist()]) for side in pairs.text()]
    return -float(model.read_text()) * np.abs(lengths[0] - lengths[1]).astype(np.float32)
'''

ENCODER = '''
"""The mean of the embeddings of a sentence."""

from bitextbench.base.device import torch
from bitextbench.encoders import Encoder
from bitextbench.encoders.batches import Buckets


class Model(Encoder):
    def __init__(self, vocab_size, *, size: int = 8):
        super().__init__()
        self.vocab_size, self.dimension = vocab_size, size
        self.words = torch.nn.Embedding(vocab_size, size, 0)

    def streams(self, corpora, batch, max_tokens, seed):
        return {"pairs": Buckets([corpora["bitext"][side] for side in self.sides], batch, max_tokens, [seed], "bitext")}

    def loss(self, batches):
        src, tgt = (self.encode("src", side) for side in batches["pairs"])
        return {"pairs": ((src - tgt) ** 2).mean()}

    def encode(self, side, sentences):
        return self.words(sentences.ids).sum(1) / sentences.lengths[:, None]
'''

OVERLAY = """
plugins: mine
text: {features: {pieces: {type: bpe, vocab: 300, corpora: [valid], sample: 500}}}
encoders:
  own:
    type: average
    features: pieces
    corpora: {bitext: valid, valid: valid}
    gpus: 0
    model: {size: 4}
    training: {batch: 20, updates: 2, learning_rate: 0.1, log_every: 1, valid_every: 2, checkpoint_every: 2}
methods:
  length: {similarity: length, weight: 2, bitext: valid, positives: valid}
  own: {similarity: cosine, encoder: own}
"""


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    monkeypatch.setenv(members.PLUGINS, "")  # and back to what it was: `resolve` sets it
    for kind, name, text in (("similarities", "length", SIMILARITY), ("encoders", "average", ENCODER)):
        (tmp_path / "mine" / kind).mkdir(parents=True)
        (tmp_path / "mine" / kind / f"{name}.py").write_text(text)
    (tmp_path / "own.yaml").write_text(OVERLAY)
    return tmp_path


@pytest.mark.slow
def test_a_run_scores_by_them(plugins):
    root = copy_checkout(plugins)
    (plugins / "mine").rename(root / "mine")
    (plugins / "own.yaml").rename(root / "own.yaml")
    made = [f"work/micro/scores/{method}/valid/00000.npy" for method in ("length", "own")]
    overlays = ("config/tiny.yaml", "tests/micro.yaml", "own.yaml")
    snakemake("--profile", "profiles/tiny", "--cores", "2", "--configfile", *overlays, "--", *made, cwd=root)
    length, own = (np.load(root / path) for path in made)
    assert len(length) == len(own) > 10
    assert set(length.tolist()) <= {-2.0 * n for n in range(8)}
    assert np.abs(own).max() <= 1


def changed(plugins, old, new):
    (plugins / "own.yaml").write_text(OVERLAY.replace("plugins: mine", f"plugins: {plugins}/mine").replace(old, new))
    return read([ROOT / "config.yaml"], [ROOT / "config/tiny.yaml", plugins / "own.yaml"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("/mine\n", "/mine/encoders\n", r"mine/encoders` has no folder encoders or similarities; name the folder that"),
        ("weight: 2", "wieght: 2", r"unknown key `methods.length.wieght`; did you mean `weight: 2`"),
        ("weight: 2", "weight: two", r"`methods.length.weight: two` is wrong"),
        ("size: 4", "sise: 4", r"unknown key `encoders.own.model.sise`; did you mean `size: 4`"),
        ("size: 4", "size: 4.5", r"`encoders.own.model.size: 4.5` is wrong"),
        ("type: average", "type: avrage", r"`encoders.own.type` names `avrage`, .*did you mean average"),
        (
            "similarity: length",
            "similarity: lenght",
            r"`methods.length.similarity` names `lenght`, .*did you mean length",
        ),
    ],
)
def test_what_is_wrong_with_them_is_told_when_a_run_is_planned(plugins, old, new, message):
    with pytest.raises(InputError, match=message):
        resolve(changed(plugins, old, new))


def test_a_plan_loads_no_package_that_computes_or_draws(plugins):
    changed(plugins, "", "")
    code = (
        "import sys; from bitextbench.config.overlays import read; from bitextbench.config.resolution import resolve\n"
        "from bitextbench.report import layout, leaderboard_layout, plan; from bitextbench.workflow import Files\n"
        f"files = Files(resolve(read(['{ROOT}/config.yaml'], ['{ROOT}/config/tiny.yaml', '{plugins}/own.yaml'])))\n"
        "assert files.declared('length').needs == ('tokens',) and files.calibrated('own') == []\n"
        "print(*{'torch', 'sklearn', 'faiss', 'rapidfuzz', 'pandas', 'matplotlib', 'jinja2'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('NEEDS = ("vector",)', r"own\.py: NEEDS has 'vector'; did you mean vectors"),
        ('FIT = "token"', r"own\.py: FIT has 'token'; did you mean tokens"),
        ("OPTIONS = {'weight': {}}", r"own\.py: OPTIONS are read by fit, but there is no FIT"),
        ("FIT = 'scores'\nOPTIONS = {'weight': {}}", r"own\.py: OPTIONS are read by fit, but FIT is scores"),
        ("def score(:", r"own\.py:1: not Python"),
    ],
)
def test_a_declaration_that_nobody_knows(plugins, monkeypatch, text, message):
    (plugins / "mine/similarities/own.py").write_text(text)
    monkeypatch.setenv(members.PLUGINS, str(plugins / "mine"))
    with pytest.raises(InputError, match=message):
        declared("own")


def test_a_folder_that_is_not_named_or_is_the_inner_one(plugins, monkeypatch):
    with pytest.raises(InputError, match=r"'length'; .* \(a plugin: name its folder in BITEXTBENCH_PLUGINS\)"):
        declared("length")
    monkeypatch.setenv(members.PLUGINS, str(plugins / "mine/similarities"))
    with pytest.raises(InputError, match=r" \(no plugin is in .*/mine/similarities/similarities\)"):
        declared("length")


@pytest.mark.parametrize("kind", members.KINDS)
def test_what_the_package_has_declares_what_it_can(kind):
    for name, source in members.sources(kind).items():
        if kind == "similarities":
            assert declared(name)
        else:
            assert members.arguments(source, "Model"), name


def test_keys_of_a_model_that_extends_another(tmp_path):
    text = "from bitextbench.encoders.models.pivot_nmt import Model as Base\n"
    path = tmp_path / "own.py"
    for rest in ("class Model(Base):\n    pass", "class Middle(Base):\n    pass\n\nclass Model(Middle):\n    pass"):
        path.write_text(text + rest)
        members._body.cache_clear()
        assert [*members.arguments(path, "Model")] == ["cell", "embedding", "hidden", "dropout", "pooling"]
    path.write_text(text + "class Model(Base):\n    def __init__(self, vocab_size, *, own=1, **sizes):\n        pass")
    members._body.cache_clear()
    assert [*members.arguments(path, "Model")][-2:] == ["pooling", "own"]
    path.write_text("import torch\n\nclass Model(torch.nn.Module):\n    pass")
    members._body.cache_clear()
    assert members.arguments(path, "Model") is None
