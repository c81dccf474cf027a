"""Commands on scores of given pairs: language models, similarities of words and of neighbourhoods, quality without NMT."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bitextbench.cli.evaluation import evaluate, show
from bitextbench.cli.options import FILE, Spec

FILES = click.option("--scores", type=FILE, multiple=True, required=True, help="A file for each shard, in order.")
NAMED = click.option(
    "--scores", type=(str, FILE), multiple=True, required=True, help="METHOD FILE, one for each shard, in order."
)
corpus_option = click.option("--corpus", type=FILE, required=True)
count_option = click.option(
    "--count", type=click.Choice(["src", "tgt", "pairs"]), default="tgt", help="Whose words count."
)
seed_option = click.option("--seed", type=int, default=12345, help="Of the bootstrap.")
scale_option = click.option("--scale", type=click.Choice(["tiny", "small", "paper"]), required=True)
out_option = click.option("-o", "--out", type=FILE, required=True)


def by_method(scores: tuple[tuple[str, Path], ...]) -> dict[str, list[Path]]:
    """The files of each method, in the order given."""
    return {
        name: [path for other, path in scores if other == name] for name in dict.fromkeys(name for name, _ in scores)
    }


@click.command("fit-language")
@click.option(
    "--text", "texts", type=(str, str), multiple=True, required=True, help="LANGUAGE FILE, or LANGUAGE CORPUS#SIDE."
)
@click.option("--lines", type=int, default=200_000, help="The most lines of each text.")
@click.option("--dimension", type=int, default=16)
@click.option("--epochs", type=int, default=10)
@out_option
def fit_language(texts: tuple[tuple[str, str], ...], lines: int, dimension: int, epochs: int, out: Path) -> None:
    """Train a fastText language model on your own text, for the pre-filter's rule `language`.

    Every tenth line is held out; prints how many of them it and py3langid tell rightly.
    """
    from bitextbench.corpus.language_id import fit_and_compare

    show(fit_and_compare(texts, lines, out, dimension=dimension, epochs=epochs), None)


@click.command("fit-text-similarity")
@click.argument("similarity")
@click.option("--spec", type=Spec("method"), required=True, help="What the configuration says of it.")
@click.option(
    "--bitext", "bitext_tokens", type=FILE, multiple=True, required=True, help="Tokenised shards to learn words from."
)
@click.option("--positives", type=FILE, multiple=True, required=True, help="Tokenised shards of good pairs.")
@click.option("--seed", type=int, default=1)
@out_option
def fit_text_similarity(
    similarity: str,
    spec: dict[str, Any],
    bitext_tokens: tuple[Path, ...],
    positives: tuple[Path, ...],
    seed: int,
    out: Path,
) -> None:
    """Train a similarity that compares words: zipporah."""
    from bitextbench.scoring.score import fit_text_similarity as run

    run(similarity, spec, bitext_tokens, positives, seed, out)


@click.command("neighbourhoods")
@click.option(
    "--src-emb", type=FILE, multiple=True, required=True, help="Vectors of the sources, a file for each shard."
)
@click.option("--tgt-emb", type=FILE, multiple=True, required=True)
@click.option("--margin", default="ratio", help="absolute, distance, ratio, csls, yang9 or yang10.")
@click.option("-k", "--neighbours", "k", type=int, default=4)
@click.option("--batch", type=int, default=5_000_000, help="The most pairs of a neighbourhood.")
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads; results do not depend on it.")
@out_option
def neighbourhoods(
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
    margin: str,
    k: int,
    batch: int,
    gpus: int,
    threads: int,
    out: Path,
) -> None:
    """How near the sides of given pairs are to their nearest neighbours: what the similarity `margin` scores by."""
    from bitextbench.formats import vectors
    from bitextbench.scoring.similarities import margin as similarity

    src, tgt = (vectors.read_shards(paths) for paths in (src_emb, tgt_emb))
    spec = {"margin": margin, "k": k, "batch": batch}
    similarity.fit(src, tgt, spec, out, threads=threads, device="cuda" if gpus else "cpu")


def extreme_options(command: Callable[..., None]) -> Callable[..., None]:
    """Vectors and scores of a corpus, and which of its pairs count as extreme."""
    for option in (
        click.option("--src-emb", type=FILE, multiple=True, required=True, help="Vectors, a file for each shard."),
        click.option("--tgt-emb", type=FILE, multiple=True, required=True),
        FILES,
        click.option("--model", type=FILE, required=True, help="The encoder that made the vectors."),
        click.option("--best", type=float, default=0.01, help="The share of the pairs, by score, that are good."),
        click.option("--worst", type=float, default=0.5, help="The share of the pairs that bad ones are drawn from."),
        click.option("--seed", type=int, default=1),
    ):
        command = option(command)
    return command


def _scored_pairs(
    src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], scores: tuple[Path, ...]
) -> tuple[Any, Any, Any]:
    """Both sides and the scores, in the order of ids."""
    from bitextbench.formats.vectors import read_shards
    from bitextbench.scoring.score import scores_by_id

    return read_shards(src_emb), read_shards(tgt_emb), scores_by_id(scores)


@click.command("tune-confidence")
@extreme_options
@out_option
def tune_confidence(
    src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], scores: tuple[Path, ...], model: Path, best: float, worst: float,
    seed: int, out: Path,
) -> None:  # fmt: skip
    """Fine-tune an encoder's calibrated confidence on pairs that other scores find extreme (Guo et al. 2018)."""
    from bitextbench.scoring.similarities import confidence

    src, tgt, found = _scored_pairs(src_emb, tgt_emb, scores)
    confidence.tune(model, src, tgt, found, {"best": best, "worst": worst}, seed, out)


@evaluate.command("agreement")
@extreme_options
@click.option("--tuned", type=FILE, required=True, help="What tune-confidence made of it, with the same options.")
@out_option
def evaluate_agreement(
    src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], scores: tuple[Path, ...], model: Path, best: float, worst: float,
    seed: int, tuned: Path, out: Path,
) -> None:  # fmt: skip
    """How far a confidence agrees with the scores that tuned it, and did before (Guo et al. 2018, section 5)."""
    from bitextbench.scoring.similarities import confidence

    src, tgt, found = _scored_pairs(src_emb, tgt_emb, scores)
    show(confidence.agreement(model, tuned, src, tgt, found, {"best": best, "worst": worst}, seed), out)


@click.command("published-scores")
@click.argument("shard", type=FILE)
@click.option("--dataset", required=True, help="Of the registry.")
@click.option("--column", required=True, help='A column of numbers, or "label": a second annotator.')
@click.option("--src", required=True, help="Source language code.")
@click.option("--tgt", required=True, help="Target language code.")
@click.option("--data", type=FILE, default=Path("data/raw"), help="Folder of fetched data sets.")
@out_option
def published_scores(shard: Path, dataset: str, column: str, src: str, tgt: str, data: Path, out: Path) -> None:
    """Scores that were published with the pairs of a shard."""
    from bitextbench.evaluation.quality import published

    published(shard, dataset, column, (src, tgt), data / dataset, out)


@evaluate.command("quality")
@corpus_option
@FILES
@seed_option
@click.option("-o", "--out", type=FILE, help="Write the JSON here too.")
def evaluate_quality(corpus: Path, scores: tuple[Path, ...], seed: int, out: Path | None) -> None:
    """Average precision and ROC-AUC of scores, over all labelled pairs and by kind of noise."""
    from bitextbench.evaluation.quality import evaluate as run

    show(run(corpus, scores, seed=seed), out)


@evaluate.command("selection")
@corpus_option
@FILES
@click.option("--words", type=int, required=True, help="The budget.")
@count_option
@seed_option
@click.option("-o", "--out", type=FILE, help="Write the JSON here too.")
def evaluate_selection(
    corpus: Path, scores: tuple[Path, ...], words: int, count: str, seed: int, out: Path | None
) -> None:
    """The precision of what would be selected, in words."""
    from bitextbench.evaluation.selections import precision

    show(precision(corpus, scores, words, count, seed=seed), out)


@evaluate.command("distribution")
@NAMED
@click.option("--logits", multiple=True, help="A method whose scores are logits: shown as probabilities.")
@seed_option
@click.option("--curve", type=FILE, required=True, help="CSV.")
@click.option("--picture", type=FILE, required=True, help="PNG.")
@click.option("-o", "--out", type=FILE, help="Write the JSON here too.")
def evaluate_distribution(
    scores: tuple[tuple[str, Path], ...],
    logits: tuple[str, ...],
    seed: int,
    curve: Path,
    picture: Path,
    out: Path | None,
) -> None:
    """How scores are distributed (kim2019, figure 3)."""
    from bitextbench.evaluation.selections import distribution

    show(distribution(by_method(scores), logits, curve, picture, seed=seed), out)


@evaluate.command("sweep")
@corpus_option
@NAMED
@count_option
@click.option("--picture", type=FILE, required=True, help="PNG.")
@out_option
def evaluate_sweep(corpus: Path, scores: tuple[tuple[str, Path], ...], count: str, picture: Path, out: Path) -> None:
    """What is selected at every threshold: CSV (artetxe2019, figure 2, without BLEU)."""
    from bitextbench.evaluation.selections import sweep

    sweep(corpus, by_method(scores), count, out, picture)


@click.command("quality-table")
@click.option("--cell", "cells", type=(str, str, FILE), multiple=True, required=True, help="CORPUS SCORER FILE.")
@scale_option
@click.option("--seed", type=int, default=1, help="Of the run.")
@click.option("--html", type=FILE, required=True)
@click.option("--picture", type=FILE, required=True, help="PNG.")
@out_option
def quality_table(
    cells: tuple[tuple[str, str, Path], ...], scale: Any, seed: int, html: Path, picture: Path, out: Path
) -> None:
    """The table of what `evaluate quality` found: CSV, page and picture."""
    from bitextbench.evaluation.quality import table

    table(cells, scale, seed, out, html, picture)


@click.command("validation-bleu")
@click.argument("data", type=FILE)
@click.option("--model", type=FILE, required=True)
@click.option("--tokens", type=FILE, required=True, help="The validation corpus tokenised.")
@click.option("--references", type=FILE, required=True, help="The corpus itself.")
@click.option("--spec", type=Spec(), required=True, help="What the configuration says of nmt.")
@click.option("--src", required=True, help="Source language code.")
@click.option("--tgt", required=True, help="Target language code.")
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@out_option
def validation_bleu(
    data: Path,
    model: Path,
    tokens: Path,
    references: Path,
    spec: dict[str, Any],
    src: str,
    tgt: str,
    gpus: int,
    threads: int,
    out: Path,
) -> None:
    """Translate a corpus with a trained NMT model, and score the translation."""
    import tempfile

    from bitextbench.base.files import read_lines, write_json
    from bitextbench.evaluation.bleu import bleu
    from bitextbench.formats.bitext import read_side
    from bitextbench.nmt.translate import translate

    with tempfile.TemporaryDirectory() as folder:
        path, device = Path(folder) / f"valid.{tgt}", "gpu" if gpus else "cpu"
        sources = {"valid": read_side(tokens, "src")}
        translate([model], data, (src, tgt), sources, spec, {"valid": path}, device=device, threads=threads)
        write_json(out, bleu(list(read_lines(path)), read_side(references, "tgt"), tgt, path))


@click.command("own-table")
@click.argument("name")
@click.option(
    "--cell", "cells", type=(str, str, str), multiple=True, required=True, help="ROW COLUMN FILE, or FILE#KEY."
)
@scale_option
@click.option("--seed", type=int, default=1, help="Of the run.")
@click.option("--html", type=FILE, required=True)
@out_option
def own_table(name: str, cells: tuple[tuple[str, str, str], ...], scale: Any, seed: int, html: Path, out: Path) -> None:
    """A table of single metrics that no paper has: CSV and page."""
    from bitextbench.evaluation.quality import own_lines, write

    parts = [(row, column, *file.partition("#")[::2]) for row, column, file in cells]
    write(
        own_lines(name, [(row, column, Path(path), key, "") for row, column, path, key in parts], scale, seed),
        out,
        html,
    )


COMMANDS = (
    fit_language, fit_text_similarity, neighbourhoods, tune_confidence, published_scores, quality_table, own_table,
    validation_bleu,
)  # fmt: skip
