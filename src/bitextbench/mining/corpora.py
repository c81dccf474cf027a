"""Pairs mined for a translation model, out of a corpus whose sides are taken for strangers.

guo2018 sections 4.2 and 4.3, yang2019 section 5.2. They are a folder as `select` makes it: train.<src>, train.<tgt> (Moses
tokens, a line a pair) and selection.json.
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
from bitextbench.base.files import atomic, write_json
from bitextbench.base.progress import log
from bitextbench.corpus.prefilter import check_rules, prefilter
from bitextbench.formats import bitext
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.training_text import opened
from bitextbench.formats.vectors import Embeddings, check_aligned, check_pair
from bitextbench.mining import documents
from bitextbench.mining.retrieval import check_strategy
from bitextbench.mining.texts import metric_and_margin, mine_pairs
from bitextbench.scoring.margins import MARGINS
from bitextbench.scoring.neighbours import search
from bitextbench.scoring.similarities.confidence import calibrated, probabilities

BLOCK = 1 << 16  # pairs at a time
K = 4
Text = Mapping[str, Sequence[str]]  # the lines of both sides


def mine(
    corpus: Path, tokens: Path, vectors: tuple[Embeddings, Embeddings], languages: tuple[str, str], spec: Mapping[str, Any],
    out: Path, *, model: Path | None = None, seed: int = SEED, **settings: Any,
) -> None:  # fmt: skip
    """Write the pairs that are found in a corpus without looking at which of its lines stand beside each other.

    spec: `similarity` and `retrieval` as of `mine` (every copy of a sentence is searched: "we take the highest scoring match" of
    each), `threshold`; `documents`, which takes pairs from matched documents only (`in_documents`, which needs no retrieval);
    `filter`, rules of the pre-filter. With a `model`, an encoder with a calibrated confidence, it is the confidence of the pairs
    that were retrieved which must reach the threshold, else their similarity. `settings`: of `neighbours.search`.

    selection.json has `pairs`, `retrieved`, `below_threshold`, `dropped` (by rule) and, for the corpus knows its truth,
    `precision`: a pair is right if a side has the text of the line beside the other. Raises InputError for unequal numbers
    of vectors and lines, unknown names, and when no pair is left.
    """
    check_strategy(spec.get("retrieval", "forward"))
    check_rules(spec.get("filter", {}))
    check_pair(*vectors)
    check_aligned(*vectors)
    raw, tokenised = ({side: bitext.read_side(folder, side) for side in ("src", "tgt")} for folder in (corpus, tokens))
    for folder, text in ((corpus, raw), (tokens, tokenised)):
        if len(text["src"]) != len(vectors[0]):
            what = f"{len(text['src']):,} pairs for the {len(vectors[0]):,} vectors of {vectors[0].name}"
            raise InputError(what, folder, remedy="make them again")
    threshold = spec.get("threshold")
    if spec.get("documents"):
        found = in_documents(corpus, vectors, spec["similarity"], model, threshold or 0.0, **settings)
        counts = {"retrieved": len(found.src), "below_threshold": 0}
    else:
        found, counts = _anywhere(vectors, spec, model, **settings)
    with atomic(out) as folder:
        folder.mkdir()
        dropped, right = _write(folder, found, raw, tokenised, languages, spec.get("filter", {}))
        if not len(right):
            raise InputError(f"no pair is left of {counts}", corpus, remedy="lower the threshold")
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
    """Pairs of the nearest sentences, wherever they stand."""
    metric, rule = metric_and_margin(spec["similarity"])
    both = search(*vectors, K if spec["similarity"] in MARGINS else 1, metric=metric, **settings)
    if model is None:
        return mine_pairs(both, rule, spec["retrieval"], spec.get("threshold"))
    found, counts = mine_pairs(both, rule, spec["retrieval"], None)
    sure = probabilities(calibrated(model, vectors[0].dimension), *vectors, found.src, found.tgt[:, None])[:, 0]
    kept = found._replace(scores=sure.astype(np.float32)).above(spec.get("threshold"))
    return kept, counts | {"below_threshold": len(found.src) - len(kept.src)}


def in_documents(
    corpus: Path, vectors: tuple[Embeddings, Embeddings], similarity: str, model: Path | None, threshold: float, **settings: Any
) -> Mined:  # fmt: skip
    """Pairs within matched documents: guo2018 section 4.2 and 4.3, in the order of the sources.

    Each source document takes its target document by eq. 3. Within the two, the pairs are those of the `monotone` alignment with
    the greatest sum of confidence above the threshold. (The paper aligns by lengths and dictionaries as Uszkoreit et al. 2010,
    which we have not.) Raises InputError without a `model`, whose calibrated confidence this needs.
    """
    if model is None:
        raise InputError("documents are aligned by a calibrated confidence", remedy="name a dan_dual as the encoder")
    metric, _ = metric_and_margin(similarity)
    of = documents.of_file(corpus, vectors[0])  # of both sides: a row of the corpus has one document
    both = search(*vectors, documents.N, metric=metric, **settings)
    matched = documents.by_sentences(of, of, both.forward, documents.confidence(vectors, both.forward, model))
    logits_of = calibrated(model, vectors[0].dimension)
    order = np.argsort(of.document, kind="stable")
    rows = np.split(order, np.cumsum(np.bincount(of.document))[:-1])
    parts = [Mined(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    for source, target in enumerate(matched.tolist()):
        if target >= 0:
            left, right = rows[source], rows[target]
            sure = probabilities(logits_of, *vectors, left, right[None])
            i, j = monotone(sure - threshold)
            parts.append(Mined(left[i], right[j], sure[i, j].astype(np.float32)))
    return Mined(*map(np.concatenate, zip(*parts, strict=True)))


def monotone(gains: NDArray[np.floating]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs (i, j), both increasing, with the greatest sum of gains [n, m]; none that gains nothing."""
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
    found = np.array(pairs[::-1], np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _write(
    folder: Path, found: Mined, raw: Text, tokens: Text, languages: tuple[str, str], rules: Mapping[str, Any]
) -> tuple[Counter[str], NDArray[np.bool_]]:
    """Write the tokens of the pairs that pass the rules; returns what the rules drop, and which of the others are right."""
    dropped: Counter[str] = Counter()
    right = [np.empty(0, bool)]
    with opened(folder, languages) as files:
        for start in range(0, len(found.src), BLOCK):
            places = {
                side: column[start : start + BLOCK].tolist()
                for side, column in (("src", found.src), ("tgt", found.tgt))
            }
            texts = {side: [raw[side][place] for place in places[side]] for side in places}
            passed, first, _ = prefilter(
                pa.table({side: pa.array(texts[side], pa.string()) for side in texts}), rules, languages
            )
            dropped.update(first)
            for file, side in zip(files, ("src", "tgt"), strict=True):
                lines = (tokens[side][place] for place, kept in zip(places[side], passed, strict=True) if kept)
                file.writelines(f"{line}\n" for line in lines)
            true = [
                raw["tgt"][i] == y or raw["src"][j] == x
                for i, j, x, y in zip(places["src"], places["tgt"], texts["src"], texts["tgt"], strict=True)
            ]
            right.append(np.array(true, bool)[passed])
    return +dropped, np.concatenate(right)
