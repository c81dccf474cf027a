"""Work on several cores."""

import threading
import time

import pytest

from bitextbench.base.parallel import cores, in_order


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_the_order_of_items(threads):
    def slow(item):
        time.sleep(0.002 * (item % 3))
        return item * item

    assert list(in_order(slow, range(12), threads)) == [(item, item * item) for item in range(12)]
    assert list(in_order(slow, [], threads)) == []


def test_no_more_items_are_taken_than_threads_can_do():
    taken, most = 0, []

    def items():
        nonlocal taken
        for item in range(20):
            taken += 1
            yield item

    for done, _ in in_order(str, items(), 3):
        most.append(taken - done)
    assert max(most) <= 4


def test_several_threads_work_at_once():
    together = threading.Barrier(2, timeout=10)  # breaks where only one waits
    list(in_order(lambda item: item and together.wait(), range(5), 2))


def test_what_the_function_raises_is_raised():
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda item: 1 // (3 - item), range(6), 2))


def test_there_is_a_core():
    assert cores() >= 1
