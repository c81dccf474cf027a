"""Every table of five papers on mining and filtering parallel text, beside the paper's numbers.

    snakemake --profile profiles/tiny  results/tiny/table2.csv      embedded corpus, minutes
    snakemake --profile profiles/small results/small/table2.csv     real text, one machine
    snakemake --profile slurm          results/table2.csv           the paper's data, a Slurm cluster

Any other table is results/<run>/<paper>/table<N>.csv; without a target all tables are made, the audit, and
results/<run>/index.html, the report.

config.yaml says what to run at paper scale, config/<run>.yaml what differs in a smaller run; profiles say how to run it.
"""

from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


include: "rules/common.smk"
include: "rules/resources.smk"
include: "rules/data.smk"
include: "rules/corpus.smk"
include: "rules/text.smk"
include: "rules/encoders.smk"
include: "rules/scoring.smk"
include: "rules/mining.smk"
include: "rules/nmt.smk"
include: "rules/smt.smk"
include: "rules/evaluation.smk"
include: "rules/report.smk"


# light: the process that submits runs them itself, as it does `fetch`, for which nodes of many clusters have no internet
localrules:
    all,
    grids,
    fetch,
    wordpieces,
    size,
    table2,
    grid_table,
    kim2019_table5,
    kim2019_figure3,
    yang2019_figure4,
    artetxe2019_figure2,
    quality_table,
    precision_table,
    compare_encoders,
    leaderboard,
    learning_curves,
    audit,
    settings,
    report_pages,


onstart:
    in_slurm = getattr(workflow.scheduler._executor, "run_uuid", "")
    lock, waited = run_lock.take(Path(f"{WORK}.lock"), in_slurm)
    if waited:  # start again: the other run has made what was planned, or changed it
        workflow.persistence.unlock()
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    shell._process_args["pass_fds"] = [lock]  # jobs that outlive a killed run keep its lock
    # Within its usual limit (100 submissions a second) the scheduler looks at all ready jobs again one second after each look, and after
    # each job that ends: looks add up until they take a core. A limit of your own is kept.
    limiter = workflow.scheduler.job_rate_limiter
    if limiter and (limiter.max_jobs, limiter.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    if any(job.rule.name == "table2" for job in workflow.dag.jobs):
        write_json(Path(f"{RESULTS}/rules.json"), rule_graph(workflow.dag))  # the report draws it


rule all:
    default_target: True
    input:
        PAGED,
        f"{RESULTS}/index.html",


rule grids:  # all tables that need no translation model
    input:
        [f"{RESULTS}/{place}.csv" for place in GRIDS if place not in TRANSLATED],
