# vectors, tokens, log-probabilities -> what a similarity learns -> one score a pair -> the best pairs

from bitextbench.config.seeds import of_seed
from bitextbench.workflow import registered

METHODS = config["methods"]
method_entry = lambda w: METHODS[w.method]
of_method = lambda key: lambda w: method_entry(w).get(key)
method_gpus = lambda w: config["encoders"][method_entry(w)["encoder"]]["gpus"]
method_vectors = lambda side, corpus: lambda w: files.vectors(method_entry(w)["encoder"], corpus(w), side)
published = lambda name: "dataset" in files.declared(name).needs
fitted_on = lambda kind: any_of(name for name in METHODS if files.fit(name) == kind)
# files of a shard, where the similarity of the method needs them
needed = lambda need, paths: lambda w: paths(w) if need in files.declared(w.method).needs else []
# the corpus whose extreme pairs a method is tuned on, and the scores that find them extreme
tuned_on = lambda w: method_entry(w)["tuned"]["corpus"]
tuned_scores = lambda w: files.scores(method_entry(w)["tuned"]["by"], tuned_on(w))
# which pairs are extreme, and the seed of the tenth of them that is held out
tuning = lambda w: method_entry(w)["tuned"] | {"seed": seed_of(method_entry(w))}
extremes = lambda w: [word for key in ("best", "worst", "seed") for word in (f"--{key}", tuning(w)[key])]


rule fit_similarity:
    input:
        positives=method_vectors("src", of_method("positives")),
        pool=method_vectors("src", lambda w: POOL),
        scores=lambda w: files.scores(method_entry(w)["negatives"]["by"], POOL),
    output:
        f"{WORK}/similarities/{{method}}.npz",
    log:
        f"logs/{RUN}/fit_similarity/{{method}}.log",
    benchmark:
        benchmarked("fit_similarity", "{method}")
    wildcard_constraints:
        method=fitted_on("vectors"),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=LEAST["fit_similarity"],  # the scores of the pool and the vectors of the chosen pairs
        runtime=hours(4),
    params:
        version=code("step fit-similarity", ("similarities", of_method("similarity"))),
        name=of_method("similarity"),
        spec=lambda w: spec(method_entry(w)),
        positives=each("--positives", "positives", without=".src.npy"),
        pool=each("--pool", "pool", without=".src.npy"),
        scores=each("--pool-scores", "scores"),
        seed=lambda w: seed_of(method_entry(w)),
    shell:
        "python -m bitextbench step fit-similarity {params.name:q} --spec {params.spec:q} {params.positives:q} {params.pool:q}"
        " {params.scores:q} --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule fit_text_similarity:
    input:
        bitext=lambda w: files.tokens(method_entry(w)["bitext"]),
        positives=lambda w: files.tokens(method_entry(w)["positives"]),
    output:
        f"{WORK}/similarities/{{method}}.npz",
    log:
        f"logs/{RUN}/fit_text_similarity/{{method}}.log",
    benchmark:
        benchmarked("fit_text_similarity", "{method}")
    wildcard_constraints:
        method=fitted_on("tokens"),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(20, 3000),  # n-grams of the whole bitext
        runtime=hours(12),
    params:
        version=code("step fit-text-similarity", ("similarities", of_method("similarity"))),
        name=of_method("similarity"),
        spec=lambda w: spec(method_entry(w)),
        bitext=each("--bitext", "bitext"),
        positives=each("--positives", "positives"),
        seed=lambda w: seed_of(method_entry(w)),
    shell:
        "python -m bitextbench step fit-text-similarity {params.name:q} --spec {params.spec:q} {params.bitext:q} {params.positives:q}"
        " --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule tune_confidence:  # guo2018 section 4.4
    input:
        model=lambda w: files.encoder(method_entry(w)["encoder"]),
        src=method_vectors("src", tuned_on),
        tgt=method_vectors("tgt", tuned_on),
        scores=tuned_scores,
    output:
        f"{WORK}/similarities/{{method}}.npz",
    log:
        f"logs/{RUN}/tune_confidence/{{method}}.log",
    benchmark:
        benchmarked("tune_confidence", "{method}")
    wildcard_constraints:
        method=fitted_on("scores"),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=LEAST["fit_similarity"],  # the vectors of the examples
        runtime=hours(4),
    params:
        version=code("step tune-confidence", ("similarities", of_method("similarity"))),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        scores=each("--scores", "scores"),
        name=of_method("similarity"),
        extremes=extremes,
    shell:
        "python -m bitextbench step tune-confidence {params.name:q} {params.src:q} {params.tgt:q} {params.scores:q} --model {input.model:q}"
        " {params.extremes:q} --out {output:q} 2> {log:q}"


rule neighbourhoods:
    input:
        src=method_vectors("src", lambda w: w.corpus),
        tgt=method_vectors("tgt", lambda w: w.corpus),
    output:
        f"{WORK}/neighbourhoods/{{method}}/{{corpus}}.npz",
    log:
        f"logs/{RUN}/neighbourhoods/{{method}}.{{corpus}}.log",
    benchmark:
        benchmarked("neighbourhoods", "{method}.{corpus}")
    wildcard_constraints:
        method=fitted_on("neighbourhoods"),
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(1.2, 3000),  # vectors of a batch, from the page cache
        gpu=method_gpus,
        runtime=expected("neighbourhoods", method_gpus),
    params:
        version=code("step neighbourhoods", ("similarities", of_method("similarity"))),
        name=of_method("similarity"),
        spec=lambda w: spec(files.options(w.method)),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        gpus=allocated,
    shell:
        "python -m bitextbench step neighbourhoods {params.name:q} --spec {params.spec:q} {params.src:q} {params.tgt:q} --gpus {params.gpus:q}"
        " --threads {threads} --out {output:q} 2> {log:q}"


rule score:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        vectors=needed("vectors", lambda w: files.shard_vectors(method_entry(w)["encoder"], w.corpus, w.shard)),
        likelihoods=needed(
            "likelihoods", lambda w: f"{WORK}/likelihoods/{method_entry(w)['likelihoods']}/{w.corpus}/{w.shard}.npz"
        ),
        model=lambda w: files.similarity_model(w.method, w.corpus),
        tokens=needed("tokens", lambda w: f"{WORK}/tokens/{w.corpus}/{w.shard}.parquet"),
    output:
        f"{WORK}/scores/{{method}}/{{corpus}}/{{shard}}.npy",
    log:
        f"logs/{RUN}/score/{{method}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("score", "{method}.{corpus}.{shard}")
    wildcard_constraints:
        method=any_of(name for name in METHODS if not published(name)),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(2, 2000, shard_of),
        runtime=expected("score"),
        turn=1,
    params:
        version=code("step score", ("similarities", of_method("similarity"))),
        similarity=of_method("similarity"),
        vectors=lambda w, input: [f"--{side}-vectors={path}" for side, path in zip(SIDES, input.vectors)],
        likelihoods=each("--likelihoods", "likelihoods"),
        model=each("--model", "model"),
        tokens=each("--tokens", "tokens"),
        seed=lambda w: seed_of(method_entry(w)),
    shell:
        "python -m bitextbench step score {input.corpus:q}/{wildcards.shard:q}.parquet --similarity {params.similarity:q}"
        " {params.vectors:q} {params.likelihoods:q} {params.model:q} {params.tokens:q} --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule published_scores:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        dataset=lambda w: files.dataset(method_entry(w)["dataset"]),
    output:
        f"{WORK}/scores/{{method}}/{{corpus}}/{{shard}}.npy",
    log:
        f"logs/{RUN}/published_scores/{{method}}.{{corpus}}.{{shard}}.log",
    wildcard_constraints:
        method=any_of(filter(published, METHODS)),
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=1000,
        runtime=hours(1),
    params:
        version=code("step published-scores"),
        dataset=of_method("dataset"),
        entry=lambda w: registered(method_entry(w)["dataset"], "parsers"),
        column=of_method("column"),
        languages=corpus_languages,
        data=DATA,
    shell:
        "python -m bitextbench step published-scores {input.corpus:q}/{wildcards.shard:q}.parquet --dataset {params.dataset:q}"
        " --column {params.column:q} {params.languages:q} --data {params.data:q} --out {output:q} 2> {log:q}"


rule select:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        tokens=files.tokens(POOL),
        scores=lambda w: files.scores(of_seed(config, "methods", w.method, int(w.seed)), POOL),
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
        runtime=hours(8),
    params:
        version=code("step select"),
        method="{method}",
        budget="{budget}",
        seed="{seed}",
        words=lambda w: BUDGETS[w.budget],
        side=config["selection"]["count"],
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        languages=languages(config["pair"]),
        scores=each("--scores", "scores"),
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step select {params.method:q} --budget {params.budget:q} --seed {params.seed:q} --words {params.words:q}"
        " --corpus {input.corpus:q} --tokens {params.tokens:q} {params.scores:q} --count {params.side:q} {params.languages:q}"
        " --out {params.folder:q} 2> {log:q}"


rule selected_pairs:  # plain, with scores and line numbers; asked for by name, needs no translation model
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        scores=lambda w: files.scores(w.method, POOL),
        selection=f"{WORK}/selected/{{method}}.{{budget}}/{config['seed']}/selection.json",
    output:
        f"{RESULTS}/selected/{{method}}.{{budget}}.tsv.gz",
    log:
        f"logs/{RUN}/selected_pairs/{{method}}.{{budget}}.log",
    wildcard_constraints:
        budget=any_of(BUDGETS),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(2, 2000, lambda w, input: input.scores),
        runtime=hours(8),
    params:
        version=code("step selected-pairs"),
        scores=each("--scores", "scores"),
    shell:
        "python -m bitextbench step selected-pairs --corpus {input.corpus:q} {params.scores:q} --selection {input.selection:q}"
        " --out {output:q} 2> {log:q}"
