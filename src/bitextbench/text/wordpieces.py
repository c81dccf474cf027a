"""The pieces of a published model: a BERT's WordPiece by its vocab.txt, cased, or any tokenizer.json of `tokenizers`.

Their text is not tokenised first. Their marks (of beginning, end, padding) are the model's: `MARKS`.
"""

from pathlib import Path
from typing import Any

from bitextbench.base.errors import InputError
from bitextbench.base.files import read_text
from bitextbench.base.lines import read_lines
from bitextbench.formats.ids import Ragged

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")  # of a BERT
BEGIN_END_PAD = (("[CLS]", "[SEP]", "[PAD]"), ("<s>", "</s>", "<pad>"))  # of a BERT, and of XLM-R


def load(vocab: Path) -> list[str]:
    """The pieces by id. Raises InputError for a vocabulary without BERT's marks, or with another piece before [PAD]."""
    pieces = list(read_lines(vocab))
    if not {*MARKS} <= {*pieces} or pieces[0] != MARKS[0]:
        remedy = f"it begins with [PAD] and has {', '.join(MARKS)}"
        raise InputError("is not the vocabulary of a BERT", vocab, remedy=remedy)
    return pieces


def tokenizer_of(path: Path) -> Any:
    """The tokenizer of a vocabulary, or of a tokenizer.json, which begins with a brace. Raises InputError as `load` does,
    and for JSON that is no tokenizer.
    """
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    text = read_text(path)
    if not text.startswith("{"):
        ids = {piece: index for index, piece in enumerate(load(path))}
        return BertWordPieceTokenizer(ids, lowercase=False, strip_accents=False)
    try:
        tokenizer: Any = Tokenizer.from_str(text)
    except Exception as error:  # tokenizers raises nothing narrower
        raise InputError(f"is not a tokenizer ({error})", path, remedy="fetch it again") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def vocabulary(path: Path) -> tuple[list[str], dict[str, int]]:
    """The pieces by id, and the ids of the marks of beginning, end and padding: `cls`, `sep`, `pad`.

    Raises InputError as `tokenizer_of` does, and where there are no such marks.
    """
    ids: dict[str, int] = tokenizer_of(path).get_vocab()
    pieces = sorted(ids, key=ids.__getitem__)
    for marks in BEGIN_END_PAD:
        if {*marks} <= ids.keys():
            return pieces, {name: ids[mark] for name, mark in zip(("cls", "sep", "pad"), marks, strict=True)}
    known = ", or ".join(", ".join(marks) for marks in BEGIN_END_PAD)
    raise InputError("has no marks of beginning and end", path, remedy=f"it has {known}")


def ids_of(lines: list[str], tokenizer: Any) -> Ragged:
    """The ids of lines, without the model's marks."""
    return Ragged.of(piece.ids for piece in tokenizer.encode_batch(lines, add_special_tokens=False))
