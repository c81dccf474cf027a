"""base/snakemake_internals.py: each thing of Snakemake's that is not its interface is there and does what we take it for.

`start_again` and the rest of a run's lock: tests/workflow/test_workflow.py; `slurm_name` and `sbatch` on a real Slurm: test_slurm.py.
"""

import inspect
import json

import pytest
from checkout import ROOT, snakemake
from snakemake import benchmark

from bitextbench.base import snakemake_internals, versions
from bitextbench.base.errors import InputError

SNAKEFILE = f"""
import json, os, sys
sys.path.insert(0, "{ROOT}/src")
from bitextbench.base import snakemake_internals as internals

configfile: "base.yaml"

bases, overlays, options = internals.given_configuration(workflow)
said = {{"bases": list(map(str, bases)), "overlays": list(map(str, overlays)), "options": dict(options)}}

onstart:
    said["before"] = workflow.scheduler.job_rate_limiter is not None
    internals.look_once_a_job(workflow)
    internals.pass_to_jobs(os.open("held", os.O_RDWR | os.O_CREAT))
    dag = internals.graph(workflow)
    said["limited"] = workflow.scheduler.job_rate_limiter is not None
    said["slurm"] = internals.slurm_name(workflow)
    said["needs"] = {{job.rule.name: [other.rule.name for other in dag.dependencies[job]] for job in dag.jobs}}
    json.dump(said, open("said.json", "w"))

rule two:
    input: "one"
    output: "two"
    shell: "ls -l /proc/self/fd > {{output}}"

rule one:
    output: "one"
    shell: "touch {{output}}"
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("internals")
    (folder / "Snakefile").write_text(SNAKEFILE)
    (folder / "base.yaml").write_text("rate: 1.0e-06\n")
    (folder / "over.yaml").write_text("{}\n")
    snakemake("--cores", "1", "--configfile", "over.yaml", "--config", "seed=3", "--", "two", cwd=folder)
    return folder, json.loads((folder / "said.json").read_text())


def test_given_configuration_tells_files_of_the_workflow_from_those_of_the_command(ran):
    folder, said = ran
    assert [path.removeprefix(f"{folder}/") for path in said["bases"]] == ["base.yaml"]
    assert [path.removeprefix(f"{folder}/") for path in said["overlays"]] == ["over.yaml"]
    assert said["options"] == {"seed": 3}


def test_look_once_a_job_leaves_out_the_usual_limit(ran):
    assert (ran[1]["before"], ran[1]["limited"]) == (True, False)


def test_pass_to_jobs_gives_them_the_descriptor(ran):
    assert str(ran[0] / "held") in (ran[0] / "two").read_text()


def test_graph_has_jobs_and_what_each_needs(ran):
    assert ran[1]["needs"] == {"two": ["one"], "one": []}


def test_slurm_name_is_empty_without_slurm(ran):
    assert ran[1]["slurm"] == ""


def test_measure_to_the_end_sets_the_interval(monkeypatch):
    measured = benchmark.benchmarked.__wrapped__
    names = list(inspect.signature(measured).parameters)
    assert (len(names), names[-1]) == (len(measured.__defaults__), "interval")
    monkeypatch.setattr(measured, "__defaults__", measured.__defaults__)  # and back at the end
    snakemake_internals.measure_to_the_end()
    assert inspect.signature(measured).parameters["interval"].default == 1


def test_another_version_is_an_error_with_the_remedy():
    versions.check(snakemake_internals.VERSIONS)
    versions.check({"no-such-package": "1.0"})  # whoever imports it says so: rules have environments of their own
    with pytest.raises(InputError, match=r"snakemake 9\.27\.1, and this workflow needs 9\.0\.0; make env"):
        versions.check(snakemake_internals.VERSIONS | {"snakemake": "9.0.0"})


def test_nobody_else_takes_what_is_not_snakemake_s_interface():
    texts = {path.name: path.read_text() for path in (ROOT / "rules").glob("*.smk")}
    texts["Snakefile"] = (ROOT / "Snakefile").read_text()
    for name, text in texts.items():
        for word in (
            "workflow.scheduler",
            "workflow.dag",
            "workflow.persistence",
            "._",
            "__defaults__",
            "config_settings",
        ):
            assert word not in text, (name, word)


@pytest.mark.parametrize(("text", "why"), [
    ("partitions: {gpu: {max_gpus: 8}}", "unexpected keyword argument 'max_gpus'"),
    ("partitions: {gpu: 8}", "'int'"),
    ("gpu: {max_gpu: 8}", "missing 'partitions' section"),
    ("partitions: {gpu: {max_runtime: a day}}", "a day"),
])  # fmt: skip
def test_a_wrong_file_of_partitions_is_named(tmp_path, text, why):
    path = tmp_path / "partitions.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=f"{path}: cannot be read as partitions .*{why}"):
        snakemake_internals.sbatch({}, 1, path)
