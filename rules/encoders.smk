# ids, word vectors, hard negatives by another encoder -> a trained sentence encoder -> vectors

from bitextbench.config.encoders import hard_directions, pretrained
from bitextbench.report import plan

WORD_VECTORS = config.get("word_vectors", {})
vectors_entry = lambda w: WORD_VECTORS[w.vectors]
word_vector_pieces = lambda w: files.text_model(vectors_entry(w)["features"]) if "features" in vectors_entry(w) else []
dictionary = lambda key: lambda w: files.tokens(*filter(None, [vectors_entry(w).get(key)]))
encoder_entry = lambda w: config["encoders"][w.encoder]
encoder_type = lambda w: encoder_entry(w)["type"]
trained = rf"(?!(?:{any_of(pretrained(config))})/)[^/]+"  # any name but those
encoder_text_model = lambda w: files.text_model(encoder_entry(w)["features"])
encoder_prefix = lambda w: [f"--prefix={encoder_entry(w)['prefix']}"] if "prefix" in encoder_entry(w) else []
encoder_options = lambda w: encoder_prefix(w) + [f"--precision={encoder_entry(w).get('precision', 'fp32')}"]
encoder_ids = lambda side: lambda w: files.shard_ids(encoder_entry(w)["features"], w.corpus, w.shard, side)

# as it was trained, on a GPU; fp32 on a CPU, and of recurrent networks, which cuDNN has not long had in bf16
encoder_narrow = lambda w: encoder_entry(w)["gpus"] and encoder_type(w) not in plan.RECURRENT
encoder_precision = lambda w: encoder_entry(w)["training"]["precision"] if encoder_narrow(w) else "fp32"


rule skip_gram:
    input:
        tokens=lambda w: files.tokens(*vectors_entry(w)["corpora"][w.side]),
        pieces=word_vector_pieces,
    output:
        f"{WORK}/word_vectors/{{vectors}}/own.{{side}}.vec",
    log:
        f"logs/{RUN}/skip_gram/{{vectors}}.{{side}}.log",
    benchmark:
        benchmarked("skip_gram", "{vectors}.{side}")
    retries: resumed("skip_gram")  # a job killed by the scheduler goes on from its last epoch
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(8, 2500),
        runtime=one_attempt("skip_gram"),  # one thread, so that runs do not differ
    params:
        version=code("step skip-gram"),
        pieces=each("--bpe", "pieces"),
        spec=lambda w: spec(vectors_entry(w)["skip_gram"]),
        # checkpoints outlive a failed job: they are no output
        checkpoints=f"{WORK}/checkpoints/word_vectors/{{vectors}}.{{side}}",
        case=CASE,
    shell:
        "python -m bitextbench step skip-gram {input.tokens:q} --side {wildcards.side:q} {params.pieces:q} {params.case:q}"
        " --spec {params.spec:q} --checkpoints {params.checkpoints:q} --out {output:q} >> {log:q} 2>&1"


rule encode_words:
    input:
        src=lambda w: files.tokens(*vectors_entry(w)["corpora"]["src"]),
        tgt=lambda w: files.tokens(*vectors_entry(w)["corpora"]["tgt"]),
        pieces=word_vector_pieces,
    output:
        src=f"{WORK}/word_vectors/{{vectors}}/encoded.src.vec",
        tgt=f"{WORK}/word_vectors/{{vectors}}/encoded.tgt.vec",
    log:
        f"logs/{RUN}/encode_words/{{vectors}}.log",
    benchmark:
        benchmarked("encode_words", "{vectors}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(8, 2500),
        runtime=hours(4),
    params:
        version=code("step encode-words"),
        tokens=lambda w, input: [f"--tokens={side}={path}" for side in SIDES for path in input[side]],
        options=lambda w: [f"--{key.replace('_', '-')}={value}" for key, value in vectors_entry(w)["encoded"].items()],
        pieces=each("--bpe", "pieces"),
        case=CASE,
        out=lambda w, output: output.src.removesuffix(".src.vec"),
    shell:
        "python -m bitextbench step encode-words {params.tokens:q} {params.options:q} {params.pieces:q} {params.case:q}"
        " --threads {threads} --out {params.out:q} 2> {log:q}"


rule map_words:
    input:
        src=f"{WORK}/word_vectors/{{vectors}}/own.src.vec",
        tgt=f"{WORK}/word_vectors/{{vectors}}/own.tgt.vec",
        seed=dictionary("dictionary"),
        test=dictionary("test"),
    output:
        src=f"{WORK}/word_vectors/{{vectors}}/mapped.src.vec",
        tgt=f"{WORK}/word_vectors/{{vectors}}/mapped.tgt.vec",
        report=report(f"{RESULTS}/word_vectors/{{vectors}}.json", category="encoders"),
    log:
        f"logs/{RUN}/map_words/{{vectors}}.log",
    benchmark:
        benchmarked("map_words", "{vectors}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 3000),
        runtime=hours(12),
    params:
        version=code("step map-words"),
        spec=lambda w: spec(vectors_entry(w)["mapping"]),
        dictionaries=each("--dictionary", "seed"),
        tests=each("--test", "test"),
        case=CASE,
        seed=config["seed"],
        folder=subpath(output.src, parent=True),
    shell:
        "python -m bitextbench step map-words {input.src:q} {input.tgt:q} --spec {params.spec:q} {params.dictionaries:q} {params.tests:q} {params.case:q}"
        " --seed {params.seed:q} --threads {threads} --report {output.report:q} --out {params.folder:q} 2> {log:q}"


rule hard_negatives:
    input:
        vectors=lambda w: files.vectors(encoder_entry(w)["hard"]["by"], encoder_entry(w)["corpora"]["bitext"], "src"),
        ids=lambda w: files.ids(encoder_entry(w)["features"], encoder_entry(w)["corpora"]["bitext"]),
    output:
        multiext(f"{WORK}/hard_negatives/{{encoder}}", *ID_FILES),
    log:
        f"logs/{RUN}/hard_negatives/{{encoder}}.log",
    benchmark:
        benchmarked("hard_negatives", "{encoder}")
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(2, 2000),  # the vectors of the chosen pairs
        gpu=encoder_gpus,
        runtime=expected("hard_negatives", encoder_gpus),
    params:
        version=code("step hard-negatives"),
        vectors=each("--vectors", "vectors", without=".src.npy"),
        ids=each("--ids", "ids", without=".src.ids.npy"),
        options=lambda w: [f"--{key}={value}" for key, value in encoder_entry(w)["hard"].items() if key != "by"],
        directions=lambda w: hard_directions(config, w.encoder),
        gpus=allocated,
        seed=lambda w: seed_of(encoder_entry(w)),
        out=lambda w, output: output[0].removesuffix(".src.ids.npy"),
    shell:
        "python -m bitextbench step hard-negatives {params.vectors:q} {params.ids:q} {params.options:q} --directions {params.directions:q} --gpus {params.gpus:q}"
        " --threads {threads} --seed {params.seed:q} --out {params.out:q} 2> {log:q}"


rule train_encoder:
    input:
        corpora=lambda w: [f"{stem}.src.ids.npy" for _, stem in files.stems(encoder_entry(w))],
        hard=lambda w: files.hard_negatives(w.encoder),
        vectors=lambda w: list(files.word_vectors(w.encoder).values()),
        bpe=encoder_text_model,
    output:
        model=f"{WORK}/encoders/{{encoder}}/model.pt",
        report=f"{WORK}/encoders/{{encoder}}/training.json",
        curve=f"{WORK}/encoders/{{encoder}}/curve.csv",
        # with these the folder works by itself
        description=f"{WORK}/encoders/{{encoder}}/encoder.json",
        text=f"{WORK}/encoders/{{encoder}}/text_model",
    log:
        f"logs/{RUN}/train_encoder/{{encoder}}.log",
    benchmark:
        benchmarked("train_encoder", "{encoder}")
    wildcard_constraints:
        encoder=trained,
    priority: 10  # the longest chain of jobs begins here
    retries: resumed("train_encoder")  # a job killed by the scheduler goes on from its checkpoint; the longest takes 20 days
    conda:
        "../envs/embed.yaml"
    threads: lambda w: 2 * max(1, encoder_gpus(w))  # of all processes: each draws its batches itself
    resources:
        mem_mb=training_megabytes,
        gpu=encoder_gpus,
        runtime=one_attempt("train_encoder"),
    params:
        version=code("train", ("encoders", encoder_type)),
        spec=lambda w: spec({key: value for key, value in encoder_entry(w).items() if key != "gpus"}),
        # checkpoints outlive a failed job: they are no output
        checkpoints=f"{WORK}/checkpoints/{{encoder}}",
        corpora=lambda w: [f"--corpus={role}={stem}" for role, stem in files.stems(encoder_entry(w))],
        hard=each("--corpus=hard", "hard", without=".src.ids.npy"),
        vectors=lambda w: [f"--vectors={side}={path}" for side, path in files.word_vectors(w.encoder).items()],
        languages=lambda w: languages(files.pair(encoder_entry(w)["corpora"]["valid"])),
        case=CASE,
        chinese=config["text"]["chinese"],
        gpus=allocated,
        seed=lambda w: seed_of(encoder_entry(w)),
        run=torchrun,
    shell:
        "{params.run:q} -m bitextbench train --spec {params.spec:q} {params.corpora:q} {params.hard:q} {params.vectors:q} --bpe {input.bpe:q}"
        " {params.case:q} --chinese {params.chinese:q} {params.languages:q}"
        " --gpus {params.gpus:q} --threads {threads} --seed {params.seed:q} --checkpoints {params.checkpoints:q} --out {output.model:q} 2>> {log:q}"


rule encode:
    input:
        model=f"{WORK}/encoders/{{encoder}}/model.pt",
        src=encoder_ids("src"),
        tgt=encoder_ids("tgt"),
    output:
        src=f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.src.npy",
        tgt=f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.tgt.npy",
    log:
        f"logs/{RUN}/encode/{{encoder}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("encode", "{encoder}.{corpus}.{shard}")
    wildcard_constraints:
        encoder=trained,
    retries: retries(1)
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        gpu=encoder_gpus,
        runtime=expected("encoding", encoder_gpus),
        turn=1,
    params:
        version=code("step encode", ("encoders", encoder_type)),
        stem=lambda w, input: input.src.removesuffix(".src.ids.npy"),
        precision=encoder_precision,
        out=lambda w, output: output.src.removesuffix(".src.npy"),
        gpus=allocated,
    shell:
        "python -m bitextbench step encode {params.stem:q} --model {input.model:q} --precision {params.precision:q} --gpus {params.gpus:q}"
        " --threads {threads} --out {params.out:q} 2> {log:q}"


rule pretrained:  # a model that is there: which files it has, by hash
    input:
        lambda w: files.pretrained(w.encoder),
    output:
        f"{WORK}/encoders/{{encoder}}/pretrained.json",
    log:
        f"logs/{RUN}/pretrained/{{encoder}}.log",
    wildcard_constraints:
        encoder=any_of(pretrained(config)),
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1000,
        runtime=hours(1),
    params:
        version=code("step pretrained"),
        named=lambda w: encoder_entry(w).get("name") or encoder_entry(w)["folder"],
        files=each("--file"),
    shell:
        "python -m bitextbench step pretrained {params.named:q} {params.files:q} --out {output:q} 2> {log:q}"


rule encode_pretrained:
    input:
        corpus=f"{WORK}/corpus/{{corpus}}",
        about=f"{WORK}/encoders/{{encoder}}/pretrained.json",
    output:
        src=f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.src.npy",
        tgt=f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.tgt.npy",
    log:
        f"logs/{RUN}/encode_pretrained/{{encoder}}.{{corpus}}.{{shard}}.log",
    benchmark:
        benchmarked("encode_pretrained", "{encoder}.{corpus}.{shard}")
    wildcard_constraints:
        encoder=any_of(pretrained(config)),
    retries: retries(1)
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(8, 8000, shard_of),
        gpu=encoder_gpus,
        runtime=hours(24),
    params:
        version=code("step encode-pretrained"),
        options=encoder_options,
        languages=corpus_languages,
        out=lambda w, output: output.src.removesuffix(".src.npy"),
        gpus=allocated,
    shell:
        "python -m bitextbench step encode-pretrained {input.corpus:q}/{wildcards.shard:q}.parquet --about {input.about:q} {params.options:q}"
        " {params.languages:q} --gpus {params.gpus:q} --threads {threads} --out {params.out:q} 2> {log:q}"
