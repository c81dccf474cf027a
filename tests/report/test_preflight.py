"""What a run will miss: environment, disk, quota, mirror. Slurm is asked in tests/workflow/test_slurm.py."""

import dataclasses
import os
import socket
from pathlib import Path

import pytest
from checkout import copy_checkout
from click.testing import CliRunner

from bitextbench.base.errors import InputError
from bitextbench.cli.main import cli
from bitextbench.report import plan, preflight, updates
from bitextbench.report.plan import Job, JobCost

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "envs/lock/all.txt"
FETCH = Job("fetch", {"dataset": "newstest2017.de-en"}, (), (), 0, 1, 1000, 1800, 1)
TRAIN = Job("train_encoder", {"encoder": "any"}, (), (), 1, 2, 0, 3600, 2)


def program(folder: Path, name: str, says: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    (folder / name).chmod(0o755)


def test_profiles_lie_over_each_other(monkeypatch):
    monkeypatch.chdir(ROOT)
    settings = preflight.profile(["slurm", "profiles/slurm-conda"])
    assert settings["executor"] == "slurm"
    assert preflight.deploys(settings)
    assert not preflight.deploys(preflight.profile(["slurm"]))
    with pytest.raises(InputError, match="no such profile"):
        preflight.profile(["slum"])


@pytest.mark.parametrize("command", ["check", "plan"])
def test_the_configuration_of_a_profile_is_planned_with_all_seeds(tmp_path, monkeypatch, command):
    monkeypatch.chdir(copy_checkout(tmp_path))  # where nothing is made yet
    done = CliRunner().invoke(cli, [command, "results/tiny/table2.csv", "--profile", "profiles/tiny"])
    assert "Traceback" not in done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)  # 1: something is missing here
    assert {"check": "downloads", "plan": "train_encoder"}[command] in done.output


def test_conda_has_to_be_there_and_new_enough(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = preflight.environment([TRAIN], {"sdm": "conda"}, LOCK)
    assert (found.what, found.found) == ("conda", "not on PATH")
    for version, remedy in (("4.9.2", "Snakemake needs 24.7.1"), ("24.9.0", "")):
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        program(tmp_path, "conda", f"conda {version}")
        assert list(preflight.environment([TRAIN], {"sdm": ["conda"]}, LOCK)) == [("conda", f"conda {version}", remedy)]


def test_without_conda_this_environment_has_to_hold_the_lock(tmp_path):
    (found,) = (one for one in preflight.environment([FETCH], {}, LOCK) if one.what == "packages")
    assert not found.remedy
    lock = tmp_path / "lock.txt"
    lock.write_text("numpy==0.1 \\\n    --hash=sha256:0\nno-such-package==1.0\n")
    found, *torch = preflight.environment([TRAIN], {}, lock)
    assert found.found.startswith("numpy 2")
    assert "no-such-package is missing" in found.found
    assert found.remedy
    assert all(one.what == "torch" and "train_encoder" in one.found for one in torch)  # of a wheel without CUDA


def test_a_training_has_to_fit_the_memory_of_a_gpu():
    assert not [*preflight.gpus([TRAIN, FETCH], 1)]  # nobody has traced this encoder
    name, (_, _, _, peak, *_) = max(updates.table().items(), key=lambda item: item[1].gib)
    jobs = [dataclasses.replace(TRAIN, wildcards={"encoder": one}) for one in (name, "nmt_autoencoder")]
    assert {plan.gpu_memory(job) for job in jobs} == {peak, updates.table()["nmt_autoencoder"].gib}
    (fits,) = preflight.gpus(jobs, 80)
    assert not fits.remedy
    assert f"the largest peak is {peak} GiB" in fits.found
    (large,) = preflight.gpus(jobs, 24)
    assert f"too few for {name} ({peak} GiB)" in large.found
    assert "nmt_autoencoder" not in large.found
    assert large.remedy
    assert not [*preflight.gpus([dataclasses.replace(job, gpus=0) for job in jobs], 24)]


def test_disk_and_quota(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    table = "Disk quotas for user me (uid 1000):\n     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace\n"
    program(tmp_path, "quota", f"{table}      nfs:/home 90000000  0 100000000          1       0       0")
    for megabytes, missing in ((5_000, []), (11_000, ["quota"]), (1e12, ["disk", "quota"])):
        costs = {FETCH: JobCost(1, megabytes / 2), TRAIN: JobCost(1, megabytes / 2)}
        found = preflight.disk([FETCH, TRAIN], costs, tmp_path / "data")
        assert [one.what for one in found if one.remedy] == missing
    program(tmp_path, "quota", "Disk quotas for user me (uid 1000): none")
    assert [one.remedy for one in preflight.disk([FETCH], {FETCH: JobCost(1, 1)}, tmp_path)] == ["", ""]


def test_downloads_come_from_a_mirror_or_from_servers_that_answer(tmp_path, monkeypatch):
    monkeypatch.delenv("BITEXTBENCH_MIRROR", raising=False)
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert [one.what for one in preflight.downloads([FETCH], [str(tmp_path / "absent")]) if one.remedy] == ["mirror"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert not [one for one in preflight.downloads([FETCH], [address]) if one.remedy]
    (silent,) = (one for one in preflight.downloads([FETCH], [address]) if one.remedy)
    assert silent.found.startswith("no answer from 127.0.0.1:")
    (made,) = preflight.downloads([TRAIN], [])
    assert made.found == "all are there"


@pytest.mark.skipif("BITEXTBENCH_MIRROR" not in os.environ, reason="needs the mirror")
def test_a_mirror_is_counted_by_files():
    first, *_ = preflight.downloads([FETCH], [])
    assert first == ("mirror", "has 2 of 2 files", "")
