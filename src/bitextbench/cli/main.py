"""The command line: one command a stage. Every Snakemake rule calls one; all of them work without Snakemake.

`--spec` takes what comes from a configuration, as JSON or as `@file.yaml`. Modules are imported where they are used: a short
job does not wait for torch.
"""

import errno
import shutil
import sys
from pathlib import Path

import click

from bitextbench.base.errors import InputError
from bitextbench.base.memory import keep_freed
from bitextbench.cli import corpus, data, encoders, evaluation, mining, nmt, report, scoring, text  # noqa: F401  they add their commands
from bitextbench.cli.groups import cli


def main() -> None:
    """Run a command; bad input, or a place that cannot be written, ends in one line on standard error and exit code 1."""
    keep_freed()
    try:
        cli()
    except InputError as error:
        click.echo(f"bitextbench: error: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if (remedy := _remedy(error)) is None:
            raise
        place = error.filename2 or error.filename
        click.echo(f"bitextbench: error: {f'{place}: ' if place else ''}{error.strerror or error}; {remedy}", err=True)
        sys.exit(1)


REMEDIES = {
    errno.EACCES: "give yourself the right to it, or name another place",
    errno.EPERM: "give yourself the right to it, or name another place",
    errno.EROFS: "name a place that can be written",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "a part of this path is a file: name another place",
    errno.EEXIST: "a part of this path is a file: name another place",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EIO: "look at this disk",
}


def _remedy(error: OSError) -> str | None:
    """What to do about an error of the system; None for one that a user cannot cause."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = Path(error.filename or ".").absolute()
        free = shutil.disk_usage(next(folder for folder in place.parents if folder.is_dir())).free
        return f"{free:,} bytes are free there: free some space, or name another place"
    if error.errno is None and "requested and" in str(error):  # as numpy says that a disk is full
        return "is the disk full?"
    return REMEDIES.get(error.errno or 0)


if __name__ == "__main__":
    main()
