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
        version=code("step mine-corpus"),
        spec=lambda w: spec(files.mined_spec(translation(w)["train"]["mined"])),
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        model=each("--model", "model"),
        languages=PAIR,
        gpus=allocated,
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step mine-corpus {input.corpus:q} --tokens {params.tokens:q} --spec {params.spec:q} {params.src:q} {params.tgt:q}"
        " {params.model:q} {params.languages:q} --gpus {params.gpus:q} --threads {threads} --out {params.folder:q} 2> {log:q}"


# ---- two large texts, by blocks of their similarity matrix: `mining`

MINED = f"{WORK}/mining/{{mining}}"
of_mining = lambda *keys: lambda w: spec({key: config["mining"][w.mining].get(key) for key in keys})
mining_corpus = lambda w: config["mining"][w.mining]["corpus"]
mining_encoder = lambda w: config["mining"][w.mining]["encoder"]
mining_vectors = lambda side: lambda w: files.vectors(mining_encoder(w), mining_corpus(w), side)
mining_gpus = lambda w: config["encoders"][mining_encoder(w)]["gpus"]


rule searched:
    input:
        corpus=lambda w: files.corpus(mining_corpus(w)),
        src=mining_vectors("src"),
        tgt=mining_vectors("tgt"),
    output:
        directory(f"{MINED}/rows"),
    log:
        f"logs/{RUN}/searched/{{mining}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(20, 1500, lambda w, input: input.corpus),  # each distinct sentence once
        runtime=hours(2),
    params:
        version=code("step searched"),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
    shell:
        "python -m bitextbench step searched {input.corpus:q} {params.src:q} {params.tgt:q} --out {output:q} 2> {log:q}"


rule search_block:
    input:
        rows=f"{MINED}/rows",
        src=mining_vectors("src"),
        tgt=mining_vectors("tgt"),
    output:
        directory(f"{MINED}/blocks/{{i}}-{{j}}"),
    log:
        f"logs/{RUN}/search_block/{{mining}}.{{i}}-{{j}}.log",
    benchmark:
        benchmarked("search_block", "{mining}.{i}-{j}")
    wildcard_constraints:
        i=r"\d+",
        j=r"\d+",
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=lambda w, input, attempt: files.block_megabytes(w.mining, size(input) / 1e6) * more(attempt),
        gpu=mining_gpus,
        runtime=hours(12),
    params:
        version=code("step search-block"),
        spec=of_mining("margin", "k", "index"),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        blocks=lambda w: files.block_options(w.mining, w.i, w.j),
        gpus=allocated,
    shell:
        "python -m bitextbench step search-block --rows {input.rows:q} {params.src:q} {params.tgt:q} {params.blocks:q} --spec {params.spec:q}"
        " --gpus {params.gpus:q} --threads {threads} --out {output:q} 2> {log:q}"


rule merge_neighbours:
    input:
        lambda w: files.blocks(w.mining),
    output:
        directory(f"{MINED}/neighbours"),
    log:
        f"logs/{RUN}/merge_neighbours/{{mining}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(2, 2000),
        runtime=hours(4),
    params:
        version=code("merge-neighbours"),
    shell:
        "python -m bitextbench merge-neighbours {input:q} --out {output:q} 2> {log:q}"


rule mine_blocks:
    input:
        corpus=lambda w: files.corpus(mining_corpus(w)),
        rows=f"{MINED}/rows",
        neighbours=f"{MINED}/neighbours",
    output:
        pairs=f"{RESULTS}/mined/{{mining}}.tsv.gz",
        counts=f"{RESULTS}/mined/{{mining}}.json",
    log:
        f"logs/{RUN}/mine_blocks/{{mining}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(20, 2000),
        runtime=hours(4),
    params:
        version=code("step mine-blocks"),
        spec=of_mining("margin", "retrieval", "threshold"),
        languages=lambda w: languages(files.pair(mining_corpus(w))),
    shell:
        "python -m bitextbench step mine-blocks {input.corpus:q} --rows {input.rows:q} --neighbours {input.neighbours:q} --spec {params.spec:q}"
        " {params.languages:q} --out {output.pairs:q} 2> {log:q}"
