# a selection -> BPE and fairseq data -> trained models, a batch of seeds a job, and hypotheses -> BLEU


rule nmt_prepare:
    input:
        selected=multiext(f"{WORK}/selected/{{method}}.{{budget}}/{{seed}}/", f"train.{SRC}", f"train.{TGT}"),
        valid=of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", config["nmt"]["valid"]),
    output:
        directory(f"{WORK}/nmt/{{method}}.{{budget}}/data/{{seed}}"),
    log:
        f"logs/{RUN}/nmt_prepare/{{method}}.{{budget}}.{{seed}}.log",
    benchmark:
        benchmarked("nmt_prepare", "{method}.{budget}.{seed}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(10, 1500),
        runtime="4h",
    params:
        selected=lambda w, input: os.path.dirname(input.selected[0]),
        valid=lambda w, input: os.path.dirname(input.valid[0]),
        spec=nmt_spec(PREPARE_KEYS),
        languages=LANGUAGES,
    shell:
        "python -m bitextbench step nmt-prepare {params.selected:q} --valid {params.valid:q} --spec {params.spec:q} {params.languages:q}"
        " --out {output:q} 2> {log:q}"


rule nmt_train:  # and translation, in the same process
    input:
        data=lambda w: expand(f"{WORK}/nmt/{w.method}.{w.budget}/data/{{seed}}", seed=batch_of(w)),
        tests=[of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", test) for test in TESTS],
    output:
        directory(f"{WORK}/nmt/{{method}}.{{budget}}/{{seeds}}"),  # of each seed a folder: model.pt and <test>.<language>
    log:
        f"logs/{RUN}/nmt_train/{{method}}.{{budget}}.{{seeds}}.log",
    benchmark:
        benchmarked("nmt_train", "{method}.{budget}.{seeds}")
    priority: -10  # what other selections wait for goes first
    retries: retries(2)  # a job killed by the scheduler goes on from its checkpoint
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(10, 2000 if RUN != "paper" else 24000),
        gpu=config["nmt"]["gpus"],
        runtime="72h",
    params:
        spec=nmt_spec(MODEL_KEYS),
        languages=LANGUAGES,
        seeds=lambda w: [f"--seed={seed}" for seed in batch_of(w)],
        gpus=config["nmt"]["gpus"],
        tests=[f"--test={test}={WORK}/tokens/{test}" for test in TESTS],
        # checkpoints outlive a failed job: they are no output
        checkpoints=lambda w: [
            f"--checkpoints={WORK}/checkpoints/nmt/{w.method}.{w.budget}.{seed}" for seed in batch_of(w)
        ],
        out=lambda w, output: [f"--out={output[0]}/{seed}" for seed in batch_of(w)],
    shell:
        "python -m bitextbench step nmt-train {input.data:q} --spec {params.spec:q} {params.tests:q} {params.languages:q}"
        " {params.seeds:q} --gpus {params.gpus:q} --threads {threads} {params.checkpoints:q} {params.out:q} 2>> {log:q}"


rule bleu:
    input:
        models=f"{WORK}/nmt/{{method}}.{{budget}}/{{seeds}}",
        references=expand(f"{WORK}/corpus/{{test}}", test=TESTS),
    output:
        directory(f"{WORK}/metrics/bleu/{{method}}.{{budget}}/{{seeds}}"),  # of each seed a folder: <test>.json
    log:
        f"logs/{RUN}/bleu/{{method}}.{{budget}}.{{seeds}}.log",
    benchmark:
        benchmarked("bleu", "{method}.{budget}.{seeds}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=1500,
        runtime="1h",
    params:
        language=TGT,
        hypotheses=lambda w, input: option(
            "--hypotheses",
            [(seed, test, f"{input.models}/{seed}/{test}.{TGT}") for seed in batch_of(w) for test in TESTS],
        ),
        references=lambda w, input: [f"--references={test}={path}" for test, path in zip(TESTS, input.references)],
    shell:
        "python -m bitextbench step bleu {wildcards.method:q} --budget {wildcards.budget:q} --language {params.language:q}"
        " {params.hypotheses:q} {params.references:q} --out {output:q} 2> {log:q}"
