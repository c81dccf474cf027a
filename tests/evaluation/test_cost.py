"""What an encoder costs."""

import pyarrow as pa
import tiny_bert

from bitextbench.encoders.plain import files_of, sentence_encoder
from bitextbench.evaluation import cost
from bitextbench.formats import bitext


def test_speed_and_size_are_measured(tmp_path):
    tiny_bert.save(tmp_path / "bert")
    rows = pa.table({"src": ["ein Haus", "a"] * 30, "tgt": ["a house", "b"] * 30, "doc": [""] * 60, "label": [""] * 60})
    bitext.write_shards(tmp_path / "corpus", [rows], 1)
    files = files_of(tmp_path / "bert")
    found = cost.measure(sentence_encoder(tmp_path / "bert"), tmp_path / "corpus", ("de", "en"), files)
    assert found["speed"]["n"] == 120
    assert found["speed"]["value"] > 1
    assert found["size"]["value"] == sum(path.stat().st_size for path in files) / 1e6
    assert {"model.safetensors", "config.json"} <= {path.name for path in files}
