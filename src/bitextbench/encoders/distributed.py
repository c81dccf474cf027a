"""Training on several devices: torchrun starts processes, each with its own batches; their gradients are averaged.

    torchrun --standalone --nproc-per-node 4 -m bitextbench train ...

Every process has the whole model and starts from the same state; equal gradients keep the models equal. A single
process is rank 0 of 1.
"""

import atexit
import os

from bitextbench.base.device import setup, torch
from bitextbench.encoders import Encoder

distributed = torch.distributed


def join(threads: int, name: str) -> tuple[torch.device, int, int]:
    """The device of this process, its rank and the number of ranks, from torchrun's variables; `threads` of all ranks."""
    ranks = int(os.environ.get("WORLD_SIZE", 1))
    device = setup(max(1, threads // ranks), name)
    if ranks == 1:
        return device, 0, 1
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    if not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        atexit.register(distributed.destroy_process_group)  # its threads, left alone, may abort the process at its end
    return device, distributed.get_rank(), ranks


def average(model: Encoder, losses: dict[str, torch.Tensor], ranks: int) -> None:
    """Replace gradients and losses by their means over all ranks; the gradient of an unused parameter becomes zero.

    A zero gradient is sparse where that of another rank is: the ranks exchange the same things, or wait for ever.
    """
    dense = list(losses.values())
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if parameter.grad is None:
            sparse = model.sparse and name.startswith("embeddings")
            parameter.grad = no_rows(parameter) if sparse else torch.zeros_like(parameter)
        if parameter.grad.is_sparse:
            parameter.grad = sparse_sum(parameter.grad.coalesce(), ranks) / ranks
        else:
            dense.append(parameter.grad)
    flat = torch.cat([tensor.detach().flatten().float() for tensor in dense])
    distributed.all_reduce(flat)
    parts = (flat / ranks).split([tensor.numel() for tensor in dense])
    for tensor, part in zip(dense, parts, strict=True):
        tensor.data.copy_(part.view_as(tensor))


def no_rows(parameter: torch.Tensor) -> torch.Tensor:
    """A sparse gradient [rows, d] that is zero."""
    places = torch.empty(1, 0, dtype=torch.int64, device=parameter.device)
    return torch.sparse_coo_tensor(places, parameter.new_empty(0, *parameter.shape[1:]), parameter.shape)


def sparse_sum(gradient: torch.Tensor, ranks: int) -> torch.Tensor:
    """The sum over ranks of a coalesced gradient [rows, d] with sparse rows.

    All ranks exchange their rows, padded to the largest number of rows.
    """
    rows, values = gradient.indices()[0], gradient.values()
    count = torch.tensor([len(rows)], device=rows.device)
    counts = [torch.zeros_like(count) for _ in range(ranks)]
    distributed.all_gather(counts, count)
    most = int(max(counts))
    padded_rows = torch.nn.functional.pad(rows, (0, most - len(rows)))
    padded_values = torch.nn.functional.pad(values, (0, 0, 0, most - len(rows)))
    all_rows, all_values = ([torch.empty_like(part) for _ in range(ranks)] for part in (padded_rows, padded_values))
    distributed.all_gather(all_rows, padded_rows)
    distributed.all_gather(all_values, padded_values)
    kept = [slice(int(number)) for number in counts]
    rows = torch.cat([part[keep] for part, keep in zip(all_rows, kept, strict=True)])
    values = torch.cat([part[keep] for part, keep in zip(all_values, kept, strict=True)])
    return torch.sparse_coo_tensor(rows[None], values, gradient.shape).coalesce()


def first_of(value: float, device: torch.device, ranks: int) -> float:
    """The value of the first rank, on all ranks: a decision must not depend on a rounding."""
    if ranks == 1:
        return value
    shared = torch.tensor([value], dtype=torch.float64, device=device)
    distributed.broadcast(shared, 0)
    return float(shared)
