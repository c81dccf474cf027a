"""A logger of Snakemake that shows the stages of a run in words, and how far it is: `snakemake --logger stages`.

On a terminal one line moves. Elsewhere a line is written when a stage begins, and at least every QUIET seconds a sign: a
line of progress, then SIGNS shares at its end, then the next such line. So `make tiny` writes at most 40 lines if it takes
up to 15 minutes, and each further hour adds 11. Progress is weighted by what the jobs of each rule are expected to take.
Snakemake's own log file has every detail; the last line names it. A dry run, errors and warnings are shown as Snakemake
shows them, but a command without its text of standard input: that is the whole configuration.
"""

import csv
import logging
import re
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from snakemake_logger_plugin_stages.stages import Run

QUIET = 30  # seconds that pass without a sign at most, where there is no terminal
SIGNS = 10  # shares at the end of a line of progress


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    seconds: Optional[Path] = field(  # noqa: UP045 - the interface reads Optional alone
        default=None, metadata={"help": "What a job of each rule takes: a CSV file with the columns rule, seconds"}
    )


class LogHandler(LogHandlerBase):
    """Follows a run by Snakemake's events, and writes to standard error."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.stream = sys.stdout if self.common_settings.stdout else sys.stderr
        self.terminal = self.stream.isatty() and not self.common_settings.nocolor
        self.plain = bool(
            self.common_settings.dryrun or self.common_settings.verbose or self.common_settings.printshellcmds
        )
        self.run: Run | None = None
        self.last, self.signs = time.monotonic(), 0
        self.before = ""  # what has to come before the next line: it ends or erases one that is open
        self.ended, self.writing = threading.Event(), threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        if self.plain:
            self.write(self.format(record))
            return
        match getattr(record, "event", None):
            case LogEvent.RUN_INFO:
                self.begin(record.stats)  # type: ignore[attr-defined]
            case LogEvent.JOB_INFO if self.run:
                self.write(self.run.start(record.jobid, record.rule_name, time.monotonic()))  # type: ignore[attr-defined]
            case LogEvent.JOB_FINISHED if self.run:
                self.run.finish(record.job_id)  # type: ignore[attr-defined]
            case LogEvent.JOB_ERROR | LogEvent.GROUP_ERROR | LogEvent.ERROR:
                self.write(re.sub("<<< .*", "<<< ...", self.format(record)))
            case _ if record.levelno >= logging.WARNING:
                self.write(self.format(record))
            case None if record.getMessage().startswith(("Complete log", "Nothing to be done")):
                self.finish(record.getMessage())

    def begin(self, stats: dict[str, int]) -> None:
        """Start to follow a run of so many jobs of each rule."""
        jobs = Counter({rule: count for rule, count in stats.items() if rule != "total"})
        self.run = Run(jobs, expected(self.settings.seconds if self.settings else None), time.monotonic())  # type: ignore[attr-defined]
        self.write(self.run.opening())
        threading.Thread(target=self.tick, daemon=True).start()

    def tick(self) -> None:
        """Show the progress until the run ends: each second on a terminal, else where nothing was written for a while."""
        while not self.ended.wait(1):
            assert self.run
            if self.terminal:
                self.move(self.run.progress(time.monotonic()))
            elif time.monotonic() - self.last >= QUIET - 1:
                self.sign(self.run, time.monotonic())

    def move(self, line: str) -> None:
        with self.writing:
            self.before = "\r\x1b[K"
            self.stream.write(f"{self.before}{line[:79]}")
            self.stream.flush()

    def sign(self, run: Run, now: float) -> None:
        """Begin a line of progress; or write the share alone at the end of one that is open and has room."""
        with self.writing:
            room = self.before and self.signs < SIGNS
            self.stream.write(f" {run.share(now):.0%}" if room else self.before + run.progress(now))
            self.stream.flush()
            self.before, self.last, self.signs = "\n", now, self.signs + 1 if room else 0

    def write(self, *lines: str) -> None:
        with self.writing:
            for line in filter(None, lines):
                self.stream.write(self.before + line.rstrip("\n") + "\n")
                self.before, self.last = "", time.monotonic()
            self.stream.flush()

    def finish(self, message: str) -> None:
        self.ended.set()
        self.write(self.run.closing(time.monotonic()) if self.run else "", message)

    def close(self) -> None:
        self.ended.set()
        self.stream.write(self.before)
        self.before = ""
        super().close()


def expected(path: Path | None) -> dict[str, float]:
    """What a job of each rule takes, in seconds; without a file nothing is known."""
    if path is None:
        return {}
    with open(path, encoding="utf-8", newline="") as lines:
        rows: Any = csv.DictReader(lines)
        return {row["rule"]: float(row["seconds"]) for row in rows}
