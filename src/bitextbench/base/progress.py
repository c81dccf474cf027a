"""Progress of long work: a bar on a terminal, plain lines in a log.

tqdm draws the bar. It does not write the log: there it would separate its updates by carriage returns, not by lines.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


class Meter:
    """The bytes that were read of some files, and the sizes of these files; both grow as files are opened and read."""

    def __init__(self) -> None:
        self.done = self.total = 0


meters: list[Meter] = []  # the last one counts: see `files.Metered`


def log(message: str) -> None:
    """Write one line to standard error, unbuffered."""
    print(message, file=sys.stderr, flush=True)


def count_of(count: int, one: str, several: str = "") -> str:
    """A count in words, as "1 pair" or "2,000 pairs"; `several`: what stands after other numbers, if not `one` with an s."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def progress(
    items: Iterable[Item],
    what: str,
    *,
    total: int | None = None,
    unit: str = "lines",
    every: float = 10.0,
    size: Callable[[Item], int] = lambda _: 1,
    by_bytes: bool = False,
) -> Iterator[Item]:
    """Yield `items` and show their progress: a bar on a terminal, else a line every `every` seconds and at the end.

    `size`: how many units an item is. `by_bytes`: the whole is the size of the text files that `items` are read from.
    """
    meter = Meter()
    if by_bytes:
        items = _metered(items, meter)
    if sys.stderr.isatty():
        yield from _bar(items, what, total, unit, size, meter)
        return
    start = last = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += size(item)
        now = time.monotonic()
        if now - last >= every:
            log(_line(what, done, total, unit, now - start, meter))
            last = now
    log(_line(what, done, total, unit, time.monotonic() - start, meter) + ", done")


def _metered(items: Iterable[Item], meter: Meter) -> Iterator[Item]:
    """The items; files that are opened to make them count in `meter`."""
    remaining = iter(items)
    while True:
        meters.append(meter)
        try:
            item = next(remaining)
        except StopIteration:
            return
        finally:
            meters.pop()
        yield item


def _bar(
    items: Iterable[Item], what: str, total: int | None, unit: str, size: Callable[[Item], int], meter: Meter
) -> Iterator[Item]:
    from tqdm import tqdm  # 0.1 s that a log does not need

    done = 0
    with tqdm(desc=what, total=total, unit=f" {unit}", unit_scale=True, dynamic_ncols=True) as bar:
        for item in items:
            yield item
            done += size(item)
            if meter.total:
                bar.total, bar.unit = meter.total, "B"
                bar.set_postfix_str(f"{done:,} {unit}", refresh=False)
            bar.update((meter.done if meter.total else done) - bar.n)


def _line(what: str, done: int, total: int | None, unit: str, seconds: float, meter: Meter) -> str:
    rate = done / max(seconds, 1e-9)
    of = "" if total is None else f"/{total:,} ({done / max(total, 1):.0%})"
    line = f"{what}: {done:,}{of} {unit if of or done != 1 else unit.removesuffix('s')}, {rate:,.0f} {unit}/s"
    if meter.total:
        line += f", {meter.done / 1e6:,.1f} of {meter.total / 1e6:,.1f} MB ({meter.done / meter.total:.0%})"
        done, total = meter.done, meter.total
    if total and total / 100 <= done < total:  # before, the estimate is of the start
        line += f", {(total / done - 1) * seconds:,.0f} s left"
    return line
