"""Commands that build corpora."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli import options as opt
from bitextbench.cli.groups import step
from bitextbench.cli.options import COUNT, Mapping, Spec


@step.command()
@click.argument("name")
@click.option("--spec", type=Spec("corpus"), required=True, help="Its entry of the configuration.")
@opt.languages_option
@opt.data_option
@click.option(
    "--exclude", "excluded", type=Mapping(), multiple=True, help="A corpus whose sentences must not occur in this one."
)
@opt.seed_option
@opt.threads_option
@opt.out_option
def corpus(name: str, data: Path, excluded: tuple[tuple[str, Path], ...], **given: Any) -> None:
    """Assemble a corpus: parts, noise, pre-filter, deduplication, shards."""
    from bitextbench.base.progress import count_of, log
    from bitextbench.corpus.build import build

    counts = build(name, raw=data, corpora=dict(excluded), **given)
    why = ", ".join(f"{number:,} {reason}" for reason, number in counts["dropped"].items())
    log(f"corpus {name}: {count_of(counts['in'], 'row')} in, {counts['out']:,} out" + (why and f", {why}"))
    if counts["in"] and not counts["out"]:
        raise InputError(
            f"none of {count_of(counts['in'], 'row')} is left: {why}", name, remedy="look at its filter and exclude"
        )


@step.command("fit-language")
@click.option(
    "--text", "texts", type=(str, str), multiple=True, required=True, help="LANGUAGE FILE, or LANGUAGE CORPUS#SIDE."
)
@click.option("--lines", type=COUNT, default=200_000, help="The most lines of each text.")
@click.option("--dimension", type=COUNT, default=16, help="Dimensions of the vectors of words and n-grams.")
@click.option("--epochs", type=COUNT, default=10, help="Passes over the text.")
@opt.out_option
def fit_language(texts: tuple[tuple[str, str], ...], lines: int, dimension: int, epochs: int, out: Path) -> None:
    """Train a fastText language model on your own text, for the pre-filter's rule `language`.

    Every tenth line is held out; prints how many of them the model and py3langid identify correctly.
    """
    from bitextbench.corpus.language_model import fit_and_compare

    opt.show(fit_and_compare(texts, lines, out, dimension=dimension, epochs=epochs), None)
