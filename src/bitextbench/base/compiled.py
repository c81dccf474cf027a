"""Loops over bytes and numbers as machine code: `@compiled` marks them. numba compiles a function when it is first
called with types that are new, and keeps the result for later processes: in NUMBA_CACHE_DIR, next to the module, or in
the user's cache, whichever can be written.
"""

from collections.abc import Callable
from typing import Any

import numba
from numba.cpython.unsafe import numbers


def compiled(function: Callable[..., Any]) -> Any:
    try:
        return numba.njit(function, cache=True, nogil=True)
    except RuntimeError:  # no place to keep it: an installation of another user's, without a home
        return numba.njit(function, nogil=True)


lowest_bit: Any = numbers.trailing_zeros  # its number, for a word that is not 0
