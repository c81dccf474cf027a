"""The pieces of a published BERT."""

import pyarrow as pa
import pytest

from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged
from bitextbench.text import features, wordpieces

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "Der", "Hund", "##e", "dog", "##s", "."]


@pytest.fixture
def vocab(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return path


def test_ids_are_of_cased_pieces_without_marks(vocab, tmp_path):
    columns = {"src": ["Der Hunde.", None], "tgt": ["dogs dogs", "der dog"], "doc": [""] * 2, "label": [""] * 2}
    bitext.write_shards(tmp_path / "corpus", [pa.table(columns)], 1)
    (tmp_path / "out").mkdir()
    features.encode_shard(tmp_path / "corpus/00000.parquet", vocab, tmp_path / "out", lowercase=False)
    src, tgt = (Ragged.load(tmp_path / f"out/00000.{side}") for side in ("src", "tgt"))
    assert [[PIECES[i] for i in row] for row in src] == [["Der", "Hund", "##e", "."], []]
    assert [[PIECES[i] for i in row] for row in tgt] == [["dog", "##s", "dog", "##s"], ["[UNK]", "dog"]]


def test_the_marks_of_a_bert_are_its_encoders(vocab):
    spec, size, row_of = features.text_model(vocab, {"type": "x"})
    assert (spec, size) == ({"type": "x", "model": {"cls": 2, "sep": 3, "pad": 0}}, 10)
    assert [row_of(piece) for piece in ("Hund", "##s", "hund")] == [5, 8, None]
    assert features.kind_of(vocab) == "wordpiece"


@pytest.mark.parametrize("pieces", [PIECES[1:], [*PIECES[:3], *PIECES[4:]], [PIECES[1], PIECES[0], *PIECES[2:]], []])
def test_another_vocabulary_is_refused(pieces, vocab):
    vocab.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    with pytest.raises(InputError, match=r"is not the vocabulary of a BERT"):
        wordpieces.load(vocab)


def test_a_tokenizer_of_another_model(tmp_path):
    """Pieces by score, as XLM-R has them; marks by its own names."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁dog", "s", "▁"]
    made = Tokenizer(models.Unigram([(piece, -float(place)) for place, piece in enumerate(pieces)], unk_id=3))
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    made.enable_truncation(2)
    made.enable_padding()
    path = tmp_path / "model.tokenizer"
    made.save(str(path))
    tokenizer = wordpieces.tokenizer_of(path)
    assert [row.tolist() for row in wordpieces.ids_of(["dogs dog", ""], tokenizer)] == [[4, 5, 4], []]
    spec, size, row_of = features.text_model(path, {"model": {"hidden": 8}})
    assert (spec["model"], size) == ({"hidden": 8, "cls": 0, "sep": 2, "pad": 1}, 7)
    assert [row_of(piece) for piece in [*pieces, "dog"]] == [0, 1, 2, 3, 4, 5, 6, None]
    assert features.kind_of(path) == "tokenizer"
    segment = features.segmenter(path, "tokenizer", lowercase=False, chinese="jieba")
    assert [row.tolist() for row in segment(["dogs"], "en")] == [[4, 5]]


@pytest.mark.parametrize("text", ["{}", '{"model": 1}', "{"])
def test_what_is_no_tokenizer(tmp_path, text):
    (tmp_path / "x.tokenizer").write_text(text)
    with pytest.raises(InputError, match=r"x\.tokenizer: is not a tokenizer"):
        wordpieces.tokenizer_of(tmp_path / "x.tokenizer")


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        wordpieces.tokenizer_of(tmp_path / "vocab.txt")


def test_a_tokenizer_without_marks(tmp_path):
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).save(str(tmp_path / "x.tokenizer"))
    with pytest.raises(
        InputError, match=r"has no marks of beginning and end; it has \[CLS\], \[SEP\], \[PAD\], or <s>"
    ):
        wordpieces.vocabulary(tmp_path / "x.tokenizer")
