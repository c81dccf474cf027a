"""Commands that write tables, figures, pages of examples and the report; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli import options as opt
from bitextbench.cli.groups import cli, example, step
from bitextbench.cli.options import FILE, IN_REPOSITORY, NATURAL, OUT, Output


@step.group()
def examples() -> None:
    """Write pages of examples, chosen by rule: what the papers show in Kim 4, Guo 1, Artetxe 1, Yang 7 and Zhang 1."""


def mined(name: str, shows: str) -> None:
    """Add a command on a comparable corpus and its vectors."""

    @examples.command(name, help=shows)
    @click.argument("corpus", type=FILE)
    @opt.languages_option
    @opt.shards_option
    @opt.threads_option
    @opt.page_option
    def command(corpus: Path, languages: tuple[str, str], shards: opt.Shards, threads: int, out: Path) -> None:
        from bitextbench.formats.vectors import read_shards
        from bitextbench.mining import comparable
        from bitextbench.report import examples as pages

        vectors = map(read_shards, shards)
        pages.write(out, getattr(pages, name)(comparable.read(corpus, languages), *vectors, threads=threads))


mined("scales", "A wrong pair of high cosine and a right one of lower cosine (Artetxe and Schwenk 2019, Table 1).")
mined("failures", "False positives and false negatives of cosine similarity (Yang et al. 2019, Table 7).")


@examples.command("corners")
@click.argument("corpus", type=FILE)
@opt.named_scores_option
@opt.page_option
def corners(corpus: Path, scores: tuple[tuple[str, Path], ...], out: Path) -> None:
    """Show pairs on which two similarities agree and disagree; the second's scores are logits (Kim et al. 2019, Table
    4).
    """
    from bitextbench.formats.scores import scores_by_id
    from bitextbench.report import examples as pages

    of_all = {name: scores_by_id(paths) for name, paths in opt.by_name(scores).items()}
    pages.write(out, pages.corners(corpus, of_all))


@examples.command("negatives")
@click.argument("corpus", type=FILE)
@click.option("--hard", type=FILE, required=True, help="What `hard-negatives` wrote, without .src and .tgt.")
@opt.seed_option
@opt.page_option
def negatives(corpus: Path, hard: Path, seed: int, out: Path) -> None:
    """Show translations, random and hard negatives of some sources (Guo et al. 2018, Table 1)."""
    from bitextbench.report import examples as pages

    pages.write(out, pages.negatives(corpus, hard, seed=seed))


@examples.command("phrases")
@click.argument("grammar", type=FILE)
@opt.page_option
def phrases(grammar: Path, out: Path) -> None:
    """Show the most similar translations of some phrases (Zhang et al. 2016, Table 1)."""
    from bitextbench.report import examples as pages

    pages.write(out, pages.phrases(grammar))


@step.command("compare-encoders")
@click.argument("measured", type=FILE, nargs=-1, required=True)
@opt.csv_option
@opt.provenance_options
def compare_encoders(measured: tuple[Path, ...], out: Path) -> None:
    """Make and print the table of encoders from the files of `measure-encoder`: a line for each encoder and test."""
    from bitextbench.report import encoders

    encoders.build(measured, out)
    click.echo(encoders.render(encoders.read(out)), nl=False)


@step.command("learning-curves")
@click.argument("folders", type=FILE, nargs=-1, required=True)
@click.option(
    "--costs", type=FILE, required=True, help="CSV: parameters, updates, CPU seconds, best development score."
)
@click.option("-o", "--out", type=OUT, required=True, help="CSV: loss and development score by update.")
@opt.provenance_options
def learning_curves(folders: tuple[Path, ...], costs: Path, out: Path) -> None:
    """Collect the learning curves and costs of the encoders in FOLDERS."""
    from bitextbench.report.training import write

    write(folders, costs, out)


@step.command("figure-thresholds")
@click.option("--point", "points", type=(NATURAL, FILE), multiple=True, required=True, help="PAIRS BLEU")
@opt.csv_option
@opt.provenance_options
def figure_thresholds(points: tuple[tuple[int, Path], ...], out: Path) -> None:
    """Table the development set's BLEU over the number of selected pairs (Artetxe and Schwenk 2019, figure 2)."""
    from bitextbench.base.json_yaml import read_json
    from bitextbench.evaluation.curves import write_thresholds

    write_thresholds({pairs: read_json(path) for pairs, path in points}, out)


@step.command()
@click.option("--reference", type=FILE, help="What the paper printed.")
@click.option("--name", help="Name of a table that no paper has.")
@opt.cells_option
@opt.scale_option
@click.option("--selection", "selections", type=FILE, multiple=True, help="What a row selected: a filtering table.")
@click.option("--significance", type=FILE, help="The table's rows compared with each other.")
@click.option("--against", help="The row that the others are compared with, in notes.")
@click.option("--compared", "text", default="detokenised text", help="The text that BLEU is computed on.")
@click.option("--selected", type=FILE, help="Where what its rows selected goes: CSV.")
@opt.measurements_option
@opt.out_option
@opt.provenance_options
def table(
    reference: Path | None,
    name: str | None,
    cells: tuple[dict[str, Any], ...],
    scale: Any,
    selections: tuple[Path, ...],
    significance: Path | None,
    against: str | None,
    text: str,
    measurements: Path | None,
    selected: Path | None,
    out: Path,
) -> None:
    """Make a table with our numbers and the paper's: CSV, and on request measurements and selections."""
    from bitextbench.evaluation import significance as paired
    from bitextbench.formats import records
    from bitextbench.report import filtering, references
    from bitextbench.report import measurements as files
    from bitextbench.report import table as tables
    from bitextbench.report.cells import of_specs, write

    if (reference is None) == (name is None):
        raise InputError("a table needs either --reference or --name", remedy="give one of them")
    if selections and name:
        raise InputError(
            "cannot be combined with --selection, which is for tables of a paper",
            "--name",
            remedy="give --reference instead",
        )
    if (against is None) != (significance is None) or (against and selections):
        raise InputError(
            "--against needs --significance, and cannot be combined with --selection", remedy="give both, or neither"
        )
    measured, notes = of_specs(cells)
    compared = paired.read(significance) if significance else []
    if reference is None:
        labels = {spec["row"]: spec["label"] for spec in cells if spec.get("label")}
        made = tables.unprinted(str(name), measured, scale, notes, labels)
    elif selections:
        chosen = [filtering.read_selection(path) for path in selections]
        made = filtering.cells(references.load(reference), measured, chosen, scale, notes)
        if selected:
            records.write(selected, filtering.Share, filtering.shares(chosen))
    else:
        printed = tables.with_own_rows(references.load(reference), cells)
        made = tables.with_training(tables.beside(printed, measured, scale, notes), measured)
        made = tables.against(made, against, compared, text) if against else made
    if measurements:
        files.save(made[0].paper_table, measured, measurements)
    write(made, out)


@step.command()
@click.argument("tables", type=FILE, nargs=-1)
@click.option("--references", "folder", type=IN_REPOSITORY, default=Path("references"), help="What the papers printed.")
@click.option(
    "--measurements",
    type=FILE,
    multiple=True,
    help="Measurements of cells; other cells are drawn from their intervals.",
)
@click.option("--seeded", type=FILE, multiple=True, help="Measurements of a run with several seeds, for cells of one.")
@click.option("--claims", type=FILE, required=True, help="Where the CSV of claims goes.")
@click.option("--instances", type=FILE, required=True, help="Where the CSV of their instances goes.")
@opt.out_option
@opt.provenance_options
def audit(
    tables: tuple[Path, ...],
    folder: Path,
    measurements: tuple[Path, ...],
    seeded: tuple[Path, ...],
    claims: Path,
    instances: Path,
    out: Path,
) -> None:
    """Compare the tables of a run with every number and every claim of the papers."""
    from bitextbench.report import audit as audits

    click.echo(audits.write(audits.audit(folder, tables, measurements, seeded), out, claims, instances))


@step.command()
@click.option(
    "--references", "folder", type=IN_REPOSITORY, default=Path("references"), help="Folder with <paper>/settings.yaml."
)
@click.option("--config", type=FILE, default=Path("config.yaml"), help="The configuration of paper scale.")
@opt.out_option
def settings(folder: Path, config: Path, out: Path) -> None:
    """Compare the papers' data, models and training with the configuration of paper scale: CSV."""
    from bitextbench.report.settings import write

    click.echo(write(folder, config, out))


@cli.command(epilog=example("show results/tiny/table2.csv"))
@click.argument("csv", type=FILE)
@click.option("--brief", is_flag=True, help="Bars of the first column of each group instead of the whole table.")
def show(csv: Path, brief: bool) -> None:
    """Print a table for a person to read; of claims.csv and instances.csv, a line for each claim or instance."""
    from bitextbench.report.run import name_of

    click.echo(shown(csv, name_of(csv), brief=brief), nl=False)


def shown(csv: Path, run: str, *, brief: bool = False) -> str:
    """A table of a run as `show` prints it."""
    from bitextbench.base.lines import read_lines
    from bitextbench.evaluation import significance
    from bitextbench.formats import records
    from bitextbench.report import audit, encoders, filtering, table
    from bitextbench.report.cells import read

    columns = next(read_lines(csv), "").split(",")
    if columns == [*encoders.Retrieved._fields]:
        return encoders.render(encoders.read(csv))
    for kind in (audit.Judgement, audit.Tried):
        if columns == [*kind.__dataclass_fields__]:
            return "".join(f"{line}\n" for line in records.read(csv, kind, "a table of claims"))
    if "paper_table" not in columns:
        remedy = f"name another file; `bitextbench report {csv.parent}` shows the other CSVs of a run"
        raise InputError(f"not a table: it begins with {', '.join(columns)[:60]}", csv, line=1, remedy=remedy)
    cells, compared = read(csv), csv.with_suffix(".significance.csv")
    filtered = compared.exists() and any(cell.budget for cell in cells)
    reading = filtering.reading(cells, significance.read(compared)) if filtered else []
    return table.brief(cells, filtering.orders(reading), run) if brief else table.render(cells, reading, run)


@cli.command("audit", epilog=example("audit results/small"))
@click.argument("folder", type=FILE)
@click.option("--references", type=IN_REPOSITORY, default=Path("references"), help="What the papers printed and claim.")
@click.option(
    "--seeds-of",
    type=FILE,
    help="A run with several seeds: how far they lie apart in a table is taken for the same table of FOLDER where that has one.",
)
def audit_run(folder: Path, references: Path, seeds_of: Path | None) -> None:
    """Judge the tables of a finished run against the papers again: FOLDER/audit.csv, claims.csv and instances.csv.

    It reads the run's CSVs and the measurements in FOLDER/measurements. A number without measurements is judged by its
    interval alone. Numbers of two trainings with one seed each decide nothing: see --seeds-of.
    """
    from bitextbench.report import audit, measurements, run

    tables = [table for table in run.read_tables(folder) if table.place not in run.UNPRINTED]
    measured = [path for table in tables if (path := folder / table.measurements).exists()]
    seeded = measurements.of_folder(seeds_of) if seeds_of else []
    made = audit.audit(references, [folder / table.csv for table in tables], measured, seeded, folder)
    click.echo(audit.write(made, *(folder / f"{name}.csv" for name in ("audit", "claims", "instances"))))


@cli.command(epilog=example("compare own.json baseline.json"))
@click.argument("one", type=FILE)
@click.argument("other", type=FILE)
def compare(one: Path, other: Path) -> None:
    """Compare two encoders on one test set, or two runs of the same tables.

    Of two files that `evaluate ... -o` wrote: the difference of each figure, with its 95% interval and p, paired by
    test item. Of the folders of two runs, such as the same tables on two machines: the verdicts on claims, out of their
    instances.csv.
    """
    from bitextbench.report import paired, replication

    if one.is_dir() or other.is_dir():
        click.echo(replication.render(replication.of_folders(one, other)))
    else:
        click.echo(paired.render(paired.of_files(one, other), one, other))


@cli.command(epilog=example("leaderboard results/published-muse results/published-e5 --out results/leaderboard"))
@click.argument("runs", type=FILE, nargs=-1, required=True)
@click.option(
    "--references",
    type=IN_REPOSITORY,
    default=Path("references"),
    help="Folder with leaderboard.csv: what others published.",
)
@click.option(
    "--out",
    type=Output("folder", shared=True),
    default=Path("results/leaderboard"),
    show_default=True,
    help="A folder.",
)
def leaderboard(runs: tuple[Path, ...], references: Path, out: Path) -> None:
    """Compare the encoders of several runs (folders with leaderboard.csv): leaderboard.csv, .html, .md and .svg."""
    from bitextbench.report.leaderboard import write

    click.echo(write(runs, references, out))


@cli.command(epilog=example("report results/small"))
@click.argument("folder", type=FILE)
def report(folder: Path) -> None:
    """Make the HTML report of a run from its CSVs: FOLDER/index.html and further pages. It names what is missing."""
    from bitextbench.report.site import write

    click.echo(write(folder))


@step.command("quality-table")
@opt.cells_option
@opt.scale_option
@click.option("--roc", type=OUT, required=True, help="CSV: the points of the ROC curves.")
@opt.measurements_option
@opt.out_option
@opt.provenance_options
def quality_table(
    cells: tuple[dict[str, Any], ...], scale: Any, roc: Path, measurements: Path | None, out: Path
) -> None:
    """Make the table of the files of `evaluate quality`: CSV, and on request measurements."""
    from bitextbench.report import measurements as files
    from bitextbench.report.quality import table

    measured = table(cells, scale, out, roc)
    if measurements:
        files.save("quality", measured, measurements)
