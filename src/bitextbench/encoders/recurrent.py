"""The common part of encoders with recurrent networks: max-pooling over both directions, and the loss of a decoder.

Shapes: b sentences, t positions, n tokens without padding, E word embedding, D sentence embedding, V vocabulary.
"""

from collections.abc import Callable
from typing import NamedTuple

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import Encoder
from bitextbench.encoders.batches import Padded
from bitextbench.formats.ids import BOS, EOS, PAD

nn = torch.nn
CELLS = {"gru": nn.GRU, "lstm": nn.LSTM}


def max_pooled(
    embed: Callable[[torch.Tensor], torch.Tensor], forward: nn.Module, backward: nn.Module, sentences: Padded
) -> torch.Tensor:
    """The maximum over positions of the states of both directions [b, D]: kim2019 eq. 1 and 3, artetxe2019 section 2.

    `embed`: ids [b, t] -> [b, t, E]. Each direction is a network of D / 2; padding is at the end for both.
    """
    ids, position = sentences.ids, torch.arange(sentences.ids.shape[1], device=sentences.ids.device)
    length = sentences.lengths.to(ids.device)[:, None]  # [b, 1]
    padding = position >= length  # [b, t]
    reverse = ids.gather(1, torch.where(padding, position, length - 1 - position))  # padding stays at the end
    padded = bool((sentences.lengths < ids.shape[1]).any())
    # a maximum does not depend on the order of positions: the states of the backward direction stay reversed
    halves = (network(embed(each))[0] for network, each in ((forward, ids), (backward, reverse)))  # [b, t, D / 2]
    return torch.cat([(h.masked_fill(padding[:, :, None], -torch.inf) if padded else h).amax(1) for h in halves], 1)


class Shifted(NamedTuple):
    """The input of a decoder, its expected output, and the mask of positions that are not padding: [b, t + 1] each."""

    before: torch.Tensor  # BOS e_1 .. e_I
    after: torch.Tensor  # e_1 .. e_I EOS
    words: torch.Tensor  # bool


def shifted(target: Padded) -> Shifted:
    """The input and expected output of a decoder under teacher forcing."""
    start = torch.full_like(target.ids[:, :1], BOS)
    before = torch.cat([start, target.ids], 1)
    after = torch.cat([target.ids, start], 1)
    length = target.lengths.to(after.device)[:, None]
    after.scatter_(1, length, EOS)
    return Shifted(before, after, torch.arange(after.shape[1], device=after.device) <= length)


def negative_log_likelihood(logits: torch.Tensor, to: Shifted) -> torch.Tensor:
    """-log p of each sentence [b], summed over its tokens and its end, from `logits` [n, V] at `to.words`."""
    losses = torch.zeros_like(to.after, dtype=torch.float32)
    losses[to.words] = nn.functional.cross_entropy(logits.float(), to.after[to.words], reduction="none")
    return losses.sum(1)


class Seq2Seq(Encoder):
    """An encoder for each language, max-pooled to the first state of one decoder: kim2019 section 3.1.

    The sentence embedding is that state: without attention, the decoder sees a sentence through it only.
    """

    narrow = True

    def __init__(
        self, vocab_size: int, *, cell: str = "gru", embedding: int = 512, hidden: int = 512, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if cell not in CELLS or hidden % 32:
            raise InputError(
                f"cell: {cell}, hidden: {hidden}",
                f"encoder {type(self).__module__.rpartition('.')[2]}: model",
                remedy="cell is gru or lstm, hidden is a multiple of 32",
            )
        self.vocab_size, self.dimension = vocab_size, hidden
        rnn = CELLS[cell]
        self.words = nn.ModuleDict({side: nn.Embedding(vocab_size, embedding, PAD) for side in self.sides})
        self.forwards, self.backwards = (
            nn.ModuleDict({side: rnn(embedding, hidden // 2, batch_first=True) for side in self.sides})
            for _ in range(2)
        )
        self.decoder_words = nn.Embedding(vocab_size, embedding, PAD)
        self.decoder = rnn(embedding, hidden, batch_first=True)
        self.output = nn.Linear(hidden, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence embeddings [b, D]: kim2019 eq. 1 and 3, 5 and 6, 11 and 12."""
        table = self.words[side]
        return max_pooled(lambda ids: self.dropout(table(ids)), self.forwards[side], self.backwards[side], sentences)

    def decode(self, s0: torch.Tensor, target: Padded) -> torch.Tensor:
        """-log p(e | s_0) of each sentence [b], summed over its tokens and its end: kim2019 eq. 2, 4."""
        to = shifted(target)
        state = (s0[None], s0[None]) if isinstance(self.decoder, nn.LSTM) else s0[None]
        s, _ = self.decoder(self.dropout(self.decoder_words(to.before)), state)  # [b, t + 1, D]
        return negative_log_likelihood(self.output(self.dropout(s[to.words])), to)
