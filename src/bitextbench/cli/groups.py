"""The two groups of commands: those for people, and under `step` those that only the workflow calls.

A module of this package adds its commands with `@cli.command(epilog=example("..."))`, or `@step.command()`.
"""

import click

from bitextbench import __version__


def example(command: str) -> str:
    """The end of a command's help: an example of a call."""
    return f"\b\nExample:\n  bitextbench {command}"


@click.group(context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Mine, filter and score parallel text, and reproduce the tables of five papers on it."""


@cli.group(epilog="`snakemake --printshellcmds` prints each call as the workflow makes it.")
def step() -> None:
    """One step of the workflow. Each rule of Snakemake calls one of these; all of them work without Snakemake."""


@cli.group(epilog=example("evaluate bucc --help"))
def evaluate() -> None:
    """Measure how well pairs, scores or vectors fit the truth; prints JSON."""
