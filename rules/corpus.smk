# parts -> noise -> pre-filter -> deduplication -> Parquet shards, with a count of every dropped row

LID = "fasttext-lid176"  # the data set that is a language model


def corpus_datasets(wildcards):
    corpus = config["corpora"][wildcards.corpus]
    names = [part["dataset"] for part in corpus["parts"] if "dataset" in part]
    if corpus.get("filter", {}).get("language") == LID:
        names.append(LID)
    return [f"{DATA}/{name}/manifest.json" for name in names]


def corpus_spec(wildcards):
    """The corpus as configured, the language model as a path."""
    corpus = config["corpora"][wildcards.corpus]
    rules = corpus.get("filter", {})
    if rules.get("language") == LID:
        return corpus | {"filter": rules | {"language": f"{DATA}/{LID}/lid.176.bin"}}
    return corpus


def corpus_files(wildcards):
    parts = config["corpora"][wildcards.corpus]["parts"]
    return [path for part in parts for path in part.get("files", {}).values()]


def corpus_excluded(wildcards):
    return [f"{WORK}/corpus/{name}" for name in config["corpora"][wildcards.corpus].get("exclude", [])]


rule corpus:
    input:
        datasets=corpus_datasets,
        files=corpus_files,
        excluded=corpus_excluded,
    output:
        directory(f"{WORK}/corpus/{{corpus}}"),
    log:
        f"logs/{RUN}/corpus/{{corpus}}.log",
    benchmark:
        benchmarked("corpus", "{corpus}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(3, 1500),  # digests of every pair, for the deduplication
        runtime="24h",
    params:
        spec=lambda w: spec(corpus_spec(w)),
        excluded=lambda w, input: [f"--exclude {os.path.basename(folder)}={folder}" for folder in input.excluded],
        seed=config["seed"],
    shell:
        "python -m bitextbench corpus {wildcards.corpus} --spec {params.spec} {LANGUAGES} --data {DATA}"
        " {params.excluded} --seed {params.seed} --out {output} 2> {log}"
