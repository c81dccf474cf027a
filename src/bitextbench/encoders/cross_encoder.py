"""The cross-encoder of Yang et al. 2019, section 6.2: BERT (Devlin et al. 2019) reads both sentences and says whether they translate
each other. It gives a pair one logit, and a sentence no vector: pairs are rescored by it, not searched.

    [CLS] source [SEP] target [SEP]

with segment 0 up to the first [SEP] and 1 after it; a linear layer on the pooled [CLS] (`BertForSequenceClassification` of
transformers with one output). The loss is the binary cross-entropy, a mean over the batch.

It learns from corpora `positives` and `negatives` (see `rescoring`), or, where there is but a `bitext`, from its pairs and as many
wrong ones of about one length: each source with the targets that follow its own in the batch. The latter is how a small model starts
that has no multilingual pre-training behind it; it stands for that of Devlin et al. and is no part of the paper.

What the paper leaves open, and what is done here: one logit in place of two (the same model: only their difference matters); a side
longer than half of the positions is cut.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitextbench import encoders
from bitextbench.batches import BOS, EOS, PAD, UNK, Buckets, Padded, Sentences
from bitextbench.device import autocast, torch
from bitextbench.encoders import Corpora, Encoder, Stream
from bitextbench.encoders.transformer_dual import Norm
from bitextbench.errors import InputError

if TYPE_CHECKING:
    from transformers import BertConfig

nn = torch.nn


class Model(Encoder):
    """Sizes default to BERT base; `cls` and `sep` are the ids of these marks; `wrong`: wrong targets of a pair of a bitext."""

    bidirectional = False

    def __init__(
        self, vocab_size: int, *, hidden: int = 768, layers: int = 12, heads: int = 12, filters: int = 3072, dropout: float = 0.1,
        positions: int = 512, cls: int = BOS, sep: int = EOS, wrong: int = 1, masked: float = 0.15,
    ) -> None:  # fmt: skip
        super().__init__()
        from transformers import BertConfig, BertForSequenceClassification

        if hidden % heads or not max(cls, sep) < vocab_size or positions < 5 or wrong < 1:
            raise InputError(
                f"hidden: {hidden}, heads: {heads}, positions: {positions}, wrong: {wrong}, marks {cls} and {sep} of {vocab_size} ids",
                "encoder cross_encoder: model",
                remedy="heads divide hidden; positions hold a pair; the marks are in the vocabulary",
            )
        self.vocab_size, self.dimension, self.cls, self.sep, self.masked, self.wrong = vocab_size, hidden, cls, sep, masked, wrong
        self.longest = (positions - 3) // 2  # pieces of a side
        config: BertConfig = BertConfig(
            vocab_size=vocab_size, hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=heads,
            intermediate_size=filters, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
            max_position_embeddings=positions, pad_token_id=PAD, num_labels=1, attn_implementation="eager",
        )  # fmt: skip
        self.bert = BertForSequenceClassification(config)
        for name, module in list(self.bert.named_modules()):
            if isinstance(module, nn.LayerNorm):
                self.bert.set_submodule(name, Norm(hidden, eps=module.eps))

    def initialise(self, vectors: dict[str, Path], pieces: list[str]) -> dict[str, int]:
        """Start from `vectors["model"]`: a cross-encoder of this project (.pt), or `model.safetensors` in a folder of transformers.

        Raises InputError for one of another vocabulary or of other sizes.
        """
        path = vectors["model"]
        held = encoders.read(path, "train it again")["state_dict"] if path.suffix == ".pt" else published(path)
        wanted = self.state_dict()
        own = {name: tensor for name, tensor in held.items() if name in wanted}
        new = [name for name in wanted if name not in own and not name.startswith("bert.classifier.")]
        if wrong := [name for name, tensor in own.items() if tensor.shape != wanted[name].shape] or new:
            name = wrong[0]
            shapes = [tuple(of[name].shape) if name in of else "none" for of in (held, wanted)]
            raise InputError(f"{name} is {shapes[0]}, not {shapes[1]}", path, remedy="same vocabulary, same sizes")
        self.load_state_dict(own, strict=False)
        return {"model": len(own["bert.bert.embeddings.word_embeddings.weight"])}

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """Positive and negative pairs in their proportion, or pairs of a bitext."""
        limit = min(max_tokens, self.longest)
        if "bitext" in corpora:
            return {"bitext": Buckets(self.columns(corpora["bitext"]), batch // 2, limit, [seed, 0], "bitext")}
        sizes = {role: len(corpora[role]["src"]) for role in ("positives", "negatives")}
        positives = min(max(1, round(batch * sizes["positives"] / max(1, sum(sizes.values())))), batch - 1)
        return {
            role: Buckets(self.columns(corpora[role]), size, limit, [seed, place], role)
            for place, (role, size) in enumerate((("positives", positives), ("negatives", batch - positives)))
        }

    def columns(self, corpus: dict[str, Sentences]) -> list[Sentences]:
        return [corpus[side] for side in self.sides]

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """Binary cross-entropy of the pairs of the batch."""
        if "bitext" in batches:
            return self.pretraining(*batches["bitext"])
        found = [self.logits(*batches[role]) for role in ("positives", "negatives")]
        return {"pairs": self.entropy(*found)}

    def entropy(self, positives: torch.Tensor, negatives: torch.Tensor) -> torch.Tensor:
        """Binary cross-entropy of logits of both kinds, the mean over all."""
        right = torch.cat([torch.ones_like(positives), torch.zeros_like(negatives)]).float()
        return nn.functional.binary_cross_entropy_with_logits(torch.cat([positives, negatives]).float(), right)

    def pretraining(self, src: Padded, tgt: Padded) -> dict[str, torch.Tensor]:
        """Masked pieces of pairs, and which of two targets is the translation."""
        ids, segments, inside = self.joined(src, tgt)
        hidden = (torch.rand(ids.shape, device=ids.device) < self.masked) & inside & (ids != self.cls) & (ids != self.sep)
        states = self.states(torch.where(hidden, UNK, ids), segments, inside)
        table = self.bert.bert.embeddings.word_embeddings.weight
        guesses = states[hidden] @ table.T
        wrong = self.states(*self.joined(src, rolled(tgt, 1)))
        return {
            "masked": nn.functional.cross_entropy(guesses.float(), ids[hidden]),
            "pairs": self.entropy(self.classified(states), self.classified(wrong)),
        }

    def states(self, ids, segments, inside):
        return self.bert.bert(input_ids=ids, token_type_ids=segments, attention_mask=inside.long()).last_hidden_state

    def classified(self, states):
        return self.bert.classifier(self.bert.dropout(self.bert.bert.pooler(states)))[:, 0]

    def logits(self, src: Padded, tgt: Padded) -> torch.Tensor:
        """One logit a pair [b], above 0 for a translation."""
        ids, segments, inside = self.joined(src, tgt)
        return self.classified(self.states(ids, segments, inside))

    def joined(self, src: Padded, tgt: Padded) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """What BERT reads, [b, t] each: ids, segments (0 or 1), and bool: no padding."""
        device = src.ids.device
        a, b = (side.lengths.clamp(max=self.longest).to(device)[:, None] for side in (src, tgt))
        place = torch.arange(int((a + b).max()) + 3, device=device)[None]  # [1, t]
        ids = torch.full((len(a), place.shape[1]), PAD, device=device)
        for side, length, first in ((src, a, 1), (tgt, b, a + 2)):
            here = torch.arange(side.ids.shape[1], device=device)[None] < length
            ids[(place >= first) & (place < first + length)] = side.ids[here]
        ids[:, 0] = self.cls
        ids[(place == a + 1) | (place == a + b + 2)] = self.sep
        inside = place <= a + b + 2
        return ids, ((place > a + 1) & inside).long(), inside


def rolled(rows: Padded, shift: int) -> Padded:
    """Each row in place of the one `shift` before it, the first in place of the last."""
    return Padded(rows.ids.roll(-shift, 0), rows.lengths.roll(-shift, 0))


def published(weights: Path) -> dict[str, torch.Tensor]:
    """The weights of a BERT of transformers (model.safetensors beside config.json), by our names."""
    from transformers import BertForSequenceClassification

    model: Any = BertForSequenceClassification.from_pretrained(weights.parent, num_labels=1, local_files_only=True)
    return {f"bert.{name}": tensor for name, tensor in model.state_dict().items() if not name.startswith("classifier.")}
