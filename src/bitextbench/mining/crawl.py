"""Filters a crawl of line-aligned pairs: rules, copies, a score, and the best of what is left.

The steps are the workflow's (`corpus.build`, `scoring`), and so are the bytes of scores. Every pair keeps the number of its line.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bitextbench.base import arrays
from bitextbench.base.errors import InputError, near
from bitextbench.base.files import atomic
from bitextbench.base.memory import peak
from bitextbench.base.progress import log
from bitextbench.corpus import parts
from bitextbench.corpus.build import build
from bitextbench.corpus.prefilter import RULES as ALL_RULES
from bitextbench.corpus.prefilter import check_rules, prefilter
from bitextbench.encoders import cache
from bitextbench.encoders.plain import SentenceEncoder
from bitextbench.formats import bitext, mined_pairs
from bitextbench.formats.vectors import Embeddings, read
from bitextbench.scoring import Pairs, similarity
from bitextbench.scoring.select import Scored, count_words, cutoff

RULES = {"min_tokens": 3, "max_tokens": 80, "max_ratio": 2.0, "max_overlap": 0.5, "language": "py3langid"}
"""artetxe2019 section 4.3."""
SIMILARITIES = ("cosine", "margin")  # that need nothing but an encoder
ROWS = 1 << 18  # pairs whose texts are in memory

Languages = tuple[str, str]


class Limit(NamedTuple):
    """How much to keep: one of them. `words` on the side of the target, as in the WMT18 task; `share` of the pairs that are scored."""

    words: int | None = None
    pairs: int | None = None
    share: float | None = None
    threshold: float | None = None


def check(limit: Limit, encoder: SentenceEncoder | None, name: str) -> None:
    """Raises InputError for none or several limits, one without a score, and a similarity that needs more than vectors."""
    given = [key for key, value in limit._asdict().items() if value is not None]
    if encoder is None:
        if given:
            raise InputError(f"--{given[0]} needs a score", remedy="give an --encoder, or leave it out")
        return
    if len(given) != 1:
        what = f"both --{' and --'.join(given)}" if given else "nothing says how much to keep"
        raise InputError(what, remedy="give one of --words, --pairs, --share, --threshold")
    if name not in SIMILARITIES:
        remedy = near(name, SIMILARITIES)
        raise InputError(f"{name} cannot score a crawl by an encoder alone", "--similarity", remedy=remedy)


def filter_crawl(
    src: Path,
    tgt: Path,
    languages: Languages,
    out: Path,
    *,
    rules: Mapping[str, Any] = RULES,
    encoder: SentenceEncoder | None = None,
    name: str = "margin",
    limit: Limit = Limit(),  # noqa: B008
    explain: Path | None = None,
    folder: Path | None = None,
    **search: Any,
) -> dict[str, Any]:
    """Write the pairs of a crawl that pass the rules, once each, and of these the best that `limit` allows, in the order of lines.

    `src`, `tgt`: line n of one belongs to line n of the other. `out`: score (0 without an encoder), both line numbers, both
    sentences (see `mined_pairs.write`). `explain`: a line for each line of the crawl, `number<TAB>what became of it<TAB>score`.
    `folder`: cache of vectors; `search`: of `neighbours.search`, for margins. Memory: ROWS texts, scores, and what margins take.

    Returns and logs the counts: in = kept + below + dropped, by reason. Raises InputError for bad input.
    """
    started = time.monotonic()
    check_rules(rules)
    check(limit, encoder, name)
    for path in filter(None, (out, explain)):
        mined_pairs.check_output(path, languages)
    part: dict[str, Any] = {"files": {"src": str(src), "tgt": str(tgt)}, "doc": "line"}
    spec = {"parts": [part], "filter": dict(rules), "deduplicate": True}
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as scratch:
        corpus = Path(scratch) / "corpus"
        counts = build("crawl", spec, languages, scratch, {}, corpus, seed=1, threads=search.get("threads"))
        n = counts["out"]
        scores = np.zeros(n, np.float32)
        if encoder is not None and n:
            sides = [encoder.side(language, usual=side) for language, side in zip(languages, bitext.SIDES, strict=True)]
            vectors = _vectors(corpus, n, encoder, languages, sides, folder or cache.default_folder(), Path(scratch))
            scores = _scores(name, vectors, Path(scratch) / "model.npz", search)
        cut = _cut(scores, corpus, limit)
        keep = np.ones(n, bool) if cut is None else scores >= np.float32(cut)
        mined_pairs.write_blocks(out, _kept(corpus, scores, keep), languages=languages)
        if explain:
            _explain(explain, part, languages, rules, _numbers(corpus), keep, scores)
    result = {
        "in": counts["in"], "dropped": counts["dropped"], "scored": n if encoder else 0, "below": int((~keep).sum()),
        "kept": int(keep.sum()), "cutoff": cut, "seconds": round(time.monotonic() - started, 1), "peak_mib": peak(),
    }  # fmt: skip
    log(_summary(result, out))
    return result


def _texts(corpus: Path) -> Iterator[pa.Table]:
    """Text and line numbers of the pairs that passed, ROWS at a time."""
    held: list[pa.Table] = []
    for table in bitext.read_batches(corpus, ["src", "tgt", "doc"]):
        held.append(table)
        if sum(map(len, held)) >= ROWS:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def _vectors(
    corpus: Path, n: int, encoder: SentenceEncoder, languages: Languages, sides: Sequence[str], folder: Path, scratch: Path
) -> list[Embeddings]:  # fmt: skip
    """The vectors of both sides [n, d], memory-mapped from `scratch`."""
    paths, cut, start = [scratch / f"{side}.npy" for side in bitext.SIDES], 0, 0
    with ExitStack() as stack:
        both = [stack.enter_context(arrays.create(path, (n, encoder.dimension), np.float32)) for path in paths]
        for table in _texts(corpus):
            texts = [
                cache.Text(name, table[name].to_pylist(), language, side)
                for name, language, side in zip(bitext.SIDES, languages, sides, strict=True)
            ]
            for written, encoded in zip(both, cache.encode(encoder, texts, folder), strict=True):
                written[start : start + len(table)] = encoded.vectors.block(0, len(table))
                cut += encoded.cut
            start += len(table)
    if cut:
        log(f"filter: {cut:,} sentences have more tokens than the encoder takes, and were cut")
    return [*map(read, paths)]


def _scores(name: str, vectors: Sequence[Embeddings], model: Path, search: Mapping[str, Any]) -> NDArray[np.float32]:
    scorer = similarity(name)
    if fitted := hasattr(scorer, "fit"):
        scorer.fit(*vectors, {}, model, **search)
    n = len(vectors[0])
    scores = np.empty(n, np.float32)
    for start, end in pairwise([*range(0, n, ROWS), n]):
        src, tgt = (side.block(start, end) for side in vectors)
        scores[start:end] = scorer.score(Pairs(np.arange(start, end), src, tgt), model if fitted else None)
    return scores


def _cut(scores: NDArray[np.float32], corpus: Path, limit: Limit) -> float | None:
    """The lowest score to keep; None for all."""
    if limit.threshold is not None:
        return limit.threshold
    if limit.words is not None:
        blocks = [count_words(table["tgt"]) for table in _texts(corpus)]
        return cutoff([Scored(scores, np.concatenate([np.empty(0, np.int64), *blocks]))], limit.words)
    pairs = limit.pairs if limit.share is None else round(limit.share * len(scores))
    return None if pairs is None else cutoff([Scored(scores, np.ones(len(scores), np.int64))], pairs - 1)


def _numbers(corpus: Path) -> NDArray[np.int64]:
    """The line of each pair that passed [n]."""
    return np.array([int(line) for table in _texts(corpus) for line in table["doc"].to_pylist()], np.int64)


def _kept(corpus: Path, scores: NDArray[np.float32], keep: NDArray[np.bool_]) -> Iterator[tuple[Any, ...]]:
    start = 0
    for table in _texts(corpus):
        here = slice(start, start + len(table))
        kept = table.filter(pa.array(keep[here]))
        lines, src, tgt = (kept[name].to_pylist() for name in ("doc", "src", "tgt"))
        yield scores[here][keep[here]], lines, lines, src, tgt
        start += len(table)


def _explain(
    path: Path, part: Mapping[str, Any], languages: Languages, rules: Mapping[str, Any], numbers: NDArray[np.int64],
    keep: NDArray[np.bool_], scores: NDArray[np.float32],
) -> None:  # fmt: skip
    """What became of every line: kept, below, or why it was dropped."""
    names, done = [*ALL_RULES], 0
    with atomic(path) as written, mined_pairs.PACKERS[mined_pairs.form_of(path)[1]](written) as file:
        for table in parts.read(part, languages, Path(), 0):
            filled = [[bool(line.strip()) for line in table[side].to_pylist()] for side in bitext.SIDES]
            why = prefilter(table, rules, languages).why.tolist()
            fates = [
                "empty" if not (a and b) else names[rule] if rule >= 0 else "duplicate"
                for a, b, rule in zip(*filled, why, strict=True)
            ]
            shown = [""] * len(table)
            first, last = np.searchsorted(numbers, [done + 1, done + len(table) + 1])
            for place in range(first, last):
                row = int(numbers[place]) - done - 1
                fates[row] = "kept" if keep[place] else "below"
                shown[row] = str(scores[place])
            lines = zip(range(done + 1, done + len(table) + 1), fates, shown, strict=True)
            file.write("".join(f"{number}\t{fate}\t{score}\n" for number, fate, score in lines).encode())
            done += len(table)


def _summary(counts: Mapping[str, Any], out: Path) -> str:
    dropped = Counter(counts["dropped"])
    reasons = "".join(f", {number:,} {reason}" for reason, number in dropped.most_common())
    below = f", {counts['below']:,} below {counts['cutoff']:.4f}" if counts["below"] else ""
    return (
        f"filter: {counts['in']:,} pairs{reasons}{below}; {counts['kept']:,} kept in {out}\n"
        f"filter: {counts['seconds']:,} s, {counts['peak_mib']:,} MiB at most"
    )
