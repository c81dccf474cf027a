"""The cross-encoder of Yang et al. 2019, section 6.2: BERT (Devlin et al. 2019) reads a pair and classifies it.

It gives one logit for a pair and no vector for a sentence. So it can rescore pairs, but not search for them.

    [CLS] source [SEP] target [SEP]

Segment 0 ends with the first [SEP]; segment 1 follows. A linear layer reads the pooled [CLS]
(`BertForSequenceClassification` of transformers with one output). The loss is the mean binary cross-entropy of a batch.

It learns from two corpora, `positives` and `negatives` (see `rescoring`), or from the pairs of a `bitext`. In the
second case each pair also comes with a wrong target: that of another pair of similar length (`streams.WithNegative`). The
bitext is for a small model without multilingual pre-training, and is not part of the paper.

Where the paper is silent:

- The model has one logit instead of two. It is the same model, as only the difference of the two matters.
- A side longer than half of the positions is cut.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitextbench import encoders
from bitextbench.base.device import exact, placed, torch
from bitextbench.base.errors import InputError
from bitextbench.encoders import Corpora, Encoder, check_settings
from bitextbench.encoders.batches import Buckets, Padded, SentenceIds, Stream, aligned, batches_of_one_length
from bitextbench.encoders.layers import Norm
from bitextbench.encoders.streams import WithNegative
from bitextbench.formats.ids import BOS, EOS, PAD, Ragged
from bitextbench.formats.word_vectors import Rows

nn = torch.nn
ROLES = ("bitext", "positives", "negatives", "valid_negatives")
TABLE = "bert.bert.embeddings.word_embeddings.weight"
PIECES, PAIRS = 32_768, 512  # in a batch for scoring, at most


class Model(Encoder):
    """Defaults: BERT base. `cls`, `sep` and `pad`: the ids of these marks."""

    bidirectional = False
    score = "F1"

    def __init__(
        self,
        vocab_size: int,
        *,
        hidden: int = 768,
        layers: int = 12,
        heads: int = 12,
        filters: int = 3072,
        dropout: float = 0.1,
        positions: int = 512,
        cls: int = BOS,
        sep: int = EOS,
        pad: int = PAD,
    ) -> None:
        super().__init__()
        from transformers import BertConfig, BertForSequenceClassification

        marks = {"cls": cls, "sep": sep, "pad": pad}
        below = f"an id of the vocabulary, at most {vocab_size - 1:,}"
        check_settings(
            "cross_encoder",
            heads=(heads, heads >= 1, "1 or more"),
            hidden=(hidden, hidden >= 1 and hidden % max(heads, 1) == 0, f"a multiple of heads, which is {heads}"),
            positions=(positions, positions >= 5, "5 or more: a pair has three marks and two words at least"),
            **{name: (mark, mark < vocab_size, below) for name, mark in marks.items()},
        )
        self.vocab_size, self.dimension, self.cls, self.sep, self.pad = vocab_size, hidden, cls, sep, pad
        self.positions, self.longest = positions, (positions - 3) // 2  # `longest`: pieces of a side
        config = BertConfig(
            vocab_size=vocab_size,
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=filters,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            max_position_embeddings=positions,
            pad_token_id=pad,
            num_labels=1,
            attn_implementation="eager",
        )
        self.bert = BertForSequenceClassification(config)
        for name, module in list(self.bert.named_modules()):
            if isinstance(module, nn.LayerNorm):
                self.bert.set_submodule(name, Norm(hidden, eps=module.eps))

    def initialise(self, vectors: dict[str, Path], row_of: Rows) -> dict[str, int]:
        """Start from `vectors["model"]`: a cross-encoder of this project (.pt), or `model.safetensors` of transformers.

        A published table of pieces may have more rows than there are pieces: those are left out. Raises InputError for a model
        of another vocabulary or of other sizes.
        """
        path = vectors["model"]
        saved = encoders.read(path, "train it again")["state_dict"] if path.suffix == ".pt" else published(path)
        own = self.state_dict()
        shared = {name: tensor for name, tensor in saved.items() if name in own}
        if path.suffix != ".pt":
            shared[TABLE] = shared[TABLE][: self.vocab_size]
        missing = [name for name in own if name not in shared and not name.startswith("bert.classifier.")]
        if wrong := [name for name, tensor in shared.items() if tensor.shape != own[name].shape] or missing:
            name = wrong[0]
            wanted = f"and the encoder's is {tuple(own[name].shape)}"
            what = (
                f"the shape of {name} is {tuple(saved[name].shape)}, {wanted}" if name in saved else f"it has no {name}"
            )
            raise InputError(what, path, remedy="give a model with the encoder's vocabulary and sizes")
        self.load_state_dict(shared, strict=False)
        return {"model": len(shared[TABLE])}

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """Positive and negative pairs in their proportion, or pairs of a bitext with as many wrong ones."""
        limit = min(max_tokens, self.longest)
        if "bitext" in corpora:
            pairs = Buckets(self.columns(corpora["bitext"]), batch // 2, limit, [seed, 0], "bitext")
            return {"bitext": WithNegative(pairs)}
        sizes = {role: len(corpora[role]["src"]) for role in ("positives", "negatives")}
        positives = min(max(1, round(batch * sizes["positives"] / max(1, sum(sizes.values())))), batch - 1)
        return {
            role: Buckets(self.columns(corpora[role]), size, limit, [seed, place], role)
            for place, (role, size) in enumerate((("positives", positives), ("negatives", batch - positives)))
        }

    def columns(self, corpus: dict[str, SentenceIds]) -> list[SentenceIds]:
        return [corpus[side] for side in self.sides]

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """Binary cross-entropy of the pairs of the batch."""
        if "bitext" in batches:
            src, tgt, wrong = batches["bitext"]
            logits = [self.logits(src, tgt), self.logits(src, wrong)]
        else:
            logits = [self.logits(*batches[role]) for role in ("positives", "negatives")]
        gold = torch.cat([torch.full_like(part, float(not place)) for place, part in enumerate(logits)])
        return {"pairs": nn.functional.binary_cross_entropy_with_logits(torch.cat(logits).float(), gold.float())}

    def development(self, corpora: Corpora) -> float:
        """F1 of its selection from the pairs `valid` and `valid_negatives`, or as many wrong ones."""
        right = self.columns(corpora["valid"])
        if "valid_negatives" in corpora:
            wrong = self.columns(corpora["valid_negatives"])
        else:
            rows = np.roll(np.arange(len(right[1])), -1).tolist()
            wrong = [right[0], SentenceIds([Ragged.of(right[1][row] for row in rows)])]
        selected = [self.score_pairs(*columns) > 0 for columns in (right, wrong)]
        return 2 * float(selected[0].sum()) / max(1.0, float(selected[0].sum() + selected[1].sum() + len(selected[0])))

    @torch.no_grad()
    def score_pairs(self, src: SentenceIds, tgt: SentenceIds) -> NDArray[np.float32]:
        """The logit of each pair [n], float32. The pairs of a batch have one length: without padding, logits do not
        depend on the other pairs.
        """
        self.eval()
        lengths = sum(np.minimum(side.lengths, self.longest) for side in (src, tgt)) + 3
        scores = np.zeros(len(src), np.float32)
        device = next(self.parameters()).device
        for rows in batches_of_one_length(lengths, PIECES, PAIRS):
            logits = self.logits(*(side.padded(rows).on(device) for side in (src, tgt)))
            scores[rows] = logits.float().cpu().numpy()
        return scores

    def logits(self, src: Padded, tgt: Padded) -> torch.Tensor:
        """One logit a pair [b], above 0 for a translation."""
        ids, segments, inside = self.joined(src, tgt)
        plain = exact(ids.device)
        self.bert.set_attn_implementation("eager" if plain else "sdpa")
        # off a CPU as a mask that transformers takes as it is: it would ask whether there is any padding
        mask = inside.long() if plain else inside[:, None, None].expand(-1, -1, ids.shape[1], -1)
        return self.bert(input_ids=ids, token_type_ids=segments, attention_mask=mask).logits[:, 0]

    def joined(self, src: Padded, tgt: Padded) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The input of BERT, [b, t] each: ids, segments (0 or 1), and bool: no padding."""
        device, counts = src.ids.device, [side.lengths.clamp(max=self.longest) for side in (src, tgt)]
        width = int((counts[0] + counts[1]).max()) + 3
        if self.training:
            width = min(aligned(width, device), self.positions)
        a, b = (placed(count, device)[:, None] for count in counts)
        place = torch.arange(width, device=device).expand(len(a), -1)  # [b, t]
        words, translation = (
            side.ids.gather(1, (place - first).clamp(0, side.ids.shape[1] - 1))
            for side, first in ((src, 1), (tgt, a + 2))
        )
        inside, second = place <= a + b + 2, place > a + 1
        ids = torch.where(second, translation, words).masked_fill(~inside, self.pad)
        ids = ids.masked_fill((place == a + 1) | (place == a + b + 2), self.sep).masked_fill(place == 0, self.cls)
        return ids, (second & inside).long(), inside


def published(weights: Path) -> dict[str, torch.Tensor]:
    """The weights of a BERT of transformers (model.safetensors with config.json), by the names of our model."""
    from transformers import BertForSequenceClassification

    model: Any = BertForSequenceClassification.from_pretrained(weights.parent, num_labels=1, local_files_only=True)
    return {f"bert.{name}": tensor for name, tensor in model.state_dict().items() if not name.startswith("classifier.")}
