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
    kind="words|ngrams",
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


def encoder_ids(encoder):
    """The folder of the ids that an encoder reads: BPE pieces, or words with their n-grams."""
    kind = config["encoders"][encoder].get("features", "bpe")
    return f"{WORK}/ids" if kind == "bpe" else f"{WORK}/features/{kind}"


def encoder_text_model(wildcards):
    """What its ids were made with."""
    folder = encoder_ids(wildcards.encoder)
    return f"{WORK}/bpe/joint.model" if folder == f"{WORK}/ids" else f"{folder}.json"


def encoder_memory(wildcards, input, attempt):
    """Memory in MB: the ids, and three copies (model, gradients, checkpoint) of the embeddings of words and n-grams."""
    encoder = config["encoders"][wildcards.encoder]
    sizes = config["text"][encoder["features"]] if encoder.get("features", "bpe") != "bpe" else {}
    rows = sum(size for size in sizes.values() if isinstance(size, int))
    tables = 3 * len(SIDES) * 4e-6 * rows * encoder["model"].get("embedding", 0)
    return megabytes(4, 3000)(wildcards, input, attempt) + int(tables) * attempt


def encoder_hard_negatives(wildcards):
    """The file that stands for the hard negatives of an encoder, if it has any."""
    hard = config["encoders"][wildcards.encoder].get("hard")
    return f"{WORK}/hard_negatives/{wildcards.encoder}.src.ids.npy" if hard else []


def features_corpora(wildcards):
    """The corpora that a vocabulary is counted in."""
    return config["text"][wildcards.kind].get("corpora", [])


def hard_shards(encoder, role, pattern):
    """Files of the bitext of an encoder, by shard: `pattern` with the folder of its `role`, vectors or ids."""
    folder = encoder_ids(encoder) if role == "ids" else f"{WORK}/vectors/{config['encoders'][encoder]['hard']['by']}"
    return of_shards(f"{folder}/{{corpus}}/{pattern}", config["encoders"][encoder]["bitext"])


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


def learned_similarity(method):
    """The file of a similarity that learns; the others have none."""
    learns = "positives" in config["methods"].get(method, {})
    return f"{WORK}/similarities/{method}.npz" if learns else []


def aligned_vectors(wildcards, side):
    encoder = config["alignment"]["encoder"]
    return of_shards(f"{WORK}/vectors/{encoder}/{{corpus}}/{{shard}}.{side}.npy", config["alignment"]["corpus"])


# Rows of kim2019's tables 1 and 3 that are built: similarities of sentence vectors. Columns: the metric of each.
ALIGNMENT_ROWS = {"1": ["cosine", "mlp"], "3": ["euclidean", "cosine", "csls", "mlp"]}
ALIGNMENT_COLUMNS = {
    "1": {"wmt": "average"},
    "3": {f"{SRC}-{TGT}": "forward", f"{TGT}-{SRC}": "backward", "average": "average"},
}
TABLES = [f"{RESULTS}/table2.csv", *(f"{RESULTS}/kim2019/table{number}.csv" for number in ALIGNMENT_ROWS)]


TESTS = config["nmt"]["tests"]
# what each step takes from the configuration, so that a changed key reruns what uses it
PREPARE_KEYS = ("vocab_size", "max_length")
MODEL_KEYS = set(config["nmt"]).difference({"vocab_size"}, ("seeds", "valid", "tests", "gpus"))


def nmt_spec(keys):
    return spec({key: config["nmt"][key] for key in sorted(keys)})


BUDGETS = list(config["selection"]["budgets"])
ALL_DATASETS = sorted({part["dataset"] for c in config["corpora"].values() for part in c["parts"] if "dataset" in part})
