"""The fast search: the best keys of each row and column of the matrix of similarities, tile by tile."""

from collections.abc import Iterator
from typing import Any

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.base.progress import progress
from bitextbench.scoring.neighbours.metric import Side, blocks

GROUP = 32  # elements of a row or column of a tile; their maximum is looked at first


class Top:
    """The best `width` keys so far of each of n rows, on the device: values float32, ids int64 [n, width]."""

    def __init__(self, n: int, width: int, device: torch.device) -> None:
        self.values = torch.full((n, width), -torch.inf, device=device)
        self.ids = torch.full((n, width), -1, dtype=torch.int64, device=device)
        self.width = width

    def update(self, start: int, grouped: torch.Tensor, maxima: torch.Tensor, ids: torch.Tensor) -> None:
        """Add a tile: keys `grouped` [m, g, s] of rows from `start` on and `ids` [g, s]; `maxima` [m, g] of groups."""
        rows = slice(start, start + len(maxima))
        floor = self.values[rows, -1]
        row, group = (maxima > floor[:, None]).nonzero(as_tuple=True)
        if len(row) > self.width * len(maxima):
            self.add(rows, *_best_of_groups(grouped, maxima, self.width, ids))
        elif len(row):
            self._add_some(start, row, grouped[row, group].float(), ids[group], floor[row])

    def add(self, rows: Any, values: torch.Tensor, ids: torch.Tensor) -> None:
        """Add candidates [m, c] of `rows` [m]."""
        values = torch.cat([self.values[rows], values.float()], 1)
        ids = torch.cat([self.ids[rows], ids], 1)
        self.values[rows], place = values.topk(self.width)
        self.ids[rows] = ids.gather(1, place)

    def _add_some(
        self, start: int, row: torch.Tensor, elements: torch.Tensor, element_ids: torch.Tensor, floor: torch.Tensor
    ) -> None:
        """Add those of `elements` [h, s] that are above `floor` [h]; they are sorted by `row` [h]."""
        hit, lane = (elements > floor[:, None]).nonzero(as_tuple=True)
        touched, which, counts = torch.unique_consecutive(row[hit], return_inverse=True, return_counts=True)
        place = torch.arange(len(hit), device=hit.device) - (counts.cumsum(0) - counts)[which]
        values = torch.full((len(touched), int(counts.max())), -torch.inf, device=hit.device)
        ids = torch.full_like(values, -1, dtype=torch.int64)
        values[which, place] = elements[hit, lane]
        ids[which, place] = element_ids[hit, lane]
        self.add(start + touched, values, ids)


def _best_of_groups(
    grouped: torch.Tensor, maxima: torch.Tensor, width: int, ids: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best `width` of each row [m, g, s]. They are in the `width` groups with the greatest maxima."""
    groups = maxima.float().topk(min(width, maxima.shape[1])).indices
    elements = grouped[torch.arange(len(groups), device=groups.device)[:, None], groups].float().flatten(1)
    values, place = elements.topk(min(width, elements.shape[1]))
    return values, ids[groups].flatten(1).gather(1, place)


def by_torch(src: Side, tgt: Side, width: tuple[int, int], rows: int, tile: int) -> tuple[Top, Top]:
    """The best keys of each row and of each column, by one product of tiles; `rows` rows are prepared at a time."""
    forward, backward = Top(len(src), width[0], src.device), Top(len(tgt), width[1], src.device)
    prepared, left = None, torch.empty(0)
    for outer, columns in _steps(len(src), rows, len(tgt), tile):
        if outer != prepared:
            prepared, left = outer, src.matrix(outer)
        right = tgt.matrix(columns)
        for part in blocks(len(left), tile):
            start = outer.start + part.start
            keys = keys_of(left[part], right, src, tgt, slice(start, outer.start + part.stop), columns)
            _take_in(keys, forward, backward, start, columns.start)
    return forward, backward


def _steps(m: int, rows: int, n: int, columns: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of the matrix of similarities, with progress."""
    pairs = [(a, b) for a in blocks(m, rows) for b in blocks(n, columns)]
    yield from progress(pairs, f"neighbours of {m:,} x {n:,}", total=len(pairs), unit="blocks")


def keys_of(left: torch.Tensor, right: torch.Tensor, src: Side, tgt: Side, rows: Any, columns: Any) -> torch.Tensor:
    """The keys [m, n] of a tile."""
    keys = left @ right.T
    return keys.sub_(src.half(rows)[:, None]).sub_(tgt.half(columns)) if src.metric.halved else keys


def _take_in(keys: torch.Tensor, forward: Top, backward: Top, row: int, column: int) -> None:
    """Add a tile [m, n] whose first element is (row, column) to both directions."""
    m, n = keys.shape
    if m % GROUP or n % GROUP:
        keys = torch.nn.functional.pad(keys, (0, -n % GROUP, 0, -m % GROUP), value=-torch.inf)
    high, wide = keys.shape
    # a group of a row has every (n / GROUP)-th element, so that maxima are taken along contiguous memory
    i, j = (torch.arange(start, start + size, device=keys.device) for start, size in ((row, high), (column, wide)))
    by_row = keys[:m].view(m, GROUP, -1)
    forward.update(row, by_row.transpose(1, 2), by_row.amax(1), j.view(GROUP, -1).T)
    by_column = keys.view(-1, GROUP, wide)[..., :n]
    backward.update(column, by_column.permute(2, 0, 1), by_column.amax(1).T, i.view(-1, GROUP))


def by_faiss(src: Side, tgt: Side, width: tuple[int, int], rows: int, tile: int) -> tuple[Top, Top]:
    """`by_torch` with the exhaustive search of faiss, once for each direction; always fp32."""
    import faiss

    faiss.omp_set_num_threads(torch.get_num_threads())
    distance = faiss.METRIC_L2 if src.metric.halved else faiss.METRIC_INNER_PRODUCT
    gpu = src.device.type == "cuda"
    if gpu and not hasattr(faiss, "StandardGpuResources"):
        raise InputError("this faiss has no GPU part", remedy="install faiss-gpu, or take the backend torch")

    def knn(x: torch.Tensor, y: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        queries, base = x.cpu().numpy(), y.cpu().numpy()
        if gpu:
            arrays = faiss.knn_gpu(faiss.StandardGpuResources(), queries, base, k, metric=distance)
        else:
            arrays = faiss.knn(queries, base, k, metric=distance)
        values, ids = (torch.from_numpy(array).to(src.device) for array in arrays)
        return (values / -2 if src.metric.halved else values), ids

    forward, backward = Top(len(src), width[0], src.device), Top(len(tgt), width[1], src.device)
    for outer, columns in _steps(len(src), rows, len(tgt), rows):
        left, right = src.matrix(outer), tgt.matrix(columns)
        values, ids = knn(left, right, min(width[0], len(right)))
        forward.add(outer, values, ids + columns.start)
        values, ids = knn(right, left, min(width[1], len(left)))
        backward.add(columns, values, ids + outer.start)
    return forward, backward
