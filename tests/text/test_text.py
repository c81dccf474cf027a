"""Tokens, BPE and ids of shards."""

from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from bitextbench.base.errors import InputError
from bitextbench.data import synth
from bitextbench.formats import bitext
from bitextbench.formats.ids import UNK, Ragged
from bitextbench.text import bpe, features
from bitextbench.text.bpe import ids_of, learn_bpe, learn_sentencepiece, load_bpe
from bitextbench.text.tokens import tokenize_shard


@pytest.fixture(scope="module")
def model():
    rows = islice(synth.sentences("bitext", ("de", "en"), 1), 500)
    lines = (line.lower() for _, pair in rows for line in pair)
    return sentencepiece.SentencePieceProcessor(model_proto=learn_sentencepiece(lines, 300, 1))


@pytest.fixture
def tokens(tmp_path):
    table = pa.table(
        {
            "src": ["Der Hund, der bellt.", None, "Die Katze schläft nicht."],
            "tgt": ["The dog that barks.", "A line alone.", "The cat doesn't sleep."],
            "doc": [""] * 3,
            "label": [""] * 3,
        }
    )
    bitext.write_shards(tmp_path / "corpus", [table], 1)
    (tmp_path / "tokens").mkdir()
    tokenize_shard(tmp_path / "corpus/00000.parquet", ("de", "en"), tmp_path / "tokens/00000.parquet")
    return tmp_path / "tokens/00000.parquet"


def test_lines_that_sentencepiece_leaves_out_are_counted(capsys):
    lines = [f"der Hund {number} ist stark" for number in range(99)]
    usual = learn_sentencepiece(iter(lines), 60, 1)
    assert "not learned from" not in capsys.readouterr().err
    odd = ["zq " * 2000, "zq ▅ zq", "ä" * 2097]
    assert learn_sentencepiece(iter([*lines, *odd]), 60, 1) == usual
    assert "bpe: 3 lines of more than 4,192 bytes or with ▅ are not learned from" in capsys.readouterr().err
    assert learn_sentencepiece(iter([*lines, "ä" * 2096]), 60, 1) != usual
    assert "not learned from" not in capsys.readouterr().err


def test_tokens_keep_rows_case_and_null_sides(tokens):
    table = pq.read_table(tokens)
    assert table["id"].to_pylist() == [0, 1, 2]
    assert table["src"].to_pylist() == ["Der Hund , der bellt .", None, "Die Katze schläft nicht ."]
    assert table["tgt"].to_pylist() == ["The dog that barks .", "A line alone .", "The cat doesn 't sleep ."]


def test_ids_are_lower_cased_pieces_and_decode_to_the_tokens(tokens, tmp_path):
    learn_bpe([tokens.parent], 90, 100, 1, tmp_path / "joint.model")
    features.encode_shard(tokens, tmp_path / "joint.model", tmp_path / "ids", lowercase=True)
    bpe = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "joint.model"))
    assert [bpe.pad_id(), bpe.unk_id(), bpe.bos_id(), bpe.eos_id()] == [0, 1, 2, 3]
    src, tgt = (Ragged.load(tmp_path / f"ids/00000.{side}") for side in ("src", "tgt"))
    assert bpe.decode(src[0].tolist()) == "der hund , der bellt ."
    assert src[1].tolist() == []
    assert bpe.decode(tgt[1].tolist()) == "a line alone ."
    assert min(src.flat.min(), tgt.flat.min()) > 3  # nothing unknown, no control ids


PARTS = [
    "der",
    "ΟΔΟΣ",
    "Σ",
    "İx",
    "Hund",
    "ß",
    "日",
    "▁",
    "a▁",
    ",",
    ".",
    "  ",
    " ",
    "\u00a0",
    "x\u2028",
    "</s>",
    "q" * 40,
]


@given(
    st.lists(st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=8).map(" ".join) | st.none(), max_size=6),
    st.booleans(),
)
@settings(deadline=None)
def test_a_word_encoded_once_has_the_ids_that_it_has_in_its_line(model, lines, lowercase):
    expected = [model.encode(line.lower() if lowercase else line) for line in (line or "" for line in lines)]
    found = ids_of(pa.chunked_array([pa.array(lines, pa.string())]), model, lowercase=lowercase)
    assert [found[i].tolist() for i in range(len(found))] == expected


def test_a_model_with_pieces_of_several_words_encodes_whole_lines(tmp_path):
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["in the house", "in the town"] * 50),
        model_prefix=str(tmp_path / "m"),
        model_type="bpe",
        vocab_size=40,
        hard_vocab_limit=False,
        split_by_whitespace=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    model = load_bpe(tmp_path / "m.model")
    lines = ["in the house", None, "the in town"]
    assert any("▁" in model.id_to_piece(piece)[1:] for piece in range(model.get_piece_size()))
    found = ids_of(pa.array(lines), model, lowercase=True)
    assert [found[i].tolist() for i in range(3)] == [model.encode(line or "") for line in lines]


def test_bpe_is_the_same_every_time_and_says_when_the_text_is_too_small(tokens, tmp_path, capsys):
    for name in "ab":
        learn_bpe([tokens.parent], 4000, 100, 1, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert "(asked for 4,000)" in capsys.readouterr().err
    learn_bpe([tokens.parent], 4000, 1, 1, tmp_path / "first")  # of the first line of each side alone
    assert load_bpe(tmp_path / "a").piece_to_id("ä") != UNK == load_bpe(tmp_path / "first").piece_to_id("ä")
    learn_bpe([tokens.parent], 4000, 100, 1, tmp_path / "cased", lowercase=False)
    capitals = [
        {piece for piece in range(model.get_piece_size()) if model.id_to_piece(piece).strip("▁") in ("D", "T", "A")}
        for model in map(load_bpe, (tmp_path / "a", tmp_path / "cased"))
    ]
    assert (len(capitals[0]), len(capitals[1]) >= 3) == (0, True)


@pytest.mark.parametrize(("limit", "step"), [(1, 10), (3, 4), (4, 3), (9, 2), (10, 1), (99, 1)])
def test_a_sample_is_every_nth_row_of_a_corpus(tmp_path, monkeypatch, limit, step):
    """Spread over the whole corpus, whatever the shards and blocks; a null side has no line."""
    monkeypatch.setattr(bitext, "BLOCK", 3)
    sides = [[f"{side}{row}" if row != hole else None for row in range(10)] for side, hole in (("s", 0), ("t", 4))]
    columns = {"src": sides[0], "tgt": sides[1], "doc": [""] * 10, "label": [""] * 10}
    bitext.write_shards(tmp_path / "corpus", [pa.table(columns)], 2)
    found = [*bpe._sample(tmp_path / "corpus", limit)]
    assert sorted(found) == sorted(filter(None, sides[0][::step] + sides[1][::step]))


def test_nothing_to_learn_from_is_an_error(tmp_path):
    pq.write_table(
        pa.table({"id": pa.array([], pa.int64()), "src": pa.array([], pa.string()), "tgt": pa.array([], pa.string())}),
        tmp_path / "00000.parquet",
    )
    with pytest.raises(InputError, match="sentencepiece cannot learn a BPE"):
        learn_bpe([tmp_path], 100, 100, 1, tmp_path / "m")
    assert not (tmp_path / "m").exists()
