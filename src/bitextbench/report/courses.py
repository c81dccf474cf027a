"""A plan as text and as a picture: costs by rule, and the simulated course of the run on each cluster."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bitextbench.base.outputs import atomic
from bitextbench.report.plan import HOUR, Job, JobCost
from bitextbench.report.schedule import Course, JobRun, overdue

if TYPE_CHECKING:
    from pandas import DataFrame


def render(
    table: "DataFrame", courses: Sequence[Course], jobs: Sequence[Job], costs: Mapping[Job, JobCost], longest: int = 0
) -> str:
    """The table of costs (`plan.by_rule`), one line per cluster, and the jobs that exceed their time limit (`overdue`)."""
    said = table.set_index("rule").rename_axis(index=None, columns="rule").to_string().splitlines()
    said.insert(-1, "-" * len(said[0]))
    for course in courses:
        failures = sum(run.failures for run in course.runs)
        lost = sum(run.lost * max(1, run.job.gpus) for run in course.runs)
        said.append(
            f"{course.gpus} GPUs: {course.makespan / HOUR / 24:.1f} days, GPUs busy {course.busy:.0%};"
            f" jobs lost to nodes: {failures}, their work: {lost / HOUR:.1f} hours"
        )
    late = Counter(f"{job.rule} {' '.join(job.wildcards.values())}" for job in overdue(jobs, costs, longest))
    said += [f"does not end within its time limit and its attempts: {name}" for name in sorted(late)]
    return "\n".join(said) + "\n"


def draw(courses: Sequence[Course], path: Path) -> None:
    """Draw the times in which jobs of each rule run, one panel per cluster; the suffix says whether SVG or PNG."""
    import matplotlib
    from matplotlib.figure import Figure

    rules = list(dict.fromkeys(run.job.rule for run in courses[0].runs))
    with matplotlib.rc_context({"svg.hashsalt": "bitextbench", "font.size": 8}):
        figure = Figure(figsize=(4 * len(courses) + 2, 0.17 * len(rules) + 1), layout="constrained")
        for axes, course in zip(figure.subplots(1, len(courses), sharey=True, squeeze=False)[0], courses, strict=True):
            bars = _bars(course.runs)
            on_gpus = {run.job.rule for run in course.runs if run.job.gpus}
            for place, rule in enumerate(rules):
                axes.broken_barh(bars[rule], (place - 0.4, 0.8), color="tab:orange" if rule in on_gpus else "tab:blue")
            axes.set(
                title=f"{course.gpus} GPUs",
                xlabel="days",
                yticks=range(len(rules)),
                yticklabels=rules,
                ylim=(len(rules), -1),
            )
        with atomic(path) as part:
            figure.savefig(part, format=path.suffix[1:], metadata={"Date": None} if path.suffix == ".svg" else None)


def _bars(runs: Sequence[JobRun]) -> dict[str, list[tuple[float, float]]]:
    """(start, length) in days of the times in which at least one job of a rule runs."""
    spans = defaultdict(list)
    for run in runs:
        spans[run.job.rule].append((run.start / HOUR / 24, run.end / HOUR / 24))
    return {rule: list(_joined(sorted(held))) for rule, held in spans.items()}


def _joined(spans: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    start, end = spans[0]
    for begins, ends in spans[1:]:
        if begins > end:
            yield start, end - start
            start = begins
        end = max(end, ends)
    yield start, end - start
