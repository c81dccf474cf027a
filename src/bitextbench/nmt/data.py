"""From a selection to what fairseq trains on: joint BPE, length limit, binary data."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import sentencepiece

from bitextbench.errors import InputError
from bitextbench.files import atomic, read_lines, write_json
from bitextbench.progress import log
from bitextbench.text import learn_sentencepiece

Pair = tuple[str, str]  # languages, or one line in each


def prepare(
    selected: Path, valid: tuple[Sequence[str], Sequence[str]], pair: Pair, spec: dict, out: Path, *, threads: int = 1
) -> None:
    """Make `<out>/{bpe.model,counts.json,data-bin/}`, atomically, of `<selected>/train.<language>` and `valid`.

    All lines are Moses tokens joined by spaces, in their own case. The BPE is learned on the selection, jointly for
    both languages, so that a poor selection also has a poor vocabulary; a text too small for `vocab_size` gives a
    smaller one. Pairs with an empty side, or with a side of more than `max_length` pieces, are left out and counted in
    counts.json. The same input gives the same bytes, for any number of threads (processes).

    `spec`: vocab_size, max_length (pieces, at most 1,000). Raises InputError when the sides have unequal numbers of
    lines, or when no pair is left.

    Source: the pipeline of the WMT18 filtering task (Koehn et al. 2018), with sentencepiece's BPE for subword-nmt's.
    """
    paths = tuple(selected / f"train.{language}" for language in pair)
    train = tuple(list(read_lines(path)) for path in paths)
    if not 0 < spec["max_length"] <= 1000:
        raise InputError(
            f"max_length is {spec['max_length']}", remedy="choose 1 to 1000 pieces: fairseq's positions end at 1024"
        )
    if not any(map(str.strip, train[0])) or not any(map(str.strip, train[1])):
        raise InputError(
            "the selection is empty", paths[0], remedy="raise the word budget, or give the selection step a larger pool"
        )
    with atomic(out) as part:
        part.mkdir()
        (part / "bpe.model").write_bytes(
            learn_sentencepiece((line for side in train for line in side), spec["vocab_size"], seed=1)
        )
        bpe = sentencepiece.SentencePieceProcessor(model_file=str(part / "bpe.model"))
        counts = {}
        for name, sides, where in (("train", train, paths[0]), ("valid", valid, "validation set")):
            counts[name] = _write_pieces(
                bpe, sides, spec["max_length"], [part / f"{name}.{language}" for language in pair], where
            )
        _binarize(part, pair, threads)
        write_json(part / "counts.json", counts | {"pieces": bpe.get_piece_size()})
    kept, lines = counts["train"]["kept"], counts["train"]["lines"]
    log(f"nmt data: {kept:,} of {lines:,} pairs, {bpe.get_piece_size():,} BPE pieces")


def encode(bpe: sentencepiece.SentencePieceProcessor, lines: Iterable[str], block: int = 10_000) -> Iterator[list[str]]:
    """The pieces of each line; what is no piece stays as its characters, which fairseq maps to <unk>."""
    lines = iter(lines)
    while batch := [line for line, _ in zip(lines, range(block), strict=False)]:
        yield from bpe.encode(batch, out_type=str, num_threads=1)


def _write_pieces(
    bpe: sentencepiece.SentencePieceProcessor,
    sides: Sequence[Sequence[str]],
    max_length: int,
    paths: Sequence[Path],
    where: Path | str,
) -> dict[str, int]:
    """Write the pairs that can be trained on, and count them all."""
    if len(sides[0]) != len(sides[1]):
        raise InputError(
            f"{len(sides[0]):,} source lines but {len(sides[1]):,} target lines", where, remedy="make both sides again"
        )
    counts = {"lines": len(sides[0]), "kept": 0, "empty": 0, "too long": 0}
    with open(paths[0], "w", encoding="utf-8") as source, open(paths[1], "w", encoding="utf-8") as target:
        for source_pieces, target_pieces in zip(encode(bpe, sides[0]), encode(bpe, sides[1]), strict=True):
            if not source_pieces or not target_pieces:
                counts["empty"] += 1
            elif max(len(source_pieces), len(target_pieces)) > max_length:
                counts["too long"] += 1
            else:
                counts["kept"] += 1
                print(*source_pieces, file=source)
                print(*target_pieces, file=target)
    if not counts["kept"]:
        raise InputError(f"no pair is left of {counts}", where, remedy="raise max_length, or give more text")
    return counts


def _binarize(folder: Path, pair: Pair, threads: int) -> None:
    """Turn `<folder>/{train,valid}.<language>` into `<folder>/data-bin`, with one dictionary for both languages."""
    from bitextbench.nmt import fairseq_shim

    fairseq_shim.run("preprocess", [
        "--source-lang", pair[0], "--target-lang", pair[1], "--joined-dictionary", "--workers", str(threads),
        "--trainpref", f"{folder}/train", "--validpref", f"{folder}/valid", "--destdir", f"{folder}/data-bin",
    ])  # fmt: skip
    (folder / "data-bin" / "preprocess.log").unlink()  # holds paths of this machine
    for name in ("train", "valid"):
        for language in pair:
            (folder / f"{name}.{language}").unlink()
