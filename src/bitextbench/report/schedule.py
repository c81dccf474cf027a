"""A simulation of a plan on a cluster: when each job runs, with failures of nodes.

List scheduling: of the jobs that can start, the one with the longest path to the end starts first. When a node fails
(times between failures are exponentially distributed, with one mean for all nodes), its job starts again at once; a
training continues from its last checkpoint.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from bitextbench.report.plan import HOUR, KEPT, Job, JobCost, attempts

CHECKPOINT = HOUR / 2  # of training, between two checkpoints
AGAIN = 120  # seconds until a lost job runs again


class JobRun(NamedTuple):
    """The run of a job: start and end in seconds since the start of the plan, the number of failures, the seconds lost."""

    job: Job
    start: float
    end: float
    failures: int
    lost: float


class Course(NamedTuple):
    """The runs of all jobs on `gpus` GPUs, sorted by start."""

    gpus: int
    runs: list[JobRun]

    @property
    def makespan(self) -> float:
        return max(run.end for run in self.runs)

    @property
    def busy(self) -> float:
        """The share of the GPUs' time in which jobs hold them."""
        return sum(run.job.gpus * (run.end - run.start) for run in self.runs) / self.gpus / self.makespan


def needs(jobs: Sequence[Job]) -> list[list[int]]:
    """For each job, the indices of the jobs that make its inputs."""
    makers = {path: number for number, job in enumerate(jobs) for path in job.outputs}
    return [sorted({makers[path] for path in job.inputs if path in makers}) for job in jobs]


def simulate(
    jobs: Sequence[Job], costs: Mapping[Job, JobCost], gpus: int, machine: Mapping[str, float], seed: int
) -> Course:
    """Simulate the jobs on `gpus` GPUs with `cores` cores each; `mtbf`: mean hours between failures of a node, 0 for
    none.
    """
    before = needs(jobs)
    after = defaultdict(list)
    for number, inputs in enumerate(before):
        for one in inputs:
            after[one].append(number)
    first = _ranks(jobs, costs, after)
    waiting = [len(inputs) for inputs in before]
    ready = [(-first[number], number) for number, left in enumerate(waiting) if not left]
    heapq.heapify(ready)
    free = {"gpus": gpus, "cores": int(gpus * machine["cores"])}
    rng, now = random.Random(seed), 0.0
    running: list[tuple[float, int]] = []
    runs: list[JobRun] = []
    while ready or running:
        for number in _started(ready, jobs, free):
            took, failures, lost = _attempts(jobs[number], costs[jobs[number]].seconds, machine["mtbf"] * HOUR, rng)
            runs.append(JobRun(jobs[number], now, now + took, failures, lost))
            heapq.heappush(running, (now + took, number))
        now, number = heapq.heappop(running)
        free["gpus"] += min(jobs[number].gpus, gpus)
        free["cores"] += jobs[number].cores
        for one in after[number]:
            waiting[one] -= 1
            if not waiting[one]:
                heapq.heappush(ready, (-first[one], one))
    return Course(gpus, runs)


def _ranks(jobs: Sequence[Job], costs: Mapping[Job, JobCost], after: Mapping[int, list[int]]) -> list[float]:
    """The length in seconds of the longest path from the start of each job to the end of the plan."""
    ranks: dict[int, float] = {}
    for number in TopologicalSorter({number: after.get(number, []) for number in range(len(jobs))}).static_order():
        ranks[number] = costs[jobs[number]].seconds + max((ranks[one] for one in after.get(number, [])), default=0)
    return [ranks[number] for number in range(len(jobs))]


def _started(ready: list[tuple[float, int]], jobs: Sequence[Job], free: dict[str, int]) -> list[int]:
    """Remove from `ready` the jobs that fit into the free resources, and reserve these."""
    started, left = [], []
    while ready and free["cores"] > 0:
        rank, number = heapq.heappop(ready)
        job = jobs[number]
        if job.gpus <= free["gpus"] and job.cores <= free["cores"]:
            free["gpus"] -= job.gpus
            free["cores"] -= job.cores
            started.append(number)
        else:
            left.append((rank, number))
    for one in left:
        heapq.heappush(ready, one)
    return started


def _attempts(job: Job, seconds: float, mtbf: float, rng: random.Random) -> tuple[float, int, float]:
    """The seconds that a job takes with failures, the number of failures, and the seconds lost to them."""
    took, failures, lost, left = 0.0, 0, 0.0, seconds
    while mtbf and (until := rng.expovariate(1 / mtbf)) < left:
        kept = until // CHECKPOINT * CHECKPOINT if job.rule in KEPT else 0
        took, failures, lost, left = took + until + AGAIN, failures + 1, lost + until - kept, left - kept
    return took + left, failures, lost


def overdue(jobs: Sequence[Job], costs: Mapping[Job, JobCost], longest: int) -> list[Job]:
    """The jobs that exceed their time limit, which a profile may set; a training has that of all its attempts.

    `longest`: the minutes that a job of the run may ask for, of which the number of attempts follows (`plan.attempts`).
    """
    return [
        job for job in jobs if costs[job].seconds > job.limit * (attempts(job.rule, longest) if job.rule in KEPT else 1)
    ]
