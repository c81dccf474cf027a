"""Portable arithmetic: the same bytes on every x86-64 processor with AVX2 and FMA, of either maker.

Libraries choose their kernels by the processor, and kernels differ in the last bit. In this mode there is one kernel
for all processors. What libraries read when they are loaded is in ENVIRONMENT: the workflow sets it for its jobs where
the configuration says `arithmetic: portable`. The rest is done by `replace_kernels`.

With one thread a job then ends in the same bytes anywhere, and about as fast. Left to the system: the C library's exp
and log (glibc has one code for all processors with FMA).
"""

import inspect
import os
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

ENVIRONMENT = {
    "OPENBLAS_CORETYPE": "Haswell",  # products of numpy, scipy and faiss
    "OPENBLAS_NUM_THREADS": "1",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # numpy's own loops: those up to AVX2 are left
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own loops
    "MKL_CBWR": "COMPATIBLE",  # torch's exp and log: MKL's path for processors of any maker
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}


def wanted() -> bool:
    """Whether this process computes by ENVIRONMENT."""
    return os.environ.get("MKL_CBWR") == ENVIRONMENT["MKL_CBWR"]


def replace_kernels() -> None:
    """Replace those of torch's CPU kernels that give other bytes on another processor, if it is `wanted`.

    In training numpy computes the matrix products, as MKL's portable ones take twice the time. In inference products
    stay MKL's: there a row does not depend on its place in a batch (see `encode`). Numpy also computes square roots, as
    MKL's start from rsqrtps, an approximation that differs between makers. LSTMs are computed by torch itself, as
    oneDNN's depend on the processor.

    All that is patched of torch is patched here. A GPU has its own kernels.
    """
    import numpy as np
    import torch

    def array(x: "torch.Tensor") -> "NDArray":
        return (x if x.dtype in (torch.float32, torch.float64) else x.float()).detach().numpy()

    def of_two(name: str) -> Callable[..., "torch.Tensor"]:
        def product(a: "torch.Tensor", b: "torch.Tensor") -> "torch.Tensor":
            if torch.is_inference_mode_enabled():
                return getattr(torch, name)(a, b, out=a.new_empty(0))
            return torch.from_numpy(np.matmul(array(a), array(b))).to(a.dtype)

        return product

    def of_three(name: str) -> Callable[..., "torch.Tensor"]:
        def sum_of_products(
            c: "torch.Tensor", a: "torch.Tensor", b: "torch.Tensor", *, beta: float = 1, alpha: float = 1
        ) -> "torch.Tensor":
            if torch.is_inference_mode_enabled():
                return getattr(torch, name)(c, a, b, beta=beta, alpha=alpha, out=a.new_empty(0))
            product = torch.from_numpy(np.matmul(array(a), array(b))).mul_(alpha)
            return (product.add_(c, alpha=beta) if beta else product).to(a.dtype)

        return sum_of_products

    def root(x: "torch.Tensor") -> "torch.Tensor":
        return torch.from_numpy(np.asarray(np.sqrt(array(x)))).to(x.dtype if x.is_floating_point() else torch.float32)

    kernels = {
        **{name: of_two(name) for name in ("mm", "bmm")},
        **{name: of_three(name) for name in ("addmm", "baddbmm")},
        "sqrt": root,
    }
    torch.backends.mkldnn.set_flags(False)
    for name in ("add_param_group", "zero_grad", "state_dict", "load_state_dict"):
        # wrapped so as to import torch._dynamo, which takes 3 s of each short training of the tiny run
        setattr(torch.optim.Optimizer, name, inspect.unwrap(getattr(torch.optim.Optimizer, name)))
    with warnings.catch_warnings(action="ignore"):  # that kernels are overridden
        for name, kernel in kernels.items():
            _LIBRARY.append(library := torch.library.Library("aten", "IMPL"))
            library.impl(name, kernel, "CPU")


_LIBRARY: list["torch.library.Library"] = []  # kernels hold as long as these are referred to
