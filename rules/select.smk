# scores -> the best pairs up to a number of words


rule select:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        tokens=of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", POOL),
        scores=lambda w: scores_of(seeded(config, "methods", w.method, int(w.seed)), POOL),
    output:
        multiext(f"{WORK}/selected/{{method}}.{{budget}}/{{seed}}/", f"train.{SRC}", f"train.{TGT}", "selection.json"),
    log:
        f"logs/{RUN}/select/{{method}}.{{budget}}.{{seed}}.log",
    benchmark:
        benchmarked("select", "{method}.{budget}.{seed}")
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=2000,  # a block of each shard
        runtime="8h",
    params:
        method="{method}",
        budget="{budget}",
        seed="{seed}",
        words=lambda w: config["selection"]["budgets"][w.budget],
        side=config["selection"]["count"],
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        languages=LANGUAGES,
        scores=lambda w, input: [f"--scores={path}" for path in input.scores],
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step select {params.method:q} --budget {params.budget:q} --seed {params.seed:q} --words {params.words:q}"
        " --corpus {input.corpus:q} --tokens {params.tokens:q} {params.scores:q} --count {params.side:q} {params.languages:q}"
        " --out {params.folder:q} 2> {log:q}"
