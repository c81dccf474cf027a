# sentences -> Moses tokens, once -> one joint BPE, or features of words -> ids, once


rule tokens:
    input:
        f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet",
    log:
        f"logs/{RUN}/tokens/{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("tokens", "{corpus}.{shard}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=4000,
        runtime="12h",
    params:
        languages=LANGUAGES,
    shell:
        "python -m bitextbench tokens {input}/{wildcards.shard}.parquet {params.languages} --out {output} 2> {log}"


rule bpe:
    input:
        [of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", name) for name in config["text"]["bpe"]["corpora"]],
    output:
        f"{WORK}/bpe/joint.model",
    log:
        f"logs/{RUN}/bpe.log",
    benchmark:
        benchmarked("bpe", "joint")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(8, 1500),  # sentencepiece keeps its sample in memory
        runtime="12h",
    params:
        folders=[f"{WORK}/tokens/{name}" for name in config["text"]["bpe"]["corpora"]],
        vocab=config["text"]["bpe"]["vocab"],
        sample=config["text"]["bpe"]["sample"],
        case="--lowercase" if config["text"]["lowercase"] else "--cased",
        seed=config["seed"],
    shell:
        "python -m bitextbench bpe {params.folders} --vocab {params.vocab} --sample {params.sample} {params.case}"
        " --seed {params.seed} --out {output} 2> {log}"


rule ids:
    input:
        tokens=f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet",
        model=f"{WORK}/bpe/joint.model",
    output:
        multiext(
            f"{WORK}/ids/{{corpus}}/{{shard}}", ".src.ids.npy", ".src.offsets.npy", ".tgt.ids.npy", ".tgt.offsets.npy"
        ),
    log:
        f"logs/{RUN}/ids/{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("ids", "{corpus}.{shard}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(20, 1000),
        runtime="4h",
    params:
        folder=subpath(output[0], parent=True),
        case="--lowercase" if config["text"]["lowercase"] else "--cased",
    shell:
        "python -m bitextbench ids {input.tokens} --model {input.model} {params.case} --out {params.folder} 2> {log}"


rule features:
    input:
        lambda w: [
            path
            for corpus in features_corpora(w)
            for path in of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", corpus)
        ],
    output:
        f"{WORK}/features/{{kind}}.json",
    log:
        f"logs/{RUN}/features/{{kind}}.log",
    benchmark:
        benchmarked("features", "{kind}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(4, 1500),  # the words of a shard, and the counts of all
        runtime="12h",
    params:
        folders=lambda w: [f"{WORK}/tokens/{corpus}" for corpus in features_corpora(w)],
        spec=lambda w: spec(config["text"][w.kind]),
        case="--lowercase" if config["text"]["lowercase"] else "--cased",
    shell:
        "python -m bitextbench features {wildcards.kind} {params.folders} --spec {params.spec} {params.case}"
        " --out {output} 2> {log}"


rule feature_ids:
    input:
        tokens=f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet",
        model=f"{WORK}/features/{{kind}}.json",
    output:
        multiext(
            f"{WORK}/features/{{kind}}/{{corpus}}/{{shard}}",
            ".src.ids.npy",
            ".src.offsets.npy",
            ".tgt.ids.npy",
            ".tgt.offsets.npy",
        ),
    log:
        f"logs/{RUN}/feature_ids/{{kind}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("feature_ids", "{kind}.{corpus}.{shard}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(40, 1000),
        runtime="4h",
    params:
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench ids {input.tokens} --model {input.model} --out {params.folder} 2> {log}"
