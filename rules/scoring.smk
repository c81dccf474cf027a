# vectors, tokens, log-probabilities -> what a similarity learns -> one score a pair -> the best pairs


rule fit_similarity:
    input:
        positives=lambda w: vectors_of(w, config["methods"][w.method]["positives"]),
        pool=lambda w: vectors_of(w, POOL),
        scores=lambda w: scores_of(config["methods"][w.method]["negatives"]["by"], POOL),
    output:
        f"{WORK}/similarities/{{method}}.npz",
    log:
        f"logs/{RUN}/fit_similarity/{{method}}.log",
    benchmark:
        benchmarked("fit_similarity", "{method}")
    wildcard_constraints:
        method=methods_named(lambda method: "portion" in method.get("negatives", {})),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=16000 if RUN == "paper" else 2000,  # the scores of the pool and the vectors of the chosen pairs
        runtime="4h",
    params:
        name=lambda w: config["methods"][w.method]["similarity"],
        spec=lambda w: spec(config["methods"][w.method]),
        positives=lambda w, input: [f"--positives={path.removesuffix('.src.npy')}" for path in input.positives],
        pool=lambda w, input: [f"--pool={path.removesuffix('.src.npy')}" for path in input.pool],
        scores=lambda w, input: [f"--pool-scores={path}" for path in input.scores],
        seed=seed_of("method"),
    shell:
        "python -m bitextbench step fit-similarity {params.name:q} --spec {params.spec:q} {params.positives:q} {params.pool:q}"
        " {params.scores:q} --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule fit_text_similarity:
    input:
        bitext=lambda w: of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", config["methods"][w.method]["bitext"]),
        positives=lambda w: of_shards(
            f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", config["methods"][w.method]["positives"]
        ),
    output:
        f"{WORK}/similarities/{{method}}.npz",
    log:
        f"logs/{RUN}/fit_text_similarity/{{method}}.log",
    benchmark:
        benchmarked("fit_text_similarity", "{method}")
    wildcard_constraints:
        method=methods_named(lambda method: "bitext" in method),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(20, 3000),  # n-grams of the whole bitext
        runtime="12h",
    params:
        name=lambda w: config["methods"][w.method]["similarity"],
        spec=lambda w: spec(config["methods"][w.method]),
        bitext=lambda w, input: [f"--bitext={path}" for path in input.bitext],
        positives=lambda w, input: [f"--positives={path}" for path in input.positives],
        seed=config["seed"],
    shell:
        "python -m bitextbench step fit-text-similarity {params.name:q} --spec {params.spec:q} {params.bitext:q} {params.positives:q}"
        " --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule tune_confidence:  # guo2018 section 4.4
    input:
        model=lambda w: encoder_model(method_encoder(w)),
        src=lambda w: tuning_files(w, f"{WORK}/vectors/{method_encoder(w)}/{{corpus}}/{{shard}}.src.npy"),
        tgt=lambda w: tuning_files(w, f"{WORK}/vectors/{method_encoder(w)}/{{corpus}}/{{shard}}.tgt.npy"),
        scores=lambda w: tuning_files(w, f"{WORK}/scores/{tuning(w)['by']}/{{corpus}}/{{shard}}.npy"),
    output:
        f"{WORK}/similarities/{{method}}.npz",
    log:
        f"logs/{RUN}/tune_confidence/{{method}}.log",
    benchmark:
        benchmarked("tune_confidence", "{method}")
    wildcard_constraints:
        method=methods_named(lambda method: "tuned" in method),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=16000 if RUN == "paper" else 2000,  # the vectors of the examples
        runtime="4h",
    params:
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        scores=lambda w, input: [f"--scores={path}" for path in input.scores],
        best=lambda w: tuning(w)["best"],
        worst=lambda w: tuning(w)["worst"],
        seed=config["seed"],
    shell:
        "python -m bitextbench step tune-confidence {params.src:q} {params.tgt:q} {params.scores:q} --model {input.model:q}"
        " --best {params.best:q} --worst {params.worst:q} --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule neighbourhoods:
    input:
        src=lambda w: of_shards(f"{WORK}/vectors/{method_encoder(w)}/{{corpus}}/{{shard}}.src.npy", w.corpus),
        tgt=lambda w: of_shards(f"{WORK}/vectors/{method_encoder(w)}/{{corpus}}/{{shard}}.tgt.npy", w.corpus),
    output:
        f"{WORK}/neighbourhoods/{{method}}/{{corpus}}.npz",
    log:
        f"logs/{RUN}/neighbourhoods/{{method}}.{{corpus}}.log",
    benchmark:
        benchmarked("neighbourhoods", "{method}.{corpus}")
    wildcard_constraints:
        method=methods_named(lambda method: method["similarity"] == "margin"),
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(1.2, 3000),  # vectors of a batch, from the page cache
        gpu=lambda w: config["encoders"][method_encoder(w)]["gpus"],
        runtime="12h",
    params:
        src=lambda w, input: [f"--src-emb={path}" for path in input.src],
        tgt=lambda w, input: [f"--tgt-emb={path}" for path in input.tgt],
        options=lambda w: [
            f"--{option}={config['methods'][w.method][key]}"
            for key, option in (("margin", "margin"), ("k", "neighbours"), ("batch", "batch"))
            if key in config["methods"][w.method]
        ],
        gpus=lambda w: config["encoders"][method_encoder(w)]["gpus"],
    shell:
        "python -m bitextbench step neighbourhoods {params.src:q} {params.tgt:q} {params.options:q} --gpus {params.gpus:q}"
        " --threads {threads} --out {output:q} 2> {log:q}"


rule score:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        vectors=score_vectors,
        likelihoods=score_likelihoods,
        model=similarity_model,
        tokens=score_tokens,
    output:
        f"{WORK}/scores/{{method}}/{{corpus}}/{{shard}}.npy",
    log:
        f"logs/{RUN}/score/{{method}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("score", "{method}.{corpus}.{shard}")
    wildcard_constraints:
        method=methods_named(lambda method: method["similarity"] != "published"),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(2, 2000),
        runtime="4h",
    params:
        similarity=lambda w: config["methods"][w.method]["similarity"],
        vectors=lambda w, input: [f"--{side}-vectors={path}" for side, path in zip(SIDES, input.vectors)],
        likelihoods=lambda w, input: f"--likelihoods={input.likelihoods}" if input.likelihoods else "",
        model=lambda w, input: f"--model={input.model}" if input.model else "",
        tokens=lambda w, input: f"--tokens={input.tokens}" if input.tokens else "",
        seed=seed_of("method"),
    shell:
        "python -m bitextbench score {input.corpus:q}/{wildcards.shard:q}.parquet --similarity {params.similarity:q}"
        " {params.vectors:q} {params.likelihoods:q} {params.model:q} {params.tokens:q} --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule published_scores:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        dataset=lambda w: f"{DATA}/{config['methods'][w.method]['dataset']}/manifest.json",
    output:
        f"{WORK}/scores/{{method}}/{{corpus}}/{{shard}}.npy",
    log:
        f"logs/{RUN}/published_scores/{{method}}.{{corpus}}.{{shard}}.log",
    wildcard_constraints:
        method=methods_named(lambda method: method["similarity"] == "published"),
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=1000,
        runtime="1h",
    params:
        dataset=lambda w: config["methods"][w.method]["dataset"],
        column=lambda w: config["methods"][w.method]["column"],
        languages=languages,
        data=DATA,
    shell:
        "python -m bitextbench step published-scores {input.corpus:q}/{wildcards.shard:q}.parquet --dataset {params.dataset:q}"
        " --column {params.column:q} {params.languages:q} --data {params.data:q} --out {output:q} 2> {log:q}"


rule select:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        tokens=of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", POOL),
        scores=lambda w: scores_of(of_seed(config, w.method, int(w.seed)), POOL),
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
