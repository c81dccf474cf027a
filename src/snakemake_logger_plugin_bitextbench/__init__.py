"""A logger plugin of Snakemake: the jobs of a plan as JSON, a line a job, for `bitextbench plan` and `bitextbench check`.

snakemake -n --logger bitextbench --logger-bitextbench-out jobs.jsonl
"""

import json
from dataclasses import dataclass, field
from logging import LogRecord
from pathlib import Path
from typing import Any, Optional

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

NAMED = ("rule_name", "wildcards", "input", "output", "threads")  # what a job says of itself


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    out: Optional[Path] = field(  # noqa: UP045  Snakemake reads this type
        default=None, metadata={"help": "Where the jobs go: JSON lines.", "required": True}
    )


class LogHandler(LogHandlerBase):
    """Writes each job, and the number of the submission that it goes into the queue with."""

    writes_to_stream = False
    writes_to_file = True
    has_filter = True  # all events, however quiet the run
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.submission, self.baseFilename = 0, str(self.settings.out)
        self.written = open(self.settings.out, "w", encoding="utf-8")  # noqa: SIM115  until `close`

    def emit(self, record: LogRecord) -> None:
        said: Any = vars(record)
        event = said.get("event")
        if event == LogEvent.GROUP_INFO or (event == LogEvent.JOB_INFO and not said["indent"]):
            self.submission += 1  # jobs of a group are indented
        if event == LogEvent.JOB_INFO:
            job = {key: said[key] for key in NAMED} | {"submission": self.submission}
            resources = {
                name: value if isinstance(value, int) else str(value) for name, value in said["resources"].items()
            }
            self.written.write(json.dumps(job | {"resources": resources}) + "\n")

    def close(self) -> None:
        self.written.close()
        super().close()
