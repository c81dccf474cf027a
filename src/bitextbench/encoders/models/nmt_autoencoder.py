"""The encoder of Kim et al. 2019, sections 3.1, 3.2 and 4: translation and autoencoding through one sentence vector.

Two bidirectional RNN encoders, one a language (eq. 1, 5); element-wise max-pooling over positions gives the first state
of the one decoder that both share (eq. 3, 6), and that vector is the sentence embedding (eq. 11, 12). No attention: the
decoder sees the sentence through its first state only.

Shapes: b sentences, t positions, n tokens without padding, D sentence embedding, V vocabulary.

What the paper leaves open, and what is done here:
- RNN cell: `gru` has one state vector, so that eq. 2 and 3 hold to the letter; with `lstm` the cell state starts as s_0
  too.
- "Hidden layers have a size of 512": D = 512, the size of the decoder's state; each direction of an encoder has D / 2.
- Word embeddings: a table for each encoder and one for the decoder (theta_encsrc, theta_enctgt and theta_dec are named
  as three sets); the decoder's starts from the same vectors as the encoder of its language, where vectors are given.
- Loss: summed over the tokens of a sentence and its end, as in eq. 7 and 8, averaged over the sentences of a batch.
- Dropout: on word embeddings and on decoder states before the output layer; 0 by default, as none is mentioned.
"""

from pathlib import Path

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import Corpora, Encoder
from bitextbench.encoders.batches import Buckets, Padded, Stream, stack
from bitextbench.encoders.recurrent import CELLS, max_pooled, negative_log_likelihood, shifted
from bitextbench.formats.ids import PAD
from bitextbench.formats.word_vectors import read_vectors

nn = torch.nn


class Model(Encoder):
    """`autoencode` names the side that is autoencoded and decoded into: `tgt` is eq. 7-8, `src` is eq. 9-10."""

    narrow = True

    def __init__(
        self,
        vocab_size: int,
        *,
        cell: str = "gru",
        embedding: int = 512,
        hidden: int = 512,
        dropout: float = 0.0,
        autoencode: str = "tgt",
    ) -> None:
        super().__init__()
        if cell not in CELLS or autoencode not in self.sides or hidden % 32:
            raise InputError(
                f"cell: {cell}, autoencode: {autoencode}, hidden: {hidden}",
                "encoder nmt_autoencoder: model",
                remedy="cell is gru or lstm, autoencode is src or tgt, hidden is a multiple of 32",
            )
        self.vocab_size, self.dimension, self.autoencode = vocab_size, hidden, autoencode
        self.translate = "src" if autoencode == "tgt" else "tgt"  # the side that is only encoded
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
        """Half of a batch translates; half autoencodes one side of the bitext and monolingual text (section 3.2)."""
        bitext, side = corpora["bitext"], self.autoencode
        alone = bitext[side] + corpora["mono"][side] if "mono" in corpora else bitext[side]
        return {
            "nmt": Buckets([bitext[self.translate], bitext[side]], batch // 2, max_tokens, [seed, 0], "bitext"),
            "autoencoding": Buckets([alone], batch // 2, max_tokens, [seed, 1], f"bitext and mono, {side}"),
        }

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """Eq. 7 and 8 (or 9 and 10): the two paths into one decoder."""
        (source, target), (alone,) = batches["nmt"], batches["autoencoding"]
        s0 = torch.cat([self.encode(self.translate, source), self.encode(self.autoencode, alone)])
        nmt, autoencoding = self.decode(s0, stack(target, alone)).split([len(source.ids), len(alone.ids)])
        return {"nmt": nmt.mean(), "autoencoding": autoencoding.mean()}

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence embeddings [b, D]: eq. 1 and 3, 5 and 6, 11 and 12."""
        table = self.words[side]
        return max_pooled(lambda ids: self.dropout(table(ids)), self.forwards[side], self.backwards[side], sentences)

    def decode(self, s0: torch.Tensor, target: Padded) -> torch.Tensor:
        """-log p(e | s_0) of each sentence [b], summed over its tokens and its end: eq. 2, 4."""
        to = shifted(target)
        state = (s0[None], s0[None]) if isinstance(self.decoder, nn.LSTM) else s0[None]
        s, _ = self.decoder(self.dropout(self.decoder_words(to.before)), state)  # [b, t + 1, D]
        return negative_log_likelihood(self.output(self.dropout(s[to.words])), to)

    def initialise(self, vectors: dict[str, Path], pieces: list[str]) -> dict[str, int]:
        """Word vectors by side (section 3.2: "we initialize the word embedding layers"); see `read_vectors`."""
        matched: dict[str, int] = {}
        for side, path in vectors.items():
            rows, values = map(torch.from_numpy, read_vectors(path, pieces, self.decoder_words.embedding_dim))
            self.words[side].get_parameter("weight").data[rows] = values
            if side == self.autoencode:
                self.decoder_words.weight.data[rows] = values
            matched[side] = len(rows)
        return matched
