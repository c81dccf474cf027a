"""Commands that measure pairs, vectors and scores of your own: `evaluate`; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli import options as opt
from bitextbench.cli.groups import evaluate, example
from bitextbench.cli.options import COUNT, FILE, INPUT, LIMIT, OUT

Texts = tuple[Path | None, Path | None]  # of the sources, and of the targets


def _truth(texts: Texts, form: tuple[str, str], gold: Path, candidates: Path) -> tuple[Any, ...]:
    """Both texts or none, the gold pairs and the candidates. Raises InputError where there are none."""
    from bitextbench.formats import mined_pairs as pairs
    from bitextbench.formats import sentences
    from bitextbench.formats.gold import read_gold

    if (texts[0] is None) != (texts[1] is None):
        raise InputError("only one text is given", remedy="give both --src-text and --tgt-text, or neither")
    sides = zip(texts, ("src", "tgt"), form, strict=True)
    src, tgt = (sentences.read(path, side, kind) if path else None for path, side, kind in sides)
    truth, mined = read_gold(gold, src, tgt), pairs.read(candidates)
    if not mined.src:
        raise InputError("has no pairs", candidates, remedy="check that this is the file of mined pairs")
    return src, tgt, truth, mined


@evaluate.command("bucc", epilog=example("evaluate bucc --candidates pairs.tsv --gold gold.tsv"))
@click.option(
    "--candidates", type=INPUT, required=True, help="Mined pairs, as `mine` writes them: score, source id, target id."
)
@click.option("--gold", type=INPUT, required=True, help="All right pairs: source id<TAB>target id; or line numbers.")
@opt.texts_option(
    "The text of the sources. With both texts, ids are checked, and the JSON counts gold pairs lost to duplicates.",
    INPUT,
)
@opt.form_option
@click.option("--threshold", type=LIMIT, help="The least score; without it the one with the best F1 on these pairs.")
@click.option("--curve", type=OUT, help="Write precision and recall at every threshold as CSV.")
@opt.bootstrap_option
@click.option("-o", "--out", type=OUT, help="Write all figures as JSON, with intervals.")
def evaluate_bucc(
    candidates: Path,
    texts: Texts,
    gold: Path,
    form: tuple[str, str],
    threshold: float | None,
    curve: Path | None,
    seed: int,
    out: Path | None,
) -> None:
    """Precision, recall and F1 of mined pairs against a gold file: BUCC's, or of your own texts.

    Pairs are compared by ids, so the texts themselves are not needed. Prints a line, with the interval of F1. The JSON has all intervals, average precision, and two-fold figures, whose thresholds are chosen on the other half of the sources. With both texts, `compare` can test it against another method's JSON.
    """
    from bitextbench.base.json_yaml import write_json
    from bitextbench.base.progress import count_of, log
    from bitextbench.evaluation import bucc, curves

    src, tgt, pairs, mined = _truth(texts, form, gold, candidates)
    bucc.check_match(mined, pairs, candidates)
    result = bucc.evaluate(mined, pairs, src, tgt, threshold=threshold, seed=seed, where=candidates)
    if lost := result["gold_lost_to_duplicates"]:
        log(
            f"{gold}: {count_of(lost, 'pair has', 'pairs have')} a later copy of a sentence; `mine` needs --keep-duplicates to find them"
        )
    correct = bucc.in_gold(mined, pairs)
    result["average_precision"] = curves.average_precision(mined.scores, correct, len(pairs), seed=seed)
    if curve:
        curves.write(curve, curves.curve(mined.scores, correct), len(pairs))
    if out:
        write_json(out, result)
    click.echo(bucc.summary(result))


@evaluate.command(
    "alignment",
    epilog=example("evaluate alignment --src-emb v.src.npy --tgt-emb v.tgt.npy --similarity cosine --similarity csls"),
)
@opt.shards_option
@opt.similarities_option("cosine", " With --model, one that was fitted: mlp. With both texts, levenshtein.")
@click.option(
    "--model",
    "models",
    type=FILE,
    multiple=True,
    help="A fitted similarity; one for each --similarity that learns, in their order.",
)
@opt.texts_option("Text or corpus of the sources. With both texts, a copy of the right sentence is right, too.")
@opt.form_option
@opt.bootstrap_option
@opt.search_options(k=opt.constant("evaluation/alignment.py", "K"))
@opt.json_option
def evaluate_alignment(
    shards: opt.Shards,
    similarities: tuple[str, ...],
    models: tuple[Path, ...],
    texts: Texts,
    form: tuple[str, str],
    seed: int,
    k: int,
    out: Path | None,
    **settings: Any,
) -> None:
    """Error rates of alignment recovery in both directions; row i of one side belongs to row i of the other (Kim et al.
    2019).
    """
    from bitextbench.base import members
    from bitextbench.evaluation import alignment
    from bitextbench.formats.vectors import read_aligned
    from bitextbench.mining.vectors import lines_of
    from bitextbench.scoring import declared

    src, tgt = read_aligned(*shards)
    lines = [
        lines_of(path, side, form, vectors)
        for path, side, vectors in zip(texts, ("src", "tgt"), (src, tgt), strict=True)
    ]
    known = members.sources("similarities")
    fitted = [name for name in similarities if name in known and declared(name).fit]
    if models and len(models) != len(fitted):
        what = f"{len(models)} --model for {len(fitted)} --similarity that learn ({', '.join(fitted) or 'none'})"
        raise InputError(what, remedy="give one for each, in their order")
    model_of = dict(zip(fitted, models, strict=False))
    result = {}
    for name in similarities:
        if name == "levenshtein":
            if None in lines:
                raise InputError("levenshtein compares sentences", remedy="give --src-text and --tgt-text")
            errors = alignment.by_text(lines[0], lines[1], settings["threads"])
        elif name in model_of:
            errors = alignment.by_model(src, tgt, name, model_of[name])
        else:
            errors = alignment.by_vectors(src, tgt, name, k, **settings)
        result[name] = alignment.error_rates(*errors, *lines, seed=seed, signature=f"similarity:{name}|k:{k}")
    opt.show(result, out)


@evaluate.command(
    "reconstruction",
    epilog=example("evaluate reconstruction --src-emb v.src.npy --tgt-emb v.tgt.npy --src-text a.de --tgt-text a.en"),
)
@opt.shards_option
@opt.similarities_option("cosine")
@opt.texts_option("Text or corpus of the sources, for precision by text and the ceiling by index.")
@opt.form_option
@opt.bootstrap_option
@opt.search_options(k=opt.K)
@opt.json_option
def evaluate_reconstruction(
    shards: opt.Shards,
    similarities: tuple[str, ...],
    texts: Texts,
    form: tuple[str, str],
    seed: int,
    k: int,
    out: Path | None,
    **settings: Any,
) -> None:
    """P@1, P@3 and P@10 of the true sentence, in both directions (Guo et al. 2018, Yang et al. 2019)."""
    from bitextbench.evaluation import reconstruction
    from bitextbench.formats.vectors import read_aligned
    from bitextbench.mining.vectors import lines_of

    src, tgt = read_aligned(*shards)
    lines = [
        lines_of(path, side, form, vectors) for path, side, vectors in ((texts[1], "tgt", tgt), (texts[0], "src", src))
    ]
    result = {}
    for similarity in similarities:
        both = reconstruction.ranked(src, tgt, similarity, k, **settings)
        signature = f"similarity:{similarity}|k:{k}"
        result[similarity] = {
            name: reconstruction.precision_at(side.ids, text, seed=seed, signature=signature)
            for name, side, text in zip(both._fields, both, lines, strict=True)
        }
    opt.show(result, out)


@evaluate.command(
    "documents",
    epilog=example("evaluate documents --src-emb v.src.npy --tgt-emb v.tgt.npy --src-docs a.docs --tgt-docs b.docs"),
)
@opt.shards_option
@click.option("--similarity", type=click.Choice(["cosine", "dot"]), default="cosine", help="Similarity of sentences.")
@click.option("--src-docs", type=FILE, required=True, help="The document of each sentence, a line each; or a corpus.")
@click.option("--tgt-docs", type=FILE, required=True, help="The same of the targets.")
@click.option(
    "--model", type=FILE, help="An encoder with a calibrated confidence; else confidence is the cosine, at least 0."
)
@opt.bootstrap_option
@opt.search_options(k=opt.constant("mining/documents.py", "N"))
@opt.json_option
def evaluate_documents(
    shards: opt.Shards,
    similarity: str,
    src_docs: Path,
    tgt_docs: Path,
    model: Path | None,
    seed: int,
    k: int,
    out: Path | None,
    **settings: Any,
) -> None:
    """P@1 of documents by neighbours (Guo et al. 2018 eq. 3), by aligned sentences, by averaged vectors (Yang et al.
    2019).
    """
    from bitextbench.evaluation.documents import accuracy
    from bitextbench.formats.vectors import by_probability, read_both
    from bitextbench.mining import documents
    from bitextbench.neighbours import search

    vectors = read_both(*shards)
    src, tgt = (documents.of_file(path, side) for path, side in zip((src_docs, tgt_docs), vectors, strict=True))
    both = search(*vectors, k, metric=similarity, **settings)
    mutual = search(*by_probability(*vectors, similarity), 1, metric=similarity, **settings)
    confidence = documents.confidence(vectors, both.forward, model)
    forward, backward = documents.by_average(src, tgt, vectors, **settings)
    hits = {
        "sentences": (documents.by_sentences(src, tgt, both.forward, confidence), src, tgt),
        "evidence": (documents.by_sentences(src, tgt, both.forward, confidence, first=0, least=0.0), src, tgt),
        "alignments": (documents.by_alignments(src, tgt, mutual), src, tgt),
        "average_forward": (forward, src, tgt),
        "average_backward": (backward, tgt, src),
    }
    signature = f"similarity:{similarity}|k:{k}"
    result = {name: accuracy(*of, seed=seed, signature=f"{signature}|by:{name}") for name, of in hits.items()}
    opt.show({similarity: result}, out)


@evaluate.command(
    "recognition-scores", epilog=example("evaluate recognition-scores --parallel parallel.npy --sampled sampled.npy")
)
@click.option("--parallel", type=FILE, required=True, help="Scores of the pairs, .npy [n].")
@click.option("--sampled", type=FILE, required=True, help="Scores of sampled targets, .npy [evaluations, n, samples].")
@opt.bootstrap_option
@opt.json_option
def evaluate_recognition_scores(parallel: Path, sampled: Path, seed: int, out: Path | None) -> None:
    """The accuracy of `step measure-recognition`, from the scores of any other system."""
    from bitextbench.base import arrays
    from bitextbench.evaluation import recognition

    scores = (arrays.load(path, "save the scores with numpy.save") for path in (parallel, sampled))
    opt.show(recognition.accuracy(*scores, seed=seed), out)


@evaluate.command("quality", epilog=example("evaluate quality --corpus corpus --scores 00000.npy --scores 00001.npy"))
@opt.corpus_option
@opt.scores_option
@opt.bootstrap_option
@opt.json_option
def evaluate_quality(corpus: Path, scores: tuple[Path, ...], seed: int, out: Path | None) -> None:
    """Average precision and ROC-AUC of scores, over all labelled pairs and by kind of noise."""
    from bitextbench.evaluation.quality import evaluate as run

    opt.show(run(corpus, scores, seed=seed), out)


@evaluate.command("selection", epilog=example("evaluate selection --corpus corpus --scores 00000.npy --words 10000"))
@opt.corpus_option
@opt.scores_option
@click.option("--words", type=COUNT, required=True, help="The budget.")
@opt.count_option
@opt.bootstrap_option
@opt.json_option
def evaluate_selection(
    corpus: Path, scores: tuple[Path, ...], words: int, count: str, seed: int, out: Path | None
) -> None:
    """Measure the precision, counted in words, of a selection."""
    from bitextbench.evaluation.selections import precision

    opt.show(precision(corpus, scores, words, count, seed=seed), out)


@evaluate.command(
    "sweep", epilog=example("evaluate sweep --corpus corpus --scores cosine 00000.npy --picture sweep.svg -o sweep.csv")
)
@opt.corpus_option
@opt.named_scores_option
@opt.count_option
@click.option("--picture", type=OUT, help="Draw it as well: SVG.")
@opt.out_option
def evaluate_sweep(
    corpus: Path, scores: tuple[tuple[str, Path], ...], count: str, picture: Path | None, out: Path
) -> None:
    """Measure the selection at many thresholds, without translation models: CSV."""
    from bitextbench.evaluation.selections import sweep

    steps = sweep(corpus, opt.by_name(scores), count, out)
    if picture:
        from bitextbench.base.outputs import write_text
        from bitextbench.report import plots

        write_text(picture, plots.alone(plots.precision_curves(steps, "sweep")))
