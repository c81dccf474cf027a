"""A decoder of a synchronous grammar: CKY parsing with cube pruning (Chiang 2007, section 5.3), compiled.

Rules apply to spans of up to `span` words; glue joins their translations from left to right. A cell of the chart holds
the items of a span. An item is all derivations that look the same to a larger one. They share the leftmost words, whose
probabilities depend on the words before them, and the state of the language model at their right end.

Each match of a source side with the span is a cube: rules by items of the first gap by items of the second. A heap pops
the best derivations of all cubes together, up to `beam`. The neighbours of a popped one are pushed, each by one
predecessor only. Popped derivations are kept as edges, for n-best lists.

The first of equally good derivations is popped: that of the shorter first gap, of the earlier rule.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.compiled import compiled
from bitextbench.smt import lm
from bitextbench.smt import rules as rules_of

UNBOUNDED = 1 << 40
Numbers = NDArray[np.int32]
Scores = NDArray[np.float64]


class Items(NamedTuple):
    """Partial translations, by column.

    - `score`: of the best derivation, which is `edge`.
    - `lm`: its ln p by the language model.
    - `left_lm`: the part of `lm` that the leftmost words have, `left`[:size].
    - `open`: whether these are all its words.
    - `right`: the state of the language model after it.
    """

    score: Scores
    lm: Scores
    left_lm: Scores
    left: Numbers
    size: Numbers
    open: NDArray[np.bool_]
    right: Numbers
    edge: Numbers


class Edges(NamedTuple):
    """Columns: `item` is derived by `rule` from the items `first` and `second`, -1 for none; `lm`: the ln p that the
    rule adds to theirs.
    """

    item: Numbers
    rule: Numbers
    first: Numbers
    second: Numbers
    lm: Scores


class Forest(NamedTuple):
    """All derivations of a sentence that were popped. `goal` is the item of the whole sentence."""

    items: Items
    edges: Edges
    goal: int


class Cell(NamedTuple):
    """The candidates of a cell: their `items`.

    `cube` int32 [room, 4]: the cube of each, and the ranks of its rule and of its two items. `heap`: which of them wait
    to be popped.
    """

    items: Items
    cube: Numbers
    heap: Numbers


@compiled
def _room(count, width):  # type: ignore[no-untyped-def]
    return Items(
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
        np.zeros((count, width), np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.bool_),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
    )


@compiled
def _edge_room(count):  # type: ignore[no-untyped-def]
    numbers = np.zeros((4, count), np.int32)
    return Edges(numbers[0], numbers[1], numbers[2], numbers[3], np.zeros(count))


@compiled
def _copy(source, n, target, m):  # type: ignore[no-untyped-def]
    target.score[m], target.lm[m], target.left_lm[m] = source.score[n], source.lm[n], source.left_lm[n]
    target.size[m], target.open[m], target.right[m] = source.size[n], source.open[n], source.right[n]
    target.left[m] = source.left[n]
    target.edge[m] = source.edge[n]


@compiled
def _combine(model, target, items, first, second, made, n):  # type: ignore[no-untyped-def]
    """Apply a target side to two items; write the item that this makes, but for its score, to place n of `made`."""
    total, left_lm, size, opened, state = 0.0, 0.0, np.int64(0), True, model.state[0]
    left = made.left[n]
    for symbol in target:
        if symbol == lm.BEGIN:
            state, opened = model.state[lm.BEGIN], False
        elif symbol > 0:
            p, state, matched, node = lm.step(model, state, symbol)
            total += p
            if opened:
                left[size] = symbol
                size, left_lm = size + 1, left_lm + p
                opened = matched == size and model.longer[node] and size < model.order - 1
        else:
            item = first if symbol == -1 else second
            total += items.lm[item]
            if opened and size == 0:
                size, left_lm, state = np.int64(items.size[item]), items.left_lm[item], items.right[item]
                left[:size] = items.left[item, :size]
                opened = items.open[item]
                continue
            total -= items.left_lm[item]
            for word in items.left[item, : items.size[item]]:
                p, state, matched, node = lm.step(model, state, word)
                total += p
                if opened:
                    left[size] = word
                    size, left_lm = size + 1, left_lm + p
                    opened = matched == size and model.longer[node] and size < model.order - 1
            if not items.open[item]:
                state, opened = items.right[item], False
    made.lm[n], made.left_lm[n], made.size[n], made.open[n], made.right[n] = total, left_lm, size, opened, state


@compiled
def _before(scores, a, b):  # type: ignore[no-untyped-def]
    return scores[a] > scores[b] or (scores[a] == scores[b] and a < b)


@compiled
def _push(heap, count, scores, n):  # type: ignore[no-untyped-def]
    at = count
    while at > 0 and _before(scores, n, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = n


@compiled
def _pop(heap, count, scores):  # type: ignore[no-untyped-def]
    """Take the best of `count` out of a heap."""
    best, last = heap[0], heap[count - 1]
    at = 0
    while 2 * at + 1 < count - 1:
        below = 2 * at + 1
        if below + 1 < count - 1 and _before(scores, heap[below + 1], heap[below]):
            below += 1
        if not _before(scores, heap[below], last):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = last
    return best


@compiled
def _same(a, n, b, m):  # type: ignore[no-untyped-def]
    """Whether a larger derivation cannot tell two items apart."""
    if a.right[n] != b.right[m] or a.size[n] != b.size[m]:
        return False
    for i in range(a.size[n]):  # noqa: SIM110 (numba)
        if a.left[n, i] != b.left[m, i]:
            return False
    return True


@compiled
def _hash(items, n):  # type: ignore[no-untyped-def]
    value = np.uint64(items.right[n]) * np.uint64(0x9E3779B97F4A7C15)
    for i in range(items.size[n]):
        value = (value ^ np.uint64(items.left[n, i])) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
    return np.int64(value >> np.uint64(8))


@compiled
def _made(model, weighted, lm_weight, items, cubes, cell, n, c, r, a, b):  # type: ignore[no-untyped-def]
    """Write the candidate at ranks r, a, b of cube c to place n of the cell."""
    cube = cubes[c]
    rule = weighted.order[cube[0] + r]
    first = cube[2] + a if cube[3] else -1
    second = cube[4] + b if cube[5] else -1
    target = weighted.target[weighted.ends[rule] : weighted.ends[rule + 1]]
    _combine(model, target, items, first, second, cell.items, n)
    score, before = weighted.score[rule], 0.0
    for item in (first, second):
        if item >= 0:
            score += items.score[item]
            before += items.lm[item]
    cell.items.score[n] = score + lm_weight * (cell.items.lm[n] - before)
    cell.cube[n, 0], cell.cube[n, 1], cell.cube[n, 2], cell.cube[n, 3] = c, r, a, b


@compiled
def _popped(model, weighted, lm_weight, beam, items, cubes):  # type: ignore[no-untyped-def]
    """The best derivations of some cubes: the cell, and the places in it that were popped, in that order."""
    total = 0
    for cube in cubes:
        total += np.int64(cube[1]) * max(cube[3], 1) * max(cube[5], 1)
    most = min(total, beam)
    room = min(total, len(cubes) + 3 * most)
    cell = Cell(_room(room, model.order - 1), np.zeros((room, 4), np.int32), np.zeros(room, np.int32))
    scores = cell.items.score
    popped = np.zeros(most, np.int32)
    for c in range(len(cubes)):
        _made(model, weighted, lm_weight, items, cubes, cell, c, c, 0, 0, 0)
        _push(cell.heap, c, scores, c)
    used = waiting = len(cubes)
    for k in range(most):
        best = popped[k] = _pop(cell.heap, waiting, scores)
        waiting -= 1
        c, r, a, b = cell.cube[best]
        cube = cubes[c]
        for axis in range(3):
            if (axis < 2 and b) or (axis < 1 and a):
                continue
            r2, a2, b2 = r + (axis == 0), a + (axis == 1), b + (axis == 2)
            if r2 < cube[1] and a2 < max(cube[3], 1) and b2 < max(cube[5], 1):
                _made(model, weighted, lm_weight, items, cubes, cell, used, c, r2, a2, b2)
                _push(cell.heap, waiting, scores, used)
                used, waiting = used + 1, waiting + 1
    return cell, popped


@compiled
def _recombined(cell, popped):  # type: ignore[no-untyped-def]
    """For each popped place the number of its item, and for each item its best place."""
    slots = 16
    while slots < 2 * len(popped):
        slots *= 2
    table = np.full(slots, -1, np.int32)
    item, best, count = np.zeros(len(popped), np.int32), np.zeros(len(popped), np.int32), 0
    for k in range(len(popped)):
        n = popped[k]
        at = _hash(cell.items, n) & (slots - 1)
        while table[at] >= 0 and not _same(cell.items, best[table[at]], cell.items, n):
            at = (at + 1) & (slots - 1)
        if table[at] < 0:
            table[at] = count
            best[count] = n
            count += 1
        elif cell.items.score[n] > cell.items.score[best[table[at]]]:
            best[table[at]] = n
        item[k] = table[at]
    return item, best[:count]


@compiled
def _grown(items, edges, item_count, edge_count, more, width):  # type: ignore[no-untyped-def]
    """Items and edges with room for `more` of each."""
    if item_count + more > len(items.score):
        larger = _room(2 * (item_count + more), width)
        for n in range(item_count):
            _copy(items, n, larger, n)
        items = larger
    if edge_count + more > len(edges.lm):
        wider = _edge_room(2 * (edge_count + more))
        for n in range(edge_count):
            wider.item[n], wider.rule[n], wider.lm[n] = edges.item[n], edges.rule[n], edges.lm[n]
            wider.first[n], wider.second[n] = edges.first[n], edges.second[n]
        edges = wider
    return items, edges


@compiled
def _fill(model, weighted, lm_weight, beam, cubes, items, edges, item_count, edge_count):  # type: ignore[no-untyped-def]
    """Add the items of a cell, the best first, and their edges; returns both tables and their sizes."""
    cell, popped = _popped(model, weighted, lm_weight, beam, items, cubes)
    item, best = _recombined(cell, popped)
    order = np.argsort(-cell.items.score[best], kind="mergesort")
    rank = np.zeros(len(order), np.int32)
    items, edges = _grown(items, edges, item_count, edge_count, len(popped), model.order - 1)
    for i in range(len(order)):
        rank[order[i]] = item_count + i
        _copy(cell.items, best[order[i]], items, item_count + i)
    for k in range(len(popped)):
        n, at = popped[k], edge_count + k
        cube = cubes[cell.cube[n, 0]]
        edges.item[at], edges.rule[at] = rank[item[k]], weighted.order[cube[0] + cell.cube[n, 1]]
        edges.first[at] = cube[2] + cell.cube[n, 2] if cube[3] else -1
        edges.second[at] = cube[4] + cell.cube[n, 3] if cube[5] else -1
        edges.lm[at] = cell.items.lm[n]
        for below in (edges.first[at], edges.second[at]):
            if below >= 0:
                edges.lm[at] -= items.lm[below]
        if best[item[k]] == n:
            items.edge[rank[item[k]]] = at
    return items, edges, item_count + len(order), edge_count + len(popped)


@compiled
def _set(row, rules, number, place1, number1, place2, number2):  # type: ignore[no-untyped-def]
    row[0], row[1], row[2], row[3], row[4], row[5] = rules, number, place1, number1, place2, number2


@compiled
def _cubes(weighted, words, begin, end, cells):  # type: ignore[no-untyped-def]
    """The matches of source sides with a span: int32 [cubes, 6], first place and number of the rules, of the items of
    the first gap, and of the second.

    `cells` int32 [words, longest span + 1, 2]: first place and number of the items of a span, by its begin and length.
    """
    stack = np.zeros(((end - begin + 2) * (weighted.longest + 1), 6), np.int32)  # node, place, two gaps
    cubes, count, top = np.zeros((16, 6), np.int32), 0, 1
    stack[0, 1] = begin
    while top:
        top -= 1
        node, at = stack[top, 0], stack[top, 1]
        place1, number1, place2, number2 = stack[top, 2], stack[top, 3], stack[top, 4], stack[top, 5]
        if at == end:
            number = weighted.starts[node + 1] - weighted.starts[node]
            if number:
                if count == len(cubes):
                    wider = np.zeros((2 * count, 6), np.int32)
                    wider[:count] = cubes
                    cubes = wider
                _set(cubes[count], weighted.starts[node], number, place1, number1, place2, number2)
                count += 1
            continue
        gap = lm.child(weighted.trie, node, rules_of.GAP)
        if gap:
            for stop in range(end, at, -1):
                place, number = cells[at, stop - at, 0], cells[at, stop - at, 1]
                if number and number1:
                    _set(stack[top], gap, stop, place1, number1, place, number)
                    top += 1
                elif number:
                    _set(stack[top], gap, stop, place, number, 0, 0)
                    top += 1
        below = lm.child(weighted.trie, node, words[at])
        if below:
            _set(stack[top], below, at + 1, place1, number1, place2, number2)
            top += 1
    return cubes[:count]


@compiled
def _glued(weighted, end, cells, joined):  # type: ignore[no-untyped-def]
    """The cubes of S -> X and S -> S X, as of `_cubes`, over the first `end` words. `joined` int32 [words + 1, 2]: the
    items of S.
    """
    begins = range(max(end + 1 - cells.shape[1], 0), end)
    cubes, count = np.zeros((len(begins), 6), np.int32), 0
    glue = len(weighted.order)
    for begin in begins:
        place, number = cells[begin, end - begin, 0], cells[begin, end - begin, 1]
        if number and begin:
            _set(cubes[count], glue + rules_of.JOIN, 1, joined[begin, 0], joined[begin, 1], place, number)
            count += 1
        elif number:
            _set(cubes[count], glue + rules_of.START, 1, place, number, 0, 0)
            count += 1
    return cubes[:count]


@compiled
def parse(model, weighted, lm_weight, words, beam, span):  # type: ignore[no-untyped-def]
    """The forest of a sentence of at least one word, int32, by the rules of its text."""
    count = len(words)
    items, edges = _room(1024, model.order - 1), _edge_room(1024)
    used, made = 0, 0
    cells = np.zeros((count, min(span, count) + 1, 2), np.int32)
    joined = np.zeros((count + 1, 2), np.int32)
    for end in range(1, count + 1):
        for begin in range(end - 1, max(end - span, 0) - 1, -1):
            cubes = _cubes(weighted, words, begin, end, cells)
            if len(cubes):
                cells[begin, end - begin, 0] = used
                items, edges, used, made = _fill(model, weighted, lm_weight, beam, cubes, items, edges, used, made)
                cells[begin, end - begin, 1] = used - cells[begin, end - begin, 0]
        joined[end, 0] = used
        cubes = _glued(weighted, end, cells, joined)
        items, edges, used, made = _fill(model, weighted, lm_weight, beam, cubes, items, edges, used, made)
        joined[end, 1] = used - joined[end, 0]
    goal = np.zeros((1, 6), np.int32)
    _set(goal[0], len(weighted.order) + rules_of.GOAL, 1, joined[count, 0], joined[count, 1], 0, 0)
    items, edges, goal_item, made = _fill(model, weighted, lm_weight, beam, goal, items, edges, used, made)
    return Forest(items, edges, used), goal_item, made


def forest(
    rules: rules_of.Rules, weighted: rules_of.Weighted, lm_weight: float, number: int, beam: int, span: int
) -> Forest:
    """The forest of a sentence of the text, which has at least one word. `beam` 0 prunes nothing."""
    words = rules.text.ids[rules.text.starts[number] : rules.text.starts[number + 1]]
    chart, items, edges = parse(rules.model, weighted, lm_weight, words, beam or UNBOUNDED, span)
    kept_items, kept_edges = (
        type(table)(*(column[:size] for column in table))
        for table, size in ((chart.items, items), (chart.edges, edges))
    )
    return Forest(kept_items, kept_edges, chart.goal)
