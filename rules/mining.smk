# vectors of both sides of a corpus -> pairs

STEM = f"{WORK}/translation/{{name}}.{{source}}-{{target}}"
LOG = "{name}.{source}-{target}"
PAIR = ["--src={source}", "--tgt={target}"]  # the languages of a translation, as options


translation = lambda w: config["translations"][f"{w.name}.{w.source}-{w.target}"]
mined = lambda key: lambda w: translation(w)["train"]["mined"].get(key)
mined_vectors = lambda side: lambda w: files.vectors(mined("encoder")(w), mined("corpus")(w), side)
mined_gpus = lambda w: config["encoders"][mined("encoder")(w)]["gpus"]


rule mine_corpus:  # guo2018 section 4.2, yang2019 section 5.2
    input:
        corpus=lambda w: files.corpus(mined("corpus")(w)),
        tokens=lambda w: files.tokens(mined("corpus")(w)),
        src=mined_vectors("src"),
        tgt=mined_vectors("tgt"),
        model=lambda w: files.calibrated(mined("encoder")(w)),
        language=lambda w: files.identifier(mined("filter")(w) or {}),
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
        gpu=mined_gpus,
        runtime=expected("mine_corpus", mined_gpus),
    params:
        spec=lambda w: spec(files.mined_spec(translation(w)["train"]["mined"])),
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        model=lambda w, input: f"--model={input.model}" if input.model else "",
        languages=PAIR,
        gpus=mined_gpus,
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
        languages=corpus_languages,
        stem=lambda w, output: output[0].removesuffix(".src"),
    shell:
        "python -m bitextbench step bucc-set {input:q} {params.languages:q} --out {params.stem:q} 2> {log:q}"
