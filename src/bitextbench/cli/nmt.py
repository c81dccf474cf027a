"""Commands of the four models that `score --likelihoods` combines: data, training, log-probabilities; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli import options as opt
from bitextbench.cli.groups import step
from bitextbench.cli.options import COUNT, FILE, SEED, Mapping, Numeric, Output, Spec
from bitextbench.formats.likelihoods import MODELS

PIECES = Numeric(int, 1, 1000)  # of a sentence: fairseq's positions end at 1024


@step.command("likelihood-data")
@click.option(
    "--corpus",
    "corpora",
    type=Mapping("ROLE=STEM"),
    multiple=True,
    required=True,
    help="An id shard, without .src and .tgt, of: bitext, mono, valid.",
)
@click.option("--bpe", type=FILE, required=True, help="The BPE model of the ids.")
@click.option("--max-length", type=PIECES, required=True, help="Pieces of the longest sentence.")
@opt.out_option
def likelihood_data(corpora: tuple[tuple[str, Path], ...], bpe: Path, max_length: int, out: Path) -> None:
    """Make fairseq's data of id shards, for translation and for two language models."""
    from bitextbench.nmt.ids import prepare
    from bitextbench.text.features import text_model

    prepare(opt.by_name(corpora), text_model(bpe, {})[1], max_length, out)


@step.command("likelihood-train")
@click.argument("name", type=click.Choice(MODELS))
@click.argument("data", type=FILE)
@click.option("--spec", type=Spec(), required=True, help="Sizes and schedule of this model.")
@click.option("--max-length", type=PIECES, required=True, help="Pieces of the longest sentence, as of the data.")
@opt.seed_option
@opt.device_option
@opt.threads_option
@opt.checkpoints_option
@opt.out_option
def likelihood_train(
    name: str, data: Path, spec: dict[str, Any], max_length: int, seed: int, checkpoints: Path, out: Path, **more: Any
) -> None:
    """Train one of four fairseq models: translation forward or backward, LM of src or tgt; resumes from its last
    checkpoint.
    """
    from bitextbench.nmt.likelihood_models import train

    train(name, data, spec, max_length, seed, out, checkpoints, **more)


@step.command()
@click.argument("ids", type=FILE)
@click.option("--model", "models", type=Mapping(), multiple=True, required=True, help=f"Each of {', '.join(MODELS)}.")
@click.option("--batch-tokens", type=COUNT, default=8192, help="Tokens of a batch; results do not depend on it.")
@opt.device_option
@opt.out_option
def likelihoods(ids: Path, models: tuple[tuple[str, Path], ...], out: Path, **more: Any) -> None:
    """Log-probabilities of the pairs of an id shard (named without .src and .tgt) under the four models; writes a .npz."""
    from bitextbench.nmt.likelihood_models import score

    score(ids, dict(models), out, **more)


@step.command("nmt-prepare")
@click.argument("selected", type=FILE, nargs=-1, required=True)
@click.option("--valid", type=FILE, required=True, help="Validation corpus, tokenised.")
@opt.spec_option
@opt.languages_option
@click.option("-o", "--out", type=Output("either"), multiple=True, required=True, help="Folder of each.")
def nmt_prepare(
    selected: tuple[Path, ...], valid: Path, spec: dict[str, Any], languages: tuple[str, str], out: tuple[Path, ...]
) -> None:
    """Learn a BPE on each selection and make fairseq's binary data."""
    from bitextbench.formats.bitext import read_side
    from bitextbench.nmt.data import prepare

    if len(selected) != len(out):
        raise InputError("unequal numbers of SELECTED and --out", remedy="give each selection a folder")
    validation = read_side(valid, "src"), read_side(valid, "tgt")
    for text, folder in zip(selected, out, strict=True):
        prepare(text, validation, languages, spec, folder)


@step.command("nmt-train")
@click.argument("data", type=FILE, nargs=-1, required=True)
@click.option("--test", "tests", type=Mapping(), multiple=True, help="A tokenised corpus to translate: <test>.<tgt>.")
@opt.spec_option
@opt.languages_option
@click.option("--seed", "seeds", type=SEED, multiple=True, required=True, help="Seed of the model of each DATA.")
@opt.device_option
@opt.threads_option
@click.option("--checkpoints", type=FILE, multiple=True, required=True, help="Folder of each; kept when the job fails.")
@click.option("-o", "--out", type=Output("either", shared=True), multiple=True, required=True, help="Folder of each.")
def nmt_train(
    data: tuple[Path, ...],
    tests: tuple[tuple[str, Path], ...],
    spec: dict[str, Any],
    languages: tuple[str, str],
    seeds: tuple[int, ...],
    checkpoints: tuple[Path, ...],
    out: tuple[Path, ...],
    **more: Any,
) -> None:
    """Train a fairseq Transformer on each DATA, resuming from its last checkpoint, and translate test sets; writes
    <out>/model.pt.

    All in one process: loading torch and fairseq takes as long as training and translating at the smallest scale.
    """
    from bitextbench.formats.bitext import read_side
    from bitextbench.nmt.train import train
    from bitextbench.nmt.translate import translate

    if len({len(data), len(seeds), len(checkpoints), len(out)}) > 1:
        raise InputError("unequal numbers of DATA, --seed, --checkpoints and --out", remedy="give each model all four")
    sources = {name: read_side(folder, "src") for name, folder in tests}
    for text, seed, kept, folder in zip(data, seeds, checkpoints, out, strict=True):
        models = train(text, languages, spec, seed, folder / "model.pt", kept, **more)
        hypotheses = {name: folder / f"{name}.{languages[1]}" for name in sources}
        if sources:
            translate(models, text, languages, sources, spec, hypotheses, **more)


@step.command("training-text")
@click.option("--selection", "selections", type=FILE, multiple=True, help="A folder of mined or selected pairs.")
@click.option("--corpus", "corpora", type=Mapping(), multiple=True, help="A whole tokenised corpus.")
@opt.languages_option
@opt.out_option
def training_text(
    selections: tuple[Path, ...], corpora: tuple[tuple[str, Path], ...], languages: tuple[str, str], out: Path
) -> None:
    """Join selections and corpora to the training text of an NMT model."""
    from bitextbench.nmt.training_text import join

    join(selections, dict(corpora), languages, out)
