"""The workflow: what it plans, and that a run ends the same however it went."""

import contextlib
import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import takewhile
from pathlib import Path

import click
import golden
import numpy as np
import pytest
from checkout import OVERLAYS, ROOT, copy_checkout, environment, jobs, laid_over, snakemake

from bitextbench.base import run_lock
from bitextbench.base.json_yaml import read_json
from bitextbench.cli.main import cli
from bitextbench.cli.plan import planned
from bitextbench.report import plan
from bitextbench.report.cells import read
from bitextbench.report.layout import load


@pytest.fixture
def checkout(tmp_path):
    return copy_checkout(tmp_path)


@pytest.fixture(scope="module")
def paper_scale(tmp_path_factory):
    """The jobs of table 2 at paper scale."""
    root = copy_checkout(tmp_path_factory.mktemp("paper"))
    return planned(["--profile", "slurm", "--", "results/table2.csv"], root)


def test_the_slurm_profile_plans_the_paper_scale_job(paper_scale):
    planned = Counter(job.rule for job in paper_scale)
    # of bitext, mono, mono_tgt, pivot, pool, positives, tests, and the language model
    assert planned["fetch"] == 4 + 3 + 5 + 2 + 1 + 8 + 4 + 1
    assert planned["train_encoder"] == 2
    assert planned["likelihood_train"] == 4
    assert planned["likelihoods"] == 32  # shards of the pool
    assert planned["nmt_train"] == planned["select"] == 5 * 2  # methods, budgets; one seed
    assert planned["encode"] == 2 * 32 + 1  # the pool's shards by two encoders, and the MLP's positives
    assert planned["table2"] == 1


def test_the_rescorer_starts_from_published_weights_at_paper_scale_and_from_the_run_s_own_at_tiny(checkout):
    of_paper = snakemake("--profile", "slurm", "-n", "results/yang2019/table6.csv", cwd=checkout).stdout
    of_tiny = snakemake(
        "--profile", "profiles/tiny", "-n", "-F", "results/tiny/yang2019/table6.csv", cwd=checkout
    ).stdout
    for found, pairs, shards in ((jobs(of_paper), 4, 1), (jobs(of_tiny), 1, 0)):
        assert [found[rule] for rule in ("rescoring_pairs", "train_rescorer", "rescoring")] == [
            pairs,
            2 * pairs,
            pairs,
        ]
        assert found.get("wordpiece_ids", 0) == pairs * shards
    assert "--vectors=model=data/raw/bert-base-multilingual-cased/model.safetensors" in of_paper.replace("'", "")
    assert "encoders/cross_encoder.en-fr/model.pt" in of_tiny


def test_paper_scale_jobs_ask_for_gpus_and_time(paper_scale):
    trained = [job for job in paper_scale if job.rule == "train_encoder"]
    assert {(job.gpus, job.limit) for job in trained} == {(1, 72 * plan.HOUR)}


def test_slurm_sees_fewer_submissions_than_jobs(paper_scale):
    assert len({job.group for job in paper_scale}) < 200  # of 514 jobs
    tokens = [job.group for job in paper_scale if job.rule == "tokens" and job.wildcards["corpus"] == "pool"]
    assert set(Counter(tokens).values()) == {4}


@pytest.mark.parametrize(("run", "rows", "seeds"), [("tiny", 3, 5), ("small", 5, 5)])
def test_smaller_runs_have_the_same_rows(checkout, run, rows, seeds):
    planned = jobs(
        snakemake("--profile", f"profiles/{run}", "-n", "-F", f"results/{run}/table2.csv", cwd=checkout).stdout
    )
    assert planned["select"] == rows * 2 * seeds
    batches = rows * 2 * (1 if run == "tiny" else seeds)  # at tiny one job trains all seeds
    assert planned["nmt_prepare"] == planned["nmt_train"] == batches
    assert planned["fit_similarity"] == seeds
    assert planned["train_encoder"] == (1 if run == "tiny" else 2) * seeds
    assert (planned.get("fetch", 0) == 0) == (run == "tiny")  # the tiny run needs no download


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_is_planned_as_its_head_says(checkout, overlay):
    options = OVERLAYS[overlay].split()
    for folder in re.findall(r"folder: (models/[^,}]+)", Path(checkout, "config", overlay).read_text(encoding="utf-8")):
        Path(checkout, folder).mkdir(parents=True)  # a published encoder, which its head says to fetch first
        Path(checkout, folder, "config.json").touch()
    if overlay == "published-muse.yaml":  # its audit takes the spread over seeds from a finished run
        said = snakemake("-n", "-F", *options, cwd=checkout, check=False)
        assert "results/small: has no measurements; make that run first" in said.stdout + said.stderr
        shutil.copytree(ROOT / "results/small/measurements", checkout / "results/small/measurements")
    planned = jobs(snakemake("-n", "-F", *options, cwd=checkout).stdout)
    assert f"config/{overlay}" in options
    assert {"train_encoder", "pretrained", "translation_train"} & planned.keys()
    if overlay == "languages.yaml":
        assert (
            planned["train_encoder"] == 33 + 4
        )  # of all types but pivot_nmt, in up to five pairs; seeds 2 to 5 of table 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        "--profile profiles/tiny --configfile config/tiny.yaml tests/micro.yaml -- all",
        "--profile profiles/tiny --configfile config/tiny.yaml config/languages.yaml -- all",
    ],
)
def test_no_command_of_the_workflow_is_refused_for_its_inputs_and_outputs(checkout, options, monkeypatch):
    """Each is parsed as the command line does it, and has other outputs than inputs."""
    said = snakemake("-n", "-F", "-p", *options.split(), cwd=checkout).stdout
    monkeypatch.chdir(checkout)
    checked = Counter[str]()
    for call in re.findall(r" -m bitextbench (.+)", said):
        words = [*takewhile(lambda word: not word.startswith((">", "2>", "&&", "|")), shlex.split(call))]
        command, name = cli, []
        while isinstance(command, click.Group):
            name.append(words.pop(0))
            command = command.commands[name[-1]]
        # the configuration of a table
        words = [word.replace("@/dev/stdin", "{}") for word in words]
        command.check(command.make_context(" ".join(name), words))
        checked[" ".join(name)] += 1
    assert {"train", "step nmt-train", "step table", "step corpus"} <= checked.keys()
    assert checked.total() > 200


def test_a_confidence_is_measured_on_the_pairs_that_its_own_tuning_left_out(checkout):
    """Both draw them by the seed of the chain (guo2018 section 5)."""
    said = snakemake(
        "-nFp", "--configfile", "config/small.yaml", "--", "results/small/guo2018/section5.csv", cwd=checkout
    )
    seeds = {
        (step, re.search(r"(confidence\S*)\.npz", options)[1]): re.search(r"--seed (\d+)", options)[1]
        for step, options in re.findall(r"-m bitextbench step (tune-confidence|measure-agreement) (.+)", said.stdout)
    }
    assert len(seeds) == 6
    for (step, model), seed in seeds.items():
        assert seed == seeds["tune-confidence", model], step
    assert {*seeds.values()} == {"1", "2", "3"}


def test_lint():
    snakemake("--lint", "--configfile", "config/tiny.yaml")


def test_all_that_meets_a_shell_is_quoted():
    shells = [
        block
        for path in (ROOT / "rules").glob("*.smk")
        for block in re.findall(r"^    shell:\n((?: {8}.*\n)+)", path.read_text(), flags=re.M)
    ]
    fields = [field for block in shells for field in re.findall(r"\{(.+?)\}", block)]
    assert len(fields) > 300
    assert {field for field in fields if not field.endswith(":q")} == {"threads"}


def test_a_mistyped_key_is_shown_with_the_right_one(checkout):
    done = snakemake("-n", "--configfile", "config/tiny.yaml", "--config", "sede=3", cwd=checkout, check=False)
    assert done.returncode != 0
    assert "unknown key `sede`; did you mean `seed: 3`?" in done.stderr + done.stdout


def test_a_path_of_a_text_may_hold_what_a_shell_would_take_for_its_own(checkout):
    names = {side: f'it\'s $(touch PWNED) "5%".{side}' for side in ("src", "tgt")}
    (checkout / names["src"]).write_text("ein Haus\nein Baum\n")
    (checkout / names["tgt"]).write_text("a house\na tree\n")
    (checkout / "own.yaml").write_text(json.dumps({"corpora": {"own": {"parts": [{"files": names}]}}}))
    made = "work/tiny/corpus/own"
    snakemake(*("--profile", "profiles/tiny", "--configfile", "config/tiny.yaml", "own.yaml", "--", made), cwd=checkout)
    assert read_json(checkout / made / "counts.json")["out"] == 2
    assert not (checkout / "PWNED").exists()


def test_a_run_waits_for_the_one_before_and_a_dead_one_s_lock_is_none(checkout):
    made = "work/tiny/corpus/valid"
    (checkout / ".snakemake/locks").mkdir(parents=True)
    (checkout / ".snakemake/locks/0.output.lock").write_text(f"{made}\n")  # what kill -9 leaves
    command = [sys.executable, "-m", "snakemake", "--profile", "profiles/tiny", "--quiet", "all", "--", made]
    lock, _ = run_lock.take(checkout / "work/tiny.lock")
    waiting = subprocess.Popen(command, cwd=checkout, env=environment(), stderr=subprocess.PIPE, text=True)
    try:
        line = next(line for line in waiting.stderr if "waiting" in line)
        assert line == (
            f"work/tiny.lock: waiting for another run (process {os.getpid()} on {os.uname().nodename}), or a job that it left, to end\n"
        )
        snakemake("--profile", "profiles/tiny", "-n", made, cwd=checkout)  # a plan waits for nobody
        assert waiting.poll() is None
        assert not (checkout / made).exists()
    finally:
        os.close(lock)
        said = waiting.communicate()[1]
    assert waiting.returncode == 0, said
    assert (checkout / made / "counts.json").exists()


KILLED = """
import os, signal, subprocess
from pathlib import Path
from bitextbench.base import run_lock

lock, _ = run_lock.take(Path("run.lock"))
subprocess.Popen(["sleep", "2"], pass_fds=[lock])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_run_holds_its_lock_until_its_last_job_has_ended(tmp_path):
    began = time.monotonic()
    died = subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path)
    assert died.returncode == -signal.SIGKILL
    lock, waited = run_lock.take(tmp_path / "run.lock")
    os.close(lock)
    assert waited
    assert time.monotonic() - began > 2
    lock, waited = run_lock.take(tmp_path / "run.lock")
    os.close(lock)
    assert not waited


def test_make_waits_for_another_that_sets_up_and_then_has_nothing_to_do(checkout):
    lock, _ = run_lock.take(checkout / ".venv.lock")
    # as from a person's shell: of `make test`, which runs this, make would tell the folder that it enters
    shell = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    make = subprocess.Popen(["make", "env", "PYTHON=false"], cwd=checkout, env=shell, stdout=subprocess.PIPE, text=True)
    assert make.stdout.readline() == "waiting for another make that sets up .venv\n"
    (checkout / ".venv").mkdir()
    (checkout / ".venv/installed").touch()
    os.close(lock)
    assert make.wait() == 0


MICRO = laid_over("config/tiny.yaml", "tests/micro.yaml")
TABLE = "results/micro/table2.csv"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A micro run on two cores, killed in training, encoding and NMT, and started again each time."""
    root = copy_checkout(tmp_path_factory.mktemp("run"))
    (root / "work/micro/corpus/.pool.part/scratch").mkdir(parents=True)  # of a corpus that was killed half made
    for command in ("train", "step encode", "step nmt-train"):
        kill_during(command, root)
    snakemake(*MICRO, TABLE, cwd=root)
    return root


@pytest.mark.slow
def test_it_ends_in_the_bytes_of_the_golden_run(finished):
    found = golden.check(finished, "micro")
    assert not found.broken(), f"{found}"


KERNELS = {  # of the libraries: what they take on other processors
    "SSE4": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "AUTO,STRICT",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",
    },
    "this processor's": {"MKL_CBWR": "AUTO,STRICT"},
    "Zen": {"MKL_CBWR": "SSE2", "OPENBLAS_CORETYPE": "Zen", "ATEN_CPU_CAPABILITY": "avx2"},
}


@pytest.mark.slow
def test_killed_and_started_again_or_in_one_go_on_one_core_it_ends_in_the_same_bytes(finished, tmp_path, monkeypatch):
    for name in KERNELS["SSE4"].keys() - {"GLIBC_TUNABLES"}:  # `portable` needs FMA, and takes its own kernels else
        monkeypatch.setenv(name, KERNELS["SSE4"][name])
    root = copy_checkout(tmp_path)
    bleu = "work/micro/metrics/bleu/mlp.10M/1"  # of one model: the others take the same steps
    selected = [
        f"work/micro/selected/{row}.10M/1/selection.json" for row in ("random", "nmt_lm", "cosine")
    ]  # not pivot
    snakemake(*("1" if part == "2" else part for part in MICRO), bleu, *selected, cwd=root)
    made = golden.files(root, "micro")
    assert {"encoders/nmt_autoencoder/", "selected/mlp.10M/1/", "metrics/bleu/mlp.10M/1/"} < made.keys()
    assert made.items() <= golden.files(finished, "micro").items()


@pytest.mark.slow
@pytest.mark.parametrize("kernels", KERNELS if os.environ.get("BITEXTBENCH_ALL_KERNELS") else ["SSE4"])
def test_one_trained_encoder_selects_the_same_by_other_kernels(finished, tmp_path, monkeypatch, kernels):
    for name, value in KERNELS[kernels].items():
        monkeypatch.setenv(name, value)
    root = shutil.copytree(finished, tmp_path / "repo", symlinks=True)
    forced = ["--config", "arithmetic=fast", "--forcerun", "encode", "--"]
    selected = [f"work/micro/selected/{row}.10M/1/selection.json" for row in ("random", "cosine", "mlp")]
    snakemake(*MICRO[:-1], *forced, *selected, cwd=root)
    differing = golden.files(root, "micro").items() - golden.files(finished, "micro").items()
    assert "vectors/nmt_autoencoder/pool/" in dict(differing)  # the kernels are others
    # found with SSE4: vectors within 8e-7, cosines 6e-8, logits of the MLP, which is trained again, 0.14; every selection the same
    for part, tolerance in (("vectors/nmt_autoencoder", 1e-5), ("scores/cosine", 1e-6), ("scores/mlp", 0.5)):
        paths = sorted((root / "work/micro" / part).rglob("*.npy"))
        assert paths
        for path in paths:
            np.testing.assert_allclose(np.load(path), np.load(finished / path.relative_to(root)), atol=tolerance)
    random, cosine, mlp = (words_in_common(path, root, finished) for path in selected)
    assert (random, cosine) == (1, 1)
    assert mlp >= 0.98  # all but two pairs


def words_in_common(selection: str, *roots: Path) -> float:
    """The share of the words of a selection that stand in the other, too."""
    one, other = (Counter((root / selection).with_name("train.en").read_text().splitlines()) for root in roots)
    words = [sum(len(line.split()) * n for line, n in pairs.items()) for pairs in (one, other, one & other)]
    return words[2] / max(words)


def kill_during(command: str, root: Path) -> None:
    """Start the run, wait until a job `bitextbench <command>` is at work, then kill -9 everything."""
    run = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *MICRO, TABLE],
        cwd=root,
        env=environment(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 1200
        while not working(command, root):
            assert run.poll() is None, f"the run ended before `{command}` was seen"
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep({"train": 6, "step encode": 1, "step nmt-train": 8}[command])  # into the work, past the imports
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        for process in processes(root):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        run.wait()


def working(command: str, root: Path) -> bool:
    """Whether a process of this run is at `bitextbench <command>`."""
    wanted = [b"-m", b"bitextbench", *command.encode().split()]
    return any(arguments[1 : 1 + len(wanted)] == wanted for arguments in processes(root).values())


def processes(root: Path) -> dict[int, list[bytes]]:
    """Process id -> command line of whatever runs in this folder."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").resolve() == root:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended
    return found


@pytest.mark.slow
def test_a_rerun_has_nothing_to_do(finished):
    before = (finished / TABLE).stat().st_mtime_ns
    snakemake(*MICRO, TABLE, cwd=finished)
    assert (finished / TABLE).stat().st_mtime_ns == before


@pytest.mark.slow
def test_more_shards_change_nothing_that_is_selected(finished, tmp_path):
    root = shutil.copytree(finished, tmp_path / "repo", symlinks=True)
    config = (root / "tests/micro.yaml").read_text().replace("  pool:\n", "  pool:\n    shards: 3\n")
    (root / "tests/micro.yaml").write_text(config)
    snakemake(*MICRO, "work/micro/selected/mlp.10M/1/selection.json", cwd=root)
    assert (root / "work/micro/vectors/nmt_autoencoder/pool/00002.src.npy").exists()
    name = "work/micro/selected/mlp.10M/1/train.de"
    assert (root / name).read_bytes() == (finished / name).read_bytes()


@pytest.mark.slow
def test_provenance_names_what_made_the_table(finished):
    facts = json.loads((finished / "results/micro/table2.provenance.json").read_text())
    assert facts["config"]["run"] == "micro"
    assert any(entry["path"].endswith("mlp.10M/1/selection.json") for entry in facts["inputs"])


@pytest.mark.slow
def test_all_tables_end_in_the_audit(finished):
    snakemake(*MICRO, "all", cwd=finished)
    results = finished / "results/micro"
    left_out = {
        "kim2019/table2",  # results/table2.csv
        "yang2019/table3",
        "artetxe2019/table5",
        "artetxe2019/table6",
        "artetxe2019/section4",
    }  # none of the other tables' NMT models is in this run
    lines = {place: read(results / f"{place}.csv") for place in load().keys() - left_out}
    assert not any((results / f"{place}.csv").exists() for place in left_out)
    done = {place: [line for line in found if line.ours is not None] for place, found in lines.items()}
    correlations = {line.column: line for line in done.pop("guo2018/section5")}
    assert -1 <= correlations["correlation"].low <= correlations["correlation"].high <= 1
    assert correlations["en-fr"].ours is not None
    assert all(0 <= line.low <= line.ours <= line.high <= 100 for found in done.values() for line in found)
    assert {line.row for line in done["kim2019/table3"]} == {"euclidean", "cosine", "csls", "mlp"}
    assert len(done["artetxe2019/table2"]) == 36  # French
    assert {line.note for line in lines["artetxe2019/table2"] if line.ours is None} == {
        "no corpus bucc.en-de in this run"
    }
    assert {line.row for line in done["yang2019/table6"]} == {
        "train-cosine", "train-eq9", "train-eq10", "test-eq9", "test-eq10", "test-baseline2",
    }  # fmt: skip
    cells = {(line.row, line.column): line for line in lines["zhang2016/table2"]}
    for row in ("bbowae", "mm2as-25"):
        mean = (cells[row, "MT06"].ours + cells[row, "MT08"].ours) / 2
        assert cells[row, "Avg"].ours == pytest.approx(mean, abs=0.02)
    translated = {(place, line.row): line for place in ("guo2018/table5", "guo2018/table6") for line in done[place]}
    assert translated.keys() == {("guo2018/table5", "mined-document"), ("guo2018/table6", "ours")}
    metrics = read_json(finished / "work/micro/metrics/translation/newstest.en-fr/filtered_confidence.en-fr.json")
    assert metrics["tokenised"]["value"] == pytest.approx(translated["guo2018/table6", "ours"].ours, abs=0.01)
    assert metrics["pairs"]["value"] >= 200e-6
    assert 0 < metrics["precision"]["value"] < 100
    audited = (results / "audit.csv").read_text()
    for place, found in done.items():
        assert audited.count(f"{place}.csv:") == sum(line.paper is not None for line in found), place
    assert "holds" in (results / "claims.csv").read_text()
    pages = {str(path.relative_to(results)) for path in results.rglob("*.md")}
    assert pages == {"artetxe2019/table1.md", "kim2019/table4.md", "yang2019/table7.md", "zhang2016/table1.md"}


def test_the_scheduler_looks_at_ready_jobs_once_a_job(tmp_path):
    """At most, and not ever more often: see onstart in the Snakefile."""
    corpora = [f"work/micro/corpus/{name}" for name in ("valid", "test2017", "test2018")]
    checkout = copy_checkout(tmp_path)
    command = [sys.executable, "-m", "snakemake", "--verbose", *laid_over("config/tiny.yaml", "tests/micro.yaml")]
    done = subprocess.run([*command, *corpora], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("Resources before job selection") <= len(corpora)


@pytest.mark.slow
def test_all_of_a_job_s_processor_time_is_counted(tmp_path):
    """See the head of rules/common.smk: Snakemake would look at a job of 20 s for the last time in its sixteenth."""
    checkout = copy_checkout(tmp_path)
    busy = 'rule busy:\n output: "used"\n benchmark: "busy.tsv"\n shell: "timeout 20 yes > /dev/null || times > {output}"\n'
    (checkout / "busy.smk").write_text(f'include: "Snakefile"\n{busy}')
    snakemake("--snakefile", "busy.smk", *laid_over("config/tiny.yaml", "tests/micro.yaml"), "used", cwd=checkout)
    of_children = (checkout / "used").read_text().splitlines()[1]  # of the user and of the system: 0m18.123s 0m1.456s
    used = sum(60 * int(minutes) + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", of_children))
    [job] = csv.DictReader((checkout / "busy.tsv").open(), delimiter="\t")
    assert float(job["cpu_time"]) == pytest.approx(used, abs=2)
