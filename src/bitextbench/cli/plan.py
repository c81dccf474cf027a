"""The command `plan`: the costs of a run before it starts; part of `cli`."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bitextbench.base.errors import InputError
from bitextbench.cli.groups import cli, example, step
from bitextbench.cli.options import COUNT, FILE, OUT, SEED

if TYPE_CHECKING:
    from bitextbench.report.plan import Job

CORES = 1000  # of a dry run, which else takes the cores of this machine for those of a job


@cli.command(epilog=example("plan results/table2.csv --gpus 8 --gpus 64"))
@click.argument("targets", nargs=-1)
@click.option("--profile", default="slurm", show_default=True, help="Snakemake's profile.")
@click.option("--configfile", "overlays", type=FILE, multiple=True, help="An overlay of config.yaml; may be repeated.")
@click.option(
    "--gpus",
    multiple=True,
    type=COUNT,
    default=(8, 64, 256),
    show_default=True,
    help="GPUs of a cluster; may be repeated.",
)
@click.option(
    "--rates", type=FILE, help="YAML with rates of your own machines: those keys of report/rates.yaml that differ."
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Seed of the failures of nodes.")
@click.option("--out", type=OUT, help="Where the table goes: CSV.")
@click.option("--picture", type=OUT, help="Where the picture goes: SVG or PNG.")
def plan(
    targets: tuple[str, ...],
    profile: str,
    overlays: tuple[Path, ...],
    gpus: tuple[int, ...],
    rates: Path | None,
    seed: int,
    out: Path | None,
    picture: Path | None,
) -> None:
    """Estimate what a run costs by rule, and how long it takes on clusters of several sizes whose nodes fail.

    Without TARGETS the run is all tables.
    """
    from bitextbench.formats.records import write_columns
    from bitextbench.report import courses as pages
    from bitextbench.report import plan as plans
    from bitextbench.report.preflight import configuration
    from bitextbench.report.schedule import simulate
    from bitextbench.workflow import minutes

    config, speeds = configuration(overlays, [profile]), plans.rates(rates)
    configured = ["--configfile", *map(str, overlays)] if overlays else []
    jobs = planned(["--forceall", "--profile", profile, *configured, "--", *targets])
    cost = plans.Costs(config, speeds)
    costs = {job: cost(job) for job in jobs}
    table = plans.by_rule(jobs, costs)
    courses = [simulate(jobs, costs, number, speeds["machine"], seed) for number in gpus]
    click.echo(pages.render(table, courses, jobs, costs, minutes(config.get("max_runtime", 0))), nl=False)
    if out:
        write_columns(out, table)
    if picture:
        pages.draw(courses, picture)


@cli.command(epilog=example("check results/table2.csv --profile slurm --profile profiles/slurm-conda"))
@click.argument("targets", nargs=-1)
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    default=("slurm",),
    show_default=True,
    help="Snakemake's profile; a second is its --workflow-profile.",
)
@click.option("--configfile", "overlays", type=FILE, multiple=True, help="An overlay of config.yaml; may be repeated.")
@click.option("--gpu-memory", type=COUNT, default=80, show_default=True, help="Memory of one GPU, in GiB.")
def check(targets: tuple[str, ...], profiles: tuple[str, ...], overlays: tuple[Path, ...], gpu_memory: int) -> None:
    """Say what a run will miss before its first job is queued: partition, GPU, environment, disk, quota, mirror.

    Exit code 1 if something is missing.
    """
    from bitextbench.report import plan as plans
    from bitextbench.report import preflight

    settings, config = preflight.profile(profiles), preflight.configuration(overlays, profiles)
    plain = [name for name in profiles if not preflight.deploys(preflight.profile([name]))]  # planned without conda
    named = [option for pair in zip(("--profile", "--workflow-profile"), plain, strict=False) for option in pair]
    configured = ["--configfile", *map(str, overlays)] if overlays else []
    jobs = planned([*named, *configured, "--", *targets])
    cost = plans.Costs(config, plans.rates())
    findings = [
        *preflight.environment(jobs, settings, Path("envs/lock/all.txt")),
        *preflight.gpus(jobs, gpu_memory),
        *preflight.disk(jobs, {job: cost(job) for job in jobs}, Path(config["data"])),
        *preflight.downloads(jobs, config["mirrors"]),
    ]
    if settings.get("executor") == "slurm":
        partitions = settings.get("slurm-partition-config")
        sent = preflight.sent(jobs, Path("Snakefile"))
        findings += preflight.slurm(sent, Path(partitions) if partitions else None)
    click.echo(preflight.render(findings), nl=False)
    if any(one.remedy for one in findings):
        raise SystemExit(1)


def planned(arguments: list[str], cwd: Path = Path()) -> "list[Job]":
    """The jobs that `snakemake -n` plans in a checkout. Raises InputError where it fails."""
    from bitextbench.report import plan as plans

    command = [sys.executable, "-m", "snakemake", "-n", "--nolock", "--quiet", "all", "--cores", str(CORES)]
    places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]  # of the plugin, and others
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "jobs.jsonl")
        logger = ["--logger", "bitextbench", "--logger-bitextbench-out", str(out)]
        command += [*logger, *arguments]
        done = subprocess.run(command, text=True, capture_output=True, cwd=cwd, env=environment)
        if done.returncode:
            remedy = f"see all that it says: snakemake -n {' '.join(arguments)}"
            raise InputError(f"snakemake -n fails: {_reason(done.stderr + done.stdout)}", remedy=remedy)
        return plans.read(out)


def _reason(said: str) -> str:
    """The line of an error in what Snakemake said; for one that is a heading, the line below it, up to a bracket."""
    lines = said.strip().splitlines() or ["it says nothing"]
    named = re.compile(r"[\w.]*(Error|Exception)\b")  # at the start of a line: within a traceback they are raised, too
    place = next((n for n, line in enumerate(lines) if named.match(line)), len(lines) - 1)
    heads = lines[place].endswith(":") and place + 1 < len(lines)
    return lines[place + 1].partition(" (")[0].strip() if heads else lines[place].strip()


@step.command("updates")
@click.option("--config", type=FILE, default="config.yaml", show_default=True, help="The configuration of paper scale.")
@click.option("--page", type=FILE, help="Markdown whose tables of updates and searches are written again.")
@click.option("-o", "--out", type=OUT, help="The table: report/updates.tsv.")
def updates(config: Path, page: Path | None, out: Path | None) -> None:
    """Find what an update of each encoder, and a block of a search, cost a GPU, without one: memory, operations, host
    waits. Takes minutes.
    """
    from bitextbench.base.progress import log
    from bitextbench.report import plan as plans
    from bitextbench.report import updates as found
    from bitextbench.report.settings import paper_scale

    settings = paper_scale(config)
    if out:
        lines = []
        for name, spec, names in found.distinct(settings):
            log(f"{name}, and {len(names) - 1} of the same size")
            line = found.of(name, settings, spec)
            lines += [line._replace(encoder=same) for same in names]
        found.write(lines, out)
        found.table.cache_clear()
    if page:
        gpu = plans.rates()["gpu"]
        found.fill(page, "updates", found.page(settings, gpu, plans.share))
        found.fill(page, "searches", found.searches(gpu))
