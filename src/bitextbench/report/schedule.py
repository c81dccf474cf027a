"""The simulated course of a plan on a cluster: when each job runs, with nodes that fail.

List scheduling: of the jobs that can start, those with the longest way to the end go first. A job on a node that fails
(exponentially distributed, one mean for all nodes) starts again at once, a training from its last checkpoint.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bitextbench.report.plan import HOUR, KEPT, Cost, Job

CHECKPOINT = HOUR / 2  # of training, between two checkpoints
AGAIN = 120  # seconds until a lost job runs again


class Run(NamedTuple):
    """A job in time: seconds from the start of the whole, with what was lost to failures."""

    job: Job
    start: float
    end: float
    failures: int
    lost: float


class Course(NamedTuple):
    """The runs on `gpus` GPUs, in the order of their starts."""

    gpus: int
    runs: list[Run]

    @property
    def makespan(self) -> float:
        return max(run.end for run in self.runs)

    @property
    def busy(self) -> float:
        """The share of the GPUs' time that jobs hold them."""
        return sum(run.job.gpus * (run.end - run.start) for run in self.runs) / self.gpus / self.makespan


def needs(jobs: Sequence[Job]) -> list[list[int]]:
    """For each job, the jobs that make its inputs, by number."""
    makers = {path: number for number, job in enumerate(jobs) for path in job.outputs}
    return [sorted({makers[path] for path in job.inputs if path in makers}) for job in jobs]


def simulate(
    jobs: Sequence[Job], costs: Mapping[Job, Cost], gpus: int, machine: Mapping[str, float], seed: int
) -> Course:
    """Run the jobs on `gpus` GPUs and `cores` cores beside each; `mtbf` hours pass between failures of a node, 0: none fails."""
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
    runs: list[Run] = []
    while ready or running:
        for number in _started(ready, jobs, free):
            took, failures, lost = _attempts(jobs[number], costs[jobs[number]].seconds, machine["mtbf"] * HOUR, rng)
            runs.append(Run(jobs[number], now, now + took, failures, lost))
            heapq.heappush(running, (now + took, number))
        now, number = heapq.heappop(running)
        free["gpus"] += min(jobs[number].gpus, gpus)
        free["cores"] += jobs[number].cores
        for one in after[number]:
            waiting[one] -= 1
            if not waiting[one]:
                heapq.heappush(ready, (-first[one], one))
    return Course(gpus, runs)


def _ranks(jobs: Sequence[Job], costs: Mapping[Job, Cost], after: Mapping[int, list[int]]) -> list[float]:
    """The longest way from the start of each job to the end of all, in seconds."""
    ranks: dict[int, float] = {}
    stack = list(range(len(jobs)))
    while stack:
        number = stack[-1]
        if number in ranks:
            stack.pop()
        elif left := [one for one in after.get(number, []) if one not in ranks]:
            stack += left
        else:
            ranks[number] = costs[jobs[number]].seconds + max((ranks[one] for one in after.get(number, [])), default=0)
    return [ranks[number] for number in range(len(jobs))]


def _started(ready: list[tuple[float, int]], jobs: Sequence[Job], free: dict[str, int]) -> list[int]:
    """Take from `ready` the jobs that find room, and take their room."""
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
    """How long a job takes with failures, how many, and what of it is lost."""
    took, failures, lost, left = 0.0, 0, 0.0, seconds
    while mtbf and (until := rng.expovariate(1 / mtbf)) < left:
        kept = until // CHECKPOINT * CHECKPOINT if job.rule in KEPT else 0
        took, failures, lost, left = took + until + AGAIN, failures + 1, lost + until - kept, left - kept
    return took + left, failures, lost


def overdue(jobs: Sequence[Job], costs: Mapping[Job, Cost], attempts: int = 3) -> list[Job]:
    """The jobs that do not end within their time limit, trainings within that of all their attempts."""
    return [job for job in jobs if costs[job].seconds > job.limit * (attempts if job.rule in KEPT else 1)]
