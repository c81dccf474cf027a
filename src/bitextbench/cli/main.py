"""The command line: one command a stage. Every Snakemake rule calls one; all of them work without Snakemake.

`--spec` takes what comes from a configuration, as JSON or as `@file.yaml`. Modules are imported where they are used: a short
job does not wait for torch.
"""

import errno
import shutil
import sys
from pathlib import Path
from typing import Any

import click

from bitextbench import __version__
from bitextbench.base.errors import InputError
from bitextbench.cli import encoders, evaluation, mining, nmt, report, scoring
from bitextbench.cli.options import FILE, Mapping, Spec


@click.group(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Mine, filter and score parallel text, and reproduce the tables of five papers on it."""


for command in (
    evaluation.neighbours,
    evaluation.merge_neighbours,
    evaluation.mine,
    evaluation.bucc_set,
    evaluation.figure_margins,
    evaluation.evaluate,
):
    cli.add_command(command)

for command in (
    encoders.features, encoders.skip_gram, encoders.map_words, encoders.hard_negatives,
    encoders.encode_text, encoders.wordpiece_ids, encoders.rescoring_pairs, encoders.measure_encoder, encoders.compare_encoders,
):  # fmt: skip
    cli.add_command(command)

for command in (*scoring.COMMANDS, *mining.COMMANDS, report.group):
    cli.add_command(command)

for command in (
    nmt.likelihood_data,
    nmt.likelihood_train,
    nmt.likelihoods,
    nmt.posteriors,
):
    cli.add_command(command)

src_option = click.option("--src", "src", required=True, help="Source language code.")
tgt_option = click.option("--tgt", "tgt", required=True, help="Target language code.")
seed_option = click.option("--seed", type=int, default=1)
threads_option = click.option("--threads", type=int, default=1, help="CPU threads; results do not depend on it.")
spec_option = click.option("--spec", type=Spec(), required=True, help="What the configuration says of it.")
gpus_option = click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
checkpoints_option = click.option(
    "--checkpoints", type=FILE, required=True, help="Folder of checkpoints; kept when the job fails."
)
out_option = click.option("-o", "--out", type=FILE, required=True)


@cli.command()
@click.argument("dataset")
@click.option(
    "--mirror",
    "mirrors",
    type=FILE,
    multiple=True,
    help="Folder to look in before the network (also BITEXTBENCH_MIRROR).",
)
@click.option(
    "--lock", type=FILE, required=True, help="Where the checksum of a first download is kept, if none is published."
)
@out_option
def fetch(dataset: str, mirrors: tuple[Path, ...], lock: Path, out: Path) -> None:
    """Download a data set of the registry into a folder, verified."""
    from bitextbench.data.fetch import fetch as run
    from bitextbench.data.fetch import mirror_folders

    run(dataset, out, mirror_folders(mirrors), lock)


@cli.command()
@click.argument("name")
@click.option("--spec", type=Spec("corpus"), required=True, help="What the configuration says of it.")
@src_option
@tgt_option
@click.option("--data", type=FILE, default=Path("data/raw"), help="Folder of fetched data sets.")
@click.option(
    "--exclude", "excluded", type=Mapping(), multiple=True, help="A corpus whose sentences must not occur in this one."
)
@seed_option
@out_option
def corpus(
    name: str,
    spec: dict[str, Any],
    src: str,
    tgt: str,
    data: Path,
    excluded: tuple[tuple[str, Path], ...],
    seed: int,
    out: Path,
) -> None:
    """Assemble a corpus: parts, noise, pre-filter, deduplication, shards."""
    from bitextbench.base.memory import keep_freed
    from bitextbench.corpus.build import build

    keep_freed()
    counts = build(name, spec, (src, tgt), data, dict(excluded), out, seed)
    if counts["in"] and not counts["out"]:
        why = ", ".join(f"{number:,} {reason}" for reason, number in counts["dropped"].items())
        raise InputError(f"none of {counts['in']:,} rows is left: {why}", name, remedy="look at its filter and exclude")


@cli.command()
@click.argument("shard", type=FILE)
@src_option
@tgt_option
@out_option
def tokens(shard: Path, src: str, tgt: str, out: Path) -> None:
    """Normalise and Moses-tokenise a shard."""
    from bitextbench.text.bpe import tokenize_shard

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
    from bitextbench.text.bpe import learn_bpe

    learn_bpe(corpora, vocab, sample, seed, out, lowercase=lowercase)


@cli.command()
@click.argument("shard", type=FILE)
@click.option("--model", type=FILE, required=True, help="A BPE model, or features (.json), which know their case.")
@click.option("--lowercase/--cased", default=True)
@out_option
def ids(shard: Path, model: Path, lowercase: bool, out: Path) -> None:
    """Encode a tokenised shard as ids: BPE pieces, or words and n-grams."""
    from bitextbench.text.ngrams import encode_ids

    encode_ids(shard, model, out, lowercase=lowercase)


@cli.command()
@spec_option
@click.option("--bpe", type=FILE, required=True, help="The BPE model, or the features (.json), of the ids.")
@click.option(
    "--corpus",
    "corpora",
    type=Mapping("ROLE=STEM"),
    multiple=True,
    required=True,
    help="An id shard, without .src and .tgt, of: bitext, mono, valid (held-out pairs), hard (negatives), pivot_src...",
)
@click.option(
    "--vectors",
    type=Mapping("SIDE=FILE"),
    multiple=True,
    help="Word vectors to start from, of src and tgt (.vec); for a cross_encoder model=FILE: the one to fine-tune.",
)
@gpus_option
@threads_option
@seed_option
@checkpoints_option
@out_option
def train(
    spec: dict[str, Any], bpe: Path, corpora: tuple[tuple[str, Path], ...], vectors: tuple[tuple[str, Path], ...], gpus: int,
    threads: int, seed: int, checkpoints: Path, out: Path,
) -> None:  # fmt: skip
    """Train a sentence encoder; goes on from its last checkpoint. Writes curve.csv, curve.png and training.json beside it."""
    from bitextbench.encoders.trainer import train as run

    spec, vocab_size, pieces = encoders.text_model(bpe, spec)
    data: dict[str, list[Path]] = {}
    for role, stem in corpora:
        data.setdefault(role, []).append(stem)
    run(
        spec, vocab_size, data, out, checkpoints, seed=seed, threads=threads, device="cuda" if gpus else "cpu",
        vectors=dict(vectors), pieces=pieces,
    )  # fmt: skip


@cli.command()
@click.argument("ids", type=FILE)
@click.option("--model", type=FILE, required=True)
@click.option("--batch-tokens", type=int, default=8192)
@gpus_option
@threads_option
@out_option
def encode(ids: Path, model: Path, batch_tokens: int, gpus: int, threads: int, out: Path) -> None:
    """Encode an id shard (named without .src and .tgt); writes <out>.src.npy and <out>.tgt.npy."""
    from bitextbench.encoders.encode import encode as run

    device = "cuda" if gpus else "cpu"
    for side in ("src", "tgt"):
        stem, vectors = Path(f"{ids}.{side}"), Path(f"{out}.{side}.npy")
        run(model, stem, side, vectors, batch_tokens=batch_tokens, threads=threads, device=device)


@cli.command()
@click.argument("shard", type=FILE)
@click.option("--similarity", required=True)
@click.option("--src-vectors", type=FILE)
@click.option("--tgt-vectors", type=FILE)
@click.option("--likelihoods", type=FILE, help="For similarities that combine log-probabilities.")
@click.option("--tokens", type=FILE, help="The shard tokenised, for similarities that compare words.")
@click.option("--model", type=FILE)
@seed_option
@out_option
def score(
    shard: Path,
    similarity: str,
    src_vectors: Path | None,
    tgt_vectors: Path | None,
    likelihoods: Path | None,
    tokens: Path | None,
    model: Path | None,
    seed: int,
    out: Path,
) -> None:
    """Score the pairs of a shard."""
    from bitextbench.scoring.score import score_shard

    vectors = {"src": src_vectors, "tgt": tgt_vectors}
    score_shard(shard, similarity, out, **vectors, likelihoods=likelihoods, tokens=tokens, model=model, seed=seed)


@cli.command("fit-similarity")
@click.argument("similarity")
@click.option("--spec", type=Spec("method"), required=True, help="What the configuration says of it.")
@click.option("--positives", type=FILE, multiple=True, required=True, help="Vector shards, without .src.npy.")
@click.option("--pool", type=FILE, multiple=True, required=True, help="Vector shards, without .src.npy.")
@click.option(
    "--pool-scores", type=FILE, multiple=True, required=True, help="Scores that rank the pool, shard by shard."
)
@seed_option
@out_option
def fit_similarity(
    similarity: str,
    spec: dict[str, Any],
    positives: tuple[Path, ...],
    pool: tuple[Path, ...],
    pool_scores: tuple[Path, ...],
    seed: int,
    out: Path,
) -> None:
    """Train a similarity on trusted pairs and non-parallel ones of the pool."""
    from bitextbench.scoring import score as scoring

    def sides(stems: tuple[Path, ...]) -> list[tuple[Path, Path]]:
        return [(stem.with_name(f"{stem.name}.src.npy"), stem.with_name(f"{stem.name}.tgt.npy")) for stem in stems]

    scoring.fit_similarity(similarity, spec, sides(positives), sides(pool), pool_scores, seed, out)


@cli.command()
@click.argument("method")
@click.option("--budget", required=True, help="The budget's name.")
@click.option("--seed", type=int, default=1, help="Of the scores.")
@click.option("--words", type=int, required=True, help="The budget in words.")
@click.option("--corpus", type=FILE, required=True)
@click.option("--tokens", type=FILE, required=True, help="The same corpus tokenised.")
@click.option("--scores", type=FILE, multiple=True, required=True)
@click.option(
    "--count", type=click.Choice(["src", "tgt", "pairs"]), default="tgt", help="Side whose words count, or pairs."
)
@src_option
@tgt_option
@out_option
def select(
    method: str,
    budget: str,
    seed: int,
    words: int,
    corpus: Path,
    tokens: Path,
    scores: tuple[Path, ...],
    count: str,
    src: str,
    tgt: str,
    out: Path,
) -> None:
    """Take the best-scored pairs up to a number of words (WMT18 rule)."""
    from bitextbench.scoring.select import select as run

    run(method, budget, words, corpus, tokens, scores, (src, tgt), count, out, seed=seed)


@cli.command("nmt-prepare")
@click.argument("selected", type=FILE)
@click.option("--valid", type=FILE, required=True, help="Validation corpus, tokenised.")
@spec_option
@src_option
@tgt_option
@out_option
def nmt_prepare(selected: Path, valid: Path, spec: dict[str, Any], src: str, tgt: str, out: Path) -> None:
    """Learn a BPE on a selection and make fairseq's binary data."""
    from bitextbench.formats.bitext import read_side
    from bitextbench.nmt.data import prepare

    prepare(selected, (read_side(valid, "src"), read_side(valid, "tgt")), (src, tgt), spec, out)


@cli.command("nmt-train")
@click.argument("data", type=FILE, nargs=-1, required=True)
@click.option("--test", "tests", type=Mapping(), multiple=True, help="A tokenised corpus to translate: <test>.<tgt>.")
@spec_option
@src_option
@tgt_option
@click.option("--seed", "seeds", type=int, multiple=True, required=True, help="Of the model of each DATA.")
@gpus_option
@threads_option
@click.option("--checkpoints", type=FILE, multiple=True, required=True, help="Folder of each; kept when the job fails.")
@click.option("-o", "--out", type=FILE, multiple=True, required=True, help="Folder of each.")
def nmt_train(
    data: tuple[Path, ...], tests: tuple[tuple[str, Path], ...], spec: dict[str, Any], src: str, tgt: str, seeds: tuple[int, ...],
    gpus: int, threads: int, checkpoints: tuple[Path, ...], out: tuple[Path, ...],
) -> None:  # fmt: skip
    """Train a fairseq Transformer on each DATA, from its last checkpoint on, and translate test sets; writes <out>/model.pt.

    All in one process: loading torch and fairseq takes as long as training and translating at the smallest scale.
    """
    from bitextbench.formats.bitext import read_side
    from bitextbench.nmt.train import train
    from bitextbench.nmt.translate import translate

    if len({len(data), len(seeds), len(checkpoints), len(out)}) > 1:
        raise InputError("unequal numbers of DATA, --seed, --checkpoints and --out", remedy="give each model all four")
    device = "gpu" if gpus else "cpu"
    sources = {name: read_side(folder, "src") for name, folder in tests}
    for text, seed, kept, folder in zip(data, seeds, checkpoints, out, strict=True):
        models = train(text, (src, tgt), spec, seed, folder / "model.pt", kept, device=device, threads=threads)
        hypotheses = {name: folder / f"{name}.{tgt}" for name in sources}
        if sources:
            translate(models, text, (src, tgt), sources, spec, hypotheses, device=device, threads=threads)


@cli.command()
@click.argument("method")
@click.option("--budget", required=True)
@click.option("--language", required=True, help="Target language code.")
@click.option(
    "--hypotheses", type=(int, str, FILE), multiple=True, required=True, help="SEED TEST PATH of a model's translation."
)
@click.option("--references", type=Mapping(), multiple=True, required=True, help="A test corpus.")
@out_option
def bleu(
    method: str, budget: str, language: str, hypotheses: tuple[tuple[int, str, Path], ...], references: tuple[tuple[str, Path], ...], out: Path
) -> None:  # fmt: skip
    """Score hypotheses; writes <out>/<seed>/<test>.json."""
    from bitextbench.base.files import read_lines, write_json
    from bitextbench.evaluation import bleu as metric
    from bitextbench.formats.bitext import read_side

    texts = {test: read_side(folder, "tgt") for test, folder in references}
    for seed, test, path in hypotheses:
        value = metric.bleu(list(read_lines(path)), texts[test], language, path)
        write_json(
            out / str(seed) / f"{test}.json", value | {"method": method, "budget": budget, "seed": seed, "test": test}
        )


@cli.command()
@click.option("--language", required=True, help="Target language code.")
@click.option(
    "--hypotheses",
    type=(str, str, str, FILE),
    multiple=True,
    required=True,
    help="ROW BUDGET TEST PATH of a model; a row may have several.",
)
@click.option("--references", type=Mapping(), multiple=True, required=True, help="A test corpus.")
@out_option
def significance(
    language: str, hypotheses: tuple[tuple[str, str, str, Path], ...], references: tuple[tuple[str, Path], ...], out: Path
) -> None:  # fmt: skip
    """Compare the rows of a table with each other by paired bootstrap; writes CSV."""
    from bitextbench.base.files import read_lines
    from bitextbench.evaluation.significance import compare, write
    from bitextbench.formats.bitext import read_side

    columns: dict[tuple[str, str], dict[str, list[list[str]]]] = {}
    for row, budget, test, path in hypotheses:
        columns.setdefault((budget, test), {}).setdefault(row, []).append([*read_lines(path)])
    texts = {test: read_side(folder, "tgt") for test, folder in references}
    found = (compare(systems, texts[test], language, budget, test) for (budget, test), systems in columns.items())
    write([comparison for column in found for comparison in column], out)


@cli.command()
@click.argument("reference", type=FILE)
@click.option("--config", type=Spec(), required=True, help="The whole configuration.")
@click.option("--metric", "metrics", type=FILE, multiple=True)
@click.option("--selection", "selections", type=FILE, multiple=True)
@click.option("--significance", type=FILE, required=True, help="The rows compared with each other.")
@click.option("--input", "inputs", type=FILE, multiple=True, help="A file whose hash goes into the provenance.")
@click.option("--benchmarks", type=FILE, required=True)
@click.option("--html", type=FILE, required=True)
@click.option("--provenance", type=FILE, required=True)
@out_option
def table(
    reference: Path, config: dict[str, Any], metrics: tuple[Path, ...], selections: tuple[Path, ...],
    significance: Path, inputs: tuple[Path, ...], benchmarks: Path, html: Path, provenance: Path, out: Path,
) -> None:  # fmt: skip
    """Set our numbers beside the paper's: CSV, HTML and provenance."""
    from bitextbench.evaluation.significance import read
    from bitextbench.report.kim2019_table2 import build
    from bitextbench.report.provenance import collect

    collect(config, [*inputs, *metrics, *selections], benchmarks, provenance)
    build(reference, metrics, selections, read(significance), config, out, html, provenance)


@cli.command()
@click.argument("tables", type=FILE, nargs=-1)
@click.option("--references", "folder", type=FILE, default=Path("references"), help="What the papers printed.")
@click.option("--claims", type=FILE, required=True, help="Where the CSV of claims goes.")
@out_option
def audit(tables: tuple[Path, ...], folder: Path, claims: Path, out: Path) -> None:
    """Set the tables of a run beside every number and every claim of the papers."""
    from bitextbench.report.audit import write

    click.echo(write(folder, tables, out, claims))


@cli.command()
@click.argument("reference", type=FILE)
@click.option("--scale", type=click.Choice(["tiny", "small", "paper"]), required=True)
@click.option(
    "--cell", "cells", type=(str, str, str), multiple=True,
    help="ROW COLUMN FILE, or FILE#KEY for one of its metrics. Several of a cell are test sets, whose mean it takes.",
)  # fmt: skip
@click.option(
    "--seeded", type=(str, str, int, str), multiple=True, help="ROW COLUMN SEED FILE: one of the seeds of a cell."
)
@click.option(
    "--note",
    "notes",
    type=(str, str, str),
    multiple=True,
    help="ROW COLUMN TEXT: a condition, or why there is no number.",
)
@seed_option
@click.option("--html", type=FILE, required=True)
@out_option
def grid(
    reference: Path, scale: Any, cells: tuple[tuple[str, str, str], ...], seeded: tuple[tuple[str, str, int, str], ...],
    notes: tuple[tuple[str, str, str], ...], seed: int, html: Path, out: Path,
) -> None:  # fmt: skip
    """Set single metrics beside the paper's: CSV and HTML."""
    from bitextbench.report.table import build, mean, read

    parts: dict[tuple[str, str], list[Any]] = {}
    for row, column, file in cells:
        parts.setdefault((row, column), []).append(read(row, column, seed, *_keyed(file)))
    noted = {(row, column): text for row, column, text in notes}
    measured = [read(row, column, number, *_keyed(file)) for row, column, number, file in seeded]
    build(reference, [*(mean(found) for found in parts.values()), *measured], scale, out, html, noted)


def _keyed(file: str) -> tuple[Path, str]:
    """FILE#KEY taken apart."""
    path, _, key = file.partition("#")
    return Path(path), key


@cli.command()
@click.argument("csv", type=FILE)
def show(csv: Path) -> None:
    """Print a table for a person to read."""
    from bitextbench.base.files import read_lines
    from bitextbench.report import encoders as comparison
    from bitextbench.report import kim2019_table2
    from bitextbench.report import table as grid

    if next(read_lines(csv), "").split(",") == comparison.COLUMNS:
        click.echo(comparison.render(comparison.read_csv(csv)), nl=False)
        return
    lines = kim2019_table2.read_csv(csv)
    click.echo(kim2019_table2.render(csv) if lines[0].budget else grid.render(lines), nl=False)


def main() -> None:
    """Run a command; bad input, or a place that cannot be written, ends in one line on standard error and exit code 1."""
    try:
        cli()
    except InputError as error:
        click.echo(f"bitextbench: error: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if (remedy := _remedy(error)) is None:
            raise
        place = error.filename2 or error.filename
        click.echo(f"bitextbench: error: {f'{place}: ' if place else ''}{error.strerror or error}; {remedy}", err=True)
        sys.exit(1)


REMEDIES = {
    errno.EACCES: "give yourself the right to it, or name another place",
    errno.EPERM: "give yourself the right to it, or name another place",
    errno.EROFS: "name a place that can be written",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "a part of this path is a file: name another place",
    errno.EEXIST: "a part of this path is a file: name another place",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EIO: "look at this disk",
}


def _remedy(error: OSError) -> str | None:
    """What to do about an error of the system; None for one that a user cannot cause."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = Path(error.filename or ".").absolute()
        free = shutil.disk_usage(next(folder for folder in place.parents if folder.is_dir())).free
        return f"{free:,} bytes are free there: free some space, or name another place"
    if error.errno is None and "requested and" in str(error):  # as numpy says that a disk is full
        return "is the disk full?"
    return REMEDIES.get(error.errno or 0)


if __name__ == "__main__":
    main()
