"""What encoders that others published have in common: one side for all languages, batches without padding, a key by content.

`muse`, `e5`, `laser` and `pretrained` read them in their formats. A configuration calls any of them `type: pretrained`.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xxhash
from numpy.typing import NDArray

from bitextbench.base import sums
from bitextbench.base.device import autocast, number_format, setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256
from bitextbench.base.languages import check_language, other_script
from bitextbench.base.progress import log
from bitextbench.encoders.batches import batches_of_one_length
from bitextbench.encoders.encode import ROWS
from bitextbench.encoders.interface import Calibration, Encoded
from bitextbench.formats.repair import is_empty

BATCH_TOKENS = {"cpu": 4096, "cuda": 65_536}


class ModelTokens(NamedTuple):
    """The inputs of a model for n sentences: `columns` of n lists of integers, one a token; `cut` bool [n], those that were too long."""

    columns: dict[str, list[list[int]]]
    cut: NDArray[np.bool_]


class Batch(NamedTuple):
    """Sentences that were computed together: their places int64 [b], vectors float32 [b, dimension], and how many were cut."""

    rows: NDArray[np.int64]
    vectors: torch.Tensor
    cut: int = 0


class Published:
    """An encoder that encodes plain sentences of any language; see `interface.SentenceEncoder`.

    Sentences of one length are computed together, unless `batches` says otherwise: there is no padding, and vectors do
    not depend on the batch.
    """

    name: str
    key: str
    dimension: int
    device: torch.device
    languages: tuple[str, ...] = ()  # that it was trained on, where they are known
    calibration: Calibration | None = None
    warned = False  # of text in another script

    def __init__(self, *, precision: str = "fp32", threads: int = 1, device: str = "cpu") -> None:
        self.device, self.threads = setup(threads, device), threads
        self.dtype = number_format(precision, self.device)  # of its products

    def tokens(self, lines: list[str]) -> ModelTokens:
        """The tokens of sentences, none of them empty."""
        raise NotImplementedError

    def vectors(self, columns: dict[str, torch.Tensor]) -> torch.Tensor:
        """Sentence vectors float32 [b, dimension] from columns int64 [b, t] of sentences of one length."""
        raise NotImplementedError

    def side(self, language: str | None, wanted: str | None = None, *, usual: str | None = None) -> str:
        """One side for all languages. Warns of a language that it was not trained on.

        Raises InputError for what is no language code, and where a side is `wanted`.
        """
        if wanted is not None:
            raise InputError("has one side for all languages", self.name, remedy="leave out --side")
        if language is not None:
            check_language(language, "--language")
            if self.languages and language.lower() not in self.languages:
                log(
                    f"warning: {self.name} was not trained on {language}; its languages are {', '.join(self.languages)}"
                )
        return "any"

    @torch.inference_mode()
    def encode(
        self, lines: list[str], language: str | None, side: str, vectors: NDArray[np.float32]
    ) -> Iterator[Encoded]:
        """Fill `vectors` [len(lines), dimension]; empty sentences keep zeros. Sentences of too many tokens are cut."""
        full = np.array([row for row, line in enumerate(lines) if not is_empty(line)], np.int64)
        yield Encoded(len(lines) - len(full))
        if not len(full):
            return
        self._check_script(lines)
        for batch in self.batches([lines[row].strip() for row in full]):
            found = batch.vectors.cpu().numpy()
            if not np.isfinite(found).all():
                raise InputError("a vector is not finite", self.name, remedy="fetch the model again")
            vectors[full[batch.rows]] = found
            yield Encoded(len(found), batch.cut)

    def _check_script(self, lines: list[str]) -> None:
        """Warn, once, of a text in a script of none of the languages that it was trained on."""
        if not self.warned and (script := other_script(lines, self.languages)):
            self.warned = True
            log(
                f"warning: most letters of the text are {script}; {self.name} was trained on {', '.join(self.languages)}"
            )

    def batches(self, lines: list[str]) -> Iterator[Batch]:
        """The vectors of sentences, none of them empty, a batch at a time and in any order."""
        tokens = self.tokens(lines)
        lengths = np.array([len(ids) for ids in next(iter(tokens.columns.values()))])
        most = BATCH_TOKENS[self.device.type]
        for rows in batches_of_one_length(lengths, most, most):
            filled = [*rows, *rows[-1:].repeat(-len(rows) % ROWS)]
            columns = {
                name: torch.tensor([column[row] for row in filled], device=self.device)
                for name, column in tokens.columns.items()
            }
            with autocast(self.device, self.dtype):
                vectors = self.vectors(columns)[: len(rows)].float()
            yield Batch(rows, vectors, int(tokens.cut[rows].sum()))


def key_of(content: str, device: torch.device, dtype: torch.dtype) -> str:
    """The key of an encoder of this content: another device or number format gives other vectors."""
    return "-".join([content, device.type, *["bf16"] * (dtype == torch.bfloat16)])


def verify_weights(folder: Path, files: Iterable[Path]) -> None:
    """Check the weights in `folder`. Raises InputError for a file that has changed.

    A file is compared with the SHA-256 that Hugging Face's client keeps with it. Without one it is compared with its
    sum at its first use here (`base.sums`), which is then written next to it.
    """
    again = "fetch the model again"
    for path in files:
        if published := _published_sum(folder, path):
            if sha256(path) != published:
                raise InputError("is not the published file: its SHA-256 differs", path, remedy=again)
        elif sums.place(path).exists():
            sums.verify(path, again)
        else:
            with contextlib.suppress(OSError):  # a folder that cannot be written
                sums.seal(path)


def _published_sum(folder: Path, path: Path) -> str:
    """The SHA-256 of a file by Hugging Face's client: in its cache the name of the blob that a link leads to, in a folder
    the second line of a record of the download; "" where there is none.
    """
    record = folder / ".cache/huggingface/download" / f"{path.relative_to(folder)}.metadata"
    found = [path.resolve().name]
    with contextlib.suppress(OSError, UnicodeDecodeError):
        found += record.read_text(encoding="utf-8").splitlines()[1:2]
    return next((name for name in found if re.fullmatch("[0-9a-f]{64}", name)), "")


def fingerprint(folder: Path, files: Iterable[Path], *more: str) -> str:
    """A hash of the names and bytes of `files` in `folder`, and of what else decides what the vectors are."""
    digest = xxhash.xxh3_64("\0".join(more).encode())
    for path in sorted(files):
        digest.update(str(path.relative_to(folder)).encode())
        with open(path, "rb") as file:
            while data := file.read(1 << 20):
                digest.update(data)
    return digest.hexdigest()
