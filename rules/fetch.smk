# registry entry -> verified files


rule fetch:
    output:
        f"{DATA}/{{dataset}}/manifest.json",
    log:
        "logs/fetch/{dataset}.log",
    benchmark:
        f"{DATA}/benchmarks/fetch/{{dataset}}.tsv"
    params:
        folder=subpath(output[0], parent=True),
        mirrors=[f"--mirror {shlex.quote(folder)}" for folder in config["mirrors"]],
    retries: retries(3)  # servers fail; a fetch goes on where it stopped
    resources:
        mem_mb=1000,
        runtime="24h",
    conda:
        "../envs/data.yaml"
    shell:
        "python -m bitextbench fetch {wildcards.dataset} {params.mirrors}"
        " --lock registry.lock/{wildcards.dataset}.json --out {params.folder} 2> {log}"
