"""Every table of five papers on mining and filtering parallel text, beside the paper's numbers.

    snakemake --profile profiles/tiny  results/tiny/table2.csv      embedded corpus, minutes
    snakemake --profile profiles/small results/small/table2.csv     real text, one machine
    snakemake --profile slurm          results/table2.csv           the paper's data, a Slurm cluster

Any other table is results/<run>/<paper>/table<N>.csv; without a target all tables are made, the audit, and
results/<run>/index.html, the report.

config.yaml says what to run at paper scale, config/<run>.yaml what differs in a smaller run; profiles say how to run it.
"""


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
include: "rules/rescoring.smk"
include: "rules/report.smk"


from bitextbench.base.json_yaml import write_json
from bitextbench.workflow import rule_graph


# light: the process that submits runs them itself, as it does `fetch`, for which nodes of many clusters have no internet
localrules:
    all,
    grids,
    fetch,
    wordpieces,
    size,
    table2,
    grid_table,
    kim2019_section3,
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
    lock, waited = run_lock.take(Path(f"{WORK}.lock"), snakemake_internals.slurm_name(workflow))
    if waited:  # the other run has made what was planned, or changed it
        snakemake_internals.start_again(workflow)
    snakemake_internals.pass_to_jobs(lock)  # those that outlive a killed run keep its lock
    snakemake_internals.look_once_a_job(workflow)
    if any(job.rule.name == "table2" for job in snakemake_internals.graph(workflow).jobs):
        write_json(
            Path(f"{RESULTS}/rules.json"), rule_graph(snakemake_internals.graph(workflow))
        )  # the report draws it


rule all:
    default_target: True
    input:
        PAGED,
        f"{RESULTS}/index.html",


rule grids:  # all tables that need no translation model
    input:
        [f"{RESULTS}/{place}.csv" for place in GRIDS if place not in TRANSLATED],
