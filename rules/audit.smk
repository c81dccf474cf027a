# tables -> every number and every claim of the papers, and what became of it in this run


rule audit:
    input:
        references=sorted(map(str, Path("references").glob("*/*.csv"))),
        claims="references/claims.yaml",
        tables=TABLES,
    output:
        numbers=report(f"{RESULTS}/audit.csv", category="audit"),
        claims=report(f"{RESULTS}/claims.csv", category="audit"),
    log:
        f"logs/{RUN}/audit.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    shell:
        "python -m bitextbench step audit {input.tables:q} --references references --claims {output.claims:q} --out {output.numbers:q}"
        " > {log:q} 2>&1"


rule settings:  # what the papers say, beside what is configured at paper scale, whichever run this is
    input:
        references=sorted(map(str, Path("references").glob("*/settings.yaml"))),
        config="config.yaml",
    output:
        report(f"{RESULTS}/settings.csv", category="audit"),
    log:
        f"logs/{RUN}/settings.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1500,
        runtime="10m",
    shell:
        "python -m bitextbench step settings --references references --config {input.config:q} --out {output:q} > {log:q} 2>&1"
