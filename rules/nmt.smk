# tokens -> models that translate, selections' and the scorers' -> hypotheses and log-probabilities


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


use rule select as select_pairs with:  # guo2018 section 4.4, artetxe2019 section 4.3
    input:
        corpus=lambda w: f"{WORK}/corpus/{trained_on(w, 'selected')['corpus']}",
        tokens=lambda w: of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", trained_on(w, "selected")["corpus"]),
        scores=lambda w: scores_of(trained_on(w, "selected")["method"], trained_on(w, "selected")["corpus"]),
    output:
        multiext(f"{STEM}/selected/", "train.{source}", "train.{target}", "selection.json"),
    log:
        f"logs/{RUN}/select_pairs/{LOG}.log",
    benchmark:
        benchmarked("select_pairs", LOG)
    params:
        method=lambda w: trained_on(w, "selected")["method"],
        budget="pairs",
        seed=config["seed"],
        words=lambda w: trained_on(w, "selected")["pairs"],
        side="pairs",
        languages=["--src={source}", "--tgt={target}"],


rule training_text:
    input:
        selections=lambda w: [
            f"{STEM}/{kind}/selection.json".format(**w)
            for kind in ("mined", "selected")
            if kind in translation(w)["train"]
        ],
        tokens=lambda w: [
            path
            for corpus in translation(w)["train"].get("corpora", [])
            for path in of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", corpus)
        ],
    output:
        multiext(f"{STEM}/text/", "train.{source}", "train.{target}", "selection.json"),
    log:
        f"logs/{RUN}/training_text/{LOG}.log",
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(8, 1500),  # a corpus
        runtime="2h",
    params:
        selections=lambda w, input: [f"--selection={os.path.dirname(path)}" for path in input.selections],
        corpora=lambda w: [
            f"--corpus={corpus}={WORK}/tokens/{corpus}" for corpus in translation(w)["train"].get("corpora", [])
        ],
        languages=["--src={source}", "--tgt={target}"],
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step training-text {params.selections:q} {params.corpora:q} {params.languages:q} --out {params.folder:q} 2> {log:q}"


use rule nmt_prepare as translation_prepare with:
    input:
        selected=multiext(f"{STEM}/text/", "train.{source}", "train.{target}"),
        valid=lambda w: of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", translation(w)["valid"]),
    output:
        directory(f"{STEM}/data"),
    log:
        f"logs/{RUN}/translation_prepare/{LOG}.log",
    benchmark:
        benchmarked("translation_prepare", LOG)
    params:
        spec=lambda w: nmt_spec(PREPARE_KEYS, transformer(w)),
        languages=["--src={source}", "--tgt={target}"],


use rule nmt_train as translation_train with:
    input:
        data=f"{STEM}/data",
        tests=lambda w: of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", translation(w)["test"]),
    output:
        model=f"{STEM}/model.pt",
        hypotheses=f"{STEM}/{NMT_TEST}.{{target}}",
    log:
        f"logs/{RUN}/translation_train/{LOG}.log",
    benchmark:
        benchmarked("translation_train", LOG)
    resources:
        mem_mb=megabytes(10, 2000 if RUN != "paper" else 24000),
        gpu=lambda w: transformer(w)["gpus"],
        runtime="72h",
    params:
        spec=lambda w: nmt_spec(MODEL_KEYS, transformer(w)),
        languages=["--src={source}", "--tgt={target}"],
        seeds=f"--seed={config['seed']}",
        gpus=lambda w: transformer(w)["gpus"],
        tests=lambda w: f"--test={NMT_TEST}={WORK}/tokens/{translation(w)['test']}",
        checkpoints=f"--checkpoints={WORK}/checkpoints/translation/{LOG}",
        out=f"--out={STEM}",
