"""Sentence encoders: one interface, one file for each encoder.

The type of an encoder in the configuration is the name of its module in `models`, or in a folder of plugins
(`base.members`). The module has a class `Model(Encoder)`. The configuration's `model` sets the class's keyword
arguments. They are read from the source when a run is planned: an argument with a default is a key of `model`, and its
annotation is the type of the value. Arguments without a default come from the features: `words`.

An encoder with an argument `confidence` above 0 has a calibrated confidence. The module's ROLES names the text that it
learns from, in addition to `valid`. A configuration that gives it other text is refused.
"""

import importlib
import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, ClassVar

import numpy as np

from bitextbench.base import members, names
from bitextbench.base.arrays import verify_zip
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders.batches import Padded, SentenceIds, Stream
from bitextbench.formats.ids import Ragged
from bitextbench.formats.word_vectors import Rows, read_vectors

Corpora = dict[str, dict[str, SentenceIds]]  # role (bitext, mono, valid, calibration, hard) -> side -> sentences


class Encoder(torch.nn.Module):
    """The interface of a model to the trainer and to `encode`."""

    sides: ClassVar[tuple[str, ...]] = ("src", "tgt")
    metric: str = "cosine"  # or dot: the similarity of its vectors
    bidirectional: bool = True  # whether it is trained for targets to find sources, too
    dimension: int  # of a sentence vector
    vocab_size: int
    sparse: bool = False  # whether gradients of its embeddings are sparse
    score: str = "P@1"  # the name of its dev score
    sided: bool = True  # whether a vector depends on the side
    narrow: bool = False  # whether all of its parameters may be bfloat16 when it encodes
    rescaled: bool = False  # whether word vectors that it starts from are divided by their root mean square
    rows: int | None = None  # sentences that a CPU encodes at a time; None: so few that torch does not split operations

    def read(self, role: str, stems: Iterable[str | Path | Ragged]) -> SentenceIds:
        """The ids of one role and side at `stems`, or in memory; their lengths are in tokens of this model."""
        return SentenceIds.load(stems)

    def streams(self, corpora: Corpora, batch: int, max_tokens: int, seed: int) -> dict[str, Stream]:
        """The examples of each objective, by name; `batch` sentence pairs in all in each update."""
        raise NotImplementedError

    def loss(self, batches: dict[str, tuple[Padded, ...]]) -> dict[str, torch.Tensor]:
        """The loss of each objective (a scalar) on one batch of each stream; their sum is minimised."""
        raise NotImplementedError

    def development(self, corpora: Corpora) -> float | None:
        """The model's own dev score, in [0, 1]; None: P@1 of its vectors on the pairs `valid` is the dev score."""
        return None

    def encode(self, side: str, sentences: Padded) -> torch.Tensor:
        """Sentence vectors [b, dimension] of non-empty sentences of one side."""
        raise NotImplementedError

    def finish(self, streams: dict[str, Stream], seed: int) -> None:
        """Learn what is learned once the vectors stand still, after the last update; `seed`: of what is drawn."""

    def learned(self, pair: Mapping[str, str]) -> dict[str, list[str]]:
        """The languages that each side encodes; `pair`: the language of each side of its dev pairs."""
        return {side: [pair[side]] if self.sided else sorted({*pair.values()}) for side in self.sides}

    def initialise(self, vectors: dict[str, Path], row_of: Rows) -> dict[str, int]:
        """Start from word vectors in files, by side, each in the row of its word. Returns the number of rows, by side.

        Of a table that both sides have, the last side's vectors count. Raises InputError for an encoder without tables
        and for vectors of another size.
        """
        matched: dict[str, int] = {}
        for side, path in vectors.items():
            tables = self.tables(side)
            rows, values = read_vectors(path, row_of, tables[0].shape[1])
            if self.rescaled and values.any():
                values /= np.float32(np.sqrt(np.square(values).mean(dtype=np.float64)))
            for table in tables:
                table.data[torch.from_numpy(rows)] = torch.from_numpy(values)
            matched[side] = len(rows)
        return matched

    def tables(self, side: str) -> list[torch.Tensor]:
        """The embeddings [vocab_size, E] that start from the word vectors of a side."""
        raise InputError("this encoder takes no word vectors", type(self).__module__, remedy="remove `vectors`")


def create(spec: dict[str, Any], vocab_size: int) -> Encoder:
    """The encoder `spec["type"]` with the sizes of `spec["model"]`; torch's generator draws its weights.

    Raises InputError for an unknown type or key.
    """
    path = members.source("encoders", spec["type"])
    model = importlib.import_module(f"{__name__}.models.{spec['type']}").Model
    sizes = spec.get("model") or {}
    known = [*(members.arguments(path, "Model") or inspect.signature(model).parameters)]
    if unknown := set(sizes) - set(known):
        raise InputError(
            f"unknown key {', '.join(sorted(unknown))}",
            f"encoder {spec['type']}: model",
            remedy=f"known: {', '.join(known)}",
        )
    return model(vocab_size, **sizes)


def check_settings(kind: str, **settings: tuple[Any, bool, str]) -> None:
    """Raises InputError for the first wrong setting under `model` of an encoder of type `kind`.

    A setting is its value, whether that is right, and which values are.
    """
    for name, (value, right, wanted) in settings.items():
        if not right:
            raise InputError(f"{name} cannot be {value!r}", f"encoder {kind}: model", remedy=f"set it to {wanted}")


def load(path: str | Path, device: torch.device) -> Encoder:
    """A trained encoder, ready to encode. Raises InputError for another kind of file."""
    saved = read(path, "train again")
    try:
        with torch.device("meta"):  # no weights are drawn that the file's would replace
            model = create(saved["spec"], saved["vocab_size"])
        model.load_state_dict(saved["state_dict"], assign=True)
        held = (value for part in model.modules() for value in (*vars(part).values(), *part.buffers(recurse=False)))
        if any(isinstance(value, torch.Tensor) and value.is_meta for value in held):  # not in the file: positions, say
            model = create(saved["spec"], saved["vocab_size"])
            model.load_state_dict(saved["state_dict"])
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise InputError(f"not a trained encoder ({str(error).splitlines()[0]})", path, remedy="train again") from None
    return model.to(device).eval()


def read(path: str | Path, remedy: str) -> dict[str, Any]:
    """A dictionary of tensors and plain values that `torch.save` wrote. Raises InputError for any other file."""
    verify_zip(path, remedy)
    try:
        saved = torch.load(names.utf8(path), map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, ValueError, OSError, UnpicklingError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot be read as a model ({reason})", path, remedy=remedy) from None
    if not isinstance(saved, dict):
        raise InputError(f"cannot be read as a model (it holds a {type(saved).__name__})", path, remedy=remedy)
    return saved
