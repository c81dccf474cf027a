# scores of given pairs, told apart by words, labels or neighbourhoods -> quality, selections and curves, without NMT


rule language_model:
    input:
        lambda w: [f"{WORK}/corpus/{corpus}" for corpus in LANGUAGE_MODELS[w.language]["corpora"]],
    output:
        model=f"{WORK}/languages/{{language}}.bin",
        accuracy=f"{WORK}/languages/{{language}}.json",
    log:
        f"logs/{RUN}/language_model/{{language}}.log",
    benchmark:
        benchmarked("language_model", "{language}")
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(2, 1500),
        runtime="4h",
    params:
        texts=lambda w, input: option(
            "--text",
            [
                (config["corpora"][corpus].get("pair", config["pair"])[side], f"{folder}#{side}")
                for corpus, folder in zip(LANGUAGE_MODELS[w.language]["corpora"], input)
                for side in SIDES
            ],
        ),
        lines=lambda w: LANGUAGE_MODELS[w.language]["lines"],
    shell:
        "python -m bitextbench step fit-language {params.texts:q} --lines {params.lines:q} --out {output.model:q} > {output.accuracy:q}"
        " 2> {log:q}"


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


rule agreement:  # guo2018 section 5: with the scores that tuned a confidence
    input:
        model=lambda w: encoder_model(method_encoder(w)),
        tuned=f"{WORK}/similarities/{{method}}.npz",
        src=lambda w: tuning_files(w, f"{WORK}/vectors/{method_encoder(w)}/{{corpus}}/{{shard}}.src.npy"),
        tgt=lambda w: tuning_files(w, f"{WORK}/vectors/{method_encoder(w)}/{{corpus}}/{{shard}}.tgt.npy"),
        scores=lambda w: tuning_files(w, f"{WORK}/scores/{tuning(w)['by']}/{{corpus}}/{{shard}}.npy"),
    output:
        f"{WORK}/metrics/agreement/{{corpus}}/{{method}}.json",
    log:
        f"logs/{RUN}/agreement/{{corpus}}.{{method}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=16000 if RUN == "paper" else 2000,
        runtime="4h",
    params:
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        scores=lambda w, input: [f"--scores={path}" for path in input.scores],
        best=lambda w: tuning(w)["best"],
        worst=lambda w: tuning(w)["worst"],
        seed=config["seed"],
    shell:
        "python -m bitextbench evaluate agreement {params.src:q} {params.tgt:q} {params.scores:q} --model {input.model:q} --tuned {input.tuned:q}"
        " --best {params.best:q} --worst {params.worst:q} --seed {params.seed:q} --out {output:q} > {log:q} 2>&1"


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


QUALITY = [
    (corpus, method)
    for corpus, own in config.get("quality", {}).get("corpora", {}).items()
    for method in [*config["quality"].get("methods", SCORERS), *own]
]


rule quality:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        scores=lambda w: scores_of(w.method, w.corpus),
    output:
        f"{WORK}/metrics/quality/{{corpus}}/{{method}}.json",
    log:
        f"logs/{RUN}/quality/{{corpus}}.{{method}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=2000,
        runtime="2h",
    params:
        scores=lambda w, input: [f"--scores={path}" for path in input.scores],
    shell:
        "python -m bitextbench evaluate quality --corpus {input.corpus:q} {params.scores:q} --out {output:q} > {log:q} 2>&1"


rule quality_table:
    input:
        [f"{WORK}/metrics/quality/{corpus}/{method}.json" for corpus, method in QUALITY],
    output:
        csv=report(f"{RESULTS}/quality.csv", category="quality"),
        html=report(f"{RESULTS}/quality.html", category="quality"),
        png=report(f"{RESULTS}/quality.png", category="quality"),
    log:
        f"logs/{RUN}/quality_table.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=config["scale"],
        cells=lambda w, input: cell_options(
            {"row": corpus, "column": method, "files": [path], "seed": config["seed"]}
            for (corpus, method), path in zip(QUALITY, input)
        ),
    shell:
        "python -m bitextbench step quality-table {params.cells:q} --scale {params.scale:q}"
        " --html {output.html:q} --picture {output.png:q} --out {output.csv:q} 2> {log:q}"


# ---- studies: kim2019 table 5 and figure 3, artetxe2019 figure 2

CURVES = STUDIES.get("curves", SCORERS)


rule selection_precision:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        scores=lambda w: scores_of(w.method, POOL),
    output:
        f"{WORK}/metrics/selection/{{method}}.{{budget}}.json",
    log:
        f"logs/{RUN}/selection_precision/{{method}}.{{budget}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(3, 1500),
        runtime="1h",
    params:
        words=lambda w: config["selection"]["budgets"][w.budget],
        side=config["selection"]["count"],
        scores=lambda w, input: [f"--scores={path}" for path in input.scores],
    shell:
        "python -m bitextbench evaluate selection --corpus {input.corpus:q} {params.scores:q} --words {params.words:q}"
        " --count {params.side:q} --out {output:q} > {log:q} 2>&1"


rule precision_table:
    input:
        expand(f"{WORK}/metrics/selection/{{method}}.{{budget}}.json", method=[*CURVES, *PORTIONS], budget=BUDGETS),
    output:
        csv=report(f"{RESULTS}/precision.csv", category="selection"),
        html=report(f"{RESULTS}/precision.html", category="selection"),
    log:
        f"logs/{RUN}/precision_table.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=config["scale"],
        cells=lambda w, input: cell_options(
            {"row": method, "column": f"{budget} words", "files": [path], "seed": config["seed"]}
            for (method, budget), path in zip(itertools.product([*CURVES, *PORTIONS], BUDGETS), input)
        ),
    shell:
        "python -m bitextbench step table --name precision {params.cells:q} --scale {params.scale:q}"
        " --html {output.html:q} --out {output.csv:q} 2> {log:q}"


rule sweep:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        scores=[scores_of(method, POOL) for method in CURVES],
    output:
        csv=report(f"{RESULTS}/sweep.csv", category="selection"),
        png=report(f"{RESULTS}/sweep.png", category="selection"),
    log:
        f"logs/{RUN}/sweep.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(3, 2000),
        runtime="2h",
    params:
        side=config["selection"]["count"],
        scores=option("--scores", [(method, path) for method in CURVES for path in scores_of(method, POOL)]),
    shell:
        "python -m bitextbench evaluate sweep --corpus {input.corpus:q} {params.scores:q} --count {params.side:q}"
        " --picture {output.png:q} --out {output.csv:q} 2> {log:q}"


rule distribution:
    input:
        [scores_of(method, POOL) for method in CURVES],
    output:
        csv=report(f"{RESULTS}/distribution.csv", category="kim2019"),
        png=report(f"{RESULTS}/distribution.png", category="kim2019"),
        shares=f"{WORK}/metrics/distribution.json",
    log:
        f"logs/{RUN}/distribution.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(10, 2000),
        runtime="2h",
    params:
        scores=option("--scores", [(method, path) for method in CURVES for path in scores_of(method, POOL)]),
        logits=[
            f"--logits={method}" for method in CURVES if config["methods"][method]["similarity"] in ("mlp", "zipporah")
        ],
    shell:
        "python -m bitextbench evaluate distribution {params.scores:q} {params.logits:q} --curve {output.csv:q}"
        " --picture {output.png:q} --out {output.shares:q} > {log:q} 2>&1"


rule kim2019_figure3:
    input:
        reference="references/kim2019/figure3.csv",
        shares=f"{WORK}/metrics/distribution.json",
    output:
        csv=report(f"{RESULTS}/kim2019/figure3.csv", category="kim2019"),
        html=report(f"{RESULTS}/kim2019/figure3.html", category="kim2019"),
    log:
        f"logs/{RUN}/kim2019_figure3.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=config["scale"],
        cells=cell_options(
            {
                "row": f"mlp-{row}",
                "column": "share",
                "files": [f"{WORK}/metrics/distribution.json#mlp.{key}"],
                "seed": config["seed"],
            }
            for row, key in (("zero", "zero"), ("near-one", "near_one"))
        ),
    shell:
        "python -m bitextbench step table --reference {input.reference:q} --scale {params.scale:q} {params.cells:q}"
        " --html {output.html:q} --out {output.csv:q} 2> {log:q}"


rule validation_bleu:  # of a study: the validation set translated, which is no test of table 2
    input:
        data=f"{WORK}/nmt/{{method}}.{{budget}}/data/{{seed}}",
        models=lambda w: f"{WORK}/nmt/{w.method}.{w.budget}/{batch_name(next(b for b in BATCHES if int(w.seed) in b))}",
        tokens=of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", config["nmt"]["valid"]),
        references=f"{WORK}/corpus/{config['nmt']['valid']}",
    output:
        f"{WORK}/metrics/validation_bleu/{{method}}.{{budget}}.{{seed}}.json",
    log:
        f"logs/{RUN}/validation_bleu/{{method}}.{{budget}}.{{seed}}.log",
    benchmark:
        benchmarked("validation_bleu", "{method}.{budget}.{seed}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(10, 2000 if RUN != "paper" else 24000),
        gpu=config["nmt"]["gpus"],
        runtime="8h",
    params:
        model=lambda w, input: f"{input.models}/{w.seed}/model.pt",
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        spec=nmt_spec(MODEL_KEYS),
        languages=LANGUAGES,
        gpus=config["nmt"]["gpus"],
    shell:
        "python -m bitextbench step validation-bleu {input.data:q} --model {params.model:q} --tokens {params.tokens:q}"
        " --references {input.references:q} --spec {params.spec:q} {params.languages:q} --gpus {params.gpus:q}"
        " --threads {threads} --out {output:q} 2> {log:q}"


rule kim2019_table5:
    input:
        reference="references/kim2019/table5.csv",
        metrics=[
            f"{WORK}/metrics/validation_bleu/{method}.{STUDIES['budget']}.{seed}.json"
            for method in PORTIONS
            for seed in SEEDS
        ],
    output:
        csv=report(f"{RESULTS}/kim2019/table5.csv", category="kim2019"),
        html=report(f"{RESULTS}/kim2019/table5.html", category="kim2019"),
    log:
        f"logs/{RUN}/kim2019_table5.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=config["scale"],
        cells=lambda w, input: cell_options(
            {
                "row": method.removeprefix(STUDIES["negatives"] + "-"),
                "column": "10M/test2016",
                "files": [path],
                "seed": seed,
            }
            for (method, seed), path in zip(itertools.product(PORTIONS, SEEDS), input.metrics)
        ),
    shell:
        "python -m bitextbench step table --reference {input.reference:q} --scale {params.scale:q} {params.cells:q} --html {output.html:q}"
        " --out {output.csv:q} 2> {log:q}"


ruleorder: kim2019_table5 > grid_table
ruleorder: kim2019_figure3 > grid_table
