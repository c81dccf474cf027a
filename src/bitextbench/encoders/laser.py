"""LASER2 (Artetxe and Schwenk 2019; Heffernan et al. 2022) by its own files: `<name>.pt` and `<name>.spm` in a folder.

A sentence is made printable, its punctuation is normalised as Moses does for English, and it is lower-cased and cut
into pieces. A BiLSTM reads the pieces and the end of the sentence. The vector is the maximum over its states. All steps
are those of facebookresearch/LASER (`laser_encoders` 0.0.2), which is not needed. LASER3's files are pickles of
classes, and are not read.
"""

import pickle
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

from bitextbench.base import names
from bitextbench.base.device import torch
from bitextbench.base.errors import InputError
from bitextbench.encoders.encode import MOST_TOKENS
from bitextbench.encoders.published import ModelTokens, Published, fingerprint, key_of, verify_weights
from bitextbench.text.bpe import load_bpe

MARK = "*.spm"
SIZES = ("num_embeddings", "padding_idx", "embed_dim", "hidden_size", "num_layers")
END, UNKNOWN = 2, 3  # fairseq's ids


class Laser(Published):
    """LASER2's encoder.

    Raises InputError for a folder without its two files or with several models, a damaged file, one that differs from its
    sum, and a `prefix`.
    """

    def __init__(self, folder: Path, *, prefix: str | None = None, **machine: Any) -> None:
        from sacremoses import MosesPunctNormalizer

        if prefix is not None:
            raise InputError("takes no prefix", folder, remedy="leave out --prefix")
        super().__init__(**machine)
        self.name = str(folder)
        path = model_file(folder)
        files = [path, path.with_suffix(".spm")]
        verify_weights(folder, files)
        self.vocabulary, self.network = read(path)
        self.network.to(self.device)
        self.dimension = 2 * self.network.lstm.hidden_size
        self.pieces = load_bpe(path.with_suffix(".spm"))
        self.punctuation = MosesPunctNormalizer("en", perl_parity=True)
        # LASER's tokenizer has these two as Moses' release 4.0 has them
        self.punctuation.substitutions[21], self.punctuation.substitutions[22] = ("‘", '"'), ("‚", '"')
        content = fingerprint(folder, files, str(MOST_TOKENS))
        self.key = key_of(content, self.device, self.dtype)

    def tokens(self, lines: list[str]) -> ModelTokens:
        """Ids of pieces, and of the end; of a long sentence the first MOST_TOKENS."""
        plain = [self.punctuation.normalize(line.translate(PRINTABLE)).lower() for line in lines]
        ids = [
            [self.vocabulary.get(piece, UNKNOWN) for piece in " ".join(pieces).split()]
            for pieces in self.pieces.encode(plain, out_type=str)
        ]
        cut = np.array([len(row) > MOST_TOKENS for row in ids], bool)
        return ModelTokens({"ids": [[*row[:MOST_TOKENS], END] for row in ids]}, cut)

    def vectors(self, columns: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.network(columns["ids"])


class Network(torch.nn.Module):
    """Embeddings and a BiLSTM; ids int64 [b, t] -> float32 [b, 2 hidden], the maximum over the positions."""

    def __init__(
        self, num_embeddings: int, padding_idx: int, embed_dim: int, hidden_size: int, num_layers: int
    ) -> None:
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(num_embeddings, embed_dim, padding_idx)
        self.lstm = torch.nn.LSTM(embed_dim, hidden_size, num_layers, bidirectional=True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(self.embed_tokens(ids.T))
        return states.amax(0)


class Printable(dict[int, int]):
    """A table for str.translate: characters of Unicode's category C (control, format, unassigned ...) become blanks."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(" ") if unicodedata.category(chr(code)).startswith("C") else code
        return self[code]


PRINTABLE = Printable()


def model_file(folder: Path) -> Path:
    """The `.pt` of a folder that has a `.spm` of the same name. Raises InputError where there is none, or several."""
    match [path.with_suffix(".pt") for path in sorted(folder.glob(MARK))]:
        case [path] if path.is_file():
            return path
        case [path]:
            raise InputError("no such file", path, remedy="fetch the .pt beside the .spm")
        case paths:
            raise InputError(f"has {len(paths):,} files {MARK}", folder, remedy="keep one model in a folder")


def read(path: Path) -> tuple[dict[str, int], Network]:
    """The vocabulary and the network. Raises InputError for a file that is damaged, or is not LASER2's."""
    try:
        held: dict[str, Any] = torch.load(names.utf8(path), weights_only=True, map_location="cpu")
        network = Network(**{name: held["params"][name] for name in SIZES})
        network.load_state_dict(held["model"])
        vocabulary = {str(piece): int(place) for piece, place in held["dictionary"].items()}
    except (pickle.UnpicklingError, RuntimeError, EOFError, KeyError, TypeError, ValueError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1].strip()
        raise InputError(f"is not a model of LASER2 ({reason})", path, remedy="fetch laser2.pt again") from None
    if (
        not held["params"].get("bidirectional")
        or max(vocabulary.values(), default=0) >= held["params"]["num_embeddings"]
    ):
        raise InputError("is not a model of LASER2", path, remedy="fetch laser2.pt again")
    return vocabulary | {"<s>": 0, "<pad>": 1, "</s>": END, "<unk>": UNKNOWN}, network.eval()
