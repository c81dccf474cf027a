"""Word alignment against enumeration and values worked out by hand."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from bitextbench.base import sums
from bitextbench.base.errors import InputError
from bitextbench.smt import alignment
from bitextbench.smt.words import Vocabulary


def test_words_that_go_together_are_linked():
    links, counts = alignment.align(["das haus", "das buch", "ein buch", ""], ["the house", "the book", "a book", "x"])
    assert [pairs.tolist() for pairs in links] == [[[0, 0], [1, 1]]] * 3 + [[]]
    assert counts == {"pairs": 4, "empty": 1, "too_long": 0, "links": 6}


def test_long_sentences_have_no_links():
    links, counts = alignment.align(["a " * 101, "a"], ["b", "b"])
    assert (len(links[0]), len(links[1]), counts["too_long"]) == (0, 1, 1)


def enumerated(moves, words):
    """The best path of all paths, the probability of each state at each place, and how often each distance is jumped:
    states i, and i + size for no word.
    """
    length, size = words.shape[0], words.shape[1] - 1
    best, chosen, posterior, moved = -1.0, (), np.zeros((length, 2 * size)), np.zeros(2 * alignment.FAR + 1)
    for path in product(range(2 * size), repeat=length):
        probability, last = 1.0, None
        for j, state in enumerate(path):
            i, free = state % size, state >= size
            if free:
                step = alignment.NO_WORD / size if last is None else alignment.NO_WORD * (i == last)
            else:
                step = moves[0 if last is None else last + 1, i]
            probability, last = probability * step * words[j, size if free else i], i
        for j, state in enumerate(path):
            posterior[j, state] += probability
            if state < size:
                moved[state - (path[j - 1] % size if j else -1) + alignment.FAR] += probability
        if probability > best:
            best, chosen = probability, path
    return chosen, posterior / posterior[0].sum(), moved / posterior[0].sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_hmm_is_that_of_all_paths(seed):
    rng = np.random.default_rng(seed)
    given, made = Vocabulary().encode(["a b c"]), Vocabulary().encode(["x y z"])
    table = alignment._cooccurring(given, made)
    table = table._replace(values=rng.random(len(table.values)))
    jumps = rng.random(2 * alignment.FAR + 1)
    places = alignment._places(given.ids, made.ids, table.starts, table.targets)
    path, posterior, moved = enumerated(alignment._transitions(jumps, 3), table.values[places])
    links = np.full(3, -1, np.int32)
    alignment._viterbi(*given, *made, *table, jumps, links)
    assert links.tolist() == [state if state < 3 else -1 for state in path]
    counts, moves = np.zeros_like(table.values), np.zeros_like(jumps)
    alignment._count_hmm(*given, *made, *table, jumps, counts, moves)
    expected = np.concatenate([posterior[:, :3], posterior[:, 3:].sum(1, keepdims=True)], axis=1)
    np.testing.assert_allclose(counts[places], expected)
    np.testing.assert_allclose(moves, moved)


def test_model_1_is_that_of_all_alignments():
    """Each word of the target comes from any word of the source, or from no word."""
    given, made = Vocabulary().encode(["a b", "a a"]), Vocabulary().encode(["x y x", "y"])
    table = alignment._cooccurring(given, made)
    table = table._replace(values=np.random.default_rng(1).random(len(table.values)))
    t = {
        (source, target): value
        for source in range(len(table.starts) - 1)
        for target, value in [*zip(table.targets, table.values, strict=True)][table.starts[source] :][
            : table.starts[source + 1] - table.starts[source]
        ]
    }
    expected: Counter = Counter()
    for sources, targets in (((1, 2), (1, 2, 1)), ((1, 1), (2,))):
        found = []
        for chosen in product([0, *sources], repeat=len(targets)):
            links = [*zip(chosen, targets, strict=True)]
            found.append((links, np.prod([t[link] for link in links])))
        total = sum(probability for _, probability in found)
        for links, probability in found:
            for link in links:
                expected[link] += probability / total
    counts = np.zeros_like(table.values)
    alignment._count_model_1(*given, *made, *table, counts)
    assert counts.tolist() == pytest.approx([expected[link] for link in t])


def grown(forward, backward):
    """Koehn et al. 2003, in sets of links (target, source), visited in their order."""
    ways = {(j, i) for j, i in enumerate(forward) if i >= 0}, {(j, i) for i, j in enumerate(backward) if j >= 0}
    links, more = ways[0] & ways[1], True

    def free(link):
        return link[0] not in {j for j, _ in links}, link[1] not in {i for _, i in links}

    while more:
        more = False
        for j, i in product(range(len(forward)), range(len(backward))):
            for down, right in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                link = j + down, i + right
                if (j, i) in links and link in ways[0] | ways[1] and any(free(link)):
                    links.add(link)
                    more = True
    for way in ways:
        for link in sorted(way):
            if all(free(link)):
                links.add(link)
    return links


def test_symmetrisation_is_that_of_sets_of_links():
    rng = np.random.default_rng(1)
    for _ in range(300):
        n, m = rng.integers(1, 8, 2)
        near = [(np.arange(a) * b / a + rng.integers(-2, 3, a)).clip(-1, b - 1) for a, b in ((m, n), (n, m))]
        forward, backward = (places.astype(np.int32) for places in near)
        found = alignment.grow_diag_final_and(forward, backward)
        assert {*map(tuple, np.argwhere(found).tolist())} == grown(forward.tolist(), backward.tolist())


def test_grow_diag_final_and():
    # both ways: 0-0. Beside it 0-1 and 1-1, of one way each; 3-3 has no neighbour and free words: final; 2-0 has neither
    forward, backward = np.array([0, 0, -1, 3], np.int32), np.array([0, 1, -1, -1], np.int32)
    links = alignment.grow_diag_final_and(forward, backward)
    assert np.argwhere(links.T).tolist() == [[0, 0], [0, 1], [1, 1], [3, 3]]


def test_links_are_visited_in_the_order_of_moses():
    # 0-1 comes first, and leaves 0-3 without a free word, if links are visited by source word; symal has 0-3
    forward, backward = np.array([2, 1, 2, 0, 1], np.int32), np.array([1, 3, 2], np.int32)
    links = alignment.grow_diag_final_and(forward, backward)
    assert np.argwhere(links.T).tolist() == [[0, 3], [1, 1], [1, 3], [1, 4], [2, 0], [2, 2]]


def test_links_that_do_not_fit(tmp_path):
    sides = Vocabulary().encode(["a b", "c"]), Vocabulary().encode(["x", "y"])
    path = tmp_path / "links.txt"
    alignment.write(path, [np.array([[0, 0], [1, 0]]), np.empty((0, 2), np.int64)])
    links, starts = alignment.read(path, *sides)
    assert (links.tolist(), starts.tolist()) == ([[0, 0], [1, 0]], [0, 2, 2])
    for text, message in (
        ("0-0\n", "1 line for 2 pairs"),
        ("0-1\n\n", "links.txt:1: link 0-1 leads out of sentences of 2 and 1 words"),
        ("\n0:0\n", "links.txt:2: '0:0' is not a link"),
    ):
        path.write_text(text)
        sums.seal(path)
        with pytest.raises(InputError, match=message):
            alignment.read(path, *sides)
    with pytest.raises(InputError, match="no pair of sentences to align"):
        alignment.align([""], ["a"])
    with pytest.raises(InputError, match="1 and 2 lines"):
        alignment.align(["a"], ["a", "b"])
