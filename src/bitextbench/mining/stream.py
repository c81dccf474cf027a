"""Scores pairs in a stream: one output line per input line, in the same order, with some thousand lines in memory."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow.compute as pc

from bitextbench.base.errors import InputError
from bitextbench.base.memory import peak
from bitextbench.base.outputs import atomic, check_output, scratch
from bitextbench.base.packed import COMPRESSED
from bitextbench.base.pipes import copied, is_dash, read_once, shown, standard_output
from bitextbench.base.progress import count_of, log, progress
from bitextbench.corpus.byte_lines import filled
from bitextbench.formats import bitext, mined_pairs, pairs
from bitextbench.formats.inputs import FORMS
from bitextbench.formats.pairs import Files
from bitextbench.mining.scorers import Scorer, clean_pairs

NO_TEXT = {*FORMS, *COMPRESSED} - {*mined_pairs.PACKERS}  # suffixes
ROWS = 4 * bitext.BLOCK  # pairs in memory; whole blocks, as similarities score by blocks


def score_stream(
    files: Files,
    scorers: Sequence[Scorer],
    out: Path,
    *,
    append: bool,
    clean: Sequence[Path],
    settings: Mapping[str, Any],
) -> None:
    """Write a line for each pair: its scores between tabs; with `append` the pair before them, as it was read.

    `files`: see `formats.pairs`. `out`: a text, packed by its name; `-` is standard output. Pairs with an empty side
    are scored as they are. `clean`: two texts from which similarities of words learn first, by `settings`. Logs the
    counts. Raises InputError for bad input, and for a scorer that has learned nothing.
    """
    started, counts = time.monotonic(), {"pairs": 0, "empty": 0, "cut": 0}
    for scorer in scorers:
        check(scorer, bool(clean))
        if scorer.learns:
            scorer.settings(settings)
    if (clean or settings) and not any(scorer.learns for scorer in scorers):
        raise InputError(
            "no similarity that learns from pairs is given",
            remedy="leave out --clean and --settings, or name a --similarity that does",
        )
    if not is_dash(out):
        if out.suffix in NO_TEXT:
            raise InputError("is not a name of a text", out, remedy="end it in .txt, or packed in .gz, .xz or .zst")
        check_output(out)
    with scratch() as folder, _output(out) as file:
        _learn([scorer for scorer in scorers if scorer.learns], clean, settings, folder)
        files = _at_hand(files, folder)
        for table in progress(
            bitext.of_rows(pairs.read(files, whole=append), ROWS), "score", unit="pairs", size=len, by_bytes=True
        ):
            sides = [table[side] for side in bitext.SIDES]
            empty = [pc.invert(filled(side)) for side in sides]
            columns = [table["line"].to_pylist()] if append else []
            vectors: dict[int, Any] = {}
            for scorer in scorers:
                if scorer.encoder and id(scorer.encoder) not in vectors:
                    *both, cut = scorer.vectors(sides)
                    vectors[id(scorer.encoder)] = tuple(both)
                    counts["cut"] += cut
                vectors_of_pairs = vectors.get(id(scorer.encoder), (None, None))
                columns.append(scorer.score(counts["pairs"], sides, *vectors_of_pairs).astype(str).tolist())
            file.write("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)).encode())
            file.flush()
            counts["pairs"] += len(table)
            counts["empty"] += pc.sum(pc.or_(*empty)).as_py()
    log(
        f"score: {count_of(counts['pairs'], 'pair')}, {counts['empty']:,} with an empty side, "
        f"{count_of(counts['cut'], 'sentence')} cut; "
        f"{round(time.monotonic() - started, 1):,} s, {peak():,} MiB at most"
    )


def check(scorer: Scorer, clean: bool) -> None:
    """Raises InputError for a scorer that needs the whole crawl at once, and for one that is not fitted and has no
    `clean` text to learn from.
    """
    if scorer.fit == "neighbourhoods":
        remedy = "use `bitextbench filter --threshold -inf`"
        raise InputError(f"{scorer.name} compares a pair with the whole crawl", "--similarity", remedy=remedy)
    if scorer.learns and not (clean and scorer.fit == "tokens"):
        remedy = (
            "give --clean A B, or"
            if scorer.fit == "tokens"
            else "fit it by `bitextbench filter --clean --save-scorer`, or give"
        )
        raise InputError(f"{scorer.name} is not fitted yet", "--similarity", remedy=f"{remedy} a fitted --scorer")


def _learn(scorers: Sequence[Scorer], clean: Sequence[Path], settings: Mapping[str, Any], scratch: Path) -> None:
    good = clean_pairs(clean, scorers[0].languages) if scorers else None
    for number, scorer in enumerate(scorers):
        scorer.fit_words(good, settings, scratch / f"{number}.npz")


@contextlib.contextmanager
def _output(path: Path) -> Iterator[IO[bytes]]:
    if is_dash(path):
        with standard_output() as stream:
            yield stream
        return
    with (
        atomic(path) as part,
        mined_pairs.PACKERS[path.suffix if path.suffix in mined_pairs.PACKERS else ""](part) as file,
    ):
        yield file


def _at_hand(files: Files, folder: Path) -> Files:
    """Two streams are copied to `folder` first: what writes them may write one after the other."""
    held = {key: Path(files[key]) for key in bitext.SIDES if key in files}
    if sum(map(read_once, held.values())) < 2:
        return files
    copies = zip(held, copied([*held.values()], folder), strict=True)
    return {
        **files,
        **{key: str(copy) for key, copy in copies},
        "names": {key: shown(path) for key, path in held.items()},
    }
