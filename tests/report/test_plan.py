"""What a plan costs: jobs out of what Snakemake says, rates, and the simulated course."""

import json
from collections import Counter
from pathlib import Path

import pytest

from bitextbench.base.errors import InputError
from bitextbench.cli.plan import _reason, planned
from bitextbench.config.overlays import read
from bitextbench.config.resolution import resolve
from bitextbench.formats.records import write_columns
from bitextbench.report import amounts, courses, plan, schedule

ROOT = Path(__file__).parents[2]
TOKENS = {"mem_mb": "<TBD>", "runtime": 90, "turn": 1}
SAID = [  # as the logger plugin writes them: rule, submission, what it is of, inputs, outputs, threads, resources
    ("fetch", 1, {"dataset": "newstest2017.de-en"}, [], ["data/raw/newstest2017.de-en/manifest.json"], 1, {"mem_mb": 1000, "runtime": 30}),
    ("tokens", 2, {"corpus": "pool", "shard": "00000"}, ["work/paper/corpus/pool"], ["work/paper/tokens/pool/00000.parquet"], 1, TOKENS),
    ("tokens", 2, {"corpus": "pool", "shard": "00001"}, ["work/paper/corpus/pool"], ["work/paper/tokens/pool/00001.parquet"], 1, TOKENS),
    ("neighbourhoods", 3, {"method": "margin", "corpus": "pool"}, [f"work/paper/vectors/nmt_autoencoder/pool/00000.{side}.npy" for side in ("src", "tgt")],
     ["work/paper/neighbourhoods/margin/pool.npz"], 2, {"mem_mb": "<TBD>", "runtime": 720, "gpu": 1}),
]  # fmt: skip
KEYS = ("rule_name", "submission", "wildcards", "input", "output", "threads", "resources")
MACHINE = {"cores": 16, "mtbf": 0}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "jobs.jsonl"
    path.write_text("".join(json.dumps(dict(zip(KEYS, job, strict=True))) + "\n" for job in SAID))
    return plan.read(path)


@pytest.fixture(scope="module")
def cost():
    return plan.Costs(resolve(read([ROOT / "config.yaml"])), plan.rates())


def chain(*lengths, rule="bleu"):
    """Jobs of one GPU, each of which waits for the one before, and their costs."""
    jobs = [
        plan.Job(rule, {}, (str(n - 1),) if n else (), (str(n),), 1, 1, 0, float("inf"), n) for n in range(len(lengths))
    ]
    return jobs, {job: plan.JobCost(length) for job, length in zip(jobs, lengths, strict=True)}


def test_jobs_of_a_dry_run(said):
    jobs = said
    assert [job.rule for job in jobs] == ["fetch", "tokens", "tokens", "neighbourhoods"]
    assert [job.group for job in jobs] == [1, 2, 2, 3]
    assert [job.gpus for job in jobs] == [0, 0, 0, 1]
    assert [job.memory for job in jobs] == [1000, 0, 0, 0]
    assert jobs[3].limit == 720 * 60
    assert jobs[3].cores == 2
    assert jobs[2].wildcards == {"corpus": "pool", "shard": "00001"}


def test_a_plan_without_jobs_is_an_error(tmp_path):
    (tmp_path / "jobs.jsonl").touch()
    with pytest.raises(InputError, match="no jobs"):
        plan.read(tmp_path / "jobs.jsonl")


def test_snakemake_s_jobs_are_read_with_their_submissions_and_threads(tmp_path):
    (tmp_path / "Snakefile").write_text(
        'rule all:\n input: expand("{n}", n=range(3)), "other"\n'
        'rule one:\n output: "{n,[0-9]}"\n threads: 8\n group: "g"\n resources: gpu=1, runtime="2h"\n shell: "touch {output}"\n'
        'rule two:\n output: "other"\n resources: mem_mb=lambda w, input: len(open("nothing").read()) if False else 7\n shell: ""\n'
    )
    jobs = planned(["--group-components", "g=2", "--set-resources", "two:runtime=30", "--", "all"], tmp_path)
    assert sorted((job.rule, job.cores, job.gpus) for job in jobs if job.rule != "all") == [("one", 8, 1)] * 3 + [
        ("two", 1, 0)
    ]
    ones = [job for job in jobs if job.rule == "one"]
    assert sorted(Counter(job.group for job in ones).values()) == [1, 2]
    assert {job.limit for job in ones} == {7200}
    assert {job.limit for job in jobs if job.rule == "two"} == {1800}
    wrong = "snakemake -n fails: No rule to produce nothing_of_that_name; see all that it says: snakemake -n -- nothing"
    with pytest.raises(InputError, match=wrong):
        planned(["--", "nothing_of_that_name"], tmp_path)


def test_costs_are_amounts_over_rates(cost, said):
    fetch, tokens, _, neighbourhoods = map(cost, said)
    start, shards = cost.rates["machine"]["start"], cost.config["corpora"]["pool"]["shards"]
    assert fetch.transfer > 0
    assert tokens.seconds == pytest.approx(start + 104_000_000 / shards / cost.rates["core"]["tokens"], rel=0.01)
    flops = 2 * 104_000_000**2 * 1024
    gpu = cost.rates["gpu"]
    assert neighbourhoods.seconds == pytest.approx(start + flops / gpu["flops"] / gpu["shares"]["search"], rel=0.01)


def test_limits_are_expected_times_with_slack(cost, said):
    job = said[3]
    minutes = cost.minutes("neighbourhoods", job.wildcards, job.inputs, gpus=1, cores=2)
    assert minutes == pytest.approx(plan.SLACK * cost(job).seconds / 60, abs=30)
    assert not minutes % 30
    assert schedule.overdue([job], {job: cost(job)}, 0) == [job]  # in the 720 minutes above


@pytest.mark.parametrize(
    ("limit", "longest", "together"),
    [
        (24, 24, 216),
        (72, 0, 216),
        (10, 24, 90),
        (10, 0, 30),
        (100, 0, 300),
    ],  # the last three by a profile's set-resources
)
def test_a_training_ends_in_all_its_attempts_however_short_each_is(limit, longest, together):
    job = plan.Job("nmt_train", {}, (), ("model",), 1, 1, 0, limit * plan.HOUR, 1)
    for hours, late in ((together, False), (together + 1, True)):
        assert schedule.overdue([job], {job: plan.JobCost(hours * plan.HOUR)}, 60 * longest) == [job] * late


def test_the_reason_of_a_failed_plan_is_the_error_and_not_where_it_is_raised():
    said = 'host: x\nTraceback (most recent call last):\n  File "a.py", line 1\n    raise ValueError(\nValueError: bad year\n'
    assert _reason(said) == "ValueError: bad year"


def test_a_shard_of_paper_scale_has_some_million_pairs(cost):
    for name, entry in cost.config["corpora"].items():
        count, shards = amounts.rows(cost.config, [name]), entry.get("shards", 1)
        if not count.uncounted:
            assert count.known / shards < 7_000_000, name
            assert shards == 1 or count.known / shards > 1_000_000, name


def test_rates_of_ones_own_lie_over_ours(tmp_path):
    mine = tmp_path / "mine.yaml"
    mine.write_text("{gpu: {flops: 3.1e+14}}")
    assert plan.rates(mine)["gpu"]["flops"] == 3.1e14
    assert plan.rates(mine)["gpu"]["shares"] == plan.rates()["gpu"]["shares"]
    mine.write_text("{gpu: {flop: 1}}")
    with pytest.raises(InputError, match=r"unknown rate 'gpu\.flop'"):
        plan.rates(mine)


def test_jobs_wait_for_their_inputs_and_for_room():
    jobs, costs = chain(10, 20, 30)
    lone = plan.Job("lone", {}, (), ("lone",), 1, 1, 0, float("inf"), 9)
    course = schedule.simulate([*jobs, lone], costs | {lone: plan.JobCost(25)}, 1, MACHINE, seed=1)
    assert course.makespan == 85
    assert course.busy == 1
    assert schedule.simulate([*jobs, lone], costs | {lone: plan.JobCost(25)}, 2, MACHINE, seed=1).makespan == 60


@pytest.mark.parametrize("rule", ["bleu", "train_encoder"])
def test_failures_cost_what_was_not_kept(rule):
    jobs, costs = chain(*[plan.HOUR * 20] * 20, rule=rule)
    course = schedule.simulate(jobs, costs, 8, MACHINE | {"mtbf": 50}, seed=1)
    failures, lost = sum(run.failures for run in course.runs), sum(run.lost for run in course.runs)
    assert failures
    assert course.makespan == pytest.approx(400 * plan.HOUR + lost + failures * schedule.AGAIN)
    assert (lost <= failures * schedule.CHECKPOINT) == (rule == "train_encoder")


def test_table_and_picture(cost, said, tmp_path):
    jobs = said
    costs = {job: cost(job) for job in jobs}
    rows = plan.by_rule(jobs, costs)
    assert rows.iloc[-1, :3].tolist() == ["all", 4, 3]
    assert rows["rule"].iloc[0] == "neighbourhoods"
    assert rows["jobs"].iloc[:-1].sum() == 4
    found = [schedule.simulate(jobs, costs, gpus, MACHINE, seed=1) for gpus in (1, 8)]
    said = courses.render(rows, found, jobs, costs)
    assert "8 GPUs: " in said
    assert "does not end within its time limit and its attempts: neighbourhoods margin pool" in said
    for name in ("plan.svg", "again.svg"):
        courses.draw(found, tmp_path / name)
    assert (tmp_path / "plan.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()
    write_columns(tmp_path / "plan.csv", rows)
    assert (tmp_path / "plan.csv").read_text().startswith("rule,jobs,submissions,")
