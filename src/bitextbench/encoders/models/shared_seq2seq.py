"""The encoder of Artetxe & Schwenk 2019, section 2: one BiLSTM for all languages, trained by translation.

The encoder is not told the language. The maximum of its output over positions is the sentence embedding. A linear map
of the embedding gives the first hidden and cell state of the decoder. At every step the decoder also reads the
embedding and the output language.

Shapes: b sentences, t positions, n tokens without padding, D sentence embedding, V vocabulary.

Where the paper is silent:

- `pairs`: the languages of the two sides of each bitext, by role. "Alternating over all combinations of the languages
  involved": each update takes one direction of one bitext, in turn. N-way text gives a bitext for each pair.
- `autoencoding` adds the combinations of each side with itself. With two languages it is needed: nothing makes the
  vectors of two input languages similar unless they share an output language. The default is false, as the paper has
  four languages, or six.
- Loss: the mean over the tokens of a batch, including the ends of sentences.
- Dropout 0.1: on word embeddings and on decoder states before the output layer.
- Word embeddings: one table for the encoder and one for the decoder. The paper starts both from random numbers. If
  vectors are given (config/warm.yaml), both start from them.
- Section 2 counts batches in tokens (48,000). With `tokens`, all batches have about as many target tokens, and `batch`
  sentences on average (1,600 of 30 tokens). The default is false: `batch` sentences of any length.
"""

from collections.abc import Mapping, Sequence

from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import Corpora, Encoder, check_settings
from bitextbench.encoders.batches import Buckets, Padded, Stream
from bitextbench.encoders.recurrent import negative_log_likelihood, pooled, run, shifted, states
from bitextbench.formats.ids import PAD

nn = torch.nn
ROLES = ()  # those of `pairs`


class Model(Encoder):
    """`hidden`: the size of each direction of the encoder; D = 2 x 512 = 1024 by default."""

    narrow, rescaled, rows, sided = True, True, 256, False

    def __init__(
        self,
        vocab_size: int,
        *,
        pairs: Mapping[str, Sequence[str]] | None = None,
        embedding: int = 512,
        hidden: int = 512,
        decoder: int = 2048,
        language: int = 32,
        dropout: float = 0.1,
        autoencoding: bool = False,
        tokens: bool = False,
    ) -> None:
        super().__init__()
        self.tokens = tokens
        self.pairs = {role: tuple(pair) for role, pair in (pairs or {"bitext": self.sides}).items()}
        check_settings(
            "shared_seq2seq",
            hidden=(hidden, hidden >= 1 and hidden % 16 == 0, "a multiple of 16"),
            decoder=(decoder, decoder >= 1 and decoder % 16 == 0, "a multiple of 16"),
            pairs=(pairs, all(len(pair) == 2 for pair in self.pairs.values()), "two languages for each bitext"),
        )
        self.vocab_size, self.dimension = vocab_size, 2 * hidden
        self.directions = [(a, b) for a in self.sides for b in self.sides if autoencoding or a != b]
        self.languages = sorted({language for pair in self.pairs.values() for language in pair})
        self.words = nn.Embedding(vocab_size, embedding, PAD)
        self.forwards, self.backwards = (nn.LSTM(embedding, hidden, batch_first=True) for _ in range(2))
        self.state = nn.Linear(self.dimension, 2 * decoder)  # hidden and cell state
        self.decoder_words = nn.Embedding(vocab_size, embedding, PAD)
        self.language = nn.Embedding(len(self.languages), language)
        self.decoder = nn.LSTM(embedding + self.dimension + language, decoder, batch_first=True)
        self.output = nn.Linear(decoder, vocab_size)
        self.dropout = nn.Dropout(dropout)

    def tables(self, side: str) -> list[torch.Tensor]:
        """Both tables, whatever the side: all languages share them."""
        return [self.words.weight, self.decoder_words.weight]

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """The directions of each bitext, one an update. Raises InputError when a bitext of `pairs` is missing."""
        if missing := set(self.pairs) - set(corpora):
            raise InputError(
                f"it has no text in the role {' or '.join(sorted(missing))}, which model.pairs names",
                "encoder shared_seq2seq",
                remedy="give it that bitext, or take the role out of model.pairs",
            )
        turns = [(role, sides) for role in self.pairs for sides in self.directions]
        streams: dict[str, Stream] = {}
        for number, (role, sides) in enumerate(turns):
            buckets = Buckets(
                [corpora[role][side] for side in sides], batch, max_tokens, [seed, number], role, even=self.tokens
            )
            streams[".".join((role, *sides))] = Alternating(buckets, number, len(turns))
        return streams

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """The mean of -log p(target | sentence, language) over tokens, for the directions whose turn it is."""
        losses, tokens = [], 0
        for name, (source, target) in batches.items():
            if len(source.ids):
                role, side, into = name.rsplit(".", 2)
                language = self.pairs[role][self.sides.index(into)]
                losses.append(self.decode(self.encode(side, source), target, language).sum())
                tokens += int(target.lengths.sum()) + len(target.lengths)
        return {"translation": torch.stack(losses).sum() / tokens}

    def learned(self, pair: Mapping[str, str]) -> dict[str, list[str]]:
        """All languages of its bitexts, for either side."""
        named = {*pair.values()} if set(self.languages) <= {*self.sides} else {*self.languages}
        return {side: sorted(named) for side in self.sides}

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence embeddings [b, D], the same for any `side`: the encoder knows no languages."""
        return pooled(states(lambda ids: self.dropout(self.words(ids)), self.forwards, self.backwards, sentences))

    def decode(self, sentence: torch.Tensor, target: Padded, language: str) -> torch.Tensor:
        """-log p(target | sentence [b, D], language) of each sentence [b], summed over its tokens and its end."""
        to = shifted(target)
        b, steps = to.before.shape
        words = self.dropout(self.decoder_words(to.before))  # [b, t + 1, E]
        number = torch.full((b, steps), self.languages.index(language), device=to.before.device)
        given = torch.cat([words, sentence[:, None].expand(-1, steps, -1), self.language(number)], 2)
        hidden, cell = self.state(sentence)[None].chunk(2, 2)  # [1, b, decoder]
        s = run(self.decoder, given, (hidden.contiguous(), cell.contiguous()))  # [b, t + 1, decoder]
        return negative_log_likelihood(self.dropout(to.at(s)), self.output, to)


class Alternating:
    """A stream with a batch in every `count`-th update, from update `first` on, and empty batches between."""

    def __init__(self, stream: Buckets, first: int, count: int) -> None:
        self.stream, self.first, self.count = stream, first, count
        self.dropped = stream.dropped

    def __len__(self) -> int:
        return len(self.stream)

    def batch(self, step: int) -> tuple[Padded, ...]:
        turn, place = divmod(step, self.count)
        if place == self.first:
            return self.stream.batch(turn)
        return tuple(Padded(torch.zeros(0, 1, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)) for _ in range(2))
