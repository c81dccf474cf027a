"""`--profile slurm` on a real one-node Slurm: what the jobs asked for is what slurmctld held for them."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest
from slurm_cluster import Job, jobs

pytestmark = pytest.mark.slurm

REPO = Path(__file__).parents[1]
# what a run writes, and version control: everything else of a checkout is the same for every run
OUTPUTS = {".git", ".snakemake", "data", "work", "logs", "results"}

SMALL_WORKFLOW = """\
rule all:
    input: "gpu.txt", "flaky.txt"

rule gpu:
    output: "gpu.txt"
    threads: 2
    resources: gpu=1, mem_mb=300, runtime="90m"
    shell: "echo $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES > {output}"

rule flaky:  # fails the first time; what it needs is left to the profile
    output: "flaky.txt"
    shell: "[ -e tried ] || (touch tried; exit 1); echo {resources.mem_mb} > {output}"
"""


def snakemake(folder: Path, env: dict[str, str], *arguments: str) -> list[Job]:
    """Run Snakemake with --profile slurm in `folder`; return the jobs that it sent to the cluster."""
    before = len(jobs(env))
    # every command of the rules comes from the interpreter that runs the tests
    env = env | {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"}
    polling = ("--slurm-init-seconds-before-status-checks", "5", "--latency-wait", "5")
    command = [sys.executable, "-m", "snakemake", "--profile", "slurm", *polling, *arguments]
    run = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.returncode == 0, run.stdout[-8000:]
    return sorted(jobs(env)[before:], key=lambda job: job.rule)


def test_jobs_hold_what_their_rules_ask_for_and_failed_ones_come_back_with_more(slurm, tmp_path):
    (tmp_path / "Snakefile").write_text(SMALL_WORKFLOW)
    (tmp_path / "slurm").symlink_to(REPO / "slurm")
    held = snakemake(tmp_path, slurm, "all")
    assert held == [
        Job("flaky", "FAILED", cpus=1, memory_mb=4000, gpus=0, time_limit="04:00:00"),
        Job("flaky", "COMPLETED", cpus=1, memory_mb=8000, gpus=0, time_limit="04:00:00"),
        Job("gpu", "COMPLETED", cpus=2, memory_mb=300, gpus=1, time_limit="01:30:00"),
    ]
    assert (tmp_path / "flaky.txt").read_text() == "8000\n"
    job_id, device = (tmp_path / "gpu.txt").read_text().split()
    assert job_id.isdigit()
    assert device in {"0", "1"}


def test_tiny_table_through_the_queue(slurm, tmp_path):
    for entry in REPO.iterdir():
        if entry.name not in OUTPUTS:
            (tmp_path / entry.name).symlink_to(entry)
    held = snakemake(
        tmp_path, slurm, "--configfile", "config/tiny.yaml", "--max-threads", "2", "results/tiny/table2.csv"
    )
    with open(tmp_path / "results/tiny/table2.csv", newline="") as file:
        assert list(csv.DictReader(file))
