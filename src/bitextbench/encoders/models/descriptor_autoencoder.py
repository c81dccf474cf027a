"""The bilingual autoencoder with global descriptors of Zhang et al. 2016, section 4: MM2AS and AS2MM.

A sentence is four statistics of its word embeddings over positions: min, max, avg, std (eq. 5). Two of them are
encoded, and the other two are decoded from the code (eq. 6 to 8). Each language has its own word embeddings and
encoder. The decoder is shared, and the loss pulls the centres of the codes of both languages together (eq. 9).

Shapes: b sentences, t positions, V vocabulary, d word embedding, m = 2d hidden, N pairs.

Where the paper is silent:

- W^dec is given as m x 2d. Eq. 7 needs 2d x m, as do eq. 11 and 12, which use its transpose: 2d x m it is.
- Eq. 6 has [max; min] and eq. 11 has [min; max]. The order here is always [min; max].
- b^enc has no language index in eq. 6, 11 and 12: both languages share it.
- x_k,i of eq. 9 is taken to be the code hid of eq. 6, scaled to length one.
- C of eq. 9 and 10 is the argument of `loss`: one batch of the trainer. With the whole corpus as the batch and L-BFGS,
  this is the paper's training.
- Batches are cut into blocks of B = `block` pairs, which makes the loss a stochastic estimate. Eq. 8 is a mean over
  pairs and eq. 9 a sum over blocks. A batch is sorted by length, so its pairs are dealt to the blocks in turn.
- "We normalize all output vectors of the hidden layer": those of eq. 11 and 12, too (`unit`).
- Word embeddings that no file gives start like the other parameters, with `deviation` 0.01 (section 4.3).
- Eq. 10 has its minimum, 0, where all parameters are 0. Trained to the end, word embeddings vanish, and sentence
  vectors with them. The paper trains them (`train_words`) and does not say when L-BFGS stops. With `train_words` false
  they stay.
- `semantic: sum` adds up eq. 9 over all blocks, as printed. On 2.9M pairs that is 29,000 blocks, and the term outweighs
  eq. 8 so much that codes become nearly constant. `semantic: mean` is ours and avoids that.

The notebook has the measurements behind the last two points, and what the codes can and cannot find
(docs/notebook/measurements.md, "The descriptors of zhang2016").
"""

from typing import Any

from torch.utils.checkpoint import checkpoint

from bitextbench.base.device import exact, placed, torch
from bitextbench.encoders import Corpora, Encoder, check_settings
from bitextbench.encoders.batches import Buckets, Padded, Stream
from bitextbench.encoders.streams import FullBatch

nn = torch.nn
ROLES = ("bitext",)
DIRECTIONS = ("mm2as", "as2mm")
SEMANTIC = ("sum", "mean")
PART = {"cpu": 1 << 16, "gpu": 1 << 22}  # words whose embeddings are in memory, and in a CPU's cache, at a time


class Model(Encoder):
    """`direction`: from min and max to avg and std (`mm2as`), or the other way (`as2mm`). Defaults: section 6.1.

    `semantic`: eq. 9 as printed, a `sum` over blocks, or their `mean`.
    """

    def __init__(
        self,
        vocab_size: int,
        *,
        direction: str = "as2mm",
        embedding: int = 100,
        block: int = 100,
        alpha: float = 0.1,
        semantic: str = "sum",
        decay_words: float = 1e-6,
        decay_weights: float = 1e-3,
        deviation: float = 0.01,
        unit: bool = True,
        train_words: bool = True,
    ) -> None:
        super().__init__()
        check_settings(
            "descriptor_autoencoder",
            direction=(direction, direction in DIRECTIONS, " or ".join(DIRECTIONS)),
            semantic=(semantic, semantic in SEMANTIC, " or ".join(SEMANTIC)),
            block=(block, block >= 1, "1 or more"),
            alpha=(alpha, 0 <= alpha <= 1, "a number from 0 to 1"),
        )
        self.vocab_size, self.dimension = vocab_size, 2 * embedding
        self.direction, self.block, self.alpha, self.unit = direction, block, alpha, unit
        self.semantic, self.decay_words, self.decay_weights = semantic, decay_words, decay_weights
        self.words = nn.ModuleDict({side: nn.Embedding(vocab_size, embedding) for side in self.sides})  # L
        m = 2 * embedding
        self.encoders = nn.ModuleDict({side: nn.Linear(2 * embedding, m, bias=False) for side in self.sides})  # W^enc
        self.bias = nn.Parameter(torch.empty(m))  # b^enc
        self.decoder = nn.Linear(m, 2 * embedding)  # W^dec, b^dec
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=deviation)
        self.words.requires_grad_(train_words)

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """Sentence pairs; all of them in every batch where `batch` is as large as the bitext."""
        columns = [corpora["bitext"][side] for side in self.sides]
        pairs = Buckets(columns, batch, max_tokens, [seed], "bitext")
        return {"pairs": pairs if batch < len(pairs) else FullBatch(pairs)}

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """Eq. 10: J(C) of the pairs given, in its three terms."""
        (x, x_error), (y, y_error) = map(self.autoencode, self.sides, batches["pairs"])
        distances = semantic_distances(x, y, self.block)
        return {
            "reconstruction": self.alpha * (x_error + y_error).mean(),
            "semantic": (1 - self.alpha) * (distances.mean() if self.semantic == "mean" else distances.sum()),
            "regularisation": self.regularisation(),
        }

    def autoencode(self, side: str, sentences: Padded) -> tuple[torch.Tensor, torch.Tensor]:
        """The code hid [b, m] of eq. 6, and the error E_ae [b] of eq. 7-8.

        Many sentences are computed in parts, by length, and again in the backward pass, to save memory.
        """
        ids, lengths = sentences.ids, sentences.lengths
        rows = max(1, PART["cpu" if exact(ids.device) else "gpu"] * len(ids) // int(lengths.sum()))
        if rows >= len(ids):
            return self.autoencoded(side, sentences)
        order = lengths.argsort(stable=True)
        batches = [
            checkpoint(
                self.autoencoded,
                side,
                Padded(ids[placed(part, ids.device), : int(lengths[part].max())], lengths[part]),
                use_reentrant=False,
            )
            for part in order.split(rows)
        ]
        back = placed(order.argsort(), ids.device)
        codes, errors = (torch.cat(values).index_select(0, back) for values in zip(*batches, strict=True))
        return codes, errors

    def autoencoded(self, side: str, sentences: Padded) -> tuple[torch.Tensor, torch.Tensor]:
        """The same, of sentences that are computed at once."""
        given, target = self.descriptors(side, sentences)
        hidden = self.code(side, given)
        return hidden, (target - self.decode(hidden)).square().sum(1) / 2  # the descriptors are not autocast

    def code(self, side: str, given: torch.Tensor) -> torch.Tensor:
        """hid [b, m] of eq. 6, of length one, from the encoded descriptors [b, 2d]."""
        return nn.functional.normalize(
            torch.tanh(self.encoders[side](given) + self.bias), dim=1
        )  # float32: the bias is

    def decode(self, code: torch.Tensor) -> torch.Tensor:
        """The other descriptors [b, 2d] as eq. 7 has them, from codes [b, m]."""
        return torch.tanh(self.decoder(code))

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence vectors [b, m] from all four descriptors: eq. 11-12."""
        given, target = self.descriptors(side, sentences)
        hidden = torch.tanh(self.encoders[side](given) + target @ self.decoder.weight + self.bias)
        return nn.functional.normalize(hidden, dim=1) if self.unit else hidden

    def descriptors(self, side: str, sentences: Padded) -> tuple[torch.Tensor, torch.Tensor]:
        """The descriptors to encode and those to decode, [b, 2d] each: eq. 5."""
        words: Any = self.words[side]
        table = words.weight
        order = sentences.lengths.argsort(stable=True)
        lengths, counts = sentences.lengths[order].unique_consecutive(return_counts=True)
        parts = zip(lengths.tolist(), placed(order, table.device).split(counts.tolist()), strict=True)
        alike = [Statistics.apply(sentences.ids[rows, :t], table) for t, rows in parts]  # without padding
        back = placed(order.argsort(), table.device)
        least, most, mean, deviation = (torch.cat(statistic)[back] for statistic in zip(*alike, strict=True))
        extremes, moments = torch.cat([least, most], 1), torch.cat([mean, deviation], 1)
        return (extremes, moments) if self.direction == "mm2as" else (moments, extremes)

    def regularisation(self) -> torch.Tensor:
        """R of eq. 10: half the squared norms of the embeddings and of the three matrices, times their coefficients."""
        words, weights = square(self.words), square(self.encoders) + square(self.decoder)
        return self.decay_words / 2 * words + self.decay_weights / 2 * weights

    def tables(self, side: str) -> list[torch.Tensor]:
        """Section 4.3: "we employ the toolkit Word2Vec"."""
        return [self.words[side].get_parameter("weight")]


class Statistics(torch.autograd.Function):
    """min, max, avg and std (eq. 5) [b, d] over the positions of sentences of one length.

    From ids [b, t] and embeddings [V, d]. Of equal words of a sentence the first one gets the gradient of min and max:
    it is that of the word. A root has no gradient at 0, in a sentence of one word.
    """

    @staticmethod
    def forward(ctx: Any, ids: torch.Tensor, table: torch.Tensor) -> tuple[torch.Tensor, ...]:
        words = nn.functional.embedding(ids, table)  # [b, t, d]
        (least, lowest), (most, highest) = words.min(1), words.max(1)
        mean = words.mean(1)
        deviation = (words - mean[:, None]).square_().mean(1).sqrt_()
        ctx.save_for_backward(ids, table, lowest, highest, mean, deviation)
        return least, most, mean, deviation

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, torch.Tensor]:
        of_least, of_most, of_mean, of_deviation = gradients
        ids, table, lowest, highest, mean, deviation = ctx.saved_tensors
        t = ids.shape[1]
        spread = torch.where(deviation > 0, of_deviation / deviation, 0) / t
        words = nn.functional.embedding(ids, table)
        words.sub_(mean[:, None]).mul_(spread[:, None]).add_((of_mean / t)[:, None])
        words.scatter_add_(1, lowest[:, None], of_least[:, None]).scatter_add_(1, highest[:, None], of_most[:, None])
        return None, torch.ops.aten.embedding_dense_backward(words, ids, len(table), -1, False)


def semantic_distances(x: torch.Tensor, y: torch.Tensor, block: int) -> torch.Tensor:
    """The terms of eq. 9 [blocks]: half the squared distance of the centres of a block of `x` and of `y` [b, m].

    There are ceil(b / block) blocks; pair i is in block i modulo their number.
    """
    count = -(-len(x) // block)
    place = torch.arange(len(x), device=x.device) % count
    sizes = (len(x) - 1 - torch.arange(count, device=x.device)[:, None]) // count + 1
    sums = x.new_zeros(count, x.shape[1]).index_add(0, place, x - y)
    return (sums / sizes).square().sum(1) / 2


def square(module: nn.Module) -> torch.Tensor:
    """The squared norm of the matrices of a module, a number.

    Columns are summed first: the sum of all elements of a large tensor depends on the number of threads.
    """
    return torch.stack([matrix.square().sum(0).sum() for matrix in module.parameters() if matrix.dim() == 2]).sum()
