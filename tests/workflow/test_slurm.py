"""`--profile slurm` on a real one-node Slurm: what the jobs asked for is what slurmctld held for them."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from slurm_cluster import Cluster, Job, _wait_for, adopt_orphans, jobs, why_not

from bitextbench.base import run_lock
from bitextbench.base.errors import InputError
from bitextbench.base.snakemake_internals import sbatch
from bitextbench.report import preflight
from bitextbench.report.cells import read
from bitextbench.report.plan import Job as Asked

pytestmark = pytest.mark.slurm

REPO = Path(__file__).parents[2]
# what a run writes, and version control: everything else of a checkout is the same for every run
OUTPUTS = {".git", ".snakemake", "data", "work", "logs", "results"}

SMALL_WORKFLOW = """\
rule gpu:
    output: "gpu.txt"
    threads: 2
    resources: gpu=1, mem_mb=300, runtime="90m"
    shell: "echo $SLURM_JOB_ID $CUDA_VISIBLE_DEVICES > {output}"

rule flaky:  # fails the first time; what it needs is left to the profile
    output: "flaky.txt"
    shell: "[ -e tried ] || (touch tried; exit 1); echo {resources.mem_mb} > {output}"
"""


def snakemake(folder: Path, env: dict[str, str], *arguments: str) -> tuple[list[Job], str]:
    """Run Snakemake with --profile slurm in `folder`; return the jobs that it sent to the cluster, and what it said."""
    before = len(jobs(env))
    # every command of the rules comes from the environment that runs the tests
    env = env | {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}"}
    polling = ("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5")
    command = [sys.executable, "-m", "snakemake", "--profile", "slurm", *polling, *arguments]
    run = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.returncode == 0, run.stdout[-8000:]
    return sorted(jobs(env)[before:], key=lambda job: job.rule), run.stdout


def asked_for(said: str) -> list[Job]:
    """The jobs of a run as Snakemake announced them, each a block of lines: rule, threads, resources. Groups are of one
    job.
    """
    asked = []
    for rule, block in re.findall(r"^ *rule (\w+):\n((?:    .*\n)+)", said, re.MULTILINE):
        resources = dict(re.findall(r"(\w+)=(\d+)(?:,|$)", re.search(r"    resources: (.*)", block)[1]))
        threads = re.search(r"    threads: (\d+)", block)
        asked.append(
            Job(
                rule,
                "COMPLETED",
                cpus=int(threads[1]) if threads else 1,
                memory_mb=int(resources["mem_mb"]),
                gpus=int("gres=gpu:1" in block or resources.get("gpu", 0)),
                minutes=int(resources["runtime"]),
            )
        )
    return asked


def test_jobs_hold_what_their_rules_ask_for_and_failed_ones_come_back_with_more(slurm, tmp_path):
    (tmp_path / "Snakefile").write_text(SMALL_WORKFLOW)
    (tmp_path / "slurm").symlink_to(REPO / "slurm")
    held, said = snakemake(tmp_path, slurm, "gpu.txt", "flaky.txt")
    assert held == [
        Job("flaky", "FAILED", cpus=1, memory_mb=4000, gpus=0, minutes=240),
        Job("flaky", "COMPLETED", cpus=1, memory_mb=8000, gpus=0, minutes=240),
        Job("gpu", "COMPLETED", cpus=2, memory_mb=300, gpus=1, minutes=90),
    ]
    assert sorted(job._replace(state="") for job in asked_for(said)) == sorted(job._replace(state="") for job in held)
    assert (tmp_path / "flaky.txt").read_text() == "8000\n"
    job_id, device = (tmp_path / "gpu.txt").read_text().split()
    assert job_id.isdigit()
    assert device in {"0", "1"}


def test_the_plugin_is_given_what_its_own_builder_says(slurm, tmp_path):
    """`snakemake_internals.sbatch` and `slurm_name`, beside what the plugin calls."""
    named = f"""
import sys
sys.path.insert(0, "{REPO}/src")
from bitextbench.base import snakemake_internals
onstart:
    open("name", "w").write(snakemake_internals.slurm_name(workflow))
"""
    (tmp_path / "Snakefile").write_text(named + SMALL_WORKFLOW)
    (tmp_path / "slurm").symlink_to(REPO / "slurm")
    _, said = snakemake(tmp_path, slurm, "--verbose", "gpu.txt")
    (called,) = re.findall(r"sbatch call: (sbatch .*?) --wrap", said)
    own = sbatch({"mem_mb": 300, "runtime": 90, "gpu": 1, "nodes": 1}, 2, None)
    asked = re.compile(r"(?<= )(?:-t \S+|--(?:mem|gpus|nodes|cpus-per-task)[ =]\S+)")
    assert sorted(asked.findall(called)) == sorted(asked.findall(own + " "))
    assert f"--job-name {(tmp_path / 'name').read_text()} " in called


def test_what_slurm_would_refuse_is_said_before_a_job_is_queued(slurm, tmp_path, monkeypatch):
    for key in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(key, slurm[key])
    for partition in ("cpu", "gpu"):
        made = ["scontrol", "create", f"PartitionName={partition}", "Nodes=ALL", "MaxTime=60", "State=UP"]
        subprocess.run(made, check=True)
    try:
        places = tmp_path / "partitions.yaml"
        places.write_text("partitions: {cpu: {max_runtime: 120}, gpu: {max_runtime: 60, max_gpu: 2}}")
        needs = {"gpu": (1, 60), "large": (3, 60), "short": (0, 60), "long": (0, 100)}  # GPUs and minutes
        jobs = [
            Asked(name, {}, (), (), gpus, 1, 300, 60 * time, n) for n, (name, (gpus, time)) in enumerate(needs.items())
        ]
        found = {one.found: one.remedy for one in preflight.slurm(jobs[:1] + jobs[2:3], places)}
        assert found == {"takes all 2 kinds of request": ""}
        lacking, late = preflight.slurm(jobs, places)
        assert (
            lacking.found
            == f"no partition of {places}, with max_gpu, is large enough: large (-t 60 --mem 300 --cpus-per-task=1 --gpus=3)"
        )
        assert late.found.startswith("partition cpu has a time limit of 60 minutes: long (-p cpu -t 100 ")
        assert late.remedy
    finally:
        for partition in ("cpu", "gpu"):
            subprocess.run(["scontrol", "delete", f"PartitionName={partition}"], check=True)


def test_a_run_waits_for_the_jobs_of_one_that_was_killed(slurm, tmp_path, monkeypatch, capsys):
    for key in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(key, slurm[key])
    monkeypatch.setattr(run_lock, "POLL", 0.5)
    path, ended = tmp_path / "work/paper.lock", tmp_path / "ended"
    lock, waited = run_lock.take(path, "bitextbench_killed")
    assert not waited
    os.close(lock)
    job = [
        "sbatch",
        "--parsable",
        "--job-name=bitextbench_killed",
        "--output=/dev/null",
        f"--wrap=sleep 3; touch {ended}",
    ]
    number = subprocess.run(job, check=True, capture_output=True, text=True).stdout.strip()
    lock, waited = run_lock.take(path, "bitextbench_next")
    assert waited
    assert ended.exists()
    assert f"waiting for its jobs in Slurm: {number} " in capsys.readouterr().err
    os.close(lock)
    lock, waited = run_lock.take(path)
    assert not waited
    os.close(lock)


def test_a_run_does_not_pass_over_jobs_that_it_cannot_see(tmp_path, monkeypatch):
    os.close(run_lock.take(tmp_path / "lock", "bitextbench_killed")[0])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="left jobs in Slurm"):
        run_lock.take(tmp_path / "lock")


@pytest.mark.slow
def test_shards_go_into_the_queue_together_and_are_worked_on_in_turn(slurm, tmp_path):
    (tmp_path / "Snakefile").write_text(
        """
rule all:
    input: expand("{corpus}/{shard}", corpus="a", shard=range(5))

rule tokens:
    output: "{corpus}/{shard}"
    threads: 2
    resources: mem_mb=300, runtime=30, turn=1  # as the rules of shards
    shell: "echo $SLURM_JOB_ID > {output}"
"""
    )
    (tmp_path / "slurm").symlink_to(REPO / "slurm")
    held, _ = snakemake(tmp_path, slurm, "all")
    # four shards and one: as many cores and as much memory as one takes, as much time as all
    assert sorted((job.rule, job.cpus, job.memory_mb, job.minutes) for job in held) == [
        ("tokens", 2, 300, 30),
        ("tokens", 2, 300, 120),
    ]
    assert len({(tmp_path / f"a/{shard}").read_text() for shard in range(5)}) == 2


@pytest.mark.slow
def test_tiny_table_through_the_queue(slurm, tmp_path):
    # a checkout without the outputs of other runs
    for entry in REPO.iterdir():
        if entry.name not in OUTPUTS:
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "rows.yaml").write_text("{run: queue, selection: {methods: [random, mlp]}}")
    held, said = snakemake(
        tmp_path,
        slurm,
        # here only the way through the queue counts
        *("--configfile", "config/tiny.yaml", "tests/micro.yaml", "rows.yaml"),
        *("--max-threads", "2"),
        # the tiny run computes on CPUs: it asks for a GPU and leaves it idle
        *("--set-resources", "train_encoder:gres=gpu:1", "nmt_train:gres=gpu:1"),
        "--",
        "results/queue/table2.csv",
    )
    assert sorted(held) == sorted(asked_for(said))
    assert {job.rule for job in held if job.gpus == 1} == {"train_encoder", "nmt_train"}
    assert {"corpus", "tokens", "bpe", "ids", "encode", "score", "select", "nmt_prepare", "bleu"} < {
        job.rule for job in held
    }
    measured = [line for line in read(tmp_path / "results/queue/table2.csv") if line.ours is not None]
    assert len(measured) == 2 * 2  # rows, tests; micro has one budget
    assert {line.row for line in measured} == {"random", "mlp"}


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_cluster_of_several_nodes_has_gpus_on_one_and_loses_another(tmp_path):
    with Cluster(tmp_path, nodes=3) as cluster:

        def asked(*command):
            return subprocess.run(command, env=cluster.env, capture_output=True, text=True, timeout=60).stdout.split()

        assert asked("srun", "--gres=gpu:1", "printenv", "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES") == ["n1", "0"]
        cluster.kill("n3")
        asked("scontrol", "update", "NodeName=n3", "State=DOWN", "Reason=test")
        assert set(asked("srun", "-N2", "printenv", "SLURMD_NODENAME")) == {"n1", "n2"}
        assert cluster.states()[2].startswith("down")


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_node_crashes_with_all_that_runs_on_it_and_comes_back(tmp_path):
    adopt_orphans()
    with Cluster(tmp_path, nodes=2) as cluster:

        def asked(*command):
            return subprocess.run(command, env=cluster.env, capture_output=True, text=True, timeout=60).stdout.split()

        def running():
            there = (process.info for process in psutil.process_iter(["cmdline", "environ"]))
            return sorted(held["environ"]["SLURMD_NODENAME"] for held in there if held["cmdline"] == sleep)

        sleep = ["sleep", str(time.time())]  # of this test
        for node in cluster.nodes:
            asked("sbatch", "-w", node, "--output=/dev/null", f"--wrap={' '.join(sleep)}")
        _wait_for(lambda: len(running()) == 2, "two jobs", tmp_path)
        cluster.crash("n2")
        assert running() == ["n1"]
        assert asked("squeue", "-h", "-o", "%T", "--sort=i") == ["RUNNING", "PENDING"]  # Slurm sends it again
        cluster.restore("n2")
        _wait_for(lambda: cluster.states() == ["mixed", "idle"], "n2", tmp_path)
