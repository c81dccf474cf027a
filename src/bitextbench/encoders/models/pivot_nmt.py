"""Pivot-based sentence embeddings: Schwenk & Douze 2017, as kim2019 section 4.2 trains them for table 2.

Each language has an encoder, and one decoder translates both into a third language, the pivot. The vector is all that
the decoder gets from a sentence, so sentences with the same translation get similar vectors. The parts are those of
`nmt_autoencoder`.

The training text is two bitexts with the pivot on the side `tgt`. On its side `src`, `pivot_src` has the source
language and `pivot_tgt` the target language. N-way parallel text, as in the paper, gives both.

Where the paper is silent:

- "The same as that of our autoencoding-based model except the word embedding layers": one layer of 512, as there. The
  size of the word embeddings is not given. It is 512 here (`embedding`), with a random start.
- Kim et al. name the UN corpus for English and German, but the UN corpus has no German. The configuration names the
  text.
- Schwenk & Douze update the encoders in turn. Here half of every batch belongs to each, as in kim2019 section 3.2.
- RNN cell, dropout and loss are those of `nmt_autoencoder`.
"""

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import Corpora
from bitextbench.encoders.batches import Buckets, Padded, Stream, stack
from bitextbench.encoders.recurrent import Seq2Seq

ROLES = ("pivot_src", "pivot_tgt")


class Model(Seq2Seq):
    """Shapes: b sentences, t positions, n tokens without padding, D sentence embedding (`hidden`), V vocabulary."""

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """Half of a batch from each bitext. Raises InputError when a role is missing."""
        if missing := {f"pivot_{side}" for side in self.sides} - set(corpora):
            raise InputError(
                f"it has no text in the role {' or '.join(sorted(missing))}",
                "encoder pivot_nmt",
                remedy="give it two bitexts: pivot_src (src with the pivot) and pivot_tgt (tgt with the pivot)",
            )
        return {
            side: Buckets(
                [corpora[f"pivot_{side}"][column] for column in self.sides],
                batch // 2,
                max_tokens,
                [seed, number],
                f"pivot_{side}",
            )
            for number, side in enumerate(self.sides)
        }

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """-log p(pivot | sentence) by each encoder, through the one decoder."""
        s0 = torch.cat([self.encode(side, batches[side][0]) for side in self.sides])
        losses = self.decode(s0, stack(*(batches[side][1] for side in self.sides)))
        parts = losses.split([len(batches[side][0].ids) for side in self.sides])
        return {side: part.mean() for side, part in zip(self.sides, parts, strict=True)}
