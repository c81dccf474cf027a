"""The bilingual bag-of-words autoencoder of Chandar et al. 2014, as zhang2016 section 3 describes it (their BBoWAE).

A sentence is a binary vector over the vocabulary. One hidden layer reads either side, or both, and reconstructs both.

Shapes: b sentences, V vocabulary, D hidden.

Where the paper is silent:

- `activation`: eq. 1 calls h "an element-wise non-linear function". The default is the sigmoid, which eq. 2 and 3 name.
- Both sides are read together as a([x, y]) = c + W^X v(x) + W^Y v(y). The loss l([x, y], [x, y]) is the cross-entropy
  of both sides, rebuilt from that code.
- l is the sum of the binary cross-entropies of all V words. The loss of a batch is its mean over the pairs.
- `correlation` is one number for a batch, as in eq. 4. It is not a mean over pairs.
- `merge`: Chandar et al. merge 5 neighbouring pairs into one bag for each side, which makes training faster. Here the
  neighbours in a batch are merged: they have about the same length. The default is 1: no merging.
- `representation`: the sentence vector is either "the sentence representation a(x)" (`sum`, the default) or phi(x)
  (`hidden`).
- Sizes: Zhang et al. use "the same hyperparameters": D = 40 (their table 3), beta = 1, lambda = 4, batches of 20.
- PAD is in no bag. It still has a row, as every id has.
"""

from typing import ClassVar

from bitextbench.base.device import placed, torch
from bitextbench.encoders import Corpora, Encoder, check_settings
from bitextbench.encoders.batches import Buckets, Padded, Stream
from bitextbench.formats.ids import PAD

nn = torch.nn
ROLES = ("bitext",)


class Model(Encoder):
    """Tied weights: the decoder of a side is the transpose of its encoder (eq. 2-3)."""

    activations: ClassVar = {"sigmoid": torch.sigmoid, "tanh": torch.tanh}

    def __init__(
        self,
        vocab_size: int,
        *,
        hidden: int = 40,
        activation: str = "sigmoid",
        beta: float = 1.0,
        correlation: float = 4.0,
        merge: int = 1,
        representation: str = "sum",
    ) -> None:
        super().__init__()
        check_settings(
            "bow_autoencoder",
            activation=(activation, activation in self.activations, " or ".join(self.activations)),
            representation=(representation, representation in ("sum", "hidden"), "sum or hidden"),
            merge=(merge, merge >= 1, "1 or more"),
        )
        self.vocab_size, self.dimension = vocab_size, hidden
        self.h, self.beta, self.correlation = self.activations[activation], beta, correlation
        self.merge, self.representation = merge, representation
        # W of a side, transposed: row i is the embedding of word i
        self.words = nn.ParameterDict({side: nn.Parameter(torch.empty(vocab_size, hidden)) for side in self.sides})
        self.c = nn.Parameter(torch.zeros(hidden))
        self.bias = nn.ParameterDict({side: nn.Parameter(torch.zeros(vocab_size)) for side in self.sides})
        for side in self.sides:
            nn.init.xavier_uniform_(self.words[side])

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """Sentence pairs."""
        columns = [corpora["bitext"][side] for side in self.sides]
        return {"pairs": Buckets(columns, batch, max_tokens, [seed], "bitext")}

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """Eq. 4: the four reconstructions, beta times the joint one, and -lambda times the correlation."""
        bags = [self.merged(self.bag(column)) for column in batches["pairs"]]
        a = self.activity(dict(zip(self.sides, bags, strict=True)))
        alone, joint = self.reconstruction(a, bags)
        return {
            "reconstruction": alone.mean(),
            "joint": self.beta * joint.mean(),
            "correlation": -self.correlation * correlation(*(a[side].to(self.c.dtype) for side in self.sides)),
        }

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """a(x) or phi(x), eq. 1: [b, D]."""
        a = self.c + self.bag(sentences) @ self.words[side]
        return a if self.representation == "sum" else self.h(a)

    def similarity(self, source: Padded, target: Padded) -> torch.Tensor:
        """The quality of reconstruction of pair i [b]: minus eq. 4 without the correlation; zhang2016 section 6.1."""
        bags = [self.bag(source), self.bag(target)]
        alone, joint = self.reconstruction(self.activity(dict(zip(self.sides, bags, strict=True))), bags)
        return -(alone + self.beta * joint)

    def bag(self, sentences: Padded) -> torch.Tensor:
        """v(x) [b, V], in the type of the parameters: 1 for each word that occurs."""
        ids = sentences.ids
        past = torch.arange(ids.shape[1], device=ids.device) >= placed(sentences.lengths, ids.device)[:, None]
        bags = self.c.new_zeros(len(ids), self.vocab_size).scatter_(1, ids.masked_fill(past, PAD), 1.0)
        bags[:, PAD] = 0
        return bags

    def merged(self, bags: torch.Tensor) -> torch.Tensor:
        """The bags [b / merge, V] of `merge` sentences each; the last may have fewer."""
        return torch.stack([part.amax(0) for part in bags.split(self.merge)]) if self.merge > 1 else bags

    def activity(self, bags: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """a of eq. 1 [b, D], from each side and from both together."""
        sums = {side: bag @ self.words[side] for side, bag in bags.items()}
        return {**{side: self.c + value for side, value in sums.items()}, "both": self.c + sum(sums.values())}

    def reconstruction(self, a: dict[str, torch.Tensor], bags: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        """l(x, y) + l(y, x) + l(x, x) + l(y, y), and l([x, y], [x, y]): each [b]; eq. 2-4."""
        cost = {
            name: torch.stack([self.cross_entropy(value, *to) for to in zip(self.sides, bags, strict=True)]).sum(0)
            for name, value in a.items()
        }
        return cost["src"] + cost["tgt"], cost["both"]

    def cross_entropy(self, a: torch.Tensor, side: str, bag: torch.Tensor) -> torch.Tensor:
        """The cross-entropy [b] of a bag and its reconstruction from h(a), summed over the vocabulary."""
        logits = nn.functional.linear(self.h(a), self.words[side], self.bias[side]).to(bag.dtype)
        return nn.functional.binary_cross_entropy_with_logits(logits, bag, reduction="none").sum(1)


def correlation(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The sum over dimensions i of the correlation of a[:, i] and b[:, i] over a batch; 0 for a constant dimension."""
    unit = [nn.functional.normalize(x - x.mean(0), dim=0) for x in (a, b)]
    return (unit[0] * unit[1]).sum(0).sum()
