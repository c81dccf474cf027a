"""Mines training pairs for a translation model from a corpus, without using its alignment.

guo2018 sections 4.2 and 4.3, yang2019 section 5.2. The result is a folder like that of `select`: train.<src>,
train.<tgt> (Moses tokens, one pair a line) and selection.json.

Where the paper is silent:

- guo2018 aligns the sentences of matched documents by length and dictionaries, as Uszkoreit et al. 2010 do, whose
  dictionaries are not public. Here it is the order-preserving alignment with the greatest sum of calibrated confidence.
- yang2019 does not say whether its "Oracle" is all of the UN corpus. Its numbers are those of guo2018, whose models do not
  see the tenth that calibrates the confidence. At paper scale the oracle lacks that tenth, and yang2019 mines all of it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.base.bootstrap import SEED, rate
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.outputs import atomic
from bitextbench.base.progress import log
from bitextbench.corpus.prefilter import check_rules, prefilter
from bitextbench.formats import bitext
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.training_text import opened
from bitextbench.formats.vectors import Embeddings, check_aligned, distinct
from bitextbench.mining import documents
from bitextbench.mining.retrieval import check_strategy, mine_pairs
from bitextbench.neighbours import search
from bitextbench.scoring.margins import MARGINS, K, metric_and_margin
from bitextbench.scoring.similarities.confidence import calibrated, probabilities

BLOCK = 1 << 16  # pairs at a time
BothSides = Mapping[str, Sequence[str]]  # the lines of both sides


def mine(
    corpus: Path,
    tokens: Path,
    vectors: tuple[Embeddings, Embeddings],
    languages: tuple[str, str],
    spec: Mapping[str, Any],
    out: Path,
    *,
    model: Path | None = None,
    seed: int = SEED,
    **settings: Any,
) -> None:
    """Mine pairs of a corpus without its alignment, and write them.

    spec:

    - `similarity`, `retrieval`: as in `texts.mine`. Copies of a sentence have pairs, too: "we take the highest scoring
      match" of each.
    - `threshold`: for the similarity of a pair. With a `model` (an encoder with a calibrated confidence) it is for the
      confidence.
    - `documents`: mine within matched documents only (`in_documents`, without `retrieval`).
    - `filter`: rules of the pre-filter.

    `settings`: those of `neighbours.search`.

    selection.json has `pairs`, `retrieved`, `below_threshold`, `dropped` (by rule) and `precision`. A pair counts as
    right if the corpus aligns one of its sides with the text of the other. Raises InputError for unequal numbers of
    vectors and lines, unknown names, and when no pair is left.
    """
    check_strategy(spec.get("retrieval", "forward"))
    check_rules(spec.get("filter", {}))
    check_aligned(*vectors)
    raw, tokenised = ({side: bitext.read_side(folder, side) for side in SIDES} for folder in (corpus, tokens))
    for folder, text in ((corpus, raw), (tokens, tokenised)):
        if len(text["src"]) != len(vectors[0]):
            what = f"{len(text['src']):,} pairs for the {len(vectors[0]):,} vectors of {vectors[0].name}"
            raise InputError(what, folder, remedy="make them again")
    threshold = spec.get("threshold")
    if spec.get("documents"):
        mined = in_documents(corpus, vectors, spec["similarity"], model, threshold or 0.0, **settings)
        counts = {"retrieved": len(mined.src), "below_threshold": 0}
    else:
        mined, counts = _anywhere(vectors, spec, model, **settings)
    with atomic(out) as folder:
        folder.mkdir()
        dropped, right = _write(folder, mined, raw, tokenised, languages, spec.get("filter", {}))
        if not len(right):
            raise InputError(f"no pair is left ({counts})", corpus, remedy="lower the threshold")
        summary = {key: counts[key] for key in ("retrieved", "below_threshold")}
        precision = rate("precision of pairs", right, seed=seed, signature="truth:line or text")
        write_json(
            folder / "selection.json",
            {"pairs": len(right), **summary, "dropped": dict(dropped), "precision": precision},
        )
    log(f"mined {len(right):,} of {len(raw['src']):,} pairs, {precision['value']:.2f}% of them right")


def _anywhere(
    vectors: tuple[Embeddings, Embeddings], spec: Mapping[str, Any], model: Path | None, **settings: Any
) -> tuple[Mined, dict[str, int]]:
    """Pairs of nearest sentences, in any documents; and counts as of `mine_pairs`."""
    metric, rule = metric_and_margin(spec["similarity"])
    once = distinct(vectors[0]), distinct(vectors[1])
    k = K if spec["similarity"] in MARGINS else 1
    both = search(once[0].vectors, once[1].vectors, k, metric=metric, **settings)
    if model is None:
        return mine_pairs(both, rule, spec["retrieval"], spec.get("threshold"), once)
    retrieved, counts = mine_pairs(both, rule, spec["retrieval"], None, once)
    confidence_of = calibrated(model, vectors[0].dimension)
    confidence = probabilities(confidence_of, *vectors, retrieved.src, retrieved.tgt[:, None])[:, 0]
    kept = retrieved._replace(scores=confidence.astype(np.float32)).above(spec.get("threshold"))
    return kept, counts | {"below_threshold": len(retrieved.src) - len(kept.src)}


def in_documents(
    corpus: Path,
    vectors: tuple[Embeddings, Embeddings],
    similarity: str,
    model: Path | None,
    threshold: float,
    **settings: Any,
) -> Mined:
    """Pairs within matched documents, in the order of the sources: guo2018 sections 4.2 and 4.3.

    Each source document is matched with a target document by eq. 3. The pairs of two documents are those of the
    `monotone` alignment with the greatest sum of confidence above the threshold. (The paper aligns by lengths and
    dictionaries as in Uszkoreit et al. 2010, which is not available.) Raises InputError without a `model`, whose
    calibrated confidence is needed.
    """
    if model is None:
        raise InputError("documents are aligned by a calibrated confidence", remedy="name a dan_dual as the encoder")
    metric, _ = metric_and_margin(similarity)
    docs = documents.of_file(corpus, vectors[0])  # of both sides: a row of the corpus has one document
    both = search(*vectors, documents.N, metric=metric, **settings)
    matched = documents.by_sentences(docs, docs, both.forward, documents.confidence(vectors, both.forward, model))
    confidence_of = calibrated(model, vectors[0].dimension)
    order = np.argsort(docs.document, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(docs.document))[:-1])
    parts = [Mined(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    for source, target in enumerate(matched.tolist()):
        if target >= 0:
            left, right = rows[source], rows[target]
            confidence = probabilities(confidence_of, *vectors, left, right[None])
            i, j = monotone(confidence - threshold)
            parts.append(Mined(left[i], right[j], confidence[i, j].astype(np.float32)))
    return Mined(*map(np.concatenate, zip(*parts, strict=True)))


def monotone(gains: NDArray[np.floating]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs (i, j), both increasing, with the greatest sum of gains [n, m]; each gain is positive."""
    n, m = gains.shape
    best = np.zeros((n + 1, m + 1))
    for i in range(n):
        np.maximum.accumulate(np.maximum(best[i, 1:], best[i, :-1] + gains[i]), out=best[i + 1, 1:])
    pairs = []
    i, j = n, m
    while i and j:
        if best[i, j] == best[i - 1, j]:
            i -= 1
        elif best[i, j] == best[i, j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    aligned = np.array(pairs[::-1], np.int64).reshape(-1, 2)
    return aligned[:, 0], aligned[:, 1]


def _write(
    folder: Path, mined: Mined, raw: BothSides, tokens: BothSides, languages: tuple[str, str], rules: Mapping[str, Any]
) -> tuple[Counter[str], NDArray[np.bool_]]:
    """Write the tokens of the pairs that pass the rules.

    Returns the number of pairs that each rule drops, and, for each of the others, whether it is right.
    """
    dropped: Counter[str] = Counter()
    right = [np.empty(0, bool)]
    with opened(folder, languages) as files:
        for start in range(0, len(mined.src), BLOCK):
            block = slice(start, start + BLOCK)
            places = {"src": mined.src[block].tolist(), "tgt": mined.tgt[block].tolist()}
            texts = {side: [raw[side][place] for place in places[side]] for side in places}
            passed, first, *_ = prefilter(
                pa.table({side: pa.array(texts[side], pa.string()) for side in texts}), rules, languages
            )
            dropped.update(first)
            for file, side in zip(files, SIDES, strict=True):
                lines = (tokens[side][place] for place, kept in zip(places[side], passed, strict=True) if kept)
                file.writelines(f"{line}\n" for line in lines)
            hits = [
                raw["tgt"][i] == y or raw["src"][j] == x
                for i, j, x, y in zip(places["src"], places["tgt"], texts["src"], texts["tgt"], strict=True)
            ]
            right.append(np.array(hits, bool)[passed])
    return +dropped, np.concatenate(right)
