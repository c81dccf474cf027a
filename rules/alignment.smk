# vectors of a test set -> error rates of alignment recovery -> kim2019, tables 1 and 3


rule alignment:
    input:
        src=lambda w: aligned_vectors(w, "src"),
        tgt=lambda w: aligned_vectors(w, "tgt"),
        model=lambda w: learned_similarity(w.method),
    output:
        f"{WORK}/metrics/alignment/{{method}}.json",
    log:
        f"logs/{RUN}/alignment/{{method}}.log",
    benchmark:
        benchmarked("alignment", "{method}")
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(8, 2500),
        runtime="8h",
    params:
        model=lambda w, input: f"--model {input.model}" if input.model else "",
    shell:
        "python -m bitextbench evaluate alignment --src-emb {input.src} --tgt-emb {input.tgt} --similarity {wildcards.method}"
        " {params.model} --out {output} > {log} 2>&1"


rule kim2019_alignment_table:
    input:
        reference="references/kim2019/table{number}.csv",
        metrics=lambda w: [f"{WORK}/metrics/alignment/{row}.json" for row in ALIGNMENT_ROWS[w.number]],
    output:
        csv=report(f"{RESULTS}/kim2019/table{{number}}.csv", category="kim2019"),
        html=report(f"{RESULTS}/kim2019/table{{number}}.html", category="kim2019"),
    log:
        f"logs/{RUN}/kim2019/table{{number}}.log",
    wildcard_constraints:
        number="[13]",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=config["scale"],
        seed=config["seed"],
        cells=lambda w, input: [
            f"--cell {row} {column} {path}#{metric}"
            for row, path in zip(ALIGNMENT_ROWS[w.number], input.metrics)
            for column, metric in ALIGNMENT_COLUMNS[w.number].items()
        ],
    shell:
        "python -m bitextbench grid {input.reference} --scale {params.scale} --seed {params.seed} {params.cells}"
        " --html {output.html} --out {output.csv} 2> {log}"
