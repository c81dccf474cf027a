"""The fast search as tensors of torch: on a GPU, tile by tile; and sides in bfloat16, on any device.

Two numbers are kept of a tile of keys for GROUP x GROUP of its elements or so: a group is GROUP elements of a row (or of
a column) of a tile, and its greatest key stands for it. The best K elements of a row are in the K groups with the
greatest keys. When all tiles have been seen, the keys of these groups are computed again, in float32.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import torch
from bitextbench.neighbours.lists import Kept
from bitextbench.neighbours.metric import BLOCK, Side, blocks, keys_of, steps

GROUP = 16  # elements of a row or column of a tile; with 32, most of the time went into keys computed again
PATCH = 4  # tiles a side of a patch, whose groups are compared together
UPLOADED = 1 << 15  # rows that go to the device at a time
AGAIN = 1 << 28  # numbers of the vectors whose keys are computed again at a time: 1 GiB


@dataclass
class TensorSide(Side):
    """A side whose rows are tensors of a number format on a device."""

    dtype: torch.dtype
    device: torch.device

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype == torch.bfloat16:
            self.rounding = 2.0**-8  # type: ignore[misc]

    @cached_property
    def lost(self) -> torch.Tensor:
        """The length of what bfloat16 loses of each row, float32 [n]."""
        lost = torch.empty(len(self), device=self.device)
        for rows in blocks(len(self), BLOCK):
            full = self.wide.part(rows)
            lost[rows] = (full - full.to(self.dtype).float()).norm(dim=1)
        return lost

    @cached_property
    def residual(self) -> NDArray[np.float64]:
        """See `Side`. It is read from the device when the search is over, as until then nobody needs it."""
        lost = self.lost.double().cpu().numpy() if self.dtype == torch.bfloat16 else 0
        return super().residual + lost * (1 + 1e-3)

    @property
    def wide(self) -> "TensorSide":
        """The side with its numbers in float32, on the device: itself, or one that is made once."""
        return self if self.dtype == torch.float32 else self._widened

    @cached_property
    def _widened(self) -> "TensorSide":
        return TensorSide(self.vectors, self.norms, self.metric, torch.float32, self.device)

    def full(self) -> Side:
        return Side(self.vectors, self.norms, self.metric) if self.device.type == "cpu" else self.wide

    @cached_property
    def whole(self) -> torch.Tensor:
        """All rows [n, d], which stay on the device."""
        if self.dtype != torch.float32:
            return self.wide.whole.to(self.dtype)
        whole = torch.empty((len(self), self.vectors.dimension), device=self.device)
        for rows in blocks(len(self), UPLOADED):
            whole[rows] = self._full(self.vectors.block(rows.start, rows.stop), rows)
        return whole

    def part(self, rows: slice) -> torch.Tensor:
        """Rows in float32, of the whole where it is on the device."""
        if "whole" in vars(self):
            return self.whole[rows]
        return self._full(self.vectors.block(rows.start, rows.stop), rows)

    def _full(self, block: NDArray[np.float32], rows: Any) -> torch.Tensor:
        full = torch.from_numpy(block).to(self.device, non_blocking=True)
        if self.metric.scaled:
            scale = torch.from_numpy(self.scale[rows]).to(self.device, non_blocking=True)[:, None]
            tiny = (self.scale[rows] > 1e30).any()  # as in `Side`
            full = (full.double() * scale).float() if tiny else full * scale.float()
        return full

    def matrix(self, rows: slice) -> torch.Tensor:
        matrix = torch.empty((rows.stop - rows.start, self.vectors.dimension), dtype=self.dtype, device=self.device)
        for part in blocks(len(matrix), BLOCK):
            matrix[part] = self.wide.part(slice(rows.start + part.start, rows.start + part.stop))
        return matrix

    def matrix_of(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return self._full(self.vectors.take(rows), rows).to(self.dtype)

    @staticmethod
    def host(keys: torch.Tensor) -> NDArray[np.float32]:
        return keys.cpu().numpy()

    def half(self, rows: Any) -> torch.Tensor:
        return torch.from_numpy(super().half(rows)).to(self.device, non_blocking=True)

    @cached_property
    def halves(self) -> torch.Tensor:
        """`half` of all rows."""
        return self.half(slice(0, len(self)))


class Groups(NamedTuple):
    """How the elements of a side of n are grouped, in tiles of `tile`.

    Group g of a tile with s groups has every s-th element from the g-th on. So maxima are taken along contiguous memory.
    """

    n: int
    tile: int

    @property
    def each(self) -> int:
        """The groups of a whole tile."""
        return -(-self.tile // GROUP)

    def before(self, element: int) -> int:
        """How many groups there are before an element that begins a tile, or ends the side."""
        tiles, rest = divmod(element, self.tile)
        return tiles * self.each + -(-rest // GROUP)

    def elements(self, groups: torch.Tensor) -> torch.Tensor:
        """The elements [..., GROUP] of groups; -1 where a group has fewer."""
        last = (self.n - 1) // self.tile
        rest = self.n - last * self.tile
        tile, place = groups // self.each, groups % self.each
        step = torch.where(tile < last, self.each, -(-rest // GROUP))
        size = torch.where(tile < last, self.tile, rest)
        within = place[..., None] + step[..., None] * torch.arange(GROUP, device=groups.device)
        return torch.where(within < size[..., None], tile[..., None] * self.tile + within, -1)


class Best:
    """The `width` groups with the greatest keys so far of each of n rows, on the device: keys, and numbers of groups."""

    def __init__(self, n: int, width: int, device: torch.device) -> None:
        self.width = width
        self.keys = torch.full((n, width), -torch.inf, device=device)
        self.groups = torch.full((n, width), -1, dtype=torch.int64, device=device)

    def add(self, rows: slice, maxima: torch.Tensor, first: int) -> None:
        """Add the greatest keys [m, g] of groups from number `first` on."""
        keys, groups = maxima.topk(min(self.width, maxima.shape[1]))
        keys = torch.cat([self.keys[rows], keys.float()], 1)
        groups = torch.cat([self.groups[rows], groups + first], 1)
        self.keys[rows], place = keys.topk(self.width)
        self.groups[rows] = groups.gather(1, place)


class Top(NamedTuple):
    """`Kept` on the device."""

    values: torch.Tensor
    ids: torch.Tensor
    dropped: torch.Tensor

    def kept(self) -> Kept:
        return Kept(*(tensor.cpu().numpy() for tensor in self))


@torch.inference_mode()
def by_torch(src: TensorSide, tgt: TensorSide, width: tuple[int, int], rows: int, tile: int) -> tuple[Kept, Kept]:
    """The best keys of each row and of each column. All `rows` of both sides are on the device."""
    forward, backward = tops(src, tgt, width, tile)
    return forward.kept(), backward.kept()  # here the host waits


def tops(src: TensorSide, tgt: TensorSide, width: tuple[int, int], tile: int) -> tuple[Top, Top]:
    """`by_torch`, on the device. All sizes are known beforehand, whatever the numbers are: the host does not wait."""
    left, right, device = src.whole, tgt.whole, src.device
    rows, columns = Groups(len(src), tile), Groups(len(tgt), tile)
    forward = Best(len(src), min(width[0], columns.before(len(tgt))), device)
    backward = Best(len(tgt), min(width[1], rows.before(len(src))), device)
    for outer, inner in steps(len(src), PATCH * tile, len(tgt), PATCH * tile):
        by_row, by_column = [], []
        for i in tiles(outer, tile):
            found = [maxima(keys_of(left[i], right[j], src, tgt, i, j), width[1] > 0) for j in tiles(inner, tile)]
            by_row.append(torch.cat([part for part, _ in found], 1))
            by_column.append(torch.cat([part for _, part in found], 1))
        forward.add(outer, torch.cat(by_row), columns.before(inner.start))
        if width[1]:
            backward.add(inner, torch.cat(by_column).T, rows.before(outer.start))
    return again(forward, src, tgt, columns, width[0]), again(backward, tgt, src, rows, width[1])


def tiles(part: slice, tile: int) -> Iterator[slice]:
    yield from (slice(part.start + b.start, part.start + b.stop) for b in blocks(part.stop - part.start, tile))


def maxima(keys: torch.Tensor, both: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The greatest keys of the groups of each row [m, n / GROUP], and of each column [m / GROUP, n], of a tile [m, n]."""
    m, n = keys.shape
    if m % GROUP or n % GROUP:
        keys = torch.nn.functional.pad(keys, (0, -n % GROUP, 0, -m % GROUP), value=-torch.inf)
    high, wide = keys.shape
    by_row = keys[:m].view(m, GROUP, wide // GROUP).amax(1)
    by_column = keys.view(GROUP, high // GROUP, wide)[..., :n].amax(0) if both else keys.new_empty(0, n)
    return by_row, by_column


def again(best: Best, own: TensorSide, other: TensorSide, groups: Groups, width: int) -> Top:
    """The best `width` elements of the best groups of each row, by keys in float32."""
    n, left, right = len(own), own.wide.whole, other.wide.whole
    values, ids = (
        torch.empty((n, width), device=own.device),
        torch.empty((n, width), dtype=torch.int64, device=own.device),
    )
    for rows in blocks(n if width else 0, max(1, AGAIN // (max(1, best.width) * GROUP * left.shape[1]))):
        members = groups.elements(best.groups[rows]).flatten(1)
        places = members.clamp(min=0)
        keys = torch.bmm(right[places], left[rows, :, None])[..., 0]
        if own.metric.halved:
            keys -= own.half(rows)[:, None]
            keys -= other.halves[places]
        values[rows], place = keys.masked_fill(members < 0, -torch.inf).topk(width)
        ids[rows] = members.gather(1, place)
    all_seen = best.width == groups.before(groups.n)
    dropped = torch.full((n,), -torch.inf, device=own.device) if all_seen or not width else best.keys[:, -1]
    return Top(values, ids, dropped)
