"""An n-gram language model for the decoder: an ARPA file as a hash table that compiled code reads.

N-grams are nodes of a trie of reversed words: the node of `b c` is a child of that of `c`, the node of `a b c` a child
of that of `b c`. The state after a word is one number: the node of the longest suffix that can matter to later words
(Li and Khudanpur 2008; Heafield 2011, section 4). Nodes 1 to V are the words, 0 is the empty n-gram.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled
from bitextbench.base.errors import InputError
from bitextbench.base.lines import read_arrays
from bitextbench.base.progress import log
from bitextbench.smt.words import Vocabulary

UNKNOWN, BEGIN, END = 1, 2, 3  # numbers of <unk>, <s>, </s>
SPECIAL = {"<unk>": UNKNOWN, "<s>": BEGIN, "</s>": END}
MISSING = -100.0  # log10 p(<unk>) of a model without it, as in KenLM
ARPA = "give an ARPA file, as `smt-language-model` writes one"
Rows = NDArray[np.int32]


class Table(NamedTuple):
    """Table of nodes, by open addressing: `keys` int64, (node << 32 | symbol) + 1, 0 for a free slot; `values` int32.
    The number of slots is a power of 2.
    """

    keys: NDArray[np.int64]
    values: NDArray[np.int32]


class Model(NamedTuple):
    """An n-gram model, as arrays by node.

    - `p`, `backoff` float64: natural logarithms.
    - `parent` int32: the n-gram without its first word.
    - `state` int32: the node that is the state after these words.
    - `depth` int8: the number of words.
    - `context` int32 [nodes, order - 1]: the words from the last to the first.
    - `longer`: whether a longer n-gram of the model ends with this one.

    `word`: the node of each word of the vocabulary, UNKNOWN for those that the model does not have.
    """

    order: int
    children: Table
    p: NDArray[np.float64]
    backoff: NDArray[np.float64]
    parent: NDArray[np.int32]
    state: NDArray[np.int32]
    depth: NDArray[np.int8]
    context: NDArray[np.int32]
    longer: NDArray[np.bool_]
    word: NDArray[np.int32]


@compiled
def slot(table, node, symbol):  # type: ignore[no-untyped-def]
    """The slot of a child, or the free one where it would be."""
    mask = len(table.keys) - 1
    key = (np.int64(node) << 32 | np.int64(symbol)) + 1
    place = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    at = np.int64(place) & mask
    while table.keys[at] != 0 and table.keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def child(table, node, symbol):  # type: ignore[no-untyped-def]
    """The child of a node; 0 where it has none."""
    return table.values[slot(table, node, symbol)]


@compiled
def put(table, node, symbol, value):  # type: ignore[no-untyped-def]
    at = slot(table, node, symbol)
    table.keys[at] = (np.int64(node) << 32 | np.int64(symbol)) + 1
    table.values[at] = value


def empty_table(size: int) -> Table:
    """A table for `size` children, at most half full."""
    slots = 1 << max(4, (2 * size).bit_length())
    return Table(np.zeros(slots, np.int64), np.zeros(slots, np.int32))


@compiled
def step(model, state, word):  # type: ignore[no-untyped-def]
    """ln p(word | state); the state after the word; the length of the longest n-gram of the model that ends here, and
    its node.
    """
    node = word
    for i in range(model.depth[state]):
        below = child(model.children, node, model.context[state, i])
        if below == 0:
            break
        node = below
    p, matched = model.p[node], np.int64(model.depth[node])
    while model.depth[state] >= matched:
        p += model.backoff[state]
        state = model.parent[state]
    return p, model.state[node], matched, node


@compiled
def _sentence(model, words):  # type: ignore[no-untyped-def]
    total, state = 0.0, np.int32(BEGIN)
    for word in words:
        p, state, _, _ = step(model, state, word)
        total += p
    return total


def score(model: Model, vocabulary: Vocabulary, line: str) -> float:
    """ln p of a line of tokens, between <s> and </s>."""
    words = [int(model.word[vocabulary.known(word)]) for word in line.split()]
    return float(_sentence(model, np.array([*words, END], np.int32)))


def read(path: Path, vocabulary: Vocabulary) -> Model:
    """The model, as far as it has words of a vocabulary, which begins with SPECIAL: n-grams with other words are left
    out.

    Raises InputError for a file that is no ARPA model, an n-gram without its context, and a model that knows no word of
    the vocabulary.
    """
    parts: list[list[tuple[Any, ...]]] = []
    for order, number, lines in _sections(path):
        parts += [[] for _ in range(order - len(parts))]
        parts[order - 1].append(_parsed(lines, order, vocabulary, path, number))
    levels = [tuple(map(np.concatenate, zip(*rows, strict=True))) for rows in parts if rows]
    words = np.unique(levels[0][0]) if levels else np.zeros(0, np.int32)
    if not (words > END).any():
        remedy = "check that the model is of the target language, with the tokens and letter case of the grammar"
        raise InputError("has no word of the grammar", path, remedy=remedy)
    grams = sum(len(level[0]) for level in levels)
    known, wanted = int((words > END).sum()), len(vocabulary) - len(SPECIAL)
    log(f"{path}: {len(levels)}-gram model, {grams:,} n-grams of {known:,} of {wanted:,} words of the grammar in use")
    room = len(vocabulary) + 1 + grams
    while (model := _built(levels, words, len(vocabulary), room, path)) is None:  # n-grams were missing
        room += room // 4
    return model


def _sections(path: Path) -> Iterator[tuple[int, int, pa.StringArray]]:
    """Blocks of lines with n-grams of one order: the order, the number of the first line, the lines."""
    order, number, ended = 0, 1, False
    for block in read_arrays(path):
        marks = np.flatnonzero(pc.starts_with(block, "\\").to_numpy(zero_copy_only=False))
        for start, end in zip([-1, *marks.tolist()], [*marks.tolist(), len(block)], strict=True):
            if start >= 0:
                mark = block[start].as_py()
                if mark.endswith("-grams:"):
                    wanted = f"\\{order + 1}-grams:"
                    if mark != wanted:
                        raise InputError(
                            f"has {mark[:40]} in place of {wanted}", path, line=number + start, remedy=ARPA
                        )
                    order += 1
                ended |= mark == "\\end\\"
            if order and not ended and end > start + 1:
                yield order, number + start + 1, block.slice(start + 1, end - start - 1)
        number += len(block)
    if not ended:
        raise InputError("has no \\end\\", path, remedy=ARPA)


def _parsed(
    lines: pa.StringArray, order: int, vocabulary: Vocabulary, path: Path, number: int
) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64]]:
    """The words [n, order] of the n-grams whose words are all in the vocabulary, and ln of their probabilities and
    backoff weights.
    """
    held = np.flatnonzero(pc.not_equal(pc.utf8_trim(lines, " \t"), "").to_numpy(zero_copy_only=False))
    fields = pc.split_pattern(lines.take(pa.array(held)), "\t")
    sizes = pc.list_value_length(fields).to_numpy(zero_copy_only=False)
    wrong = (sizes < 2) | (sizes > 3)
    starts = np.cumsum(sizes) - sizes
    flat = fields.flatten()
    if not wrong.any():
        words = pc.split_pattern(flat.take(pa.array(starts + 1)), " ")
        wrong = pc.list_value_length(words).to_numpy(zero_copy_only=False) != order
    if wrong.any():
        raise InputError(f"no {order}-gram", path, line=number + int(held[wrong.argmax()]), remedy=ARPA)
    numbers = np.fromiter(map(vocabulary.known, words.flatten().to_pylist()), np.int32, order * len(words))
    ids = numbers.reshape(-1, order)
    kept = (ids > 0).all(1)
    backoff = np.zeros(len(ids))
    with_backoff = np.flatnonzero(sizes == 3)
    try:
        p = _floats(flat.take(pa.array(starts)))
        backoff[with_backoff] = _floats(flat.take(pa.array(starts[with_backoff] + 2)))
    except pa.ArrowInvalid as error:
        raise InputError(f"not a number ({error})", path, line=number, remedy=ARPA) from None
    if not np.isfinite([p.sum(), backoff.sum()]).all():
        raise InputError("a logarithm is not a number", path, line=number, remedy=ARPA)
    return ids[kept], p[kept] * math.log(10), backoff[kept] * math.log(10)


def _floats(texts: Any) -> NDArray[np.float64]:
    return pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False)


def _built(levels: list[tuple[Any, ...]], in_use: Rows, words: int, room: int, path: Path) -> Model | None:
    """The trie, its short n-grams first; None where `room` nodes are too few."""
    order = max(len(levels), 2)
    model = Model(
        order=order,
        children=empty_table(room),
        p=np.zeros(room),
        backoff=np.zeros(room),
        parent=np.zeros(room, np.int32),
        state=np.zeros(room, np.int32),
        depth=np.zeros(room, np.int8),
        context=np.zeros((room, order - 1), np.int32),
        longer=np.zeros(room, bool),
        word=np.full(words + 1, UNKNOWN, np.int32),
    )
    singles, p, backoff = levels[0]
    model.p[1 : words + 1] = MISSING * math.log(10)
    model.p[singles[:, 0]], model.backoff[singles[:, 0]] = p, backoff
    model.depth[1 : words + 1], model.context[1 : words + 1, 0] = 1, np.arange(1, words + 1)
    model.word[in_use] = in_use
    extended, used = np.zeros(room, bool), words + 1
    for rows, p, backoff in levels[1:]:
        used, lost = _insert(model, extended, used, rows, p, backoff)
        if lost >= 0:
            gram = f"n-gram {lost + 1:,} of those in use of {rows.shape[1]} words"
            raise InputError(f"{gram} has no context in the model", path, remedy="make the model again")
        if used < 0:
            return None
    _finish(model, extended, used)
    return model


@compiled
def _node(model, words):  # type: ignore[no-untyped-def]
    """The node of an n-gram, its words from the last to the first; 0 where there is none."""
    node = words[0]
    for word in words[1:]:
        node = child(model.children, node, word)
        if node == 0:
            break
    return node


@compiled
def _insert(model, extended, used, rows, p, backoff):  # type: ignore[no-untyped-def]
    """Insert n-grams of one length, and those of their suffixes that the model lacks, without probabilities.

    Returns the number of nodes, -1 where there is no room; and the place of the first n-gram whose context is missing,
    or -1.
    """
    length = rows.shape[1]
    for n in range(len(rows)):
        words = rows[n][::-1]
        before = _node(model, words[1:])
        if before == 0:
            return used, n
        extended[before] = True
        node = words[0]
        for i in range(1, length):
            model.longer[node] = True
            below = child(model.children, node, words[i])
            if below == 0:
                if used == len(model.p):
                    return -1, -1
                below, used = np.int32(used), used + 1
                put(model.children, node, words[i], below)
                model.parent[below], model.depth[below] = node, i + 1
                model.p[below] = np.nan
                last = min(i + 1, model.order - 1)
                model.context[below, :last] = words[:last]
            node = below
        model.p[node], model.backoff[node] = p[n], backoff[n]
    return used, -1


@compiled
def _finish(model, extended, used):  # type: ignore[no-untyped-def]
    """Set the probabilities that are missing, p(c | a b) = backoff(a b) p(c | b), and the states."""
    for node in range(1, used):
        if np.isnan(model.p[node]):
            before = _node(model, model.context[node][1 : model.depth[node]])
            model.p[node] = model.p[model.parent[node]] + model.backoff[before]
            extended[before] = True
    for node in range(1, used):
        state = np.int32(node) if model.depth[node] < model.order else model.parent[node]
        while state > 0 and not extended[state] and model.backoff[state] == 0:
            state = model.parent[state]
        model.state[node] = state
