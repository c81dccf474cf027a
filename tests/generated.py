"""Ids of the generated corpus, for tests that train on language: `python tests/generated.py SPEC` measures one encoder.

SPEC is JSON: {"type", "model", "training", "train": pairs, "longest": tokens of a sentence, "vocab": pieces of the BPE,
"roles": {role: [source language, target language]}}; {"bitext": ["de", "en"]} where no roles are given. Prints what
`trainer.train` returns, with the seconds of training, the vocabulary and the number of held-out candidates.
"""

import itertools
import json
import sys
import tempfile
import time
from pathlib import Path

import sentencepiece

from bitextbench.base.device import torch
from bitextbench.data import synth
from bitextbench.encoders import trainer
from bitextbench.encoders.models import dan_dual
from bitextbench.formats.ids import Ragged
from bitextbench.text import moses
from bitextbench.text.bpe import learn_sentencepiece


def held_out(
    folder: Path,
    roles: dict[str, tuple[str, str]],
    train: int,
    *,
    held: int = 2000,
    vocab: int = 4000,
    longest: int = 60,
) -> tuple[dict[str, list[Path]], int]:
    """Stems for `trainer.train`: `train` pairs for each role, and `held` of the first role as `valid`; the vocabulary.

    No held-out sentence of either side occurs twice or in the training text. All languages share one BPE.
    """
    languages = sorted({language for pair in roles.values() for language in pair})
    tokens = {name: draw(name, languages, count, longest) for name, count in (("train", train), ("held", 2 * held))}
    model = learn_sentencepiece(itertools.chain(*tokens["train"].values()), vocab, 1)
    bpe = sentencepiece.SentencePieceProcessor(model_proto=model)
    pair = next(iter(roles.values()))
    seen = {language: set(tokens["train"][language]) for language in pair}
    rows = []
    for row, sides in enumerate(zip(*(tokens["held"][language] for language in pair), strict=True)):
        if all(side not in seen[language] for language, side in zip(pair, sides, strict=True)):
            rows.append(row)
            for language, side in zip(pair, sides, strict=True):
                seen[language].add(side)
    for role, languages_of in {**roles, "valid": pair}.items():
        for side, language in zip(("src", "tgt"), languages_of, strict=True):
            lines = (
                [tokens["held"][language][row] for row in rows[:held]] if role == "valid" else tokens["train"][language]
            )
            Ragged.of(bpe.encode(lines)).save(folder / f"{role}.{side}")
    return {role: [folder / role] for role in (*roles, "valid")}, bpe.get_piece_size()


def draw(stretch: str, languages: list[str], count: int, longest: int) -> dict[str, list[str]]:
    """The first `count` sentences of a stretch in each language: tokens, lower-cased, at most `longest` in any of them."""
    stream = (sentence for _, sentence in synth.sentences(stretch, languages, 1))
    short = (sentence for sentence in stream if max(line.count(" ") for line in sentence) < longest - 1)  # a full stop
    columns = zip(*itertools.islice(short, count), strict=True)
    return {
        language: [line.lower() for line in moses.tokenize(moses.normalize(column, language), language)]
        for language, column in zip(languages, columns, strict=True)
    }


def main(spec: dict) -> None:
    roles = {role: tuple(pair) for role, pair in spec.get("roles", {"bitext": ["de", "en"]}).items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = {key: spec[key] for key in ("vocab", "longest") if key in spec}
        data, vocab = held_out(folder, roles, spec.get("train", 20_000), **sizes)
        candidates = len(Ragged.load(folder / "valid.src"))
        started = time.monotonic()
        found = trainer.train(spec, vocab, data, folder / "model.pt", folder / "kept")
        print(
            json.dumps(
                {
                    "seconds": round(time.monotonic() - started, 1),
                    "vocabulary": vocab,
                    "candidates": candidates,
                    **found,
                }
            )
        )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))


def plain_model(path, dimension):
    """An encoder whose confidence is the logistic function of the dot product."""
    model = dan_dual.Model(50, words=50, embedding=dimension, layers=(dimension,))
    torch.nn.init.zeros_(model.calibration.weight)
    with torch.no_grad():
        model.calibration.bias.copy_(torch.tensor([1.0, 0.0]))
    spec = {"type": "dan_dual", "model": {"words": 50, "embedding": dimension, "layers": [dimension]}}
    torch.save({"spec": spec, "vocab_size": 50, "state_dict": model.state_dict()}, path)
    return path
