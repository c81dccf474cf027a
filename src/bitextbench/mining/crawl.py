"""Filters a crawl of given pairs: drops pairs by rules, drops copies, scores the rest, and keeps the best.

The steps are the workflow's (`corpus.build`, `scoring`), so that the scores have the same bytes. Every pair keeps the
number of its line.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.base.errors import InputError
from bitextbench.base.files import cache_folder
from bitextbench.base.languages import spaced
from bitextbench.base.memory import peak
from bitextbench.base.outputs import check_output, scratch
from bitextbench.base.pipes import copied, is_dash, shown, state, written
from bitextbench.base.progress import count_of, log
from bitextbench.corpus import parts
from bitextbench.corpus.build import build
from bitextbench.corpus.byte_lines import Lines, filled
from bitextbench.corpus.prefilter import RULES as ALL_RULES
from bitextbench.corpus.prefilter import check_rules, prefilter, unidentified
from bitextbench.formats import bitext, mined_pairs, pairs
from bitextbench.formats.pairs import Files
from bitextbench.formats.vectors import read
from bitextbench.mining.scorers import ROWS, Scorer, by_blocks, clean_pairs
from bitextbench.scoring import similarity
from bitextbench.scoring.select import Scored, count_words, cutoff

RULES: dict[str, Any] = {
    "min_longer": 3,
    "max_tokens": 80,
    "max_ratio": 2.0,
    "max_overlap": 0.5,
    "language": "py3langid",
}
"""artetxe2019 section 4.3, but that one of the two sides may have fewer than 3 words."""

Languages = tuple[str, str]


def usual_rules(languages: Languages) -> dict[str, Any]:
    """RULES; without `language`, which the log says, where py3langid does not know one of the languages."""
    if unknown := unidentified(RULES["language"], languages):
        log(f"filter: {RULES['language']} cannot identify {' and '.join(unknown)}; the rule `language` is left out")
    return {rule: value for rule, value in RULES.items() if rule != "language" or not unknown}


class Limit(NamedTuple):
    """How many pairs to keep, by exactly one of the fields.

    `words`: on the target side, as in the WMT18 task; `share`: of the scored pairs.
    """

    words: int | None = None
    pairs: int | None = None
    share: float | None = None
    threshold: float | None = None


class Lesson(NamedTuple):
    """How to fit a scorer that learns: on `clean`, two texts aligned by line, with `settings`; the result goes to
    `save`.
    """

    clean: Sequence[Path]
    settings: Mapping[str, Any]
    save: Path | None


ALL = Limit()


def check_lesson(scorer: Scorer | None, lesson: Lesson) -> None:
    """Raises InputError for a scorer that learns without clean text, and for clean text that no scorer needs."""
    if scorer is None:
        if lesson.settings or lesson.clean or lesson.save:
            remedy = "give a --similarity, or leave out --settings, --clean and --save-scorer"
            raise InputError("no similarity that learns from pairs is given", remedy=remedy)
        return
    scorer.settings(lesson.settings)
    if lesson.settings and not scorer.learns and scorer.fit != "neighbourhoods":
        raise InputError(f"{scorer.name} is not trained here", remedy="leave out --settings")
    if scorer.learns and not lesson.clean:
        raise InputError(
            f"{scorer.name} has to learn from clean pairs", remedy="give --clean A B, or a fitted --scorer"
        )
    if lesson.clean and not scorer.learns:
        raise InputError(f"{scorer.name} is not trained on clean pairs", remedy="leave out --clean")
    if lesson.save and not scorer.learns:
        raise InputError("there is no new scorer to save", remedy="leave out --save-scorer")


def check_limit(limit: Limit, *, scored: bool) -> None:
    """Raises InputError unless pairs that are scored have exactly one limit, and others none."""
    given = [key for key, value in limit._asdict().items() if value is not None]
    if not scored and given:
        raise InputError(f"--{given[0]} needs a score", remedy=f"give a --similarity, or leave out --{given[0]}")
    if scored and len(given) != 1:
        what = f"both --{' and --'.join(given)} are given" if given else "no option says how much to keep"
        raise InputError(what, remedy="give exactly one of --words, --pairs, --share, --threshold")


def filter_crawl(
    files: Files,
    languages: Languages,
    out: Path,
    *,
    rules: Mapping[str, Any] | None,
    load: Callable[[], Scorer] | None,
    limit: Limit,
    lesson: Lesson,
    explain: Path | None,
    folder: Path | None,
    **search: Any,
) -> None:
    """Write the best pairs (`limit`) of a crawl that pass the rules, once each, in the order of lines.

    `files`: see `formats.pairs`. `rules`: `usual_rules` if none are given. `load`: gives the scorer, with its encoder,
    once all else is checked. `out`: score (0 without a scorer, as readers want a number), the number of the line twice, or the id, and both
    sentences (`mined_pairs.write`). `explain`: `number<TAB>what became of it<TAB>score` for each line of the crawl.
    `folder`: cache of vectors; `search`: of `neighbours.search`. Memory: ROWS texts, scores, and what margins take.

    Logs the counts: in = kept + below + dropped, by reason. Raises InputError for bad input.
    """
    check_limit(limit, scored=load is not None)
    _check_outputs(languages, out, explain, lesson.save)
    rules = usual_rules(languages) if rules is None else rules
    check_rules(rules, languages)
    scorer = load() if load else None
    check_lesson(scorer, lesson)
    started = time.monotonic()
    with scratch(None if is_dash(out) else out) as temporary:
        files = _at_hand(files, languages, temporary)
        before = _states(files)
        spec = {"parts": [{"files": files, "doc": "line"}], "filter": dict(rules), "deduplicate": True}
        corpus = temporary / "corpus"
        counts = build("crawl", spec, languages, temporary, {}, corpus, seed=1, threads=search.get("threads"))
        files, n = {**files, "quiet": True}, counts["out"]
        scores = np.zeros(n, np.float32)
        if scorer and n:
            scores = _scores(scorer, corpus, n, lesson, folder or cache_folder(), search)
        elif scorer and lesson.save:
            _learn_alone(scorer, lesson, temporary / "scorer.npz")
        cut = _cut(scores, corpus, limit, languages[1])
        keep = np.ones(n, bool) if cut is None else scores >= np.float32(cut)
        numbers = _numbers(corpus)
        kept = _kept(corpus, scores, keep, _ids(files, numbers[keep]))
        _check_unchanged(files, before)
        mined_pairs.write_blocks(out, kept, languages=languages)
        if explain:
            _explain(explain, files, before, languages, rules, numbers, keep, scores)
        if scorer and scorer.model and lesson.save:
            scorer.save(lesson.save)
    log(_summary(counts, keep, cut, limit, out, time.monotonic() - started))


def _check_outputs(languages: Languages, out: Path, explain: Path | None, save: Path | None) -> None:
    for path in filter(None, (out, explain)):
        mined_pairs.check_output(path, languages)
    if explain and mined_pairs.form_of(explain)[0] != ".tsv":
        raise InputError("is not a name of TSV, which --explain writes", explain, remedy="end it in .tsv or .tsv.gz")
    if save:
        check_output(save)


def _at_hand(files: Files, languages: Languages, folder: Path) -> Files:
    """The files as `formats.pairs` takes them, for two passes: what can be read once is copied to `folder` first."""
    held = {key: Path(files[key]) for key in pairs.TEXTS if key in files}
    copies = dict(zip(held, copied([*held.values()], folder), strict=True))
    given = {key: shown(path) for key, path in held.items() if copies[key] != path}
    return {"languages": languages, **files, **{key: str(path) for key, path in copies.items()}, "names": given}


def _states(files: Files) -> dict[str, Any]:
    """What changes when one of the texts is written to."""
    return {files[key]: state(Path(files[key])) for key in pairs.TEXTS if key in files}


def _check_unchanged(files: Files, before: Mapping[str, Any]) -> None:
    """Raises InputError for a text that was written to between two passes."""
    for path, was in before.items():
        if _states(files)[path] != was:
            raise InputError(
                "has changed while it was read", path, remedy="run the command again when the file is complete"
            )


def _texts(corpus: Path, columns: Sequence[str] = bitext.SIDES) -> Iterator[pa.Table]:
    """Columns of the pairs that passed, ROWS at a time."""
    return bitext.of_rows(bitext.read_batches(corpus, [*columns]), ROWS)


def _scores(
    scorer: Scorer, corpus: Path, n: int, lesson: Lesson, folder: Path, search: Mapping[str, Any]
) -> NDArray[np.float32]:
    """The scores of all pairs [n]; fits the scorer first, if it learns."""
    made = corpus.parent / "scorer.npz"
    clean = clean_pairs(lesson.clean, scorer.languages) if scorer.learns else None
    if "vectors" not in scorer.needs:
        if clean is not None:
            scorer.fit_words(clean, lesson.settings, made)
        tables, starts = _texts(corpus), range(0, n, ROWS)
        blocks = (scorer.score(at, [table["src"], table["tgt"]]) for at, table in zip(starts, tables, strict=True))
        return np.concatenate([*blocks])
    paths = scorer.stored(_texts(corpus), n, corpus.parent / "pool", folder)
    vectors = [*map(read, paths)]
    if scorer.fit == "neighbourhoods":
        similarity(scorer.name).fit(*vectors, scorer.settings(lesson.settings), made, **search)
        scorer.model = made
    elif clean is not None:
        scorer.fit_vectors(clean, paths, lesson.settings, made, folder)
    return by_blocks(scorer, vectors, _texts(corpus) if "tokens" in scorer.needs else None)


def _learn_alone(scorer: Scorer, lesson: Lesson, made: Path) -> None:
    """Fit a scorer where no pair is left to score. Raises InputError for one whose bad examples are pairs of the crawl."""
    if "vectors" in scorer.needs:
        what = f"no pair is left, but {scorer.name} needs some as bad examples"
        raise InputError(what, "--save-scorer", remedy="loosen --rules, or leave it out")
    scorer.fit_words(clean_pairs(lesson.clean, scorer.languages), lesson.settings, made)


def _words(text: pa.ChunkedArray, language: str) -> NDArray[np.int64]:
    """The words of each line [n] as the WMT18 task counts them; of a language without spaces, lengths in words, at least 1."""
    if spaced(language):
        return count_words(text)
    return np.maximum(1, np.rint(Lines(text.combine_chunks(), language).in_words)).astype(np.int64)


def _cut(scores: NDArray[np.float32], corpus: Path, limit: Limit, language: str) -> float | None:
    """The lowest score to keep; None for all."""
    if limit.threshold is not None:
        return limit.threshold
    if limit.words is not None:
        blocks = [_words(table["tgt"], language) for table in _texts(corpus, ["tgt"])]
        words = np.concatenate([np.empty(0, np.int64), *blocks])
        if words.sum() < limit.words:
            log(f"filter: --words asks for {limit.words:,}, but only {words.sum():,} were left")
        return cutoff([Scored(scores, words)], limit.words)
    most = limit.pairs if limit.share is None else max(1, round(limit.share * len(scores)))
    return None if most is None else cutoff([Scored(scores, np.ones(len(scores), np.int64))], most - 1)


def _numbers(corpus: Path) -> NDArray[np.int64]:
    """The line of each pair that passed [n]."""
    blocks = [pc.cast(table["doc"], pa.int64()).to_numpy() for table in _texts(corpus, ["doc"])]
    return np.concatenate([np.empty(0, np.int64), *blocks])


def _ids(files: Files, numbers: NDArray[np.int64]) -> pa.ChunkedArray:
    """The ids of the pairs in these lines, ascending: the crawl's own, or the numbers."""
    parts, done = [], 0
    for table in pairs.read(files) if "pairs" in files else ():
        if "id" not in table.column_names:
            break
        first, last = np.searchsorted(numbers, [done + 1, done + len(table) + 1])
        parts.append(table["id"].take(pa.array(numbers[first:last] - done - 1)))
        done += len(table)
    else:
        if parts:
            return pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())
    return pa.chunked_array([pa.array(numbers).cast(pa.string())])


def _kept(
    corpus: Path, scores: NDArray[np.float32], keep: NDArray[np.bool_], ids: pa.ChunkedArray
) -> Iterator[tuple[Any, ...]]:
    start = done = 0
    for table in _texts(corpus):
        here = slice(start, start + len(table))
        kept = table.filter(pa.array(keep[here]))
        names = ids.slice(done, len(kept))
        yield scores[here][keep[here]], names, names, kept["src"], kept["tgt"]
        start, done = start + len(table), done + len(kept)


def _explain(
    path: Path,
    files: Files,
    before: Mapping[str, Any],
    languages: Languages,
    rules: Mapping[str, Any],
    numbers: NDArray[np.int64],
    keep: NDArray[np.bool_],
    scores: NDArray[np.float32],
) -> None:
    """Write what became of each line: kept, below, or the reason for which it was dropped."""
    names, done = [*ALL_RULES], 0
    with written(path) as part, mined_pairs.PACKERS[mined_pairs.form_of(path)[1]](part) as file:
        for table in parts.read({"files": files}, languages, Path(), 0):
            both = pc.and_(*(filled(table[side]) for side in bitext.SIDES)).to_pylist()
            why = prefilter(table, rules, languages).why.tolist()
            fates = [
                "empty" if not full else names[rule] if rule >= 0 else "duplicate"
                for full, rule in zip(both, why, strict=True)
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
        _check_unchanged(files, before)


def _summary(
    counts: Mapping[str, Any], keep: NDArray[np.bool_], cut: float | None, limit: Limit, out: Path, seconds: float
) -> str:
    """The lines of the log that say what came out; `counts`: those of the corpus of pairs that passed the rules."""
    dropped, passed, kept = Counter(counts["dropped"]), len(keep), int(keep.sum())
    reasons = "".join(f", {number:,} {reason}" for reason, number in dropped.most_common())
    below = f", {passed - kept:,} below the score {cut:.4f}" if kept < passed else ""
    once = " and are no copies" if dropped["duplicate"] else ""
    lines = [
        f"filter: {count_of(counts['in'], 'pair')}{reasons}{below}; {kept:,} of the {passed:,} that passed the "
        f"rules{once} are kept in {shown(out, output=True)}"
    ]
    if limit.pairs and passed < limit.pairs:
        lines.append(f"filter: --pairs asks for {limit.pairs:,}, but only {count_of(passed, 'was', 'were')} left")
    if 2 * (wrong := dropped["language"]) > counts["in"]:
        lines.append(
            f"warning: the rule `language` dropped {wrong:,} of {count_of(counts['in'], 'pair')}; check that --src-language and "
            "--tgt-language are those of the texts, and are not swapped"
        )
    if 2 * (same := dropped["max_overlap"]) > counts["in"]:
        lines.append(
            f"warning: the rule `max_overlap` dropped {same:,} of {count_of(counts['in'], 'pair')}; check that both sides are not "
            "the same text, or in one language"
        )
    return "\n".join([*lines, f"filter: {round(seconds, 1):,} s, {peak():,} MiB at most"])
