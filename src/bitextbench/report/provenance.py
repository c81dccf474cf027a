"""The provenance of a run: configuration, data, code, machine, time and memory, as one JSON file."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bitextbench import __version__
from bitextbench.base import processor
from bitextbench.base.errors import InputError
from bitextbench.base.files import existing, sha256
from bitextbench.base.json_yaml import read_json, write_json
from bitextbench.base.versions import installed

if TYPE_CHECKING:
    from pandas import DataFrame

PACKAGES = (
    "torch", "fairseq", "faiss-cpu", "faiss-gpu", "numpy", "scipy", "scikit-learn", "sacrebleu", "sacremoses",
    "jieba", "sentencepiece", "pyarrow", "snakemake", "snakemake-executor-plugin-slurm",
)  # fmt: skip
TIME_NOTE = (
    "wall_s_sum adds up the jobs, so that jobs side by side count each: it is work, not elapsed time. "
    "A job that was not run again keeps the figures of its last run; a resumed one has those of its last part."
)


def collect(config: dict[str, Any], inputs: Sequence[Path], benchmarks: Path | None, out: Path) -> None:
    """Write the provenance of a table as JSON: what it was made from, by which code and where.

    `config`: the resolved configuration; `inputs`: the files that the table is made from, and folders whose JSON files count.
    With `benchmarks`, the folder of Snakemake's benchmark files (`<rule>/**/*.tsv`), it is the provenance of the run, too:
    signatures, data sets, the whole configuration, time and memory. Raises InputError for a file that is missing or
    damaged.
    """
    files = sorted(file for path in inputs for file in (path.rglob("*.json") if path.is_dir() else [existing(path)]))
    made = made_of(config, files)
    write_json(out, of_run(config, files, benchmarks, made) if benchmarks else made)


def of_run(config: dict[str, Any], files: Sequence[Path], benchmarks: Path, made: dict[str, Any]) -> dict[str, Any]:
    """The provenance of a run, whose table was `made` from these files."""
    held, rules = [read_json(path) for path in files if path.suffix == ".json"], resources(benchmarks)
    return {
        "signature": sorted({value["signature"] for value in held if "signature" in value}),
        "data": data_sets([value for value in held if "dataset" in value]),
        **made,
        "config": config,
        "time_and_memory": totals(rules),
        "rules": rules,
    }


def made_of(config: dict[str, Any], inputs: Sequence[Path]) -> dict[str, Any]:
    """Code, inputs by their hashes, configuration by its hash, machine and packages."""
    return {
        "code": {"bitextbench": __version__, **commit()},
        "inputs": [{"path": Path(path).as_posix(), "sha256": sha256(path)} for path in inputs],
        "config_sha256": hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest(),
        "hardware": hardware(),
        "packages": {"python": platform.python_version(), **{name: installed(name) for name in PACKAGES}},
    }


def data_sets(manifests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per file of a data set.

    Its checksum is "published" (by the publisher), "recorded" (at the first download, as none is published) or
    "changed" (a mirror has other content than the publisher; see `data.fetch`).
    """
    kept = ("path", "url", "bytes", "sha256", "checksum", "from")
    return [
        {"dataset": manifest["dataset"], "licence": manifest.get("licence"), **{key: file.get(key) for key in kept}}
        for manifest in manifests
        for file in manifest["files"]
    ]


def resources(folder: Path) -> list[dict[str, Any]]:
    """Per rule: jobs, wall time in s (sum, max), CPU time in s (sum), peak memory in MB (max); None if not measured.

    Snakemake writes "-" or "NA" for a job too short to be sampled; `sampled` counts the others.
    """
    paths = sorted(folder.glob("*/**/*.tsv"))
    if not paths:
        return []
    import pandas

    by_rule = pandas.concat([_jobs(path, path.relative_to(folder).parts[0]) for path in paths]).groupby("rule")
    found = by_rule.agg(
        jobs=("s", "size"),
        sampled=("max_rss", "count"),
        wall_s_sum=("s", "sum"),
        wall_s_max=("s", "max"),
        cpu_s_sum=("cpu_time", lambda times: times.sum(min_count=1)),
        max_rss_mb=("max_rss", "max"),
    )
    rows = found.round(2).reset_index().astype(object)
    return rows.where(rows.notna(), None).to_dict("records")  # type: ignore[return-value]


def _jobs(path: Path, rule: str) -> "DataFrame":
    """The jobs of one benchmark file, with the columns that hold numbers."""
    import pandas

    held = pandas.read_csv(path, sep="\t", na_values=["-"]).assign(rule=rule)
    if "s" not in held or held["s"].isna().any():
        raise InputError("no column s", path, line=2, remedy="remove the file and run its rule again")
    return held.reindex(columns=["rule", "s", "cpu_time", "max_rss"])


def _over(fold: Any, items: Sequence[dict[str, Any]], key: str) -> float | None:
    values = [item[key] for item in items if item.get(key) is not None]
    return round(fold(values), 2) if values else None


def totals(rules: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Totals over all rules: sums of wall and CPU times, the longest job, the highest peak memory of a job."""
    return {
        "jobs": sum(rule["jobs"] for rule in rules),
        "wall_s_sum": _over(sum, rules, "wall_s_sum"),
        "wall_s_max": _over(max, rules, "wall_s_max"),
        "cpu_s_sum": _over(sum, rules, "cpu_s_sum"),
        "max_rss_mb": _over(max, rules, "max_rss_mb"),
        "note": TIME_NOTE,
    }


def commit(folder: Path = Path(__file__).parent) -> dict[str, Any]:
    """The git commit of the checkout that tracks this package, and whether anything but results/ differs from it.

    "unknown" for a package that no checkout tracks, such as one installed in a virtual environment inside a checkout.
    """
    if _output(["git", "-C", str(folder), "ls-files", "."]):
        changes = _output(["git", "-C", str(folder), "status", "--porcelain", "--", ":(top)", ":(top,exclude)results"])
        if (head := _output(["git", "-C", str(folder), "rev-parse", "HEAD"])) and changes is not None:
            return {"commit": head, "dirty": bool(changes)}
    return {"commit": "unknown", "dirty": None}


def hardware() -> dict[str, Any]:
    """The hardware of this machine: on a cluster, of the node that makes the table."""
    gpus = _output(["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader"]) or ""
    return {
        "cpu": processor.model() or platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "cores_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "gpus": gpus.splitlines(),
        "system": f"{platform.system()} {platform.release()}",
    }


def _output(command: Sequence[str]) -> str | None:
    """The standard output of a program, stripped; None if the program is missing or fails."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() if done.returncode == 0 else None
