"""Commands that measure: `evaluate`, and the steps of the workflow on BLEU and encoders; part of `cli`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bitextbench.base.errors import InputError
from bitextbench.cli.groups import evaluate, example, step
from bitextbench.cli.options import (
    COUNT,
    FILE,
    LANGUAGE,
    LIMIT,
    OUT,
    SEED,
    Mapping,
    Spec,
    bootstrap_option,
    budget_option,
    by_method,
    corpus_option,
    count_option,
    device_option,
    extreme_options,
    form_option,
    json_option,
    lowercase_option,
    named_scores_option,
    out_option,
    picture_option,
    scored_pairs,
    scores_option,
    search_options,
    show,
    similarities_option,
    src_option,
    src_shards_option,
    src_text_option,
    tgt_option,
    tgt_shards_option,
    tgt_text_option,
    threads_option,
)

references_option = click.option("--references", type=Mapping(), multiple=True, required=True, help="A test corpus.")


def _vectors(src: Sequence[Path], tgt: Sequence[Path]) -> tuple[Any, Any]:
    """The vectors of both sides, each read from its shards."""
    from bitextbench.formats.vectors import check_pair, read_shards

    sides = read_shards(src), read_shards(tgt)
    check_pair(*sides)
    return sides


def _aligned(src: Sequence[Path], tgt: Sequence[Path]) -> tuple[Any, Any]:
    """The vectors of both sides, each read from its shards; row i of both is a pair. Raises InputError if they differ
    in rows.
    """
    from bitextbench.formats.vectors import check_aligned, read_shards

    sides = read_shards(src), read_shards(tgt)
    check_aligned(*sides)
    return sides


def _lines(path: Path | None, side: str, form: tuple[str, str], vectors: Any) -> Any:
    """The lines of a side, one for each vector; None without a text."""
    from bitextbench.formats import sentences
    from bitextbench.mining import texts as mining

    if path is None:
        return None
    text = sentences.read(path, side, form[side == "tgt"])
    mining.check_lengths(text, vectors)
    return text.text


def _truth(src_text: Path, tgt_text: Path, form: tuple[str, str], gold: Path, candidates: Path) -> tuple[Any, ...]:
    """Both texts, the gold pairs and the candidates."""
    from bitextbench.formats import mined_pairs as pairs
    from bitextbench.formats import sentences
    from bitextbench.formats.gold import read_gold

    src, tgt = sentences.read(src_text, "src", form[0]), sentences.read(tgt_text, "tgt", form[1])
    return src, tgt, read_gold(gold, src, tgt), pairs.read(candidates)


@evaluate.command(
    "bucc", epilog=example("evaluate bucc --candidates pairs.tsv --gold gold.tsv --src-text a.de --tgt-text a.en")
)
@click.option("--candidates", type=FILE, required=True, help="Mined pairs: score, source id, target id.")
@src_text_option
@tgt_text_option
@click.option("--gold", type=FILE, required=True, help="source id<TAB>target id.")
@form_option
@click.option("--threshold", type=LIMIT, help="The least score; without it the one with the best F1 on these pairs.")
@click.option("--curve", type=OUT, help="Write precision and recall at every threshold as CSV.")
@bootstrap_option
@click.option("-o", "--out", type=OUT, help="Write all figures as JSON, with intervals.")
def evaluate_bucc(
    candidates: Path,
    src_text: Path,
    tgt_text: Path,
    gold: Path,
    form: tuple[str, str],
    threshold: float | None,
    curve: Path | None,
    seed: int,
    out: Path | None,
) -> None:
    """Precision, recall and F1 of mined pairs against a gold file: BUCC's, or of your own texts.

    Prints a line. The JSON has intervals, average precision and a two-fold figure, too.
    """
    import numpy as np

    from bitextbench.base.files import write_json
    from bitextbench.evaluation import bucc, curves

    src, tgt, pairs, mined = _truth(src_text, tgt_text, form, gold, candidates)
    result = bucc.evaluate(mined, pairs, src, tgt, threshold=threshold, seed=seed, where=candidates)
    truth = set(pairs)
    correct = np.array([pair in truth for pair in zip(mined.src, mined.tgt, strict=True)], bool)
    result["average_precision"] = curves.average_precision(mined.scores, correct, len(pairs), seed=seed)
    if curve:
        curves.write(curve, curves.curve(mined.scores, correct), len(pairs))
    if out:
        write_json(out, result)
    click.echo(bucc.summary(result))


@evaluate.command(
    "mining", epilog=example("evaluate mining corpus --src de --tgt en --src-emb v.src.npy --tgt-emb v.tgt.npy")
)
@click.argument("corpus", type=FILE)
@src_option
@tgt_option
@src_shards_option
@tgt_shards_option
@similarities_option("ratio")
@bootstrap_option
@search_options(k=4)
@json_option
def evaluate_mining(
    corpus: Path,
    src: str,
    tgt: str,
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
    similarities: tuple[str, ...],
    seed: int,
    k: int,
    out: Path | None,
    **settings: Any,
) -> None:
    """Hidden pairs of a comparable corpus, by every way of retrieval (Artetxe and Schwenk 2019, Table 2)."""
    from bitextbench.evaluation.mining import evaluate
    from bitextbench.mining import comparable

    vectors = _vectors(src_emb, tgt_emb)
    comparable_corpus = comparable.read(corpus, (src, tgt), seed)
    show(evaluate(comparable_corpus, *vectors, similarities, k, seed=seed, **settings), out)


@evaluate.command(
    "rescoring",
    epilog=example("evaluate rescoring corpus --src de --tgt en --pairs pairs --model a/model.pt --model b/model.pt"),
)
@click.argument("corpus", type=FILE)
@src_option
@tgt_option
@click.option("--pairs", type=FILE, required=True, help="What `rescoring-pairs` wrote.")
@click.option(
    "--model", "models", type=FILE, nargs=1, multiple=True, required=True, help="The cross-encoder of each half."
)
@device_option
@threads_option
@bootstrap_option
@json_option
def evaluate_rescoring(
    corpus: Path,
    src: str,
    tgt: str,
    pairs: Path,
    models: tuple[Path, ...],
    device: str,
    threads: int,
    seed: int,
    out: Path | None,
) -> None:
    """Hidden pairs of a comparable corpus that a cross-encoder selects (Yang et al. 2019, section 6.2)."""
    from bitextbench.evaluation import rescoring
    from bitextbench.mining import comparable

    metrics = rescoring.evaluate(
        comparable.read(corpus, (src, tgt)), pairs, models, seed=seed, threads=threads, device=device
    )
    show({"cross_encoder": metrics}, out)


@evaluate.command(
    "alignment",
    epilog=example("evaluate alignment --src-emb v.src.npy --tgt-emb v.tgt.npy --similarity cosine --similarity csls"),
)
@src_shards_option
@tgt_shards_option
@similarities_option("cosine", " With --model, one that was fitted: mlp. With both texts, levenshtein.")
@click.option(
    "--model",
    "models",
    type=FILE,
    multiple=True,
    help="A fitted similarity; one for each --similarity that learns, in their order.",
)
@click.option(
    "--src-text",
    type=FILE,
    help="Text or corpus of the sources. With both texts, a copy of the right sentence is right, too.",
)
@click.option("--tgt-text", type=FILE, help="The same of the targets.")
@form_option
@bootstrap_option
@search_options(k=10)
@json_option
def evaluate_alignment(
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
    similarities: tuple[str, ...],
    models: tuple[Path, ...],
    src_text: Path | None,
    tgt_text: Path | None,
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
    from bitextbench.scoring import declared

    src, tgt = _aligned(src_emb, tgt_emb)
    lines = [
        _lines(path, side, form, vectors) for path, side, vectors in ((src_text, "src", src), (tgt_text, "tgt", tgt))
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
    show(result, out)


@evaluate.command(
    "separation", epilog=example("evaluate separation --src-emb v.src.npy --tgt-emb v.tgt.npy --tgt-text corpus")
)
@src_shards_option
@tgt_shards_option
@tgt_text_option
@form_option
@search_options(k=10)
@json_option
def evaluate_separation(
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
    tgt_text: Path,
    form: tuple[str, str],
    k: int,
    out: Path | None,
    **settings: Any,
) -> None:
    """Mean cosines of pairs, and of sources with their nearest other target (Yang et al. 2019, figure 4)."""
    from bitextbench.evaluation.separation import separation

    src, tgt = _aligned(src_emb, tgt_emb)
    show(separation(src, tgt, _lines(tgt_text, "tgt", form, tgt), k, **settings), out)


@evaluate.command(
    "reconstruction",
    epilog=example("evaluate reconstruction --src-emb v.src.npy --tgt-emb v.tgt.npy --src-text a.de --tgt-text a.en"),
)
@src_shards_option
@tgt_shards_option
@similarities_option("cosine")
@click.option(
    "--src-text", type=FILE, help="Text or corpus of the sources, for precision by text and the ceiling by index."
)
@click.option("--tgt-text", type=FILE, help="The same of the targets.")
@form_option
@bootstrap_option
@search_options(k=4)
@json_option
def evaluate_reconstruction(
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
    similarities: tuple[str, ...],
    src_text: Path | None,
    tgt_text: Path | None,
    form: tuple[str, str],
    seed: int,
    k: int,
    out: Path | None,
    **settings: Any,
) -> None:
    """P@1, P@3 and P@10 of the true sentence, in both directions (Guo et al. 2018, Yang et al. 2019)."""
    from bitextbench.evaluation import reconstruction

    src, tgt = _aligned(src_emb, tgt_emb)
    lines = [
        _lines(path, side, form, vectors) for path, side, vectors in ((tgt_text, "tgt", tgt), (src_text, "src", src))
    ]
    result = {}
    for similarity in similarities:
        both = reconstruction.ranked(src, tgt, similarity, k, **settings)
        signature = f"similarity:{similarity}|k:{k}"
        result[similarity] = {
            name: reconstruction.precision_at(side.ids, text, seed=seed, signature=signature)
            for name, side, text in zip(both._fields, both, lines, strict=True)
        }
    show(result, out)


@evaluate.command(
    "documents",
    epilog=example("evaluate documents --src-emb v.src.npy --tgt-emb v.tgt.npy --src-docs a.docs --tgt-docs b.docs"),
)
@src_shards_option
@tgt_shards_option
@click.option("--similarity", type=click.Choice(["cosine", "dot"]), default="cosine", help="Similarity of sentences.")
@click.option("--src-docs", type=FILE, required=True, help="The document of each sentence, a line each; or a corpus.")
@click.option("--tgt-docs", type=FILE, required=True, help="The same of the targets.")
@click.option(
    "--model", type=FILE, help="An encoder with a calibrated confidence; else confidence is the cosine, at least 0."
)
@bootstrap_option
@search_options(k=10)
@json_option
def evaluate_documents(
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
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
    from bitextbench.formats.vectors import by_probability
    from bitextbench.mining import documents
    from bitextbench.neighbours import search

    vectors = _vectors(src_emb, tgt_emb)
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
    show({similarity: result}, out)


@evaluate.command("recognition", epilog=example("evaluate recognition tokens --model model.pt --pieces joint.model"))
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
@lowercase_option
@click.option("--sample-seed", type=SEED, default=1, help="Seed of the sampled targets.")
@device_option
@threads_option
@bootstrap_option
@json_option
def evaluate_recognition(
    tokens: Path,
    model: Path,
    pieces: Path,
    similarities: tuple[str, ...],
    draw: str,
    lowercase: bool,
    sample_seed: int,
    device: str,
    threads: int,
    seed: int,
    out: Path | None,
) -> None:
    """How often an encoder scores a pair of a tokenised corpus above its source with a random target (Zhang et al.
    2016).
    """
    from bitextbench.evaluation import recognition

    scores = recognition.scores(
        tokens,
        model,
        pieces,
        similarities,
        draw=draw,
        lowercase=lowercase,
        seed=sample_seed,
        threads=threads,
        device=device,
    )
    results = {
        name: recognition.accuracy(*both, seed=seed, signature=f"similarity:{name}|draw:{draw}")
        for name, both in scores.items()
    }
    show({name: {"accuracy": result} for name, result in results.items()}, out)


@evaluate.command(
    "recognition-scores", epilog=example("evaluate recognition-scores --parallel parallel.npy --sampled sampled.npy")
)
@click.option("--parallel", type=FILE, required=True, help="Scores of the pairs, .npy [n].")
@click.option("--sampled", type=FILE, required=True, help="Scores of sampled targets, .npy [evaluations, n, samples].")
@bootstrap_option
@json_option
def evaluate_recognition_scores(parallel: Path, sampled: Path, seed: int, out: Path | None) -> None:
    """The accuracy of `evaluate recognition`, from the scores of any other system."""
    from bitextbench.base import arrays
    from bitextbench.evaluation import recognition

    scores = (arrays.load(path, "save the scores with numpy.save") for path in (parallel, sampled))
    show(recognition.accuracy(*scores, seed=seed), out)


@step.command("measure-encoder")
@click.argument("name")
@click.option("--test", required=True, help="The test's name.")
@click.option("--training", type=FILE, required=True, help="training.json, which `train` wrote next to the model.")
@src_shards_option
@tgt_shards_option
@corpus_option
@threads_option
@out_option
def measure_encoder(
    name: str,
    test: str,
    training: Path,
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
    corpus: Path,
    threads: int,
    out: Path,
) -> None:
    """Measure an encoder on an aligned test set: error rate and P@1 in both directions, with what its training cost."""
    from bitextbench.base.files import write_json
    from bitextbench.evaluation.encoders import measure

    write_json(out, measure(name, test, training, src_emb, tgt_emb, corpus, threads=threads))


@step.command()
@click.argument("method")
@budget_option
@click.option("--language", type=LANGUAGE, required=True, help="Target language code.")
@click.option(
    "--hypotheses",
    type=(SEED, str, FILE),
    multiple=True,
    required=True,
    help="SEED TEST PATH of a model's translation.",
)
@references_option
@out_option
def bleu(
    method: str,
    budget: str,
    language: str,
    hypotheses: tuple[tuple[int, str, Path], ...],
    references: tuple[tuple[str, Path], ...],
    out: Path,
) -> None:
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


@step.command()
@click.option(
    "--language",
    "languages",
    type=(str, str),
    multiple=True,
    required=True,
    help="TEST CODE: the language of a test's targets.",
)
@click.option(
    "--hypotheses",
    type=(str, str, str, FILE),
    multiple=True,
    required=True,
    help="ROW BUDGET TEST PATH of a model; a row may have several. Rows of one budget, or column, are compared.",
)
@references_option
@out_option
def significance(
    languages: tuple[tuple[str, str], ...],
    hypotheses: tuple[tuple[str, str, str, Path], ...],
    references: tuple[tuple[str, Path], ...],
    out: Path,
) -> None:
    """Compare the rows of a table with each other by paired bootstrap; writes CSV."""
    from bitextbench.base.files import read_lines
    from bitextbench.evaluation.significance import compare, write
    from bitextbench.formats.bitext import read_side

    columns: dict[tuple[str, str], dict[str, list[list[str]]]] = {}
    for row, budget, test, path in hypotheses:
        columns.setdefault((budget, test), {}).setdefault(row, []).append([*read_lines(path)])
    texts = {test: read_side(folder, "tgt") for test, folder in references}
    of = dict(languages)
    compared = (compare(systems, texts[test], of[test], budget, test) for (budget, test), systems in columns.items())
    write([comparison for column in compared for comparison in column], out)


@evaluate.command(
    "translation",
    epilog=example(
        "evaluate translation hypotheses.en --references reference.en --language en --training training.json -o bleu.json"
    ),
)
@click.argument("hypotheses", type=FILE)
@click.option("--references", type=FILE, required=True, help="The test corpus.")
@click.option("--language", type=LANGUAGE, required=True, help="Target language code.")
@click.option("--training", type=FILE, required=True, help="selection.json of the text that the model was trained on.")
@out_option
def evaluate_translation(hypotheses: Path, references: Path, language: str, training: Path, out: Path) -> None:
    """BLEU of a translated test set, detokenised and tokenised, and the number and the precision of the training pairs."""
    from bitextbench.base.files import read_json, read_lines
    from bitextbench.evaluation import bleu
    from bitextbench.formats.bitext import read_side
    from bitextbench.formats.metrics import millions

    lines, truth, facts = list(read_lines(hypotheses)), read_side(references, "tgt"), read_json(training)
    result = {
        "bleu": bleu.bleu(lines, truth, language, hypotheses),
        "tokenised": bleu.tokenised(lines, truth, language, hypotheses),
        "pairs": millions(facts["pairs"]),
        **({"precision": facts["precision"]} if "precision" in facts else {}),
    }
    show(result, out)


@step.command("size")
@corpus_option
@out_option
def size(corpus: Path, out: Path) -> None:
    """The number of pairs of a corpus after its filters, in millions."""
    from bitextbench.base.files import read_json, write_json
    from bitextbench.formats.metrics import millions

    write_json(out, {"pairs": millions(read_json(corpus / "counts.json")["out"])})


@step.command("posteriors")
@click.argument("ids", type=FILE, nargs=-1, required=True)
@click.option(
    "--model", "models", type=Mapping(), multiple=True, required=True, help="forward=FOLDER and backward=FOLDER."
)
@device_option
@bootstrap_option
@out_option
def posteriors(ids: tuple[Path, ...], models: tuple[tuple[str, Path], ...], device: str, seed: int, out: Path) -> None:
    """Error rates of alignment recovery by translation models, over id shards (named without .src and .tgt)."""
    from bitextbench.base.files import write_json
    from bitextbench.evaluation.alignment import error_rates
    from bitextbench.evaluation.posteriors import align

    aligned = align(ids, dict(models), device=device)
    write_json(out, {"nmt": error_rates(*aligned, seed=seed, signature="similarity:nmt")})


@evaluate.command(
    "agreement",
    epilog=example(
        "evaluate agreement --src-emb v.src.npy --tgt-emb v.tgt.npy --scores s.npy --model model.pt --tuned tuned.npz -o agreement.json"
    ),
)
@extreme_options
@click.option(
    "--tuned",
    type=FILE,
    required=True,
    help="The tuned confidence: what `tune-confidence` wrote with the same options.",
)
@out_option
def evaluate_agreement(
    src_emb: tuple[Path, ...],
    tgt_emb: tuple[Path, ...],
    scores: tuple[Path, ...],
    model: Path,
    best: float,
    worst: float,
    seed: int,
    tuned: Path,
    out: Path,
) -> None:
    """Measure how far a confidence agrees with the scores that it was tuned by (Guo et al. 2018, section 5)."""
    from bitextbench.evaluation.agreement import agreement

    src, tgt, pair_scores = scored_pairs(src_emb, tgt_emb, scores)
    show(agreement(model, tuned, src, tgt, pair_scores, {"best": best, "worst": worst}, seed), out)


@evaluate.command("quality", epilog=example("evaluate quality --corpus corpus --scores 00000.npy --scores 00001.npy"))
@corpus_option
@scores_option
@bootstrap_option
@json_option
def evaluate_quality(corpus: Path, scores: tuple[Path, ...], seed: int, out: Path | None) -> None:
    """Average precision and ROC-AUC of scores, over all labelled pairs and by kind of noise."""
    from bitextbench.evaluation.quality import evaluate as run

    show(run(corpus, scores, seed=seed), out)


@evaluate.command("selection", epilog=example("evaluate selection --corpus corpus --scores 00000.npy --words 10000"))
@corpus_option
@scores_option
@click.option("--words", type=COUNT, required=True, help="The budget.")
@count_option
@bootstrap_option
@json_option
def evaluate_selection(
    corpus: Path, scores: tuple[Path, ...], words: int, count: str, seed: int, out: Path | None
) -> None:
    """Measure the precision, counted in words, of a selection."""
    from bitextbench.evaluation.selections import precision

    show(precision(corpus, scores, words, count, seed=seed), out)


@evaluate.command(
    "distribution",
    epilog=example("evaluate distribution --scores cosine 00000.npy --picture curve.svg -o curve.csv"),
)
@named_scores_option
@click.option("--logits", multiple=True, help="A method whose scores are logits: shown as probabilities.")
@picture_option
@out_option
def evaluate_distribution(
    scores: tuple[tuple[str, Path], ...], logits: tuple[str, ...], picture: Path | None, out: Path
) -> None:
    """Scores at equidistant ranks (kim2019, figure 3): CSV."""
    from bitextbench.evaluation.selections import distribution

    curves = distribution(by_method(scores), logits, out)
    if picture:
        from bitextbench.report import plots

        plots.save(plots.distribution_curves(curves, "distribution"), picture)


@evaluate.command("shares", epilog=example("evaluate shares --scores 00000.npy --scores 00001.npy"))
@scores_option
@bootstrap_option
@json_option
def evaluate_shares(scores: tuple[Path, ...], seed: int, out: Path | None) -> None:
    """Share of pairs whose probability is near 0 or 1, of scores that are logits (kim2019, figure 3)."""
    from bitextbench.evaluation.selections import shares

    show(shares(scores, seed=seed), out)


@evaluate.command(
    "sweep", epilog=example("evaluate sweep --corpus corpus --scores cosine 00000.npy --picture sweep.svg -o sweep.csv")
)
@corpus_option
@named_scores_option
@count_option
@picture_option
@out_option
def evaluate_sweep(
    corpus: Path, scores: tuple[tuple[str, Path], ...], count: str, picture: Path | None, out: Path
) -> None:
    """Measure the selection at many thresholds, without translation models: CSV."""
    from bitextbench.evaluation.selections import sweep

    steps = sweep(corpus, by_method(scores), count, out)
    if picture:
        from bitextbench.report import plots

        plots.save(plots.precision_curves(steps, "sweep"), picture)


@step.command("validation-bleu")
@click.argument("data", type=FILE)
@click.option("--model", type=FILE, required=True, help="A folder with trained translation models.")
@click.option("--tokens", type=FILE, required=True, help="The validation corpus tokenised.")
@click.option("--references", type=FILE, required=True, help="The corpus itself.")
@click.option("--spec", type=Spec(), required=True, help="The entry `nmt` of the configuration.")
@src_option
@tgt_option
@device_option
@threads_option
@out_option
def validation_bleu(
    data: Path,
    model: Path,
    tokens: Path,
    references: Path,
    spec: dict[str, Any],
    src: str,
    tgt: str,
    device: str,
    threads: int,
    out: Path,
) -> None:
    """Translate a corpus with a trained NMT model, and score the translation."""
    from bitextbench.base.files import read_lines, write_json
    from bitextbench.base.outputs import scratch
    from bitextbench.evaluation.bleu import bleu
    from bitextbench.formats.bitext import read_side
    from bitextbench.nmt.translate import translate

    with scratch() as folder:
        path = folder / f"valid.{tgt}"
        sources = {"valid": read_side(tokens, "src")}
        translate([model], data, (src, tgt), sources, spec, {"valid": path}, device=device, threads=threads)
        write_json(out, bleu(list(read_lines(path)), read_side(references, "tgt"), tgt, path))
