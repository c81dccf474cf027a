import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bitextbench.base.memory import LARGE_PAGES

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
