"""Commands on scores of given pairs: language models, similarities of words and of neighbourhoods, quality without NMT."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli import options as opt
from bitextbench.cli.groups import cli, example, step
from bitextbench.cli.options import COUNT, FILE, SEED, Output, Rows, Spec


@step.command("fit-text-similarity")
@click.argument("similarity")
@opt.method_option
@click.option(
    "--bitext", "bitext_tokens", type=FILE, multiple=True, required=True, help="Tokenised shards to learn words from."
)
@click.option("--positives", type=FILE, multiple=True, required=True, help="Tokenised shards of good pairs.")
@opt.seed_option
@opt.out_option
def fit_text_similarity(similarity: str, **given: Any) -> None:
    """Train a similarity that compares words: zipporah."""
    from bitextbench.scoring.score import fit_text_similarity as run

    run(similarity, **given)


@step.command("neighbourhoods")
@click.argument("similarity")
@click.option("--spec", type=Spec(), default="{}", help="Its entry of the configuration, as its OPTIONS.")
@opt.shards_option
@opt.device_option
@opt.threads_option
@opt.out_option
def neighbourhoods(similarity: str, spec: dict[str, Any], shards: opt.Shards, out: Path, **more: Any) -> None:
    """Measure the similarity of both sides of given pairs to their nearest neighbours, which `margin` needs to score."""
    from bitextbench import scoring
    from bitextbench.formats import vectors

    src, tgt = (vectors.read_shards(paths) for paths in shards)
    scoring.similarity(similarity).fit(src, tgt, spec, out, **more)


@step.command("tune-confidence")
@click.argument("similarity")
@opt.extreme_options
@opt.out_option
def tune_confidence(
    similarity: str, pairs: tuple[Any, Any, Any], shares: dict[str, float], model: Path, seed: int, out: Path
) -> None:
    """Fine-tune an encoder's calibrated confidence on the best and the worst pairs by other scores (Guo et al. 2018)."""
    from bitextbench import scoring

    scoring.similarity(similarity).tune(model, *pairs, shares, seed, out)


@step.command("published-scores")
@click.argument("shard", type=FILE)
@click.option("--dataset", required=True, help="A data set of the registry.")
@click.option("--column", required=True, help='A column of numbers, or "label": a second annotator.')
@opt.languages_option
@opt.data_option
@opt.out_option
def published_scores(shard: Path, dataset: str, column: str, languages: tuple[str, str], data: Path, out: Path) -> None:
    """Write the scores that were published with the pairs of a shard."""
    from bitextbench.scoring.similarities.published import published

    published(shard, dataset, column, languages, data / dataset, out)


neighbours_folder = click.option(
    "-o", "--out", type=Output("folder", mark="neighbours.json"), required=True, help="A folder."
)


@cli.command(epilog=example("neighbours --src-emb a.de.npy --tgt-emb a.en.npy -k 4 -o neighbours"))
@click.option("--src-emb", type=FILE, required=True, help="Vectors of the sources, .npy [n, d].")
@click.option("--tgt-emb", type=FILE, required=True, help="Vectors of the targets.")
@click.option("--src-rows", type=Rows(), default=":", help="The sources of this job.")
@click.option("--tgt-rows", type=Rows(), default=":", help="The targets of this job.")
@click.option(
    "--metric", type=click.Choice(["cosine", "dot", "euclidean"]), default="cosine", help="Similarity of neighbours."
)
@opt.search_options(k=opt.K)
@neighbours_folder
def neighbours(
    src_emb: Path, tgt_emb: Path, src_rows: slice, tgt_rows: slice, metric: str, k: int, out: Path, **settings: Any
) -> None:
    """Find the k nearest neighbours of all vectors, in both directions."""
    from bitextbench.formats.vectors import read
    from bitextbench.neighbours import save, search

    sides, ranges = [], []
    for path, rows in ((src_emb, src_rows), (tgt_emb, tgt_rows)):
        vectors = read(path)
        stop = len(vectors) if rows.stop is None else rows.stop
        if not rows.start < stop <= len(vectors):
            raise InputError(
                f"has {len(vectors):,} vectors: {rows.start}:{stop} is no range of them",
                path,
                remedy="START must be below END, and END at most the number of vectors",
            )
        sides.append(vectors.part(rows.start, stop))
        ranges.append(slice(rows.start, stop))
    both = search(sides[0], sides[1], k, metric=metric, **settings)
    save(out, both, metric, k, ranges[0], ranges[1])


@cli.command("merge-neighbours", epilog=example("merge-neighbours part1 part2 -o neighbours"))
@click.argument("parts", type=FILE, nargs=-1, required=True)
@neighbours_folder
def merge_neighbours(parts: tuple[Path, ...], out: Path) -> None:
    """Join what `neighbours` wrote for each range of sources and of targets."""
    from bitextbench.neighbours import merge

    merge(parts, out)


@step.command("score")
@click.argument("shard", type=FILE)
@click.option("--similarity", required=True, help="The name of a module of scoring/similarities.")
@click.option(
    "--src-vectors", "src", type=FILE, help="Vectors of the sources, .npy [n, d], for similarities that compare them."
)
@click.option("--tgt-vectors", "tgt", type=FILE, help="The same of the targets.")
@click.option("--likelihoods", type=FILE, help="For similarities that combine log-probabilities.")
@click.option("--tokens", type=FILE, help="The shard tokenised, for similarities that compare words.")
@click.option("--model", type=FILE, help="What the similarity has learned, if it learns.")
@opt.seed_option
@opt.out_option
def score_shard(shard: Path, similarity: str, out: Path, **given: Any) -> None:
    """Score the pairs of a shard."""
    from bitextbench.scoring import score

    score.score_shard(shard, similarity, out, **given)


@step.command("selected-pairs")
@opt.corpus_option
@opt.scores_option
@click.option("--selection", type=FILE, required=True, help="selection.json, as `select` wrote it.")
@opt.out_option
def selected_pairs(corpus: Path, scores: tuple[Path, ...], selection: Path, out: Path) -> None:
    """Write a selection as plain pairs: score, line or id, both sentences."""
    from bitextbench.scoring.selected import write_selected

    write_selected(corpus, scores, selection, out)


@step.command("fit-similarity")
@click.argument("similarity")
@opt.method_option
@click.option("--positives", type=FILE, multiple=True, required=True, help="Vector shards, without .src.npy.")
@click.option("--pool", type=FILE, multiple=True, required=True, help="Vector shards, without .src.npy.")
@click.option(
    "--pool-scores", type=FILE, multiple=True, required=True, help="Scores that rank the pool, shard by shard."
)
@opt.seed_option
@opt.out_option
def fit_similarity(similarity: str, positives: tuple[Path, ...], pool: tuple[Path, ...], **given: Any) -> None:
    """Train a similarity on trusted pairs and non-parallel ones of the pool."""
    from bitextbench.scoring import score as scoring

    def sides(stems: tuple[Path, ...]) -> list[tuple[Path, Path]]:
        return [(stem.with_name(f"{stem.name}.src.npy"), stem.with_name(f"{stem.name}.tgt.npy")) for stem in stems]

    scoring.fit_similarity(similarity, positives=sides(positives), pool=sides(pool), **given)


@step.command()
@click.argument("method")
@opt.budget_option
@click.option("--seed", type=SEED, default=1, help="Seed of the scores.")
@click.option("--words", type=COUNT, required=True, help="The budget in words.")
@opt.corpus_option
@opt.tokens_option
@opt.scores_option
@opt.count_option
@opt.languages_option
@opt.out_option
def select(words: int, **given: Any) -> None:
    """Take the best-scored pairs up to a number of words (WMT18 rule)."""
    from bitextbench.scoring.select import select as run

    run(budget_words=words, **given)
