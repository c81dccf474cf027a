"""From stored ids to what fairseq trains on: nothing is tokenised or split into pieces again.

sentencepiece's pieces keep their ids; the four marks before them, which fairseq has in another order, are exchanged.
"""

import itertools
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bitextbench.base import sums
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import log
from bitextbench.formats.bitext import BLOCK, SIDES
from bitextbench.formats.ids import Ragged

PAD, EOS = 1, 2  # fairseq's
MARKS = np.array([1, 3, 0, 2])  # fairseq's ids of our pad, unk, bos and eos
CODES = {np.dtype(np.uint16): 8, np.dtype(np.uint32): 9}  # of number formats in fairseq's index
Counts = dict[str, int]


def prepare(corpora: Mapping[str, Sequence[Path]], vocab_size: int, max_length: int, out: Path) -> None:
    """Write `out`/{translation,src,tgt}/ and counts.json, atomically: data for translation and for both language
    models.

    `corpora`: role -> stems of the id shards of one (`<stem>.src` and `<stem>.tgt`, see `text.features`). All models
    are trained on `bitext`, the language models also on `mono`, which may be missing or have one side. `valid`
    validates. Pairs (for language models, sentences) that are empty or of more than `max_length` pieces are left out
    and counted.

    Memory: one block of a shard, and 12 bytes a sentence. Raises InputError when a corpus is missing or nothing of it
    is left. It also raises it for an id that is not below `vocab_size`, and for a shard with unequal sides.
    """
    if missing := [role for role in ("bitext", "valid") if not corpora.get(role)]:
        raise InputError(f"no corpus {' and '.join(missing)}", remedy="give the id shards of bitext and valid")
    bitext, valid = corpora["bitext"], corpora["valid"]
    pairs = {"train": [bitext], "valid": [valid]}
    sentences = {"train": [bitext, corpora.get("mono", [])], "valid": [valid]}
    with atomic(out) as part:
        endings = {side: f".src-tgt.{side}" for side in SIDES}
        counts = {"translation": _prepare(part / "translation", pairs, endings, vocab_size, max_length)}
        for side in SIDES:
            counts[side] = _prepare(part / side, sentences, {side: ""}, vocab_size, max_length)
        write_json(part / "counts.json", counts)
    for name, count in counts.items():
        log(f"{name}: {count['train']['kept']:,} of {count['train']['lines']:,} to train on")


def _prepare(
    folder: Path,
    subsets: Mapping[str, Sequence[Sequence[Path]]],
    endings: Mapping[str, str],
    vocab_size: int,
    max_length: int,
) -> dict[str, Counts]:
    """Dictionaries and texts of the sides in `endings`, which has the end of fairseq's name for each; what was left
    out.
    """
    folder.mkdir(parents=True)
    for side, ending in endings.items():
        write_dictionary(folder / (f"dict.{side}.txt" if ending else "dict.txt"), vocab_size)
    counts = {}
    for subset, parts in subsets.items():
        counts[subset] = count = dict.fromkeys(("lines", "kept", "empty", "too long"), 0)
        texts = (text for stems in parts for text in _kept(stems, [*endings], max_length, vocab_size, count))
        write_texts(texts, [folder / f"{subset}{ending}" for ending in endings.values()], vocab_size)
        if not count["kept"]:
            what = f"no sentence of {'/'.join(endings)} is left of {count}"
            raise InputError(what, f"{subset} data", remedy="give it text, or raise max_length")
    for path in sorted(folder.iterdir()):
        sums.seal(path)
    return counts


def write_dictionary(path: Path, vocab_size: int) -> None:
    """fairseq's dictionary for ids below `vocab_size`: a piece is called by its number."""
    path.write_text("".join(f"{piece} 1\n" for piece in range(len(MARKS), vocab_size)), encoding="utf-8")


def to_fairseq(sentences: Ragged, vocab_size: int, where: Path | str) -> Ragged:
    """The sentences with fairseq's ids, and its end of the sentence. Raises InputError for an id of another vocabulary."""
    flat = np.asarray(sentences.flat)
    for wrong in (flat.min(initial=0), flat.max(initial=0)):
        if not 0 <= wrong < vocab_size:
            what = f"holds id {wrong}, but the vocabulary has {vocab_size:,}"
            raise InputError(what, f"{where}.ids.npy", remedy="use the BPE that the model was trained with")
    flat = np.where(flat < len(MARKS), MARKS[np.minimum(flat, len(MARKS) - 1)], flat).astype(np.int32)
    ends = np.asarray(sentences.offsets)
    return Ragged(np.insert(flat, ends[1:], EOS), ends + np.arange(len(ends)))


def load_sides(stem: Path, sides: Sequence[str] = SIDES) -> list[Ragged]:
    """The sides of a shard. Raises InputError when they have unequal numbers of sentences."""
    loaded = [Ragged.load(f"{stem}.{side}") for side in sides]
    if len({len(side) for side in loaded}) > 1:
        lengths = " and ".join(f"{len(side):,}" for side in loaded)
        raise InputError(f"unequal sides: {lengths} sentences", stem, remedy="run the text step again")
    return loaded


def _kept(
    stems: Iterable[Path], sides: Sequence[str], max_length: int, vocab_size: int, counts: Counts
) -> Iterator[list[Ragged]]:
    """What can be trained on of each block of a corpus, in the order of ids, with fairseq's ids; counts all."""
    shards = [(stem, load_sides(stem, sides)) for stem in stems]
    starts = range(0, max((len(shard[0]) for _, shard in shards), default=0), BLOCK)
    for start, (stem, shard) in itertools.product(starts, shards):
        lengths = np.stack([np.diff(side.offsets[start : start + BLOCK + 1]) for side in shard])
        empty, long = (lengths == 0).any(axis=0), (lengths > max_length).any(axis=0) & (lengths > 0).all(axis=0)
        kept = np.flatnonzero(~empty & ~long)
        numbers = {"lines": len(empty), "kept": len(kept), "empty": int(empty.sum()), "too long": int(long.sum())}
        counts.update({name: counts[name] + number for name, number in numbers.items()})
        yield [
            to_fairseq(side.take(start + kept), vocab_size, f"{stem}.{name}")
            for side, name in zip(shard, sides, strict=True)
        ]


def write_texts(shards: Iterable[list[Ragged]], stems: Sequence[Path], vocab_size: int) -> None:
    """fairseq's `mmap` data of each side, with its ids: all tokens in `<stem>.bin`; sizes, and where each begins, in
    `<stem>.idx`.
    """
    dtype = np.dtype(np.uint16 if vocab_size < 65_500 else np.uint32)  # fairseq's own choice
    sizes: list[list[NDArray[np.int64]]] = [[] for _ in stems]
    for stem in stems:
        Path(f"{stem}.bin").touch()
    for shard in shards:
        for stem, side, parts in zip(stems, shard, sizes, strict=True):
            with open(f"{stem}.bin", "ab") as file:
                side.flat.astype(dtype).tofile(file)
            parts.append(side.lengths)
    for stem, parts in zip(stems, sizes, strict=True):
        lengths = np.concatenate([np.empty(0, np.int64), *parts])
        with open(f"{stem}.idx", "wb") as file:
            file.write(struct.pack("<9sQBQ", b"MMIDIDX\0\0", 1, CODES[dtype], len(lengths)))
            lengths.astype(np.int32).tofile(file)
            ((np.cumsum(lengths) - lengths) * dtype.itemsize).tofile(file)
