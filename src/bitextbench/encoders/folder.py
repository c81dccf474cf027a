"""The folder of a trained encoder, which is self-contained: `encoder.json` lists its files and says how it reads
sentences.

| file | what |
|---|---|
| model.pt | the parameters (`encoders.load`) |
| text_model | a BPE model, features, or the vocabulary of a BERT (`text.features`) |
| encoder.json | the format, the languages of each side, the text model's kind and letter case, a hash of each file, the training |

The folder also has `training.json` and `curve.csv`, which are for people.
"""

import itertools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bitextbench.base.device import setup, torch
from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.languages import matching, unknown_language
from bitextbench.base.outputs import atomic
from bitextbench.encoders import Encoder, load
from bitextbench.encoders.encode import MOST_TOKENS, write_vectors
from bitextbench.encoders.interface import Calibration, Encoded
from bitextbench.text import features

FORMAT = 1
DESCRIPTION, MODEL, TEXT = "encoder.json", "model.pt", "text_model"
AGAIN = "train it again, or copy the whole folder"


class TextSide(NamedTuple):
    """The text side of an encoder: text model, letter case, kind of Chinese tokens, languages of the development pairs."""

    path: Path
    lowercase: bool
    chinese: str
    pair: Mapping[str, str]


def describe(folder: Path, model: Encoder, text: TextSide, training: dict[str, Any]) -> None:
    """Write the text model and `encoder.json` to the folder of `model.pt`. `training`: how it was trained (spec, seed, updates)."""
    with atomic(folder / TEXT) as part:
        shutil.copyfile(text.path, part)
    kind = features.kind_of(text.path)
    pairs = type(model).encode is Encoder.encode  # it scores pairs, and has no vectors
    description = {
        "format": FORMAT,
        "type": training["spec"]["type"],
        "dimension": None if pairs else model.dimension,
        "metric": None if pairs else model.metric,
        "sides": model.learned(text.pair),
        "text": {
            "kind": kind,
            "tokens": "none" if kind in features.PUBLISHED else "moses",
            "chinese": text.chinese,
            "lowercase": text.lowercase and kind not in features.PUBLISHED,
        },
        "files": {name: sha256(folder / name) for name in (MODEL, TEXT)},
        "training": training,
    }
    write_json(folder / DESCRIPTION, description)


class Description(NamedTuple):
    """`encoder.json` of a folder."""

    folder: Path
    sides: dict[str, list[str]]
    kind: str
    lowercase: bool
    chinese: str
    dimension: int | None
    files: dict[str, str]


def read(folder: Path) -> Description:
    """`encoder.json`, checked against the files. Raises InputError that names what is missing or differs."""
    path = folder / DESCRIPTION
    held = read_json(path)
    if (version := held.get("format") if isinstance(held, dict) else None) != FORMAT:
        remedy = f"this release reads format {FORMAT}: {'update bitextbench' if version else AGAIN}"
        raise InputError(f"has the format {version}", path, remedy=remedy)
    try:
        text, sides, files = held["text"], held["sides"], held["files"]
        description = Description(
            folder, sides, text["kind"], text["lowercase"], text["chinese"], held["dimension"], files
        )
        named = set(files) == {MODEL, TEXT} and all(isinstance(codes, list) for codes in sides.values())
    except (KeyError, TypeError, AttributeError):
        named = False
    if not named:
        raise InputError("does not describe an encoder", path, remedy=AGAIN)
    for name, digest in files.items():
        if not (folder / name).is_file():
            raise InputError("no such file, and encoder.json names it", folder / name, remedy=AGAIN)
        if sha256(folder / name) != digest:
            raise InputError("is not the file that encoder.json was written for", folder / name, remedy=AGAIN)
    return description


class TrainedEncoder:
    """A trained encoder of this project that encodes plain sentences; see `interface.SentenceEncoder`."""

    calibration: Calibration | None = None

    def __init__(self, folder: Path, *, threads: int = 1, device: str = "cpu") -> None:
        about = read(folder)
        if about.dimension is None:
            what = "the model scores pairs of sentences and makes no vectors"
            raise InputError(what, folder, remedy="name the folder of an encoder")
        self.name, self.sides, self.dimension = str(folder), about.sides, about.dimension
        self.device = setup(threads, device)
        self.model = load(folder / MODEL, self.device)
        self.segment = features.segmenter(folder / TEXT, about.kind, lowercase=about.lowercase, chinese=about.chinese)
        self.key = "-".join([*(about.files[name][:16] for name in (MODEL, TEXT)), self.device.type, str(MOST_TOKENS)])

    def side(self, language: str | None, wanted: str | None = None, *, usual: str | None = None) -> str:
        """The side that encodes a language: see `interface.SentenceEncoder`.

        Raises InputError for no language, or one that it has not learned.
        """
        known = sorted({code for codes in self.sides.values() for code in codes})
        if language is None:
            raise InputError("the language of a text is not given", self.name, remedy=f"name one of {', '.join(known)}")
        language = self._known(language, known)
        has = [side for side, codes in self.sides.items() if language in codes]
        if wanted is not None and wanted not in has:
            what = f"its side {wanted} was not trained on {language}"
            raise InputError(what, self.name, remedy=f"leave out --side, or give --side {' or '.join(has)}")
        if wanted is None and usual not in has and len(has) > 1 and self.model.sided:
            raise InputError(f"both of its sides encode {language}", self.name, remedy="give --side src or --side tgt")
        return wanted or (usual if usual in has else has[0])

    def _known(self, language: str, known: Sequence[str]) -> str:
        """The code by which the encoder knows a language."""
        if (found := matching(language, known)) is None:
            raise unknown_language(language, known, self.name)
        return found

    def encode(
        self, lines: list[str], language: str | None, side: str, vectors: NDArray[np.float32]
    ) -> Iterator[Encoded]:
        """Fill `vectors` [len(lines), dimension], of zeros; a sentence without tokens keeps them, a long one is cut."""
        assert language is not None
        ids = self.segment(lines, self._known(language, [*itertools.chain(*self.sides.values())]))
        ids.check(self.model.vocab_size, AGAIN)
        sentences, longer = self.model.read("encode", [ids]).cut(MOST_TOKENS)
        for rows in write_vectors(self.model, sentences, side, vectors, 8192, self.device, torch.float32):
            yield Encoded(len(rows), int(longer[rows].sum()))
        yield Encoded(int((sentences.lengths == 0).sum()))
