"""The engine of a search, which finds its candidates: chosen by processor, backend and precision."""

from collections.abc import Callable
from functools import partial
from math import isqrt
from typing import NamedTuple

from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours.candidates import by_faiss, by_product
from bitextbench.neighbours.lists import Kept
from bitextbench.neighbours.metric import METRIC, Side
from bitextbench.neighbours.products import PRODUCTS, choose

# Rows and columns of a tile of the product: those on a CPU fit its cache; on a GPU they are many, as each tile's best are taken in
# by kernels that take as long for a small one.
TILE = {"cpu": 1024, "cuda": 16_384}
GPU_MEMORY = 1 << 33  # bytes of the vectors of a search on a GPU; tiles and what is computed again take some 4 GiB more
SLACK = {"fp32": 4, "bf16": 12}  # candidates in addition to the k


class Engine(NamedTuple):
    """Makes the sides of a search; `candidates` takes two of them, widths, rows to prepare at a time, and the tile.

    `memory`: bytes that it takes whatever is asked for: those of a GPU are not the host's.
    """

    processor: str
    precision: str
    side: Callable[..., Side]
    candidates: Callable[..., tuple[Kept, Kept]]
    memory: int = 0

    @property
    def slack(self) -> int:
        return SLACK[self.precision]

    @property
    def tile(self) -> int:
        return TILE[self.processor]

    def tile_within(self, memory: int, threads: int) -> int:
        """The tile, smaller where those of all threads would take more than a quarter of the memory of a CPU."""
        return self.tile if self.processor == "cuda" else max(64, min(self.tile, isqrt(memory // 4 // (4 * threads))))

    @property
    def itemsize(self) -> int:
        return 2 if self.precision == "bf16" else 4


def engine_of(
    src: Embeddings, tgt: Embeddings, metric: str, *, backend: str, device: str, precision: str, threads: int
) -> Engine:
    """The engine of a search; it imports torch only where it needs it, which takes longer than to search thousands of
    vectors.

    Raises InputError for a device that this machine does not have.
    """
    where = processor(device, threads)
    if backend == "faiss":
        return Engine(where, "fp32", Side, partial(by_faiss, threads=threads, gpu=where == "cuda"))
    if METRIC[metric].halved:
        precision = "fp32"
    if where == "cuda":
        return _on_gpu(device, precision)
    name = choose(precision, len(src) * len(tgt) * src.dimension / threads)
    candidates = partial(by_product, product=PRODUCTS[name], threads=threads)
    if name != "bf16":
        return Engine(where, "fp32", Side, candidates)
    from bitextbench.neighbours.tensors import TensorSide, torch

    side = partial(TensorSide, dtype=torch.bfloat16, device=torch.device("cpu"))
    return Engine(where, "bf16", side, candidates)


def processor(device: str, threads: int) -> str:
    """cpu, or cuda. Raises InputError for a device that this machine does not have."""
    if device == "cpu":
        return device
    from bitextbench.base.device import setup

    return setup(threads, device).type


def _on_gpu(device: str, precision: str) -> Engine:
    from bitextbench.base.device import number_format, torch
    from bitextbench.neighbours.tensors import TensorSide, by_torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    where = torch.device(device)
    dtype = number_format(precision, where)
    side = partial(TensorSide, dtype=dtype, device=where)
    memory = min(GPU_MEMORY, torch.cuda.get_device_properties(where).total_memory // 8)
    return Engine("cuda", "bf16" if dtype == torch.bfloat16 else "fp32", side, by_torch, memory)
