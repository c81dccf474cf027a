"""What the rules of the workflow ask of a resolved configuration: where files lie, and what a model is made from.

Files are named as the rules name them: <work>/<what>/<maker>/<corpus>/<shard>. Lists have a file for each shard, in order.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path
from typing import Any

from bitextbench.base import members, portable, sources
from bitextbench.base.memory import LARGE_PAGES
from bitextbench.config import PRETRAINED, Config
from bitextbench.config.encoders import pretrained, sharers
from bitextbench.config.seeds import add_seed, of_seed, seeds_of
from bitextbench.data import registry
from bitextbench.formats.bitext import SIDES
from bitextbench.scoring import Declared, declared

LID = "fasttext-lid176"  # the data set that is a language model
# of what makes ids of a type of features; others: json
SUFFIXES = {"bpe": "model", "wordpiece": "txt", "tokenizer": "tokenizer"}
SECTIONS = {  # task: where the models are that it measures; of others, encoders
    "agreement": "methods", "posteriors": "likelihoods", "rescoring": "rescorers", "translation": "translations",
}  # fmt: skip
UNSEEDED = ("bleu", "size", "quality", "selection")  # tasks whose cells have no chain for each of `table_seeds`
LIKELIHOOD_MODELS = {"forward": "translation", "backward": "translation", "src": "language", "tgt": "language"}


def add_seeds(config: Config, cells: Iterable[Any]) -> None:
    """Add the models of other seeds that fill cells, and all that these learn from, to a resolved configuration."""
    for cell in cells:
        if cell.missing(config) or cell.task in (*UNSEEDED, "smt"):
            continue
        models = [(SECTIONS.get(cell.task, "encoders"), cell.encoder)]
        if config["methods"].get(cell.similarity, {}).get("encoder") == cell.encoder:
            models.append(("methods", cell.similarity))
        for (section, name), seed in product(models, seeds_of(config, cell.place)):
            add_seed(config, section, name, seed)


class Files:
    """The files of a run whose configuration is resolved, and has the seeds of its cells (`add_seeds`)."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.work = f"work/{config['run']}"
        self.results = "results" if config["run"] == "paper" else f"results/{config['run']}"
        self.features: Config = config["text"]["features"]
        self.of_seeds, self.cell_metrics = cache(self._of_seeds), cache(self._cell_metrics)  # asked for every metric

    # ---- data sets, corpora and their text

    def dataset(self, name: str) -> str:
        """What stands for a data set that was fetched."""
        return f"{self.config['data']}/{name}/manifest.json"

    def shards(self, corpus: str) -> list[str]:
        """The names of the shards of a corpus."""
        return [f"{i:05d}" for i in range(self.config["corpora"][corpus].get("shards", 1))]

    def of_shards(self, stem: str, corpus: str, suffix: str) -> list[str]:
        """<stem>/<corpus>/<shard><suffix> for each shard."""
        return [f"{stem}/{corpus}/{shard}{suffix}" for shard in self.shards(corpus)]

    def pair(self, corpus: str) -> dict[str, str]:
        """The languages of a corpus, by side."""
        return self.config["corpora"][corpus].get("pair", self.config["pair"])

    def corpus(self, name: str) -> str:
        return f"{self.work}/corpus/{name}"

    def tokens(self, *corpora: str) -> list[str]:
        """Corpora tokenised."""
        return [path for corpus in corpora for path in self.of_shards(f"{self.work}/tokens", corpus, ".parquet")]

    def ids(self, features: str, corpus: str) -> list[str]:
        """The ids of the sources of a corpus."""
        return self.of_shards(f"{self.work}/features/{features}", corpus, ".src.ids.npy")

    def shard_ids(self, features: str, corpus: str, shard: str, side: str) -> str:
        return f"{self.work}/features/{features}/{corpus}/{shard}.{side}.ids.npy"

    def text_model(self, features: str) -> str:
        """What ids are made with: a BPE model, the vocabulary of a BERT, or words and their n-grams."""
        return f"{self.work}/features/{features}.{SUFFIXES.get(self.features[features]['type'], 'json')}"

    # ---- what a corpus is made from

    def corpus_datasets(self, corpus: str) -> list[str]:
        """The data sets that it takes rows from, and the one that identifies their languages."""
        entry = self.config["corpora"][corpus]
        names = [part["dataset"] for part in entry["parts"] if "dataset" in part]
        return [
            self.dataset(name) for name in (*names, *([LID] if entry.get("filter", {}).get("language") == LID else []))
        ]

    def corpus_spec(self, corpus: str) -> dict[str, Any]:
        """Its entry without its languages and its note, its filter with paths."""
        return self._with_paths(
            {key: value for key, value in self.config["corpora"][corpus].items() if key not in ("pair", "note")}
        )

    def mined_spec(self, mined: Mapping[str, Any]) -> dict[str, Any]:
        """How pairs are mined, the filter with paths."""
        return self._with_paths({key: value for key, value in mined.items() if key not in ("corpus", "encoder")})

    def _with_paths(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry whose filter names what identifies languages by its path."""
        if not (rules := entry.get("filter")):
            return entry
        path = (
            f"{self.config['data']}/{LID}/lid.176.bin" if rules.get("language") == LID else self.language_model(rules)
        )
        return entry | {"filter": rules | ({"language": path} if path else {})}

    def language_model(self, rules: Mapping[str, Any]) -> str | list[str]:
        """The language model of this run that a filter names, if it is one of those."""
        name = rules.get("language")
        return f"{self.work}/languages/{name}.bin" if name in self.config.get("language_models", {}) else []

    def identifier(self, rules: Mapping[str, Any]) -> str | list[str]:
        """What has to be fetched or made before a filter can identify languages."""
        return self.dataset(LID) if rules.get("language") == LID else self.language_model(rules)

    def made_by(self, corpus: str) -> list[str]:
        """The modules that make rows of a corpus that no data set has."""
        parts = self.config["corpora"][corpus]["parts"]
        return ["data.synth"] if any("generated" in part or "lexicon" in part for part in parts) else []

    def members(self, kind: str, names: Iterable[str]) -> list[str | Path]:
        """The modules of members, or their files where they are plugins; names that are of no member are left out."""
        known = members.sources(kind)
        package = members.KINDS[kind][1].replace("/", ".")
        found = (known[name] for name in names if name in known)
        return [f"{package}.{path.stem}" if path.is_relative_to(sources.PACKAGE) else path for path in found]

    # ---- encoders

    def encoder(self, name: str) -> str:
        return f"{self.work}/encoders/{name}/model.pt"

    def pretrained(self, encoder: str) -> list[str]:
        """The files of the folder of an encoder that is not trained here; none of one in a package."""
        if "name" in (entry := self.config["encoders"][encoder]):
            return []
        folder = Path(entry["folder"])
        shown = (path for path in folder.rglob("*") if not path.name.startswith(".") and ".git" not in path.parts)
        return sorted(str(path) for path in shown if path.is_file()) or [str(folder / "config.json")]

    def whole_encoder(self, encoder: str) -> str:
        """The file that stands for the folder of an encoder."""
        made = "pretrained.json" if encoder in pretrained(self.config) else "encoder.json"
        return f"{self.work}/encoders/{self.encodes(encoder)}/{made}"

    def vectors(self, encoder: str, corpus: str, side: str) -> list[str]:
        return self.of_shards(f"{self.work}/vectors/{self.encodes(encoder)}", corpus, f".{side}.npy")

    def shard_vectors(self, encoder: str, corpus: str, shard: str) -> list[str]:
        """The vectors of a shard, source and target."""
        return [f"{self.work}/vectors/{self.encodes(encoder)}/{corpus}/{shard}.{side}.npy" for side in SIDES]

    def encodes(self, encoder: str) -> str:
        """The encoder that makes the vectors of an encoder: of published ones that are the same, the first."""
        encoders = self.config["encoders"]
        if encoders[encoder]["type"] != PRETRAINED:
            return encoder
        return next(name for name, entry in encoders.items() if entry == encoders[encoder])

    def table_megabytes(self, encoder: str) -> int:
        """Memory of copies of the embeddings of words and n-grams, in MB: the model, gradients, a checkpoint, and the best
        state where there is a `patience`.
        """
        entry = self.config["encoders"][encoder]
        features = self.features[entry["features"]]
        rows = sum(features[key] for key in ("unigrams", "bigrams", "vocab", "oov", "buckets") if key in features)
        copies = 3 + ("patience" in entry["training"])
        return int(copies * len(SIDES) * 4e-6 * rows * entry["model"].get("embedding", 0))

    def trained(self, cells: Iterable[Any], rows: Iterable[str]) -> list[str]:
        """The encoders of this run's cells and of the rows of Table 2 that are trained here, of all seeds."""
        methods = [of_seed(self.config, "methods", row, seed) for row in rows for seed in self.config["seeds"]]
        named = [self.config["methods"][method].get("encoder", "") for method in methods]
        named += [one.encoder for cell in cells if not cell.missing(self.config) for _, one in self.of_seeds(cell)]
        return sorted({name for name in named if name in self.config["encoders"]} - {*pretrained(self.config)})

    def stems(self, model: Mapping[str, Any]) -> list[tuple[str, str]]:
        """(role, ids of a shard without their side) of the text that a model learns from."""
        return [
            (role, path.removesuffix(".src.ids.npy"))
            for role, corpus in model["corpora"].items()
            for path in self.ids(model["features"], corpus)
        ]

    def hard_negatives(self, encoder: str) -> list[str]:
        """The file that stands for the hard negatives of an encoder, if it has any: one for all that want the same."""
        if "hard" not in self.config["encoders"][encoder]:
            return []
        return [f"{self.work}/hard_negatives/{sharers(self.config, encoder)[0]}.src.ids.npy"]

    def word_vectors(self, encoder: str) -> dict[str, str]:
        """The word vectors that an encoder starts from, by side."""
        given = self.config["encoders"][encoder].get("vectors", {})
        if isinstance(given, dict):
            return given
        entry = self.config["word_vectors"][given]
        kind = "encoded" if "encoded" in entry else "mapped" if "mapping" in entry else "own"
        return {side: f"{self.work}/word_vectors/{given}/{kind}.{side}.vec" for side in SIDES}

    def calibrated(self, encoder: str) -> str | list[str]:
        """The model of an encoder that has a calibrated confidence: see `encoders`."""
        entry = self.config["encoders"][encoder]
        if entry["type"] == PRETRAINED:
            return []
        arguments = members.arguments(members.source("encoders", entry["type"]), "Model") or {}
        usual = "confidence" in arguments and arguments["confidence"].default not in ("0", "0.0")
        return self.encoder(encoder) if entry["model"].get("confidence", usual) else []

    # ---- methods and what they score by

    def scores(self, method: str, corpus: str) -> list[str]:
        return self.of_shards(f"{self.work}/scores/{method}", corpus, ".npy")

    def declared(self, method: str) -> Declared:
        """What the similarity of a method declares."""
        return declared(self.config["methods"][method]["similarity"])

    def fit(self, method: str) -> str:
        """What the model of a method is fitted on, or "" for none (see `scoring`); for what stands for others, of portions, "portions"."""
        fit, entry = self.declared(method).fit, self.config["methods"][method]
        if "portions" in entry.get("negatives", {}):
            return "portions"
        return "" if fit == "scores" and "tuned" not in entry else fit

    def similarity_model(self, method: str, corpus: str) -> str | list[str]:
        """The model that a method scores a corpus by, if it has one."""
        match self.fit(method):
            case "neighbourhoods":
                return f"{self.work}/neighbourhoods/{method}/{corpus}.npz"
            case "":
                by_encoder = "encoder" in self.declared(method).needs
                return self.encoder(self.config["methods"][method]["encoder"]) if by_encoder else []
        return f"{self.work}/similarities/{method}.npz"

    def options(self, method: str) -> dict[str, Any]:
        """What a method says of its similarity alone."""
        return {
            key: value for key, value in self.config["methods"][method].items() if key in self.declared(method).options
        }

    def learned_from(self, method: str) -> set[str]:
        """The corpora that a method's scores depend on, without the one that is scored."""
        entry = self.config["methods"][method]
        corpora = {entry[key] for key in ("positives", "bitext") if key in entry}
        if "negatives" in entry:
            corpora |= self.learned_from(entry["negatives"]["by"])
        for key, section in (("encoder", "encoders"), ("likelihoods", "likelihoods")):
            if key in entry:
                model = self.config[section][entry[key]]
                corpora |= {
                    *model.get("corpora", {}).values(),
                    *self.features.get(model.get("features"), {}).get("corpora", []),
                }
                vectors = self.config.get("word_vectors", {}).get(str(model.get("vectors")), {"corpora": {}})
                corpora |= {corpus for side in vectors["corpora"].values() for corpus in side}
        return corpora

    # ---- rescorers

    def rescorer_start(self, rescorer: str) -> str:
        """The model that is fine-tuned: of this run, or a data set."""
        start = self.config["rescorers"][rescorer]["start"]
        return self.encoder(start["encoder"]) if "encoder" in start else self.dataset(start["dataset"])

    def weights(self, start: str) -> str:
        """The file of that model."""
        return start.replace("manifest.json", "model.safetensors")

    # ---- metrics, and the cells of tables that show them (report.layout.Entry)

    def metric(self, task: str, corpus: str, model: str) -> str:
        """The file of a metric; `bleu` is that of the run's seed."""
        match task:
            case "selection":
                return f"{self.work}/metrics/{task}/{model}.json"
            case "bleu":
                seed = self.config["seed"]
                batch = next(name for name, seeds in batches(self.config).items() if seed in seeds)
                return f"{self.work}/metrics/{task}/{model}/{batch}/{seed}/{corpus}.json"
        return f"{self.work}/metrics/{task}/{corpus}/{model}.json"

    def metrics(self, cells: Iterable[Any]) -> list[str]:
        """The metric files of those cells that this run can fill, sorted."""
        return sorted({path for cell in cells for _, one in self.of_seeds(cell) for path in self.cell_metrics(one)})

    def _of_seeds(self, cell: Any) -> list[tuple[int, Any]]:
        """(seed, the cell with the model of that seed) for each chain that fills it.

        A selection's BLEU has seeds of its own, what is counted has none; a system of `smt` has the starts of its tunings.
        """
        config = self.config
        if cell.missing(config) or cell.task in UNSEEDED:
            return [(config["seed"], cell)]
        if cell.task == "smt":
            return [(start, replace(cell, encoder=f"{cell.encoder}.{start}")) for start in self.starts()]
        section = SECTIONS.get(cell.task, "encoders")
        return [
            (seed, replace(cell, encoder=of_seed(config, section, cell.encoder, seed)))
            for seed in seeds_of(config, cell.place)
        ]

    def _cell_metrics(self, cell: Any) -> list[str]:
        """The metric files of a cell, if this run can fill it."""
        corpora = () if cell.missing(self.config) else cell.corpora
        return [self.metric(cell.task, corpus, cell.encoder) for corpus in corpora]

    def cell(self, cell: Any) -> list[dict[str, Any]]:
        """What a cell of single metrics shows, of each seed, and why it is empty, as `step table` takes it."""
        return [
            {
                "row": cell.row,
                "column": cell.column,
                "files": [f"{path}#{cell.key}" for path in self.cell_metrics(one)],
                "seed": seed,
                "note": self.note(cell),
                **({} if cell.trained(self.config) else {"trained": False}),
                **({"label": cell.label} if cell.label else {}),
            }
            for seed, one in self.of_seeds(cell)
        ]

    def note(self, cell: Any) -> str:
        """Why a cell is empty, or else what it and the corpora that it is measured on say."""
        said = (self.config["corpora"].get(name, {}).get("note", "") for name in cell.corpora)
        return cell.missing(self.config) or "; ".join(filter(None, (cell.note, *said)))

    # ---- the hierarchical phrase-based system

    def starts(self) -> list[int]:
        """The seeds of its tunings."""
        return [self.config["seed"] + number for number in range(self.config["smt"]["tunings"])]

    def smt_text(self, corpus: str, side: str) -> str:
        """A side of a corpus as the decoder reads it."""
        return f"{self.work}/smt/text/{corpus}.{side}"

    def smt_references(self, test: str) -> list[str]:
        """The references of a test set: its own targets, and those of corpora with the same sources."""
        others = self.config["smt"].get("references", {}).get(test, [])
        return [self.smt_text(corpus, "tgt") for corpus in (test, *others)]

    def smt_grammar(self, system: str) -> str:
        """The rules with the features of a system."""
        encoder = self.config["smt"]["systems"][system].get("encoder")
        return f"{self.work}/smt/grammar.{encoder}.tsv.zst" if encoder else f"{self.work}/smt/grammar.tsv.zst"

    def decoded(self, cells: Iterable[Any]) -> list[tuple[str, str, str, str]]:
        """(row, column, test, the decoded test) of each tuning, of the cells of `smt` that are compared with another row's."""
        return [
            (cell.row, cell.column, test, f"{self.work}/smt/output/{cell.encoder}/{start}/{test}.txt")
            for cell, test in self.against("smt", cells)
            for start in self.starts()
        ]

    # ---- mining by blocks

    def blocks(self, mining: str) -> list[str]:
        """The neighbours of every block of sources and block of targets."""
        sources, targets = self.config["mining"][mining]["blocks"]
        return [f"{self.work}/mining/{mining}/blocks/{i}-{j}" for i in range(sources) for j in range(targets)]

    def block_options(self, mining: str, i: str, j: str) -> list[str]:
        """Which block a job searches, as options."""
        sources, targets = self.config["mining"][mining]["blocks"]
        return ["--src-block", i, str(sources), "--tgt-block", j, str(targets)]

    def block_megabytes(self, mining: str, size: float) -> int:
        """Memory of a job that reads a block of each side, in MB; `size`: of the vectors of both sides."""
        return int(3000 + 1.5 * size / min(self.config["mining"][mining]["blocks"]))

    # ---- translations

    def translated(self, cells: Iterable[Any]) -> list[tuple[str, str, str, str]]:
        """(row, column, test, the translated test) of the cells of translations that are compared with another row's."""
        return [
            (cell.row, cell.column, test, f"{self.work}/translation/{cell.encoder}/test.{self.pair(test)['tgt']}")
            for cell, test in self.against("translation", cells)
        ]

    def against(self, task: str, cells: Iterable[Any]) -> list[tuple[Any, str]]:
        """The cells of a task that are compared with another row's, with each of their tests."""
        compared = (cell for cell in cells if cell.task == task and cell.against and not cell.missing(self.config))
        return [(cell, test) for cell in compared for test in cell.corpora]

    def tested(self, tables: Mapping[str, Iterable[Any]]) -> dict[str, str]:
        """The tables some of whose rows this run compares with one of them, and that row."""
        return {
            place: against.pop()
            for place, cells in tables.items()
            if (self.translated(cells) or self.decoded(cells))
            and (against := {cell.against for cell in cells if cell.against})
        }

    def similarities(self, task: str, corpus: str, model: str, cells: Iterable[Any]) -> list[str]:
        """The similarities of the cells that a metric file is made for; cosine where no cell shows it, but a study."""
        path = self.metric(task, corpus, model)
        shown = (cell.similarity for cell in cells for _, one in self.of_seeds(cell) if path in self.cell_metrics(one))
        return list(dict.fromkeys(shown)) or ["cosine"]

    def fitted_similarities(self, encoder: str, similarities: Iterable[str]) -> list[str]:
        """The models of those similarities that are fitted on this encoder's vectors: of the methods called as they are."""
        methods = self.config["methods"]
        seed = self.config["encoders"].get(encoder, {}).get("seed", self.config["seed"])
        return [
            f"{self.work}/similarities/{name}.npz"
            for name in (of_seed(self.config, "methods", name, seed) for name in similarities)
            if methods.get(name, {}).get("encoder") == encoder and self.fit(name) == "vectors"
        ]


def rule_graph(dag: Any) -> dict[str, Any]:
    """The rules of a plan of Snakemake: {"jobs": {rule: number}, "steps": {rule: the fewest jobs that one of it waits for, one after
    the other}, "edges": [[rule, rule that needs what it makes]]}, sorted. Edges may lead back: an encoder's negatives are mined by another.
    """
    order = TopologicalSorter({job: [*dag.dependencies[job]] for job in dag.jobs}).static_order()
    waits: dict[Any, int] = {}
    for job in order:
        waits[job] = max((waits[needed] + 1 for needed in dag.dependencies[job]), default=0)
    jobs = Counter(job.rule.name for job in waits)
    steps = {rule: min(steps for job, steps in waits.items() if job.rule.name == rule) for rule in jobs}
    edges = {(needed.rule.name, job.rule.name) for job in waits for needed in dag.dependencies[job]}
    return {"jobs": dict(sorted(jobs.items())), "steps": dict(sorted(steps.items())), "edges": sorted(edges)}


def datasets(config: Config, corpora: Iterable[str]) -> list[str]:
    """The data sets that the rows of corpora come from, sorted."""
    return sorted(
        {part["dataset"] for name in corpora for part in config["corpora"][name]["parts"] if "dataset" in part}
    )


def minutes(time: str | int) -> int:
    """A length of time in minutes: a number, or as in 90m, 36h, 2d."""
    text = str(time)
    return int(text[:-1]) * {"m": 1, "h": 60, "d": 24 * 60}[text[-1]] if text[-1].isalpha() else int(text)


def environment(config: Config) -> dict[str, str]:
    """The variables of the environment that jobs are started with, in addition to those that are set.

    Mirrors are there and in no parameter of a rule: another mirror has the same files, and starts nothing anew.
    """
    pages = {name: os.environ.get(name, value) for name, value in LARGE_PAGES.items()}
    of_user = os.environ.get("BITEXTBENCH_MIRROR", "")
    if mirrors := [*(place for place in config["mirrors"] if place not in of_user), *filter(None, [of_user])]:
        pages["BITEXTBENCH_MIRROR"] = ":".join(mirrors)
    return pages | (portable.ENVIRONMENT if config["arithmetic"] == "portable" else {})


def registered(name: str, what: str) -> list[str]:
    """What decides the bytes of a data set, by its entry in the registry: of its "files", or of its "parsers".

    A file with a checksum may come from anywhere. A parser is its arguments and its code.
    """
    entry = registry.entry(name)
    if what == "files":
        return [f"{file.path} {file.sha256 or file.sha1 or file.url}" for file in entry.files]
    return [
        f"{parser.name} {json.dumps(parser.arguments)} {sources.part('data.parsers', parser.name)}"
        for parser in entry.parsers
    ]


def batches(config: Config) -> dict[str, list[int]]:
    """The seeds whose NMT models one job trains, by the batch's name.

    Loading torch and fairseq takes as long as training a model of the tiny run.
    """
    seeds, together = config["seeds"], config["nmt"]["together"]
    batches = (seeds[start : start + together] for start in range(0, len(seeds), together))
    return {"-".join(map(str, batch)): batch for batch in batches}
