"""The grammar: rules with their features, as a table of text.

The first line names the columns: source, target, align, and the features. Sides are tokens; gaps are `[1]` and `[2]`,
and brackets of the text are escaped. `align` has the links of words, source-target places of symbols. Features are
natural logarithms.

| feature | what |
|---|---|
| forward, backward | log p(target side given source side), and the reverse, by relative frequency |
| forward_lexical, backward_lexical | the lexical weights of Koehn et al. 2003, of words outside of gaps |
| similarity | of the phrases, by an encoder (`smt.similarity`) |

Where the paper is silent:

- NULL is a given word alone, as in Koehn et al. 2003: occurrences without a link are not in the total of a given word.
  In Moses they are.
- Relative frequencies are not smoothed.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled
from bitextbench.base.errors import InputError
from bitextbench.base.json_yaml import write_json
from bitextbench.base.lines import read_lines
from bitextbench.base.progress import log
from bitextbench.smt import alignment
from bitextbench.smt.extraction import LOW, SPAN, SYMBOLS, Bitext, Rows, extract, firsts
from bitextbench.smt.words import NULL, Vocabulary, escaped, read_pairs, write_lines

HEAD = ("source", "target", "align")
FEATURES = ("forward", "backward", "forward_lexical", "backward_lexical")
FEATURE = "similarity"  # of an encoder, in addition to these
GAP_TOKENS = ("[1]", "[2]")
DIGITS = 6  # of a logarithm: processors differ in the last of 16


class Lexicon(NamedTuple):
    """w(made word | given word), by links: `keys` int64, given * width + made, sorted; `weights` float64."""

    keys: NDArray[np.int64]
    weights: NDArray[np.float64]
    width: int


def make(tokens: Sequence[Path], links: Path, tests: Sequence[Path], out: Path, *, limit: int, lowercase: bool) -> None:
    """Extract the rules that the sentences of `tests` (texts of tokens) can use, score them and write them; counts go
    to `<out>.json`.

    `limit`: the most rules of one source side, those of the highest p(target | source). Raises InputError for links
    that do not fit, and where no rule matches.
    """
    lines = read_pairs(tokens, lowercase=lowercase)
    vocabularies = Vocabulary(), Vocabulary()
    sides = [vocabulary.encode(side) for vocabulary, side in zip(vocabularies, lines, strict=True)]
    bitext = Bitext(sides[0], sides[1], *alignment.read(links, *sides))
    test = vocabularies[0].encode((escaped(line) for path in tests for line in read_lines(path)), grow=False)
    counted = extract(bitext, test)
    if not len(counted.rules):
        raise InputError("no rule matches the test sets", links, remedy="name test sets of the language of the corpora")
    source_counts = _summed(counted.rules[:, :SYMBOLS], counted.counts)
    forward, backward = lexicons(bitext)
    scores = np.stack(
        [
            counted.counts / source_counts,
            counted.counts / counted.target_counts,
            _lexical_weights(counted.rules, *forward, False),
            _lexical_weights(counted.rules, *backward, True),
        ],
        axis=1,
    )
    kept = _best(counted.rules[:, :SYMBOLS], scores[:, 0], limit)
    words = [vocabulary.words() for vocabulary in vocabularies]
    write(out, FEATURES, _lines(counted.rules[kept], scores[kept], words))
    counts = {
        "pairs": len(bitext.source),
        "phrase_pairs": round(counted.seen),
        "matching": len(counted.rules),
        "over_limit": len(counted.rules) - len(kept),
        "rules": len(kept),
    }
    log(f"{out}: {', '.join(f'{name} {count:,}' for name, count in counts.items())}")
    write_json(Path(f"{out}.json"), counts)


def _summed(sources: Rows, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row the sum of the counts of all rows equal to it, which are next to each other."""
    first = firsts(sources)
    return np.add.reduceat(counts, np.flatnonzero(first))[np.cumsum(first) - 1]


def _best(sources: Rows, scores: NDArray[np.float64], limit: int) -> NDArray[np.int64]:
    """The places, ascending, of the `limit` best of each group of equal rows, which are next to each other; of ties the
    first.
    """
    group = np.cumsum(firsts(sources))
    order = np.lexsort((-scores, group))  # stable
    starts = np.flatnonzero(np.diff(group, prepend=0))
    rank = np.arange(len(group)) - starts[group - 1]
    return np.sort(order[rank < limit])


def lexicons(bitext: Bitext) -> tuple[Lexicon, Lexicon]:
    """w(target | source) and w(source | target), relative frequencies of links; a word without links counts as linked
    to NULL.
    """
    texts = bitext.source, bitext.target
    ends = []
    for side, text in enumerate(texts):
        pair = np.repeat(np.arange(len(text)), np.diff(bitext.link_starts))
        ends.append(text.starts[pair] + bitext.links[:, side])
    words = [text.ids[places].astype(np.int64) for text, places in zip(texts, ends, strict=True)]
    free = [np.delete(text.ids, np.unique(places)).astype(np.int64) for text, places in zip(texts, ends, strict=True)]
    return _lexicon(words[0], words[1], free[1]), _lexicon(words[1], words[0], free[0])


def _lexicon(given: NDArray[np.int64], made: NDArray[np.int64], free: NDArray[np.int64]) -> Lexicon:
    width = int(max(made.max(initial=0), free.max(initial=0))) + 1
    keys, counts = np.unique(np.concatenate([given * width + made, NULL * width + free]), return_counts=True)
    totals = np.bincount(keys // width, counts)
    return Lexicon(keys, counts / totals[keys // width], width)


@compiled
def _lexical_weights(rules, keys, weights, width, backward):  # type: ignore[no-untyped-def]
    """float64 [rules]: the product over the words of a side; each has the mean of its weights given the words that it
    is linked to, or given NULL.
    """
    products = np.ones(len(rules))
    sizes = (SPAN, SYMBOLS) if backward else (SYMBOLS, SPAN)
    starts = (SYMBOLS, 0) if backward else (0, SYMBOLS)
    for n in range(len(rules)):
        row = rules[n]
        for j in range(sizes[1]):
            word = row[starts[1] + j]
            if word <= 0:
                continue
            total, number = 0.0, 0
            for i in range(sizes[0]):
                bit = SPAN * j + i if backward else SPAN * i + j
                linked = row[-2] >> bit if bit < LOW else row[-1] >> (bit - LOW)
                if linked & 1:
                    total += weights[np.searchsorted(keys, np.int64(row[starts[0] + i]) * width + word)]
                    number += 1
            if number == 0:
                # without a link in all its occurrences
                total, number = weights[np.searchsorted(keys, np.int64(word))], 1
            products[n] *= total / number
    return products


def _lines(rules: Rows, scores: NDArray[np.float64], words: Sequence[Sequence[str]]) -> Iterator[str]:
    for row, values in zip(rules.tolist(), scores.tolist(), strict=True):
        bits = row[-2] | row[-1] << LOW
        sides = row[:SYMBOLS], row[SYMBOLS : SYMBOLS + SPAN]
        source, target = (
            " ".join(names[symbol] if symbol > 0 else GAP_TOKENS[-1 - symbol] for symbol in side if symbol)
            for side, names in zip(sides, words, strict=True)
        )
        links = " ".join(f"{bit // SPAN}-{bit % SPAN}" for bit in range(bits.bit_length()) if bits >> bit & 1)
        yield "\t".join([source, target, links, *(repr(rounded(math.log(value))) for value in values)])


def rounded(value: float) -> float:
    """A feature rounded as it is written."""
    return round(value, DIGITS) + 0.0  # no -0.0


def write(path: Path, features: Sequence[str], lines: Iterable[str]) -> None:
    """Write rules, each a line of text, under the names of their columns."""
    write_lines(path, chain(["\t".join([*HEAD, *features])], lines))


def read(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """The names of the features, and the fields of each rule. Raises InputError for an empty file, other columns, a
    line that lacks fields.
    """
    lines = read_lines(path)
    head = next(lines, "").split("\t")
    if tuple(head[: len(HEAD)]) != HEAD:
        raise InputError("has no head of a grammar", path, line=1, remedy=f"needed: {', '.join(HEAD)}, features")

    def rules() -> Iterator[list[str]]:
        for number, line in enumerate(lines, 2):
            fields = line.split("\t")
            if len(fields) != len(head):
                raise InputError(
                    f"has {len(fields)} fields, not {len(head)}", path, line=number, remedy="make the grammar again"
                )
            yield fields

    return head[len(HEAD) :], rules()
