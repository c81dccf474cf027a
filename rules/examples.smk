# what the papers print examples of -> pages of our own examples. Of real text they quote others: results/ has no copy of those.

MINED_EXAMPLES = {  # page -> how its pairs are chosen, and the encoder; French, for which there is one in every run
    "artetxe2019/table1": ("scales", "shared_seq2seq"),
    "yang2019/table7": ("failures", "transformer_bide_am.en-fr"),
}
MINED_CORPUS = "bucc.en-fr"
NEGATIVES_OF = "dan_dual_hard5.en-fr"
EXAMPLES = [f"{RESULTS}/kim2019/table4.md"]
EXAMPLES += [
    f"{RESULTS}/{page}.md"
    for page, (_, encoder) in MINED_EXAMPLES.items()
    if encoder in config["encoders"] and MINED_CORPUS in config["corpora"]
]
EXAMPLES += [f"{RESULTS}/guo2018/table1.md"] if NEGATIVES_OF in config["encoders"] else []


rule mined_examples:
    input:
        corpus=f"{WORK}/corpus/{MINED_CORPUS}",
        src=lambda w: of_shards(
            f"{WORK}/vectors/{MINED_EXAMPLES[w.page][1]}/{{corpus}}/{{shard}}.src.npy", MINED_CORPUS
        ),
        tgt=lambda w: of_shards(
            f"{WORK}/vectors/{MINED_EXAMPLES[w.page][1]}/{{corpus}}/{{shard}}.tgt.npy", MINED_CORPUS
        ),
    output:
        f"{RESULTS}/{{page}}.md",
    log:
        f"logs/{RUN}/examples/{{page}}.log",
    wildcard_constraints:
        page="|".join(MINED_EXAMPLES),
    conda:
        "../envs/embed.yaml"
    threads: 2
    resources:
        mem_mb=megabytes(4, 2500),
        runtime="8h",
    params:
        chosen=lambda w: MINED_EXAMPLES[w.page][0],
        languages=lambda w: languages(SimpleNamespace(corpus=MINED_CORPUS)),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
    shell:
        "python -m bitextbench step examples {params.chosen:q} {input.corpus:q} {params.languages:q} {params.src:q} {params.tgt:q}"
        " --threads {threads} --out {output:q} 2> {log:q}"


rule kim2019_table4:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        scores=[path for method in ("cosine", "mlp") for path in scores_of(method, POOL)],
    output:
        f"{RESULTS}/kim2019/table4.md",
    log:
        f"logs/{RUN}/examples/kim2019/table4.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(10, 1500),
        runtime="2h",
    params:
        scores=option("--scores", [(method, path) for method in ("cosine", "mlp") for path in scores_of(method, POOL)]),
    shell:
        "python -m bitextbench step examples corners {input.corpus:q} {params.scores:q} --out {output:q} 2> {log:q}"


rule guo2018_table1:
    input:
        corpus=lambda w: f"{WORK}/corpus/{config['encoders'][NEGATIVES_OF]['corpora']['bitext']}",
        hard=lambda w: encoder_hard_negatives(SimpleNamespace(encoder=NEGATIVES_OF)),
    output:
        f"{RESULTS}/guo2018/table1.md",
    log:
        f"logs/{RUN}/examples/guo2018/table1.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(2, 1500),
        runtime="2h",
    params:
        hard=lambda w, input: input.hard[0].removesuffix(".src.ids.npy"),
        seed=config["seed"],
    shell:
        "python -m bitextbench step examples negatives {input.corpus:q} --hard {params.hard:q} --seed {params.seed:q} --out {output:q} 2> {log:q}"
