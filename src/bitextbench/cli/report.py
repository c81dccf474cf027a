"""The command `examples`: pages of examples, as the papers print them; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli.groups import cli, step
from bitextbench.cli.options import (
    FILE,
    Spec,
    by_method,
    html_option,
    out_option,
    page_option,
    picture_option,
    scale_option,
    seed_option,
    src_option,
    src_shards_option,
    tgt_option,
    tgt_shards_option,
    threads_option,
)


@step.group()
def examples() -> None:
    """Write pages of examples, chosen by rule: what the papers show in Kim 4, Guo 1, Artetxe 1 and Yang 7."""


def mined(name: str, shows: str) -> None:
    """Add a command on a comparable corpus and its vectors."""

    @examples.command(name, help=shows)
    @click.argument("corpus", type=FILE)
    @src_option
    @tgt_option
    @src_shards_option
    @tgt_shards_option
    @threads_option
    @page_option
    def command(
        corpus: Path, src: str, tgt: str, src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], threads: int, out: Path
    ) -> None:
        from bitextbench.formats.vectors import read_shards
        from bitextbench.mining import comparable
        from bitextbench.report import examples as pages

        vectors = map(read_shards, (src_emb, tgt_emb))
        pages.write(out, getattr(pages, name)(comparable.read(corpus, (src, tgt)), *vectors, threads=threads))


mined("scales", "A wrong pair of high cosine beside a right one of lower cosine (Artetxe and Schwenk 2019, Table 1).")
mined("failures", "False positives and false negatives of cosine similarity (Yang et al. 2019, Table 7).")


@examples.command("corners")
@click.argument("corpus", type=FILE)
@click.option("--scores", type=(str, FILE), multiple=True, required=True, help="METHOD FILE, for each shard in order.")
@page_option
def corners(corpus: Path, scores: tuple[tuple[str, Path], ...], out: Path) -> None:
    """Pairs that two similarities judge alike and otherwise; the second one's are logits (Kim et al. 2019, Table 4)."""
    from bitextbench.formats.scores import scores_by_id
    from bitextbench.report import examples as pages

    of_all = {name: scores_by_id(paths) for name, paths in by_method(scores).items()}
    pages.write(out, pages.corners(corpus, of_all))


@examples.command("negatives")
@click.argument("corpus", type=FILE)
@click.option("--hard", type=FILE, required=True, help="What `hard-negatives` wrote, without .src and .tgt.")
@seed_option
@page_option
def negatives(corpus: Path, hard: Path, seed: int, out: Path) -> None:
    """A translation, random and hard negatives of some sources (Guo et al. 2018, Table 1)."""
    from bitextbench.report import examples as pages

    pages.write(out, pages.negatives(corpus, hard, seed=seed))


@step.command("compare-encoders")
@click.argument("measured", type=FILE, nargs=-1, required=True)
@click.option("--config", type=Spec(), required=True, help="The whole configuration.")
@click.option("--benchmarks", type=FILE, required=True)
@click.option("--provenance", type=FILE, required=True)
@html_option
@click.option("-o", "--out", type=FILE, required=True, help="CSV.")
def compare_encoders(
    measured: tuple[Path, ...], config: dict[str, Any], benchmarks: Path, provenance: Path, html: Path, out: Path
) -> None:
    """Set what `measure-encoder` wrote side by side, a line an encoder and test; prints it."""
    from bitextbench.report import encoders
    from bitextbench.report.provenance import collect

    collect(config, measured, benchmarks, provenance)
    encoders.build(measured, out, html)
    click.echo(encoders.render(encoders.read_csv(out)), nl=False)


@step.command("figure-margins")
@click.option(
    "--point", "points", type=(float, FILE, FILE), multiple=True, required=True, help="MARGIN MINING SEPARATION"
)
@picture_option
@click.option("-o", "--out", type=FILE, required=True, help="CSV.")
def figure_margins(points: tuple[tuple[float, Path, Path], ...], picture: Path, out: Path) -> None:
    """Draw F1 and mean cosines over the margins of training, of what `evaluate` measured (Yang et al. 2019, figure 4)."""
    from bitextbench.base.files import read_json
    from bitextbench.evaluation.separation import write

    write(
        {at: {"f1": read_json(mining)["cosine"]["backward"]["f1"]} | read_json(of) for at, mining, of in points},
        out,
        picture,
    )


@step.command()
@click.argument("reference", type=FILE)
@click.option("--config", type=Spec(), required=True, help="The whole configuration.")
@click.option("--metric", "metrics", type=FILE, multiple=True)
@click.option("--selection", "selections", type=FILE, multiple=True)
@click.option("--significance", type=FILE, required=True, help="The rows compared with each other.")
@click.option("--input", "inputs", type=FILE, multiple=True, help="A file whose hash goes into the provenance.")
@click.option("--benchmarks", type=FILE, required=True)
@html_option
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


@step.command()
@click.argument("tables", type=FILE, nargs=-1)
@click.option("--references", "folder", type=FILE, default=Path("references"), help="What the papers printed.")
@click.option("--claims", type=FILE, required=True, help="Where the CSV of claims goes.")
@out_option
def audit(tables: tuple[Path, ...], folder: Path, claims: Path, out: Path) -> None:
    """Set the tables of a run beside every number and every claim of the papers."""
    from bitextbench.report.audit import write

    click.echo(write(folder, tables, out, claims))


@step.command()
@click.argument("reference", type=FILE)
@scale_option
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
@html_option
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


@step.command("quality-table")
@click.option("--cell", "cells", type=(str, str, FILE), multiple=True, required=True, help="CORPUS SCORER FILE.")
@scale_option
@seed_option
@html_option
@picture_option
@out_option
def quality_table(
    cells: tuple[tuple[str, str, Path], ...], scale: Any, seed: int, html: Path, picture: Path, out: Path
) -> None:
    """The table of what `evaluate quality` found: CSV, page and picture."""
    from bitextbench.report.quality import table

    table(cells, scale, seed, out, html, picture)


@step.command("own-table")
@click.argument("name")
@click.option(
    "--cell", "cells", type=(str, str, str), multiple=True, required=True, help="ROW COLUMN FILE, or FILE#KEY."
)
@scale_option
@seed_option
@html_option
@out_option
def own_table(name: str, cells: tuple[tuple[str, str, str], ...], scale: Any, seed: int, html: Path, out: Path) -> None:
    """A table of single metrics that no paper has: CSV and page."""
    from bitextbench.report.table import own_lines, write

    parts = [(row, column, *file.partition("#")[::2]) for row, column, file in cells]
    write(
        own_lines(name, [(row, column, Path(path), key, "") for row, column, path, key in parts], scale, seed),
        out,
        html,
    )
