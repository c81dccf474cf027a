# tokens -> skip-gram vectors of each language -> both in one space; lexicon induction


rule skip_gram:
    input:
        tokens=vector_shards,
        pieces=vector_pieces,
    output:
        f"{WORK}/word_vectors/{{vectors}}/own.{{side}}.vec",
    log:
        f"logs/{RUN}/skip_gram/{{vectors}}.{{side}}.log",
    benchmark:
        benchmarked("skip_gram", "{vectors}.{side}")
    conda:
        "../envs/embed.yaml"
    threads: 10  # fastText leaves rows uninitialised below (its issue 1061)
    resources:
        mem_mb=megabytes(8, 2500),
        runtime="24h",
    params:
        pieces=lambda w, input: f"--bpe={input.pieces}" if input.pieces else "",
        spec=lambda w: spec(VECTORS[w.vectors]["skip_gram"]),
        case=CASE,
    shell:
        "python -m bitextbench step skip-gram {input.tokens:q} --side {wildcards.side:q} {params.pieces:q} {params.case:q}"
        " --spec {params.spec:q} --out {output:q} > {log:q} 2>&1"


rule map_words:
    input:
        src=f"{WORK}/word_vectors/{{vectors}}/own.src.vec",
        tgt=f"{WORK}/word_vectors/{{vectors}}/own.tgt.vec",
        seed=dictionary_shards("dictionary"),
        test=dictionary_shards("test"),
    output:
        src=f"{WORK}/word_vectors/{{vectors}}/mapped.src.vec",
        tgt=f"{WORK}/word_vectors/{{vectors}}/mapped.tgt.vec",
        report=report(f"{RESULTS}/word_vectors/{{vectors}}.json", category="encoders"),
    log:
        f"logs/{RUN}/map_words/{{vectors}}.log",
    benchmark:
        benchmarked("map_words", "{vectors}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 3000),
        runtime="12h",
    params:
        spec=lambda w: spec(VECTORS[w.vectors]["mapping"]),
        dictionaries=lambda w, input: [f"--dictionary={path}" for path in input.seed]
        + [f"--test={path}" for path in input.test],
        case=CASE,
        seed=config["seed"],
        folder=subpath(output.src, parent=True),
    shell:
        "python -m bitextbench step map-words {input.src:q} {input.tgt:q} --spec {params.spec:q} {params.dictionaries:q} {params.case:q}"
        " --seed {params.seed:q} --threads {threads} --report {output.report:q} --out {params.folder:q} 2> {log:q}"
