"""What an encoder costs."""

import time

import pyarrow as pa
import pytest
import tiny_bert

from bitextbench.encoders.plain import files_of, sentence_encoder
from bitextbench.evaluation import cost
from bitextbench.formats import bitext


@pytest.fixture
def corpus(tmp_path):
    rows = pa.table({"src": ["ein Haus", "a"] * 30, "tgt": ["a house", "b"] * 30, "doc": [""] * 60, "label": [""] * 60})
    bitext.write_shards(tmp_path / "corpus", [rows], 1)
    return tmp_path / "corpus"


def test_speed_and_size_are_measured(tmp_path, corpus):
    tiny_bert.save(tmp_path / "bert")
    files = files_of(tmp_path / "bert")
    found = cost.measure(sentence_encoder(tmp_path / "bert"), corpus, ("de", "en"), files)
    assert found["speed"]["n"] == 120
    assert found["speed"]["value"] > 1
    assert found["size"]["value"] == sum(path.stat().st_size for path in files) / 1e6
    assert {"model.safetensors", "config.json"} <= {path.name for path in files}


class Slow:
    """An encoder that takes 5 ms of processor time for each sentence."""

    name = key = "slow"
    dimension, calibration = 3, None

    def __init__(self):
        self.calls = []

    def side(self, language, wanted=None, *, usual=None):
        return f"{language} as {usual}"

    def encode(self, lines, language, side, vectors):
        self.calls.append((len(lines), language, side, vectors.shape))
        for line in lines:
            end = time.process_time() + 0.005
            while time.process_time() < end:
                pass
            yield line


def test_the_time_is_that_of_the_sentences_alone(corpus, monkeypatch):
    """Of 20 a side; that of as many before them, which would halve the speed, does not count."""
    monkeypatch.setattr(cost, "SENTENCES", 20)
    monkeypatch.setattr(cost, "WARM", 20)
    encoder = Slow()
    found = cost.measure(encoder, corpus, ("de", "en"), [])
    assert encoder.calls == [(20, "de", "de as src", (20, 3)), (20, "en", "en as tgt", (20, 3))] * 2
    assert 120 < found["speed"]["value"] <= 200
    assert (found["speed"]["n"], found["size"]["value"], found["size"]["n"]) == (40, 0, 0)
