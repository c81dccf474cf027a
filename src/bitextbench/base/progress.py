"""Progress of long work: a bar on a terminal, plain lines in a log.

tqdm draws the bar. It does not write the log: there it would separate its updates by carriage returns, not by lines.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def log(message: str) -> None:
    """Write one line to standard error, unbuffered."""
    print(message, file=sys.stderr, flush=True)


def progress(
    items: Iterable[Item],
    what: str,
    *,
    total: int | None = None,
    unit: str = "lines",
    every: float = 10.0,
    size: Callable[[Item], int] = lambda _: 1,
) -> Iterator[Item]:
    """Yield `items` and show their progress: a bar on a terminal, else a line every `every` seconds and at the end.

    `size`: how many units an item is.
    """
    if sys.stderr.isatty():
        from tqdm import tqdm  # 0.1 s that a log does not need

        with tqdm(desc=what, total=total, unit=f" {unit}", unit_scale=True, dynamic_ncols=True) as bar:
            for item in items:
                yield item
                bar.update(size(item))
        return
    start = last = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += size(item)
        now = time.monotonic()
        if now - last >= every:
            log(_line(what, done, total, unit, now - start))
            last = now
    log(_line(what, done, total, unit, time.monotonic() - start) + ", done")


def _line(what: str, done: int, total: int | None, unit: str, seconds: float) -> str:
    rate = done / max(seconds, 1e-9)
    of = "" if total is None else f"/{total:,} ({done / max(total, 1):.0%})"
    left = "" if total is None or done >= total or not done else f", {(total - done) / rate:,.0f} s left"
    return f"{what}: {done:,}{of} {unit}, {rate:,.0f} {unit}/s{left}"
