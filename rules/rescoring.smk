# mined pairs -> a cross-encoder of each half -> what it selects of the other half (yang2019 section 6.2)


rule wordpieces:  # the vocabulary of a published BERT
    input:
        lambda w: f"{DATA}/{FEATURES[w.features]['dataset']}/manifest.json",
    output:
        f"{WORK}/features/{{features}}.txt",
    log:
        f"logs/{RUN}/wordpieces/{{features}}.log",
    wildcard_constraints:
        features=features_named("wordpiece"),
    conda:
        "../envs/data.yaml"
    params:
        vocab=lambda w, input: f"{os.path.dirname(input[0])}/vocab.txt",
    shell:
        "cp {params.vocab:q} {output:q} 2> {log:q}"


rule wordpiece_ids:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        vocab=f"{WORK}/features/{{features}}.txt",
    output:
        multiext(
            f"{WORK}/features/{{features}}/{{corpus}}/{{shard}}",
            ".src.ids.npy",
            ".src.offsets.npy",
            ".tgt.ids.npy",
            ".tgt.offsets.npy",
        ),
    log:
        f"logs/{RUN}/wordpiece_ids/{{features}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("wordpiece_ids", "{features}.{corpus}.{shard}")
    wildcard_constraints:
        features=features_named("wordpiece"),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(40, 1000),
        runtime="4h",
    params:
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step wordpiece-ids {input.corpus:q}/{wildcards.shard:q}.parquet --vocab {input.vocab:q} --out {params.folder:q} 2> {log:q}"


rule rescoring_pairs:  # what the model of each half learns from, and rescores
    input:
        corpus=lambda w: f"{WORK}/corpus/{rescored_corpus(w.rescorer)}",
        src=lambda w: rescored_vectors(w.rescorer, "src"),
        tgt=lambda w: rescored_vectors(w.rescorer, "tgt"),
        ids=lambda w: of_shards(
            f"{rescorer_ids(w.rescorer)}/{{corpus}}/{{shard}}.src.ids.npy", rescored_corpus(w.rescorer)
        ),
    output:
        directory(f"{WORK}/rescoring/{{rescorer}}/pairs"),
    log:
        f"logs/{RUN}/rescoring_pairs/{{rescorer}}.log",
    benchmark:
        benchmarked("rescoring_pairs", "{rescorer}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        gpu=lambda w: RESCORERS[w.rescorer]["gpus"],
        runtime="4h",
    params:
        languages=lambda w: languages(SimpleNamespace(corpus=rescored_corpus(w.rescorer))),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        ids=lambda w, input: [f"--ids={path.removesuffix('.src.ids.npy')}" for path in input.ids],
        options=lambda w: [f"--{key}={RESCORERS[w.rescorer][key]}" for key in ("negatives", "train", "gpus")],
        seed=config["seed"],
    shell:
        "python -m bitextbench step rescoring-pairs {input.corpus:q} {params.languages:q} {params.src:q} {params.tgt:q} {params.ids:q} {params.options:q}"
        " --threads {threads} --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule train_rescorer:
    input:
        pairs=f"{WORK}/rescoring/{{rescorer}}/pairs",
        start=rescorer_start,
        bpe=lambda w: features_model(SimpleNamespace(features=RESCORERS[w.rescorer]["features"])),
    output:
        model=f"{WORK}/rescoring/{{rescorer}}/{{half}}/model.pt",
        report=f"{WORK}/rescoring/{{rescorer}}/{{half}}/training.json",
        curve=f"{WORK}/rescoring/{{rescorer}}/{{half}}/curve.csv",
        picture=f"{WORK}/rescoring/{{rescorer}}/{{half}}/curve.png",
    log:
        f"logs/{RUN}/train_rescorer/{{rescorer}}.{{half}}.log",
    benchmark:
        benchmarked("train_rescorer", "{rescorer}.{half}")
    wildcard_constraints:
        half="[01]",
    retries: retries(2)  # a job killed by the scheduler goes on from its checkpoint
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(8, 4000),  # model, gradients, two moments, checkpoint
        gpu=lambda w: RESCORERS[w.rescorer]["gpus"],
        runtime="24h",
    params:
        spec=lambda w: spec(
            {"type": "cross_encoder", **{key: RESCORERS[w.rescorer][key] for key in ("model", "training")}}
        ),
        checkpoints=f"{WORK}/checkpoints/{{rescorer}}.{{half}}",
        corpora=lambda w, input: [
            f"--corpus={role}={input.pairs}/{w.half}/{role}"
            for role in ("positives", "negatives", "valid", "valid_negatives")
        ],
        start=rescorer_weights,
        gpus=lambda w: RESCORERS[w.rescorer]["gpus"],
        seed=config["seed"],
        run=lambda w: torchrun(RESCORERS[w.rescorer]["gpus"]),
    shell:
        "{params.run:q} -m bitextbench train --spec {params.spec:q} {params.corpora:q} --vectors model={params.start:q} --bpe {input.bpe:q}"
        " --gpus {params.gpus:q} --threads {threads} --seed {params.seed:q} --checkpoints {params.checkpoints:q} --out {output.model:q} 2>> {log:q}"


rule rescoring:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        pairs=f"{WORK}/rescoring/{{encoder}}/pairs",
        models=expand(f"{WORK}/rescoring/{{{{encoder}}}}/{{half}}/model.pt", half=[0, 1]),
    output:
        f"{WORK}/metrics/rescoring/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/rescoring/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("rescoring", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 3000),
        gpu=lambda w: RESCORERS[w.encoder]["gpus"],
        runtime="8h",
    params:
        languages=languages,
        models=lambda w, input: [f"--model={path}" for path in input.models],
        gpus=lambda w: RESCORERS[w.encoder]["gpus"],
    shell:
        "python -m bitextbench evaluate rescoring {input.corpus:q} {params.languages:q} --pairs {input.pairs:q} {params.models:q}"
        " --gpus {params.gpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"
