"""What an update of an encoder's training costs a GPU, found without one: peak memory, FLOPs, and that no step waits.

The model, its loss, the backward pass and the optimizer run on torch's device `meta`, where tensors have shapes and
types but no numbers. A step that looks at a number (`item`, `nonzero`, a copy to the host) is an error there. So is a
step that mixes a tensor of the device with one that stayed on the CPU. Shapes that come from the batch (lengths, sizes)
are on the CPU, as in a real batch.

Two things are not counted. Libraries take memory for themselves (the CUDA context, workspaces of cuBLAS and cuDNN: 1 to
2 GiB), and the allocator cannot use memory that is in small pieces. A recurrent network is one kernel of cuDNN on a
GPU. Here it is computed for all positions at once (`at_once`), with as many operations and as many gates kept.
"""

import contextlib
import gc
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch.utils.flop_counter import FlopCounterMode

from bitextbench import encoders, neighbours
from bitextbench.base import torch_internals
from bitextbench.base.device import autocast, number_format, torch
from bitextbench.encoders import Corpora, trainer
from bitextbench.encoders.batches import Padded, SentenceIds
from bitextbench.formats.vectors import Embeddings
from bitextbench.neighbours.engine import GPU_MEMORY, Engine
from bitextbench.neighbours.metric import METRIC
from bitextbench.neighbours.tensors import TensorSide, by_torch, tops

META = torch.device("meta")
WORDS, SPREAD = 27.0, 0.6  # median length of a sentence, in tokens, and the deviation of its logarithm: a mean of 32
OWN = 0.15  # and that of a sentence from its translation
IDS = {"transformer_dual": 13, "dan_dual": 2}  # a token: itself, and its n-grams or bigram
VECTORS = 2 * trainer.HISTORY + 8  # of L-BFGS, each as long as all parameters: its history, and the line search
EVALUATIONS = 12  # in an update of L-BFGS: ten iterations, and what the line search tries besides
STEPS = 100  # batches of which the largest one is looked at


class UpdateCost(NamedTuple):
    """Of an update: sentences and tokens that are encoded, peak memory of tensors in bytes, floating-point operations;
    and how many products were of each number format.
    """

    sentences: int
    tokens: int
    peak: int
    flops: float
    formats: dict[str, int]


class Shapes(SentenceIds):
    """A corpus of which only the lengths are known: its batches are on the device meta."""

    def __init__(self, lengths: NDArray[np.int32], ids: int = 1, numbers: int = 0) -> None:
        self.lengths, self.ids, self.numbers = lengths, ids, numbers

    @classmethod
    def drawn(cls, count: int, longest: int, side: int, ids: int = 1) -> "Shapes":
        """Sentences of log-normal lengths, cut at the longest; those of two sides are about as long."""
        common, own = (np.random.default_rng(seed) for seed in (0, side + 1))
        lengths = np.exp(common.normal(np.log(WORDS), SPREAD, count) + own.normal(0, OWN, count))
        return cls(lengths.clip(1, longest).astype(np.int32), ids)

    def __add__(self, other: SentenceIds) -> "Shapes":
        return Shapes(np.concatenate([self.lengths, other.lengths]), self.ids)

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        return (index + 1 + np.arange(self.numbers, dtype=np.int32)) % len(self)  # as hard negatives: other pairs

    def padded(self, indices: NDArray[np.integer]) -> Padded:
        lengths = torch.from_numpy(self.lengths[indices].astype(np.int64))
        sizes = lengths * self.ids
        width = int(sizes.max()) if len(sizes) else 1
        return Padded(torch.empty(len(lengths), width, dtype=torch.int64, device=META), lengths, sizes)


class Live(torch_internals.TorchDispatchMode):
    """The bytes of all tensors that are alive on the device, at most so far, and the number formats of products."""

    PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")

    def __init__(self) -> None:
        super().__init__()
        self.bytes = self.peak = 0
        self.held: set[int] = set()
        self.formats: Counter[str] = Counter()

    def hold(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            if tensor.layout == torch.sparse_coo:
                self.hold([torch_internals.indices(tensor), torch_internals.values(tensor)])
            elif tensor.device == META:
                storage = tensor.untyped_storage()
                if (name := torch_internals.identity(storage)) not in self.held:
                    self.held.add(name)
                    self.bytes += storage.nbytes()
                    weakref.finalize(storage, self._free, name, storage.nbytes())
        self.peak = max(self.peak, self.bytes)

    def _free(self, storage: int, size: int) -> None:
        self.held.discard(storage)
        self.bytes -= size

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [part for part in torch_internals.tree_leaves((args, kwargs)) if isinstance(part, torch.Tensor)]
        if {tensor.device.type for tensor in given if tensor.dim()} == {"cpu", "meta"} and "copy" not in str(func):
            shapes = ", ".join(f"{tensor.device} {[*tensor.shape]}" for tensor in given)
            raise RuntimeError(f"{func} of tensors of two devices: {shapes}")
        out = func(*args, **(kwargs or {}))
        made = [part for part in torch_internals.tree_leaves(out) if isinstance(part, torch.Tensor)]
        self.hold(made)
        if func.overloadpacket.__name__ in self.PRODUCTS and made[0].device == META:
            self.formats[str(made[0].dtype).removeprefix("torch.")] += 1
        return out


def cost(spec: dict[str, Any], vocab_size: int, pairs: int = 1_000_000) -> UpdateCost:
    """Of the largest of STEPS batches of an encoder's training on `pairs` pairs, and the operations of a mean one.

    The peak is the highest possible: Python's garbage collection, whose moment depends on all that ran before, is off.

    Raises RuntimeError for an update that a GPU would have to wait in.
    """
    training = trainer.training_of(spec)
    with META:
        model = encoders.create(spec, vocab_size)
    for module in model.modules():
        if isinstance(module, torch.nn.RNNBase):
            module.forward = partial(at_once, module)  # type: ignore[method-assign]
    drawn = batches_of(model, spec, training, pairs)
    largest = max(drawn, key=ids_of)
    live = Live()
    live.hold(model.parameters())
    optimizer = trainer.optimizer_of(spec, training, model, 1)
    for group in optimizer.param_groups:
        group["foreach"] = True  # as on a GPU
    for step, batches in enumerate([drawn[0], largest][: len(drawn)]):  # the first makes the state of the optimizer
        counter = FlopCounterMode(display=False)
        with live, counter, uncollected():
            update(model, optimizer, batches, training)
        if not step:
            flops = counter.get_total_flops() * (EVALUATIONS if training.optimizer == "lbfgs" else 1)
    columns = [*columns_of(largest)]
    tokens = sum(int(column.lengths.sum()) for column in columns)
    return UpdateCost(sum(len(column.ids) for column in columns), tokens, live.peak, flops, dict(live.formats))


def search_peak(sentences: int, dimension: int, k: int, both: bool, memory: int = GPU_MEMORY) -> tuple[int, int]:
    """Of a search by cosine among so many sentences a side: the rows and columns of a block, and its peak memory in bytes.

    Raises RuntimeError for a block that a GPU would have to wait in before its end, where its best are read.
    """
    engine = Engine("cuda", "bf16", TensorSide, by_torch, memory)
    width = k + engine.slack
    panel, _ = neighbours.sizes(engine, width, dimension, memory, 1)
    panel = min(panel, sentences)
    vectors = Embeddings(np.broadcast_to(np.float32(1), (panel, dimension)))
    live = Live()
    with live, uncollected(), torch.no_grad():
        left, right = (TensorSide(vectors, np.ones(panel), METRIC["cosine"], torch.bfloat16, META) for _ in range(2))
        tops(left, right, (width, width if both else 0), engine.tile)
    return panel, live.peak


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Keep what only reference cycles hold, as recomputed parts of a graph are."""
    gc.collect()
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def batches_of(
    model: encoders.Encoder, spec: dict[str, Any], training: trainer.Training, pairs: int
) -> list[dict[str, tuple[Padded, ...]]]:
    """STEPS batches of shapes, or the one batch of all pairs that L-BFGS takes."""
    streams = model.streams(shapes_of(model, spec, training, pairs), training.batch, training.max_tokens, 1)
    steps = 1 if training.optimizer == "lbfgs" else STEPS
    return [{name: stream.batch(step) for name, stream in streams.items()} for step in range(steps)]


def ids_of(batches: dict[str, tuple[Padded, ...]]) -> int:
    """How many ids there are in all columns, with padding."""
    return sum(column.ids.numel() for column in columns_of(batches))


def columns_of(batches: dict[str, tuple[Padded, ...]]) -> Iterator[Padded]:
    yield from (column for columns in batches.values() for column in columns)


def shapes_of(model: encoders.Encoder, spec: dict[str, Any], training: trainer.Training, pairs: int) -> Corpora:
    """The corpora of an encoder, of `pairs` pairs or as many as STEPS batches need."""
    count = pairs if training.optimizer == "lbfgs" else min(pairs, 2 * STEPS * training.batch)
    roles = {"positives", "negatives"} if spec["type"] == "cross_encoder" else {*spec["corpora"]} - {"valid"}
    corpora: Corpora = {
        role: {
            side: Shapes.drawn(count, training.max_tokens, number, IDS.get(spec["type"], 1))
            for number, side in enumerate(model.sides)
        }
        for role in sorted(roles)
    }
    if "hard" in spec:
        numbers = np.full(count, spec["hard"]["count"], np.int32)
        corpora["hard"] = {side: Shapes(numbers, numbers=spec["hard"]["count"]) for side in model.sides}
    return corpora


def update(
    model: encoders.Encoder,
    optimizer: torch.optim.Optimizer,
    batches: dict[str, tuple[Padded, ...]],
    training: trainer.Training,
) -> None:
    """An update. L-BFGS looks at numbers in its line search: one evaluation, with the vectors that it keeps."""
    dtype = number_format(training.precision, META)
    if not isinstance(optimizer, torch.optim.LBFGS):
        run = trainer.Updates(model=model, optimizer=optimizer, training=training, device=META, dtype=dtype)
        trainer.step(run, batches, 0)
        return
    size = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    kept = torch.empty(VECTORS, size, device=META)
    with autocast(META, dtype):
        loss = torch.stack([*model.loss(batches).values()]).sum()
    loss.backward()
    del kept


def at_once(network: Any, x: torch.Tensor, start: Any = None) -> tuple[torch.Tensor, None]:
    """The shapes and products of a recurrent network of one layer and direction: [b, t, D] of `x` [b, t, E]."""
    size = (*x.shape[:2], network.hidden_size)
    first = start[0] if isinstance(start, tuple) else start
    before = x.new_zeros(size, requires_grad=True) if first is None else first[0][:, None].expand(size).contiguous()
    linear = torch.nn.functional.linear
    gates = linear(x, network.weight_ih_l0, network.bias_ih_l0) + linear(
        before, network.weight_hh_l0, network.bias_hh_l0
    )
    i, f, g, *o = gates.chunk(4 if isinstance(network, torch.nn.LSTM) else 3, 2)
    if not o:
        return f.sigmoid() * before + i.sigmoid() * g.tanh(), None
    cell = f.sigmoid() * before + i.sigmoid() * g.tanh()
    return o[0].sigmoid() * cell.tanh(), None
