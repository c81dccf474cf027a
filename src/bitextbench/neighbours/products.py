"""Products of matrices on a CPU, of which a search takes the fastest: numpy's, torch's, and torch's in bfloat16.

Which one that is differs by processor: on AMD Zen 3 OpenBLAS, which numpy has, is 14 to 25% faster than MKL, which
torch has; with AVX-512 bf16 or AMX, bfloat16 (oneDNN) is twice as fast or more. (oneDNN's product in float32 was
between the two.) So they are measured, once, and the figures kept in the cache folder. A small search takes numpy's
without measuring: to import torch takes longer than it.

What a search finds does not depend on the choice: see `proof`.
"""

import contextlib
import json
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bitextbench.base import processor
from bitextbench.base.errors import InputError
from bitextbench.base.files import cache_folder
from bitextbench.base.json_yaml import write_json
from bitextbench.base.portable import wanted
from bitextbench.base.progress import log

Product = Callable[[Any, Any, NDArray[np.float32]], None]
"""Of rows [m, d] and [n, d]: their products [m, n], written to the third array. Several threads may call it."""

PRECISIONS = ("auto", "fp32", "bf16")
WORTH = 1e12  # multiplications and additions of a thread from which on measuring is worth its time: ten seconds
SIZE = 1024  # rows, columns and dimensions of the products that are measured


def by_numpy(left: Any, right: Any, out: NDArray[np.float32]) -> None:
    np.matmul(left, right.T, out=out)


def by_torch(left: Any, right: Any, out: NDArray[np.float32]) -> None:
    from bitextbench.base.device import torch

    with torch.inference_mode():
        torch.mm(torch.from_numpy(left), torch.from_numpy(right).T, out=torch.from_numpy(out))


def in_bf16(left: Any, right: Any, out: NDArray[np.float32]) -> None:
    """The product of two bfloat16 tensors, as float32."""
    from bitextbench.base.device import torch

    with torch.inference_mode():
        torch.from_numpy(out).copy_(left @ right.T)


PRODUCTS: dict[str, Product] = {"numpy": by_numpy, "torch": by_torch, "bf16": in_bf16}


def choose(precision: str, operations: float) -> str:
    """The name of the product for a search of so many operations a thread: of fp32 the faster, of auto the fastest."""
    if precision == "bf16":
        return "bf16"
    if operations < WORTH:
        return "numpy"
    rates = measured()
    return max(("numpy", "torch") if precision == "fp32" else rates, key=lambda name: rates[name])


def measured() -> dict[str, float]:
    """Billions of operations a second of one thread, by each product that the processor has natively."""
    path, key = cache_folder() / "products.json", _machine()
    kept: dict[str, dict[str, float]] = {}
    with contextlib.suppress(OSError, ValueError):
        kept = json.loads(path.read_text(encoding="utf-8"))
    try:
        return {name: float(kept[key][name]) for name in kept[key]}
    except (KeyError, TypeError, ValueError):
        rates = {name: _rate(name) for name in _native()}
    log(
        "products: "
        + ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
        + " billion operations/s; kept for later runs"
    )
    with contextlib.suppress(OSError, InputError):
        write_json(path, (kept if isinstance(kept, dict) else {}) | {key: rates})
    return rates


def _machine() -> str:
    """A text that identifies everything the rates depend on: processor, versions, arithmetic."""
    from importlib.metadata import version

    versions = f"numpy {np.__version__}, torch {version('torch')}"
    return f"{processor.model() or platform.machine()}; {versions}{', portable' * wanted()}"


def _native() -> list[str]:
    return ["numpy", "torch"] + ["bf16"] * bool(re.search(r"\b(avx512_bf16|amx_bf16)\b", processor.info()))


def _rate(name: str) -> float:
    """The rate of the fastest of several products, by CPU time, as other processes may use the processor as well."""
    from bitextbench.base.device import torch

    numbers = np.random.default_rng(1).standard_normal((2, SIZE, SIZE), dtype=np.float32)
    left, right = torch.from_numpy(numbers).bfloat16() if name == "bf16" else numbers
    out, seconds = np.empty((SIZE, SIZE), np.float32), []
    with one_thread_each():
        for _ in range(6):
            start = time.thread_time()
            PRODUCTS[name](left, right, out)
            seconds.append(time.thread_time() - start)
    return round(2 * SIZE**3 / min(seconds) / 1e9, 1)


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Products take one thread, so that several run side by side."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 1
    with threadpool_limits(1, "blas"):
        if torch:
            torch.set_num_threads(1)
        yield
        if torch:
            torch.set_num_threads(before)
