"""Translation of test sets by a trained model."""

import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from bitextbench.base import sums
from bitextbench.base.arrays import verify_zip
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import atomic, scratch
from bitextbench.base.progress import log
from bitextbench.formats.ids import UNK, Ragged
from bitextbench.nmt.data import Pair, encode, load_bpe
from bitextbench.nmt.ids import to_fairseq, write_texts
from bitextbench.nmt.train import arguments, device_options


def translate(
    models: Sequence[Path],
    data: Path,
    pair: Pair,
    sources: Mapping[str, Sequence[str]],
    spec: dict,
    out: Mapping[str, Path],
    *,
    device: str = "cpu",
    threads: int = 1,
) -> None:
    """Translate test sets (Moses tokens joined by spaces); write detokenised hypotheses, a line each, in their order.

    `models`, one or an ensemble, come from `train`, `data` from `prepare`; `out` has a path for every name in
    `sources`. A source of more than `max_length` pieces is cut there, and the log says how many were. An empty source
    has an empty hypothesis.

    `spec`: beam, length_penalty, batch_tokens (sources in a batch, padding included), max_length. Raises InputError for
    an empty test set or a missing GPU, and RuntimeError should fairseq not give one hypothesis a source (its main
    branch drops some).
    """
    from bitextbench.nmt import fairseq_shim
    from bitextbench.text import moses

    options = device_options(device, threads)
    for name, lines in sources.items():
        if not len(lines):
            raise InputError("the test set is empty", name, remedy="check the test corpus in the config")
    for model in models:
        verify_zip(model, "train it again")
    lines = list(itertools.chain.from_iterable(sources.values()))  # one batch of work: fairseq needs a second to start
    with scratch() as folder:
        _binarize(lines, pair, spec["max_length"], data, folder)
        settings = {
            "source-lang": pair[0],
            "target-lang": pair[1],
            "path": os.pathsep.join(map(str, models)),
            "gen-subset": "test",
            "results-path": str(folder),
            "no-progress-bar": True,
            "beam": spec["beam"],
            "lenpen": spec["length_penalty"],
            "max-len-a": 2,
            "max-len-b": 10,
            "max-tokens": spec["batch_tokens"],
            "required-batch-size-multiple": 1,
            "num-workers": 0,
        }
        fairseq_shim.run("generate", [str(folder), *options, *arguments(settings)])
        pieces = _read_hypotheses(folder / "generate-test.txt", len(lines))
    texts = load_bpe(data).decode([*map(_pieces, pieces)])
    tokens = (hypothesis if line.strip() else "" for hypothesis, line in zip(texts, lines, strict=True))
    hypotheses = moses.detokenize(tokens, pair[1])
    for name, test in sources.items():
        with atomic(out[name]) as part:
            part.write_text("".join(f"{line}\n" for line in itertools.islice(hypotheses, len(test))), encoding="utf-8")
            sums.seal(part)


def _binarize(lines: Sequence[str], pair: Pair, max_length: int, data: Path, work: Path) -> None:
    """Make the source side of the subset `test` in `work`, with the dictionaries of the training data."""
    bpe = load_bpe(data)
    ids = encode(bpe, lines)
    if cut := int((ids.lengths > max_length).sum()):
        log(f"translate: {cut:,} of {len(lines):,} sources are cut to {max_length} pieces")
    shortened = Ragged.of(ids[i][:max_length] for i in range(len(ids)))
    test = to_fairseq(shortened, bpe.get_piece_size(), "test set")
    write_texts([[test]], [work / f"test.{pair[0]}-{pair[1]}.{pair[0]}"], bpe.get_piece_size())
    for language in pair:
        dictionary = data / "data-bin" / f"dict.{language}.txt"
        sums.verify(dictionary)
        shutil.copy(dictionary, work)


def _read_hypotheses(path: Path, expected: int) -> list[str]:
    """The H lines of fairseq's output, `H-<number>\\t<score>\\t<tokens>`, by number."""
    hypotheses = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("H-"):
            number, _, tokens = line[2:].split("\t")
            hypotheses[int(number)] = tokens
    if sorted(hypotheses) != list(range(expected)):
        raise RuntimeError(f"fairseq gave {len(hypotheses):,} hypotheses for {expected:,} sources")
    return [hypotheses[number] for number in range(expected)]


def _pieces(hypothesis: str) -> list[int]:
    """The piece numbers in fairseq's output, whose words are these numbers; its mark of unknown characters becomes UNK."""
    return [int(word) if word.isdigit() else UNK for word in hypothesis.split()]
