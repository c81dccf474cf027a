"""Mines parallel pairs from two monolingual texts and their vectors: artetxe2019 section 3, from files to a file."""

import contextlib
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import neighbours
from bitextbench.base.arrays import source_of
from bitextbench.base.errors import InputError
from bitextbench.base.languages import matching
from bitextbench.base.memory import peak
from bitextbench.base.outputs import scratch
from bitextbench.base.pipes import copied, read_once, shown
from bitextbench.base.progress import log
from bitextbench.corpus.language_id import known, likelier, most_of
from bitextbench.formats import mined_pairs, sentences
from bitextbench.formats.bitext import SIDES
from bitextbench.formats.gold import Gold, read_gold
from bitextbench.formats.inputs import PLAIN, Reading
from bitextbench.formats.mined_pairs import Mined
from bitextbench.formats.sentences import Sentences, first_copies
from bitextbench.formats.vectors import Distinct, Embeddings, distinct, read_pair
from bitextbench.mining.retrieval import check_strategy, of_copies, retrieve
from bitextbench.neighbours import Both, approximate
from bitextbench.scoring.margins import SIMILARITIES, score_neighbours

IDENTIFIER = "py3langid"
LOOKED_AT = 200  # lines of a text, to see its language
CALIBRATED = 6_000  # sentences of the smallest text that calibrations were measured on (benchmarks/mining_defaults.py)
USUAL = {  # the calibrations that `encoders.muse` and `encoders.e5` have: those import torch
    "muse": "--margin distance --threshold 0.1338",
    "e5-small": "--margin ratio --threshold 1.0258",
}

if TYPE_CHECKING:
    from bitextbench.encoders.interface import Calibration, SentenceEncoder  # it imports torch


def metric_and_margin(name: str, what: str = "similarity") -> tuple[str, str]:
    """The metric of the search and the margin of a similarity. Raises InputError for an unknown name, of `what`."""
    if name not in SIMILARITIES:
        raise InputError(f"unknown {what} {name!r}", remedy=f"known: {', '.join(SIMILARITIES)}")
    return SIMILARITIES[name]


def mine_pairs(
    both: Both, margin: str, retrieval: str, threshold: float | None, copies: tuple[Distinct, Distinct] | None = None
) -> tuple[Mined, dict[str, int]]:
    """Score the neighbours, retrieve pairs, and keep those that reach the threshold; of `copies`, each has its pair.

    Returns the pairs, and counts: candidates (scored neighbours of both directions), undefined (those without a score),
    retrieved, below_threshold, pairs.
    """
    scores = score_neighbours(margin, both)
    retrieved = retrieve(retrieval, both, scores)
    if copies:
        retrieved = of_copies(retrieved, copies[0].which, copies[1].which, retrieval)
    mined = retrieved.above(threshold)
    counts = {
        "candidates": sum(array.size for array in scores),
        "undefined": sum(int(np.isnan(array).sum()) for array in scores),
        "retrieved": len(retrieved.src),
        "below_threshold": len(retrieved.src) - len(mined.src),
        "pairs": len(mined.src),
    }
    return mined, counts


def mine(
    src_text: Path,
    tgt_text: Path,
    out: Path,
    vectors: "Vectors",
    *,
    calibration: "Calibration | None" = None,
    margin: str | None = None,
    retrieval: str = "max",
    k: int = 4,
    threshold: float | None = None,
    gold: Path | None = None,
    target: float | None = None,
    languages: tuple[str | None, str | None] = (None, None),
    forms: tuple[str, str] = ("auto", "auto"),
    columns: tuple[Sequence[str], Sequence[str]] = ((), ()),
    reading: Reading = PLAIN,
    keep_duplicates: bool = False,
    index: str | None = None,
    **search: Any,
) -> dict[str, Any]:
    """Mine pairs, write them to `out` (see `formats.mined_pairs`), and return and log the counts.

    `forms`, `columns`, `reading`: of `sentences.read`. Empty sentences, lines that are too long and later copies of a
    sentence are not searched (artetxe2019 section 3.1: "excluding duplicates"), nor are those that have the vector of
    another. With `keep_duplicates` they have their pairs, with the score of the first copy. `target` (of 1): the lowest
    threshold at which this share of the pairs is in `gold`, all pairs that are right. `calibration`: see `settled`.
    `languages` are written to TMX. `index`: of faiss, for an approximate search (`neighbours.approximate`). `search`:
    options of `neighbours.search`. Raises InputError for bad input, before the search where that can be.
    """
    started = time.monotonic()
    check_strategy(retrieval)
    mined_pairs.check_output(out, languages)
    margin, threshold, calibration = settled(margin, k, threshold, target, calibration)
    metric, rule = SIMILARITIES[margin]
    log("1 of 4: read")
    texts = _read((src_text, tgt_text), forms, languages, columns, reading)
    truth = read_gold(gold, *texts) if gold else None
    rows, counts = zip(*(searched(text, keep_duplicates) for text in texts), strict=True)
    log("2 of 4: encode")
    (src, tgt), cut = vectors(texts, rows)
    log("3 of 4: search")
    once = distinct(src), distinct(tgt)
    _count_alike(counts, once)
    src, tgt = (side.vectors for side in once)
    both, figures = neighbours_of(src, tgt, k, index, metric=metric, **search)
    mined, pair_counts = mine_pairs(both, rule, retrieval, threshold, once if keep_duplicates else None)
    if not keep_duplicates:
        rows = tuple(side[one.first] for side, one in zip(rows, once, strict=True))
    mined = Mined(rows[0][mined.src], rows[1][mined.tgt], mined.scores)
    reached: dict[str, Any] = {}
    if truth is not None and target is not None:
        mined, reached = at_precision(mined, *texts, truth, target)
        pair_counts |= {"pairs": len(mined.src), "below_threshold": pair_counts["retrieved"] - len(mined.src)}
    log("4 of 4: write")
    mined_pairs.write(out, mined, *texts, languages=languages)
    result = dict(zip(SIDES, counts, strict=True)) | pair_counts | reached | figures | {"cut": cut}
    result |= _run_figures(mined, margin, threshold, calibration, texts, started)
    log(_summary(result, out, texts))
    return result


def _read(
    paths: tuple[Path, Path],
    forms: Sequence[str],
    languages: Sequence[str | None],
    columns: Sequence[Sequence[str]],
    reading: Reading,
) -> tuple[Sentences, Sentences]:
    """Both texts. Two streams are copied first: what writes them may write one after the other."""
    streams = all(map(read_once, paths))
    with scratch() if streams else contextlib.nullcontext(Path()) as folder:
        places = copied(paths, folder) if streams else paths
        src, tgt = (
            sentences.read(
                place,
                side,
                form,
                language=language,
                columns=chosen,
                reading=reading if place == path else reading._replace(name=shown(path)),
            )
            for path, place, side, form, language, chosen in zip(
                paths, places, SIDES, forms, languages, columns, strict=True
            )
        )
    check_sides(src, tgt, languages)
    return src, tgt


def check_sides(src: Sentences, tgt: Sentences, languages: Sequence[str | None]) -> None:
    """Warn of texts that seem to be `swapped`.

    Raises InputError where both texts hold the same sentences: each would find its own copy.
    """
    if src.text == tgt.text:
        remedy = "give a text of each language"
        raise InputError(f"holds the same sentences as {src.name}", tgt.name, remedy=remedy)
    with contextlib.suppress(OSError):  # py3langid unpacks its model to the disk: a full one is met later, or never
        if swapped(src, tgt, languages):
            log(
                f"warning: {src.name} seems to be in {languages[1]}, and {tgt.name} in {languages[0]}; check that the "
                "texts, or --src-language and --tgt-language, are not swapped"
            )


def swapped(src: Sentences, tgt: Sentences, languages: Sequence[str | None]) -> bool:
    """Whether most of some lines of each text are likelier in the language of the other; false for unknown languages."""
    codes = [language and matching(language, known(IDENTIFIER)) for language in languages]
    own, other = map(str, codes)
    if not all(codes) or own == other:
        return False
    shares = (
        np.mean(likelier(_some(text), wrong, right)) for text, wrong, right in ((src, other, own), (tgt, own, other))
    )
    return all(share > 0.5 for share in shares)


def _some(text: Sentences) -> list[str]:
    """Some lines of a text, evenly spaced."""
    return text.text[:: max(1, len(text) // LOOKED_AT)]


def check_language(text: Sentences, encoder: "SentenceEncoder") -> None:
    """Warn of a text that seems to be in a language that the encoder was not trained on, where it says on which."""
    with contextlib.suppress(OSError):  # as in `check_sides`
        languages = getattr(encoder, "languages", ())
        code = most_of([line for line in _some(text) if line.strip()]) if languages else None
        if code and matching(code, languages) is None:
            log(
                f"warning: {text.name} seems to be in {code}, and {encoder.name} was not trained on it; its languages are "
                f"{', '.join(languages)}"
            )


def settled(
    margin: str | None, k: int, threshold: float | None, target: float | None, calibration: "Calibration | None"
) -> tuple[str, float | None, "Calibration | None"]:
    """The margin, the threshold, and the calibration if it is one of this margin and number of neighbours.

    What is not given is that of the calibration; without one, the margin is ratio, and there is no threshold, which the
    log says. Raises InputError for an unknown margin.
    """
    metric_and_margin(margin or "ratio", "margin")
    margin = margin or (calibration.margin if calibration else "ratio")
    if calibration and (margin, k) == (calibration.margin, calibration.k):
        usual = calibration.threshold if target is None else None
        return margin, usual if threshold is None else threshold, calibration
    if threshold is None and target is None:
        log(_unlimited(calibration))
    return margin, threshold, None


def unknown_encoder(margin: str | None) -> None:
    """Say that vectors from files have the margin ratio and no threshold, unless a `margin` is given."""
    if margin is None:
        log(
            "mine: the encoder of these vectors is unknown, so the margin is ratio and there is no default of the "
            f"threshold; for vectors by {', by '.join(f'{name} give {options}' for name, options in USUAL.items())}"
        )


def _unlimited(usual: "Calibration | None") -> str:
    """What a user has to know of a search without a threshold; `usual`: the calibration of the encoder."""
    only = (
        f" (the default, {usual.threshold:.4f}, is for --margin {usual.margin} and -k {usual.k} only)" if usual else ""
    )
    return f"mine: no threshold is set, so every retrieved pair is kept; give --threshold to keep fewer{only}"


Rows = tuple[NDArray[np.int64], ...]
Vectors = Callable[[tuple[Sentences, ...], Rows], tuple[tuple[Embeddings, ...], int]]
"""A function of both texts and the places of the sentences to search, which gives their vectors and how many sentences were cut."""


def from_files(src: Path, tgt: Path) -> Vectors:
    """Vectors of all sentences of both texts, from `.npy` files, which are opened and checked now.

    Raises InputError as `read_pair` does, and later for numbers that differ from those of the texts, and for vectors
    that `bitextbench encode` made of another text.
    """
    both = read_pair(src, tgt)

    def taken(texts: tuple[Sentences, ...], rows: Rows) -> tuple[tuple[Embeddings, ...], int]:
        if [*map(len, texts)] == [*map(len, reversed(both))] != [*map(len, both)]:
            what = f"{len(both[0]):,} vectors, as many as the sentences of the other text"
            raise InputError(what, src, remedy="swap --src-emb and --tgt-emb")
        check_sources(texts, both)
        for text, vectors in zip(texts, both, strict=True):
            check_lengths(text, vectors)
            check_copies(text, vectors)
        return tuple(vectors.select(places) for vectors, places in zip(both, rows, strict=True)), 0

    return taken


def from_encoder(encoder: "SentenceEncoder", languages: Sequence[str | None], folder: Path) -> Vectors:
    """Vectors by an encoder, kept in the cache `folder`. Raises InputError for languages that it does not know."""
    from bitextbench.encoders import cache

    sides = [encoder.side(language, usual=side) for language, side in zip(languages, SIDES, strict=True)]

    def encoded(texts: tuple[Sentences, ...], rows: Rows) -> tuple[tuple[Embeddings, ...], int]:
        for text, language in zip(texts, languages, strict=True):
            if language is None:  # of others `side` has warned
                check_language(text, encoder)
        plain = [
            cache.PlainText(text.name, [text.text[place] for place in places.tolist()], language, side)
            for text, places, language, side in zip(texts, rows, languages, sides, strict=True)
        ]
        encoded = cache.encode(encoder, plain, folder)
        return tuple(one.vectors for one in encoded), sum(one.cut for one in encoded)

    return encoded


def check_sources(texts: Sequence[Sentences], both: Sequence[Embeddings]) -> None:
    """Raises InputError for vectors that were made of another text, where their file says of which; most do not."""
    made_of = [source_of(vectors.name, vectors.array) for vectors in both]  # type: ignore[arg-type]
    for text, other, vectors, source in zip(texts, texts[::-1], both, made_of, strict=True):
        if source == other.digest != text.digest:
            remedy = "swap --src-emb and --tgt-emb"
            raise InputError(f"these are the vectors of {other.name}, not of {text.name}", vectors.name, remedy=remedy)
    for text, vectors, source in zip(texts, both, made_of, strict=True):
        if source and source != text.digest and len(text) == len(vectors):
            what = f"these are not the vectors of {text.name}: the text differs from the one that was encoded"
            raise InputError(what, vectors.name, remedy="encode it again")


def check_copies(text: Sentences, vectors: Embeddings, most: int = 1000) -> None:
    """Warn where copies of a sentence have different vectors: the vectors may be those of another text."""
    first: dict[str, int] = {}
    copies = ((first.setdefault(line, place), place) for place, line in enumerate(text.text) if line.strip())
    pairs = np.array(list(itertools.islice((pair for pair in copies if pair[0] != pair[1]), most)), np.int64)
    if not len(pairs):
        return
    one, other = vectors.take(pairs[:, 0]), vectors.take(pairs[:, 1])
    differ = ~np.isclose(one, other, rtol=0.05, atol=0.05 * np.abs(one).max()).all(axis=1)
    if 2 * differ.sum() > len(pairs):
        a, b = pairs[differ][0] + 1
        log(
            f"warning: {vectors.name}: {differ.sum():,} of {len(pairs):,} repeated sentences have different vectors "
            f"(such as rows {a:,} and {b:,}); check that these are the vectors of {text.name}"
        )


def at_precision(
    mined: Mined, src: Sentences, tgt: Sentences, gold: Gold, target: float
) -> tuple[Mined, dict[str, Any]]:
    """The longest list of pairs, from the best down, whose share in `gold` is the target or more; its threshold and
    figures.

    Ties are taken or left together. Raises InputError where no threshold reaches the target.
    """
    truth = {(src.index[a], tgt.index[b]) for a, b in gold}
    right = np.array([pair in truth for pair in zip(mined.src.tolist(), mined.tgt.tolist(), strict=True)], bool)
    ends = np.flatnonzero(np.append(mined.scores[1:] != mined.scores[:-1], True)[: len(right)])
    precision = np.cumsum(right)[ends] / (ends + 1)
    if not (reached := np.flatnonzero(precision >= target)).size:
        best = f"the best is {precision.max():.3f}" if len(ends) else "there are no pairs"
        raise InputError(f"no threshold reaches a precision of {target}: {best}", remedy="lower --precision-target")
    last = int(ends[reached[-1]])
    figures = {"precision": float(precision[reached[-1]]), "recall": int(right[: last + 1].sum()) / len(truth)}
    return mined.take(np.arange(last + 1)), {"threshold": float(mined.scores[last]), **figures}


def neighbours_of(
    src: Embeddings, tgt: Embeddings, k: int, index: str | None, **search: Any
) -> tuple[Both, dict[str, float]]:
    """The neighbours of both directions; of an approximate search, which share of the true ones it found."""
    if index is None:
        return neighbours.search(src, tgt, k, **search), {}
    both, found = approximate.search(src, tgt, k, index, **search)
    return both, {"neighbours_found": found}


def _run_figures(
    mined: Mined,
    margin: str,
    threshold: float | None,
    calibration: "Calibration | None",
    texts: Sequence[Sentences],
    started: float,
) -> dict[str, Any]:
    seconds = round(time.monotonic() - started, 1)
    given = {} if threshold is None else {"threshold": threshold}
    estimate: dict[str, Any] = {}
    if calibration:
        large = min(map(len, texts)) >= CALIBRATED
        estimate = {"estimated_right": round(calibration.right(mined.scores)) if large else None}
    quartiles = {"margin": margin, "quantiles": quantiles(mined.scores)}
    return given | estimate | quartiles | {"seconds": seconds, "peak_mib": peak()}


def _count_alike(counts: Sequence[dict[str, int]], once: Sequence[Distinct]) -> None:
    """Count the sentences of each side that have the vector of another."""
    for count, side in zip(counts, once, strict=True):
        if alike := len(side.which) - len(side.first):
            count |= {"alike": alike, "searched": len(side.first)}


def quantiles(scores: NDArray[np.float32]) -> list[float]:
    """The minimum, the quartiles and the maximum of some scores; [] for no scores."""
    return [round(float(score), 4) for score in np.quantile(scores, [0, 0.25, 0.5, 0.75, 1])] if len(scores) else []


def lines_of(path: Path | None, side: str, form: tuple[str, str], vectors: Embeddings) -> Any:
    """The lines of a side, one for each vector; None without a text."""
    if path is None:
        return None
    text = sentences.read(path, side, form[side == "tgt"])
    check_lengths(text, vectors)
    return text.text


def check_lengths(text: Sentences, vectors: Embeddings) -> None:
    """Raises InputError when a text and its vectors differ in number."""
    if len(text) != len(vectors):
        raise InputError(
            f"{len(vectors):,} vectors for the {len(text):,} sentences of {text.name}",
            vectors.name,
            remedy="encode this text again",
        )


def searched(text: Sentences, keep_duplicates: bool) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Places of the sentences to search, and counts: in, empty, too_long and bad (if any are), duplicate, searched.

    Raises InputError when no sentence is left.
    """
    full = np.array([place for place, line in enumerate(text.text) if line.strip()], np.int64)
    rows = full if keep_duplicates else full[first_copies(text.text[place] for place in full)]
    if not len(rows):
        raise InputError("has empty lines only", text.name, remedy="give a text with at least one sentence")
    left_out = {name: len(places) for name, places in (("too_long", text.too_long), ("bad", text.bad)) if places}
    empty, duplicate = len(text) - len(full) - sum(left_out.values()), len(full) - len(rows)
    return rows, {"in": len(text), "empty": empty, **left_out, "duplicate": duplicate, "searched": len(rows)}


def _summary(counts: dict[str, Any], out: Path, texts: Sequence[Sentences]) -> str:
    sides = (f"{side} {c['in']:,} sentences ({_dropped(c)})" for side, c in counts.items() if side in SIDES)
    below = f"{counts['below_threshold']:,} below the threshold"
    below = f"{below} of {counts['threshold']:.4f}" if "threshold" in counts else "no threshold"
    lines = [
        f"mine: {', '.join(sides)}; {counts['candidates']:,} candidates ({counts['undefined']:,} undefined), "
        f"{counts['retrieved']:,} retrieved, {below}, {counts['pairs']:,} pairs in {shown(out, output=True)}"
    ]
    if counts["cut"]:
        _, name, longest = max(
            (len(line), one.name, of) for one in texts for of, line in zip(one.ids, one.text, strict=True)
        )
        what = f"have more tokens than the encoder takes, and were cut; the longest is {longest} of {name}"
        lines.append(f"mine: {counts['cut']:,} sentences {what}")
    if counts["quantiles"]:
        lines.append(
            f"mine: {counts['margin']} (least, quartiles, best) " + " ".join(f"{s:.3f}" for s in counts["quantiles"])
        )
    if "estimated_right" in counts:
        estimate = (
            "how many pairs are right is not estimated: the smaller the texts, the higher the scores of wrong pairs, and "
            f"the estimate was measured on texts of {CALIBRATED:,} sentences and more"
            if counts["estimated_right"] is None
            else f"an estimated {counts['estimated_right']:,} of {counts['pairs']:,} pairs are right, if the texts are "
            "unrelated and 3% of the sentences have a translation; fewer if both are about the same events, and none if "
            "no sentence has a translation"
        )
        lines.append(f"mine: {estimate}")
    if "precision" in counts:
        lines.append(f"mine: on the gold pairs, precision {counts['precision']:.3f}, recall {counts['recall']:.3f}")
    if "neighbours_found" in counts:
        lines.append(
            f"mine: approximate search; {counts['neighbours_found']:.1%} of the true neighbours are found, on a sample"
        )
    lines.append(f"mine: {counts['seconds']:,} s, {counts['peak_mib']:,} MiB at most")
    return "\n".join(lines)


def _dropped(counts: dict[str, int]) -> str:
    """The numbers of sentences that are not searched, by reason."""
    reasons = (f"{count:,} {reason.replace('_', ' ')}" for reason, count in counts.items())
    return ", ".join(reason for reason in reasons if not reason.endswith((" in", " searched")))
