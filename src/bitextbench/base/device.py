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

Same bytes on processors of either maker: see `portable`.
"""

import inspect
import os

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch

from bitextbench.base import portable, processor
from bitextbench.base.errors import InputError

if portable.wanted():
    portable.replace_kernels()

# All are wrapped so as to import torch._dynamo, which takes 3 s and has no use here.
for _name in ("add_param_group", "zero_grad", "state_dict", "load_state_dict"):
    setattr(torch.optim.Optimizer, _name, inspect.unwrap(getattr(torch.optim.Optimizer, _name)))


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
    elif chosen.type != "cpu":
        raise InputError(f"{device} is not supported", remedy="name cpu, cuda or cuda:N")
    return chosen


def number_format(precision: str, device: torch.device) -> torch.dtype:
    """Of matrix products: `fp32`, `bf16`, or `auto` (bf16 where the device is faster with it, else fp32)."""
    match precision:
        case "fp32":
            return torch.float32
        case "bf16":
            return torch.bfloat16
        case "auto":
            return torch.bfloat16 if _fast_bf16(device) else torch.float32
        case _:
            raise InputError(f"precision: {precision} is unknown", remedy="choose auto, fp32 or bf16")


def _fast_bf16(device: torch.device) -> bool:
    """By kind of processor, not by a clock: the choice decides what is learned.

    AVX-512's bf16 without AMX has twice the rate of fp32 on AMD (Zen 4 and later), and half of it on Intel.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)  # Ampere; torch emulates bf16 on older ones
    has = torch.cpu.get_capabilities()
    return bool(has.get("amx_bf16") or (has.get("avx512_bf16") and "AuthenticAMD" in processor.info()))


def autocast(device: torch.device, dtype: torch.dtype) -> torch.autocast:
    """Run the products of a block in `dtype`; parameters and their updates stay float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16)
