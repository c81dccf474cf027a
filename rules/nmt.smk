# a selection -> BPE and fairseq data -> one trained model a seed, and hypotheses -> BLEU


rule nmt_prepare:
    input:
        selected=multiext(f"{WORK}/selected/{{method}}.{{budget}}/", f"train.{SRC}", f"train.{TGT}"),
        valid=of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", config["nmt"]["valid"]),
    output:
        directory(f"{WORK}/nmt/{{method}}.{{budget}}/data"),
    log:
        f"logs/{RUN}/nmt_prepare/{{method}}.{{budget}}.log",
    benchmark:
        benchmarked("nmt_prepare", "{method}.{budget}")
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
        "python -m bitextbench nmt-prepare {params.selected:q} --valid {params.valid:q} --spec {params.spec:q} {params.languages:q}"
        " --out {output:q} 2> {log:q}"


rule nmt_train:  # and translation, in the same process
    input:
        data=f"{WORK}/nmt/{{method}}.{{budget}}/data",
        tests=[of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", test) for test in TESTS],
    output:
        model=f"{WORK}/nmt/{{method}}.{{budget}}/{{seed}}/model.pt",
        hypotheses=expand(f"{WORK}/nmt/{{{{method}}}}.{{{{budget}}}}/{{{{seed}}}}/{{test}}.{TGT}", test=TESTS),
    log:
        f"logs/{RUN}/nmt_train/{{method}}.{{budget}}.{{seed}}.log",
    benchmark:
        benchmarked("nmt_train", "{method}.{budget}.{seed}")
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
        seed="{seed}",
        gpus=config["nmt"]["gpus"],
        tests=[f"--test={test}={WORK}/tokens/{test}" for test in TESTS],
        # checkpoints outlive a failed job: they are no output
        checkpoints=f"{WORK}/checkpoints/nmt/{{method}}.{{budget}}.{{seed}}",
        folder=subpath(output.model, parent=True),
    shell:
        "python -m bitextbench nmt-train {input.data:q} --spec {params.spec:q} {params.tests:q} {params.languages:q}"
        " --seed {params.seed:q} --gpus {params.gpus:q} --threads {threads} --checkpoints {params.checkpoints:q}"
        " --out {params.folder:q} 2>> {log:q}"


rule bleu:
    input:
        hypotheses=expand(f"{WORK}/nmt/{{{{method}}}}.{{{{budget}}}}/{{{{seed}}}}/{{test}}.{TGT}", test=TESTS),
        references=expand(f"{WORK}/corpus/{{test}}", test=TESTS),
    output:
        expand(f"{WORK}/metrics/bleu/{{{{method}}}}.{{{{budget}}}}.{{{{seed}}}}/{{test}}.json", test=TESTS),
    log:
        f"logs/{RUN}/bleu/{{method}}.{{budget}}.{{seed}}.log",
    benchmark:
        benchmarked("bleu", "{method}.{budget}.{seed}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=1500,
        runtime="1h",
    params:
        language=TGT,
        hypotheses=lambda w, input: [f"--hypotheses={test}={path}" for test, path in zip(TESTS, input.hypotheses)],
        references=lambda w, input: [f"--references={test}={path}" for test, path in zip(TESTS, input.references)],
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench bleu {wildcards.method:q} --budget {wildcards.budget:q} --seed {wildcards.seed:q} --language {params.language:q}"
        " {params.hypotheses:q} {params.references:q} --out {params.folder:q} 2> {log:q}"
