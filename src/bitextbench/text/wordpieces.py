"""The word pieces of a published BERT: WordPiece with its vocab.txt, cased, on untokenised text."""

from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.files import read_lines
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.ids import Ragged

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def load(vocab: Path) -> list[str]:
    """The pieces by id. Raises InputError for a vocabulary without BERT's marks, or with another piece before [PAD]."""
    pieces = list(read_lines(vocab))
    if not {*MARKS} <= {*pieces} or pieces[0] != MARKS[0]:
        remedy = f"it begins with [PAD] and has {', '.join(MARKS)}"
        raise InputError("is not the vocabulary of a BERT", vocab, remedy=remedy)
    return pieces


def encode_shard(shard: Path, vocab: Path, out: Path) -> None:
    """Write the ids of a corpus shard, `<out>/<shard>.src.*` and `.tgt.*` (see Ragged.save), without BERT's marks.

    A null side has no ids. Raises InputError as `load` does.
    """
    tokenizer = tokenizer_of(vocab)
    table = bitext.read_shard(shard, [*SIDES])
    for side in SIDES:
        ids_of([line or "" for line in table[side].to_pylist()], tokenizer).save(out / f"{shard.stem}.{side}")


def tokenizer_of(vocab: Path) -> Any:
    """The tokenizer of a vocabulary. Raises InputError as `load` does."""
    from tokenizers import BertWordPieceTokenizer

    ids = {piece: index for index, piece in enumerate(load(vocab))}
    return BertWordPieceTokenizer(ids, lowercase=False, strip_accents=False)


def ids_of(lines: list[str], tokenizer: Any) -> Ragged:
    """The ids of lines, without BERT's marks."""
    return Ragged.of(piece.ids for piece in tokenizer.encode_batch(lines, add_special_tokens=False))
