"""Threads, devices and number formats: the first import of every module that uses torch.

Same bytes for any number of threads: MKL's matrix products are bit-identical for 1, 2 or more threads in the mode
`MKL_CBWR=AUTO,STRICT`. MKL reads it before its first product, so it is set here, above the import of torch. On some
processors products of 1 to 3 rows differ from those of more: `encode` fills its batches up. Operations that still
differ:

- reductions of a whole tensor of more than 32,768 elements to one number, which torch splits by threads: the trainer
  has none;
- products with one vector (`x @ v`): there are none either;
- torch's sigmoid and the gradient of its softmax, which round the last few elements of each thread's part in another
  way: there is no such rest where layers are multiples of 16, and rows of a softmax are filled up (`batches.aligned`).

All this is of float32: products in bfloat16 (`precision`: auto on a processor that has it, bf16) are oneDNN's, whose
last bit depends on the number of threads.

On a GPU nothing is promised about bytes, only about seeds: `exact` is the switch, which every fill-up, reordered sum
and unfused kernel asks. torch's deterministic kernels are on where they exist, as warnings (`warn_only`): the backward
pass of attention with a mask, and sums by index, have none. Products in float32 take no TF32 there, but for recurrent
networks (cuDNN's), which do.

Same bytes on processors of either maker: see `portable`.
"""

import contextlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

from bitextbench.base import portable, processor
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.base.torch_internals import tree_map_only

if portable.wanted():
    portable.replace_kernels()


def setup(threads: int, device: str = "cpu") -> torch.device:
    """Set torch's threads, choose deterministic kernels, and give the device: `cpu`, `cuda`, `cuda:1`.

    Raises InputError for a device that this machine does not have.
    """
    torch.set_num_threads(threads)
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise InputError(f"no such device: {device}", remedy="name cpu, cuda or cuda:N") from None
    if chosen.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (chosen.index or 0) >= count:
            raise InputError(
                f"{device} was asked for, but torch sees {count} GPUs here",
                remedy="run on a GPU machine, or set gpus: 0",
            )
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # else each torch.empty is filled with NaN
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = True  # of recurrent networks: 10 bits of products, float32 of sums and states
    elif chosen.type != "cpu":
        raise InputError(f"{device} is not supported", remedy="name cpu, cuda or cuda:N")
    return chosen


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """In this block torch takes one thread, here and in threads that begin in it, so that several work side by side."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def number_format(precision: str, device: torch.device) -> torch.dtype:
    """Of matrix products: `fp32`, `bf16`, or `auto` (bf16 where the device is faster with it, else fp32)."""
    match precision:
        case "fp32":
            return torch.float32
        case "bf16":
            if not _native_bf16(device):
                log(f"bfloat16 is not native to this {device.type}, so slow; `precision: fp32` trains another model")
            return torch.bfloat16
        case "auto":
            return torch.bfloat16 if _fast_bf16(device) else torch.float32
        case _:
            raise InputError(f"precision: {precision} is unknown", remedy="choose auto, fp32 or bf16")


def _fast_bf16(device: torch.device) -> bool:
    """By kind of processor, not by a clock: the choice decides what is learned.

    AVX-512's bf16 without AMX has twice the rate of fp32 on AMD (Zen 4 and later), and half of it on Intel.
    """
    has = torch.cpu.get_capabilities()
    fast = has.get("amx_bf16") or "AuthenticAMD" in processor.info()
    return _native_bf16(device) and bool(device.type != "cpu" or fast)


def _native_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)  # Ampere; torch emulates bf16 on older ones
    has = torch.cpu.get_capabilities()
    return device.type == "meta" or bool(has.get("amx_bf16") or has.get("avx512_bf16"))


def exact(device: torch.device) -> bool:
    """Whether results are to be the same bytes for any number of threads and any batch: on a CPU alone."""
    return device.type == "cpu"


def placed(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor on the device. The host does not wait for a copy to a GPU: it is from pinned memory."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def autocast(device: torch.device, dtype: torch.dtype) -> AbstractContextManager:
    """Run the products of a block in `dtype`; parameters and their updates stay float32."""
    if device.type == "meta":
        return MetaCasts(dtype == torch.bfloat16)
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16)


def full(device: torch.device) -> AbstractContextManager:
    """Run the products of a block as their operands are, inside of `autocast`."""
    return autocast(device, torch.float32)


def casting(device: torch.device) -> torch.dtype:
    """The number format of products here: bfloat16 inside of `autocast` to it."""
    narrow = MetaCasts.now[-1] if device.type == "meta" else torch.is_autocast_enabled(device.type)
    return torch.bfloat16 if narrow else torch.float32


class MetaCasts(torch.overrides.TorchFunctionMode):
    """`autocast` of the device meta, for which torch has none: products in bfloat16, softmax, norms and losses in
    float32, as on CUDA.
    """

    functional = torch.nn.functional
    NARROW: ClassVar = {
        torch.matmul, torch.mm, torch.bmm, torch.addmm, torch.baddbmm, torch.Tensor.matmul, torch.Tensor.__matmul__,
        torch.Tensor.__rmatmul__, torch.Tensor.mm, torch.Tensor.bmm, functional.linear,
        functional.scaled_dot_product_attention,
    }  # fmt: skip
    WIDE: ClassVar = {
        torch.softmax, torch.Tensor.softmax, functional.softmax, functional.log_softmax, functional.layer_norm,
        functional.cross_entropy, functional.normalize, torch.Tensor.norm, functional.binary_cross_entropy_with_logits,
    }  # fmt: skip
    now: ClassVar = [False]  # of nested ones, the innermost counts

    def __init__(self, enabled: bool) -> None:
        super().__init__()
        self.enabled = enabled

    def __enter__(self) -> Self:
        self.now.append(self.enabled)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self.now.pop()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        to = torch.bfloat16 if func in self.NARROW else torch.float32 if func in self.WIDE else None
        if self.now[-1] and to:
            args, kwargs = tree_map_only(
                torch.Tensor, lambda part: part.to(to) if part.is_floating_point() else part, (args, kwargs)
            )
        return func(*args, **(kwargs or {}))
