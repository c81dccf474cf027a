# encoders of several seeds -> error rates and P@1 on held-out pairs -> one table of all encoders


rule measure_encoder:
    input:
        training=f"{WORK}/encoders/{{encoder}}/training.json",
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/encoder/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/measure_encoder/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("measure_encoder", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        runtime="4h",
    params:
        name=lambda w: w.encoder.split(".seed")[0],
        src=shard_options("src"),
        tgt=shard_options("tgt"),
    shell:
        "python -m bitextbench step measure-encoder {params.name:q} --test {wildcards.corpus:q} --training {input.training:q}"
        " {params.src:q} {params.tgt:q} --corpus {input.corpus:q} --threads {threads} --out {output:q} 2> {log:q}"


rule compare_encoders:
    input:
        MEASURED,
    output:
        csv=report(f"{RESULTS}/encoders.csv", category="encoders"),
        html=report(f"{RESULTS}/encoders.html", category="encoders"),
        provenance=f"{RESULTS}/encoders.provenance.json",
    log:
        f"logs/{RUN}/encoders.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1500,
        runtime="10m",
    params:
        config=spec(config),
        benchmarks=f"{WORK}/benchmarks",
    shell:
        "python -m bitextbench step compare-encoders {input:q} --config {params.config:q} --benchmarks {params.benchmarks:q}"
        " --provenance {output.provenance:q} --html {output.html:q} --out {output.csv:q} > {log:q} 2>&1"
