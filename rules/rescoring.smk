# mined candidates -> a cross-encoder for each half of a corpus -> the pairs that it selects: yang2019 section 6.2

RESCORERS = config.get("rescorers", {})
HALVES = f"{WORK}/rescoring/{{rescorer}}"
rescorer = lambda key: lambda w: RESCORERS[w.rescorer][key]
rescorer_seed = lambda w: seed_of(RESCORERS[w.rescorer])
rescored = lambda w: rescorer("corpora")(w)["comparable"]
rescored_languages = lambda w: languages(files.pair(rescored(w)))
rescored_vectors = lambda side: lambda w: files.vectors(rescorer("encoder")(w), rescored(w), side)
rescorer_start = lambda w: files.rescorer_start(w.rescorer)
half_corpora = lambda roles: lambda w, input: [f"--corpus={role}={input.pairs}/{w.half}/{role}" for role in roles]


rule rescoring_pairs:  # what the model of each half learns from, and rescores
    input:
        corpus=lambda w: files.corpus(rescored(w)),
        src=rescored_vectors("src"),
        tgt=rescored_vectors("tgt"),
        ids=lambda w: files.ids(rescorer("features")(w), rescored(w)),
    output:
        directory(f"{HALVES}/pairs"),
    log:
        f"logs/{RUN}/rescoring_pairs/{{rescorer}}.log",
    benchmark:
        benchmarked("rescoring_pairs", "{rescorer}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        gpu=rescorer("gpus"),
        runtime=hours(4),
    params:
        version=code("step rescoring-pairs"),
        languages=rescored_languages,
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        ids=each("--ids", "ids", without=".src.ids.npy"),
        options=lambda w: [f"--{key}={RESCORERS[w.rescorer][key]}" for key in ("negatives", "train")],
        gpus=allocated,
        seed=rescorer_seed,
    shell:
        "python -m bitextbench step rescoring-pairs {input.corpus:q} {params.languages:q} {params.src:q} {params.tgt:q} {params.ids:q} {params.options:q}"
        " --gpus {params.gpus:q} --threads {threads} --seed {params.seed:q} --out {output:q} 2> {log:q}"


use rule train_encoder as train_rescorer with:
    input:
        pairs=f"{HALVES}/pairs",
        start=rescorer_start,
        bpe=lambda w: files.text_model(rescorer("features")(w)),
    output:
        model=f"{HALVES}/{{half}}/model.pt",
        report=f"{HALVES}/{{half}}/training.json",
        curve=f"{HALVES}/{{half}}/curve.csv",
        description=f"{HALVES}/{{half}}/encoder.json",
        text=f"{HALVES}/{{half}}/text_model",
    log:
        f"logs/{RUN}/train_rescorer/{{rescorer}}.{{half}}.log",
    benchmark:
        benchmarked("train_rescorer", "{rescorer}.{half}")
    wildcard_constraints:
        half="[01]",
    priority: 0
    retries: resumed("train_rescorer")
    threads: lambda w: 2 * max(1, rescorer("gpus")(w))
    resources:
        # model, gradients, two moments, checkpoint
        mem_mb=megabytes(8, 4000, lambda w, input: [input.pairs, files.weights(input.start), input.bpe]),
        gpu=rescorer("gpus"),
        runtime=one_attempt("train_rescorer"),
    params:
        version=code("train", ("encoders", rescorer("type"))),
        spec=lambda w: spec({key: rescorer(key)(w) for key in ("type", "model", "training")}),
        checkpoints=f"{WORK}/checkpoints/{{rescorer}}.{{half}}",
        corpora=half_corpora(["positives", "negatives", "valid", "valid_negatives"]),
        hard=[],
        vectors=lambda w, input: f"--vectors=model={files.weights(input.start)}",
        languages=rescored_languages,
        seed=rescorer_seed,


rule rescoring:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        pairs=f"{HALVES}/pairs",
        models=[f"{HALVES}/{half}/model.pt" for half in (0, 1)],
    output:
        f"{WORK}/metrics/rescoring/{{corpus}}/{{rescorer}}.json",
    log:
        f"logs/{RUN}/rescoring/{{corpus}}.{{rescorer}}.log",
    benchmark:
        benchmarked("rescoring", "{corpus}.{rescorer}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 3000),
        gpu=rescorer("gpus"),
        runtime=hours(8),
    params:
        version=code("step measure-rescoring", ("encoders", rescorer("type"))),
        languages=corpus_languages,
        models=each("--model", "models"),
        gpus=allocated,
    shell:
        "python -m bitextbench step measure-rescoring {input.corpus:q} {params.languages:q} --pairs {input.pairs:q} {params.models:q}"
        " --gpus {params.gpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"
