"""Text models by file name: BPE (.model), features (.json), word pieces (.txt)."""

from pathlib import Path
from typing import Any

from bitextbench.text import bpe, ngrams


def encode_ids(tokens: Path, pieces: Path, out: Path, *, lowercase: bool) -> None:
    """Write the ids of a token shard by a BPE model, or by features (.json), for which `lowercase` does not matter."""
    if pieces.suffix == ".json":
        ngrams.encode_shard(tokens, pieces, out)
    else:
        bpe.encode_shard(tokens, pieces, out, lowercase=lowercase)


def text_model(path: Path, spec: dict[str, Any]) -> tuple[dict[str, Any], int, list[str]]:
    """The encoder's spec, completed by the text model at `path`; the number of ids of that model; its pieces by id."""
    if path.suffix == ".txt":
        from bitextbench.text import wordpieces

        pieces = wordpieces.load(path)
        marks = {"cls": pieces.index("[CLS]"), "sep": pieces.index("[SEP]")}
        return spec | {"model": {**(spec.get("model") or {}), **marks}}, len(pieces), pieces
    if path.suffix == ".json":
        features = ngrams.load(path)
        if isinstance(features, ngrams.Vocabulary):
            return spec, features.size, features.pieces
        return spec | {"model": {**(spec.get("model") or {}), "words": features.words}}, features.size, []
    processor = bpe.load_bpe(path)
    pieces = [processor.id_to_piece(index) for index in range(processor.get_piece_size())]
    return spec, len(pieces), pieces
