"""Commands that turn text into tokens and ids."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli import options as opt
from bitextbench.cli.groups import step
from bitextbench.cli.options import COUNT, FILE, Spec


@step.command()
@click.argument("corpora", type=FILE, nargs=-1)
@click.option("--spec", type=Spec("features"), required=True, help="Their entry of the configuration.")
@opt.lowercase_option
@opt.out_option
def features(corpora: tuple[Path, ...], spec: dict[str, Any], lowercase: bool, out: Path) -> None:
    """Write features other than BPE (vocabularies are those of tokenised corpora) as JSON; `ids --model` takes it."""
    from bitextbench.text.ngrams import learn

    learn(corpora, spec, out, lowercase=lowercase)


@step.command()
@click.argument("shard", type=FILE)
@opt.languages_option
@opt.chinese_option
@opt.out_option
def tokens(shard: Path, languages: tuple[str, str], chinese: str, out: Path) -> None:
    """Normalise and Moses-tokenise a shard."""
    from bitextbench.text.tokens import tokenize_shard

    tokenize_shard(shard, languages, out, chinese=chinese)


@step.command()
@click.argument("corpora", type=FILE, nargs=-1, required=True)
@click.option("--vocab", type=COUNT, required=True, help="Number of pieces.")
@click.option("--sample", type=COUNT, required=True, help="The most lines of each corpus.")
@opt.lowercase_option
@opt.seed_option
@opt.out_option
def bpe(corpora: tuple[Path, ...], vocab: int, sample: int, lowercase: bool, seed: int, out: Path) -> None:
    """Learn one joint BPE from tokenised corpora."""
    from bitextbench.text.bpe import learn_bpe

    learn_bpe(corpora, vocab, sample, seed, out, lowercase=lowercase)


@step.command()
@click.argument("shard", type=FILE)
@click.option(
    "--model",
    type=FILE,
    required=True,
    help="A BPE, features (.json), or pieces of a published model (.txt, .tokenizer).",
)
@opt.lowercase_option
@opt.out_option
def ids(shard: Path, model: Path, lowercase: bool, out: Path) -> None:
    """Encode a tokenised shard as ids: BPE pieces, or words and n-grams. Pieces of a published model are of the corpus itself."""
    from bitextbench.text.features import encode_shard

    encode_shard(shard, model, out, lowercase=lowercase)
