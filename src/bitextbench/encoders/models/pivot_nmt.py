"""Pivot-based sentence embeddings: Schwenk & Douze 2017, as kim2019 section 4.2 trains them for table 2.

An encoder for each language, and one decoder into a third language, the pivot, which sees a sentence only through its
vector: encoders whose vectors lead to the same translation agree on them. The parts are those of `nmt_autoencoder`.

The text is two bitexts, one a role: `pivot_src` has src on its side `src` and the pivot on `tgt`; `pivot_tgt` has tgt on
its side `src` and the pivot on `tgt`. N-way parallel text, as the paper takes it, gives both, line for line.

What the paper leaves open, and what is done here:
- "The same as that of our autoencoding-based model except the word embedding layers": 512 and 512, one layer. Which size
  the embeddings had instead is not said; `embedding` is 512, and they start at random.
- Kim et al. name the UN corpus for English and German, which has no German: the text is the configuration's to name.
- Schwenk & Douze update the encoders in turn; here half of every batch is of each, as in kim2019 section 3.2.
- RNN cell, dropout, and the loss (summed over tokens, averaged over sentences) as in `nmt_autoencoder`.
"""

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import Corpora, Encoder
from bitextbench.encoders.batches import Buckets, Padded, Stream, stack
from bitextbench.encoders.recurrent import CELLS, max_pooled, negative_log_likelihood, shifted
from bitextbench.formats.ids import PAD

nn = torch.nn


class Model(Encoder):
    """Shapes: b sentences, t positions, n tokens without padding, D sentence embedding (`hidden`), V vocabulary."""

    narrow = True

    def __init__(
        self, vocab_size: int, *, cell: str = "gru", embedding: int = 512, hidden: int = 512, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if cell not in CELLS or hidden % 32:
            raise InputError(
                f"cell: {cell}, hidden: {hidden}",
                "encoder pivot_nmt: model",
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

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """Half of a batch from each bitext. Raises InputError when a role is missing."""
        if missing := {f"pivot_{side}" for side in self.sides} - set(corpora):
            raise InputError(
                f"no bitext {' and '.join(sorted(missing))}",
                "encoder pivot_nmt",
                remedy="it learns from pivot_src (src with the pivot) and pivot_tgt (tgt with the pivot)",
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

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence embeddings [b, D]."""
        table = self.words[side]
        return max_pooled(lambda ids: self.dropout(table(ids)), self.forwards[side], self.backwards[side], sentences)

    def decode(self, s0: torch.Tensor, target: Padded) -> torch.Tensor:
        """-log p(target | s_0) of each sentence [b], summed over its tokens and its end."""
        to = shifted(target)
        state = (s0[None], s0[None]) if isinstance(self.decoder, nn.LSTM) else s0[None]
        s, _ = self.decoder(self.dropout(self.decoder_words(to.before)), state)  # [b, t + 1, D]
        return negative_log_likelihood(self.output(self.dropout(s[to.words])), to)
