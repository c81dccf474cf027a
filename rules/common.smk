# Names of files, and what a rule's inputs depend on in the configuration. Rules state needs; profiles state places.

import itertools
import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, os.path.join(workflow.basedir, "src"))
# rules call `python -m bitextbench` of this checkout, in whichever environment they run
os.environ.update(PYTHONPATH=os.path.join(workflow.basedir, "src"))

from bitextbench.base import portable, run_lock
from bitextbench.report import layout
from bitextbench.config import margin_encoders, of_seed, portions, read, resolve, scorers
from bitextbench.base.errors import InputError

overlays = list(workflow.config_settings.configfiles)
try:  # Snakemake's reading keeps the last of two equal keys, and takes 1e-06 for a text
    resolved = resolve(read(workflow.configfiles[len(overlays) :], overlays, workflow.config_settings.config))
except InputError as error:
    raise WorkflowError(str(error)) from None
config.clear()
config.update(resolved)

if config["arithmetic"] == "portable":
    os.environ.update(portable.ENVIRONMENT)

RUN = config["run"]
SRC, TGT = config["pair"]["src"], config["pair"]["tgt"]
WORK = f"work/{RUN}"
RESULTS = "results" if RUN == "paper" else f"results/{RUN}"
DATA = config["data"]
POOL = config["selection"]["corpus"]
SIDES = ("src", "tgt")
LANGUAGES = [f"--src={SRC}", f"--tgt={TGT}"]  # the run's; a corpus may have others


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


def spec(value):
    """A part of the configuration as one argument of a command."""
    return json.dumps(value, ensure_ascii=False)


def option(name, rows):
    """An option of several values, once for each row of them, as arguments of a command."""
    return [argument for row in rows for argument in (name, *row)]


def languages(wildcards):
    """The languages of a corpus, as options."""
    pair = config["corpora"][wildcards.corpus].get("pair", config["pair"])
    return [f"--src={pair['src']}", f"--tgt={pair['tgt']}"]


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
LANGUAGE_MODELS = config.get("language_models", {})


def corpus_datasets(wildcards):
    corpus = config["corpora"][wildcards.corpus]
    names = [part["dataset"] for part in corpus["parts"] if "dataset" in part]
    if (corpus.get("filter") or {}).get("language") == LID:
        names.append(LID)
    return [f"{DATA}/{name}/manifest.json" for name in names]


def language_model(rules):
    """The language model of this run that a filter names, if it is one of those."""
    return f"{WORK}/languages/{rules['language']}.bin" if rules.get("language") in LANGUAGE_MODELS else []


def filter_rules(rules):
    """The rules of a filter as configured, the language model as a path."""
    model = f"{DATA}/{LID}/lid.176.bin" if rules.get("language") == LID else language_model(rules)
    return rules | {"language": model} if model else rules


def corpus_language(wildcards):
    return language_model(config["corpora"][wildcards.corpus].get("filter") or {})


def corpus_spec(wildcards):
    corpus = {key: value for key, value in config["corpora"][wildcards.corpus].items() if key != "pair"}
    return corpus | ({"filter": filter_rules(corpus["filter"])} if corpus.get("filter") else {})


def corpus_files(wildcards):
    parts = config["corpora"][wildcards.corpus]["parts"]
    return [path for part in parts for path in part.get("files", {}).values()]


def corpus_excluded(wildcards):
    return [f"{WORK}/corpus/{name}" for name in config["corpora"][wildcards.corpus].get("exclude", [])]


FEATURES = config["text"]["features"]
CASE = "--lowercase" if config["text"]["lowercase"] else "--cased"


def features_named(*types):
    """The names of the features of these types, as a regular expression."""
    return "|".join(re.escape(name) for name, spec in FEATURES.items() if spec["type"] in types) or "(?!)"


def features_model(wildcards):
    """What ids are made with: a BPE model, or words and their n-grams."""
    name = wildcards.features
    suffix = {"bpe": "model", "wordpiece": "txt"}.get(FEATURES[name]["type"], "json")
    return f"{WORK}/features/{name}.{suffix}"


def features_corpora(wildcards):
    """The corpora that a vocabulary is learned from."""
    return FEATURES[wildcards.features].get("corpora", [])


def features_tokens(wildcards):
    pattern = f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet"
    return [path for corpus in features_corpora(wildcards) for path in of_shards(pattern, corpus)]


def features_folders(wildcards):
    return [f"{WORK}/tokens/{corpus}" for corpus in features_corpora(wildcards)]


def encoder_ids(encoder):
    """The folder of the ids that an encoder reads."""
    return f"{WORK}/features/{config['encoders'][encoder]['features']}"


def id_stems(model):
    """(role, shard of ids without its side) of the text that a model learns from."""
    return [
        (role, f"{WORK}/features/{model['features']}/{corpus}/{shard}")
        for role, corpus in model["corpora"].items()
        for shard in shards(corpus)
    ]


def encoder_stems(encoder):
    return id_stems(config["encoders"][encoder])


def torchrun(gpus):
    """How a training is started: a process for each GPU."""
    return f"python -m torch.distributed.run --standalone --nproc-per-node {gpus}".split() if gpus > 1 else ["python"]


def seed_of(kind):
    """The seed of an encoder or a method: its own, or the run's."""
    return lambda wildcards: config[f"{kind}s"][getattr(wildcards, kind)].get("seed", config["seed"])


def encoder_text_model(wildcards):
    """What its ids were made with."""
    return features_model(SimpleNamespace(features=config["encoders"][wildcards.encoder]["features"]))


def encoder_memory(wildcards, input, attempt):
    """Memory in MB: the ids, and three copies (model, gradients, checkpoint) of the embeddings of words and n-grams."""
    encoder = config["encoders"][wildcards.encoder]
    features = FEATURES[encoder["features"]]
    rows = sum(features[key] for key in ("unigrams", "bigrams", "vocab", "oov", "buckets") if key in features)
    tables = 3 * len(SIDES) * 4e-6 * rows * encoder["model"].get("embedding", 0)
    return megabytes(4, 3000)(wildcards, input, attempt) + int(tables) * attempt


def encoder_hard_negatives(wildcards):
    """The file that stands for the hard negatives of an encoder, if it has any: one for all encoders that want the same."""

    def wanted(spec):
        return spec.get("hard"), spec["features"], spec["corpora"].get("bitext")

    own = wanted(config["encoders"][wildcards.encoder])
    first = next(name for name, spec in config["encoders"].items() if wanted(spec) == own)
    return [f"{WORK}/hard_negatives/{first}.src.ids.npy"] if own[0] else []


def hard_shards(encoder, what, pattern):
    """Files of the bitext of an encoder, by shard: `pattern` in the folder of its vectors or ids."""
    folder = encoder_ids(encoder) if what == "ids" else f"{WORK}/vectors/{config['encoders'][encoder]['hard']['by']}"
    return of_shards(f"{folder}/{{corpus}}/{pattern}", config["encoders"][encoder]["corpora"]["bitext"])


STUDIES = config.get("studies", {})
PORTIONS = portions(config)
SCORERS = scorers(config)
ROWS = config["selection"]["methods"]
SEEDS = config["seeds"]


LIKELIHOODS = config["likelihoods"]
LIKELIHOOD_MODELS = {"forward": "translation", "backward": "translation", "src": "language", "tgt": "language"}
TRANSLATION_MODELS = [name for name, kind in LIKELIHOOD_MODELS.items() if kind == "translation"]


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


def score_likelihoods(wildcards):
    """The log-probabilities that a method combines, if it does."""
    name = config["methods"][wildcards.method].get("likelihoods")
    return f"{WORK}/likelihoods/{name}/{wildcards.corpus}/{wildcards.shard}.npz" if name else []


def learned_similarity(method):
    """The file of a similarity that learns; the others have none."""
    learns = {"positives", "tuned"} & config["methods"].get(method, {}).keys()
    return f"{WORK}/similarities/{method}.npz" if learns else []


def similarity_model(wildcards):
    """What a similarity scores the pairs of a corpus by, beside the pairs themselves."""
    method = config["methods"][wildcards.method]
    if method["similarity"] == "margin":
        return f"{WORK}/neighbourhoods/{wildcards.method}/{wildcards.corpus}.npz"
    if method["similarity"] == "confidence" and "tuned" not in method:
        return encoder_model(method["encoder"])
    return learned_similarity(wildcards.method)


def tuning(wildcards):
    """The extreme pairs that a confidence is fine-tuned on."""
    return config["methods"][wildcards.method]["tuned"]


def tuning_files(wildcards, pattern):
    return of_shards(pattern, tuning(wildcards)["corpus"])


def score_tokens(wildcards):
    """The shard tokenised, for similarities that compare words."""
    method = config["methods"][wildcards.method]
    of_words = "bitext" in method or method["similarity"] == "levenshtein"
    return f"{WORK}/tokens/{wildcards.corpus}/{wildcards.shard}.parquet" if of_words else []


def methods_named(wanted):
    """The names of the methods that are wanted, as a regular expression."""
    names = [re.escape(name) for name, method in config["methods"].items() if wanted(method)]
    return "|".join(names) or "(?!)"


def encoder_model(encoder):
    return f"{WORK}/encoders/{encoder}/model.pt"


# ---- tables of single metrics: which cells this run can fill, and from what

CELLS = layout.load()
TABLE2 = CELLS.pop("kim2019/table2")  # of selections; the others are of single metrics


def missing(cell):
    """Why this run has no number for a cell, or an empty text."""
    return cell.missing(config)


def metric_files(cell):
    return [f"{WORK}/metrics/{cell.task}/{corpus}/{cell.encoder}.json" for corpus in cell.corpora]


def measured(task, wildcards):
    """The cells that a metric file is made for."""
    path = f"{WORK}/metrics/{task}/{wildcards.corpus}/{wildcards.encoder}.json"
    return [cell for cells in CELLS.values() for cell in cells if not missing(cell) and path in metric_files(cell)]


def similarities(task):
    """The similarities that a task is measured with, as options: those of the cells; of an encoder of a study, cosine."""

    def options(wildcards):
        names = [cell.similarity for cell in measured(task, wildcards)] or ["cosine"]
        return [f"--similarity={name}" for name in dict.fromkeys(names)]

    return options


def metric_vectors(side):
    """Vectors of a corpus, of all its shards."""
    return lambda wildcards: of_shards(
        f"{WORK}/vectors/{wildcards.encoder}/{{corpus}}/{{shard}}.{side}.npy", wildcards.corpus
    )


def shard_options(side):
    return lambda wildcards, input: [f"--{side}-emb={path}" for path in getattr(input, side)]


def encoder_gpus(wildcards):
    return config["encoders"][wildcards.encoder]["gpus"]


def fitted_similarity(wildcards):
    """The MLP, where it compares this encoder's vectors."""
    fits = config["methods"].get("mlp", {}).get("encoder") == wildcards.encoder
    return f"{WORK}/similarities/mlp.npz" if fits else []


def confident_model(encoder):
    """The encoder, where it has a calibrated confidence."""
    return encoder_model(encoder) if config["encoders"][encoder]["type"] == "dan_dual" else []


def calibrated_encoder(wildcards):
    return confident_model(wildcards.encoder)


def grid_cells(wildcards):
    return CELLS[wildcards.place]


def grid_metrics(wildcards):
    return sorted({path for cell in grid_cells(wildcards) if not missing(cell) for path in metric_files(cell)})


def cell_options(cells):
    """Cells of a table as arguments of a command: mappings with row, column, files, seed and note."""
    return [f"--cell={spec(cell)}" for cell in cells]


def grid_options(wildcards):
    """What stands in each cell, and why others are empty."""
    return cell_options(
        {
            "row": cell.row,
            "column": cell.column,
            "files": [] if missing(cell) else [f"{path}#{cell.key}" for path in metric_files(cell)],
            "seed": config["seed"],
            "note": missing(cell) or cell.note,
        }
        for cell in grid_cells(wildcards)
    )


TRANSLATED = [place for place, cells in CELLS.items() if any(cell.task == "translation" for cell in cells)]
GRIDS = [place for place, cells in CELLS.items() if not all(map(missing, cells))]
STUDIED = ["kim2019/table5", "kim2019/figure3"] if "studies" in config else []
TABLES = [f"{RESULTS}/table2.csv", *(f"{RESULTS}/{place}.csv" for place in (*GRIDS, *STUDIED))]


TESTS = config["nmt"]["tests"]
# what each step takes from the configuration, so that a changed key reruns what uses it
PREPARE_KEYS = ("vocab_size", "max_length")
MODEL_KEYS = set(config["nmt"]).difference({"vocab_size"}, ("together", "valid", "tests", "gpus"))


def nmt_spec(keys, settings=config["nmt"]):
    return spec({key: settings[key] for key in sorted(keys)})


def translation(wildcards):
    """The entry of `translations` that an NMT model is of."""
    return config["translations"][f"{wildcards.name}.{wildcards.source}-{wildcards.target}"]


def transformer(wildcards):
    """Its sizes and training."""
    return config["transformers"][translation(wildcards)["nmt"]]


def trained_on(wildcards, kind):
    """What its pairs are mined or selected from, and how."""
    return translation(wildcards)["train"][kind]


def mined_spec(wildcards):
    mined = trained_on(wildcards, "mined")
    rules = {"filter": filter_rules(mined["filter"])} if "filter" in mined else {}
    return {key: value for key, value in mined.items() if key not in ("corpus", "encoder")} | rules


def mined_language(wildcards):
    """What tells the languages of mined pairs, if something has to be made or fetched for it."""
    rules = trained_on(wildcards, "mined").get("filter", {})
    return f"{DATA}/{LID}/manifest.json" if rules.get("language") == LID else language_model(rules)


def mined_vectors(side):
    def found(wildcards):
        mined = trained_on(wildcards, "mined")
        return of_shards(
            f"{WORK}/vectors/{{encoder}}/{{corpus}}/{{shard}}.{side}.npy", mined["corpus"], encoder=mined["encoder"]
        )

    return found


BUDGETS = list(config["selection"]["budgets"])
BATCHES = [
    SEEDS[i : i + config["nmt"]["together"]] for i in range(0, len(SEEDS), config["nmt"]["together"])
]  # of seeds whose models one job trains: loading torch and fairseq takes as long as training a model of the tiny run


def batch_name(seeds):
    return "-".join(map(str, seeds))


def batch_of(wildcards):
    """The seeds of a batch."""
    return wildcards.seeds.split("-")


def of_batches(pattern, **names):
    """A folder for each batch of seeds."""
    return expand(pattern, seeds=map(batch_name, BATCHES), **names)


def of_models(pattern, **names):
    """A file of each model, in the folders of the batches; `pattern` ends after the batch's name."""
    return [
        path
        for batch in BATCHES
        for seed in batch
        for path in expand(pattern, seeds=batch_name(batch), seed=seed, **names)
    ]


def learned_from(method):
    """The corpora that a method's scores depend on, beside the pool."""
    method = config["methods"][method]
    found = {method[key] for key in ("positives", "bitext") if key in method}
    if "negatives" in method:
        found |= learned_from(method["negatives"]["by"])
    for kind in {"encoder", "likelihoods"} & method.keys():
        model = config["encoders" if kind == "encoder" else kind][method[kind]]
        found |= {*model["corpora"].values(), *FEATURES[model["features"]].get("corpora", [])}
    return found


CORPORA = sorted({POOL, config["nmt"]["valid"], *TESTS}.union(*map(learned_from, ROWS)))  # of table 2
DATASETS = sorted(
    {part["dataset"] for name in CORPORA for part in config["corpora"][name]["parts"] if "dataset" in part}
)


VECTORS = config.get("word_vectors", {})


def vector_shards(wildcards):
    """The text that vectors are learned from, tokenised."""
    corpora = VECTORS[wildcards.vectors]["corpora"][wildcards.side]
    return [path for corpus in corpora for path in of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", corpus)]


def vector_pieces(wildcards):
    """The BPE whose pieces have vectors; without one, words have."""
    name = VECTORS[wildcards.vectors].get("features")
    return features_model(SimpleNamespace(features=name)) if name else []


def dictionary_shards(key):
    """A dictionary, tokenised: the seed of the mapping, or the test of the result."""

    def found(wildcards):
        corpus = VECTORS[wildcards.vectors].get(key)
        return of_shards(f"{WORK}/tokens/{{corpus}}/{{shard}}.parquet", corpus) if corpus else []

    return found


def encoder_vectors(wildcards):
    """Where the word vectors of an encoder lie, by side."""
    given = config["encoders"][wildcards.encoder].get("vectors", {})
    if isinstance(given, dict):
        return given
    kind = "mapped" if "mapping" in VECTORS[given] else "own"
    return {side: f"{WORK}/word_vectors/{given}/{kind}.{side}.vec" for side in SIDES}


RESCORERS = config.get("rescorers", {})


def rescored_corpus(rescorer):
    return RESCORERS[rescorer]["corpora"]["comparable"]


def rescored_vectors(rescorer, side):
    """Vectors of the corpus by the encoder that finds the pairs."""
    pattern = f"{WORK}/vectors/{RESCORERS[rescorer]['encoder']}/{{corpus}}/{{shard}}.{side}.npy"
    return of_shards(pattern, rescored_corpus(rescorer))


def rescorer_ids(rescorer):
    return f"{WORK}/features/{RESCORERS[rescorer]['features']}"


def rescorer_start(wildcards):
    """The model that is fine-tuned: of this run, or a data set."""
    start = RESCORERS[wildcards.rescorer]["start"]
    return encoder_model(start["encoder"]) if "encoder" in start else f"{DATA}/{start['dataset']}/manifest.json"


def rescorer_weights(wildcards, input):
    """Its file."""
    path = input.start
    return f"{os.path.dirname(path)}/model.safetensors" if path.endswith("manifest.json") else path


COMPARED = config.get("comparison", {"encoders": [], "seeds": [], "tests": []})
MEASURED = [
    f"{WORK}/metrics/encoder/{test}/{of_seed(config, encoder, seed)}.json"
    for test in COMPARED["tests"]
    for encoder in COMPARED["encoders"]
    for seed in COMPARED["seeds"]
]


MARGINS = STUDIES.get("margins", {})
MARGIN_ENCODERS = margin_encoders(config)
FIGURES = [f"{RESULTS}/yang2019/figure4.csv"] if MARGIN_ENCODERS else []
