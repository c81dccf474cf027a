"""Text models: BPE (.model), features (.json), pieces of a published model (.txt, .tokenizer). They make ids of sentences.

The first two are of Moses tokens, the third of sentences as they are.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bitextbench.base.errors import InputError
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.ids import Ragged
from bitextbench.formats.word_vectors import Rows, rows_of
from bitextbench.text import bpe, ngrams, wordpieces

WORDPIECE, TOKENIZER = PUBLISHED = ("wordpiece", "tokenizer")
KINDS = ("bpe", *ngrams.KINDS, *PUBLISHED)  # as `type` of text.features in the configuration


def encode_shard(shard: Path, model: Path, out: Path, *, lowercase: bool) -> None:
    """Write the ids of a shard by a text model, `<out>/<shard>.src.*` and `.tgt.*` (see Ragged.save); a null side has none.

    The shard is tokenised, or for the pieces of a published model that of the corpus. `lowercase`: see `ids_by`.
    """
    table, ids_of = bitext.read_shard(shard, [*SIDES]), ids_by(model, kind_of(model), lowercase=lowercase)
    for side in SIDES:
        ids_of(table[side]).save(out / f"{shard.stem}.{side}")


def ids_by(path: Path, kind: str, *, lowercase: bool) -> Callable[[pa.Array | pa.ChunkedArray], Ragged]:
    """A function from lines (null is empty) to ids. `lowercase` is of BPE alone: features have their own.

    Raises InputError for an unknown kind, and a file that is not of that kind.
    """
    if kind in PUBLISHED:
        tokenizer = wordpieces.tokenizer_of(path)
        return lambda lines: wordpieces.ids_of([line or "" for line in lines.to_pylist()], tokenizer)
    if kind == "bpe":
        model = bpe.load_bpe(path)
        return lambda lines: bpe.ids_of(lines, model, lowercase=lowercase)
    if kind not in ngrams.KINDS:
        raise InputError(f"text model of the unknown kind {kind!r}", path, remedy=f"known: {', '.join(KINDS)}")
    return ngrams.load(path).ids


def kind_of(path: Path) -> str:
    """The kind of a text model, one of KINDS."""
    return {".txt": WORDPIECE, ".tokenizer": TOKENIZER, ".json": ""}.get(path.suffix, "bpe") or ngrams.load(path).kind


def segmenter(path: Path, kind: str, *, lowercase: bool, chinese: str) -> Callable[[list[str], str], Ragged]:
    """A function from plain sentences of a language to ids, by the workflow's steps, so that the ids are the same.

    `chinese`: what its tokens are (`moses.CHINESE`). Raises InputError as `ids_by` does.
    """
    ids_of = ids_by(path, kind, lowercase=lowercase)

    def segment(lines: list[str], language: str) -> Ragged:
        text = pa.array(lines, pa.string())
        if kind in PUBLISHED:
            return ids_of(text)
        from bitextbench.text import moses  # takes 0.8 s

        return ids_of(moses.tokens(text, language, chinese))

    return segment


def text_model(path: Path, spec: dict[str, Any]) -> tuple[dict[str, Any], int, Rows]:
    """The encoder's spec, completed by the text model at `path`; the number of ids of that model; the id of a word or piece."""
    model = spec.get("model") or {}
    if path.suffix in (".txt", ".tokenizer"):
        pieces, marks = wordpieces.vocabulary(path)
        return spec | {"model": {**model, **marks}}, len(pieces), rows_of(pieces)
    if path.suffix == ".json":
        features = ngrams.load(path)
        if not isinstance(features, ngrams.Unigrams):
            spec = spec | {"model": {**model, "words": features.words}}
        return spec, features.size, features.row
    processor = bpe.load_bpe(path)
    pieces = [processor.id_to_piece(index) for index in range(processor.get_piece_size())]
    return spec, len(pieces), rows_of(pieces)
