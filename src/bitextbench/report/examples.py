"""Examples as Markdown pages, like those that the papers print: artetxe2019 table 1, yang2019 table 7, kim2019 table 4,
guo2018 table 1, zhang2016 table 1.

A fixed rule chooses them, never a person: each function sorts by the property that the paper's table illustrates and
takes the first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import neighbours
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import write_text
from bitextbench.evaluation import bucc
from bitextbench.formats import bitext
from bitextbench.formats.ids import Ragged
from bitextbench.formats.vectors import Embeddings
from bitextbench.mining import comparable
from bitextbench.mining.comparable import Comparable
from bitextbench.mining.retrieval import retrieve
from bitextbench.scoring.margins import K, margin, means
from bitextbench.smt import grammar
from bitextbench.smt.grammar import FEATURE
from bitextbench.smt.words import unescaped


def write(out: Path, lines: Iterable[str]) -> None:
    """Write the lines of a page, atomically."""
    write_text(out, "\n".join(lines))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table. A bar within a cell becomes an entity, as it would end the cell."""
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"
    yield ""


def scales(corpus: Comparable, src: Embeddings, tgt: Embeddings, k: int = K, **search: Any) -> Iterator[str]:
    """artetxe2019, table 1: a wrong pair whose cosine exceeds that of a right pair, and the neighbours that explain it.

    Targets search sources. The wrong pair is the wrong one with the highest cosine; the right pair has a lower cosine,
    and among those the highest ratio margin. `src`, `tgt`: the vectors of the corpus, row by row.
    """
    sides, kept = comparable.searchable(corpus, src, tgt)
    both = neighbours.search(*sides, k, metric="cosine", **search)
    f, g = means(both)
    ids, cosine = both.backward.ids, both.backward.similarities
    ratio = margin("ratio", cosine, g[:, None], f[ids])
    truth = set(corpus.gold)
    right = np.array(
        [(corpus.src.ids[kept[0][i]], corpus.tgt.ids[kept[1][j]]) in truth for j, i in enumerate(ids[:, 0])], bool
    )
    yield "# A wrong pair of high cosine, a right one of lower cosine\n"
    if right.all() or not right.any():
        yield f"Not here: of {len(right):,} nearest neighbours {right.sum():,} are right.\n"
        return
    wrong = int(np.argmax(np.where(right, -np.inf, cosine[:, 0])))
    lower = right & (cosine[:, 0] < cosine[wrong, 0])
    better = int(np.argmax(np.where(lower if lower.any() else right, ratio[:, 0], -np.inf)))
    yield f"Each sentence with its {ids.shape[1]} nearest neighbours, as in Artetxe and Schwenk 2019, Table 1.\n"
    for query, verdict in ((wrong, "wrong"), (better, "right")):
        yield f"**{corpus.tgt.text[kept[1][query]]}** (its nearest neighbour is {verdict})\n"
        rows = zip(ids[query], cosine[query], ratio[query], strict=True)
        yield from table(
            ("cosine", "ratio", "neighbour"),
            ((f"{a:.3f}", f"{b:.3f}", corpus.src.text[kept[0][i]]) for i, a, b in rows),
        )


def failures(corpus: Comparable, src: Embeddings, tgt: Embeddings, count: int = 2, **search: Any) -> Iterator[str]:
    """yang2019, table 7: the `count` false positives and the `count` false negatives with the highest cosines.

    Targets search sources; the threshold is the one with the best F1 on these pairs. `src`, `tgt`: the vectors of the
    corpus, row by row.
    """
    sides, kept = comparable.searchable(corpus, src, tgt)
    both = neighbours.search(*sides, 1, metric="cosine", **search)
    mined = retrieve("backward", both, (both.forward.similarities, both.backward.similarities))
    places = list(zip(kept[0][mined.src].tolist(), kept[1][mined.tgt].tolist(), strict=True))
    gold = [(corpus.src.index[a], corpus.tgt.index[b]) for a, b in corpus.gold]
    truth = set(gold)
    correct = np.array([pair in truth for pair in places], bool)
    threshold = bucc.tune(mined.scores, correct, len(gold))
    taken = [(pair, score) for pair, score in zip(places, mined.scores, strict=True) if score >= threshold]
    extracted = {pair for pair, _ in taken}
    positives = [(pair, score) for pair, score in taken if pair not in truth]
    missed = np.array([pair for pair in gold if pair not in extracted], np.int64).reshape(-1, 2)
    rows = [of_ids[ids] for of_ids, ids in zip(corpus.rows, missed.T, strict=True)]
    left, right = (side.take(places) for side, places in zip((src, tgt), rows, strict=True))
    lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    cosines = np.vecdot(left, right) / np.maximum(lengths, np.finfo(np.float32).tiny)
    order = np.argsort(-cosines, kind="stable")[:count]
    negatives = [(tuple(missed[i].tolist()), cosines[i]) for i in order]
    yield f"# Failures of cosine similarity at its threshold, {threshold:.3f}\n"
    yield "Chosen as in Yang et al. 2019, Table 7: false positives are not in the gold pairs, false negatives are gold pairs not mined.\n"
    for title, kind in (("False positives", positives[:count]), ("False negatives", negatives)):
        yield f"**{title}**\n"
        lines = ((f"{score:.3f}", corpus.src.text[i], corpus.tgt.text[j]) for (i, j), score in kind)
        yield from table(("cosine", "source", "target"), lines)


def corners(corpus: Path, scores: Mapping[str, NDArray[np.float32]], share: float = 0.01) -> Iterator[str]:
    """kim2019, table 4: four pairs on which two scorers agree and disagree.

    The second scorer's highest `share` of the pairs (at least one) and its lowest `share` are taken. Of each share, the
    examples are the pairs with the lowest and the highest score of the first scorer. `scores`: two scorers, float32 [n]
    each in the order of ids; the second's are logits and are printed as probabilities. Raises InputError for scores of
    another corpus.
    """
    (one, first), (other, second) = scores.items()
    order = np.argsort(-second, kind="stable")
    size = max(1, round(share * len(order)))
    rows = []
    for extreme in (np.sort(order[-size:]), np.sort(order[:size])):
        rows += [int(extreme[np.argmin(first[extreme])]), int(extreme[np.argmax(first[extreme])])]
    probability = 1 / (1 + np.exp(-second[rows].astype(np.float64)))
    text = pairs_at(corpus, rows, len(first))
    yield f"# Pairs that the {other} similarity puts last, and first\n"
    yield f"Of each extreme {share:.0%} the pairs of least and greatest {one} similarity, for Kim et al. 2019, Table 4.\n"
    yield from table(
        ("source", "target", one, other),
        ((*text[i], f"{first[i]:.3f}", f"{p:.3f}") for i, p in zip(rows, probability, strict=True)),
    )


def negatives(corpus: Path, hard: Path, count: int = 2, seed: int = 1) -> Iterator[str]:
    """guo2018, table 1: `count` sources with their translations, hard negatives and as many random negatives.

    `corpus`: the bitext; `hard`: the path that `hard_negatives.mine` wrote to, without `.src`. Sources are drawn at
    random from those that have hard negatives. Raises InputError for hard negatives of another bitext.
    """
    hard_rows = Ragged.load(f"{hard}.src")
    hard_rows.check(len(hard_rows), "mine them again from this bitext")
    rng = np.random.default_rng(seed)
    having = np.flatnonzero(hard_rows.lengths)
    chosen = {}
    for row in np.sort(rng.choice(having, min(count, len(having)), replace=False)).tolist():
        others = rng.choice(len(hard_rows) - 1, len(hard_rows[row]), replace=False)
        others += others >= row
        chosen[row] = {
            "translation": [row],
            "random negative": others.tolist(),
            "hard negative": hard_rows[row].tolist(),
        }
    text = pairs_at(corpus, [i for kinds in chosen.values() for rows in kinds.values() for i in rows], len(hard_rows))
    yield "# Random and hard negatives\n"
    yield "As in Guo et al. 2018, Table 1: targets that are not the source's translation.\n"
    for row, kinds in chosen.items():
        yield f"**{text[row][0]}**\n"
        yield from table(("", "target"), ((kind, text[i][1]) for kind, rows in kinds.items() for i in rows))


def phrases(path: Path, count: int = 3, best: int = 3) -> Iterator[str]:
    """zhang2016, table 1: `count` phrases with at least `best` translations, and their `best` translations by
    similarity.

    `path`: a grammar with the feature `similarity`. Phrases are the sources of rules without gaps, sorted by number of
    words, then number of translations (most first), then alphabetically. Raises InputError for a grammar without that
    feature.
    """
    features, rules = grammar.read(path)
    if FEATURE not in features:
        raise InputError(f"no feature {FEATURE}", path, remedy="name the grammar of a system with an encoder")
    column = len(grammar.HEAD) + features.index(FEATURE)
    translations: dict[str, list[tuple[float, str]]] = {}
    for fields in rules:
        if not set(grammar.GAP_TOKENS) & set(fields[0].split()):
            translations.setdefault(fields[0], []).append((-float(fields[column]), fields[1]))
    several = [source for source, targets in translations.items() if len(targets) >= best]
    chosen = sorted(several, key=lambda source: (-len(source.split()), -len(translations[source]), source))[:count]
    yield "# Translations of phrases by their similarity\n"
    yield f"The {best} most similar translations of the longest phrases that have as many, for Zhang et al. 2016, Table 1.\n"
    rows = (
        (unescaped(source), unescaped(target), f"{-value:.6f}")
        for source in chosen
        for value, target in sorted(translations[source])[:best]
    )
    yield from table(("source", "target", FEATURE), rows)


def pairs_at(corpus: Path, rows: Iterable[int], total: int) -> dict[int, tuple[str, str]]:
    """The pairs at some rows of a corpus; rows are counted in the order of ids.

    Raises InputError unless the corpus has `total` rows.
    """
    pairs: dict[int, tuple[str, str]] = {}
    wanted, start = np.unique(list(rows)), 0
    for block in bitext.read_batches(corpus, ["src", "tgt"]):
        here = wanted[(wanted >= start) & (wanted < start + len(block))]
        columns = block.take(here - start).to_pydict()
        pairs |= dict(zip(here.tolist(), zip(columns["src"], columns["tgt"], strict=True), strict=True))
        start += len(block)
    if start != total:
        raise InputError(
            f"has {start:,} pairs, but there are scores of {total:,}",
            corpus,
            remedy="these scores or negatives are of another corpus",
        )
    return pairs
