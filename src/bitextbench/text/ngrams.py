"""Ids of words and n-grams, for the encoders that do not read BPE.

| kind | ids of a sentence w1 .. wn | source |
|---|---|---|
| words | w1, (w1 w2), w2, (w2 w3), .. wn: words and bigrams, hashed | guo2018 sections 2.2, 3.2 |
| ngrams | w1, its character n-grams, w2, its character n-grams, ..: n-grams are hashed | yang2019 section 4.2 |
| vocabulary | w1, w2, .. wn | zhang2016 section 4.1 |

Each kind gives one list of ids a sentence (`Ragged`). 0 is padding. An id below `words` is a word and begins a token;
other ids are n-grams of the token before them. An id takes 4 bytes on disk. A sentence of n words has 2n - 1 ids of
kind `words`, or about 15n of kind `ngrams`.

A hash is XXH3 (64 bits) of the UTF-8 text, modulo the size of the table. That of a bigram mixes the hashes of its
words. Two tables of any size replace the vocabulary of guo2018: 200M words and 200M bigrams a language.

`vocabulary` has the most frequent words of both languages, as one list. All other words have one id, the last.

Where the paper is silent:

- N-grams (yang2019) have no marks for the beginning and end of a word. A word shorter than the shortest n-gram has
  none.
- A word outside the vocabulary is hashed to one of `oov` ids after the vocabulary.
- For en-zh yang2019 takes n-grams of 1 to 4 characters ("collocations of more than 3 character tokens are rare in
  Chinese", footnote 2). That needs tokens of several characters, and the paper names no segmenter. Here it is Jieba
  (`moses`).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from bitextbench.base import sums
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.progress import log
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.ids import Ragged

_A, _B, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(31)


@dataclass(frozen=True)
class Bigrams:
    """Hashed words and bigrams. `unigrams`, `bigrams`: sizes of the two tables."""

    kind: ClassVar[str] = "words"
    unigrams: int
    bigrams: int
    lowercase: bool = True

    @property
    def words(self) -> int:
        return 1 + self.unigrams

    @property
    def size(self) -> int:
        return self.words + self.bigrams

    def row(self, word: str) -> int:
        """The id of a word."""
        return 1 + hashed(word) % self.unigrams

    def ids(self, lines: pa.Array) -> Ragged:
        """Ids of tokenised lines (strings, null is empty)."""
        tokens, starts, types = split(lines, self.lowercase)
        hashes = np.fromiter(map(hashed, types), np.uint64, len(types))[tokens]
        pair = mixed(hashes[:-1], hashes[1:]) % np.uint64(self.bigrams)
        both = np.full((len(tokens), 2), -1, np.int64)
        both[:, 0] = 1 + hashes % np.uint64(self.unigrams)
        both[:-1, 1] = self.words + pair.astype(np.int64)
        counts = np.diff(starts)
        both[starts[1:][counts > 0] - 1, 1] = -1  # no bigram from one sentence to the next
        flat = both.reshape(-1)
        return Ragged(flat[flat >= 0].astype(np.int32), offsets(np.maximum(2 * counts - 1, 0)))


@dataclass(frozen=True)
class OfVocabulary:
    """A list of words, the ids of which begin at 1."""

    vocabulary: list[str]

    @cached_property
    def index(self) -> dict[str, int]:
        return {word: 1 + place for place, word in enumerate(self.vocabulary)}


@dataclass(frozen=True)
class Ngrams(OfVocabulary):
    """Words of a vocabulary; other words and character n-grams of `shortest` to `longest` characters, hashed."""

    kind: ClassVar[str] = "ngrams"
    oov: int
    buckets: int
    shortest: int
    longest: int
    lowercase: bool = True

    @property
    def words(self) -> int:
        return 1 + len(self.vocabulary) + self.oov

    @property
    def size(self) -> int:
        return self.words + self.buckets

    def row(self, word: str) -> int:
        """The id of a word, without its n-grams."""
        return self.index.get(word) or 1 + len(self.vocabulary) + hashed(word) % self.oov

    def ids(self, lines: pa.Array) -> Ragged:
        """Ids of tokenised lines (strings, null is empty)."""
        tokens, starts, types = split(lines, self.lowercase)
        rows = self._of_words(types).take(tokens)
        return Ragged(rows.flat, rows.offsets[starts])

    def _of_words(self, words: list[str]) -> Ragged:
        """The id of each word and those of its character n-grams, by length and place."""
        return Ragged.of(
            [self.row(word), *(self.words + hashed(part) % self.buckets for part in self._ngrams(word))]
            for word in words
        )

    def _ngrams(self, word: str) -> Iterator[str]:
        for n in range(self.shortest, min(self.longest, len(word)) + 1):
            yield from (word[start : start + n] for start in range(len(word) - n + 1))


@dataclass(frozen=True)
class Unigrams(OfVocabulary):
    """Words of a vocabulary, and one id for all others."""

    kind: ClassVar[str] = "vocabulary"
    lowercase: bool = True

    @property
    def size(self) -> int:
        return 2 + len(self.vocabulary)

    words = size  # each id is a word

    def row(self, word: str) -> int | None:
        """The id of a word of the vocabulary."""
        return self.index.get(word)

    def ids(self, lines: pa.Array) -> Ragged:
        """Ids of tokenised lines (strings, null is empty)."""
        tokens, starts, types = split(lines, self.lowercase)
        numbers = np.fromiter((self.index.get(word, self.size - 1) for word in types), np.int32, len(types))
        return Ragged(numbers[tokens], starts)


Features = Bigrams | Ngrams | Unigrams
KINDS: dict[str, type[Features]] = {kind.kind: kind for kind in (Bigrams, Ngrams, Unigrams)}


def hashed(text: str) -> int:
    """XXH3, 64 bits, of the UTF-8 text."""
    return xxhash.xxh3_64_intdigest(text.encode())


def mixed(first: NDArray[np.uint64], second: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One hash from two, in this order."""
    with np.errstate(over="ignore"):
        x = (first * _A) ^ (first * _A >> _SHIFT)
        x = (x + second) * _B
        return x ^ (x >> _SHIFT)


def offsets(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def split(lines: pa.Array, lowercase: bool) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """The tokens of lines, as places in a list of words; the offsets of the lines [n + 1]; that list.

    The words are distinct before they are lower-cased. A null is an empty line.
    """
    tokens, starts, types = columns(lines)
    return tokens, starts, (lowered(types) if lowercase else types).to_pylist()


def columns(lines: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Array]:
    """`split`, with the words, in their case, as an Arrow array."""
    parts = pc.split_pattern(pc.fill_null(lines, ""), " ")
    if isinstance(parts, pa.ChunkedArray):
        parts = parts.combine_chunks()
    words = parts.flatten().dictionary_encode()
    types = words.dictionary
    tokens = words.indices.to_numpy().astype(np.int64)
    starts = np.asarray(parts.offsets).astype(np.int64) - parts.offsets[0].as_py()
    if (empty := pc.index(types, "").as_py()) >= 0:
        real = tokens != empty
        tokens, starts = (tokens - (tokens > empty))[real], offsets(real)[starts]
        types = types.filter(pc.not_equal(types, ""))
    return tokens, starts, types


def lowered(words: pa.Array) -> pa.Array:
    """The words as `str.lower` makes them: Arrow's own agrees with it up to U+00FF."""
    wide = pc.match_substring_regex(words, r"[^\x00-\xff]")
    lower = pc.utf8_lower(words)
    if pc.any(wide, min_count=0).as_py():
        exact = pa.array([word.lower() for word in words.filter(wide).to_pylist()], words.type)
        lower = pc.replace_with_mask(lower, wide, exact)
    return lower


def learn(corpora: Sequence[Path], spec: dict[str, Any], out: Path, *, lowercase: bool = True) -> None:
    """Write features as JSON, atomically. `spec`: their type and sizes, as in the configuration's `text.features`.

    The vocabulary of `ngrams` and `vocabulary` is the `vocab` most frequent words of tokenised corpora (folders of
    token shards); ties are broken alphabetically. Raises InputError for another type, and for too many ids.
    """
    if (kind := spec["type"]) not in KINDS:
        raise InputError(f"{kind} has no such file", "text.features", remedy=f"give one of {', '.join(KINDS)}")
    sizes = {key: value for key, value in spec.items() if key not in ("type", "vocab", "corpora")}
    if kind != "words":
        sizes["vocabulary"] = most_frequent(corpora, spec["vocab"], lowercase=lowercase)
    features = KINDS[kind](**sizes, lowercase=lowercase)
    if features.size >= 2**31:
        raise InputError(
            f"{features.size:,} ids are too many", f"text.features: {kind}", remedy="ids are 32-bit: fewer than 2^31"
        )
    write_json(out, {"kind": kind, **asdict(features)})
    sums.seal(out)
    log(f"{kind}: {features.size:,} ids, of which {features.words:,} begin a token")


def most_frequent(corpora: Sequence[Path], count: int, *, lowercase: bool) -> list[str]:
    """The `count` most frequent words of both sides, or all where there are fewer."""
    counts = word_counts(
        [path for folder in corpora for path in bitext.shard_paths(folder)], SIDES, lowercase=lowercase
    )
    if not counts:
        raise InputError("no words", corpora[0] if corpora else None, remedy="give it tokenised corpora")
    return list(counts)[:count]


def word_counts(shards: Iterable[Path], sides: Sequence[str], *, lowercase: bool) -> Counter[str]:
    """How often each word appears on some sides of token shards; most frequent first, ties in alphabetical order."""
    tables = (bitext.read_shard(path, list(sides)) for path in shards)
    return counted((table[side] for table in tables for side in sides), lowercase=lowercase)


def counted(texts: Iterable[pa.Array], *, lowercase: bool) -> Counter[str]:
    """The same of texts: tokenised lines."""
    counts: Counter[str] = Counter()
    for lines in texts:
        tokens, _, types = split(lines, lowercase)
        for word, number in zip(types, np.bincount(tokens, minlength=len(types)).tolist(), strict=True):
            counts[word] += number
    return in_order(counts)


def in_order(counts: Mapping[str, int]) -> Counter[str]:
    """The same counts, the most frequent first, ties in alphabetical order."""
    return Counter(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def load(path: str | Path) -> Features:
    """The features that `learn` wrote. Raises InputError for another kind of file."""
    saved = read_json(existing(path))
    try:
        return KINDS[saved.pop("kind")](**saved)
    except (AttributeError, KeyError, TypeError):
        raise InputError("not a file of features", path, remedy="make the file again") from None
