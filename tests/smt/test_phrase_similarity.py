"""The similarity of phrases as a feature of rules, and as a page of examples."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bitextbench import encoders
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders.batches import Padded
from bitextbench.report import examples
from bitextbench.smt import grammar, similarity
from bitextbench.text.features import text_model
from bitextbench.text.ngrams import learn

RULES = [
    ("a b", "x y"), ("a [1] b", "x y [1]"), ("[1] a", "[1] x"), ("c &#91;", "x"), ("c &#91;", "y"), ("c &#91;", "x y"),
]  # fmt: skip
SIZES = {"descriptor_autoencoder": {"embedding": 4}, "bow_autoencoder": {"hidden": 4}}


@pytest.fixture
def words(tmp_path):
    (tmp_path / "tokens").mkdir()
    pq.write_table(pa.table({"id": [0], "src": ["a b c ["], "tgt": ["x y"]}), tmp_path / "tokens/00000.parquet")
    learn([tmp_path / "tokens"], {"type": "vocabulary", "vocab": 20}, tmp_path / "words.json", lowercase=True)
    lines = ("\t".join([*rule, "0-0", "-1.0"]) for rule in RULES)
    grammar.write(tmp_path / "grammar.tsv", ["forward"], lines)
    return tmp_path / "words.json"


def model(path, words, kind, spoilt=False):
    """An encoder, and its file."""
    torch.manual_seed(1)
    spec = {"type": kind, "model": SIZES[kind]}
    size = text_model(words, {})[1]
    made = encoders.create(spec, size)
    if spoilt:
        next(iter(made.parameters())).data[:] = torch.nan
    torch.save({"spec": spec, "vocab_size": size, "state_dict": made.state_dict()}, path)
    return made


@pytest.mark.parametrize("kind", SIZES)
def test_each_pair_of_phrases_is_scored_once(tmp_path, words, monkeypatch, kind):
    encoder = model(tmp_path / "model.pt", words, kind)
    asked, score = [], similarity.score
    monkeypatch.setattr(
        similarity, "score", lambda pairs, *given, **more: (asked.extend(pairs), score(pairs, *given, **more))[1]
    )
    similarity.add(tmp_path / "grammar.tsv", tmp_path / "model.pt", words, tmp_path / "out.tsv", lowercase=True)
    assert asked == [("a b", "x y"), ("a", "x"), ("c [", "x"), ("c [", "y"), ("c [", "x y")]
    names, rules = grammar.read(tmp_path / "out.tsv")
    scores = [float(fields[-1]) for fields in rules]
    assert names == ["forward", "similarity"]
    assert scores[0] == scores[1]
    row_of = text_model(words, {})[2]
    for place, (source, target) in ((0, ("a b", "x y")), (4, ("c [", "y"))):
        x, y = (
            Padded(torch.tensor([[row_of(word) for word in side.split()]]), torch.tensor([len(side.split())]))
            for side in (source, target)
        )
        with torch.inference_mode():
            if kind == "bow_autoencoder":
                expected = encoder.similarity(x, y).item()
            else:
                expected = -(encoder.encode("src", x) - encoder.encode("tgt", y)).square().sum().item() / 2
        assert scores[place] == pytest.approx(expected, rel=1e-4, abs=2e-6)
    with pytest.raises(InputError, match="has the feature similarity"):
        similarity.add(tmp_path / "out.tsv", tmp_path / "model.pt", words, tmp_path / "again.tsv", lowercase=True)
    page = "\n".join(examples.phrases(tmp_path / "out.tsv"))
    assert page.count("| c [ |") == 3
    best = max(RULES[3:], key=lambda rule: scores[RULES.index(rule)])
    assert page.index(f"| {best[1]} |") == min(page.index(f"| {target} |") for _, target in RULES[3:])


def test_a_similarity_that_is_no_number(tmp_path, words):
    model(tmp_path / "model.pt", words, "bow_autoencoder", spoilt=True)
    with pytest.raises(InputError, match=r"the similarity of a b \|\|\| x y is not a number \(of 5 pairs\)"):
        similarity.add(tmp_path / "grammar.tsv", tmp_path / "model.pt", words, tmp_path / "out.tsv", lowercase=True)
    with pytest.raises(InputError, match="no feature similarity"):
        list(examples.phrases(tmp_path / "grammar.tsv"))
