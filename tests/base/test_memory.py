import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bitextbench.base.memory import LARGE_PAGES, keep_few_kernels

OFFERED = Path("/sys/kernel/mm/transparent_hugepage/enabled")
LARGEST = """
import re
block = bytearray(64 << 20)
print(max(map(int, re.findall(r"AnonHugePages: +([0-9]+)", open("/proc/self/smaps").read()))))
"""


def large_pages(**more: str) -> int:
    """kiB in large pages of the largest mapping of a process that fills 64 MiB."""
    return int(subprocess.check_output([sys.executable, "-c", LARGEST], text=True, env={**os.environ, **more}))


@pytest.mark.skipif(
    not OFFERED.exists()
    or "[madvise]" not in OFFERED.read_text()
    or tuple(map(int, re.findall(r"\d+", platform.libc_ver()[1]))) < (2, 35),
    reason="needs glibc 2.35 and a kernel that gives large pages on request",
)
def test_a_block_lies_in_large_pages_where_they_are_asked_for():
    assert large_pages(GLIBC_TUNABLES="") < 32 << 10 < large_pages(**LARGE_PAGES)


KERNELS = """
import torch
lstm = torch.nn.LSTM(128, 128)
for shape in range(200):
    lstm(torch.zeros(1 + shape % 40, 50 + shape // 40, 128))[0].sum().backward()
maps = [line.split() for line in open("/proc/self/maps")]  # range, rights, ..., and a name where it is of a file
made = [[int(end, 16) for end in fields[0].split("-")] for fields in maps if "x" in fields[1] and len(fields) == 5]
print(sum(end - start for start, end in made) >> 20)
"""


def kernels() -> int:
    """MiB of code that is made while an LSTM sees 200 shapes of batches, and kept."""
    return int(subprocess.check_output([sys.executable, "-c", KERNELS], text=True))


@pytest.mark.skipif(platform.machine() != "x86_64", reason="oneDNN's kernels are of x86-64")
def test_not_all_kernels_are_kept_that_an_lstm_needs_for_each_shape(monkeypatch):
    monkeypatch.setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "1024")
    keep_few_kernels()  # the user's number stays
    all_of_them = kernels()
    monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
    keep_few_kernels()
    assert kernels() < all_of_them / 3
