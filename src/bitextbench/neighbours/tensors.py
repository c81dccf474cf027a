"""The fast search as tensors of torch: on a GPU, tile by tile; and sides in bfloat16, on any device."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import torch
from bitextbench.neighbours.lists import Kept
from bitextbench.neighbours.metric import BLOCK, Side, blocks, keys_of, steps

GROUP = 32  # elements of a row or column of a tile; their maximum is looked at first


@dataclass
class TensorSide(Side):
    """A side whose rows are tensors of a number format on a device."""

    dtype: torch.dtype
    device: torch.device

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dtype == torch.bfloat16:
            self.rounding = 2.0**-8  # type: ignore[misc]
            self.lost = torch.empty(len(self), device=self.device)  # by rows, of their numbers in float32
            for rows in blocks(len(self), BLOCK):
                full = self._full(self.vectors.block(rows.start, rows.stop), rows)
                self.lost[rows] = (full - full.to(self.dtype).float()).norm(dim=1)

    @cached_property
    def residual(self) -> NDArray[np.float64]:
        """See `Side`. It is read from the device when the search is over, as until then nobody needs it."""
        lost = self.lost.double().cpu().numpy() if self.dtype == torch.bfloat16 else 0
        return super().residual + lost * (1 + 1e-3)

    def full(self) -> Side:
        if self.device.type == "cpu":
            return Side(self.vectors, self.norms, self.metric)
        return TensorSide(self.vectors, self.norms, self.metric, torch.float32, self.device)

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
            here = slice(rows.start + part.start, rows.start + part.stop)
            matrix[part] = self._full(self.vectors.block(here.start, here.stop), here)
        return matrix

    def matrix_of(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return self._full(self.vectors.take(rows), rows).to(self.dtype)

    @staticmethod
    def host(keys: torch.Tensor) -> NDArray[np.float32]:
        return keys.cpu().numpy()

    def half(self, rows: Any) -> torch.Tensor:
        return torch.from_numpy(super().half(rows)).to(self.device, non_blocking=True)


class Top:
    """The best `width` keys so far of each of n rows, on the device: values float32, ids int64 [n, width]."""

    def __init__(self, n: int, width: int, device: torch.device) -> None:
        self.values = torch.full((n, width), -torch.inf, device=device)
        self.ids = torch.full((n, width), -1, dtype=torch.int64, device=device)
        self.width = width

    def kept(self) -> Kept:
        return Kept(self.values.cpu().numpy(), self.ids.cpu().numpy())

    def add(self, start: int, grouped: torch.Tensor, maxima: torch.Tensor, ids: torch.Tensor) -> None:
        """Add a tile: keys `grouped` [m, g, s] of rows from `start` on and `ids` [g, s]; `maxima` [m, g] of groups.

        All sizes are known beforehand, whatever the numbers are: the host does not wait for the device.
        """
        rows = slice(start, start + len(maxima))
        values, found = _best_of_groups(grouped, maxima, self.width, ids)
        values, found = torch.cat([self.values[rows], values], 1), torch.cat([self.ids[rows], found], 1)
        self.values[rows], place = values.topk(self.width)
        self.ids[rows] = found.gather(1, place)


def _best_of_groups(
    grouped: torch.Tensor, maxima: torch.Tensor, width: int, ids: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best `width` of each row [m, g, s]. They are in the `width` groups with the greatest maxima."""
    groups = maxima.float().topk(min(width, maxima.shape[1])).indices
    elements = grouped[torch.arange(len(groups), device=groups.device)[:, None], groups].float().flatten(1)
    values, place = elements.topk(min(width, elements.shape[1]))
    return values, ids[groups].flatten(1).gather(1, place)


@torch.inference_mode()
def by_torch(src: TensorSide, tgt: TensorSide, width: tuple[int, int], rows: int, tile: int) -> tuple[Kept, Kept]:
    """The best keys of each row and of each column, by one product of tiles; `rows` rows are prepared at a time."""
    forward, backward = tops(src, tgt, width, rows, tile)
    return forward.kept(), backward.kept()  # here the host waits


def tops(src: TensorSide, tgt: TensorSide, width: tuple[int, int], rows: int, tile: int) -> tuple[Top, Top]:
    """`by_torch`, on the device."""
    forward, backward = Top(len(src), width[0], src.device), Top(len(tgt), width[1], src.device)
    prepared, left = None, torch.empty(0)
    for outer, columns in steps(len(src), rows, len(tgt), tile):
        if outer != prepared:
            prepared, left = outer, src.matrix(outer)
        right = tgt.matrix(columns)
        for part in blocks(len(left), tile):
            start = outer.start + part.start
            keys = keys_of(left[part], right, src, tgt, slice(start, outer.start + part.stop), columns)
            _take_in(keys, forward, backward, start, columns.start)
    return forward, backward


def _take_in(keys: torch.Tensor, forward: Top, backward: Top, row: int, column: int) -> None:
    """Add a tile [m, n] whose first element is (row, column) to both directions."""
    m, n = keys.shape
    if m % GROUP or n % GROUP:
        keys = torch.nn.functional.pad(keys, (0, -n % GROUP, 0, -m % GROUP), value=-torch.inf)
    high, wide = keys.shape
    # a group of a row has every (n / GROUP)-th element, so that maxima are taken along contiguous memory
    i, j = (torch.arange(start, start + size, device=keys.device) for start, size in ((row, high), (column, wide)))
    by_row = keys[:m].view(m, GROUP, -1)
    forward.add(row, by_row.transpose(1, 2), by_row.amax(1), j.view(GROUP, -1).T)
    if not backward.width:
        return
    by_column = keys.view(-1, GROUP, wide)[..., :n]
    backward.add(column, by_column.permute(2, 0, 1), by_column.amax(1).T, i.view(-1, GROUP))
