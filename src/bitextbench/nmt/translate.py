"""Translation of test sets by a trained model."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import sentencepiece

from bitextbench import moses
from bitextbench.errors import InputError
from bitextbench.files import atomic, existing
from bitextbench.nmt.data import Pair, encode
from bitextbench.nmt.train import device_options
from bitextbench.progress import log


def translate(
    model: Path, data: Path, pair: Pair, sources: Mapping[str, Sequence[str]], spec: dict, out: Mapping[str, Path], *,
    device: str = "cpu", threads: int = 1,
) -> None:  # fmt: skip
    """Translate test sets (Moses tokens joined by spaces) and write detokenised hypotheses, a line each, in the order of the sources.

    `model` comes from `train`, `data` from `prepare`; `out` has a path for every name in `sources`. A source of more than
    `max_length` pieces is cut there, and the log says how many were. An empty source has an empty hypothesis.

    `spec`: beam, length_penalty, batch_tokens, max_length. Raises InputError for an empty test set or a missing GPU, and RuntimeError
    should fairseq's hypotheses not be as many as the sources (its main branch drops some).
    """
    from bitextbench.nmt import fairseq_shim

    options = device_options(device, threads)
    bpe = sentencepiece.SentencePieceProcessor(model_file=str(existing(data / "bpe.model")))
    for name, lines in sources.items():
        if not len(lines):
            raise InputError("the test set is empty", name, remedy="check the test corpus of the config")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _binarize(bpe, sources, pair, spec["max_length"], data / "data-bin", work)
        for index, (name, lines) in enumerate(sources.items()):
            fairseq_shim.run("generate", [
                folder, *options, "--source-lang", pair[0], "--target-lang", pair[1], "--path", str(existing(model)),
                "--gen-subset", f"test{index or ''}", "--results-path", folder, "--post-process", "sentencepiece",
                "--beam", str(spec["beam"]), "--lenpen", str(spec["length_penalty"]), "--max-len-a", "2", "--max-len-b", "10",
                "--max-tokens", str(spec["batch_tokens"]), "--required-batch-size-multiple", "1", "--num-workers", "0", "--no-progress-bar",
            ])  # fmt: skip
            hypotheses = _read_hypotheses(work / f"generate-test{index or ''}.txt", len(lines))
            hypotheses = [hypothesis if line.strip() else "" for hypothesis, line in zip(hypotheses, lines, strict=True)]
            with atomic(out[name]) as part, open(part, "w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in moses.detokenize(hypotheses, pair[1]))


def _binarize(
    bpe: sentencepiece.SentencePieceProcessor, sources: Mapping[str, Sequence[str]], pair: Pair, max_length: int, data_bin: Path, work: Path
) -> None:
    """Make `<work>/{test,test1,...}.<src>-<tgt>.<src>.*`, a test set each, and the dictionaries."""
    from bitextbench.nmt import fairseq_shim

    for index, (name, lines) in enumerate(sources.items()):
        with open(work / f"{index}.{pair[0]}", "w", encoding="utf-8") as file:
            pieces = list(encode(bpe, lines))
            file.writelines(" ".join(line[:max_length]) + "\n" for line in pieces)
        if cut := sum(len(line) > max_length for line in pieces):
            log(f"translate: {cut:,} sources of {name} are cut to {max_length} pieces")
    fairseq_shim.run("preprocess", [
        "--source-lang", pair[0], "--target-lang", pair[1], "--only-source", "--srcdict", f"{data_bin}/dict.{pair[0]}.txt",
        "--testpref", ",".join(f"{work}/{index}" for index in range(len(sources))), "--destdir", str(work), "--workers", "1",
    ])  # fmt: skip
    shutil.copy(data_bin / f"dict.{pair[1]}.txt", work)


def _read_hypotheses(path: Path, expected: int) -> list[str]:
    """The H lines of fairseq's output, `H-<number>\\t<score>\\t<tokens>`, by number."""
    found = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("H-"):
            number, _, tokens = line[2:].split("\t")
            found[int(number)] = tokens
    if sorted(found) != list(range(expected)):
        raise RuntimeError(f"fairseq gave {len(found):,} hypotheses for {expected:,} sources")
    return [found[number] for number in range(expected)]
