# tokens -> models that translate, selections' and the scorers' -> hypotheses and log-probabilities

from bitextbench.workflow import LIKELIHOOD_MODELS

LIKELIHOODS = config["likelihoods"]
VALID = config["nmt"]["valid"]
NMT_TEST = "test"  # what a test set is called among the outputs of a translation
# what each step takes from the configuration, so that a changed key reruns what uses it
PREPARE_KEYS = ("vocab_size", "max_length")
MODEL_KEYS = set(config["nmt"]).difference({"vocab_size"}, ("together", "valid", "tests", "gpus"))


nmt_spec = lambda keys, settings=config["nmt"]: spec({key: settings[key] for key in sorted(keys)})
transformer = lambda w: config["transformers"][translation(w)["nmt"]]
NMT_CHECKPOINTS = f"{WORK}/checkpoints/nmt/{{method}}.{{budget}}"
batch_of = lambda w: BATCHES[w.seeds]  # the seeds whose models one job trains
likelihoods_entry = lambda w: LIKELIHOODS[w.likelihoods]
likelihoods_gpus = lambda w: likelihoods_entry(w)["gpus"]
# what the training pairs of a translation are: selected from a corpus, or whole corpora
selected = lambda key: lambda w: translation(w)["train"]["selected"][key]
whole = lambda w: translation(w)["train"].get("corpora", [])
chosen = lambda w: [kind for kind in ("mined", "selected") if kind in translation(w)["train"]]


rule nmt_prepare:
    input:
        selected=lambda w: expand(f"{WORK}/selected/{w.method}.{w.budget}/{{seed}}/train.{SRC}", seed=batch_of(w)),
        valid=files.tokens(VALID),
    output:
        directory(f"{WORK}/nmt/{{method}}.{{budget}}/data/{{seeds}}"),  # of each seed a folder
    log:
        f"logs/{RUN}/nmt_prepare/{{method}}.{{budget}}.{{seeds}}.log",
    benchmark:
        benchmarked("nmt_prepare", "{method}.{budget}.{seeds}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(10, 1500),
        runtime=hours(4),
    params:
        version=code("step nmt-prepare"),
        selected=lambda w, input: [os.path.dirname(path) for path in input.selected],
        valid=lambda w, input: os.path.dirname(input.valid[0]),
        spec=nmt_spec(PREPARE_KEYS),
        languages=languages(config["pair"]),
        out=lambda w, output: [f"--out={output[0]}/{seed}" for seed in batch_of(w)],
    shell:
        "python -m bitextbench step nmt-prepare {params.selected:q} --valid {params.valid:q} --spec {params.spec:q} {params.languages:q}"
        " {params.out:q} 2> {log:q}"


rule nmt_train:  # and translation, in the same process
    input:
        data=f"{WORK}/nmt/{{method}}.{{budget}}/data/{{seeds}}",
        tests=files.tokens(*TESTS),
    output:
        directory(f"{WORK}/nmt/{{method}}.{{budget}}/{{seeds}}"),  # of each seed a folder: model.pt and <test>.<language>
    log:
        f"logs/{RUN}/nmt_train/{{method}}.{{budget}}.{{seeds}}.log",
    benchmark:
        benchmarked("nmt_train", "{method}.{budget}.{seeds}")
    priority: -10  # what other selections wait for goes first
    retries: resumed("nmt_train")  # a job killed by the scheduler goes on from its checkpoint
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(2, LEAST["nmt_train"]),  # fairseq maps its data
        gpu=config["nmt"]["gpus"],
        runtime=one_attempt("nmt_train"),
    params:
        version=code("step nmt-train"),
        data=lambda w, input: [f"{input.data}/{seed}" for seed in batch_of(w)],
        spec=nmt_spec(MODEL_KEYS),
        languages=languages(config["pair"]),
        seeds=lambda w: [f"--seed={seed}" for seed in batch_of(w)],
        gpus=allocated,
        tests=[f"--test={test}={WORK}/tokens/{test}" for test in TESTS],
        # checkpoints outlive a failed job: they are no output
        checkpoints=lambda w: [f"--checkpoints={NMT_CHECKPOINTS}.{seed}".format(**w) for seed in batch_of(w)],
        out=lambda w, output: [f"--out={output[0]}/{seed}" for seed in batch_of(w)],
    shell:
        "python -m bitextbench step nmt-train {params.data:q} --spec {params.spec:q} {params.tests:q} {params.languages:q}"
        " {params.seeds:q} --gpus {params.gpus:q} --threads {threads} {params.checkpoints:q} {params.out:q} 2>> {log:q}"


rule likelihood_data:
    input:
        corpora=lambda w: [f"{stem}.src.ids.npy" for _, stem in files.stems(likelihoods_entry(w))],
        bpe=lambda w: files.text_model(likelihoods_entry(w)["features"]),
    output:
        directory(f"{WORK}/likelihoods/{{likelihoods}}/data"),
    log:
        f"logs/{RUN}/likelihood_data/{{likelihoods}}.log",
    benchmark:
        benchmarked("likelihood_data", "{likelihoods}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=LEAST["likelihood_data"],  # a shard, and the lengths of all sentences
        runtime=hours(8),
    params:
        version=code("step likelihood-data"),
        corpora=lambda w: [f"--corpus={role}={stem}" for role, stem in files.stems(likelihoods_entry(w))],
        longest=lambda w: likelihoods_entry(w)["max_length"],
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
    retries: resumed("likelihood_train")  # a job killed by the scheduler goes on from its checkpoint
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(2, LEAST["likelihood_train"]),
        gpu=likelihoods_gpus,
        runtime=one_attempt("likelihood_train"),
    params:
        version=code("step likelihood-train"),
        spec=lambda w: spec(likelihoods_entry(w)[LIKELIHOOD_MODELS[w.model]]),
        longest=lambda w: likelihoods_entry(w)["max_length"],
        # checkpoints outlive a failed job: they are no output
        checkpoints=f"{WORK}/checkpoints/likelihoods/{{likelihoods}}.{{model}}",
        gpus=allocated,
        seed=lambda w: seed_of(likelihoods_entry(w)),
    shell:
        "python -m bitextbench step likelihood-train {wildcards.model:q} {input:q} --spec {params.spec:q} --max-length {params.longest:q}"
        " --seed {params.seed:q} --gpus {params.gpus:q} --threads {threads} --checkpoints {params.checkpoints:q}"
        " --out {output:q} 2>> {log:q}"


rule likelihoods:
    input:
        models=expand(f"{WORK}/likelihoods/{{{{likelihoods}}}}/{{model}}.pt", model=LIKELIHOOD_MODELS),
        src=lambda w: f"{WORK}/features/{likelihoods_entry(w)['features']}/{w.corpus}/{w.shard}.src.ids.npy",
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
        mem_mb=megabytes(4, LEAST["likelihoods"]),
        gpu=likelihoods_gpus,
        runtime=expected("likelihoods", likelihoods_gpus),
    params:
        version=code("step likelihoods"),
        models=lambda w, input: [f"--model={name}={path}" for name, path in zip(LIKELIHOOD_MODELS, input.models)],
        stem=lambda w, input: input.src.removesuffix(".src.ids.npy"),
        gpus=allocated,
    shell:
        "python -m bitextbench step likelihoods {params.stem:q} {params.models:q} --gpus {params.gpus:q} --out {output:q} 2> {log:q}"


use rule select as select_pairs with:  # guo2018 section 4.4, artetxe2019 section 4.3
    input:
        corpus=lambda w: files.corpus(selected("corpus")(w)),
        tokens=lambda w: files.tokens(selected("corpus")(w)),
        scores=lambda w: files.scores(selected("method")(w), selected("corpus")(w)),
    output:
        multiext(f"{STEM}/selected/", "train.{source}", "train.{target}", "selection.json"),
    log:
        f"logs/{RUN}/select_pairs/{LOG}.log",
    benchmark:
        benchmarked("select_pairs", LOG)
    params:
        method=selected("method"),
        budget="pairs",
        seed=lambda w: seed_of(translation(w)),
        words=selected("pairs"),
        side="pairs",
        languages=PAIR,


rule training_text:
    input:
        selections=lambda w: [f"{STEM}/{kind}/selection.json".format(**w) for kind in chosen(w)],
        tokens=lambda w: files.tokens(*whole(w)),
    output:
        multiext(f"{STEM}/text/", "train.{source}", "train.{target}", "selection.json"),
    log:
        f"logs/{RUN}/training_text/{LOG}.log",
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(8, 1500),  # a corpus
        runtime=hours(2),
    params:
        version=code("step training-text"),
        selections=lambda w, input: [f"--selection={os.path.dirname(path)}" for path in input.selections],
        corpora=lambda w: [f"--corpus={corpus}={WORK}/tokens/{corpus}" for corpus in whole(w)],
        languages=PAIR,
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step training-text {params.selections:q} {params.corpora:q} {params.languages:q} --out {params.folder:q} 2> {log:q}"


use rule nmt_prepare as translation_prepare with:
    input:
        selected=multiext(f"{STEM}/text/", "train.{source}", "train.{target}"),
        valid=lambda w: files.tokens(translation(w)["valid"]),
    output:
        directory(f"{STEM}/data"),
    log:
        f"logs/{RUN}/translation_prepare/{LOG}.log",
    benchmark:
        benchmarked("translation_prepare", LOG)
    params:
        selected=lambda w, input: os.path.dirname(input.selected[0]),
        out=lambda w, output: f"--out={output}",
        spec=lambda w: nmt_spec(PREPARE_KEYS, transformer(w)),
        languages=PAIR,


use rule nmt_train as translation_train with:
    input:
        data=f"{STEM}/data",
        tests=lambda w: files.tokens(translation(w)["test"]),
    output:
        model=f"{STEM}/model.pt",
        hypotheses=f"{STEM}/{NMT_TEST}.{{target}}",
    log:
        f"logs/{RUN}/translation_train/{LOG}.log",
    benchmark:
        benchmarked("translation_train", LOG)
    resources:
        mem_mb=megabytes(2, LEAST["nmt_train"]),  # fairseq maps its data
        gpu=lambda w: transformer(w)["gpus"],
        runtime=one_attempt("translation_train"),
    params:
        data=lambda w, input: input.data,
        spec=lambda w: nmt_spec(MODEL_KEYS, transformer(w)),
        languages=PAIR,
        seeds=lambda w: f"--seed={seed_of(translation(w))}",
        gpus=allocated,
        tests=lambda w: f"--test={NMT_TEST}={WORK}/tokens/{translation(w)['test']}",
        checkpoints=f"--checkpoints={WORK}/checkpoints/translation/{LOG}",
        out=f"--out={STEM}",
