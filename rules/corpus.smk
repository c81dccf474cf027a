# parts -> noise -> pre-filter -> deduplication -> Parquet shards, with a count of every dropped row


rule corpus:
    input:
        datasets=corpus_datasets,
        files=corpus_files,
        language=corpus_language,
        excluded=corpus_excluded,
    output:
        directory(f"{WORK}/corpus/{{corpus}}"),
    log:
        f"logs/{RUN}/corpus/{{corpus}}.log",
    benchmark:
        benchmarked("corpus", "{corpus}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=3000,  # a chunk of rows, the excluded sentences, and what sorting digests may take
        runtime="24h",
    params:
        spec=lambda w: spec(corpus_spec(w)),
        excluded=lambda w, input: [f"--exclude={os.path.basename(folder)}={folder}" for folder in input.excluded],
        seed=config["seed"],
        languages=languages,
        data=DATA,
    shell:
        "python -m bitextbench step corpus {wildcards.corpus:q} --spec {params.spec:q} {params.languages:q} --data {params.data:q}"
        " {params.excluded:q} --seed {params.seed:q} --out {output:q} 2> {log:q}"
