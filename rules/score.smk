# vectors, or log-probabilities -> one score a pair


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
