# vectors of a corpus -> what a task measures on them, one file for each corpus and encoder


rule alignment:  # kim2019 section 4.1
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
        model=fitted_similarity,
    output:
        f"{WORK}/metrics/alignment/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/alignment/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("alignment", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(8, 2500),
        runtime="8h",
    params:
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        similarities=similarities("alignment"),
        model=lambda w, input: f"--model={input.model}" if input.model else "",
    shell:
        "python -m bitextbench evaluate alignment {params.src:q} {params.tgt:q} {params.similarities:q} {params.model:q}"
        " --src-text {input.corpus:q} --tgt-text {input.corpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"


rule reconstruction:  # guo2018 section 3.3 and 4.1, artetxe2019 section 4.2, yang2019 section 5.1
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/reconstruction/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/reconstruction/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("reconstruction", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2, 2500),  # the text, and ten neighbours of each sentence
        gpu=encoder_gpus,
        runtime="8h",
    params:
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        similarities=similarities("reconstruction"),
        gpus=encoder_gpus,
    shell:
        "python -m bitextbench evaluate reconstruction {params.src:q} {params.tgt:q} {params.similarities:q} --gpus {params.gpus:q}"
        " --src-text {input.corpus:q} --tgt-text {input.corpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"


rule documents:  # guo2018 section 4.2, yang2019 section 5.3
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
        model=calibrated_encoder,
    output:
        f"{WORK}/metrics/documents/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/documents/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("documents", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2, 2500),
        gpu=encoder_gpus,
        runtime="8h",
    params:
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        similarity=similarities("documents"),
        model=lambda w, input: f"--model={input.model}" if input.model else "",
        gpus=encoder_gpus,
    shell:
        "python -m bitextbench evaluate documents {params.src:q} {params.tgt:q} {params.similarity:q} {params.model:q} --gpus {params.gpus:q}"
        " --src-docs {input.corpus:q} --tgt-docs {input.corpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"


rule mining:  # artetxe2019 section 4.1, yang2019 section 6
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/mining/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/mining/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("mining", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        gpu=encoder_gpus,
        runtime="8h",
    params:
        languages=languages,
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        similarities=similarities("mining"),
        gpus=encoder_gpus,
    shell:
        "python -m bitextbench evaluate mining {input.corpus:q} {params.languages:q} {params.src:q} {params.tgt:q} {params.similarities:q}"
        " --gpus {params.gpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"


rule recognition:  # zhang2016 section 6.2.2
    input:
        tokens=lambda w: of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", w.corpus),
        model=f"{WORK}/encoders/{{encoder}}/model.pt",
        pieces=encoder_text_model,
    output:
        f"{WORK}/metrics/recognition/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/recognition/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("recognition", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 4000),
        gpu=encoder_gpus,
        runtime="2h",
    params:
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        similarity=similarities("recognition"),
        case=CASE,
        seed=config["seed"],
        gpus=encoder_gpus,
    shell:
        "python -m bitextbench evaluate recognition {params.tokens:q} --model {input.model:q} --pieces {input.pieces:q} {params.similarity:q}"
        " {params.case:q} --sample-seed {params.seed:q} --gpus {params.gpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"


rule bucc_set:  # a comparable corpus in BUCC's format, for any other system
    input:
        f"{WORK}/corpus/{{corpus}}",
    output:
        multiext(f"{WORK}/bucc/{{corpus}}", ".src", ".tgt", ".gold"),
    log:
        f"logs/{RUN}/bucc_set/{{corpus}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(8, 1500),
        runtime="1h",
    params:
        languages=languages,
        stem=lambda w, output: output[0].removesuffix(".src"),
    shell:
        "python -m bitextbench step bucc-set {input:q} {params.languages:q} --out {params.stem:q} 2> {log:q}"


rule separation:  # yang2019 section 5.4
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/separation/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/separation/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("separation", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2, 2500),
        gpu=encoder_gpus,
        runtime="8h",
    params:
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        gpus=encoder_gpus,
    shell:
        "python -m bitextbench evaluate separation {params.src:q} {params.tgt:q} --tgt-text {input.corpus:q} --gpus {params.gpus:q}"
        " --threads {threads} --out {output:q} > {log:q} 2>&1"


rule yang2019_figure4:
    input:
        mining=[f"{WORK}/metrics/mining/{MARGINS['mined']}/{name}.json" for name in MARGIN_ENCODERS.values()],
        separation=[f"{WORK}/metrics/separation/{MARGINS['paired']}/{name}.json" for name in MARGIN_ENCODERS.values()],
    output:
        csv=report(f"{RESULTS}/yang2019/figure4.csv", category="tables"),
        png=report(f"{RESULTS}/yang2019/figure4.png", category="tables"),
    log:
        f"logs/{RUN}/yang2019_figure4.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        points=lambda w, input: option("--point", zip(MARGIN_ENCODERS, input.mining, input.separation)),
    shell:
        "python -m bitextbench step figure-margins {params.points:q} --picture {output.png:q} --out {output.csv:q} 2> {log:q}"
