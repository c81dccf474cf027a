"""Commands on vectors of any encoder: `neighbours`, `merge-neighbours`, `mine` and `evaluate`; part of `cli`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bitextbench.errors import InputError

FILE = click.Path(path_type=Path)
SIMILARITY = "cosine, dot, euclidean, absolute, distance, ratio, csls, yang9 or yang10."


def search_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of a search; none but k and the similarity changes what comes out."""
    for option in (
        click.option("--backend", type=click.Choice(["torch", "faiss"]), default="torch"),
        click.option("--gpus", type=int, default=0, help="0 computes on the CPU."),
        click.option("--precision", type=click.Choice(["auto", "fp32", "bf16"]), default="auto", help="Of the search."),
        click.option("--memory", type=float, default=1.0, help="GiB beside the vectors and the result."),
        click.option("--threads", type=int, default=1, help="CPU threads."),
        click.option("-k", "--neighbours", "k", type=int, default=4, help="Size of a neighbourhood."),
    ):
        command = option(command)
    return command


def search_settings(backend: str, gpus: int, precision: str, memory: float, threads: int) -> dict[str, Any]:
    return {
        "backend": backend,
        "device": "cuda" if gpus else "cpu",
        "precision": precision,
        "memory": int(memory * 2**30),
        "threads": threads,
    }


class Rows(click.ParamType):
    """START:END, rows counted from 0, END not included; either may be left out."""

    name = "START:END"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, slice):
            return value
        start, colon, end = value.partition(":")
        if not colon or not all(part.isdigit() or not part for part in (start, end)):
            self.fail(f"{value!r} is not START:END", param, ctx)
        return slice(int(start or 0), int(end) if end else None)


src_emb_option = click.option("--src-emb", type=FILE, required=True, help="Vectors of the sources, .npy [n, d].")
tgt_emb_option = click.option("--tgt-emb", type=FILE, required=True, help="Vectors of the targets.")
src_text_option = click.option("--src-text", type=FILE, required=True, help="Lines, id<TAB>sentence, or Parquet.")
tgt_text_option = click.option("--tgt-text", type=FILE, required=True)
form_option = click.option("--text-format", "form", type=click.Choice(["auto", "lines", "bucc"]), default="auto")


@click.command()
@src_emb_option
@tgt_emb_option
@click.option("--src-rows", type=Rows(), default=":", help="The sources of this job.")
@click.option("--tgt-rows", type=Rows(), default=":", help="The targets of this job.")
@click.option("--metric", type=click.Choice(["cosine", "dot", "euclidean"]), default="cosine")
@search_options
@click.option("-o", "--out", type=FILE, required=True, help="A folder.")
def neighbours(
    src_emb: Path, tgt_emb: Path, src_rows: slice, tgt_rows: slice, metric: str, k: int, out: Path, **settings: Any
) -> None:
    """Find the k nearest neighbours of all vectors, in both directions."""
    from bitextbench import embeddings
    from bitextbench.neighbours import save, search

    sides, ranges = [], []
    for path, rows in ((src_emb, src_rows), (tgt_emb, tgt_rows)):
        vectors = embeddings.read(path)
        stop = len(vectors) if rows.stop is None else rows.stop
        if not rows.start < stop <= len(vectors):
            raise InputError(
                f"rows {rows.start}:{stop} of {len(vectors):,}",
                path,
                remedy="START must be below END, END at most this",
            )
        sides.append(vectors.part(rows.start, stop))
        ranges.append(slice(rows.start, stop))
    both = search(sides[0], sides[1], k, metric=metric, **search_settings(**settings))
    save(out, both, metric, k, ranges[0], ranges[1])


@click.command("merge-neighbours")
@click.argument("parts", type=FILE, nargs=-1, required=True)
@click.option("-o", "--out", type=FILE, required=True, help="A folder.")
def merge_neighbours(parts: tuple[Path, ...], out: Path) -> None:
    """Join what `neighbours` found for each range of sources and of targets."""
    from bitextbench.neighbours import merge

    merge(parts, out)


@click.command()
@src_text_option
@tgt_text_option
@src_emb_option
@tgt_emb_option
@form_option
@click.option("--margin", default="ratio", help=f"Score of a pair: {SIMILARITY}")
@click.option("--retrieval", default="max", help="forward, backward, intersection or max.")
@click.option("--threshold", type=float, help="The least score of a pair; none keeps all.")
@click.option("--keep-duplicates", is_flag=True, help="Search every copy of equal sentences.")
@search_options
@click.option("-o", "--out", type=FILE, required=True, help="Score, ids and sentences: TSV, or Parquet by its name.")
def mine(
    src_text: Path, tgt_text: Path, src_emb: Path, tgt_emb: Path, form: str, margin: str, retrieval: str,
    threshold: float | None, keep_duplicates: bool, k: int, out: Path, **settings: Any,
) -> None:  # fmt: skip
    """Mine parallel pairs out of two texts and their vectors (Artetxe and Schwenk 2019)."""
    from bitextbench.mining import mine as run

    run(
        src_text, tgt_text, src_emb, tgt_emb, out, margin=margin, retrieval=retrieval, k=k, threshold=threshold, form=form,
        keep_duplicates=keep_duplicates, **search_settings(**settings),
    )  # fmt: skip


@click.group()
def evaluate() -> None:
    """Measure how well pairs, or vectors, fit the truth; prints JSON."""


def show(result: dict[str, Any], out: Path | None) -> None:
    """Print a result, and write it where it is wanted."""
    from bitextbench.files import write_json

    if out:
        write_json(out, result)
    click.echo(json.dumps(result, indent=2, ensure_ascii=False))
