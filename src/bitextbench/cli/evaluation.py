"""Commands on vectors of any encoder: `neighbours`, `merge-neighbours`, `mine` and `evaluate`; part of `cli`."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError

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
    from bitextbench.formats import vectors as embeddings
    from bitextbench.scoring.neighbours import save, search

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
    from bitextbench.scoring.neighbours import merge

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
    from bitextbench.mining.texts import mine as run

    run(
        src_text, tgt_text, src_emb, tgt_emb, out, margin=margin, retrieval=retrieval, k=k, threshold=threshold, form=form,
        keep_duplicates=keep_duplicates, **search_settings(**settings),
    )  # fmt: skip


@click.command("figure-margins")
@click.option(
    "--point", "points", type=(float, FILE, FILE), multiple=True, required=True, help="MARGIN MINING SEPARATION"
)
@click.option("--picture", type=FILE, required=True, help="PNG.")
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


@click.command("bucc-set")
@click.argument("corpus", type=FILE)
@click.option("--src", "src", required=True, help="Source language code.")
@click.option("--tgt", "tgt", required=True, help="Target language code.")
@click.option("-o", "--out", type=FILE, required=True, help="Writes <out>.src, <out>.tgt and <out>.gold.")
def bucc_set(corpus: Path, src: str, tgt: str, out: Path) -> None:
    """Write a comparable corpus in BUCC's format: shuffled texts, and the ids of the pairs that are hidden in them."""
    from bitextbench.mining import comparable

    comparable.write(comparable.read(corpus, (src, tgt)), out)


@click.group()
def evaluate() -> None:
    """Measure how well pairs, or vectors, fit the truth; prints JSON."""


def show(result: dict[str, Any], out: Path | None) -> None:
    """Print a result, and write it where it is wanted."""
    from bitextbench.base.files import write_json

    if out:
        write_json(out, result)
    click.echo(json.dumps(result, indent=2, ensure_ascii=False))


out_option = click.option("-o", "--out", type=FILE, help="Write the JSON here too.")
src_shards_option = click.option(
    "--src-emb", type=FILE, multiple=True, required=True, help="Vectors of the sources, .npy [n, d]; or of all shards."
)
tgt_shards_option = click.option("--tgt-emb", type=FILE, multiple=True, required=True, help="Vectors of the targets.")


def similarities_option(default: str, more: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    text = f"{SIMILARITY}{more} May be given several times."
    return click.option("--similarity", "similarities", multiple=True, default=[default], help=text)


seed_option = click.option("--seed", type=int, default=12345, help="Of the bootstrap.")


def _vectors(src: Sequence[Path], tgt: Sequence[Path]) -> tuple[Any, Any]:
    """Both sides, each of its shards."""
    from bitextbench.formats import vectors as embeddings

    sides = embeddings.read_shards(src), embeddings.read_shards(tgt)
    embeddings.check_pair(*sides)
    return sides


def _lines(path: Path | None, side: str, form: str, vectors: Any) -> Any:
    """The text of a side, a line a vector, if it is given."""
    from bitextbench.formats import sentences
    from bitextbench.mining import texts as mining

    if path is None:
        return None
    text = sentences.read(path, side, form)
    mining.check_lengths(text, vectors)
    return text.text


def _truth(src_text: Path, tgt_text: Path, form: str, gold: Path, candidates: Path) -> tuple[Any, ...]:
    """Both texts, the gold pairs and the candidates."""
    from bitextbench.evaluation import bucc
    from bitextbench.formats import mined_pairs as pairs
    from bitextbench.formats import sentences

    src, tgt = sentences.read(src_text, "src", form), sentences.read(tgt_text, "tgt", form)
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

    from bitextbench.evaluation import bucc, curves

    src, tgt, pairs, mined = _truth(src_text, tgt_text, form, gold, candidates)
    result = bucc.evaluate(mined, pairs, src, tgt, threshold=threshold, seed=seed, where=candidates)
    truth = set(pairs)
    correct = np.array([pair in truth for pair in zip(mined.src, mined.tgt, strict=True)], bool)
    result["average_precision"] = curves.average_precision(mined.scores, correct, len(pairs), seed=seed)
    if curve:
        curves.write(curve, curves.curve(mined.scores, correct), len(pairs))
    show(result, out)


@evaluate.command("mining")
@click.argument("corpus", type=FILE)
@click.option("--src", "src", required=True, help="Source language code.")
@click.option("--tgt", "tgt", required=True, help="Target language code.")
@src_shards_option
@tgt_shards_option
@similarities_option("ratio")
@seed_option
@search_options(k=4)
@out_option
def evaluate_mining(
    corpus: Path, src: str, tgt: str, src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], similarities: tuple[str, ...], seed: int,
    k: int, out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Hidden pairs of a comparable corpus, by every way of retrieval (Artetxe and Schwenk 2019, Table 2)."""
    from bitextbench.mining import comparable

    vectors = _vectors(src_emb, tgt_emb)
    found = comparable.read(corpus, (src, tgt), seed)
    show(comparable.evaluate(found, *vectors, similarities, k, seed=seed, **search_settings(**settings)), out)


@evaluate.command("rescoring")
@click.argument("corpus", type=FILE)
@click.option("--src", "src", required=True, help="Source language code.")
@click.option("--tgt", "tgt", required=True, help="Target language code.")
@click.option("--pairs", type=FILE, required=True, help="What `rescoring-pairs` wrote.")
@click.option(
    "--model", "models", type=FILE, nargs=1, multiple=True, required=True, help="The cross-encoder of each half."
)
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@seed_option
@out_option
def evaluate_rescoring(
    corpus: Path, src: str, tgt: str, pairs: Path, models: tuple[Path, ...], gpus: int, threads: int, seed: int, out: Path | None
) -> None:  # fmt: skip
    """Hidden pairs of a comparable corpus that a cross-encoder selects (Yang et al. 2019, section 6.2)."""
    from bitextbench.evaluation import rescoring
    from bitextbench.mining import comparable

    device = "cuda" if gpus else "cpu"
    found = rescoring.evaluate(
        comparable.read(corpus, (src, tgt)), pairs, models, seed=seed, threads=threads, device=device
    )
    show({"cross_encoder": found}, out)


@evaluate.command("alignment")
@src_shards_option
@tgt_shards_option
@similarities_option("cosine", " With --model, one that was fitted: mlp. With both texts, levenshtein.")
@click.option("--model", type=FILE)
@click.option("--src-text", type=FILE, help="Or a corpus. With both texts, a copy of the right sentence is right, too.")
@click.option("--tgt-text", type=FILE)
@form_option
@seed_option
@search_options(k=10)
@out_option
def evaluate_alignment(
    src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], similarities: tuple[str, ...], model: Path | None, src_text: Path | None,
    tgt_text: Path | None, form: str, seed: int, k: int, out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Error rates of alignment recovery in both directions; row i of both sides belong together (Kim et al. 2019)."""
    from bitextbench.evaluation import alignment
    from bitextbench.scoring import NAMES

    src, tgt = _vectors(src_emb, tgt_emb)
    alignment.check_aligned(src, tgt)
    lines = [
        _lines(path, side, form, vectors) for path, side, vectors in ((src_text, "src", src), (tgt_text, "tgt", tgt))
    ]
    result = {}
    for name in similarities:
        if name == "levenshtein":
            if None in lines:
                raise InputError("levenshtein compares sentences", remedy="give --src-text and --tgt-text")
            found = alignment.by_text(lines[0], lines[1], settings["threads"])
        elif model and name in NAMES and name != "cosine":
            found = alignment.by_model(src, tgt, name, model)
        else:
            found = alignment.by_vectors(src, tgt, name, k, **search_settings(**settings))
        result[name] = alignment.error_rates(*found, *lines, seed=seed, signature=f"similarity:{name}|k:{k}")
    show(result, out)


@evaluate.command("separation")
@src_shards_option
@tgt_shards_option
@tgt_text_option
@form_option
@search_options(k=10)
@out_option
def evaluate_separation(
    src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], tgt_text: Path, form: str, k: int, out: Path | None, **settings: Any
) -> None:  # fmt: skip
    """Mean cosines of pairs, and of sources with their nearest other target (Yang et al. 2019, figure 4)."""
    from bitextbench.evaluation import alignment
    from bitextbench.evaluation.separation import separation

    src, tgt = _vectors(src_emb, tgt_emb)
    alignment.check_aligned(src, tgt)
    show(separation(src, tgt, _lines(tgt_text, "tgt", form, tgt), k, **search_settings(**settings)), out)


@evaluate.command("reconstruction")
@src_shards_option
@tgt_shards_option
@similarities_option("cosine")
@click.option("--src-text", type=FILE, help="Or a corpus; for precision by text and the ceiling by index.")
@click.option("--tgt-text", type=FILE)
@form_option
@seed_option
@search_options(k=4)
@out_option
def evaluate_reconstruction(
    src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], similarities: tuple[str, ...], src_text: Path | None,
    tgt_text: Path | None, form: str, seed: int, k: int, out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """P@1, P@3 and P@10 of the true sentence, in both directions (Guo et al. 2018, Yang et al. 2019)."""
    from bitextbench.evaluation import alignment, reconstruction

    src, tgt = _vectors(src_emb, tgt_emb)
    alignment.check_aligned(src, tgt)
    lines = [
        _lines(path, side, form, vectors) for path, side, vectors in ((tgt_text, "tgt", tgt), (src_text, "src", src))
    ]
    result = {}
    for similarity in similarities:
        both = reconstruction.ranked(src, tgt, similarity, k, **search_settings(**settings))
        signature = f"similarity:{similarity}|k:{k}"
        result[similarity] = {
            name: reconstruction.precision_at(side.ids, text, seed=seed, signature=signature)
            for name, side, text in zip(both._fields, both, lines, strict=True)
        }
    show(result, out)


@evaluate.command("documents")
@src_shards_option
@tgt_shards_option
@click.option("--similarity", type=click.Choice(["cosine", "dot"]), default="cosine")
@click.option("--src-docs", type=FILE, required=True, help="The document of each sentence, a line each; or a corpus.")
@click.option("--tgt-docs", type=FILE, required=True)
@click.option(
    "--model", type=FILE, help="An encoder with a calibrated confidence; else confidence is the cosine, at least 0."
)
@seed_option
@search_options(k=10)
@out_option
def evaluate_documents(
    src_emb: tuple[Path, ...], tgt_emb: tuple[Path, ...], similarity: str, src_docs: Path, tgt_docs: Path, model: Path | None,
    seed: int, k: int, out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """P@1 of documents by neighbours (Guo et al. 2018 eq. 3), by aligned sentences, by averaged vectors (Yang et al. 2019)."""
    from bitextbench.mining import documents
    from bitextbench.scoring.neighbours import search

    vectors = _vectors(src_emb, tgt_emb)
    src, tgt = (documents.of_file(path, side) for path, side in zip((src_docs, tgt_docs), vectors, strict=True))
    both = search(*vectors, k, metric=similarity, **search_settings(**settings))
    sure = documents.confidence(vectors, both.forward, model)
    forward, backward = documents.by_average(src, tgt, vectors, **search_settings(**settings))
    found = {
        "sentences": (documents.by_sentences(src, tgt, both.forward, sure), src, tgt),
        "alignments": (documents.by_alignments(src, tgt, both), src, tgt),
        "average_forward": (forward, src, tgt),
        "average_backward": (backward, tgt, src),
    }
    signature = f"similarity:{similarity}|k:{k}"
    result = {
        name: documents.accuracy(*of, seed=seed, signature=f"{signature}|by:{name}") for name, of in found.items()
    }
    show({similarity: result}, out)


@evaluate.command("recognition")
@click.argument("tokens", type=FILE)
@click.option("--model", type=FILE, required=True, help="A trained encoder.")
@click.option(
    "--pieces", type=FILE, required=True, help="The BPE model, or the features (.json), that it was trained with."
)
@click.option("--similarity", type=click.Choice(["euclidean", "reconstruction"]), default="euclidean")
@click.option("--lowercase/--cased", default=True)
@click.option("--sample-seed", type=int, default=1, help="Of the sampled targets.")
@click.option("--gpus", type=int, default=0, help="0 computes on the CPU.")
@click.option("--threads", type=int, default=1, help="CPU threads.")
@seed_option
@out_option
def evaluate_recognition(
    tokens: Path, model: Path, pieces: Path, similarity: str, lowercase: bool, sample_seed: int, gpus: int, threads: int, seed: int,
    out: Path | None,
) -> None:  # fmt: skip
    """How often an encoder prefers a pair of a tokenised corpus to its source with a random target (Zhang et al. 2016)."""
    from bitextbench.evaluation import recognition

    parallel, sampled = recognition.scores(
        tokens, model, pieces, similarity, lowercase=lowercase, seed=sample_seed, threads=threads, device="cuda" if gpus else "cpu"
    )  # fmt: skip
    result = recognition.accuracy(parallel, sampled, seed=seed, signature=f"similarity:{similarity}")
    show({similarity: {"accuracy": result}}, out)


@evaluate.command("recognition-scores")
@click.option("--parallel", type=FILE, required=True, help="Scores of the pairs, .npy [n].")
@click.option("--sampled", type=FILE, required=True, help="Of sampled targets, .npy [evaluations, n, samples].")
@seed_option
@out_option
def evaluate_recognition_scores(parallel: Path, sampled: Path, seed: int, out: Path | None) -> None:
    """The same from the scores of any other system."""
    from bitextbench.base import arrays
    from bitextbench.evaluation import recognition

    scores = (arrays.load(path, "save the scores with numpy.save") for path in (parallel, sampled))
    show(recognition.accuracy(*scores, seed=seed), out)
