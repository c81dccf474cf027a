"""A plain phrase-based system: sil-thot, as sil-machine trains it (HMM alignment, trigrams, weights by simplex).

    python thot_phrases.py TEXT FOLDER TRAIN DEV TEST...

Texts are TEXT/<name>.src and TEXT/<name>.tgt, tokens, a line a sentence, as `bitextbench step smt-text` writes them;
translations of the tests are FOLDER/<test>.txt. Weights are tuned on DEV, as ours are, not on 1,000 drawn pairs of the
training text, which is what sil-machine does. Prints words per CPU second of decoding.
"""

import sys
import time
from pathlib import Path

from machine.corpora import TextFileTextCorpus
from machine.translation.thot import thot_smt_model_trainer as trainers
from machine.translation.thot.simplex_model_weight_tuner import SimplexModelWeightTuner
from machine.translation.thot.thot_smt_model import ThotSmtModel
from machine.translation.thot.thot_smt_parameters import ThotSmtParameters

EVALUATIONS = 40  # of the simplex; 100 in sil-machine


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


class DevTuner(SimplexModelWeightTuner):
    """Tunes on a given text in place of one that is drawn."""

    def __init__(self, model: str, dev: tuple[list[list[str]], list[list[str]]], evaluations: int) -> None:
        super().__init__(model, max_function_evaluations=evaluations)
        self.dev = dev

    def tune(self, parameters, _source, _target, stats, progress):  # type: ignore[no-untyped-def]
        return super().tune(parameters, *self.dev, stats, progress)


def main(text: Path, folder: Path, train: str, dev: str, *tests: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    texts = tuple([line.split() for line in lines(text / f"{dev}.{side}")] for side in ("src", "tgt"))
    filtered = trainers._filter_phrase_table_using_corpus
    trainers._filter_phrase_table_using_corpus = lambda path, _: filtered(path, texts[0])
    source, target = (TextFileTextCorpus(text / f"{train}.{side}") for side in ("src", "tgt"))
    parameters = ThotSmtParameters(str(folder / "tm" / "model"), str(folder / "lm" / "model"))
    with trainers.ThotSmtModelTrainer("hmm", source.align_rows(target), parameters) as trainer:
        trainer._model_weight_tuner = DevTuner(trainer._word_alignment_model_type, texts, EVALUATIONS)
        begin = time.process_time()
        trainer.train(lambda status: None)
        trainer.save()
        print(
            f"train_cpu_s={time.process_time() - begin:.0f} {trainer.stats.metrics} {trainer.parameters.model_weights}"
        )
        parameters = trainer.parameters
    with ThotSmtModel("hmm", parameters) as model:
        for test in tests:
            sources = [line.split() for line in lines(text / f"{test}.src")]
            begin = time.process_time()
            made = [" ".join(model.translate(words).target_tokens) for words in sources]
            speed = sum(map(len, sources)) / (time.process_time() - begin)
            (folder / f"{test}.txt").write_text("".join(f"{line}\n" for line in made), encoding="utf-8")
            print(f"{test}: words_per_cpu_second={speed:.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:])
