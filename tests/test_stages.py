"""The logger of Snakemake that shows stages: every rule has one, progress is weighted by time, a real run tells it."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from snakemake_logger_plugin_stages import LogHandler, expected
from snakemake_logger_plugin_stages.stages import STAGES, TABLES, Run, span, stage_of

ROOT = Path(__file__).parents[1]
SNAKEFILE = """
rule all:
    input: expand("o{i}", i=range(3))
rule corpus:
    output: "c"
    shell: "touch c"
rule bleu:
    input: "c"
    output: "o{i}"
    log: "o{i}.log"
    shell: "COMMAND"
"""


def test_every_rule_outside_of_the_report_has_a_stage():
    rules = {
        name
        for path in (ROOT / "rules").glob("*.smk")
        if path.name != "report.smk"
        for found in re.findall(r"^rule (\w+):|^use rule \w+ as (\w+) with:", path.read_text(), flags=re.M)
        for name in filter(None, found)
    }
    assert not {rule for rule in rules if stage_of(rule) == TABLES}
    assert sum(map(len, STAGES.values())) == len({rule for held in STAGES.values() for rule in held})


def test_progress_is_weighted_by_time():
    run = Run({"corpus": 1, "nmt_train": 1}, {"corpus": 10, "nmt_train": 90}, now=0)
    assert run.stages == ["making the corpora", "training translation models"]
    assert run.start(1, "corpus", 0) == "[  0:00]  1 of 2  making the corpora (1 job)"
    assert run.share(5) == pytest.approx(0.05)
    assert run.share(100) == pytest.approx(0.095), "a job that takes longer than expected is not done"
    run.finish(1)
    assert run.start(2, "nmt_train", 10)
    assert run.start(3, "nmt_train", 10) == "", "a stage begins once"
    run.finish(2)
    run.finish(2)
    assert run.share(10) == 1, "a job ends once"


def test_the_time_that_is_left_follows_from_the_share():
    run = Run({"nmt_train": 4}, {"nmt_train": 50}, now=0)
    for job in range(2):
        run.start(job, "nmt_train", 0)
        run.finish(job)
    run.start(2, "nmt_train", 100)
    assert run.progress(100) == "[  1:40]   50%, about 2 min left: training translation models 2/4"


def test_one_job_in_one_stage():
    run = Run({"nmt_train": 1}, {}, 0)
    assert run.opening() == "1 job in 1 stage"
    assert run.closing(0) == "[  0:00]  0 of 1 job done"


@pytest.mark.parametrize(("seconds", "said"), [(1, "5 s"), (61, "60 s"), (91, "2 min"), (3 * 3600, "3.0 h")])
def test_spans_are_of_few_digits(seconds, said):
    assert span(seconds) == said


def test_what_is_expected_of_small_is_read(tmp_path):
    assert expected(ROOT / "profiles/small/seconds.csv")["nmt_train"] > 1
    assert expected(None) == {}


def snakemake(folder: Path, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "Snakefile").write_text(SNAKEFILE.replace("COMMAND", command))
    return subprocess.run(
        [Path(sys.executable).with_name("snakemake"), "-j", "2", "--logger", "stages", *options],
        cwd=folder,
        text=True,
        capture_output=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
    )


def test_a_run_says_its_stages_and_names_the_log(tmp_path):
    done = snakemake(tmp_path, "touch {output}")
    lines = done.stderr.splitlines()
    assert done.returncode == 0
    assert lines[0] == "5 jobs in 3 stages"
    assert [re.sub(r"\[.*?\] +", "", line) for line in lines[1:4]] == [
        "1 of 3  making the corpora (1 job)",
        "2 of 3  measuring: accuracy, F1, BLEU (3 jobs)",
        "3 of 3  writing tables and report (1 job)",
    ]
    assert lines[4].endswith("5 of 5 jobs done")
    log = Path(lines[5].removeprefix("Complete log(s): "))
    assert "rule bleu" in log.read_text()
    assert len(lines) == 6


def test_a_job_that_fails_is_shown_with_its_command(tmp_path):
    done = snakemake(tmp_path, "echo {wildcards.i}; exit 3")
    assert done.returncode == 1
    assert "Error in rule bleu" in done.stderr
    assert "exit 3" in done.stderr


def test_the_log_of_a_job_that_fails_is_shown_and_not_its_standard_input(tmp_path):
    done = snakemake(tmp_path, "cat nothing 2> {log} <<< 'a whole configuration'", "--show-failed-logs")
    assert re.search(r"cat nothing 2> o\d[.]log <<< [.]{3}$", done.stderr, flags=re.M)  # two of three jobs start
    assert "cat: nothing: No such file" in done.stderr
    assert "configuration" not in done.stderr


def test_a_dry_run_is_shown_as_snakemake_shows_it(tmp_path):
    done = snakemake(tmp_path, "touch {output}", "-n")
    assert "This was a dry-run" in done.stderr + done.stdout
    assert "rule bleu" in done.stderr + done.stdout


def test_a_file_gets_a_sign_each_half_minute_and_few_lines(monkeypatch):
    monkeypatch.setattr(sys, "stderr", said := io.StringIO())
    common = SimpleNamespace(stdout=False, nocolor=False, dryrun=False, verbose=False, printshellcmds=False)
    handler = LogHandler(common, None)
    run = handler.run = Run({"nmt_train": 10}, {"nmt_train": 100}, now=0)
    run.start(1, "nmt_train", 0)
    for now in range(30, 15 * 60 + 1, 30):
        handler.sign(run, now)
    handler.write("a stage begins")
    handler.sign(run, 930)
    handler.close()
    *progress, stage, last = said.getvalue().splitlines(keepends=True)
    assert [len(re.findall(r"\d%", line)) for line in progress] == [11, 11, 8]
    assert max(map(len, progress)) <= 120
    assert stage == "a stage begins\n"
    assert last == "[ 15:30]   10%, about 2.5 h left: training translation models 0/10\n"
