"""The command line: one command a stage. Every Snakemake rule calls one; all of them work without Snakemake.

`--spec` takes what comes from a configuration, as JSON or as `@file.yaml`. Modules are imported where they are used: a short
job does not wait for torch.
"""

import os
import sys
from pathlib import Path
from typing import Any

import click
import yaml

from bitextbench import __version__
from bitextbench.errors import InputError

FILE = click.Path(path_type=Path)


class Spec(click.ParamType):
    """JSON on the command line, or `@` and the name of a YAML or JSON file."""

    name = "JSON|@FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        from bitextbench.files import existing

        text = existing(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value
        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            self.fail(f"not JSON or YAML: {error}", param, ctx)


class Mapping(click.ParamType):
    """NAME=PATH."""

    name = "NAME=PATH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, sep, path = value.partition("=")
        if not sep:
            self.fail(f"{value!r} is not NAME=PATH", param, ctx)
        return name, Path(path)


@click.group(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Mine, filter and score parallel text, and reproduce the tables of five papers on it."""


src_option = click.option("--src", "src", required=True, help="Source language code.")
tgt_option = click.option("--tgt", "tgt", required=True, help="Target language code.")
seed_option = click.option("--seed", type=int, default=1)
threads_option = click.option("--threads", type=int, default=1, help="CPU threads; results do not depend on it.")
spec_option = click.option("--spec", type=Spec(), required=True, help="What the configuration says of it.")
out_option = click.option("-o", "--out", type=FILE, required=True)


@cli.command()
@click.argument("dataset")
@click.option("--mirror", "mirrors", type=FILE, multiple=True, help="Folder to look in before the network (also BITEXTBENCH_MIRROR).")
@click.option("--lock", type=FILE, required=True, help="Where the checksum of a first download is kept, if none is published.")
@out_option
def fetch(dataset: str, mirrors: tuple[Path, ...], lock: Path, out: Path) -> None:
    """Download a data set of the registry into a folder, verified."""
    from bitextbench.fetch import fetch as run

    named = [Path(folder) for folder in os.environ.get("BITEXTBENCH_MIRROR", "").split(os.pathsep) if folder]
    run(dataset, out, [*mirrors, *named], lock)


@cli.command()
@click.argument("name")
@spec_option
@src_option
@tgt_option
@click.option("--data", type=FILE, default=Path("data/raw"), help="Folder of fetched data sets.")
@click.option("--exclude", "excluded", type=Mapping(), multiple=True, help="A corpus whose sentences must not occur in this one.")
@seed_option
@out_option
def corpus(name: str, spec: dict[str, Any], src: str, tgt: str, data: Path, excluded: tuple[tuple[str, Path], ...], seed: int, out: Path) -> None:
    """Assemble a corpus: parts, noise, pre-filter, deduplication, shards."""
    from bitextbench.corpus import build

    build(name, spec, (src, tgt), data, dict(excluded), out, seed)


@cli.command()
@click.argument("shard", type=FILE)
@src_option
@tgt_option
@out_option
def tokens(shard: Path, src: str, tgt: str, out: Path) -> None:
    """Normalise and Moses-tokenise a shard."""
    from bitextbench.text import tokenize_shard

    tokenize_shard(shard, (src, tgt), out)


@cli.command()
@click.argument("corpora", type=FILE, nargs=-1, required=True)
@click.option("--vocab", type=int, required=True)
@click.option("--sample", type=int, required=True, help="The most lines of each corpus.")
@click.option("--lowercase/--cased", default=True)
@seed_option
@out_option
def bpe(corpora: tuple[Path, ...], vocab: int, sample: int, lowercase: bool, seed: int, out: Path) -> None:
    """Learn one joint BPE from tokenised corpora."""
    from bitextbench.text import learn_bpe

    learn_bpe(corpora, vocab, sample, seed, out, lowercase=lowercase)


@cli.command()
@click.argument("shard", type=FILE)
@click.option("--model", type=FILE, required=True)
@click.option("--lowercase/--cased", default=True)
@out_option
def ids(shard: Path, model: Path, lowercase: bool, out: Path) -> None:
    """Encode a tokenised shard as BPE ids."""
    from bitextbench.text import encode_shard

    encode_shard(shard, model, out, lowercase=lowercase)


@cli.command()
@click.argument("shard", type=FILE)
@click.option("--similarity", required=True)
@click.option("--src-vectors", type=FILE)
@click.option("--tgt-vectors", type=FILE)
@click.option("--model", type=FILE)
@seed_option
@out_option
def score(shard: Path, similarity: str, src_vectors: Path | None, tgt_vectors: Path | None, model: Path | None, seed: int, out: Path) -> None:
    """Score the pairs of a shard."""
    from bitextbench.score import score_shard

    score_shard(shard, similarity, out, src=src_vectors, tgt=tgt_vectors, model=model, seed=seed)


@cli.command("fit-similarity")
@click.argument("similarity")
@spec_option
@click.option("--positives", type=FILE, multiple=True, required=True, help="Vector shards, without .src.npy.")
@click.option("--pool", type=FILE, multiple=True, required=True, help="Vector shards, without .src.npy.")
@click.option("--pool-scores", type=FILE, multiple=True, required=True, help="Scores that rank the pool, shard by shard.")
@seed_option
@out_option
def fit_similarity(
    similarity: str, spec: dict[str, Any], positives: tuple[Path, ...], pool: tuple[Path, ...], pool_scores: tuple[Path, ...], seed: int, out: Path
) -> None:
    """Train a similarity on trusted pairs and non-parallel ones of the pool."""
    from bitextbench import score as scoring

    def sides(stems: tuple[Path, ...]) -> list[tuple[Path, Path]]:
        return [(stem.with_name(f"{stem.name}.src.npy"), stem.with_name(f"{stem.name}.tgt.npy")) for stem in stems]

    scoring.fit_similarity(similarity, spec, sides(positives), sides(pool), pool_scores, seed, out)


@cli.command()
@click.argument("method")
@click.option("--budget", required=True, help="The budget's name.")
@click.option("--words", type=int, required=True, help="The budget in words.")
@click.option("--corpus", type=FILE, required=True)
@click.option("--tokens", type=FILE, required=True, help="The same corpus tokenised.")
@click.option("--scores", type=FILE, multiple=True, required=True)
@click.option("--count", type=click.Choice(["src", "tgt"]), default="tgt", help="Side whose words are counted.")
@src_option
@tgt_option
@out_option
def select(
    method: str, budget: str, words: int, corpus: Path, tokens: Path, scores: tuple[Path, ...], count: str, src: str, tgt: str, out: Path
) -> None:
    """Take the best-scored pairs up to a number of words (WMT18 rule)."""
    from bitextbench.select import select as run

    run(method, budget, words, corpus, tokens, scores, (src, tgt), count, out)


def main() -> None:
    """Run a command; bad input ends in one line on standard error and exit code 1."""
    try:
        cli()
    except InputError as error:
        click.echo(f"bitextbench: error: {error}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
