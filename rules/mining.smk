# vectors of both sides of a corpus -> pairs

STEM = f"{WORK}/translation/{{name}}.{{source}}-{{target}}"
LOG = "{name}.{source}-{target}"
NMT_TEST = "test"  # what a test set is called among the outputs of a model


rule mine_corpus:  # guo2018 section 4.2, yang2019 section 5.2
    input:
        corpus=lambda w: f"{WORK}/corpus/{trained_on(w, 'mined')['corpus']}",
        tokens=lambda w: of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", trained_on(w, "mined")["corpus"]),
        src=mined_vectors("src"),
        tgt=mined_vectors("tgt"),
        model=lambda w: confident_model(trained_on(w, "mined")["encoder"]),
        language=mined_language,
    output:
        multiext(f"{STEM}/mined/", "train.{source}", "train.{target}", "selection.json"),
    log:
        f"logs/{RUN}/mine_corpus/{LOG}.log",
    benchmark:
        benchmarked("mine_corpus", LOG)
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2, 2500),  # the text, and ten neighbours of each sentence
        gpu=lambda w: config["encoders"][trained_on(w, "mined")["encoder"]]["gpus"],
        runtime="8h",
    params:
        spec=lambda w: spec(mined_spec(w)),
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        model=lambda w, input: f"--model={input.model}" if input.model else "",
        languages=["--src={source}", "--tgt={target}"],
        gpus=lambda w: config["encoders"][trained_on(w, "mined")["encoder"]]["gpus"],
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step mine-corpus {input.corpus:q} --tokens {params.tokens:q} --spec {params.spec:q} {params.src:q} {params.tgt:q}"
        " {params.model:q} {params.languages:q} --gpus {params.gpus:q} --threads {threads} --out {params.folder:q} 2> {log:q}"


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
