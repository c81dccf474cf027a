# tokens -> a hierarchical phrase-based system: zhang2016 sections 5 and 6.3

SMT = config.get("smt", {"systems": {}, "tests": []})
SMT_FOLDER = f"{WORK}/smt"
# tables whose rows are compared with one of them
DECODED = [place for place, cells in CELLS.items() if files.decoded(cells)]
SMT_BITEXT = [SMT["bitext"]] if "bitext" in SMT else []
SYSTEMS, STARTS = list(SMT["systems"]), files.starts() if "tunings" in SMT else []
TUNED = [f"{system}.{start}" for system in SYSTEMS for start in STARTS]
SMT_LANGUAGE = SMT.get("language", [])
smt_folders = lambda corpora: [f"{WORK}/tokens/{corpus}" for corpus in corpora]
smt_sources = [
    files.smt_text(test, "src") for test in dict.fromkeys([*filter(None, [SMT.get("valid")]), *SMT["tests"]])
]
smt_encoder = lambda w: config["encoders"][w.encoder]
decoder = [f"--{key}={SMT[key]}" for key in ("beam", "span") if key in SMT]
decoded = lambda w: files.decoded(CELLS[w.place])
decoded_tests = lambda w: dict.fromkeys(test for _, _, test, _ in decoded(w))
decoded_references = lambda w: [(test, path) for test in decoded_tests(w) for path in files.smt_references(test)]


wildcard_constraints:
    start=r"\d+",
    system="[^/]+",


rule smt_text:
    input:
        lambda w: files.tokens(w.corpus),
    output:
        multiext(f"{SMT_FOLDER}/text/{{corpus}}", ".src", ".tgt"),
    log:
        f"logs/{RUN}/smt_text/{{corpus}}.log",
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=1500,
        runtime=hours(1),
    params:
        version=code("step smt-text"),
        folder=f"{WORK}/tokens/{{corpus}}",
        stem=f"{SMT_FOLDER}/text/{{corpus}}",
        case=CASE,
    shell:
        "python -m bitextbench step smt-text {params.folder:q} {params.case:q} --out {params.stem:q} 2> {log:q}"


rule smt_align:
    input:
        files.tokens(*SMT_BITEXT),
    output:
        f"{SMT_FOLDER}/links.zst",
    log:
        f"logs/{RUN}/smt_align.log",
    benchmark:
        benchmarked("smt_align")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(40, 2000),  # all pairs of words that occur together
        runtime=hours(24),
    params:
        version=code("step smt-align"),
        folders=smt_folders(SMT_BITEXT),
        case=CASE,
    shell:
        "python -m bitextbench step smt-align {params.folders:q} {params.case:q} --out {output:q} 2> {log:q}"


rule smt_language_model:
    input:
        files.tokens(*SMT_LANGUAGE),
    output:
        f"{SMT_FOLDER}/language.arpa",
    log:
        f"logs/{RUN}/smt_language_model.log",
    benchmark:
        benchmarked("smt_language_model")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(40, 2000),  # numbers of all n-grams
        runtime=hours(12),
    params:
        version=code("step smt-language-model"),
        folders=smt_folders(SMT_LANGUAGE),
        order=SMT.get("order"),
        case=CASE,
    shell:
        "python -m bitextbench step smt-language-model {params.folders:q} --order {params.order:q} {params.case:q} --out {output:q} 2> {log:q}"


rule smt_grammar:  # the rules that the development and test sets can use
    input:
        tokens=files.tokens(*SMT_BITEXT),
        links=f"{SMT_FOLDER}/links.zst",
        sources=smt_sources,
    output:
        grammar=f"{SMT_FOLDER}/grammar.tsv.zst",
        counts=f"{SMT_FOLDER}/grammar.tsv.zst.json",
    log:
        f"logs/{RUN}/smt_grammar.log",
    benchmark:
        benchmarked("smt_grammar")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(40, 2000),
        runtime=hours(24),
    params:
        version=code("step smt-grammar"),
        folders=smt_folders(SMT_BITEXT),
        sources=[f"--source={path}" for path in smt_sources],
        limit=SMT.get("limit"),
        case=CASE,
    shell:
        "python -m bitextbench step smt-grammar {params.folders:q} --links {input.links:q} {params.sources:q} --limit {params.limit:q} {params.case:q}"
        " --out {output.grammar:q} 2> {log:q}"


rule smt_similarity:
    input:
        grammar=f"{SMT_FOLDER}/grammar.tsv.zst",
        model=f"{WORK}/encoders/{{encoder}}/model.pt",
        pieces=encoder_text_model,
    output:
        f"{SMT_FOLDER}/grammar.{{encoder}}.tsv.zst",
    log:
        f"logs/{RUN}/smt_similarity/{{encoder}}.log",
    benchmark:
        benchmarked("smt_similarity", "{encoder}")
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(60, 4000),
        gpu=encoder_gpus,
        runtime=hours(8),
    params:
        version=code("step smt-similarity", ("encoders", encoder_type)),
        case=CASE,
        gpus=allocated,
    shell:
        "python -m bitextbench step smt-similarity {input.grammar:q} --model {input.model:q} --pieces {input.pieces:q} {params.case:q}"
        " --gpus {params.gpus:q} --threads {threads} --out {output:q} 2> {log:q}"


rule smt_tune:  # section 6.1: "to run MERT three times", each from another start
    input:
        grammar=lambda w: files.smt_grammar(w.system),
        model=f"{SMT_FOLDER}/language.arpa",
        source=files.smt_text(SMT.get("valid"), "src"),
        references=files.smt_references(SMT["valid"]) if "valid" in SMT else [],
    output:
        f"{SMT_FOLDER}/weights/{{system}}/{{start}}.json",
    log:
        f"logs/{RUN}/smt_tune/{{system}}.{{start}}.log",
    benchmark:
        benchmarked("smt_tune", "{system}.{start}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(20, 2000),
        runtime=hours(48),
    params:
        version=code("step smt-tune"),
        references=each("--references", "references"),
        decoder=[*decoder, *(f"--{key}={SMT[key]}" for key in ("nbest", "rounds") if key in SMT)],
    shell:
        "python -m bitextbench step smt-tune --grammar {input.grammar:q} --lm {input.model:q} --source {input.source:q} {params.references:q}"
        " {params.decoder:q} --seed {wildcards.start:q} --threads {threads} --out {output:q} 2> {log:q}"


rule smt_decode:
    input:
        grammar=lambda w: files.smt_grammar(w.system),
        model=f"{SMT_FOLDER}/language.arpa",
        weights=f"{SMT_FOLDER}/weights/{{system}}/{{start}}.json",
        source=f"{SMT_FOLDER}/text/{{test}}.src",
    output:
        f"{SMT_FOLDER}/output/{{system}}/{{start}}/{{test}}.txt",
    log:
        f"logs/{RUN}/smt_decode/{{system}}.{{start}}.{{test}}.log",
    benchmark:
        benchmarked("smt_decode", "{system}.{start}.{test}")
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=megabytes(20, 2000),
        runtime=hours(12),
    params:
        version=code("step smt-decode"),
        decoder=decoder,
    shell:
        "python -m bitextbench step smt-decode --grammar {input.grammar:q} --lm {input.model:q} --weights {input.weights:q}"
        " --source {input.source:q} {params.decoder:q} --threads {threads} --out {output:q} 2> {log:q}"


rule smt_bleu:  # of all systems and tunings: a process takes longer to start than to count
    input:
        hypotheses=expand(f"{SMT_FOLDER}/output/{{system}}/{{start}}/{{{{test}}}}.txt", system=SYSTEMS, start=STARTS),
        references=lambda w: files.smt_references(w.test),
    output:
        expand(f"{WORK}/metrics/smt/{{{{test}}}}/{{system}}.{{start}}.json", system=SYSTEMS, start=STARTS),
    log:
        f"logs/{RUN}/smt_bleu/{{test}}.log",
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=1500,
        runtime=hours(1),
    params:
        version=code("step smt-bleu"),
        hypotheses=lambda w, input: option("--hypotheses", zip(TUNED, input.hypotheses)),
        references=each("--references", "references"),
        folder=f"{WORK}/metrics/smt/{{test}}",
    shell:
        "python -m bitextbench step smt-bleu {params.hypotheses:q} {params.references:q} --out {params.folder:q} 2> {log:q}"


rule smt_significance:
    input:
        hypotheses=lambda w: [path for *_, path in decoded(w)],
        references=lambda w: [path for _, path in decoded_references(w)],
    output:
        report(f"{RESULTS}/{{place}}.significance.csv", category="tables"),
    log:
        f"logs/{RUN}/smt_significance/{{place}}.log",
    wildcard_constraints:
        place=any_of(DECODED),
    conda:
        "../envs/nmt.yaml"
    resources:
        mem_mb=1500,
        runtime=hours(1),
    params:
        version=code("step smt-significance"),
        hypotheses=lambda w: option("--hypotheses", decoded(w)),
        references=lambda w: option("--references", decoded_references(w)),
    shell:
        "python -m bitextbench step smt-significance {params.hypotheses:q} {params.references:q} --out {output:q} 2> {log:q}"
