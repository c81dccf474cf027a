"""Text models: BPE (.model), features (.json), pieces of a published model (.txt, .tokenizer). They make ids of sentences."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from bitextbench.base.errors import InputError
from bitextbench.formats.ids import Ragged
from bitextbench.formats.word_vectors import Rows, rows_of
from bitextbench.text import bpe, ngrams

WORDPIECE, TOKENIZER = PUBLISHED = ("wordpiece", "tokenizer")
KINDS = ("bpe", *ngrams.KINDS, *PUBLISHED)  # as `type` of text.features in the configuration


def encode_ids(tokens: Path, pieces: Path, out: Path, *, lowercase: bool) -> None:
    """Write the ids of a token shard by a BPE model, or by features (.json), for which `lowercase` does not matter."""
    if pieces.suffix == ".json":
        ngrams.encode_shard(tokens, pieces, out)
    else:
        bpe.encode_shard(tokens, pieces, out, lowercase=lowercase)


def kind_of(path: Path) -> str:
    """The kind of a text model, one of KINDS."""
    return {".txt": WORDPIECE, ".tokenizer": TOKENIZER, ".json": ""}.get(path.suffix, "bpe") or ngrams.load(path).kind


def segmenter(path: Path, kind: str, *, lowercase: bool, chinese: str) -> Callable[[list[str], str], Ragged]:
    """A function from plain sentences of a language to ids, by the workflow's steps, so that the ids are the same.

    Sentences are normalised and tokenised by Moses first, but not for the pieces of a published model. `lowercase` is of BPE alone:
    features have their own. `chinese`: what its tokens are (`moses.CHINESE`). Raises InputError for an unknown kind,
    and a file that is not of that kind.
    """
    if kind in PUBLISHED:
        from bitextbench.text import wordpieces

        tokenizer = wordpieces.tokenizer_of(path)
        return lambda lines, language: wordpieces.ids_of(lines, tokenizer)
    if kind == "bpe":
        model = bpe.load_bpe(path)
        return lambda lines, language: bpe.ids_of(_tokens(lines, language, chinese), model, lowercase=lowercase)
    if kind not in ngrams.KINDS:
        raise InputError(f"text model of the unknown kind {kind!r}", path, remedy=f"known: {', '.join(KINDS)}")
    features = ngrams.load(path)
    return lambda lines, language: features.ids(_tokens(lines, language, chinese))


def _tokens(lines: list[str], language: str, chinese: str) -> pa.Array:
    from bitextbench.text import moses  # takes 0.8 s

    return moses.tokens(pa.array(lines, pa.string()), language, chinese)


def text_model(path: Path, spec: dict[str, Any]) -> tuple[dict[str, Any], int, Rows]:
    """The encoder's spec, completed by the text model at `path`; the number of ids of that model; the id of a word or piece."""
    model = spec.get("model") or {}
    if path.suffix in (".txt", ".tokenizer"):
        from bitextbench.text import wordpieces

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
