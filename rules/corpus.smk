# parts -> noise -> pre-filter -> deduplication -> Parquet shards, with a count of every dropped row; models of languages

from bitextbench.corpus.parts import own_files
from bitextbench.workflow import datasets, registered

LANGUAGE_MODELS = config.get("language_models", {})
corpus_entry = lambda w: config["corpora"][w.corpus]
side_text = lambda corpus, side: (files.pair(corpus)[side], f"{files.corpus(corpus)}#{side}")
texts_by_language = lambda corpora: itertools.starmap(side_text, itertools.product(corpora, SIDES))


rule language_model:
    input:
        lambda w: [files.corpus(corpus) for corpus in LANGUAGE_MODELS[w.language]["corpora"]],
    output:
        model=f"{WORK}/languages/{{language}}.bin",
        accuracy=f"{WORK}/languages/{{language}}.json",
    log:
        f"logs/{RUN}/language_model/{{language}}.log",
    benchmark:
        benchmarked("language_model", "{language}")
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(2, 1500),
        runtime=hours(4),
    params:
        version=code("step fit-language"),
        texts=lambda w: option("--text", texts_by_language(LANGUAGE_MODELS[w.language]["corpora"])),
        lines=lambda w: LANGUAGE_MODELS[w.language]["lines"],
    shell:
        "python -m bitextbench step fit-language {params.texts:q} --lines {params.lines:q} --out {output.model:q} > {output.accuracy:q}"
        " 2> {log:q}"


rule corpus:
    input:
        datasets=lambda w: files.corpus_datasets(w.corpus),
        files=lambda w: own_files(corpus_entry(w)),
        language=lambda w: files.language_model(corpus_entry(w).get("filter", {})),
        excluded=lambda w: [files.corpus(name) for name in corpus_entry(w).get("exclude", [])],
    output:
        directory(f"{WORK}/corpus/{{corpus}}"),
    log:
        f"logs/{RUN}/corpus/{{corpus}}.log",
    benchmark:
        benchmarked("corpus", "{corpus}")
    conda:
        "../envs/data.yaml"
    threads: 4  # of the pre-filter
    resources:
        mem_mb=3000,  # a chunk of rows, the excluded sentences, and what sorting digests may take
        runtime=expected("corpus"),
    params:
        version=lambda w: sources.version("step corpus", *files.made_by(w.corpus)),
        spec=lambda w: spec(files.corpus_spec(w.corpus)),
        entries=lambda w: [registered(name, "parsers") for name in datasets(config, [w.corpus])],
        excluded=lambda w: [f"--exclude={name}={files.corpus(name)}" for name in corpus_entry(w).get("exclude", [])],
        seed=config["seed"],
        languages=corpus_languages,
        data=DATA,
    shell:
        "python -m bitextbench step corpus {wildcards.corpus:q} --spec {params.spec:q} {params.languages:q} --data {params.data:q}"
        " {params.excluded:q} --seed {params.seed:q} --threads {threads} --out {output:q} 2> {log:q}"
