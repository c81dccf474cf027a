"""Translation of a text by a grammar, a language model and weights, sentence by sentence."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bitextbench.base.lines import read_lines
from bitextbench.base.progress import log, progress
from bitextbench.smt import nbest
from bitextbench.smt.decoder import forest
from bitextbench.smt.rules import Rules, load, read_weights
from bitextbench.smt.words import escaped, packed


def translations(
    rules: Rules, weights: Mapping[str, float], count: int, *, beam: int, span: int, threads: int = 1
) -> Iterator[list[nbest.Translation]]:
    """The best `count` translations of each sentence of the text of the rules; an empty sentence has one, without
    tokens.
    """
    weighted, lm_weight = rules.weighted(weights), weights["lm"]

    def translate(number: int) -> list[nbest.Translation]:
        if rules.text.starts[number] == rules.text.starts[number + 1]:
            return [nbest.Translation("", np.zeros(len(rules.names)))]
        parsed = forest(rules, weighted, lm_weight, number, beam, span)
        return nbest.best(nbest.Derivations(parsed, rules, weighted, lm_weight), rules, count)

    sizes = np.diff(rules.text.starts)
    with ThreadPoolExecutor(threads) as pool:
        lists = zip(pool.map(translate, range(len(sizes))), sizes.tolist(), strict=True)
        for entries, _ in progress(lists, "decode", total=int(sizes.sum()), unit="words", size=lambda pair: pair[1]):
            yield entries


def log_long(source: Path, rules: Rules, span: int) -> None:
    """Say how many sentences are longer than a rule may span."""
    sizes = np.diff(rules.text.starts)
    log(
        f"{source}: {(sizes > span).sum():,} of {len(sizes):,} sentences are longer than {span} words; they are translated in parts"
    )


def translate(
    grammar: Path,
    arpa: Path,
    weights: Path,
    source: Path,
    out: Path,
    *,
    beam: int,
    span: int,
    threads: int = 1,
    count: int = 1,
    list_out: Path | None = None,
) -> None:
    """Write the translation of a text of tokens, a line a sentence, and its n-best lists to `list_out`; both escaped,
    as `smt-text` writes text.

    Raises InputError as `load` and `read_weights` do.
    """
    rules = load(grammar, arpa, map(escaped, read_lines(source)))
    values = read_weights(weights, rules.names)
    log_long(source, rules, span)
    with ExitStack() as files:
        text = files.enter_context(packed(out))
        lists = files.enter_context(packed(list_out)) if list_out else None
        translated = translations(rules, values, count, beam=beam, span=span, threads=threads)
        for number, entries in enumerate(translated):
            text.write(f"{entries[0].tokens}\n".encode())
            if lists:
                lists.writelines(f"{line}\n".encode() for line in nbest.lines(number, entries, rules.names, values))
