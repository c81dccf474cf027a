"""The two groups of commands: those for people, and under `step` those that only the workflow calls.

A module of this package adds its commands with `@cli.command(epilog=example("..."))`, or `@step.command()`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from bitextbench import __version__
from bitextbench.base.errors import InputError
from bitextbench.base.outputs import check_distinct
from bitextbench.base.pipes import DASH, check_inputs, end_of_pipe, is_dash
from bitextbench.cli.options import Output


class Command(click.Command):
    """A command that refuses an output that is an input, or another output, and two inputs that are one stream, before it
    begins. Where the reader of its standard output has gone, it ends with 141, without a word.
    """

    def get_short_help_str(self, limit: int = 45) -> str:
        """The whole first sentence of the help; `et al.`, where click would end it, is within one."""
        paragraph = " ".join((self.help or "").split("\n\n")[0].split())
        return re.split(r"(?<!\bal)(?<!\beq)\. ", paragraph)[0].removesuffix(".")

    def invoke(self, ctx: click.Context) -> Any:
        self.check(ctx)
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # else click takes it for an error of its own
            end_of_pipe()

    def check(self, ctx: click.Context) -> None:
        """Raises InputError for outputs and inputs that are not distinct."""
        outputs, inputs = (
            [
                path
                for param in self.params
                if isinstance(param.type, Output) == written and not getattr(param.type, "shared", False)
                for path in paths(ctx.params.get(param.name or ""))
            ]
            for written in (True, False)
        )
        if [*map(str, outputs)].count(DASH) > 1:
            raise InputError("two outputs to standard output", remedy="name a file for one of them")
        check_inputs(inputs)
        check_distinct(*([path for path in held if not is_dash(path)] for held in (outputs, inputs)))


def paths(value: Any) -> Iterator[Path]:
    """The paths in the value of a parameter."""
    if isinstance(value, tuple):
        for part in value:
            yield from paths(part)
    elif isinstance(value, Path):
        yield value


class Group(click.Group):
    """A group of such commands, whose help has the whole first sentence of each, on as many lines as it takes."""

    command_class = Command
    group_class = type  # groups within it are of this class, too

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=500)) for name, one in found if one])


def example(command: str) -> str:
    """The end of a command's help: an example of a call."""
    return f"\b\nExample:\n  bitextbench {command}"


@click.group(cls=Group, context_settings={"show_default": True, "help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def cli() -> None:
    """Mine, filter and score parallel text, and reproduce the tables of five papers on it."""


@cli.group(epilog="`snakemake --printshellcmds` prints each call as the workflow makes it.")
def step() -> None:
    """One step of the workflow. Each rule of Snakemake calls one of these; all of them work without Snakemake."""


@cli.group(epilog=example("evaluate bucc --candidates pairs.tsv --gold gold.tsv"))
def evaluate() -> None:
    """Measure how well pairs, scores or vectors fit the truth; prints JSON, or `bucc` a line. Your own mined pairs: `bucc`."""
