"""The common part of dual encoders: features of words, batches of pairs with negatives, a ranking loss.

A batch has K pairs and N further negatives for all of them: K sources, K + N targets (guo2018 sections 2.1 to 2.3). If
both directions are trained (yang2019 eq. 4 and 5), the second one has K targets and K + N' sources.

Negatives are the other pairs of the batch, `extra` random ones for each example (guo2018 section 3.3, "augmented"), and
hard ones, mined beforehand, where a pair has some. Batches with and without hard negatives alternate, in proportion to
the numbers of pairs.

Batches are random. `together` batches are sorted by length together: more than one saves padding, but then the
negatives of a source have similar lengths. If several processes train one model, each has its share of the batch, and
the negatives of a pair are those of its process.

Where the paper is silent:

- The sentence of another pair may be equal to the translation of a source. It is then no negative of this source. Another
  translation of the same source stays one; mined negatives have no such.
"""

from collections.abc import Iterable
from pathlib import Path

from bitextbench.base.device import full, torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import Corpora, Encoder, check_settings, losses
from bitextbench.encoders.batches import Buckets, Padded, SentenceIds, Stream, inside, stack
from bitextbench.encoders.streams import Augmented, HardPairs, Mixture
from bitextbench.formats.ids import Ragged
from bitextbench.formats.word_vectors import Rows

BASE = 0x5851F42D4C957F2D  # of hashes: odd, from a well-known generator of random numbers


class DualEncoder(Encoder):
    """Its ids are those of `ngrams`: an id below `words` begins a token."""

    bidirectional = False

    def __init__(
        self, vocab_size: int, words: int, *, margin: float, scale: float, extra: int, together: int, sparse: bool
    ) -> None:
        super().__init__()
        check_settings(
            type(self).__module__.split(".")[-1],
            words=(words, 1 < words <= vocab_size, f"2 to {vocab_size:,}, as features of type words or ngrams do"),
            margin=(margin, margin >= 0, "0 or more"),
            scale=(scale, scale > 0, "more than 0"),
            extra=(extra, extra >= 0, "0 or more"),
            together=(together, together >= 1, "1 or more"),
        )
        self.vocab_size, self.words, self.margin, self.scale = vocab_size, words, margin, scale
        self.extra, self.together, self.sparse = extra, together, sparse

    def read(self, role: str, stems: Iterable[str | Path | Ragged]) -> SentenceIds:
        """The ids of words and n-grams; for the role `hard`, the numbers of hard negatives."""
        return SentenceIds.load(stems, None if role == "hard" else self.words)

    def table(self, side: str) -> torch.Tensor:
        """The embeddings [vocab_size, E] of a side."""
        raise NotImplementedError

    def initialise(self, vectors: dict[str, Path], row_of: Rows) -> dict[str, int]:
        """N-grams start from 0, so that a token starts from its word's vector."""
        matched = super().initialise(vectors, row_of)
        for side in vectors:
            self.table(side).data[self.words :] = 0
        return matched

    def tables(self, side: str) -> list[torch.Tensor]:
        return [self.table(side)]

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """One stream of (sources, targets[, more targets[, more sources]])."""
        src, tgt = pair = [corpora["bitext"][side] for side in self.sides]
        both = [tgt, src] if self.bidirectional else [tgt]
        if "hard" not in corpora:
            random: Stream = Buckets(pair, batch, max_tokens, [seed, 0], "bitext", self.together)
            more = (
                Buckets([column], batch * self.extra, max_tokens, [seed, 1 + place], "bitext", self.together)
                for place, column in enumerate(both if self.extra else [])
            )
            return {"ranking": Augmented(random, *more) if self.extra else random}
        negatives = [corpora["hard"][side] for side in self.sides[: len(both)]]
        if len(negatives[0]) != len(src):
            what = f"the hard negatives are of {len(negatives[0]):,} pairs, but the bitext has {len(src):,}"
            raise InputError(what, "bitext", remedy="mine them again from this bitext")
        has = negatives[0].lengths > 0
        pairs = Buckets(pair, batch, max_tokens, [seed, 0], "bitext with hard negatives", self.together, has)
        hard = HardPairs(pairs, negatives, max_tokens)
        if has.all():
            return {"ranking": hard}
        rest = Buckets(pair, batch, max_tokens, [seed, 3], "bitext without hard negatives", self.together, ~has)
        return {"ranking": Mixture(hard, rest)}

    def vectors(self, columns: tuple[Padded, ...]) -> tuple[torch.Tensor, torch.Tensor]:
        """Vectors of the sources [K + N', D] and of the targets [K + N, D] of a batch, the pairs first."""
        src, tgt, *more = columns
        return self.encode("src", stack(src, *more[1:])), self.encode("tgt", stack(tgt, *more[:1]))

    def ranking(self, u: torch.Tensor, v: torch.Tensor, columns: tuple[Padded, ...]) -> torch.Tensor:
        """The loss of ranking translations, a scalar: the mean over the pairs, the sum of the directions.

        `u`, `v`: the `vectors` of these columns.
        """
        src, tgt, *more = columns
        loss = self.one_way(u, v, copies(tgt, *more[:1]))
        if self.bidirectional:
            loss = loss + self.one_way(v, u, copies(src, *more[1:]))
        return loss.mean()

    def one_way(self, u: torch.Tensor, v: torch.Tensor, same: torch.Tensor) -> torch.Tensor:
        """The losses [K] of the first K of `u` among all `v` but those that are the `same` as theirs, bool [K, c]."""
        phi = self.similarity(u[: len(same)], v).masked_fill(same, -torch.inf)
        return losses.softmax(phi, self.margin, self.scale)

    def similarity(self, u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """phi of all pairs float32 [a, b]: the dot products, or cosines by `metric`, of vectors [a, D] and [b, D]."""
        with full(u.device):  # in bfloat16 logits of 16 to 32 would have steps of 1 / 8, and margins are 0.3
            u, v = u.float(), v.float()
            if self.metric == "cosine":
                u, v = (torch.nn.functional.normalize(side, dim=1) for side in (u, v))
            return u @ v.T


def copies(pairs: Padded, *more: Padded) -> torch.Tensor:
    """Whether candidate j, of the pairs and then the others, is the sentence of pair i once more, bool [K, c]."""
    hashes = torch.cat([hashed(part.ids) for part in (pairs, *more)])
    same = hashes[: len(pairs.ids), None] == hashes
    return same & ~torch.eye(*same.shape, dtype=torch.bool, device=same.device)


def hashed(ids: torch.Tensor) -> torch.Tensor:
    """A number int64 [b] for each sentence [b, t], whatever the padding: a polynomial of its ids, modulo 2^64."""
    powers = torch.full((ids.shape[1],), BASE, device=ids.device).cumprod(0)
    return (ids * powers).sum(1)


def features(sentences: Padded) -> torch.Tensor:
    """The ids of a batch [b, t] as one sequence [n], sentence by sentence, without padding."""
    ids, sizes = sentences.ids, sentences.lengths if sentences.sizes is None else sentences.sizes
    return ids.flatten()[inside(sizes, ids.shape[1], ids.device)]


def bags(ids: torch.Tensor, offsets: torch.Tensor, weight: torch.Tensor, sparse: bool) -> torch.Tensor:
    """Sums of embeddings [bags, E]; a bag of `ids` [n] begins at each of the `offsets` [bags]."""
    return torch.nn.functional.embedding_bag(ids, weight, offsets, mode="sum", sparse=sparse)
