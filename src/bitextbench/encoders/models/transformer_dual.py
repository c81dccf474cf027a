"""The dual encoder of Yang et al. 2019, sections 3 and 4.2: one Transformer for both languages ranks translations.

A token is the sum of its word embedding and the embeddings of its character n-grams. Three Transformer layers follow.
Max, mean, first and attention pooling of the last layer are concatenated and projected. `direction` and `margin` give
the three models of the paper:

| model | direction | margin | equations |
|---|---|---|---|
| DE | forward | 0 | 2, 3 |
| BiDE | both | 0 | 4, 5 |
| BiDE+AM | both | 0.3 | 6, 7, 8 |

Shapes: b sentences, t tokens of the longest, n words and n-grams of all, E embedding, H hidden, D sentence embedding.

Where the paper is silent:

- phi is a "dot-product" in section 3.1. But section 2 has a dual encoder optimise "the cosine similarity", and mined
  pairs are scored by cosines (sections 5.2, 6 and 6.1, where phi is "the cosine similarity function"): `similarity`
  chooses. At paper scale it is the dot product with `scale` 1, as in the equations. The length penalty of footnote 3
  speaks for it, too: a cosine does not depend on lengths. A softmax over cosines needs a scale: without one its loss is
  at least 3.6 nats for 100 candidates. Wang et al. 2018, the source of the margin, have 30.
- Footnote 3 multiplies the length penalty, the l2 norm of an embedding, by a constant printed as "11". Here it is
  `length_penalty`, on the mean norm of a batch. With 11 no model learns: vectors shrink until nothing is left to
  compare. With 1 models learn, so 1 is used (docs/notebook/measurements.md).
- Where two languages share few n-grams, DE may shrink even with 1. Russian has 0.5 in the small run.
- A linear map, times the square root of H, takes tokens of E = 300 to layers of H = 512. Positions are sinusoids, and
  layers normalise after the sum (Vaswani et al. 2017, sections 3.4, 3.5, 5.4).
- Attention pooling "[dos Santos et al. 2016]" attends over pairs. Here sentences are encoded separately, so the query
  is learned.
- "Multiply the gradients of the word and character embeddings by a factor of 25": before the norm is clipped.
- Dropout: none by default, as the paper mentions none.
"""

import math
from collections.abc import Iterator, Sequence

from bitextbench.base.device import exact, placed, torch
from bitextbench.encoders import check_settings
from bitextbench.encoders.batches import Padded, aligned, inside
from bitextbench.encoders.dual import DualEncoder, bags, features
from bitextbench.encoders.layers import Layer

nn = torch.nn
ROLES = ("bitext", "hard")
TOGETHER = {"cpu": 1024, "gpu": 65_536}  # tokens in the layers at a time: more costs padding, less costs overhead
DIRECTIONS, SIMILARITIES = ("forward", "both"), ("cosine", "dot")


class Model(DualEncoder):
    """`embedding_gradient`: the factor of section 4.2; `together`: see `dual`."""

    narrow, rows, sided = True, 128, False

    def __init__(
        self,
        vocab_size: int,
        *,
        words: int,
        embedding: int = 300,
        hidden: int = 512,
        filters: int = 2048,
        heads: int = 8,
        layers: int = 3,
        dimension: int = 500,
        dropout: float = 0.0,
        direction: str = "both",
        margin: float = 0.3,
        similarity: str = "dot",
        scale: float = 1.0,
        length_penalty: float = 1.0,
        embedding_gradient: float = 25.0,
        extra: int = 0,
        together: int = 1,
        sparse: bool = True,
    ) -> None:
        super().__init__(vocab_size, words, margin=margin, scale=scale, extra=extra, together=together, sparse=sparse)
        check_settings(
            "transformer_dual",
            direction=(direction, direction in DIRECTIONS, " or ".join(DIRECTIONS)),
            similarity=(similarity, similarity in SIMILARITIES, " or ".join(SIMILARITIES)),
            heads=(heads, heads >= 1, "1 or more"),
            hidden=(hidden, heads < 1 or hidden % heads == hidden % 2 == 0, f"an even multiple of the {heads} heads"),
        )
        self.metric, self.bidirectional = similarity, direction == "both"
        self.dimension, self.length_penalty, self.embedding_gradient = dimension, length_penalty, embedding_gradient
        self.embeddings = nn.Parameter(torch.randn(vocab_size, embedding) * embedding**-0.5)
        self.widen = nn.Linear(embedding, hidden)
        self.layers = nn.ModuleList(Layer(hidden, heads, filters, dropout) for _ in range(layers))
        self.query = nn.Parameter(torch.randn(hidden) * hidden**-0.5)
        self.project = nn.Linear(4 * hidden, dimension)
        self.dropout = nn.Dropout(dropout)

    def table(self, side: str) -> torch.Tensor:
        return self.embeddings

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """Eq. 3, 5 or 8, and the length penalty of footnote 3."""
        columns = batches["ranking"]
        u, v = self.vectors(columns)
        length = torch.cat([u, v]).float().norm(dim=1).mean()
        return {"ranking": self.ranking(u, v, columns), "length": self.length_penalty * length}

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence embeddings [b, D] of either side: section 4.2. Sentences of similar length are computed together."""
        device, order = sentences.ids.device, sentences.lengths.argsort(descending=True, stable=True)
        ids, lengths = sentences.ids[placed(order, device)], sentences.lengths[order]
        sizes = None if sentences.sizes is None else sentences.sizes[order]
        parts = [lengths[a:b] for a, b in alike(lengths.tolist(), TOGETHER["cpu" if exact(device) else "gpu"])]
        # embedded at once: the gradient of an embedding bag is as large as all embeddings, of however few tokens
        tokens = self.embed(Padded(ids, lengths, sizes)).split([int(part.sum()) for part in parts])
        encoded = [self.encode_alike(*part) for part in zip(tokens, parts, strict=True)]
        return torch.cat(encoded)[placed(order.argsort(), device)]

    def embed(self, sentences: Padded) -> torch.Tensor:
        """The words of all sentences with their n-grams [tokens, E]."""
        flat = features(sentences)
        begins = (flat < self.words).nonzero_static(size=int(sentences.lengths.sum()))[:, 0]
        words = bags(flat, begins, self.embeddings, self.sparse)
        if words.requires_grad:
            words.register_hook(lambda gradient: gradient * self.embedding_gradient)
        return words

    def encode_alike(self, words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Sentence embeddings [b, D] of sentences that are padded to the longest; their `words` [tokens, E], `lengths` [b]
        in tokens, on the CPU.
        """
        device, width, hidden = words.device, int(lengths.max()), self.query.shape[0]
        width = aligned(width, device) if self.training else width
        tokens = placed(torch.arange(width) < lengths[:, None], device)  # [b, t]: no padding
        given = (self.widen(words) * math.sqrt(hidden)).to(self.query.dtype)
        h = given.new_zeros(len(lengths) * width, hidden).index_copy(0, inside(lengths, width, device), given)
        h = self.dropout(h.view(-1, width, hidden) + sinusoids(width, hidden, device).to(h.dtype))
        padding = None if int(lengths.min()) == width else ~tokens
        for layer in self.layers:
            h = layer(h, src_key_padding_mask=padding)
        return self.project(torch.cat(self.pool(h, tokens), 1))

    def pool(self, h: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Max, mean, first and attention pooling, [b, H] each, of `h` [b, t, H] where `tokens` [b, t] is true."""
        inside = tokens[:, :, None]
        maximum = h.masked_fill(~inside, -torch.inf).amax(1)
        mean = (h * inside).sum(1) / inside.sum(1)
        attention = (h * self.query).sum(2).masked_fill(~tokens, -torch.inf).softmax(1)  # [b, t]
        return maximum, mean, h[:, 0], (attention[:, :, None] * h).sum(1)


def alike(lengths: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Ranges of sentences of falling `lengths`: a range has at most `most` tokens with padding, or needs no padding."""
    start = 0
    while start < len(lengths):
        end = min(len(lengths), start + max(1, most // max(1, lengths[start])))
        while end < len(lengths) and lengths[end] == lengths[start]:
            end += 1
        yield start, end
        start = end


def sinusoids(length: int, size: int, device: torch.device) -> torch.Tensor:
    """Positions [length, size]: Vaswani et al. 2017, section 3.5."""
    rates = 10_000 ** -(torch.arange(0, size, 2, device=device) / size)
    angles = torch.arange(length, device=device)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)
