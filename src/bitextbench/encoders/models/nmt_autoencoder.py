"""The encoder of Kim et al. 2019, sections 3.1, 3.2 and 4: translation and autoencoding through one sentence vector.

Two bidirectional RNN encoders, one for each language (eq. 1, 5), share one decoder. Element-wise max-pooling over
positions gives the first state of the decoder (eq. 3, 6). That vector is the sentence embedding (eq. 11, 12). There is
no attention: the first state is all that the decoder gets from the sentence.

Section 3.1 found other poolings (`pooling`: mean, first, last) and a decoder with `attention` much worse, and gives no
numbers. The configuration config/poolings.yaml compares them, and the reverse direction of eq. 9 and 10.

Shapes: b sentences, t positions, n tokens without padding, D sentence embedding, V vocabulary.

Where the paper is silent:

- RNN cell: `gru` has one state vector, so that eq. 2 and 3 hold as they are. With `lstm` the cell state starts as s_0,
  too.
- "Hidden layers have a size of 512": the decoder's state, D, is 512. Each direction of an encoder has D / 2.
- Word embeddings: each encoder has a table and so has the decoder (theta_encsrc, theta_enctgt and theta_dec are three
  sets). If vectors are given, the decoder's table starts from those of the encoder of its language.
- Loss: the sum over the tokens of a sentence and its end, as in eq. 7 and 8. Of these the mean over each half of a
  batch, and then the sum of both.
- "After 100k updates, we reduced the learning rate [...] for every 50k updates": first at 150k. "By a factor of 0.9" is
  taken as a multiplication by 0.9.
- Clipping: the paper mentions none, but plain SGD at rate 1.0 does not learn without it
  (docs/notebook/measurements.md).
- Word vectors are those of BPE pieces, as the layers that they initialise are.
- Length 60 is in words (the filter of the corpora). `max_tokens`, in BPE pieces, only bounds memory.
- Dropout: on word embeddings and on decoder states before the output layer. The default is 0, as the paper mentions
  none.
"""

from typing import Any

from bitextbench.base.device import torch
from bitextbench.encoders import Corpora, check_settings
from bitextbench.encoders.batches import Buckets, Padded, Stream, stack
from bitextbench.encoders.recurrent import Seq2Seq, States, negative_log_likelihood, pooled, shifted

ROLES = ("bitext", "mono")


class Model(Seq2Seq):
    """`autoencode` names the side that is autoencoded and decoded into: `tgt` is eq. 7-8, `src` is eq. 9-10. `sizes`:
    those of `Seq2Seq`.
    """

    def __init__(self, vocab_size: int, *, autoencode: str = "tgt", attention: bool = False, **sizes: Any) -> None:
        super().__init__(vocab_size, **sizes)
        check_settings("nmt_autoencoder", autoencode=(autoencode, autoencode in self.sides, " or ".join(self.sides)))
        self.autoencode = autoencode
        self.translate = "src" if autoencode == "tgt" else "tgt"  # the side that is only encoded
        self.attend = torch.nn.Linear(2 * self.dimension, self.dimension) if attention else None

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
        if self.attend is not None:
            paths = ((self.translate, source, target), (self.autoencode, alone, alone))
            losses = [self.attended(self.attend, self.states(side, given), words) for side, given, words in paths]
            return {"nmt": losses[0].mean(), "autoencoding": losses[1].mean()}
        s0 = torch.cat([self.encode(self.translate, source), self.encode(self.autoencode, alone)])
        nmt, autoencoding = self.decode(s0, stack(target, alone)).split([len(source.ids), len(alone.ids)])
        return {"nmt": nmt.mean(), "autoencoding": autoencoding.mean()}

    def attended(self, merge: torch.nn.Module, given: States, target: Padded) -> torch.Tensor:
        """As `decode`, but that the decoder attends to all states of the encoder, too, by dot products (Luong et al.
        2015, section 3).

        `merge`: [.., 2 D] -> [.., D], of what is attended to and the decoder's state.
        """
        to, h = shifted(target), given.aligned()
        s = self.hidden_states(pooled(given, self.pooling), to)  # [b, t + 1, D]
        weights = (s @ h.transpose(1, 2)).masked_fill(given.padding[:, None], -torch.inf).softmax(2)
        s = torch.tanh(merge(torch.cat([weights @ h, s], 2)))
        return negative_log_likelihood(self.dropout(to.at(s)), self.output, to)

    def tables(self, side: str) -> list[torch.Tensor]:
        """Those of section 3.2: "we initialize the word embedding layers"; the decoder speaks one language."""
        table = self.words[side].get_parameter("weight")
        return [table, self.decoder_words.weight] if side == self.autoencode else [table]
