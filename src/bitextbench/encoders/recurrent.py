"""The common part of encoders with recurrent networks: pooling over both directions, and the loss of a decoder.

Shapes: b sentences, t positions, n tokens without padding, E word embedding, D sentence embedding, V vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch.utils.checkpoint import checkpoint

from bitextbench.base import torch_internals
from bitextbench.base.device import autocast, casting, exact, full, placed, torch
from bitextbench.encoders import Encoder, check_settings
from bitextbench.encoders.batches import Padded, inside
from bitextbench.formats.ids import BOS, EOS, PAD

nn = torch.nn
CELLS = {"gru": nn.GRU, "lstm": nn.LSTM}
LOGITS = 1 << 27  # numbers: half a GiB in float32
POOLINGS = ("max", "mean", "first", "last")


class States(NamedTuple):
    """The states of both directions [b, t, D / 2] each, those of the backward one reversed: padding [b, t] is at the
    end of both.
    """

    forward: torch.Tensor
    backward: torch.Tensor
    padding: torch.Tensor  # bool
    reversal: torch.Tensor  # int64 [b, t]: the place of each position in a reversed sentence
    padded: bool  # whether there is any padding

    def aligned(self) -> torch.Tensor:
        """The states of each position [b, t, D]: h of kim2019 eq. 1."""
        return torch.cat([self.forward, self.backward.gather(1, _wide(self.reversal, self.backward))], 2)


def states(
    embed: Callable[[torch.Tensor], torch.Tensor], forward: nn.Module, backward: nn.Module, sentences: Padded
) -> States:
    """The states of both directions. `embed`: ids [b, t] -> [b, t, E]. Each direction is a network of D / 2."""
    ids, position = sentences.ids, torch.arange(sentences.ids.shape[1], device=sentences.ids.device)
    length = placed(sentences.lengths, ids.device)[:, None]  # [b, 1]
    padding = position >= length  # [b, t]
    reversal = torch.where(padding, position, length - 1 - position)
    both = run(forward, embed(ids)), run(backward, embed(ids.gather(1, reversal)))
    return States(*both, padding, reversal, int(sentences.lengths.min()) < ids.shape[1])


def run(network: nn.Module, x: torch.Tensor, start: Any = None) -> torch.Tensor:
    """The states [b, t, D] of a recurrent network that reads `x` [b, t, E] from the state `start`.

    Off the CPU it is computed in the format of its weights, float32 or bfloat16. Torch's autocast would cast cuDNN's
    networks to float16, whatever it is asked for, and without scaling of the loss. A CPU without AVX-512 has no LSTM in
    bfloat16.
    """
    if exact(x.device) and (casting(x.device) == torch.float32 or torch.cpu.get_capabilities().get("avx512_f")):
        return network(x, start)[0]
    format = next(network.parameters()).dtype
    start = torch_internals.tree_map_only(torch.Tensor, lambda part: part.to(format), start)
    with full(x.device):
        states = network(x.to(format), start)[0]
    if states.dtype != format:
        raise TypeError(f"a recurrent network of {format} gave {states.dtype}")
    return states


def pooled(h: States, pooling: str = "max") -> torch.Tensor:
    """One vector [b, D] for the states of a sentence.

    `max` is that of kim2019 eq. 3 and artetxe2019 section 2. kim2019 section 3.1 compares it with the mean, and with
    the state of the first or the last word, h_1 or h_J.
    """
    padding, halves = h.padding[:, :, None], (h.forward, h.backward)
    if pooling == "max":  # of any order of positions
        return torch.cat([(half.masked_fill(padding, -torch.inf) if h.padded else half).amax(1) for half in halves], 1)
    if pooling == "mean":
        return torch.cat([half.masked_fill(padding, 0).sum(1) for half in halves], 1) / (~h.padding).sum(1)[:, None]
    first, last = torch.zeros_like(h.reversal[:, :1]), (~h.padding).sum(1)[:, None] - 1
    places = (first, last) if pooling == "first" else (last, first)  # the backward direction ends at the first word
    return torch.cat([half.gather(1, _wide(at, half))[:, 0] for half, at in zip(halves, places, strict=True)], 1)


def _wide(places: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Places [b, n] as an index into all columns of `like` [b, t, d]."""
    return places[:, :, None].expand(-1, -1, like.shape[2])


class Shifted(NamedTuple):
    """The input of a decoder and its expected output [b, t + 1], and the places [n] of what is no padding, of both
    flattened.
    """

    before: torch.Tensor  # BOS e_1 .. e_I
    after: torch.Tensor  # e_1 .. e_I EOS
    words: torch.Tensor

    def at(self, values: torch.Tensor) -> torch.Tensor:
        """The rows [n, ...] of `values` [b, t + 1, ...] that are no padding."""
        return values.flatten(0, 1)[self.words]


def shifted(target: Padded) -> Shifted:
    """The input and expected output of a decoder under teacher forcing."""
    start = torch.full_like(target.ids[:, :1], BOS)
    before = torch.cat([start, target.ids], 1)
    after = torch.cat([target.ids, start], 1)
    after.scatter_(1, placed(target.lengths, after.device)[:, None], EOS)
    return Shifted(before, after, inside(target.lengths + 1, after.shape[1], after.device))


def negative_log_likelihood(s: torch.Tensor, output: nn.Linear, to: Shifted) -> torch.Tensor:
    """-log p of each sentence [b], summed over its tokens and its end, from states [n, D] at `to.words`.

    `output`: states [m, D] -> logits [m, V]. Those of LOGITS numbers at a time, and again in the backward pass: of all
    tokens they would be most of the memory of a large batch.
    """

    dtype = casting(s.device)

    def part(states: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        with autocast(s.device, dtype):
            return nn.functional.cross_entropy(output(states).float(), words, reduction="none")

    gold, step = to.at(to.after), max(1, LOGITS // output.out_features)
    if len(s) <= step:
        found = part(s, gold)
    else:
        pieces = zip(s.split(step), gold.split(step), strict=True)
        found = torch.cat([checkpoint(part, *piece, use_reentrant=False, preserve_rng_state=False) for piece in pieces])
    losses = found.new_zeros(to.after.numel()).index_copy(0, to.words, found)
    return losses.view_as(to.after).sum(1)


class Seq2Seq(Encoder):
    """An encoder for each language, max-pooled to the first state of one decoder: kim2019 section 3.1.

    The sentence embedding is that state: without attention, the decoder sees a sentence through it only.
    """

    narrow = True
    # Mapped vectors have length 1; torch draws rows from N(0, 1), of length sqrt(E). So both weigh alike
    rescaled = True

    def __init__(
        self,
        vocab_size: int,
        *,
        cell: str = "gru",
        embedding: int = 512,
        hidden: int = 512,
        dropout: float = 0.0,
        pooling: str = "max",
    ) -> None:
        super().__init__()
        check_settings(
            type(self).__module__.rpartition(".")[2],
            cell=(cell, cell in CELLS, " or ".join(CELLS)),
            hidden=(hidden, hidden >= 1 and hidden % 32 == 0, "a multiple of 32"),
            pooling=(pooling, pooling in POOLINGS, " or ".join(POOLINGS)),
        )
        self.pooling = pooling
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
        return pooled(self.states(side, sentences), self.pooling)

    def states(self, side: str, sentences: Padded) -> States:
        """The states of the encoder of this side: kim2019 eq. 1 and 5."""
        table = self.words[side]
        return states(lambda ids: self.dropout(table(ids)), self.forwards[side], self.backwards[side], sentences)

    def decode(self, s0: torch.Tensor, target: Padded) -> torch.Tensor:
        """-log p(e | s_0) of each sentence [b], summed over its tokens and its end: kim2019 eq. 2, 4."""
        to = shifted(target)
        s = self.hidden_states(s0, to)
        return negative_log_likelihood(self.dropout(to.at(s)), self.output, to)

    def hidden_states(self, s0: torch.Tensor, to: Shifted) -> torch.Tensor:
        """The states of the decoder [b, t + 1, D] that starts from s_0 [b, D]: kim2019 eq. 2."""
        state = (s0[None], s0[None]) if isinstance(self.decoder, nn.LSTM) else s0[None]
        return run(self.decoder, self.dropout(self.decoder_words(to.before)), state)
