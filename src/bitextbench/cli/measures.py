"""Steps of the workflow that measure encoders and scores as a paper did; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli import options as opt
from bitextbench.cli.groups import step
from bitextbench.cli.options import FILE, SEED, Mapping


@step.command("measure-encoder")
@click.argument("name")
@click.option("--test", required=True, help="The test's name.")
@click.option("--training", type=FILE, required=True, help="training.json, which `train` wrote next to the model.")
@opt.shards_option
@opt.corpus_option
@opt.threads_option
@opt.out_option
def measure_encoder(
    name: str, test: str, training: Path, shards: opt.Shards, corpus: Path, threads: int, out: Path
) -> None:
    """Measure an encoder on an aligned test set: error rate and P@1 in both directions, with what its training cost."""
    from bitextbench.base.json_yaml import write_json
    from bitextbench.evaluation.encoders import measure

    write_json(out, measure(name, test, training, *shards, corpus, threads=threads))


@step.command("measure-mining")
@click.argument("corpus", type=FILE)
@opt.languages_option
@opt.shards_option
@opt.similarities_option("ratio")
@opt.bootstrap_option
@opt.search_options(k=opt.K)
@opt.json_option
def measure_mining(
    corpus: Path,
    languages: tuple[str, str],
    shards: opt.Shards,
    similarities: tuple[str, ...],
    seed: int,
    k: int,
    out: Path | None,
    **settings: Any,
) -> None:
    """Hidden pairs of a comparable corpus, by every way of retrieval (Artetxe and Schwenk 2019, Table 2)."""
    from bitextbench.evaluation.mining import evaluate
    from bitextbench.formats.vectors import read_both
    from bitextbench.mining import comparable

    vectors = read_both(*shards)
    comparable_corpus = comparable.read(corpus, languages, seed)
    opt.show(evaluate(comparable_corpus, *vectors, similarities, k, seed=seed, **settings), out)


@step.command("measure-rescoring")
@click.argument("corpus", type=FILE)
@opt.languages_option
@click.option("--pairs", type=FILE, required=True, help="What `rescoring-pairs` wrote.")
@click.option(
    "--model", "models", type=FILE, nargs=1, multiple=True, required=True, help="The cross-encoder of each half."
)
@opt.device_option
@opt.threads_option
@opt.bootstrap_option
@opt.json_option
def measure_rescoring(
    corpus: Path, languages: tuple[str, str], pairs: Path, models: tuple[Path, ...], out: Path | None, **more: Any
) -> None:
    """Hidden pairs of a comparable corpus that a cross-encoder selects (Yang et al. 2019, section 6.2)."""
    from bitextbench.evaluation import rescoring
    from bitextbench.mining import comparable

    metrics = rescoring.evaluate(comparable.read(corpus, languages), pairs, models, **more)
    opt.show({"cross_encoder": metrics}, out)


@step.command("measure-separation")
@opt.shards_option
@click.option("--tgt-text", type=FILE, required=True, help="Lines, id<TAB>sentence, or Parquet.")
@opt.form_option
@opt.search_options(k=10)
@opt.json_option
def measure_separation(
    shards: opt.Shards, tgt_text: Path, form: tuple[str, str], k: int, out: Path | None, **settings: Any
) -> None:
    """Mean cosines of pairs, and of sources with their nearest other target (Yang et al. 2019, figure 4)."""
    from bitextbench.evaluation.separation import separation
    from bitextbench.formats.vectors import read_aligned
    from bitextbench.mining.vectors import lines_of

    src, tgt = read_aligned(*shards)
    opt.show(separation(src, tgt, lines_of(tgt_text, "tgt", form, tgt), k, **settings), out)


@step.command("measure-recognition")
@click.argument("tokens", type=FILE)
@click.option("--model", type=FILE, required=True, help="A trained encoder.")
@click.option(
    "--pieces", type=FILE, required=True, help="The BPE model, or the features (.json), that it was trained with."
)
@click.option(
    "--similarity",
    "similarities",
    type=click.Choice(["euclidean", "reconstruction", "length", "unigram"]),
    multiple=True,
    default=["euclidean"],
    help="Score of a source and a target; the last two ignore the source.",
)
@click.option(
    "--draw", type=click.Choice(["types", "tokens"]), default="tokens", help="How likely a word of a random target is."
)
@opt.lowercase_option
@click.option("--sample-seed", type=SEED, default=1, help="Seed of the sampled targets.")
@opt.device_option
@opt.threads_option
@opt.bootstrap_option
@opt.json_option
def measure_recognition(
    tokens: Path,
    model: Path,
    pieces: Path,
    similarities: tuple[str, ...],
    draw: str,
    sample_seed: int,
    seed: int,
    out: Path | None,
    **more: Any,
) -> None:
    """How often an encoder scores a pair of a tokenised corpus above its source with a random target (Zhang et al.
    2016).
    """
    from bitextbench.evaluation import recognition

    scores = recognition.scores(tokens, model, pieces, similarities, draw=draw, seed=sample_seed, **more)
    results = {
        name: recognition.accuracy(*both, seed=seed, signature=f"similarity:{name}|draw:{draw}")
        for name, both in scores.items()
    }
    opt.show({name: {"accuracy": result} for name, result in results.items()}, out)


@step.command("posteriors")
@click.argument("ids", type=FILE, nargs=-1, required=True)
@click.option(
    "--model", "models", type=Mapping(), multiple=True, required=True, help="forward=FOLDER and backward=FOLDER."
)
@opt.device_option
@opt.bootstrap_option
@opt.out_option
def posteriors(ids: tuple[Path, ...], models: tuple[tuple[str, Path], ...], device: str, seed: int, out: Path) -> None:
    """Error rates of alignment recovery by translation models, over id shards (named without .src and .tgt)."""
    from bitextbench.base.json_yaml import write_json
    from bitextbench.evaluation.alignment import error_rates
    from bitextbench.evaluation.posteriors import align

    aligned = align(ids, dict(models), device=device)
    write_json(out, {"nmt": error_rates(*aligned, seed=seed, signature="similarity:nmt")})


@step.command("measure-agreement")
@opt.extreme_options
@click.option(
    "--tuned",
    type=FILE,
    required=True,
    help="The tuned confidence: what `tune-confidence` wrote with the same options.",
)
@opt.out_option
def measure_agreement(
    pairs: tuple[Any, Any, Any], shares: dict[str, float], model: Path, seed: int, tuned: Path, out: Path
) -> None:
    """Measure how far a confidence agrees with the scores that it was tuned by (Guo et al. 2018, section 5)."""
    from bitextbench.evaluation.agreement import agreement

    opt.show(agreement(model, tuned, *pairs, shares, seed), out)


@step.command("measure-distribution")
@opt.named_scores_option
@click.option("--logits", multiple=True, help="A method whose scores are logits: shown as probabilities.")
@opt.out_option
def measure_distribution(scores: tuple[tuple[str, Path], ...], logits: tuple[str, ...], out: Path) -> None:
    """Scores at equidistant ranks (kim2019, figure 3): CSV."""
    from bitextbench.evaluation.selections import distribution

    distribution(opt.by_name(scores), logits, out)


@step.command("measure-shares")
@opt.scores_option
@opt.bootstrap_option
@opt.json_option
def measure_shares(scores: tuple[Path, ...], seed: int, out: Path | None) -> None:
    """Share of pairs whose probability is near 0 or 1, of scores that are logits (kim2019, figure 3)."""
    from bitextbench.evaluation.selections import shares

    opt.show(shares(scores, seed=seed), out)


@step.command("size")
@opt.corpus_option
@opt.out_option
def size(corpus: Path, out: Path) -> None:
    """The number of pairs of a corpus after its filters, in millions."""
    from bitextbench.base.json_yaml import read_json, write_json
    from bitextbench.formats.metrics import millions

    write_json(out, {"pairs": millions(read_json(corpus / "counts.json")["out"])})
