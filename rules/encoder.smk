# ids -> a trained sentence encoder -> vectors


rule train_encoder:
    input:
        lambda w: [
            path
            for corpus in encoder_corpora(w.encoder).values()
            for path in of_shards(f"{WORK}/ids/{{corpus}}/{{shard}}.src.ids.npy", corpus)
        ],
        bpe=f"{WORK}/bpe/joint.model",
    output:
        model=f"{WORK}/encoders/{{encoder}}/model.pt",
        curve=f"{WORK}/encoders/{{encoder}}/curve.csv",
        picture=f"{WORK}/encoders/{{encoder}}/curve.png",
    log:
        f"logs/{RUN}/train_encoder/{{encoder}}.log",
    benchmark:
        benchmarked("train_encoder", "{encoder}")
    priority: 10  # the longest chain of jobs begins here
    retries: retries(2)  # a job killed by the scheduler goes on from its checkpoint
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 3000),
        gpu=lambda w: config["encoders"][w.encoder]["gpus"],
        runtime="72h",
    params:
        spec=lambda w: spec(config["encoders"][w.encoder]),
        # checkpoints outlive a failed job: they are no output
        checkpoints=f"{WORK}/checkpoints/{{encoder}}",
        corpora=lambda w: [
            f"--{role} {WORK}/ids/{corpus}/{shard}"
            for role, corpus in encoder_corpora(w.encoder).items()
            for shard in shards(corpus)
        ],
        gpus=lambda w: config["encoders"][w.encoder]["gpus"],
        seed=config["seed"],
    shell:
        "python -m bitextbench train --spec {params.spec} {params.corpora} --bpe {input.bpe} --gpus {params.gpus}"
        " --threads {threads} --seed {params.seed} --checkpoints {params.checkpoints} --out {output.model} 2>> {log}"


rule encode:
    input:
        model=f"{WORK}/encoders/{{encoder}}/model.pt",
        src=f"{WORK}/ids/{{corpus}}/{{shard}}.src.ids.npy",
        tgt=f"{WORK}/ids/{{corpus}}/{{shard}}.tgt.ids.npy",
    output:
        src=f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.src.npy",
        tgt=f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.tgt.npy",
    log:
        f"logs/{RUN}/encode/{{encoder}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("encode", "{encoder}.{corpus}.{shard}")
    retries: retries(1)
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        gpu=lambda w: config["encoders"][w.encoder]["gpus"],
        runtime="12h",
    params:
        stem=lambda w, input: input.src.removesuffix(".src.ids.npy"),
        out=lambda w, output: output.src.removesuffix(".src.npy"),
        gpus=lambda w: config["encoders"][w.encoder]["gpus"],
    shell:
        "python -m bitextbench encode {params.stem} --model {input.model} --gpus {params.gpus} --threads {threads}"
        " --out {params.out} 2> {log}"
