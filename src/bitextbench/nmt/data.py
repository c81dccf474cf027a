"""From a selection to what fairseq trains on: joint BPE, length limit, binary data."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import sentencepiece

from bitextbench.base import sums
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.lines import read_lines
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import log
from bitextbench.formats.ids import Ragged
from bitextbench.nmt.ids import to_fairseq, write_dictionary, write_texts
from bitextbench.text import bpe as text

Pair = tuple[str, str]  # languages, or one line in each


def prepare(selected: Path, valid: tuple[Sequence[str], Sequence[str]], pair: Pair, spec: dict, out: Path) -> None:
    """Make `<out>/{bpe.model,counts.json,data-bin/}`, atomically, of `<selected>/train.<language>` and `valid`.

    All lines are Moses tokens joined by spaces, in their own case. The BPE is learned on the selection, jointly for
    both languages, so that a poor selection also has a poor vocabulary. A text too small for `vocab_size` gives a
    smaller one. Pairs with an empty side, or with a side of more than `max_length` pieces, are left out and counted in
    counts.json. The same input gives the same bytes. What fairseq-preprocess would do from text is done from ids:
    faster, and without loading fairseq; a piece is called by its number. Memory: that of sentencepiece, then the ids, of
    which there are two copies for a while: 8 bytes a piece; the text is read as a stream, three times.

    `spec`: vocab_size, max_length (pieces, at most 1,000). Raises InputError when the sides have unequal numbers of
    lines, or when no pair is left.

    Source: the pipeline of the WMT18 filtering task (Koehn et al. 2018), with sentencepiece's BPE for subword-nmt's.
    """
    paths = tuple(selected / f"train.{language}" for language in pair)
    if not all(any(map(str.strip, read_lines(path))) for path in paths):
        raise InputError(
            "the selection is empty", paths[0], remedy="raise the word budget, or give the selection step a larger pool"
        )
    with atomic(out) as part:
        part.mkdir()
        lines = itertools.chain.from_iterable(map(read_lines, paths))
        (part / "bpe.model").write_bytes(text.learn_sentencepiece(lines, spec["vocab_size"], seed=1))
        bpe, data = load_bpe(part), part / "data-bin"
        data.mkdir()
        for language in pair:
            write_dictionary(data / f"dict.{language}.txt", bpe.get_piece_size())
        counts = {}
        for name, sides, where in (("train", [*map(read_lines, paths)], paths[0]), ("valid", valid, "validation set")):
            kept, counts[name] = _kept(bpe, sides, spec["max_length"], where)
            stems = [data / f"{name}.{pair[0]}-{pair[1]}.{language}" for language in pair]
            write_texts([kept], stems, bpe.get_piece_size())
        for path in (part / "bpe.model", *sorted(data.iterdir())):
            sums.seal(path)
        write_json(part / "counts.json", counts | {"pieces": bpe.get_piece_size()})
    log(
        f"nmt data: {counts['train']['kept']:,} of {counts['train']['lines']:,} pairs, {bpe.get_piece_size():,} BPE pieces"
    )


def load_bpe(folder: Path) -> sentencepiece.SentencePieceProcessor:
    """The BPE of what `prepare` made."""
    return text.load_bpe(folder / "bpe.model")


def encode(bpe: sentencepiece.SentencePieceProcessor, lines: Iterable[str], block: int = 100_000) -> Ragged:
    """The ids of each line."""
    lines = iter(lines)
    blocks = iter(lambda: [*itertools.islice(lines, block)], [])
    return Ragged.concatenate(Ragged.of(bpe.encode(batch, num_threads=1)) for batch in blocks)


def _kept(
    bpe: sentencepiece.SentencePieceProcessor, sides: Sequence[Iterable[str]], max_length: int, where: Path | str
) -> tuple[list[Ragged], dict[str, int]]:
    """The pairs that can be trained on, with fairseq's ids, and the count of all."""
    ids = [encode(bpe, side) for side in sides]
    if len(ids[0]) != len(ids[1]):
        raise InputError(
            f"{len(ids[0]):,} source lines but {len(ids[1]):,} target lines", where, remedy="make both sides again"
        )
    shortest, longest = (f([side.lengths for side in ids], axis=0) for f in (np.min, np.max))
    empty, long = shortest == 0, (shortest > 0) & (longest > max_length)
    kept = np.flatnonzero(~empty & ~long)
    counts = {"lines": len(empty), "kept": len(kept), "empty": int(empty.sum()), "too long": int(long.sum())}
    if not len(kept):
        raise InputError(f"no pair is left ({counts})", where, remedy="raise max_length, or give more text")
    return [to_fairseq(side.take(kept), bpe.get_piece_size(), where) for side in ids], counts
