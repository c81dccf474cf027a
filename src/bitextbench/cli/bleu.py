"""Steps of the workflow that measure translations; part of `cli`."""

from pathlib import Path
from typing import Any

import click

from bitextbench.cli import options as opt
from bitextbench.cli.groups import step
from bitextbench.cli.options import FILE, LANGUAGE, SEED, Mapping, Spec

references_option = click.option("--references", type=Mapping(), multiple=True, required=True, help="A test corpus.")


@step.command()
@click.argument("method")
@opt.budget_option
@click.option("--language", type=LANGUAGE, required=True, help="Target language code.")
@click.option(
    "--hypotheses",
    type=(SEED, str, FILE),
    multiple=True,
    required=True,
    help="SEED TEST PATH of a model's translation.",
)
@references_option
@opt.out_option
def bleu(
    method: str,
    budget: str,
    language: str,
    hypotheses: tuple[tuple[int, str, Path], ...],
    references: tuple[tuple[str, Path], ...],
    out: Path,
) -> None:
    """Score hypotheses; writes <out>/<seed>/<test>.json."""
    from bitextbench.base.json_yaml import write_json
    from bitextbench.base.lines import read_lines
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
@opt.out_option
def significance(
    languages: tuple[tuple[str, str], ...],
    hypotheses: tuple[tuple[str, str, str, Path], ...],
    references: tuple[tuple[str, Path], ...],
    out: Path,
) -> None:
    """Compare the rows of a table with each other by paired bootstrap; writes CSV."""
    from bitextbench.evaluation.significance import compare, write_columns
    from bitextbench.formats.bitext import read_side

    texts = {test: read_side(folder, "tgt") for test, folder in references}
    of = dict(languages)
    write_columns(hypotheses, lambda systems, budget, test: compare(systems, texts[test], of[test], budget, test), out)


@step.command("measure-translation")
@click.argument("hypotheses", type=FILE)
@click.option("--references", type=FILE, required=True, help="The test corpus.")
@click.option("--language", type=LANGUAGE, required=True, help="Target language code.")
@click.option("--training", type=FILE, required=True, help="selection.json of the text that the model was trained on.")
@opt.out_option
def measure_translation(hypotheses: Path, references: Path, language: str, training: Path, out: Path) -> None:
    """BLEU of a translated test set, detokenised and tokenised, and the number and the precision of the training pairs."""
    from bitextbench.base.json_yaml import read_json
    from bitextbench.base.lines import read_lines
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
    opt.show(result, out)


@step.command("validation-bleu")
@click.argument("data", type=FILE)
@click.option("--model", type=FILE, required=True, help="A folder with trained translation models.")
@click.option("--tokens", type=FILE, required=True, help="The validation corpus tokenised.")
@click.option("--references", type=FILE, required=True, help="The corpus itself.")
@click.option("--spec", type=Spec(), required=True, help="The entry `nmt` of the configuration.")
@opt.languages_option
@opt.device_option
@opt.threads_option
@opt.out_option
def validation_bleu(
    data: Path,
    model: Path,
    tokens: Path,
    references: Path,
    spec: dict[str, Any],
    languages: tuple[str, str],
    out: Path,
    **more: Any,
) -> None:
    """Translate a corpus with a trained NMT model, and score the translation."""
    from bitextbench.base.json_yaml import write_json
    from bitextbench.base.lines import read_lines
    from bitextbench.base.outputs import scratch
    from bitextbench.evaluation.bleu import bleu
    from bitextbench.formats.bitext import read_side
    from bitextbench.nmt.translate import translate

    tgt = languages[1]
    with scratch() as folder:
        path = folder / f"valid.{tgt}"
        sources = {"valid": read_side(tokens, "src")}
        translate([model], data, languages, sources, spec, {"valid": path}, **more)
        write_json(out, bleu(list(read_lines(path)), read_side(references, "tgt"), tgt, path))
