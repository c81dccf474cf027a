"""A published encoder as one of the workflow, which is also called without its environment being activated."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_bert
from checkout import ROOT, copy_checkout, laid_over
from test_config import load

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import read_json
from bitextbench.config.resolution import resolve
from bitextbench.config.seeds import of_seed
from bitextbench.encoders.plain import sentence_encoder
from bitextbench.formats import bitext
from bitextbench.formats.vectors import read
from bitextbench.workflow import Files

OVERLAY = """
corpora: {pool: {inherit: false, parts: [{generated: pool, lines: 300, label: parallel}]}}
encoders: {bert: {type: pretrained, folder: bert, prefix: "query: ", precision: bf16, gpus: 0}}
methods: {bert: {similarity: cosine, encoder: bert}}
mining: {pool: {corpus: pool, encoder: bert, margin: ratio, retrieval: max, k: 4, blocks: [2, 3]}}
"""


@pytest.mark.slow
def test_it_scores_and_mines_a_pool(tmp_path):
    checkout = copy_checkout(tmp_path)
    tiny_bert.save(checkout / "bert")
    (checkout / "own.yaml").write_text(OVERLAY)
    overlays = laid_over("config/tiny.yaml", "tests/micro.yaml", "own.yaml")
    command = [
        sys.executable,
        "-m",
        "snakemake",
        *overlays,
        "work/micro/scores/bert/pool/00000.npy",
        "results/micro/mined/pool.tsv.gz",
    ]
    bare = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=checkout, env=bare, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pool = bitext.read_shard(checkout / "work/micro/corpus/pool/00000.parquet")
    encoder, wide = (sentence_encoder(checkout / "bert", prefix="query: ", precision=p) for p in ("bf16", "fp32"))
    for side in bitext.SIDES:
        expected = np.zeros((len(pool), encoder.dimension), np.float32)
        other = expected.copy()
        list(encoder.encode(pool[side].to_pylist(), None, "any", expected))
        list(wide.encode(pool[side].to_pylist(), None, "any", other))
        found = read(checkout / f"work/micro/vectors/bert/pool/00000.{side}.npy")
        near, far = (np.abs(found.block(0, len(pool)) - one).mean() for one in (expected, other))
        assert 10 * near < far  # other kernels (`arithmetic: portable`), but not other numbers
    log = (checkout / "logs/micro/encode_pretrained/bert.pool.00000.log").read_text()
    assert re.search(r"^encode 00000.tgt: 300/300 \(100%\) sentences, [\d,]+ sentences/s, done$", log, re.MULTILINE)
    about = read_json(checkout / "work/micro/encoders/bert/pretrained.json")
    assert "model.safetensors" in about["files"]
    counts = read_json(checkout / "results/micro/mined/pool.json")
    mined = gzip.decompress((checkout / "results/micro/mined/pool.tsv.gz").read_bytes()).decode().splitlines()
    assert len(mined) == counts["pairs"] > 100
    assert len(list((checkout / "work/micro/mining/pool/blocks").iterdir())) == 6


def with_encoder(**more) -> dict:
    config = load("tiny.yaml")
    config["encoders"]["bert"] = {"type": "pretrained", "folder": "bert", "gpus": 0} | more
    config["methods"]["bert"] = {"similarity": "cosine", "encoder": "bert"}
    return config


def test_it_has_no_seeds_and_no_corpora():
    config = with_encoder()
    config["selection"]["methods"].append("bert")
    whole = resolve(config)
    assert resolve(whole) == whole
    assert not [name for name in whole["encoders"] if name.startswith("bert.seed")]
    assert whole["methods"][of_seed(whole, "methods", "bert", config["seeds"][1])]["encoder"] == "bert"
    assert Files(whole).learned_from("bert") == set()
    assert Files(whole).calibrated("bert") == []


def test_one_that_has_several_names_encodes_once():
    config = with_encoder()
    config["encoders"] |= {
        "same": dict(config["encoders"]["bert"]),
        "other": config["encoders"]["bert"] | {"prefix": "x"},
    }
    made = Files(resolve(config))
    assert made.vectors("same", "pool", "src") == made.vectors("bert", "pool", "src")
    assert made.shard_vectors("same", "pool", "00000") == made.shard_vectors("bert", "pool", "00000")
    assert made.encodes("other") == "other"
    assert made.encodes("pivot_nmt") == "pivot_nmt"


def test_one_in_a_package_has_no_files_in_the_workflow():
    whole = resolve(with_encoder(folder=None, gpus=None, name="muse"))
    assert whole["encoders"]["bert"] == {"type": "pretrained", "name": "muse", "gpus": 0}
    assert Files(whole).pretrained("bert") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda config: config["encoders"]["bert"].pop("folder"), "has neither `name` nor `folder`"),
        (lambda config: config["encoders"]["bert"].update(name="muse"), "has both `name` and `folder`"),
        (lambda config: config["encoders"]["bert"].update(folder=None, name="mouse"), "it is of an encoder whose"),
        (lambda config: config["encoders"]["bert"].update(features="joint"), "features"),
        (lambda config: config["encoders"]["nmt_autoencoder"].update(folder="x"), "folder"),
        (lambda config: config["encoders"]["nmt_autoencoder"].pop("corpora"), "corpora"),
        (
            lambda config: config["methods"].update(bert={"similarity": "confidence", "encoder": "bert"}),
            "`methods.bert` needs an encoder that is trained here, but `bert` is pretrained",
        ),
    ],
)
def test_its_entry_is_checked(change, message):
    config = with_encoder()
    change(config)
    with pytest.raises(InputError, match=message):
        resolve(config)


def test_the_overlay_names_two():
    assert "pretrained" in Path(ROOT, "config/encoders-today.yaml").read_text()


def test_ten_million_sentences_are_planned(tmp_path):
    """config/web.yaml: a job for each block of sources and of targets."""
    checkout = copy_checkout(tmp_path)
    (checkout / "models/LaBSE").mkdir(parents=True)
    (checkout / "models/LaBSE/config.json").touch()
    command = [sys.executable, "-m", "snakemake", "--profile", "slurm", "--configfile", "config/web.yaml", "-n"]
    done = subprocess.run([*command, "--", "results/mined/web.tsv.gz"], cwd=checkout, capture_output=True, text=True)
    assert re.search(r"^search_block +100$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert re.search(r"^encode_pretrained +20$", done.stdout, re.MULTILINE)
