"""The memory of a process: large pages, freed blocks kept, few kernels kept, mapped pages released, the peak measured."""

import contextlib
import ctypes
import mmap
import os
import resource

import numpy as np
from numpy.typing import NDArray

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc

# What glibc (2.35 and later) reads when a process starts: ask the kernel for pages of 2 MiB, where it gives them on
# request. A tenth of the time of fairseq's training goes to pages of 4 kB (docs/notebook/measurements.md).
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def keep_freed() -> None:
    """Let this process keep up to 256 MB that it has freed, where the C library is glibc.

    By default glibc returns arrays of over 128 kB to the kernel at once, and gets the next one page by page. That takes
    half of the time of work on many arrays of some hundred kB.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(M_TRIM_THRESHOLD, 256 << 20)


def keep_few_kernels() -> None:
    """Let oneDNN keep 64 kernels instead of 1,024, where the environment does not say how many. Before torch works.

    An LSTM needs some for each shape of a batch. With 1,024 a training at artetxe2019's width grew by 1 MB an update, to
    3.7 GB (docs/notebook/measurements.md).
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")


def peak() -> int:
    """The most memory that this process has held, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024  # kiB on Linux


def release(array: NDArray) -> None:
    """Give the pages of a memory-mapped array back; they are read again when they are needed. Nothing for other arrays.

    Without it they count as memory of this process until another process wants room, which bounded work must not rely
    on.
    """
    if isinstance(array, np.memmap) and isinstance(array.base, mmap.mmap):
        array.base.madvise(mmap.MADV_DONTNEED)
