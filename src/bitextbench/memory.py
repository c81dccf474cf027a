"""How the C library manages memory."""

import contextlib
import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h of glibc


def keep_freed() -> None:
    """Let this process keep up to 256 MB that it has freed, where the C library is glibc.

    By default glibc gives arrays of over 128 kB back at once and gets the next one page by page from the kernel: half of the
    time of work that goes through many arrays of some hundred kB.
    """
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(M_TRIM_THRESHOLD, 256 << 20)
