"""A plain phrase-based system: sil-thot, as sil-machine trains it (trigrams, phrases of ten words, weights by simplex).

    python thot_phrases.py TEXT FOLDER ALIGNMENT EVALUATIONS TRAIN DEV TEST...

Texts are TEXT/<name>.src and TEXT/<name>.tgt, tokens, a line a sentence, as `bitextbench step smt-text` writes them.
ALIGNMENT is hmm (sil-machine's choice; more than 13 minutes of processor time for 49,000 pairs) or fast_align. The
translations of the tests are FOLDER/untuned/<test>.txt, by weights that are all 1, and FOLDER/tuned/<test>.txt, by those
that EVALUATIONS steps of the simplex find on DEV (none where that is 0; sil-machine takes 100, on 1,000 drawn pairs of
the training text). Prints processor seconds, and words per processor second of decoding. BLEU as that of our system:

    bitextbench step smt-bleu --hypotheses mt06 FOLDER/tuned/mt06.txt --references TEXT/mt06.tgt -o FOLDER

sil-machine draws up to 1,000 pairs from the training text, by whose perplexity it weights the language model; these stay
out of the phrase table. Made for sil-thot 3.5 and sil-machine 1.9 in an environment of their own.
"""

import shutil
import sys
import time
from functools import partial
from pathlib import Path

from machine.corpora import TextFileTextCorpus
from machine.translation.thot import thot_smt_model_trainer as trainers
from machine.translation.thot.parameter_tuner import ParameterTuner
from machine.translation.thot.simplex_model_weight_tuner import SimplexModelWeightTuner
from machine.translation.thot.thot_smt_model import ThotSmtModel
from machine.translation.thot.thot_smt_parameters import ThotSmtParameters
from machine.translation.thot.thot_word_alignment_model_type import ThotWordAlignmentModelType
from machine.translation.trainer import TrainStats

PERPLEXITIES = 20  # evaluations for the weights of the language model, each of which reads it; 200 in sil-machine


class NoTuner(ParameterTuner):
    """Leaves the weights as they are, so that a tuning on another text can follow."""

    def tune(self, parameters, *_):  # type: ignore[no-untyped-def]
        return parameters


def sentences(path: Path) -> list[list[str]]:
    return [line.split() for line in path.read_text(encoding="utf-8").splitlines()]


def said(what: str, begin: float, more: str = "") -> None:
    print(f"{what}: cpu_s={time.process_time() - begin:.0f} {more}", flush=True)


def trained(text: Path, folder: Path, kind: ThotWordAlignmentModelType, train: str) -> ThotSmtParameters:
    source, target = (TextFileTextCorpus(text / f"{train}.{side}") for side in ("src", "tgt"))
    parameters = ThotSmtParameters(str(folder / "tm" / "model"), str(folder / "lm" / "model"))
    trainers.NelderMeadSimplex = partial(_simplex, trainers.NelderMeadSimplex)
    with trainers.ThotSmtModelTrainer(kind, source.align_rows(target), parameters) as trainer:
        trainer._model_weight_tuner = NoTuner()
        trainer._train_tune_corpus = lambda *_: None  # adds the 1,000 drawn pairs, by decoding each
        trainer.train(lambda status: None)
        trainer.save()
        return trainer.parameters


def _simplex(made, convergence_tolerance, max_function_evaluations, scale):  # type: ignore[no-untyped-def]
    return made(convergence_tolerance, min(max_function_evaluations, PERPLEXITIES), scale)


def tuned(
    text: Path, folder: Path, kind: ThotWordAlignmentModelType, parameters: ThotSmtParameters, dev: str, steps: int
) -> ThotSmtParameters:
    """Tunes by the phrases of DEV alone, as sil-machine does: the phrase table is read for each evaluation."""
    source, target = (sentences(text / f"{dev}.{side}") for side in ("src", "tgt"))
    shutil.copytree(folder / "tm", folder / "dev", dirs_exist_ok=True)
    trainers._filter_phrase_table_using_corpus(folder / "dev" / "model.ttable", source)
    full = parameters.translation_model_filename_prefix
    parameters.translation_model_filename_prefix = str(folder / "dev" / "model")
    stats = TrainStats()
    found = SimplexModelWeightTuner(kind, max_function_evaluations=steps).tune(
        parameters, source, target, stats, lambda status: None
    )
    found.translation_model_filename_prefix = full
    print(f"{stats.metrics} {found.model_weights}", flush=True)
    return found


def decode(text: Path, folder: Path, kind: ThotWordAlignmentModelType, parameters, tests) -> None:  # type: ignore[no-untyped-def]
    folder.mkdir(exist_ok=True)
    with ThotSmtModel(kind, parameters) as model:
        for test in tests:
            begin, source = time.process_time(), sentences(text / f"{test}.src")
            made = [" ".join(model.translate(words).target_tokens) for words in source]
            speed = sum(map(len, source)) / (time.process_time() - begin)
            (folder / f"{test}.txt").write_text("".join(f"{line}\n" for line in made), encoding="utf-8")
            said(f"{folder.name} {test}", begin, f"words_per_cpu_second={speed:.1f}")


def main(text: Path, folder: Path, alignment: str, evaluations: int, train: str, dev: str, *tests: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    kind, begin = ThotWordAlignmentModelType[alignment.upper()], time.process_time()
    parameters = trained(text, folder, kind, train)
    said("training", begin)
    decode(text, folder / "untuned", kind, parameters, tests)
    if evaluations:
        begin = time.process_time()
        parameters = tuned(text, folder, kind, parameters, dev, evaluations)
        said("tuning", begin)
        decode(text, folder / "tuned", kind, parameters, tests)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), *sys.argv[5:])
