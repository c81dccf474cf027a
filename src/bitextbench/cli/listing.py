"""`bitextbench list`: what can be named on the command line and in a configuration; part of `cli`."""

import ast
from collections.abc import Iterable
from pathlib import Path

import click

from bitextbench.cli.groups import cli, example

Entries = Iterable[tuple[str, str]]  # a name, and what it is


def first_sentence(path: Path) -> str:
    """What a module says of itself, up to the first full stop; the module is not imported."""
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split())


def encoders() -> Entries:
    """Encoders: those in the box, then the types that can be trained."""
    from bitextbench.base import members
    from bitextbench.encoders.plain import IN_PACKAGES

    for name in IN_PACKAGES:
        module = Path(__file__).parents[1] / "encoders" / f"{name.partition('-')[0]}.py"
        yield name, f"for --encoder: {first_sentence(module)}"
    yield from ((name, f"to train: {first_sentence(path)}") for name, path in members.sources("encoders").items())


def similarities() -> Entries:
    """Similarities: the scores of a pair, for `filter` and `score` and as `methods` of a configuration."""
    from bitextbench.base import members
    from bitextbench.mining.scorers import ELSEWHERE
    from bitextbench.scoring import declared

    for name, path in members.sources("similarities").items():
        about = declared(name)
        where = "filter" if about.fit == "neighbourhoods" else "filter and score"
        where = "a configuration" if {*about.needs} & {*ELSEWHERE} else where
        yield name, f"for {where}: {first_sentence(path)}"


def margins() -> Entries:
    """Margins: the scores of a pair of neighbours, for `mine` and, by cosine, for `filter`."""
    from bitextbench.scoring.margins import FORMULAS, SIMILARITIES

    means = "f and g: mean cosines of the source and of the target to their k nearest neighbours"
    of = {"cosine": "the cosine", "dot": "the dot product", "euclidean": "minus the Euclidean distance"}
    for name, (metric, margin) in SIMILARITIES.items():
        formula = FORMULAS[margin]
        where = f", where a is {of[metric]} of the pair" + (f"; {means}" if set(formula) & set("bfg") else "")
        where += "; b = (f + g) / 2" if "b" in formula else ""
        same = {"cosine": "; the same as absolute", "absolute": "; the same as cosine"}.get(name, "")
        yield name, formula + where + same + ("" if metric == "cosine" else "; for `mine` alone")


def rules() -> Entries:
    """Rules of `filter`; what it does without --rules is marked."""
    from bitextbench.corpus.prefilter import RULES
    from bitextbench.mining.crawl import RULES as DEFAULT

    for name, rule in RULES.items():
        said = " ".join((rule.__doc__ or "").split())
        yield name, said + (f" (by default {DEFAULT[name]})" if name in DEFAULT else "")


def datasets() -> Entries:
    """Data sets of the registry: `bitextbench fetch NAME` fetches one."""
    from bitextbench.data import registry

    yield from ((entry.name, f"{'-'.join(entry.langs)}; {entry.licence}") for entry in registry.load().values())


KINDS = {"encoders": encoders, "similarities": similarities, "margins": margins, "rules": rules, "datasets": datasets}


@cli.command("list", epilog=example("list similarities"))
@click.argument("kind", type=click.Choice([*KINDS]), metavar="|".join(KINDS))
def listing(kind: str) -> None:
    """List the encoders, similarities, margins, filter rules or data sets that can be named: a name, a tab, what it is."""
    for name, what in KINDS[kind]():
        click.echo(f"{name}\t{what}")
