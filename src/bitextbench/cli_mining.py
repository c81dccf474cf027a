"""Commands on vectors of any encoder: `neighbours`, `merge-neighbours`, `mine` and `evaluate`; part of `cli`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from bitextbench.errors import InputError

FILE = click.Path(path_type=Path)
SIMILARITY = "cosine, dot, euclidean, absolute, distance, ratio, csls, yang9 or yang10."


def search_options(k: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The options of a search, with a default of k; no other changes what comes out."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        for option in SEARCH_OPTIONS:
            command = option(command)
        return click.option("-k", "--neighbours", "k", type=int, default=k, help="Size of a neighbourhood.")(command)

    return decorate


SEARCH_OPTIONS = (
    click.option("--backend", type=click.Choice(["torch", "faiss"]), default="torch"),
    click.option("--gpus", type=int, default=0, help="0 computes on the CPU."),
    click.option("--precision", type=click.Choice(["auto", "fp32", "bf16"]), default="auto", help="Of the search."),
    click.option("--memory", type=float, default=1.0, help="GiB beside the vectors and the result."),
    click.option("--threads", type=int, default=1, help="CPU threads."),
)


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
@search_options(k=4)
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
@search_options(k=4)
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


out_option = click.option("-o", "--out", type=FILE, help="Write the JSON here too.")
seed_option = click.option("--seed", type=int, default=12345, help="Of the bootstrap.")


def _truth(src_text: Path, tgt_text: Path, form: str, gold: Path, candidates: Path) -> tuple[Any, ...]:
    """Both texts, the gold pairs and the candidates."""
    from bitextbench import monolingual, pairs
    from bitextbench.tasks import bucc

    src, tgt = monolingual.read(src_text, "src", form), monolingual.read(tgt_text, "tgt", form)
    return src, tgt, bucc.read_gold(gold, src, tgt), pairs.read(candidates)


@evaluate.command("bucc")
@click.option("--candidates", type=FILE, required=True, help="Mined pairs: score, source id, target id.")
@src_text_option
@tgt_text_option
@click.option("--gold", type=FILE, required=True, help="source id<TAB>target id.")
@form_option
@click.option("--threshold", type=float, help="Else the one with the best F1 on these pairs.")
@click.option("--curve", type=FILE, help="Write precision and recall at every threshold as CSV.")
@seed_option
@out_option
def evaluate_bucc(
    candidates: Path, src_text: Path, tgt_text: Path, gold: Path, form: str, threshold: float | None, curve: Path | None,
    seed: int, out: Path | None,
) -> None:  # fmt: skip
    """Precision, recall and F1 of mined pairs, their average precision, and a two-fold figure."""
    import numpy as np

    from bitextbench.tasks import bucc, curves

    src, tgt, pairs, mined = _truth(src_text, tgt_text, form, gold, candidates)
    result = bucc.evaluate(mined, pairs, src, tgt, threshold=threshold, seed=seed, where=candidates)
    truth = set(pairs)
    correct = np.array([pair in truth for pair in zip(mined.src, mined.tgt, strict=True)], bool)
    result["average_precision"] = curves.average_precision(mined.scores, correct, len(pairs), seed=seed)
    if curve:
        curves.write(curve, curves.curve(mined.scores, correct), len(pairs))
    show(result, out)


@evaluate.command("alignment")
@src_emb_option
@tgt_emb_option
@click.option("--similarity", default="cosine", help=f"{SIMILARITY} With --model, one that was fitted: mlp.")
@click.option("--model", type=FILE)
@click.option("--src-text", type=FILE, help="With both texts, a copy of the right sentence is right, too.")
@click.option("--tgt-text", type=FILE)
@form_option
@seed_option
@search_options(k=10)
@out_option
def evaluate_alignment(
    src_emb: Path, tgt_emb: Path, similarity: str, model: Path | None, src_text: Path | None, tgt_text: Path | None, form: str,
    seed: int, k: int, out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Error rates of alignment recovery in both directions; row i of both sides belong together (Kim et al. 2019)."""
    from bitextbench import embeddings, mining, monolingual
    from bitextbench.tasks import alignment

    src, tgt = embeddings.read_pair(src_emb, tgt_emb)
    alignment.check_aligned(src, tgt)
    texts: list[Any] = [None, None]
    if src_text and tgt_text:
        texts = [monolingual.read(path, side, form) for path, side in ((src_text, "src"), (tgt_text, "tgt"))]
        for text, vectors in zip(texts, (src, tgt), strict=True):
            mining.check_lengths(text, vectors)
    if model:
        found = alignment.by_model(src, tgt, similarity, model)
    else:
        found = alignment.by_vectors(src, tgt, similarity, k, **search_settings(**settings))
    src_lines, tgt_lines = (text and text.text for text in texts)
    show(
        alignment.error_rates(*found, src_lines, tgt_lines, seed=seed, signature=f"similarity:{similarity}|k:{k}"), out
    )


@evaluate.command("reconstruction")
@src_emb_option
@tgt_emb_option
@click.option("--similarity", default="cosine", help=SIMILARITY)
@click.option("--src-text", type=FILE, help="For precision by text and the ceiling by index.")
@click.option("--tgt-text", type=FILE)
@form_option
@seed_option
@search_options(k=4)
@out_option
def evaluate_reconstruction(
    src_emb: Path, tgt_emb: Path, similarity: str, src_text: Path | None, tgt_text: Path | None, form: str, seed: int, k: int,
    out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """P@1, P@3 and P@10 of the true sentence, in both directions (Guo et al. 2018, Yang et al. 2019)."""
    from bitextbench import embeddings, mining, monolingual
    from bitextbench.tasks import alignment, reconstruction

    src, tgt = embeddings.read_pair(src_emb, tgt_emb)
    alignment.check_aligned(src, tgt)
    lines = []
    for path, side, vectors in ((src_text, "src", src), (tgt_text, "tgt", tgt)):
        text = monolingual.read(path, side, form) if path else None
        if text:
            mining.check_lengths(text, vectors)
        lines.append(text.text if text else None)
    both = reconstruction.ranked(src, tgt, similarity, k, **search_settings(**settings))
    signature = f"similarity:{similarity}|k:{k}"
    show(
        {
            name: reconstruction.precision_at(side.ids, text, seed=seed, signature=signature)
            for name, side, text in zip(both._fields, both, lines[::-1], strict=True)
        },
        out,
    )


@evaluate.command("documents")
@src_emb_option
@tgt_emb_option
@click.option("--src-docs", type=FILE, required=True, help="The document of each sentence, a line each.")
@click.option("--tgt-docs", type=FILE, required=True)
@click.option("--confidence", type=FILE, help="Of the neighbours, .npy [n, k]; else the cosine, at least 0.")
@seed_option
@search_options(k=10)
@out_option
def evaluate_documents(
    src_emb: Path, tgt_emb: Path, src_docs: Path, tgt_docs: Path, confidence: Path | None, seed: int, k: int, out: Path | None,
    **settings: Any,
) -> None:  # fmt: skip
    """P@1 of documents by neighbours (Guo et al. 2018 eq. 3), by aligned sentences, by averaged vectors (Yang et al. 2019)."""
    import numpy as np

    from bitextbench import embeddings
    from bitextbench.files import existing, read_lines
    from bitextbench.neighbours import search
    from bitextbench.tasks import documents

    vectors = embeddings.read_pair(src_emb, tgt_emb)
    sides = []
    for path, side in zip((src_docs, tgt_docs), vectors, strict=True):
        names = list(read_lines(path))
        if len(names) != len(side):
            raise InputError(
                f"{len(names):,} lines for the {len(side):,} vectors of {side.name}", path, remedy="one line each"
            )
        sides.append(documents.Documents.of(names))
    src, tgt = sides
    both = search(*vectors, k, **search_settings(**settings))
    sure = np.load(existing(confidence)) if confidence else np.maximum(both.forward.similarities, 0)
    if sure.shape != both.forward.ids.shape:
        raise InputError(
            f"confidence of the shape {sure.shape}", confidence, remedy=f"needed: {both.forward.ids.shape}"
        )
    forward, backward = documents.by_average(src, tgt, vectors, **search_settings(**settings))
    found = {
        "sentences": (documents.by_sentences(src, tgt, both.forward, sure), src, tgt),
        "alignments": (documents.by_alignments(src, tgt, both), src, tgt),
        "average_forward": (forward, src, tgt),
        "average_backward": (backward, tgt, src),
    }
    show({name: documents.accuracy(*sides, seed=seed, signature=f"by:{name}") for name, sides in found.items()}, out)


@evaluate.command("recognition")
@click.option("--parallel", type=FILE, required=True, help="Scores of the pairs, .npy [n].")
@click.option("--sampled", type=FILE, required=True, help="Of sampled targets, .npy [evaluations, n, samples].")
@seed_option
@out_option
def evaluate_recognition(parallel: Path, sampled: Path, seed: int, out: Path | None) -> None:
    """How often a parallel pair scores higher than a sampled one (Zhang et al. 2016)."""
    import numpy as np

    from bitextbench.files import existing
    from bitextbench.tasks import recognition

    show(recognition.accuracy(np.load(existing(parallel)), np.load(existing(sampled)), seed=seed), out)
