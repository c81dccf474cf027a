"""The command line: one command a stage. Every Snakemake rule calls one; all of them work without Snakemake.

`--spec` takes what comes from a configuration, as JSON or as `@file.yaml`. Modules are imported where they are used: a
short job does not wait for torch.
"""

import errno
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

import click

from bitextbench.base import streams
from bitextbench.base.errors import InputError
from bitextbench.base.memory import keep_few_kernels, keep_freed
from bitextbench.base.pipes import end_of_pipe
from bitextbench.cli import (  # noqa: F401  they add their commands
    bleu,
    corpus,
    data,
    encoders,
    evaluation,
    filtering,
    listing,
    measures,
    mining,
    nmt,
    plan,
    report,
    scoring,
    smt,
    text,
)
from bitextbench.cli.groups import cli


def main() -> None:
    """Run a command.

    Bad input, or a place that cannot be written, ends in one line on standard error and exit code 2. Ctrl-C gives exit
    code 130, SIGTERM 143, and a closed pipe 141 without a message.
    """
    streams.prepare()
    keep_freed()
    keep_few_kernels()
    signal.signal(signal.SIGTERM, _terminated)
    sys.unraisablehook = _dropped
    try:
        sys.exit(cli(standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted; nothing is half-written, and the same command goes on with what is kept", 130)
    except InputError as error:
        _fail(str(error), 2)
    except OSError as error:
        if error.errno == errno.EPIPE:
            end_of_pipe()
        if (remedy := _remedy(error)) is None:
            raise
        place = error.filename2 or error.filename
        _fail(f"{f'{place}: ' if place else ''}{error.strerror or error}; {remedy}", 2)


def _terminated(*_: object) -> NoReturn:
    """End as by Ctrl-C, so that nothing half-written is left: a queue sends this signal at the time limit."""
    os.write(
        2, b"bitextbench: error: terminated; nothing is half-written, and the same command goes on with what is kept\n"
    )
    sys.exit(128 + signal.SIGTERM)


def _dropped(dropped: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt a little later that Python dropped: one within a callback, such as those of LLVM's cache."""
    if not isinstance(dropped.exc_value, KeyboardInterrupt | SystemExit):
        return sys.__unraisablehook__(dropped)
    again = type(dropped.exc_value)(*dropped.exc_value.args)

    def later(*_: object) -> NoReturn:
        raise again

    signal.signal(signal.SIGALRM, later)
    signal.setitimer(signal.ITIMER_REAL, 0.02)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"bitextbench: error: {message}", err=True)
    sys.exit(code)


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
    errno.ESTALE: "look at this disk",
    errno.ELOOP: "a part of this path is a link to itself: name another place",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
}


def _remedy(error: OSError) -> str | None:
    """The remedy for an error of the system; None if no user can cause the error."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        if not error.filename:  # of a stream
            return "free some space, or write to another disk"
        place = Path(error.filename).absolute()
        free = shutil.disk_usage(next(folder for folder in place.parents if folder.is_dir())).free
        return f"{free:,} bytes are free there: free some space, or name another place"
    if error.errno is None and "requested and" in str(error):  # as numpy says that a disk is full
        return "is the disk full?"
    return REMEDIES.get(error.errno or 0)


if __name__ == "__main__":
    main()
