# Names of files, and what a rule's inputs depend on in the configuration. Rules state needs; profiles state places.

import json
import os
import shlex
import sys

sys.path.insert(0, os.path.join(workflow.basedir, "src"))
# rules call `python -m bitextbench` of this checkout, in whichever environment they run
os.environ.update(PYTHONPATH=os.path.join(workflow.basedir, "src"))

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
    return os.path.join(WORK, "benchmarks", rule, *names) + ".tsv"


# ---- by stage

LID = "fasttext-lid176"  # the data set that is a language model


def corpus_datasets(wildcards):
    corpus = config["corpora"][wildcards.corpus]
    names = [part["dataset"] for part in corpus["parts"] if "dataset" in part]
    if (corpus.get("filter") or {}).get("language") == LID:
        names.append(LID)
    return [f"{DATA}/{name}/manifest.json" for name in names]


def corpus_spec(wildcards):
    """The corpus as configured, the language model as a path."""
    corpus = config["corpora"][wildcards.corpus]
    rules = corpus.get("filter") or {}
    if rules.get("language") == LID:
        return corpus | {"filter": rules | {"language": f"{DATA}/{LID}/lid.176.bin"}}
    return corpus


def corpus_files(wildcards):
    parts = config["corpora"][wildcards.corpus]["parts"]
    return [path for part in parts for path in part.get("files", {}).values()]


def corpus_excluded(wildcards):
    return [f"{WORK}/corpus/{name}" for name in config["corpora"][wildcards.corpus].get("exclude", [])]


def encoder_corpora(encoder):
    """The corpora that an encoder learns from, by role."""
    spec = config["encoders"][encoder]
    return {role: spec[role] for role in ("bitext", "mono", "valid") if spec.get(role)}


def method_encoder(wildcards):
    return config["methods"][wildcards.method].get("encoder")


def vectors_of(wildcards, corpus):
    return of_shards(
        f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.src.npy", corpus, encoder=method_encoder(wildcards)
    )


def scores_of(method, corpus):
    return of_shards(f"{WORK}/scores/{method}/{{corpus}}/{{shard}}.npy", corpus)


def score_vectors(wildcards):
    encoder = method_encoder(wildcards)
    stem = f"{WORK}/vectors/{encoder}/{wildcards.corpus}/{wildcards.shard}"
    return [f"{stem}.{side}.npy" for side in SIDES] if encoder else []


def score_model(wildcards):
    learns = "positives" in config["methods"][wildcards.method]
    return f"{WORK}/similarities/{wildcards.method}.npz" if learns else []


TESTS = config["nmt"]["tests"]
# what each step takes from the configuration, so that a changed key reruns what uses it
PREPARE_KEYS = ("vocab_size", "max_length")
TRANSLATE_KEYS = ("beam", "length_penalty", "batch_tokens", "max_length")
TRAIN_KEYS = set(config["nmt"]).difference(PREPARE_KEYS, TRANSLATE_KEYS, ("seeds", "valid", "tests", "gpus"))


def nmt_spec(keys):
    return spec({key: config["nmt"][key] for key in sorted(keys)})


BUDGETS = list(config["selection"]["budgets"])
ALL_DATASETS = sorted({part["dataset"] for c in config["corpora"].values() for part in c["parts"] if "dataset" in part})
