# ids -> four fairseq models: translation both ways, two language models -> log-probabilities of pairs


rule likelihood_data:
    input:
        corpora=lambda w: [f"{stem}.src.ids.npy" for _, stem in id_stems(LIKELIHOODS[w.likelihoods])],
        bpe=lambda w: f"{WORK}/features/{LIKELIHOODS[w.likelihoods]['features']}.model",
    output:
        directory(f"{WORK}/likelihoods/{{likelihoods}}/data"),
    log:
        f"logs/{RUN}/likelihood_data/{{likelihoods}}.log",
    benchmark:
        benchmarked("likelihood_data", "{likelihoods}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=16000 if RUN == "paper" else 1000,  # a shard, and the lengths of all sentences
        runtime="8h",
    params:
        corpora=lambda w: [f"--corpus={role}={stem}" for role, stem in id_stems(LIKELIHOODS[w.likelihoods])],
        longest=lambda w: LIKELIHOODS[w.likelihoods]["max_length"],
    shell:
        "python -m bitextbench step likelihood-data {params.corpora:q} --bpe {input.bpe:q} --max-length {params.longest:q}"
        " --out {output:q} 2> {log:q}"


rule likelihood_train:
    input:
        f"{WORK}/likelihoods/{{likelihoods}}/data",
    output:
        f"{WORK}/likelihoods/{{likelihoods}}/{{model}}.pt",
    log:
        f"logs/{RUN}/likelihood_train/{{likelihoods}}.{{model}}.log",
    benchmark:
        benchmarked("likelihood_train", "{likelihoods}.{model}")
    wildcard_constraints:
        model="|".join(LIKELIHOOD_MODELS),
    priority: 10  # selection waits for it
    retries: retries(2)  # a job killed by the scheduler goes on from its checkpoint
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(2, 2000 if RUN != "paper" else 24000),
        gpu=lambda w: LIKELIHOODS[w.likelihoods]["gpus"],
        runtime="72h",
    params:
        spec=lambda w: spec(LIKELIHOODS[w.likelihoods][LIKELIHOOD_MODELS[w.model]]),
        longest=lambda w: LIKELIHOODS[w.likelihoods]["max_length"],
        # checkpoints outlive a failed job: they are no output
        checkpoints=f"{WORK}/checkpoints/likelihoods/{{likelihoods}}.{{model}}",
        gpus=lambda w: LIKELIHOODS[w.likelihoods]["gpus"],
        seed=lambda w: LIKELIHOODS[w.likelihoods].get("seed", config["seed"]),
    shell:
        "python -m bitextbench step likelihood-train {wildcards.model:q} {input:q} --spec {params.spec:q} --max-length {params.longest:q}"
        " --seed {params.seed:q} --gpus {params.gpus:q} --threads {threads} --checkpoints {params.checkpoints:q}"
        " --out {output:q} 2>> {log:q}"


rule likelihoods:
    input:
        models=expand(f"{WORK}/likelihoods/{{{{likelihoods}}}}/{{model}}.pt", model=LIKELIHOOD_MODELS),
        src=lambda w: f"{WORK}/features/{LIKELIHOODS[w.likelihoods]['features']}/{w.corpus}/{w.shard}.src.ids.npy",
    output:
        f"{WORK}/likelihoods/{{likelihoods}}/{{corpus}}/{{shard}}.npz",
    log:
        f"logs/{RUN}/likelihoods/{{likelihoods}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("likelihoods", "{likelihoods}.{corpus}.{shard}")
    retries: retries(1)
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(4, 2000 if RUN != "paper" else 16000),
        gpu=lambda w: LIKELIHOODS[w.likelihoods]["gpus"],
        runtime="24h",
    params:
        models=lambda w, input: [f"--model={name}={path}" for name, path in zip(LIKELIHOOD_MODELS, input.models)],
        stem=lambda w, input: input.src.removesuffix(".src.ids.npy"),
        gpus=lambda w: LIKELIHOODS[w.likelihoods]["gpus"],
    shell:
        "python -m bitextbench step likelihoods {params.stem:q} {params.models:q} --gpus {params.gpus:q} --out {output:q} 2> {log:q}"


rule posteriors:  # kim2019 section 4.1
    input:
        models=expand(f"{WORK}/likelihoods/{{{{likelihoods}}}}/{{model}}.pt", model=TRANSLATION_MODELS),
        src=lambda w: of_shards(
            f"{WORK}/features/{LIKELIHOODS[w.likelihoods]['features']}/{{corpus}}/{{shard}}.src.ids.npy", w.corpus
        ),
    output:
        f"{WORK}/metrics/posteriors/{{corpus}}/{{likelihoods}}.json",
    log:
        f"logs/{RUN}/posteriors/{{likelihoods}}.{{corpus}}.log",
    benchmark:
        benchmarked("posteriors", "{likelihoods}.{corpus}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(4, 2000 if RUN != "paper" else 16000),
        gpu=lambda w: LIKELIHOODS[w.likelihoods]["gpus"],
        runtime="48h",
    params:
        models=lambda w, input: [f"--model={name}={path}" for name, path in zip(TRANSLATION_MODELS, input.models)],
        stems=lambda w, input: [path.removesuffix(".src.ids.npy") for path in input.src],
        gpus=lambda w: LIKELIHOODS[w.likelihoods]["gpus"],
    shell:
        "python -m bitextbench step posteriors {params.stems:q} {params.models:q} --gpus {params.gpus:q} --out {output:q} 2> {log:q}"
