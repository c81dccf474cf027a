# a selection -> BPE and fairseq data -> one trained model a seed -> hypotheses -> BLEU

TESTS = config["nmt"]["tests"]
# what each step takes from the configuration, so that a changed key reruns what uses it
PREPARE_KEYS = ("vocab_size", "max_length")
TRANSLATE_KEYS = ("beam", "length_penalty", "batch_tokens", "max_length")
TRAIN_KEYS = set(config["nmt"]).difference(PREPARE_KEYS, TRANSLATE_KEYS, ("seeds", "valid", "tests", "gpus"))


def nmt_spec(keys):
    return spec({key: config["nmt"][key] for key in sorted(keys)})


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
        selected=f"{WORK}/selected/{{method}}.{{budget}}",
        valid=f"{WORK}/tokens/{config['nmt']['valid']}",
        spec=nmt_spec(PREPARE_KEYS),
    shell:
        "python -m bitextbench nmt-prepare {params.selected} --valid {params.valid} --spec {params.spec} {LANGUAGES}"
        " --out {output} 2> {log}"


rule nmt_train:
    input:
        f"{WORK}/nmt/{{method}}.{{budget}}/data",
    output:
        f"{WORK}/nmt/{{method}}.{{budget}}/{{seed}}/model.pt",
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
        spec=nmt_spec(TRAIN_KEYS),
        gpus=config["nmt"]["gpus"],
        # checkpoints outlive a failed job: they are no output
        checkpoints=f"{WORK}/checkpoints/nmt/{{method}}.{{budget}}.{{seed}}",
    shell:
        "python -m bitextbench nmt-train {input} --spec {params.spec} {LANGUAGES} --seed {wildcards.seed}"
        " --gpus {params.gpus} --threads {threads} --checkpoints {params.checkpoints} --out {output} 2>> {log}"


rule nmt_translate:
    input:
        model=f"{WORK}/nmt/{{method}}.{{budget}}/{{seed}}/model.pt",
        data=f"{WORK}/nmt/{{method}}.{{budget}}/data",
        tests=[of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", test) for test in TESTS],
    output:
        expand(f"{WORK}/nmt/{{{{method}}}}.{{{{budget}}}}/{{{{seed}}}}/{{test}}.{TGT}", test=TESTS),
    log:
        f"logs/{RUN}/nmt_translate/{{method}}.{{budget}}.{{seed}}.log",
    benchmark:
        benchmarked("nmt_translate", "{method}.{budget}.{seed}")
    retries: retries(1)
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(10, 2000),
        gpu=config["nmt"]["gpus"],
        runtime="12h",
    params:
        spec=nmt_spec(TRANSLATE_KEYS),
        gpus=config["nmt"]["gpus"],
        tests=[f"--test {test}={WORK}/tokens/{test}" for test in TESTS],
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench nmt-translate {input.data} --model {input.model} --spec {params.spec} {params.tests}"
        " {LANGUAGES} --gpus {params.gpus} --threads {threads} --out {params.folder} 2> {log}"


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
        hypotheses=lambda w, input: [f"--hypotheses {test}={path}" for test, path in zip(TESTS, input.hypotheses)],
        references=lambda w, input: [f"--references {test}={path}" for test, path in zip(TESTS, input.references)],
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench bleu {wildcards.method} --budget {wildcards.budget} --seed {wildcards.seed} --language {TGT}"
        " {params.hypotheses} {params.references} --out {params.folder} 2> {log}"
