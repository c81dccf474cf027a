"""Word alignment against enumeration and values worked out by hand."""

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
    """The best path, and the probability of each state at each place, of all paths: states i, and i + size for no word."""
    length, size = words.shape[0], words.shape[1] - 1
    best, chosen, posterior = -1.0, (), np.zeros((length, 2 * size))
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
        if probability > best:
            best, chosen = probability, path
    return chosen, posterior / posterior[0].sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_hmm_is_that_of_all_paths(seed):
    rng = np.random.default_rng(seed)
    given, made = Vocabulary().encode(["a b c"]), Vocabulary().encode(["x y z"])
    table = alignment._cooccurring(given, made)
    table = table._replace(values=rng.random(len(table.values)))
    jumps = rng.random(2 * alignment.FAR + 1)
    places = alignment._places(given.ids, made.ids, table.starts, table.targets)
    path, posterior = enumerated(alignment._transitions(jumps, 3), table.values[places])
    links = np.full(3, -1, np.int32)
    alignment._viterbi(*given, *made, *table, jumps, links)
    assert links.tolist() == [state if state < 3 else -1 for state in path]
    counts, moves = np.zeros_like(table.values), np.zeros_like(jumps)
    alignment._count_hmm(*given, *made, *table, jumps, counts, moves)
    expected = np.concatenate([posterior[:, :3], posterior[:, 3:].sum(1, keepdims=True)], axis=1)
    np.testing.assert_allclose(counts[places], expected)
    np.testing.assert_allclose(moves.sum(), posterior[:, :3].sum())


def test_grow_diag_final_and():
    # both ways: 0-0. Beside it 0-1 and 1-1, of one way each; 3-3 has no neighbour and free words: final; 2-0 has neither
    forward, backward = np.array([0, 0, -1, 3], np.int32), np.array([0, 1, -1, -1], np.int32)
    links = alignment.grow_diag_final_and(forward, backward)
    assert np.argwhere(links).tolist() == [[0, 0], [0, 1], [1, 1], [3, 3]]


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
