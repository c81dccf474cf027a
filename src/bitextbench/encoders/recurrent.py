"""What the encoders with recurrent networks share: max-pooling over both directions, and the loss of a decoder.

Shapes: b sentences, t positions, n tokens without padding, E word embedding, D sentence embedding, V vocabulary.
"""

from collections.abc import Callable
from typing import NamedTuple

from bitextbench.base.device import torch
from bitextbench.encoders.batches import Padded
from bitextbench.formats.ids import BOS, EOS

nn = torch.nn
CELLS = {"gru": nn.GRU, "lstm": nn.LSTM}


def max_pooled(
    embed: Callable[[torch.Tensor], torch.Tensor], forward: nn.Module, backward: nn.Module, sentences: Padded
) -> torch.Tensor:
    """The maximum over positions of the states of both directions [b, D]: kim2019 eq. 1 and 3, artetxe2019 section 2.

    `embed`: ids [b, t] -> [b, t, E]. The directions are two networks of D / 2 each, whose padding stands at the end.
    """
    ids, position = sentences.ids, torch.arange(sentences.ids.shape[1], device=sentences.ids.device)
    length = sentences.lengths.to(ids.device)[:, None]  # [b, 1]
    padding = position >= length  # [b, t]
    reverse = ids.gather(1, torch.where(padding, position, length - 1 - position))  # padding stays at the end
    padded = bool((sentences.lengths < ids.shape[1]).any())
    # The order of positions does not matter to a maximum: states of the backward direction stay reversed.
    halves = (network(embed(each))[0] for network, each in ((forward, ids), (backward, reverse)))  # [b, t, D / 2]
    return torch.cat([(h.masked_fill(padding[:, :, None], -torch.inf) if padded else h).amax(1) for h in halves], 1)


class Shifted(NamedTuple):
    """What a decoder reads, what it is to say next [b, t + 1], and which of these positions are no padding."""

    before: torch.Tensor  # BOS e_1 .. e_I
    after: torch.Tensor  # e_1 .. e_I EOS
    words: torch.Tensor  # bool


def shifted(target: Padded) -> Shifted:
    """Input and output of a decoder that is given the right words so far."""
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
