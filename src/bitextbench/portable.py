"""Portable arithmetic: the same bytes on every x86-64 processor with AVX2 and FMA, of either maker.

Libraries choose their kernels by the processor, and kernels differ in the last bit. The settings here choose one kernel
for all processors. They are environment variables, because libraries read them when they are loaded: the workflow sets
them for its jobs where the configuration says `arithmetic: portable`; `device` does what no variable can.

With one thread a job then ends in the same bytes anywhere. The price is the speed of matrix products: about half.
Left to the system: the C library's exp and log (glibc takes the same code on all processors with FMA).
"""

import os

ENVIRONMENT = {
    "MKL_CBWR": "COMPATIBLE",  # torch's matrix products, exp, log: MKL's one path for processors of other makers
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own loops
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",  # matrix products of numpy, scipy and faiss
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",  # numpy's own loops: those up to AVX2 are left
}


def wanted() -> bool:
    """Whether this process computes by ENVIRONMENT."""
    return os.environ.get("MKL_CBWR") == ENVIRONMENT["MKL_CBWR"]
