"""Work on several cores of this process, by threads: for what runs without Python's lock (machine code, Arrow)."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[tuple[Item, Result]]:
    """Each item and what the function makes of it, in the order of items. Memory: `threads` + 1 items, and their
    results.

    The first item is done before the others begin: it loads what they share. What the function raises is raised here.
    """
    rest = iter(items)
    for item in rest if threads < 2 else islice(rest, 1):
        yield item, function(item)
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for item in rest:
            waiting.append((item, pool.submit(function, item)))
            if len(waiting) > threads:
                done, future = waiting.popleft()
                yield done, future.result()
        yield from ((done, future.result()) for done, future in waiting)
