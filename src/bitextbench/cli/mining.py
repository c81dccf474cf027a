"""Commands on mined and selected pairs as training data of a translation model; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli.evaluation import (
    evaluate,
    search_settings,
    seed_option,
    show,
    src_shards_option,
    tgt_shards_option,
)
from bitextbench.cli.options import FILE, Mapping, Spec

src_option = click.option("--src", "src", required=True, help="Source language code.")
tgt_option = click.option("--tgt", "tgt", required=True, help="Target language code.")
out_option = click.option("-o", "--out", type=FILE, required=True)


@click.command("mine-corpus")
@click.argument("corpus", type=FILE)
@click.option("--tokens", type=FILE, required=True, help="The same corpus tokenised.")
@click.option("--spec", type=Spec(), required=True, help="similarity, retrieval, threshold, documents, filter.")
@src_shards_option
@tgt_shards_option
@click.option("--model", type=FILE, help="An encoder with a calibrated confidence, which the threshold is then of.")
@src_option
@tgt_option
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@seed_option
@out_option
def mine_corpus(
    corpus: Path, tokens: Path, spec: dict[str, Any], src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], model: Path | None,
    src: str, tgt: str, gpus: int, threads: int, seed: int, out: Path,
) -> None:  # fmt: skip
    """Mine the pairs of a corpus as if its sides were strangers; writes <out>/train.<language> and how many are right."""
    from bitextbench.formats.vectors import read_shards
    from bitextbench.mining.corpora import mine

    vectors = read_shards(src_emb), read_shards(tgt_emb)
    settings = search_settings("torch", gpus, "auto", 1.0, threads)
    mine(corpus, tokens, vectors, (src, tgt), spec, out, model=model, seed=seed, **settings)


@click.command("training-text")
@click.option("--selection", "selections", type=FILE, multiple=True, help="A folder of mined or selected pairs.")
@click.option("--corpus", "corpora", type=Mapping(), multiple=True, help="A whole tokenised corpus.")
@src_option
@tgt_option
@out_option
def training_text(
    selections: tuple[Path, ...], corpora: tuple[tuple[str, Path], ...], src: str, tgt: str, out: Path
) -> None:
    """Join selections and corpora to the training text of an NMT model."""
    from bitextbench.nmt.training_text import join

    join(selections, dict(corpora), (src, tgt), out)


@evaluate.command("translation")
@click.argument("hypotheses", type=FILE)
@click.option("--references", type=FILE, required=True, help="The test corpus.")
@click.option("--language", required=True, help="Target language code.")
@click.option("--training", type=FILE, required=True, help="selection.json of the text that the model was trained on.")
@out_option
def evaluate_translation(hypotheses: Path, references: Path, language: str, training: Path, out: Path) -> None:
    """BLEU of a translated test set, detokenised and tokenised, and the number and the precision of the training pairs."""
    from bitextbench.base.files import read_json, read_lines
    from bitextbench.evaluation import bleu
    from bitextbench.formats.bitext import read_side

    lines, truth, known = list(read_lines(hypotheses)), read_side(references, "tgt"), read_json(training)
    millions = known["pairs"] / 1e6
    result = {
        "bleu": bleu.bleu(lines, truth, language, hypotheses),
        "tokenised": bleu.tokenised(lines, truth, language, hypotheses),
        "pairs": {"metric": "pairs [M]", "value": millions, "interval": [millions, millions], "signature": "count"},
        **({"precision": known["precision"]} if "precision" in known else {}),
    }
    show(result, out)


COMMANDS = (mine_corpus, training_text)
