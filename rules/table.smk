# metrics -> the paper's table with ours beside it, and where each number comes from


rule significance:
    input:
        hypotheses=of_batches(f"{WORK}/nmt/{{method}}.{{budget}}/{{seeds}}", method=ROWS, budget=BUDGETS),
        references=expand(f"{WORK}/corpus/{{test}}", test=TESTS),
    output:
        report(f"{RESULTS}/table2.significance.csv", category="kim2019"),
    log:
        f"logs/{RUN}/significance.log",
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=1500,
        runtime="1h",
    params:
        language=TGT,
        hypotheses=option(
            "--hypotheses",
            [
                (method, budget, test, path)
                for method, budget, test in itertools.product(ROWS, BUDGETS, TESTS)
                for path in of_models(f"{WORK}/nmt/{method}.{budget}/{{seeds}}/{{seed}}/{test}.{TGT}")
            ],
        ),
        references=lambda w, input: [f"--references={test}={path}" for test, path in zip(TESTS, input.references)],
    shell:
        "python -m bitextbench step significance --language {params.language:q} {params.hypotheses:q} {params.references:q}"
        " --out {output:q} 2> {log:q}"


rule table2:
    input:
        reference="references/kim2019/table2.csv",
        metrics=of_batches(f"{WORK}/metrics/bleu/{{method}}.{{budget}}/{{seeds}}", method=ROWS, budget=BUDGETS),
        selections=expand(
            f"{WORK}/selected/{{method}}.{{budget}}/{{seed}}/selection.json", method=ROWS, budget=BUDGETS, seed=SEEDS
        ),
        significance=f"{RESULTS}/table2.significance.csv",
        corpora=expand(f"{WORK}/corpus/{{corpus}}", corpus=CORPORA),
        manifests=expand(f"{DATA}/{{dataset}}/manifest.json", dataset=DATASETS),
    output:
        csv=report(f"{RESULTS}/table2.csv", category="kim2019"),
        html=report(f"{RESULTS}/table2.html", category="kim2019"),
        provenance=f"{RESULTS}/table2.provenance.json",
    log:
        f"logs/{RUN}/table2.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1500,
        runtime="1h",
    params:
        config=spec(config),
        scale=config["scale"],
        cells=cell_options(
            {
                "row": method,
                "column": f"{budget}/{test}",
                "seed": seed,
                "files": [f"{WORK}/metrics/bleu/{method}.{budget}/{batch_name(batch)}/{seed}/{test}.json"],
            }
            for method, budget, batch in itertools.product(ROWS, BUDGETS, BATCHES)
            for seed, test in itertools.product(batch, TESTS)
        )
        + cell_options(
            {"row": cell.row, "column": cell.column, "note": note}
            for cell in TABLE2
            if (note := missing(cell) or cell.note)
        ),
        selections=lambda w, input: [f"--selection={path}" for path in input.selections],
        corpora=lambda w, input: [f"--input={path}/counts.json" for path in input.corpora],
        manifests=lambda w, input: [f"--input={path}" for path in input.manifests],
        benchmarks=f"{WORK}/benchmarks",
    shell:
        "python -m bitextbench step table --reference {input.reference:q} --scale {params.scale:q} {params.cells:q} --config {params.config:q}"
        " {params.selections:q} --significance {input.significance:q} {params.corpora:q} {params.manifests:q} --benchmarks {params.benchmarks:q}"
        " --html {output.html:q} --provenance {output.provenance:q} --out {output.csv:q} 2> {log:q}"


rule grid_table:  # any table of single metrics: tables.yaml says what its cells are
    input:
        reference="references/{place}.csv",
        metrics=grid_metrics,
    output:
        csv=report(f"{RESULTS}/{{place}}.csv", category="tables"),
        html=report(f"{RESULTS}/{{place}}.html", category="tables"),
    log:
        f"logs/{RUN}/grid_table/{{place}}.log",
    wildcard_constraints:
        place="|".join(CELLS),
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=config["scale"],
        cells=grid_options,
    shell:
        "python -m bitextbench step table --reference {input.reference:q} --scale {params.scale:q} {params.cells:q}"
        " --html {output.html:q} --out {output.csv:q} 2> {log:q}"
