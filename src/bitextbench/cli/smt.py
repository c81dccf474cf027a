"""Commands of the hierarchical phrase-based system."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli import options as opt
from bitextbench.cli.groups import step
from bitextbench.cli.options import COUNT, FILE, LARGEST, NATURAL, OUT, Numeric, Output

grammar_option = click.option("--grammar", type=FILE, required=True, help="The rules.")
arpa_option = click.option(
    "--lm", "arpa", type=FILE, required=True, help="An n-gram model of the target language: ARPA."
)
source_option = click.option("--source", type=FILE, required=True, help="A text of tokens, a line a sentence.")
beam_option = click.option("--beam", type=NATURAL, default=200, help="Derivations of a span; 0: all.")
# 10 words: Chiang 2007, section 5.3
span_option = click.option("--span", type=COUNT, default=10, help="The most words that a rule spans; glue joins more.")


@step.command("smt-align")
@click.argument("tokens", type=FILE, nargs=-1, required=True)
@opt.lowercase_option
@opt.out_option
def smt_align(tokens: tuple[Path, ...], lowercase: bool, out: Path) -> None:
    """Align the words of tokenised corpora: a line a pair, `0-0 1-2`."""
    from bitextbench.smt.alignment import align_corpora

    align_corpora(tokens, out, lowercase=lowercase)


@step.command("smt-grammar")
@click.argument("tokens", type=FILE, nargs=-1, required=True)
@click.option("--links", type=FILE, required=True, help="The word alignment of these corpora.")
@click.option("--source", "sources", type=FILE, multiple=True, required=True, help="A text that is to be translated.")
@click.option("--limit", type=COUNT, default=20, help="The most rules of one source side.")
@opt.lowercase_option
@opt.out_option
def smt_grammar(tokens: tuple[Path, ...], links: Path, sources: tuple[Path, ...], out: Path, **more: Any) -> None:
    """Extract and score the hierarchical rules that texts can use."""
    from bitextbench.smt.grammar import make

    make(tokens, links, sources, out, **more)


@step.command("smt-decode")
@grammar_option
@arpa_option
@click.option("--weights", type=FILE, required=True, help="JSON: a number for each feature; `smt-tune` writes it.")
@source_option
@click.option("--nbest", "count", type=COUNT, default=1, help="Translations of a sentence in --nbest-output.")
@click.option("--nbest-output", "list_out", type=OUT, help="N-best lists, as Moses writes them.")
@beam_option
@span_option
@opt.threads_option
@opt.out_option
def smt_decode(grammar: Path, arpa: Path, weights: Path, source: Path, out: Path, **more: Any) -> None:
    """Translate a text of tokens by a grammar and a language model."""
    from bitextbench.smt.translate import translate

    translate(grammar, arpa, weights, source, out, **more)


@step.command("smt-tune")
@grammar_option
@arpa_option
@source_option
@click.option("--references", type=FILE, multiple=True, required=True, help="A translation of the text.")
@click.argument("more", metavar="[REFERENCES]...", type=FILE, nargs=-1)
@opt.seed_option
@click.option("--nbest", "count", type=COUNT, default=100, help="Translations of a sentence in a round.")
@click.option("--rounds", type=COUNT, default=12, help="The most decodings.")
@beam_option
@span_option
@opt.threads_option
@opt.out_option
def smt_tune(references: tuple[Path, ...], more: tuple[Path, ...], **given: Any) -> None:
    """Find the weights with the highest BLEU on a text, by minimum error rate training; the rounds go to
    <out>.rounds.json.
    """
    from bitextbench.smt.tuning import tune_files

    tune_files(references=[*references, *more], **given)


@step.command("smt-text")
@click.argument("tokens", type=FILE)
@opt.lowercase_option
@opt.out_option
def smt_text(tokens: Path, lowercase: bool, out: Path) -> None:
    """Write both sides of a tokenised corpus as texts, <out>.src and <out>.tgt: what is translated, and a reference."""
    from bitextbench.formats.bitext import SIDES
    from bitextbench.smt.words import write_side

    for side in SIDES:
        write_side(tokens, side, Path(f"{out}.{side}"), lowercase=lowercase)


@step.command("smt-language-model")
@click.argument("tokens", type=FILE, nargs=-1, required=True)
@click.option("--side", type=click.Choice(["src", "tgt"]), default="tgt", help="Which side.")
@click.option("--order", type=Numeric(int, 2, LARGEST), default=4, help="Words of the longest n-gram.")
@opt.lowercase_option
@opt.out_option
def smt_language_model(tokens: tuple[Path, ...], side: str, order: int, lowercase: bool, out: Path) -> None:
    """Estimate an n-gram model with modified Kneser-Ney smoothing; writes ARPA."""
    from bitextbench.smt.kneser_ney import estimate

    estimate(tokens, side, order, out, lowercase=lowercase)


@step.command("smt-similarity")
@click.argument("grammar", type=FILE)
@click.option("--model", type=FILE, required=True, help="A descriptor_autoencoder or bow_autoencoder.")
@click.option("--pieces", type=FILE, required=True, help="The encoder's text model.")
@opt.lowercase_option
@opt.device_option
@opt.threads_option
@opt.out_option
def smt_similarity(grammar: Path, model: Path, pieces: Path, out: Path, **more: Any) -> None:
    """Add the similarity of their phrases to the features of rules."""
    from bitextbench.smt.similarity import add

    add(grammar, model, pieces, out, **more)


references_option = click.option(
    "--references",
    type=(str, FILE),
    multiple=True,
    required=True,
    help="TEST PATH, several for a test that has several.",
)


@step.command("smt-bleu")
@click.option(
    "--hypotheses", type=(str, FILE), multiple=True, required=True, help="NAME PATH of a translated test set."
)
@click.option("--references", type=FILE, multiple=True, required=True, help="A text; may be given several times.")
@click.option("-o", "--out", type=Output("folder", shared=True), required=True, help="A folder.")
def smt_bleu(hypotheses: tuple[tuple[str, Path], ...], references: tuple[Path, ...], out: Path) -> None:
    """BLEU of tokens as NIST has it: case-insensitive, with the shortest of several references; writes
    <out>/<name>.json.
    """
    from bitextbench.base.json_yaml import write_json
    from bitextbench.base.lines import read_lines
    from bitextbench.evaluation.bleu import nist

    texts = [list(read_lines(path)) for path in references]
    for name, path in hypotheses:
        write_json(out / f"{name}.json", {"bleu": nist(list(read_lines(path)), texts, path)})


@step.command("smt-significance")
@click.option(
    "--hypotheses",
    type=(str, str, str, FILE),
    multiple=True,
    required=True,
    help="ROW COLUMN TEST PATH of a tuning; a row may have several.",
)
@references_option
@opt.out_option
def smt_significance(
    hypotheses: tuple[tuple[str, str, str, Path], ...], references: tuple[tuple[str, Path], ...], out: Path
) -> None:
    """Compare the rows of a table with each other by paired bootstrap of tokens; writes CSV."""
    from bitextbench.base.lines import read_lines
    from bitextbench.evaluation.significance import compare_nist, write_columns

    texts = {test: [[*read_lines(path)] for path in paths] for test, paths in opt.by_name(references).items()}
    write_columns(
        hypotheses, lambda systems, column, test: compare_nist(systems, texts.get(test, []), column, test), out
    )
