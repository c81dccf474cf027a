"""Recognising parallel sentences: zhang2016 section 6.2.2, table 2.

A parallel pair should score higher than its source with a sampled target. The length of a sampled target is drawn
uniformly from 1 to that of the reference (their footnote 7); its words are drawn from the vocabulary of the references.
Three targets are sampled for each source, and the evaluation is repeated five times.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, rate
from bitextbench.base.errors import InputError
from bitextbench.formats import bitext

EVALUATIONS = 5
SAMPLES = 3
DRAWS = ("types", "tokens")
PAIRS = 256  # pairs that are reconstructed at a time

if TYPE_CHECKING:
    from bitextbench.encoders import Encoder
    from bitextbench.encoders.batches import SentenceIds


def sample_targets(
    references: Sequence[Sequence[str]], seed: int, *, samples: int = SAMPLES, draw: str = "types"
) -> list[list[list[str]]]:
    """`samples` random sentences for each reference (lists of words), for one evaluation.

    draw: "types": all words of the vocabulary are equally likely; "tokens": in proportion to their frequency. (The
    paper samples "from the target vocabulary", which is the former.) Raises InputError for an empty reference and an
    unknown draw.
    """
    if draw not in DRAWS:
        raise InputError(f"unknown draw {draw!r}", remedy=f"known: {', '.join(DRAWS)}")
    if empty := [number for number, words in enumerate(references, 1) if not len(words)]:
        raise InputError(f"reference {empty[0]} has no words ({len(empty)} such)", remedy="leave empty sentences out")
    tokens = [word for words in references for word in words]
    words = np.array(sorted(set(tokens)) if draw == "types" else tokens, dtype=object)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(
        1, np.array([len(words) for words in references])[:, None], (len(references), samples), endpoint=True
    )
    return [[rng.choice(words, length).tolist() for length in row] for row in lengths]


def accuracy(
    parallel: NDArray[np.floating], sampled: NDArray[np.floating], *, seed: int = SEED, signature: str = ""
) -> dict[str, Any]:
    """The share of sampled pairs that score lower than the parallel one, in percent; `draws`: for each evaluation.

    parallel: scores [n]; sampled: [evaluations, n, samples], of the same sources. A tie is not lower. The interval is
    over sources. Raises InputError for shapes that do not fit, and for NaN.
    """
    if sampled.ndim != 3 or parallel.shape != sampled.shape[1:2]:
        raise InputError(
            f"scores of the shapes {parallel.shape} and {sampled.shape}",
            remedy="needed: [n] and [evaluations, n, samples]",
        )
    if any(scores.dtype.kind not in "fiu" for scores in (parallel, sampled)):
        raise InputError(f"scores of {parallel.dtype} and {sampled.dtype}", remedy="needed: numbers")
    if np.isnan(parallel).any() or np.isnan(sampled).any():
        raise InputError("a score is NaN", remedy="score the pairs again")
    higher = parallel[None, :, None] > sampled
    draws = [float(100 * hits.mean()) for hits in higher]
    return {**rate("accuracy", higher.mean(axis=(0, 2)), seed=seed, signature=signature), "draws": draws}


def scores(
    tokens: Path,
    model: Path,
    pieces: Path,
    similarity: str,
    *,
    lowercase: bool = True,
    evaluations: int = EVALUATIONS,
    seed: int = 1,
    threads: int = 1,
    device: str = "cpu",
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Similarities of the pairs of a token corpus [n], and of its sources with sampled targets [evaluations, n, 3].

    similarity: `euclidean`, minus half the squared distance of the sentence vectors (eq. 13), or `reconstruction`,
    minus the cross-entropies of a bag-of-words autoencoder (section 6.1). `pieces`: the text model of the encoder.
    Pairs with an empty side are left out. Raises InputError for an unknown similarity, and for `reconstruction` by
    another encoder.
    """
    from bitextbench.base.device import setup
    from bitextbench.encoders import load
    from bitextbench.encoders.models.bow_autoencoder import Model as BagOfWords

    where = setup(threads, device)
    encoder = load(model, where)
    if similarity not in ("euclidean", "reconstruction"):
        raise InputError(f"unknown similarity {similarity!r}", remedy="known: euclidean, reconstruction")
    if similarity == "reconstruction" and not isinstance(encoder, BagOfWords):
        raise InputError("does not rebuild bags of words", model, remedy="train a bow_autoencoder, or take euclidean")
    pairs = [
        pair for pair in zip(*(bitext.read_side(tokens, side) for side in ("src", "tgt")), strict=True) if all(pair)
    ]
    references = [target.split() for _, target in pairs]
    draws = [sample_targets(references, seed + number) for number in range(evaluations)]
    sampled = [" ".join(words) for draw in draws for targets in draw for words in targets]
    with tempfile.TemporaryDirectory() as name:
        sources, targets = ids(encoder, [*zip(*pairs, strict=True)], pieces, Path(name) / "pairs", lowercase)
        _, false = ids(encoder, [(None,) * len(sampled), sampled], pieces, Path(name) / "sampled", lowercase)
        rows = np.tile(np.arange(len(pairs)).repeat(SAMPLES), evaluations)
        measure = rebuilt if similarity == "reconstruction" else distances
        parallel = measure(encoder, sources, targets, np.arange(len(pairs)), where)
        return parallel, measure(encoder, sources, false, rows, where).reshape(evaluations, len(pairs), SAMPLES)


def ids(
    encoder: "Encoder", sides: Sequence[Sequence[str | None]], pieces: Path, out: Path, lowercase: bool
) -> list["SentenceIds"]:
    """The ids of tokenised sentences of both sides, as the encoder reads them; files are in the folder `out`."""
    from bitextbench.text.features import encode_ids

    out.mkdir()
    columns = {side: pa.array(lines, pa.string()) for side, lines in zip(("src", "tgt"), sides, strict=True)}
    pq.write_table(pa.table({"id": range(len(sides[0])), **columns}), out / "00000.parquet")
    encode_ids(out / "00000.parquet", pieces, out, lowercase=lowercase)
    return [encoder.read("encode", [out / f"00000.{side}"]) for side in ("src", "tgt")]


def distances(
    encoder: "Encoder", sources: "SentenceIds", targets: "SentenceIds", rows: NDArray[np.integer], device: Any
) -> NDArray[np.float32]:
    """-|x - y|^2 / 2 of each target [m] and the source at `rows` [m]: eq. 13, higher for more similar ones."""
    from bitextbench.base.device import torch
    from bitextbench.encoders.encode import write_vectors

    vectors = []
    for side, sentences in (("src", sources), ("tgt", targets)):
        vectors.append(np.zeros((len(sentences), encoder.dimension), np.float32))
        for _ in write_vectors(encoder, sentences, side, vectors[-1], 8192, device, torch.float32):
            pass
    return -np.square(vectors[0][rows] - vectors[1]).sum(1) / 2


def rebuilt(
    encoder: Any, sources: "SentenceIds", targets: "SentenceIds", rows: NDArray[np.integer], device: Any
) -> NDArray[np.float32]:
    """The quality of reconstruction of each target [m] and the source at `rows` [m] by a bag-of-words autoencoder."""
    from bitextbench.base.device import torch

    out = np.empty(len(rows), np.float32)
    with torch.inference_mode():
        for start in range(0, len(rows), PAIRS):
            part = slice(start, start + PAIRS)
            x, y = sources.padded(rows[part]), targets.padded(np.arange(len(rows))[part])
            x, y = (sentences._replace(ids=sentences.ids.to(device)) for sentences in (x, y))
            out[part] = encoder.similarity(x, y).cpu().numpy()
    return out
