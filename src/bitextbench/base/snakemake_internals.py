"""What the workflow takes from Snakemake and its Slurm plugin that is not their interface, of these very versions.

All of it stands here. Each function says what for; `tests/workflow/test_snakemake_internals.py` has a test of each, to run
when a version changes.
"""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bitextbench.base import versions
from bitextbench.base.errors import InputError

VERSIONS = {"snakemake": "9.27.1", "snakemake-executor-plugin-slurm": "2.8.0"}
USUAL_LIMIT = (100, 1)  # submissions, in so many seconds


versions.check(VERSIONS)


def given_configuration(workflow: Any) -> tuple[list[Any], list[Any], Mapping[str, Any]]:
    """(files of the Snakefile, those of `--configfile`, what `--config` says). Snakemake's own reading keeps the last of two
    equal keys, and takes 1e-06 for a text.
    """
    overlays = list(workflow.config_settings.configfiles)
    return workflow.configfiles[len(overlays) :], overlays, workflow.config_settings.config


def measure_to_the_end() -> None:
    """Look at a job's processor time each second. Snakemake counts what it saw last, and from a job's sixteenth second on
    looks every 30 s.
    """
    from snakemake import benchmark

    benchmark.benchmarked.__wrapped__.__defaults__ = (None, None, 1)


def slurm_name(workflow: Any) -> str:
    """What this run's jobs are called in Slurm; "" elsewhere."""
    return getattr(workflow.scheduler._executor, "run_uuid", "")


def start_again(workflow: Any) -> None:
    """Start this very command again, to plan anew; Snakemake's own lock, if it has one, is given back."""
    workflow.persistence.unlock()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def pass_to_jobs(descriptor: int) -> None:
    """Let jobs have a descriptor of this process: those that outlive a killed run keep its lock."""
    from snakemake.shell import shell

    shell._process_args["pass_fds"] = [descriptor]


def look_once_a_job(workflow: Any) -> None:
    """Leave out the limit on submissions, unless it is another than the usual.

    With the limit the scheduler looks at all ready jobs again, one second after each look and after each job that ends.
    These looks add up until they take a core.
    """
    limiter = workflow.scheduler.job_rate_limiter
    if limiter and (limiter.max_jobs, limiter.timespan) == USUAL_LIMIT:
        workflow.scheduler.job_rate_limiter = None


def graph(workflow: Any) -> Any:
    """The planned jobs: `jobs`, and `dependencies` of each. The logger interface has a graph of rules without numbers."""
    return workflow.dag


def sbatch(needs: Mapping[str, Any], threads: int, partitions: Path | None) -> str:
    """The command by which the plugin submits a job of these resources; `partitions`: its file of them.

    Raises InputError for a file that the plugin cannot read.
    """
    from snakemake_executor_plugin_slurm.partitions import get_best_partition
    from snakemake_executor_plugin_slurm.submit_string import get_submit_command
    from snakemake_executor_plugin_slurm.utils import set_gres_string

    job = SimpleNamespace(name="", threads=threads, resources=_Resources(needs), is_group=lambda: False)
    silent = logging.getLogger(f"{__name__}.silent")
    silent.setLevel(logging.CRITICAL)
    partition = needs.get("slurm_partition")
    if not partition and partitions:
        partition = get_best_partition(_read(partitions), job, silent)
    account = needs.get("slurm_account")
    return get_submit_command(
        job,
        {
            "run_uuid": "bitextbench",
            "slurm_logfile": os.devnull,
            "comment_str": "",
            "account": f"-A {account}" if account else "",
            "partition": f"-p {partition}" if partition else "",
            "workdir": "",
        },
    ) + set_gres_string(job)


def _read(partitions: Path) -> Any:
    from snakemake.exceptions import WorkflowError
    from snakemake_executor_plugin_slurm.partitions import read_partition_file

    try:
        return read_partition_file(partitions)
    except (WorkflowError, TypeError, KeyError, ValueError, AttributeError) as error:
        why = str(error).removeprefix("PartitionLimits.__init__() ")
        remedy = "its keys are those of profiles/slurm/partitions.yaml, as it was"
        raise InputError(f"cannot be read as partitions ({why})", partitions, remedy=remedy) from None


class _Resources(dict[str, Any]):
    """Resources by key and by name, as Snakemake has them."""

    __getattr__ = dict.__getitem__
