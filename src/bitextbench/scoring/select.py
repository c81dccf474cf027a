"""Selects the best-scored pairs up to a number of words: the rule of the WMT18 corpus filtering task.

Koehn et al. 2018: words are counted on the English side of the raw text, as Perl's `split(/ /)` does. The counts are
summed by distinct score, from the best down. The cut-off is the first score at which the sum exceeds the budget; every
pair that scores at least the cut-off is selected. So all pairs that tie at the cut-off are in, and the sum overshoots.

Artetxe and Schwenk 2019, section 4.3, select the best 10 million pairs: there each pair counts as one word.

The pool may have any size: two passes over the scores give the cut-off, and rows are read and written in blocks.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.memory import release
from bitextbench.base.outputs import atomic, scratch
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.scores import load_scores
from bitextbench.formats.training_text import opened

BLOCK = 1 << 20  # scores at a time
ROWS = 1 << 16  # lines at a time
HALF = 1 << 16  # a score has 32 bits; each pass sums words by 16 of them

Shard = tuple[Path, Path, Path]  # of the corpus, of its tokens, of its scores


def count_words(text: pa.ChunkedArray | pa.Array) -> NDArray[np.int64]:
    """The words of each line [n] as in Perl's `split(/ /)`: empty fields count, except those at the end."""
    stripped = pc.utf8_rtrim(text, characters=" ")
    spaces = pc.count_substring(stripped, " ")
    words = pc.if_else(pc.equal(stripped, ""), 0, pc.add(spaces, 1))
    return pc.fill_null(words, 0).to_numpy().astype(np.int64)


class Scored(NamedTuple):
    """The scores float32 [n] and the numbers of words [n] of pairs, in memory or memory-mapped."""

    scores: NDArray[np.float32]
    words: NDArray[np.integer]


def cutoff(parts: Sequence[Scored], budget: int) -> float | None:
    """The lowest score to select, or None when all pairs together do not exceed the budget.

    Memory: one block. Words are summed by the upper half of the bits of a score; then, for the half at which the budget
    is exceeded, by the lower half.
    """
    words = _sums((key >> 16, counts) for key, counts in _keys(parts))
    running = np.cumsum(words[::-1])[::-1]  # words of all scores at least as high
    if not (over := np.flatnonzero(running > budget)).size:
        return None
    upper = int(over[-1])
    above = int(running[upper] - words[upper])
    within = _sums(
        (key[hit] & (HALF - 1), counts[hit])
        for key, counts in _keys(parts)
        if len(hit := np.flatnonzero(key >> 16 == upper))
    )
    lower = int(np.flatnonzero(above + np.cumsum(within[::-1])[::-1] > budget)[-1])
    return float(_score(np.array([upper << 16 | lower], np.uint32))[0])


def _sums(parts: Iterable[tuple[NDArray[np.integer], NDArray[np.integer]]]) -> NDArray[np.int64]:
    """Words by half a key [HALF]."""
    sums = np.zeros(HALF, np.int64)
    for half, words in parts:
        sums += np.bincount(half, weights=words, minlength=HALF).astype(np.int64)  # exact below 2^53
    return sums


def _keys(parts: Sequence[Scored]) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.integer]]]:
    """Scores as integers of the same order, and words, block by block.

    The bits of a float32 sort like the float, reversed for negative numbers; -0.0 becomes 0.0.
    """
    for scores, words in parts:
        for start in range(0, len(scores), BLOCK):
            block = slice(start, start + BLOCK)
            bits = (scores[block] + np.float32(0)).view(np.uint32)
            yield np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31)), words[block]
            release(scores)
            release(words)


def _score(keys: NDArray[np.uint32]) -> NDArray[np.float32]:
    """The inverse of `_keys`."""
    return np.where(keys >> 31, keys & np.uint32(~(1 << 31) & 0xFFFFFFFF), ~keys).view(np.float32)


def select(
    method: str,
    budget: str,
    budget_words: int,
    corpus: Path,
    tokens: Path,
    scores: Sequence[Path],
    languages: tuple[str, str],
    count: str,
    out: Path,
    *,
    seed: int = 1,
) -> None:
    """Write the folder `out`: train.<src>, train.<tgt> (tokenised, in the order of ids) and selection.json.

    `corpus` has the raw text, `tokens` the same rows tokenised, `scores` a file for each shard; `seed` is that of the
    models behind the scores. `count` is the side whose words count, "src" or "tgt", or "pairs": each pair counts as one
    word.

    Memory: one block of each shard. Raises InputError when lengths or ids differ, a shard or its scores are missing, a
    score is NaN, or nothing is selected.
    """
    shards = list(zip(bitext.shard_paths(corpus), *_as_many(corpus, tokens, scores), strict=True))
    with scratch(out) as temporary, atomic(out) as folder:
        parts = []
        for path, _, shard_scores in shards:
            words = _words(path, count, temporary / path.stem)
            [loaded] = load_scores([shard_scores])
            if len(words) != len(loaded):
                what = f"{len(loaded):,} scores for {len(words):,} pairs"
                raise InputError(what, shard_scores, remedy="score this shard again")
            parts.append(Scored(loaded, words))
        cut = cutoff(parts, budget_words)
        folder.mkdir()
        pairs, pool_words, by_label = _write(folder, shards, parts, -np.inf if cut is None else cut, languages)
        if not by_label:
            what = f"{method} selects no words"
            raise InputError(what, corpus, remedy="check that the filter leaves some pairs")
        summary = {
            "method": method,
            "budget": budget,
            "seed": seed,
            "budget_words": budget_words,
            "count": count,
            "words": by_label.total(),
            "pairs": pairs,
            "cutoff": cut,
            "reached": cut is not None,
            "pool_words": pool_words,
            "pool_pairs": sum(len(part.words) for part in parts),
            "words_by_label": dict(sorted(by_label.items())) if set(by_label) != {""} else {},
        }
        write_json(folder / "selection.json", summary)
    if cut is None:
        what = f"the pool has {pool_words:,} words, the budget is {budget_words:,}"
        log(f"{method} {budget}: {what}: all pairs are selected")
    log(f"{method} {budget}: {pairs:,} pairs, {summary['words']:,} words, cut-off {cut}")


def _as_many(corpus: Path, tokens: Path, scores: Sequence[Path]) -> tuple[list[Path], Sequence[Path]]:
    """The token shards and the scores. Raises InputError unless there is one of each for each shard of the corpus."""
    shards, tokenised = len(bitext.shard_paths(corpus)), bitext.shard_paths(tokens)
    for what, given, where in (
        ("shards", tokenised, tokens),
        ("files of scores", scores, scores[0] if scores else None),
    ):
        if len(given) != shards:
            what = f"{len(given)} {what} for the {shards} shards of {corpus}"
            raise InputError(what, where, remedy="make one for each shard")
    return tokenised, scores


def _words(shard: Path, count: str, out: Path) -> NDArray[np.uint32]:
    """The number of words of each pair of a shard [n], memory-mapped from the file `out`."""
    with open(out, "wb") as file:
        for batch in bitext.shard_batches(shard, ["id" if count == "pairs" else count], ROWS):
            words = np.ones(len(batch)) if count == "pairs" else count_words(batch[count])
            words.astype(np.uint32).tofile(file)
    return np.memmap(out, np.uint32, "r") if out.stat().st_size else np.empty(0, np.uint32)


def _write(
    folder: Path, shards: Sequence[Shard], parts: Sequence[Scored], least: float, languages: tuple[str, str]
) -> tuple[int, int, Counter[str]]:
    """Write the tokens of the pairs that score at least `least`.

    Returns the number of these pairs, the words of the pool, and the words of these pairs by label.
    """
    by_label: Counter[str] = Counter()
    pairs = pool_words = 0
    with opened(folder, languages) as files:
        for block, labels, scores, words in _blocks(shards, parts):
            keep = scores >= least
            pairs += int(keep.sum())
            pool_words += int(words.sum())
            chosen = block.filter(pa.array(keep))
            for file, side in zip(files, bitext.SIDES, strict=True):
                file.write("".join([f"{line}\n" for line in chosen[side].to_pylist()]))
            names = labels.dictionary_encode()
            sums = np.bincount(names.indices.to_numpy()[keep], weights=words[keep], minlength=len(names.dictionary))
            by_label.update(dict(zip(names.dictionary.to_pylist(), sums.astype(int).tolist(), strict=True)))
    return pairs, pool_words, +by_label


def _blocks(
    shards: Sequence[Shard], parts: Sequence[Scored]
) -> Iterator[tuple[pa.Table, pa.Array, NDArray[np.float32], NDArray[np.uint32]]]:
    """Tokens (src, tgt), labels, scores and words of the pool, block by block in the order of ids.

    Raises InputError when the tokens are not those of the corpus.
    """
    readers = [
        (
            bitext.shard_batches(raw, ["id", "label"], bitext.BLOCK),
            bitext.shard_batches(tokens, ["id", "src", "tgt"], bitext.BLOCK),
            part,
            tokens,
        )
        for (raw, tokens, _), part in zip(shards, parts, strict=True)
    ]
    start = 0
    while readers := [reader for reader in readers if start < len(reader[2].scores)]:
        for raw, tokens, part, path in readers:
            rows, block = next(raw), next(tokens, None)
            if block is None or rows["id"] != block["id"]:
                raise InputError("these are not the sentences of the corpus", path, remedy="tokenise it again")
            here = slice(start, start + len(rows))
            yield pa.Table.from_batches([block]), rows["label"], np.array(part.scores[here]), np.array(part.words[here])
            release(part.scores)
            release(part.words)
        start += bitext.BLOCK
