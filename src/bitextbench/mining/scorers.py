"""Scorers of plain sentence pairs: a similarity (`scoring.similarities`) with the encoder, tokeniser and fitted model
that it needs.

A similarity that learns is fitted on clean pairs by the workflow's own code. What it has learned is one file (.npz),
with one array more than the workflow's: `scorer`, which says as JSON what it is, for which languages, and of which
encoder.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError
from bitextbench.base.languages import base
from bitextbench.base.progress import log
from bitextbench.corpus.byte_lines import filled
from bitextbench.encoders import cache
from bitextbench.encoders.interface import SentenceEncoder
from bitextbench.formats import bitext, pairs
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.vectors import Embeddings, read
from bitextbench.mining import summary
from bitextbench.scoring import Pairs, Text, Vectors, declared, scored, similarity
from bitextbench.scoring.score import fit_similarity

FITTED = ("vectors", "tokens")  # kinds of similarities that a file can hold
SELF = "scorer"  # the array that says what a file is
ROWS = 50 * bitext.BLOCK  # pairs whose texts are in memory; whole blocks, as similarities score by blocks
PORTION = 0.6  # the MLP's negatives end the best 60% of the crawl: kim2019 table 5
ELSEWHERE = {"likelihoods": "translation and language models", "labels": "labels", "dataset": "published scores"}

Languages = tuple[str | None, str | None]
Lines = Sequence[pa.ChunkedArray]


class Fitted(NamedTuple):
    """The contents of a saved scorer: what it has learned, and what it was fitted for."""

    path: Path
    name: str
    languages: Languages
    encoder: str | None


class Scorer:
    """Scores pairs of sentences by the similarity `name`; `model` is what it has learned, `cache` the folder of
    vectors.

    Raises InputError for an unknown similarity, for one that needs more than sentences and an encoder, and where one
    that compares vectors or words has no encoder or no languages.
    """

    def __init__(
        self,
        name: str,
        languages: Languages,
        *,
        encoder: SentenceEncoder | None = None,
        model: Path | None = None,
        chinese: str = "jieba",
        seed: int = 1,
    ) -> None:
        self.name, self.languages, self.model, self.chinese, self.seed = name, languages, model, chinese, seed
        self.needs, self.fit, self.options, _ = declared(name)
        if foreign := [ELSEWHERE[need] for need in self.needs if need in ELSEWHERE]:
            raise InputError(f"{name} needs {foreign[0]}", "--similarity", remedy="score by it in the workflow")
        if "vectors" in self.needs and encoder is None:
            raise InputError(f"{name} compares sentence vectors", "--similarity", remedy="give an --encoder")
        if "tokens" in self.needs and None in languages:
            remedy = "give --src-language and --tgt-language"
            raise InputError(f"{name} compares words", "--similarity", remedy=remedy)
        self.encoder = encoder if "vectors" in self.needs else None
        if "encoder" in self.needs and encoder and model is None:
            self.model = Path(encoder.name) / "model.pt"
            if not self.model.exists():
                what = f"{name} is learned with an encoder, and {encoder.name} was not trained here"
                raise InputError(what, "--similarity", remedy="name the folder of one that was: --encoder")

    @property
    def learns(self) -> bool:
        """Whether the scorer has to be fitted on clean pairs first."""
        return self.fit in FITTED and self.model is None

    @cached_property
    def sides(self) -> list[str]:
        """The sides of the encoder that encode source and target."""
        assert self.encoder
        return [self.encoder.side(code, usual=side) for code, side in zip(self.languages, SIDES, strict=True)]

    def tokens(self, lines: Lines) -> Text:
        """Both sides as the workflow tokenises them."""
        from bitextbench.text import moses  # takes 0.8 s

        columns = (
            moses.tokens(side, str(code), self.chinese) for side, code in zip(lines, self.languages, strict=True)
        )
        return Text(*map(pa.chunked_array, ([column] for column in columns)))

    def vectors(self, lines: Lines) -> tuple[Vectors, Vectors, int]:
        """The vectors of both sides [n, d], and how many sentences were cut."""
        assert self.encoder
        both, cut = [], 0
        for text, language, side in zip(lines, self.languages, self.sides, strict=True):
            vectors = np.zeros((len(text), self.encoder.dimension), np.float32)
            cut += sum(done.cut for done in self.encoder.encode(text.to_pylist(), language, side, vectors))
            both.append(vectors)
        return both[0], both[1], cut

    def stored(self, tables: Iterator[pa.Table], n: int, stem: Path, folder: Path) -> list[Path]:
        """The vectors of n pairs, taken from or kept in the cache `folder`: <stem>.src.npy and <stem>.tgt.npy."""
        assert self.encoder
        paths, cut, start = [stem.with_name(f"{stem.name}.{side}.npy") for side in SIDES], 0, 0
        shape = (n, self.encoder.dimension)
        with arrays.create(paths[0], shape, np.float32) as src, arrays.create(paths[1], shape, np.float32) as tgt:
            for table in tables:
                texts = [
                    cache.PlainText(name, table[name].to_pylist(), language, side)
                    for name, language, side in zip(SIDES, self.languages, self.sides, strict=True)
                ]
                for written, encoded in zip((src, tgt), cache.encode(self.encoder, texts, folder), strict=True):
                    written[start : start + len(table)] = encoded.vectors.block(0, len(table))
                    cut += encoded.cut
                start += len(table)
        if cut:
            log(summary.cut(cut))
        return paths

    def score(
        self, first: int, lines: Lines, src: Vectors | None = None, tgt: Vectors | None = None
    ) -> NDArray[np.float32]:
        """The scores [n] of pairs, the first of which is pair number `first` from 0; `src`, `tgt`: their vectors [n,
        d].
        """
        words = self.tokens(lines) if "tokens" in self.needs else None
        ids = np.arange(first, first + len(lines[0]))
        return scored(self.name, Pairs(ids, src, tgt, tokens=words), self.model, self.seed)

    def settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The OPTIONS of the similarity: their defaults, and what is `given`. Raises InputError for others."""
        schema = {"type": "object", "properties": dict(self.options), "additionalProperties": False}
        if error := best_match(Draft202012Validator(schema).iter_errors(dict(given))):
            place = error.json_path.removeprefix("$").removeprefix(".") or self.name
            remedy = f"it has {', '.join(self.options) or 'no settings'}"
            raise InputError(f"{place}: {error.message[:100]}", "--settings", remedy=remedy)
        chosen = json.loads(json.dumps(given), parse_float=lambda text: _whole(float(text)))
        usual = {key: schema["default"] for key, schema in self.options.items() if "default" in schema}
        return usual | chosen

    def fit_words(self, clean: pa.Table, given: Mapping[str, Any], out: Path) -> None:
        """Fit a similarity of words on clean pairs, and keep what it has learned in `out`."""
        text = self.tokens([clean[side] for side in SIDES])
        similarity(self.name).fit(text, text, self.settings(given), self.seed, out)
        self.model = out

    def fit_vectors(
        self, clean: pa.Table, pool: Sequence[Path], given: Mapping[str, Any], out: Path, folder: Path
    ) -> None:
        """Fit a similarity of vectors on clean pairs, and on as many pairs of the `pool` with low cosines; see
        `score.fit_similarity`.
        """
        good = self.stored(iter([clean]), len(clean), out.with_name("clean"), folder)
        ranks = out.with_name("ranks.npy")
        arrays.save(ranks, by_blocks(Scorer("cosine", self.languages, encoder=self.encoder), [*map(read, pool)]))
        spec = {"negatives": {"portion": PORTION}} | self.settings(given)
        fit_similarity(self.name, spec, [(good[0], good[1])], [(pool[0], pool[1])], [ranks], self.seed, out)
        self.model = out

    def save(self, path: Path) -> None:
        """Write what the scorer has learned, and what it was fitted for, as one file."""
        assert self.model
        key = self.encoder.key if self.encoder else None
        about = json.dumps({"similarity": self.name, "languages": self.languages, "encoder": key})
        arrays.save_npz(path, **arrays.load_npz(self.model, "fit it again"), **{SELF: np.array(about)})
        log(f"scorer {self.name} in {path}")


def _whole(number: float) -> float:
    """The integer that a number is, as JSON has 60.0 where 60 is meant, or the number."""
    return int(number) if number.is_integer() else number


def by_blocks(
    scorer: Scorer, vectors: Sequence[Embeddings], tables: Iterator[pa.Table] | None = None
) -> NDArray[np.float32]:
    """The scores of all pairs of vectors, ROWS at a time; `tables` has their text, as many at a time."""
    scores = np.empty(len(vectors[0]), np.float32)
    for start in range(0, len(scores), ROWS):
        src, tgt = (side.block(start, min(start + ROWS, len(scores))) for side in vectors)
        text = next(tables) if tables else pa.table(dict.fromkeys(SIDES, pa.nulls(len(src), pa.string())))
        scores[start : start + ROWS] = scorer.score(start, [text[side] for side in SIDES], src, tgt)
    return scores


def fitted(path: Path) -> Fitted:
    """Read a file that `save` wrote. Raises InputError for another file."""
    try:
        held = json.loads(str(arrays.load_npz(path, "fit it again", {SELF: ("U", "")})[SELF]))
        name, encoder = held["similarity"], held["encoder"]
        src, tgt = held["languages"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("does not say what scorer it is", path, remedy="fit it again") from None
    texts = isinstance(name, str) and all(isinstance(one, str | None) for one in (src, tgt, encoder))
    if not texts or not isinstance(held["languages"], list):
        raise InputError("does not say what scorer it is", path, remedy="fit it again")
    return Fitted(path, name, (src, tgt), encoder)


def opened(path: Path, languages: Languages, encoder: SentenceEncoder | None, **more: Any) -> Scorer:
    """The scorer in a file. Raises InputError as `Scorer` does, and for languages or an encoder that it was not fitted
    for.
    """
    held = fitted(path)
    if None not in languages and [base(code) for code in languages if code] != [
        base(str(code)) for code in held.languages
    ]:
        what = f"is for {' and '.join(map(str, held.languages))}, not {' and '.join(map(str, languages))}"
        raise InputError(what, path, remedy="fit one for these languages")
    scorer = Scorer(held.name, held.languages, encoder=encoder, model=path, **more)
    if scorer.fit not in FITTED:
        raise InputError(f"{held.name} learns nothing, so there is nothing to save", path, remedy="fit another one")
    if read_model := getattr(similarity(held.name), "read", None):  # before the work begins
        read_model(path)
    if scorer.encoder and scorer.encoder.key != held.encoder:
        what = f"was fitted with another encoder than {scorer.encoder.name}"
        raise InputError(what, path, remedy="name that --encoder (with its prefix and device), or fit it again")
    return scorer


def clean_pairs(paths: Sequence[Path], languages: Languages) -> pa.Table:
    """The pairs of two texts that have both sides, in memory. Raises InputError for none."""
    table = pa.concat_tables(
        [
            pa.table({side: pa.array([], pa.string()) for side in SIDES}),
            *pairs.read(pairs.files(paths, languages=languages)),
        ]
    )
    clean = table.filter(pc.and_(*(filled(table[side]) for side in SIDES)))
    if not len(clean):
        raise InputError("has no pairs to learn from", paths[0], remedy="give clean text of both languages")
    return clean.combine_chunks()
