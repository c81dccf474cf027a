"""Golden runs: the sums of all that a finished run has made, and ranges of the values that arithmetic may move.

    python tests/golden.py make RUN     write tests/golden/RUN.json from work/RUN and results/RUN
    python tests/golden.py check RUN    compare; exit code 0 for the same bytes, else 1

RUN is tiny, or micro (tests/micro.yaml); `make golden RUN=micro` runs it before. The name of a folder ends in "/"; its
sum is over its own files. Ranges are of cells: all seeds of a row.
"""

import csv
import hashlib
import json
import platform
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

from bitextbench.base import versions
from bitextbench.base.json_yaml import read_json
from bitextbench.report import provenance

ROOT = Path(__file__).parents[1]
STAGES = (  # in the order of the flow
    "corpus", "tokens", "features", "encoders", "likelihoods", "vectors", "similarities", "scores", "selected", "nmt",
    "metrics", "results",
)  # fmt: skip
EXACT = STAGES[:3]  # no floating point: the same bytes on any machine
FLAGS = ("avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile")
PACKAGES = ("faiss-cpu", "fairseq", "numpy", "pyarrow", "sacrebleu", "scikit-learn", "scipy", "sentencepiece", "torch")
SEED = re.compile(r"[.]seed[0-9]+|/[0-9-]+(?=/)")  # in the name of a file
BATCH = r"/[\d-]+/(\d+)(?=/|$)"  # of seeds whose models one job trains: the folder says nothing of what is in it
SEED_OF = r"\.seed(\d+)|/(\d+)(?=/)"
MARGINS = {"loss": 0.1, "dev": 0.1, "precision": 0.15, "bleu": 5.0}
RULE = (
    "Over the seeds of a cell, the lowest value and the highest, and on either side the distance between them, or what is "
    "more: 10% of a final training loss, 0.1 of a development score, 0.15 of a precision (in words), 5 points of BLEU."
)


def make(root: Path, run: str) -> dict[str, Any]:
    """What the golden file of a finished run holds."""
    return {
        "machine": machine(),
        "commit": provenance.commit(),
        "files": files(root, run),
        "rule": RULE,
        "ranges": {cell: span(cell.split()[0], found) for cell, found in values(root, run).items()},
    }


def machine() -> dict[str, Any]:
    return {
        "cpu": provenance.hardware()["cpu"],
        "flags": [flag for flag in FLAGS if flag in cpu_flags()],
        "libc": " ".join(platform.libc_ver()),
        "packages": {"python": platform.python_version(), **{name: versions.installed(name) for name in PACKAGES}},
    }


def cpu_flags() -> set[str]:
    found = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), flags=re.M)
    return set(found[1].split()) if found else set()


def files(root: Path, run: str) -> dict[str, str]:
    """SHA-256 of all outputs but pictures and what tells of time or machine, by folder in the order of the flow."""
    work, results = root / "work" / run, root / "results" / run
    found = {path.relative_to(work): path for stage in STAGES for path in (work / stage).rglob("*")}
    found |= {Path("results", path.name): path for path in results.glob("*.csv")}
    sums: dict[str, dict[str, str]] = defaultdict(dict)
    for name, path in sorted(found.items()):
        if path.is_file() and path.suffix != ".png" and not path.name.startswith("."):
            folder = re.sub(BATCH, r"/\1", str(name.parent))
            entry = str(name) if len(name.parts) == 2 else f"{folder}/"
            sums[entry][name.name] = hashlib.sha256(without_clock(path)).hexdigest()
    return {
        entry: hashlib.sha256(json.dumps(sums[entry]).encode()).hexdigest()
        if entry.endswith("/")
        else sums[entry].popitem()[1]
        for entry in sorted(sums, key=lambda entry: (STAGES.index(stage(entry)), entry))
    }


def seed_of(entry: str) -> int:
    """The seed of the chain that an entry is of; 1 where there is but one."""
    found = re.search(SEED_OF, entry)
    return int(found[1] or found[2]) if found else 1


def stage(entry: str) -> str:
    return entry.split("/")[0]


def without_clock(path: Path) -> bytes:
    """What a file holds, less the one line that tells how long it took, and the headers of zip that Python's release
    decides.
    """
    if path.suffix == ".npz":
        with ZipFile(path) as held:
            return b"".join(name.encode() + held.read(name) for name in held.namelist())
    held = path.read_bytes()
    return re.sub(rb'\n *"cpu_seconds": .*', b"", held) if path.name == "training.json" else held


def values(root: Path, run: str) -> dict[str, list[float]]:
    """`<kind> <cell>` -> the values of its seeds; a cell is a file's name less its seed."""
    work = root / "work" / run
    found: dict[str, list[float]] = defaultdict(list)

    def add(kind: str, path: Path, value: float) -> None:
        found[f"{kind} {re.sub(SEED, '', str(path.relative_to(work)))}"].append(value)

    for path in sorted(work.glob("encoders/*/training.json")):
        *_, last = csv.DictReader(path.with_name("curve.csv").open(encoding="utf-8"))
        for loss in last.keys() - {"update", "learning_rate", "valid"}:
            add("loss", path.with_name(loss), float(last[loss]))
        add("dev", path, read_json(path)["valid"])
    for path in sorted(work.glob("selected/**/selection.json")):
        selection = read_json(path)
        add("precision", path, selection["words_by_label"].get("parallel", 0) / selection["words"])
    for path in sorted(work.glob("metrics/bleu/**/*.json")):
        add("bleu", path, read_json(path)["value"])
    return dict(sorted(found.items()))


def span(kind: str, found: list[float]) -> list[float]:
    """[lowest, highest] by RULE."""
    low, high = min(found), max(found)
    margin = max(high - low, MARGINS[kind] * (high if kind == "loss" else 1))
    return [round(max(0.0, low - margin), 4), round(high + margin, 4)]


class Comparison(NamedTuple):
    golden: dict[str, Any]
    differing: list[str]  # entries of golden["files"], in the order of the flow
    outside: list[str]  # cells whose value is out of its range, or missing

    def broken(self) -> list[str]:
        """What must not be on this machine: with AVX2 and FMA any difference, else those of stages without floating
        point.
        """
        portable = {"avx2", "fma"} <= cpu_flags()
        return [entry for entry in self.differing if portable or stage(entry) in EXACT] + self.outside

    def __str__(self) -> str:
        """A line for each stage that differs and each value outside, then the verdict."""
        if not self.differing and not self.outside:
            return f"the same bytes: all {len(self.golden['files'])} entries"
        entries, differ = Counter(map(stage, self.golden["files"])), Counter(map(stage, self.differing))
        lines = [f"{name}: {differ[name]} of {entries[name]} differ" for name in STAGES if differ[name]]
        verdict = (
            f"bytes part at {stage(self.differing[0])} ({self.differing[0]})" if self.differing else "the same bytes",
            f"{differ['selected']} of {entries['selected']} selections differ" if differ["selected"] else "every selection is the same",
            f"{len(self.outside)} values out of range" if self.outside else "all values in range",
        )  # fmt: skip
        return "\n".join(
            [*lines, *self.outside, f"made on {self.golden['machine']}", f"here is {machine()}", "; ".join(verdict)]
        )


def check(root: Path, run: str, seed: int | None = None) -> Comparison:
    """A finished run beside its golden file; what else the run has made counts for nothing. Of a run of one `seed` all
    but its tables.
    """
    golden = read_json(ROOT / "tests/golden" / f"{run}.json")
    if seed is not None:
        files_of_seed = {
            entry: value
            for entry, value in golden["files"].items()
            if seed_of(entry) == seed and stage(entry) != "results"
        }
        golden = golden | {"files": files_of_seed}
    made, found = files(root, run), values(root, run)
    differing = [entry for entry, expected in golden["files"].items() if made.get(entry) != expected]
    outside = [
        f"{cell}: {found.get(cell, 'missing')} out of {low} to {high}"
        for cell, (low, high) in golden["ranges"].items()
        if not all(low <= value <= high for value in found.get(cell, [float("nan")]))
    ]
    return Comparison(golden, differing, outside)


def write(golden: dict[str, Any], path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(golden, indent=1, ensure_ascii=False)
    path.write_text(re.sub(r"\[\s+([^][]*?)\s+\]", lambda found: f"[{' '.join(found[1].split())}]", text) + "\n")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", run]:
            write(make(ROOT, run), ROOT / "tests/golden" / f"{run}.json")
        case ["check", run]:
            print(comparison := check(ROOT, run))
            sys.exit(bool(comparison.differing or comparison.outside))
        case _:
            sys.exit(__doc__)
