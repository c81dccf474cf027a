"""The dual encoder of Guo et al. 2018, sections 2 and 3.2: deep averaging networks, trained to rank translations.

Embeddings of words and bigrams are summed and divided by the square root of the number of words (footnote 1). Four
layers with residual connections follow. The two sides share nothing. phi(x, y) is the dot product (section 2.1).

Shapes: b sentences, n words and bigrams of all, E embedding, D sentence embedding.

Where the paper is silent:

- The last layer has 500 units, but the sentence embedding is said to have 512 dimensions. The vectors "are taken from
  the last layer" (section 2.2), so D is the size of the last of `layers`, 500 by default.
- Residual connections: a layer adds its input to its output if both have the same size. With layers of 320, 320, 500
  and 500 over embeddings of 320, only the third does not. The paper mentions no projection.
- The loss is the mean over a batch. SGD at 0.01 diverges with the sum.
- Embeddings start from a normal distribution with the small standard deviation `initial`. So a bigram that is never
  trained adds almost nothing.
- Updates: we make the paper's 50 million, although ParaCrawl has fewer pairs than the paper's crawl (a 25th for French,
  a 35th for Spanish). That is 299 and 534 epochs instead of 12 and 15. With the paper's epochs the learning rate would
  never begin to decay. The best state on held-out pairs is kept.
- The paper has tables of 200M words and 200M bigrams for each language. Here they are hashed (see `ngrams`); `sparse`
  gradients hold only the rows of a batch.
- The calibrated confidence is "trained on held out supervised data" (section 2.4.2), namely "1/10 of UN corpora, these
  data are removed from training" (footnote 6), and "trained jointly" (section 3.2). Here it is trained jointly, on
  batches of the corpus `calibration`: that tenth, which translation models do not see either.
- Without `calibration`, `valid` is taken, and without that the bitext. The encoder overfits the bitext, so that the
  confidence of new pairs is then too low. The confidence loss has the weight `confidence` / (1 - `confidence`), because
  the paper gives it a tenth of the workers. Its negatives are all other targets of a batch, copies of the right one
  as well.
- Trained jointly for minutes, the confidence learns next to nothing: the vectors change under it, and its loss is that
  of one answer for all pairs. So it may have further updates, on vectors that stand still: `confidence_updates`. At paper
  scale it has none.
- Eq. 2 ranks the targets of one source. A source may add any constant to phi of all targets, so the dot product cannot
  rank sources. Where sources are compared, log P(y | x) of eq. 1 is used (`formats.vectors.by_probability`).
"""

from bitextbench.base.device import full, placed, torch
from bitextbench.base.errors import InputError
from bitextbench.base.progress import log
from bitextbench.encoders import Corpora, check_settings, losses
from bitextbench.encoders.batches import Buckets, Padded, Stream
from bitextbench.encoders.dual import DualEncoder, bags, features

nn = torch.nn
ROLES = ("bitext", "hard", "calibration")
CONFIDENCE_RATE = 0.003  # of updates of the confidence alone


class Model(DualEncoder):
    """`confidence`: the share of the confidence task, 0 for none; `extra`: random negatives an example."""

    metric = "dot"

    def __init__(
        self,
        vocab_size: int,
        *,
        words: int,
        embedding: int = 320,
        initial: float = 0.01,
        layers: tuple[int, ...] = (320, 320, 500, 500),
        confidence: float = 0.1,
        confidence_dropout: float = 0.4,
        confidence_updates: int = 0,
        extra: int = 0,
        together: int = 1,
        sparse: bool = True,
    ) -> None:
        super().__init__(vocab_size, words, margin=0.0, scale=1.0, extra=extra, together=together, sparse=sparse)
        check_settings(
            "dan_dual",
            layers=(layers, bool(layers) and min(layers) >= 1, "a list of sizes of 1 or more"),
            confidence=(confidence, 0 <= confidence < 1, "a share of 0 or more and below 1"),
            confidence_updates=(confidence_updates, confidence_updates >= 0, "0 or more"),
        )
        self.dimension, self.weight = layers[-1], confidence / (1 - confidence)
        sizes = [embedding, *layers]
        self.embeddings = nn.ParameterDict(
            {side: nn.Parameter(torch.randn(vocab_size, embedding) * initial) for side in self.sides}
        )
        self.layers = nn.ModuleDict({side: Residual(sizes) for side in self.sides})
        self.calibration = nn.Linear(2 * self.dimension, 2) if confidence else None
        self.dropout, self.confidence_updates = nn.Dropout(confidence_dropout), confidence_updates

    def table(self, side: str) -> torch.Tensor:
        return self.embeddings[side]

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """The streams of the ranking task, and held-out pairs for the confidence."""
        streams = super().streams(corpora, batch, max_tokens, seed)
        role = next((role for role in ("calibration", "valid") if role in corpora), None)
        if self.calibration is not None and role:
            pair = [corpora[role][side] for side in self.sides]
            size = min(batch, len(pair[0]))  # no repeated pair: a copy would count as a negative
            streams["confidence"] = Buckets(pair, size, max_tokens, [seed, 4], role, self.together)
        return streams

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """Eq. 2, and the confidence task, whose gradient stops at the sentence embeddings."""
        columns = batches["ranking"]
        u, v = self.vectors(columns)
        objectives = {"ranking": self.ranking(u, v, columns)}
        if self.calibration is not None:
            if "confidence" in batches:
                with torch.no_grad():
                    u, v = self.vectors(batches["confidence"])
            objectives["confidence"] = self.weight * self.calibration_loss(u, v)
        return objectives

    def calibration_loss(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """The loss of the confidence task on vectors [b, D] of translations."""
        return losses.calibration(self.confidence(u.detach(), v.detach())).mean()

    def finish(self, streams: dict[str, Stream], seed: int) -> None:
        """Updates of the confidence alone, by Adam."""
        if self.calibration is None or not self.confidence_updates:
            return
        self.train()
        torch.manual_seed(seed)
        stream = streams.get("confidence", streams["ranking"])
        optimizer = torch.optim.Adam(self.calibration.parameters(), lr=CONFIDENCE_RATE)
        for update in range(self.confidence_updates):
            with torch.no_grad():
                src, tgt, *_ = (column.on(self.calibration.weight.device) for column in stream.batch(update))
                u, v = self.vectors((src, tgt))
            loss = self.calibration_loss(u, v)
            if (update + 1) % (self.confidence_updates // 4 or 1) == 0:
                log(f"confidence alone, {update + 1:,}/{self.confidence_updates:,}: loss {float(loss.detach()):.4f}")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence embeddings [b, D]: section 2.2, footnote 1 and section 3.2."""
        device = sentences.ids.device
        sizes = placed(sentences.lengths if sentences.sizes is None else sentences.sizes, device)
        words = bags(features(sentences), sizes.cumsum(0) - sizes, self.embeddings[side], self.sparse)  # [b, E]
        psi = words / placed(sentences.lengths, device)[:, None].sqrt()
        return self.layers[side](psi)

    def confidence(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Logits [a, b] of calibrated confidences of vectors [a, D] and [b, D]: section 2.4.2, figure 3.

        Scale and bias are weighted sums of [u, u^2] of the source: where the scale is positive, targets keep the order
        of the dot product. Raises InputError for a model that was trained without it.
        """
        if self.calibration is None:
            raise InputError("trained without a confidence", "encoder dan_dual", remedy="set model.confidence: 0.1")
        with full(u.device):
            u, v = u.float(), v.float()
            scale, bias = self.calibration(self.dropout(torch.cat([u, u * u], 1))).split(1, 1)  # [a, 1]
            return scale * (u @ v.T) + bias


class Residual(nn.Sequential):
    """Linear layers; a residual connection where input and output have the same size; ReLU on all but the last."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__(*map(nn.Linear, sizes, sizes[1:]))

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        for index, layer in enumerate(self, 1):
            out = layer(h) if index == len(self) else layer(h).relu()
            h = out + h if out.shape == h.shape else out
        return h
