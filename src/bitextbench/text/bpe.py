"""BPE: one model for both languages is learned from token shards, and encodes them as ids.

Kim et al. 2019, section 4: all text is lower-cased, byte pair encoding is learned jointly for the two languages with
20k merges, and sentences have at most 60 tokens. Here `vocab_size` counts pieces, marks and single characters included,
so that 20,000 pieces are some hundreds of merges fewer. The tokens keep their case for translation models; the ids of
the encoders are lower-cased.
"""

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sentencepiece
from numpy.typing import NDArray

from bitextbench.base import names, sums
from bitextbench.base.errors import InputError
from bitextbench.base.files import read_bytes
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.ids import BOS, EOS, PAD, UNK, Ragged
from bitextbench.text.ngrams import split

MARK = "▁"  # sentencepiece's, before each word
LONGEST, RESERVED = 4192, "▅"  # bytes of a line for sentencepiece, and its mark of unknown characters
WORDS = 20  # to encode as one text: each call has its cost


def learn_bpe(
    corpora: Sequence[Path], vocab_size: int, sample: int, seed: int, out: Path, *, lowercase: bool = True
) -> None:
    """Learn one BPE model for all languages from tokenised corpora (folders of token shards), atomically.

    At most `sample` lines of each corpus are used, spread evenly over it. The vocabulary holds pad=0, unk=1, bos=2,
    eos=3. A text too small for `vocab_size` gives a smaller vocabulary; the log has both sizes.

    Source: Sennrich et al. 2016, in the implementation of sentencepiece, over Moses tokens; kim2019 section 4.
    """
    lines = itertools.chain.from_iterable(_sample(folder, sample) for folder in corpora)
    with atomic(out) as part:
        model = learn_sentencepiece((line.lower() if lowercase else line for line in lines), vocab_size, seed)
        part.write_bytes(model)
        sums.seal(part)
    size = load_bpe(out).get_piece_size()
    log(f"bpe: {size:,} pieces (asked for {vocab_size:,})")


def learn_sentencepiece(lines: Iterator[str], vocab_size: int, seed: int) -> bytes:
    """A serialised sentencepiece BPE model. One thread: the same bytes on every machine.

    The log counts the lines that sentencepiece does not learn from: too long ones, and those with its own mark.
    """
    import io

    model, left_out = io.BytesIO(), 0

    def counted() -> Iterator[str]:
        nonlocal left_out
        for line in lines:
            left_out += len(line.encode()) > LONGEST or RESERVED in line
            yield line

    sentencepiece.set_random_generator_seed(seed)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=counted(),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=0.9995,  # garbled lines have more distinct characters than a small vocabulary can hold
            normalization_rule_name="identity",
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise InputError(
            f"sentencepiece cannot learn a BPE ({error})", remedy="give it more text or a smaller vocabulary"
        ) from None
    if left_out:
        log(f"bpe: {left_out:,} lines of more than {LONGEST:,} bytes or with {RESERVED} are not learned from")
    return model.getvalue()


def _sample(folder: Path, limit: int) -> Iterator[str]:
    """Up to `limit` lines of each side of a tokenised corpus: every n-th row, by id."""
    paths = bitext.shard_paths(folder)
    rows = 0
    for path in paths:
        with bitext.reading(path):
            rows += pq.read_metadata(names.utf8(path)).num_rows
    step = max(1, -(-rows // limit))
    start = 0
    for block in bitext.batches_by_id(paths, list(SIDES)):
        for side in SIDES:
            yield from (line for line in block[side].to_pylist()[-start % step :: step] if line is not None)
        start += len(block)


def load_bpe(path: str | Path) -> sentencepiece.SentencePieceProcessor:
    """The model that `learn_bpe` wrote. Raises InputError for another kind of file, and one that differs from its sum."""
    try:
        model = sentencepiece.SentencePieceProcessor(model_proto=read_bytes(path))
        model.id_to_piece([*range(model.get_piece_size())])  # a damaged one may have pieces that are not UTF-8
        return model
    except (RuntimeError, OSError, ValueError):
        raise InputError("is not a sentencepiece model", path, remedy="give the BPE, or learn it again") from None


def ids_of(lines: pa.Array | pa.ChunkedArray, bpe: sentencepiece.SentencePieceProcessor, *, lowercase: bool) -> Ragged:
    """The ids of tokenised lines (strings, null is empty). A word is encoded once: the pieces of `learn_bpe` end with
    words.
    """
    tokens, starts, words = split(lines, lowercase)
    begins = _begins(bpe)
    if begins is None or any(MARK in word for word in words):
        texts = (line or "" for line in lines.to_pylist())
        return Ragged.of(bpe.encode([line.lower() if lowercase else line for line in texts], num_threads=1))
    some = [" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS)]
    flat = np.concatenate([np.empty(0, np.int32), *bpe.encode(some, num_threads=1, return_type="numpy")])
    rows = Ragged(flat, np.append(np.flatnonzero(begins[flat]), len(flat))).take(tokens)
    return Ragged(rows.flat, rows.offsets[starts])


@lru_cache(4)
def _begins(bpe: sentencepiece.SentencePieceProcessor) -> NDArray[np.bool_] | None:
    """Whether each piece begins a word, bool [pieces]; None where a piece may hold the end of one word and the next."""
    pieces = [bpe.id_to_piece(piece) for piece in range(bpe.get_piece_size())]
    if MARK not in pieces or any(MARK in piece[1:] for piece in pieces):
        return None
    return np.array([piece.startswith(MARK) for piece in pieces])
