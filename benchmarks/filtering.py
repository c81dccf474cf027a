"""A generated crawl from two text files to selections: speed, memory, a plain per-line Python of the same rules, and
OpusFilter.

    python benchmarks/filtering.py --lines 1000000,10000000 --scores 100000000 -o filtering.csv --plot filtering.png

The crawl is made of generated sentences with noise, repeated with another number at the end of each: a pair stands
there 1.6 times on average, a tenth of the pairs are copies of one side. Each size runs in a process of its own, on one
thread. Columns of the CSV:

| column | meaning |
|---|---|
| work, size | a run of all steps, the comparison with plain Python, or the cut-off of scores; and its lines |
| lines, step | how many lines came to this step; "rule ..." is one rule of the pre-filter, "plain ..." the same as plain Python |
| cpu_s, lines_per_s | processor time of all threads, and lines by it: per core |
| peak_mib | the most memory that the process held during this step |
| speedup | processor time of the plain version by that of ours, on the same lines, by turns, with the same outcome |

"crawl to ..." is the sum of the steps of a way: rules alone; with language; from there to a selection by Zipporah, or
by the cosine of vectors, the encoding of which is `benchmarks/encoders.py`'s. What is learned on a sample (BPE,
Zipporah) is not counted. `--opusfilter` runs OpusFilter, from an environment of its own (`pip install opusfilter
"py3langid<0.4"`), from text to text: length, ratio of lengths, letters, copies, then with language by the same model;
its start is counted, `max_overlap` is left out. Tokens are of both sides: twice the sentences.

`--lines 200000 --sample 0 --opusfilter PROGRAM`, OpusFilter 3.3.1 on its first 100,000 lines, one run on two cores with a
load of seven: lines by second of processor time

| way | ours | OpusFilter | times |
|---|---|---|---|
| rules and copies | 344,000 | 15,800 | 21.8 |
| with language | 102,000 | 3,230 | 31.5 |

Shares of the steps in `--lines 200000 --sample 0`, before Arrow arrays went through all of it and now (one run each, the
machine busy with other work):

| way | lines/s | read | pre-filter | deduplicate | write | language | tokens | Zipporah | select |
|---|---|---|---|---|---|---|---|---|---|
| rules, before | 134,000 | 14% | 25% | 50% | 11% | | | | |
| now | 344,000 | 10% | 24% | 45% | 21% | | | | |
| with language, before | 40,600 | 4% | 8% | 15% | 3% | 70% | | | |
| now | 102,000 | 3% | 7% | 13% | 6% | 70% | | | |
| Zipporah's selection, before | 22,900 | 2% | 4% | 9% | 2% | 39% | 8% | 33% | 3% |
| now (48,900 to 58,100 in three runs) | 48,900 | 1% | 3% | 6% | 3% | 34% | 17% | 30% | 5% |

`bitextbench filter` of 10,000,000 lines by its own rules (language too, copies): 120 s of processor time, 202 s on two
busy cores, 1,130 MiB.

`select` reads the corpus twice and writes what it takes. Peaks hold the interpreter and its libraries, about 140 MiB,
too. A plain set is quicker than `deduplicate` as long as it fits in memory.

`--lines 1000000,10000000 --scores 100000000` on an idle machine; microseconds a pair of 127 bytes and 22 tokens
(language: a line), the quickest of 7:

| rule | ours | plain | times |
|---|---|---|---|
| min_tokens | 0.10 | 0.99 | 10.3 |
| max_tokens | 0.10 | 1.01 | 10.1 |
| max_ratio | 0.10 | 1.25 | 12.2 |
| letters | 0.15 | 10.06 | 67.5 |
| max_overlap | 0.25 | 2.90 | 11.6 |
| max_chars | 0.01 | 0.07 | 7.9 |
| different | 0.16 | 1.45 | 9.2 |
| max_repeats | 0.19 | 1.46 | 7.7 |
| language (py3langid) | 2.35 | 20.42 | 8.7 |
| RULES less letters, a line split once | 0.25 | 2.94 | 11.5 |
| RULES, the same | 0.35 | 12.32 | 35.3 |

Floors. Of the time to count tokens a third is the mask of white space, a third the bits of starts and their counts, a
third calls. max_overlap and max_repeats hash each token: as much again. max_chars does not look at the text of a line
that has not too many bytes; len() of a string does not either. language waits for memory: its automaton is a table of
39 MB.

1,000,000 lines take 3.1 s of a core and 412 MiB, 10,000,000 lines 27.9 s and 452 MiB (less making the crawl):
pre-filter 2,500,000 lines/s, deduplicate 1,090,000, select 630,000; no step grows faster than lines^1.07. The cut-off
of 100,000,000 scores takes 1.6 s and 185 MiB.
"""

import contextlib
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from bitextbench.base.memory import keep_freed
from bitextbench.base.progress import log, progress
from bitextbench.corpus import parts
from bitextbench.corpus.deduplicate import Deduplicator
from bitextbench.corpus.language_id import identify
from bitextbench.corpus.noise import add_noise
from bitextbench.corpus.prefilter import WEB, prefilter
from bitextbench.data import synth
from bitextbench.formats import bitext
from bitextbench.formats.bitext import PARALLEL, SIDES
from bitextbench.scoring import Pairs, Text
from bitextbench.scoring.score import read_text
from bitextbench.scoring.select import Scored, cutoff, select
from bitextbench.scoring.similarities import cosine, zipporah
from bitextbench.text import moses, ngrams
from bitextbench.text.bpe import learn_bpe
from bitextbench.text.features import encode_shard
from bitextbench.text.tokens import tokenize_shard

PAIR = ("de", "en")
RULES = {  # config.yaml's, less the language
    "min_tokens": 3,
    "max_tokens": 80,
    "max_ratio": 2.0,
    "letters": 0.5,
    "max_overlap": 0.5,
}
MORE_RULES: dict[str, Any] = {"max_chars": 1000, "different": True, "max_repeats": 3}  # vectorised as well; timed alone
BASE = 30_000  # generated pairs
CHUNK = 100_000  # lines at a time
SHARDS = 4
MEMORY = 256  # MiB for sorting digests
LIMIT = 2048  # MiB
LANGUAGE = {"language": "py3langid"}
OPUS_LANGUAGE = [{"LangidFilter": {"languages": [*PAIR], "langid_languages": sorted({*PAIR, *WEB})}}]
OPUS_LINES = 100_000
VOCABULARY, LESSON = 8000, 20_000  # pieces or words; pairs that are learned from
DIMENSION = 128  # of vectors
RULES_ALONE = ("read", "pre-filter", "deduplicate", "write")
WITH_LANGUAGE = (*RULES_ALONE, "language")
WAYS = {
    "crawl to rules": RULES_ALONE,
    "crawl to rules and language": WITH_LANGUAGE,
    "crawl to Zipporah's selection": (*WITH_LANGUAGE, "tokens", "score by Zipporah", "select by zipporah"),
    "crawl to cosine's selection (less encoding)": (*WITH_LANGUAGE, "score by cosine", "select by cosine"),
}
REPEATS = 7  # of what is compared on a sample; the quickest counts


def base() -> pa.Table:
    """Generated pairs with the noise of a crawl."""
    rows = [(src, tgt, doc, PARALLEL) for doc, (src, tgt) in islice(synth.sentences("crawl", PAIR, 1), BASE)]
    columns = (pa.array(column, pa.string()) for column in zip(*rows, strict=True))
    proportions = {"misaligned": 0.3, "copy": 0.1, "wrong_language": 0.1, "partial": 0.1, "garbled": 0.05, "boilerplate": 0.1}  # fmt: skip
    return add_noise(pa.table([*columns], ["src", "tgt", "doc", "label"]), proportions, 1, PAIR)


def crawl(lines: int, seed: int) -> Iterator[pa.Table]:
    """Repetitions of the base, CHUNK rows at a time: pair k is row k of the base, cyclically, with the number k behind
    it.
    """
    rows, rng = base(), np.random.default_rng(seed)
    for start in range(0, lines, CHUNK):
        keys = rng.integers(0, lines, min(CHUNK, lines - start))
        table, number = rows.take(keys % len(rows)), pa.array(keys).cast(pa.string())
        for place, side in enumerate(("src", "tgt")):
            varied = pc.binary_join_element_wise(table[side], number, " ")
            table = table.set_column(place, side, varied)
        yield table


# ---- a plain version of the same rules, a line at a time


def plain_letters(text: str, least: float) -> bool:
    visible = [char for char in text if not char.isspace()]
    return sum(unicodedata.category(char)[0] in "LM" for char in visible) >= least * len(visible)


def plain_overlap(src: str, tgt: str, limit: float) -> bool:
    a, b = set(src.split()), set(tgt.split())
    return len(a & b) < limit * max(1, min(len(a), len(b)))


def plain_ratio(src: str, tgt: str, most: float) -> bool:
    a, b = len(src.split()), len(tgt.split())
    return max(a, b) <= most * min(a, b)


def plain_different(src: str, tgt: str, wanted: bool) -> bool:
    return not wanted or "".join(src.lower().split()) != "".join(tgt.lower().split())


def plain_repeats(text: str, most: int) -> bool:
    run, last = 0, None
    for token in text.split():
        run = run + 1 if token == last else 1
        if run > most:
            return False
        last = token
    return True


PLAIN: dict[str, Callable[[str, str, Any], bool]] = {
    "max_chars": lambda src, tgt, value: len(src) <= value and len(tgt) <= value,
    "min_tokens": lambda src, tgt, value: len(src.split()) >= value and len(tgt.split()) >= value,
    "max_tokens": lambda src, tgt, value: len(src.split()) <= value and len(tgt.split()) <= value,
    "max_ratio": plain_ratio,
    "different": plain_different,
    "letters": lambda src, tgt, value: plain_letters(src, value) and plain_letters(tgt, value),
    "max_repeats": lambda src, tgt, value: plain_repeats(src, value) and plain_repeats(tgt, value),
    "max_overlap": plain_overlap,
}


def plain_once(src: str, tgt: str, rules: dict[str, Any]) -> bool:
    """The rules as a careful program has them: each line split once, and the first rule that fails ends it."""
    a, b = src.split(), tgt.split()
    if not (
        rules["min_tokens"] <= len(a) <= rules["max_tokens"] and rules["min_tokens"] <= len(b) <= rules["max_tokens"]
    ):
        return False
    if max(len(a), len(b)) > rules["max_ratio"] * min(len(a), len(b)):
        return False
    if rules.get("letters") and not (plain_letters(src, rules["letters"]) and plain_letters(tgt, rules["letters"])):
        return False
    c, d = set(a), set(b)
    return len(c & d) < rules["max_overlap"] * max(1, min(len(c), len(d)))


def plain_cutoff(scores: list[float], words: list[int], budget: int) -> float | None:
    """The WMT18 rule on lists."""
    sums: dict[float, int] = {}
    for score, count in zip(scores, words, strict=True):
        sums[score] = sums.get(score, 0) + count
    running = 0
    for score in sorted(sums, reverse=True):
        running += sums[score]
        if running > budget:
            return score
    return None


# ---- what is measured


def peak() -> float:
    """The most memory, in MiB, that this process has held since the last call, where Linux lets it forget that."""
    text = Path("/proc/self/status").read_text()
    most = next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")) / 1024
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return most


class Clock:
    """Processor time and peak memory by step, of work that comes in pieces."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.skip()

    def __call__(self, step: str, lines: int) -> None:
        """What was done since the last call belongs to `step`."""
        row = self.rows.setdefault(step, {"step": step, "lines": 0, "cpu_s": 0.0, "peak_mib": 0.0})
        row["lines"] += lines
        row["cpu_s"] += time.process_time() - self.last
        row["peak_mib"] = max(row["peak_mib"], round(peak(), 1))
        self.last = time.process_time()

    def skip(self) -> None:
        """What was done since the last call belongs to no step."""
        peak()
        self.last = time.process_time()


def run(lines: int, folder: Path) -> list[dict[str, Any]]:
    """Every step on a crawl of so many lines, from two text files to selections, in this process."""
    single_thread()
    clock, names = Clock(), dict(zip(SIDES, PAIR, strict=True))
    with contextlib.ExitStack() as stack:
        files = {side: stack.enter_context(open(folder / f"crawl.{code}", "wb")) for side, code in names.items()}
        for table in progress(crawl(lines, seed=1), "make the crawl", total=-(-lines // CHUNK), unit="batches"):
            for side, file in files.items():
                file.write(("\n".join(table[side].to_pylist()) + "\n").encode())
    part = {"files": {side: str(folder / f"crawl.{code}") for side, code in names.items()}}
    copies, passed_lines = Deduplicator(folder / "scratch", MEMORY << 20), 0
    warm(folder, part)
    clock.skip()
    for table in progress(parts.read(part, PAIR, folder, 0), "filter", total=lines, unit="lines", size=len):
        clock("read", len(table))
        passed = prefilter(table, RULES, PAIR).passed
        clock("pre-filter", len(table))
        passed &= prefilter(table, LANGUAGE, PAIR).passed
        clock("language", len(table))
        copies.add(table, passed)
        clock("deduplicate", len(table))
        passed_lines += int(passed.sum())

    def unique() -> Iterator[pa.Table]:
        for table in copies.tables():
            clock("deduplicate", 0)
            yield table
            clock("write", len(table))

    corpus = folder / "corpus"
    kept = bitext.write_shards(corpus, unique(), SHARDS)
    clock("write", 0)
    log(f"{lines:,} lines: {passed_lines:,} pass, {kept:,} are no copies")
    score_and_select(corpus, folder, clock)
    return [*clock.rows.values(), *(whole(name, steps, lines, clock) for name, steps in WAYS.items())]


def score_and_select(corpus: Path, folder: Path, clock: Clock) -> None:
    """Tokens, ids, scores and selections of a corpus. What is learned first takes as long for any crawl, and is not
    counted.
    """
    tokens, scores = folder / "tokens", {name: folder / name for name in ("zipporah", "cosine")}
    for path in (tokens, *scores.values()):
        path.mkdir()
    shards = bitext.shard_paths(corpus)
    for path in shards:
        tokenize_shard(path, PAIR, tokens / path.name)
        clock("tokens", pq.read_metadata(path).num_rows)
    learn_bpe([tokens], VOCABULARY, LESSON, 1, folder / "bpe.model")
    features = {"type": "ngrams", "vocab": VOCABULARY, "oov": 1000, "buckets": 200_000, "shortest": 3, "longest": 6}
    ngrams.learn([tokens], features, folder / "ngrams.json")
    lesson, good = (
        Text(*(side.slice(0, n) for side in read_text(tokens / shards[0].name))) for n in (LESSON, LESSON // 10)
    )
    zipporah.fit(lesson, good, {}, 1, folder / "zipporah.npz")
    rng = np.random.default_rng(1)
    for path in shards:
        ids = bitext.read_shard(path, ["id"])["id"].to_numpy()
        clock.skip()
        encode_shard(tokens / path.name, folder / "bpe.model", folder / "ids", lowercase=True)
        clock("ids (BPE)", len(ids))
        encode_shard(tokens / path.name, folder / "ngrams.json", folder / "ids", lowercase=True)
        clock("ids (n-grams)", len(ids))
        text = Pairs(ids, tokens=read_text(tokens / path.name, ids))
        np.save(scores["zipporah"] / path.stem, zipporah.score(text, folder / "zipporah.npz"))
        clock("score by Zipporah", len(ids))
        found = np.empty(len(ids), np.float32)
        for start in range(0, len(ids), CHUNK):
            block = ids[start : start + CHUNK]
            vectors = [rng.standard_normal((len(block), DIMENSION), np.float32) for _ in SIDES]
            clock.skip()
            found[start : start + CHUNK] = cosine.score(Pairs(block, *vectors))
            clock("score by cosine", len(block))
        np.save(scores["cosine"] / path.stem, found)
        clock.skip()
    rows = clock.rows["tokens"]["lines"]
    for name, texts in (("zipporah", tokens), ("cosine", corpus)):  # cosine needs no tokens
        paths = [scores[name] / f"{path.stem}.npy" for path in shards]
        select(name, "third", rows * 5, corpus, texts, paths, PAIR, "tgt", folder / f"selected by {name}")
        clock(f"select by {name}", rows)


def whole(name: str, steps: Sequence[str], lines: int, clock: Clock) -> dict[str, Any]:
    """From the crawl to the selection."""
    rows = [clock.rows[step] for step in steps]
    cpu, peak_mib = sum(row["cpu_s"] for row in rows), max(row["peak_mib"] for row in rows)
    shares = ", ".join(f"{row['step']} {row['cpu_s'] / cpu:.0%}" for row in rows)
    log(f"{name}: {lines / cpu:,.0f} lines/s; {shares}")
    return {"step": name, "lines": lines, "cpu_s": cpu, "peak_mib": peak_mib}


def warm(folder: Path, part: dict[str, Any]) -> None:
    """Load what is compiled, and the model of languages: that takes seconds once, for any crawl.

    Lines are those of the text itself: code is compiled for each kind of array that it meets.
    """
    table = next(parts.read(part, PAIR, folder, 0))
    prefilter(table, RULES | LANGUAGE, PAIR)
    Deduplicator(folder / "warm").add(table, np.ones(len(table), bool))
    for side, code in zip(SIDES, PAIR, strict=True):
        tokens = moses.tokens(table[side], code)
        ngrams.Ngrams([], 10, 10, 3, 6).ids(tokens)


def opusfilter(lines: int, folder: Path, program: str) -> list[dict[str, Any]]:
    """OpusFilter on the same text, from text to text: its rules that are nearest to RULES, language, and copies."""
    for side, code in zip(SIDES, PAIR, strict=True):
        with open(folder / f"crawl.{code}", "w", encoding="utf-8") as file:
            for table in crawl(lines, seed=1):
                file.write("\n".join(table[side].to_pylist()) + "\n")
    names = lambda stem: [f"{stem}.{code}" for code in PAIR]  # noqa: E731
    rules: list[dict[str, Any]] = [
        {"LengthFilter": {"min_length": RULES["min_tokens"], "max_length": RULES["max_tokens"], "unit": "word"}},
        {"LengthRatioFilter": {"threshold": RULES["max_ratio"], "unit": "word"}},
        {"AlphabetRatioFilter": {"threshold": RULES["letters"], "exclude_whitespace": True}},
    ]
    rows = []
    for name, more in (("OpusFilter: rules", []), ("OpusFilter: rules and language", OPUS_LANGUAGE)):
        steps = [
            {
                "type": "filter",
                "parameters": {"inputs": names("crawl"), "outputs": names("kept"), "filters": [*rules, *more]},
            },
            {"type": "remove_duplicates", "parameters": {"inputs": names("kept"), "outputs": names("out")}},
        ]
        settings = folder / "opusfilter.yaml"
        settings.write_text(json.dumps({"common": {"output_directory": str(folder)}, "steps": steps}))  # JSON is YAML
        before = cpu_of_children()
        subprocess.run([program, "--overwrite", str(settings)], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        rows.append({"step": name, "lines": lines, "cpu_s": cpu_of_children() - before})
    return rows


def cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def single_thread() -> None:
    keep_freed()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def compare(lines: int) -> list[dict[str, Any]]:
    """Rules, deduplication, cut-off and language of ours and of the plain version, on the same lines."""
    single_thread()
    table = next(crawl(CHUNK, seed=2)).slice(0, lines)
    src, tgt = (table[side].to_pylist() for side in ("src", "tgt"))
    rows: list[dict[str, Any]] = []

    def both(name: str, n: int, ours: Callable[[], Any], plain: Callable[[], Any]) -> None:
        times: list[tuple[float, ...]] = []
        for _ in range(REPEATS):  # by turns: other work on the machine slows both
            start, mine = time.process_time(), ours()
            middle, theirs = time.process_time(), plain()
            end = time.process_time()
            assert np.array_equal(mine, theirs), name
            times.append((middle - start, end - middle))
        fast, slow = map(min, zip(*times, strict=True))
        rows.append({"step": name, "lines": n, "cpu_s": fast, "speedup": round(slow / fast, 1)})
        rows.append({"step": f"plain {name}", "lines": n, "cpu_s": slow})
        log(f"{name}: {fast / n * 1e6:.2f} us a line, plain {slow / n * 1e6:.2f}, {slow / fast:.1f} times")

    for rule, value in (RULES | MORE_RULES).items():
        both(
            f"rule {rule}",
            lines,
            lambda rule=rule, value=value: prefilter(table, {rule: value}, PAIR).passed,
            lambda rule=rule, value=value: [PLAIN[rule](a, b, value) for a, b in zip(src, tgt, strict=True)],
        )
    of_tokens = {name: value for name, value in RULES.items() if name != "letters"}
    for name, rules in (("rules of tokens", of_tokens), ("all rules", RULES)):
        both(
            name,
            lines,
            lambda rules=rules: prefilter(table, rules, PAIR).passed,
            lambda rules=rules: [plain_once(a, b, rules) for a, b in zip(src, tgt, strict=True)],
        )
    both("deduplicate", lines, lambda: copies_of(table), lambda: len(src) - len(set(zip(src, tgt, strict=True))))
    rng = np.random.default_rng(1)
    scores, words = rng.normal(size=lines).astype(np.float32), rng.integers(1, 60, lines)
    listed, budget = (scores.tolist(), words.tolist()), int(words.sum() // 3)
    both("cut-off", lines, lambda: cutoff([Scored(scores, words)], budget), lambda: plain_cutoff(*listed, budget))
    few = src[: lines // 20]
    codes = sorted({*PAIR, *WEB})
    model = LanguageIdentifier.from_model_file(MODEL_FILE)
    model.set_languages(codes)
    both(
        "language",
        len(few),
        lambda: [code or "en" for code in identify(few, codes, "py3langid")],  # where it hears nothing, it says "en"
        lambda: [model.classify(line)[0] for line in few],
    )
    return rows


def copies_of(table: pa.Table) -> int:
    with tempfile.TemporaryDirectory() as folder:
        copies = Deduplicator(Path(folder) / "scratch")
        copies.add(table, np.ones(len(table), bool))
        return len(table) - sum(map(len, copies.tables()))


def sweep(scores: int, folder: Path) -> list[dict[str, Any]]:
    """The cut-off of so many scores on disk; of a tenth of them also by sorting in memory, with the same answer."""
    rng, clock = np.random.default_rng(1), Clock()
    with open(folder / "scores", "wb") as first, open(folder / "words", "wb") as second:
        for start in range(0, scores, 1 << 20):
            n = min(1 << 20, scores - start)
            rng.standard_normal(n, np.float32).tofile(first)
            rng.integers(1, 60, n, np.uint32).tofile(second)
    part = Scored(
        *(np.memmap(folder / name, kind, "r") for name, kind in (("scores", np.float32), ("words", np.uint32)))
    )
    clock.skip()
    cut = cutoff([part], scores * 10)
    clock("cut-off of scores on disk", scores)
    log(f"{scores:,} scores: cut-off {cut}")
    tenth = Scored(*(np.array(column[: scores // 10]) for column in part))
    clock.skip()
    found = cutoff([tenth], scores)
    clock("cut-off of a tenth, in memory", scores // 10)
    order = np.argsort(-tenth.scores, kind="stable")
    running = np.cumsum(tenth.words[order], dtype=np.int64)
    assert found == float(tenth.scores[order[np.flatnonzero(running > scores)[0]]])
    clock("plain cut-off of a tenth, by sorting in memory", scores // 10)
    return list(clock.rows.values())


WORK: dict[str, Callable[..., list[dict[str, Any]]]] = {  # of a number of lines, a folder and what else it needs
    "run": run,
    "compare": lambda lines, folder: compare(lines),
    "sweep": sweep,
    "opusfilter": opusfilter,
}


def apart(work: str, size: int, *more: str) -> list[dict[str, Any]]:
    """Run one of WORK in a process of its own: memory is counted from the start."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--work", work, "--lines", str(size), "-o", folder, *more]
        subprocess.run(command, check=True)
        return json.loads((Path(folder) / "rows.json").read_text())


@click.command(context_settings={"show_default": True})
@click.option("--lines", default="1000000", help="Lines of the crawl, comma-separated.")
@click.option(
    "--sample",
    type=click.IntRange(0, CHUNK),
    default=CHUNK,
    help="Lines on which the plain version is run; 0 for none.",
)
@click.option("--scores", default=0, help="Scores to find a cut-off of; 100000000 needs 0.8 GB of disk.")
@click.option(
    "--opusfilter", "program", help="OpusFilter's program, of an environment of its own, to be run beside ours."
)
@click.option("--work", type=click.Choice([*WORK]), help="One part alone, for a process of its own.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("filtering.csv"), help="CSV.")
@click.option("--plot", type=click.Path(path_type=Path), help="PNG of time and memory by lines.")
def main(
    lines: str, sample: int, scores: int, program: str | None, work: str | None, out: Path, plot: Path | None
) -> None:
    """Measure every step for each number of lines."""
    if work:
        (out / "rows.json").write_text(json.dumps(WORK[work](int(lines), out, *filter(None, [program]))))
        return
    sizes = [int(size) for size in lines.split(",")]
    jobs = [*(("compare", sample) for _ in range(bool(sample))), *(("run", size) for size in sizes)]
    table: list[dict[str, Any]] = []
    jobs += [
        *(("sweep", scores) for _ in range(bool(scores))),
        *(("opusfilter", OPUS_LINES) for _ in range(bool(program))),
    ]
    for name, size in jobs:
        more = ["--opusfilter", str(program)] if name == "opusfilter" else []
        for row in apart(name, size, *more):
            rate = round(row["lines"] / row["cpu_s"])
            table.append({"work": name, "size": size, **row, "cpu_s": round(row["cpu_s"], 3), "lines_per_s": rate})
            log(" ".join(f"{key}={value}" for key, value in table[-1].items()))
    with open(out, "w", newline="", encoding="utf-8") as file:
        columns = ("work", "size", "lines", "step", "cpu_s", "lines_per_s", "peak_mib", "speedup")
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    steps = [row for row in table if row["work"] == "run" and row["step"] not in WAYS]
    by_size = {size: [row for row in steps if row["size"] == size] for size in sizes}
    for size, rows in by_size.items():
        most = max(row["peak_mib"] for row in rows)
        log(f"{size:,} lines: {sum(row['cpu_s'] for row in rows):,.1f} s, at most {most:,.0f} MiB of {LIMIT:,}")
        assert most < LIMIT
    for step in dict.fromkeys(row["step"] for row in steps if len(sizes) > 1):
        seconds = [row["cpu_s"] for row in steps if row["step"] == step]
        log(f"{step}: time grows as lines^{np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.2f}")
    if plot:
        draw(steps, plot)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Time and memory of each step over lines, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for key, unit, axes in (("cpu_s", "processor seconds", panels[0]), ("peak_mib", "peak memory, MiB", panels[1])):
        for step in dict.fromkeys(row["step"] for row in rows):
            points = [(row["size"], row[key]) for row in rows if row["step"] == step]
            axes.loglog(*zip(*points, strict=True), marker="o", label=step)
        axes.set(xlabel="lines of the crawl", ylabel=unit)
    panels[1].set_ylim(10, LIMIT)
    panels[0].legend(fontsize=7)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
