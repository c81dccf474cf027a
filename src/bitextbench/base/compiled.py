"""Loops over bytes and numbers as machine code: `@compiled` marks them. numba compiles a function when it is first called with
types that are new, and keeps the result beside the module (or in NUMBA_CACHE_DIR) for later processes."""

from typing import Any

import numba
from numba.cpython.unsafe import numbers

compiled = numba.njit(cache=True, nogil=True)
lowest_bit: Any = numbers.trailing_zeros  # its number, for a word that is not 0
