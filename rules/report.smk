# metrics -> tables with the papers' numbers beside ours, figures, pages of examples, the audit

from bitextbench.config import FIGURE3, FIGURE4, NEGATIVES, SECTION3
from bitextbench.config.seeds import of_seed, seeds_of
from bitextbench.config.studies import (
    judged,
    margin_encoders,
    poolings,
    portions,
    selectors,
    shares,
    threshold_translations,
)
from bitextbench.report.measurements import of_folder
from bitextbench.workflow import datasets

SEEDS, STUDIES = config["seeds"], config.get("studies", {})
EXAMPLES_OF = config.get("examples", {})
MINED_EXAMPLES = {"artetxe2019/table1": "scales", "yang2019/table7": "failures"}  # page -> how its pairs are chosen
# (row, column, seed) of cells, and the metric that each shows
JUDGED = [(*of, files.metric("quality", of[0], method)) for *of, method in judged(config)]
SELECTED = [
    (row, seed, budget, files.metric("selection", "", f"{method}.{budget}"))
    for (row, seed, method), budget in itertools.product(selectors(config), BUDGETS)
]
COMPARED = config.get("comparison", {"encoders": [], "seeds": [], "tests": []})
MARGINS = STUDIES.get("margins", {})
MARGIN_POINTS = [
    (margin, seed, files.metric("mining", MARGINS["mined"], name), files.metric("separation", MARGINS["paired"], name))
    for margin, seed, name in margin_encoders(config)
]
NEGATIVES_BLEU = [
    (
        method.removeprefix(STUDIES["negatives"] + "-"),
        seed,
        f"{WORK}/metrics/validation_bleu/{method}.{STUDIES['budget']}.{seed}.json",
    )
    for method, seed in itertools.product(portions(config), seeds_of(config, NEGATIVES))
]
THRESHOLD_MODELS = threshold_translations(config)
FIGURES = [f"{RESULTS}/artetxe2019/figure2.csv"] if THRESHOLD_MODELS else []  # a curve, without cells
TRAINED = files.trained(itertools.chain(*CELLS.values()), SELECTED_BY)  # the encoders of all tables
TRANSLATED = [place for place, cells in CELLS.items() if any(cell.task == "translation" for cell in cells)]
GRIDS = [
    place
    for place, cells in CELLS.items()
    if place != leaderboard_layout.PLACE and not all(cell.missing(config) for cell in cells)
]
# of the text of the LDC, which may not be there
EXAMPLES = [f"{RESULTS}/{page}.md" for page in EXAMPLES_OF if page != "zhang2016/table1" or "zhang2016/table3" in GRIDS]
STUDIED = [NEGATIVES, FIGURE3] if STUDIES else []
SHARES = [(seed, f"{WORK}/metrics/shares/{method}.json") for _, seed, method in shares(config)]
POOLED = [(row, seed, files.metric("encoder", "newstest2018", name)) for row, seed, name in poolings(config)]
PLACES = ["table2", *GRIDS, *STUDIED, *[FIGURE4] * bool(MARGIN_POINTS), *[SECTION3] * bool(POOLED)]
TABLES = [f"{RESULTS}/{place}.csv" for place in PLACES]
AUDITED = [f"{RESULTS}/{name}.csv" for name in ("audit", "claims", "instances", "settings", "table2.significance")]
LEARNED = [f"{RESULTS}/{name}.csv" for name in ("training", "learning")] if TRAINED else []
PAGED = [*TABLES, *AUDITED, *FIGURES, *LEARNED, *EXAMPLES]  # what the pages of a run are made of
# and, where they have been made, of these
SHOWN = [
    f"{RESULTS}/{name}"
    for name in (
        "precision.csv",
        "quality.csv",
        "roc.csv",
        "sweep.csv",
        "distribution.csv",
        "encoders.csv",
        "leaderboard.csv",
        "rules.json",
    )
]
CORPORA = sorted({POOL, VALID, *TESTS}.union(*map(files.learned_from, SELECTED_BY)))  # of table 2

example = lambda page, key: EXAMPLES_OF.get(page, {}).get(key)  # what the configuration says of a page
mined_example = lambda side: lambda w: files.vectors(example(w.page, "encoder"), example(w.page, "corpus"), side)
measured = lambda input: [*input.metrics, *input.selections, *input.corpora, *input.manifests]  # of table 2
# cells of a table: mappings with row, column, files, seed and note
cell_options = lambda cells: [f"--cell={spec(cell)}" for cell in cells]
UNCOMPARED = {"against": [], "significance": [], "compared": []}  # options of a table whose rows no test compares
# BLEU is made in a folder for each batch of seeds
by_batch = lambda path: str(Path(path).parents[1]) if "metrics/bleu" in path else path


rule table2:
    input:
        reference="references/kim2019/table2.csv",
        metrics=expand(
            f"{WORK}/metrics/bleu/{{method}}.{{budget}}/{{seeds}}", seeds=BATCHES, method=SELECTED_BY, budget=BUDGETS
        ),
        selections=expand(
            f"{WORK}/selected/{{method}}.{{budget}}/{{seed}}/selection.json",
            method=SELECTED_BY,
            budget=BUDGETS,
            seed=SEEDS,
        ),
        significance=f"{RESULTS}/table2.significance.csv",  # `show` and the report read it beside the table
        corpora=expand(f"{WORK}/corpus/{{corpus}}", corpus=CORPORA),
        manifests=[files.dataset(name) for name in datasets(config, CORPORA)],
    output:
        csv=report(f"{RESULTS}/table2.csv", category="kim2019"),
        selections=report(f"{RESULTS}/table2.selections.csv", category="kim2019"),
        provenance=f"{RESULTS}/table2.provenance.json",
        measurements=f"{RESULTS}/measurements/table2.json",
    log:
        f"logs/{RUN}/table2.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1500,
        runtime=hours(1),
    params:
        version=code("step table"),
        config=whole_config,
        scale=config["scale"],
        cells=cell_options(
            {
                "row": method,
                "column": f"{budget}/{test}",
                "seed": seed,
                "files": [f"{WORK}/metrics/bleu/{method}.{budget}/{batch}/{seed}/{test}.json"],
            }
            for method, budget, (batch, seeds) in itertools.product(SELECTED_BY, BUDGETS, BATCHES.items())
            for seed, test in itertools.product(seeds, TESTS)
        )
        + cell_options(
            {"row": cell.row, "column": cell.column, "note": note} for cell in TABLE2 if (note := files.note(cell))
        ),
        selections=each("--selection", "selections"),
        provenance=lambda w, input, output: provenance(w, measured(input), output),
        benchmarks=f"{WORK}/benchmarks",
    shell:
        "python -m bitextbench step table --reference {input.reference:q} --scale {params.scale:q} {params.cells:q}"
        " {params.selections:q} --selected {output.selections:q} --measurements {output.measurements:q} --out {output.csv:q}"
        " {params.provenance:q} --benchmarks {params.benchmarks:q} 2> {log:q} <<< {params.config:q}"


rule grid_table:  # any table of single metrics: tables.yaml says what its cells are
    input:
        reference="references/{place}.csv",
        metrics=lambda w: files.metrics(CELLS[w.place]),
        significance=lambda w: [f"{RESULTS}/{w.place}.significance.csv"] if w.place in TESTED else [],
    output:
        csv=report(f"{RESULTS}/{{place}}.csv", category="tables"),
        measurements=f"{RESULTS}/measurements/{{place}}.json",
        provenance=f"{RESULTS}/{{place}}.provenance.json",
    log:
        f"logs/{RUN}/grid_table/{{place}}.log",
    wildcard_constraints:
        place="|".join(CELLS),
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=whole_config,
        provenance=provenance,
        version=code("step table"),
        scale=config["scale"],
        of="--reference=references/{place}.csv",
        cells=lambda w: cell_options(itertools.chain.from_iterable(map(files.cell, CELLS[w.place]))),
        against=lambda w: [f"--against={TESTED[w.place]}"] if w.place in TESTED else [],
        significance=each("--significance", "significance"),
        compared=lambda w: ["--compared=tokens"] if w.place in DECODED else [],
    shell:
        "python -m bitextbench step table {params.of:q} --scale {params.scale:q} {params.cells:q} {params.against:q} {params.significance:q}"
        " {params.compared:q} --measurements {output.measurements:q} --out {output.csv:q} {params.provenance:q} 2> {log:q} <<< {params.config:q}"


use rule grid_table as kim2019_section3 with:  # which prints no numbers
    input:
        [path for *_, path in POOLED],
    output:
        csv=report(f"{RESULTS}/<table>.csv", category="tables"),
        measurements=f"{RESULTS}/measurements/<table>.json",
        provenance=f"{RESULTS}/<table>.provenance.json",
    log:
        f"logs/{RUN}/grid_table/<table>.log",
    pathvars:
        table="kim2019/section3",
    params:
        **UNCOMPARED,
        of="--name=kim2019/section3",
        cells=cell_options(
            {"row": row, "column": column, "files": [f"{path}#error.{direction}"], "seed": seed}
            for row, seed, path in POOLED
            for column, direction in (("de-en", "forward"), ("en-de", "backward"))
        ),


use rule kim2019_section3 as kim2019_figure3 with:
    input:
        reference="references/kim2019/figure3.csv",
        shares=[path for _, path in SHARES],
    pathvars:
        table="kim2019/figure3",
    params:
        of="--reference=references/kim2019/figure3.csv",
        cells=cell_options(
            {"row": f"{STUDIES['shares']}-{row}", "column": "share", "files": [f"{path}#{key}"], "seed": seed}
            for seed, path in SHARES
            for row, key in (("zero", "zero"), ("near-one", "near_one"))
        ),


use rule kim2019_section3 as kim2019_table5 with:
    input:
        reference="references/kim2019/table5.csv",
        metrics=[path for *_, path in NEGATIVES_BLEU],
    pathvars:
        table="kim2019/table5",
    params:
        of="--reference=references/kim2019/table5.csv",
        cells=cell_options(
            {"row": row, "column": "10M/test2016", "files": [path], "seed": seed} for row, seed, path in NEGATIVES_BLEU
        ),


use rule kim2019_section3 as yang2019_figure4 with:  # curves without numbers
    input:
        [path for _, _, *both in MARGIN_POINTS for path in both],
    pathvars:
        table=FIGURE4,
    params:
        of=f"--name={FIGURE4}",
        cells=cell_options(
            {"row": row, "label": label, "column": str(margin), "files": [f"{path}#{key}"], "seed": seed}
            for margin, seed, mining, separation in sorted(MARGIN_POINTS)
            for row, label, path, key in (
                ("f1", "F1", mining, "cosine.backward.f1"),
                ("positive", "Mean cosine, positive", separation, "positive"),
                ("negative", "Mean cosine, negative", separation, "negative"),
            )
        ),


rule artetxe2019_figure2:
    input:
        [f"{WORK}/metrics/development_bleu/{name}.json" for name in THRESHOLD_MODELS.values()],
    output:
        csv=report(f"{RESULTS}/artetxe2019/figure2.csv", category="tables"),
        provenance=f"{RESULTS}/artetxe2019/figure2.provenance.json",
    log:
        f"logs/{RUN}/artetxe2019_figure2.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=whole_config,
        provenance=provenance,
        version=code("step figure-thresholds"),
        command=["step", "figure-thresholds"],
        options=lambda w, input: option("--point", zip(THRESHOLD_MODELS, input)),
        outputs=[],
    shell:
        "python -m bitextbench {params.command:q} {params.options:q} {params.outputs:q} --out {output.csv:q} {params.provenance:q} 2> {log:q} <<< {params.config:q}"


use rule artetxe2019_figure2 as quality_table with:
    input:
        [path for *_, path in JUDGED],
    output:
        csv=report(f"{RESULTS}/quality.csv", category="quality"),
        roc=report(f"{RESULTS}/roc.csv", category="quality"),
        measurements=f"{RESULTS}/measurements/quality.json",
        provenance=f"{RESULTS}/quality.provenance.json",
    log:
        f"logs/{RUN}/quality_table.log",
    params:
        version=code("step quality-table"),
        command=["step", "quality-table"],
        options=["--scale", config["scale"]]
        + cell_options(
            {"row": corpus, "column": method, "files": [path], "seed": seed} for corpus, method, seed, path in JUDGED
        ),
        outputs=lambda w, output: ["--roc", output.roc, "--measurements", output.measurements],


use rule kim2019_section3 as precision_table with:
    input:
        [path for *_, path in SELECTED],
    pathvars:
        table="precision",
    params:
        of="--name=precision",
        cells=cell_options(
            {"row": method, "column": f"{budget} words", "files": [path], "seed": seed}
            for method, seed, budget, path in SELECTED
        ),


rule compare_encoders:
    input:
        [
            files.metric("encoder", test, of_seed(config, "encoders", encoder, seed))
            for test, encoder, seed in itertools.product(*(COMPARED[key] for key in ("tests", "encoders", "seeds")))
        ],
    output:
        csv=report(f"{RESULTS}/encoders.csv", category="encoders"),
        provenance=f"{RESULTS}/encoders.provenance.json",
    log:
        f"logs/{RUN}/encoders.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        version=code("step compare-encoders"),
        config=whole_config,
        provenance=provenance,
        benchmarks=f"{WORK}/benchmarks",
    shell:
        "python -m bitextbench step compare-encoders {input:q} --out {output.csv:q} {params.provenance:q} --benchmarks {params.benchmarks:q}"
        " > {log:q} 2>&1 <<< {params.config:q}"


use rule kim2019_section3 as leaderboard with:  # encoders by tasks, for `bitextbench leaderboard`
    input:
        [by_batch(path) for path in files.metrics(CELLS[leaderboard_layout.PLACE])],
    pathvars:
        table="leaderboard",
    params:
        of="--name=leaderboard",
        cells=cell_options(itertools.chain.from_iterable(map(files.cell, CELLS[leaderboard_layout.PLACE]))),


rule learning_curves:
    input:
        expand(f"{WORK}/encoders/{{encoder}}/training.json", encoder=TRAINED),
    output:
        costs=report(f"{RESULTS}/training.csv", category="encoders"),
        curves=report(f"{RESULTS}/learning.csv", category="encoders"),
        provenance=f"{RESULTS}/learning.provenance.json",
    log:
        f"logs/{RUN}/learning_curves.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=whole_config,
        provenance=provenance,
        version=code("step learning-curves"),
        folders=lambda w, input: list(map(os.path.dirname, input)),
    shell:
        "python -m bitextbench step learning-curves {params.folders:q} --costs {output.costs:q} --out {output.curves:q} {params.provenance:q} 2> {log:q} <<< {params.config:q}"


rule mined_examples:
    input:
        corpus=lambda w: files.corpus(example(w.page, "corpus")),
        src=mined_example("src"),
        tgt=mined_example("tgt"),
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
        runtime=expected("mined_examples"),
    params:
        version=code("step examples"),
        chosen=lambda w: MINED_EXAMPLES[w.page],
        languages=lambda w: languages(files.pair(example(w.page, "corpus"))),
        src=shard_options("src"),
        tgt=shard_options("tgt"),
    shell:
        "python -m bitextbench step examples {params.chosen:q} {input.corpus:q} {params.languages:q} {params.src:q} {params.tgt:q}"
        " --threads {threads} --out {output:q} 2> {log:q}"


rule kim2019_table4:
    input:
        corpus=f"{WORK}/corpus/{POOL}",
        scores=[files.scores(method, POOL) for method in example("kim2019/table4", "methods") or []],
    output:
        f"{RESULTS}/kim2019/table4.md",
    log:
        f"logs/{RUN}/examples/kim2019/table4.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=megabytes(10, 1500, lambda w, input: input.scores),
        runtime=hours(2),
    params:
        version=code("step examples"),
        page=lambda w, input: ["corners", input.corpus],
        options=option("--scores", named_scores(example("kim2019/table4", "methods") or [])),
    shell:
        "python -m bitextbench step examples {params.page:q} {params.options:q} --out {output:q} 2> {log:q}"


use rule kim2019_table4 as guo2018_table1 with:
    input:
        corpus=lambda w: files.corpus(config["encoders"][example("guo2018/table1", "encoder")]["corpora"]["bitext"]),
        hard=lambda w: files.hard_negatives(example("guo2018/table1", "encoder")),
    output:
        f"{RESULTS}/guo2018/table1.md",
    log:
        f"logs/{RUN}/examples/guo2018/table1.log",
    resources:
        mem_mb=megabytes(2, 1500),
        runtime=hours(2),
    params:
        page=lambda w, input: ["negatives", input.corpus, "--hard", input.hard[0].removesuffix(".src.ids.npy")],
        options=["--seed", config["seed"]],


use rule kim2019_table4 as zhang2016_table1 with:
    input:
        lambda w: files.smt_grammar(example("zhang2016/table1", "system")),
    output:
        f"{RESULTS}/zhang2016/table1.md",
    log:
        f"logs/{RUN}/examples/zhang2016/table1.log",
    resources:
        mem_mb=megabytes(20, 1500),
        runtime=hours(2),
    params:
        page=lambda w, input: ["phrases", *input],
        options=[],


rule audit:
    input:
        references=sorted(map(str, Path("references").glob("*/*.csv"))),
        claims="references/claims.yaml",
        metrics="references/metrics.yaml",
        tables=TABLES,
        measurements=[f"{RESULTS}/measurements/{place}.json" for place in PLACES],
        seeded=lambda w: of_folder(Path("results", config["seeds_from"])) if "seeds_from" in config else [],
    output:
        numbers=report(f"{RESULTS}/audit.csv", category="audit"),
        claims=report(f"{RESULTS}/claims.csv", category="audit"),
        instances=report(f"{RESULTS}/instances.csv", category="audit"),
        provenance=f"{RESULTS}/audit.provenance.json",
    log:
        f"logs/{RUN}/audit.log",
    conda:
        "../envs/report.yaml"
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        config=whole_config,
        provenance=provenance,
        version=code("step audit"),
        measurements=lambda w, input: option("--measurements", ([path] for path in input.measurements)),
        seeded=lambda w, input: option("--seeded", ([path] for path in input.seeded)),
    shell:
        "python -m bitextbench step audit {input.tables:q} {params.measurements:q} {params.seeded:q} --references references --claims {output.claims:q}"
        " --instances {output.instances:q} --out {output.numbers:q} {params.provenance:q} > {log:q} 2>&1 <<< {params.config:q}"


rule settings:  # what the papers say, beside what is configured at paper scale, whichever run this is
    input:
        references=sorted(map(str, Path("references").glob("*/settings.yaml"))),
        config="config.yaml",
    output:
        report(f"{RESULTS}/settings.csv", category="audit"),
    log:
        f"logs/{RUN}/settings.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        version=code("step settings"),
    shell:
        "python -m bitextbench step settings --references references --config {input.config:q} --out {output:q} > {log:q} 2>&1"


rule report_pages:  # from the CSVs alone, as `bitextbench report` does
    input:
        PAGED,
        shown=[path for path in SHOWN if os.path.exists(path)],
    output:
        index=report(f"{RESULTS}/index.html", category="report"),
    log:
        f"logs/{RUN}/report_pages.log",
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        version=lambda w: sources.version("report", *sorted(sources.PACKAGE.glob("report/templates/*"))),
        folder=lambda w, output: os.path.dirname(output.index),
    shell:
        "python -m bitextbench report {params.folder:q} > {log:q} 2>&1"


ruleorder: leaderboard > grid_table
ruleorder: kim2019_table5 > grid_table
ruleorder: kim2019_figure3 > grid_table
