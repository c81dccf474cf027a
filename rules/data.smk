# registry entry -> verified files

from bitextbench.data import registry
from bitextbench.workflow import registered

PACKAGED = any_of(registry.packaged())


rule fetch:
    output:
        f"{DATA}/{{dataset}}/manifest.json",
    log:
        "logs/fetch/{dataset}.log",
    benchmark:
        f"{DATA}/benchmarks/fetch/{{dataset}}.tsv"
    wildcard_constraints:
        dataset=rf"(?!{PACKAGED}/)[^/]+",
    retries: retries(3)  # servers fail; a fetch goes on where it stopped
    conda:
        "../envs/data.yaml"
    resources:
        mem_mb=1000,
        runtime=expected("fetch"),
    params:
        entry=lambda w: registered(w.dataset, "files"),
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench fetch {wildcards.dataset:q}"
        " --lock registry.lock/{wildcards.dataset:q}.json --out {params.folder:q} 2> {log:q}"


rule packaged:  # a model in an installed package
    output:
        f"{DATA}/{{dataset}}/manifest.json",
    log:
        "logs/fetch/{dataset}.log",
    wildcard_constraints:
        dataset=PACKAGED,
    conda:
        "../envs/embed.yaml"
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        folder=subpath(output[0], parent=True),
    shell:
        "python -m bitextbench fetch {wildcards.dataset:q} --out {params.folder:q} 2> {log:q}"
