# sentences -> tokens of Moses and Jieba, once -> BPE, features of words, a BERT's pieces -> ids, once

FEATURES = config["text"]["features"]

# the features of these types, and the corpora that their vocabulary is learned from
features_of = lambda *types: any_of(name for name, entry in FEATURES.items() if entry["type"] in types)
features_corpora = lambda w: FEATURES[w.features].get("corpora", [])
features_tokens = lambda w: files.tokens(*features_corpora(w))


rule tokens:
    input:
        f"{WORK}/corpus/{{corpus}}",
    output:
        f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet",
    log:
        f"logs/{RUN}/tokens/{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("tokens", "{corpus}.{shard}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=4000,
        runtime=expected("tokens"),
        turn=1,
    params:
        version=code("step tokens"),
        languages=corpus_languages,
        chinese=config["text"]["chinese"],
    shell:
        "python -m bitextbench step tokens {input:q}/{wildcards.shard:q}.parquet {params.languages:q} --chinese {params.chinese:q}"
        " --out {output:q} 2> {log:q}"


rule bpe:
    input:
        features_tokens,
    output:
        f"{WORK}/features/{{features}}.model",
    log:
        f"logs/{RUN}/bpe/{{features}}.log",
    benchmark:
        benchmarked("bpe", "{features}")
    wildcard_constraints:
        features=features_of("bpe"),
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(8, 1500),  # sentencepiece keeps its sample in memory
        runtime=hours(12),
    params:
        version=code("step bpe"),
        folders=lambda w: [f"{WORK}/tokens/{corpus}" for corpus in features_corpora(w)],
        vocab=lambda w: FEATURES[w.features]["vocab"],
        sample=lambda w: FEATURES[w.features]["sample"],
        case=CASE,
        seed=config["seed"],
    shell:
        "python -m bitextbench step bpe {params.folders:q} --vocab {params.vocab:q} --sample {params.sample:q} {params.case:q}"
        " --seed {params.seed:q} --out {output:q} 2> {log:q}"


rule features:
    input:
        features_tokens,
    output:
        f"{WORK}/features/{{features}}.json",
    log:
        f"logs/{RUN}/features/{{features}}.log",
    benchmark:
        benchmarked("features", "{features}")
    wildcard_constraints:
        features=features_of("vocabulary", "words", "ngrams"),
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(4, 1500),  # the words of a shard, and the counts of all
        runtime=hours(12),
    params:
        version=code("step features"),
        folders=lambda w: [f"{WORK}/tokens/{corpus}" for corpus in features_corpora(w)],
        spec=lambda w: spec(FEATURES[w.features]),
        case=CASE,
    shell:
        "python -m bitextbench step features {params.folders:q} --spec {params.spec:q} {params.case:q} --out {output:q} 2> {log:q}"


rule ids:
    input:
        tokens=f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet",
        model=lambda w: files.text_model(w.features),
    output:
        multiext(f"{WORK}/features/{{features}}/{{corpus}}/{{shard}}", *ID_FILES),
    log:
        f"logs/{RUN}/ids/{{features}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("ids", "{features}.{corpus}.{shard}")
    wildcard_constraints:
        features=features_of("bpe", "vocabulary", "words", "ngrams"),
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(100, 1000),  # all ids of a shard; of n-grams, ten for each word
        runtime=expected("ids"),
        turn=1,
    params:
        version=code("step ids"),
        folder=subpath(output[0], parent=True),
        case=CASE,
    shell:
        "python -m bitextbench step ids {input.tokens:q} --model {input.model:q} {params.case:q} --out {params.folder:q} 2> {log:q}"


rule wordpieces:  # of a published model: the vocabulary of a BERT, or a tokenizer
    input:
        lambda w: files.dataset(FEATURES[w.features]["dataset"]),
    output:
        f"{WORK}/features/{{features}}.{{suffix}}",
    log:
        f"logs/{RUN}/wordpieces/{{features}}.{{suffix}}.log",
    wildcard_constraints:
        features=features_of("wordpiece", "tokenizer"),
        suffix="txt|tokenizer",
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        file=lambda w: {"txt": "vocab.txt", "tokenizer": "tokenizer.json"}[w.suffix],
        folder=subpath(input[0], parent=True),
    shell:
        "cp {params.folder:q}/{params.file:q} {output:q} 2> {log:q}"


rule wordpiece_ids:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        pieces=lambda w: files.text_model(w.features),
    output:
        multiext(f"{WORK}/features/{{features}}/{{corpus}}/{{shard}}", *ID_FILES),
    log:
        f"logs/{RUN}/wordpiece_ids/{{features}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("wordpiece_ids", "{features}.{corpus}.{shard}")
    wildcard_constraints:
        features=features_of("wordpiece", "tokenizer"),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(40, 1000, shard_of),
        runtime=hours(4),
    params:
        version=code("step ids"),
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench step ids {input.corpus:q}/{wildcards.shard:q}.parquet --model {input.pieces:q} --out {params.folder:q} 2> {log:q}"
