# vectors, scores, selections, translations -> what a task measures on them, one file for each corpus and model

from bitextbench.config.studies import curves
from bitextbench.workflow import LIKELIHOOD_MODELS

CURVES = curves(config)
TESTED = files.tested(CELLS)  # tables of translations whose rows are compared with one of them
TRANSLATION_MODELS = [name for name, kind in LIKELIHOOD_MODELS.items() if kind == "translation"]

# vectors of a corpus, and the similarities that the cells of tables compare them by
metric_vectors = lambda side: lambda w: files.vectors(w.encoder, w.corpus, side)
compared_by = lambda task: lambda w: files.similarities(task, w.corpus, w.encoder, itertools.chain(*CELLS.values()))
similarities = lambda task: lambda w: [f"--similarity={name}" for name in compared_by(task)(w)]
fitted = lambda w: files.fitted_similarities(w.encoder, compared_by("alignment")(w))
calibrated_encoder = lambda w: files.calibrated(w.encoder)
translated = lambda w: files.translated(CELLS[w.place])
translated_tests = lambda w: {test: files.corpus(test) for _, _, test, _ in translated(w)}
batch_with = lambda seed: next(name for name, seeds in BATCHES.items() if int(seed) in seeds)
pool_scores = lambda w: files.scores(w.method, POOL)
corpus_scores = lambda w: files.scores(w.method, w.corpus)
# translations of the tests by the models of a batch: (seed, test, path)
batch_tests = lambda models, seeds: [(s, test, f"{models}/{s}/{test}.{TGT}") for s in seeds for test in TESTS]
references_of_tests = lambda w: [f"--references={test}={files.corpus(test)}" for test in TESTS]
named_scores = lambda names: [(name, path) for name in names for path in files.scores(name, POOL)]
text_options = lambda *names: lambda w, input: [f"{name}={input.corpus}" for name in names]


# ---- vectors of a corpus


rule reconstruction:  # guo2018 section 3.3 and 4.1, artetxe2019 section 4.2, yang2019 section 5.1
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/<metric>/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/<metric>/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("<metric>", "{corpus}.{encoder}")
    pathvars:
        metric="reconstruction",
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2, 2500),  # the text, and ten neighbours of each sentence
        gpu=encoder_gpus,
        runtime=expected("reconstruction", encoder_gpus),
    params:
        version=code("evaluate reconstruction"),
        command=["evaluate", "reconstruction"],
        corpus=text_options("--src-text", "--tgt-text"),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        similarities=similarities("reconstruction"),
        model=[],
        gpus=allocated,
    shell:
        "python -m bitextbench {params.command:q} {params.corpus:q} {params.src:q} {params.tgt:q} {params.similarities:q} {params.model:q}"
        " --gpus {params.gpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"


use rule reconstruction as alignment with:  # kim2019 section 4.1
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
        model=fitted,
    pathvars:
        metric="alignment",
    resources:
        mem_mb=megabytes(8, 2500),
        runtime=expected("alignment"),
    params:
        version=code("evaluate alignment", ("similarities", compared_by("alignment"))),
        command=["evaluate", "alignment"],
        similarities=similarities("alignment"),
        model=each("--model", "model"),
        gpus=0,


use rule reconstruction as documents with:  # guo2018 section 4.2, yang2019 section 5.3
    input:
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
        model=calibrated_encoder,
    pathvars:
        metric="documents",
    resources:
        mem_mb=megabytes(2, 2500),
        gpu=encoder_gpus,
        runtime=expected("documents", encoder_gpus),
    params:
        version=code("evaluate documents"),
        command=["evaluate", "documents"],
        corpus=text_options("--src-docs", "--tgt-docs"),
        similarities=similarities("documents"),
        model=each("--model", "model"),


use rule reconstruction as mining with:  # artetxe2019 section 4.1, yang2019 section 6
    pathvars:
        metric="mining",
    resources:
        mem_mb=megabytes(4, 2500),
        gpu=encoder_gpus,
        runtime=expected("mining", encoder_gpus),
    params:
        version=code("step measure-mining"),
        command=["step", "measure-mining"],
        corpus=lambda w, input: [input.corpus, *corpus_languages(w)],
        similarities=similarities("mining"),


use rule reconstruction as separation with:  # yang2019 section 5.4
    pathvars:
        metric="separation",
    resources:
        mem_mb=megabytes(2, 2500),
        gpu=encoder_gpus,
        runtime=expected("separation", encoder_gpus),
    params:
        version=code("step measure-separation"),
        command=["step", "measure-separation"],
        corpus=text_options("--tgt-text"),
        similarities=[],


rule recognition:  # zhang2016 section 6.2.2
    input:
        tokens=lambda w: files.tokens(w.corpus),
        model=f"{WORK}/encoders/{{encoder}}/model.pt",
        pieces=encoder_text_model,
    output:
        f"{WORK}/metrics/recognition/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/recognition/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("recognition", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 4000),
        gpu=encoder_gpus,
        runtime=hours(2),
    params:
        version=code("step measure-recognition", ("encoders", encoder_type)),
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        similarity=similarities("recognition"),
        case=CASE,
        seed=config["seed"],
        gpus=allocated,
    shell:
        "python -m bitextbench step measure-recognition {params.tokens:q} --model {input.model:q} --pieces {input.pieces:q} {params.similarity:q}"
        " {params.case:q} --sample-seed {params.seed:q} --gpus {params.gpus:q} --threads {threads} --out {output:q} > {log:q} 2>&1"


rule posteriors:  # kim2019 section 4.1
    input:
        models=expand(f"{WORK}/likelihoods/{{{{likelihoods}}}}/{{model}}.pt", model=TRANSLATION_MODELS),
        src=lambda w: files.ids(likelihoods_entry(w)["features"], w.corpus),
    output:
        f"{WORK}/metrics/posteriors/{{corpus}}/{{likelihoods}}.json",
    log:
        f"logs/{RUN}/posteriors/{{likelihoods}}.{{corpus}}.log",
    benchmark:
        benchmarked("posteriors", "{likelihoods}.{corpus}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(4, LEAST["likelihoods"]),
        gpu=likelihoods_gpus,
        runtime=hours(24),
    params:
        version=code("step posteriors"),
        models=lambda w, input: [f"--model={name}={path}" for name, path in zip(TRANSLATION_MODELS, input.models)],
        stems=lambda w, input: [path.removesuffix(".src.ids.npy") for path in input.src],
        gpus=allocated,
    shell:
        "python -m bitextbench step posteriors {params.stems:q} {params.models:q} --gpus {params.gpus:q} --out {output:q} 2> {log:q}"


rule measure_encoder:
    input:
        training=f"{WORK}/encoders/{{encoder}}/training.json",
        src=metric_vectors("src"),
        tgt=metric_vectors("tgt"),
        corpus=f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/encoder/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/measure_encoder/{{corpus}}.{{encoder}}.log",
    benchmark:
        benchmarked("measure_encoder", "{corpus}.{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        runtime=hours(4),
    params:
        version=code("step measure-encoder"),
        name=lambda w: re.sub(r"\.seed\d+", "", w.encoder),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
    shell:
        "python -m bitextbench step measure-encoder {params.name:q} --test {wildcards.corpus:q} --training {input.training:q}"
        " {params.src:q} {params.tgt:q} --corpus {input.corpus:q} --threads {threads} --out {output:q} 2> {log:q}"


rule encoder_cost:  # of a whole encoder: sentences in a second of one core, and its size
    input:
        model=lambda w: files.whole_encoder(w.encoder),
        corpus=f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/cost/{{corpus}}/{{encoder}}.json",
    log:
        f"logs/{RUN}/encoder_cost/{{corpus}}.{{encoder}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=4000,
        runtime=hours(1),
    params:
        version=code("step encoder-cost"),
        named=lambda w, input: encoder_entry(w).get("name") or os.path.dirname(input.model),
        prefix=encoder_prefix,
        languages=corpus_languages,
    shell:
        "python -m bitextbench step encoder-cost {params.named:q} {input.corpus:q} {params.languages:q} {params.prefix:q}"
        " --out {output:q} > {log:q} 2>&1"


rule agreement:  # guo2018 section 5: with the scores that tuned a confidence
    input:
        model=lambda w: files.encoder(method_entry(w)["encoder"]),
        tuned=f"{WORK}/similarities/{{method}}.npz",
        src=method_vectors("src", tuned_on),
        tgt=method_vectors("tgt", tuned_on),
        scores=tuned_scores,
    output:
        f"{WORK}/metrics/agreement/{{corpus}}/{{method}}.json",
    log:
        f"logs/{RUN}/agreement/{{corpus}}.{{method}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=LEAST["fit_similarity"],
        runtime=hours(4),
    params:
        version=code("step measure-agreement", ("similarities", of_method("similarity"))),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
        scores=each("--scores", "scores"),
        extremes=extremes,
    shell:
        "python -m bitextbench step measure-agreement {params.src:q} {params.tgt:q} {params.scores:q} --model {input.model:q} --tuned {input.tuned:q}"
        " {params.extremes:q} --out {output:q} > {log:q} 2>&1"


# ---- scores and selections


rule quality:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        scores=corpus_scores,
    output:
        f"{WORK}/metrics/quality/{{corpus}}/{{method}}.json",
    log:
        f"logs/{RUN}/quality/{{corpus}}.{{method}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=2000,
        runtime=hours(2),
    params:
        version=code("evaluate quality"),
        scores=each("--scores", "scores"),
    shell:
        "python -m bitextbench evaluate quality --corpus {input.corpus:q} {params.scores:q} --out {output:q} > {log:q} 2>&1"


rule selection_precision:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        scores=pool_scores,
    output:
        f"{WORK}/metrics/selection/{{method}}.{{budget}}.json",
    log:
        f"logs/{RUN}/selection_precision/{{method}}.{{budget}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(3, 1500, lambda w, input: input.scores),
        runtime=hours(1),
    params:
        version=code("evaluate selection"),
        words=lambda w: BUDGETS[w.budget],
        side=config["selection"]["count"],
        scores=each("--scores", "scores"),
    shell:
        "python -m bitextbench evaluate selection --corpus {input.corpus:q} {params.scores:q} --words {params.words:q}"
        " --count {params.side:q} --out {output:q} > {log:q} 2>&1"


rule shares:
    input:
        pool_scores,
    output:
        f"{WORK}/metrics/shares/{{method}}.json",
    log:
        f"logs/{RUN}/shares/{{method}}.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(3, 1500),
        runtime=hours(4),
    params:
        version=code("step measure-shares"),
        scores=each("--scores"),
    shell:
        "python -m bitextbench step measure-shares {params.scores:q} --out {output:q} > {log:q} 2>&1"


rule sweep:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        scores=[files.scores(method, POOL) for method in CURVES],
    output:
        csv=report(f"{RESULTS}/sweep.csv", category="selection"),
    log:
        f"logs/{RUN}/sweep.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(3, 2000, lambda w, input: input.scores),
        runtime=hours(2),
    params:
        version=code("evaluate sweep"),
        side=config["selection"]["count"],
        scores=option("--scores", named_scores(CURVES)),
    shell:
        "python -m bitextbench evaluate sweep --corpus {input.corpus:q} {params.scores:q} --count {params.side:q}"
        " --out {output.csv:q} 2> {log:q}"


rule distribution:
    input:
        [files.scores(method, POOL) for method in CURVES],
    output:
        csv=report(f"{RESULTS}/distribution.csv", category="kim2019"),
    log:
        f"logs/{RUN}/distribution.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(10, 2000),
        runtime=hours(2),
    params:
        version=code("step measure-distribution"),
        scores=option("--scores", named_scores(CURVES)),
        logits=[f"--logits={method}" for method in CURVES if files.declared(method).logits],
    shell:
        "python -m bitextbench step measure-distribution {params.scores:q} {params.logits:q}"
        " --out {output.csv:q} 2> {log:q}"


# ---- translations


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
        runtime=hours(1),
    params:
        version=code("step bleu"),
        language=TGT,
        hypotheses=lambda w, input: option("--hypotheses", batch_tests(input.models, batch_of(w))),
        references=references_of_tests,
    shell:
        "python -m bitextbench step bleu {wildcards.method:q} --budget {wildcards.budget:q} --language {params.language:q}"
        " {params.hypotheses:q} {params.references:q} --out {output:q} 2> {log:q}"


rule significance:
    input:
        hypotheses=expand(
            f"{WORK}/nmt/{{method}}.{{budget}}/{{seeds}}", seeds=BATCHES, method=SELECTED_BY, budget=BUDGETS
        ),
        references=expand(f"{WORK}/corpus/{{test}}", test=TESTS),
    output:
        report(f"{RESULTS}/table2.significance.csv", category="kim2019"),
    log:
        f"logs/{RUN}/significance.log",
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=1500,
        runtime=hours(1),
    params:
        version=code("step significance"),
        languages=option("--language", [(test, TGT) for test in TESTS]),
        hypotheses=option(
            "--hypotheses",
            [
                (method, budget, test, path)
                for method, budget in itertools.product(SELECTED_BY, BUDGETS)
                for batch, seeds in BATCHES.items()
                for _, test, path in batch_tests(f"{WORK}/nmt/{method}.{budget}/{batch}", seeds)
            ],
        ),
        references=references_of_tests,
    shell:
        "python -m bitextbench step significance {params.languages:q} {params.hypotheses:q} {params.references:q}"
        " --out {output:q} 2> {log:q}"


use rule significance as translation_significance with:  # yang2019 table 3
    input:
        hypotheses=lambda w: [path for *_, path in translated(w)],
        references=lambda w: list(translated_tests(w).values()),
    output:
        report(f"{RESULTS}/{{place}}.significance.csv", category="tables"),
    log:
        f"logs/{RUN}/significance/{{place}}.log",
    wildcard_constraints:
        place=any_of(set(TESTED) - set(DECODED)),
    params:
        languages=lambda w: option("--language", [(test, files.pair(test)["tgt"]) for test in translated_tests(w)]),
        hypotheses=lambda w: option("--hypotheses", translated(w)),
        references=lambda w: [f"--references={test}={path}" for test, path in translated_tests(w).items()],


rule validation_bleu:  # of a study: the validation set translated, which is no test of table 2
    input:
        data=lambda w: f"{WORK}/nmt/{w.method}.{w.budget}/data/{batch_with(w.seed)}",
        models=lambda w: f"{WORK}/nmt/{w.method}.{w.budget}/{batch_with(w.seed)}",
        tokens=files.tokens(VALID),
        references=files.corpus(VALID),
    output:
        f"{WORK}/metrics/validation_bleu/{{method}}.{{budget}}.{{seed}}.json",
    log:
        f"logs/{RUN}/validation_bleu/{{method}}.{{budget}}.{{seed}}.log",
    benchmark:
        benchmarked("validation_bleu", "{method}.{budget}.{seed}")
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=megabytes(2, LEAST["nmt_train"]),  # fairseq maps its data
        gpu=config["nmt"]["gpus"],
        runtime=hours(8),
    params:
        version=code("step validation-bleu"),
        data=lambda w, input: f"{input.data}/{w.seed}",
        model=lambda w, input: f"{input.models}/{w.seed}/model.pt",
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        spec=nmt_spec(MODEL_KEYS),
        languages=languages(config["pair"]),
        gpus=allocated,
    shell:
        "python -m bitextbench step validation-bleu {params.data:q} --model {params.model:q} --tokens {params.tokens:q}"
        " --references {input.references:q} --spec {params.spec:q} {params.languages:q} --gpus {params.gpus:q}"
        " --threads {threads} --out {output:q} 2> {log:q}"


use rule validation_bleu as development_bleu with:  # of a study: one model, where the test set is translated by an ensemble
    input:
        data=f"{STEM}/data",
        model=f"{STEM}/model.pt",
        tokens=lambda w: files.tokens(translation(w)["valid"]),
        references=lambda w: files.corpus(translation(w)["valid"]),
    output:
        f"{WORK}/metrics/development_bleu/{LOG}.json",
    log:
        f"logs/{RUN}/development_bleu/{LOG}.log",
    benchmark:
        benchmarked("development_bleu", LOG)
    resources:
        mem_mb=megabytes(2, LEAST["nmt_train"]),  # fairseq maps its data
        gpu=lambda w: transformer(w)["gpus"],
        runtime=hours(8),
    params:
        data=lambda w, input: input.data,
        model=lambda w, input: input.model,
        tokens=lambda w, input: os.path.dirname(input.tokens[0]),
        spec=lambda w: nmt_spec(MODEL_KEYS, transformer(w)),
        languages=PAIR,
        gpus=allocated,


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
        runtime=hours(1),
    params:
        version=code("step measure-translation"),
    shell:
        "python -m bitextbench step measure-translation {input.hypotheses:q} --references {input.references:q} --language {wildcards.target:q}"
        " --training {input.training:q} --out {output:q} > {log:q} 2>&1"


rule size:
    input:
        f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/metrics/size/{{corpus}}/filtered.json",
    log:
        f"logs/{RUN}/size/{{corpus}}.log",
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        version=code("step size"),
    shell:
        "python -m bitextbench step size --corpus {input:q} --out {output:q} 2> {log:q}"
