# What several files use: the configuration, names, and arguments of commands. Rules state needs; profiles state places.

import itertools
import json
import os
import re
import shlex
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(workflow.basedir, "src"))
# rules call `python -m bitextbench` of this checkout, in whichever environment they run; Snakemake takes PYTHONPATH from those of conda
shell.prefix(f"set -euo pipefail; export PYTHONPATH={shlex.quote(os.path.join(workflow.basedir, 'src'))}; ")
# those without an environment of their own in Snakemake's, also where that is not activated
os.environ.update(PATH=os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)]))

from bitextbench.base.errors import InputError

try:
    from bitextbench.base import run_lock, snakemake_internals, sources
except InputError as error:
    raise WorkflowError(str(error)) from None
from bitextbench.config.overlays import read
from bitextbench.formats.bitext import SIDES
from bitextbench.report import leaderboard_layout
from bitextbench.report.run_configuration import of_run
from bitextbench.workflow import Files, batches, environment

snakemake_internals.measure_to_the_end()
try:
    resolved, CELLS = of_run(read(*snakemake_internals.given_configuration(workflow)))
except InputError as error:
    raise WorkflowError(str(error)) from None
config.clear()
config.update(resolved)

os.environ.update(environment(config))

files = Files(config)  # where they lie, and what is made from what
RUN, DATA, WORK, RESULTS = config["run"], config["data"], files.work, files.results
SRC, TGT = (config["pair"][side] for side in SIDES)

CASE = "--lowercase" if config["text"]["lowercase"] else "--cased"
POOL, BUDGETS, SELECTED_BY = (config["selection"][key] for key in ("corpus", "budgets", "methods"))
BATCHES = batches(config)
TESTS = config["nmt"]["tests"]
LEAST = config["memory"]  # of rules whose need grows with the scale
ID_FILES = [f".{side}.{part}.npy" for side in SIDES for part in ("ids", "offsets")]
TABLE2 = CELLS.pop("kim2019/table2")  # of selections; the others are of single metrics


wildcard_constraints:
    dataset=r"[^/]+",
    corpus=r"[^/]+",
    encoder=r"[^/]+",
    rescorer=r"[^/]+",
    method=r"[^/]+",
    budget=r"[^/.]+",
    shard=r"\d{5}",
    features=r"[^/]+",
    likelihoods=r"[^/]+",
    seed=r"\d+",
    seeds=r"[\d-]+",
    test=r"[^/]+",


# ---- arguments of commands


def spec(value):
    """A part of the configuration as one argument of a command."""
    return json.dumps(value, ensure_ascii=False)


def provenance(wildcards, input, output):
    """Options by which a command says what its table was made from; the configuration is on standard input."""
    made = [f"--made-of={path}" for path in input]
    return [f"--provenance={output.provenance}", "--config=@/dev/stdin", *made]


def whole_config(wildcards, input):
    """The configuration: an argument has 128 KiB at most. As it follows from the inputs, no key of it makes a table anew."""
    return spec(config)


def code(command, *members):
    """The version of the code behind a command. `members`: kind and name or names, by wildcards, of those that its arguments name."""

    def version(wildcards):
        named = ((kind, of(wildcards)) for kind, of in members)
        of_kind = ((kind, [names] if isinstance(names, str | None) else names) for kind, names in named)
        return sources.version(command, *(path for kind, names in of_kind for path in files.members(kind, names)))

    return version


def any_of(names):
    """Names as a regular expression, which matches nothing when there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def option(name, rows):
    """An option of several values, once for each row of them, as arguments of a command."""
    return [argument for row in rows for argument in (name, *row)]


def languages(pair):
    """Languages, as options."""
    return [f"--{side}={pair[side]}" for side in SIDES]


def corpus_languages(wildcards):
    """The languages of a corpus, as options."""
    return languages(files.pair(wildcards.corpus))


def each(name, key=None, without=""):
    """An option for each file of an input, or of all inputs; `without` this end of the paths."""

    def options(wildcards, input):
        paths = getattr(input, key) if key else input
        return [f"{name}={path.removesuffix(without)}" for path in ([paths] if isinstance(paths, str) else paths)]

    return options


def shard_options(side):
    """The vectors of a side, a file for each shard, as options."""
    return each(f"--{side}-emb", side)


def torchrun(wildcards, resources):
    """How a training is started: a process for each GPU."""
    gpus = allocated(wildcards, resources)
    return f"python -m torch.distributed.run --standalone --nproc-per-node {gpus}".split() if gpus > 1 else ["python"]


def seed_of(entry):
    """The seed of an encoder, a method, likelihoods: its own, or the run's."""
    return entry.get("seed", config["seed"])


def benchmarked(rule, *names):
    """Where a rule's time and memory are kept."""
    return os.path.join(WORK, "benchmarks", rule, *names) + ".tsv"
