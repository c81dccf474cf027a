"""What this package takes from torch that is not its interface, of this very version; another one is a warning."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode as TorchDispatchMode
from torch.utils._pytree import tree_leaves as tree_leaves
from torch.utils._pytree import tree_map_only as tree_map_only

from bitextbench.base import versions
from bitextbench.base.progress import log

VERSIONS = {"torch": "2.13.0"}

if _other := versions.other(VERSIONS):
    log(_other)


def scale(tensors: list[torch.Tensor], factor: torch.Tensor) -> None:
    """Multiply all tensors by one number, in place."""
    torch._foreach_mul_(tensors, factor)


def norms(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """The Euclidean norm of each tensor [tensors]."""
    return torch.stack(torch._foreach_norm([*tensors]))


def values(sparse: torch.Tensor) -> torch.Tensor:
    """The values of a sparse tensor as they are held, for in-place changes."""
    return sparse._values()


def indices(sparse: torch.Tensor) -> torch.Tensor:
    """The indices of a sparse tensor as they are held."""
    return sparse._indices()


def identity(storage: torch.UntypedStorage) -> int:
    """A number of a storage, also where it holds nothing, as on the device meta."""
    return storage._cdata


def fuses_bf16() -> bool:
    """Whether oneDNN multiplies bfloat16 on this CPU."""
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, after: str) -> Any:
    """`after`(x weight^T + bias) by oneDNN."""
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, after, [], "")


def linear_plus(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, plus: torch.Tensor) -> Any:
    """x weight^T + bias + `plus` by oneDNN."""
    return torch.ops.mkldnn._linear_pointwise.binary(x, plus, weight, bias, "add")
