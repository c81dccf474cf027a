# mined pairs, selected pairs, whole corpora -> training text -> NMT model (rules of nmt.smk) -> BLEU: entries of `translations`

STEM = f"{WORK}/translation/{{name}}.{{source}}-{{target}}"
LOG = "{name}.{source}-{target}"
NMT_TEST = "test"  # what a test set is called among the outputs of a model


rule mine_corpus:  # guo2018 section 4.2, yang2019 section 5.2
    input:
        corpus=lambda w: f"{WORK}/corpus/{trained_on(w, 'mined')['corpus']}",
        tokens=lambda w: of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", trained_on(w, "mined")["corpus"]),
        src=mined_vectors("src"),
        tgt=mined_vectors("tgt"),
        model=lambda w: confident_model(trained_on(w, "mined")["encoder"]),
        language=mined_language,
    output:
        multiext(f"{STEM}/mined/", "train.{source}", "train.{target}", "selection.json"),
    log:
        f"logs/{RUN}/mine_corpus/{LOG}.log",
    benchmark:
        benchmarked("mine_corpus", LOG)
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2, 2500),  # the text, and ten neighbours of each sentence
        gpu=lambda w: config["encoders"][trained_on(w, "mined")["encoder"]]["gpus"],
        runtime="8h",
    params:
        spec=lambda w: spec(mined_spec(w)),
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        model=lambda w, input: f"--model={input.model}" if input.model else "",
        languages=["--src={source}", "--tgt={target}"],
        gpus=lambda w: config["encoders"][trained_on(w, "mined")["encoder"]]["gpus"],
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step mine-corpus {input.corpus:q} --tokens {params.tokens:q} --spec {params.spec:q} {params.src:q} {params.tgt:q}"
        " {params.model:q} {params.languages:q} --gpus {params.gpus:q} --threads {threads} --out {params.folder:q} 2> {log:q}"


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


rule translation:
    input:
        hypotheses=f"{STEM}/{NMT_TEST}.{{target}}",
        references=f"{WORK}/corpus/{{test}}",
        training=f"{STEM}/text/selection.json",
    output:
        f"{WORK}/metrics/translation/{{test}}/{LOG}.json",
    log:
        f"logs/{RUN}/translation/{{test}}.{LOG}.log",
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=1500,
        runtime="1h",
    shell:
        "python -m bitextbench evaluate translation {input.hypotheses:q} --references {input.references:q} --language {wildcards.target:q}"
        " --training {input.training:q} --out {output:q} > {log:q} 2>&1"
