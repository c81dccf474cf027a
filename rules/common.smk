# Names of files, and what a rule's inputs depend on in the configuration. Rules state needs; profiles state places.

import json
import os
import shlex
import sys

sys.path.insert(0, os.path.join(workflow.basedir, "src"))
# rules call `python -m bitextbench` of this checkout, in whichever environment they run
os.environ["PYTHONPATH"] = os.path.join(workflow.basedir, "src")

from bitextbench.config import check
from bitextbench.errors import InputError

try:
    check(config)
except InputError as error:
    raise WorkflowError(str(error)) from None

RUN = config["run"]
SRC, TGT = config["pair"]["src"], config["pair"]["tgt"]
WORK = f"work/{RUN}"
RESULTS = "results" if RUN == "paper" else f"results/{RUN}"
SCALE = config["scale"]
DATA = config["data"]
POOL = config["selection"]["corpus"]
SIDES = ("src", "tgt")
LANGUAGES = f"--src {SRC} --tgt {TGT}"


wildcard_constraints:
    dataset=r"[^/]+",
    corpus=r"[^/]+",
    encoder=r"[^/]+",
    method=r"[^/.]+",
    budget=r"[^/.]+",
    shard=r"\d{5}",
    seed=r"\d+",
    test=r"[^/]+",


def spec(value):
    """A part of the configuration as one argument of a command."""
    return shlex.quote(json.dumps(value, ensure_ascii=False))


def shards(corpus):
    """Names of the shards of a corpus."""
    return [f"{i:05d}" for i in range(config["corpora"][corpus].get("shards", 1))]


def of_shards(pattern, corpus, **names):
    """A file for each shard of a corpus."""
    return expand(pattern, corpus=corpus, shard=shards(corpus), **names)


def retries(number):
    """Retries of a rule, left to the process that submits: within a Slurm job one would get no new node and no more memory."""
    return number if workflow.is_main_process else 0


def megabytes(factor, least):
    """Memory in MB: `factor` times the inputs' size, at least `least`, more at each attempt."""

    def memory(wildcards, input, attempt):
        return int(max(least, factor * input.size_mb)) * attempt

    return memory


def benchmarked(rule, *names):
    """Where a rule's time and memory are kept."""
    return f"{WORK}/benchmarks/{rule}/" + "/".join(names) + ".tsv"
