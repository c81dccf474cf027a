"""profiles/slurm as a user edits it: what its own comments say, and what `sbatch` is then given for every rule."""

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import yaml
from checkout import ROOT, copy_checkout

from bitextbench.base.snakemake_internals import sbatch
from bitextbench.cli.plan import planned
from bitextbench.report import preflight

PLACES = re.compile(r"# ---- Your places.*?(?=# ---- )", re.S)
COMMENTED = re.compile(r"^(\s*)# ?((?:  )?[\w-]+:(?: .*)?)$", re.M)  # a comment that holds a line of YAML


def edit(checkout: Path, but: tuple[str, ...] = ("slurm_partition",)) -> dict:
    """Put into effect what comments offer in the block of places; the settings."""
    profile = checkout / "profiles/slurm/config.yaml"
    text = profile.read_text()
    (block,) = PLACES.findall(text)
    mended = COMMENTED.sub(lambda found: found[0] if found[2].strip().startswith(but) else found[1] + found[2], block)
    profile.write_text(text.replace(block, mended))
    return yaml.safe_load(profile.read_text())


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """(the settings, the jobs of all tables that go into the queue, the checkout)"""
    checkout = copy_checkout(tmp_path_factory.mktemp("profile"))
    settings = edit(checkout)
    return settings, planned(["--profile", "slurm", "--forceall"], checkout), checkout


def submitted(edited) -> dict[str, list[str]]:
    """What sbatch is given, by rule."""
    settings, jobs, checkout = edited
    commands: dict[str, list[str]] = {}
    for request, held in preflight.requests(preflight.sent(jobs, checkout / "Snakefile")).items():
        command = sbatch(dict(request.resources), request.threads, checkout / settings["slurm-partition-config"])
        for rule in {job.rule for job in held}:
            commands.setdefault(rule, []).append(command)
    return commands


def test_no_key_of_a_profile_is_there_twice():
    for path in (ROOT / "profiles").glob("*/*.yaml"):
        keys = re.findall(r"^(?:# )?([\w-]+):", path.read_text(), flags=re.M)
        assert [key for key, count in Counter(keys).items() if count > 1] == [], path


def test_the_example_of_gpu_models_names_every_rule_that_asks_for_gpus():
    text = "".join(path.read_text() for path in (ROOT / "rules").glob("*.smk"))
    rules = dict(re.findall(r"^(?:rule|use rule \w+ as) (\w+)(?: with)?:.*?\n(.*?)(?=^\S|\Z)", text, flags=re.M | re.S))
    asking = {name for name, body in rules.items() if re.search(r"^        gpu=", body, flags=re.M)}
    inheriting = re.findall(r"^use rule (\w+) as (\w+) with", text, flags=re.M)
    asking |= {child for parent, child in inheriting if parent in asking and "    resources:\n" not in rules[child]}
    named = re.findall(
        r"^#   (\w+): \{gpu_model: h100\}$", (ROOT / "profiles/slurm/config.yaml").read_text(), flags=re.M
    )
    assert sorted(named) == sorted(asking)


def test_places_reach_sbatch_for_every_rule(edited):
    commands, (settings, jobs, _) = submitted(edited), edited
    assert settings["set-resources"]["train_encoder"] == {"gpu_model": "h100"}
    gpus = {job.rule for job in jobs if job.gpus}
    assert len(commands) > 40
    assert {"train_encoder", "hard_negatives", "nmt_train", "likelihood_train", "mining"} < gpus < commands.keys()
    longest = {"cpu": 2880, "bigmem": 1440, "gpu": 1440}
    for rule, asked in commands.items():
        for command in asked:
            partition = re.search(r" -p (\S+)", command)[1]
            assert (partition == "gpu") == (rule in gpus) == (" --gpus=h100:" in command), command
            assert int(re.search(r" -t (\d+)", command)[1]) <= min(longest[partition], 24 * 60), command
            assert " --nodes=1 " in command, command
            assert " -A my_project " in command, command


def test_light_rules_and_downloads_do_not_go_into_the_queue(edited):
    _, jobs, checkout = edited
    queued = {job.rule for job in preflight.sent(jobs, checkout / "Snakefile")}
    assert {job.rule for job in jobs} - queued > {"fetch", "size", "table2", "audit", "report_pages", "wordpieces"}
    assert not {job.rule for job in jobs if job.limit <= 600} & queued


def test_a_longest_runtime_gives_trainings_more_attempts(edited):
    _, jobs, _ = edited
    assert {job.limit for job in jobs if job.rule in ("train_encoder", "nmt_train", "skip_gram")} == {24 * 3600}
    groups = Counter()
    for job in jobs:
        groups[job.group] += job.limit
    assert max(groups.values()) <= 24 * 3600
    said = subprocess.run(
        ["grep", "-rn", "retries: resumed", ROOT / "rules"], capture_output=True, text=True, check=True
    ).stdout
    assert (
        len(said.splitlines()) == 5
    )  # skip_gram, train_encoder, train_rescorer, nmt_train (translation_train), likelihood_train


def test_one_partition_for_all_jobs_takes_the_place_of_the_file(tmp_path):
    """Even one whose name is a function of Python."""
    checkout = copy_checkout(tmp_path)
    assert edit(checkout, but=("slurm-partition-config", "config"))["default-resources"]["slurm_partition"] == "'main'"
    profile = checkout / "profiles/slurm/config.yaml"
    profile.write_text(profile.read_text().replace("main", "all"))
    jobs = planned(["--profile", "slurm", "--", "work/paper/corpus/valid"], checkout)
    (request,) = preflight.requests(job for job in jobs if job.rule == "corpus")
    assert " -p all " in sbatch(dict(request.resources), request.threads, None)


def test_groups_of_the_profile_are_those_that_limits_count_with():
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    sizes = {rule: profile["group-components"][group] for rule, group in profile["groups"].items()}
    (said,) = re.findall(r"^GROUPED = (\{.*?\})", (ROOT / "rules/resources.smk").read_text(), flags=re.M | re.S)
    grouped = yaml.safe_load(said)
    grouped["encode"] = grouped.pop("encoding")  # as its cost is called
    assert grouped == sizes
