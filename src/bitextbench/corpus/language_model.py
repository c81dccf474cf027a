"""Trains fastText models that identify languages. Apart from `language_id`: corpora depend on that, and on no metric."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bitextbench.base.bootstrap import rate
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_lines
from bitextbench.base.outputs import atomic, scratch
from bitextbench.base.progress import log
from bitextbench.corpus.language_id import LABEL, identify
from bitextbench.formats import bitext

THREADS = 10  # with fewer, fastText 0.9.3 reads uninitialised memory (its issue 1061)
ATTEMPTS = 6


def fit(texts: Mapping[str, Iterable[str]], out: str | Path, *, dimension: int = 16, epochs: int = 10) -> None:
    """Train fastText's language identification (Joulin et al. 2017) on lines of each language, and write it to `out`.

    Character n-grams of 2 to 4, softmax. Runs differ. Raises InputError for fewer than two languages, for one without
    text, and as `train` does.
    """
    with scratch() as folder:
        path, counts = folder / "lines", Counter[str]()
        with path.open("w", encoding="utf-8") as file:
            for code, lines in texts.items():
                for line in filter(None, map(str.strip, lines)):
                    file.write(f"{LABEL}{code} {line}\n")
                    counts[code] += 1
        if len(texts) < 2 or not all(counts[code] for code in texts):
            lines_of = ", ".join(f"{code} {counts[code]:,}" for code in texts)
            raise InputError(
                f"needs lines of at least two languages; there are: {lines_of or 'none'}",
                remedy="give text of two or more",
            )
        sizes = {"dim": dimension, "epoch": epochs, "minn": 2, "maxn": 4, "bucket": 1 << 17, "lr": 0.3}
        model = train(path, **sizes)
    with atomic(out) as part:
        model.save_model(str(part))
    log(f"language model: {', '.join(f'{code} {count:,}' for code, count in counts.items())} lines")


def train(text: Path, **sizes: float) -> Any:
    """fastText's model of labelled lines. Its threads race: runs differ, and one that ends in NaN is repeated.

    Raises InputError for a text from which fastText cannot learn, and when ATTEMPTS runs fail.
    """
    import fasttext

    for attempt in range(1, ATTEMPTS + 1):
        try:
            return fasttext.train_supervised(str(text), thread=THREADS, verbose=0, **sizes)
        except RuntimeError as error:
            log(f"fastText: run {attempt} of {ATTEMPTS} failed ({error})")
        except ValueError as error:
            raise InputError(f"fastText cannot learn ({error})", text, remedy="give it more text") from None
    raise InputError(f"fastText failed {ATTEMPTS} times", text, remedy="give it more text")


def fit_and_compare(texts: Sequence[tuple[str, str]], most: int, out: str | Path, **sizes: int) -> dict[str, Any]:
    """`fit` on nine of ten lines; the accuracy of the model, and of py3langid, on the held-out rest (`bootstrap.rate`).

    `texts`: a language with a text file, or with a corpus folder and its side, "folder#src"; at most `most` lines of
    each. The model is written to `out`. Both models choose among the languages of `texts`.
    """
    training: dict[str, list[str]] = {code: [] for code, _ in texts}
    held_out: dict[str, list[str]] = {code: [] for code, _ in texts}
    for code, place in texts:
        for number, line in enumerate(islice(_lines(place), most)):
            (training if number % 10 else held_out)[code].append(line)
    fit(training, out, **sizes)
    lines = [line for part in held_out.values() for line in part]
    gold = [code for code, part in held_out.items() for _ in part]
    accuracies = {}
    for name, model in (("this model", str(out)), ("py3langid", "py3langid")):
        hits = [code == answer for code, answer in zip(gold, identify(lines, [*held_out], model), strict=True)]
        accuracies[name] = rate(f"language accuracy of {name}", hits)
    return accuracies


def _lines(place: str) -> Iterator[str]:
    folder, is_corpus, side = place.partition("#")
    if not is_corpus:
        yield from read_lines(place)
        return
    for table in bitext.read_batches(folder, [side]):
        yield from (line for line in table[side].to_pylist() if line)
