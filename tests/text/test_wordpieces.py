"""The pieces of a published BERT."""

import pyarrow as pa
import pytest

from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged
from bitextbench.text import wordpieces

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
    wordpieces.encode_shard(tmp_path / "corpus/00000.parquet", vocab, tmp_path / "out")
    src, tgt = (Ragged.load(tmp_path / f"out/00000.{side}") for side in ("src", "tgt"))
    assert [[PIECES[i] for i in row] for row in src] == [["Der", "Hund", "##e", "."], []]
    assert [[PIECES[i] for i in row] for row in tgt] == [["dog", "##s", "dog", "##s"], ["[UNK]", "dog"]]


@pytest.mark.parametrize("pieces", [PIECES[1:], [*PIECES[:3], *PIECES[4:]], [PIECES[1], PIECES[0], *PIECES[2:]], []])
def test_another_vocabulary_is_refused(pieces, vocab):
    vocab.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
    with pytest.raises(InputError, match=r"is not the vocabulary of a BERT"):
        wordpieces.load(vocab)
